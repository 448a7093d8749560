/* P.6: does the policy move at all? A KL near zero for the whole run, or DPO margins that stay at
 * the start, mean that the penalty (or the rate) holds everything in place. */
#include <math.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/checks/preference_series.h"
#include "core/stats/robust.h"

enum { ENOUGH_RL_ROWS = 10, ENOUGH_DPO_ROWS = 4 };

static const double TOKEN_BOUND = 1e-2, SEQUENCE_BOUND = 1.0, GROWTH = 2.0;
static const double LN2 = 0.693147, AT_START = 0.0005;

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "neither a DPO nor a GRPO or PPO run";
    return facts->run.kind == KIND_GRPO || facts->run.kind == KIND_PPO ||
           facts->run.kind == KIND_DPO;
}

/* In the unit of the values. */
static double bound_of(const struct kl *kl)
{
    if (!kl->is_sequence)
        return TOKEN_BOUND;
    return kl->length > 0.0 ? TOKEN_BOUND * kl->length : SEQUENCE_BOUND;
}

static bool all_below(const struct values *values, double bound)
{
    for (size_t i = 0; i < values->n; i++)
        if (!(values->y[i] < bound))
            return false;
    return true;
}

static void advise(struct check_ctx *ctx, const char *beta)
{
    check_fix(ctx, "%s divided by 2 to 10", beta);
    check_fix(ctx, "learning rate times 3");
    check_fix(ctx, "look at stage 3: with nothing trainable the curves look the same");
}

static void show_settings(struct check_ctx *ctx)
{
    double rate = 0.0;

    evidence_setting(ctx, facts_setting(ctx->facts, "beta"));
    evidence_setting(ctx, facts_setting(ctx->facts, "init_kl_coef"));
    evidence_setting(ctx, facts_setting(ctx->facts, "learning_rate"));
    if (facts_number(ctx->facts, "learning_rate", &rate) && rate <= 1e-7)
        check_info(ctx,
                   "a learning rate of %.1g gives the same picture and is the more likely "
                   "reason",
                   rate);
}

static int judge_target(struct check_ctx *ctx, const struct kl *kl)
{
    double target = 0.0;
    size_t half = kl->values.n / 2;

    if (!facts_number(ctx->facts, "target_kl", &target) || target <= 0.0)
        return OK;
    double median = stat_median(kl->values.y + half, kl->values.n - half);
    if (median >= 0.05 * target)
        return OK;
    check_warn(ctx, CONFIDENCE_LIKELY, "target",
               "the KL of the last half is %.3g, less than 5 %% of its target %.3g", median,
               target);
    evidence_setting(ctx, facts_setting(ctx->facts, "target_kl"));
    advise(ctx, "the KL coefficient");
    return OK;
}

static int judge_rl(struct check_ctx *ctx)
{
    struct kl kl = {0};
    struct values reward = {0};
    struct movement movement = {0};

    if (!kl_read(ctx, &kl))
        return check_unknown(ctx, "metric rows with the KL (GRPO with beta 0 logs none)");
    values_drop_first_tenth(&kl.values);
    size_t n = kl.values.n;
    if (n < ENOUGH_RL_ROWS)
        return check_unknown(ctx, "%zu more logged rows with the KL", ENOUGH_RL_ROWS - n);
    double first = values_quarter(&kl.values, 0), last = values_quarter(&kl.values, 3);
    double bound = bound_of(&kl);
    bool is_still = all_below(&kl.values, bound) && last < GROWTH * first;
    if (!is_still) {
        check_pass(ctx, CONFIDENCE_STRONG,
                   "the KL moved: %.3g in the first quarter, %.3g in the "
                   "last",
                   first, last);
        return judge_target(ctx, &kl);
    }
    if (values_read(ctx, "reward", &reward))
        values_drop_first_tenth(&reward);
    if (reward.n < ENOUGH_DPO_ROWS || !values_move(&reward, &movement))
        return check_unknown(ctx, "metric rows with the reward");
    if (movement.rose || movement.fell) {
        check_pass(ctx, CONFIDENCE_STRONG,
                   "the KL stays below %.3g but the reward moved from %.3g to %.3g", bound,
                   movement.first, movement.last);
        return judge_target(ctx, &kl);
    }
    if (dead_groups_known(ctx) == 1)
        return check_unknown(ctx,
                             "a run whose groups differ in reward: without that nothing moves, "
                             "whatever the KL coefficient");
    check_fail(
        ctx, kl.is_sequence && kl.length <= 0.0 ? CONFIDENCE_LIKELY : CONFIDENCE_STRONG, "kl",
        "the KL %s stays below %.3g for the whole run (%.3g in the first quarter, %.3g in the "
        "last) and the reward does not move (%.3g to %.3g)",
        kl_unit(&kl), bound, first, last, movement.first,
        movement.last);
    check_begins(ctx, kl.values.curve->step[kl.values.at[0]]);
    struct evidence *e = evidence_range(ctx, kl.values.curve, kl.values.at[0], kl.values.at[n - 1],
                                        "KL of every row below the bound");
    e->value = last;
    e->has_value = true;
    e->bound = bound;
    e->has_bound = true;
    evidence_range(ctx, reward.curve, reward.at[0], reward.at[reward.n - 1],
                   "reward from %.3g to %.3g, a move counts from %.3g on", movement.first,
                   movement.last, movement.bar);
    show_settings(ctx);
    advise(ctx, ctx->facts->run.kind == KIND_PPO ? "the KL coefficient" : "beta");
    return OK;
}

