/* Columns of counts as bytes. See columns.h. */
#include "core/store/columns.h"

#include <stdlib.h>

#include "core/base/error.h"

#define MAX_VARINT_BYTES 10
#define FIRST_CAPACITY   64

static bool grow(struct column *column)
{
    size_t capacity = column->capacity ? column->capacity * 2 : FIRST_CAPACITY;
    uint8_t *bytes = realloc(column->bytes, capacity);

    if (!bytes)
        return false;
    column->bytes = bytes;
    column->capacity = capacity;
    return true;
}

bool column_add(struct column *column, int64_t value)
{
    if (column->capacity - column->n < MAX_VARINT_BYTES && !grow(column))
        return false;
    if (value < 0) {
        column->bytes[column->n++] = 0;
        return true;
    }

    /* Both are >= 0, so the difference cannot overflow and 1 + zigzag fits. */
    int64_t delta = value - column->last;
    uint64_t code = (((uint64_t)delta << 1) ^ (uint64_t)(delta < 0 ? -1 : 0)) + 1;

    column->last = value;
    column->has_any = true;
    while (code >= 0x80) {
        column->bytes[column->n++] = (uint8_t)(code | 0x80);
        code >>= 7;
    }
    column->bytes[column->n++] = (uint8_t)code;
    return true;
}

void column_clear(struct column *column)
{
    column->n = 0;
    column->last = 0;
    column->has_any = false;
}

void column_free(struct column *column)
{
    free(column->bytes);
    *column = (struct column){0};
}

/* Longer varints are rare: a step to the next row takes one byte. */
static const uint8_t *long_varint(const uint8_t *p, const uint8_t *end, uint64_t *code)
{
    *code = 0;
    for (int shift = 0; shift < 64 && p < end; shift += 7) {
        *code |= (uint64_t)(*p & 0x7f) << shift;
        if (*p++ < 0x80)
            return p;
    }
    return NULL;
}

bool column_decode(const uint8_t *bytes, size_t n_bytes, int64_t *out, size_t n)
{
    const uint8_t *p = bytes, *end = bytes ? bytes + n_bytes : NULL;
    uint64_t last = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t code = 0;

        if (bytes) {
            if (p == end)
                return false;
            if (*p < 0x80)
                code = *p++;
            else if (!(p = long_varint(p, end, &code)))
                return false;
        }
        if (code == 0) {
            out[i] = NONE;
            continue;
        }
        code--;
        last += (code >> 1) ^ (0 - (code & 1));
        if (last > INT64_MAX)
            return false;
        out[i] = (int64_t)last;
    }
    return p == end;
}
