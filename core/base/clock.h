/* The time of day, which tests fix. */
#ifndef CORE_BASE_CLOCK_H
#define CORE_BASE_CLOCK_H

#include <stdint.h>

/* Seconds since 1970, or SOURCE_DATE_EPOCH where that is set, or what clock_fix() said. */
int64_t clock_now(void);
/* Monotonic nanoseconds, for progress and benchmarks only: never in a verdict. */
int64_t clock_ticks_ns(void);
/* From now on clock_now() gives this; NONE undoes it. For tests. */
void clock_fix(int64_t seconds);

#endif
