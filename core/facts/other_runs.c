/* See other_runs.h. An attempt is told by its losses, another run's log by the steps that its end
 * markers count; a date or a name decides nothing. */
#include "core/facts/other_runs.h"

#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/curve_files.h"
#include "core/facts/curves.h"
#include "core/store/store.h"

#define FILES_MAX     64   /* event files that are compared */
#define LEADING       3    /* shared rows that are alike where a run was taken up again */
#define PLAN_SHARE    0.05 /* train_steps_per_second is printed to 3 decimals */
#define PLAN_ROUNDING 6e-4 /* a step of it, in steps per second */

struct other_run {
    int64_t source_id;
    bool is_other; /* else it only disagrees */
    const struct other_run *next;
};

static const struct other_run *known(const struct run_facts *facts, int64_t source_id)
{
    for (const struct other_run *o = facts->cache->other_runs; o; o = o->next)
        if (o->source_id == source_id)
            return o;
    return NULL;
}

bool other_runs_has(const struct run_facts *facts, int64_t source_id)
{
    const struct other_run *o = known(facts, source_id);

    return o && o->is_other;
}

bool other_runs_disagrees(const struct run_facts *facts, int64_t source_id)
{
    return known(facts, source_id) != NULL;
}

static int remember(struct run_facts *facts, int64_t source_id, bool is_other, struct error *err)
{
    struct other_run *o = arena_alloc(facts->cache->arena, sizeof *o);

    if (!o)
        return error_set(err, E_NOMEM, "no memory for the files of a run");
    *o = (struct other_run){source_id, is_other, facts->cache->other_runs};
    facts->cache->other_runs = o;
    return OK;
}

/* ---- Losses ---- */

enum relation { NOTHING_SHARED, SAME_RUN, OTHER_VALUES };

static enum relation compare(const struct point_columns *own, const struct point_columns *other)
{
    size_t shared = 0, same = 0, leading = 0, i = 0;

    for (size_t j = 0; j < other->n; j++) {
        if (other->step[j] == NONE)
            return NOTHING_SHARED;
        if (j > 0 && other->step[j] < other->step[j - 1])
            i = 0;
        while (i < own->n && own->step[i] < other->step[j])
            i++;
        if (i == own->n || own->step[i] != other->step[j])
            continue;
        bool is_same = curve_values_alike(own->value[i], other->value[j]);

        leading += is_same && leading == shared;
        same += is_same;
        shared++;
    }
    if (shared == 0)
        return NOTHING_SHARED;
    /* A resumed run repeats the steps after its checkpoint with other values. */
    return leading >= LEADING || same * 10 >= shared * 9 ? SAME_RUN : OTHER_VALUES;
}

static const struct series *series_of(const struct run_facts *facts, int64_t source_id,
                                      const char *name)
{
    for (size_t i = 0; i < facts->n_series; i++)
        if (facts->series[i].source_id == source_id && facts->series[i].n_points > 0 &&
            strcmp(facts->series[i].name, name) == 0)
            return &facts->series[i];
    return NULL;
}

/* ---- Attempts: event files ---- */

static bool is_event_file(const struct source *source)
{
    return strcmp(source->importer, "tensorboard") == 0 || strcmp(source->importer, "wandb") == 0;
}

/* The anchor's metric in an event file; the processes of other ranks have losses of their own. */
static const struct series *series_to_compare(const struct run_facts *facts,
                                              const struct source *source,
                                              const struct series *anchor)
{
    const struct source *own = facts_source(facts, anchor->source_id);

    if (!is_event_file(source) || !own ||
        facts_rank(facts, source->path) != facts_rank(facts, own->path))
        return NULL;
    return series_of(facts, source->id, anchor->name);
}

/* One event file beside a state that came as far is the same run's, and is not read for it. */
static bool needs_comparing(const struct run_facts *facts, const struct series *anchor)
{
    size_t n = 0;
    bool goes_on = false;

    for (size_t i = 0; i < facts->n_sources; i++) {
        const struct series *s = series_to_compare(facts, &facts->sources[i], anchor);

        n += s != NULL;
        goes_on |= s && s != anchor &&
                   (!s->is_summed || !anchor->is_summed || s->max_step > anchor->max_step);
    }
    return n > 1 || goes_on;
}

/* An earlier process of the run ends where the anchor's file begins; what begins anew is another.
 */
static bool begins_anew(const struct source *own, int64_t own_first, const struct source *other,
                        int64_t other_first)
{
    bool is_earlier = other_first < own_first && own && is_event_file(own) &&
                      strcmp(curve_files_began(other), curve_files_began(own)) < 0;

    return other_first <= own_first && !is_earlier;
}

