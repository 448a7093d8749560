/* What the UI asks of its worker thread: imports with checks, and everything the user writes.
 *
 * The worker owns the writing connection. Each call posts a request and returns; when it is done
 * (or a run is ready) a JOB_BATCH message with the run's id arrives; b is 0 when a write changed
 * nothing but what the user wrote. Small writes are urgent: they are served in the middle of an
 * import. */
#ifndef TUI_WORKER_H
#define TUI_WORKER_H

#include "core/jobs/job.h"
#include "core/store/store.h"

struct worker;

#define WORKER_AUDITS "rows"        /* text of progress that counts audited rows, not bytes */

enum { WORKER_IMPORT = 1, WORKER_WRITE = 2, WORKER_LOOK = 3 };  /* tags of the messages */

MUST_CHECK int worker_open(struct worker **out, struct store *writer, struct error *err);
void worker_close(struct worker *worker);
struct job *worker_job(struct worker *worker);

/* Plans and imports the paths as one argument, runs the checks. Texts are copied. */
MUST_CHECK int worker_import(struct worker *worker, const char *const *paths, size_t n_paths,
                             const struct answer *answers, size_t n_answers, bool reimport,
                             struct error *err);
/* What a look found: b of its one JOB_BATCH, whose text is a sentence for the user, or "". */
enum {
    LOOK_CHANGED = 1,           /* the store holds something new, the verdicts with it */
    LOOK_SILENT = 2,            /* nothing new for FOLLOW_SILENT_S and longer */
    LOOK_LOST = 4,              /* the run's files cannot be seen */
    LOOK_MOVED = 8,             /* its files belong to another run now, which is `a` */
    LOOK_MINUTES_SHIFT = 8      /* above this bit: for how many minutes it is silent */
};
/* Looks whether the files of a run changed since the last look, and reads those that did. The paths
 * and answers are those of its import. Shows no progress: nothing is to move where nothing is new. */
MUST_CHECK int worker_look(struct worker *worker, const struct run *run, const char *const *paths,
                           size_t n_paths, const struct answer *answers, size_t n_answers,
                           struct error *err);
/* Runs the checks of a run that has been imported without. */
MUST_CHECK int worker_check(struct worker *worker, const struct run *run, struct error *err);
/* A mark on a check; state NULL takes it away. */
MUST_CHECK int worker_tick(struct worker *worker, const struct run *run, const char *check_id,
                           const char *state, const char *reason, struct error *err);
MUST_CHECK int worker_remark(struct worker *worker, const struct run *run, const char *check_id,
                             const char *place, const char *text, struct error *err);
MUST_CHECK int worker_finding(struct worker *worker, const struct run *run,
                              const struct user_finding *finding, struct error *err);
/* What the user says of the run. The checks that run again after it are a request of their own, so
 * that the answer is kept also when the user leaves at once. */
MUST_CHECK int worker_answer(struct worker *worker, const struct run *run, const char *name,
                             const char *value, struct error *err);
MUST_CHECK int worker_exported(struct worker *worker, const struct run *run, struct error *err);

#endif
