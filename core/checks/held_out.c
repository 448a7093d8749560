/* Held-out quality. See held_out.h. */
#include "core/checks/held_out.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/checks/preference_series.h"
#include "core/checks/suite_evidence.h"
#include "core/facts/judgements.h"
#include "core/stats/robust.h"

/* Win rates of two models that are the same wander by this much from one evaluation to the next. */
static const double RATE_STEP = 0.02;

struct reading {
    struct check_ctx *ctx;
    struct held_out worst;
};

static int rank(enum held_out_answer answer)
{
    static const int RANKS[] = {[HELD_OUT_UNKNOWN] = 0, [HELD_OUT_ROSE] = 1, [HELD_OUT_FLAT] = 1,
                                [HELD_OUT_FELL] = 2};

    return RANKS[answer];
}

/* A fall outweighs all; of the others the one that says more. */
static void weigh(struct held_out *worst, const struct held_out *next)
{
    bool is_worse = rank(next->answer) > rank(worst->answer);
    bool says_more = next->answer == HELD_OUT_ROSE && worst->answer == HELD_OUT_FLAT;

    if (is_worse || says_more)
        *worst = *next;
}

static enum held_out_answer answer_of(struct interval interval, double bound)
{
    if (interval.low > bound)
        return HELD_OUT_ROSE;
    return interval.high <= bound ? HELD_OUT_FELL : HELD_OUT_FLAT;
}

/* ---- Suites beside the base ---- */

/* A win against a strong model from elsewhere says nothing about the start of this training. */
static bool is_of_another(const char *name)
{
    static const char *const OTHERS[] = {"alpaca", "arena", "gpt", "claude", "davinci", "gemini",
                                         NULL};

    return name_holds(name, OTHERS);
}

static bool says_win(const char *suite)
{
    static const char *const WORDS[] = {"judge", "win", "pairwise", "preference", NULL},
                      *const STARTS[] = {"base", "sft", "ref", "before", "init", "start", NULL};
    const char *against = strcasestr(suite, "vs");

    if (is_of_another(suite) || (against && !name_holds(against, STARTS)))
        return false;
    return against || name_holds(suite, WORDS);
}

/* The same model on the same suite was evaluated at a later step. */
static bool is_overtaken(const struct eval_pair *pairs, size_t n, const struct eval_pair *own)
{
    for (size_t i = 0; i < n; i++) {
        const struct eval_suite *other = pairs[i].candidate;

        if (strcmp(other->model, own->candidate->model) == 0 &&
            strcmp(other->suite, own->candidate->suite) == 0 && own->candidate->step != NONE &&
            other->step > own->candidate->step)
            return true;
    }
    return false;
}

static bool weigh_pairs(struct reading *r, const struct eval_pair *pairs, size_t n, bool general)
{
    bool is_known = false;

    for (size_t i = 0; i < n; i++) {
        const struct eval_pair *pair = &pairs[i];

        if (pair->is_general != general || pair->is_variant || pair->why_not ||
            !isfinite(pair->interval.low) || is_overtaken(pairs, n, pair))
            continue;
        struct held_out next = {
            .answer = pair_fell(pair)   ? HELD_OUT_FELL
                      : pair_rose(pair) ? HELD_OUT_ROSE
                                        : HELD_OUT_FLAT,
            .what = arena_printf(r->ctx->arena, "%s: %s %s, %s %s", pair->candidate->suite,
                                 pair->base->model, eval_reached(pair->base, r->ctx->arena),
                                 pair->candidate->model,
                                 eval_reached(pair->candidate, r->ctx->arena)),
            .pair = pair,
            .value = pair->d,
            .bound = 0.0,
            .interval = pair->interval,
        };
        weigh(&r->worst, &next);
        is_known = true;
    }
    return is_known;
}

