/* The configuration of a run over git: which commits changed it and what they changed, which of them the
 * run used, and what is not committed.
 *
 * Made on the worker (histories_refresh), kept in the cache until HEAD, the file or the run's own files
 * change; read by checks and panes (facts_histories). The repository is the one around a configuration file
 * of the run, or a bundle or clone beside the run; there the file is found by its content, its name, or the
 * settings that it shares with the run. Nothing is written to a repository. */
#ifndef CORE_FACTS_CONFIG_HISTORY_H
#define CORE_FACTS_CONFIG_HISTORY_H

#include "core/facts/audit.h"
#include "core/facts/config_diff.h"
#include "core/facts/run_facts.h"
#include "core/git/repository.h"

#define HISTORY_VERSION   2         /* raise when the same repository would be read differently */
#define HISTORY_MAX_SHOWN 20000     /* newest revisions that are loaded */

/* How the commit was found that the run used, the surest first. */
enum history_use {
    HISTORY_USE_UNKNOWN,
    HISTORY_USE_RECORDED,           /* the run wrote a commit's hash down */
    HISTORY_USE_CONTENT,            /* the file found with the run is equal to it */
    HISTORY_USE_SETTINGS,           /* that file, or the arguments that the run noted, states the same */
    HISTORY_USE_TIME                /* the last one before the run began */
};

struct config_history {
    int64_t id;                     /* in the cache; equal for runs that share it. 0: none was made */
    const char *repository;         /* its path */
    const char *path;               /* of the file in it, as HEAD has it */
    const char *head, *head_name;   /* commit and branch ("" when detached) */
    const struct revision *revisions; size_t n_revisions;   /* the newest first */
    int64_t n_all;                  /* revisions in the cache: may be more than were loaded */
    int64_t n_walked;               /* commits looked at */
    bool is_whole;                  /* false: still coming, or stopped */
    const char *const *notes; size_t n_notes;   /* shallow, partial, damaged … one sentence each */
    const char *problem;            /* why there is no history: another's, SHA-256 …; NULL: there is */

    const char *run_file;           /* the run's own copy or working file; NULL: none */
    enum history_use use;
    const char *used;               /* commit, 40 digits; NULL when use is unknown */
    const char *because;            /* one clause: what decided it, or why nothing did */
    ptrdiff_t used_at;              /* the revision whose version that commit has, -1 not known */
    const struct config_change *dirty; size_t n_dirty;  /* from there to run_file */
    const char *dirty_from;         /* "a1b2c3d" or "HEAD": what run_file was compared with; NULL: not */
    bool is_dirty;                  /* run_file differs, if only by comments */
    const char *working_file;       /* of the work tree; NULL: it has none */
    /* The file of the work tree beside HEAD, where run_file is another; else nothing. */
    const struct config_change *uncommitted; size_t n_uncommitted;
    bool is_uncommitted;
};

/* The histories of the run, the one of its main configuration first. *n may be 0. */
const struct config_history *const *facts_histories(const struct run_facts *facts, size_t *n);
/* The first that has revisions, or NULL. */
const struct config_history *facts_history(const struct run_facts *facts);
/* There is one in the cache; loads nothing. */
bool facts_has_history(const struct run_facts *facts);
/* Changes with each history that was made anew; 0: there are none. */
uint64_t facts_histories_hash(const struct run_facts *facts);

/* Makes and stores what is missing or stale, on the connection that writes. Hooks as for audits; a stopped
 * one is kept and made anew the next time. */
MUST_CHECK int histories_refresh(struct run_facts *facts, struct store *store,
                                 const struct audit_hooks *hooks, struct error *err);

/* The histories of a file, or of the configurations in a bundle or repository, without a run, for
 * `flatline history FILE`: in the arena, nothing is kept. options NULL: none. */
MUST_CHECK int config_histories_of_path(const char *path, const struct repository_options *options,
                                        struct arena *arena, const struct config_history **out,
                                        size_t *n, struct error *err);

/* Runs of the cache that used a revision of this history, to say under which commit a run was healthy. */
struct history_run {
    struct run run;
    ptrdiff_t used_at;              /* revision, -1 not known */
    int64_t began;                  /* seconds since 1970, NONE */
    enum verdict verdict;           /* the worst of its checks that are not dismissed */
    bool was_checked;
};
MUST_CHECK int config_history_runs(struct store *store, const struct config_history *history,
                                   struct arena *arena, const struct history_run **out, size_t *n,
                                   struct error *err);

const char *history_use_name(enum history_use use);     /* "by recorded hash" … */
/* The revision a commit's hash (7 or more digits) names, -1. */
ptrdiff_t config_history_find(const struct config_history *history, const char *commit);

#endif
