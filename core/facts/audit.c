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
    return is_form(dataset, "tokens") &&
           (is_split(dataset, "train") || is_split(dataset, "eval")) &&
           (has_column(dataset, "labels") ||
            facts_source_is(facts, dataset->source_id, "side_files"));
}

/* Rows of texts that one trains on. */
static bool is_simulated(const struct dataset *dataset)
{
    static const char *const FORMS[] = {"messages", "sharegpt", "prompt-completion", "alpaca",
                                        "text"};

    if (!is_split(dataset, "train") && !is_split(dataset, "eval"))
        return false;
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++)
        if (is_form(dataset, FORMS[i]))
            return dataset->n_rows > 0;
    return false;
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

bool audit_goes_on(struct audit_job *job, int64_t n_rows)
{
    const struct audit_hooks *hooks = job->hooks;
    struct error ignored;

    if (!hooks)
        return true;
    if (hooks->progress)
        hooks->progress(hooks->ctx, n_rows, job->dataset->n_rows);
    if (hooks->cancel && atomic_load(hooks->cancel))
        job->is_stopped = true;
    else if (hooks->yield && hooks->yield(hooks->ctx, &ignored) != OK)
        job->is_stopped = true;
    return !job->is_stopped;
}

int audit_refuse(struct audit_job *job, struct audit *audit, enum audit_flag flag, const char *why,
                 struct error *err)
{
    const struct audit_row row = {
        .n_tokens = -1, .n_prompt = -1, .n_trained = -1, .flags = (uint32_t)flag, .last_id = -1};

    if (!audit->first_refusal) {
        audit->first_refusal = arena_strdup(job->arena, why);
        audit->first_refused_row = (int64_t)job->list.n;
    }
    return audit_list_add(&job->list, &row, err);
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
    const int64_t numbers[] = {ids->pad,     ids->eos,       ids->bos,        ids->turn_end,
                               ids->n_vocab, ids->first_new, ids->max_length, ids->cut_keeps_end};

    hash = hash_more(hash, numbers, sizeof numbers);
    hash = hash_more(hash, ids->stops, ids->n_stops * sizeof *ids->stops);
    hash = hash_text(hash, ids->eos_text);
    return hash_text(hash, ids->pad_text);
}

static uint64_t hash_marker(uint64_t hash, const struct marker *marker)
{
    hash = hash_more(hash, marker->text.p ? marker->text.p : "", marker->text.n);
    return hash_more(hash, marker->ids, marker->n_ids * sizeof *marker->ids);
}

static uint64_t hash_rule(uint64_t hash, const struct label_policy *p)
{
    const int64_t numbers[] = {p->rule,
                               p->boundary_is_prefix,
                               p->drops_masked,
                               p->appends_eos,
                               p->appends_eos_id,
                               p->template_is_patched,
                               p->stops_at_end_tokens,
                               p->completion_only,
                               p->assistant_only,
                               p->train_on_prompt,
                               p->mask_history,
                               p->efficient_eos,
                               p->enable_thinking,
                               p->train_on_inputs,
                               p->last_response_only,
                               p->max_length,
                               p->cut_keeps_end,
                               p->drops_long,
                               p->packs,
                               p->packs_whole,
                               p->masks_pad_id,
                               p->pad_id,
                               p->eos_id,
                               p->bos_id};

    hash = hash_more(hash, numbers, sizeof numbers);
    hash = hash_marker(hash_marker(hash, &p->response), &p->instruction);
    hash = hash_text(hash_text(hash, p->train_on_eos), p->train_on_eot);
    for (size_t i = 0; i < p->n_roles; i++)
        hash = hash_text(hash, p->roles_to_train[i]);
    for (size_t i = 0; i < p->n_eot_tokens; i++)
        hash = hash_text(hash, p->eot_tokens[i]);
    hash = hash_text(hash_text(hash, p->field_training), p->llamafactory_template);
    hash = hash_text(hash_text(hash, p->default_system), p->prompt_style);
    return hash_text(hash, p->columns.text);
}

static uint64_t hash_policy(uint64_t hash, const struct mask_policy *policy)
{
    hash = hash_rule(hash_rule(hash, &policy->policy), &policy->other);
    hash = hash_text(hash_text(hash, policy->because), policy->assumption);
    hash = hash_text(hash_text(hash, policy->missing), policy->length_assumption);
    hash = hash_text(hash, policy->version_assumption);
    return hash_text(hash, policy->is_known ? "known" : NULL);
}

/* Of all that the numbers rest on. The tokenizer is not loaded for it. */
static uint64_t key_of(const struct audit_job *job)
{
    const int64_t numbers[] = {AUDIT_VERSION, rows_of_split(job->facts, job->dataset->split),
                               job->facts->run.started_at};
    uint64_t hash = hash_bytes(numbers, sizeof numbers);

    hash = hash_text(hash, job->dataset->form);
    hash = hash_text(hash, job->dataset->split);
    hash = hash_source(hash, job->source);
    hash = hash_ids(hash, job->ids);
    hash = hash_source(hash, job->policy->tokenizer_source);
    hash = hash_source(hash, job->policy->template_source);
    if (!is_recorded(job->facts, job->dataset))
        hash = hash_policy(hash, job->policy);
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
    int rc = is_recorded(job->facts, job->dataset) ? audit_recorded(job, audit, err)
                                                   : audit_simulated(job, audit, err);
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
    audit->is_sampled = audit->basis == AUDIT_RECORDED &&
                        (audit->n_file_rows == NONE || audit->n_rows < audit->n_file_rows);
    return audit_sum(audit, ids, job->arena, err);
}

