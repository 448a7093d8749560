/* The two SQLite databases, and nothing else of SQL anywhere.
 *
 * cache.db is rebuildable: all that was imported or derived. triage.db is kept: what the user
 * wrote; it is attached to the same connection as `kept`. One connection, one thread; under the
 * UI the worker owns a writing connection and the UI thread a reading one (WAL).
 *
 * Ownership: loads put plain data of model.h into the caller's arena.
 *
 * A damaged or newer cache file is moved aside (never deleted) and a fresh one is made;
 * `store_notices` says so. So is a file of another program in the default place; one that
 * `cache_path` names is left as it is: E_DB. A damaged triage.db is moved aside after what is
 * readable was copied. Where the kept file cannot be written, remarks are held in memory and the
 * notice says that they will be lost at exit. E_DB when the cache is locked by another writer for
 * longer than the busy timeout (2 s). */
#ifndef CORE_STORE_STORE_H
#define CORE_STORE_STORE_H

#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/model.h"

struct store;

struct store_options {
    const char *cache_path;     /* NULL: $XDG_CACHE_HOME/flatline/cache.db */
    const char *kept_path;      /* NULL: $XDG_STATE_HOME/flatline/triage.db */
    bool in_memory;             /* --no-cache without a terminal: cache in memory, one connection */
    bool is_private;            /* --no-cache under the UI: a file of this store alone, which a
                                   second connection can open; removed on closing */
    bool read_only;             /* the UI thread's second connection to an open store: give it
                                   the first one's store_cache_path and store_kept_path */
    int busy_timeout_ms;        /* 0: 2000 */
};

MUST_CHECK int store_open(struct store **out, const struct store_options *options,
                          struct error *err);
void store_close(struct store *store);                      /* NULL allowed */
/* Path of the open cache ("" in memory), for the second connection. */
const char *store_cache_path(const struct store *store);
const char *store_kept_path(const struct store *store);
/* What happened on opening that the user has to know, one sentence each; NULL-terminated. */
const char *const *store_notices(const struct store *store);
/* The cache was found damaged while it was read: E_DB came out of a call. store_renew, or closing
 * and opening, gives a sound one that knows nothing yet. */
bool store_is_damaged(const struct store *store);
/* Closes *store, moves its cache aside and opens a fresh one, which store_notices tells. For a
 * cache found damaged by this connection or by a reading one, which is to be closed before. When
 * it is not OK, *store is NULL. */
MUST_CHECK int store_renew(struct store **store, const struct store_options *options,
                           struct error *err);
/* Rises when any connection committed (PRAGMA data_version and own commits). */
MUST_CHECK int store_data_version(struct store *store, int64_t *version, struct error *err);

MUST_CHECK int store_begin(struct store *store, struct error *err);
MUST_CHECK int store_commit(struct store *store, struct error *err);
void store_rollback(struct store *store);

/* ---- Runs (runs.c) ---- */

/* All runs, newest import first. */
MUST_CHECK int store_runs(struct store *store, struct arena *arena, const struct run **out,
                          size_t *n, struct error *err);
/* By key, name or real path of the folder. E_NOTFOUND. */
MUST_CHECK int store_run_find(struct store *store, const char *what, struct arena *arena,
                              struct run *out, struct error *err);
MUST_CHECK int store_run_by_id(struct store *store, int64_t id, struct arena *arena,
                               struct run *out, struct error *err);
/* What facts decided: kind, marks, outcome, framework, started and ended. */
MUST_CHECK int store_run_update(struct store *store, const struct run *run, struct error *err);
MUST_CHECK int store_run_forget(struct store *store, int64_t id, struct error *err);
MUST_CHECK int store_sources(struct store *store, int64_t run_id, struct arena *arena,
                             const struct source **out, size_t *n, struct error *err);
/* The file of a source is gone, or no longer what was read: what was read of it stays, as gone, with a
 * note. `path`: the name it gets, so that the file can be read anew; NULL: it keeps its own. */
MUST_CHECK int store_source_set_gone(struct store *store, int64_t id, const char *path,
                                     const char *note, struct error *err);
MUST_CHECK int store_notes(struct store *store, int64_t run_id, struct arena *arena,
                           const struct note **out, size_t *n, struct error *err);

/* ---- Series (series.c) ---- */

MUST_CHECK int store_series(struct store *store, int64_t run_id, struct arena *arena,
                            const struct series **out, size_t *n, struct error *err);
/* All points of a series in file order, as columns. */
struct point_columns {
    size_t n;
    const double *value;
    const int64_t *step, *seq, *line;
    const int32_t *segment;
};
MUST_CHECK int store_points(struct store *store, int64_t series_id, struct arena *arena,
                            struct point_columns *out, struct error *err);
