/* The rows of a data file as JSON objects, one at a time, from any place: JSONL, one JSON array,
 * CSV, TSV, each plain or packed with gzip or zstd; Parquet and Arrow (file and stream). Rows stay in
 * their file.
 *
 * A place is an offset into the unpacked text; going back into a packed file starts from the
 * nearest restart point (kept in memory while the file is open, one each 16 MiB where the format
 * allows it) or from the beginning. CSV and TSV records become objects of texts by the header.
 * Memory does not depend on the number of rows; a row above SOURCE_LINE_BYTES comes as bad.
 *
 * Rows of Parquet and Arrow become objects by table_value.h; their place is their number in the file
 * (at = row, length 0, line = row + 1), their raw source the row as JSON. */
#ifndef CORE_READ_ROWS_H
#define CORE_READ_ROWS_H

#include "core/base/arena.h"
#include "core/read/json.h"

struct rows;

enum rows_kind { ROWS_JSONL, ROWS_JSON_ARRAY, ROWS_CSV, ROWS_TSV, ROWS_PARQUET, ROWS_ARROW };

struct row_place {
    int64_t row;            /* from 0, counting readable and unreadable ones alike as the importer does */
    int64_t at, length;     /* bytes in the unpacked text */
    int64_t line;           /* from 1; NONE after a seek */
};

MUST_CHECK int rows_open(struct rows **out, const char *path, struct error *err);
/* The same on a file that is open already, which is given away, also when this fails; `name` says
 * what the bytes cannot (.csv, .jsonl). */
struct source_file;
MUST_CHECK int rows_open_source(struct rows **out, struct source_file *file, const char *name,
                                struct error *err);
void rows_close(struct rows *rows); /* NULL allowed */
enum rows_kind rows_kind(const struct rows *rows);
bool rows_is_table(const struct rows *rows); /* Parquet, Arrow */
/* Of a table: one row as it might be, each value of the type of its column; NULL of other kinds. Lives
 * as long as the rows. */
const struct json *rows_example(const struct rows *rows);
/* Of a table: from now on the rows have only the columns whose member of the example `is_wanted`; no
 * other is read. */
void rows_choose_columns(struct rows *rows, bool (*is_wanted)(void *ctx, const struct json *example),
                         void *ctx);
/* The i-th remark on a table, such as a column that is left out and why; NULL: there are no more. */
const char *rows_note(const struct rows *rows, size_t i);
/* Is this the beginning of a table, which rows_open would read as one? */
bool rows_are_table(struct str first_bytes);
/* 1 a row, 0 the end, negative: a failure of ours, or E_PARSE where nothing more can be read (a gz cut
 * in the middle: err says at which byte). A row that cannot be read gives 1 with *row NULL and
 * `why` filled; the next call goes on behind it. The tree lives in the arena (exact JSON). */
MUST_CHECK int rows_next(struct rows *rows, struct arena *arena, const struct json **row,
                         struct row_place *place, struct error *why, struct error *err);
/* Of a table of numbers: the next rows by columns, `place` that of the first of them; they live until
 * the next call. 1 rows, 0 the next row (or the end) is for rows_next to give, negative: as there. */
struct table_batch; /* core/read/table_columns.h */
MUST_CHECK int rows_next_columns(struct rows *rows, const struct table_batch **out,
                                 struct row_place *place, struct error *err);
/* The next rows_next gives the row at `at`, which counts as row number `row`. */
MUST_CHECK int rows_seek(struct rows *rows, int64_t at, int64_t row, struct error *err);
/* The row's own bytes ("raw source"), at most `limit`; lives in the arena. */
MUST_CHECK int rows_raw(struct rows *rows, const struct row_place *place, size_t limit,
                        struct arena *arena, struct str *out, struct error *err);

#endif
