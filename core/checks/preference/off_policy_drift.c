/* P.9: does a rising margin go with better answers? DPO can widen its margin by making both answers less
 * likely. A fall of the chosen rewards alone is normal; the quality decides. */
#include <math.h>
#include <string.h>

#include "core/checks/held_out.h"
#include "core/checks/preference_series.h"
#include "core/stats/robust.h"

enum { ENOUGH_ROWS = 4 };

static const double SHARE = 0.2, NATS = 2.0, FULL = 0.9995, MARGIN = 20.0, PRINTED_ZERO = 5e-5;

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "not a DPO run";
    return facts->run.kind == KIND_DPO;
}

struct drift {
    struct values margins, chosen, rejected, accuracies, loss;
    bool is_known, is_rising;
    bool has_fallen;            /* logps/chosen, by both bounds */
    double from, to;            /* logps/chosen */
    bool is_saturated;
    size_t n_zero;              /* rows of loss 0.0 */
    double margin;              /* of the last quarter */
};

static void read_drift(struct check_ctx *ctx, struct drift *d)
{
    *d = (struct drift){.from = NAN, .to = NAN, .margin = NAN};
    bool has_margins = values_read(ctx, "rewards/margins", &d->margins);
    bool has_chosen = values_read(ctx, "logps/chosen", &d->chosen);
    (void)values_read(ctx, "logps/rejected", &d->rejected);
    bool has_accuracies = values_read_share(ctx, "rewards/accuracies", &d->accuracies);

    if (values_read(ctx, "loss", &d->loss))
        for (size_t i = 0; i < d->loss.n; i++)
            d->n_zero += fabs(d->loss.y[i]) < PRINTED_ZERO;
    if (has_margins && d->margins.n >= ENOUGH_ROWS) {
        d->margin = values_quarter(&d->margins, 3);
        d->is_rising = d->margin > values_quarter(&d->margins, 0);
    }
    if (has_chosen && d->chosen.n >= ENOUGH_ROWS) {
        d->from = d->chosen.y[0];
        d->to = values_quarter(&d->chosen, 3);
        d->has_fallen = d->from - d->to >= NATS && fabs(d->to) >= (1.0 + SHARE) * fabs(d->from);
    }
    d->is_known = isfinite(d->margin) && isfinite(d->from);
    d->is_saturated = has_accuracies && d->accuracies.n >= ENOUGH_ROWS &&
                      values_quarter(&d->accuracies, 3) >= FULL &&
                      (d->n_zero >= 2 || d->margin > MARGIN);
}

/* The first row at which the chosen answers have become less likely by both bounds. */
static void begin(struct check_ctx *ctx, const struct drift *d)
{
    for (size_t i = 0; d->has_fallen && i < d->chosen.n; i++)
        if (d->from - d->chosen.y[i] >= NATS &&
            fabs(d->chosen.y[i]) >= (1.0 + SHARE) * fabs(d->from)) {
            check_begins(ctx, values_step(&d->chosen, i));
            return;
        }
    if (d->accuracies.n > 0)
        check_begins(ctx, values_step(&d->accuracies, d->accuracies.n - d->accuracies.n / 4));
}

static void show(struct check_ctx *ctx, const struct drift *d, const struct held_out *held)
{
    begin(ctx, d);
    if (d->margins.n > 0)
        (void)values_evidence(ctx, &d->margins, "margin between chosen and rejected");
    if (d->chosen.n > 0)
        (void)values_evidence(ctx, &d->chosen, "log-probability of the chosen answers");
    if (d->rejected.n > 0)
        (void)values_evidence(ctx, &d->rejected, "log-probability of the rejected answers");
    held_out_show(ctx, held);
    evidence_setting(ctx, facts_setting(ctx->facts, "learning_rate"));
    evidence_setting(ctx, facts_setting(ctx->facts, "beta"));
    check_fix(ctx, "a learning rate of 5e-7 to 5e-6");
    check_fix(ctx, "fewer epochs");
    check_fix(ctx, "a likelihood term beside the margin (loss_type [\"sigmoid\", \"sft\"] with "
                   "loss_weights, older rpo_alpha; LLaMA-Factory pref_ftx)");
    check_fix(ctx, "fresh pairs from the current policy");
}

static int judge_saturated(struct check_ctx *ctx, const struct drift *d,
                           const struct held_out *held)
{
    const char *zero =
        d->n_zero > 0 ? arena_printf(ctx->arena, ", loss 0.0 on %zu rows", d->n_zero) : "";

    check_fail(ctx, held->answer == HELD_OUT_FELL ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY,
               "saturated",
               "every pair is told apart and the training goes on: accuracies 1.0, margin %.3g%s",
               d->margin, zero ? zero : "");
    show(ctx, d, held);
    return OK;
}

static int judge_fallen(struct check_ctx *ctx, const struct drift *d, const struct held_out *held)
{
    static const char TEXT[] = "the margin rises to %.3g while the chosen answers become less "
                               "likely (%.4g to %.4g) and the answers are %s (%s)";

    if (held->answer == HELD_OUT_FELL)
        check_fail(ctx, CONFIDENCE_STRONG, "", TEXT, d->margin, d->from, d->to, "worse",
                   held->what);
    else
        check_warn(ctx, CONFIDENCE_LIKELY, "", TEXT, d->margin, d->from, d->to, "not better",
                   held->what);
    show(ctx, d, held);
    return OK;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct held_out held = held_out_read(ctx);
    struct drift d;

    (void)err;
    read_drift(ctx, &d);
    if (d.is_saturated && held.answer != HELD_OUT_ROSE)
        return judge_saturated(ctx, &d, &held);
    if (!d.is_known)
        return check_unknown(ctx, "metric rows with rewards/margins and logps/chosen (four at "
                                  "least)");
    bool drifts = d.is_rising && d.has_fallen;
    if (drifts && (held.answer == HELD_OUT_FELL || held.answer == HELD_OUT_FLAT))
        return judge_fallen(ctx, &d, &held);
    if (held.answer == HELD_OUT_UNKNOWN) {
        if (drifts)
            check_info(ctx, "the margin rises and the chosen answers become less likely (%.4g to "
                            "%.4g): only their quality tells whether that does harm",
                       d.from, d.to);
        return check_unknown(ctx, HELD_OUT_MISSING);
    }
    if (held.answer == HELD_OUT_ROSE)
        return check_pass(ctx, CONFIDENCE_STRONG, "the answers are better (%s)", held.what);
    if (held.answer == HELD_OUT_FELL)
        check_info(ctx, "the answers are worse (%s), but not by a margin that widens while both "
                        "answers become less likely",
                   held.what);
    return check_pass(ctx, held.answer == HELD_OUT_FELL ? CONFIDENCE_LIKELY : CONFIDENCE_STRONG,
                      "log-probabilities of the chosen answers from %.4g to %.4g, margin %.3g: "
                      "within the bounds (20 %% and 2 nats)",
                      d.from, d.to, d.margin);
}

const struct check check_off_policy_drift = {
    .id = "off-policy-drift",
    .version = 2,
    .stage = STAGE_PREFERENCE,
    .severity = SEVERITY_MISLEADS,
    .title = "A rising margin goes with better answers",
    .why = "The loss only asks for a margin. It can be won by making both answers less likely, and "
           "then what the model writes is neither.",
    .applies = applies,
    .run = run,
};
