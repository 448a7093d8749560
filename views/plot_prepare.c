/* What of a series does not depend on range and size: segments, spikes, the smooth line, block
 * summaries. */
#include "views/plot.h"

#define FEWEST_TO_SMOOTH 16             /* shorter series are shown as they are */

static const size_t *part_starts(const struct plot_series *series, struct arena *arena, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < series->n; i++)
        *n += i == 0 || (series->segment && series->segment[i] != series->segment[i - 1]);
    size_t *starts = arena_array(arena, *n + 1, sizeof *starts), at = 0;
    if (!starts)
        return NULL;
    for (size_t i = 0; i < series->n; i++)
        if (i == 0 || (series->segment && series->segment[i] != series->segment[i - 1]))
            starts[at++] = i;
    starts[at] = series->n;
    return starts;
}

static bool find_spikes(struct plot_prepared *out, const struct plot_series *series,
                        struct arena *arena)
{
    bool *is_spike = arena_array(arena, series->n ? series->n : 1, sizeof *is_spike);
    if (!is_spike)
        return false;
    size_t n = series->is_points || series->is_tail
                   ? 0
                   : reduce_spikes(series->y, series->segment, series->n, is_spike);
    size_t *spikes = arena_array(arena, n ? n : 1, sizeof *spikes);
    if (!spikes)
        return false;
    for (size_t i = 0, at = 0; n && i < series->n; i++)
        if (is_spike[i])
            spikes[at++] = i;
    out->is_spike = is_spike;
    out->spikes = spikes;
    out->n_spikes = n;
    return true;
}

static bool is_constant(const double *y, size_t n)
{
    size_t i = 0;
    while (i < n && y[i] == y[0])
        i++;
    return i == n;
}

static bool smooth(struct plot_prepared *out, const struct plot_series *series,
                   struct arena *arena)
{
    out->is_smoothed = series->smoothing > 0 && !series->is_points && !series->is_tail &&
                       series->n >= FEWEST_TO_SMOOTH && !is_constant(series->y, series->n);
    if (!out->is_smoothed)
        return true;
    double *y = arena_array(arena, series->n, sizeof *y);
    if (!y)
        return false;
    smooth_ema(series->y, series->segment, series->n, series->smoothing, y);
    return series_blocks_build(&out->smooth, y, NULL, series->n, arena);
}

int plot_prepare(struct plot_prepared *out, const struct plot_series *series,
                 struct arena *arena, struct error *err)
{
    struct plot_prepared made = {0};

    made.part_starts = part_starts(series, arena, &made.n_parts);
    if (!made.part_starts || !find_spikes(&made, series, arena) || !smooth(&made, series, arena) ||
        !series_blocks_build(&made.raw, series->y, made.is_spike, series->n, arena))
        return error_set(err, E_NOMEM, "preparing a curve of %zu points", series->n);
    *out = made;
    return OK;
}

int plot_smooth_again(struct plot_prepared *prepared, const struct plot_series *series,
                      struct arena *arena, struct error *err)
{
    struct plot_prepared made = *prepared;

    if (!smooth(&made, series, arena))
        return error_set(err, E_NOMEM, "smoothing a curve of %zu points", series->n);
    *prepared = made;
    return OK;
}
