/* See completions.h: which files are read, the pass over them, keeping and asking. */
#include "core/facts/completions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/number.h"
#include "core/facts/completions_parts.h"
#include "core/facts/facts_cache.h"
#include "core/facts/preference_facts.h"
#include "core/read/json.h"

#define NAME       "completions"
#define PASS_ARENA ((size_t)64 << 20)
#define HEAD_BYTES ((size_t)32 << 20)

enum { MOST_NAMES = 64 };

/* ---- The pass ---- */

int completions_make(const struct completion_files *files, const struct audit_hooks *hooks,
                     struct arena *arena, struct completions *out, struct error *err)
{
    struct completion_pass pass = {.files = files, .hooks = hooks, .arena = arena, .out = out};

    *out = (struct completions){.low = NAN, .high = NAN, .length_r = NAN};
    int rc = completions_read_all(&pass, err);
    if (rc == OK)
        rc = completions_count_steps(&pass, err);
    if (rc == OK)
        rc = completions_compare_quarters(&pass, err);
    if (rc == OK && arena_failed(arena))
        rc = error_set(err, E_NOMEM, "no memory for what the completions say");
    free(pass.rows);
    free(pass.steps);
    free(pass.counts);
    return rc;
}

/* ---- Which files ---- */

static int by_text(const void *pa, const void *pb)
{
    return strcmp(*(const char *const *)pa, *(const char *const *)pb);
}

/* The same rows are often logged twice: as files of the trainer and as tables of W&B. Then the trainer's
 * own count. */
static bool is_table(const char *path)
{
    return str_ends(str_of(path), ".table.json");
}

static size_t find_paths(const struct run_facts *facts, const char **paths)
{
    size_t n = 0, kept = 0;
    bool has_own = false;

    for (size_t i = 0; i < facts->n_sources; i++) {
        const struct source *source = &facts->sources[i];

        if (!source->importer || strcmp(source->importer, "completions") != 0 ||
            source->state == SOURCE_GONE)
            continue;
        paths[n++] = source->path;
        has_own |= !is_table(source->path);
    }
    for (size_t i = 0; i < n; i++)
        if (!has_own || !is_table(paths[i]))
            paths[kept++] = paths[i];
    if (kept)
        qsort(paths, kept, sizeof *paths, by_text);
    return kept;
}

/* ---- Which columns are rewards, and how they are weighed ---- */

static size_t find_rewards(const struct run_facts *facts, struct arena *arena,
                           const char *names[MOST_NAMES])
{
    char own[160];
    size_t n = 0;

    for (size_t i = 0; i < facts->n_series && n < MOST_NAMES; i++) {
        bool is_new = facts->series[i].name &&
                      reward_part_name(facts->series[i].name, own, sizeof own);

        for (size_t k = 0; k < n && is_new; k++)
            is_new = strcmp(names[k], own) != 0;
        if (is_new)
            names[n++] = arena_strdup(arena, own);
    }
    return n;
}

/* reward_weights, where there is one for each function; the functions are in the order of the trainer. */
static size_t find_weights(const struct run_facts *facts, size_t n_rewards,
                           double weights[MOST_NAMES])
{
    const struct setting *setting = facts_setting(facts, "reward_weights");
    const char *const *items = NULL;
    size_t n = setting ? setting_list(setting, facts, &items) : 0;

    if (n != n_rewards || n > MOST_NAMES)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (!number_parse(str_of(items[i]), &weights[i]))
            return 0;
    return n;
}

struct wanted {
    const char **paths;
    const char *rewards[MOST_NAMES];
    double weights[MOST_NAMES];
    struct completion_files files;
};

static bool find_wanted(const struct run_facts *facts, struct arena *arena, struct wanted *out)
{
    *out = (struct wanted){.paths = arena_array(arena, facts->n_sources + 1, sizeof *out->paths)};
    if (!out->paths)
        return false;
    size_t n = find_paths(facts, out->paths);
    size_t n_rewards = n ? find_rewards(facts, arena, out->rewards) : 0;

    out->files = (struct completion_files){
        .paths = out->paths,
        .n = n,
        .rewards = out->rewards,
        .n_rewards = n_rewards,
        .weights = out->weights,
        .n_weights = n ? find_weights(facts, n_rewards, out->weights) : 0};
    return true;
}

static const struct source *source_at(const struct run_facts *facts, const char *path)
{
    for (size_t i = 0; i < facts->n_sources; i++)
        if (strcmp(facts->sources[i].path, path) == 0)
            return &facts->sources[i];
    return NULL;
}

