/* Paired tests, Holm's rule, power. */
#include "core/stats/paired.h"

#include <math.h>

static const double Z = 1.959964;

double mcnemar_p(int64_t b, int64_t c)
{
    int64_t n = b + c, k = b < c ? b : c;
    double p = 0.0;

    if (b < 0 || c < 0 || n == 0)
        return 1.0;
    for (int64_t i = k; i >= 0; i--) {
        double term = exp(lgamma((double)n + 1.0) - lgamma((double)i + 1.0) -
                          lgamma((double)(n - i) + 1.0) - (double)n * M_LN2);

        p += term;
        if (term < 1e-18 * p)
            break; /* the rest is smaller still */
    }
    return fmin(1.0, 2.0 * p);
}

struct interval paired_binary(int64_t lost, int64_t gained, int64_t n)
{
    if (n < 1)
        return (struct interval){NAN, NAN};
    double count = (double)n, net = (double)(gained - lost), all = (double)(gained + lost);
    double half = Z * sqrt(fmax(0.0, all - net * net / count)) / count;

    return (struct interval){net / count - half, net / count + half};
}

static double sum_of_squares(const double *d, const int64_t *cluster, size_t n, double mean)
{
    double sum = 0.0;

    for (size_t i = 0; i < n;) {
        double together = 0.0;
        size_t first = i;

        do
            together += d[i++] - mean;
        while (cluster && i < n && cluster[i] == cluster[first]);
        sum += together * together;
    }
    return sum;
}

struct paired_scores paired_scores(const double *d, const int64_t *cluster, size_t n)
{
    struct paired_scores out = {NAN, NAN, {NAN, NAN}, NAN};
    double count = (double)n, sum = 0.0;

    if (n < 2)
        return out;
    for (size_t i = 0; i < n; i++)
        sum += d[i];
    out.mean = sum / count;
    double squares = sum_of_squares(d, cluster, n, out.mean);
    out.se = cluster ? sqrt(squares) / count : sqrt(squares / (count * (count - 1.0)));
    out.interval = (struct interval){out.mean - Z * out.se, out.mean + Z * out.se};
    out.p = out.se > 0.0 ? erfc(fabs(out.mean) / out.se / M_SQRT2) : out.mean == 0.0 ? 1.0 : 0.0;
    return out;
}

/* Rank among the others, first on ties. */
static size_t rank_of(const double *p, size_t n, size_t at)
{
    size_t rank = 0;

    for (size_t i = 0; i < n; i++)
        rank += p[i] < p[at] || (i < at && p[i] == p[at]);
    return rank;
}

void holm(const double *p, size_t n, bool *rejects)
{
    double limit = INFINITY; /* the first that is not rejected, and all above it, are not */
    size_t m = 0;

    for (size_t i = 0; i < n; i++)
        m += !isnan(p[i]);
    for (size_t i = 0; i < n; i++) {
        if (isnan(p[i]))
            continue;
        size_t rank = rank_of(p, n, i);

        if (p[i] > 0.05 / (double)(m - rank))
            limit = fmin(limit, p[i]);
    }
    for (size_t i = 0; i < n; i++)
        rejects[i] = p[i] < limit; /* NaN compares false */
}

static const double Z_POWER = 0.841621;

static double items_for(double effect, double discordance)
{
    double a = Z * sqrt(discordance);
    double b = Z_POWER * sqrt(fmax(0.0, discordance - effect * effect));

    return (a + b) * (a + b) / (effect * effect);
}

double items_needed(double effect, double discordance)
{
    effect = fabs(effect);
    if (effect > discordance && effect < discordance * (1.0 + 1e-9))
        effect = discordance; /* all that differ do so one way, but for rounding */
    if (!(effect > 0.0) || effect > 1.0 || !(discordance >= effect) || discordance > 1.0)
        return NAN; /* no difference is larger than the share of items that differ */
    return ceil(items_for(effect, discordance));
}

double items_needed_unpaired(double p1, double p2)
{
    double effect = fabs(p2 - p1), mean = 0.5 * (p1 + p2);

    if (!(effect > 0.0) || !(mean > 0.0 && mean < 1.0))
        return NAN;
    double a = Z * sqrt(2.0 * mean * (1.0 - mean));
    double b = Z_POWER * sqrt(p1 * (1.0 - p1) + p2 * (1.0 - p2));
    return ceil((a + b) * (a + b) / (effect * effect));
}

double smallest_effect(double n, double discordance)
{
    double low = 1e-6, high = 1.0;

    if (!(n >= 2.0) || !(discordance > 0.0))
        return NAN;
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);

        if (items_for(middle, discordance) > n)
            low = middle;
        else
            high = middle;
    }
    return high;
}
