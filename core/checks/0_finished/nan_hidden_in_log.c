/* nan-hidden-in-log (CHECKS.md C0.12): does a finite number in the log stand for a non-finite
 * loss? By the substitution rows of section 5.3; the NaNs that are visible are nan-onset's. */
#include <math.h>

#include "core/checks/registry.h"
#include "core/facts/eval_points.h"
#include "core/facts/loss_zero.h"
#include "core/facts/onset.h"

enum { SCALE_SEARCH = 20 }; /* steps */

static bool applies(const struct run_facts *facts, const char **reason)
{
    if (facts->run.marks & MARK_EVAL_ONLY) {
        *reason = "nothing was trained";
        return false;
    }
    return true;
}

/* Steps between two logged rows: the setting, else what the rows show. */
static double window(const struct run_facts *facts, const struct curve *loss)
{
    double steps;

    if (facts_number(facts, "logging_steps", &steps) && steps >= 1.0)
        return steps;
    if (loss->n >= 2 && loss->step[0] != NONE && loss->step[1] > loss->step[0])
        return (double)(loss->step[1] - loss->step[0]);
    return NAN;
}

/* Length of the stretch that begins at i; *to_end: it lasts to the last row. */
static size_t stretch(const struct loss_zero *zero, size_t i, bool *to_end)
{
    size_t k = i;

    while (k < zero->n_rows && zero->is_substitution[k])
        k++;
    *to_end = k == zero->n_rows;
    return k - i;
}

/* Losses that are not 0.0 beside the bad gradients: under fp16 steps that the scaler skipped. */
static bool is_skipped(const struct loss_zero *zero, size_t first, size_t length)
{
    for (size_t i = first; i < first + length; i++)
        if (zero->loss->value[i] == 0.0)
            return false;
    return true;
}

/* The scaler of fp16 starts high and skips steps until its scale fits. */
static bool only_at_start(const struct loss_zero *zero)
{
    for (size_t i = 0; i < zero->n_rows; i++)
        if (zero->is_substitution[i] && zero->loss->step[i] > SCALE_SEARCH)
            return false;
    return true;
}

static bool find_persistent(const struct loss_zero *zero, bool is_fp16, size_t *first,
                            size_t *length)
{
    for (size_t i = 0; i < zero->n_rows; i++) {
        bool to_end = false;
        if (!zero->is_substitution[i])
            continue;
        size_t n = stretch(zero, i, &to_end);
        /* Without grad_norm one printed 0.0 at the end may as well be a small number. */
        bool is_scaler = is_fp16 && !to_end && is_skipped(zero, i, n);
        if (!is_scaler && (n >= 2 || (to_end && zero->has_grad_norm))) {
            *first = i;
            *length = n;
            return true;
        }
        i += n - 1;
    }
    return false;
}

static void show(struct check_ctx *ctx, const struct loss_zero *zero, size_t first, size_t length)
{
    const struct run_facts *facts = ctx->facts;
    double g = NAN;

    if (first > 0)
        evidence_point(ctx, zero->loss, first - 1, "loss %.4g, the row before",
                       zero->loss->value[first - 1]);
    if (loss_zero_grad_norm(zero, first, &g))
        evidence_range(ctx, zero->loss, first, first + length - 1, "loss %.4g beside grad_norm %s",
                       zero->loss->value[first], isnan(g) ? "NaN" : "Infinity");
    else
        evidence_range(ctx, zero->loss, first, first + length - 1,
                       "loss 0.0 to the end, grad_norm not logged");
    evidence_setting(ctx, facts_setting(facts, "logging_nan_inf_filter"));
    evidence_setting(ctx, facts_setting(facts, "logging_steps"));
    check_begins(ctx, zero->loss->step[first]);
    check_fix(ctx, "repeat with logging_nan_inf_filter=False and logging_steps=1");
    check_fix(ctx, "then look for the cause: nan-fp16-overflow, nan-high-lr, "
                   "nan-all-masked-rows, nan-bad-data");
}

static int no_substitution(struct check_ctx *ctx, const struct loss_zero *zero)
{
    double steps = window(ctx->facts, zero->loss);

    if (facts_bool(ctx->facts, "logging_nan_inf_filter") == 0)
        return check_pass(ctx, CONFIDENCE_CERTAIN,
                          "the log filter is off: a non-finite loss would be printed as it is");
    if (!zero->has_grad_norm && !(steps <= 1.0))
        return check_unknown(ctx, "grad_norm beside the loss, or logging_steps=1: with a window "
                                  "of several steps a hidden NaN leaves no other trace");
    if (steps > 1.0)
        return check_pass(ctx, CONFIDENCE_LIKELY,
                          "%zu rows, every loss with a finite grad_norm; inside a window of %.0f "
                          "steps only the last gradient is seen",
                          zero->n_rows, steps);
    return check_pass(ctx, CONFIDENCE_STRONG, "%zu rows, none stands for a non-finite loss",
                      zero->n_rows);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct loss_zero zero;
    size_t first = 0, length = 0;
    bool is_fp16 = precision_is_fp16(ctx->facts, NULL) == 1;

    (void)err;
    loss_zero_read(ctx->facts, &zero);
    if (!zero.loss)
        return check_unknown(ctx, "%s", need_hint(NEEDS_TRAIN_SERIES));
    if (zero.n_substitution == 0)
        return no_substitution(ctx, &zero);
    bool is_persistent = find_persistent(&zero, is_fp16, &first, &length);
    if (!is_persistent && !zero.has_grad_norm)
        return check_unknown(ctx, "grad_norm beside the loss: one 0.0 at the end may be a small "
                                  "number or a hidden NaN");
    /* One skipped step of the fp16 scaler, even as the last row, is not a dead run. */
    bool is_scaler = is_fp16 && length == 1 && zero.n_substitution == 1;
    if (!is_persistent && is_fp16 && only_at_start(&zero)) {
        check_info(ctx,
                   "%zu of the first steps were skipped while the fp16 scaler looked for its "
                   "scale",
                   zero.n_substitution);
        return check_pass(ctx, CONFIDENCE_LIKELY, "no non-finite gradient after step %d",
                          SCALE_SEARCH);
    }
    if (is_persistent && !is_scaler) {
        show(ctx, &zero, first, length);
        return check_fail(ctx, zero.has_grad_norm ? CONFIDENCE_CERTAIN : CONFIDENCE_STRONG, "",
                          "%zu of %zu rows show a finite loss in place of a non-finite one, "
                          "from %s on",
                          zero.n_substitution, zero.n_rows,
                          curve_place(zero.loss, first, ctx->arena));
    }
    first = zero.first_substitution;
    show(ctx, &zero, first, 1);
    return check_warn(ctx, CONFIDENCE_LIKELY, "isolated",
                      "%zu of %zu rows have a non-finite grad_norm beside a finite loss, each "
                      "followed by finite rows (first at %s)",
                      zero.n_substitution, zero.n_rows, curve_place(zero.loss, first, ctx->arena));
}

const struct check check_nan_hidden_in_log = {
    .id = "nan-hidden-in-log",
    .version = 1,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_MISLEADS,
    .title = "No non-finite loss hides behind a finite number in the log",
    .why = "The trainer's log filter prints 0.0 or an average in place of a NaN loss while the "
           "weights are updated with it.",
    .applies = applies,
    .run = run,
};