static bool is_at_start(const struct values *loss)
{
    for (size_t i = 0; i < loss->n; i++)
        if (fabs(loss->y[i] - LN2) > AT_START)
            return false;
    return loss->n >= ENOUGH_DPO_ROWS;
}

static int fail_dpo(struct check_ctx *ctx, const struct values *values, const char *what)
{
    check_begins(ctx, values->curve->step[values->at[0]]);
    evidence_range(ctx, values->curve, values->at[0], values->at[values->n - 1], "%s", what);
    show_settings(ctx);
    advise(ctx, "beta");
    return OK;
}

static int judge_dpo(struct check_ctx *ctx)
{
    struct values loss, margins, accuracies;
    double beta = 0.1;

    if (values_read(ctx, "loss", &loss) && is_at_start(&loss)) {
        check_fail(ctx, CONFIDENCE_CERTAIN, "ln2",
                   "the loss is ln 2 = 0.6931 on all %zu rows: the policy is still the reference",
                   loss.n);
        return fail_dpo(ctx, &loss, "loss at ln 2 throughout");
    }
    if (!values_read(ctx, "rewards/margins", &margins) ||
        !values_read_share(ctx, "rewards/accuracies", &accuracies))
        return check_unknown(ctx, "metric rows with rewards/margins and rewards/accuracies");
    size_t fewer = margins.n < accuracies.n ? margins.n : accuracies.n;
    if (fewer < ENOUGH_DPO_ROWS)
        return check_unknown(ctx, "%zu more logged rows", ENOUGH_DPO_ROWS - fewer);
    if (!facts_number(ctx->facts, "beta", &beta) || beta <= 0.0)
        beta = 0.1;
    double margin = values_quarter(&margins, 3), accuracy = values_quarter(&accuracies, 3);
    if (margin < 0.05 * beta && accuracy <= 0.55) {
        check_fail(ctx, CONFIDENCE_STRONG, "margins",
                   "margins of %.3g at the end (bound %.3g) and accuracies of %.2f: the policy is "
                   "hardly different from the reference",
                   margin, 0.05 * beta, accuracy);
        evidence_point(ctx, accuracies.curve, accuracies.at[accuracies.n - 1], "accuracies");
        return fail_dpo(ctx, &margins, "margins");
    }
    return check_pass(ctx, CONFIDENCE_STRONG,
                      "margins of %.3g and accuracies of %.2f in the last "
                      "quarter",
                      margin, accuracy);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    (void)err;
    return ctx->facts->run.kind == KIND_DPO ? judge_dpo(ctx) : judge_rl(ctx);
}

const struct check check_kl_too_high = {
    .id = "kl-too-high",
    .version = 2,
    .stage = STAGE_PREFERENCE,
    .severity = SEVERITY_BLOCKS,
    .title = "The policy moves",
    .why = "A KL near zero for the whole run means that the policy is still the reference: the "
           "penalty is too strong, the rate too small, or nothing is trainable.",
    .applies = applies,
    .run = run,
};
