/* Rows of CSV and TSV files by libcsv, a push parser: cells are gathered until the row ends. */
#include "core/read/csv.h"

#include <csv.h>
#include <stdlib.h>
#include <string.h>

#define CSV_MAX_ROW_BYTES ((size_t)64 << 20)
#define CSV_MAX_CELLS     100000

struct reader {
    const struct csv_handler *handler;
    struct error *err;
    struct buf text; /* the cells of the row, one after the other */
    size_t *ends;
    bool *is_null;
    struct str *cells;
    size_t n, capacity;
    int64_t row_line; /* where the current row began */
    int64_t line;     /* of the byte being parsed */
    int rc;
};

/* libcsv trims blanks unless told that there are none. */
static int is_never_space(unsigned char c)
{
    (void)c;
    return 0;
}

static bool grow(struct reader *reader)
{
    size_t capacity = reader->capacity ? reader->capacity * 2 : 32;
    size_t *ends = realloc(reader->ends, capacity * sizeof *ends);
    if (ends)
        reader->ends = ends;
    bool *is_null = realloc(reader->is_null, capacity * sizeof *is_null);
    if (is_null)
        reader->is_null = is_null;
    struct str *cells = realloc(reader->cells, capacity * sizeof *cells);
    if (cells)
        reader->cells = cells;
    if (!ends || !is_null || !cells)
        return false;
    reader->capacity = capacity;
    return true;
}

static void cell_done(void *bytes, size_t n, void *ctx)
{
    struct reader *reader = ctx;

    if (reader->rc != OK)
        return;
    if (reader->n == CSV_MAX_CELLS) {
        reader->rc = error_set(reader->err, E_LIMIT, "a row of more than %d cells", CSV_MAX_CELLS);
        return;
    }
    if (reader->n == reader->capacity && !grow(reader)) {
        reader->rc = error_set(reader->err, E_NOMEM, "a row of %zu cells", reader->n);
        return;
    }
    if (n)
        buf_add(&reader->text, bytes, n);
    if (reader->text.failed) {
        reader->rc =
            error_set(reader->err, E_LIMIT, "a row of more than %zu bytes", CSV_MAX_ROW_BYTES);
        return;
    }
    reader->is_null[reader->n] = bytes == NULL;
    reader->ends[reader->n++] = reader->text.n;
}

static void row_done(int end, void *ctx)
{
    struct reader *reader = ctx;
    struct csv_row row = {.n = reader->n, .line = reader->row_line};
    size_t begin = 0;

    (void)end;
    if (reader->rc != OK)
        return;
    for (size_t i = 0; i < reader->n; i++) {
        const char *p = reader->is_null[i] ? NULL : reader->text.p ? reader->text.p + begin : "";

        reader->cells[i] = (struct str){p, reader->ends[i] - begin};
        begin = reader->ends[i];
    }
    row.cells = reader->cells;
    reader->rc = reader->handler->row(reader->handler->ctx, &row, reader->err);
    reader->n = 0;
    buf_clear(&reader->text);
}

/* Fed line by line: so the reader knows on which line a row begins. */
static int feed(struct reader *reader, struct csv_parser *parser, struct str chunk)
{
    while (chunk.n && reader->rc == OK) {
        const char *newline = memchr(chunk.p, '\n', chunk.n);
        size_t n = newline ? (size_t)(newline - chunk.p) + 1 : chunk.n;

        if (parser->pstate == 0) /* libcsv's ROW_NOT_BEGUN, which its header does not name */
            reader->row_line = reader->line;
        if (csv_parse(parser, chunk.p, n, cell_done, row_done, reader) != n && reader->rc == OK)
            return error_set(reader->err, csv_error(parser) == CSV_ENOMEM ? E_NOMEM : E_LIMIT,
                             "csv: %s", csv_strerror(csv_error(parser)));
        if (csv_get_buffer_size(parser) > CSV_MAX_ROW_BYTES)
            return error_set(reader->err, E_LIMIT, "a cell of more than %zu bytes",
                             CSV_MAX_ROW_BYTES);
        if (newline)
            reader->line++;
        chunk = str_skip(chunk, n);
    }
    return reader->rc;
}

/* The separator that the first line has more of. */
static char guess_separator(struct str first)
{
    size_t n_tabs = 0, n_commas = 0;

    for (size_t i = 0; i < first.n && first.p[i] != '\n'; i++) {
        n_tabs += first.p[i] == '\t';
        n_commas += first.p[i] == ',';
    }
    return n_tabs > n_commas ? '\t' : ',';
}

int csv_read_rows(struct source_file *file, char separator, const struct csv_handler *handler,
                  struct error *err)
{
    struct reader reader = {.handler = handler, .err = err, .line = 1, .row_line = 1};
    struct csv_parser parser;
    struct str chunk;
    bool is_first = true;

    if (csv_init(&parser, CSV_EMPTY_IS_NULL) != 0)
        return error_set(err, E_NOMEM, "csv parser");
    csv_set_space_func(&parser, is_never_space);
    csv_set_blk_size(&parser, 65536); /* the default of 128 copies a long cell over and over */
    buf_init(&reader.text, CSV_MAX_ROW_BYTES);
    while (reader.rc == OK) {
        reader.rc = source_chunk(file, &chunk, err);
        if (reader.rc != OK || chunk.n == 0)
            break;
        if (is_first) {
            if (str_starts(chunk, "\xef\xbb\xbf"))
                chunk = str_skip(chunk, 3);
            csv_set_delim(&parser, (unsigned char)(separator ? separator : guess_separator(chunk)));
            is_first = false;
        }
        reader.rc = feed(&reader, &parser, chunk);
    }
    if (reader.rc == OK && csv_fini(&parser, cell_done, row_done, &reader) != 0)
        reader.rc = error_set(err, E_NOMEM, "csv parser");
    if (reader.rc != OK && err && err->line == NONE)
        error_at(err, source_path(file), reader.row_line, NONE);
    csv_free(&parser);
    buf_free(&reader.text);
    free(reader.ends);
    free(reader.is_null);
    free(reader.cells);
    return reader.rc;
}
