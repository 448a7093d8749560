/* Rows of tables by columns give what the rows themselves give, sound or damaged. The samples of
 * tests/engines/tables were made by real writers (WRITERS.txt). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/read/rows.h"
#include "core/read/source.h"
#include "core/read/table_columns.h"
#include "importers/dataset/token_rows.h"
#include "core/base/random.h"

#define FOLDER      "tests/engines/tables"
#define ARENA_BYTES ((size_t)64 << 20)
#define MAX_NAMES   64
#define TEXT_BYTES  ((size_t)64 << 20)

struct table_file {
    const char *name;
    char *bytes;
    size_t n;
    struct str wanted[MAX_NAMES];
    char names[MAX_NAMES][64];
    size_t n_wanted;
};

static bool is_wanted(void *ctx, const struct json *example)
{
    const struct table_file *sample = ctx;

    for (size_t i = 0; i < sample->n_wanted; i++)
        if (str_eq(example->key, sample->wanted[i]))
            return true;
    return false;
}

static struct rows *open_bytes(const struct table_file *sample)
{
    struct source_file *file;
    struct rows *rows = NULL;
    struct error err;

    assert_int_equal(source_open_bytes(&file, sample->name, sample->bytes, sample->n, &err), OK);
    return rows_open_source(&rows, file, sample->name, &err) == OK ? rows : NULL;
}

/* ---- Both ways as text ---- */

static void put_row(struct buf *out, const struct json *row, int64_t line, const char *why)
{
    buf_printf(out, "%lld ", (long long)line);
    if (row)
        json_write(out, row);
    else
        buf_printf(out, "bad: %s", why);
    buf_putc(out, '\n');
}

/* A row or the end by rows_next. */
static bool put_next(struct rows *rows, struct arena *arena, struct buf *out)
{
    const struct json *row;
    struct row_place place;
    struct error why, err;
    int rc = rows_next(rows, arena, &row, &place, &why, &err);

    if (rc == 1)
        put_row(out, row, place.line, why.message);
    else if (rc < 0)
        buf_printf(out, "end: %s\n", err.message);
    arena_reset(arena);
    return rc == 1;
}

static size_t put_batch(struct rows *rows, struct arena *arena, struct buf *out)
{
    const struct table_batch *batch;
    struct row_place place;
    struct error err;
    int rc = rows_next_columns(rows, &batch, &place, &err);

    assert_true(rc == 0 || rc == 1);
    for (size_t i = 0; rc == 1 && i < batch->n; i++) {
        int64_t line = place.line + (int64_t)i;

        put_row(out, table_batch_row(batch, i, line, arena), line, "no room");
        arena_reset(arena);
    }
    return rc == 1 ? batch->n : 0;
}

/* How many rows came by columns. */
static size_t read_sample(const struct table_file *sample, bool by_columns, struct buf *out)
{
    struct arena *arena = arena_open(ARENA_BYTES);
    struct rows *rows = open_bytes(sample);
    struct table_file wanted = *sample;
    size_t n_by_columns = 0, n;

    buf_clear(out);
    if (rows) {
        rows_choose_columns(rows, is_wanted, &wanted);
        do {
            while (by_columns && (n = put_batch(rows, arena, out)) > 0)
                n_by_columns += n;
        } while (put_next(rows, arena, out));
    }
    rows_close(rows);
    arena_close(arena);
    return n_by_columns;
}

static size_t compare(const struct table_file *sample, const char *what, size_t at)
{
    struct buf rows, columns;

    buf_init(&rows, TEXT_BYTES);
    buf_init(&columns, TEXT_BYTES);
    (void)read_sample(sample, false, &rows);
    size_t n = read_sample(sample, true, &columns);
    assert_false(rows.failed || columns.failed);
    if (rows.n != columns.n || (rows.n && memcmp(rows.p, columns.p, rows.n) != 0))
        fail_msg("%s, %s %zu: the rows\n%.*s\nare not the columns\n%.*s", sample->name, what, at,
                 (int)(rows.n < 4000 ? rows.n : 4000), rows.p,
                 (int)(columns.n < 4000 ? columns.n : 4000), columns.p);
    buf_free(&rows);
    buf_free(&columns);
    return n;
}

/* ---- Samples ---- */

static void want(struct table_file *sample, struct str name)
{
    if (sample->n_wanted == MAX_NAMES || name.n >= sizeof sample->names[0])
        return;
    memcpy(sample->names[sample->n_wanted], name.p, name.n);
    sample->wanted[sample->n_wanted] = str_from(sample->names[sample->n_wanted], name.n);
    sample->n_wanted++;
}

