/* Columns of counts as bytes: each value as the difference to the one before it, so that a steady
 * column costs a byte a row. A value below 0 is "not stated" and comes back as NONE. Private to
 * core/store.
 *
 * Encoding: 0 is "not stated"; else 1 + zigzag(difference to the last stated value, which starts
 * as 0), as a little-endian varint of 7 bits a byte. */
#ifndef CORE_STORE_COLUMNS_H
#define CORE_STORE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COLUMN_MAX_ROWS 4096        /* of one block in the database */

struct column {
    uint8_t *bytes;         /* malloc'ed; NULL in a fresh column */
    size_t n, capacity;
    int64_t last;
    bool has_any;           /* a value that is stated */
};

/* False when out of memory: the column is as it was. */
bool column_add(struct column *column, int64_t value);
void column_clear(struct column *column);       /* keeps the memory */
void column_free(struct column *column);

/* Reads exactly n values and all bytes, else false. bytes NULL: all are "not stated". */
bool column_decode(const uint8_t *bytes, size_t n_bytes, int64_t *out, size_t n);

#endif
