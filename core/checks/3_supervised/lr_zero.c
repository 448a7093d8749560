/* lr-zero (CHECKS.md C3.9): is the learning rate there for the whole run? The first row of a warm-up
 * and the last row of a schedule are zero by design. */
#include <math.h>
#include <string.h>

#include "core/checks/registry.h"

#define LEAST_ROWS  3
#define NEGLIGIBLE  0.01        /* of the set value */
#define ALMOST_ALL  0.99
#define SOME_ROWS   0.1
#define GOOD_PEAK   0.5         /* of the set value */

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "nothing was trained";
    return !(facts->run.marks & MARK_EVAL_ONLY);
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "set learning_rate");
    check_fix(ctx, "keep warmup_steps below 10 %% of the steps");
    check_fix(ctx, "DeepSpeed: \"auto\" for the scheduler's values, or none in its config");
    check_fix(ctx, "look for optimiser groups without parameters");
}

struct rates {
    const struct curve *curve;
    size_t n_zero, n_negligible, n_inner_zero, n_inner;
    size_t last;                    /* one behind the last row with a rate */
    double peak;
};

static void read_rates(const struct curve *curve, double set, struct rates *out)
{
    *out = (struct rates){.curve = curve};
    for (size_t i = 0; i < curve->n; i++) {
        double rate = curve->value[i];

        if (!isfinite(rate))
            continue;
        out->peak = fmax(out->peak, rate);
        out->n_zero += rate == 0.0;
        out->n_negligible += set > 0.0 && rate <= NEGLIGIBLE * set;
    }
    /* zeros between the first non-zero row and the last one: neither warm-up nor tail */
    size_t first = 0, last = curve->n;
    while (first < curve->n && curve->value[first] == 0.0)
        first++;
    while (last > first && curve->value[last - 1] == 0.0)
        last--;
    out->last = last;
    for (size_t i = first; i < last; i++) {
        out->n_inner++;
        out->n_inner_zero += curve->value[i] == 0.0;
    }
}

static bool read_settings(struct check_ctx *ctx, double set)
{
    const struct run_facts *facts = ctx->facts;
    const struct setting *warmup = facts_setting(facts, "warmup_steps");
    double steps;

    if (set == 0.0) {
        evidence_setting(ctx, facts_setting(facts, "learning_rate"));
        (void)check_fail(ctx, CONFIDENCE_CERTAIN, "set", "the learning rate is set to 0");
        return true;
    }
    /* below 1 it is a share of the steps (transformers 5) */
    if (setting_number(warmup, &steps) && steps >= 1.0 && facts->max_steps > 0 &&
        steps >= (double)facts->max_steps) {
        evidence_setting(ctx, warmup);
        evidence_number(ctx, steps, (double)facts->max_steps,
                        "warm-up of %.0f steps in a run of %lld", steps,
                        (long long)facts->max_steps);
        (void)check_fail(ctx, CONFIDENCE_CERTAIN, "warmup",
                         "the warm-up (%.0f steps) is as long as the run (%lld steps)", steps,
                         (long long)facts->max_steps);
        return true;
    }
    return false;
}

static void read_rows(struct check_ctx *ctx, const struct rates *rates, double set)
{
    const struct curve *curve = rates->curve;
    double n = (double)curve->n;

    if (set > 0.0 && curve->n >= LEAST_ROWS && rates->n_negligible == curve->n) {
        evidence_range(ctx, curve, 0, curve->n - 1, "logged rate at most %.3g of %.3g set",
                       rates->peak, set);
        evidence_setting(ctx, facts_setting(ctx->facts, "learning_rate"));
        check_begins(ctx, curve->step[0]);
        (void)check_fail(ctx, CONFIDENCE_CERTAIN, "rows",
                         "the logged rate is at most %.3g on all %zu rows, %.3g is set", rates->peak,
                         curve->n, set);
    } else if (curve->n >= 5 && (double)rates->n_zero >= ALMOST_ALL * n) {
        evidence_range(ctx, curve, 0, curve->n - 1, "learning_rate 0 on %zu of %zu rows",
                       rates->n_zero, curve->n);
        check_begins(ctx, curve->step[0]);
        (void)check_fail(ctx, CONFIDENCE_CERTAIN, "rows", "the learning rate is 0 on %zu of %zu rows",
                         rates->n_zero, curve->n);
    } else if (rates->n_inner >= 5 &&
               (double)rates->n_inner_zero > SOME_ROWS * (double)rates->n_inner) {
        evidence_range(ctx, curve, 0, curve->n - 1, "learning_rate 0 on %zu of %zu rows after warm-up",
                       rates->n_inner_zero, rates->n_inner);
        (void)check_warn(ctx, CONFIDENCE_LIKELY, "rows",
                         "the learning rate is 0 on %zu of %zu rows between warm-up and the end",
                         rates->n_inner_zero, rates->n_inner);
    } else if (rates->last > 0 && curve->n - rates->last >= LEAST_ROWS &&
               (double)(curve->n - rates->last) > SOME_ROWS * n) {
        /* A schedule ends with one row of 0; one that was made for fewer steps goes on with it. */
        evidence_range(ctx, curve, rates->last, curve->n - 1, "learning_rate 0 on the last %zu rows",
                       curve->n - rates->last);
        check_begins(ctx, curve->step[rates->last]);
        (void)check_warn(ctx, CONFIDENCE_STRONG, "tail",
                         "the learning rate is 0 from step %lld on: the last %zu of %zu rows moved "
                         "nothing, the schedule is shorter than the run",
                         (long long)curve->step[rates->last], curve->n - rates->last, curve->n);
    }
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct curve *curve = facts_curve(ctx->facts, "learning_rate");
    struct rates rates = {0};
    double set = NAN;

    (void)err;
    (void)facts_number(ctx->facts, "learning_rate", &set);
    (void)read_settings(ctx, set);
    if (curve && curve->n) {
        read_rates(curve, set, &rates);
        read_rows(ctx, &rates, set);
    }
    if (check_verdict(ctx) >= VERDICT_WARN) {
        add_fixes(ctx);
        return OK;
    }
    if (!curve || curve->n == 0)
        return check_unknown(ctx, "metric rows with learning_rate");
    if (isnan(set)) {
        if (rates.peak > 0.0 && curve->n >= LEAST_ROWS)
            return check_pass(ctx, CONFIDENCE_LIKELY,
                              "the logged rate peaks at %.3g; the set value is not known", rates.peak);
        return check_unknown(ctx, "training_args.bin or the config (the set learning rate)");
    }
    if (rates.peak >= GOOD_PEAK * set)
        return check_pass(ctx, CONFIDENCE_CERTAIN, "the logged rate peaks at %.3g of %.3g set",
                          rates.peak, set);
    return check_unknown(ctx, "more logged rows: the rate has reached %.3g of %.3g set", rates.peak, set);
}

const struct check check_lr_zero = {
    .id = "lr-zero",
    .version = 1,
    .stage = STAGE_SUPERVISED,
    .severity = SEVERITY_BLOCKS,
    .title = "The learning rate is not zero for the run",
    .why = "With a rate of zero the optimiser never moves, whatever the loss does.",
    .applies = applies,
    .run = run,
};
