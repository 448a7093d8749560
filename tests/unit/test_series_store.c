/* Points: written in blocks, read back as columns, exactly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/columns.h"
#include "core/store/sink.h"
#include "core/store/store.h"
#include "tests/harness/tempdir.h"

static const struct run RUN = {.key = "k", .folder = "/run", .name = "run"};
static const struct source SOURCE = {.path = "/run/log", .importer = "log", .size = 1};

struct fixture {
    struct store *store;
    struct sink *sink;
    struct arena *arena;
    struct error err;
    char *folder;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = tempdir_make();

    struct store_options options = {.in_memory = true,
                                    .kept_path = tempdir_path(f->folder, "triage.db")};

    assert_int_equal(store_open(&f->store, &options, &f->err), OK);
    assert_int_equal(sink_open_store(&f->sink, f->store, &f->err), OK);
    assert_int_equal(sink_begin(f->sink, &RUN, &SOURCE, &f->err), OK);
    f->arena = arena_open(ARENA_CHECK_BYTES);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    sink_close(f->sink);
    store_close(f->store);
    arena_close(f->arena);
    tempdir_remove(f->folder);
    free(f);
    return 0;
}

static void put(struct fixture *f, const char *name, struct point point)
{
    int handle;

    assert_int_equal(sink_series(f->sink, name, NULL, &handle, &f->err), OK);
    assert_int_equal(sink_point(f->sink, handle, &point, &f->err), OK);
}

static const struct series *list(struct fixture *f, size_t *n)
{
    const struct series *series;
    struct run run;

    assert_int_equal(store_run_find(f->store, "k", f->arena, &run, &f->err), OK);
    assert_int_equal(store_series(f->store, run.id, f->arena, &series, n, &f->err), OK);
    return series;
}

static struct point_columns load(struct fixture *f, const char *name)
{
    struct point_columns points = {0};
    size_t n;
    const struct series *series = list(f, &n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(series[i].raw_name, name) == 0) {
            assert_int_equal(store_points(f->store, series[i].id, f->arena, &points, &f->err), OK);
            assert_int_equal(points.n, series[i].n_points);
        }
    return points;
}

static void finish(struct fixture *f)
{
    assert_int_equal(sink_end(f->sink, 1, SOURCE_WHOLE, &f->err), OK);
}

static void every_double_comes_back_bit_for_bit(void **state)
{
    struct fixture *f = *state;
    uint64_t quiet = 0x7ff8000000000123u, back;
    double odd_nan;
    memcpy(&odd_nan, &quiet, sizeof odd_nan);
    const double values[] = {0.0, -0.0, 0.1, -1e308, 5e-324, INFINITY, -INFINITY, NAN, odd_nan};
    size_t n = sizeof values / sizeof values[0];

    for (size_t i = 0; i < n; i++)
        put(f, "x", (struct point){.seq = (int64_t)i, .value = values[i], .wall = NAN});
    finish(f);

    struct point_columns got = load(f, "x");

    assert_int_equal(got.n, n);
    assert_memory_equal(got.value, values, sizeof values);
    memcpy(&back, &got.value[8], 8);
    assert_true(back == quiet);
}

static void places_steps_and_segments_come_back(void **state)
{
    struct fixture *f = *state;
    const struct point points[] = {
        {.seq = 0, .segment = 0, .step = 10, .line = 1, .value = 1, .wall = 17.5},
        {.seq = 1, .segment = 0, .step = 20, .line = NONE, .value = 2, .wall = NAN},
        {.seq = 5, .segment = 0, .step = NONE, .line = 3, .value = 3, .wall = NAN},
        {.seq = 6, .segment = 1, .step = 0, .line = INT64_MAX, .value = 4, .wall = NAN},
        {.seq = 7, .segment = 2, .step = INT64_MAX, .line = 0, .value = 5, .wall = NAN},
        {.seq = 7, .segment = 0, .step = 0, .line = 1, .value = 6, .wall = NAN},
    };
    size_t n = sizeof points / sizeof points[0];

    for (size_t i = 0; i < n; i++)
        put(f, "x", points[i]);
    finish(f);

    struct point_columns got = load(f, "x");

    assert_int_equal(got.n, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(got.seq[i], points[i].seq);
        assert_int_equal(got.step[i], points[i].step);
        assert_int_equal(got.line[i], points[i].line);
        assert_int_equal(got.segment[i], points[i].segment);
    }
}

static void a_series_without_steps_or_lines_has_none(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 3; i++)
        put(f, "x", (struct point){.seq = i, .segment = 4, .step = NONE, .line = NONE,
                                   .value = i, .wall = NAN});
    finish(f);

    struct point_columns got = load(f, "x");

    for (int i = 0; i < 3; i++) {
        assert_int_equal(got.step[i], NONE);
        assert_int_equal(got.line[i], NONE);
        assert_int_equal(got.segment[i], 4);
    }
}

/* Block borders at 4,096, several series at once, a resume in the middle of a block. */
static void long_series_come_back_whole(void **state)
{
    enum { N = 10000 };
    struct fixture *f = *state;

    for (int i = 0; i < N; i++) {
        put(f, "loss", (struct point){.seq = i, .segment = i / 3000, .step = i % 3000,
                                      .line = i + 1, .value = i * 0.5, .wall = NAN});
        if (i % 10 == 0)
            put(f, "eval", (struct point){.seq = i, .step = i, .line = i + 1, .value = -i,
                                          .wall = NAN});
    }
    finish(f);

    struct point_columns loss = load(f, "loss"), eval = load(f, "eval");

    assert_int_equal(loss.n, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(loss.seq[i], i);
        assert_int_equal(loss.segment[i], i / 3000);
        assert_int_equal(loss.step[i], i % 3000);
        assert_int_equal(loss.line[i], i + 1);
        assert_true(loss.value[i] == i * 0.5);
    }
    assert_int_equal(eval.n, N / 10);
    for (int i = 0; i < N / 10; i++) {
        assert_int_equal(eval.seq[i], i * 10);
        assert_true(eval.value[i] == -i * 10);
    }
}

