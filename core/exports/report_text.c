/* The checklist as plain text: for a pipe, a dumb terminal, and `flatline check`. */
#include <string.h>

#include "core/exports/report_run.h"

/* ANSI colours by meaning; nothing when options->colour is off. */
static const char *colour(const struct report_run *run, enum verdict verdict)
{
    if (!run->options->colour)
        return "";
    return verdict == VERDICT_FAIL ? "\x1b[1;31m" : verdict == VERDICT_WARN ? "\x1b[33m"
           : verdict == VERDICT_PASS ? "\x1b[32m" : "";
}

static const char *plain(const struct report_run *run)
{
    return run->options->colour ? "\x1b[0m" : "";
}

/* Folds at blanks to the width; later lines are indented by `indent` columns. `column` is where the
 * text begins. Columns are counted in code points: texts are ASCII in the main. */
static void fold(struct buf *out, const char *text, int width, int indent, int column)
{
    struct str rest = str_of(text), word;
    bool is_first = true;

    while (str_split(&rest, ' ', &word)) {
        int cells = 0;

        for (size_t i = 0; i < word.n; i++)
            cells += ((unsigned char)word.p[i] & 0xc0) != 0x80;
        if (!is_first && column + 1 + cells > width) {
            buf_putc(out, '\n');
            buf_repeat(out, ' ', (size_t)indent);
            column = indent;
        } else if (!is_first) {
            buf_putc(out, ' ');
            column++;
        }
        buf_str(out, word);
        column += cells;
        is_first = false;
    }
    buf_putc(out, '\n');
}

static void write_finding(struct buf *out, const struct report_run *run, size_t i,
                          const char *heading)
{
    const struct verdict_row *row = &run->verdicts.rows[i];
    const struct check_result *result = &row->result;
    const char *confidence = confidence_name(result->confidence);
    int width = run->options->columns;

    buf_printf(out, "%s  %s%s%s  stage %s  %s  (%s%s%s)\n", heading, colour(run, result->verdict),
               report_word(result->verdict), plain(run), stage_key(row->check->stage),
               row->check->id, confidence ? confidence : "", confidence ? ", " : "",
               severity_name(row->check->severity));
    buf_puts(out, "  ");
    fold(out, report_line(run, result->finding), width, 2, 2);
    for (size_t k = 0; k < result->n_evidence && k < 8; k++) {
        const char *place = report_place(run, &result->evidence[k]);

        buf_printf(out, "    %s%s", place, place[0] ? "  " : "");
        fold(out, report_line(run, result->evidence[k].text), width, 6,
             4 + (int)strlen(place) + 2);
    }
    if (result->n_evidence > 8)
        buf_printf(out, "    and %zu more, see flatline report\n", result->n_evidence - 8);
    for (size_t k = 0; k < result->n_fixes; k++) {
        buf_printf(out, "  %s %zu  ", k ? "    " : "fix:", k + 1);
        fold(out, report_line(run, result->fixes[k]), width, 10, 10);
    }
}

static void write_explained(struct buf *out, const struct report_run *run, size_t i)
{
    const size_t *rows;
    size_t n = verdicts_explained(&run->verdicts, i, run->arena, &rows);

    for (size_t k = 0; k < n; k++) {
        const struct verdict_row *row = &run->verdicts.rows[rows[k]];

        buf_printf(out, "  %s %s%s%s %s: ",
                   row->is_folded ? "the same fault:" : "follows from it:",
                   colour(run, row->result.verdict), report_word(row->result.verdict), plain(run),
                   row->check->id);
        fold(out, report_line(run, row->result.finding), run->options->columns, 4, 40);
    }
}

static void write_no_headline(struct buf *out, const struct report_run *run)
{
    const char *cheapest = run->verdicts.cheapest_import;

    buf_puts(out, "\nno fault found in what was imported\n");
    if (!cheapest)
        return;
    buf_puts(out, "  not excluded; cheapest to import next: ");
    fold(out, report_line(run, cheapest), run->options->columns, 4, 42);
}

/* The likely cause, then the other findings that nothing explains. A warning that is no cause of
 * anything known stands there without a headline. */
static void write_findings(struct buf *out, const struct report_run *run)
{
    const struct verdicts *verdicts = &run->verdicts;

    if (verdicts->headline < 0) {
        write_no_headline(out, run);
    } else {
        buf_putc(out, '\n');
        write_finding(out, run, (size_t)verdicts->headline,
                      verdicts->headline_is_warning ? "possible cause" : "likely cause");
        write_explained(out, run, (size_t)verdicts->headline);
    }
    for (size_t i = 0; i < verdicts->n_roots; i++) {
        size_t row = verdicts->roots[i];

        if ((ptrdiff_t)row == verdicts->headline)
            continue;
        buf_putc(out, '\n');
        write_finding(out, run, row,
                      (ptrdiff_t)row < verdicts->headline ? "also, cheaper to check"
                                                          : "independent, look next");
        write_explained(out, run, row);
    }
}

