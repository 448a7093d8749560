/* What the files of the config history share; for core/facts/{config_history,history_*}.c only. */
#ifndef CORE_FACTS_HISTORY_PARTS_H
#define CORE_FACTS_HISTORY_PARTS_H

#include "core/facts/config_history.h"
#include "core/git/history.h"

#define HISTORY_MAX_PLACES  8
#define HISTORY_MAX_TARGETS 8

/* ---- Where to look (history_find.c) ---- */

struct history_place {                  /* a repository, or why it cannot be read */
    struct repository *repository;      /* NULL: not opened yet (a bundle), or refused */
    const char *path;
    bool is_bundle;
    struct git_id head;
    const char *head_name;
    uint64_t stamp;                     /* changes when its history may have */
    bool is_bounded;                    /* not all of its files were looked at for a configuration */
    const char *problem;
};

struct history_target {
    struct history_place *place;
    const char *path;                   /* in the repository; NULL: nothing of the run is in it */
    const char *run_file;               /* the run's own copy, else the working file; or NULL */
    const char *working_file;           /* the file of the work tree itself; NULL: it is not below one */
    const char *problem;
};

struct history_search {
    const struct run_facts *facts;      /* NULL: one file, without a run */
    const struct repository_options *options;   /* of that file; NULL: none */
    struct arena *arena;
    struct history_place places[HISTORY_MAX_PLACES];
    size_t n_places;
    struct history_target targets[HISTORY_MAX_TARGETS];
    size_t n_targets;
    const char *files[HISTORY_MAX_TARGETS];     /* configuration files of the run */
    size_t n_files;
};

/* The places; bundles are not unpacked for it. */
MUST_CHECK int history_search_places(struct history_search *search, struct error *err);
/* The files in them. */
MUST_CHECK int history_search_targets(struct history_search *search, struct error *err);
/* One file or repository that the user named. */
MUST_CHECK int history_search_path(struct history_search *search, const char *path, struct error *err);
/* Of a file's size and time. */
uint64_t history_stamp(const char *path);
void history_search_close(struct history_search *search);

/* What is said of a place that is_bounded. */
#define HISTORY_BOUNDED "the configuration was looked for among the first files of the repository only"

/* ---- Walking (history_make.c) ---- */

/* Takes the revisions, the newest first; texts are borrowed until it returns. */
typedef int history_take_fn(void *ctx, int64_t ord, const struct revision *revision, struct error *err);
struct history_walk {
    const struct history_target *target;
    const struct audit_hooks *hooks;
    history_take_fn *take;
    void *ctx;
    const struct git_id *until;         /* the head of a history that is known: only what is newer; or NULL */
    int64_t first_ord;                  /* of the newest revision */
    /* Set by the walk. */
    int64_t n_revisions, n_walked;
    bool is_stopped;
    struct buf notes;                   /* a JSON list of texts */
};
MUST_CHECK int history_walk(struct history_walk *walk, struct error *err);
/* How many revisions lie between HEAD and a commit behind which nothing has changed, or -1 when that cannot
 * be told without looking at all: nothing is compared and nothing taken. */
MUST_CHECK int history_count_new(const struct history_target *target, const struct git_id *until,
                                 const struct audit_hooks *hooks, int64_t *n_revisions,
                                 struct error *err);
/* What both texts of a revision differ in, read from the repository. */
MUST_CHECK int history_text(struct repository *repository, const char *blob, struct arena *arena,
                            struct str *out, struct error *err);

/* A place in the list would not outlive the next commit: the commit is kept, and looked up in `h`. */
struct history_run_part {
    int64_t began;
    const char *at_commit;
};

/* ---- What the cache keeps as text (history_head.c) ---- */

/* Of a run; in the arena. */
const char *history_run_head(const struct run_facts *facts, const struct config_history *h,
                             struct arena *arena);
void history_take_run_head(const char *head, struct arena *arena, struct config_history *h,
                           struct history_run_part *part);
/* Of the history that runs share. */
void history_put_head(struct buf *out, const struct history_place *place, const struct history_walk *walk);
void history_take_head(const char *head, struct arena *arena, struct config_history *h);
/* A shallow clone still ends where it did when the history was kept. */
bool history_has_boundary(const struct stored_history *stored, const struct repository *repository,
                          struct arena *arena, int64_t *n_walked, size_t *n_notes);
/* The file of the work tree is the one that a run's head tells of. */
bool history_has_working_file(const char *head, struct arena *arena);
/* The notes of a walk, parsed. */
void history_take_notes(const struct json *list, struct arena *arena, struct config_history *out);

/* ---- The run (history_use.c) ---- */

/* Fills run_file … is_dirty of a history whose revisions are there. facts NULL: no run. */
MUST_CHECK int history_use_find(const struct run_facts *facts, const struct history_target *target,
                                struct arena *arena, struct config_history *out, struct error *err);

#endif
