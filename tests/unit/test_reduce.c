/* Smoothing and reduction: nothing planted is lost at any width. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "core/base/random.h"
#include "core/stats/reduce.h"

static struct arena *arena;

static int open_arena(void **state)
{
    (void)state;
    arena = arena_open((size_t)512 << 20);
    return arena ? 0 : -1;
}

static int close_arena(void **state)
{
    (void)state;
    arena_close(arena);
    return 0;
}

static double *doubles(size_t n)
{
    double *x = arena_array(arena, n, sizeof *x);
    assert_non_null(x);
    return x;
}

static void ema_gives_the_worked_vector(void **state)
{
    const double y[] = {3.0, 2.9, NAN, 2.8, 10, 2.7};
    const double wanted[] = {3.0, 2.9474, NAN, 2.8930, 4.9596, 4.4078};
    double out[6];
    (void)state;

    smooth_ema(y, NULL, 6, 0.9, out);
    for (size_t i = 0; i < 6; i++) {
        if (isnan(wanted[i]))
            assert_true(isnan(out[i]));
        else
            assert_true(fabs(out[i] - wanted[i]) < 5e-5);
    }
}

static void ema_starts_anew_at_a_segment(void **state)
{
    const double y[] = {1, 2, 7, 8};
    const int32_t segment[] = {0, 0, 1, 1};
    double out[4];
    (void)state;

    smooth_ema(y, segment, 4, 0.9, out);
    assert_true(out[2] == 7);
}

static void ema_returns_constants_and_passes_infinities(void **state)
{
    const double constant[] = {0.1, 0.1, 0.1}, mixed[] = {1, INFINITY, -INFINITY, 1.5};
    double out[4];
    (void)state;

    smooth_ema(constant, NULL, 3, 0.9, out);
    assert_memory_equal(out, constant, sizeof constant);
    smooth_ema(mixed, NULL, 4, 0.9, out);
    assert_true(out[1] == INFINITY && out[2] == -INFINITY && isfinite(out[3]));
}

/* Every column of the walk, and the sum of what it saw. */
static struct column *walk_columns(const struct series_blocks *blocks, const double *x,
                                   const struct reduce_axis *axis)
{
    struct column *columns = arena_array(arena, axis->n_columns, sizeof *columns), one;
    struct column_walk walk;
    size_t at;

    column_walk_begin(&walk, axis, blocks, x, 0, blocks->n);
    while (column_walk_next(&walk, &one, &at)) {
        assert_true(at < axis->n_columns);
        assert_int_equal(columns[at].n + columns[at].n_nan, 0);
        columns[at] = one;
    }
    return columns;
}

static void assert_same_column(const struct column *a, const struct column *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->n_nan, b->n_nan);
    assert_int_equal(a->n_pos_inf, b->n_pos_inf);
    assert_int_equal(a->n_neg_inf, b->n_neg_inf);
    assert_int_equal(a->n_zero, b->n_zero);
    assert_int_equal(a->n_not_positive, b->n_not_positive);
    if (a->n)
        assert_true(a->first == b->first && a->last == b->last && a->low == b->low &&
                    a->high == b->high);
}

#define LENGTH 20000

static void planted_points_show_at_every_width(void **state)
{
    struct random random;
    double *x = doubles(LENGTH), *y = doubles(LENGTH);
    struct series_blocks blocks;
    const size_t nan_at = 4096, inf_at = 4160, low_at = 12345, spike_at = 19999, zero_at = 63;
    (void)state;

    random_seed(&random, 7);
    for (size_t i = 0; i < LENGTH; i++) {
        x[i] = (double)i * 3;
        y[i] = 1 + random_unit(&random);
    }
    y[nan_at] = NAN;
    y[inf_at] = INFINITY;
    y[low_at] = -INFINITY;
    y[spike_at] = 1000;
    y[zero_at] = 0;
    assert_true(series_blocks_build(&blocks, y, NULL, LENGTH, arena));
    for (size_t width = 10; width <= 400; width++) {
        struct reduce_axis axis = {.low = 0, .high = x[LENGTH - 1], .n_columns = width};
        struct column *columns = walk_columns(&blocks, x, &axis);
        struct column *plain = arena_array(arena, width, sizeof *plain);
        reduce_columns(x, y, LENGTH, axis.low, axis.high, plain, width);
        assert_true(columns[axis_column(&axis, x[nan_at])].n_nan == 1);
        assert_true(columns[axis_column(&axis, x[inf_at])].n_pos_inf == 1);
        assert_true(columns[axis_column(&axis, x[low_at])].n_neg_inf == 1);
        assert_true(columns[axis_column(&axis, x[zero_at])].n_zero == 1);
        assert_true(columns[width - 1].high == 1000);
        for (size_t i = 0; i < width; i++)
            assert_same_column(&columns[i], &plain[i]);
    }
}

static void blocks_agree_with_points_on_any_stretch(void **state)
{
    struct random random;
    double *x = doubles(LENGTH), *y = doubles(LENGTH);
    struct series_blocks blocks;
    (void)state;

    random_seed(&random, 3);
    for (size_t i = 0; i < LENGTH; i++) {
        x[i] = (double)i;
        y[i] = random_below(&random, 50) == 0 ? NAN : random_unit(&random) - 0.2;
    }
    assert_true(series_blocks_build(&blocks, y, NULL, LENGTH, arena));
    for (int i = 0; i < 300; i++) {
        size_t from = (size_t)random_below(&random, LENGTH);
        size_t end = from + (size_t)random_below(&random, LENGTH - from);
        struct column fast, slow;
        series_blocks_range(&blocks, from, end, &fast);
        reduce_columns(x + from, y + from, end - from, 0, LENGTH, &slow, 1);
        assert_same_column(&fast, &slow);
    }
}

