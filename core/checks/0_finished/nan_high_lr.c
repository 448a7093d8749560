/* nan-high-lr (CHECKS.md C0.15): did the learning rate blow the run up? A rate above its bound is
 * no evidence by itself: gradients or loss have to rise towards the onset. */
#include <math.h>

#include "core/checks/registry.h"
#include "core/facts/onset.h"

#define FAR_ABOVE 50.0  /* times the bound: no model of any size bears it without a rise to be seen */

static bool applies(const struct run_facts *facts, const char **reason)
{
    if (facts->run.marks & MARK_EVAL_ONLY) {
        *reason = "nothing was trained";
        return false;
    }
    return true;
}

struct rate {
    double peak;                   /* NaN: not known */
    const struct setting *setting; /* NULL: from the logged rows */
    const struct curve *curve;
    size_t peak_row;
};

static void read_rate(const struct run_facts *facts, struct rate *rate)
{
    *rate = (struct rate){.peak = NAN,
                          .setting = facts_setting(facts, "learning_rate"),
                          .curve = facts_curve(facts, "learning_rate")};
    for (size_t i = 0; rate->curve && i < rate->curve->n; i++)
        if (isfinite(rate->curve->value[i]) &&
            !(rate->curve->value[i] <= rate->curve->value[rate->peak_row]))
            rate->peak_row = i;
    if (setting_number(rate->setting, &rate->peak) && rate->peak > 0.0)
        return;
    rate->setting = NULL;
    rate->peak = rate->curve && rate->curve->n > 0 ? rate->curve->value[rate->peak_row] : NAN;
}

static double bound(const struct run_facts *facts)
{
    enum run_kind kind = facts->run.kind;

    if (kind == KIND_DPO || kind == KIND_GRPO || kind == KIND_PPO || kind == KIND_REWARD_MODEL)
        return 5e-5;
    /* Not known counts as LoRA: the wider bound. */
    return facts_is_adapter_run(facts, NULL) == 0 ? 1e-4 : 1e-3;
}

static double warmup_steps(const struct run_facts *facts)
{
    double steps = NAN, ratio = NAN, total = facts->max_steps > 0 ? (double)facts->max_steps : NAN;

    if (facts_number(facts, "warmup_steps", &steps) && steps >= 1.0)
        return steps;
    if (steps > 0.0 && steps < 1.0)
        return steps * total;
    if (facts_number(facts, "warmup_ratio", &ratio) && ratio > 0.0)
        return ratio * total;
    return NAN;
}

static bool is_within_warmup(const struct run_facts *facts, const struct rate *rate,
                             const struct run_onset *onset)
{
    double steps = warmup_steps(facts);

    if (onset->last_finite < 0)
        return false;
    if (isfinite(steps) && (double)onset->first_bad_step <= steps)
        return true;
    /* The logged rate rises up to the onset. */
    if (!rate->curve || rate->curve->n < 2)
        return false;
    ptrdiff_t at = curve_at_step(rate->curve, onset->first_bad_step);
    return at >= 1 && rate->peak_row >= (size_t)at &&
           rate->curve->value[at] > rate->curve->value[0] &&
           rate->curve->value[at] > rate->curve->value[at - 1];
}

