/* Loads what the store holds about a run and lets the decisions be made: kind, progress, outcome.
 * Knows no file format and makes no verdict. */
#include "core/facts/run_facts.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/facts/data_facts.h"
#include "core/facts/facts_cache.h"
#include "core/facts/outcome.h"
#include "core/facts/other_runs.h"
#include "core/facts/run_kind.h"
#include "core/facts/run_time.h"

void facts_fail(const struct run_facts *facts, const struct error *why)
{
    struct facts_cache *cache = facts->cache;

    log_line("facts: %s", why->message);
    if (cache->failure.status == OK)
        cache->failure = *why;
}

int run_facts_status(const struct run_facts *facts, struct error *err)
{
    const struct error *failure = &facts->cache->failure;

    if (failure->status != OK) {
        if (err)
            *err = *failure;
        return failure->status;
    }
    if (arena_failed(facts->cache->arena))
        return error_set(err, E_NOMEM, "no memory for the facts of the run");
    return OK;
}

/* ---- Loading ---- */

/* The split that the plan gave a data set (rule 7) stands in the role of its source. */
static void apply_splits(struct run_facts *facts)
{
    static const char *const SPLITS[] = {"train", "eval", "test"};
    struct dataset *own = arena_array(facts->cache->arena, facts->n_datasets, sizeof *own);

    if (!own || facts->n_datasets == 0)
        return;
    memcpy(own, facts->datasets, facts->n_datasets * sizeof *own);
    for (size_t i = 0; i < facts->n_datasets; i++) {
        const struct source *source = facts_source(facts, own[i].source_id);

        for (size_t k = 0; source && source->role && k < 3; k++)
            if (strcmp(source->role, SPLITS[k]) == 0)
                own[i].split = SPLITS[k];
    }
    facts->datasets = own;
}

/* What a file is for and which checkpoint it is of stands in its source (rule 8) and its path; importers
 * of single files know neither. */
static void apply_roles(struct run_facts *facts)
{
    struct artefact *own = arena_array(facts->cache->arena, facts->n_artefacts, sizeof *own);

    if (!own || facts->n_artefacts == 0)
        return;
    memcpy(own, facts->artefacts, facts->n_artefacts * sizeof *own);
    for (size_t i = 0; i < facts->n_artefacts; i++) {
        const struct source *source = facts_source(facts, own[i].source_id);

        if (!own[i].role && source)
            own[i].role = source->role;
        if (own[i].step == NONE)
            own[i].step = facts_checkpoint_step(facts, own[i].path);
    }
    facts->artefacts = own;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return text ? hash_more(hash, text, strlen(text) + 1) : hash_more(hash, "\1", 1);
}

/* A cache that an older program filled is judged anew: raised whenever the facts of the same files
 * change in a way that verdicts rest on. */
static const char FACTS_VERSION[] = "facts 2";

static uint64_t hash_inputs(const struct run_facts *facts)
{
    uint64_t hash = hash_bytes(FACTS_VERSION, sizeof FACTS_VERSION - 1);

    for (size_t i = 0; i < facts->n_sources; i++) {
        const struct source *s = &facts->sources[i];
        const int64_t numbers[] = {s->importer_version, s->size, s->mtime_ns, s->read_to, s->state};

        hash = hash_text(hash, s->path);
        hash = hash_text(hash, s->importer);
        hash = hash_text(hash, s->role);
        hash = hash_more(hash, numbers, sizeof numbers);
    }
    for (size_t i = 0; i < facts->n_answers; i++) {
        hash = hash_text(hash, facts->answers[i].name);
        hash = hash_text(hash, facts->answers[i].value);
    }
    return hash ? hash : 1; /* 0 means: no results */
}

static int load_lists(struct run_facts *f, struct store *store, int64_t id, struct arena *arena,
                      struct error *err)
{
    int rc = store_run_by_id(store, id, arena, &f->run, err);

