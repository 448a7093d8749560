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

/* What was told of a row: matches have to be nearer than this. */
struct told {
    uint32_t n_shared, n_other; /* of the nearest so far; n_other 0: none */
    uint32_t contained;         /* the most shared shingles so far; UINT32_MAX: no more asked for */
};

/* A posting: 16 low bits of the key | what the reach lacks to the most | the row. By bucket, in it by
 * key and the largest reach first. The reach is the largest set that can match the row by this key: all
 * rarer shingles of the row are not shared, so that at most `rest` are. */
enum { MOST_REACH = UINT16_MAX };

struct similar_index {
    struct similar_options options;
    struct set_list sets;
    uint64_t *postings;
    uint16_t *rests; /* of each posting, MOST_REACH: as many or more, or a band */
    uint32_t *ends;  /* of each bucket; begins where the one before ends */
    int bits;
    size_t n_exact, n_bands; /* postings by either kind of key */
    size_t n_postings, n_crowded;
    bool is_banded;
    struct told *told; /* NULL: each match is asked for */
    size_t n_passed;   /* postings and candidates since the lists were ordered, by their time */
    size_t n_spent;    /* of it all, in crowds */
    bool is_spent;
    uint16_t *counts; /* rows by the high bits of a shingle, while it is built */
    int count_bits;
};

static inline size_t bucket_of(const struct similar_index *index, uint64_t key)
{
    return (size_t)(key >> (64 - index->bits));
}

/* Shared shingles that make a match of the row and a set of n; SIZE_MAX: they cannot be one. */
size_t least_of_pair(const struct similar_index *index, uint32_t row, size_t n);
/* The largest set that the row can match by a key of which `rest` shingles are left. */
uint32_t reach_of(const struct similar_index *index, uint32_t row, uint16_t rest);
/* Orders the buckets of more than `least` postings; *n_crowded of rows by crowded keys. */
MUST_CHECK int order_buckets(struct similar_index *index, size_t least, struct error *err);

void set_list_free(struct set_list *list);
MUST_CHECK int set_list_add(struct set_list *list, const struct similar_options *options,
                            const uint64_t *set, size_t n, struct error *err);
/* Lives until the asker's next call. */
MUST_CHECK int set_list_get(const struct set_list *list, const struct similar_spill *spill,
                            struct similar_asker *asker, size_t row, const uint64_t **set,
                            struct error *err);

#endif
