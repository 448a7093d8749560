/* Wilson and Newcombe intervals to the digits of CHECKS.md F14. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include "core/stats/intervals.h"

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g, expected %.17g", value, expected);
}

static void wilson_meets_the_published_values(void **state)
{
    static const struct {
        int64_t k, n;
        double low, high;
    } rows[] = {
        {50, 100, 0.4038, 0.5962},  {70, 100, 0.6042, 0.7811},  {90, 100, 0.8256, 0.9448},
        {100, 100, 0.9630, 1.0},    {0, 20, 0.0, 0.1611},       {40, 50, 0.6696, 0.8876},
        {42, 50, 0.7149, 0.9166},   {129, 200, 0.5765, 0.7080}, {41, 120, 0.2629, 0.4303},
        {174, 300, 0.5235, 0.6345},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct interval interval = wilson(rows[i].k, rows[i].n);
        near(interval.low, rows[i].low, 5e-5);
        near(interval.high, rows[i].high, 5e-5);
    }
}

static void newcombe_meets_the_published_values(void **state)
{
    static const struct {
        int64_t k1, n1, k2, n2;
        double low, high;
    } rows[] = {
        {40, 50, 42, 50, -0.1127, 0.1912},          {412, 500, 351, 500, -0.1737, -0.0695},
        {130, 164, 95, 164, -0.3076, -0.1135},      {244, 400, 332, 400, 0.1587, 0.2791},
        {831, 1319, 765, 1319, -0.08715, -0.01273},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct interval interval = newcombe(rows[i].k1, rows[i].n1, rows[i].k2, rows[i].n2);
        near(interval.low, rows[i].low, 5e-5);
        near(interval.high, rows[i].high, 5e-5);
    }
}

static void no_items_give_no_interval(void **state)
{
    (void)state;
    assert_true(isnan(wilson(0, 0).low));
    assert_true(isnan(newcombe(1, 2, 0, 0).high));
}

static void a_clean_sample_leaves_room_for_bad_rows(void **state)
{
    (void)state;
    near(unseen_rate(20), 0.1391, 5e-5);
    near(unseen_rate(0), 1.0, 0);
    assert_true(unseen_rate(1000) < 0.0030);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wilson_meets_the_published_values),
        cmocka_unit_test(newcombe_meets_the_published_values),
        cmocka_unit_test(no_items_give_no_interval),
        cmocka_unit_test(a_clean_sample_leaves_room_for_bad_rows),
    };
    return cmocka_run_group_tests_name("intervals", tests, NULL, NULL);
}
