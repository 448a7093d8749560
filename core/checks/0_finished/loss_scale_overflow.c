/* loss-scale-overflow (CHECKS.md C0.18): does the fp16 loss scale settle? It starts high and falls
 * in the first ~20 steps by design. */
#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/registry.h"
#include "core/facts/onset.h"

enum { SETTLED = 20, SETTLED_SCALE = 100, IN_A_ROW = 5 };

static bool is_pattern(const struct event *event, const char *pattern)
{
    return event->pattern && strcmp(event->pattern, pattern) == 0;
}

static bool is_overflow(const struct event *event)
{
    return is_pattern(event, "deepspeed-overflow") ||
           is_pattern(event, "deepspeed-overflow-fused") ||
           is_pattern(event, "deepspeed-overflow-hysteresis") ||
           is_pattern(event, "deepspeed-grad-overflow");
}

/* "Grad overflow on iteration 3" says its step itself. */
static int64_t overflow_step(const struct event *event)
{
    int64_t step;

    if (is_pattern(event, "deepspeed-grad-overflow") &&
        number_parse_int(str_of(event_capture(event, 1)), &step))
        return step;
    return event->step;
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "bf16 instead of fp16");
    check_fix(ctx, "a tenth of the learning rate");
    check_fix(ctx, "max_grad_norm=1.0");
    check_fix(ctx, "a lower initial_scale_power (shortens the start only)");
}

static bool find_minimum(struct check_ctx *ctx)
{
    const struct event *event = NULL;

    while ((event = facts_event(ctx->facts, "loss-scale-overflow", event))) {
        if (!is_pattern(event, "deepspeed-scale-minimum"))
            continue;
        evidence_event(ctx, event);
        check_begins(ctx, event->step);
        check_fail(ctx, CONFIDENCE_CERTAIN, "minimum",
                   "the loss scale reached its minimum (%s:%lld): every step overflows",
                   facts_file_name(ctx->facts, event->source_id), (long long)event->line);
        return true;
    }
    return false;
}

/* Several ranks and hysteresis print more than one line a step. */
static void find_row_of_overflows(struct check_ctx *ctx)
{
    const struct event *event = NULL, *first = NULL;
    int64_t last_step = NONE;
    size_t n = 0;

    while ((event = facts_event(ctx->facts, "loss-scale-overflow", event))) {
        if (!is_overflow(event))
            continue;
        int64_t step = overflow_step(event);
        if (step == NONE || step <= SETTLED || (last_step != NONE && step == last_step))
            continue;
        if (last_step == NONE || step != last_step + 1) {
            first = event;
            n = 0;
        }
        last_step = step;
        if (++n < IN_A_ROW)
            continue;
        evidence_event(ctx, first);
        evidence_event(ctx, event);
        check_begins(ctx, overflow_step(first));
        check_fail(ctx, CONFIDENCE_STRONG, "in-a-row",
                   "overflow on %zu steps in a row, from step %lld on", n,
                   (long long)overflow_step(first));
        return;
    }
}

static void find_skipped_share(struct check_ctx *ctx)
{
    const struct event *event = NULL, *last = NULL;

    while ((event = facts_event(ctx->facts, "loss-scale-overflow", event)))
        if (is_pattern(event, "deepspeed-skipped"))
            last = event;
    double step, skipped;
    if (!last || !number_parse(str_of(event_capture(last, 1)), &step) ||
        !number_parse(str_of(event_capture(last, 2)), &skipped) || step <= SETTLED_SCALE)
        return;
    if (skipped / step > 0.05) {
        evidence_event(ctx, last);
        evidence_number(ctx, skipped / step, 0.05, "%.0f of %.0f steps were skipped", skipped,
                        step);
        check_begins(ctx, NONE);
        check_fail(ctx, CONFIDENCE_STRONG, "skipped",
                   "%.0f of %.0f steps were skipped for overflow", skipped, step);
        return;
    }
    check_info(ctx, "%.0f of %.0f steps were skipped: usual", skipped, step);
}

static void find_falling_scale(struct check_ctx *ctx)
{
    const struct curve *scale = facts_curve(ctx->facts, "loss_scale");

    for (size_t i = 10; scale && i <= scale->n; i++) {
        size_t falls = 0;
        if (scale->step[i - 10] <= SETTLED_SCALE)
            continue;
        for (size_t k = i - 9; k < i; k++)
            falls += scale->value[k] < scale->value[k - 1];
        if (falls < 3)
            continue;
        evidence_range(ctx, scale, i - 10, i - 1, "the scale falls %zu times, from %.6g to %.6g",
                       falls, scale->value[i - 10], scale->value[i - 1]);
        check_begins(ctx, scale->step[i - 10]);
        check_warn(ctx, CONFIDENCE_LIKELY, "falling",
                   "the loss scale falls %zu times within 10 rows at step %lld", falls,
                   (long long)scale->step[i - 10]);
        return;
    }
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct run_facts *facts = ctx->facts;
    const struct setting *precision = NULL;
    int is_fp16 = precision_is_fp16(facts, &precision);
    size_t n = facts_count_events(facts, "loss-scale-overflow");

    (void)err;
    if (!find_minimum(ctx))
        find_row_of_overflows(ctx);
    find_skipped_share(ctx);
    find_falling_scale(ctx);
    if (check_verdict(ctx) >= VERDICT_WARN) {
        evidence_setting(ctx, precision);
        add_fixes(ctx);
        return OK;
    }
    if (n > 0 || facts_curve(facts, "loss_scale"))
        return check_pass(ctx, CONFIDENCE_STRONG,
                          "%zu lines about the loss scale, none of them outside the usual search",
                          n);
    if (is_fp16 == 0)
        return check_skip(ctx, "the run did not train in fp16");
    if (is_fp16 < 0)
        return check_unknown(ctx, "%s", need_hint(NEEDS_SETTINGS));
    if (!facts->has_training_log)
        return check_unknown(ctx, "%s", need_hint(NEEDS_LOG));
    return check_pass(ctx, CONFIDENCE_LIKELY, "fp16, and no overflow in the log");
}

const struct check check_loss_scale_overflow = {
    .id = "loss-scale-overflow",
    .version = 1,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_BLOCKS,
    .title = "The fp16 loss scale is stable",
    .why = "Every overflow skips its step; a scale at its minimum means that no step is taken.",
    .run = run,
};
