/* One seeded generator: SplitMix64 (Steele, Lea and Flood 2014). See random.h. */
#include "core/base/random.h"

void random_seed(struct random *random, uint64_t seed)
{
    random->state = seed;
}

uint64_t random_u64(struct random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t random_below(struct random *random, uint64_t n)
{
    uint64_t unbiased = UINT64_MAX - UINT64_MAX % n;
    uint64_t draw;

    do
        draw = random_u64(random);
    while (draw >= unbiased);
    return draw % n;
}

double random_unit(struct random *random)
{
    return (double)(random_u64(random) >> 11) * 0x1p-53;
}
