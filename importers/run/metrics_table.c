/* Tables of metrics without an importer of their own (FORMATS.md B7, B8): metrics.jsonl and
 * metrics.csv, Lightning's CSV, and any table whose columns are a step and a metric; also in Parquet
 * and Arrow.
 *
 * A dataset, recorded outputs and length tables are not metrics: a column of text keeps them out.
 * A table without `loss` has its curve under `train_loss`. */
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/check.h"
#include "core/facts/metric_names.h"
#include "core/read/csv.h"
#include "core/read/rows.h"
#include "core/read/source.h"
#include "core/read/table_columns.h"
#include "importers/importer.h"
#include "importers/peek.h"
#include "importers/run/exported_table.h"
#include "importers/run/metric_columns.h"
#include "importers/run/metric_lines.h"

#define MAX_COLUMNS METRIC_COLUMNS

/* ---- What the file is ---- */

static struct str first_line(struct str head)
{
    struct str line = {0};
    if (str_starts(head, "\xEF\xBB\xBF")) {
        head = str_skip(head, 3);
    }
    return head.n > 0 && str_split(&head, '\n', &line) ? str_trim(line) : line;
}

/* The trailing part of a name that says what is in the file. */
static bool is_metrics_name(const struct peek *peek)
{
    return str_has_ignoring_case(str_of(peek->name), "metric") ||
           peek_name_is(peek, "history.csv") || peek_name_is(peek, "history.jsonl") ||
           peek_name_is(peek, "progress.csv") || peek_name_is(peek, "log.csv");
}

static bool is_side_table(const struct peek *peek)
{
    static const char *const names[] = {
        "lengths.csv",        "adapter_norms.jsonl", "judge.jsonl",      "retention.jsonl",
        "eval_results.jsonl", "generations.jsonl",   "trainer_log.jsonl"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (peek_name_is(peek, names[i])) {
            return true;
        }
    }
    return false;
}

static bool is_csv_name(const struct peek *peek)
{
    return peek_name_ends(peek, ".csv") || peek_name_ends(peek, ".tsv");
}

/* Loggers that print an object a line write into a .log, too. */
static bool is_lines_file(const struct peek *peek)
{
    if (peek_name_ends(peek, ".jsonl") || peek_name_ends(peek, ".ndjson")) {
        return true;
    }
    bool is_log = peek_name_ends(peek, ".log") || peek_name_ends(peek, ".out") ||
                  peek_name_ends(peek, ".txt");
    return is_log && peek_is_lines(peek);
}

static int probe(const struct peek *peek)
{
    struct metric_columns columns = {0};
    bool is_lines = is_lines_file(peek);
    if (is_side_table(peek) || (!is_lines && !is_csv_name(peek))) {
        return 0;
    }
    bool is_named = is_metrics_name(peek);
    if (source_oddity(peek->head) != ODDITY_NONE) {
        return is_named ? 60 : 0;
    }
    if (is_lines) {
        peek_keys(peek, metric_columns_see, &columns);
    } else {
        metric_columns_header(first_line(peek->head), peek->name, &columns);
    }
    if (columns.has_text) {
        return 0;
    }
    bool has_place = columns.has_step || columns.has_epoch;
    if (has_place && columns.has_metric) {
        return is_named ? 92 : 80;
    }
    if (is_named && (has_place || columns.has_metric)) {
        return 70;
    }
    return 0;
}

/* ---- CSV ---- */

struct table {
    struct metric_rows rows;
    struct str *names; /* of the columns */
    size_t n_names;
    size_t n_columns; /* of the header, or the most of a row; MAX_COLUMNS are read */
    struct arena *arena; /* holds the names */
    struct json_field *fields;
    bool has_header, is_full;
    int64_t size;   /* of the file */
    int64_t n_long; /* rows with more cells than the header */
};

/* The i-th name without what an exporter put around it; a name that stands there already is of
 * another run in the same chart: the first counts. */
static struct str header_name(const struct table *table, const struct csv_row *row, size_t i,
                              bool is_scalar)
{
    const char *path = table->rows.import->path, *slash = strrchr(path, '/');
    const char *tag = is_scalar ? exported_tag(slash ? slash + 1 : path) : NULL;
    struct str cell = str_trim(row->cells[i]), name = exported_column(cell);
    for (size_t k = 0; k < i && name.n < cell.n; k++) {
        if (str_eq(table->names[k], name)) {
            return str_first(name, 0);
        }
    }
    return tag != NULL && i == 2 ? str_of(tag) : name;
}

