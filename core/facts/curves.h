/* Curves: one metric of a run from the points of its series (FORMATS.md B0 rule 6, CHECKS.md F1).
 * The public questions stand in run_facts.h. */
#ifndef CORE_FACTS_CURVES_H
#define CORE_FACTS_CURVES_H

#include "core/facts/facts_cache.h"

/* The series that counts for a metric, before other files of the run are joined to it; NULL: the
 * metric was not logged. Loads nothing. */
const struct series *curves_best(const struct run_facts *facts, const char *name);
/* Two statements of one value, as far as it was printed. */
bool curve_values_alike(double a, double b);

/* Both load points only where several sources have to be joined. */

/* Last step of the most complete curve of any training metric, or NONE. */
int64_t curves_last_step(const struct run_facts *facts);
/* The last value of the curve that is no NaN, or NaN. */
double curves_last_value(const struct run_facts *facts, const char *name);

#endif
