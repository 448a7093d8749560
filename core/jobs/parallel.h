/* A pure function over many items on several threads: each item's result goes to its own slot, so that
 * any number of threads gives the same bytes. The function touches no store, no log, no global; what
 * it needs for itself (scratch, arena) the owner keeps per worker.
 *
 * One thread alone: the function is called here, without a thread being made. */
#ifndef CORE_JOBS_PARALLEL_H
#define CORE_JOBS_PARALLEL_H

#include <stddef.h>

#include "core/base/error.h"

#define PARALLEL_MAX 8

struct parallel;

/* n_workers below 1: as many as the machine has, at most PARALLEL_MAX. */
MUST_CHECK int parallel_open(struct parallel **out, int n_workers, struct error *err);
void parallel_close(struct parallel *parallel); /* NULL allowed */
int parallel_workers(const struct parallel *parallel);

/* Calls fn(ctx, worker, i) for each i below n, worker below parallel_workers; returns when all are
 * done. No two calls of one worker overlap. */
typedef void parallel_fn(void *ctx, int worker, size_t i);
void parallel_run(struct parallel *parallel, size_t n, parallel_fn *fn, void *ctx);

#endif
