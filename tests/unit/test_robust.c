/* Medians, quantiles, trimmed means, noise and Theil–Sen slopes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats/robust.h"

#define N(array) (sizeof(array) / sizeof *(array))

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g, expected %.17g", value, expected);
}

static void median_of_an_even_count_is_the_mean_of_the_middle_two(void **state)
{
    (void)state;
    near(stat_median((const double[]){4, 1, 3, 2}, 4), 2.5, 0);
    near(stat_median((const double[]){9, 1, 5}, 3), 5, 0);
    near(stat_median((const double[]){7}, 1), 7, 0);
}

static void nothing_has_no_number(void **state)
{
    (void)state;
    assert_true(isnan(stat_median(NULL, 0)));
    assert_true(isnan(stat_mad(NULL, 0)));
    assert_true(isnan(stat_mean(NULL, 0)));
    assert_true(isnan(stat_quantile(NULL, 0, 0.5)));
    assert_true(isnan(stat_trimmed_mean(NULL, 0, 0.1)));
    assert_true(isnan(stat_sd((const double[]){1}, 1)));
    assert_true(isnan(stat_noise((const double[]){1, 2}, 2)));
}

static void inputs_stay_as_they_were(void **state)
{
    (void)state;
    double x[] = {3, 1, 2};
    (void)stat_median(x, 3);
    (void)stat_mad(x, 3);
    (void)stat_trimmed_mean(x, 3, 0.4);
    near(x[0], 3, 0);
    near(x[1], 1, 0);
    near(x[2], 2, 0);
}

static void deviation_is_measured_from_the_median(void **state)
{
    (void)state;
    near(stat_mad((const double[]){1, 1, 2, 2, 4, 6, 9}, 7), 1, 0);
}

static void quantile_is_the_value_at_the_nearest_rank(void **state)
{
    (void)state;
    double x[100];
    for (size_t i = 0; i < N(x); i++)
        x[i] = (double)(N(x) - i); /* 100 … 1 */
    near(stat_quantile(x, N(x), 0.95), 95, 0);
    near(stat_quantile(x, N(x), 0.07), 7, 0); /* 0.07 * 100 is 7.000000000000001 */
    near(stat_quantile(x, N(x), 0.951), 96, 0);
    near(stat_quantile(x, N(x), 0.0), 1, 0);
    near(stat_quantile(x, N(x), 1.0), 100, 0);
}

static void trimmed_mean_drops_the_floor_of_the_share_at_each_end(void **state)
{
    (void)state;
    double x[] = {1000, 1, 2, 3, 4, 5, 6, 7, 8, -1000};
    near(stat_trimmed_mean(x, 10, 0.1), 4.5, 1e-12);
    near(stat_trimmed_mean(x, 9, 0.1), 1036.0 / 9.0, 1e-9);
    assert_true(isnan(stat_trimmed_mean(x, 2, 0.5)));
}

static void sample_deviation_divides_by_one_less(void **state)
{
    (void)state;
    near(stat_sd((const double[]){2, 4, 4, 4, 5, 5, 7, 9}, 8), 2.13808993529939, 1e-12);
}

static void noise_ignores_a_steady_trend(void **state)
{
    (void)state;
    double line[200], zigzag[201];
    for (size_t i = 0; i < N(line); i++)
        line[i] = 0.5 * (double)i;
    for (size_t i = 0; i < N(zigzag); i++)
        zigzag[i] = 0.5 * (double)i + (i % 2 ? 1.0 : 0.0);
    near(stat_noise(line, N(line)), 0.0, 1e-12);
    /* differences 1.5 and -0.5 in equal number: each 1 from their median 0.5 */
    near(stat_noise(zigzag, N(zigzag)), 1.4826 / sqrt(2.0), 1e-12);
}

