/* Smoothing, summaries of stretches of points, and the walk over pixel columns. Numbers only: what
 * a column looks like is the plot's. */
#include "core/stats/reduce.h"

#include <math.h>
#include <string.h>

#define BLOCK 64                        /* points a block, and blocks a group */

/* ---- Smoothing ---- */

static bool all_equal(const double *y, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (y[i] != y[0])
            return false;
    return true;
}

void smooth_ema(const double *y, const int32_t *segment, size_t n, double weight, double *out)
{
    double mean = 0, left = 1;          /* left = weight^count, the bias that is still in it */

    if (weight <= 0 || weight >= 1 || all_equal(y, n)) {
        memmove(out, y, n * sizeof *y);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (segment && i > 0 && segment[i] != segment[i - 1])
            mean = 0, left = 1;
        if (!isfinite(y[i])) {
            out[i] = y[i];
            continue;
        }
        mean = weight * mean + (1 - weight) * y[i];
        /* Below this 1 - left is 1; going on would end in subnormal numbers, 20 times slower. */
        left = left > 1e-18 ? left * weight : 0;
        out[i] = mean / (1 - left);
    }
}

/* ---- Summaries ---- */

static void add_finite(struct column *column, double y, bool is_spike)
{
    if (column->n++ == 0)
        column->first = column->low = column->high = y;
    column->last = y;
    column->low = y < column->low ? y : column->low;
    column->high = y > column->high ? y : column->high;
    if (!is_spike && (column->n_kept++ == 0 || y > column->high_kept))
        column->high_kept = y;
    if (y > 0) {
        if (column->n_positive++ == 0)
            column->first_positive = column->low_positive = y;
        column->last_positive = y;
        column->low_positive = y < column->low_positive ? y : column->low_positive;
        return;
    }
    column->n_not_positive++;
    column->n_zero += y == 0;
}

static void add_point(struct column *column, double y, bool is_spike)
{
    if (isnan(y))
        column->n_nan++;
    else if (isinf(y))
        *(y > 0 ? &column->n_pos_inf : &column->n_neg_inf) += 1;
    else
        add_finite(column, y, is_spike);
}

/* Appends what comes after `into`. */
static void append(struct column *into, const struct column *next)
{
    into->n_nan += next->n_nan;
    into->n_pos_inf += next->n_pos_inf;
    into->n_neg_inf += next->n_neg_inf;
    into->n_zero += next->n_zero;
    into->n_not_positive += next->n_not_positive;
    if (next->n) {
        if (!into->n)
            into->first = next->first, into->low = next->low, into->high = next->high;
        into->last = next->last;
        into->low = next->low < into->low ? next->low : into->low;
        into->high = next->high > into->high ? next->high : into->high;
    }
    if (next->n_kept && (!into->n_kept || next->high_kept > into->high_kept))
        into->high_kept = next->high_kept;
    if (next->n_positive) {
        if (!into->n_positive)
            into->first_positive = next->first_positive, into->low_positive = next->low_positive;
        into->last_positive = next->last_positive;
        if (next->low_positive < into->low_positive)
            into->low_positive = next->low_positive;
    }
    into->n += next->n;
    into->n_kept += next->n_kept;
    into->n_positive += next->n_positive;
}

bool series_blocks_build(struct series_blocks *blocks, const double *y, const bool *is_spike,
                         size_t n, struct arena *arena)
{
    size_t n_blocks = n / BLOCK, n_groups = n_blocks / BLOCK;
    struct column *of_blocks = arena_array(arena, n_blocks ? n_blocks : 1, sizeof *of_blocks);
    struct column *of_groups = arena_array(arena, n_groups ? n_groups : 1, sizeof *of_groups);

    if (!of_blocks || !of_groups)
        return false;
    for (size_t i = 0; i < n_blocks * BLOCK; i++)
        add_point(&of_blocks[i / BLOCK], y[i], is_spike && is_spike[i]);
    for (size_t i = 0; i < n_groups * BLOCK; i++)
        append(&of_groups[i / BLOCK], &of_blocks[i]);
    *blocks = (struct series_blocks){.y = y, .is_spike = is_spike, .n = n, .blocks = of_blocks,
                                     .groups = of_groups, .n_blocks = n_blocks,
                                     .n_groups = n_groups};
    return true;
}

