/* P.1: do completions end before the limit? A completion that is cut has no end and often no
 * answer, so its reward says nothing. */
#include <math.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/checks/preference_series.h"
#include "core/stats/robust.h"

enum { ENOUGH_ROWS = 5 };

static const double RED = 0.8, AMBER = 0.5;

struct ratios {
    struct values values;
    bool is_from_length; /* mean length = limit, in place of the ratio itself */
};

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "not a GRPO or PPO run";
    return facts->run.kind == KIND_GRPO || facts->run.kind == KIND_PPO;
}

static bool read_ratios(struct check_ctx *ctx, struct ratios *out)
{
    double limit = 0.0;

    if (values_read_share(ctx, "completions/clipped_ratio", &out->values))
        return true;
    out->is_from_length = true;
    if (!facts_number(ctx->facts, "max_completion_length", &limit) ||
        !values_read(ctx, "completions/mean_length", &out->values))
        return false;
    for (size_t i = 0; i < out->values.n; i++)
        out->values.y[i] = out->values.y[i] >= limit ? 1.0 : 0.0;
    return true;
}

static bool moved_up(struct check_ctx *ctx, const char *name)
{
    struct values values;

    return values_read(ctx, name, &values) && values_rose(&values);
}

/* Answers that grow while the reward rises and the ended ones stay as long as they were. */
static bool is_late_growth(struct check_ctx *ctx, const struct ratios *ratios)
{
    static const char ENDED[] = "completions/mean_terminated_length";

    return ratios->values.n >= 8 && stat_median(ratios->values.y, ratios->values.n / 2) < AMBER &&
           moved_up(ctx, "reward") && facts_curve(ctx->facts, ENDED) && !moved_up(ctx, ENDED);
}

static size_t first_above(const struct ratios *ratios, double bound)
{
    for (size_t i = 0; i < ratios->values.n; i++)
        if (ratios->values.y[i] >= bound)
            return i;
    return 0;
}

static void show(struct check_ctx *ctx, const struct ratios *ratios, double median, double bound)
{
    size_t first = first_above(ratios, bound);
    const struct curve *reward = facts_curve(ctx->facts, "reward");
    const struct curve *length = facts_curve(ctx->facts, "completions/mean_length");

    check_begins(ctx, ratios->values.curve->step[ratios->values.at[first]]);
    struct evidence *e = evidence_range(
        ctx, ratios->values.curve, ratios->values.at[first], ratios->values.at[ratios->values.n - 1],
        ratios->is_from_length ? "mean length at the limit" : "share of cut completions");
    e->value = median;
    e->has_value = true;
    e->bound = bound;
    e->has_bound = true;
    evidence_setting(ctx, facts_setting(ctx->facts, "max_completion_length"));
    if (length && length != ratios->values.curve && length->n > 0)
        evidence_point(ctx, length, length->n - 1, "mean length of the completions");
    if (reward && reward->n > 0)
        evidence_point(ctx, reward, reward->n - 1, "reward");
    if (!facts_setting(ctx->facts, "max_completion_length"))
        check_info(ctx, "max_completion_length is not stated: TRL's default is 512 (256 before)");
    check_info(ctx, "a supervised training before it that never saw the end token gives the same "
                    "picture");
    check_fix(ctx, "raise max_completion_length");
    check_fix(ctx, "a template or system text that asks for short answers");
    check_fix(ctx, "mask_truncated_completions=True");
    check_fix(ctx, "repair the end token in the supervised training before it");
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct ratios ratios = {0};

    (void)err;
    if (!read_ratios(ctx, &ratios))
        return check_unknown(ctx,
                             "metric rows with completions/clipped_ratio, or completion lengths "
                             "and max_completion_length");
    double median = stat_median(ratios.values.y, ratios.values.n);
    bool starts_low = stat_median(ratios.values.y, ratios.values.n < 4 ? 1 : ratios.values.n / 4) < 0.3;
    const char *branch = starts_low && moved_up(ctx, "reward") ? "rising" : "";
    if (median >= AMBER && is_late_growth(ctx, &ratios)) {
        check_info(ctx, "completions grow into the limit late, while the reward rises: look at the "
                        "length, not at the limit");
        return check_pass(ctx, CONFIDENCE_LIKELY,
                          "completions ended before the limit in the first "
                          "half of the run");
    }
    if (median >= RED && ratios.values.n >= ENOUGH_ROWS) {
        check_fail(ctx, CONFIDENCE_CERTAIN, branch,
                   "%.0f %% of the completions are cut at the limit (median of %zu rows)",
                   100.0 * median, ratios.values.n);
        show(ctx, &ratios, median, RED);
        return OK;
    }
    if (median >= AMBER) {
        check_warn(ctx, CONFIDENCE_LIKELY, branch,
                   "%.0f %% of the completions are cut at the limit (median of %zu rows)",
                   100.0 * median, ratios.values.n);
        show(ctx, &ratios, median, AMBER);
        return OK;
    }
    if (ratios.values.n < ENOUGH_ROWS)
        return check_unknown(ctx, "%zu more logged rows", ENOUGH_ROWS - ratios.values.n);
    return check_pass(ctx, CONFIDENCE_STRONG,
                      "%.0f %% of the completions are cut (median of %zu "
                      "rows, bound 50 %%)",
                      100.0 * median, ratios.values.n);
}

const struct check check_grpo_completions_clipped = {
    .id = "grpo-completions-clipped",
    .version = 2,
    .stage = STAGE_PREFERENCE,
    .severity = SEVERITY_BLOCKS,
    .title = "Completions end before the limit",
    .why =
        "A completion cut at the limit has no end and often no answer: its reward teaches nothing, "
        "and with nearly all of them cut training breaks.",
    .applies = applies,
    .run = run,
};
