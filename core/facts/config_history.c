/* Histories of configurations: what is stale, storing, loading. See config_history.h. */
#include "core/facts/config_history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/facts/facts_cache.h"
#include "core/facts/history_parts.h"
#include "core/facts/run_time.h"

#define HEAD_BYTES    ((size_t)1 << 20)
#define SEARCH_BYTES  ((size_t)128 << 20)
#define FIRST_BATCH   100               /* revisions that are shown before the rest is there */
#define BATCH         1000
#define MAX_RUNS      64

/* ---- Loading ---- */

static int load_revisions(struct store *store, int64_t id, struct arena *arena,
                          struct config_history *h, struct error *err)
{
    struct stored_history stored;
    int rc = store_history_by_id(store, id, arena, &stored, err);

    if (rc != OK)
        return rc;
    h->id = id;
    h->repository = stored.repository;
    h->path = stored.path;
    h->head = stored.head_id;
    h->is_whole = stored.is_whole;
    h->n_all = stored.n_revisions;
    history_take_head(stored.head, arena, h);
    return store_revisions(store, id, HISTORY_MAX_SHOWN, arena, &h->revisions, &h->n_revisions, err);
}

static int load(const struct run_facts *facts, struct error *err)
{
    struct facts_cache *cache = facts->cache;
    size_t n = cache->n_stored_histories;
    const struct config_history **list = arena_array(cache->arena, n + 1, sizeof(void *));
    int rc = list ? OK : error_set(err, E_NOMEM, "no memory for histories");

    cache->n_histories = 0;
    for (size_t i = 0; rc == OK && i < n; i++) {
        struct config_history *h = arena_alloc(cache->arena, sizeof *h);

        if (!h)
            return error_set(err, E_NOMEM, "no memory for histories");
        struct history_run_part part;

        history_take_run_head(cache->stored_histories[i].head, cache->arena, h, &part);
        if (cache->stored_histories[i].history_id)
            rc = load_revisions(cache->store, cache->stored_histories[i].history_id, cache->arena, h, err);
        if (rc == E_NOTFOUND) {         /* replaced meanwhile by another connection */
            rc = OK;
            continue;
        }
        h->used_at = part.at_commit ? config_history_find(h, part.at_commit) : -1;
        list[cache->n_histories++] = h;
    }
    if (rc == OK)
        cache->histories = list;
    return rc;
}

const struct config_history *const *facts_histories(const struct run_facts *facts, size_t *n)
{
    struct facts_cache *cache = facts->cache;
    struct error why;

    if (!cache->histories_known && cache->store && load(facts, &why) != OK) {
        facts_fail(facts, &why);
        cache->n_histories = 0;
    }
    cache->histories_known = true;
    *n = cache->n_histories;
    return cache->histories;
}

const struct config_history *facts_history(const struct run_facts *facts)
{
    size_t n;
    const struct config_history *const *list = facts_histories(facts, &n);

    for (size_t i = 0; i < n; i++)
        if (list[i]->n_revisions)
            return list[i];
    return NULL;
}

bool facts_has_history(const struct run_facts *facts)
{
    const struct facts_cache *cache = facts->cache;

    for (size_t i = 0; i < cache->n_stored_histories; i++)
        if (cache->stored_histories[i].history_id)
            return true;
    return false;
}

uint64_t facts_histories_hash(const struct run_facts *facts)
{
    const struct facts_cache *cache = facts->cache;
    uint64_t hash = 0;

    for (size_t i = 0; i < cache->n_stored_histories; i++)
        hash = hash_more(hash, &cache->stored_histories[i].key, sizeof cache->stored_histories[i].key);
    return hash;
}

/* ---- Storing one ---- */

struct keeper {
    struct store *store;
    const struct audit_hooks *hooks;
    int64_t run_id, history_id;
    int64_t n_waiting;                  /* in the open transaction */
    bool is_open;
    struct run_history *shown;          /* the run's rows, so that the first revisions are seen at once */
    size_t n_shown;
};

static int close_batch(struct keeper *k, int64_t n, struct error *err)
{
    int rc = OK;

    if (k->is_open)
        rc = store_commit(k->store, err);
    k->is_open = false;
    k->n_waiting = 0;
    if (rc != OK || !k->hooks || !k->hooks->batch)
        return rc;
    /* The row's key changes, so that who looks sees that there is more; 0 … n is no key of a whole one. */
    k->shown[k->n_shown - 1].key = (uint64_t)n;
    rc = store_run_histories_put(k->store, k->run_id, k->shown, k->n_shown, err);
    if (rc == OK)
        k->hooks->batch(k->hooks->ctx, k->run_id);
    return rc;
}

