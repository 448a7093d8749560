/* Robust numbers: medians, MAD, trimmed means, Theil–Sen. Small inputs stay on the stack, since
 * the windows of the curve tests call these once a row. */
#include "core/stats/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ON_STACK = 128, SLOPE_POINTS = 300, SMALL = 24 };

static const double MAD_TO_SIGMA = 1.4826;

/* ---- Order ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void sort_few(double *x, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        double value = x[i];
        size_t at = i;

        for (; at > 0 && x[at - 1] > value; at--)
            x[at] = x[at - 1];
        x[at] = value;
    }
}

static double middle_of_three(double a, double b, double c)
{
    double low = a < b ? a : b, high = a < b ? b : a;

    return c < low ? low : c > high ? high : c;
}

/* Two parts, the first of them at or below the pivot, the second at or above it; neither is all of
 * x, since the pivot stands in x and is not its only end. Returns where the second begins. */
static size_t part(double *x, size_t n)
{
    double pivot = middle_of_three(x[0], x[n / 2], x[n - 1]);
    size_t low = 0, high = n - 1;

    for (;;) {
        while (x[low] < pivot)
            low++;
        while (x[high] > pivot)
            high--;
        if (low >= high)
            return low > 0 ? low : 1;
        double kept = x[low];
        x[low++] = x[high];
        x[high--] = kept;
    }
}

/* Puts the value of rank k (from 0) to its place, what is less before it, what is greater behind.
 * Input that defeats the choice of pivots is sorted instead. */
static void select_rank(double *x, size_t n, size_t k)
{
    for (int budget = 64; n > SMALL; budget--) {
        if (budget == 0) {
            qsort(x, n, sizeof *x, by_value);
            return;
        }
        size_t second = part(x, n);
        if (k < second) {
            n = second;
        } else {
            x += second;
            n -= second;
            k -= second;
        }
    }
    sort_few(x, n);
}

/* A copy of |x - centre| (or of x): `small` when it fits, else malloc; NULL: no memory. */
static double *copy_of(const double *x, size_t n, double centre, bool is_deviation,
                       double small[ON_STACK])
{
    double *copy = small;

    if (n > ON_STACK)
        copy = malloc(n * sizeof *copy);
    if (!copy)
        return NULL;
    for (size_t i = 0; i < n; i++)
        copy[i] = is_deviation ? fabs(x[i] - centre) : x[i];
    return copy;
}

static void give_back(double *copy, const double *small)
{
    if (copy != small)
        free(copy);
}

/* Changes the order of x. */
static double middle(double *x, size_t n)
{
    size_t k = n / 2;

    select_rank(x, n, k);
    if (n % 2)
        return x[k];
    double below = x[0];
    for (size_t i = 1; i < k; i++)
        below = x[i] > below ? x[i] : below;
    return (below + x[k]) / 2.0;
}

static double median_of(const double *x, size_t n, double centre, bool is_deviation)
{
    double small[ON_STACK];

    if (n == 0)
        return NAN;
    double *copy = copy_of(x, n, centre, is_deviation, small);
    if (!copy)
        return NAN;
    double median = middle(copy, n);
    give_back(copy, small);
    return median;
}

/* ---- Numbers ---- */

double stat_median(const double *x, size_t n)
{
    return median_of(x, n, 0.0, false);
}

double stat_mad(const double *x, size_t n)
{
    return median_of(x, n, stat_median(x, n), true);
}

double stat_quantile(const double *x, size_t n, double q)
{
    double small[ON_STACK];

    if (n == 0)
        return NAN;
    double *copy = copy_of(x, n, 0.0, false, small);
    if (!copy)
        return NAN;
    /* The product of a decimal q may stand a hair above a whole number: 0.07 · 100. */
    double rank = ceil(q * (double)n - 1e-9);
    size_t i = rank < 1.0 ? 0 : rank >= (double)n ? n - 1 : (size_t)rank - 1;
    select_rank(copy, n, i);
    double value = copy[i];
    give_back(copy, small);
    return value;
}

double stat_mean(const double *x, size_t n)
{
    double sum = 0.0;

    if (n == 0)
        return NAN;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

double stat_sd(const double *x, size_t n)
{
    double squares = 0.0;

    if (n < 2)
        return NAN;
    double mean = stat_mean(x, n);
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    return sqrt(squares / (double)(n - 1));
}

double stat_trimmed_mean(const double *x, size_t n, double share)
{
    double small[ON_STACK];

    if (n == 0)
        return NAN;
    double *copy = copy_of(x, n, 0.0, false, small);
    if (!copy)
        return NAN;
    qsort(copy, n, sizeof *copy, by_value); /* the order decides how the sum is rounded */
    size_t drop = (size_t)(share * (double)n + 1e-9);
    double mean = 2 * drop < n ? stat_mean(copy + drop, n - 2 * drop) : NAN;
    give_back(copy, small);
    return mean;
}

double stat_noise(const double *x, size_t n)
{
    double small[ON_STACK];
    double *step = small;

    if (n < 3)
        return NAN;
    if (n - 1 > ON_STACK)
        step = malloc((n - 1) * sizeof *step);
    if (!step)
        return NAN;
    for (size_t i = 0; i + 1 < n; i++)
        step[i] = x[i + 1] - x[i];
    double sigma = MAD_TO_SIGMA * stat_mad(step, n - 1) / sqrt(2.0);
    give_back(step, small);
    return sigma;
}

/* All pairwise slopes of `m` evenly spaced points; pairs of one x have none. */
static size_t pair_slopes(const double *x, const double *y, size_t n, size_t m, double *slopes)
{
    size_t k = 0;

    for (size_t a = 0; a + 1 < m; a++) {
        size_t i = m == n ? a : a * (n - 1) / (m - 1);
        for (size_t b = a + 1; b < m; b++) {
            size_t j = m == n ? b : b * (n - 1) / (m - 1);
            if (x[j] != x[i])
                slopes[k++] = (y[j] - y[i]) / (x[j] - x[i]);
        }
    }
    return k;
}

bool stat_theil_sen(const double *x, const double *y, size_t n, struct slope *out)
{
    if (n < 3)
        return false;
    size_t m = n > SLOPE_POINTS ? SLOPE_POINTS : n;
    double *slopes = malloc(m * (m - 1) / 2 * sizeof *slopes);
    if (!slopes)
        return false;
    size_t k = pair_slopes(x, y, n, m, slopes);
    if (k == 0) {
        free(slopes);
        return false;
    }
    double points = (double)m;
    double spread = 1.96 * sqrt(points * (points - 1.0) * (2.0 * points + 5.0) / 18.0);
    double low = floor(((double)k - spread) / 2.0), high = ceil(((double)k + spread) / 2.0);
    size_t first = low < 1.0 ? 0 : (size_t)low - 1;
    size_t last = high > (double)k ? k - 1 : (size_t)high - 1;
    out->slope = middle(slopes, k);
    select_rank(slopes, k, first);
    out->low = slopes[first];
    select_rank(slopes, k, last);
    out->high = slopes[last];
    free(slopes);
    return true;
}
