/* One metric as one curve: which source counts, where another source goes on, which row wins.
 * Says nothing about what a curve means (core/stats/curve.c, the checks). */
#include "core/facts/curves.h"

#include <math.h>
#include <string.h>

#include "core/facts/curve_choice.h"
#include "core/facts/curve_files.h"
#include "core/facts/metric_names.h"
#include "core/facts/other_runs.h"
#include "core/store/store.h"

/* Printed values have 4 significant digits (transformers 5) or 4 decimals (transformers 4). */
#define PRINT_RELATIVE   6e-4
#define PRINT_ABSOLUTE   6e-5
#define MIN_SHARED_STEPS 3
#define TRIES_MAX        64 /* files that may go on where another ends */

/* ---- Hygiene ---- */

/* Columns that may be written: a copy in the arena. */
struct columns {
    size_t n;
    double *value;
    int64_t *step, *seq, *line, *source;
    int32_t *segment;
};

static bool columns_alloc(struct arena *arena, size_t n, bool with_source, struct columns *out)
{
    *out = (struct columns){
        .value = arena_array(arena, n, sizeof(double)),
        .step = arena_array(arena, n, sizeof(int64_t)),
        .seq = arena_array(arena, n, sizeof(int64_t)),
        .line = arena_array(arena, n, sizeof(int64_t)),
        .segment = arena_array(arena, n, sizeof(int32_t)),
        .source = with_source ? arena_array(arena, n, sizeof(int64_t)) : NULL,
    };
    return !arena_failed(arena);
}

static void columns_put(struct columns *out, size_t at, const struct point_columns *from, size_t i,
                        int32_t segment)
{
    out->value[at] = from->value[i];
    out->step[at] = from->step[i];
    out->seq[at] = from->seq[i];
    out->line[at] = from->line[i];
    out->segment[at] = segment;
}

static bool repeats_step(const struct point_columns *p, size_t i)
{
    return p->step[i] != NONE && p->step[i] == p->step[i - 1] && p->segment[i] == p->segment[i - 1];
}

static bool falls_back(const struct point_columns *p, size_t i)
{
    return p->step[i] != NONE && p->step[i - 1] != NONE && p->step[i] < p->step[i - 1] &&
           p->segment[i] == p->segment[i - 1];
}

/* As most files are: nothing to drop, no unmarked fall. Then the columns are used as they are. */
static bool is_clean(const struct point_columns *p)
{
    unsigned dirty = 0;

    /* Without branches, since a million points pass here; NONE is below every step. */
    for (size_t i = 1; i < p->n; i++)
        dirty |= (unsigned)(p->segment[i] == p->segment[i - 1]) &
                 (unsigned)(p->step[i] <= p->step[i - 1]) & (unsigned)(p->step[i] != NONE);
    return !dirty;
}

/* The later row wins for the same step; a fall that the importer did not mark starts a segment. */
static void copy_clean(const struct point_columns *p, struct columns *out)
{
    int32_t extra = 0;

    for (size_t i = 0; i < p->n; i++) {
        bool replaces = i > 0 && repeats_step(p, i);

        extra += i > 0 && falls_back(p, i);
        columns_put(out, replaces ? out->n - 1 : out->n, p, i, p->segment[i] + extra);
        out->n += !replaces;
    }
}

/* ---- One source goes on where another ends ---- */

bool curve_values_alike(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b))
        return a == b;
    return fabs(a - b) <= PRINT_ABSOLUTE + PRINT_RELATIVE * fmax(fabs(a), fabs(b));
}

static int64_t greatest_step(const int64_t *step, size_t n)
{
    int64_t greatest = NONE;

    for (size_t i = 0; i < n; i++)
        if (step[i] > greatest)
            greatest = step[i];
    return greatest;
}

/* Shared steps agree: at least three of them, or all where there are fewer than three. A resumed
 * log prints steps that the state has only once, so one row in ten may differ. */
