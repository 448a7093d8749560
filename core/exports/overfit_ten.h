/* `flatline overfit-ten` (CHECKS.md 7.1): ten rows of the training data, prompts for them, and the run's
 * config changed so that a sound pipeline memorises them. */
#ifndef CORE_EXPORTS_OVERFIT_TEN_H
#define CORE_EXPORTS_OVERFIT_TEN_H

#include "core/exports/made_file.h"
#include "core/facts/run_facts.h"

#define OVERFIT_TEN_ROWS 10
#define OVERFIT_TEN_MOST 20     /* what still counts as such a run (CHECKS.md 2.1) */

/* E_NOTFOUND with what to import when the run has no training rows; E_IO as made_file.h. */
MUST_CHECK int make_overfit_ten(const struct run_facts *facts, const struct made_folder *folder,
                                int n_rows, struct error *err);

#endif
