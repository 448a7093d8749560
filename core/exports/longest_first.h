/* `flatline make longest-first` (CHECKS.md 7.3): order.csv, config, README, and the rows of the
 * training file with the longest first, so that a memory fault shows in the first batch. */
#ifndef CORE_EXPORTS_LONGEST_FIRST_H
#define CORE_EXPORTS_LONGEST_FIRST_H

#include "core/exports/made_file.h"
#include "core/facts/run_facts.h"

/* E_NOTFOUND with what to import when the lengths are not known; E_IO as made_file.h. */
MUST_CHECK int make_longest_first(const struct run_facts *facts, const struct made_folder *folder,
                                  struct error *err);

#endif
