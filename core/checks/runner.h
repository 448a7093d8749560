/* Runs the checklist on a run and stores the results. */
#ifndef CORE_CHECKS_RUNNER_H
#define CORE_CHECKS_RUNNER_H

#include "core/checks/check.h"
#include "core/facts/audit.h"

/* Runs one check (applies, needs, rule) and gives its result, which lives in ctx->arena. Used by
 * tests too. */
MUST_CHECK int check_run_one(const struct check *check, struct check_ctx *ctx,
                             struct check_result *out, struct error *err);

/* Loads the facts of the run and of its project's other runs, updates the run's row (kind, marks,
 * outcome, framework), runs every check whose stored result is stale and stores the results.
 * `only`: ids separated by ',', or NULL. Checks of an unchanged run are not run again. */
MUST_CHECK int checks_run(struct store *store, int64_t run_id, const char *only,
                          struct error *err);
/* The same; the audit of the rows, which comes first and may take long, asks the hooks. NULL: none. */
MUST_CHECK int checks_run_with(struct store *store, int64_t run_id, const char *only,
                               const struct audit_hooks *hooks, struct error *err);

#endif
