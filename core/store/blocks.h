/* Rows gathered in memory, encoded, until they are one block of the database. Private to
 * core/store: sink_store.c fills them, series.c and datasets.c read them back. */
#ifndef CORE_STORE_BLOCKS_H
#define CORE_STORE_BLOCKS_H

#include "core/store/columns.h"
#include "core/store/db.h"

enum { SEQ, STEP, LINE, WALL, SEGMENT, N_POINT_COLUMNS };
enum { AT, LENGTH, FLAGS, TOKENS, PROMPT_TOKENS, TRAINED, N_SAMPLE_COLUMNS };

/* The hash of a block chains over its columns; bytes NULL is a column without values. */
uint64_t block_hash_more(uint64_t seed, const void *bytes, size_t n);

/* Points of one series that are not written yet. Zeroed but for id is empty. */
struct point_block {
    int64_t id, block;
    size_t n;
    int32_t segment;                /* of the first point */
    bool segments_differ;
    int64_t max_step;               /* NONE: no point has one */
    double last_value;              /* the last that is no NaN */
    bool has_value;
    struct column columns[N_POINT_COLUMNS];
    uint8_t *bits;
    size_t bits_capacity;           /* points */
};

/* False when out of memory: the block is not to be used any more. */
bool point_block_add(struct point_block *block, const struct point *point);
/* Inserts the points as the next block and empties it; *bytes is what went into the database. */
MUST_CHECK int point_block_write(struct point_block *block, struct store *store, size_t *bytes,
                                 struct error *err);
void point_block_free(struct point_block *block);

/* The same for rows of one dataset. */
struct sample_block {
    int64_t id, block;
    size_t n;
    struct column columns[N_SAMPLE_COLUMNS];
};

bool sample_block_add(struct sample_block *block, const struct sample *sample);
MUST_CHECK int sample_block_write(struct sample_block *block, struct store *store, size_t *bytes,
                                  struct error *err);
void sample_block_free(struct sample_block *block);

#endif
