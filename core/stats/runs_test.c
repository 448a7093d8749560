/* The runs test for two and more classes. */
#include "core/stats/runs_test.h"

#include <math.h>

struct runs_test runs_test(const int64_t *counts, size_t n_classes, int64_t runs)
{
    double n = 0.0, squares = 0.0, cubes = 0.0;
    size_t n_used = 0;

    for (size_t i = 0; i < n_classes; i++) {
        double c = (double)counts[i];

        n += c;
        squares += c * c;
        cubes += c * c * c;
        n_used += counts[i] > 0;
    }
    struct runs_test out = {(int64_t)n, NAN, NAN, NAN, NAN};
    if (n_used < 2)
        return out;
    out.expected = 1.0 + (n * n - squares) / n;
    double variance = (squares * (squares + n * (n + 1.0)) - 2.0 * n * cubes - n * n * n) /
                      (n * n * (n - 1.0));
    out.sd = sqrt(fmax(0.0, variance));
    out.ratio = (double)runs / out.expected;
    out.z = out.sd > 0.0 ? ((double)runs - out.expected) / out.sd : NAN;
    return out;
}
