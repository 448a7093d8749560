/* The audits of a run: which data sets get one, whether the stored one still holds, and what the
 * checks and panes are given. How rows are counted: audit_recorded.c, audit_simulated.c. */
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/facts/audit_parts.h"
#include "core/facts/facts_cache.h"
#include "core/store/store.h"

#define JOB_ARENA ((size_t)64 << 20)

/* ---- Which data sets ---- */

static bool is_form(const struct dataset *dataset, const char *form)
{
    return dataset->form && strcmp(dataset->form, form) == 0;
}

static bool is_split(const struct dataset *dataset, const char *split)
{
    return dataset->split && strcmp(dataset->split, split) == 0;
}

static bool has_column(const struct dataset *dataset, const char *name)
{
    struct str rest = str_of(dataset->columns), column;

    while (str_split(&rest, ',', &column))
        if (str_is(column, name))
            return true;
    return false;
}

static bool is_recorded(const struct run_facts *facts, const struct dataset *dataset)
{
    return is_form(dataset, "tokens") && (is_split(dataset, "train") || is_split(dataset, "eval")) &&
           (has_column(dataset, "labels") ||
            facts_source_is(facts, dataset->source_id, "side_files"));
}

/* Rows that the split has, as far as files say; NONE. */
static int64_t rows_of_split(const struct run_facts *facts, const char *split)
{
    int64_t rows = NONE;

    if (strcmp(split, "train") == 0)
        return facts_train_rows(facts, NULL);
    for (size_t i = 0; i < facts->n_datasets; i++)
        if (is_split(&facts->datasets[i], split) && !is_form(&facts->datasets[i], "tokens") &&
            !is_form(&facts->datasets[i], "lengths") && facts->datasets[i].n_rows > rows)
            rows = facts->datasets[i].n_rows;
    return rows;
}

/* ---- Going through rows ---- */

void audit_see_ids(struct audit_job *job, const struct audit_tokens *tokens)
{
    uint64_t seen = 0; /* new ids that this row has had already */

    for (size_t i = 0; i < tokens->n; i++) {
        int64_t id = tokens->ids[i];
        size_t k = 0;

        if (tokens->ids[i] == AUDIT_NO_ID)
            continue;
        if (id > job->max_id) {
            job->max_id = id;
            job->max_id_row = (int64_t)job->list.n;
        }
        if (job->ids->first_new == NONE || id < job->ids->first_new || !job->new_ids)
            continue;
        while (k < job->n_new_ids && job->new_ids[k].id != id)
            k++;
        if (k == AUDIT_MAX_NEW_IDS || (seen >> k) & 1)
            continue;
        if (k == job->n_new_ids)
            job->new_ids[job->n_new_ids++].id = id;
        job->new_ids[k].n_rows++;
        seen |= (uint64_t)1 << k;
    }
}

bool audit_goes_on(struct audit_job *job, int64_t n_rows)
{
    const struct audit_hooks *hooks = job->hooks;
    struct error ignored;

    if (n_rows % 256 != 0 || !hooks)
        return true;
    if (hooks->progress)
        hooks->progress(hooks->ctx, n_rows, job->dataset->n_rows);
    if (hooks->cancel && atomic_load(hooks->cancel))
        job->is_stopped = true;
    else if (hooks->yield && hooks->yield(hooks->ctx, &ignored) != OK)
        job->is_stopped = true;
    return !job->is_stopped;
}

/* ---- The key ---- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return text ? hash_more(hash, text, strlen(text) + 1) : hash_more(hash, "\1", 1);
}

static uint64_t hash_source(uint64_t hash, const struct source *source)
{
    if (!source)
        return hash_text(hash, NULL);
    const int64_t numbers[] = {source->importer_version, source->size, source->mtime_ns,
                               source->read_to};
    return hash_more(hash_text(hash, source->path), numbers, sizeof numbers);
}

static uint64_t hash_ids(uint64_t hash, const struct audit_ids *ids)
{
    const int64_t numbers[] = {ids->pad,     ids->eos,        ids->bos,          ids->turn_end,
                               ids->n_vocab, ids->first_new, ids->max_length, ids->cut_keeps_end,
                               ids->vocabulary != NULL};

    hash = hash_more(hash, numbers, sizeof numbers);
    hash = hash_more(hash, ids->stops, ids->n_stops * sizeof *ids->stops);
    hash = hash_text(hash, ids->eos_text);
    return hash_text(hash, ids->turn_end_text);
}

static uint64_t key_of(const struct audit_job *job, int64_t n_file_rows)
{
    const int64_t numbers[] = {AUDIT_VERSION, n_file_rows};
    uint64_t hash = hash_bytes(numbers, sizeof numbers);

    hash = hash_text(hash, job->dataset->form);
    hash = hash_text(hash, job->dataset->split);
    hash = hash_source(hash, job->source);
    hash = hash_ids(hash, job->ids);
    return hash ? hash : 1;
}

/* ---- Making one ---- */

static void name_new_ids(struct audit_job *job)
{
    for (size_t i = 0; i < job->n_new_ids; i++)
        job->new_ids[i].text = audit_ids_text(job->ids, job->new_ids[i].id, job->arena);
}

