/* Fisher's exact test: two shares of counts, at any level, also far beyond what a normal approximation
 * can say (many tests at once). */
#ifndef CORE_STATS_FISHER_H
#define CORE_STATS_FISHER_H

#include <stdint.h>

/* One-sided: how likely k2 of n2 or more are, when k1 + k2 successes fall on n1 + n2 by chance. 1 for
 * counts that are none. */
double fisher_rise_p(int64_t k1, int64_t n1, int64_t k2, int64_t n2);

#endif
