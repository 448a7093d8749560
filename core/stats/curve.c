/* Tests on curves: flat, onset, plateau, overfitting, spikes, divergence, movement (CHECKS.md F3
 * to F8, C0.19, stage P). Bounds and their order are that document's; nothing here knows a run. */
#include "core/stats/curve.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/stats/robust.h"

enum {
    FLAT_MIN_ROWS = 30,
    PLATEAU_MIN_ROWS = 10,
    SPIKE_WINDOW = 50,
    DIVERGED_MIN_ROWS = 10,
    DIVERGED_SHORT_ROWS = 6
};

static const double ONE_SIDED = 1.645; /* 95 %, one side */
static const double MAD_TO_SIGMA = 1.4826;

static size_t size_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Logs of the values that have one; NULL without memory. */
static double *logs(const double *y, size_t n, size_t *kept)
{
    double *l = malloc((n + 1) * sizeof *l);

    *kept = 0;
    if (!l)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (isfinite(y[i]) && y[i] > 0.0)
            l[(*kept)++] = log(y[i]);
    return l;
}

/* ---- F3 ---- */

static enum flat_answer flat_decide(double drop, double margin)
{
    if (drop + margin < -0.05)
        return FLAT_RISING;
    if (drop + margin < 0.05)
        return FLAT_FLAT;
    return drop - margin > 0.0 ? FLAT_LEARNING : FLAT_UNKNOWN;
}

void curve_flat(const double *y, size_t n, struct flat *out)
{
    size_t kept = 0;
    double *l = logs(y, n, &kept);

    *out = (struct flat){.answer = FLAT_TOO_FEW, .drop = NAN, .se = NAN, .sigma = NAN, .n = kept};
    if (!l || kept < FLAT_MIN_ROWS) {
        out->more_needed = FLAT_MIN_ROWS - (kept < FLAT_MIN_ROWS ? kept : 0);
        free(l);
        return;
    }
    size_t first = size_max(5, kept / 10), last = size_max(10, kept / 3);
    out->sigma = stat_noise(l, kept);
    out->drop = stat_trimmed_mean(l, first, 0.1) - stat_trimmed_mean(l + kept - last, last, 0.1);
    out->se = 1.03 * out->sigma * sqrt(1.0 / (double)first + 1.0 / (double)last);
    double margin = ONE_SIDED * out->se;
    out->answer = flat_decide(out->drop, margin);
    if (out->answer == FLAT_UNKNOWN) {
        double ratio = margin / fmax(fabs(out->drop), 0.01);
        double more = ceil((double)kept * ratio * ratio - (double)kept);
        out->more_needed = more < 1.0 ? 1 : more > 1e9 ? 1000000000 : (size_t)more;
    }
    free(l);
}

/* ---- F4 ---- */

static bool is_bad(const double *y, const bool *also_bad, size_t i)
{
    return !isfinite(y[i]) || (also_bad && also_bad[i]);
}

void curve_onset(const double *y, const bool *also_bad, size_t n, struct onset *out)
{
    *out = (struct onset){.last_finite = -1};
    for (size_t i = 0; i < n; i++) {
        if (!is_bad(y, also_bad, i))
            continue;
        out->n_bad++;
        if (out->is_persistent)
            continue;
        bool persists = i + 1 == n || is_bad(y, also_bad, i + 1);
        /* The first bad row; a later one that persists takes its place. */
        if (!out->found || persists) {
            out->first_bad = i;
            out->last_finite = -1;
            for (size_t j = i; j-- > 0 && out->last_finite < 0;)
                if (!is_bad(y, also_bad, j))
                    out->last_finite = (ptrdiff_t)j;
        }
        out->found = true;
        out->is_persistent = persists;
    }
}

/* ---- F5 ---- */

static int64_t plateau_start(const int64_t *step, const double *y, size_t n)
{
    double final = stat_median(y + n - PLATEAU_MIN_ROWS, PLATEAU_MIN_ROWS);

    for (size_t end = PLATEAU_MIN_ROWS; end <= n; end++) {
        double median = stat_median(y + end - PLATEAU_MIN_ROWS, PLATEAU_MIN_ROWS);
        if (fabs(median - final) <= 0.01 * fabs(final))
            return step[end - 1];
    }
    return NONE;
}

