/* One worker thread with a queue of requests, and messages back.
 *
 * The worker runs requests in order. A long request calls job_yield every 256 rows or between
 * batches: pending urgent requests (a tick, a remark) are served there, and cancellation is seen.
 * Messages to the owner go through one locked queue; the worker writes a byte to a pipe, whose
 * read end the owner polls. Knows no importer and no store: the owner hands it functions.
 * job_run_inline does a request without a thread, with the same interface. */
#ifndef CORE_JOBS_JOB_H
#define CORE_JOBS_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

struct job;

typedef int job_fn(struct job *job, void *argument, struct error *err);

enum job_message_kind {
    JOB_PROGRESS,       /* a done, b total */
    JOB_BATCH,          /* something was committed: reload; a is the run id or 0 */
    JOB_DONE,           /* request `tag` ended well */
    JOB_FAILED,         /* request `tag` failed: text */
    JOB_NOTICE          /* a sentence for the user: text */
};

struct job_message {
    enum job_message_kind kind;
    int tag;
    int64_t a, b;
    char text[512];
};

MUST_CHECK int job_open(struct job **out, struct error *err);
/* Cancels what runs, still runs what is urgent (a remark written just before the end is kept),
 * drops the rest of the queue, waits for the thread. NULL allowed. */
void job_close(struct job *job);
int job_fd(const struct job *job);                           /* readable when messages wait */
/* The argument is freed by release(argument) after the request ran or was dropped (NULL: not),
 * also when it cannot be queued. */
MUST_CHECK int job_post(struct job *job, job_fn *fn, void *argument, void (*release)(void *),
                        int tag, bool is_urgent, struct error *err);
bool job_is_busy(const struct job *job);
void job_cancel(struct job *job);                            /* the running request only */
const atomic_bool *job_cancel_flag(const struct job *job);
/* Owner's side: the next message; false when there is none. */
bool job_next_message(struct job *job, struct job_message *message);
/* Blocks until nothing is queued or running (scripts and tests). */
void job_wait_idle(struct job *job);

/* Worker's side. Progress messages closer than 100 ms to the last one are dropped. */
void job_send(struct job *job, enum job_message_kind kind, int64_t a, int64_t b, const char *fmt,
              ...) PRINTF_LIKE(5, 6);
/* Serves urgent requests; E_CANCELLED when the request is to stop. */
MUST_CHECK int job_yield(struct job *job, struct error *err);

MUST_CHECK int job_run_inline(job_fn *fn, void *argument, struct error *err);

#endif