static int take_header(struct table *table, const struct csv_row *row, struct error *err)
{
    size_t n = row->n < MAX_COLUMNS ? row->n : MAX_COLUMNS;
    struct metric_columns columns = {0};
    bool is_scalar = exported_is_scalar(row->cells, row->n);
    table->names = arena_array(table->arena, n, sizeof table->names[0]);
    for (size_t i = 0; i < n && table->names != NULL; i++) {
        char plain[METRIC_COLUMN_BYTES];
        struct str name = header_name(table, row, i, is_scalar);
        table->names[i] = arena_str(table->arena, exported_plain(name, plain, sizeof plain));
        if (table->names[i].p != NULL) {
            metric_columns_see(&columns, table->names[i].p);
        }
    }
    if (arena_failed(table->arena)) {
        return error_set(err, E_NOMEM, "no memory for the header of a table");
    }
    table->n_names = n;
    table->n_columns = row->n;
    table->has_header = true;
    table->rows.train_loss_is_loss = !columns.has_loss;
    table->rows.row_is_step = !columns.has_step;
    return OK;
}

/* A last row without the end of its line may be half written. Where cells are missing it is left
 * out until it is whole; else it may be a table that simply ends so: it is taken, and told. */
static int see_end(struct table *table, const struct csv_row *row, bool *is_half,
                   struct error *err)
{
    struct import *import = table->rows.import;

    *is_half = false;
    if (table->size == NONE || row->byte + row->length < table->size || row->length == 0) {
        return OK;
    }
    *is_half = !table->has_header || row->n < table->n_names || row->is_unclosed;
    import->state = *is_half ? SOURCE_GROWING : import->state;
    return sink_note(import->sink, NOTE_INFO, row->line, row->byte, err,
                     *is_half ? "the last row has no end yet and was left out"
                              : "the last row has no line end: its last value may be half written");
}

static int on_csv_row(void *ctx, const struct csv_row *row, struct error *err)
{
    struct table *table = ctx;
    bool is_half;
    int rc = table->is_full ? OK : see_end(table, row, &is_half, err);
    if (rc != OK || table->is_full || is_half) {
        return rc;
    }
    if (!table->has_header) {
        return take_header(table, row, err);
    }
    table->n_long += row->n > table->n_columns;
    struct json_row out = {.fields = table->fields, .line = row->line, .byte = NONE};
    for (size_t i = 0; i < row->n && i < table->n_names; i++) {
        struct json_field *field = &table->fields[out.n];
        struct str cell = row->cells[i].p != NULL ? str_trim(row->cells[i]) : str_of("");
        if (cell.n == 0 || table->names[i].n == 0 || !number_parse_any(cell, &field->number)) {
            continue;
        }
        field->key = table->names[i];
        field->text = cell;
        field->is_number = true;
        out.n++;
    }
    if (out.n == 0) {
        return OK;
    }
    rc = metric_rows_add(&table->rows, &out, err);
    table->is_full = rc == 1;
    return rc == 1 ? OK : rc;
}

static int note_columns(const struct table *table, struct error *err)
{
    struct sink *sink = table->rows.import->sink;
    int rc = OK;

    if (table->n_long > 0) {
        rc = sink_note(sink, NOTE_WARN, NONE, NONE, err, "%lld rows have more cells than the header",
                       (long long)table->n_long);
    }
    if (rc == OK && table->n_columns > MAX_COLUMNS) {
        rc = sink_note(sink, NOTE_WARN, 1, NONE, err, "%zu columns: the first %d of a row were read",
                       table->n_columns, MAX_COLUMNS);
    }
    return rc;
}

static int note_steps(struct metric_rows *rows, struct error *err)
{
    int rc = OK;
    if (rows->row_is_step && rows->n_rows > 0) {
        rc = sink_note(rows->import->sink, NOTE_INFO, 1, NONE, err,
                       "no step column: the number of the row stands for the step");
    }
    return rc;
}

static int read_csv(struct import *import, struct error *err)
{
    struct table table = {.arena = arena_open(4u << 20)};
    struct source_file *file = NULL;
    struct error why = {0};
    table.fields = calloc(MAX_COLUMNS, sizeof table.fields[0]);
    int rc = OK;
    if (table.arena == NULL || table.fields == NULL) {
        rc = error_set(err, E_NOMEM, "no memory for a table");
        goto out;
    }
    rc = metric_rows_begin(&table.rows, import, err);
    if (rc != OK) {
        goto out;
    }
    rc = source_open(&file, import->path, &why);
    if (rc == OK) {
        const struct csv_handler handler = {.row = on_csv_row, .ctx = &table};
        table.size = source_size(file);
        rc = csv_read_rows(file, 0, &handler, &why);
    }
    if (rc != OK) {
        rc = import_note_error(import, &why, err);
    }
    if (rc == OK) {
        rc = note_steps(&table.rows, err);
    }
    if (rc == OK) {
        rc = note_columns(&table, err);
    }
out:
    source_close(file);
    metric_rows_end(&table.rows);
    free(table.fields);
    arena_close(table.arena);
    return rc;
}

