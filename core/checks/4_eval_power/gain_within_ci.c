/* C4.1: is each claimed gain larger than its interval? The task's suites of the base and of the
 * candidate, item by item where both have them, else Newcombe's interval of the two shares; judgements
 * by Wilson's interval of the win rate. A general suite counts when there is no other. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/checks/suite_evidence.h"
#include "core/facts/judgements.h"
#include "core/stats/paired.h"

enum { MAX_PAIRS = 512 };

struct claims {
    const struct eval_pair *pairs;
    size_t n;
    bool has_task;              /* a suite that is no general one: only those count */
    bool counts[MAX_PAIRS];
    bool rejects[MAX_PAIRS];    /* "no difference", by Holm's rule over those that count */
    bool is_old_ability[MAX_PAIRS];
    size_t n_tested;
};

static bool has_task_suite(const struct run_facts *facts)
{
    for (size_t i = 0; i < facts->n_eval_suites; i++)
        if (!eval_suite_is_general(facts, facts->eval_suites[i].suite))
            return true;
    return false;
}

/* A later checkpoint of the same model was measured on that suite: it is the one that is claimed. */
static bool is_superseded(const struct claims *c, const struct eval_pair *pair)
{
    for (size_t i = 0; i < c->n; i++)
        if (eval_same_model(c->pairs[i].candidate->model, pair->candidate->model) &&
            str_is_ignoring_case(str_of(c->pairs[i].candidate->suite), pair->candidate->suite) &&
            c->pairs[i].candidate->step > pair->candidate->step)
            return true;
    return false;
}

static void weigh(struct claims *c)
{
    double p[MAX_PAIRS] = {0};
    bool falls[MAX_PAIRS] = {false};

    (void)general_falls(c->pairs, c->n, falls);
    for (size_t i = 0; i < c->n; i++) {
        const struct eval_pair *pair = &c->pairs[i];

        c->counts[i] = !pair->is_variant && (!pair->is_general || !c->has_task) &&
                       !is_superseded(c, pair);
        c->is_old_ability[i] = falls[i] || pair_is_old_ability(c->pairs, c->n, pair);
        p[i] = c->counts[i] && !pair->why_not ? pair->p : NAN;
        c->n_tested += !isnan(p[i]);
    }
    holm(p, c->n, c->rejects);
}

/* One suite is judged by its interval, several also by Holm's rule. The interval of pairs is too narrow
 * where few differ: there the exact test has to agree. */
static bool is_told(const struct claims *c, size_t i)
{
    const struct eval_pair *pair = &c->pairs[i];
    bool is_exact = pair->is_paired;

    return c->n_tested < 2 ? !is_exact || pair->p < 0.05 : c->rejects[i];
}

static bool is_resolved(const struct claims *c, size_t i)
{
    return c->pairs[i].interval.low > 0.0 && is_told(c, i);
}

static bool is_worse(const struct claims *c, size_t i)
{
    return c->pairs[i].interval.high < 0.0 && is_told(c, i) && !c->is_old_ability[i];
}

/* ---- What is said ---- */

static void add_fixes(struct check_ctx *ctx, bool is_paired)
{
    if (!is_paired)
        check_fix(ctx, "a paired test: keep the result of each item (item_id, correct) of both models");
    check_fix(ctx, "more items");
    check_fix(ctx, "the same decoding for both: temperature 0, or the same seeds (5 show the spread)");
    check_fix(ctx, "report the interval beside the gain");
}

static void show_power(struct check_ctx *ctx, const struct eval_pair *pair)
{
    double share = eval_discordance(pair), visible = eval_visible(pair);
    double need = items_needed(pair->d, share);
    long long n = (long long)(pair->n_base < pair->n_candidate ? pair->n_base : pair->n_candidate);

    /* items that go together tell as much as fewer independent ones: more of them are needed */
    double factor = isfinite(pair->n_alone) ? (double)n / pair->n_alone : 1.0;
    need = ceil(need * factor);
    if (isfinite(visible))
        evidence_number(ctx, 100.0 * pair->d, 100.0 * visible, "%lld items see %.1f points or more", n,
                        100.0 * visible);
    if (isfinite(need))
        evidence_number(ctx, (double)n, need,
                        "%.1f points need %.0f items in pairs (%.0f %% of them differ)",
                        fabs(100.0 * pair->d), need, 100.0 * share);
    need = ceil(factor * items_needed_unpaired(pair->p_base, pair->p_candidate));
    if (isfinite(need) && !pair->is_paired)
        evidence_number(ctx, (double)n, need, "%.1f points need %.0f items of each without pairs",
                        fabs(100.0 * pair->d), need);
}

