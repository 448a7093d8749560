/* A curve as points in step order. */
#include "core/facts/eval_points.h"

#include <math.h>

bool eval_points_read(const struct curve *curve, struct arena *arena, struct eval_points *out)
{
    *out = (struct eval_points){.curve = curve};
    if (!curve || curve->n == 0)
        return false;
    double *value = arena_array(arena, curve->n, sizeof *value);
    int64_t *step = arena_array(arena, curve->n, sizeof *step);
    size_t *at = arena_array(arena, curve->n, sizeof *at);
    size_t n = 0, n_missing = 0, first_missing = 0;
    if (!value || !step || !at)
        return false;
    for (size_t i = 0; i < curve->n; i++) {
        int64_t now = curve->step[i];
        if (!isfinite(curve->value[i])) {
            first_missing = n_missing++ == 0 ? i : first_missing;
            continue;
        }
        while (now != NONE && n > 0 && step[n - 1] >= now)
            n--; /* done again: what stood there is not the run any more */
        value[n] = curve->value[i];
        step[n] = now;
        at[n++] = i;
    }
    *out = (struct eval_points){curve, n, value, step, at, n_missing, first_missing};
    return n > 0;
}

const char *curve_place(const struct curve *curve, size_t row, struct arena *arena)
{
    bool has_step = curve->step[row] != NONE;
    const char *place = arena_printf(arena, "%s %lld", has_step ? "step" : "line",
                                     (long long)(has_step ? curve->step[row] : curve->line[row]));

    return place ? place : "a row";
}
