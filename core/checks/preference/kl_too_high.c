/* P.6: does the policy move at all? A KL near zero for the whole run, or DPO margins that stay at
 * the start, mean that the penalty (or the rate) holds everything in place. */
#include <math.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/stats/curve.h"
#include "core/stats/robust.h"

enum { ENOUGH_RL_ROWS = 10, ENOUGH_DPO_ROWS = 4 };

static const double TOKEN_BOUND = 1e-2, SEQUENCE_BOUND = 1.0, GROWTH = 2.0;
static const double LN2 = 0.693147, AT_START = 0.0005;

struct values {
    const struct curve *curve;
    double *y;
    size_t *at;
    size_t n;
};

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "neither a DPO nor a GRPO or PPO run";
    return facts->run.kind == KIND_GRPO || facts->run.kind == KIND_PPO ||
           facts->run.kind == KIND_DPO;
}

static bool read_finite(struct check_ctx *ctx, const char *name, struct values *out)
{
    *out = (struct values){.curve = facts_curve(ctx->facts, name)};
    if (!out->curve)
        return false;
    out->y = arena_array(ctx->arena, out->curve->n + 1, sizeof *out->y);
    out->at = arena_array(ctx->arena, out->curve->n + 1, sizeof *out->at);
    for (size_t i = 0; out->y && out->at && i < out->curve->n; i++) {
        if (!isfinite(out->curve->value[i]))
            continue;
        out->at[out->n] = i;
        out->y[out->n++] = out->curve->value[i];
    }
    return out->n > 0;
}

static void drop_first_tenth(struct values *values)
{
    size_t drop = values->n / 10;

    values->y += drop;
    values->at += drop;
    values->n -= drop;
}

/* PPO logs the KL of whole sequences: by its mean length it becomes one per token. */
static double mean_length(struct check_ctx *ctx)
{
    static const char *const NAMES[] = {"completions/mean_length", "tokens/responses_len_mean",
                                        "objective/response_length", "response_length"};
    struct values length;

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (read_finite(ctx, NAMES[i], &length)) {
            double median = stat_median(length.y, length.n);
            return median > 0.0 ? median : 0.0;
        }
    return 0.0;
}

struct kl {
    struct values values;
    double bound;   /* in the unit of the values */
    bool is_likely; /* per sequence, length not known */
    bool is_sequence;
};

static bool read_kl(struct check_ctx *ctx, struct kl *out)
{
    bool is_ppo = ctx->facts->run.kind == KIND_PPO;

    out->is_sequence = read_finite(ctx, "objective/kl", &out->values);
    if (!out->is_sequence && !read_finite(ctx, "kl", &out->values))
        return false;
    out->is_sequence = out->is_sequence || is_ppo;
    out->bound = TOKEN_BOUND;
    if (out->is_sequence) {
        double length = mean_length(ctx);
        out->is_likely = length <= 0.0;
        out->bound = length > 0.0 ? TOKEN_BOUND * length : SEQUENCE_BOUND;
    }
    return true;
}

static bool all_below(const struct values *values, double bound)
{
    for (size_t i = 0; i < values->n; i++)
        if (!(values->y[i] < bound))
            return false;
    return true;
}

/* 1: the groups of a GRPO run give no signal, 0 they do, -1 not logged. */
static int has_dead_groups(struct check_ctx *ctx)
{
    struct values z, std;
    bool has_z = read_finite(ctx, "frac_reward_zero_std", &z);
    bool has_std = read_finite(ctx, "reward_std", &std);

    if (has_z && stat_median(z.y, z.n) >= 0.9)
        return 1;
    if (has_std && stat_median(std.y, std.n) <= 0.0)
        return 1;
    return has_z || has_std ? 0 : -1;
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

    if (!read_kl(ctx, &kl))
        return check_unknown(ctx, "metric rows with the KL (GRPO with beta 0 logs none)");
    drop_first_tenth(&kl.values);
    size_t n = kl.values.n, quarter = n / 4;
    if (n < ENOUGH_RL_ROWS)
        return check_unknown(ctx, "%zu more logged rows with the KL", ENOUGH_RL_ROWS - n);
    double first = stat_median(kl.values.y, quarter);
    double last = stat_median(kl.values.y + n - quarter, quarter);
    bool is_still = all_below(&kl.values, kl.bound) && last < GROWTH * first;
    if (!is_still) {
        check_pass(ctx, CONFIDENCE_STRONG,
                   "the KL moved: %.3g in the first quarter, %.3g in the "
                   "last",
                   first, last);
        return judge_target(ctx, &kl);
    }
    if (read_finite(ctx, "reward", &reward))
        drop_first_tenth(&reward);
    if (reward.n < ENOUGH_DPO_ROWS || !curve_movement(reward.y, reward.n, &movement))
        return check_unknown(ctx, "metric rows with the reward");
    if (movement.rose || movement.fell) {
        check_pass(ctx, CONFIDENCE_STRONG,
                   "the KL stays below %.3g but the reward moved from %.3g to %.3g", kl.bound,
                   movement.first, movement.last);
        return judge_target(ctx, &kl);
    }
    if (has_dead_groups(ctx) == 1)
        return check_unknown(ctx,
                             "a run whose groups differ in reward: without that nothing moves, "
                             "whatever the KL coefficient");
    check_fail(
        ctx, kl.is_likely ? CONFIDENCE_LIKELY : CONFIDENCE_STRONG, "kl",
        "the KL%s stays below %.3g for the whole run (%.3g in the first quarter, %.3g in the "
        "last) and the reward does not move (%.3g to %.3g)",
        kl.is_sequence ? " per sequence" : " per token", kl.bound, first, last, movement.first,
        movement.last);
    check_begins(ctx, kl.values.curve->step[kl.values.at[0]]);
    struct evidence *e = evidence_range(ctx, kl.values.curve, kl.values.at[0], kl.values.at[n - 1],
                                        "KL of every row below the bound");
    e->value = last;
    e->has_value = true;
    e->bound = kl.bound;
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

    if (read_finite(ctx, "loss", &loss) && is_at_start(&loss)) {
        check_fail(ctx, CONFIDENCE_CERTAIN, "ln2",
                   "the loss is ln 2 = 0.6931 on all %zu rows: the policy is still the reference",
                   loss.n);
        return fail_dpo(ctx, &loss, "loss at ln 2 throughout");
    }
    if (!read_finite(ctx, "rewards/margins", &margins) ||
        !read_finite(ctx, "rewards/accuracies", &accuracies))
        return check_unknown(ctx, "metric rows with rewards/margins and rewards/accuracies");
    size_t fewer = margins.n < accuracies.n ? margins.n : accuracies.n;
    if (fewer < ENOUGH_DPO_ROWS)
        return check_unknown(ctx, "%zu more logged rows", ENOUGH_DPO_ROWS - fewer);
    if (!facts_number(ctx->facts, "beta", &beta) || beta <= 0.0)
        beta = 0.1;
    size_t m = margins.n / 4, a = accuracies.n / 4;
    double margin = stat_median(margins.y + margins.n - m, m);
    double accuracy = stat_median(accuracies.y + accuracies.n - a, a);
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
    .version = 1,
    .stage = STAGE_PREFERENCE,
    .severity = SEVERITY_BLOCKS,
    .title = "The policy moves",
    .why = "A KL near zero for the whole run means that the policy is still the reference: the "
           "penalty is too strong, the rate too small, or nothing is trainable.",
    .applies = applies,
    .run = run,
};
