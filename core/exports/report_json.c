/* flatline-check/1: the machine-readable form of CLI.md. */
#include <math.h>

#include "core/exports/report_run.h"
#include "core/read/json.h"

static void member(struct buf *out, const char *indent, const char *key)
{
    buf_printf(out, "%s\"%s\": ", indent, key);
}

static void text_or_null(struct buf *out, const struct report_run *run, const char *text)
{
    if (text)
        json_write_string(out, str_of(report_redacted(run, text)));
    else
        buf_puts(out, "null");
}

static void count_or_null(struct buf *out, int64_t value)
{
    if (value == NONE)
        buf_puts(out, "null");
    else
        buf_printf(out, "%lld", (long long)value);
}

static void list(struct buf *out, const struct report_run *run, const char *const *texts, size_t n)
{
    buf_puts(out, "[");
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_puts(out, ", ");
        text_or_null(out, run, texts[i]);
    }
    buf_puts(out, "]");
}

static void number_or_null(struct buf *out, bool has, double value)
{
    if (has)
        json_write_number(out, value);
    else
        buf_puts(out, "null");
}

static void write_evidence(struct buf *out, const struct report_run *run,
                           const struct evidence *evidence)
{
    const char *file = report_path(run, evidence->source_id);

    buf_puts(out, "{\"file\": ");
    text_or_null(out, run, file[0] ? file : NULL);
    buf_puts(out, ", \"line\": ");
    count_or_null(out, evidence->line);
    buf_puts(out, ", \"step\": ");
    count_or_null(out, evidence->step);
    buf_puts(out, ", \"row\": ");
    count_or_null(out, evidence->row);
    buf_puts(out, ", \"token\": ");
    count_or_null(out, evidence->token);
    buf_puts(out, ", \"commit\": ");
    text_or_null(out, run, evidence->commit);
    buf_puts(out, ", \"value\": ");
    number_or_null(out, evidence->has_value, evidence->value);
    buf_puts(out, ", \"bound\": ");
    number_or_null(out, evidence->has_bound, evidence->bound);
    buf_puts(out, ", \"text\": ");
    json_write_string(out, str_of(report_redacted(run, evidence->text)));
    buf_puts(out, "}");
}

static void write_check(struct buf *out, const struct report_run *run,
                        const struct verdict_row *row)
{
    const struct check_result *result = &row->result;
    const char *indent = ",\n         ";

    buf_puts(out, "        {\"id\": ");
    json_write_string(out, str_of(row->check->id));
    buf_puts(out, ", \"stage\": ");
    if (row->check->stage == STAGE_PREFERENCE)
        buf_puts(out, "\"P\"");
    else
        buf_puts(out, stage_key(row->check->stage));
    buf_puts(out, ", \"title\": ");
    json_write_string(out, str_of(row->check->title));
    member(out, indent, "verdict");
    json_write_string(out, str_of(verdict_name(result->verdict)));
    buf_puts(out, ", \"confidence\": ");
    text_or_null(out, run, confidence_name(result->confidence));
    buf_printf(out, ", \"severity\": \"%s\", \"version\": %d, \"dismissed\": ",
               severity_name(row->check->severity), row->check->version);
    text_or_null(out, run, row->dismissed);
    member(out, indent, "finding");
    text_or_null(out, run, result->finding ? result->finding : "");
    buf_puts(out, ", \"explained_by\": ");
    text_or_null(out, run, row->explained_by);
    member(out, indent, "information");
    list(out, run, result->information, result->n_information);
    buf_puts(out, ", \"missing\": ");
    list(out, run, result->missing, result->n_missing);
    member(out, indent, "evidence");
    buf_puts(out, "[");
    for (size_t i = 0; i < result->n_evidence; i++) {
        buf_puts(out, i ? ",\n          " : "\n          ");
        write_evidence(out, run, &result->evidence[i]);
    }
    buf_puts(out, "]");
    member(out, indent, "fix");
    list(out, run, result->fixes, result->n_fixes);
    buf_puts(out, "}");
}