static int keep_revision(void *ctx, int64_t ord, const struct revision *revision, struct error *err)
{
    struct keeper *k = ctx;
    int rc = OK;

    if (!k->is_open) {
        rc = store_begin(k->store, err);
        if (rc != OK)
            return rc;
        k->is_open = true;
    }
    rc = store_history_add(k->store, k->history_id, ord, revision, err);
    if (rc != OK)
        return rc;
    k->n_waiting++;
    return ord >= 0 && (k->n_waiting == BATCH || ord + 1 == FIRST_BATCH) ? close_batch(k, ord + 1, err)
                                                                            : OK;
}

/* What the user writes meanwhile must not hang on a transaction of ours. */
static int yield_between(void *ctx, struct error *err)
{
    struct keeper *k = ctx;

    if (k->is_open) {
        int rc = store_commit(k->store, err);

        k->is_open = false;
        if (rc != OK)
            return rc;
    }
    return k->hooks->yield ? k->hooks->yield(k->hooks->ctx, err) : OK;
}

/* `before`: what is known of the history that goes on; NULL: it is made from nothing. */
struct known {
    struct git_id head;
    int64_t first_ord, n_walked;
};

static int keep(struct keeper *k, const struct history_target *target, const struct known *before,
                bool *is_whole, struct error *err)
{
    const struct audit_hooks hooks = {
        .cancel = k->hooks ? k->hooks->cancel : NULL,
        .yield = before ? NULL : yield_between,     /* in between, the list would have a hole */
        .ctx = k};
    struct history_walk walk = {
        .target = target, .hooks = k->hooks ? &hooks : NULL, .take = keep_revision, .ctx = k,
        .until = before ? &before->head : NULL, .first_ord = before ? before->first_ord : 0};
    struct buf head;
    int rc = history_walk(&walk, err);

    if ((rc != OK || (before && walk.is_stopped)) && k->is_open) {
        store_rollback(k->store);
        k->is_open = false;
    }
    walk.n_walked += before ? before->n_walked : 0;
    buf_init(&head, HEAD_BYTES);
    history_put_head(&head, target->place, &walk);
    if (rc == OK && k->is_open)
        rc = store_commit(k->store, err);
    k->is_open = false;
    *is_whole = !walk.is_stopped;
    if (rc == OK)
        rc = store_history_done(k->store, k->history_id, *is_whole, head.failed ? "{}" : head.p, err);
    buf_free(&head);
    buf_free(&walk.notes);
    return rc;
}

/* The new commits before the ones that are kept; NOTFOUND: all of it has to be walked. */
static int go_on(struct keeper *k, const struct history_target *target,
                 const struct stored_history *stored, int64_t n_walked, bool *is_whole, struct error *err)
{
    struct known before = {.n_walked = n_walked};
    char head[GIT_ID_HEX + 1];
    int64_t n_new;

    if (!git_id_parse(str_of(stored->head_id), &before.head))
        return E_NOTFOUND;
    int rc = history_count_new(target, &before.head, k->hooks, &n_new, err);
    if (rc != OK || n_new < 0 || n_new > FIRST_BATCH)
        return rc == E_NOMEM ? rc : E_NOTFOUND;
    rc = store_history_first(k->store, stored->id, &before.first_ord, err);
    git_id_hex(&target->place->head, head);
    if (rc == OK)
        rc = store_history_go_on(k->store, stored->id, head, err);
    if (rc != OK)
        return rc;
    before.first_ord -= n_new;
    k->history_id = stored->id;
    k->shown[k->n_shown - 1].history_id = stored->id;
    return keep(k, target, &before, is_whole, err);
}

