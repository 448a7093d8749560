/* flat-all-masked (CHECKS.md C3.6): are some label positions not -100? By the audit of the rows
 * (recorded or simulated), by the warnings against the rows seen, by what the frameworks count. A
 * few ignored rows are not this. */
#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/label_evidence.h"
#include "core/checks/registry.h"
#include "core/facts/loss_zero.h"

#define LEAST_ROWS 3
#define MOST_ROWS  0.9 /* of the rows seen: Unsloth's own bound on its first 100 */

static bool applies(const struct run_facts *facts, const char **reason)
{
    if (facts->run.kind == KIND_GRPO || facts->run.kind == KIND_PPO) {
        *reason = "reinforcement learning: no label mask";
        return false;
    }
    *reason = "nothing was trained";
    return !(facts->run.marks & MARK_EVAL_ONLY);
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx,
              "give the response marker without a trailing blank or newline, or as ids cut from a "
              "rendered row");
    check_fix(ctx, "use the marker of the chat template in use (Unsloth: response_part)");
    check_fix(ctx, "use SFTConfig instead of TrainingArguments with TRL");
    check_fix(ctx, "settle no-generation-markers first where it fires");
}

/* The sample holds every row that was trained on. */
static bool are_all_rows(const struct run_facts *facts, const struct audit *audit)
{
    int64_t trained = facts_train_rows(facts, NULL);

    return (trained != NONE && trained <= labels_seen(audit)) ||
           (audit->basis == AUDIT_SIMULATED && labels_are_all(audit));
}

/* What was looked for, and the run of tokens that comes nearest to it. */
static void show_marker(struct check_ctx *ctx, const struct audit *audit)
{
    if (!audit->marker)
        return;
    evidence_add(ctx, "number", "marker looked for: \"%s\"%s%s", audit->marker,
                 audit->marker_ids ? ", ids " : "", audit->marker_ids ? audit->marker_ids : "");
    if (!audit->nearest_ids && !audit->nearest_text)
        return;
    evidence_add(ctx, "number", "nearest in the row: \"%s\"%s%s",
                 audit->nearest_text ? audit->nearest_text : "", audit->nearest_ids ? ", ids " : "",
                 audit->nearest_ids ? audit->nearest_ids : "");
}

/* Every logged loss is 0.0 from the first row on. */
static bool loss_is_zero_throughout(struct check_ctx *ctx)
{
    struct loss_zero zero;

    loss_zero_read(ctx->facts, &zero);
    return zero.loss && zero.n_rows > 0 && zero.n_zero == zero.n_rows &&
           (zero.reading == LOSS_ZERO_NOTHING_SUPERVISED || zero.reading == LOSS_ZERO_UNDECIDED);
}

static bool read_labels(struct check_ctx *ctx)
{
    const struct audit *audit = labels_of(ctx->facts, "train");

    if (!audit)
        return false;
    int64_t n = labels_seen(audit), masked = labels_count(audit, AUDIT_ALL_MASKED);
    bool nearly_all = (double)masked >= MOST_ROWS * (double)n;
    labels_tell(ctx, audit);
    if (masked > 0) {
        (void)labels_show_rows(ctx, audit, AUDIT_ALL_MASKED, 0, "has no supervised token");
        evidence_number(ctx, (double)masked, MOST_ROWS * (double)n, "%s are all -100",
                        labels_words(ctx, audit, masked));
    }
    if (!nearly_all)
        return true;
    show_marker(ctx, audit);
    if (n < LEAST_ROWS && !are_all_rows(ctx->facts, audit))
        (void)check_unknown(ctx, "%lld more rows of labels_sample.jsonl: all %lld are masked",
                            (long long)(LEAST_ROWS - n), (long long)n);
    else if (audit->assumption && loss_is_zero_throughout(ctx))
        (void)check_fail(ctx, CONFIDENCE_STRONG, "labels",
                         "%s have no supervised token, and every logged loss is exactly 0.0",
                         labels_words(ctx, audit, masked));
    else if (audit->assumption)
        (void)check_warn(ctx, CONFIDENCE_LIKELY, "labels", "%s have no supervised token",
                         labels_words(ctx, audit, masked));
    else
        (void)check_fail(ctx, labels_confidence(audit), "labels",
                         masked == n ? "all %lld inspected rows have no supervised token%s"
                                     : "%lld of the inspected rows have no supervised token%s",
                         (long long)masked,
                         labels_count(audit, AUDIT_NO_MARKER) == masked
                             ? ": the response marker does not stand in them"
                             : "");
    return true;
}

