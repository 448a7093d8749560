/* One line a check, tab-separated, for awk and spreadsheets. */
#include "core/exports/report_run.h"

static void field(struct buf *out, const struct report_run *run, const char *text)
{
    buf_puts(out, report_line(run, text));      /* tabs and newlines are made visible there */
}

static void write_row(struct buf *out, const struct report_run *run, const struct verdict_row *row)
{
    const struct check_result *result = &row->result;
    const char *confidence = confidence_name(result->confidence);

    field(out, run, run->verdicts.run.name);
    buf_printf(out, "\t%s\t%s\t%s\t%s\t%s\t%s\t", stage_key(row->check->stage), row->check->id,
               verdict_name(result->verdict), confidence ? confidence : "",
               severity_name(row->check->severity),
               row->dismissed ? "dismissed" : row->explained_by ? row->explained_by : "");
    if (result->n_evidence)
        field(out, run, report_place(run, &result->evidence[0]));
    buf_putc(out, '\t');
    field(out, run, result->finding);
    buf_putc(out, '\t');
    for (size_t i = 0; i < result->n_missing; i++) {
        buf_puts(out, i ? "; " : "");
        field(out, run, result->missing[i]);
    }
    buf_putc(out, '\n');
}

static void write_rows(struct buf *out, struct report_run *run, size_t i, void *ctx)
{
    (void)i;
    (void)ctx;
    for (size_t k = 0; k < run->verdicts.n_rows; k++)
        if (report_wants(run->options, run->verdicts.rows[k].check->id))
            write_row(out, run, &run->verdicts.rows[k]);
}

int report_tsv(struct buf *out, struct store *store, const int64_t *run_ids, size_t n,
               const struct report_options *options, struct error *err)
{
    const struct report_job job = {store, run_ids, n, options, write_rows, NULL};

    buf_puts(out, "run\tstage\tcheck\tverdict\tconfidence\tseverity\texplained_by\tplace\tfinding"
                  "\tmissing\n");
    return report_each(out, &job, err);
}
