/* Rows of Parquet and Arrow against what their writers say, and against damage. The samples of
 * tests/engines/tables were made by real writers (WRITERS.txt). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/read/rows.h"
#include "core/read/source.h"

#define FOLDER      "tests/engines/tables"
#define ARENA_BYTES ((size_t)64 << 20)

/* ---- What the writers say ---- */

static bool is_same(const struct json *a, const struct json *b);

static bool is_same_list(const struct json *a, const struct json *b)
{
    const struct json *x = a->child, *y = b->child;

    for (; x && y; x = x->next, y = y->next)
        if (!str_eq(x->key, y->key) || !is_same(x, y))
            return false;
    return !x && !y && a->n == b->n;
}

static bool is_same(const struct json *a, const struct json *b)
{
    if (a->type != b->type)
        return false;
    if (a->type == JSON_STRING)
        return str_eq(a->text, b->text);
    if (a->type == JSON_NUMBER && a->is_integer && b->is_integer)
        return str_eq(a->text, b->text);
    if (a->type == JSON_NUMBER)
        return a->number == b->number || (isnan(a->number) && isnan(b->number));
    return is_same_list(a, b);
}


static struct rows *open_sample(const char *name)
{
    char path[300];
    struct rows *rows = NULL;
    struct error err;

    (void)snprintf(path, sizeof path, FOLDER "/%s", name);
    if (rows_open(&rows, path, &err) != OK)
        fail_msg("%s: %s", name, err.message);
    return rows;
}

static const struct json *next_row(struct rows *rows, struct arena *arena, struct row_place *place)
{
    const struct json *row = NULL;
    struct error why, err;

    arena_reset(arena);
    int rc = rows_next(rows, arena, &row, place, &why, &err);
    if (rc < 0)
        fail_msg("%s", err.message);
    if (rc == 1 && !row)
        fail_msg("row %lld: %s", (long long)place->row, why.message);
    return row;
}

static void compare(const char *expected_name)
{
    char name[256];
    struct arena *arena = arena_open(ARENA_BYTES), *other = arena_open(ARENA_BYTES);
    struct row_place place, expected_place;
    const struct json *want;

    (void)snprintf(name, sizeof name, "%.*s", (int)(strlen(expected_name) - strlen(".jsonl")),
                   expected_name);
    struct rows *rows = open_sample(name), *expected = open_sample(expected_name);
    assert_true(rows_is_table(rows));
    int64_t n = 0;
    while ((want = next_row(expected, other, &expected_place)) != NULL) {
        const struct json *got = next_row(rows, arena, &place);

        if (!got || !is_same(got, want))
            fail_msg("%s: row %lld is another one", name, (long long)n);
        assert_int_equal(place.at, n);
        assert_int_equal(place.row, n);
        assert_int_equal(place.line, n + 1);
        n++;
    }
    assert_null(next_row(rows, arena, &place));
    rows_close(rows);
    rows_close(expected);
    arena_close(arena);
    arena_close(other);
}

static bool ends(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);

    return n > m && strcmp(name + n - m, suffix) == 0;
}

static size_t compare_all(const char *below)
{
    char path[300], name[300];
    size_t n = 0;

    (void)snprintf(path, sizeof path, FOLDER "/%s", below);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (ends(entry->d_name, ".jsonl")) {
            (void)snprintf(name, sizeof name, "%s%.200s", below, entry->d_name);
            compare(name);
            n++;
        }
    closedir(folder);
    return n;
}

static void every_value_is_what_its_writer_says(void **state)
{
    (void)state;
    assert_true(compare_all("") >= 25);
    assert_true(compare_all("datasets_folder/") == 2);
}

/* ---- Places ---- */

static void put_row(const struct json *row, struct buf *out)
{
    buf_clear(out);
    json_write(out, row);
}

/* Forth and back, over row groups, pages and batches. */
static void seek_everywhere(const char *name, int64_t n_rows)
{
    struct arena *arena = arena_open(ARENA_BYTES);
    struct rows *rows = open_sample(name), *steady = open_sample(name);
    struct row_place place;
    struct buf want, got;
    struct error err;

    buf_init(&want, ARENA_BYTES);
    buf_init(&got, ARENA_BYTES);
    for (int64_t i = 0; i < n_rows; i++) {
        int64_t at = i * 7919 % n_rows;

        rows_close(steady);
        steady = open_sample(name);
        for (int64_t k = 0; k <= at; k++) {
            const struct json *row = next_row(steady, arena, &place);
            if (k == at)
                put_row(row, &want);
        }
        assert_int_equal(rows_seek(rows, at, at + 5, &err), OK);
        put_row(next_row(rows, arena, &place), &got);
        assert_int_equal(place.at, at);
        assert_int_equal(place.row, at + 5);
        assert_string_equal(want.p, got.p);
    }
    buf_free(&want);
    buf_free(&got);
    rows_close(rows);
    rows_close(steady);
    arena_close(arena);
}