void series_blocks_range(const struct series_blocks *blocks, size_t from, size_t end,
                         struct column *out)
{
    const size_t group = (size_t)BLOCK * BLOCK;

    *out = (struct column){0};
    for (size_t i = from; i < end;) {
        if (i % group == 0 && end - i >= group) {
            append(out, &blocks->groups[i / group]);
            i += group;
        } else if (i % BLOCK == 0 && end - i >= BLOCK) {
            append(out, &blocks->blocks[i / BLOCK]);
            i += BLOCK;
        } else {
            add_point(out, blocks->y[i], blocks->is_spike && blocks->is_spike[i]);
            i++;
        }
    }
}

/* ---- Axis ---- */

double axis_position(const struct reduce_axis *axis, double x)
{
    double low = axis->low, high = axis->high;
    if (axis->is_log) {
        if (x <= low && axis->takes_lower)
            return 0;
        x = log10(x > 0 ? x : low / 1e300);
        low = log10(low);
        high = log10(high);
    }
    /* Halves, so that a range beyond the greatest double does not overflow. */
    return (x / 2 - low / 2) / (high / 2 - low / 2) * (double)axis->n_columns;
}

ptrdiff_t axis_column(const struct reduce_axis *axis, double x)
{
    ptrdiff_t most = (ptrdiff_t)axis->n_columns;

    if (isnan(x) || x > axis->high)
        return most;
    if (x < axis->low && !(axis->is_log && axis->takes_lower))
        return -1;
    double position = axis_position(axis, x);
    if (!(position >= 0))
        return 0;
    if (position >= (double)most)
        return most - 1;                /* x_high itself belongs to the last column */
    return (ptrdiff_t)position;
}

/* First point in from .. end-1 whose column is greater than `column`; doubling steps first, since
 * it is mostly near. */
static size_t after_column(const struct column_walk *walk, size_t from, size_t end,
                           ptrdiff_t column)
{
    size_t low = from, step = 1;
    while (low + step < end && axis_column(walk->axis, walk->x[low + step]) <= column) {
        low += step;
        step *= 2;
    }
    size_t high = low + step < end ? low + step : end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (axis_column(walk->axis, walk->x[middle]) <= column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void column_walk_begin(struct column_walk *walk, const struct reduce_axis *axis,
                       const struct series_blocks *blocks, const double *x, size_t from,
                       size_t end)
{
    *walk = (struct column_walk){.axis = axis, .blocks = blocks, .x = x};
    walk->at = after_column(walk, from, end, -1);
    walk->end = after_column(walk, walk->at, end, (ptrdiff_t)axis->n_columns - 1);
    walk->first = walk->at;
}

bool column_walk_next(struct column_walk *walk, struct column *out, size_t *column)
{
    if (walk->at >= walk->end)
        return false;
    ptrdiff_t here = axis_column(walk->axis, walk->x[walk->at]);
    size_t next = after_column(walk, walk->at, walk->end, here);
    if (here < 0 || (size_t)here >= walk->axis->n_columns || next <= walk->at)
        return false;                   /* x falls: the caller broke the rule */
    series_blocks_range(walk->blocks, walk->at, next, out);
    *column = (size_t)here;
    walk->first = walk->at;
    walk->at = next;
    return true;
}

void reduce_columns(const double *x, const double *y, size_t n, double x_low, double x_high,
                    struct column *columns, size_t n_columns)
{
    struct reduce_axis axis = {.low = x_low, .high = x_high, .n_columns = n_columns};

    memset(columns, 0, n_columns * sizeof *columns);
    for (size_t i = 0; i < n; i++) {
        ptrdiff_t column = x_high > x_low ? axis_column(&axis, x[i])
                           : x[i] == x_low ? 0 : -1;
        if (column >= 0 && (size_t)column < n_columns)
            add_point(&columns[column], y[i], false);
    }
}
