/* What worker.c and worker_look.c share. */
#ifndef TUI_WORKER_PARTS_H
#define TUI_WORKER_PARTS_H

#include "tui/follow.h"
#include "tui/worker.h"

struct worker {
    struct job *job;
    struct store *store;        /* used by the worker thread alone */
    struct follow *follow;      /* so is this; NULL: nothing was followed yet */
    bool looks_again;           /* the next look reads also where nothing changed */
    bool is_lost, is_silent;    /* as the last look found the run */
    atomic_bool is_closing;
};

struct import_request {
    struct worker *worker;
    struct arena *arena;        /* holds the texts */
    const char **paths;
    size_t n_paths;
    struct answer *answers;
    size_t n_answers;
    bool reimport;
    struct job *job;
    const char *run_key;        /* of a look: the run that is followed, as it is in the store */
    int64_t run_id;
};

/* Copies the texts. NULL: no memory. */
struct import_request *worker_import_request(struct worker *worker, const char *const *paths,
                                             size_t n_paths, const struct answer *answers,
                                             size_t n_answers);
void worker_release_import(void *argument);
/* Between two records of a file or two files: what the user wrote goes in now. */
void worker_serve_writes(struct import_request *request);
MUST_CHECK int worker_run_checks(struct job *job, struct store *store, int64_t run_id,
                                 bool is_shown, struct error *err);

#endif
