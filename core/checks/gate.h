/* Hyperparameters come last: C7.3 to C7.5 wait while a check of stages 0 to 3 fails (CHECKS.md stage 7).
 * One that the user dismissed does not count. */
#ifndef CORE_CHECKS_GATE_H
#define CORE_CHECKS_GATE_H

#include "core/checks/check.h"

/* The first one that fails for the run of ctx, NULL when none does. */
MUST_CHECK int gate_failure(struct check_ctx *ctx, const struct check **failed, struct error *err);

#endif