static void a_row_is_found_again_by_its_number(void **state)
{
    (void)state;
    seek_everywhere("pyarrow_many_pages.parquet", 300);
    seek_everywhere("pyarrow_zstd_v2.parquet", 5);
    seek_everywhere("pyarrow_lz4.parquet", 5);
    seek_everywhere("duckdb_zstd_v2.parquet", 60);
    seek_everywhere("pyarrow_stream_zstd_deltas.arrow", 5);
    seek_everywhere("pyarrow_feather.arrow", 300);
}

static void the_raw_source_is_the_row_as_json_and_moves_nothing(void **state)
{
    struct arena *arena = arena_open(ARENA_BYTES);
    struct rows *rows = open_sample("pyarrow_many_pages.parquet");
    struct row_place first, place;
    struct error err;
    struct str raw;

    (void)state;
    assert_non_null(next_row(rows, arena, &first));
    assert_non_null(next_row(rows, arena, &place));
    assert_int_equal(rows_raw(rows, &first, 1000, arena, &raw, &err), OK);
    assert_true(str_is(raw, "{\"step\":0,\"loss\":2.0,\"note\":\"warm\"}"));
    assert_int_equal(rows_raw(rows, &first, 4, arena, &raw, &err), OK);
    assert_true(str_is(raw, "{\"st"));
    assert_non_null(next_row(rows, arena, &place));
    assert_int_equal(place.at, 2);
    rows_close(rows);
    arena_close(arena);
}

static bool is_loss(void *ctx, const struct json *example)
{
    (void)ctx;
    return str_is(example->key, "loss");
}

static void columns_that_are_not_chosen_are_not_there(void **state)
{
    static const char *const NAMES[] = {"pyarrow_many_pages.parquet", "pyarrow_feather.arrow"};
    struct arena *arena = arena_open(ARENA_BYTES);

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct rows *rows = open_sample(NAMES[i]);
        struct row_place place;

        assert_int_equal(rows_example(rows)->n, 3);
        assert_int_equal(json_get(rows_example(rows), "note")->type, JSON_STRING);
        rows_choose_columns(rows, is_loss, NULL);
        const struct json *row = next_row(rows, arena, &place);
        assert_int_equal(row->n, 1);
        assert_true(row->child->number == 2.0);
        rows_close(rows);
    }
    arena_close(arena);
}

/* ---- Damage ---- */

struct sample {
    char *bytes;
    size_t n;
};

static struct sample load(const char *name)
{
    char path[300];
    struct sample out = {NULL, 0};
    struct error err;

    (void)snprintf(path, sizeof path, FOLDER "/%s", name);
    assert_int_equal(source_slurp(path, 1 << 20, &out.bytes, &out.n, &err), OK);
    return out;
}

/* Reads to the end: how many rows, and what was said. */
struct outcome {
    int rc;
    int64_t n_good, n_bad;
    struct error first, last;
};

static struct outcome read_bytes(const char *bytes, size_t n)
{
    struct arena *arena = arena_open(ARENA_BYTES);
    struct outcome out = {.rc = 0};
    struct source_file *file;
    struct rows *rows = NULL;
    const struct json *row;
    struct row_place place;
    struct error why;

    assert_non_null(arena);
    assert_int_equal(source_open_bytes(&file, "damaged", bytes, n, &out.last), OK);
    out.rc = rows_open_source(&rows, file, "damaged", &out.last);
    while (out.rc == OK) {
        int got = rows_next(rows, arena, &row, &place, &why, &out.last);

        if (got < 0)
            out.rc = got;
        if (got <= 0)
            break;
        if (!row && out.n_bad++ == 0)
            out.first = why;
        out.n_good += row != NULL;
        if (out.n_good + out.n_bad > 5000)
            break; /* a lie about the number of rows: enough was seen */
        arena_reset(arena);
    }
    rows_close(rows);
    arena_close(arena);
    return out;
}

/* Something must have been said, unless all rows are there. */
static void check_cut(const struct sample *sample, size_t n, int64_t n_rows)
{
    char *bytes = malloc(n + 1);

    assert_non_null(bytes);
    memcpy(bytes, sample->bytes, n);
    struct outcome out = read_bytes(bytes, n);
    free(bytes);
    if (out.rc == OK && out.n_bad == 0 && out.n_good > n_rows)
        fail_msg("cut at %zu it has %lld rows", n, (long long)out.n_good);
    if (out.rc != OK && out.last.message[0] == '\0')
        fail_msg("cut at %zu nothing is said", n);
}