static void write_stage(struct buf *out, const struct report_run *run, const struct stage_row *stage)
{
    size_t counts[VERDICT_FAIL + 1] = {0};

    for (size_t i = stage->first; i < stage->first + stage->n; i++)
        counts[run->verdicts.rows[i].result.verdict]++;
    buf_printf(out, "  %s %-20s %s%-4s%s", stage_key(stage->stage), stage_name(stage->stage),
               colour(run, stage->verdict), report_word(stage->verdict), plain(run));
    for (int v = VERDICT_FAIL; v >= VERDICT_NOT_APPLICABLE; v--)
        if (counts[v])
            buf_printf(out, "  %zu %s", counts[v], report_word((enum verdict)v));
    buf_putc(out, '\n');
}

/* What to import to decide more, each thing once, in checklist order. */
static void write_missing(struct buf *out, const struct report_run *run)
{
    size_t n_said = 0;

    for (size_t i = 0; i < run->verdicts.n_rows; i++) {
        const struct verdict_row *row = &run->verdicts.rows[i];

        if (row->result.verdict != VERDICT_UNKNOWN || !report_wants(run->options, row->check->id))
            continue;
        if (n_said++ == 0)
            buf_puts(out, "\nnot decided, import to decide\n");
        buf_printf(out, "  %s %s: ", stage_key(row->check->stage), row->check->id);
        fold(out,
             report_line(run, row->result.n_missing ? row->result.missing[0] : row->result.finding),
             run->options->columns, 6, 6 + (int)strlen(row->check->id));
    }
}

static void write_user(struct buf *out, const struct report_run *run)
{
    bool has_title = false;

    for (size_t i = 0; i < run->verdicts.n_rows; i++) {
        const struct verdict_row *row = &run->verdicts.rows[i];

        if (!row->dismissed)
            continue;
        if (!has_title)
            buf_puts(out, "\ndismissed\n");
        has_title = true;
        buf_printf(out, "  %s %s: ", report_word(row->result.verdict), row->check->id);
        fold(out, report_line(run, row->dismissed), run->options->columns, 4, 20);
    }
    if (run->n_remarks)
        buf_puts(out, "\nremarks\n");
    for (size_t i = 0; i < run->n_remarks; i++) {
        const struct remark *remark = &run->remarks[i];

        buf_printf(out, "  %s%s", remark->check_id ? remark->check_id : "",
                   remark->check_id ? ": " : "");
        fold(out, report_line(run, remark->text), run->options->columns, 4, 20);
    }
}

static void write_notes(struct buf *out, const struct report_run *run)
{
    size_t n = run->facts->n_notes;

    if (n)
        buf_printf(out, "\nnotes on the files\n");
    for (size_t i = 0; i < n && i < 10; i++) {
        const struct note *note = &run->facts->notes[i];
        const char *file = note->source_id ? report_path(run, note->source_id)
                           : note->path    ? report_shown_path(run, note->path)
                                           : "";

        buf_printf(out, "  %s", file);
        if (note->line != NONE)
            buf_printf(out, ":%lld", (long long)note->line);
        buf_puts(out, file[0] ? ": " : "");
        fold(out, report_line(run, note->message), run->options->columns, 4,
             4 + (int)strlen(file));
    }
    if (n > 10)
        buf_printf(out, "  and %zu more, see flatline import\n", n - 10);
}

static void write_run(struct buf *out, struct report_run *run, size_t i, void *ctx)
{
    const struct run *about = &run->facts->run;

    (void)ctx;
    buf_puts(out, i ? "\n----\n\n" : "");
    buf_printf(out, "%s  %s%s  %s  %s%s%s\n", report_line(run, about->name),
               run_kind_name(about->kind), run->facts->kind_is_assumed ? " (assumed)" : "",
               outcome_name(about->outcome), report_steps(run), about->framework ? "  " : "",
               about->framework ? report_line(run, about->framework) : "");
    buf_printf(out, "  %s\n", report_shown_path(run, about->folder));
    if (run->facts->outcome_reason && about->outcome != OUTCOME_FINISHED) {
        buf_puts(out, "  ");
        fold(out, report_line(run, run->facts->outcome_reason), run->options->columns, 2, 2);
    }
    write_findings(out, run);
    buf_puts(out, "\nchecklist\n");
    for (size_t s = 0; s < N_STAGES; s++)
        write_stage(out, run, &run->verdicts.stages[s]);
    write_missing(out, run);
    write_user(out, run);
    write_notes(out, run);
}

int report_text(struct buf *out, struct store *store, const int64_t *run_ids, size_t n,
                const struct report_options *options, struct error *err)
{
    const struct report_job job = {store, run_ids, n, options, write_run, NULL};

    return report_each(out, &job, err);
}
