/* Columns of counts as bytes: each value as the difference to the one before it, and a difference
 * that repeats once for all, so that a steady column costs next to nothing. A value below 0 is "not
 * stated" and comes back as NONE. Private to core/store.
 *
 * Encoding: codes as little-endian varints of 7 bits a byte. 0 is "not stated"; else a code is
 * 1 + zigzag(difference to the last stated value, which starts as 0). The bytes 0x80 0x00, which no
 * code has, and a varint say how many times more the code before them stands there. */
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
    uint64_t code, n_codes; /* the last one, so often, is not among the bytes yet */
    int64_t delta;          /* of that code; -1 and code 0: not stated */
};

/* False when out of memory: the column is as it was. */
bool column_add(struct column *column, int64_t value);

/* The same, fast where the difference is the one before. */
static inline bool column_add_next(struct column *column, int64_t value)
{
    if (value < 0 || column->code == 0 || value - column->last != column->delta)
        return column_add(column, value);
    column->n_codes++;
    column->last = value;
    return true;
}

/* Completes the bytes; nothing can be added until column_clear. False when out of memory. */
bool column_end(struct column *column);
void column_clear(struct column *column);       /* keeps the memory */
void column_free(struct column *column);

/* Reads exactly n values and all bytes, else false. bytes NULL: all are "not stated". */
bool column_decode(const uint8_t *bytes, size_t n_bytes, int64_t *out, size_t n);

#endif