/* A stopped audit is made anew the next time: its key is of nothing. */
static int make_and_put(struct audit_job *job, struct store *store, uint64_t key, struct error *err)
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

/* What one refresh has in common over the data sets. The engine is opened for the first audit that
 * is to be made: an unchanged run loads no tokenizer. */
struct refresh {
    struct run_facts *facts;
    struct store *store;
    const struct audit_hooks *hooks;
    struct arena *arena;
    struct mask_policy chosen, policy; /* as the files say; with the ids of the vocabulary */
    struct audit_ids plain, ids;       /* by the side files alone; with the vocabulary */
    struct audit_engine engine;
    bool is_open, has_changed, is_stopped;
};

static void complete(struct label_policy *rule, const struct audit_ids *ids)
{
    rule->eos_id = rule->eos_id == NONE ? ids->eos : rule->eos_id;
    rule->bos_id = rule->bos_id == NONE ? ids->bos : rule->bos_id;
    rule->pad_id = rule->pad_id == NONE ? ids->pad : rule->pad_id;
    if (rule->pad_id == NONE)
        rule->pad_id = rule->eos_id;
    if (!rule->eos_text.p && ids->eos_text)
        rule->eos_text = str_of(ids->eos_text);
}

void audit_complete_policy(struct mask_policy *policy, const struct audit_ids *ids)
{
    complete(&policy->policy, ids);
    complete(&policy->other, ids);
}

static int open_engine(struct refresh *r, struct error *err)
{
    if (r->is_open)
        return OK;
    int rc = audit_engine_open(&r->engine, r->facts, &r->policy, store_cache_path(r->store), err);
    if (rc != OK)
        return rc;
    r->is_open = true;
    audit_ids_find(r->facts, r->engine.tokenizer ? &r->engine.vocabulary : NULL,
                   r->engine.turn_end_text, r->arena, &r->ids);
    audit_complete_policy(&r->policy, &r->ids);
    return OK;
}

static int refresh_one(struct refresh *r, const struct dataset *dataset, struct error *err)
{
    const struct stored_audit *stored = stored_of(r->facts, dataset->id);
    struct audit_job job = {.facts = r->facts,
                            .dataset = dataset,
                            .source = facts_source(r->facts, dataset->source_id),
                            .policy = &r->chosen,
                            .engine = &r->engine,
                            .ids = &r->plain,
                            .hooks = r->hooks,
                            .arena = r->arena};

    if (!job.source)
        return OK;
    uint64_t key = key_of(&job);
    if (stored && stored->key == key && stored->head)
        return OK;
    int rc = open_engine(r, err);
    if (rc != OK)
        return rc;
    job.ids = &r->ids;
    job.policy = &r->policy;
    r->has_changed = true;
    rc = make_and_put(&job, r->store, key, err);
    r->is_stopped = job.is_stopped;
    return rc;
}

static int refresh_all(struct refresh *r, struct error *err)
{
    int rc = OK;

    for (size_t i = 0; rc == OK && !r->is_stopped && i < r->facts->n_datasets; i++) {
        const struct dataset *dataset = &r->facts->datasets[i];
        const struct stored_audit *stored = stored_of(r->facts, dataset->id);

        if (is_recorded(r->facts, dataset) || is_simulated(dataset)) {
            rc = refresh_one(r, dataset, err);
        } else if (stored) { /* the user says that it is of another split */
            r->has_changed = true;
            rc = store_audit_drop(r->store, stored->id, err);
        }
    }
    return rc;
}

static bool has_rows(const struct run_facts *facts)
{
    for (size_t i = 0; i < facts->n_datasets; i++)
        if (is_recorded(facts, &facts->datasets[i]) || is_simulated(&facts->datasets[i]))
            return true;
    return facts->cache->n_stored_audits > 0;
}

int audits_refresh(struct run_facts *facts, struct store *store, const struct audit_hooks *hooks,
                   struct error *err)
{
    struct refresh r = {.facts = facts, .store = store, .hooks = hooks};

    if (!has_rows(facts))
        return OK;
    r.arena = arena_open(JOB_ARENA);
    if (!r.arena)
        return error_set(err, E_NOMEM, "no memory for the audit of rows");
    mask_policy_choose(facts, r.arena, &r.chosen);
    r.policy = r.chosen;
    audit_ids_find(facts, NULL, NULL, r.arena, &r.plain);
    int rc = refresh_all(&r, err);
    if (r.is_open)
        audit_engine_close(&r.engine);
    arena_close(r.arena);
    if (rc == OK && r.has_changed)
        rc = reload(facts, store, err);
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
