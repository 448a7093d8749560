/* dropped-rows (CHECKS.md C3.16): are the rows given the rows trained? By what the frameworks say
 * they dropped, by the trainer's count against the file, and by the audit of the rows: those that
 * the trainer leaves out without a word. */
#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/label_evidence.h"
#include "core/checks/registry.h"

#define FAIL_SHARE 0.10
#define WARN_SHARE 0.02

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "nothing was trained";
    return !(facts->run.marks & MARK_EVAL_ONLY);
}

static double number_in(const char *text)
{
    char digits[32];
    size_t n = 0;
    double value;

    for (; *text && n + 1 < sizeof digits; text++)
        if (*text != ',' && *text != '_')
            digits[n++] = *text;
    return number_parse(str_from(digits, n), &value) ? value : NAN;
}

/* How often a pattern was seen, also beyond what was stored. */
static double times_seen(const struct run_facts *facts, const char *pattern,
                         const struct event **first)
{
    const struct event *event = NULL;
    double n = 0.0;

    *first = NULL;
    while ((event = facts_event(facts, "dropped-rows", event)))
        if (event->pattern && strcmp(event->pattern, pattern) == 0) {
            n += 1.0;
            if (!*first)
                *first = event;
        }
    while ((event = facts_event(facts, "count", event)))
        if (strcmp(event_capture(event, 2), pattern) == 0) {
            double all = number_in(event_capture(event, 3));

            n = all > n ? all : n;
        }
    return n;
}

/* Sum of the counts that messages of a pattern state. */
static double stated(const struct run_facts *facts, const char *kind, const char *pattern,
                     const struct event **first)
{
    const struct event *event = NULL;
    double sum = 0.0;

    *first = NULL;
    while ((event = facts_event(facts, kind, event))) {
        double n;

        if (!event->pattern || strcmp(event->pattern, pattern) != 0)
            continue;
        n = number_in(event_capture(event, event_capture(event, 1)[0] ? 1 : 2));
        if (isnan(n))
            continue;
        sum += n;
        if (!*first)
            *first = event;
    }
    return sum;
}

struct dropped {
    double n;
    size_t n_reasons;
};

static void add_reason(struct check_ctx *ctx, struct dropped *dropped, double n,
                       const struct event *event, const char *why)
{
    if (!event || !(n > 0.0))
        return;
    evidence_event(ctx, event);
    evidence_number(ctx, n, 0.0, "%.0f rows dropped: %s", n, why)->has_bound = false;
    dropped->n += n;
    dropped->n_reasons++;
}

static void read_messages(struct check_ctx *ctx, struct dropped *dropped)
{
    const struct run_facts *facts = ctx->facts;
    const struct event *event;
    double n;

    n = times_seen(facts, "llf-dropped-lengthy", &event);
    add_reason(ctx, dropped, n, event, "longer than cutoff_len");
    n = times_seen(facts, "llf-dropped-invalid", &event);
    if (n > 0.0) {
        add_reason(ctx, dropped, n, event, "invalid");
    } else {
        n = times_seen(facts, "llf-invalid-rows", &event);
        add_reason(ctx, dropped, n, event, "invalid turn order or count");
    }
    n = stated(facts, "dropped-rows", "axolotl-outside-range", &event);
    add_reason(ctx, dropped, n, event, "outside the length range");
    n = stated(facts, "dropped-rows", "axolotl-dropped-length", &event);
    add_reason(ctx, dropped, n, event, "too long or too short");
    n = stated(facts, "truncation-cuts-answer", "axolotl-dropped", &event);
    add_reason(ctx, dropped, n, event, "no trainable tokens");
    n = stated(facts, "truncation-cuts-answer", "unsloth-removed", &event);
    add_reason(ctx, dropped, n, event, "all labels were -100");
}

static double rows_in_file(const struct run_facts *facts, const struct dataset **dataset)
{
    int64_t rows = facts_train_rows(facts, dataset);
    double stated_rows;

    if (*dataset && rows != NONE)
        return (double)rows;
    /* without rows of a file the trainer's own count stands in, which is what is to be compared */
    if (facts_number(facts, "num_rows", &stated_rows))
        return stated_rows;
    if (facts_number(facts, "dataset.num_rows", &stated_rows))
        return stated_rows;
    return NAN;
}

/* "Num examples" after "Running training": evaluation prints the same line. */
static double rows_trained(const struct run_facts *facts, const struct event **banner)
{
    const struct event *event = NULL, *start = facts_event(facts, "start-marker", NULL);

    while ((event = facts_event(facts, "info", event))) {
        const struct event *evaluation = facts_event(facts, "eval-marker", NULL);

        if (!event->pattern || strcmp(event->pattern, "num-examples") != 0)
            continue;
        if (start && event->source_id == start->source_id && event->seq < start->seq)
            continue;
        if (evaluation && event->source_id == evaluation->source_id &&
            event->seq > evaluation->seq && !(start && start->seq > evaluation->seq))
            continue;
        *banner = event;
        return number_in(event_capture(event, 1));
    }
    *banner = NULL;
    return NAN;
}

