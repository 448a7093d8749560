/* What a logger puts before the count of a training loop's line: a time, a level, a module, a
 * bracket, "train" or "val". Prose before it makes a line no row. */
#ifndef IMPORTERS_RUN_CONSOLE_LOOP_HEAD_H
#define IMPORTERS_RUN_CONSOLE_LOOP_HEAD_H

#include <stdbool.h>

#include "core/base/str.h"

/* False when no epoch or step is counted behind a head. *rest begins with the word that counts;
 * *is_held_out: the head says that the line is of an evaluation. */
bool console_loop_head(struct str line, struct str *rest, bool *is_held_out);

#endif
