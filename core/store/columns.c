/* Columns of counts as bytes. See columns.h. */
#include "core/store/columns.h"

#include <stdlib.h>

#include "core/base/error.h"

#define MAX_VARINT_BYTES 10
#define MAX_REPEATS      4 /* as many codes of one byte are written out */
#define MOST_AT_ONCE     (2 * MAX_VARINT_BYTES + 2)
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

static void put_varint(struct column *column, uint64_t code)
{
    while (code >= 0x80) {
        column->bytes[column->n++] = (uint8_t)(code | 0x80);
        code >>= 7;
    }
    column->bytes[column->n++] = (uint8_t)code;
}

bool column_end(struct column *column)
{
    if (column->n_codes == 0)
        return true;
    if (column->capacity - column->n < MOST_AT_ONCE && !grow(column))
        return false;
    put_varint(column, column->code);
    if (column->n_codes - 1 <= MAX_REPEATS && column->code < 0x80) {
        while (--column->n_codes)
            put_varint(column, column->code);
    } else if (column->n_codes > 1) {
        column->bytes[column->n++] = 0x80;
        column->bytes[column->n++] = 0x00;
        put_varint(column, column->n_codes - 1);
    }
    column->n_codes = 0;
    return true;
}

bool column_add(struct column *column, int64_t value)
{
    /* Both are >= 0, so the difference cannot overflow and 1 + zigzag fits. */
    int64_t delta = value < 0 ? -1 : value - column->last;
    uint64_t code =
        value < 0 ? 0 : (((uint64_t)delta << 1) ^ (uint64_t)(delta < 0 ? -1 : 0)) + 1;

    if (code != column->code || column->n_codes == 0) {
        if (!column_end(column))
            return false;
        column->code = code;
        column->delta = delta;
    }
    column->n_codes++;
    if (value >= 0) {
        column->last = value;
        column->has_any = true;
    }
    return true;
}

void column_clear(struct column *column)
{
    *column = (struct column){.bytes = column->bytes, .capacity = column->capacity};
}

void column_free(struct column *column)
{
    free(column->bytes);
    *column = (struct column){0};
}

/* ---- Reading -------------------------------------------------------------------------------- */

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

struct decoding {
    uint64_t last;
    int64_t *out;
    size_t n; /* values that are still to come */
};

/* The same code `times`. */
static bool take_code(struct decoding *decoding, uint64_t code, uint64_t times)
{
    uint64_t delta = ((code - 1) >> 1) ^ (0 - ((code - 1) & 1));

    if (times > decoding->n)
        return false;
    decoding->n -= (size_t)times;
    for (; times && code == 0; times--)
        *decoding->out++ = NONE;
    for (; times; times--) {
        decoding->last += delta;
        if (decoding->last > INT64_MAX)
            return false;
        *decoding->out++ = (int64_t)decoding->last;
    }
    return true;
}

static bool is_repeat(const uint8_t *p, const uint8_t *end)
{
    return end - p >= 2 && p[0] == 0x80 && p[1] == 0x00;
}

bool column_decode(const uint8_t *bytes, size_t n_bytes, int64_t *out, size_t n)
{
    const uint8_t *p = bytes, *end = bytes ? bytes + n_bytes : NULL;
    struct decoding decoding = {.out = out, .n = n};
    uint64_t code = 0, times;

    if (!bytes)
        return take_code(&decoding, 0, n);
    while (p < end) {
        bool repeats = is_repeat(p, end);

        if (repeats && p == bytes)
            return false;
        times = 1;
        p = repeats ? long_varint(p + 2, end, &times) : long_varint(p, end, &code);
        if (!p || !take_code(&decoding, code, times))
            return false;
    }
    return decoding.n == 0;
}
