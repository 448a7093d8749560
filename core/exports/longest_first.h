/* `flatline make longest-first` (CHECKS.md 7.3): order.csv, config, README, and the rows of the
 * training file with the longest first, so that a memory fault shows in the first batch. */
#ifndef CORE_EXPORTS_LONGEST_FIRST_H
#define CORE_EXPORTS_LONGEST_FIRST_H

#include <stdbool.h>

#include "core/facts/run_facts.h"

/* Writes into `folder` (made when missing). E_NOTFOUND with what to import when the lengths are not
 * known; E_IO naming the file when one exists and force is false. *said gets one line a file. */
MUST_CHECK int make_longest_first(const struct run_facts *facts, const char *folder, bool force,
                                  struct buf *said, struct error *err);

#endif
