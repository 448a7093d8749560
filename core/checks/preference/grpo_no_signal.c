/* P.2: do the groups contain different rewards? Without a difference inside a group the advantage
 * is 0 and nothing is learned. */
#include <math.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/checks/preference_completions.h"
#include "core/checks/preference_series.h"
#include "core/stats/robust.h"

enum { ENOUGH_ROWS = 5 };

static const double DEAD = 0.9, WEAK = 0.8, NOTED = 0.5;

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "not a GRPO run";
    return facts->run.kind == KIND_GRPO;
}

static double level(const struct dead_groups *groups, size_t from)
{
    const double *z = groups->z.y + from;
    size_t n = groups->z.n - from;

    return groups->is_share ? stat_mean(z, n) : stat_median(z, n);
}

static bool reward_rose(struct check_ctx *ctx, struct movement *movement)
{
    struct values reward;

    *movement = (struct movement){.first = NAN, .last = NAN};
    return values_read(ctx, "reward", &reward) && values_move(&reward, movement) && movement->rose;
}

enum end { END_UNKNOWN, END_WRONG, END_RIGHT };

/* All wrong, or all right: counted where the completions were logged. */
static enum end tell_groups(struct check_ctx *ctx)
{
    struct completion_sums sums;

    if (!completions_sum(ctx, &sums) || sums.n_dead == 0)
        return END_UNKNOWN;
    check_info(ctx, "of %lld logged groups %lld have no difference: %lld all wrong, %lld all right, "
                    "%lld between (steps %lld to %lld)",
               (long long)sums.n_groups, (long long)sums.n_dead, (long long)sums.n_wrong,
               (long long)sums.n_right, (long long)(sums.n_dead - sums.n_wrong - sums.n_right),
               (long long)sums.first_step, (long long)sums.last_step);
    return 2 * sums.n_wrong > sums.n_dead   ? END_WRONG
           : 2 * sums.n_right > sums.n_dead ? END_RIGHT
                                            : END_UNKNOWN;
}

/* The same by the reward of the rows whose groups have no difference. */
static void tell_rewards(struct check_ctx *ctx, const struct dead_groups *groups)
{
    const struct curve *reward = facts_curve(ctx->facts, "reward");
    double *y = arena_array(ctx->arena, groups->z.n + 1, sizeof *y), value;
    size_t n = 0;

    for (size_t i = 0; y && i < groups->z.n; i++)
        if (groups->z.y[i] >= DEAD &&
            curve_on_row(reward, groups->z.curve, groups->z.at[i], &value) &&
            isfinite(value))
            y[n++] = value;
    if (n == 0)
        return;
    double median = stat_median(y, n);
    check_info(ctx, "the reward of those rows is %.3g (median): %s", median,
               median <= 0.0   ? "their answers are all wrong"
               : median >= 1.0 ? "their answers are all right, if 1 is the best"
                               : "answers that are half right, each in the same way");
}

/* What the rollouts of such groups cost, where the trainer logs the seconds of a step. */
static void tell_waste(struct check_ctx *ctx, const struct dead_groups *groups)
{
    const struct curve *seconds = facts_curve(ctx->facts, "step_time"), *at = groups->z.curve;
    double all = 0.0, lost = 0.0, value, share = stat_mean(groups->z.y, groups->z.n);
    struct completion_sums sums;

    if (completions_sum(ctx, &sums))
        share = (double)sums.n_dead_rows / (double)sums.n_grouped;
    for (size_t i = 1; i < groups->z.n; i++) {
        double steps = (double)(at->step[groups->z.at[i]] - at->step[groups->z.at[i - 1]]);

        if (!curve_on_row(seconds, at, groups->z.at[i], &value) || !(value > 0.0) || steps < 1.0)
            continue;
        all += value * steps;
        lost += value * steps * groups->z.y[i];
    }
    check_info(ctx, "%.0f %% of the rollouts gave no gradient", 100.0 * share);
    const struct curve *whole = facts_curve(ctx->facts, "train_runtime");
    if (!(all > 0.0) && whole && whole->n > 0 && whole->value[whole->n - 1] > 0.0) {
        all = whole->value[whole->n - 1];
        lost = share * all;
    }
    if (all > 0.0)
        check_info(ctx, "that is %.3g of %.3g hours", lost / 3600.0, all / 3600.0);
}