/* Settings under which another number of rows is meant. *expected gets that number, NaN where the
 * setting does not tell (packing). */
static const struct setting *meant_setting(const struct run_facts *facts, double in_file,
                                           double *expected)
{
    static const char *const packs[] = {"packing", "neat_packing", "eval_packing"};
    static const char *const limits[] = {"max_samples", "max_train_samples"};
    static const char *const splits[] = {"val_size", "val_set_size"};
    const struct setting *found = NULL;
    double value;

    *expected = in_file;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (facts_number(facts, limits[i], &value) && value > 0.0) {
            found = facts_setting(facts, limits[i]);
            *expected = fmin(*expected, value);
        }
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++)
        if (facts_number(facts, splits[i], &value) && value > 0.0) {
            found = facts_setting(facts, splits[i]);
            *expected -= value < 1.0 ? value * *expected : value;
        }
    for (size_t i = 0; i < sizeof packs / sizeof packs[0]; i++)
        if (facts_bool(facts, packs[i]) == 1) {
            found = facts_setting(facts, packs[i]);
            *expected = NAN;
        }
    return found;
}

/* Packing may be on by the program's own code: TRL's bar says so. */
static bool packs_rows(const struct run_facts *facts)
{
    const struct event *event = NULL;

    while ((event = facts_event(facts, "info", event)))
        if (event->pattern && strstr(event->pattern, "packing"))
            return true;
    return facts_event(facts, "packing-cross-contamination", NULL) != NULL;
}

/* What the trainer's count says of the rows in the file. */
enum count { COUNT_MISSING, COUNT_AGREES, COUNT_OTHER, COUNT_FEWER };

static enum count compare_counts(struct check_ctx *ctx, double in_file,
                                 const struct dataset *dataset)
{
    const struct event *banner;
    double expected, trained = rows_trained(ctx->facts, &banner);
    const struct setting *meant = meant_setting(ctx->facts, in_file, &expected);

    if (isnan(trained) || isnan(in_file))
        return COUNT_MISSING;
    if (fabs(trained / in_file - 1.0) < WARN_SHARE)
        return COUNT_AGREES;
    if (meant || packs_rows(ctx->facts)) {
        if (meant)
            check_info(ctx, "another number of rows is meant: %s = %s", meant->raw_name,
                       meant->value);
        return meant && fabs(trained / expected - 1.0) < WARN_SHARE ? COUNT_AGREES : COUNT_OTHER;
    }
    double share = 1.0 - trained / in_file;
    if (share < WARN_SHARE)
        return COUNT_OTHER; /* more rows than in the files that were imported */
    evidence_event(ctx, banner);
    evidence_add(ctx, "dataset", "%.0f rows in the file%s", in_file,
                 dataset ? "" : " (dataset_info.json)")
        ->source_id = dataset ? dataset->source_id : 0;
    /* packing or a sample limit would explain it: a FAIL needs the settings */
    if (share > FAIL_SHARE &&
        (facts_has_whole_arguments(ctx->facts) || facts_bool(ctx->facts, "packing") == 0))
        (void)check_fail(ctx, CONFIDENCE_STRONG, "count",
                         "%.0f of %.0f rows were trained (%.0f %% are missing)", trained, in_file,
                         100.0 * share);
    else
        (void)check_warn(ctx, CONFIDENCE_LIKELY, "count",
                         "%.0f of %.0f rows were trained (%.1f %% are missing)", trained, in_file,
                         100.0 * share);
    return COUNT_FEWER;
}

/* Rows that this trainer leaves out by its own rule, with nothing in the log but a bar. */
static void read_audit(struct check_ctx *ctx)
{
    const struct audit *audit = labels_of(ctx->facts, "train");

    if (audit && audit->basis == AUDIT_RECORDED)
        audit = labels_beside(ctx->facts, audit, AUDIT_ALL_MASKED);
    if (!audit || audit->is_partial)
        return;
    int64_t n = labels_count(audit, AUDIT_DROPPED), seen = labels_seen(audit);
    double share = labels_share(audit, AUDIT_DROPPED);
    if (share < WARN_SHARE)
        return;
    labels_tell(ctx, audit);
    int64_t masked = labels_show_rows(ctx, audit, AUDIT_DROPPED | AUDIT_ALL_MASKED, 0,
                                      "is dropped, no supervised token is left");
    if (n > masked)
        (void)labels_show_rows(ctx, audit, AUDIT_DROPPED, AUDIT_ALL_MASKED,
                               "is dropped for its length");
    if (share >= FAIL_SHARE && !audit->assumption)
        (void)check_fail(ctx, labels_confidence(audit), "audit",
                         "the trainer drops %lld of %lld rows (%.0f %%): %lld without a supervised "
                         "token, %lld for their length",
                         (long long)n, (long long)seen, 100.0 * share, (long long)masked,
                         (long long)(n - masked));
    else
        (void)check_warn(ctx, CONFIDENCE_LIKELY, "audit",
                         "the trainer drops %lld of %lld rows (%.1f %%): %lld without a supervised "
                         "token, %lld for their length",
                         (long long)n, (long long)seen, 100.0 * share, (long long)masked,
                         (long long)(n - masked));
}

