/* Fisher's exact test against exact fractions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "core/stats/fisher.h"

static void tails_are_those_of_exact_fractions(void **state)
{
    static const struct {
        int64_t k1, n1, k2, n2;
        double p;
    } CASES[] = {
        {0, 16, 16, 16, 1.6636709775209934e-09}, {3, 20, 9, 20, 0.04117938850975558},
        {5, 10, 5, 10, 0.6718591006516703},     {0, 4, 4, 4, 0.014285714285714285},
        {12, 400, 60, 380, 2.0010914369404977e-10},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        double p = fisher_rise_p(CASES[i].k1, CASES[i].n1, CASES[i].k2, CASES[i].n2);

        assert_true(fabs(p - CASES[i].p) <= 1e-9 * CASES[i].p);
    }
}

static void counts_that_are_none_say_nothing(void **state)
{
    (void)state;
    assert_true(fisher_rise_p(0, 0, 1, 2) >= 1.0);
    assert_true(fisher_rise_p(3, 2, 1, 2) >= 1.0);
    assert_true(fisher_rise_p(-1, 2, 1, 2) >= 1.0);
    assert_true(fisher_rise_p(0, 5, 0, 5) >= 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails_are_those_of_exact_fractions),
        cmocka_unit_test(counts_that_are_none_say_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
