/* Tests on curves: formulas F2 to F8 of CHECKS.md. Raw values, never smoothed ones. */
#ifndef CORE_STATS_CURVE_H
#define CORE_STATS_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* F3: is the loss flat? y > 0 finite, one segment including warm-up. */
enum flat_answer { FLAT_TOO_FEW, FLAT_RISING, FLAT_FLAT, FLAT_LEARNING, FLAT_UNKNOWN };
struct flat {
    enum flat_answer answer;
    double drop, se, sigma;     /* D, SE, σ of ln y */
    size_t n, more_needed;
};
void curve_flat(const double *y, size_t n, struct flat *out);

/* F4: first row at which something persistent becomes non-finite. */
struct onset {
    bool found, is_persistent;  /* >= 2 consecutive rows, or until the end */
    size_t first_bad;           /* index */
    ptrdiff_t last_finite;      /* index before it, or -1 */
    size_t n_bad;
};
/* y may hold NaN and ±inf; also_bad (NULL allowed) marks further rows (substitution rows). */
void curve_onset(const double *y, const bool *also_bad, size_t n, struct onset *out);

/* F5 */
struct plateau {
    bool is_plateau;
    double slope_percent;       /* of ln y per 1 % of planned steps */
    int64_t from_step;          /* first row within 1 % of the final 10-row median, NONE */
};
bool curve_plateau(const int64_t *step, const double *y, size_t n, double planned_steps,
                   struct plateau *out);

/* F6 on one eval series: finite points in step order. False below 3 points (best + 2 later may
 * still be few: n_later). */
struct overfit {
    size_t best;                /* index of the minimum, first on ties */
    double best_value, last_value, rise, sigma;     /* sigma 0 below 5 points */
    size_t n_later;
};
bool curve_overfit(const double *e, size_t n, struct overfit *out);
/* F1: the last row, after a worse one, repeats the best value to the last digit: the best model
 * was loaded at the end and evaluated again. F6 leaves that row out. */
bool curve_repeats_best(const int64_t *step, const double *e, size_t n);

/* F8: z > 6 and y > 1.3 median of the 50 rows before. is_spike[i] is set. Returns the count. */
size_t curve_spikes(const double *y, size_t n, bool *is_spike);

/* C0.19: jumped up and stayed. */
struct divergence {
    bool fails, warns;
    size_t jump;                /* index where it leaves the minimum for good */
    double minimum, end, ratio, sigmas;
    bool in_first_rows, is_short_form;
};
void curve_divergence(const double *y, size_t n, struct divergence *out);

/* Stage P: median of the last quarter − first quarter against max(1 SD, 3 SE). */
struct movement {
    double first, last, moved, bar, sd;     /* medians of the quarters, difference, bar, SD */
    bool rose, fell;
};
bool curve_movement(const double *y, size_t n, struct movement *out);   /* n >= 4 */

#endif
