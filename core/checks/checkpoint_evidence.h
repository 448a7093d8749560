/* What the checks of stage 7 say of the checkpoints beside the best one. */
#ifndef CORE_CHECKS_CHECKPOINT_EVIDENCE_H
#define CORE_CHECKS_CHECKPOINT_EVIDENCE_H

#include "core/checks/check.h"
#include "core/facts/checkpoint_set.h"

/* Information lines: the steps that cannot be told from the best, which of their checkpoints are there and
 * which one to keep, the share of the run after the best. With evidence the folder to keep and the share
 * are records too. */
void inform_checkpoints(struct check_ctx *ctx, const struct eval_points *points, bool with_evidence);

#endif