/* Each column by itself; those that come as numbers are wanted together at the end. */
static size_t compare_each(struct table_file *sample)
{
    static struct table_file together;
    struct rows *rows = open_bytes(sample);
    size_t n_all = 0;

    assert_non_null(rows);
    together = (struct table_file){.name = sample->name, .bytes = sample->bytes, .n = sample->n};
    for (const struct json *member = rows_example(rows)->child; member; member = member->next) {
        sample->n_wanted = 0;
        want(sample, member->key);
        size_t n = compare(sample, "column", n_all);
        n_all += n;
        if (n)
            want(&together, member->key);
    }
    rows_close(rows);
    *sample = together;
    for (size_t i = 0; i < sample->n_wanted; i++)
        sample->wanted[i].p = sample->names[i];
    return n_all;
}

static void each_sample(void (*take)(struct table_file *sample, void *ctx), void *ctx)
{
    static struct table_file sample;
    DIR *folder = opendir(FOLDER);

    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        struct str name = str_of(entry->d_name);
        char path[400];

        if (!str_ends(name, ".parquet") && !str_ends(name, ".arrow"))
            continue;
        (void)snprintf(path, sizeof path, FOLDER "/%s", entry->d_name);
        sample = (struct table_file){.name = entry->d_name};
        assert_int_equal(source_slurp(path, 16u << 20, &sample.bytes, &sample.n, NULL), OK);
        take(&sample, ctx);
        free(sample.bytes);
    }
    closedir(folder);
}

struct counts {
    size_t n_files, n_rows;
};

static void take_sound(struct table_file *sample, void *ctx)
{
    struct counts *counts = ctx;
    size_t n = compare_each(sample);

    counts->n_files += n > 0;
    counts->n_rows += n;
    (void)compare(sample, "together", 0);
}

static void columns_are_what_the_rows_are(void **state)
{
    struct counts counts = {0, 0};

    (void)state;
    each_sample(take_sound, &counts);
    assert_true(counts.n_files >= 12);
    assert_true(counts.n_rows > 1000);
}

static void take_damaged(struct table_file *sample, void *ctx)
{
    struct random *random = ctx;
    size_t whole = sample->n;

    (void)compare_each(sample);
    for (int i = 0; i < 40 && sample->n_wanted; i++) {
        size_t at = (size_t)random_below(random, whole);
        char before = sample->bytes[at];

        sample->bytes[at] = (char)(before ^ (1 << random_below(random, 8)));
        (void)compare(sample, "flipped at", at);
        sample->bytes[at] = before;
    }
    for (int i = 0; i < 15 && sample->n_wanted; i++) {
        sample->n = (size_t)random_below(random, whole);
        (void)compare(sample, "cut at", sample->n);
    }
    sample->n = whole;
}

static void damaged_tables_give_the_same_rows_and_say_the_same(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 20261130);
    each_sample(take_damaged, &random);
}

/* ---- Token rows ---- */

static void a_list_of_tokens_has_the_facts_of_its_tree(void **state)
{
    static const struct {
        const char *ids, *labels;
        int64_t id_list[4], label_list[4];
        size_t n_ids, n_labels;
    } CASES[] = {
        {"[1,1,5]", "[-100,-100,5]", {1, 1, 5}, {-100, -100, 5}, 3, 3},
        {"[1,2]", "[-100,-100]", {1, 2}, {-100, -100}, 2, 2},
        {"[7]", NULL, {7}, {0}, 1, 0},
        {"[]", "[]", {0}, {0}, 0, 0},
    };
    struct arena *arena = arena_open(ARENA_BYTES);

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const struct json *ids, *labels = NULL;
        struct sample by_tree = {0}, by_list = {0};

                assert_int_equal(json_parse_exact(str_of(CASES[i].ids), arena, &ids, NULL), OK);
        if (CASES[i].labels)
            assert_int_equal(json_parse_exact(str_of(CASES[i].labels), arena, &labels, NULL), OK);
        token_row_facts(ids, labels, &by_tree);
        token_list_facts(CASES[i].id_list, CASES[i].n_ids, labels ? CASES[i].label_list : NULL,
                         CASES[i].n_labels, &by_list);
        assert_memory_equal(&by_tree, &by_list, sizeof by_tree);
    }
    arena_close(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_what_the_rows_are),
        cmocka_unit_test(damaged_tables_give_the_same_rows_and_say_the_same),
        cmocka_unit_test(a_list_of_tokens_has_the_facts_of_its_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
