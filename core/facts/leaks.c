/* Which data sets are compared, whether what is stored still holds, and what the checks are given.
 * The comparing: leaks_find.c. */
#include "core/facts/leaks.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/facts/data_facts.h"
#include "core/facts/dataset_shards.h"
#include "core/facts/facts_cache.h"
#include "core/facts/leaks_parts.h"
#include "core/store/store.h"

#define FIND_ARENA ((size_t)512 << 20)
#define TEXT_LIMIT ((size_t)256 << 20)

static const char NAME[] = "leaks";

double leak_jaccard(const struct leak_pair *pair)
{
    if (pair->flags & LEAK_EXACT)
        return 1.0;
    return shingles_jaccard((size_t)pair->n_row, (size_t)pair->n_train, (size_t)pair->n_shared);
}

double leak_containment(const struct leak_pair *pair)
{
    if (pair->flags & LEAK_EXACT)
        return 1.0;
    return pair->n_row ? (double)pair->n_shared / (double)pair->n_row : 0.0;
}

/* ---- Which data sets ---- */

static bool is_text(const char *text, const char *wanted)
{
    return text && strcmp(text, wanted) == 0;
}

/* Rows of texts. Recorded ids have none, nor have lists of lengths. */
static bool has_texts(const struct dataset *dataset)
{
    return dataset->n_rows != 0 && !is_text(dataset->form, "tokens") &&
           !is_text(dataset->form, "lengths");
}

bool leaks_dataset_is_facts(const struct dataset *dataset)
{
    return is_text(dataset->form, "facts");
}

bool leaks_dataset_is(const struct dataset *dataset, bool is_test)
{
    if (!has_texts(dataset))
        return false;
    return is_test ? is_text(dataset->split, "test") || is_text(dataset->split, "eval")
                   : is_text(dataset->split, "train");
}

bool leaks_have_side(const struct run_facts *facts, const char *side)
{
    for (size_t i = 0; i < facts->n_datasets; i++)
        if (leaks_dataset_is(&facts->datasets[i], strcmp(side, "test") == 0))
            return true;
    return false;
}

static bool is_shard_beside(const struct run_facts *facts, const struct dataset *a,
                            const struct dataset *b)
{
    const struct source *source_a = facts_source(facts, a->source_id);
    const struct source *source_b = facts_source(facts, b->source_id);
    struct shard_name in_a, in_b;

    if (!source_a || !source_b || !a->split || !b->split || strcmp(a->split, b->split) != 0)
        return false;
    const char *name_a = strrchr(source_a->path, '/'), *name_b = strrchr(source_b->path, '/');
    if (!name_a || !name_b || name_a - source_a->path != name_b - source_b->path ||
        !shard_name_read(name_a, &in_a) || !shard_name_read(name_b, &in_b) ||
        in_a.stem != in_b.stem || in_a.total != in_b.total)
        return false;
    return strncmp(source_a->path, source_b->path, (size_t)(name_a - source_a->path) + in_a.stem) ==
           0;
}

static void add_test(const struct run_facts *facts, const struct dataset *dataset,
                     struct leak_files *files)
{
    size_t set = files->n_sets;

    for (size_t i = 0; i < files->n_test && set == files->n_sets; i++)
        if (is_shard_beside(facts, files->test[i], dataset))
            set = files->set_of[i];
    if (set == LEAK_MAX_SETS)
        return;
    files->n_sets += set == files->n_sets;
    files->set_of[files->n_test] = set;
    files->test[files->n_test++] = dataset;
}

/* Those of one folder of facts (its source), or with 0 all files of rows. */
static void choose_of(const struct run_facts *facts, int64_t form, struct leak_files *files)
{
    const size_t most = sizeof files->test / sizeof *files->test;

    *files = (struct leak_files){.n_train = 0};
    for (size_t i = 0; i < facts->n_datasets; i++) {
        const struct dataset *dataset = &facts->datasets[i];
        bool is_facts = leaks_dataset_is_facts(dataset);

        if (is_facts != (form != 0) || (is_facts && dataset->source_id != form))
            continue;
        if (leaks_dataset_is(dataset, false) && files->n_train < most)
            files->train[files->n_train++] = dataset;
        if (leaks_dataset_is(dataset, true) && files->n_test < most)
            add_test(facts, dataset, files);
    }
}

static int64_t rows_of(const struct dataset *const *files, size_t n)
{
    int64_t rows = 0;

    for (size_t i = 0; i < n; i++)
        rows += files[i]->n_rows > 0 ? files[i]->n_rows : 0;
    return rows;
}

/* Rows and facts, or facts made apart, have no texts to be compared with each other: both sides are
 * rows, or they are of one folder of facts, whichever has more training rows. */
void leak_files_choose(const struct run_facts *facts, struct leak_files *files)
{
    choose_of(facts, 0, files);
    if (!files->n_train || !files->n_test)
        *files = (struct leak_files){.n_train = 0};
    for (size_t i = 0; i < facts->n_datasets; i++) {
        const struct source *source = facts_source(facts, facts->datasets[i].source_id);
        struct leak_files others;

        if (!leaks_dataset_is_facts(&facts->datasets[i]) || !source ||
            (files->form && strcmp(files->form, source->path) == 0))
            continue;
        choose_of(facts, source->id, &others);
        others.form = source->path;
        if (others.n_train && others.n_test &&
            rows_of(others.train, others.n_train) > rows_of(files->train, files->n_train))
            *files = others;
    }
}