/* ---- JSONL ---- */

/* Which names the first rows use decides what `train_loss` and a missing step mean. */
static int look_at_head(struct import *import, struct metric_columns *columns, struct error *err)
{
    struct source_file *file;
    struct error why = {0};
    char *head = malloc(PEEK_HEAD_BYTES);
    if (head == NULL) {
        return error_set(err, E_NOMEM, "no memory for the head of a table");
    }
    size_t got = 0;
    int rc = source_open(&file, import->path, &why);
    if (rc == OK) {
        rc = source_at(file, 0, head, PEEK_HEAD_BYTES, &got, &why);
        source_close(file);
    }
    struct peek peek = {.path = import->path, .name = "", .folder_name = ""};
    peek.head = str_from(head, got);
    if (rc == OK) {
        peek_keys(&peek, metric_columns_see, columns);
    }
    free(head);
    return rc == OK ? OK : import_note_error(import, &why, err);
}

static int read_lines(struct import *import, struct error *err)
{
    struct metric_columns columns = {0};
    struct metric_rows rows;
    int rc = look_at_head(import, &columns, err);
    if (rc != OK) {
        return rc;
    }
    rc = metric_rows_begin(&rows, import, err);
    rows.train_loss_is_loss = !columns.has_loss;
    rows.row_is_step = !columns.has_step && columns.n > 0;
    rc = rc == OK ? metric_lines_read(&rows, err) : rc;
    rc = rc == OK ? note_steps(&rows, err) : rc;
    metric_rows_end(&rows);
    return rc;
}

/* ---- Parquet and Arrow ---- */

/* Numbers, and texts that may be some: decimals, "nan". */
static bool is_number_column(void *ctx, const struct json *example)
{
    (void)ctx;
    return example->type == JSON_NUMBER || example->type == JSON_STRING;
}

static bool see_member(const struct json *member, struct metric_columns *columns)
{
    char name[METRIC_COLUMN_BYTES];
    if (member->key.n >= sizeof name) {
        return false;
    }
    memcpy(name, member->key.p, member->key.n);
    name[member->key.n] = '\0';
    return metric_columns_see(columns, name);
}

static size_t fields_of(const struct json *row, struct table *table)
{
    struct json_field *fields = table->fields;
    size_t n = 0;
    table->n_columns = row->n > table->n_columns ? row->n : table->n_columns;
    for (const struct json *member = row->child; member && n < MAX_COLUMNS; member = member->next) {
        double number = member->number;
        if (member->type != JSON_NUMBER &&
            (member->type != JSON_STRING || !number_parse_any(str_trim(member->text), &number))) {
            continue;
        }
        fields[n++] = (struct json_field){.key = member->key,
                                          .text = member->text,
                                          .number = number,
                                          .is_number = true,
                                          .is_quoted = member->type == JSON_STRING};
    }
    return n;
}

/* Rows by columns: no column is a list (is_number_column). */
static int add_batch(struct table *table, const struct table_batch *batch, int64_t line,
                     struct error *err)
{
    uint64_t shape = 1;
    int rc = OK;
    table->n_columns = batch->n_columns > table->n_columns ? batch->n_columns : table->n_columns;
    for (size_t i = 0; i < batch->n_columns; i++) {
        shape = batch->columns[i].has_nulls ? 0 : shape;
    }
    for (size_t row = 0; rc == OK && row < batch->n; row++) {
        struct json_row out = {
            .fields = table->fields, .line = line + (int64_t)row, .byte = NONE, .shape = shape};
        for (size_t i = 0; i < batch->n_columns && out.n < MAX_COLUMNS; i++) {
            const struct table_column *column = &batch->columns[i];
            if (!table_column_has(column, row)) {
                continue;
            }
            struct json_field *field = &table->fields[out.n++];
            field->key = column->name;
            field->number =
                column->kind == COLUMN_INTS ? (double)column->ints[row] : column->floats[row];
            field->is_number = true;
            field->is_quoted = false;
        }
        rc = out.n > 0 ? metric_rows_add(&table->rows, &out, err) : OK;
    }
    return rc;
}