static int state_gain(struct check_ctx *ctx, const struct claims *c, size_t i)
{
    const struct eval_pair *pair = &c->pairs[i];
    double half = 0.5 * (pair->interval.high - pair->interval.low);
    const char *also = "";

    if (pair->interval.low > 0.0)
        also = c->n_tested < 2 ? arena_printf(ctx->arena, ", but by the exact test of pairs p is %.2g",
                                              pair->p)
                               : ", not significant among the suites by Holm's rule";
    show_power(ctx, pair);
    add_fixes(ctx, pair->is_paired);
    return check_fail(ctx, half >= 2.0 * pair->d ? CONFIDENCE_STRONG : CONFIDENCE_LIKELY, "equal",
                      "%s: %+.1f points are no gain that %lld items can tell from chance (95 %%: "
                      "%+.1f to %+.1f%s)",
                      pair->candidate->suite, 100.0 * pair->d, (long long)pair->n_candidate,
                      100.0 * pair->interval.low, 100.0 * pair->interval.high,
                      also);
}

static int state_worse(struct check_ctx *ctx, const struct eval_pair *pair)
{
    check_fix(ctx, "look at the prompts of the evaluation (stage 2) and, of a preference run, at stage P");
    check_fix(ctx, "an earlier checkpoint, a lower learning rate (stage 7)");
    if (pair->candidate->step != NONE)
        check_begins(ctx, pair->candidate->step);
    return check_warn(ctx, pair->p < 0.01 ? CONFIDENCE_STRONG : CONFIDENCE_LIKELY, "worse",
                      "%s: no gain, the candidate is worse by %.1f points (95 %%: %+.1f to %+.1f)",
                      pair->candidate->suite, -100.0 * pair->d, 100.0 * pair->interval.low,
                      100.0 * pair->interval.high);
}

/* Earlier checkpoints of the same model on the suite: the best of several is picked, so that its lead over
 * the last is in part chance. */
static void show_checkpoints(struct check_ctx *ctx, const struct claims *c, const struct eval_pair *last)
{
    const struct eval_pair *best = last;
    size_t n = 1;

    for (size_t i = 0; i < c->n; i++) {
        const struct eval_pair *own = &c->pairs[i];

        if (own == last || !eval_same_model(own->candidate->model, last->candidate->model) ||
            !str_is_ignoring_case(str_of(own->candidate->suite), last->candidate->suite) || own->why_not)
            continue;
        n++;
        best = own->p_candidate > best->p_candidate ? own : best;
    }
    if (n > 1 && best != last)
        evidence_number(ctx, 100.0 * best->p_candidate, 100.0 * last->p_candidate,
                        "of %zu checkpoints step %lld is the best with %.1f %%, the last (step %lld) has "
                        "%.1f %%: the best of several leads in part by chance",
                        n, (long long)best->candidate->step, 100.0 * best->p_candidate,
                        (long long)last->candidate->step, 100.0 * last->p_candidate);
}

/* Nothing is left to gain, or nothing was reached: the suite tells no two models apart. */
static bool is_at_an_end(const struct eval_pair *pair)
{
    return pair->p_base == pair->p_candidate && (pair->p_base >= 1.0 || pair->p_base <= 0.0);
}

static int state_pair(struct check_ctx *ctx, const struct claims *c, size_t i)
{
    const struct eval_pair *pair = &c->pairs[i];

    if (pair->why_not)
        return check_unknown(ctx, "%s of both models from the same items: %s",
                             pair->candidate->suite, pair->why_not);
    evidence_pair(ctx, pair);
    evidence_variants(ctx, c->pairs, c->n, pair);
    evidence_basis(ctx, pair);
    show_checkpoints(ctx, c, pair);
    if (is_worse(c, i))
        return state_worse(ctx, pair);
    if (pair->d > 0.0 && !is_resolved(c, i))
        return state_gain(ctx, c, i);
    if (pair->d > 0.0)
        return check_pass(ctx, pair->p < 0.01 ? CONFIDENCE_STRONG : CONFIDENCE_LIKELY,
                          "%s rose by %.1f points (95 %%: %+.1f to %+.1f)", pair->candidate->suite,
                          100.0 * pair->d, 100.0 * pair->interval.low, 100.0 * pair->interval.high);
    if (is_at_an_end(pair))
        check_info(ctx, "%s: both models have every item %s: it cannot tell two models apart",
                   pair->candidate->suite, pair->p_base >= 1.0 ? "right" : "wrong");
    return check_pass(ctx, CONFIDENCE_LIKELY, "no gain is claimed: %s %+.1f points",
                      pair->candidate->suite, 100.0 * pair->d);
}

/* Results that name no adapter are of the base, whatever was meant: the model that they name; else NULL. */
static const struct setting *named_base_only(const struct run_facts *facts)
{
    const struct setting *pretrained = facts_setting_on(facts, SIDE_EVAL, "lm_eval.pretrained");

    for (size_t i = 0; i < facts->n_eval_suites; i++)
        if (!eval_model_is_base(facts, facts->eval_suites[i].model))
            return NULL;
    return facts_setting_on(facts, SIDE_EVAL, "lm_eval.peft") || facts_is_adapter_run(facts, NULL) != 1
               ? NULL
               : pretrained;
}

