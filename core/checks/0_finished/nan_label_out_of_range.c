/* nan-label-out-of-range (CHECKS.md C0.11): does every label lie inside the model's range? A bare
 * device-side assert is decided by the assertion line that goes with it. */
#include <string.h>

#include "core/base/number.h"
#include "core/checks/registry.h"

static bool is_pattern(const struct event *event, const char *pattern)
{
    return event->pattern && strcmp(event->pattern, pattern) == 0;
}

static const struct event *find_error(const struct run_facts *facts)
{
    const struct event *event = NULL;

    while ((event = facts_event(facts, "nan-label-out-of-range", event)))
        if (is_pattern(event, "assert-label-cuda") || is_pattern(event, "assert-label-cpu") ||
            is_pattern(event, "target-out-of-bounds"))
            return event;
    return NULL;
}

static const struct event *find_bare_assert(const struct run_facts *facts)
{
    const struct event *event = NULL;

    while ((event = facts_event(facts, "nan-label-out-of-range", event)))
        if (is_pattern(event, "device-side-assert"))
            return event;
    return NULL;
}

static bool has_embedding_assert(const struct run_facts *facts)
{
    const struct event *event = NULL;

    while ((event = facts_event(facts, "vocab-mismatch", event)))
        if (is_pattern(event, "assert-embedding-cuda") || is_pattern(event, "index-out-of-range"))
            return true;
    return false;
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "set num_labels and id2label to the number of classes");
    check_fix(ctx, "shift the labels so that they begin at 0");
    check_fix(ctx, "an old ignore value of -1: use -100");
    check_fix(ctx, "rerun on the CPU or with CUDA_LAUNCH_BLOCKING=1 for the true row");
}

static int fails(struct check_ctx *ctx, const struct event *error)
{
    const struct run_facts *facts = ctx->facts;
    const struct setting *range = facts_setting_on(facts, SIDE_MODEL, "num_labels");
    int64_t label = NONE;
    double n_labels;

    evidence_event(ctx, error);
    if (find_bare_assert(facts))
        evidence_event(ctx, find_bare_assert(facts));
    evidence_setting(ctx, range);
    check_begins(ctx, error->step);
    add_fixes(ctx);
    if (is_pattern(error, "target-out-of-bounds") &&
        number_parse_int(str_of(event_capture(error, 1)), &label)) {
        if (setting_number(range, &n_labels))
            evidence_number(ctx, (double)label, n_labels, "label %lld, num_labels %.0f",
                            (long long)label, n_labels);
        return check_fail(ctx, CONFIDENCE_CERTAIN, "error",
                          "label %lld is outside the model's range%s%s (%s:%lld)", (long long)label,
                          range ? ": num_labels is " : "", range ? range->value : "",
                          facts_file_name(facts, error->source_id), (long long)error->line);
    }
    return check_fail(ctx, CONFIDENCE_CERTAIN, "error",
                      "a label is outside the model's range%s%s (%s:%lld)",
                      range ? ": num_labels is " : "", range ? range->value : "",
                      facts_file_name(facts, error->source_id), (long long)error->line);
}

/* ---- Labels of the rows against the model ---- */

/* The largest (or smallest) of a number that data sets say of their rows, or NULL. */
static const struct setting *extreme(const struct run_facts *facts, const char *name, bool largest)
{
    const struct setting *found = NULL;
    double best = 0.0, value;

    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        if (!s->raw_name || strcmp(s->raw_name, name) != 0 || !setting_number(s, &value))
            continue;
        if (!found || (largest ? value > best : value < best)) {
            found = s;
            best = value;
        }
    }
    return found;
}

/* Labels are classes, or token ids, each with its own bound. */
static const struct setting *range_of(const struct run_facts *facts)
{
    switch (facts->run.kind) {
    case KIND_CLASSIFICATION:
        return facts_setting_on(facts, SIDE_MODEL, "num_labels");
    case KIND_SFT:
    case KIND_SEQ2SEQ:
    case KIND_PRETRAINING:
        return facts_setting_on(facts, SIDE_MODEL, "vocab_size");
    case KIND_UNKNOWN:
    case KIND_GRPO:
    case KIND_PPO:
    case KIND_DPO:
    case KIND_REWARD_MODEL:
        break;
    }
    return NULL;
}

