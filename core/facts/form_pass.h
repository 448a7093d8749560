/* Going through the rows of data files, some hundred at a time over the threads, given on in their
 * order. What is done with a row is the caller's. */
#ifndef CORE_FACTS_FORM_PASS_H
#define CORE_FACTS_FORM_PASS_H

#include <stdatomic.h>

#include "core/facts/form_row.h"
#include "core/jobs/parallel.h"

enum { FORM_BATCH = 512 };

/* A row on its way. */
struct form_slot {
    struct str split;
    int64_t row;             /* in its split */
    const struct json *line; /* NULL: not readable */
    bool is_readable;
    struct buf text;         /* what `work` made of it */
    struct form_row facts;   /* numbers only: texts in it are gone when `take` is called */
    int rc;
    struct error err;
};

struct form_pass {
    /* On a thread, with what is the thread's; E_… of the slot's error ends the pass. */
    int (*work)(void *ctx, int worker, struct form_scratch *scratch, struct form_slot *slot,
                struct error *err);
    /* Each row in order. */
    int (*take)(void *ctx, const struct form_slot *slot, struct error *err);
    void *ctx;
};

struct form_hooks {
    void (*progress)(void *ctx, const char *what, int64_t n_rows);
    void (*notice)(void *ctx, const char *text); /* what was left out, one line */
    void *ctx;
    const atomic_bool *cancel;
};

struct form_walker;
/* n_threads below 1: as many as the machine has. */
MUST_CHECK int form_walker_open(struct form_walker **out, const struct tokenizer *tokenizer,
                                int n_threads, const struct form_hooks *hooks, struct error *err);
void form_walker_close(struct form_walker *walker); /* NULL allowed */
int form_walker_threads(const struct form_walker *walker);
/* `what` is said of the progress. Sets *n_rows. A file that cannot be read to its end ends it with an
 * error: half of the rows would look like all of them. E_CANCELLED. */
MUST_CHECK int form_walk(struct form_walker *walker, const char *split, const char *const *paths,
                         size_t n_paths, const struct form_pass *pass, const char *what,
                         int64_t *n_rows, struct error *err);

#endif
