/* grad-accum-loss-scale (CHECKS.md C0.21): does the logged loss depend on gradient accumulation?
 * Decided by a twin run where there is one, else only suspected by versions. */
#include <math.h>
#include <string.h>

#include "core/checks/registry.h"

enum { ROWS_COMPARED = 12, ROWS_AGREEING = 3 };

static bool applies(const struct run_facts *facts, const char **reason)
{
    if (facts->run.marks & MARK_EVAL_ONLY) {
        *reason = "nothing was trained";
        return false;
    }
    if (facts->run.kind == KIND_GRPO || facts->run.kind == KIND_PPO) {
        *reason = "the loss of reinforcement learning is not a learning curve";
        return false;
    }
    return true;
}

struct batch {
    double micro, accumulation;
};

static bool read_batch(const struct run_facts *facts, struct batch *batch)
{
    return facts_number(facts, "per_device_train_batch_size", &batch->micro) &&
           facts_number(facts, "gradient_accumulation_steps", &batch->accumulation) &&
           batch->micro >= 1.0 && batch->accumulation >= 1.0;
}

static bool is_same_text(const struct run_facts *a, const struct run_facts *b, const char *name)
{
    const char *x = facts_text(a, name), *y = facts_text(b, name);

    return !x || !y || strcmp(x, y) == 0;
}

static bool is_twin(const struct run_facts *a, const struct run_facts *b)
{
    struct batch x, y;
    const struct dataset *of_a = NULL, *of_b = NULL;
    int64_t rows_a = facts_train_rows(a, &of_a), rows_b = facts_train_rows(b, &of_b);

    if (!read_batch(a, &x) || !read_batch(b, &y))
        return false;
    return x.accumulation > y.accumulation &&
           x.micro * x.accumulation == y.micro * y.accumulation &&
           (rows_a == NONE || rows_b == NONE || rows_a == rows_b) &&
           is_same_text(a, b, "dataset") && is_same_text(a, b, "model_name_or_path") &&
           is_same_text(a, b, "max_length");
}

enum comparison { TOO_FEW_ROWS, AGREES, DIFFERS };

static enum comparison compare(struct check_ctx *ctx, const struct run_facts *twin)
{
    const struct curve *own = facts_curve(ctx->facts, "loss"), *other = facts_curve(twin, "loss");
    struct batch x, y;
    size_t n = 0, n_agreeing = 0;
    double first = NAN;

    if (!own || !other || !read_batch(ctx->facts, &x) || !read_batch(twin, &y))
        return TOO_FEW_ROWS;
    double expected = x.accumulation / y.accumulation;
    for (size_t i = 0; i < own->n && n < ROWS_COMPARED; i++) {
        ptrdiff_t at = own->step[i] == NONE ? -1 : curve_at_step(other, own->step[i]);
        if (at < 0 || other->step[at] != own->step[i] || !(other->value[at] > 0.0))
            continue;
        double ratio = own->value[i] / other->value[at];
        n++;
        if (!(fabs(ratio / expected - 1.0) <= 0.10))
            continue;
        if (n_agreeing++ == 0)
            first = ratio;
        if (n_agreeing <= ROWS_AGREEING)
            evidence_point(ctx, own, i,
                           "loss %.4g, %.4g in the run with accumulation %.0f: ratio "
                           "%.3g",
                           own->value[i], other->value[at], y.accumulation, ratio);
    }
    if (n_agreeing < ROWS_AGREEING)
        return n < ROWS_AGREEING ? TOO_FEW_ROWS : AGREES;
    evidence_setting(ctx, facts_setting(ctx->facts, "gradient_accumulation_steps"));
    evidence_number(ctx, first, expected, "ratio of the losses against the ratio of accumulation");
    check_begins(ctx, NONE);
    check_fail(ctx, CONFIDENCE_STRONG, "twin",
               "the loss is %.3g times that of %s, as accumulation is (%.0f against %.0f), on %zu "
               "of the first %zu rows",
               first, twin->run.name ? twin->run.name : "another run", x.accumulation,
               y.accumulation, n_agreeing, n);
    return DIFFERS;
}

static bool is_affected_version(const char *version)
{
    return !version ||
           (version_compare(version, "4.46") >= 0 && version_compare(version, "4.49") < 0);
}

/* First loss far above chance: 1.5 times ln of the vocabulary. */
static bool starts_too_high(const struct run_facts *facts, const struct curve *loss,
                            const struct setting **vocabulary)
{
    double size = 0.0;

    *vocabulary = facts_setting_on(facts, SIDE_MODEL, "vocab_size");
    if (!setting_number(*vocabulary, &size) || !(size > 2.0) || loss->n == 0 ||
        facts->run.kind == KIND_CLASSIFICATION || facts->run.kind == KIND_DPO ||
        facts->run.kind == KIND_REWARD_MODEL)
        return false;
    return loss->value[0] > 1.5 * log(size);
}

