/* What the checks of stage 7 say of the checkpoints beside the best one. */
#ifndef CORE_CHECKS_CHECKPOINT_EVIDENCE_H
#define CORE_CHECKS_CHECKPOINT_EVIDENCE_H

#include "core/checks/check.h"
#include "core/facts/checkpoint_set.h"

/* The steps that cannot be told from the best, which of their checkpoints are there and which one to keep,
 * the share of the run after the best: as evidence of a finding, else as information lines. */
void state_checkpoints(struct check_ctx *ctx, const struct eval_points *points, bool is_finding);

#endif