static int make(struct audit_job *job, struct audit *audit, struct error *err)
{
    const struct audit_ids *ids = job->ids;

    job->max_id = job->max_id_row = NONE;
    job->new_ids = arena_array(job->arena, AUDIT_MAX_NEW_IDS, sizeof *job->new_ids);
    *audit = (struct audit){.dataset = job->dataset,
                            .first_refused_row = NONE,
                            .max_length = ids->max_length,
                            .pad_id = ids->pad,
                            .eos_id = ids->eos,
                            .bos_id = ids->bos,
                            .turn_end_id = ids->turn_end,
                            .eos_text = ids->eos_text,
                            .turn_end_text = ids->turn_end_text,
                            .n_vocab = ids->n_vocab,
                            .first_new_id = ids->first_new};
    int rc = audit_recorded(job, audit, err);
    if (rc != OK)
        return rc;
    audit->rows = job->list.rows;
    audit->n_rows = (int64_t)job->list.n;
    audit->is_partial = audit->is_partial || job->is_stopped;
    audit->max_id = job->max_id;
    audit->max_id_row = job->max_id_row;
    name_new_ids(job);
    audit->new_ids = job->new_ids;
    audit->n_new_ids = job->n_new_ids;
    audit->n_file_rows = rows_of_split(job->facts, job->dataset->split);
    if (audit->n_file_rows == NONE &&
        !facts_source_is(job->facts, job->dataset->source_id, "side_files"))
        audit->n_file_rows = audit->n_rows;
    audit->is_sampled = audit->n_file_rows == NONE || audit->n_rows < audit->n_file_rows;
    return audit_sum(audit, ids, job->arena, err);
}

/* A stopped audit is made anew the next time: its key is of nothing. */
static int make_and_put(struct audit_job *job, struct store *store, uint64_t key,
                        struct error *err)
{
    struct audit audit;
    int rc = make(job, &audit, err);

    if (rc == OK)
        rc = audit_put(store, job->facts->run.id, &audit, job->is_stopped ? 0 : key, err);
    audit_list_free(&job->list);
    return rc;
}

static const struct stored_audit *stored_of(const struct run_facts *facts, int64_t dataset_id)
{
    const struct facts_cache *cache = facts->cache;

    for (size_t i = 0; i < cache->n_stored_audits; i++)
        if (cache->stored_audits[i].dataset_id == dataset_id)
            return &cache->stored_audits[i];
    return NULL;
}

static int refresh_one(struct audit_job *job, struct store *store, bool *has_changed,
                       struct error *err)
{
    const struct stored_audit *stored = stored_of(job->facts, job->dataset->id);

    job->source = facts_source(job->facts, job->dataset->source_id);
    if (!job->source)
        return OK;
    uint64_t key = key_of(job, rows_of_split(job->facts, job->dataset->split));
    if (stored && stored->key == key && stored->head)
        return OK;
    *has_changed = true;
    return make_and_put(job, store, key, err);
}

static int reload(struct run_facts *facts, struct store *store, struct error *err)
{
    struct facts_cache *cache = facts->cache;

    cache->audits_known = false;
    cache->samples = NULL; /* with the numbers of the older audits */
    cache->lengths_known = false;
    cache->lengths = NULL;
    cache->n_lengths = 0;
    cache->lengths_of = NULL;
    return store_audits(store, facts->run.id, cache->arena, &cache->stored_audits,
                        &cache->n_stored_audits, err);
}

int audits_refresh(struct run_facts *facts, struct store *store, const struct audit_hooks *hooks,
                   struct error *err)
{
    struct arena *arena = arena_open(JOB_ARENA);
    struct audit_ids ids;
    bool has_changed = false, is_stopped = false;
    int rc = arena ? OK : error_set(err, E_NOMEM, "no memory for the audit of rows");

    if (rc == OK)
        audit_ids_find(facts, NULL, NULL, arena, &ids);
    for (size_t i = 0; rc == OK && !is_stopped && i < facts->n_datasets; i++) {
        struct audit_job job = {.facts = facts,
                                .dataset = &facts->datasets[i],
                                .ids = &ids,
                                .hooks = hooks,
                                .arena = arena};

        if (!is_recorded(facts, job.dataset))
            continue;
        rc = refresh_one(&job, store, &has_changed, err);
        is_stopped = job.is_stopped;
    }
    if (rc == OK && has_changed)
        rc = reload(facts, store, err);
    arena_close(arena);
    return rc;
}

/* ---- Asking ---- */

const struct audit *const *facts_audits(const struct run_facts *facts, size_t *n)
{
    struct facts_cache *cache = facts->cache;
    struct error err;

    if (cache->memory) {
        *n = cache->memory->n_audits;
        return cache->memory->audits;
    }
    if (!cache->audits_known && audit_load(facts, &err) != OK)
        facts_fail(facts, &err);
    cache->audits_known = true;
    *n = cache->n_audits;
    return cache->audits;
}

uint64_t facts_audits_hash(const struct run_facts *facts)
{
    const struct facts_cache *cache = facts->cache;
    uint64_t hash = 0;

    for (size_t i = 0; i < cache->n_stored_audits; i++) {
        const struct stored_audit *stored = &cache->stored_audits[i];
        /* a stopped one has no key: what it counted stands in its head */
        uint64_t head = stored->head ? hash_bytes(stored->head, strlen(stored->head)) : 0;

        hash = hash_more(hash, &stored->key, sizeof stored->key);
        hash = hash_more(hash, &head, sizeof head);
    }
    return hash;
}

static bool is_better(const struct audit *a, const struct audit *b)
{
    static const int RANK[] = {[AUDIT_NONE] = 0, [AUDIT_SIMULATED] = 1, [AUDIT_RECORDED] = 2};

    if (RANK[a->basis] != RANK[b->basis])
        return RANK[a->basis] > RANK[b->basis];
    return a->n_rows > b->n_rows;
}

const struct audit *facts_audit(const struct run_facts *facts, const char *split)
{
    const struct audit *best = NULL;
    size_t n;
    const struct audit *const *audits = facts_audits(facts, &n);

    for (size_t i = 0; i < n; i++)
        if (is_split(audits[i]->dataset, split) && (!best || is_better(audits[i], best)))
            best = audits[i];
    return best;
}