/* ---- The key ---- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return text ? hash_more(hash, text, strlen(text) + 1) : hash_more(hash, "\1", 1);
}

static uint64_t hash_files(const struct run_facts *facts, uint64_t hash,
                           const struct dataset *const *files, size_t n, struct arena *arena)
{
    for (size_t i = 0; i < n; i++) {
        const struct column_names names = data_columns_of(facts, files[i], arena);
        const struct source *source = facts_source(facts, files[i]->source_id);
        const int64_t numbers[] = {files[i]->id, source ? source->importer_version : 0,
                                   source ? source->size : 0, source ? source->mtime_ns : 0,
                                   source ? source->read_to : 0};

        hash = hash_text(hash_text(hash, files[i]->form), source ? source->path : NULL);
        hash = data_columns_hash(hash_more(hash, numbers, sizeof numbers), &names);
    }
    return hash_more(hash, &n, sizeof n);
}

static uint64_t key_of(const struct run_facts *facts, const struct leak_files *files,
                       struct arena *arena)
{
    const int version = LEAKS_VERSION;
    uint64_t hash = hash_bytes(&version, sizeof version);

    hash = hash_files(facts, hash, files->train, files->n_train, arena);
    hash = hash_files(facts, hash, files->test, files->n_test, arena);
    if (files->form)
        hash = data_form_hash(facts, hash);
    return hash ? hash : 1;
}

/* ---- Making ---- */

/* A stopped one is made anew the next time: its key is of nothing. */
static int keep(struct store *store, const struct run_facts *facts, const struct leaks *leaks,
                uint64_t key, struct error *err)
{
    struct buf text;

    buf_init(&text, TEXT_LIMIT);
    leaks_write(leaks, &text);
    const struct stored_text stored = {leaks->is_partial ? 0 : key, text.p};
    int rc = text.failed ? error_set(err, E_NOMEM, "no memory for the leaks of %zu test sets",
                                     leaks->n_sets)
                         : store_derived_put(store, facts->run.id, NAME, &stored, err);
    buf_free(&text);
    return rc;
}

static int make(const struct run_facts *facts, struct store *store, const struct audit_hooks *hooks,
                const struct leak_files *files, uint64_t key, struct error *err)
{
    struct leak_reader reader = {.facts = facts,
                                 .hooks = hooks,
                                 .cache = store_cache_path(store),
                                 .n_total = 2 * rows_of(files->train, files->n_train) +
                                            rows_of(files->test, files->n_test)};
    struct arena *arena = arena_open(FIND_ARENA);
    struct leaks leaks;
    int rc = arena ? leak_reader_open(&reader, err)
                   : error_set(err, E_NOMEM, "no memory for comparing rows");

    if (rc == OK)
        rc = leaks_find(&reader, files, arena, &leaks, err);
    leak_reader_close(&reader);
    if (rc == OK)
        rc = keep(store, facts, &leaks, key, err);
    arena_close(arena);
    return rc;
}

int leaks_refresh(const struct run_facts *facts, struct store *store,
                  const struct audit_hooks *hooks, struct error *err)
{
    struct leak_files files;
    struct stored_text stored;

    leak_files_choose(facts, &files);
    if (!files.n_train || !files.n_test)
        return OK;
    struct arena *arena = arena_open(ARENA_CHECK_BYTES);
    if (!arena)
        return error_set(err, E_NOMEM, "no memory for comparing rows");
    uint64_t key = key_of(facts, &files, arena);
    int rc = store_derived(store, facts->run.id, NAME, NULL, &stored, err);
    bool is_fresh = rc == OK && stored.key == key;
    if (!is_fresh && (rc == OK || rc == E_NOTFOUND)) {
        facts->cache->leaks_known = false;
        rc = make(facts, store, hooks, &files, key, err);
    }
    arena_close(arena);
    return rc;
}

/* ---- Asking ---- */

static const struct leaks *load(const struct run_facts *facts, struct error *err)
{
    struct facts_cache *cache = facts->cache;
    struct stored_text stored;
    struct leaks *leaks = arena_alloc(cache->arena, sizeof *leaks);

    struct leak_files files;

    cache->leaks_key = 0;
    leak_files_choose(facts, &files);
    if (!leaks || !files.n_train || !files.n_test)
        return NULL;
    int rc = store_derived(cache->store, facts->run.id, NAME, cache->arena, &stored, err);
    if (rc != OK || !stored.text || !leaks_read(facts, stored.text, cache->arena, leaks)) {
        if (rc != OK && rc != E_NOTFOUND)
            facts_fail(facts, err);
        return NULL;
    }
    cache->leaks_key = hash_bytes(stored.text, strlen(stored.text));
    return leaks;
}

const struct leaks *facts_leaks(const struct run_facts *facts)
{
    struct facts_cache *cache = facts->cache;
    struct error err;

    if (cache->memory)
        return cache->memory->leaks;
    if (!cache->leaks_known)
        cache->leaks = load(facts, &err);
    cache->leaks_known = true;
    return cache->leaks;
}

int leaks_now(const struct run_facts *facts, const struct leaks **out, struct error *err)
{
    int rc = facts->cache->memory ? OK : leaks_refresh(facts, facts->cache->store, NULL, err);

    *out = rc == OK ? facts_leaks(facts) : NULL;
    if (rc != OK || *out)
        return rc;
    return error_set(
        err, E_NOTFOUND,
        "training and test rows as texts are needed; import both (a file with the word "
        "test or eval in its name, or --set split:PATH=test)");
}

uint64_t facts_leaks_hash(const struct run_facts *facts)
{
    return facts_leaks(facts) ? facts->cache->leaks_key : 0;
}
