/* The findings as Markdown for the person who has to fix the run: headline, what follows from it,
 * independent findings, what is not excluded, each with evidence and the command that opens it. */
#include <string.h>

#include "core/exports/report_run.h"

#define MAX_EVIDENCE 100        /* pieces that are listed of one finding */

/* Text from files in running Markdown: harmless on one line, with the signs of Markdown escaped. */
static void escaped(struct buf *out, const struct report_run *run, const char *text)
{
    const char *line = report_line(run, text);

    for (; *line; line++) {
        if (strchr("\\`*_{}[]<>#|~!", *line))
            buf_putc(out, '\\');
        buf_putc(out, *line);
    }
}

/* `text` as a code span whose fence is longer than any run of backticks inside. */
static void code(struct buf *out, const struct report_run *run, const char *text)
{
    const char *line = report_line(run, text);
    size_t longest = 0, now = 0;

    for (const char *p = line; *p; p++) {
        now = *p == '`' ? now + 1 : 0;
        longest = now > longest ? now : longest;
    }
    buf_repeat(out, '`', longest + 1);
    if (longest)
        buf_putc(out, ' ');
    for (const char *p = line; *p; p++) {
        if (*p == '|')                  /* a code span does not protect a table cell */
            buf_putc(out, '\\');
        buf_putc(out, *p);
    }
    if (longest)
        buf_putc(out, ' ');
    buf_repeat(out, '`', longest + 1);
}

/* A fenced block; the fence is longer than any run of backticks inside. */
static void fenced(struct buf *out, struct str text)
{
    size_t longest = 2, now = 0;

    for (size_t i = 0; i < text.n; i++) {
        now = text.p[i] == '`' ? now + 1 : 0;
        longest = now > longest ? now : longest;
    }
    buf_repeat(out, '`', longest + 1);
    buf_puts(out, "text\n");
    buf_str(out, text);
    if (text.n && text.p[text.n - 1] != '\n')
        buf_putc(out, '\n');
    buf_repeat(out, '`', longest + 1);
    buf_puts(out, "\n");
}

static void write_evidence(struct buf *out, const struct report_run *run,
                           const struct check_result *result)
{
    struct buf lines;

    if (result->n_evidence == 0)
        return;
    buf_init(&lines, out->limit);
    for (size_t i = 0; i < result->n_evidence && i < MAX_EVIDENCE; i++) {
        const char *place = report_place(run, &result->evidence[i]);

        buf_printf(&lines, "%-32s %s\n", place, report_line(run, result->evidence[i].text));
    }
    if (result->n_evidence > MAX_EVIDENCE)
        buf_printf(&lines, "and %zu more, see flatline check --format json\n",
                   result->n_evidence - MAX_EVIDENCE);
    out->failed |= lines.failed;
    buf_putc(out, '\n');
    fenced(out, buf_view(&lines));
    buf_free(&lines);
}

/* The metric that the evidence is about, for the chart. */
static const char *chart_metric(const struct check_result *result)
{
    for (size_t i = 0; i < result->n_evidence; i++)
        if (result->evidence[i].series)
            return result->evidence[i].series;
    return NULL;
}

static void write_chart(struct buf *out, const struct report_run *run,
                        const struct check_result *result)
{
    const char *metric = chart_metric(result);
    struct buf chart;

    if (!metric || !run->options->chart || !facts_curve(run->facts, metric))
        return;
    buf_init(&chart, (size_t)1 << 20);
    run->options->chart(&chart, run->facts, metric, run->options->unicode_charts);
    buf_putc(out, '\n');
    fenced(out, buf_view(&chart));
    buf_free(&chart);
}

static int64_t first_step(const struct check_result *result)
{
    for (size_t i = 0; i < result->n_evidence; i++)
        if (result->evidence[i].step != NONE)
            return result->evidence[i].step;
    return NONE;
}

/* A word for the shell: quoted when it has to be. */
static void shell_word(struct buf *out, const char *word)
{
    if (word[0] && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "._/-+=@%:") == strlen(word)) {
        buf_puts(out, word);
        return;
    }
    buf_putc(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            buf_puts(out, "'\\'");
        buf_putc(out, *word);
    }
    buf_putc(out, '\'');
}

