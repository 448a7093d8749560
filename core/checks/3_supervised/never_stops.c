/* never-stops (CHECKS.md C3.14): is the end of the answer supervised? By the last supervised token
 * of each row that the cut left whole; without labels by how the outputs end. */
#include <stdlib.h>
#include <string.h>

#include "core/checks/label_evidence.h"
#include "core/checks/registry.h"

#define LEAST_ROWS   5
#define FAIL_SHARE   0.9 /* of the rows lack a stop */
#define PASS_SHARE   0.9 /* of the rows have one */
#define LENGTH_SHARE 0.5 /* of the outputs end by length */

static bool applies(const struct run_facts *facts, const char **reason)
{
    if (facts->run.kind == KIND_PRETRAINING) {
        *reason = "plain text: there are no answers to end";
        return false;
    }
    if (facts->run.kind == KIND_DPO)
        return true;
    return labels_apply(facts, reason);
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx,
              "put the end token inside the mask: {%% generation %%} has to enclose it; axolotl "
              "train_on_eos: turn");
    check_fix(ctx,
              "append one: eos_token in SFTConfig, add_eos_token, or EOS at the end of each text");
    check_fix(ctx, "settle pad-equals-eos where it fires");
    check_fix(ctx, "stop strings at serving as a stopgap");
}

struct ends {
    const struct audit *audit;
    int64_t n, n_ended; /* whole rows with supervised tokens; those that end with a stop */
    int64_t n_cut;      /* rows left out because the cut took their end */
};

/* A special token that most rows end with is the template's end of turn, whatever the tokenizer's
 * EOS is. */
static bool is_stop(const struct audit *audit, const struct audit_row *row, const int64_t *ids,
                    size_t n)
{
    if ((row->flags & AUDIT_END_TRAINED) ||
        (audit->last_is_special && row->last_id == (int32_t)audit->last_id))
        return true;
    for (size_t i = 0; i < n; i++)
        if (row->last_id == ids[i])
            return true;
    return false;
}

static void read_ends(const struct audit *audit, const int64_t *ids, size_t n, struct ends *out)
{
    *out = (struct ends){.audit = audit};
    for (int64_t i = 0; out->audit && i < out->audit->n_rows; i++) {
        const struct audit_row *row = &out->audit->rows[i];

        if (!labels_row_has(row, 0, 0) || row->n_trained <= 0)
            continue;
        if (row->flags & AUDIT_CUT_ANSWER) {
            out->n_cut++;
            continue;
        }
        out->n++;
        out->n_ended += is_stop(audit, row, ids, n);
    }
}

static void show_rows(struct check_ctx *ctx, const struct ends *ends, const int64_t *ids, size_t n)
{
    const struct audit *audit = ends->audit;

    for (int64_t i = 0, shown = 0; i < audit->n_rows && shown < LABEL_ROWS_SHOWN; i++) {
        const struct audit_row *row = &audit->rows[i];

        if (!labels_row_has(row, 0, AUDIT_CUT_ANSWER) || row->n_trained <= 0 ||
            is_stop(audit, row, ids, n))
            continue;
        labels_row(ctx, audit, i, NONE, "the last supervised token is %s, no stop token",
                   labels_token(ctx, row->last_id,
                                row->last_id == audit->last_id ? audit->last_text : NULL));
        shown++;
    }
    if (audit->eos_id != NONE)
        evidence_add(ctx, "number", "stop tokens looked for: %s%s%s",
                     labels_token(ctx, audit->eos_id, audit->eos_text),
                     audit->turn_end_id != NONE && audit->turn_end_id != audit->eos_id ? ", " : "",
                     audit->turn_end_id != NONE && audit->turn_end_id != audit->eos_id
                         ? labels_token(ctx, audit->turn_end_id, audit->turn_end_text)
                         : "");
}

static bool by_labels(struct check_ctx *ctx, const struct audit *given, const int64_t *ids,
                      size_t n_ids);

/* A stop at the end of nearly all: of a small sample only all rows simulated can say it of all. */
static int nearly_all_end(struct check_ctx *ctx, const struct ends *ends, const int64_t *ids,
                          size_t n_ids)
{
    const struct audit *other = labels_beside(ctx->facts, ends->audit, AUDIT_END_TRAINED);

    if (labels_rule_out(ends->audit, 1.0 - PASS_SHARE))
        return check_pass(ctx, labels_confidence(ends->audit),
                          "a stop token is supervised at the end of %lld of %lld rows",
                          (long long)ends->n_ended, (long long)ends->n);
    if (other && by_labels(ctx, other, ids, n_ids))
        return OK;
    return check_unknown(
        ctx,
        "labels of more rows: a stop token is supervised at the end of %lld of the "
        "%lld that were sampled",
        (long long)ends->n_ended, (long long)ends->n);
}

/* Too few rows end with a stop. */
static int too_few_end(struct check_ctx *ctx, const struct ends *ends)
{
    const struct audit *audit = ends->audit;
    int64_t lack = ends->n - ends->n_ended;
    /* As many rows cut as rows without a stop: the cut is the likelier reason. */
    bool by_cut =
        (double)ends->n_cut * (double)ends->n >= (double)lack * (double)(ends->n + ends->n_cut);
    const char *branch = by_cut ? "cut-rows" : "labels";
    bool nearly_all = (double)lack >= FAIL_SHARE * (double)ends->n;

    add_fixes(ctx);
    /* Without the vocabulary a newline behind the stop cannot be told from the answer's last word.
     */
    if (nearly_all && ends->n >= LEAST_ROWS && !audit->assumption && audit->last_text)
        return check_fail(
            ctx, labels_confidence(audit), branch,
            "%lld of %lld rows have no supervised stop token at the end of the answer",
            (long long)lack, (long long)ends->n);
    return check_warn(ctx, CONFIDENCE_LIKELY, branch,
                      "%lld of %lld rows have no supervised stop token at the end of the answer%s",
                      (long long)lack, (long long)ends->n,
                      audit->assumption ? " (by simulation)" : "");
}

