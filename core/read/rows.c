/* Rows of a data file, one at a time. Which of the three readers gives the next one is decided at
 * opening; from there on a row is a text with a place (rows_array.c, csv.c, lines of source.c). */
#include "core/read/rows.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/unicode.h"
#include "core/read/csv.h"
#include "core/read/decompress.h"
#include "core/read/rows_parts.h"
#include "core/read/table.h"
#include "core/read/table_columns.h"

#define HEAD_BYTES 65536

struct rows {
    struct source_file *file;
    enum rows_kind kind;
    enum packing packing;
    int64_t row;        /* number of the next */
    bool is_sought;     /* line numbers are not known any more */
    struct elements elements;
    struct csv_reader *csv;
    struct str *columns; /* of CSV and TSV, in header */
    size_t n_columns;
    struct buf header;
    struct table *table; /* of Parquet and Arrow */
    int64_t table_at;    /* number in the file of its next row */
};

/* A row as text. */
struct text_row {
    struct str text;
    int64_t at, length, line;
    bool is_cut;
};

/* ---- Opening ---- */

static bool ends(struct str name, const char *suffix)
{
    size_t n = strlen(suffix);

    return name.n >= n && strncasecmp(name.p + name.n - n, suffix, n) == 0;
}

static int open_table(struct rows *rows, char separator, struct error *err)
{
    struct csv_row row;
    int rc = csv_open(&rows->csv, rows->file, separator, err);

    if (rc == OK)
        rc = csv_next(rows->csv, &row, err);
    if (rc <= 0)
        return rc; /* an empty file has no rows */
    for (size_t i = 0; i < row.n; i++)
        buf_str(&rows->header, row.cells[i]);
    rows->columns = calloc(row.n + 1, sizeof *rows->columns);
    if (rows->header.failed || !rows->columns)
        return error_set(err, E_NOMEM, "no memory for a header of %zu columns", row.n);
    rows->n_columns = row.n;
    for (size_t i = 0, at = 0; i < row.n; at += row.cells[i++].n)
        rows->columns[i] = str_from(rows->header.p + at, row.cells[i].n);
    return OK;
}

static int open_json(struct rows *rows, struct str name, struct error *err)
{
    char *head = malloc(HEAD_BYTES);
    size_t n = 0;

    if (!head)
        return error_set(err, E_NOMEM, "no memory to look at a file");
    int rc = source_at(rows->file, 0, head, HEAD_BYTES, &n, err);
    struct array_place place = {.is_array = false};
    if (rc == OK)
        place = find_array(str_from(head, n), n < HEAD_BYTES,
                           ends(name, ".jsonl") || ends(name, ".ndjson"));
    rows->kind = place.is_array ? ROWS_JSON_ARRAY : ROWS_JSONL;
    elements_init(&rows->elements, rows->file, place.key.n == 0);
    free(head);
    return rc == OK && place.is_array ? elements_seek(&rows->elements, place.at, true, err) : rc;
}

/* By what the bytes say; a name tells nothing here. */
static int open_typed(struct rows *rows, bool *is_table, struct error *err)
{
    char head[TABLE_HEAD_BYTES];
    size_t n = 0;
    int rc = source_at(rows->file, 0, head, sizeof head, &n, err);
    enum table_format format = rc == OK ? table_format_of(str_from(head, n)) : TABLE_NONE;

    *is_table = format != TABLE_NONE;
    if (!*is_table)
        return rc;
    rows->kind = format == TABLE_PARQUET ? ROWS_PARQUET : ROWS_ARROW;
    return format == TABLE_PARQUET ? parquet_open(&rows->table, rows->file, err)
                                   : arrow_open(&rows->table, rows->file, err);
}

int rows_open_source(struct rows **out, struct source_file *file, const char *path,
                     struct error *err)
{
    struct rows *rows = calloc(1, sizeof *rows);
    const char *slash = strrchr(path, '/');
    struct str name = packing_inner_name(slash ? slash + 1 : path);

    if (!rows) {
        source_close(file);
        return error_set(err, E_NOMEM, "no memory to read rows");
    }
    buf_init(&rows->header, SOURCE_LINE_BYTES);
    buf_init(&rows->elements.text, SOURCE_LINE_BYTES);
    bool is_table = false;
    int rc = source_unpack_if_packed(&rows->file, &rows->packing, file, err);
    if (rc == OK && rows->packing == PACKING_NONE)
        rc = open_typed(rows, &is_table, err);
    if (rc == OK && !is_table && (ends(name, ".csv") || ends(name, ".tsv"))) {
        rows->kind = ends(name, ".tsv") ? ROWS_TSV : ROWS_CSV;
        rc = open_table(rows, 0, err);
    } else if (rc == OK && !is_table) {
        rc = open_json(rows, name, err);
    }
    if (rc != OK) {
        rows_close(rows);
        return rc;
    }
    *out = rows;
    return OK;
}

int rows_open(struct rows **out, const char *path, struct error *err)
{
    struct source_file *file;
    int rc = source_open(&file, path, err);

    return rc == OK ? rows_open_source(out, file, path, err) : rc;
}

