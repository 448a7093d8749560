/* Logs in which several processes print through each other: whose rows count (FORMATS.md B0 rule 6). */
#ifndef IMPORTERS_RUN_CONSOLE_RANKS_H
#define IMPORTERS_RUN_CONSOLE_RANKS_H

#include <stdbool.h>

#include "core/read/source.h"

/* Does rank 0 print metric rows, in the first RANK_SEEN_BYTES? Others may print theirs before it. Goes back
 * to the beginning of the file. */
bool console_rank_0_has_rows(struct source_file *file);

#endif