bool curve_plateau(const int64_t *step, const double *y, size_t n, double planned_steps,
                   struct plateau *out)
{
    size_t k = n / 3, m = 0;
    struct slope slope;

    *out = (struct plateau){.slope_percent = NAN, .from_step = NONE};
    if (k < PLATEAU_MIN_ROWS || !(planned_steps > 0.0))
        return false;
    double *x = malloc(2 * k * sizeof *x);
    if (!x)
        return false;
    for (size_t i = n - k; i < n; i++) {
        if (!isfinite(y[i]) || y[i] <= 0.0)
            continue;
        x[m] = 100.0 * (double)step[i] / planned_steps;
        x[k + m++] = log(y[i]);
    }
    bool is_known = m >= PLATEAU_MIN_ROWS && stat_theil_sen(x, x + k, m, &slope);
    free(x);
    if (!is_known)
        return false;
    out->slope_percent = slope.slope;
    out->is_plateau = slope.low <= 0.0 && slope.high >= 0.0 && fabs(slope.slope) < 0.001;
    if (out->is_plateau)
        out->from_step = plateau_start(step, y, n);
    return true;
}

/* ---- F6 ---- */

bool curve_overfit(const double *e, size_t n, struct overfit *out)
{
    *out = (struct overfit){.rise = NAN};
    if (n == 0)
        return false;
    for (size_t i = 1; i < n; i++)
        if (e[i] < e[out->best])
            out->best = i;
    out->best_value = e[out->best];
    out->last_value = e[n - 1];
    out->n_later = n - 1 - out->best;
    out->sigma = n >= 5 ? stat_noise(e, n) : 0.0;
    out->rise =
        out->best_value != 0.0 ? (out->last_value - out->best_value) / fabs(out->best_value) : NAN;
    return n >= 3;
}

bool curve_repeats_best(const int64_t *step, const double *e, size_t n)
{
    if (n < 3 || e[n - 2] <= e[n - 1] || step[n - 1] < step[n - 2])
        return false;
    double best = e[0];
    for (size_t i = 1; i + 1 < n; i++)
        best = fmin(best, e[i]);
    return best == e[n - 1];
}

/* ---- F8 ---- */

size_t curve_spikes(const double *y, size_t n, bool *is_spike)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        double window[SPIKE_WINDOW];
        size_t k = 0;
        is_spike[i] = false;
        if (i < SPIKE_WINDOW || !isfinite(y[i]) || y[i] <= 0.0)
            continue;
        for (size_t j = i - SPIKE_WINDOW; j < i; j++)
            if (isfinite(y[j]) && y[j] > 0.0)
                window[k++] = log(y[j]);
        if (k < SPIKE_WINDOW / 2)
            continue;
        double median = stat_median(window, k), l = log(y[i]);
        double scale = fmax(MAD_TO_SIGMA * stat_mad(window, k), 1e-12);
        is_spike[i] = (l - median) / scale > 6.0 && l > median + log(1.3);
        count += is_spike[i];
    }
    return count;
}

/* ---- C0.19 ---- */

/* Smallest median of `width` consecutive rows; *end gets the index after that window. */
static double least_median(const double *y, size_t n, size_t width, size_t *end)
{
    double least = INFINITY;

    for (size_t i = width; i <= n; i++) {
        double median = stat_median(y + i - width, width);
        if (median < least) {
            least = median;
            *end = i;
        }
    }
    return least;
}

static double least(const double *y, size_t n)
{
    double value = INFINITY;

    for (size_t i = 0; i < n; i++)
        value = fmin(value, y[i]);
    return value;
}

static bool all_above(const double *y, size_t from, size_t n, double bound)
{
    for (size_t i = from; i < n; i++)
        if (!(y[i] > bound))
            return false;
    return true;
}

static bool all_finite(const double *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(y[i]))
            return false;
    return true;
}

