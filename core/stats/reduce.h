/* Smoothing and min/max reduction for drawing. Never used by a verdict.
 *
 * Nothing is hidden: a column of pixels keeps first, last, least and greatest of its finite
 * values and counts of all others. Blocks of 64 points, and groups of 64 blocks, are summed up
 * once; a redraw then costs what the columns cost and not what the run's length costs. Column
 * edges split blocks exactly. */
#ifndef CORE_STATS_REDUCE_H
#define CORE_STATS_REDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"

/* TensorBoard's debiased EMA (CHECKS.md F1, TUI.md section 5): non-finite values pass through and
 * change nothing; all-equal input is returned as it is; starts anew at each segment (NULL: one). */
void smooth_ema(const double *y, const int32_t *segment, size_t n, double weight, double *out);

struct column {                 /* one pixel column, or any stretch of points */
    size_t n;                   /* finite values */
    double first, last, low, high;
    size_t n_nan, n_pos_inf, n_neg_inf, n_zero, n_not_positive;
    size_t n_kept;              /* finite values that are no drawn spike */
    double high_kept;
    size_t n_positive;          /* for a logarithmic axis: of the values > 0 */
    double first_positive, last_positive, low_positive;
};

/* Columns of [x_low, x_high] for the points i … with x inside; x not falling. Each point falls
 * into exactly one column. */
void reduce_columns(const double *x, const double *y, size_t n, double x_low, double x_high,
                    struct column *columns, size_t n_columns);

/* ---- Block summary ---- */

struct series_blocks {
    const double *y;            /* borrowed */
    const bool *is_spike;       /* borrowed; NULL: none */
    size_t n;
    struct column *blocks, *groups;
    size_t n_blocks, n_groups;
};

/* False: the arena is full. */
MUST_CHECK bool series_blocks_build(struct series_blocks *blocks, const double *y,
                                    const bool *is_spike, size_t n, struct arena *arena);
/* The points from .. end-1. */
void series_blocks_range(const struct series_blocks *blocks, size_t from, size_t end,
                         struct column *out);

/* ---- The horizontal axis in pixel columns ---- */

struct reduce_axis {
    double low, high;           /* low < high; on a log axis both > 0 */
    bool is_log;
    bool takes_lower;           /* log: values below `low` (step 0) stand in column 0 */
    size_t n_columns;
};

/* Not falling in x: -1 left of the axis, n_columns right of it (and for NaN). */
ptrdiff_t axis_column(const struct reduce_axis *axis, double x);
/* In columns, unbounded, for interpolation beyond the edges; finite for finite x. */
double axis_position(const struct reduce_axis *axis, double x);

/* Walks over the columns that hold points of one segment, from left to right. */
struct column_walk {
    const struct reduce_axis *axis;
    const struct series_blocks *blocks;
    const double *x;
    size_t at, end;             /* next point; end of those that are on the axis */
    size_t first;               /* first point of the column that was returned last */
};

/* Points from .. end-1, x not falling there. */
void column_walk_begin(struct column_walk *walk, const struct reduce_axis *axis,
                       const struct series_blocks *blocks, const double *x, size_t from,
                       size_t end);
bool column_walk_next(struct column_walk *walk, struct column *out, size_t *column);

/* ---- Spikes that may be clipped when drawn ---- */

/* Marks the points that stand alone far above their neighbourhood: above median + 8 scaled MAD of
 * the 25 points on each side and above 1.5 times that median, at most 3 in a row, followed by
 * ordinary finite points. So a divergence, the onset of NaN, the start and the end are never
 * marked. Above 4,096 points only the greatest 1 % can be (others do not set the range). Returns
 * the count. */
size_t reduce_spikes(const double *y, const int32_t *segment, size_t n, bool *is_spike);

#endif