static void show(struct check_ctx *ctx, const struct dead_groups *groups, size_t from, double value,
                 double bound)
{
    const struct curve *reward = facts_curve(ctx->facts, "reward");

    check_begins(ctx, values_step(&groups->z, from));
    struct evidence *e =
        evidence_range(ctx, groups->z.curve, groups->z.at[from], groups->z.at[groups->z.n - 1],
                       groups->is_share ? "rows whose groups have no difference"
                                        : "share of groups without a difference");
    e->value = value;
    e->has_value = true;
    e->bound = bound;
    e->has_bound = true;
    if (reward && reward->n > 0) {
        evidence_point(ctx, reward, 0, "reward of the first row");
        evidence_point(ctx, reward, reward->n - 1, "reward of the last row");
    }
    evidence_setting(ctx, facts_setting(ctx->facts, "num_generations"));
    evidence_setting(ctx, facts_setting(ctx->facts, "temperature"));
    enum end end = tell_groups(ctx);
    if (end == END_UNKNOWN)
        tell_rewards(ctx, groups);
    tell_waste(ctx, groups);
    check_fix(ctx, end == END_WRONG   ? "easier prompts: most of these groups are all wrong"
                   : end == END_RIGHT ? "harder prompts: most of these groups are all right"
                                      : "easier prompts where all answers are wrong, harder ones "
                                        "where all are right");
    check_fix(ctx, "num_generations up, temperature 1.0");
    check_fix(ctx, "a graded reward in place of all or nothing");
    check_fix(ctx, "look whether the completions are cut at the limit");
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct dead_groups groups;
    struct movement reward;

    (void)err;
    if (!dead_groups_read(ctx, &groups))
        return check_unknown(ctx, "metric rows with frac_reward_zero_std or reward_std, or the "
                                  "logged completions with their rewards");
    if (groups.z.n < ENOUGH_ROWS)
        return check_unknown(ctx, "%zu more logged rows", ENOUGH_ROWS - groups.z.n);
    bool rose = reward_rose(ctx, &reward);
    double whole = level(&groups, 0), half = level(&groups, groups.z.n / 2);
    if (!rose && whole >= DEAD) {
        check_fail(ctx, CONFIDENCE_CERTAIN, "",
                   "%.0f %% of the groups have no difference in reward (%zu rows), and the reward "
                   "did not rise first",
                   100.0 * whole, groups.z.n);
        show(ctx, &groups, 0, whole, DEAD);
        return OK;
    }
    if (!rose && half >= WEAK) {
        check_warn(ctx, CONFIDENCE_LIKELY, "",
                   "%.0f %% of the groups of the last half have no difference in reward",
                   100.0 * half);
        show(ctx, &groups, groups.z.n / 2, half, WEAK);
        return OK;
    }
    (void)tell_groups(ctx);
    if (rose && half >= WEAK)
        check_info(ctx,
                   "most groups of the last half have equal rewards, after the reward rose from "
                   "%.3g to %.3g: learned, harder prompts would go on",
                   reward.first, reward.last);
    else if (level(&groups, groups.z.n - groups.z.n / 4) >= NOTED)
        check_info(ctx, "late in the run %.0f %% of the groups have no difference",
                   100.0 * level(&groups, groups.z.n - groups.z.n / 4));
    return check_pass(ctx, CONFIDENCE_STRONG,
                      "%.0f %% of the groups have no difference in reward "
                      "(%zu rows, bound 80 %%%s)",
                      100.0 * whole, groups.z.n, rose ? "; the reward rose" : "");
}

const struct check check_grpo_no_signal = {
    .id = "grpo-no-signal",
    .version = 3,
    .stage = STAGE_PREFERENCE,
    .severity = SEVERITY_BLOCKS,
    .title = "Groups contain different rewards",
    .why = "The advantage is the difference inside a group: where all answers get the same reward "
           "there is no gradient.",
    .applies = applies,
    .run = run,
};