void rows_close(struct rows *rows)
{
    if (!rows)
        return;
    csv_close(rows->csv);
    if (rows->table)
        rows->table->ops->close(rows->table);
    elements_free(&rows->elements);
    source_close(rows->file);
    buf_free(&rows->header);
    free(rows->columns);
    free(rows);
}

enum rows_kind rows_kind(const struct rows *rows)
{
    return rows->kind;
}

bool rows_is_table(const struct rows *rows)
{
    return rows->table != NULL;
}

bool rows_are_table(struct str first_bytes)
{
    return table_format_of(first_bytes) != TABLE_NONE;
}

const struct json *rows_example(const struct rows *rows)
{
    return rows->table ? rows->table->ops->example(rows->table) : NULL;
}

void rows_choose_columns(struct rows *rows, bool (*is_wanted)(void *ctx, const struct json *example),
                         void *ctx)
{
    if (rows->table)
        rows->table->ops->choose(rows->table, is_wanted, ctx);
}

const char *rows_note(const struct rows *rows, size_t i)
{
    return rows->table && i < rows->table->n_notes ? rows->table->notes[i] : NULL;
}

/* ---- One row as text ---- */

static int next_line(struct rows *rows, struct text_row *out, struct error *err)
{
    struct source_line line;
    int rc;

    while ((rc = source_next_line(rows->file, 0, &line, err)) == 1) {
        if (line.byte == 0 && str_starts(line.text, "\xEF\xBB\xBF")) {
            line.text = str_skip(line.text, 3);
            line.byte = 3;
        }
        if (str_trim(line.text).n == 0 && !line.cut)
            continue;
        *out = (struct text_row){.text = line.text,
                                 .at = line.byte,
                                 .length = line.cut ? source_tell(rows->file) - line.byte
                                                    : (int64_t)line.text.n,
                                 .line = line.number,
                                 .is_cut = line.cut};
        return 1;
    }
    return rc;
}

static int next_element(struct rows *rows, struct text_row *out, struct error *err)
{
    struct element element;
    int rc = elements_next(&rows->elements, &element, err);

    if (rc == 1)
        *out = (struct text_row){.text = element.text,
                                 .at = element.at,
                                 .length = element.length,
                                 .line = element.line,
                                 .is_cut = element.is_cut};
    return rc;
}

/* ---- One row as a tree ---- */

static struct str find_bad_byte(struct str text)
{
    int32_t codepoint;

    while (text.n) {
        size_t n = unicode_next(text, &codepoint);
        if (codepoint < 0)
            return text;
        text = str_skip(text, n);
    }
    return text;
}

static int bad_bytes(struct str text, struct error *why)
{
    struct str rest = find_bad_byte(text);

    return error_set(why, E_PARSE, "not UTF-8: byte 0x%02x at byte %zu of the row",
                     (unsigned char)rest.p[0], (size_t)(rest.p - text.p));
}

/* The parser's place is within the row; ours within the file. */
static void place_error(struct rows *rows, const struct row_place *place, struct error *why)
{
    int64_t within = why->byte == NONE ? 0 : why->byte;

    error_at(why, source_path(rows->file), place->line, place->at + within);
}

static int parse(const struct text_row *text, struct arena *arena, const struct json **row,
                 struct error *why)
{
    if (text->is_cut)
        return error_set(why, E_LIMIT, "a row of %lld bytes, more than %zu",
                         (long long)text->length, SOURCE_LINE_BYTES);
    if (!unicode_is_valid(text->text))
        return bad_bytes(text->text, why);
    struct str kept = arena_str(arena, text->text); /* the tree borrows from it */
    if (arena_failed(arena))
        return error_set(why, E_LIMIT, "a row of %lld bytes does not fit into its memory",
                         (long long)text->length);
    int rc = json_parse_exact(kept, arena, row, why);
    if (rc == OK && (*row)->type != JSON_OBJECT)
        return error_set(why, E_PARSE, "a row that is no JSON object");
    return rc;
}

static int cell_row(struct rows *rows, const struct csv_row *cells, struct arena *arena,
                    const struct json **row, struct error *why)
{
    if (cells->is_unclosed)
        return error_set(why, E_PARSE, "a quote that is never closed");
    if (cells->n > rows->n_columns)
        return error_set(why, E_PARSE, "a row of %zu cells, the header has %zu", cells->n,
                         rows->n_columns);
    struct json *object = arena_alloc(arena, sizeof *object);
    struct json *members = arena_array(arena, rows->n_columns + 1, sizeof *members);
    for (size_t i = 0; object && members && i < rows->n_columns; i++) {
        struct str cell = i < cells->n ? cells->cells[i] : (struct str){NULL, 0};

        if (cell.n && !unicode_is_valid(cell))
            return bad_bytes(cell, why);
        members[i] = (struct json){.type = cell.p ? JSON_STRING : JSON_NULL,
                                   .key = arena_str(arena, rows->columns[i]),
                                   .text = cell.p ? arena_str(arena, cell) : cell,
                                   .line = cells->line,
                                   .next = i + 1 < rows->n_columns ? &members[i + 1] : NULL};
    }
    if (arena_failed(arena))
        return error_set(why, E_LIMIT, "a row that does not fit into its memory");
    *object = (struct json){.type = JSON_OBJECT,
                            .line = cells->line,
                            .child = rows->n_columns ? members : NULL,
                            .n = rows->n_columns};
    *row = object;
    return OK;
}