/* torch's sampler refuses a training set without rows: all were dropped before it, or none was
 * given. */
static bool none_was_left(struct check_ctx *ctx, double in_file, const struct dataset *dataset)
{
    const struct event *event = NULL;

    while ((event = facts_event(ctx->facts, "exception", event)))
        if (event->text && strstr(event->text, "num_samples=0"))
            break;
    if (!event)
        return false;
    evidence_event(ctx, event);
    if (dataset)
        evidence_add(ctx, "dataset", "%.0f rows in the file", in_file)->source_id =
            dataset->source_id;
    if (in_file > 0.0)
        (void)check_fail(ctx, CONFIDENCE_CERTAIN, "empty",
                         "no row of %.0f was left when training began (%s:%lld)", in_file,
                         facts_file_name(ctx->facts, event->source_id), (long long)event->line);
    else
        (void)check_warn(ctx, CONFIDENCE_LIKELY, "empty",
                         "no row was left when training began (%s:%lld)",
                         facts_file_name(ctx->facts, event->source_id), (long long)event->line);
    return true;
}

/* What the messages add up to, of the rows of the file (or more, where the file is an excerpt). */
static void judge_messages(struct check_ctx *ctx, double n, double in_file)
{
    double total = in_file;

    if (n >= in_file) {
        const struct event *banner;
        double trained = rows_trained(ctx->facts, &banner);

        total = n + (isnan(trained) ? in_file : trained);
        check_info(ctx, "the imported file holds %.0f rows: an excerpt of what was read", in_file);
    }
    double share = n / total;
    if (share >= FAIL_SHARE)
        (void)check_fail(ctx, CONFIDENCE_CERTAIN, "messages",
                         "%.0f of %.0f rows were dropped (%.0f %%)", n, total, 100.0 * share);
    else if (share >= WARN_SHARE)
        (void)check_warn(ctx, CONFIDENCE_CERTAIN, "messages",
                         "%.0f of %.0f rows were dropped (%.1f %%)", n, total, 100.0 * share);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct dataset *dataset = NULL;
    double in_file = rows_in_file(ctx->facts, &dataset);
    struct dropped dropped = {0};

    (void)err;
    if (none_was_left(ctx, in_file, dataset)) {
        check_fix(ctx, "raise max_length or cutoff_len: a row whose prompt reaches it keeps no "
                       "token of the answer and is dropped");
        check_fix(ctx, "check the filters, the column mapping and the split that is loaded");
        return OK;
    }
    read_messages(ctx, &dropped);
    if (dropped.n > 0.0 && !isnan(in_file))
        judge_messages(ctx, dropped.n, in_file);
    enum count by_count = compare_counts(ctx, in_file, dataset);
    /* What was counted at run time goes before what the rule would drop. */
    if (dropped.n == 0.0 && by_count == COUNT_MISSING)
        read_audit(ctx);
    if (check_verdict(ctx) >= VERDICT_WARN) {
        check_fix(ctx, "repair the turn order (user first, alternating) or the role tags");
        check_fix(ctx, "raise cutoff_len or max_length, or split the long rows");
        check_fix(ctx, "check the column mapping");
        return OK;
    }
    if (dropped.n > 0.0 && isnan(in_file))
        return check_unknown(ctx,
                             "the training file or dataset_info.json (num_rows): %.0f rows were "
                             "dropped, of how many is not known",
                             dropped.n);
    if (by_count == COUNT_AGREES)
        return check_pass(ctx, CONFIDENCE_STRONG,
                          "the trainer's count agrees with %.0f rows in the file", in_file);
    if (by_count == COUNT_OTHER)
        return check_unknown(ctx,
                             "all training files and the settings that choose rows (packing, "
                             "max_samples, val_size): the trainer's count is not that of %.0f rows",
                             in_file);
    if (isnan(in_file))
        return check_unknown(ctx, "the training file, or dataset_info.json (num_rows)");
    return check_unknown(ctx, "the console log at log level info (the line \"Num examples = …\")");
}

const struct check check_dropped_rows = {
    .id = "dropped-rows",
    .version = 3,
    .stage = STAGE_SUPERVISED,
    .severity = SEVERITY_MISLEADS,
    .title = "The rows given are the rows trained",
    .why = "Frameworks drop rows that are too long or out of order with a line in the log at most.",
    .applies = applies,
    .run = run,
};