/* The history of the target in the cache: what is there when HEAD is the same, else a new one. */
static int history_in_cache(struct keeper *k, const struct history_target *target, struct arena *arena,
                            bool *is_whole, struct error *err)
{
    char head[GIT_ID_HEX + 1];
    struct stored_history stored;
    struct error why;
    int64_t n_walked = 0;
    size_t n_notes = 0;
    int rc = store_history_find(k->store, target->place->path, target->path, arena, &stored, &why);

    git_id_hex(&target->place->head, head);
    if (rc == OK && stored.is_whole && stored.version == HISTORY_VERSION &&
        history_has_boundary(&stored, target->place->repository, arena, &n_walked, &n_notes)) {
        k->history_id = stored.id;
        *is_whole = true;
        if (strcmp(stored.head_id, head) == 0)
            return OK;
        int on = n_notes ? E_NOTFOUND : go_on(k, target, &stored, n_walked, is_whole, err);
        if (on != E_NOTFOUND)
            return on;
    }
    if (rc != OK && rc != E_NOTFOUND) {
        if (err)
            *err = why;
        return rc;
    }
    stored = (struct stored_history){.repository = target->place->path, .path = target->path,
                                     .head_id = head, .version = HISTORY_VERSION};
    rc = store_history_begin(k->store, &stored, err);
    if (rc != OK)
        return rc;
    k->history_id = stored.id;
    k->shown[k->n_shown - 1].history_id = stored.id;
    return keep(k, target, NULL, is_whole, err);
}

/* ---- Refreshing ---- */

static uint64_t key_of(const struct history_search *s)
{
    const char *owner = facts_answer(s->facts, "git-owner");
    uint64_t hash = hash_more(HISTORY_VERSION, &s->facts->inputs_hash, sizeof s->facts->inputs_hash);

    hash = hash_more(hash, &s->facts->run.started_at, sizeof s->facts->run.started_at);
    if (owner)
        hash = hash_more(hash, owner, strlen(owner));
    for (size_t i = 0; i < s->n_places; i++) {
        hash = hash_more(hash, s->places[i].path, strlen(s->places[i].path) + 1);
        hash = hash_more(hash, &s->places[i].stamp, sizeof s->places[i].stamp);
    }
    for (size_t i = 0; i < s->n_files; i++) {
        uint64_t stamp = history_stamp(s->files[i]);

        hash = hash_more(hash, &stamp, sizeof stamp);
    }
    return hash | (uint64_t)1 << 62;    /* never the small number of an unfinished one */
}

static bool is_fresh(const struct run_facts *facts, const struct history_search *s, uint64_t key)
{
    const struct facts_cache *cache = facts->cache;

    if (s->n_places == 0)
        return cache->n_stored_histories == 0;
    for (size_t i = 0; i < cache->n_stored_histories; i++)
        if (cache->stored_histories[i].key != key ||
            !history_has_working_file(cache->stored_histories[i].head, s->arena))
            return false;
    return cache->n_stored_histories > 0;
}

static int refresh_target(const struct run_facts *facts, struct keeper *k,
                          const struct history_target *target, struct history_search *s, uint64_t key,
                          struct error *err)
{
    struct config_history h = {.repository = target->place->path, .path = target->path,
                               .problem = target->problem, .run_file = target->run_file, .used_at = -1};
    struct run_history *row = &k->shown[k->n_shown++];
    bool is_whole = true;
    int rc = OK;

    *row = (struct run_history){.run_id = k->run_id, .key = key,
                                .head = history_run_head(facts, &h, s->arena)};
    if (!target->path)
        return OK;
    rc = history_in_cache(k, target, s->arena, &is_whole, err);
    if (rc == E_GIT || rc == E_LIMIT || rc == E_UNSUPPORTED || rc == E_NOTFOUND) {
        h.problem = err ? arena_strdup(s->arena, err->message) : "it cannot be read";
        row->history_id = 0;
        row->key = key;
        row->head = history_run_head(facts, &h, s->arena);
        return OK;
    }
    if (rc == OK)
        rc = load_revisions(k->store, k->history_id, s->arena, &h, err);
    if (rc == OK)
        rc = history_use_find(facts, target, s->arena, &h, err);
    row->history_id = k->history_id;
    row->key = is_whole ? key : 0;
    row->head = history_run_head(facts, &h, s->arena);
    return rc;
}

static int refresh_all(const struct run_facts *facts, struct store *store,
                       const struct audit_hooks *hooks, struct history_search *s, uint64_t key,
                       struct error *err)
{
    struct run_history rows[HISTORY_MAX_TARGETS];
    struct keeper k = {.store = store, .hooks = hooks, .run_id = facts->run.id, .shown = rows};
    struct error why = {0};
    int rc = history_search_targets(s, &why);