static int add_table_rows(struct table *table, struct rows *rows, int64_t *n_bad,
                          struct error *why, struct error *err)
{
    const struct json *row;
    struct row_place place;
    struct error bad;
    int rc = OK;
    while (rc == OK) {
        const struct table_batch *batch;
        int by_columns = rows_next_columns(rows, &batch, &place, why);
        if (by_columns < 0) {
            return import_note_error(table->rows.import, why, err);
        }
        if (by_columns == 1) {
            rc = add_batch(table, batch, place.line, err);
            continue;
        }
        int got = rows_next(rows, table->arena, &row, &place, &bad, why);
        if (got <= 0) {
            return got == 0 ? OK : import_note_error(table->rows.import, why, err);
        }
        struct json_row out = {.fields = table->fields, .line = place.line, .byte = NONE};
        out.n = row != NULL ? fields_of(row, table) : 0;
        if (row == NULL && (*n_bad)++ == 0) {
            rc = import_note_error(table->rows.import, &bad, err);
        }
        if (rc == OK && out.n > 0) {
            rc = metric_rows_add(&table->rows, &out, err);
        }
        arena_reset(table->arena);
    }
    return rc == 1 ? OK : rc; /* 1: as many as are wanted */
}

static int note_bad_rows(struct import *import, const struct rows *rows, int64_t n_bad,
                         struct error *err)
{
    const char *note;
    int rc = OK;
    for (size_t i = 0; rc == OK && (note = rows_note(rows, i)) != NULL; i++) {
        rc = sink_note(import->sink, NOTE_INFO, NONE, NONE, err, "%s", note);
    }
    if (rc == OK && n_bad > 1) {
        rc = sink_note(import->sink, NOTE_WARN, NONE, NONE, err, "%lld rows could not be read",
                       (long long)n_bad);
    }
    return rc;
}

static int read_typed(struct import *import, struct error *err)
{
    struct table table = {.arena = arena_open(4u << 20)};
    struct metric_columns columns = {0};
    struct rows *rows = NULL;
    struct error why = {0};
    int64_t n_bad = 0;
    table.fields = calloc(MAX_COLUMNS, sizeof table.fields[0]);
    int rc = table.arena != NULL && table.fields != NULL
                 ? metric_rows_begin(&table.rows, import, err)
                 : error_set(err, E_NOMEM, "no memory for a table");
    if (rc == OK && rows_open(&rows, import->path, &why) != OK) {
        rc = import_note_error(import, &why, err);
        goto out;
    }
    if (rc != OK) {
        goto out;
    }
    for (const struct json *member = rows_example(rows)->child; member; member = member->next) {
        if (!see_member(member, &columns)) {
            break;
        }
    }
    table.rows.train_loss_is_loss = !columns.has_loss;
    table.rows.row_is_step = !columns.has_step;
    rows_choose_columns(rows, is_number_column, NULL);
    rc = add_table_rows(&table, rows, &n_bad, &why, err);
    rc = rc == OK ? note_bad_rows(import, rows, n_bad, err) : rc;
    rc = rc == OK ? note_steps(&table.rows, err) : rc;
    rc = rc == OK ? note_columns(&table, err) : rc;
out:
    rows_close(rows);
    metric_rows_end(&table.rows);
    free(table.fields);
    arena_close(table.arena);
    return rc;
}

static bool is_typed(const char *path)
{
    struct source_file *file = NULL;
    char head[256];
    size_t got = 0;
    if (source_open(&file, path, NULL) != OK) {
        return false;
    }
    int rc = source_at(file, 0, head, sizeof head, &got, NULL);
    source_close(file);
    return rc == OK && rows_are_table(str_from(head, got));
}

static int run(struct import *import, struct error *err)
{
    bool is_odd;
    import->n_rows_are = "metric rows";
    import->state = SOURCE_WHOLE;
    int rc = import_oddity(import, &is_odd, err);
    if (rc != OK || is_odd) {
        return rc;
    }
    if (is_typed(import->path)) {
        return read_typed(import, err);
    }
    struct str path = str_of(import->path);
    bool is_csv = str_ends(path, ".csv") || str_ends(path, ".tsv");
    return is_csv ? read_csv(import, err) : read_lines(import, err);
}

const struct importer importer_metrics_table = {
    .id = "metrics_table",
    .title = "table of metrics",
    .hint = "metrics.jsonl, .csv or .parquet with a step column",
    .supplies = NEEDS_TRAIN_SERIES | NEEDS_EVAL_SERIES,
    .version = 3,
    .role = "metrics",
    .reads_tables = true,
    .probe = probe,
    .run = run,
};