static bool sources_agree(const struct point_columns *a, const struct point_columns *b)
{
    size_t shared = 0, same = 0, i = 0;

    for (size_t j = 0; j < b->n; j++) {
        if (b->step[j] == NONE)
            return false;
        if (j > 0 && b->step[j] < b->step[j - 1])
            i = 0;
        while (i < a->n && a->step[i] < b->step[j])
            i++;
        if (i == a->n || a->step[i] != b->step[j])
            continue;
        shared++;
        same += curve_values_alike(a->value[i], b->value[j]);
    }
    return shared > 0 && same * 10 >= shared * 9 &&
           (shared >= MIN_SHARED_STEPS || shared == a->n || shared == b->n);
}

/* Metrics of one source most often stand on the same rows: their counts are kept once. */
static int load(const struct run_facts *facts, const struct series *series,
                struct point_columns *out, struct error *err)
{
    struct facts_cache *cache = facts->cache;
    struct facts_points *known = cache->points;

    while (known &&
           (known->source_id != series->source_id || known->columns.n != (size_t)series->n_points))
        known = known->next;
    int rc = store_points_beside(cache->store, series->id, known ? &known->columns : NULL,
                                 cache->arena, out, err);
    if (rc != OK || known)
        return rc;
    known = arena_alloc(cache->arena, sizeof *known);
    if (!known)
        return error_set(err, E_NOMEM, "no memory for %zu points", out->n);
    *known = (struct facts_points){series->source_id, *out, cache->points};
    cache->points = known;
    return OK;
}

/* Without branches, since a million points pass here; NONE is below every step. */
static bool steps_rise(const int64_t *step, size_t n)
{
    unsigned falls = n > 0 && step[0] == NONE;

    for (size_t i = 1; i < n; i++)
        falls |= (unsigned)(step[i] <= step[i - 1]);
    return !falls;
}

static struct curve curve_of(const char *name, int64_t source_id, const struct columns *c)
{
    return (struct curve){.name = name,
                          .source_id = source_id,
                          .n = c->n,
                          .value = c->value,
                          .step = c->step,
                          .seq = c->seq,
                          .line = c->line,
                          .segment = c->segment,
                          .source = c->source};
}

/* Appends the points of `more` beyond the last step of the curve; false: there are none. */
static bool append(struct curve *curve, const struct point_columns *more, int64_t source_id,
                   struct arena *arena)
{
    struct columns out;
    int64_t last = greatest_step(curve->step, curve->n);
    int32_t segment = curve->n ? curve->segment[curve->n - 1] : 0;
    size_t from = more->n;
    const struct point_columns have = {.n = curve->n,
                                       .value = curve->value,
                                       .step = curve->step,
                                       .seq = curve->seq,
                                       .line = curve->line,
                                       .segment = curve->segment};

    /* The tail after the last row at or before the state's step: what a resume repeated in front
     * of it is the state's to tell. */
    while (from > 0 && more->step[from - 1] > last)
        from--;
    if (from == more->n || last == NONE)
        return false;
    if (!columns_alloc(arena, curve->n + more->n - from, true, &out))
        return false;
    for (size_t i = 0; i < curve->n; i++, out.n++) {
        columns_put(&out, i, &have, i, curve->segment[i]);
        out.source[i] = curve->source ? curve->source[i] : curve->source_id;
    }
    for (size_t i = from; i < more->n; i++) {
        bool replaces = i > from && repeats_step(more, i);

        segment += i > from && more->step[i] < more->step[i - 1];
        out.n -= replaces;
        columns_put(&out, out.n, more, i, segment);
        out.source[out.n++] = source_id;
    }
    *curve = curve_of(curve->name, curve->source_id, &out);
    return true;
}

static int build(const struct run_facts *facts, const struct curve_candidate *best,
                 struct curve *curve, struct error *err)
{
    struct arena *arena = facts->cache->arena;
    struct point_columns p, more;
    struct curve_candidate next = *best, last = *best;
    int rc = load(facts, best->series, &p, err);

