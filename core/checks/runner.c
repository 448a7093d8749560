/* Runs the checklist on a stored run: the audit of its rows, which results are stale, the facts of
 * the run and of its project's other runs, one check after the other, results put back in one go. */
#include "core/checks/runner.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/checks/gate.h"
#include "core/checks/registry.h"
#include "core/facts/completions.h"
#include "core/facts/config_history.h"
#include "core/facts/data_facts.h"
#include "core/facts/leaks.h"
#include "core/facts/measure.h"
#include "core/store/store.h"

/* Checks that compare runs look at this many others at most. */
#define MAX_OTHERS 16

struct session {
    struct store *store;
    struct run_facts *facts;
    struct run_facts *others[MAX_OTHERS];
    size_t n_others;
    struct arena *arena;   /* the results, until they are stored */
    struct arena *scratch; /* one check */
    struct gate gate;
    uint64_t hash;
};

static int open_others(struct session *s, struct error *err)
{
    const struct run *runs = NULL;
    size_t n = 0;
    const char *project = s->facts->run.project;

    int rc = store_runs(s->store, s->arena, &runs, &n, err);
    for (size_t i = 0; rc == OK && i < n && s->n_others < MAX_OTHERS; i++) {
        if (runs[i].id == s->facts->run.id || !runs[i].project || !project ||
            strcmp(runs[i].project, project) != 0)
            continue;
        rc = run_facts_open(&s->others[s->n_others], s->store, runs[i].id, err);
        if (rc == OK)
            s->n_others++;
    }
    return rc;
}

static uint64_t more_histories(uint64_t hash, const struct run_facts *facts)
{
    uint64_t histories = facts_histories_hash(facts);

    return histories ? hash_more(hash, &histories, sizeof histories) : hash;
}

/* Results are as old as all that they were made from: this run, the audit of its rows, the runs it was
 * compared to, and how the configurations of all came to be. */
static uint64_t inputs_hash(const struct session *s)
{
    uint64_t hash = s->facts->inputs_hash;

    for (size_t i = 0; i < s->n_others; i++) {
        hash = hash_more(hash, &s->others[i]->inputs_hash, sizeof s->others[i]->inputs_hash);
        hash = more_histories(hash, s->others[i]);
    }
    uint64_t audits = facts_audits_hash(s->facts);
    if (audits)
        hash = hash_more(hash, &audits, sizeof audits);
    uint64_t data = facts_data_hash(s->facts);
    if (data)
        hash = hash_more(hash, &data, sizeof data);
    hash = more_histories(hash, s->facts);
    uint64_t leaks = facts_leaks_hash(s->facts);
    if (leaks)
        hash = hash_more(hash, &leaks, sizeof leaks);
    uint64_t completions = facts_completions_hash(s->facts);
    if (completions)
        hash = hash_more(hash, &completions, sizeof completions);
    return hash ? hash : 1;
}

static bool is_asked(const char *only, const char *id)
{
    struct str rest = str_of(only), part;

    if (!only)
        return true;
    while (str_split(&rest, ',', &part))
        if (str_is(str_trim(part), id))
            return true;
    return false;
}

static const struct check_result *stored_of(const struct check_result *results, size_t n,
                                            const char *id)
{
    for (size_t i = 0; i < n; i++)
        if (results[i].check_id && strcmp(results[i].check_id, id) == 0)
            return &results[i];
    return NULL;
}

static const char *const *keep_texts(struct arena *arena, const char *const *texts, size_t n)
{
    const char **kept = arena_array(arena, n, sizeof *kept);

    for (size_t i = 0; kept && i < n; i++)
        kept[i] = arena_strdup(arena, texts[i]);
    return kept;
}

/* A copy that does not need the arena of its check. */
static void keep_result(struct arena *arena, const struct check_result *result,
                        struct check_result *out)
{
    struct evidence *evidence = arena_array(arena, result->n_evidence, sizeof *evidence);

    *out = *result;
    out->finding = arena_strdup(arena, result->finding);
    out->branch = arena_strdup(arena, result->branch);
    for (size_t i = 0; evidence && i < result->n_evidence; i++) {
        const struct evidence *from = &result->evidence[i];

        evidence[i] = *from;
        evidence[i].kind = arena_strdup(arena, from->kind);
        evidence[i].series = arena_strdup(arena, from->series);
        evidence[i].commit = arena_strdup(arena, from->commit);
        evidence[i].text = arena_strdup(arena, from->text);
    }
    out->evidence = evidence;
    out->fixes = keep_texts(arena, result->fixes, result->n_fixes);
    out->missing = keep_texts(arena, result->missing, result->n_missing);
    out->information = keep_texts(arena, result->information, result->n_information);
}

