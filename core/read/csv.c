/* Rows of CSV and TSV files by libcsv, a push parser: it is fed up to each end of a line, so that one
 * piece completes one row at most and the place of each row is known. */
#include "core/read/csv.h"

#include <csv.h>
#include <stdlib.h>
#include <string.h>

#define CSV_MAX_ROW_BYTES ((size_t)64 << 20)
#define CSV_MAX_CELLS     100000

/* libcsv's states, which its header does not name. */
#define ROW_NOT_BEGUN 0
#define FIELD_BEGUN   2

struct csv_reader {
    struct source_file *file;
    struct csv_parser parser;
    bool has_parser;
    char separator;      /* 0: not decided yet */
    struct str chunk;    /* not yet fed */
    int64_t at;          /* offset of the chunk's first byte */
    int64_t row_at;      /* offset of the current row */
    bool is_ready;       /* the row is whole */
    bool is_finished;    /* the last row was asked for */
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

static bool grow(struct csv_reader *reader)
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
    struct csv_reader *reader = ctx;

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
    struct csv_reader *reader = ctx;

    (void)end;
    reader->is_ready = reader->rc == OK;
}

/* Up to and with the first end of a line: CR LF is two of them, the second of an empty row. */
static size_t piece_of(struct str chunk)
{
    const char *newline = memchr(chunk.p, '\n', chunk.n);
    size_t n = newline ? (size_t)(newline - chunk.p) + 1 : chunk.n;
    const char *carriage = memchr(chunk.p, '\r', n);

    return carriage ? (size_t)(carriage - chunk.p) + 1 : n;
}

static int feed(struct csv_reader *reader)
{
    struct csv_parser *parser = &reader->parser;
    size_t n = piece_of(reader->chunk);

    if (parser->pstate == ROW_NOT_BEGUN) {
        reader->row_line = reader->line;
        reader->row_at = reader->at;
    }
    if (csv_parse(parser, reader->chunk.p, n, cell_done, row_done, reader) != n &&
        reader->rc == OK)
        return error_set(reader->err, csv_error(parser) == CSV_ENOMEM ? E_NOMEM : E_LIMIT,
                         "csv: %s", csv_strerror(csv_error(parser)));
    if (csv_get_buffer_size(parser) > CSV_MAX_ROW_BYTES)
        return error_set(reader->err, E_LIMIT, "a cell of more than %zu bytes", CSV_MAX_ROW_BYTES);
    reader->line += reader->chunk.p[n - 1] == '\n';
    reader->at += (int64_t)n;
    reader->chunk = str_skip(reader->chunk, n);
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

static int begin(struct csv_reader *reader, int64_t at, struct error *err)
{
    if (reader->has_parser)
        csv_free(&reader->parser);
    reader->has_parser = csv_init(&reader->parser, CSV_EMPTY_IS_NULL) == 0;
    if (!reader->has_parser)
        return error_set(err, E_NOMEM, "csv parser");
    csv_set_space_func(&reader->parser, is_never_space);
    csv_set_blk_size(&reader->parser, 65536); /* 128 by itself, which copies a long cell often */
    if (reader->separator)
        csv_set_delim(&reader->parser, (unsigned char)reader->separator);
    reader->chunk = str_from(NULL, 0);
    reader->at = reader->row_at = at;
    reader->line = reader->row_line = 1;
    reader->is_ready = reader->is_finished = false;
    reader->rc = OK;
    reader->n = 0;
    buf_clear(&reader->text);
    return OK;
}

int csv_open(struct csv_reader **out, struct source_file *file, char separator, struct error *err)
{
    struct csv_reader *reader = calloc(1, sizeof *reader);

    if (!reader)
        return error_set(err, E_NOMEM, "csv reader");
    reader->file = file;
    reader->separator = separator;
    buf_init(&reader->text, CSV_MAX_ROW_BYTES);
    int rc = begin(reader, source_tell(file), err);
    if (rc != OK) {
        csv_close(reader);
        return rc;
    }
    *out = reader;
    return OK;
}

void csv_close(struct csv_reader *reader)
{
    if (!reader)
        return;
    if (reader->has_parser)
        csv_free(&reader->parser);
    buf_free(&reader->text);
    free(reader->ends);
    free(reader->is_null);
    free(reader->cells);
    free(reader);
}

int csv_seek(struct csv_reader *reader, int64_t byte, struct error *err)
{
    int rc = source_seek(reader->file, byte, err);

    return rc == OK ? begin(reader, byte, err) : rc;
}

/* The next chunk, or the last row where there is none. */
static int more(struct csv_reader *reader, struct csv_row *row)
{
    int rc = source_chunk(reader->file, &reader->chunk, reader->err);

    if (rc != OK)
        return rc;
    if (reader->chunk.n == 0) {
        reader->is_finished = true;
        row->is_unclosed = reader->parser.pstate == FIELD_BEGUN && reader->parser.quoted;
        if (csv_fini(&reader->parser, cell_done, row_done, reader) != 0)
            return error_set(reader->err, E_NOMEM, "csv parser");
        return reader->rc;
    }
    if (reader->at == 0 && str_starts(reader->chunk, "\xef\xbb\xbf")) {
        reader->chunk = str_skip(reader->chunk, 3);
        reader->at = 3;
    }
    if (!reader->separator)
        reader->separator = guess_separator(reader->chunk);
    csv_set_delim(&reader->parser, (unsigned char)reader->separator);
    return OK;
}

static int take_row(struct csv_reader *reader, struct csv_row *row)
{
    size_t start = 0;

    for (size_t i = 0; i < reader->n; i++) {
        const char *p = reader->is_null[i] ? NULL : reader->text.p ? reader->text.p + start : "";

        reader->cells[i] = (struct str){p, reader->ends[i] - start};
        start = reader->ends[i];
    }
    row->cells = reader->cells;
    row->n = reader->n;
    row->line = reader->row_line;
    row->byte = reader->row_at;
    /* The piece that ended the row ended with one byte of the line's end. */
    row->length = reader->at - reader->row_at - !reader->is_finished;
    return 1;
}

int csv_next(struct csv_reader *reader, struct csv_row *row, struct error *err)
{
    int rc = OK;

    *row = (struct csv_row){.line = NONE};
    reader->err = err;
    reader->is_ready = false;
    reader->n = 0;
    buf_clear(&reader->text);
    while (rc == OK && !reader->is_ready && !(reader->is_finished && reader->chunk.n == 0))
        rc = reader->chunk.n ? feed(reader) : more(reader, row);
    if (rc == OK && reader->is_ready)
        return take_row(reader, row);
    if (rc != OK && err && err->line == NONE && err->byte == NONE)
        error_at(err, source_path(reader->file), reader->row_line, NONE);
    return rc;
}

int csv_read_rows(struct source_file *file, char separator, const struct csv_handler *handler,
                  struct error *err)
{
    struct csv_reader *reader;
    struct csv_row row;
    int rc = csv_open(&reader, file, separator, err);

    if (rc != OK)
        return rc;
    while ((rc = csv_next(reader, &row, err)) == 1) {
        rc = handler->row(handler->ctx, &row, err);
        if (rc != OK) {
            if (err && err->line == NONE)
                error_at(err, source_path(file), row.line, NONE);
            break;
        }
    }
    csv_close(reader);
    return rc;
}