/* True when the labels decided. */
static bool by_labels(struct check_ctx *ctx, const struct audit *given, const int64_t *ids,
                      size_t n_ids)
{
    struct ends ends;

    read_ends(given, ids, n_ids, &ends);
    if (!given || ends.n == 0 ||
        (given->eos_id == NONE && given->turn_end_id == NONE && n_ids == 0))
        return false;
    labels_tell(ctx, given);
    if (ends.n_cut > 0)
        check_info(ctx, "%lld rows are left out: the cut took the end of their answer",
                   (long long)ends.n_cut);
    if ((double)ends.n_ended >= PASS_SHARE * (double)ends.n)
        return nearly_all_end(ctx, &ends, ids, n_ids) == OK;
    if (ends.n < LEAST_ROWS && ends.n_ended > 0)
        return check_unknown(ctx, "labels of more rows: %lld of %lld end without a stop token",
                             (long long)(ends.n - ends.n_ended), (long long)ends.n) == OK;
    show_rows(ctx, &ends, ids, n_ids);
    return too_few_end(ctx, &ends) == OK;
}

/* ---- Without labels: messages and outputs ---- */

static void by_messages(struct check_ctx *ctx)
{
    const struct event *event = NULL;

    while ((event = facts_event(ctx->facts, "never-stops", event))) {
        if (!event->pattern)
            continue;
        bool is_trl = strcmp(event->pattern, "end-of-turn-not-trained") == 0;
        if (!is_trl && strcmp(event->pattern, "axolotl-eos-missing") != 0)
            continue;
        evidence_event(ctx, event);
        add_fixes(ctx);
        (void)check_warn(
            ctx, CONFIDENCE_STRONG, "message",
            is_trl ? "the template leaves the end of the assistant's turn out of the mask "
                     "(%s:%lld)"
                   : "a turn has no EOS behind it (%s:%lld)",
            facts_file_name(ctx->facts, event->source_id), (long long)event->line);
        return;
    }
}

static int by_value(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/* Answers that are really longer than the outputs may be: then the limit is the fault. */
static bool answers_are_longer(struct check_ctx *ctx, int64_t limit)
{
    const struct audit *audit = labels_of(ctx->facts, "train");
    int32_t *lengths =
        audit ? arena_array(ctx->arena, (size_t)audit->n_rows, sizeof *lengths) : NULL;
    int64_t n = 0;

    for (int64_t i = 0; lengths && i < audit->n_rows; i++) {
        const struct audit_row *row = &audit->rows[i];

        if (labels_row_has(row, 0, 0) && row->n_trained > 0)
            lengths[n++] = row->n_trained - (row->n_trained_prompt > 0 ? row->n_trained_prompt : 0);
    }
    if (n == 0 || limit <= 0)
        return false;
    qsort(lengths, (size_t)n, sizeof *lengths, by_value);
    return lengths[(n * 95 + 99) / 100 - 1] > limit;
}

static void by_outputs(struct check_ctx *ctx)
{
    const struct generation *first;
    size_t n_known, n = outputs_at_limit(ctx->facts, &n_known, &first);

    if (n_known < LEAST_ROWS || (double)n < LENGTH_SHARE * (double)n_known)
        return;
    if (answers_are_longer(ctx, first->max_new_tokens)) {
        check_info(ctx,
                   "%zu of %zu outputs end by length, but the answers of the rows are longer than "
                   "the limit of %lld tokens",
                   n, n_known, (long long)first->max_new_tokens);
        return;
    }
    struct evidence *e =
        evidence_add(ctx, "dataset", "%zu of %zu outputs end by length", n, n_known);
    e->source_id = first->source_id;
    e->row = first->row != NONE ? first->row : first->ord;
    add_fixes(ctx);
    (void)check_warn(ctx, CONFIDENCE_LIKELY, "generations",
                     "%zu of %zu outputs run to the length limit", n, n_known);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct setting *stops;
    int64_t ids[MAX_STOP_IDS];
    size_t n = stop_ids_read(ctx->facts, ids, &stops);

    (void)err;
    by_messages(ctx);
    if (by_labels(ctx, labels_of(ctx->facts, "train"), ids, n))
        return OK;
    by_outputs(ctx);
    if (check_verdict(ctx) >= VERDICT_WARN)
        return OK;
    if (labels_of(ctx->facts, "train"))
        return check_unknown(ctx, "%s: which tokens end a turn is not known",
                             need_hint(NEEDS_TOKENIZER));
    return labels_unknown(ctx, "train");
}

const struct check check_never_stops = {
    .id = "never-stops",
    .version = 1,
    .stage = STAGE_SUPERVISED,
    .severity = SEVERITY_MISLEADS,
    .title = "The end of the answer is supervised",
    .why =
        "A model whose answers never end with a supervised stop token does not learn to stop: it "
        "runs to the length limit and repeats itself.",
    .applies = applies,
    .run = run,
};