/* The same; a column of counts that is equal to the one of `beside` is that one, not a copy: the
 * metrics of one row have all but the value in common. `beside` NULL: nothing to share. */
MUST_CHECK int store_points_beside(struct store *store, int64_t series_id,
                                   const struct point_columns *beside, struct arena *arena,
                                   struct point_columns *out, struct error *err);

/* ---- Events, settings, artefacts, datasets, outputs (events.c configs.c artefacts.c datasets.c
 *      outputs.c). Each list is in order of source and place. ---- */

MUST_CHECK int store_events(struct store *store, int64_t run_id, struct arena *arena,
                            const struct event **out, size_t *n, struct error *err);
MUST_CHECK int store_settings(struct store *store, int64_t run_id, struct arena *arena,
                              const struct setting **out, size_t *n, struct error *err);
MUST_CHECK int store_artefacts(struct store *store, int64_t run_id, struct arena *arena,
                               const struct artefact **out, size_t *n, struct error *err);
MUST_CHECK int store_tensors(struct store *store, int64_t artefact_id, struct arena *arena,
                             const struct tensor **out, size_t *n, struct error *err);
/* What a file's values came to when they were read on request: the tensors in the order in which they
 * are stored, by name; and the hash, which is kept for the next import of the same file. `file`: its
 * size, mtime, device and inode as read. sha256 NULL: not known. */
MUST_CHECK int store_measured(struct store *store, int64_t artefact_id, const struct source *file,
                              const char *sha256, const struct tensor *const *tensors, size_t n,
                              struct error *err);
MUST_CHECK int store_datasets(struct store *store, int64_t run_id, struct arena *arena,
                              const struct dataset **out, size_t *n, struct error *err);
MUST_CHECK int store_samples(struct store *store, int64_t dataset_id, struct arena *arena,
                             const struct sample **out, size_t *n, struct error *err);
MUST_CHECK int store_generations(struct store *store, int64_t run_id, struct arena *arena,
                                 const struct generation **out, size_t *n, struct error *err);

/* Of suites with items n and n_correct are counted from them. */
MUST_CHECK int store_eval_suites(struct store *store, int64_t run_id, struct arena *arena,
                                 const struct eval_suite **out, size_t *n, struct error *err);
/* By name of the item. */
MUST_CHECK int store_eval_items(struct store *store, int64_t suite_id, struct arena *arena,
                                const struct eval_item **out, size_t *n, struct error *err);

/* In the order of the files and of their rows. */
MUST_CHECK int store_judgements(struct store *store, int64_t run_id, struct arena *arena,
                                const struct judgement **out, size_t *n, struct error *err);

/* ---- Audits of rows (audits.c): what core/facts/audit.h made of a data set ---- */

#define AUDIT_COLUMNS 6
struct stored_audit {
    int64_t id, dataset_id;
    uint64_t key;               /* of all that it was made from */
    int64_t n_rows;             /* of the columns; 0: nothing is known row by row */
    const char *head;           /* the maker's own text; NULL when it was found damaged */
};
MUST_CHECK int store_audits(struct store *store, int64_t run_id, struct arena *arena,
                            const struct stored_audit **out, size_t *n, struct error *err);
/* n_rows numbers each; E_NOTFOUND when another connection has replaced the audit. */
MUST_CHECK int store_audit_rows(struct store *store, const struct stored_audit *audit,
                                struct arena *arena, const int32_t *columns[AUDIT_COLUMNS],
                                struct error *err);
/* Replaces the audit of that data set and fills audit->id. A number below 0 comes back as NONE. */
MUST_CHECK int store_audit_put(struct store *store, int64_t run_id, struct stored_audit *audit,
                               const int32_t *const rows[AUDIT_COLUMNS], struct error *err);
MUST_CHECK int store_audit_drop(struct store *store, int64_t id, struct error *err);

/* ---- Other texts by name (derived.c): what core/facts made of a run's rows ---- */

struct stored_text {
    uint64_t key;               /* of all that it was made from */
    const char *text;           /* NULL when it was found damaged */
};
/* E_NOTFOUND: there is none. arena NULL: the key alone. */
MUST_CHECK int store_derived(struct store *store, int64_t run_id, const char *name,
                             struct arena *arena, struct stored_text *out, struct error *err);
MUST_CHECK int store_derived_put(struct store *store, int64_t run_id, const char *name,
                                 const struct stored_text *text, struct error *err);

/* ---- Files over commits (histories.c): what core/facts/config_history.h made ---- */