    if (rc != OK)
        return rc;
    *curve = (struct curve){.name = best->series->name,
                            .source_id = best->series->source_id,
                            .n = p.n,
                            .value = p.value,
                            .step = p.step,
                            .seq = p.seq,
                            .line = p.line,
                            .segment = p.segment};
    if (!is_clean(&p)) {
        struct columns out;

        if (!columns_alloc(arena, p.n, false, &out))
            return error_set(err, E_NOMEM, "no memory for %zu points", p.n);
        copy_clean(&p, &out);
        *curve = curve_of(best->series->name, best->series->source_id, &out);
    }
    rc = curve_files_join(facts, best->series, curve, err);
    if (rc != OK)
        return rc;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        if (!curve_choice_next(facts, best->series->name, best->class, &last, &next) ||
            next.class > 3)
            break; /* behind them last values only */
        last = next;
        if (other_runs_disagrees(facts, next.series->source_id))
            continue;
        rc = load(facts, next.series, &more, err);
        if (rc != OK)
            return rc;
        if (sources_agree(&p, &more) && append(curve, &more, next.series->source_id, arena))
            break;
    }
    curve->steps_rise = steps_rise(curve->step, curve->n);
    curve->n_segments = curve->n ? curve->segment[curve->n - 1] + 1 : 1; /* they rise */
    return arena_failed(arena) ? error_set(err, E_NOMEM, "no memory for the curve %s", curve->name)
                               : OK;
}

/* ---- Questions ---- */

/* The series that is the whole curve: no other source goes on beyond it. NULL: the points decide.
 */
static const struct series *sole_series(const struct run_facts *facts, const char *name)
{
    struct curve_candidate best, next, last;

    if (facts->cache->memory || !curve_choice_best(facts, name, -1, &best) ||
        !best.series->is_summed || curve_files_go_on(facts, best.series))
        return NULL;
    for (last = best; curve_choice_next(facts, name, best.class, &last, &next) && next.class <= 3;
         last = next)
        if (!next.series->is_summed || next.series->max_step > best.series->max_step)
            return NULL;
    return best.series;
}

static const struct curve *from_memory(const struct facts_memory *memory, const char *name)
{
    for (size_t i = 0; i < memory->n_curves; i++)
        if (strcmp(memory->curves[i].name, name) == 0)
            return &memory->curves[i];
    return NULL;
}

static const struct curve *from_store(const struct run_facts *facts, const char *name)
{
    struct curve_candidate best;
    struct error err;
    struct curve *curve;

    if (!curve_choice_best(facts, name, -1, &best))
        return NULL;
    curve = arena_alloc(facts->cache->arena, sizeof *curve);
    if (!curve)
        return NULL;
    if (build(facts, &best, curve, &err) != OK) {
        facts_fail(facts, &err);
        return NULL;
    }
    return curve;
}

bool facts_has_curve(const struct run_facts *facts, const char *name)
{
    struct curve_candidate best;
    const struct facts_memory *memory = facts->cache->memory;
    const struct curve *curve = memory ? from_memory(memory, name) : NULL;

    return memory ? curve && curve->n > 0 : curve_choice_best(facts, name, -1, &best);
}

size_t facts_metric_count(const struct run_facts *facts)
{
    const struct facts_memory *memory = facts->cache->memory;

    return memory ? memory->n_curves : facts->n_series;
}

const char *facts_metric_name(const struct run_facts *facts, size_t i)
{
    const struct facts_memory *memory = facts->cache->memory;

    return memory ? memory->curves[i].name : facts->series[i].name;
}

static const struct facts_name *known_curve(const struct facts_cache *cache, const char *name)
{
    const struct facts_name *known = cache->curves;

    while (known && strcmp(known->name, name) != 0)
        known = known->next;
    return known;
}

bool facts_curve_is_loaded(const struct run_facts *facts, const char *name)
{
    return facts->cache->memory || known_curve(facts->cache, name);
}

const struct curve *facts_curve(const struct run_facts *facts, const char *name)
{
    struct facts_cache *cache = facts->cache;
    const struct facts_name *known = known_curve(cache, name);

    if (cache->memory)
        return from_memory(cache->memory, name);
    if (known)
        return known->curve;
    struct facts_name *slot = arena_alloc(cache->arena, sizeof *slot);
    if (!slot)
        return NULL;
    slot->name = arena_strdup(cache->arena, name);
    slot->curve = from_store(facts, name);
    slot->next = cache->curves;
    cache->curves = slot;
    return slot->curve;
}

static bool is_listed(const struct curve *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i]->name, name) == 0)
            return true;
    return false;
}

static void add_eval_loss(const struct run_facts *facts, const char *name,
                          const struct curve **list, size_t *n)
{
    if (!metric_is_eval_loss(name) || is_listed(list, *n, name))
        return;
    const struct curve *curve = facts_curve(facts, name);
    if (curve)
        list[(*n)++] = curve;
}