/* The last row of an epoch, of fewer micro batches, at one constant fraction of its neighbours. */
static bool has_epoch_ends(const struct run_facts *facts, const struct curve *loss,
                           double *fraction)
{
    const struct curve *epoch = facts_curve(facts, "epoch");
    double low = INFINITY, high = 0.0;
    size_t n = 0;

    for (size_t i = 1; epoch && i + 1 < loss->n; i++) {
        double e;
        if (!curve_on_row(epoch, loss, i, &e) || !(e > 0.5) || fabs(e - floor(e + 0.5)) > 1e-6)
            continue;
        double beside = 0.5 * (loss->value[i - 1] + loss->value[i + 1]);
        double f = loss->value[i] / beside;
        if (!(beside > 0.0) || !isfinite(f) || !(f > 0.0))
            return false;
        low = fmin(low, f);
        high = fmax(high, f);
        n++;
    }
    *fraction = 0.5 * (low + high);
    return n >= 2 && high / low <= 1.1 && (high < 0.8 || low > 1.25);
}

static void suspect(struct check_ctx *ctx, const struct curve *loss, const char *version)
{
    const struct setting *vocabulary = NULL;
    double fraction;

    if (starts_too_high(ctx->facts, loss, &vocabulary)) {
        evidence_point(ctx, loss, 0, "first loss %.4g", loss->value[0]);
        evidence_setting(ctx, vocabulary);
        check_warn(ctx, CONFIDENCE_LIKELY, "start",
                   "the first loss %.4g is above 1.5 times chance while gradients are accumulated "
                   "(transformers %s)",
                   loss->value[0], version ? version : "version not known");
    } else if (has_epoch_ends(ctx->facts, loss, &fraction)) {
        check_warn(ctx, CONFIDENCE_LIKELY, "epoch-ends",
                   "the last row of each epoch is %.3g times its neighbours while gradients are "
                   "accumulated (transformers %s)",
                   fraction, version ? version : "version not known");
    } else {
        return;
    }
    evidence_setting(ctx, facts_setting(ctx->facts, "gradient_accumulation_steps"));
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct run_facts *facts = ctx->facts;
    const struct curve *loss = facts_curve(facts, "loss");
    const char *version = facts_package(facts, "transformers");
    bool has_twin = false;
    double accumulation = NAN;

    (void)err;
    if (!loss || loss->n == 0)
        return check_unknown(ctx, "%s", need_hint(NEEDS_TRAIN_SERIES));
    facts_number(facts, "gradient_accumulation_steps", &accumulation);
    for (size_t i = 0; i < ctx->n_others; i++) {
        if (!is_twin(facts, ctx->others[i]))
            continue;
        enum comparison comparison = compare(ctx, ctx->others[i]);
        has_twin = has_twin || comparison == AGREES;
        if (comparison == DIFFERS)
            break;
    }
    if (check_verdict(ctx) < VERDICT_WARN && accumulation > 1.0 && is_affected_version(version))
        suspect(ctx, loss, version);
    if (check_verdict(ctx) >= VERDICT_WARN) {
        check_fix(ctx, "update transformers; a compute_loss of your own has to divide by "
                       "num_items_in_batch");
        check_fix(ctx, "compare runs only at equal accumulation");
        check_fix(ctx, "divide for display, never for a rule");
        return OK;
    }
    if (accumulation == 1.0)
        return check_pass(ctx, CONFIDENCE_CERTAIN, "no accumulation");
    if (has_twin)
        return check_pass(ctx, CONFIDENCE_STRONG,
                          "the loss agrees with a run of other accumulation");
    if (version && !is_affected_version(version))
        return check_pass(ctx, CONFIDENCE_LIKELY,
                          "transformers %s averages over accumulated batches", version);
    if (isnan(accumulation))
        return check_unknown(ctx, "%s", need_hint(NEEDS_SETTINGS));
    return check_unknown(ctx, "the transformers version (pip_freeze.txt), or a second run with "
                              "other accumulation");
}

const struct check check_grad_accum_loss_scale = {
    .id = "grad-accum-loss-scale",
    .version = 1,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_MISLEADS,
    .title = "The logged loss does not depend on accumulation",
    .why = "A loss that is summed over accumulated batches is too large by that factor: curves of "
           "different runs cannot be compared.",
    .applies = applies,
    .run = run,
};