/* A result without one of the other side leaves the answer open. */
static void state_open(struct check_ctx *ctx, const struct claims *c)
{
    const struct run_facts *facts = ctx->facts;
    const struct setting *only = named_base_only(facts);

    evidence_setting(ctx, only);
    for (size_t i = 0; i < facts->n_eval_suites; i++) {
        const struct eval_suite *own = &facts->eval_suites[i];
        bool has_pair = false;

        if ((c->has_task && eval_suite_is_general(facts, own->suite)) ||
            eval_suite_is_variant(facts, own))
            continue;
        for (size_t k = 0; k < c->n; k++)
            has_pair |= str_is_ignoring_case(str_of(c->pairs[k].candidate->suite), own->suite);
        if (!has_pair)
            check_unknown(ctx, "the result of the %s model on %s%s%s%s",
                          eval_model_is_base(facts, own->model) ? "fine-tuned" : "base", own->suite,
                          only ? ": lm_eval ran pretrained=" : "", only ? only->value : "",
                          only ? " without peft=, so the adapter was not evaluated" : "");
    }
}

/* ---- Judgements ---- */

static int state_judged(struct check_ctx *ctx, const struct judged_pair *pair)
{
    double low = 100.0 * pair->interval.low, high = 100.0 * pair->interval.high;

    if (isnan(pair->n_alone))
        return check_unknown(ctx, "judgements of more than one question: all %lld are of one",
                             (long long)pair->n);
    struct evidence *e = evidence_number(
        ctx, 100.0 * pair->rate, 50.0, "judged: %s wins %.1f %% of %lld against %s (95 %%: %.1f to %.1f)",
        pair->candidate, 100.0 * pair->rate, (long long)pair->n, pair->base, low, high);
    double need = items_needed(2.0 * pair->rate - 1.0, 1.0);

    e->source_id = pair->source_id;
    e->line = pair->line;
    if (pair->n_repeats > 0)
        evidence_number(ctx, (double)(pair->n - pair->n_repeats), (double)pair->n,
                        "%lld of the %lld judgements are of a question that was judged before: the interval "
                        "is of the %lld questions, which tell as much as %.0f independent judgements",
                        (long long)pair->n_repeats, (long long)pair->n, (long long)pair->n_questions,
                        pair->n_alone);
    if (pair->rate <= 0.5)
        return check_pass(ctx, CONFIDENCE_LIKELY, "no gain is claimed: judged %.1f %%",
                          100.0 * pair->rate);
    if (pair->interval.low > 0.5)
        return check_pass(ctx, CONFIDENCE_STRONG, "judged %.1f %% of %lld (95 %%: %.1f to %.1f)",
                          100.0 * pair->rate, (long long)pair->n, low, high);
    if (isfinite(need))
        evidence_number(ctx, (double)pair->n, need, "a win rate of %.1f %% needs %.0f judgements",
                        100.0 * pair->rate, need);
    add_fixes(ctx, true);
    return check_fail(ctx, CONFIDENCE_LIKELY, "equal",
                      "judged %.1f %% of %lld: the interval contains 50 %% (%.1f to %.1f)",
                      100.0 * pair->rate, (long long)pair->n, low, high);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct claims *claims = arena_alloc(ctx->arena, sizeof *claims);
    struct eval_pair *pairs = NULL;
    struct judged_pair *judged = NULL;
    size_t n = 0, n_judged = 0;

    if (!claims || !eval_pairs_read(ctx->facts, ctx->arena, &pairs, &n) ||
        !judged_pairs_read(ctx->facts, ctx->arena, &judged, &n_judged))
        return error_set(err, E_NOMEM, "no memory for the results of an evaluation");
    *claims = (struct claims){.pairs = pairs,
                              .n = n < MAX_PAIRS ? n : MAX_PAIRS,
                              .has_task = has_task_suite(ctx->facts)};
    if (ctx->facts->n_eval_suites == 0 && n_judged == 0)
        return check_unknown(ctx, "results of the base and of the fine-tuned model on the task "
                                  "(eval_results.jsonl), or judgements (judge.jsonl)");
    weigh(claims);
    state_open(ctx, claims);
    for (size_t i = 0; i < claims->n; i++)
        if (claims->counts[i])
            (void)state_pair(ctx, claims, i);
    for (size_t i = 0; i < n_judged; i++)
        (void)state_judged(ctx, &judged[i]);
    return OK;
}

const struct check check_gain_within_ci = {
    .id = "gain-within-ci",
    .version = 3,
    .stage = STAGE_EVAL_POWER,
    .severity = SEVERITY_MISLEADS,
    .title = "Every claimed gain is larger than its interval",
    .why = "Below a few hundred items most differences between two models are chance; what is built "
           "on them is built on nothing.",
    .run = run,
};
