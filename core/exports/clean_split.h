/* `flatline make drop-rows`, `clean-test`, `group-split` (CHECKS.md 7.6): the test rows that
 * training has seen, the test set without them, and a split that follows the key by which rows
 * belong together. */
#ifndef CORE_EXPORTS_CLEAN_SPLIT_H
#define CORE_EXPORTS_CLEAN_SPLIT_H

#include "core/exports/made_file.h"
#include "core/facts/run_facts.h"

/* E_NOTFOUND with what to import, or that there is nothing to be dropped; E_IO as made_file.h. */
MUST_CHECK int make_drop_rows(const struct run_facts *facts, const struct made_folder *folder,
                              struct error *err);
MUST_CHECK int make_clean_test(const struct run_facts *facts, const struct made_folder *folder,
                               struct error *err);
/* By the column that may be a key; without one by families of near rows (leaks_clusters.h). */
MUST_CHECK int make_group_split(const struct run_facts *facts, const struct made_folder *folder,
                                struct error *err);

#endif
