/* Files of TensorBoard and W&B strung together: see curve_files.h. Which logger counts is the
 * business of curves.c. */
#include "core/facts/curve_files.h"

#include <stdlib.h>
#include <string.h>

#include "core/facts/other_runs.h"
#include "core/store/store.h"

#define FILES_MAX 64

/* ---- Which files ---- */

static bool is_in_pieces(const char *importer)
{
    return strcmp(importer, "tensorboard") == 0 || strcmp(importer, "wandb") == 0;
}

/* The names hold the time at which a process began: of event files the file's own, of W&B the
 * folder's. */
const char *curve_files_began(const struct source *source)
{
    const char *name = strrchr(source->path, '/');
    const char *run = strstr(source->path, "run-");

    if (strcmp(source->importer, "wandb") == 0 && run)
        return run;
    return name ? name + 1 : source->path;
}

/* The source of another file of the same logger that has the same metric; else NULL. */
static const struct source *other_file(const struct run_facts *facts, const struct series *anchor,
                                       const struct series *series)
{
    const struct source *own = facts_source(facts, anchor->source_id);
    const struct source *source = facts_source(facts, series->source_id);

    if (!own || !source || source == own || series->n_points == 0 ||
        strcmp(series->name, anchor->name) != 0 || other_runs_has(facts, series->source_id) ||
        !is_in_pieces(own->importer) || strcmp(source->importer, own->importer) != 0 ||
        facts_rank(facts, source->path) != facts_rank(facts, own->path))
        return NULL;
    return source;
}

bool curve_files_go_on(const struct run_facts *facts, const struct series *anchor)
{
    for (size_t i = 0; i < facts->n_series; i++) {
        const struct series *series = &facts->series[i];

        if (other_file(facts, anchor, series) &&
            (!series->is_summed || !anchor->is_summed || series->max_step > anchor->max_step))
            return true;
    }
    return false;
}

/* ---- Pieces ---- */

struct piece {
    int64_t first_wall; /* of the earliest record; 0 in all when one does not say it */
    const char *began;
    int64_t source_id;
    struct point_columns points;
    size_t from, to; /* of the points that count */
};

static int by_time(const void *a, const void *b)
{
    const struct piece *one = a, *other = b;

    if (one->first_wall != other->first_wall)
        return one->first_wall < other->first_wall ? -1 : 1;
    return strcmp(one->began, other->began);
}

/* The records say when a process began; where a file has no times the names do for all of them. */
static void sort_by_time(struct piece *pieces, size_t n)
{
    bool all_tell = true;

    for (size_t i = 0; i < n; i++)
        all_tell &= pieces[i].first_wall > 0;
    for (size_t i = 0; i < n && !all_tell; i++)
        pieces[i].first_wall = 0;
    qsort(pieces, n, sizeof *pieces, by_time);
}

static int64_t first_step(const struct point_columns *p)
{
    return p->n ? p->step[0] : NONE;
}

/* Points below a step; the pieces rise, or a part of them counts. */
static size_t n_below(const struct point_columns *p, int64_t step)
{
    size_t n = 0;

    while (n < p->n && p->step[n] < step)
        n++;
    return n;
}

static size_t n_beyond(const struct point_columns *p, int64_t step)
{
    size_t n = 0;

    while (n < p->n && p->step[p->n - 1 - n] > step)
        n++;
    return n;
}

static int load_pieces(const struct run_facts *facts, const struct series *anchor,
                       struct piece *pieces, size_t *n, struct error *err)
{
    struct facts_cache *cache = facts->cache;
    int rc = OK;

    for (size_t i = 0; i < facts->n_series && *n < FILES_MAX && rc == OK; i++) {
        const struct source *source = other_file(facts, anchor, &facts->series[i]);

        if (!source)
            continue;
        pieces[*n] = (struct piece){.first_wall = source->first_wall,
                                    .began = curve_files_began(source),
                                    .source_id = source->id};
        rc = store_points(cache->store, facts->series[i].id, cache->arena, &pieces[*n].points, err);
        *n += rc == OK && pieces[*n].points.n > 0;
    }
    return rc;
}

/* Of the piece only what lies below the step counts. */
static void cut_from(struct piece *piece, int64_t step)
{
    while (piece->to > piece->from && piece->points.step[piece->to - 1] >= step)
        piece->to--;
}