static int64_t id_of(struct fixture *f, const char *name)
{
    size_t n;
    const struct series *series = list(f, &n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(series[i].raw_name, name) == 0)
            return series[i].id;
    fail_msg("no series %s", name);
    return 0;
}

/* "twin" stands on the rows of "loss"; "late" differs from them in one line number near its end. */
static void metrics_of_the_same_rows_share_their_counts(void **state)
{
    enum { N = 10000, ODD = 9000 };
    struct fixture *f = *state;

    for (int i = 0; i < N; i++) {
        struct point point = {.seq = i, .segment = i / 7000, .step = 10 * i, .line = i + 1,
                              .value = i, .wall = NAN};

        put(f, "loss", point);
        put(f, "twin", point);
        point.line += i == ODD;
        put(f, "late", point);
        if (i > 0)
            put(f, "short", point);
    }
    finish(f);

    struct point_columns loss = load(f, "loss"), twin, late, shorter;

    assert_int_equal(
        store_points_beside(f->store, id_of(f, "twin"), &loss, f->arena, &twin, &f->err), OK);
    assert_ptr_equal(twin.step, loss.step);
    assert_ptr_equal(twin.seq, loss.seq);
    assert_ptr_equal(twin.line, loss.line);
    assert_ptr_equal(twin.segment, loss.segment);
    assert_true(twin.value != loss.value && twin.value[ODD] == ODD);
    assert_int_equal(
        store_points_beside(f->store, id_of(f, "late"), &loss, f->arena, &late, &f->err), OK);
    assert_ptr_equal(late.step, loss.step);
    for (int i = 0; i < N; i++)
        assert_int_equal(late.line[i], i + 1 + (i == ODD));
    assert_int_equal(
        store_points_beside(f->store, id_of(f, "short"), &loss, f->arena, &shorter, &f->err), OK);
    assert_int_equal(shorter.n, N - 1);
    assert_int_equal(shorter.step[0], 10);
    assert_int_equal(shorter.segment[N - 2], 1);
}

/* What opening a run asks for: over several blocks, where the last value is none. */
static void a_series_knows_its_greatest_step_and_its_last_value(void **state)
{
    enum { N = 9000 };
    struct fixture *f = *state;
    size_t n;

    for (int i = 0; i < N; i++) {
        put(f, "falls", (struct point){.seq = i, .step = i == 100 ? 70000 : i, .line = i + 1,
                                       .value = i < N - 1 ? i : NAN, .wall = NAN});
        put(f, "bare", (struct point){.seq = i, .step = NONE, .line = NONE, .value = NAN,
                                      .wall = NAN});
    }
    finish(f);

    const struct series *series = list(f, &n);

    assert_int_equal(n, 2);
    assert_true(series[0].is_summed && series[1].is_summed);
    assert_int_equal(series[0].max_step, 70000);
    assert_true(series[0].last_value == N - 2);
    assert_int_equal(series[1].max_step, NONE);
    assert_true(isnan(series[1].last_value));
}

/* So many series that none fills a block before all are written. */
static void thousands_of_series_stay_within_memory(void **state)
{
    enum { N_SERIES = 5000, N_ROWS = 120 };
    struct fixture *f = *state;
    int handles[N_SERIES];
    size_t n;

    for (int s = 0; s < N_SERIES; s++) {
        char name[32];

        snprintf(name, sizeof name, "m%d", s);
        assert_int_equal(sink_series(f->sink, name, NULL, &handles[s], &f->err), OK);
    }
    for (int row = 0; row < N_ROWS; row++)
        for (int s = 0; s < N_SERIES; s++) {
            struct point point = {.seq = row, .step = row, .line = row, .value = s, .wall = NAN};

            assert_int_equal(sink_point(f->sink, handles[s], &point, &f->err), OK);
        }
    finish(f);

    const struct series *series = list(f, &n);

    assert_int_equal(n, N_SERIES);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(series[i].n_points, N_ROWS);

    struct point_columns got = load(f, "m4999");

    assert_int_equal(got.n, N_ROWS);
    for (int i = 0; i < N_ROWS; i++) {
        assert_int_equal(got.seq[i], i);
        assert_true(got.value[i] == 4999);
    }
}

