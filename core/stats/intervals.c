/* Intervals of shares: Wilson, Newcombe, and the limit of what a clean sample can hide. */
#include "core/stats/intervals.h"

#include <math.h>

static const double Z = 1.959964;

static struct interval share_at(double z, double p, double count)
{
    double z2 = z * z;

    if (!(count >= 1.0))
        return (struct interval){NAN, NAN};
    double centre = (p + z2 / (2.0 * count)) / (1.0 + z2 / count);
    double half = z / (1.0 + z2 / count) * sqrt(p * (1.0 - p) / count + z2 / (4.0 * count * count));
    return (struct interval){fmax(0.0, centre - half), fmin(1.0, centre + half)};
}

static struct interval newcombe_at(double z, double p1, double n1, double p2, double n2)
{
    struct interval a = share_at(z, p1, n1), b = share_at(z, p2, n2);
    double d = p2 - p1;

    return (struct interval){d - hypot(p2 - b.low, a.high - p1),
                             d + hypot(b.high - p2, p1 - a.low)};
}

struct interval wilson(int64_t k, int64_t n)
{
    return share_at(Z, (double)k / (double)n, (double)n);
}

struct interval wilson_of_share(double p, double n)
{
    return share_at(Z, p, n);
}

struct interval newcombe(int64_t k1, int64_t n1, int64_t k2, int64_t n2)
{
    if (n1 < 1 || n2 < 1)
        return (struct interval){NAN, NAN};
    return newcombe_of_shares((double)k1 / (double)n1, (double)n1, (double)k2 / (double)n2, (double)n2);
}

struct interval newcombe_of_shares(double p1, double n1, double p2, double n2)
{
    return newcombe_at(Z, p1, n1, p2, n2);
}

double newcombe_p_of_shares(double p1, double n1, double p2, double n2)
{
    double low = 0.0, high = 40.0; /* beyond it p is 0 in a double */

    if (!(n1 >= 1.0) || !(n2 >= 1.0))
        return NAN;
    for (int i = 0; i < 60; i++) {
        double z = 0.5 * (low + high);
        struct interval at = newcombe_at(z, p1, n1, p2, n2);

        if (at.low > 0.0 || at.high < 0.0)
            low = z;
        else
            high = z;
    }
    return erfc(low / sqrt(2.0));
}

double newcombe_p(int64_t k1, int64_t n1, int64_t k2, int64_t n2)
{
    if (n1 < 1 || n2 < 1)
        return NAN;
    return newcombe_p_of_shares((double)k1 / (double)n1, (double)n1, (double)k2 / (double)n2, (double)n2);
}

double independent_items(double p, double n, double squares, double n_clusters)
{
    double spread = p * (1.0 - p);

    if (!(n_clusters >= 2.0))
        return NAN;
    if (!(spread > 0.0))
        return n_clusters; /* all alike: nothing tells how far the items of a cluster agree */
    double variance = squares / (n * n) * n_clusters / (n_clusters - 1.0);
    return variance > 0.0 ? fmax(1.0, fmin(n, spread / variance)) : n;
}

double unseen_rate(int64_t n)
{
    return n < 1 ? 1.0 : 1.0 - pow(0.05, 1.0 / (double)n);
}