static int run_checks(struct session *s, const char *only, struct error *err)
{
    const struct check_result *stored = NULL;
    size_t n_stored = 0, n = 0;
    uint64_t stored_hash = 0;
    struct check_result *results = arena_array(s->arena, check_count(), sizeof *results);

    if (!results)
        return error_set(err, E_NOMEM, "checks: out of memory");
    int rc =
        store_results(s->store, s->facts->run.id, s->arena, &stored, &n_stored, &stored_hash, err);
    for (size_t i = 0; rc == OK && i < check_count(); i++) {
        const struct check *check = check_at(i);
        const struct check_result *old = stored_of(stored, n_stored, check->id);
        bool is_fresh = old && old->check_version == check->version && stored_hash == s->hash;
        /* All stored results carry one hash, so a stale one is renewed although it is not asked
         * for: it would pass for fresh otherwise. */
        if (is_fresh)
            gate_see(&s->gate, s->facts, check, old->verdict);
        if (is_fresh || !(is_asked(only, check->id) || old))
            continue;
        struct check_ctx ctx = {.facts = s->facts,
                                .others = (const struct run_facts *const *)s->others,
                                .n_others = s->n_others,
                                .gate = &s->gate,
                                .arena = s->scratch};
        struct check_result result;
        arena_reset(s->scratch); /* a rule may copy whole curves */
        rc = check_run_one(check, &ctx, &result, err);
        if (rc == OK) {
            gate_see(&s->gate, s->facts, check, result.verdict);
            keep_result(s->arena, &result, &results[n++]);
        }
        if (rc == OK && arena_failed(s->arena))
            rc = error_set(err, E_NOMEM, "the results of the checks: out of memory");
    }
    if (rc == OK)
        rc = run_facts_status(s->facts, err);
    if (rc == OK && n > 0)
        rc = store_results_put(s->store, s->facts->run.id, results, n, s->hash, err);
    return rc;
}

/* What was measured is in the store: the facts are read anew. */
static int measure_first(struct session *s, const struct audit_hooks *hooks, struct error *err)
{
    bool did = false;
    int64_t run_id = s->facts->run.id;
    int rc = measures_refresh(s->facts, s->store, hooks, &did, err);

    if (rc != OK || !did)
        return rc;
    run_facts_close(s->facts);
    s->facts = NULL;
    return run_facts_open(&s->facts, s->store, run_id, err);
}

static void close_session(struct session *s)
{
    for (size_t i = 0; i < s->n_others; i++)
        run_facts_close(s->others[i]);
    run_facts_close(s->facts);
    arena_close(s->scratch);
    arena_close(s->arena);
}

int checks_run(struct store *store, int64_t run_id, const char *only, struct error *err)
{
    return checks_run_with(store, run_id, only, NULL, err);
}

int checks_run_with(struct store *store, int64_t run_id, const char *only,
                    const struct audit_hooks *hooks, struct error *err)
{
    struct session s = {.store = store,
                        .arena = arena_open(ARENA_CHECK_BYTES),
                        .scratch = arena_open(ARENA_CHECK_BYTES)};
    int rc = s.arena && s.scratch ? OK : error_set(err, E_NOMEM, "checks: out of memory");

    if (rc == OK)
        rc = run_facts_open(&s.facts, store, run_id, err);
    if (rc == OK)
        rc = measure_first(&s, hooks, err);
    if (rc == OK)
        rc = audits_refresh(s.facts, store, hooks, err);
    if (rc == OK)
        rc = data_facts_refresh(s.facts, store, hooks, err);
    if (rc == OK)
        rc = leaks_refresh(s.facts, store, hooks, err);
    if (rc == OK)
        rc = completions_refresh(s.facts, store, hooks, err);
    if (rc == OK)
        rc = histories_refresh(s.facts, store, hooks, err);
    if (rc == OK)
        rc = open_others(&s, err);
    if (rc == OK) {
        s.hash = inputs_hash(&s);
        rc = store_run_update(store, &s.facts->run, err);
    }
    if (rc == OK)
        rc = run_checks(&s, only, err);
    close_session(&s);
    return rc;
}
