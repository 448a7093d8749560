/* How far a run came and how it ended (CHECKS.md C0.1). */
#ifndef CORE_FACTS_OUTCOME_H
#define CORE_FACTS_OUTCOME_H

#include "core/facts/run_facts.h"

/* Fills last_step, max_steps, last_epoch, planned_epochs, has_end_marker, has_training_log and
 * has_final_state from the loaded lists. */
void outcome_progress(struct run_facts *facts);
/* Fills run.outcome and outcome_reason; progress and marks have to be known.
 *
 *   finished  an end marker, or the last step is the planned one, or training was stopped early by
 *             its own rule; and no exception ends the log
 *   crashed   an exception or the death of the process ends a training log
 *   stopped   fewer steps than planned, no end marker, no exception
 *   running   a file of the run grew while it was read
 *   unknown   nothing of these can be seen: no log, no final state */
void outcome_decide(struct run_facts *facts);
/* The exception or process death that ended a training log; where no log tells, the event
 * "logger-exit" of a logger that saw the process fail; or NULL. */
const struct event *outcome_crash(const struct run_facts *facts);

#endif