static int next_cells(struct rows *rows, struct arena *arena, const struct json **row,
                      struct row_place *place, struct error *why, struct error *err)
{
    struct csv_row cells;
    int rc = rows->csv && rows->n_columns ? csv_next(rows->csv, &cells, err) : 0;

    if (rc != 1)
        return rc;
    *place = (struct row_place){.row = rows->row++,
                                .at = cells.byte,
                                .length = cells.length,
                                .line = rows->is_sought ? NONE : cells.line};
    if (cell_row(rows, &cells, arena, row, why) != OK) {
        *row = NULL;
        place_error(rows, place, why);
    }
    return 1;
}

static int next_of_table(struct rows *rows, struct arena *arena, const struct json **row,
                         struct row_place *place, struct error *why, struct error *err)
{
    int rc = rows->table->ops->next(rows->table, arena, row, why, err);

    if (rc == 1) {
        *place = (struct row_place){.row = rows->row, .at = rows->table_at, .line = rows->table_at + 1};
        rows->row++;
        rows->table_at++;
    }
    return rc;
}

int rows_next(struct rows *rows, struct arena *arena, const struct json **row,
              struct row_place *place, struct error *why, struct error *err)
{
    struct text_row text;

    *row = NULL;
    if (rows->table)
        return next_of_table(rows, arena, row, place, why, err);
    if (rows->kind == ROWS_CSV || rows->kind == ROWS_TSV)
        return next_cells(rows, arena, row, place, why, err);
    int rc = rows->kind == ROWS_JSONL ? next_line(rows, &text, err) : next_element(rows, &text, err);
    if (rc != 1)
        return rc;
    *place = (struct row_place){.row = rows->row++,
                                .at = text.at,
                                .length = text.length,
                                .line = rows->is_sought ? NONE : text.line};
    if (parse(&text, arena, row, why) != OK) {
        *row = NULL;
        place_error(rows, place, why);
    }
    return 1;
}

int rows_next_columns(struct rows *rows, const struct table_batch **out, struct row_place *place,
                      struct error *err)
{
    int rc = rows->table && rows->table->ops->next_columns
                 ? rows->table->ops->next_columns(rows->table, out, err)
                 : 0;

    if (rc == 1) {
        *place =
            (struct row_place){.row = rows->row, .at = rows->table_at, .line = rows->table_at + 1};
        rows->row += (int64_t)(*out)->n;
        rows->table_at += (int64_t)(*out)->n;
    }
    return rc;
}

/* ---- Places ---- */

int rows_seek(struct rows *rows, int64_t at, int64_t row, struct error *err)
{
    rows->is_sought = true;
    rows->row = row;
    if (rows->table) {
        rows->table_at = at;
        return rows->table->ops->seek(rows->table, at, err);
    }
    if (rows->kind == ROWS_JSONL)
        return source_seek(rows->file, at, err);
    if (rows->kind == ROWS_JSON_ARRAY)
        return elements_seek(&rows->elements, at, false, err);
    return rows->csv ? csv_seek(rows->csv, at, err) : OK;
}

/* A table has no text of a row: the row is read again and written as JSON. */
static int raw_of_table(struct rows *rows, const struct row_place *place, size_t limit,
                        struct arena *arena, struct str *out, struct error *err)
{
    const struct table_ops *ops = rows->table->ops;
    const struct json *row = NULL;
    struct error why;
    struct buf text;
    int rc = ops->seek(rows->table, place->at, err);

    if (rc == OK)
        rc = ops->next(rows->table, arena, &row, &why, err);
    if (rc >= 0 && ops->seek(rows->table, rows->table_at, &why) != OK)
        rc = error_set(err, E_IO, "%s", why.message);
    if (rc < 0)
        return rc;
    buf_init(&text, SOURCE_LINE_BYTES);
    if (row)
        json_write(&text, row);
    *out = arena_str(arena, str_first(buf_view(&text), limit));
    buf_free(&text);
    return arena_failed(arena) ? error_set(err, E_NOMEM, "no memory for a row as JSON") : OK;
}

int rows_raw(struct rows *rows, const struct row_place *place, size_t limit, struct arena *arena,
             struct str *out, struct error *err)
{
    if (rows->table)
        return raw_of_table(rows, place, limit, arena, out, err);
    size_t n = place->length < 0 || (uint64_t)place->length > limit ? limit : (size_t)place->length;
    size_t got = 0;
    char *bytes = arena_alloc(arena, n + 1);

    if (!bytes)
        return error_set(err, E_NOMEM, "no memory for %zu bytes of a row", n);
    int rc = source_at(rows->file, place->at, bytes, n, &got, err);
    if (rc == OK)
        *out = str_from(bytes, got);
    return rc;
}