    /* The places are known and hold nothing of the run: remembered, so that it is not asked again. */
    if (rc == OK && s->n_targets == 0)
        s->targets[s->n_targets++] = (struct history_target){
            .place = &s->places[0], .problem = "it holds no configuration of the run"};
    for (size_t i = 0; rc == OK && i < s->n_targets; i++)
        rc = refresh_target(facts, &k, &s->targets[i], s, key, &why);
    if (rc == OK)
        return store_run_histories_put(store, facts->run.id, rows, k.n_shown, err);
    if (err)
        *err = why;
    return rc;
}

int histories_refresh(struct run_facts *facts, struct store *store, const struct audit_hooks *hooks,
                      struct error *err)
{
    struct history_search search = {.facts = facts, .arena = arena_open(SEARCH_BYTES)};
    struct facts_cache *cache = facts->cache;
    int rc = search.arena ? OK : error_set(err, E_NOMEM, "no memory for histories");

    if (rc == OK)
        rc = history_search_places(&search, err);
    uint64_t key = rc == OK ? key_of(&search) : 0;
    if (rc == OK && !is_fresh(facts, &search, key)) {
        rc = search.n_places ? refresh_all(facts, store, hooks, &search, key, err)
                             : store_run_histories_put(store, facts->run.id, NULL, 0, err);
        cache->histories_known = false;
        if (rc == OK)
            rc = store_run_histories(store, facts->run.id, cache->arena, &cache->stored_histories,
                                     &cache->n_stored_histories, err);
    }
    history_search_close(&search);
    arena_close(search.arena);
    return rc;
}

/* ---- Other runs ---- */

static int worst_of(struct store *store, struct history_run *of, struct arena *arena, struct error *err)
{
    const struct run *run = &of->run;
    const struct check_result *results;
    const struct tick *ticks;
    size_t n, n_ticks;
    uint64_t hash;
    int rc = store_results(store, run->id, arena, &results, &n, &hash, err);

    if (rc == OK)
        rc = store_ticks(store, run->key, arena, &ticks, &n_ticks, err);
    if (rc != OK)
        return rc;
    of->was_checked = n > 0;
    of->verdict = n ? VERDICT_NOT_APPLICABLE : VERDICT_UNKNOWN;
    for (size_t i = 0; i < n; i++) {
        bool is_dismissed = false;

        for (size_t k = 0; k < n_ticks; k++)
            is_dismissed |= strcmp(ticks[k].check_id, results[i].check_id) == 0 &&
                            strcmp(ticks[k].state, "dismissed") == 0;
        if (!is_dismissed && results[i].verdict > of->verdict)
            of->verdict = results[i].verdict;
    }
    return OK;
}

int config_history_runs(struct store *store, const struct config_history *history,
                        struct arena *arena, const struct history_run **out, size_t *n,
                        struct error *err)
{
    const struct run_history *rows;
    size_t n_rows, n_out = 0;
    int rc = history->id ? store_history_runs(store, history->id, arena, &rows, &n_rows, err) : OK;

    *out = NULL;
    *n = 0;
    if (rc != OK || !history->id)
        return rc;
    struct history_run *list = arena_array(arena, n_rows + 1, sizeof *list);
    if (!list)
        return error_set(err, E_NOMEM, "the runs of a history");
    for (size_t i = 0; rc == OK && i < n_rows && n_out < MAX_RUNS; i++) {
        struct config_history own = {.id = 0};

        struct history_run_part part;

        history_take_run_head(rows[i].head, arena, &own, &part);
        rc = store_run_by_id(store, rows[i].run_id, arena, &list[n_out].run, err);
        if (rc == OK)
            rc = worst_of(store, &list[n_out], arena, err);
        list[n_out].began = part.began;
        list[n_out++].used_at = part.at_commit ? config_history_find(history, part.at_commit) : -1;
    }
    if (rc != OK)
        return rc;
    *out = list;
    *n = n_out;
    return OK;
}

/* ---- Words ---- */

const char *history_use_name(enum history_use use)
{
    static const char *const NAMES[] = {"not known", "by recorded hash", "by content", "by its settings",
                                        "by time"};

    return NAMES[use];
}

ptrdiff_t config_history_find(const struct config_history *history, const char *commit)
{
    size_t n = strlen(commit);

    for (size_t i = 0; n >= 7 && i < history->n_revisions; i++)
        if (strncmp(history->revisions[i].commit, commit, n) == 0)
            return (ptrdiff_t)i;
    return -1;
}
