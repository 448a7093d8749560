/* The sets that an index holds, shared by its files; for core/similar/index*.c only. */
#ifndef CORE_SIMILAR_INDEX_PARTS_H
#define CORE_SIMILAR_INDEX_PARTS_H

#include "core/similar/index.h"

struct set_place {
    uint32_t block, at, n;
};

struct set_block {
    uint64_t *items; /* NULL: given away */
    size_t n, capacity;
};

struct set_list {
    struct set_block *blocks;
    size_t n_blocks, blocks_capacity;
    struct set_place *places; /* one a row */
    size_t n, capacity;
    size_t n_held; /* bytes of the blocks in memory */
    size_t n_items, longest;
    bool is_spilled;
};

void set_list_free(struct set_list *list);
MUST_CHECK int set_list_add(struct set_list *list, const struct similar_options *options,
                            const uint64_t *set, size_t n, struct error *err);
/* Lives until the asker's next call. */
MUST_CHECK int set_list_get(const struct set_list *list, const struct similar_spill *spill,
                            struct similar_asker *asker, size_t row, const uint64_t **set,
                            struct error *err);

#endif
