/* One seeded generator (SplitMix64) for bootstrap, sampling and MinHash: the same seed gives
 * the same draws on every machine. */
#ifndef CORE_BASE_RANDOM_H
#define CORE_BASE_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

void random_seed(struct random *random, uint64_t seed);
uint64_t random_u64(struct random *random);
uint64_t random_below(struct random *random, uint64_t n);    /* 0 … n−1, unbiased; n > 0 */
double random_unit(struct random *random);                   /* [0, 1) */

#endif