/* A share of comparisons that were won, as a summary row without a base beside it. */
static void weigh_win_rates(struct reading *r, const struct eval_pair *pairs, size_t n)
{
    const struct run_facts *facts = r->ctx->facts;

    for (size_t i = 0; i < facts->n_eval_suites; i++) {
        const struct eval_suite *suite = &facts->eval_suites[i];

        if (!says_win(suite->suite) || eval_is_paired(pairs, n, suite) ||
            eval_model_is_base(facts, suite->model) || suite->n < 1 ||
            !(suite->n_correct >= 0.0 && suite->n_correct <= (double)suite->n))
            continue;
        struct interval interval = wilson(llround(suite->n_correct), suite->n);
        struct held_out next = {
            .answer = answer_of(interval, 0.5),
            .what = arena_printf(r->ctx->arena, "%s won %s on %s", suite->model,
                                 eval_reached(suite, r->ctx->arena), suite->suite),
            .won = suite,
            .value = suite->n_correct / (double)suite->n,
            .bound = 0.5,
            .interval = interval,
        };
        weigh(&r->worst, &next);
    }
}

/* ---- Judgements ---- */

enum { ENOUGH_MATCHED = 20 };
static const double LONGER = 1.2;

/* Longer answers that win only as the longer ones: where lengths are alike, none is better. */
static bool wins_by_length(const struct judged_pair *pair)
{
    return pair->ratio >= LONGER && pair->n_matched >= ENOUGH_MATCHED &&
           !(pair->matched.low > 0.5);
}

static bool is_judged_later(const struct judged_pair *pairs, size_t n,
                            const struct judged_pair *own)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(pairs[i].candidate, own->candidate) == 0 && own->step != NONE &&
            pairs[i].step > own->step)
            return true;
    return false;
}

static void weigh_judgements(struct reading *r)
{
    struct judged_pair *pairs = NULL;
    size_t n = 0;

    if (!judged_pairs_read(r->ctx->facts, r->ctx->arena, &pairs, &n))
        return;
    for (size_t i = 0; i < n; i++) {
        const struct judged_pair *pair = &pairs[i];

        if (!eval_model_is_base(r->ctx->facts, pair->base) || is_judged_later(pairs, n, pair))
            continue;
        enum held_out_answer answer = answer_of(pair->interval, 0.5);
        bool by_length = answer == HELD_OUT_ROSE && wins_by_length(pair);
        struct held_out next = {
            .answer = by_length ? HELD_OUT_FLAT : answer,
            .what = arena_printf(r->ctx->arena, "%s won %g of %lld judgements against %s%s",
                                 pair->candidate, pair->wins, (long long)pair->n, pair->base,
                                 by_length ? ", by length alone" : ""),
            .judged = pair,
            .value = pair->rate,
            .bound = 0.5,
            .interval = pair->interval,
        };
        weigh(&r->worst, &next);
    }
}

/* ---- Series ---- */

/* A rate of comparisons won, in shares or per cent: above or below one half by its own noise. */
static void weigh_rate(struct reading *r, const struct values *values)
{
    size_t half = values->n / 2, k = values->n - half;
    double scale = stat_quantile(values->y, values->n, 1.0) > 1.5 ? 0.01 : 1.0;

    if (values->n < 2)
        return;
    double rate = scale * stat_median(values->y + half, k);
    double noise = k >= 3 ? 2.0 * scale * stat_sd(values->y + half, k) / sqrt((double)k) : 0.0;
    double bar = fmax(RATE_STEP, noise);
    const struct interval interval = {rate - bar, rate + bar};
    struct held_out next = {
        .answer = answer_of(interval, 0.5),
        .what = arena_printf(r->ctx->arena, "%s is %.2f in the last half", values->curve->name, rate),
        .curve = values->curve,
        .value = rate,
        .bound = 0.5,
        .interval = interval,
    };
    weigh(&r->worst, &next);
}

