/* nan-fp16-overflow (CHECKS.md C0.14): fp16 training of a base that was pretrained in bf16, whose
 * activations may pass fp16's largest number, 65,504. */
#include <math.h>
#include <string.h>

#include "core/checks/registry.h"
#include "core/facts/onset.h"

/* The fp16 scale reached its floor: a non-finite value although no row prints one. */
static const struct event *scale_collapse(const struct run_facts *facts)
{
    const struct event *event = NULL;

    while ((event = facts_event(facts, "loss-scale-overflow", event)))
        if (event->pattern && strcmp(event->pattern, "deepspeed-scale-minimum") == 0)
            return event;
    return NULL;
}

static const struct event *unscale_error(const struct run_facts *facts)
{
    const struct event *event = NULL;

    while ((event = facts_event(facts, "nan-fp16-overflow", event)))
        if (event->pattern && strcmp(event->pattern, "unscale-fp16") == 0)
            return event;
    return NULL;
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "bf16=True, fp16=False");
    check_fix(ctx, "without bf16 hardware: a lower rate, max_grad_norm=1.0, norms and head in "
                   "fp32 (LLaMA-Factory: upcast_layernorm), and look at the batch before the NaN");
    check_fix(ctx, "fp32");
    check_fix(ctx, "DeepSpeed: a newer version, overlap_comm: false");
}

static void show_settings(struct check_ctx *ctx, const struct setting *precision,
                          const struct setting *base)
{
    evidence_setting(ctx, precision);
    evidence_setting(ctx, base);
}

/* Both fit: is there a non-finite value too? */
static int with_mismatch(struct check_ctx *ctx, const struct run_onset *onset,
                         const struct setting *precision, const struct setting *base)
{
    const struct event *collapse = scale_collapse(ctx->facts);
    const char *what = precision ? precision->raw_name : "fp16";
    const char *why = base ? base->value : "bf16";

    show_settings(ctx, precision, base);
    check_begins(ctx, NONE);
    add_fixes(ctx);
    if (onset->found && onset->is_persistent) {
        evidence_point(ctx, onset->curve, onset->first_bad, "first non-finite row");
        return check_fail(ctx, CONFIDENCE_STRONG, "",
                          "trained in fp16 (%s) on a base pretrained in bf16 (%s), and %s is "
                          "non-finite from %s on",
                          what, why, onset->curve->name, onset_place(onset, ctx->arena));
    }
    if (collapse) {
        evidence_event(ctx, collapse);
        return check_fail(ctx, CONFIDENCE_STRONG, "",
                          "trained in fp16 (%s) on a base pretrained in bf16 (%s), and the loss "
                          "scale fell to its minimum",
                          what, why);
    }
    return check_warn(ctx, CONFIDENCE_POSSIBLE, "setting",
                      "trained in fp16 (%s) on a base pretrained in bf16 (%s); no lasting "
                      "non-finite value was logged",
                      what, why);
}

/* Skipped steps long after the scale has settled, whatever the base. */
static bool warn_about_late_skips(struct check_ctx *ctx, const struct setting *precision)
{
    struct loss_zero zero;
    size_t n = 0, first = 0;

    loss_zero_read(ctx->facts, &zero);
    for (size_t i = 0; zero.loss && i < zero.n_rows; i++)
        if (zero.has_grad_norm_on[i] && !isfinite(zero.grad_norm[i]) &&
            isfinite(zero.loss->value[i]) && zero.loss->value[i] != 0.0 &&
            zero.loss->step[i] > 20) {
            first = n == 0 ? i : first;
            n++;
        }
    if (n == 0)
        return false;
    evidence_setting(ctx, precision);
    evidence_point(ctx, zero.loss, first, "grad_norm non-finite, loss %.4g",
                   zero.loss->value[first]);
    check_begins(ctx, zero.loss->step[first]);
    add_fixes(ctx);
    check_warn(ctx, CONFIDENCE_LIKELY, "skipped",
               "%zu rows after step 20 have a non-finite grad_norm under fp16: the scaler skipped "
               "these steps",
               n);
    return true;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct run_facts *facts = ctx->facts;
    const struct setting *precision = NULL, *base = NULL;
    const struct event *unscale = unscale_error(facts);
    struct run_onset onset;

    (void)err;
    int is_fp16 = precision_is_fp16(facts, &precision);
    int is_bf16_base = base_is_bf16(facts, &base);
    onset_training(facts, ctx->arena, &onset);
    if (is_fp16 == 1 && is_bf16_base == 1)
        return with_mismatch(ctx, &onset, precision, base);
    if (unscale) {
        evidence_event(ctx, unscale);
        add_fixes(ctx);
        check_warn(ctx, CONFIDENCE_LIKELY, "weights-fp16",
                   "the weights were loaded in fp16 and trained with fp16=True (%s:%lld)",
                   facts_file_name(facts, unscale->source_id), (long long)unscale->line);
    }
    if (is_fp16 == 1)
        warn_about_late_skips(ctx, precision);
    if (check_verdict(ctx) >= VERDICT_WARN)
        return OK;
    if (is_fp16 == 0)
        return check_pass(ctx, CONFIDENCE_STRONG, "not trained in fp16 (%s = %s)",
                          precision ? precision->raw_name : "precision",
                          precision ? precision->value : "?");
    if (is_bf16_base == 0)
        return check_pass(ctx, CONFIDENCE_STRONG, "the base was not pretrained in bf16 (%s = %s)",
                          base ? base->raw_name : "dtype", base ? base->value : "?");
    if (is_fp16 < 0)
        check_unknown(ctx, "%s", need_hint(NEEDS_SETTINGS));
    if (is_bf16_base < 0)
        check_unknown(ctx, "%s", need_hint(NEEDS_MODEL_CONFIG));
    return OK;
}

const struct check check_nan_fp16_overflow = {
    .id = "nan-fp16-overflow",
    .version = 1,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_BLOCKS,
    .title = "Precision fits the base model",
    .why = "fp16 ends at 65,504. A model pretrained in bf16 may exceed that in its activations: "
           "the loss becomes NaN although data and rate are fine.",
    .run = run,
};