static void write_command(struct buf *out, const struct report_run *run,
                          const struct verdict_row *row)
{
    struct buf command;
    int64_t step = first_step(&row->result);

    buf_init(&command, 1 << 14);
    buf_puts(&command, "flatline ");
    shell_word(&command, report_line(run, run->verdicts.run.folder));
    buf_printf(&command, " --at check=%s", row->check->id);
    if (step != NONE)
        buf_printf(&command, ",step=%lld", (long long)step);
    buf_puts(out, "\nOpen this place: ");
    code(out, run, command.p);
    buf_puts(out, "\n");
    buf_free(&command);
}

static void write_explained(struct buf *out, const struct report_run *run, size_t i)
{
    const size_t *rows;
    size_t n = verdicts_explained(&run->verdicts, i, run->arena, &rows);

    if (n)
        buf_puts(out, "\nFollows from the above:\n\n");
    for (size_t k = 0; k < n; k++) {
        const struct verdict_row *row = &run->verdicts.rows[rows[k]];

        buf_printf(out, "- %s `%s`%s: ", report_word(row->result.verdict), row->check->id,
                   row->is_folded ? " (the same fault)" : "");
        escaped(out, run, row->result.finding);
        if (row->result.n_evidence) {
            const char *place = report_place(run, &row->result.evidence[0]);

            if (place[0]) {
                buf_puts(out, " (");
                code(out, run, place);
                buf_putc(out, ')');
            }
        }
        buf_putc(out, '\n');
    }
}

static void write_finding(struct buf *out, const struct report_run *run, size_t i,
                          const char *heading)
{
    const struct verdict_row *row = &run->verdicts.rows[i];
    const struct check_result *result = &row->result;
    const char *confidence = confidence_name(result->confidence);

    buf_printf(out, "\n### %s: `%s`\n\n", heading, row->check->id);
    buf_printf(out, "**%s** (%s%s%s), stage %s %s. ", report_word(result->verdict),
               confidence ? confidence : "", confidence ? ", " : "",
               severity_name(row->check->severity), stage_key(row->check->stage),
               stage_name(row->check->stage));
    escaped(out, run, result->finding);
    buf_puts(out, "\n");
    write_evidence(out, run, result);
    write_chart(out, run, result);
    if (result->n_fixes)
        buf_puts(out, "\nWhat to do, cheapest first:\n\n");
    for (size_t k = 0; k < result->n_fixes; k++) {
        buf_printf(out, "%zu. ", k + 1);
        escaped(out, run, result->fixes[k]);
        buf_putc(out, '\n');
    }
    write_explained(out, run, i);
    write_command(out, run, row);
}

static bool is_unusable(const struct verdicts *verdicts)
{
    for (size_t i = 0; i < verdicts->n_rows; i++)
        if (!verdicts->rows[i].dismissed && verdicts->rows[i].result.verdict == VERDICT_FAIL &&
            verdicts->rows[i].check->severity == SEVERITY_BLOCKS)
            return true;
    return false;
}

static void write_summary(struct buf *out, const struct report_run *run)
{
    const struct run *about = &run->facts->run;
    const struct verdicts *verdicts = &run->verdicts;

    buf_puts(out, "## ");
    escaped(out, run, about->name);
    buf_printf(out, "\n\n%s", is_unusable(verdicts)
                                  ? "**Unusable: a fault of this run blocks its result.** "
                                  : "");
    buf_printf(out, "Kind %s%s, %s, %s", run_kind_name(about->kind),
               run->facts->kind_is_assumed ? " (assumed)" : "", outcome_name(about->outcome),
               report_steps(run));
    if (about->framework) {
        buf_puts(out, ", ");
        escaped(out, run, about->framework);
    }
    buf_puts(out, ". Folder ");
    code(out, run, report_shown_path(run, about->folder));
    buf_puts(out, ".\n\n| stage | question | verdict |\n|---|---|---|\n");
    for (size_t i = 0; i < N_STAGES; i++)
        buf_printf(out, "| %s %s | %s | %s |\n", stage_key(verdicts->stages[i].stage),
                   stage_name(verdicts->stages[i].stage),
                   stage_question(verdicts->stages[i].stage),
                   report_word(verdicts->stages[i].verdict));
}

