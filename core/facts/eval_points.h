/* One curve as points in step order, as the rules on evaluation ask for it: finite values, the
 * later one for the same step, nothing of a stretch that a resume did again. */
#ifndef CORE_FACTS_EVAL_POINTS_H
#define CORE_FACTS_EVAL_POINTS_H

#include "core/base/arena.h"
#include "core/facts/run_facts.h"

struct eval_points {
    const struct curve *curve;
    size_t n;
    const double *value;
    const int64_t *step;        /* NONE where the rows have none: then in file order */
    const size_t *at;           /* row of the curve */
    size_t n_missing, first_missing;    /* rows without a finite value, and the first of them */
};

/* False without memory or points. */
bool eval_points_read(const struct curve *curve, struct arena *arena, struct eval_points *out);
/* "step 40", or "line 12" where the rows have no step: for sentences. */
const char *curve_place(const struct curve *curve, size_t row, struct arena *arena);

#endif