/* A causal label that is an input id too belongs to vocab-mismatch. */
static bool is_an_input_id(const struct run_facts *facts, double bound)
{
    double id;

    return setting_number(extreme(facts, "rows.max_input_id", true), &id) && id >= bound;
}

/* Training went on over such labels: the model was given another range than this config's. */
static bool was_trained_on(const struct run_facts *facts)
{
    const struct curve *loss = facts_curve(facts, "loss");

    return loss && loss->n > 0 && facts->run.outcome != OUTCOME_CRASHED && !find_bare_assert(facts);
}

static int say_outside(struct check_ctx *ctx, const struct setting *label,
                       const struct setting *range, double value)
{
    evidence_setting(ctx, label);
    evidence_setting(ctx, range);
    check_begins(ctx, NONE);
    add_fixes(ctx);
    if (value < 0.0)
        return check_fail(ctx, CONFIDENCE_CERTAIN, "labels",
                          "label %.0f (%s:%lld) is below 0 and is not -100", value,
                          facts_file_name(ctx->facts, label->source_id), (long long)label->line);
    return check_fail(ctx, CONFIDENCE_CERTAIN, "labels",
                      "label %.0f (%s:%lld) is outside the model's range: %s is %s", value,
                      facts_file_name(ctx->facts, label->source_id), (long long)label->line,
                      range->name, range->value);
}

/* True when the rows decided. A sample of rows decides a fault only. */
static bool by_rows(struct check_ctx *ctx)
{
    const struct run_facts *facts = ctx->facts;
    const struct setting *range = range_of(facts);
    const struct setting *most = extreme(facts, "rows.max_label", true);
    const struct setting *least = extreme(facts, "rows.min_label", false);
    bool are_classes = facts->run.kind == KIND_CLASSIFICATION;
    double bound, high, low;

    /* One class is a regression head. */
    if (!setting_number(range, &bound) || bound < 2.0 || !setting_number(most, &high) ||
        !setting_number(least, &low))
        return false;
    if ((low < 0.0 || high >= bound) && was_trained_on(facts)) {
        check_info(ctx, "labels %.0f to %.0f, but %s is %s in the config that was imported", low, high,
                   range->name, range->value);
        return false;
    }
    if (low < 0.0)
        return say_outside(ctx, least, range, low) == OK;
    if (high >= bound && (are_classes || !is_an_input_id(facts, bound)))
        return say_outside(ctx, most, range, high) == OK;
    if (high >= bound || !are_classes)
        return false;
    return check_pass(ctx, CONFIDENCE_CERTAIN, "labels %.0f to %.0f, %s is %.0f", low, high,
                      range->name, bound) == OK;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct run_facts *facts = ctx->facts;
    const struct event *error = find_error(facts);
    const struct event *bare = find_bare_assert(facts);
    const struct curve *loss = facts_curve(facts, "loss");

    (void)err;
    if (error)
        return fails(ctx, error);
    if (by_rows(ctx)) {
        if (bare && check_verdict(ctx) == VERDICT_FAIL)
            evidence_event(ctx, bare);
        return OK;
    }
    if (bare && !has_embedding_assert(facts))
        return check_unknown(ctx,
                             "the assertion line before the device-side assert (%s:%lld), or "
                             "a run with CUDA_LAUNCH_BLOCKING=1",
                             facts_file_name(facts, bare->source_id), (long long)bare->line);
    if (loss && loss->n > 0)
        check_info(ctx, "%zu training rows without an assertion: the labels of these steps are inside",
                   loss->n);
    if (bare || (loss && loss->n > 0))
        return check_unknown(ctx, "%s", need_hint(NEEDS_LABELS));
    return check_unknown(ctx, "%s", need_hint(facts->has_training_log ? NEEDS_LABELS : NEEDS_LOG));
}

const struct check check_nan_label_out_of_range = {
    .id = "nan-label-out-of-range",
    .version = 1,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_BLOCKS,
    .title = "Every label lies inside the model's range",
    .why =
        "A label outside the classes reads outside the loss's table: an assertion on the GPU, or "
        "an arbitrary loss.",
    .run = run,
};
