/* flat-wrong-label-column (CHECKS.md C3.3): do labels reach the loss? By the trainer's message, or
 * by the columns of the rows. Sequence classification renames `label` by itself. */
#include <math.h>
#include <string.h>

#include "core/checks/label_evidence.h"
#include "core/checks/registry.h"

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "nothing was trained";
    return !(facts->run.marks & MARK_EVAL_ONLY);
}

static bool has_word(const char *list, const char *word)
{
    struct str rest = str_of(list), part;

    while (str_split(&rest, ',', &part))
        if (str_is(str_trim(part), word))
            return true;
    return false;
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "rename the column label to labels");
    check_fix(ctx, "use the collator of the task (DataCollatorForLanguageModeling with mlm=False makes "
                   "labels by itself)");
    check_fix(ctx, "use a model class with a head that takes these labels");
    check_fix(ctx, "or name the column in label_names");
}

static bool read_log(struct check_ctx *ctx)
{
    const struct event *event = NULL;

    while ((event = facts_event(ctx->facts, "flat-wrong-label-column", event))) {
        const char *received = event_capture(event, 2);

        evidence_event(ctx, event);
        check_begins(ctx, event->step);
        if (!has_word(received, "labels"))
            (void)check_fail(ctx, CONFIDENCE_CERTAIN, "message",
                             "the model got no labels; the inputs it received are %s", received);
        else
            (void)check_fail(ctx, CONFIDENCE_LIKELY, "message",
                             "labels were received, but the model returned no loss: they are null or "
                             "the model has no head for them");
    }
    return check_verdict(ctx) == VERDICT_FAIL;
}

/* Rows of no known conversation form with a column label and none named labels. */
static const struct dataset *suspicious_columns(const struct run_facts *facts)
{
    for (size_t i = 0; i < facts->n_datasets; i++) {
        const struct dataset *dataset = &facts->datasets[i];

        if (dataset->columns && strcmp(dataset->split, "train") == 0 &&
            strcmp(dataset->form, "other") == 0 && has_word(dataset->columns, "label") &&
            !has_word(dataset->columns, "labels"))
            return dataset;
    }
    return NULL;
}

static bool kind_needs_labels(enum run_kind kind)
{
    return kind == KIND_SFT || kind == KIND_SEQ2SEQ || kind == KIND_PRETRAINING;
}

static bool loss_moves(const struct run_facts *facts)
{
    const struct curve *loss = facts_curve(facts, "loss");
    double first = NAN;

    for (size_t i = 0; loss && i < loss->n; i++) {
        if (!isfinite(loss->value[i]) || loss->value[i] == 0.0)
            continue;
        if (isnan(first))
            first = loss->value[i];
        else if (loss->value[i] != first)
            return true;
    }
    return false;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct dataset *dataset = suspicious_columns(ctx->facts);

    (void)err;
    if (read_log(ctx)) {
        if (dataset)
            evidence_add(ctx, "dataset", "columns of the training rows: %s", dataset->columns)
                ->source_id = dataset->source_id;
        add_fixes(ctx);
        return OK;
    }
    if (loss_moves(ctx->facts))
        return check_pass(ctx, CONFIDENCE_STRONG, "a training loss was logged and it changes");
    /* Recorded as the collator gave them: labels are there. */
    const struct audit *audit = labels_of(ctx->facts, "train");
    if (audit && audit->basis == AUDIT_RECORDED &&
        labels_count(audit, AUDIT_ALL_MASKED) < labels_seen(audit))
        return check_pass(ctx, CONFIDENCE_STRONG, "%s have supervised tokens",
                          labels_words(ctx, audit,
                                       labels_seen(audit) - labels_count(audit, AUDIT_ALL_MASKED)));
    if (dataset && kind_needs_labels(ctx->facts->run.kind) &&
        facts_bool(ctx->facts, "remove_unused_columns") != 0) {
        evidence_add(ctx, "dataset", "columns of the training rows: %s", dataset->columns)
            ->source_id = dataset->source_id;
        add_fixes(ctx);
        return check_warn(ctx, CONFIDENCE_POSSIBLE, "column",
                          "the rows have a column label and none named labels");
    }
    return check_unknown(ctx, "%s", need_hint(NEEDS_TRAIN_SERIES));
}

const struct check check_flat_wrong_label_column = {
    .id = "flat-wrong-label-column",
    .version = 2,
    .stage = STAGE_SUPERVISED,
    .severity = SEVERITY_BLOCKS,
    .title = "Labels reach the loss",
    .why = "The trainer drops columns that the model's forward does not name: without labels there "
           "is no loss to learn from.",
    .applies = applies,
    .run = run,
};