static void weigh_curve(struct reading *r, const struct values *values, bool only_falls)
{
    struct movement movement;

    if (!values_move(values, &movement) || (only_falls && !movement.fell))
        return;
    struct held_out next = {
        .answer = movement.fell   ? HELD_OUT_FELL
                  : movement.rose ? HELD_OUT_ROSE
                                  : HELD_OUT_FLAT,
        .what = arena_printf(r->ctx->arena, "%s went from %.3g to %.3g", values->curve->name,
                             movement.first, movement.last),
        .curve = values->curve,
        .value = movement.last,
        .bound = movement.first,
        .interval = {NAN, NAN},
    };
    weigh(&r->worst, &next);
}

/* The margin's own accuracies and the accuracy of tokens say nothing of the answers. */
static void see_series(void *ctx, const char *name)
{
    static const char *const RATES[] = {"win_rate", "winrate", "win-rate", "win rate", NULL},
                      *const HELD[] = {"heldout", "held_out", "held-out", "holdout", "gold", NULL},
                      *const OTHERS[] = {"token_acc", "rewards/accuracies", "loss", "runtime",
                                         "per_second", "logps", "logits", "margins", "length",
                                         "tokens", "entropy", "perplexity", "rewards/chosen",
                                         "rewards/rejected", "clip", "/std", "_std", NULL};
    static const char *const STARTS[] = {"eval_", "eval/", "val_", "val/", "val-", "validation/",
                                         "test_", "test/"};
    struct reading *r = ctx;
    struct values values;
    const char *rest = NULL; /* behind eval_ */

    if (name_holds(name, OTHERS))
        return;
    for (size_t i = 0; i < sizeof STARTS / sizeof *STARTS; i++)
        if (!rest && strncmp(name, STARTS[i], strlen(STARTS[i])) == 0)
            rest = name + strlen(STARTS[i]);
    bool is_rate = name_holds(name, RATES), is_held = name_holds(name, HELD);
    /* The trained reward on other prompts may be hacked there too: its rise says nothing. */
    bool is_right = rest && name_is_accuracy(rest);
    bool is_reward = rest && !is_held && !is_right && strstr(rest, "reward");
    if (is_rate && is_of_another(name))
        return;
    if (!is_rate && !is_held && !is_right && !is_reward)
        return;
    if (!values_read(r->ctx, name, &values))
        return;
    if (is_rate)
        weigh_rate(r, &values);
    else
        weigh_curve(r, &values, is_reward);
}

/* ---- All ---- */

struct held_out held_out_read(struct check_ctx *ctx)
{
    struct reading r = {.ctx = ctx,
                        .worst = {.value = NAN, .bound = NAN, .interval = {NAN, NAN}}};
    struct eval_pair *pairs = NULL;
    size_t n = 0;

    if (!eval_pairs_read(ctx->facts, ctx->arena, &pairs, &n))
        return r.worst;
    bool has_task = weigh_pairs(&r, pairs, n, false);
    if (!has_task)
        (void)weigh_pairs(&r, pairs, n, true);
    weigh_win_rates(&r, pairs, n);
    weigh_judgements(&r);
    each_metric(ctx->facts, see_series, &r);
    return r.worst;
}

void held_out_show(struct check_ctx *ctx, const struct held_out *held_out)
{
    if (held_out->answer == HELD_OUT_UNKNOWN)
        return;
    if (held_out->pair) {
        evidence_pair(ctx, held_out->pair);
        return;
    }
    if (held_out->curve) {
        size_t last = held_out->curve->n - 1;
        struct evidence *e =
            evidence_range(ctx, held_out->curve, 0, last, "held-out quality: %s", held_out->what);
        e->value = held_out->value;
        e->has_value = true;
        return;
    }
    struct evidence *e =
        evidence_number(ctx, held_out->value, held_out->bound,
                        "held-out quality: %s (95 %%: %.2f to %.2f)", held_out->what,
                        held_out->interval.low, held_out->interval.high);
    if (held_out->judged) {
        e->source_id = held_out->judged->source_id;
        e->line = held_out->judged->line;
    }
    if (held_out->won) {
        e->source_id = held_out->won->source_id;
        e->line = held_out->won->line;
    }
}
