/* Intervals of shares (F14 of CHECKS.md), z = 1.959964. Counts are of independent items. */
#ifndef CORE_STATS_INTERVALS_H
#define CORE_STATS_INTERVALS_H

#include <stdint.h>

struct interval {
    double low, high;           /* both NaN when n < 1 */
};

/* Wilson: 0 <= k <= n. */
struct interval wilson(int64_t k, int64_t n);
/* The same for a share of n that is no count (ties are half a win): 0 <= p <= 1. */
struct interval wilson_of_share(double p, double n);
/* Newcombe's interval of the difference k2/n2 − k1/n1. */
struct interval newcombe(int64_t k1, int64_t n1, int64_t k2, int64_t n2);
/* The level at which Newcombe's interval of that difference would just touch 0: its p-value, so that
 * several differences can be weighed by Holm's rule. NaN when n < 1. */
double newcombe_p(int64_t k1, int64_t n1, int64_t k2, int64_t n2);
/* The same two of shares of n items, where n need not be whole (see independent_items). */
struct interval newcombe_of_shares(double p1, double n1, double p2, double n2);
double newcombe_p_of_shares(double p1, double n1, double p2, double n2);
/* As many independent items leave a share p as uncertain as n do that go together in clusters: `squares` is
 * the sum over the clusters of (sum of x − p)². At most n; NaN for fewer than two clusters. */
double independent_items(double p, double n, double squares, double n_clusters);

/* None of n sampled rows was bad: the 95 % upper limit of the rate, 1 − 0.05^(1/n); n < 1: 1. */
double unseen_rate(int64_t n);

#endif
