/* Which pane shows a piece of evidence. */
#ifndef VIEWS_EVIDENCE_VIEW_H
#define VIEWS_EVIDENCE_VIEW_H

#include "core/checks/check.h"

/* The id of the pane: "labels" for a row of data, "prompts" for two prompts that differ, "artefacts"
 * for a file of weights, "settings", "log" for a line of a file, "curves" for a step; of the stages about
 * quality "evals", "pairs", "data" and "preference"; NULL: it has no place. */
const char *evidence_view(const struct check *check, const struct evidence *evidence);

#endif
