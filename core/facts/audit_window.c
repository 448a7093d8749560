/* One row of an audit again, whole: found in its file, labelled by the same rule. Tokenizer,
 * template and file stay open for the next row. */
#include <stdlib.h>
#include <string.h>

#include "core/facts/audit_parts.h"
#include "core/facts/facts_cache.h"
#include "core/store/store.h"

#define RAW_BYTES ((size_t)256 << 10)

struct audit_window {
    const struct run_facts *facts;
    const struct audit *audit;
    struct arena *arena, *row_arena;
    struct mask_policy policy;
    struct audit_ids ids;
    struct audit_engine engine;
    struct labeller *labeller;
    struct rows *rows;
    struct labelled_row row;
    size_t n_readable; /* rows of the audit that the importer could read */
};

/* ---- Opening ---- */

static size_t readable_before(const struct audit_window *w, int64_t row)
{
    size_t n = 0;

    if (w->n_readable == (size_t)w->audit->n_rows)
        return (size_t)row;
    for (int64_t i = 0; i < row; i++)
        n += !(w->audit->rows[i].flags & AUDIT_UNREADABLE);
    return n;
}

static int open_labeller(struct audit_window *w, struct error *err)
{
    if (w->audit->basis == AUDIT_RECORDED)
        return labeller_open_recorded(&w->labeller, w->engine.tokenizer, err);
    audit_ids_find(w->facts, w->engine.tokenizer ? &w->engine.vocabulary : NULL,
                   w->engine.turn_end_text, w->arena, &w->ids);
    audit_complete_policy(&w->policy, &w->ids);
    return audit_engine_labeller(&w->engine, &w->policy.policy, &w->labeller, err);
}

int audit_window_open(struct audit_window **out, const struct run_facts *facts,
                      const struct audit *audit, struct error *err)
{
    const struct source *source = facts_source(facts, audit->dataset->source_id);
    const char *cache = facts->cache->store ? store_cache_path(facts->cache->store) : NULL;
    struct audit_window *w = calloc(1, sizeof *w);
    int rc;

    if (!w)
        return error_set(err, E_NOMEM, "no memory to show rows");
    w->facts = facts;
    w->audit = audit;
    w->arena = arena_open(ARENA_VIEW_BYTES);
    w->row_arena = arena_open(AUDIT_ROW_ARENA);
    rc = w->arena && w->row_arena ? OK : error_set(err, E_NOMEM, "no memory to show rows");
    if (rc == OK && (audit->basis == AUDIT_NONE || !source))
        rc = error_set(err, E_UNSUPPORTED, "%s",
                       audit->missing ? audit->missing : "the rows were not audited");
    if (rc == OK) {
        mask_policy_choose(facts, w->arena, &w->policy);
        rc = audit_engine_open(&w->engine, facts, &w->policy, cache, err);
    }
    if (rc == OK)
        rc = open_labeller(w, err);
    if (rc == OK)
        rc = rows_open(&w->rows, source->path, err);
    if (rc != OK) {
        audit_window_close(w);
        return rc;
    }
    if (audit->rows)
        w->n_readable = readable_before(w, audit->n_rows);
    *out = w;
    return OK;
}

void audit_window_close(struct audit_window *window)
{
    if (!window)
        return;
    rows_close(window->rows);
    labeller_close(window->labeller);
    if (window->engine.arena)
        audit_engine_close(&window->engine);
    arena_close(window->row_arena);
    arena_close(window->arena);
    free(window);
}

const struct tokenizer *audit_window_tokenizer(const struct audit_window *window)
{
    return window->engine.tokenizer;
}

/* ---- Finding a row ---- */

struct spot {
    int64_t at;       /* byte to begin at; NONE: the beginning of the file */
    int64_t line_row; /* number of the row that stands there */
    size_t n_skipped; /* lines to pass over from there */
    size_t index;     /* in a batch */
};

/* The place of the nearest readable row at or before the one asked for: the importer kept no place
 * of rows that it could not read. */
static struct spot spot_of(const struct audit_window *w, int64_t row)
{
    const struct audit *audit = w->audit;
    size_t n, k;
    const struct sample *samples = facts_samples(w->facts, audit->dataset, &n);
    int64_t near = row;