static void more_data_change_no_complete_column(void **state)
{
    double *x = doubles(LENGTH), *y = doubles(LENGTH);
    struct reduce_axis axis = {.low = 0, .high = LENGTH, .n_columns = 97};
    struct series_blocks some, all;
    (void)state;

    for (size_t i = 0; i < LENGTH; i++) {
        x[i] = (double)i;
        y[i] = sin((double)i / 50) + (i % 911 == 0 ? 5 : 0);
    }
    assert_true(series_blocks_build(&some, y, NULL, LENGTH / 2, arena));
    assert_true(series_blocks_build(&all, y, NULL, LENGTH, arena));
    struct column *before = walk_columns(&some, x, &axis), *after = walk_columns(&all, x, &axis);
    size_t last = (size_t)axis_column(&axis, x[LENGTH / 2 - 1]);
    assert_true(last > 40);
    assert_memory_equal(before, after, last * sizeof *before);
}

static void each_point_is_in_one_column_and_the_edges_are_in(void **state)
{
    const struct reduce_axis axis = {.low = 10, .high = 20, .n_columns = 4};
    const struct reduce_axis logarithmic = {.low = 1, .high = 1000, .is_log = true,
                                            .takes_lower = true, .n_columns = 30};
    (void)state;

    assert_int_equal(axis_column(&axis, 9.999), -1);
    assert_int_equal(axis_column(&axis, 10), 0);
    assert_int_equal(axis_column(&axis, 20), 3);
    assert_int_equal(axis_column(&axis, 20.001), 4);
    assert_int_equal(axis_column(&axis, NAN), 4);
    assert_int_equal(axis_column(&axis, INFINITY), 4);
    assert_int_equal(axis_column(&axis, -INFINITY), -1);
    assert_int_equal(axis_column(&logarithmic, 0), 0);
    assert_int_equal(axis_column(&logarithmic, 11), 10);
    assert_int_equal(axis_column(&logarithmic, 1000), 29);
}

static void extreme_ranges_give_columns_inside_the_axis(void **state)
{
    const struct reduce_axis axis = {.low = -1.7e308, .high = 1.7e308, .n_columns = 10};
    (void)state;

    assert_int_equal(axis_column(&axis, -1.7e308), 0);
    assert_int_equal(axis_column(&axis, 0), 5);
    assert_int_equal(axis_column(&axis, 1.7e308), 9);
}

static void lone_spikes_are_marked(void **state)
{
    double y[200];
    bool is_spike[200];
    (void)state;

    for (size_t i = 0; i < 200; i++)
        y[i] = 2 + 0.01 * (double)(i % 7);
    y[50] = 40;
    y[120] = y[121] = 30;
    assert_int_equal(reduce_spikes(y, NULL, 200, is_spike), 3);
    assert_true(is_spike[50] && is_spike[120] && is_spike[121]);
}

static void start_end_divergence_and_onset_are_never_spikes(void **state)
{
    double y[200];
    bool is_spike[200];
    (void)state;

    for (size_t i = 0; i < 200; i++)
        y[i] = i < 10 ? 12 - (double)i : i >= 150 ? 50 + (double)i : 2 + 0.01 * (double)(i % 5);
    y[199] = 1000;                      /* the last value */
    assert_int_equal(reduce_spikes(y, NULL, 200, is_spike), 0);
    for (size_t i = 0; i < 200; i++)
        y[i] = i >= 102 ? NAN : i >= 100 ? 90 : 2 + 0.01 * (double)(i % 5);
    assert_int_equal(reduce_spikes(y, NULL, 200, is_spike), 0);
}

static void a_long_run_keeps_its_spikes(void **state)
{
    size_t n = 100000, at = 77777;
    double *y = doubles(n);
    bool *is_spike = arena_array(arena, n, sizeof *is_spike);
    struct random random;
    (void)state;

    random_seed(&random, 11);
    for (size_t i = 0; i < n; i++)
        y[i] = 1 + 0.1 * random_unit(&random);
    y[at] = 500;
    assert_int_equal(reduce_spikes(y, NULL, n, is_spike), 1);
    assert_true(is_spike[at]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ema_gives_the_worked_vector),
        cmocka_unit_test(ema_starts_anew_at_a_segment),
        cmocka_unit_test(ema_returns_constants_and_passes_infinities),
        cmocka_unit_test(planted_points_show_at_every_width),
        cmocka_unit_test(blocks_agree_with_points_on_any_stretch),
        cmocka_unit_test(more_data_change_no_complete_column),
        cmocka_unit_test(each_point_is_in_one_column_and_the_edges_are_in),
        cmocka_unit_test(extreme_ranges_give_columns_inside_the_axis),
        cmocka_unit_test(lone_spikes_are_marked),
        cmocka_unit_test(start_end_divergence_and_onset_are_never_spikes),
        cmocka_unit_test(a_long_run_keeps_its_spikes),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
