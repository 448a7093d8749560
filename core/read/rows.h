/* The rows of a data file as JSON objects, one at a time, from any place: JSONL, one JSON array,
 * CSV, TSV, each plain or packed with gzip or zstd. Rows stay in their file.
 *
 * A place is an offset into the unpacked text; going back into a packed file starts from the
 * nearest restart point (kept in memory while the file is open, one each 16 MiB where the format
 * allows it) or from the beginning. CSV and TSV records become objects of texts by the header.
 * Memory does not depend on the number of rows; a row above SOURCE_LINE_BYTES comes as bad. */
#ifndef CORE_READ_ROWS_H
#define CORE_READ_ROWS_H

#include "core/base/arena.h"
#include "core/read/json.h"

struct rows;

enum rows_kind { ROWS_JSONL, ROWS_JSON_ARRAY, ROWS_CSV, ROWS_TSV };

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
bool rows_is_packed(const struct rows *rows);
/* 1 a row, 0 the end, negative: a failure of ours, or E_PARSE where nothing more can be read (a gz cut
 * in the middle: err says at which byte). A row that cannot be read gives 1 with *row NULL and
 * `why` filled; the next call goes on behind it. The tree lives in the arena (exact JSON). */
MUST_CHECK int rows_next(struct rows *rows, struct arena *arena, const struct json **row,
                         struct row_place *place, struct error *why, struct error *err);
/* The next rows_next gives the row at `at`, which counts as row number `row`. */
MUST_CHECK int rows_seek(struct rows *rows, int64_t at, int64_t row, struct error *err);
/* The row's own bytes ("raw source"), at most `limit`; lives in the arena. */
MUST_CHECK int rows_raw(struct rows *rows, const struct row_place *place, size_t limit,
                        struct arena *arena, struct str *out, struct error *err);

#endif