static uint32_t random_of(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static const char *const DAMAGED[] = {
    "pyarrow_snappy.parquet",   "pyarrow_zstd_v2.parquet", "pyarrow_encodings.parquet",
    "duckdb_zstd_v2.parquet",   "pyarrow_stream.arrow",    "pyarrow_file_lz4.arrow",
    "pyarrow_stream_zstd_deltas.arrow"};

#define N_DAMAGED (sizeof DAMAGED / sizeof *DAMAGED)

static void a_cut_file_gives_what_is_whole_and_says_so(void **state)
{
    uint32_t seed = 1;

    (void)state;
    for (size_t i = 0; i < N_DAMAGED; i++) {
        struct sample sample = load(DAMAGED[i]);
        int64_t n_rows = read_bytes(sample.bytes, sample.n).n_good;

        assert_true(n_rows >= 5);
        for (size_t n = 0; n < 256; n++) {
            check_cut(&sample, n, n_rows);
            check_cut(&sample, sample.n - 1 - n, n_rows);
        }
        for (size_t k = 0; k < 200; k++)
            check_cut(&sample, random_of(&seed) % sample.n, n_rows);
        free(sample.bytes);
    }
}

static void flipped_bits_are_survived(void **state)
{
    uint32_t seed = 2;

    (void)state;
    for (size_t i = 0; i < N_DAMAGED; i++) {
        struct sample sample = load(DAMAGED[i]);

        for (size_t k = 0; k < 600; k++) {
            size_t at[4];
            size_t n = 1 + k % 4;

            for (size_t m = 0; m < n; m++) {
                at[m] = random_of(&seed) % sample.n;
                sample.bytes[at[m]] = (char)(sample.bytes[at[m]] ^ (1 << (random_of(&seed) % 8)));
            }
            char *before = malloc(sample.n);
            assert_non_null(before);
            memcpy(before, sample.bytes, sample.n);
            struct outcome out = read_bytes(before, sample.n);
            if (out.rc != OK && out.last.message[0] == '\0')
                fail_msg("%s: nothing is said", DAMAGED[i]);
            free(before);
            if (k % 16 == 15) { /* damage adds up, then it begins anew */
                free(sample.bytes);
                sample = load(DAMAGED[i]);
            }
        }
        free(sample.bytes);
    }
}

static void a_stream_without_its_end_gives_its_batches(void **state)
{
    struct sample sample = load("pyarrow_stream.arrow");

    (void)state;
    assert_int_equal(read_bytes(sample.bytes, sample.n - 8).n_good, 5); /* no mark of the end */
    struct outcome out = read_bytes(sample.bytes, sample.n - 100);      /* inside the last batch */
    assert_int_equal(out.n_good, 4);
    assert_int_equal(out.rc, E_PARSE);
    assert_string_equal(out.last.message,
                        "a message of an Arrow file: the file ends inside its data");
    assert_true(out.last.byte > 0);
    free(sample.bytes);
}

static void a_parquet_file_without_its_end_says_why(void **state)
{
    struct sample sample = load("pyarrow_snappy.parquet");
    struct outcome out = read_bytes(sample.bytes, sample.n - 1);

    (void)state;
    assert_int_equal(out.rc, E_PARSE);
    assert_non_null(strstr(out.last.message, "it is cut, or still written"));
    free(sample.bytes);
}

static void a_footer_longer_than_the_file_is_refused(void **state)
{
    struct sample sample = load("pyarrow_snappy.parquet");

    (void)state;
    memset(sample.bytes + sample.n - 8, 0x7f, 4);
    struct outcome out = read_bytes(sample.bytes, sample.n);
    assert_int_equal(out.rc, E_PARSE);
    assert_non_null(strstr(out.last.message, "longer than the file"));
    free(sample.bytes);
}

static void a_damaged_page_costs_the_rest_of_its_row_group(void **state)
{
    struct sample sample = load("pyarrow_many_pages.parquet");

    (void)state;
    memset(sample.bytes + 200, 0xff, 8);
    struct outcome out = read_bytes(sample.bytes, sample.n);
    assert_int_equal(out.rc, OK);
    assert_int_equal(out.n_good + out.n_bad, 300);
    assert_true(out.n_bad > 0 && out.n_bad <= 128);
    assert_true(out.first.byte > 0);
    assert_non_null(strstr(out.first.message, "column step: a page that cannot be read"));
    free(sample.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_is_what_its_writer_says),
        cmocka_unit_test(a_row_is_found_again_by_its_number),
        cmocka_unit_test(the_raw_source_is_the_row_as_json_and_moves_nothing),
        cmocka_unit_test(columns_that_are_not_chosen_are_not_there),
        cmocka_unit_test(a_cut_file_gives_what_is_whole_and_says_so),
        cmocka_unit_test(flipped_bits_are_survived),
        cmocka_unit_test(a_stream_without_its_end_gives_its_batches),
        cmocka_unit_test(a_parquet_file_without_its_end_says_why),
        cmocka_unit_test(a_footer_longer_than_the_file_is_refused),
        cmocka_unit_test(a_damaged_page_costs_the_rest_of_its_row_group),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
