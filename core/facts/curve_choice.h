/* Which of the series of one metric counts, and which ones may go on where it ends. Loads no
 * points. */
#ifndef CORE_FACTS_CURVE_CHOICE_H
#define CORE_FACTS_CURVE_CHOICE_H

#include "core/facts/facts_cache.h"

struct curve_candidate {
    const struct series *series;
    int class;    /* smaller is more trusted; above 3: last values only */
    int64_t step; /* of a state */
    int64_t rank;       /* of the process that wrote it; 0 where the path does not say */
    bool in_checkpoint;
};

/* The best candidate for a name whose class is above `above` (-1: any); false: there is none. Files
 * that tell of another run are none. */
bool curve_choice_best(const struct run_facts *facts, const char *name, int above,
                       struct curve_candidate *best);
/* The next candidate of a class above `above`, in the order of trust, after `last`. */
bool curve_choice_next(const struct run_facts *facts, const char *name, int above,
                       const struct curve_candidate *last, struct curve_candidate *next);

#endif
