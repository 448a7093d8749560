/* Smoothing and min/max reduction for drawing. Never used by a verdict. */
#ifndef CORE_STATS_REDUCE_H
#define CORE_STATS_REDUCE_H

#include <stddef.h>
#include <stdint.h>

/* TensorBoard's debiased EMA (CHECKS.md F1, TUI.md section 5): non-finite values pass through and
 * change nothing; all-equal input is returned as it is; starts anew at each segment (NULL: one). */
void smooth_ema(const double *y, const int32_t *segment, size_t n, double weight, double *out);

struct column {                 /* one pixel column */
    size_t n;                   /* finite values */
    double first, last, low, high;
    size_t n_nan, n_pos_inf, n_neg_inf, n_zero, n_not_positive;
};

/* Columns of [x_low, x_high] for the points i … with x inside; x not falling. Each point falls
 * into exactly one column. */
void reduce_columns(const double *x, const double *y, size_t n, double x_low, double x_high,
                    struct column *columns, size_t n_columns);

#endif
