/* Paired tests, Holm's rule and power, to the digits of CHECKS.md F15 and F17; the runs test. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "core/stats/paired.h"
#include "core/stats/runs_test.h"

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g, expected %.17g", value, expected);
}

static void mcnemar_meets_the_exact_values(void **state)
{
    static const struct {
        int64_t b, c;
        double p;
    } rows[] = {{0, 5, 0.0625},  {0, 6, 0.0312},  {5, 10, 0.3018},
                {3, 12, 0.0352}, {8, 20, 0.0357}, {0, 0, 1.0}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        near(mcnemar_p(rows[i].b, rows[i].c), rows[i].p, 6e-5);
        near(mcnemar_p(rows[i].c, rows[i].b), rows[i].p, 6e-5);
    }
    near(mcnemar_p(50000, 50000), 1.0, 1e-9);
    assert_true(mcnemar_p(0, 100000) < 1e-300);
    near(mcnemar_p(-1, 3), 1.0, 0.0);
}

static void newcombes_p_is_a_twentieth_where_the_interval_touches_nothing(void **state)
{
    (void)state;
    for (int64_t k = 40; k < 60; k++) {
        struct interval at = newcombe(40, 80, k, 80);
        double p = newcombe_p(40, 80, k, 80);

        assert_int_equal(at.low > 0.0 || at.high < 0.0, p < 0.05);
    }
    assert_true(newcombe_p(412, 500, 351, 500) < 1e-4);
    assert_true(isnan(newcombe_p(1, 1, 0, 0)));
}

static void the_items_needed_meet_the_table(void **state)
{
    static const struct {
        double effect, discordance, n;
    } rows[] = {{0.05, 0.1, 312}, {0.05, 0.2, 626}, {0.05, 0.3, 940}, {0.10, 0.2, 155}, {0.03, 0.2, 1742}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        near(items_needed(rows[i].effect, rows[i].discordance), rows[i].n, 1.0);
        near(items_needed(-rows[i].effect, rows[i].discordance), rows[i].n, 1.0);
    }
    near(items_needed_unpaired(0.70, 0.75), 1251, 0.0);
    assert_true(isnan(items_needed(0.0, 0.2)));
    near(items_needed(0.55 - 0.50, 0.05), 155, 0.0); /* all that differ do so one way; 0.55 - 0.50 > 0.05 */
    assert_true(isnan(items_needed(0.3, 0.2))); /* no more can change than differs */
    assert_true(isnan(items_needed_unpaired(0.5, 0.5)));
    assert_true(isnan(items_needed_unpaired(NAN, 0.5)));
}

static void the_smallest_effect_meets_the_table(void **state)
{
    static const struct {
        double n, effect;
    } rows[] = {{20, 0.2639}, {50, 0.1730}, {100, 0.1238}, {164, 0.0971}, {500, 0.0559}, {1000, 0.0396}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        near(smallest_effect(rows[i].n, 0.2), rows[i].effect, 6e-5);
    assert_true(isnan(smallest_effect(1, 0.2)));
}

static void holm_stops_at_the_first_that_is_not_rejected(void **state)
{
    const double p[] = {0.04, 0.001, NAN, 0.02, 0.024};
    bool rejects[5] = {false};

    (void)state;
    holm(p, 5, rejects);
    assert_true(rejects[1]);        /* 0.001 <= 0.05 / 4 */
    assert_false(rejects[3]);       /* 0.02 > 0.05 / 3 */
    assert_false(rejects[4] || rejects[0] || rejects[2]);
    const double all[] = {0.01, 0.02, 0.03};
    holm(all, 3, rejects);
    assert_true(rejects[0] && rejects[1] && rejects[2]);
}

static void items_of_a_group_widen_the_error(void **state)
{
    const double d[] = {1, 1, 1, 1, 0, 0, 0, 0};
    const int64_t cluster[] = {1, 1, 1, 1, 2, 2, 2, 2};
    struct paired_scores alone = paired_scores(d, NULL, 8), grouped = paired_scores(d, cluster, 8);

    (void)state;
    near(alone.mean, 0.5, 1e-12);
    near(alone.se, sqrt(2.0 / 56.0), 1e-12);
    near(grouped.se, sqrt(8.0) / 8.0, 1e-12);
    assert_true(grouped.p > alone.p);
    assert_true(isnan(paired_scores(d, NULL, 1).se));
}

static void discordant_items_make_the_interval(void **state)
{
    struct interval at = paired_binary(3, 12, 60);

    (void)state;
    near(at.low + at.high, 2.0 * 9.0 / 60.0, 1e-12);
    near(at.high - at.low, 2.0 * 1.959964 * sqrt(15.0 - 81.0 / 60.0) / 60.0, 1e-9);
    assert_true(isnan(paired_binary(0, 0, 0).low));
}

static void runs_of_mixed_rows_are_those_that_are_expected(void **state)
{
    const int64_t two[] = {10, 10}, three[] = {40, 40, 40}, one[] = {7, 0};

    (void)state;
    near(runs_test(two, 2, 11).expected, 11.0, 1e-12);
    near(runs_test(two, 2, 11).sd, sqrt(2.0 * 100.0 * 180.0 / (400.0 * 19.0)), 1e-9);
    near(runs_test(three, 3, 3).expected, 81.0, 1e-12);
    near(runs_test(three, 3, 3).ratio, 3.0 / 81.0, 1e-12);
    assert_true(runs_test(three, 3, 3).z < -10.0);
    assert_true(isnan(runs_test(one, 2, 1).ratio));
    assert_true(isnan(runs_test(NULL, 0, 0).ratio));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mcnemar_meets_the_exact_values),
        cmocka_unit_test(newcombes_p_is_a_twentieth_where_the_interval_touches_nothing),
        cmocka_unit_test(the_items_needed_meet_the_table),
        cmocka_unit_test(the_smallest_effect_meets_the_table),
        cmocka_unit_test(holm_stops_at_the_first_that_is_not_rejected),
        cmocka_unit_test(items_of_a_group_widen_the_error),
        cmocka_unit_test(discordant_items_make_the_interval),
        cmocka_unit_test(runs_of_mixed_rows_are_those_that_are_expected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
