/* The out-of-memory events of a run and what each of them is (CHECKS.md C0.2 to C0.5): read once,
 * asked by four checks, so that one event is never two findings. Says no verdict. */
#ifndef CORE_FACTS_OOM_EVENTS_H
#define CORE_FACTS_OOM_EVENTS_H

#include "core/base/arena.h"
#include "core/facts/run_facts.h"

enum oom_class {
    OOM_RETRIED,                /* auto_find_batch_size went on with a smaller batch */
    OOM_HELD,                   /* something else held the memory when the run started */
    OOM_EVAL,                   /* in evaluation or generation */
    OOM_LONGEST,                /* at a batch far longer than the others */
    OOM_TRAIN                   /* a training step does not fit */
};

enum oom_reason {
    OOM_BECAUSE_ORDINARY,       /* no other reason */
    OOM_BECAUSE_OTHER_PROCESS,  /* (a) another pid holds half of the capacity or more */
    OOM_BECAUSE_LITTLE_OWN,     /* (b) this process holds little while nothing is free */
    OOM_BECAUSE_EARLIER_RUN,    /* (c) an earlier training finished in the same output */
    OOM_BECAUSE_BARE,           /* (d) the driver's bare message at step 0 */
    OOM_BECAUSE_MARKER,         /* the last marker before it is an evaluation */
    OOM_BECAUSE_FRAME,          /* the traceback names an evaluation function */
    OOM_BECAUSE_TAIL,           /* max/p95 of the lengths >= 2 */
    OOM_BECAUSE_BATCH,          /* the replayed batch holds one of the longest rows */
    OOM_BECAUSE_GROUPED,        /* length grouping is on and the first batches went well */
    OOM_BECAUSE_FORM            /* many good steps, then OOM; the lengths are not known */
};

struct oom_event {
    const struct event *event;          /* the message */
    const struct event *exception;      /* its traceback, or NULL */
    enum oom_class class;
    enum oom_reason reason;
    int64_t step;                       /* 0: before the first */
    size_t rows_before;                 /* metric rows of this training before it */
    /* Bytes; 0: not stated. */
    double asked, capacity, allocated, reserved, free, own, others;
    const char *other_pid;              /* of the largest other process, or NULL */
    const struct event *earlier_end;    /* end marker of an earlier training, or NULL */
    const struct event *marker;         /* last start, eval, save or end marker before it; NULL */
    const char *eval_frame;             /* the function that decided, or NULL */
    const struct event *retry;          /* "Currently training with a batch size of", or NULL */
    double max_length, p95, p99;        /* of the row lengths; 0: not known */
    const int64_t *batch;               /* rows of the replayed step, or NULL */
    size_t n_batch;
};

struct oom_events {
    const struct oom_event *events;     /* in the order of the log */
    size_t n;
    const struct event *ambiguous;      /* cuBLAS could not be created: memory, or a token id */
};

/* When the arena is exhausted the list is empty and the arena is failed. */
void oom_events_read(const struct run_facts *facts, struct arena *arena, struct oom_events *out);
/* The first event of the class, or NULL. */
const struct oom_event *oom_events_first(const struct oom_events *events, enum oom_class class);

#endif