/* The row after the last one at or below the bound. */
static size_t leaves_for_good(const double *y, size_t n, double bound)
{
    size_t i = n;

    while (i > 0 && y[i - 1] > bound)
        i--;
    return i;
}

static void short_form(const double *y, size_t n, struct divergence *out)
{
    out->minimum = least(y, n - 4);
    out->end = stat_median(y + n - 4, 4);
    out->ratio = out->end / out->minimum;
    out->is_short_form = true;
    out->fails = all_above(y, n - 4, n, 2.0 * out->minimum) && all_above(y, n - 4, n, y[0]);
    out->jump = leaves_for_good(y, n, 2.0 * out->minimum);
}

static bool blew_up_in_first_rows(const double *y, size_t n, double end, struct divergence *out)
{
    double start = least(y, 3);

    if (n < 20 || !all_above(y, 4, n, 1.5 * start) || !(end > 2.0 * start))
        return false;
    out->in_first_rows = true;
    out->minimum = start;
    out->ratio = end / start;
    out->jump = leaves_for_good(y, n, 1.5 * start);
    return true;
}

/* F8's divergence at note level: the 10-row median left its minimum and stayed for 10 % of it. */
static bool drifted_up(const double *y, size_t n, double sigma)
{
    size_t end = 0, stay = size_max(1, (n + 9) / 10);

    if (n < 20)
        return false;
    double minimum = least_median(y, n, 10, &end), bound = 1.2 * minimum;
    /* The least of many medians of 10 rows lies up to 2 sigma of a row below the others by chance:
     * noise of single batches is no drift. */
    if (!(log(stat_median(y + n - 10, 10) / minimum) > 2.0 * sigma))
        return false;
    for (size_t i = n - stay + 1; i <= n; i++)
        if (i >= 10 && !(stat_median(y + i - 10, 10) > bound))
            return false;
    return true;
}

void curve_divergence(const double *y, size_t n, struct divergence *out)
{
    size_t end = 0, kept = 0;

    *out = (struct divergence){.minimum = NAN, .end = NAN, .ratio = NAN, .sigmas = NAN};
    if (n < DIVERGED_SHORT_ROWS || !all_finite(y, n))
        return;
    if (n < DIVERGED_MIN_ROWS) {
        short_form(y, n, out);
        return;
    }
    double *l = logs(y, n, &kept);
    double sigma = l ? stat_noise(l, kept) : NAN;
    free(l);
    out->minimum = least_median(y, n, 5, &end);
    out->end = stat_median(y + n - 5, 5);
    out->ratio = out->end / out->minimum;
    out->sigmas = sigma > 0.0 ? log(out->ratio) / sigma : out->ratio > 1.0 ? INFINITY : 0.0;
    out->jump = leaves_for_good(y, n, 1.5 * out->minimum);
    double start = stat_median(y, 3);
    out->fails = out->ratio > 2.0 && out->end > start &&
                 all_above(y, n - 5, n, 1.5 * out->minimum) && out->sigmas > 4.0;
    if (!out->fails)
        out->fails = blew_up_in_first_rows(y, n, out->end, out);
    out->warns = !out->fails && out->end > start && drifted_up(y, n, sigma > 0.0 ? sigma : 0.0);
    if (out->warns)
        out->jump = leaves_for_good(y, n, 1.2 * out->minimum);
}

/* ---- Stage P ---- */

bool curve_movement(const double *y, size_t n, struct movement *out)
{
    size_t k = n / 4;

    *out = (struct movement){NAN, NAN, NAN, NAN, NAN, false, false};
    if (k < 1)
        return false;
    out->first = stat_median(y, k);
    out->last = stat_median(y + n - k, k);
    out->moved = out->last - out->first;
    out->sd = stat_sd(y, n);
    double se = 1.25 * stat_noise(y, n) * sqrt(2.0 / (double)k);
    out->bar = fmax(out->sd, 3.0 * se);
    /* A level series moves by nothing, and nothing is not at least its deviation of nothing. */
    out->rose = out->moved > 0.0 && out->moved >= out->bar;
    out->fell = out->moved < 0.0 && -out->moved >= out->bar;
    return true;
}