    if (rc == OK)
        rc = store_sources(store, id, arena, &f->sources, &f->n_sources, err);
    if (rc == OK)
        rc = store_notes(store, id, arena, &f->notes, &f->n_notes, err);
    if (rc == OK)
        rc = store_settings(store, id, arena, &f->settings, &f->n_settings, err);
    if (rc == OK)
        rc = store_series(store, id, arena, &f->series, &f->n_series, err);
    if (rc == OK)
        rc = store_events(store, id, arena, &f->events, &f->n_events, err);
    if (rc == OK)
        rc = store_artefacts(store, id, arena, &f->artefacts, &f->n_artefacts, err);
    if (rc == OK)
        rc = store_datasets(store, id, arena, &f->datasets, &f->n_datasets, err);
    if (rc == OK)
        rc = store_generations(store, id, arena, &f->generations, &f->n_generations, err);
    if (rc == OK)
        rc = store_eval_suites(store, id, arena, &f->eval_suites, &f->n_eval_suites, err);
    if (rc == OK)
        rc = store_answers(store, f->run.key, arena, &f->answers, &f->n_answers, err);
    if (rc == OK)
        rc = store_ticks(store, f->run.key, arena, &f->ticks, &f->n_ticks, err);
    if (rc == OK)
        rc = store_audits(store, id, arena, &f->cache->stored_audits, &f->cache->n_stored_audits,
                          err);
    if (rc == OK)
        rc = data_facts_find(f, store, err);
    if (rc == OK)
        rc = store_run_histories(store, id, arena, &f->cache->stored_histories,
                                 &f->cache->n_stored_histories, err);
    return rc;
}

static _Atomic uint64_t n_opened;

static struct run_facts *make(struct error *err)
{
    struct arena *arena = arena_open(FACTS_BYTES);
    struct run_facts *facts = arena ? arena_alloc(arena, sizeof *facts) : NULL;

    if (facts)
        facts->cache = arena_alloc(arena, sizeof *facts->cache);
    if (!facts || !facts->cache) {
        arena_close(arena);
        error_set(err, E_NOMEM, "no memory for the facts of a run");
        return NULL;
    }
    facts->cache->arena = arena;
    facts->serial = atomic_fetch_add(&n_opened, 1) + 1;
    return facts;
}

int run_facts_open(struct run_facts **out, struct store *store, int64_t run_id, struct error *err)
{
    struct run_facts *facts = make(err);

    if (!facts)
        return E_NOMEM;
    facts->cache->store = store;
    int rc = load_lists(facts, store, run_id, facts->cache->arena, err);
    if (rc == OK)
        facts->inputs_hash = hash_inputs(facts);
    if (rc == OK)
        rc = facts_index_settings(facts, err);
    if (rc == OK)
        rc = other_runs_find(facts, err);
    if (rc == OK && facts->cache->other_runs)
        rc = facts_rank_settings(facts, err);
    if (rc == OK) {
        apply_splits(facts);
        apply_roles(facts);
        outcome_progress(facts);
        run_kind_decide(facts);
        facts->run.started_at = run_began(facts);
        facts->run.framework = run_framework(facts, facts->cache->arena);
        outcome_decide(facts);
        rc = run_facts_status(facts, err);
    }
    if (rc != OK) {
        run_facts_close(facts);
        return rc;
    }
    *out = facts;
    return OK;
}

int run_facts_from_memory(struct run_facts **out, const struct facts_memory *memory,
                          struct error *err)
{
    struct run_facts *facts = make(err);

    if (!facts)
        return E_NOMEM;
    struct facts_cache *cache = facts->cache;
    struct facts_memory *own = arena_alloc(cache->arena, sizeof *own);
    uint64_t serial = facts->serial;
    *facts = memory->lists;
    facts->cache = cache;
    facts->serial = serial;
    if (!own) {
        run_facts_close(facts);
        return error_set(err, E_NOMEM, "no memory for the facts of a run");
    }
    *own = *memory;
    cache->memory = own;
    int rc = facts_index_settings(facts, err);
    if (rc != OK) {
        run_facts_close(facts);
        return rc;
    }
    *out = facts;
    return OK;
}

/* A file that was read again has the same hash, but its rows may have other ids. */
static bool has_same_series(const struct run_facts *a, const struct run_facts *b)
{
    if (a->n_series != b->n_series)
        return false;
    for (size_t i = 0; i < a->n_series; i++)
        if (a->series[i].id != b->series[i].id || a->series[i].n_points != b->series[i].n_points)
            return false;
    return true;
}

static bool has_same_audits(const struct run_facts *facts, struct store *store,
                            struct arena *arena)
{
    const struct facts_cache *cache = facts->cache;
    const struct stored_audit *now = NULL;
    size_t n = 0;