static void an_unknown_series_has_no_points(void **state)
{
    struct fixture *f = *state;
    struct point_columns got = {.n = 7};

    assert_int_equal(store_points(f->store, 12345, f->arena, &got, &f->err), OK);
    assert_int_equal(got.n, 0);
}

static void a_small_arena_is_an_error_not_half_a_series(void **state)
{
    struct fixture *f = *state;
    struct arena *small = arena_open(1000);
    struct point_columns got = {.n = 7};
    size_t n;

    for (int i = 0; i < 100; i++)
        put(f, "x", (struct point){.seq = i, .value = i, .wall = NAN});
    finish(f);

    const struct series *series = list(f, &n);

    assert_int_equal(store_points(f->store, series[0].id, small, &got, &f->err), E_NOMEM);
    assert_int_equal(got.n, 7);
    arena_close(small);
}

/* ---- The encoding --------------------------------------------------------------------------- */

static void columns_refuse_bytes_that_they_did_not_make(void **state)
{
    static const struct {
        const char *what;
        uint8_t bytes[16];
        size_t n_bytes, n;
        bool is_good;
    } CASES[] = {
        {"one value", {1}, 1, 1, true},
        {"too few bytes", {1}, 1, 2, false},
        {"too many bytes", {1, 1}, 2, 1, false},
        {"a cut varint", {0x80}, 1, 1, false},
        {"an endless varint",
         {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
         12,
         1,
         false},
        {"a value below zero", {2}, 1, 1, false},
        {"a repeat", {3, 0x80, 0x00, 3}, 4, 4, true},
        {"a repeat of what is not stated", {0, 0x80, 0x00, 1}, 4, 2, true},
        {"more repeats than rows", {3, 0x80, 0x00, 4}, 4, 4, false},
        {"repeats without end", {3, 0x80, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 10, 4, false},
        {"fewer repeats than rows", {3, 0x80, 0x00, 2}, 4, 4, false},
        {"a repeat without a number", {3, 0x80, 0x00}, 3, 2, false},
        {"a repeat below zero", {3, 2, 0x80, 0x00, 1}, 5, 3, false},
    };
    int64_t out[4];

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        bool is_good = column_decode(CASES[i].bytes, CASES[i].n_bytes, out, CASES[i].n);

        if (is_good != CASES[i].is_good)
            fail_msg("%s", CASES[i].what);
    }
    assert_true(column_decode(NULL, 0, out, 2));
    assert_int_equal(out[1], NONE);
}

/* Long and short runs, of steps, gaps and falls, in every order. */
static void columns_come_back_as_they_were(void **state)
{
    static const int64_t steps[] = {1, 1, 1, 0, 10, -3, 200, 70000, NONE};
    struct column column = {0};
    int64_t in[COLUMN_MAX_ROWS], out[COLUMN_MAX_ROWS], at = 5000000;

    (void)state;
    for (unsigned seed = 1; seed < 200; seed++) {
        uint32_t drawn = seed * 2654435761u;
        size_t n = 0;

        while (n < COLUMN_MAX_ROWS) {
            int64_t step = steps[(drawn >> 8) % (sizeof steps / sizeof *steps)];
            size_t run = 1 + (drawn >> 20) % (seed % 3 ? 9 : 900);

            for (; run && n < COLUMN_MAX_ROWS; run--)
                in[n++] = step == NONE ? NONE : (at += step);
            drawn = drawn * 1664525u + 1013904223u;
        }
        column_clear(&column);
        for (size_t i = 0; i < n; i++)
            assert_true(i % 2 ? column_add(&column, in[i]) : column_add_next(&column, in[i]));
        assert_true(column_end(&column));
        assert_true(column_decode(column.bytes, column.n, out, n));
        assert_memory_equal(in, out, sizeof in);
        assert_false(column_decode(column.bytes, column.n, out, n - 1));
    }
    column_free(&column);
}

/* Rows that follow one another cost a few bytes a block. */
static void a_steady_column_is_short(void **state)
{
    struct column column = {0};

    (void)state;
    for (int64_t i = 0; i < COLUMN_MAX_ROWS; i++)
        assert_true(column_add_next(&column, 70000 + 10 * i));
    assert_true(column_end(&column));
    assert_in_range(column.n, 4, 12);
    column_free(&column);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_double_comes_back_bit_for_bit),
        TEST(places_steps_and_segments_come_back),
        TEST(a_series_without_steps_or_lines_has_none),
        TEST(long_series_come_back_whole),
        TEST(metrics_of_the_same_rows_share_their_counts),
        TEST(a_series_knows_its_greatest_step_and_its_last_value),
        TEST(thousands_of_series_stay_within_memory),
        TEST(an_unknown_series_has_no_points),
        TEST(a_small_arena_is_an_error_not_half_a_series),
        cmocka_unit_test(columns_refuse_bytes_that_they_did_not_make),
        cmocka_unit_test(columns_come_back_as_they_were),
        cmocka_unit_test(a_steady_column_is_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
