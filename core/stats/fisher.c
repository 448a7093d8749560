/* Fisher's exact test. See fisher.h. */
#include "core/stats/fisher.h"

#include <math.h>

static double log_choose(int64_t n, int64_t k)
{
    return lgamma((double)n + 1.0) - lgamma((double)k + 1.0) - lgamma((double)(n - k) + 1.0);
}

double fisher_rise_p(int64_t k1, int64_t n1, int64_t k2, int64_t n2)
{
    int64_t k = k1 + k2, most = k < n2 ? k : n2;

    if (k1 < 0 || k2 < 0 || k1 > n1 || k2 > n2 || n1 < 1 || n2 < 1)
        return 1.0;
    double all = log_choose(n1 + n2, k), p = 0.0;
    for (int64_t i = k2; i <= most; i++) {
        double term = exp(log_choose(n2, i) + log_choose(n1, k - i) - all);

        p += term;
        if (term < 1e-18 * p)
            break; /* beyond the mode: the rest is smaller still */
    }
    return fmin(1.0, p);
}
