/* C4.4: was a gain on the task paid with general ability? A general suite that fell (C4.3), beside a
 * task that rose or a training that invites it; where no suite is named general, one that was good
 * before and fell far while another rose. */
#include <math.h>
#include <string.h>

#include "core/checks/suite_evidence.h"

static const double RISKY_FULL = 2e-5, RISKY_LORA = 5e-4, RISKY_EPOCHS = 4.0;

struct training {
    bool is_known;              /* enough of it to say that it is not risky */
    const char *risk;           /* NULL, or what invites forgetting */
    const struct setting *settings[3];
    size_t n;
};

static void add_setting(struct training *t, const struct setting *setting)
{
    if (setting && t->n < 3)
        t->settings[t->n++] = setting;
}

static struct training read_training(const struct check_ctx *ctx)
{
    const struct run_facts *facts = ctx->facts;
    const struct setting *decided = NULL, *rate_of = facts_setting(facts, "learning_rate");
    const struct setting *epochs_of = facts_setting(facts, "num_train_epochs");
    int is_adapter = facts_is_adapter_run(facts, &decided);
    struct training t = {0};
    double rate = NAN, epochs = NAN;

    (void)setting_number(rate_of, &rate);
    if (!setting_number(epochs_of, &epochs) || facts->last_epoch > epochs)
        epochs = facts->planned_epochs > 0.0 ? facts->planned_epochs : facts->last_epoch;
    if (is_adapter == 0 && rate >= RISKY_FULL * 0.999) {
        t.risk = arena_printf(ctx->arena, "a full fine-tune at %.3g", rate);
        add_setting(&t, decided);
        add_setting(&t, rate_of);
    } else if (rate >= RISKY_LORA * 0.999) {
        t.risk = arena_printf(ctx->arena, "a learning rate of %.3g", rate);
        add_setting(&t, rate_of);
    } else if (epochs >= RISKY_EPOCHS) {
        t.risk = arena_printf(ctx->arena, "%.3g epochs", epochs);
        add_setting(&t, epochs_of);
    }
    t.is_known = t.risk || (isfinite(rate) && isfinite(epochs) && is_adapter >= 0);
    return t;
}

struct bargain {
    const struct eval_pair *fall, *gain; /* gain NULL: none was seen */
};

/* The general suite that fell furthest, one with a gain beside it first. */
static struct bargain find_general(const struct eval_pair *pairs, size_t n, const bool *falls)
{
    struct bargain best = {0};

    for (size_t i = 0; i < n; i++) {
        if (!falls[i])
            continue;
        struct bargain now = {&pairs[i], gain_beside(pairs, n, &pairs[i])};
        bool is_better = !best.fall || (now.gain && !best.gain) ||
                         (!now.gain == !best.gain && now.fall->d < best.fall->d);
        if (is_better)
            best = now;
    }
    return best;
}

/* No suite is named general: what the base could do and the candidate cannot any more. */
static struct bargain find_old_ability(const struct eval_pair *pairs, size_t n)
{
    struct bargain best = {0};

    for (size_t i = 0; i < n; i++) {
        const struct eval_pair *fall = &pairs[i];

        if (pair_is_old_ability(pairs, n, fall) && (!best.fall || fall->d < best.fall->d))
            best = (struct bargain){fall, gain_beside(pairs, n, fall)};
    }
    return best;
}

static bool has_general(const struct eval_pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (pairs[i].is_general && !pairs[i].is_variant)
            return true;
    return false;
}

static int state(struct check_ctx *ctx, const struct bargain *b, const struct training *t)
{
    const struct eval_pair *fall = b->fall;
    const char *why;

    evidence_pair(ctx, fall);
    if (b->gain)
        evidence_pair(ctx, b->gain);
    for (size_t i = 0; i < t->n; i++)
        evidence_setting(ctx, t->settings[i]);
    if (fall->candidate->step != NONE)
        check_begins(ctx, fall->candidate->step);
    check_fix(ctx, "LoRA rather than a full fine-tune");
    check_fix(ctx, "a lower learning rate");
    check_fix(ctx, "fewer epochs");
    check_fix(ctx, "general data mixed in");
    if (b->gain)
        why = arena_printf(ctx->arena, "%s rose from %.1f %% to %.1f %%%s%s", b->gain->candidate->suite,
                           100.0 * b->gain->p_base, 100.0 * b->gain->p_candidate,
                           t->risk ? "; trained with " : "", t->risk ? t->risk : "");
    else
        why = arena_printf(ctx->arena, "the training invites it: %s", t->risk);
    return check_fail(ctx, fall->p < 0.01 ? CONFIDENCE_STRONG : CONFIDENCE_LIKELY,
                      t->risk ? "" : "suite-only", "%s fell from %.1f %% to %.1f %% (%lld items) while %s",
                      fall->candidate->suite, 100.0 * fall->p_base, 100.0 * fall->p_candidate,
                      (long long)fall->n_candidate, why ? why : "the task rose");
}

static int without_fall(struct check_ctx *ctx, const struct eval_pair *pairs, size_t n)
{
    size_t n_tested = 0;
    double visible = 0.0;

    for (size_t i = 0; i < n; i++) {
        if (!pairs[i].is_general || pairs[i].is_variant)
            continue;
        if (pairs[i].why_not)
            return check_unknown(ctx, "%s of both models from the same suite: %s",
                                 pairs[i].candidate->suite, pairs[i].why_not);
        n_tested++;
        visible = fmax(visible, eval_visible(&pairs[i]));
    }
    if (n_tested == 0)
        return check_unknown(ctx, "a retention suite: results of the base and the fine-tuned model on "
                                  "general items (retention.jsonl)");
    return check_pass(ctx, CONFIDENCE_LIKELY,
                      "no general suite fell; a drop of %.1f points or more would have been seen",
                      100.0 * visible);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct eval_pair *pairs = NULL;
    size_t n = 0;

    if (!eval_pairs_read(ctx->facts, ctx->arena, &pairs, &n))
        return error_set(err, E_NOMEM, "no memory for the suites of an evaluation");
    bool *falls = arena_array(ctx->arena, n + 1, sizeof *falls);
    if (!falls)
        return error_set(err, E_NOMEM, "no memory for the suites of an evaluation");
    bool any_general = has_general(pairs, n);
    struct training training = read_training(ctx);
    (void)general_falls(pairs, n, falls);
    struct bargain bargain =
        any_general ? find_general(pairs, n, falls) : find_old_ability(pairs, n);

    if (bargain.fall && (bargain.gain || training.risk))
        return state(ctx, &bargain, &training);
    if (!bargain.fall)
        return without_fall(ctx, pairs, n);
    evidence_pair(ctx, bargain.fall);
    if (!training.is_known)
        return check_unknown(ctx, "the training arguments, or the task's results of both models: whether "
                                  "the fall of %s was the price of a gain",
                             bargain.fall->candidate->suite);
    return check_pass(ctx, CONFIDENCE_LIKELY,
                      "%s fell, but no task rose and the training does not invite forgetting",
                      bargain.fall->candidate->suite);
}

const struct check check_catastrophic_forgetting = {
    .id = "catastrophic-forgetting",
    .version = 3,
    .stage = STAGE_EVAL_POWER,
    .severity = SEVERITY_MISLEADS,
    .title = "The task gain was not paid with general ability",
    .why = "A model that gained its task and lost the rest is worse for most of what it is asked.",
    .run = run,
};
