/* One curve from the several files that a logger wrote for one run: one a process. */
#ifndef CORE_FACTS_CURVE_FILES_H
#define CORE_FACTS_CURVE_FILES_H

#include "core/facts/facts_cache.h"

/* What the time at which the file's process began is written in: a file name or a folder's, which
 * sort by it. */
const char *curve_files_began(const struct source *source);
/* Does another file of the anchor's logger go beyond its last step, or is that not known? */
bool curve_files_go_on(const struct run_facts *facts, const struct series *anchor);
/* Puts before and behind the curve (of the anchor alone) what other files of its logger have: those
 * that were written before it and begin earlier, those that were written after it, began later than the
 * curve does, and go further. Each process is a segment. A restart goes back to a checkpoint: where two
 * files have a step, the later one counts, so that the rows on both sides of the boundary are those of the
 * run as it went on. A file that begins where the curve begins is another attempt, of which the longest
 * counts. */
MUST_CHECK int curve_files_join(const struct run_facts *facts, const struct series *anchor,
                                struct curve *curve, struct error *err);

#endif
