/* Wald-Wolfowitz: do the rows of a few classes follow one another as chance has it, or in blocks? */
#ifndef CORE_STATS_RUNS_TEST_H
#define CORE_STATS_RUNS_TEST_H

#include <stddef.h>
#include <stdint.h>

struct runs_test {
    int64_t n;                  /* rows of all classes */
    double expected;            /* runs of mixed rows: 1 + (n^2 - sum n_i^2) / n */
    double sd;                  /* of them, for two classes and, by Barton and David, for more */
    double ratio, z;            /* runs / expected; (runs - expected) / sd. NaN without two classes */
};

struct runs_test runs_test(const int64_t *counts, size_t n_classes, int64_t runs);

#endif
