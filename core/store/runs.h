/* Rows of runs and sources as a sink makes and drops them. Private to core/store. */
#ifndef CORE_STORE_RUNS_H
#define CORE_STORE_RUNS_H

#include "core/store/store.h"

/* Makes the run or finds it by its key. Inside a transaction. */
MUST_CHECK int run_put(struct store *store, const struct run *run, int64_t *id,
                       struct error *err);
/* Makes the source or finds it by run, path and importer, as one whose import has begun. */
MUST_CHECK int source_put(struct store *store, int64_t run_id, const struct source *source,
                          int64_t *id, struct error *err);
bool source_is_current(struct store *store, const struct run *run, const struct source *source);

struct source_list {
    const struct source *items;
    size_t n;
};
/* Drops the other sources of the run, in one transaction. */
MUST_CHECK int sources_keep_only(struct store *store, const struct run *run,
                                 const struct source_list *keep, struct error *err);

#endif