struct stored_history {
    int64_t id;
    const char *repository, *path, *head_id;
    int version;
    bool is_whole;              /* false: still being made, or stopped */
    const char *head;           /* the maker's own text */
    int64_t n_revisions;
};
/* By repository and path; E_NOTFOUND. */
MUST_CHECK int store_history_find(struct store *store, const char *repository, const char *path,
                                  struct arena *arena, struct stored_history *out,
                                  struct error *err);
MUST_CHECK int store_history_by_id(struct store *store, int64_t id, struct arena *arena,
                                   struct stored_history *out, struct error *err);
/* Replaces the one of that repository and path by an empty one that is not whole; fills ->id. */
MUST_CHECK int store_history_begin(struct store *store, struct stored_history *history,
                                   struct error *err);
/* The history is continued at a newer head: not whole until store_history_done. */
MUST_CHECK int store_history_go_on(struct store *store, int64_t history_id, const char *head_id,
                                   struct error *err);
/* The number of the newest revision: 0, or below it where newer ones were added later. */
MUST_CHECK int store_history_first(struct store *store, int64_t history_id, int64_t *ord,
                                   struct error *err);
/* Revision number `ord` (from 0, the newest first; those of a head that moved on stand before 0). */
MUST_CHECK int store_history_add(struct store *store, int64_t history_id, int64_t ord,
                                 const struct revision *revision, struct error *err);
MUST_CHECK int store_history_done(struct store *store, int64_t history_id, bool is_whole,
                                  const char *head, struct error *err);
/* The newest ones, at most `limit`, with their changes. */
MUST_CHECK int store_revisions(struct store *store, int64_t history_id, int64_t limit,
                               struct arena *arena, const struct revision **out, size_t *n,
                               struct error *err);

struct run_history {            /* what a run has to do with a history */
    int64_t run_id;
    int64_t history_id;         /* 0: none could be made, head says why */
    uint64_t key;               /* of all that it was made from */
    const char *head;           /* the maker's own text */
};
/* In the order in which they were put. */
MUST_CHECK int store_run_histories(struct store *store, int64_t run_id, struct arena *arena,
                                   const struct run_history **out, size_t *n, struct error *err);
/* All runs that have a history. */
MUST_CHECK int store_history_runs(struct store *store, int64_t history_id, struct arena *arena,
                                  const struct run_history **out, size_t *n, struct error *err);
/* Replaces those of the run, and drops histories that no run has. */
MUST_CHECK int store_run_histories_put(struct store *store, int64_t run_id,
                                       const struct run_history *list, size_t n, struct error *err);

/* ---- Results of checks (findings.c) ---- */

/* Replaces the results of these checks for the run, in one transaction. */
MUST_CHECK int store_results_put(struct store *store, int64_t run_id,
                                 const struct check_result *results, size_t n,
                                 uint64_t inputs_hash, struct error *err);
/* In no particular order; *inputs_hash is 0 when there is none. */
MUST_CHECK int store_results(struct store *store, int64_t run_id, struct arena *arena,
                             const struct check_result **out, size_t *n, uint64_t *inputs_hash,
                             struct error *err);

/* ---- What the user wrote (triage.c); keyed by run.key, survives everything ---- */

MUST_CHECK int store_tick_set(struct store *store, const char *run_key, const char *check_id,
                              const char *state /* NULL: undo */, const char *reason,
                              struct error *err);
MUST_CHECK int store_ticks(struct store *store, const char *run_key, struct arena *arena,
                           const struct tick **out, size_t *n, struct error *err);
/* id 0 inserts and gives the new id; text "" deletes. */
MUST_CHECK int store_remark_put(struct store *store, const char *run_key,
                                const struct remark *remark, int64_t *id, struct error *err);
MUST_CHECK int store_remarks(struct store *store, const char *run_key, struct arena *arena,
                             const struct remark **out, size_t *n, struct error *err);
MUST_CHECK int store_remarks_drop(struct store *store, const char *run_key, struct error *err);
MUST_CHECK int store_user_finding_put(struct store *store, const char *run_key,
                                      const struct user_finding *finding, int64_t *id,
                                      struct error *err);
MUST_CHECK int store_user_findings(struct store *store, const char *run_key, struct arena *arena,
                                   const struct user_finding **out, size_t *n, struct error *err);
MUST_CHECK int store_user_findings_exported(struct store *store, const char *run_key,
                                            struct error *err);
MUST_CHECK int store_answer_set(struct store *store, const char *run_key, const char *name,
                                const char *value /* NULL: undo */, struct error *err);
MUST_CHECK int store_answers(struct store *store, const char *run_key, struct arena *arena,
                             const struct answer **out, size_t *n, struct error *err);

#endif
