/* Reads a table (Parquet, Arrow) by columns. For the bench and for comparisons by hand.
 *   bench_table rows FILE [COLUMN …]   the rows as JSON lines
 *   bench_table read FILE [COLUMN …]   rows and seconds of processor time
 *   bench_table columns FILE [COLUMN …]  the same by columns, where they are numbers */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/read/rows.h"
#include "core/read/table_columns.h"

#define ARENA_BYTES ((size_t)512 << 20)

struct wanted {
    char **names;
    int n;
};

static bool is_wanted(void *ctx, const struct json *example)
{
    const struct wanted *wanted = ctx;

    for (int i = 0; i < wanted->n; i++)
        if (str_is(example->key, wanted->names[i]))
            return true;
    return wanted->n == 0;
}

static void say(const char *what, const struct error *err)
{
    char text[2048];

    error_format(err, text, sizeof text);
    fprintf(stderr, "%s%s\n", what, text);
}

static void print_row(const struct json *row, struct buf *text)
{
    buf_clear(text);
    json_write(text, row);
    buf_putc(text, '\n');
    (void)fwrite(text->p, 1, text->n, stdout);
}

/* What rows_next is to give is left. */
static int read_columns(struct rows *rows, int64_t *n)
{
    const struct table_batch *batch;
    struct row_place place;
    struct error err;
    int rc;

    while ((rc = rows_next_columns(rows, &batch, &place, &err)) == 1)
        *n += (int64_t)batch->n;
    if (rc < 0)
        say("", &err);
    return rc;
}

static int read_all(struct rows *rows, struct arena *arena, bool is_printed, int64_t *n)
{
    const struct json *row;
    struct row_place place;
    struct error why, err;
    struct buf text;
    int rc;

    buf_init(&text, ARENA_BYTES);
    while ((rc = rows_next(rows, arena, &row, &place, &why, &err)) == 1) {
        if (!row)
            say("row: ", &why);
        else if (is_printed)
            print_row(row, &text);
        ++*n;
        arena_reset(arena);
    }
    if (rc < 0)
        say("", &err);
    buf_free(&text);
    return rc;
}

int main(int argc, char **argv)
{
    struct wanted wanted = {argv + 3, argc - 3};
    struct arena *arena = arena_open(ARENA_BYTES);
    struct rows *rows;
    struct error err;
    int64_t n = 0;

    if (argc < 3 || !arena) {
        fprintf(stderr, "usage: bench_table rows|read|columns FILE [COLUMN ...]\n");
        return 2;
    }
    clock_t begin = clock();
    int rc = rows_open(&rows, argv[2], &err);
    if (rc != OK) {
        say("", &err);
        arena_close(arena);
        return 1;
    }
    for (size_t i = 0; rows_note(rows, i); i++)
        fprintf(stderr, "note: %s\n", rows_note(rows, i));
    if (wanted.n > 0)
        rows_choose_columns(rows, is_wanted, &wanted);
    bool by_columns = strcmp(argv[1], "columns") == 0;
    if (by_columns)
        rc = read_columns(rows, &n);
    int64_t n_by_columns = n;
    if (rc >= 0)
        rc = read_all(rows, arena, strcmp(argv[1], "rows") == 0, &n);
    if (by_columns && n != n_by_columns)
        fprintf(stderr, "%lld rows were not to be had by columns\n", (long long)(n - n_by_columns));
    rows_close(rows);
    arena_close(arena);
    if (strcmp(argv[1], "read") == 0 || by_columns)
        printf("%lld %.4f\n", (long long)n, (double)(clock() - begin) / CLOCKS_PER_SEC);
    return rc < 0 ? 1 : 0;
}