    while (near >= 0 && audit->rows[near].flags & AUDIT_UNREADABLE)
        near--;
    k = near > 0 ? readable_before(w, near) : 0;
    /* A row too large for the importer has no place: which of them it is cannot be told. */
    if (near < 0 || w->n_readable > n || samples[k].at < 0)
        return (struct spot){.at = NONE, .n_skipped = (size_t)row};
    struct spot spot = {.at = samples[k].at, .line_row = near, .n_skipped = (size_t)(row - near)};
    while (near == row && spot.index < k && samples[k - spot.index - 1].at == spot.at)
        spot.index++;
    return spot;
}

static int go_to(struct audit_window *w, const struct spot *spot, struct error *err)
{
    const struct source *source = facts_source(w->facts, w->audit->dataset->source_id);

    if (spot->at != NONE && w->rows)
        return rows_seek(w->rows, spot->at, spot->line_row, err);
    rows_close(w->rows);
    w->rows = NULL;
    return rows_open(&w->rows, source->path, err);
}

/* Passes over lines; gives the one asked for. *line NULL: it cannot be read, `why` tells. */
static int read_line(struct audit_window *w, const struct spot *spot, const struct json **line,
                     struct row_place *place, struct error *why, struct error *err)
{
    int rc = go_to(w, spot, err);

    if (rc != OK)
        return rc; /* w->rows may be NULL: the next call opens the file again */
    for (size_t i = 0; i <= spot->n_skipped; i++) {
        arena_reset(w->row_arena);
        rc = rows_next(w->rows, w->row_arena, line, place, why, err);
        if (rc == 0)
            return error_set(err, E_NOTFOUND, "the file has fewer rows than when it was audited");
        if (rc < 0)
            return rc;
    }
    return OK;
}

/* ---- The row ---- */

static int label(struct audit_window *w, const struct json *line, size_t index, struct error *err)
{
    struct conversation row, own;
    int rc = conversation_of_row(line, &w->policy.policy.columns, w->row_arena, &row, err);

    if (rc != OK)
        return rc;
    if (w->audit->basis != AUDIT_RECORDED)
        return label_row(w->labeller, &row, &w->row, err);
    if (conversation_batch(&row) > index) {
        conversation_batch_row(&row, index, &own);
        return label_recorded(w->labeller, &own, &w->row, err);
    }
    return label_recorded(w->labeller, &row, &w->row, err);
}

static bool has_row(const struct audit_window *w, int64_t row)
{
    return row >= 0 && row < w->audit->n_rows && w->audit->rows;
}

static int no_row(const struct audit_window *w, int64_t row, struct error *err)
{
    return error_set(err, E_NOTFOUND, "row %lld of %lld", (long long)row,
                     (long long)w->audit->n_rows);
}

int audit_window_row(struct audit_window *window, int64_t row, const struct labelled_row **out,
                     struct str *raw, struct error *err)
{
    const struct json *line = NULL;
    struct row_place place;
    struct error why = {0};

    if (!has_row(window, row))
        return no_row(window, row, err);
    const struct spot spot = spot_of(window, row);
    int rc = read_line(window, &spot, &line, &place, &why, err);
    if (rc != OK)
        return rc;
    window->row = (struct labelled_row){.text = str_of("")};
    if (json_is(line, JSON_OBJECT))
        rc = label(window, line, spot.index, err);
    else
        window->row.refused =
            arena_strdup(window->row_arena, line ? "no JSON object" : why.message);
    if (rc == OK && raw)
        rc = rows_raw(window->rows, &place, RAW_BYTES, window->row_arena, raw, err);
    if (rc == OK)
        *out = &window->row;
    return rc;
}

int audit_window_raw(struct audit_window *window, int64_t row, size_t limit, struct arena *arena,
                     struct str *out, struct error *err)
{
    const struct json *line = NULL;
    struct row_place place;
    struct error why = {0};

    if (!has_row(window, row))
        return no_row(window, row, err);
    const struct spot spot = spot_of(window, row);
    int rc = read_line(window, &spot, &line, &place, &why, err);
    return rc == OK ? rows_raw(window->rows, &place, limit, arena, out, err) : rc;
}