static void show(struct check_ctx *ctx, const struct rate *rate, const struct run_onset *onset,
                 double limit)
{
    struct loss_zero zero;

    if (rate->setting)
        evidence_setting(ctx, rate->setting);
    else
        evidence_point(ctx, rate->curve, rate->peak_row, "highest logged rate %.3g", rate->peak);
    evidence_number(ctx, rate->peak, limit, "learning rate %.3g, bound %.3g", rate->peak, limit);
    evidence_point(ctx, onset->curve, onset->first_bad, "first non-finite row");
    loss_zero_read(ctx->facts, &zero);
    if (zero.loss && onset->curve == zero.loss && onset->last_finite >= 0) {
        size_t last = (size_t)onset->last_finite, first = last > 19 ? last - 19 : 0;
        evidence_range(ctx, zero.loss, first, last, "the rows before: loss %.4g … %.4g",
                       zero.loss->value[first], zero.loss->value[last]);
    }
    if (isfinite(onset->grad_ratio))
        evidence_number(ctx, onset->grad_ratio, 10.0,
                        "last finite grad_norm %.4g is %.3g times its median before",
                        onset->grad_before, onset->grad_ratio);
    if (isfinite(onset->loss_ratio))
        evidence_number(ctx, onset->loss_ratio, 1.3, "the loss rose to %.3g times its minimum",
                        onset->loss_ratio);
    check_begins(ctx, NONE);
    check_fix(ctx, "learning_rate %.2g instead of %.3g", rate->peak / 10.0, rate->peak);
    check_fix(ctx, "warm-up over 3 to 10 %% of the steps");
    check_fix(ctx, "max_grad_norm=1.0");
    check_fix(ctx, "a smaller rank or alpha");
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct run_facts *facts = ctx->facts;
    struct run_onset onset;
    struct rate rate;
    double limit = bound(facts);

    (void)err;
    if (!facts_curve(facts, "loss") && !facts_curve(facts, "grad_norm"))
        return check_unknown(ctx, "%s", need_hint(NEEDS_TRAIN_SERIES));
    onset_training(facts, ctx->arena, &onset);
    if (!onset.found || !onset.is_persistent)
        return check_pass(ctx, CONFIDENCE_STRONG, "no lasting non-finite value in training");
    read_rate(facts, &rate);
    if (!(rate.peak > 0.0))
        return check_unknown(ctx, "the learning rate (training arguments, or learning_rate in the "
                                  "metric rows)");
    bool has_ramp = onset.grad_ratio >= 10.0 || onset.loss_rose;
    bool in_warmup = is_within_warmup(facts, &rate, &onset);
    if (rate.peak >= limit && (has_ramp || in_warmup)) {
        show(ctx, &rate, &onset, limit);
        return check_fail(
            ctx, has_ramp && rate.peak >= 2.0 * limit ? CONFIDENCE_STRONG : CONFIDENCE_LIKELY, "",
            "learning rate %.3g (bound %.3g): non-finite from %s on, after %s", rate.peak,
            limit, onset_place(&onset, ctx->arena),
            onset.loss_rose            ? "the loss rose"
            : onset.grad_ratio >= 10.0 ? "grad_norm rose"
                                       : "a rising rate within warm-up");
    }
    if (rate.peak < limit && onset.grad_ratio >= 100.0 && precision_is_fp16(facts, NULL) == 0) {
        show(ctx, &rate, &onset, limit);
        return check_warn(ctx, CONFIDENCE_LIKELY, "below-bound",
                          "grad_norm rose to %.0f times its median before %s, at an "
                          "ordinary rate of %.3g",
                          onset.grad_ratio, onset_place(&onset, ctx->arena), rate.peak);
    }
    if (rate.peak >= FAR_ABOVE * limit && !onset.has_ramp_data) {
        show(ctx, &rate, &onset, limit);
        return check_warn(ctx, CONFIDENCE_LIKELY, "far-above",
                          "learning rate %.3g is %.3g times its bound %.3g, and the run is "
                          "non-finite from %s on, before enough rows were logged to see a rise",
                          rate.peak, rate.peak / limit, limit, onset_place(&onset, ctx->arena));
    }
    if (rate.peak >= limit && !onset.has_ramp_data)
        return check_unknown(ctx,
                             "the rows before the onset: repeat with logging_steps=1 (the "
                             "rate %.3g is above its bound %.3g)",
                             rate.peak, limit);
    if (rate.peak < limit)
        return check_pass(ctx, CONFIDENCE_LIKELY,
                          "non-finite from %s on, but the rate %.3g is below its bound %.3g%s",
                          onset_place(&onset, ctx->arena), rate.peak, limit,
                          has_ramp ? " although loss or grad_norm rose before"
                                   : ": the cause is elsewhere");
    return check_pass(ctx, CONFIDENCE_LIKELY,
                      "non-finite from %s on, but the rate %.3g (bound %.3g) came without a "
                      "rise of loss or grad_norm: the cause is elsewhere",
                      onset_place(&onset, ctx->arena), rate.peak, limit);
}

const struct check check_nan_high_lr = {
    .id = "nan-high-lr",
    .version = 2,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_BLOCKS,
    .title = "The learning rate did not blow the run up",
    .why = "Too large a step makes loss and gradients grow until they overflow; the weights are "
           "lost from there on.",
    .applies = applies,
    .run = run,
};
