/* loss-zero-all-masked (CHECKS.md C3.7): is the loss exactly 0.0 because nothing is supervised? One
 * of several readings of 0.0 (core/facts/loss_zero.h). */
#include <math.h>

#include "core/checks/label_evidence.h"
#include "core/checks/registry.h"
#include "core/facts/loss_zero.h"
#include "core/facts/onset.h"

#define MOST_ROWS  0.9
#define LEAST_ROWS 3

static bool applies(const struct run_facts *facts, const char **reason)
{
    switch (facts->run.kind) {
    case KIND_SFT:
    case KIND_CLASSIFICATION:
    case KIND_SEQ2SEQ:
    case KIND_PRETRAINING:
    case KIND_UNKNOWN:
        *reason = "nothing was trained";
        return !(facts->run.marks & MARK_EVAL_ONLY);
    case KIND_GRPO:
    case KIND_PPO:
    case KIND_DPO:
    case KIND_REWARD_MODEL:
        break;
    }
    *reason = "a loss of 0.0 means something else in preference tuning";
    return false;
}

/* All rows, by their labels. */
static bool all_masked(const struct audit *audit)
{
    return audit && labels_count(audit, AUDIT_ALL_MASKED) == labels_seen(audit);
}

static bool labels_say_masked(const struct run_facts *facts)
{
    return all_masked(labels_of(facts, "train")) ||
           facts_event(facts, "loss-zero-all-masked", NULL) != NULL ||
           facts_event(facts, "flat-all-masked", NULL) != NULL;
}

/* 5.2 item 5 with a non-finite gradient: a NaN cause of its own goes first. */
static bool has_other_cause(const struct run_facts *facts)
{
    double rate, bound = facts_is_adapter_run(facts, NULL) == 0 ? 1e-4 : 1e-3;

    return (precision_is_fp16(facts, NULL) == 1 && base_is_bf16(facts, NULL) == 1) ||
           (facts_number(facts, "learning_rate", &rate) && rate >= bound);
}

static int report(struct check_ctx *ctx, const struct loss_zero *zero)
{
    const struct curve *accuracy = facts_curve(ctx->facts, "mean_token_accuracy");
    double gradient = NAN;

    if (loss_zero_grad_norm(zero, 0, &gradient))
        evidence_range(ctx, zero->loss, 0, zero->loss->n - 1,
                       "loss 0.0 on %zu of %zu rows, grad_norm %s", zero->n_zero, zero->n_rows,
                       isfinite(gradient) ? (gradient == 0.0 ? "0.0" : "above 0") : "not finite");
    else
        evidence_range(ctx, zero->loss, 0, zero->loss->n - 1,
                       "loss 0.0 on %zu of %zu rows, grad_norm not logged", zero->n_zero,
                       zero->n_rows);
    if (accuracy && accuracy->n)
        evidence_point(ctx, accuracy, 0, "mean_token_accuracy %.4g", accuracy->value[0]);
    const struct event *event = facts_event(ctx->facts, "loss-zero-all-masked", NULL);
    if (event)
        evidence_event(ctx, event);
    const struct audit *audit = labels_of(ctx->facts, "train");
    if (all_masked(audit))
        (void)labels_show_rows(ctx, audit, AUDIT_ALL_MASKED, 0, "has no supervised token");
    check_begins(ctx, zero->loss->step[0]);
    check_fix(ctx, "decode one label sequence and look at what is not -100");
    check_fix(ctx, "give the response marker without a trailing blank or newline, or as ids");
    check_fix(ctx, "use the marker of the chat template in use (Unsloth: response_part)");
    check_fix(ctx, "use SFTConfig instead of TrainingArguments with TRL");
    return check_fail(ctx, CONFIDENCE_STRONG, "",
                      "the loss is exactly 0.0 on %zu of %zu rows from the first one on: nothing is "
                      "supervised", zero->n_zero, zero->n_rows);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct loss_zero zero;
    bool is_reading_b;

    (void)err;
    loss_zero_read(ctx->facts, &zero);
    if (!zero.loss || zero.n_rows == 0)
        return check_unknown(ctx, "%s", need_hint(NEEDS_TRAIN_SERIES));
    is_reading_b = zero.reading == LOSS_ZERO_NOTHING_SUPERVISED;
    if (zero.reading == LOSS_ZERO_UNDECIDED)
        is_reading_b = labels_say_masked(ctx->facts) || !has_other_cause(ctx->facts);
    if (is_reading_b && zero.n_rows >= LEAST_ROWS && zero.first_row_is_zero &&
        (double)zero.n_zero >= MOST_ROWS * (double)zero.n_rows)
        return report(ctx, &zero);
    for (size_t i = 0; i < zero.n_rows && i < LEAST_ROWS; i++)
        if (isfinite(zero.loss->value[i]) && zero.loss->value[i] != 0.0)
            return check_pass(ctx, CONFIDENCE_CERTAIN, "the loss is %.4g on row %zu",
                              zero.loss->value[i], i + 1);
    if (zero.n_rows < LEAST_ROWS)
        return check_unknown(ctx, "%zu more logged rows (%zu are there)", LEAST_ROWS - zero.n_rows,
                             zero.n_rows);
    return check_unknown(ctx, "labels_sample.jsonl: a loss of 0.0 on the first rows has several readings");
}

const struct check check_loss_zero_all_masked = {
    .id = "loss-zero-all-masked",
    .version = 2,
    .stage = STAGE_SUPERVISED,
    .severity = SEVERITY_BLOCKS,
    .title = "The loss is not exactly 0.0",
    .why = "A loss of exactly 0.0 from the first row on is the sum over no supervised token.",
    .applies = applies,
    .run = run,
};
