/* The parts of the preference pane; for nobody else. */
#ifndef VIEWS_PREFERENCE_PARTS_H
#define VIEWS_PREFERENCE_PARTS_H

#include "core/checks/check.h"
#include "views/textflow.h"

/* What the logged completions say, below the curves: groups that teach nothing, whether length is paid
 * for, the phrases that rise with the reward as a table. Nothing where none were logged. */
void preference_say_completions(struct textflow *flow, struct check_ctx *ctx);

#endif
