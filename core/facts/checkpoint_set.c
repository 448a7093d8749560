/* Checkpoints beside the best. The rule stands in checkpoint_set.h. */
#include "core/facts/checkpoint_set.h"

#include <math.h>
#include <string.h>

#include "core/facts/checkpoint_name.h"
#include "core/stats/robust.h"

enum { ENOUGH_FOR_SIGMA = 5, NAMED = 8 };

static const double EPOCH_SLACK = 0.02; /* of an epoch: the last batch of it may be dropped */

bool artefact_is_checkpoint(const struct artefact *artefact)
{
    return strcmp(artefact->kind, "checkpoint") == 0;
}

const char *checkpoint_shown(const struct artefact *artefact)
{
    const char *slash = artefact->path ? strrchr(artefact->path, '/') : NULL;

    return slash ? slash + 1 : artefact->path ? artefact->path : "checkpoint";
}

static ptrdiff_t row_at(const struct eval_points *points, int64_t step)
{
    for (size_t i = 0; i < points->n; i++)
        if (points->step[i] == step)
            return (ptrdiff_t)i;
    return -1;
}

/* The row nearest to the end of an epoch, if it lies there. */
static ptrdiff_t row_of_epoch(const struct run_facts *facts, const struct eval_points *points,
                              int64_t epoch)
{
    bool knows_last = isfinite(facts->last_epoch) && facts->last_epoch > 0.0;
    double epochs = knows_last ? facts->last_epoch : facts->planned_epochs;
    int64_t steps = knows_last || facts->max_steps <= 0 ? facts->last_step : facts->max_steps;
    ptrdiff_t best = -1;

    if (!(epochs > 0.0) || steps <= 0)
        return -1;
    double each = (double)steps / epochs, end = each * ((double)epoch + 1.0);
    for (size_t i = 0; i < points->n; i++)
        if (fabs((double)points->step[i] - end) <= fmax(1.0, EPOCH_SLACK * each) &&
            (best < 0 || fabs((double)points->step[i] - end) < fabs((double)points->step[best] - end)))
            best = (ptrdiff_t)i;
    return best;
}

ptrdiff_t checkpoint_row(const struct run_facts *facts, const struct eval_points *points,
                         const struct artefact *artefact)
{
    struct checkpoint_name name;

    if (artefact->step != NONE) {
        ptrdiff_t row = row_at(points, artefact->step);
        return row >= 0 ? row : row_at(points, artefact->step - 1);
    }
    return checkpoint_name_read(str_of(checkpoint_shown(artefact)), &name) && name.epoch != NONE
               ? row_of_epoch(facts, points, name.epoch)
               : -1;
}

/* One folder may be known from several of its files. */
static bool is_listed(const struct artefact *const *list, size_t n, const struct artefact *artefact)
{
    for (size_t i = 0; i < n; i++)
        if (list[i]->step != NONE ? list[i]->step == artefact->step
                                  : strcmp(checkpoint_shown(list[i]), checkpoint_shown(artefact)) == 0)
            return true;
    return false;
}

static void look_at_folders(const struct run_facts *facts, const struct eval_points *points,
                            const struct artefact **kept, struct checkpoint_set *out)
{
    double keep_value = NAN;

    for (size_t i = 0; i < facts->n_artefacts; i++) {
        const struct artefact *a = &facts->artefacts[i];
        ptrdiff_t row = artefact_is_checkpoint(a) ? checkpoint_row(facts, points, a) : -1;

        out->n_folders += artefact_is_checkpoint(a);
        if (row < 0)
            continue;
        double value = points->value[row];
        if (!out->nearest || value < out->nearest_value) {
            out->nearest = a;
            out->nearest_value = value;
        }
        if (value > points->value[out->best] + out->bound || is_listed(kept, out->n_kept, a))
            continue;
        kept[out->n_kept++] = a;
        if (!out->keep || value < keep_value) {
            out->keep = a;
            keep_value = value;
        }
    }
}

/* From the first record to the last, by what the files say of their own time. */
static double seconds_of_records(const struct run_facts *facts)
{
    int64_t first = 0, last = 0;

    for (size_t i = 0; i < facts->n_sources; i++) {
        const struct source *s = &facts->sources[i];

        if (s->first_wall > 0 && (first == 0 || s->first_wall < first))
            first = s->first_wall;
        if (s->last_wall > last)
            last = s->last_wall;
    }
    return first > 0 && last > first ? (double)(last - first) : NAN;
}

static void measure_rest(const struct run_facts *facts, const struct eval_points *points,
                         struct checkpoint_set *out)
{
    int64_t best = points->step[out->best], last = points->step[points->n - 1];
    int64_t began = facts->run.started_at, ended = facts->run.ended_at;

    if (facts->last_step > last)
        last = facts->last_step;
    if (last <= 0 || best > last)
        return;
    out->share_after = (double)(last - best) / (double)last;
    if (began > 0 && ended > began)
        out->seconds_after = out->share_after * (double)(ended - began);
    else
        out->seconds_after = out->share_after * seconds_of_records(facts);
}

bool checkpoint_set_read(const struct run_facts *facts, const struct eval_points *points,
                         struct arena *arena, struct checkpoint_set *out)
{
    size_t *rows = arena_array(arena, points->n + 1, sizeof *rows);
    const struct artefact **kept = arena_array(arena, facts->n_artefacts + 1, sizeof(void *));

    *out = (struct checkpoint_set){.share_after = NAN, .seconds_after = NAN, .nearest_value = NAN};
    if (!rows || !kept || points->n == 0 || points->step[0] == NONE)
        return false;
    for (size_t i = 1; i < points->n; i++)
        if (points->value[i] < points->value[out->best])
            out->best = i;
    double level = points->value[out->best];
    out->sigma = points->n >= ENOUGH_FOR_SIGMA ? stat_noise(points->value, points->n) : 0.0;
    out->bound = fmax(0.01 * fabs(level), 2.0 * out->sigma);
    for (size_t i = 0; i < points->n; i++)
        if (points->value[i] <= level + out->bound)
            rows[out->n_rows++] = i;
    out->rows = rows;
    out->kept = kept;
    look_at_folders(facts, points, kept, out);
    measure_rest(facts, points, out);
    return true;
}

const char *checkpoint_steps(const struct checkpoint_set *set, const struct eval_points *points,
                             struct arena *arena)
{
    const char *text = "";

    for (size_t i = 0; text && i < set->n_rows && i < NAMED; i++)
        text = arena_printf(arena, "%s%s%lld", text, i ? ", " : "",
                            (long long)points->step[set->rows[i]]);
    if (text && set->n_rows > NAMED)
        text = arena_printf(arena, "%s and %zu more", text, set->n_rows - NAMED);
    return text ? text : "";
}
