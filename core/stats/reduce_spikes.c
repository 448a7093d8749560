/* Which points may be clipped when a curve is drawn. Not the spikes of F8: those are evidence,
 * these only decide the range of a picture, and each is counted and marked there. */
#include "core/stats/reduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REACH        25                 /* neighbours on each side */
#define FEWEST       9                  /* neighbours that are needed */
#define MAD_FACTOR   (8 * 1.4826)
#define LEAST_RATIO  1.5                /* of the neighbourhood's median */
#define LONGEST_RUN  3
#define ALL_BELOW    4096               /* points up to which every point is looked at */
#define SAMPLE       2000               /* points that decide what the greatest 1 % are */

static void sort(double *x, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        double value = x[i];
        size_t j = i;
        for (; j > 0 && x[j - 1] > value; j--)
            x[j] = x[j - 1];
        x[j] = value;
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Finite neighbours of i inside first .. end-1, without i. */
static size_t neighbours(const double *y, size_t first, size_t end, size_t i, double *out)
{
    size_t n = 0, from = i - first > REACH ? i - REACH : first;
    size_t to = end - i > REACH ? i + REACH + 1 : end;
    for (size_t j = from; j < to; j++)
        if (j != i && isfinite(y[j]))
            out[n++] = y[j];
    return n;
}

/* Most neighbours reach y / LEAST_RATIO, so their median does too: found without sorting. */
static bool is_ordinary(const double *near, size_t n, double y)
{
    size_t n_near = 0;
    for (size_t i = 0; i < n; i++)
        n_near += near[i] * LEAST_RATIO >= y;
    return y > 0 && n_near > n / 2;
}

static bool stands_out(const double *y, size_t first, size_t end, size_t i)
{
    double near[2 * REACH], off[2 * REACH];
    size_t n = neighbours(y, first, end, i, near);

    if (n < FEWEST || is_ordinary(near, n, y[i]))
        return false;
    sort(near, n);
    double median = near[n / 2];
    if (!(y[i] > median))
        return false;
    for (size_t j = 0; j < n; j++)
        off[j] = fabs(near[j] - median);
    sort(off, n);
    return y[i] - median > MAD_FACTOR * off[n / 2] && y[i] - median > (LEAST_RATIO - 1) * fabs(median);
}

/* The value that only about 1 % of the points exceed; -inf when every point is to be looked at. */
static double threshold(const double *y, size_t n)
{
    double sample[SAMPLE];
    size_t n_sample = 0;

    if (n <= ALL_BELOW)
        return -INFINITY;
    for (size_t i = 0; i < SAMPLE; i++) {
        double value = y[(size_t)((double)i / SAMPLE * (double)n)];
        if (isfinite(value))
            sample[n_sample++] = value;
    }
    if (n_sample == 0)
        return -INFINITY;
    qsort(sample, n_sample, sizeof *sample, compare);
    return sample[n_sample - 1 - n_sample / 100];
}

/* A run of marked points is kept marked only where it is short and ordinary points follow. */
static size_t keep_short_runs(const double *y, size_t first, size_t end, bool *is_spike)
{
    size_t n = 0;
    for (size_t i = first; i < end;) {
        size_t j = i;
        while (j < end && is_spike[j])
            j++;
        if (j == i) {
            i++;
            continue;
        }
        bool keep = i > first && j - i <= LONGEST_RUN && j + LONGEST_RUN <= end;
        for (size_t k = j; keep && k < j + LONGEST_RUN; k++)
            keep = isfinite(y[k]) && !is_spike[k];
        if (!keep)
            memset(is_spike + i, 0, (j - i) * sizeof *is_spike);
        n += keep ? j - i : 0;
        i = j;
    }
    return n;
}

size_t reduce_spikes(const double *y, const int32_t *segment, size_t n, bool *is_spike)
{
    double least = threshold(y, n);
    size_t count = 0;

    memset(is_spike, 0, n * sizeof *is_spike);
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && (!segment || segment[end] == segment[first]);)
            end++;
        for (size_t i = first; i < end; i++)
            if (isfinite(y[i]) && y[i] > least)
                is_spike[i] = stands_out(y, first, end, i);
        count += keep_short_runs(y, first, end, is_spike);
    }
    return count;
}
