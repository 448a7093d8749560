/* One metric row a line. What is no row is counted and noted, the first places with their line. */
#include "importers/run/metric_lines.h"

#include <stdio.h>

#include "core/read/jsonl.h"
#include "core/read/source.h"

#define MAX_NOTES    5
#define WINDOW_BYTES ((size_t)128 << 10) /* what is read stays in the processor's cache */

struct reader {
    struct metric_rows *rows;
    int64_t n_bad, n_strange;
    bool is_full;
};

const char *metric_lines_number(char out[32], int64_t value)
{
    snprintf(out, 32, "%lld", (long long)value);
    return out;
}

static int on_row(void *ctx, const struct json_row *row, struct error *err)
{
    struct reader *reader = ctx;
    if (reader->is_full) {
        return OK;
    }
    if (row->tree != NULL && row->tree->type != JSON_OBJECT) {
        reader->n_strange++;
        return OK;
    }
    int rc = metric_rows_add(reader->rows, row, err);
    reader->rows->last_line = row->line;
    reader->is_full = rc == 1;
    return rc == 1 ? OK : rc;
}

static int on_bad(void *ctx, const struct source_line *line, bool is_last, const struct error *why,
                  struct error *err)
{
    struct reader *reader = ctx;
    struct import *import = reader->rows->import;
    if (is_last) {
        import->state = SOURCE_GROWING;
        return sink_note(import->sink, NOTE_INFO, line->number, line->byte, err,
                         "the last line is half written: %zu bytes without an end", line->text.n);
    }
    import->state = SOURCE_DAMAGED;
    if (reader->n_bad++ >= MAX_NOTES) {
        return OK;
    }
    return sink_note(import->sink, NOTE_WARN, line->number, line->byte, err, "no metric row: %s",
                     why->message);
}

static int note_counts(struct reader *reader, struct error *err)
{
    struct sink *sink = reader->rows->import->sink;
    int rc = OK;
    if (reader->n_bad > MAX_NOTES) {
        rc = sink_note(sink, NOTE_WARN, NONE, NONE, err, "%lld lines in all are no metric rows",
                       (long long)reader->n_bad);
    }
    if (rc == OK && reader->n_strange > 0) {
        rc = sink_note(sink, NOTE_WARN, NONE, NONE, err, "%lld lines hold no object",
                       (long long)reader->n_strange);
    }
    return rc;
}

int metric_lines_read(struct metric_rows *rows, struct error *err)
{
    struct import *import = rows->import;
    struct source_file *file = NULL;
    struct reader reader = {.rows = rows};
    struct error why = {0};
    bool is_odd;
    import->n_rows_are = "metric rows";
    import->state = SOURCE_WHOLE;
    int rc = import_oddity(import, &is_odd, err);
    if (rc != OK || is_odd) {
        return rc;
    }
    rc = source_open(&file, import->path, &why);
    if (rc != OK) {
        return import_note_error(import, &why, err);
    }
    source_set_buffer_bytes(file, WINDOW_BYTES);
    const struct jsonl_handler handler = {.row = on_row, .bad = on_bad, .ctx = &reader};
    rc = jsonl_read(file, &handler, &why);
    if (rc != OK) {
        rc = import_note_error(import, &why, err);
    }
    source_close(file);
    return rc == OK ? note_counts(&reader, err) : rc;
}