static void write_run(struct buf *out, const struct report_run *run)
{
    const struct verdicts *verdicts = &run->verdicts;
    bool is_first = true;

    buf_puts(out, "    {\"name\": ");
    text_or_null(out, run, verdicts->run.name);
    buf_puts(out, ", \"path\": ");
    text_or_null(out, run, report_shown_path(run, verdicts->run.folder));
    buf_puts(out, ",\n     \"framework\": ");
    text_or_null(out, run, run->facts->run.framework);
    buf_printf(out, ", \"kind\": \"%s\", \"marks\": [", run_kind_name(run->facts->run.kind));
    if (run->facts->run.marks & MARK_TEN_ROW_TEST)
        buf_puts(out, "\"ten-row-test\"");
    if (run->facts->run.marks & MARK_EVAL_ONLY)
        buf_puts(out, run->facts->run.marks & MARK_TEN_ROW_TEST ? ", \"eval-only\"" : "\"eval-only\"");
    buf_printf(out, "],\n     \"state\": \"%s\", \"last_step\": ",
               outcome_name(run->facts->run.outcome));
    count_or_null(out, run->facts->last_step);
    buf_puts(out, ", \"max_steps\": ");
    count_or_null(out, run->facts->max_steps);
    buf_printf(out, ",\n     \"verdict\": \"%s\", \"headline\": ", verdict_name(verdicts->verdict));
    text_or_null(out, run,
                 verdicts->headline >= 0 ? verdicts->rows[verdicts->headline].check->id : NULL);
    buf_puts(out, ",\n     \"checks\": [\n");
    for (size_t i = 0; i < verdicts->n_rows; i++) {
        if (!report_wants(run->options, verdicts->rows[i].check->id))
            continue;
        if (!is_first)
            buf_puts(out, ",\n");
        is_first = false;
        write_check(out, run, &verdicts->rows[i]);
    }
    buf_puts(out, "]}");
}

static void write_notes(struct buf *out, const struct report_run *run, bool *is_first)
{
    static const char *const words[] = {
        [NOTE_INFO] = "info", [NOTE_WARN] = "warn", [NOTE_ERROR] = "error"};

    for (size_t i = 0; i < run->facts->n_notes; i++) {
        const struct note *note = &run->facts->notes[i];
        const char *file = report_path(run, note->source_id);

        if (!file[0] && note->path)
            file = report_shown_path(run, note->path);
        buf_puts(out, *is_first ? "\n    {\"file\": " : ",\n    {\"file\": ");
        *is_first = false;
        text_or_null(out, run, file[0] ? file : NULL);
        buf_puts(out, ", \"line\": ");
        count_or_null(out, note->line);
        buf_printf(out, ", \"severity\": \"%s\", \"text\": ", words[note->severity]);
        text_or_null(out, run, note->message);
        buf_puts(out, "}");
    }
}

struct notes {
    struct buf text;
    bool is_first;
};

static void write_both(struct buf *out, struct report_run *run, size_t i, void *ctx)
{
    struct notes *notes = ctx;

    buf_puts(out, i ? ",\n" : "\n");
    write_run(out, run);
    write_notes(&notes->text, run, &notes->is_first);
}

int report_json(struct buf *out, struct store *store, const int64_t *run_ids, size_t n,
                const struct report_options *options, struct error *err)
{
    struct notes notes = {.is_first = true};
    const struct report_job job = {store, run_ids, n, options, write_both, &notes};

    buf_init(&notes.text, out->limit);
    buf_puts(out, "{\n  \"format\": \"flatline-check/1\",\n  \"version\": ");
    json_write_string(out, str_of(options->version));
    buf_puts(out, ",\n  \"runs\": [");
    int rc = report_each(out, &job, err);
    buf_puts(out, "],\n  \"notes\": [");
    buf_str(out, buf_view(&notes.text));
    buf_puts(out, "]\n}\n");
    if (notes.text.failed)
        out->failed = true;
    buf_free(&notes.text);
    return rc;
}
