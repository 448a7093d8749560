/* Which rows were in which batch (MASKS.md section 6): torch.randperm on CPU for the seedable
 * random sampler. Rows count from 0. */
#ifndef CORE_STATS_REPLAY_H
#define CORE_STATS_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

/* MT19937 permutation as torch.randperm(n, generator seeded) on CPU. order holds n. */
MUST_CHECK int replay_randperm(uint64_t seed, int64_t n, int64_t *order, struct error *err);

struct replay {
    int64_t n_rows;             /* after dropping */
    uint64_t seed;              /* data_seed, else seed, else 42 */
    bool is_sequential;
    int64_t micro_batch, accumulation, world;
};
/* The rows of optimiser step `step` (from 1), all ranks: up to micro * accumulation * world.
 * Returns the count (fewer at an epoch's end), 0 when out of range. */
MUST_CHECK int replay_step_rows(const struct replay *replay, int64_t step, int64_t *rows,
                                size_t capacity, size_t *n, struct error *err);

#endif
