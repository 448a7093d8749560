/* Which rows of one side are near a row of the other: an index over the shingle sets of the one
 * (most often the smaller: the test rows), asked with the sets of the other, one after the other
 * and by any number of threads. Every match is verified on the shingles; nothing is an estimate.
 *
 * Exact: a row is found by each of its rarest shingles, as many as a match must share one of
 * (prefix filter); with a length filter and early exit. Recall and precision are 1. Where that does
 * not fit `memory`, 42 bands of MinHash take the place of the shingles (is_banded): recall 0.999997
 * at Jaccard 0.8, 0.48 at 0.5, and containment is found only as far as Jaccard goes with it.
 *
 * Memory for a million indexed rows of 40 words at Jaccard 0.5 and containment 0.8: 290 MB of sets,
 * 190 MB of postings, 130 MB of buckets, 12 MB of places, and 130 MB of counts while it is built;
 * at Jaccard 0.8 alone 379 MB in all. Each worker adds 4 MB. Sets beyond half of `memory` are given
 * to `spill`; without one, or when postings and buckets fill three quarters of it, similar_add says
 * E_LIMIT and the rows so far stand. Rows of the asking side are not kept.
 *
 * Rows of one template share most of their shingles: each list of rows begins with those that the
 * largest sets can match, so that no more of it is read than can be a match by its lengths and ranks.
 * Where only the nearest match of a row is asked for (nearest), the lists become the shorter the nearer
 * it is, and nothing is lost.
 *
 * A shingle (band) that more than SIMILAR_CROWD rows are found by is not followed, with `nearest` only
 * after some minutes in such crowds: rows with one are counted (similar_n_crowded). The same rows give the
 * same matches, whatever the threads. */
#ifndef CORE_SIMILAR_INDEX_H
#define CORE_SIMILAR_INDEX_H

#include <stdbool.h>

#include "core/similar/shingles.h"

#define SIMILAR_MEMORY ((size_t)1 << 30)
#define SIMILAR_CROWD  10000

/* Blocks of sets by number, each put once; asked for by one thread at a time. Return OK or a
 * status. */
struct similar_spill {
    int (*put)(void *ctx, uint32_t block, const void *bytes, size_t n, struct error *err);
    int (*get)(void *ctx, uint32_t block, void *bytes, size_t n, struct error *err);
    void *ctx;
};

struct similar_options {
    double jaccard;                    /* matches from here on, in (0, 1] */
    double containment;                /* of the indexed row in the other, from CONTAINED_SHINGLES
                                          on; 0: does not count */
    size_t memory;                     /* bytes; 0: SIMILAR_MEMORY */
    const struct similar_spill *spill; /* NULL: none */
    bool banded;                       /* in any case */
    size_t crowd;                      /* 0: SIMILAR_CROWD */
    bool nearest;                      /* of each indexed row no match is asked for that is not nearer
                                          than what was told of it */
};

struct similar_index;

MUST_CHECK int similar_open(struct similar_index **out, const struct similar_options *options,
                            struct error *err);
void similar_close(struct similar_index *index); /* NULL allowed */
/* The next row, from 0; an empty set matches nothing. E_LIMIT: no memory for it. */
MUST_CHECK int similar_add(struct similar_index *index, const uint64_t *set, size_t n,
                           struct error *err);
/* Once, after the last row. */
MUST_CHECK int similar_build(struct similar_index *index, struct error *err);

size_t similar_n_rows(const struct similar_index *index);
size_t similar_n_crowded(const struct similar_index *index);
bool similar_is_banded(const struct similar_index *index);
/* Sets were given away: only one thread may ask. */
bool similar_is_spilled(const struct similar_index *index);
size_t similar_bytes(const struct similar_index *index); /* held now */

struct similar_match {
    uint32_t row;             /* of the index */
    uint32_t n_row, n_shared; /* shingles */
};

/* What one thread asks with, and the answer to its last question. */
struct similar_asker {
    struct similar_match *matches; /* by row */
    size_t n_matches, capacity;
    size_t n_passed, n_spent; /* private from here on */
    uint32_t *seen, serial;
    uint64_t *block, *own;
    uint32_t block_number;
    size_t block_capacity;
};
void similar_asker_free(struct similar_asker *asker);

/* Rows below `end` that match the set. E_NOMEM, or what the spill says. */
MUST_CHECK int similar_ask(const struct similar_index *index, struct similar_asker *asker,
                           const uint64_t *set, size_t n, size_t end, struct error *err);
/* With options.nearest: the nearest match of the row so far, to a set of n_other shingles; from now on
 * matches are those with a larger Jaccard or more shared shingles than `contained` (UINT32_MAX: that does
 * not count any more). By one thread, while none asks. */
void similar_tell(struct similar_index *index, const struct similar_match *nearest, uint32_t n_other,
                  uint32_t contained);
/* Now and then, by one thread while none asks: what was told makes the lists shorter. */
MUST_CHECK int similar_settle(struct similar_index *index, struct similar_asker *askers, size_t n,
                              struct error *err);
/* The same with the set of an indexed row, for near-duplicates inside one side: rows before it. */
MUST_CHECK int similar_ask_own(const struct similar_index *index, struct similar_asker *asker,
                               size_t row, struct error *err);

#endif