/* A message that says itself that all or nearly all labels are gone. */
static bool read_messages(struct check_ctx *ctx)
{
    const struct event *event = facts_event(ctx->facts, "flat-all-masked", NULL);

    if (event) {
        evidence_event(ctx, event);
        (void)check_fail(ctx, CONFIDENCE_CERTAIN, "message",
                         "the framework found no supervised label");
        return true;
    }
    for (event = NULL; (event = facts_event(ctx->facts, "loss-zero-all-masked", event));) {
        if (!event->pattern)
            continue;
        if (strcmp(event->pattern, "unsloth-labels-ignored") == 0 &&
            strcmp(event_capture(event, 1), "Most") != 0) {
            evidence_event(ctx, event);
            (void)check_fail(ctx, CONFIDENCE_CERTAIN, "message",
                             "%s labels of the data set are -100", event_capture(event, 1));
            return true;
        }
        if (strcmp(event->pattern, "response-key-ids-missing") == 0) {
            evidence_event(ctx, event);
            (void)check_fail(ctx, CONFIDENCE_STRONG, "message",
                             "the response marker %s stands in no row", event_capture(event, 1));
            return true;
        }
    }
    return false;
}

/* axolotl counts: 0 supervised tokens. */
static bool read_token_count(struct check_ctx *ctx)
{
    const struct event *event = NULL;

    while ((event = facts_event(ctx->facts, "prompt-not-masked", event)))
        if (event->pattern && strcmp(event->pattern, "axolotl-total-tokens") == 0 &&
            strcmp(event_capture(event, 1), "supervised") == 0 &&
            strcmp(event_capture(event, 2), "0") == 0) {
            evidence_event(ctx, event);
            (void)check_fail(ctx, CONFIDENCE_CERTAIN, "message",
                             "0 supervised tokens in the data set");
            return true;
        }
    return false;
}

/* All warnings of one pattern, also those beyond what was stored. */
static double count_pattern(const struct run_facts *facts, const char *pattern,
                            const struct event **first)
{
    const struct event *event = NULL;
    double n = 0.0, total;

    *first = NULL;
    while ((event = facts_event(facts, "loss-zero-all-masked", event)))
        if (event->pattern && strcmp(event->pattern, pattern) == 0) {
            n += 1.0;
            if (!*first)
                *first = event;
        }
    while ((event = facts_event(facts, "count", event)))
        if (strcmp(event_capture(event, 2), pattern) == 0 &&
            number_parse(str_of(event_capture(event, 3)), &total) && total > n)
            n = total;
    return n;
}

static double rows_in_banner(const struct run_facts *facts)
{
    const struct event *event = NULL, *start = facts_event(facts, "start-marker", NULL);
    double rows = NAN;

    while ((event = facts_event(facts, "info", event))) {
        char digits[32];
        size_t n = 0;

        if (!event->pattern || strcmp(event->pattern, "num-examples") != 0 ||
            (start && event->source_id == start->source_id && event->seq < start->seq))
            continue;
        for (const char *p = event_capture(event, 1); *p && n + 1 < sizeof digits; p++)
            if (*p != ',')
                digits[n++] = *p;
        if (number_parse(str_from(digits, n), &rows))
            return rows;
    }
    return rows;
}

