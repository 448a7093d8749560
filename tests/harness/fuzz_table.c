/* The fuzzed readers of Parquet and Arrow. See fuzz_targets.h. */
#include <stdlib.h>

#include "core/read/rows.h"
#include "core/read/source.h"
#include "tests/harness/fuzz_targets.h"

#define ARENA_BYTES ((size_t)16 << 20)
#define FUZZED_ROWS 2000

static size_t length_of(const struct json *value)
{
    struct buf text;

    buf_init(&text, ARENA_BYTES);
    if (value)
        json_write(&text, value);
    size_t n = text.n;
    buf_free(&text);
    return n;
}

/* Reads on; gives the length of the first row. */
static size_t read_on(struct rows *rows, struct arena *arena, int64_t at, size_t n_rows)
{
    const struct json *row;
    struct row_place place;
    struct error why, err;
    size_t first = 0;

    for (size_t i = 0; i < n_rows; i++) {
        arena_reset(arena);
        if (rows_next(rows, arena, &row, &place, &why, &err) != 1)
            break;
        if (place.at != at + (int64_t)i)
            abort();
        size_t n = length_of(row);
        if (i == 0)
            first = n;
    }
    return first;
}

static bool is_odd(void *ctx, const struct json *example)
{
    size_t *n = ctx;

    (void)example;
    return (*n)++ % 2 == 1;
}

void fuzz_table(const uint8_t *bytes, size_t n)
{
    struct arena *arena = arena_open(ARENA_BYTES);
    const struct row_place second = {.row = 1, .at = 1};
    struct source_file *file;
    struct rows *rows = NULL;
    struct error err;
    struct str raw;
    size_t n_columns = 0;

    if (!arena || source_open_bytes(&file, "fuzz", bytes, n, &err) != OK)
        abort();
    if (rows_open_source(&rows, file, "fuzz", &err) == OK && rows_is_table(rows)) {
        size_t first = read_on(rows, arena, 0, FUZZED_ROWS);

        (void)length_of(rows_example(rows));
        if (rows_seek(rows, 0, 0, &err) != OK || read_on(rows, arena, 0, 2) != first)
            abort();
        (void)!rows_raw(rows, &second, 100, arena, &raw, &err);
        rows_choose_columns(rows, is_odd, &n_columns);
        if (rows_seek(rows, 3, 3, &err) == OK)
            (void)read_on(rows, arena, 3, 5);
    }
    rows_close(rows);
    arena_close(arena);
}