    if (store_audits(store, facts->run.id, arena, &now, &n, NULL) != OK ||
        n != cache->n_stored_audits)
        return false;
    for (size_t i = 0; i < n; i++)
        if (now[i].id != cache->stored_audits[i].id || now[i].key != cache->stored_audits[i].key)
            return false;
    return true;
}

static bool has_same_data(const struct run_facts *facts, struct store *store, struct arena *arena)
{
    const struct stored_text *then = &facts->cache->stored_data;
    struct stored_text now = {0};
    struct error ignored;
    int rc = store_derived(store, facts->run.id, DATA_FACTS_NAME, arena, &now, &ignored);

    return (rc == OK || rc == E_NOTFOUND) && now.key == then->key &&
           (now.text ? then->text && strcmp(now.text, then->text) == 0 : !then->text);
}

static bool has_same_histories(const struct run_facts *facts, struct store *store,
                               struct arena *arena)
{
    const struct facts_cache *cache = facts->cache;
    const struct run_history *now = NULL;
    size_t n = 0;

    if (store_run_histories(store, facts->run.id, arena, &now, &n, NULL) != OK ||
        n != cache->n_stored_histories)
        return false;
    for (size_t i = 0; i < n; i++)
        if (now[i].history_id != cache->stored_histories[i].history_id ||
            now[i].key != cache->stored_histories[i].key)
            return false;
    return true;
}

bool run_facts_are_current(const struct run_facts *facts, struct store *store)
{
    struct run_facts now = {0};
    struct arena *arena = arena_open(ARENA_VIEW_BYTES);
    int64_t id = facts->run.id;
    const char *key = facts->run.key;
    bool is_loaded =
        arena && store_sources(store, id, arena, &now.sources, &now.n_sources, NULL) == OK &&
        store_answers(store, key, arena, &now.answers, &now.n_answers, NULL) == OK &&
        store_series(store, id, arena, &now.series, &now.n_series, NULL) == OK;
    bool is_current = is_loaded && hash_inputs(&now) == facts->inputs_hash &&
                      has_same_series(&now, facts) && has_same_audits(facts, store, arena) &&
                      has_same_data(facts, store, arena) &&
                      has_same_histories(facts, store, arena);

    arena_close(arena);
    return is_current;
}

void run_facts_close(struct run_facts *facts)
{
    if (facts)
        arena_close(facts->cache->arena);
}

/* ---- Events and sources ---- */

const struct event *facts_event(const struct run_facts *facts, const char *kind,
                                const struct event *previous)
{
    size_t from = previous ? (size_t)(previous - facts->events) + 1 : 0;

    for (size_t i = from; i < facts->n_events; i++)
        if (!kind || strcmp(facts->events[i].kind, kind) == 0)
            return &facts->events[i];
    return NULL;
}

size_t facts_count_events(const struct run_facts *facts, const char *kind)
{
    size_t n = 0;

    for (size_t i = 0; i < facts->n_events; i++)
        n += !kind || strcmp(facts->events[i].kind, kind) == 0;
    return n;
}

const char *event_capture(const struct event *event, int group)
{
    if (!event || group < 1 || group > event->n_captures || !event->captures[group - 1])
        return "";
    return event->captures[group - 1];
}

const struct source *facts_source(const struct run_facts *facts, int64_t source_id)
{
    size_t low = 0, high = facts->n_sources;

    if (source_id <= 0)
        return NULL;
    while (low < high) { /* the store gives them by id */
        size_t middle = low + (high - low) / 2;

        if (facts->sources[middle].id == source_id)
            return &facts->sources[middle];
        if (facts->sources[middle].id < source_id)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = 0; i < facts->n_sources; i++) /* a run made by hand may not */
        if (facts->sources[i].id == source_id)
            return &facts->sources[i];
    return NULL;
}

bool facts_source_is(const struct run_facts *facts, int64_t source_id, const char *importer)
{
    const struct source *source = facts_source(facts, source_id);

    return source && strcmp(source->importer, importer) == 0;
}

const char *facts_file_name(const struct run_facts *facts, int64_t source_id)
{
    const struct source *source = facts_source(facts, source_id);
    const char *slash = source ? strrchr(source->path, '/') : NULL;

    return slash ? slash + 1 : source ? source->path : "";
}
