/* P.2: do the groups contain different rewards? Without a difference inside a group the advantage
 * is 0 and nothing is learned. */
#include <math.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/stats/curve.h"
#include "core/stats/robust.h"

enum { ENOUGH_ROWS = 5 };

static const double DEAD = 0.9, WEAK = 0.8, NOTED = 0.5;

struct signal {
    const struct curve *curve;
    const size_t *at;
    const double *z; /* share of groups without a difference, by row */
    size_t n;
    bool is_share; /* rows are 0 or 1: their share counts, not their median */
};

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "not a GRPO run";
    return facts->run.kind == KIND_GRPO;
}

static bool read_signal(struct check_ctx *ctx, struct signal *out)
{
    out->curve = facts_curve(ctx->facts, "frac_reward_zero_std");
    if (!out->curve || out->curve->n == 0) {
        out->curve = facts_curve(ctx->facts, "reward_std");
        out->is_share = true;
    }
    if (!out->curve || out->curve->n == 0)
        return false;
    double *z = arena_array(ctx->arena, out->curve->n, sizeof *z);
    size_t *at = arena_array(ctx->arena, out->curve->n, sizeof *at);
    for (size_t i = 0; z && at && i < out->curve->n; i++) {
        double y = out->curve->value[i];
        if (!isfinite(y))
            continue;
        at[out->n] = i;
        z[out->n++] = !out->is_share ? y : y == 0.0 ? 1.0 : 0.0;
    }
    out->z = z;
    out->at = at;
    return out->n > 0;
}

static double level(const struct signal *signal, size_t from)
{
    const double *z = signal->z + from;
    size_t n = signal->n - from;

    return signal->is_share ? stat_mean(z, n) : stat_median(z, n);
}

static bool reward_rose(struct check_ctx *ctx, struct movement *movement)
{
    const struct curve *reward = facts_curve(ctx->facts, "reward");
    size_t n = 0;
    double *y = reward ? arena_array(ctx->arena, reward->n + 1, sizeof *y) : NULL;

    *movement = (struct movement){.first = NAN, .last = NAN};
    for (size_t i = 0; y && i < reward->n; i++)
        if (isfinite(reward->value[i]))
            y[n++] = reward->value[i];
    return y && curve_movement(y, n, movement) && movement->rose;
}

static void show(struct check_ctx *ctx, const struct signal *signal, size_t from, double value,
                 double bound)
{
    const struct curve *reward = facts_curve(ctx->facts, "reward");

    check_begins(ctx, signal->curve->step[signal->at[from]]);
    struct evidence *e =
        evidence_range(ctx, signal->curve, signal->at[from], signal->at[signal->n - 1],
                       signal->is_share ? "rows whose groups have no difference"
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
    check_info(ctx, "import the completions with their rewards to see whether the groups are all "
                    "wrong or all right");
    check_fix(ctx, "easier prompts where all answers are wrong, harder ones where all are right");
    check_fix(ctx, "num_generations up, temperature 1.0");
    check_fix(ctx, "a graded reward in place of all or nothing");
    check_fix(ctx, "look whether the completions are cut at the limit");
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct signal signal = {0};
    struct movement reward;

    (void)err;
    if (!read_signal(ctx, &signal))
        return check_unknown(ctx, "metric rows with frac_reward_zero_std or reward_std");
    if (signal.n < ENOUGH_ROWS)
        return check_unknown(ctx, "%zu more logged rows", ENOUGH_ROWS - signal.n);
    bool rose = reward_rose(ctx, &reward);
    double whole = level(&signal, 0), half = level(&signal, signal.n / 2);
    if (!rose && whole >= DEAD) {
        check_fail(ctx, CONFIDENCE_CERTAIN, "",
                   "%.0f %% of the groups have no difference in reward (%zu rows), and the reward "
                   "did not rise first",
                   100.0 * whole, signal.n);
        show(ctx, &signal, 0, whole, DEAD);
        return OK;
    }
    if (!rose && half >= WEAK) {
        check_warn(ctx, CONFIDENCE_LIKELY, "",
                   "%.0f %% of the groups of the last half have no difference in reward",
                   100.0 * half);
        show(ctx, &signal, signal.n / 2, half, WEAK);
        return OK;
    }
    if (rose && half >= WEAK)
        check_info(ctx,
                   "most groups of the last half have equal rewards, after the reward rose from "
                   "%.3g to %.3g: learned, harder prompts would go on",
                   reward.first, reward.last);
    else if (level(&signal, signal.n - signal.n / 4) >= NOTED)
        check_info(ctx, "late in the run %.0f %% of the groups have no difference",
                   100.0 * level(&signal, signal.n - signal.n / 4));
    return check_pass(ctx, CONFIDENCE_STRONG,
                      "%.0f %% of the groups have no difference in reward "
                      "(%zu rows, bound 80 %%%s)",
                      100.0 * whole, signal.n, rose ? "; the reward rose" : "");
}

const struct check check_grpo_no_signal = {
    .id = "grpo-no-signal",
    .version = 1,
    .stage = STAGE_PREFERENCE,
    .severity = SEVERITY_BLOCKS,
    .title = "Groups contain different rewards",
    .why = "The advantage is the difference inside a group: where all answers get the same reward "
           "there is no gradient.",
    .applies = applies,
    .run = run,
};