static void write_not_excluded(struct buf *out, const struct report_run *run)
{
    bool has_title = false;

    for (size_t i = 0; i < run->verdicts.n_rows; i++) {
        const struct verdict_row *row = &run->verdicts.rows[i];

        if (row->result.verdict != VERDICT_UNKNOWN || !report_wants(run->options, row->check->id))
            continue;
        if (run->verdicts.headline >= 0 && (ptrdiff_t)i > run->verdicts.headline)
            break;
        if (!has_title)
            buf_puts(out, "\n### Not excluded, because something is missing\n\n");
        has_title = true;
        buf_printf(out, "- `%s`: ", row->check->id);
        escaped(out, run, row->result.n_missing ? row->result.missing[0] : row->result.finding);
        buf_putc(out, '\n');
    }
}

static void write_user(struct buf *out, const struct report_run *run)
{
    bool has_title = false;

    for (size_t i = 0; i < run->n_user_findings; i++) {
        const struct user_finding *finding = &run->user_findings[i];

        buf_puts(out, i ? "" : "\n### Findings of the reader\n\n");
        buf_printf(out, "- **%s** %s%s%s", finding->verdict, finding->check_id ? "`" : "",
                   finding->check_id ? finding->check_id : "", finding->check_id ? "`: " : "");
        escaped(out, run, finding->sentence);
        if (finding->step != NONE)
            buf_printf(out, " (step %lld)", (long long)finding->step);
        buf_putc(out, '\n');
    }
    for (size_t i = 0; i < run->n_remarks; i++) {
        const struct remark *remark = &run->remarks[i];

        buf_puts(out, i ? "" : "\n### Remarks\n\n");
        buf_puts(out, "- ");
        if (remark->check_id)
            buf_printf(out, "`%s`: ", remark->check_id);
        if (remark->place) {
            code(out, run, remark->place);
            buf_puts(out, ": ");
        }
        escaped(out, run, remark->text);
        buf_putc(out, '\n');
    }
    for (size_t i = 0; i < run->verdicts.n_rows; i++) {
        const struct verdict_row *row = &run->verdicts.rows[i];

        if (!row->dismissed)
            continue;
        buf_puts(out, has_title ? "" : "\n### Dismissed\n\n");
        has_title = true;
        buf_printf(out, "- %s `%s`: ", report_word(row->result.verdict), row->check->id);
        escaped(out, run, row->dismissed);
        buf_putc(out, '\n');
    }
}

static void write_notes(struct buf *out, const struct report_run *run)
{
    for (size_t i = 0; i < run->facts->n_notes; i++) {
        const struct note *note = &run->facts->notes[i];
        const char *file = note->source_id ? report_path(run, note->source_id)
                           : note->path    ? report_shown_path(run, note->path)
                                           : "";

        buf_puts(out, i ? "- " : "\n### Notes on the files\n\n- ");
        code(out, run, file);
        if (note->line != NONE)
            buf_printf(out, " line %lld", (long long)note->line);
        buf_puts(out, ": ");
        escaped(out, run, note->message);
        buf_putc(out, '\n');
    }
}

static void write_run(struct buf *out, struct report_run *run, size_t i, void *ctx)
{
    const struct verdicts *verdicts = &run->verdicts;

    (void)ctx;
    buf_puts(out, i ? "\n---\n\n" : "");
    write_summary(out, run);
    if (verdicts->headline < 0) {
        buf_puts(out, "\nNo fault found in what was imported.");
        if (verdicts->cheapest_import) {
            buf_puts(out, " Cheapest to import next: ");
            escaped(out, run, verdicts->cheapest_import);
            buf_putc(out, '.');
        }
        buf_putc(out, '\n');
    } else {
        write_finding(out, run, (size_t)verdicts->headline,
                      verdicts->headline_is_warning ? "Possible cause" : "Likely cause");
    }
    for (size_t k = 0; k < verdicts->n_roots; k++)
        if ((ptrdiff_t)verdicts->roots[k] != verdicts->headline)
            write_finding(out, run, verdicts->roots[k],
                          (ptrdiff_t)verdicts->roots[k] < verdicts->headline
                              ? "Also, cheaper to check"
                              : "Independent, look next");
    write_not_excluded(out, run);
    write_user(out, run);
    write_notes(out, run);
}

int report_markdown(struct buf *out, struct store *store, const int64_t *run_ids, size_t n,
                    const struct report_options *options, struct error *err)
{
    const struct report_job job = {store, run_ids, n, options, write_run, NULL};

    buf_puts(out, "# Findings\n\n");
    return report_each(out, &job, err);
}