static uint64_t key_of(const struct run_facts *facts, const struct completion_files *files)
{
    const int64_t version = COMPLETIONS_VERSION;
    uint64_t hash = hash_bytes(&version, sizeof version);

    for (size_t i = 0; i < files->n; i++) {
        const struct source *source = source_at(facts, files->paths[i]);
        const int64_t numbers[] = {source ? source->importer_version : 0, source ? source->size : 0,
                                   source ? source->mtime_ns : 0};

        hash = hash_more(hash, files->paths[i], strlen(files->paths[i]) + 1);
        hash = hash_more(hash, numbers, sizeof numbers);
    }
    for (size_t i = 0; i < files->n_rewards; i++)
        hash = hash_more(hash, files->rewards[i], strlen(files->rewards[i]) + 1);
    hash = hash_more(hash, files->weights, files->n_weights * sizeof *files->weights);
    return hash ? hash : 1;
}

/* ---- Keeping ---- */

/* A stopped pass is made anew the next time: its key is of nothing. */
static int make_and_put(const struct run_facts *facts, struct store *store,
                        const struct audit_hooks *hooks, const struct wanted *wanted, uint64_t key,
                        struct error *err)
{
    struct arena *arena = arena_open(PASS_ARENA);
    struct completions made;
    struct buf text;
    int rc = arena ? completions_make(&wanted->files, hooks, arena, &made, err)
                   : error_set(err, E_NOMEM, "no memory for what the completions say");

    buf_init(&text, HEAD_BYTES);
    if (rc == OK) {
        bool is_stopped = hooks && hooks->cancel && atomic_load(hooks->cancel);

        completions_put(&made, &text);
        const struct stored_text stored = {is_stopped ? 0 : key, text.p};
        rc = text.failed ? error_set(err, E_LIMIT, "what the completions say is above %zu bytes",
                                     HEAD_BYTES)
                         : store_derived_put(store, facts->run.id, NAME, &stored, err);
    }
    buf_free(&text);
    arena_close(arena);
    return rc;
}

int completions_refresh(const struct run_facts *facts, struct store *store,
                        const struct audit_hooks *hooks, struct error *err)
{
    const struct stored_text nothing = {.key = 0, .text = ""};
    struct stored_text stored = {0};
    struct arena *arena = arena_open(PASS_ARENA);
    struct wanted *wanted = arena ? arena_alloc(arena, sizeof *wanted) : NULL;
    int rc = wanted && find_wanted(facts, arena, wanted)
                 ? store_derived(store, facts->run.id, NAME, NULL, &stored, err)
                 : error_set(err, E_NOMEM, "no memory for the files of completions");
    bool is_kept = rc == OK;

    if (rc == OK || rc == E_NOTFOUND) {
        uint64_t key = wanted->files.n ? key_of(facts, &wanted->files) : 0;

        rc = OK;
        facts->cache->completions_known = false;
        if (wanted->files.n && (!is_kept || stored.key != key))
            rc = make_and_put(facts, store, hooks, wanted, key, err);
        else if (!wanted->files.n && is_kept && stored.key)
            rc = store_derived_put(store, facts->run.id, NAME, &nothing, err);
    }
    arena_close(arena);
    return rc;
}

/* ---- Asking ---- */

static bool has_files(const struct run_facts *facts)
{
    for (size_t i = 0; i < facts->n_sources; i++)
        if (facts->sources[i].importer && strcmp(facts->sources[i].importer, "completions") == 0)
            return true;
    return false;
}

static const struct completions *load(const struct run_facts *facts)
{
    struct facts_cache *cache = facts->cache;
    struct completions *out = arena_alloc(cache->arena, sizeof *out);
    struct stored_text stored = {0};
    struct error err = {0};

    cache->completions_hash = 0;
    if (!out || !has_files(facts) || !cache->store)
        return NULL;
    int rc = store_derived(cache->store, facts->run.id, NAME, cache->arena, &stored, &err);
    if (rc != OK && rc != E_NOTFOUND)
        facts_fail(facts, &err);
    if (rc != OK || !stored.text || !*stored.text ||
        !completions_take(stored.text, cache->arena, out) || out->n == 0)
        return NULL;
    cache->completions_hash = hash_more(stored.key, stored.text, strlen(stored.text));
    return out;
}

const struct completions *facts_completions(const struct run_facts *facts)
{
    struct facts_cache *cache = facts->cache;

    if (cache->memory)
        return cache->memory->completions;
    if (!cache->completions_known) {
        cache->completions_known = true;
        cache->completions = load(facts);
    }
    return cache->completions;
}

uint64_t facts_completions_hash(const struct run_facts *facts)
{
    return facts_completions(facts) && !facts->cache->memory ? facts->cache->completions_hash : 0;
}