static void slope_survives_an_outlier(void **state)
{
    (void)state;
    double x[20], y[20];
    for (size_t i = 0; i < N(x); i++) {
        x[i] = (double)i;
        y[i] = 2.0 * (double)i + 1.0;
    }
    y[10] = 1e6;
    struct slope slope;
    assert_true(stat_theil_sen(x, y, N(x), &slope));
    near(slope.slope, 2.0, 1e-12);
    assert_true(slope.low <= 2.0 && slope.high >= 2.0);
    assert_true(slope.low > 1.9 && slope.high < 2.1);
}

static void slope_interval_of_pure_noise_holds_zero(void **state)
{
    (void)state;
    double x[40], y[40];
    for (size_t i = 0; i < N(x); i++) {
        x[i] = (double)i;
        y[i] = (double)(i * 7919 % 41);
    }
    struct slope slope;
    assert_true(stat_theil_sen(x, y, N(x), &slope));
    assert_true(slope.low < 0.0 && slope.high > 0.0);
}

static void slope_of_many_points_uses_some_of_them(void **state)
{
    (void)state;
    static double x[5000], y[5000];
    for (size_t i = 0; i < N(x); i++) {
        x[i] = (double)i;
        y[i] = -3.0 * (double)i;
    }
    struct slope slope;
    assert_true(stat_theil_sen(x, y, N(x), &slope));
    near(slope.slope, -3.0, 1e-12);
}

static void slope_needs_three_points_and_two_places(void **state)
{
    (void)state;
    struct slope slope;
    double same[] = {1, 1, 1}, y[] = {1, 2, 3};
    assert_false(stat_theil_sen(y, y, 2, &slope));
    assert_false(stat_theil_sen(same, y, 3, &slope));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Shapes that a choice of pivots may stumble over. */
static double value_of(int shape, size_t i, size_t n)
{
    switch (shape) {
    case 0:
        return (double)(i * 7919 % 10007);
    case 1:
        return (double)i;
    case 2:
        return (double)(n - i);
    case 3:
        return (double)(i < n / 2 ? i : n - i);
    case 4:
        return 1.0;
    case 5:
        return i % 2 ? INFINITY : -INFINITY;
    default:
        return (double)(i * 31 % 3);
    }
}

static void ranks_are_those_of_a_sorted_copy(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 24, 25, 26, 50, 128, 129, 130, 999, 1000, 20000};
    static double x[20000], sorted[20000];

    (void)state;
    for (size_t s = 0; s < N(sizes); s++)
        for (int shape = 0; shape < 7; shape++) {
            size_t n = sizes[s];
            for (size_t i = 0; i < n; i++)
                x[i] = value_of(shape, i, n);
            memcpy(sorted, x, n * sizeof *x);
            qsort(sorted, n, sizeof *sorted, by_value);
            for (size_t rank = 1; rank <= n; rank += 1 + n / 7)
                assert_true(stat_quantile(x, n, (double)rank / (double)n) == sorted[rank - 1]);
            double median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0;
            double got = stat_median(x, n);
            assert_true(got == median || (isnan(got) && isnan(median)));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_those_of_a_sorted_copy),
        cmocka_unit_test(median_of_an_even_count_is_the_mean_of_the_middle_two),
        cmocka_unit_test(nothing_has_no_number),
        cmocka_unit_test(inputs_stay_as_they_were),
        cmocka_unit_test(deviation_is_measured_from_the_median),
        cmocka_unit_test(quantile_is_the_value_at_the_nearest_rank),
        cmocka_unit_test(trimmed_mean_drops_the_floor_of_the_share_at_each_end),
        cmocka_unit_test(sample_deviation_divides_by_one_less),
        cmocka_unit_test(noise_ignores_a_steady_trend),
        cmocka_unit_test(slope_survives_an_outlier),
        cmocka_unit_test(slope_interval_of_pure_noise_holds_zero),
        cmocka_unit_test(slope_of_many_points_uses_some_of_them),
        cmocka_unit_test(slope_needs_three_points_and_two_places),
    };
    return cmocka_run_group_tests_name("robust", tests, NULL, NULL);
}
