/* Runs of one model on one suite that differ in their seed alone, as one result: each item has the mean of
 * its scores. Private to eval_suites.c and eval_pool.c. */
#ifndef CORE_FACTS_EVAL_POOL_H
#define CORE_FACTS_EVAL_POOL_H

#include "core/facts/eval_suites.h"

/* One result: of a single run, or of several. */
struct eval_pool {
    const struct eval_suite *suite;
    struct eval_spread runs;
    size_t at;                  /* of its first run among the facts' suites */
};

/* In the order of the files, those without a known result left out. False without memory. */
bool eval_pools_read(const struct run_facts *facts, struct arena *arena, struct eval_pool **out, size_t *n);
/* Items, and right ones among them, are known and fit. */
bool eval_suite_is_known(const struct eval_suite *suite);
/* NULL: what was decoded with agrees, or one side does not state it; else what differs. */
const char *eval_frozen_differs(const char *a, const char *b, struct arena *arena);

#endif