static int judge_attempts(struct run_facts *facts, const struct series *anchor, struct error *err)
{
    struct arena *arena = facts->cache->arena;
    struct point_columns own, other;
    size_t n = 0;
    int rc = store_points(facts->cache->store, anchor->id, arena, &own, err);

    for (size_t i = 0; i < facts->n_sources && rc == OK && own.n > 0 && n < FILES_MAX; i++) {
        const struct source *source = &facts->sources[i];
        const struct series *s = series_to_compare(facts, source, anchor);

        if (!s || s == anchor)
            continue;
        rc = store_points(facts->cache->store, s->id, arena, &other, err);
        n++;
        if (rc == OK && compare(&own, &other) == OTHER_VALUES)
            rc = remember(facts, source->id,
                          begins_anew(facts_source(facts, anchor->source_id), own.step[0], source,
                                      other.step[0]),
                          err);
    }
    return rc;
}

/* ---- Logs of other runs ---- */

/* The steps that a state of the run plans; false: none is the same. */
static bool is_planned(const struct run_facts *facts, double steps, double runtime, size_t *n_plans)
{
    bool fits = false;

    *n_plans = 0;
    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        const struct source *source = facts_source(facts, s->source_id);
        double plan;

        if (!source || strcmp(source->importer, "hf_trainer_state") != 0 ||
            (strcmp(s->raw_name, "max_steps") != 0 &&
             strcmp(s->raw_name, "state.max_steps") != 0) ||
            !setting_number(s, &plan) || !(plan > 0.0))
            continue;
        ++*n_plans;
        fits |= fabs(steps - plan) <= 1.0 + PLAN_SHARE * plan + PLAN_ROUNDING * runtime;
    }
    return fits;
}

/* The trainer divides the planned steps by the time that it took: each end tells whose it is. */
static int judge_log(struct run_facts *facts, const struct source *log, struct error *err)
{
    struct arena *arena = facts->cache->arena;
    const struct series *time = series_of(facts, log->id, "train_runtime");
    const struct series *rate = series_of(facts, log->id, "train_steps_per_second");
    struct point_columns seconds, per_second;
    size_t n_plans = 0;

    if (!time || !rate || time->n_points != rate->n_points)
        return OK;
    int rc = store_points(facts->cache->store, time->id, arena, &seconds, err);
    if (rc == OK)
        rc = store_points(facts->cache->store, rate->id, arena, &per_second, err);
    for (size_t i = 0; rc == OK && i < seconds.n; i++) {
        double steps = seconds.value[i] * per_second.value[i];

        if (!isfinite(steps) || is_planned(facts, steps, seconds.value[i], &n_plans) ||
            n_plans == 0)
            return OK;
    }
    return rc == OK ? remember(facts, log->id, true, err) : rc;
}

static bool is_console(const struct source *source)
{
    return strcmp(source->importer, "console_log") == 0 ||
           strcmp(source->importer, "notebook") == 0;
}

/* A log that prints the run's own losses is the run's, whatever its ends count. */
static int judge_logs(struct run_facts *facts, const struct series *anchor, struct error *err)
{
    struct arena *arena = facts->cache->arena;
    struct point_columns own, other;
    int rc = OK;

    for (size_t i = 0; i < facts->n_sources && rc == OK; i++) {
        const struct source *source = &facts->sources[i];
        const struct series *s = series_of(facts, source->id, "loss");

        if (!is_console(source) || source->id == anchor->source_id ||
            !series_of(facts, source->id, "train_runtime"))
            continue;
        if (s && strcmp(anchor->name, "loss") == 0) {
            rc = store_points(facts->cache->store, anchor->id, arena, &own, err);
            if (rc == OK)
                rc = store_points(facts->cache->store, s->id, arena, &other, err);
            if (rc != OK || compare(&own, &other) == SAME_RUN)
                continue;
        }
        rc = judge_log(facts, source, err);
    }
    return rc;
}

int other_runs_find(struct run_facts *facts, struct error *err)
{
    const struct series *anchor = curves_best(facts, "loss");
    int rc = OK;

    if (!anchor)
        anchor = curves_best(facts, "reward");
    if (!anchor || !facts->cache->store)
        return OK;
    if (needs_comparing(facts, anchor))
        rc = judge_attempts(facts, anchor, err);
    return rc == OK ? judge_logs(facts, anchor, err) : rc;
}