/* Num examples times epochs done, else steps times batch. NaN: not known. */
static double rows_seen(const struct run_facts *facts)
{
    double rows = rows_in_banner(facts), micro, accumulation = 1.0;

    if (!isnan(rows) && facts->last_epoch > 0.0)
        return rows * facts->last_epoch;
    if (facts->last_step > 0 && facts_number(facts, "per_device_train_batch_size", &micro)) {
        (void)facts_number(facts, "gradient_accumulation_steps", &accumulation);
        return (double)facts->last_step * micro * accumulation;
    }
    return rows; /* at most one pass, as far as is known */
}

/* Returns true when warnings were there; the verdict may still be open. */
static bool read_warnings(struct check_ctx *ctx)
{
    static const char *const patterns[] = {"response-key-missing", "instance-ignored",
                                           "instance-ignored-wrapped"};
    const struct event *first = NULL;
    double n = 0.0, seen = rows_seen(ctx->facts);

    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        const struct event *event;
        double count = count_pattern(ctx->facts, patterns[i], &event);

        if (count > n) {
            n = count;
            first = event;
        }
    }
    if (!first)
        return false;
    evidence_event(ctx, first);
    /* Python prints equal warnings once: rows that repeat an earlier one are ignored in silence. */
    if (!(n >= MOST_ROWS * seen) && loss_is_zero_throughout(ctx)) {
        (void)check_fail(
            ctx, CONFIDENCE_STRONG, "warnings",
            "%.0f rows were ignored in the loss, and no logged row has a loss of its own", n);
        return true;
    }
    if (isnan(seen)) {
        (void)check_unknown(ctx,
                            "the rest of the log, or training_args.bin: %.0f rows were ignored, of "
                            "how many is not known",
                            n);
        return true;
    }
    evidence_number(ctx, n, MOST_ROWS * seen, "%.0f warnings for about %.0f rows seen", n, seen);
    if (n >= MOST_ROWS * seen && n < LEAST_ROWS)
        (void)check_unknown(ctx, "a longer log: %.0f rows were ignored, of about %.0f seen", n,
                            seen);
    else if (n >= MOST_ROWS * seen)
        (void)check_fail(ctx, CONFIDENCE_STRONG, "warnings",
                         "%.0f of about %.0f rows seen have no supervised token", n, seen);
    return true;
}

/* The labels speak against it, as far as they go. */
static int some_supervised(struct check_ctx *ctx, const struct audit *audit)
{
    int64_t n = labels_seen(audit), masked = labels_count(audit, AUDIT_ALL_MASKED);

    if (masked == 0 && (n >= 30 || labels_are_all(audit)))
        return check_pass(ctx, labels_confidence(audit), "%s have supervised tokens",
                          labels_words(ctx, audit, n));
    return check_pass(ctx, CONFIDENCE_LIKELY, "%s have supervised tokens; not all are masked",
                      labels_words(ctx, audit, n - masked));
}

static int run(struct check_ctx *ctx, struct error *err)
{
    bool has_labels = read_labels(ctx);
    bool has_messages = read_messages(ctx) || read_token_count(ctx);

    (void)err;
    bool has_warnings = !has_messages && read_warnings(ctx);

    if (check_verdict(ctx) >= VERDICT_WARN) {
        evidence_setting(ctx, facts_setting(ctx->facts, "response_template"));
        add_fixes(ctx);
        return OK;
    }
    if (has_labels && check_verdict(ctx) != VERDICT_UNKNOWN)
        return some_supervised(ctx, labels_of(ctx->facts, "train"));
    if (has_warnings && check_verdict(ctx) != VERDICT_UNKNOWN)
        return check_pass(ctx, CONFIDENCE_LIKELY,
                          "fewer than 90 %% of the rows seen were ignored in the loss");
    if (check_verdict(ctx) == VERDICT_UNKNOWN)
        return OK;
    return labels_unknown(ctx, "train");
}

const struct check check_flat_all_masked = {
    .id = "flat-all-masked",
    .version = 3,
    .stage = STAGE_SUPERVISED,
    .severity = SEVERITY_BLOCKS,
    .title = "Some label positions are not -100",
    .why = "With every label masked there is nothing to learn: the loss is 0, NaN or flat, and the "
           "adapter stays what it was.",
    .applies = applies,
    .run = run,
};
