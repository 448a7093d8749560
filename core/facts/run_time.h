/* When a run began, by what its own files say: the logger's start time, or the second that TensorBoard
 * puts into the name of an event file. The date of a file proves nothing: a copy has a new one. */
#ifndef CORE_FACTS_RUN_TIME_H
#define CORE_FACTS_RUN_TIME_H

#include "core/facts/run_facts.h"

/* Seconds since 1970, or NONE. */
int64_t run_began(const struct run_facts *facts);
/* Which of two runs came first: by the above, else by the numbers at which their names part
 * ("sft-06", "sft-07"). -1 a, 1 b, 0 not known. */
int run_order(const struct run_facts *a, const struct run_facts *b);

#endif
