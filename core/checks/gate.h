/* Hyperparameters come last: C7.3 to C7.5 wait while a check of stages 0 to 3 fails (CHECKS.md stage 7).
 * One that the user dismissed does not count. */
#ifndef CORE_CHECKS_GATE_H
#define CORE_CHECKS_GATE_H

#include "core/checks/check.h"

/* Takes what the runner found of a check, in checklist order, so that it need not be asked again: the gate is
 * known once all checks of stages 0 to 3 were seen. */
void gate_see(struct gate *gate, const struct run_facts *facts, const struct check *check,
              enum verdict verdict);
/* The first one that fails for the run of ctx, NULL when none does. */
MUST_CHECK int gate_failure(struct check_ctx *ctx, const struct check **failed, struct error *err);

#endif