/* Which points of each piece count. false: nothing but the anchor does. */
static bool choose(struct piece *pieces, size_t n, size_t anchor)
{
    const struct point_columns *own = &pieces[anchor].points;
    int64_t begins = first_step(own), first = begins, last = NONE;
    bool has_more = false;

    for (size_t i = 0; i < own->n; i++)
        last = own->step[i] > last ? own->step[i] : last;
    if (begins == NONE)
        return false;
    for (size_t i = anchor; i-- > 0;) {
        struct piece *piece = &pieces[i];
        int64_t own_first = first_step(&piece->points);

        if (own_first == NONE || own_first >= first)
            continue;
        piece->to = n_below(&piece->points, first);
        first = own_first;
        has_more |= piece->to > 0;
    }
    for (size_t i = anchor + 1; i < n; i++) {
        struct piece *piece = &pieces[i];

        if (first_step(&piece->points) <= begins)
            continue;
        if (n_beyond(&piece->points, last) == 0)
            continue;
        /* it went on from a checkpoint: what it did again counts, and shows how it was resumed */
        for (size_t k = 0; k < i; k++)
            cut_from(&pieces[k], first_step(&piece->points));
        piece->to = piece->points.n;
        last = piece->points.step[piece->to - 1];
        has_more = true;
    }
    return has_more;
}

/* ---- The curve ---- */

struct out {
    double *value;
    int64_t *step, *seq, *line, *source;
    int32_t *segment;
    size_t n;
};

static bool make_room(struct arena *arena, size_t n, struct out *out)
{
    *out = (struct out){.value = arena_array(arena, n, sizeof *out->value),
                        .step = arena_array(arena, n, sizeof *out->step),
                        .seq = arena_array(arena, n, sizeof *out->seq),
                        .line = arena_array(arena, n, sizeof *out->line),
                        .source = arena_array(arena, n, sizeof *out->source),
                        .segment = arena_array(arena, n, sizeof *out->segment)};
    return !arena_failed(arena);
}

/* The later point of a step counts. */
static void put_piece(struct out *out, const struct piece *piece)
{
    const struct point_columns *p = &piece->points;
    int32_t segment = out->n ? out->segment[out->n - 1] + 1 : 0;

    for (size_t i = piece->from; i < piece->to; i++) {
        bool repeats = i > piece->from && p->step[i] != NONE && p->step[i] == p->step[i - 1];
        size_t at = out->n - repeats;

        segment += i > piece->from && p->step[i] != NONE && p->step[i] < p->step[i - 1];
        out->value[at] = p->value[i];
        out->step[at] = p->step[i];
        out->seq[at] = p->seq[i];
        out->line[at] = p->line[i];
        out->source[at] = piece->source_id;
        out->segment[at] = segment;
        out->n = at + 1;
    }
}

int curve_files_join(const struct run_facts *facts, const struct series *anchor,
                     struct curve *curve, struct error *err)
{
    struct arena *arena = facts->cache->arena;
    const struct source *own = facts_source(facts, anchor->source_id);
    struct piece pieces[FILES_MAX + 1];
    size_t n = 0, at = 0, total = 0;
    struct out out;
    int rc = load_pieces(facts, anchor, pieces, &n, err);

    if (rc != OK || n == 0 || !own || curve->source)
        return rc;
    pieces[n] = (struct piece){.first_wall = own->first_wall,
                               .began = curve_files_began(own),
                               .source_id = anchor->source_id,
                               .points = {.n = curve->n,
                                          .value = curve->value,
                                          .step = curve->step,
                                          .seq = curve->seq,
                                          .line = curve->line,
                                          .segment = curve->segment},
                               .to = curve->n};
    n++;
    sort_by_time(pieces, n);
    while (pieces[at].source_id != anchor->source_id)
        at++;
    if (!choose(pieces, n, at))
        return OK;
    for (size_t i = 0; i < n; i++)
        total += pieces[i].to - pieces[i].from;
    if (!make_room(arena, total, &out))
        return error_set(err, E_NOMEM, "no memory for %zu points", total);
    for (size_t i = 0; i < n; i++)
        put_piece(&out, &pieces[i]);
    *curve = (struct curve){.name = curve->name,
                            .source_id = anchor->source_id,
                            .n = out.n,
                            .value = out.value,
                            .step = out.step,
                            .seq = out.seq,
                            .line = out.line,
                            .segment = out.segment,
                            .source = out.source};
    return OK;
}