const struct curve *const *facts_eval_losses(const struct run_facts *facts, size_t *n)
{
    struct facts_cache *cache = facts->cache;
    const struct facts_memory *memory = cache->memory;
    size_t n_names = memory ? memory->n_curves : facts->n_series;

    if (!cache->eval_losses_known && n_names) {
        const struct curve **list = arena_array(cache->arena, n_names + 1, sizeof *list);

        if (list)
            add_eval_loss(facts, "eval_loss", list, &cache->n_eval_losses);
        for (size_t i = 0; list && i < n_names; i++)
            add_eval_loss(facts, memory ? memory->curves[i].name : facts->series[i].name, list,
                          &cache->n_eval_losses);
        cache->eval_losses = list;
        cache->eval_losses_known = true;
    }
    *n = cache->n_eval_losses;
    return cache->eval_losses;
}

int64_t curve_source(const struct curve *curve, size_t i)
{
    return curve->source ? curve->source[i] : curve->source_id;
}

/* One past the last of the points that stand together with the one at `from`. */
static size_t end_of_source(const struct curve *curve, size_t from)
{
    size_t low = from, high = curve->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (curve->source[middle] == curve->source[from])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* First and one past the last index of the points from a source; they stand together. */
static void range_of_source(const struct curve *curve, int64_t source_id, size_t *from, size_t *to)
{
    *from = 0;
    *to = curve->source || curve->source_id == source_id ? curve->n : 0;
    if (!curve->source)
        return;
    for (*to = 0; *from < curve->n; *from = *to) {
        *to = end_of_source(curve, *from);
        if (curve->source[*from] == source_id)
            return;
    }
    *from = *to = 0;
}

bool curve_on_row(const struct curve *curve, const struct curve *other, size_t i, double *value)
{
    size_t low, high, end;

    if (!curve || !other || i >= other->n)
        return false;
    if (i < curve->n && curve->seq[i] == other->seq[i] &&
        curve_source(curve, i) == curve_source(other, i)) {
        *value = curve->value[i]; /* metrics of the same rows stand side by side */
        return true;
    }
    range_of_source(curve, curve_source(other, i), &low, &end);
    high = end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (curve->seq[middle] < other->seq[i])
            low = middle + 1;
        else
            high = middle;
    }
    if (low >= end || curve->seq[low] != other->seq[i])
        return false;
    *value = curve->value[low];
    return true;
}

static ptrdiff_t last_at_or_before(const struct curve *curve, int64_t step)
{
    size_t low = 0, high = curve->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (curve->step[middle] <= step)
            low = middle + 1;
        else
            high = middle;
    }
    return (ptrdiff_t)low - 1;
}

ptrdiff_t curve_at_step(const struct curve *curve, int64_t step)
{
    if (!curve || curve->n == 0)
        return -1;
    if (curve->steps_rise)
        return last_at_or_before(curve, step);
    for (size_t i = curve->n; i-- > 0;)
        if (curve->step[i] != NONE && curve->step[i] <= step)
            return (ptrdiff_t)i;
    return -1;
}

static int64_t last_step_of(const struct run_facts *facts, const char *name)
{
    const struct series *sole = sole_series(facts, name);
    const struct curve *curve = sole ? NULL : facts_curve(facts, name);

    if (sole)
        return sole->max_step;
    return curve ? greatest_step(curve->step, curve->n) : NONE;
}

double curves_last_value(const struct run_facts *facts, const char *name)
{
    const struct series *sole = sole_series(facts, name);
    const struct curve *curve = sole ? NULL : facts_curve(facts, name);

    if (sole)
        return sole->last_value;
    for (size_t i = curve ? curve->n : 0; i-- > 0;)
        if (!isnan(curve->value[i]))
            return curve->value[i];
    return NAN;
}

int64_t curves_last_step(const struct run_facts *facts)
{
    static const char *const NAMES[] = {"loss", "reward", "learning_rate", "grad_norm"};
    int64_t last = NONE;

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        int64_t step = last_step_of(facts, NAMES[i]);

        if (step > last)
            last = step;
    }
    return last;
}
