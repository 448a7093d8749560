/* DELTA_BINARY_PACKED: blocks of a least difference and small numbers above it, packed in miniblocks
 * of a width of their own. Arithmetic wraps. See parquet_parts.h. */
#include "core/read/parquet_parts.h"

#define MAX_BLOCK ((uint64_t)1 << 24)

static bool take_varint(struct delta *delta, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 70 && delta->p < delta->end; shift += 7) {
        unsigned byte = *delta->p++;

        if (shift < 64)
            *out |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool take_zigzag(struct delta *delta, uint64_t *out)
{
    if (!take_varint(delta, out))
        return false;
    *out = (*out >> 1) ^ -(*out & 1);
    return true;
}

bool delta_init(struct delta *delta, struct str bytes)
{
    const unsigned char *p = (const unsigned char *)bytes.p;
    uint64_t block;

    *delta = (struct delta){.p = p, .end = p + bytes.n, .is_first = true};
    if (!take_varint(delta, &block) || !take_varint(delta, &delta->n_mini) ||
        !take_varint(delta, &delta->left) || !take_zigzag(delta, &delta->value))
        return false;
    if (delta->n_mini == 0 || block == 0 || block > MAX_BLOCK || block % delta->n_mini ||
        block / delta->n_mini % 8)
        return false;
    delta->per_mini = block / delta->n_mini;
    delta->mini = delta->n_mini;
    return true;
}

/* Behind the miniblock that was taken. */
static bool begin_mini(struct delta *delta)
{
    delta->p += (delta->bit + 7) / 8;
    delta->bit = 0;
    if (delta->mini == delta->n_mini) {
        if (!take_zigzag(delta, &delta->least) ||
            (uint64_t)(delta->end - delta->p) < delta->n_mini)
            return false;
        delta->widths = delta->p;
        delta->p += delta->n_mini;
        delta->mini = 0;
    }
    delta->width = delta->widths[delta->mini++];
    delta->left_in_mini = delta->per_mini;
    return delta->width <= 64;
}

/* How many of the next miniblock's numbers are wanted; their bytes are there. 0: they are not. */
static uint64_t reach(struct delta *delta, uint64_t n)
{
    if (delta->left_in_mini == 0 && !begin_mini(delta))
        return 0;
    if (n > delta->left_in_mini)
        n = delta->left_in_mini;
    uint64_t n_bits = (uint64_t)(delta->end - delta->p) * 8 - delta->bit;
    return n * delta->width <= n_bits ? n : 0;
}

bool delta_take(struct delta *delta, int64_t *out, size_t n)
{
    if (n > delta->left)
        return false;
    delta->left -= n;
    if (n && delta->is_first) {
        delta->is_first = false;
        *out++ = (int64_t)delta->value;
        n--;
    }
    while (n) {
        uint64_t m = reach(delta, n);

        if (m == 0)
            return false;
        for (uint64_t i = 0; i < m; i++, delta->bit += delta->width) {
            delta->value += delta->least + bits_at(delta->p, delta->end, delta->bit, delta->width);
            *out++ = (int64_t)delta->value;
        }
        delta->left_in_mini -= m;
        n -= (size_t)m;
    }
    return true;
}

/* The last miniblock is whole, whatever it holds; those behind it are not there. */
bool delta_skip(struct delta *delta, struct str *rest)
{
    uint64_t n = delta->left;

    if (n && delta->is_first)
        n--;
    while (n) {
        uint64_t m = reach(delta, n);

        if (m == 0)
            return false;
        delta->bit += (size_t)(m * delta->width);
        delta->left_in_mini -= m;
        n -= m;
    }
    delta->bit += (size_t)(delta->left_in_mini * delta->width);
    size_t used = (delta->bit + 7) / 8;
    if (used > (size_t)(delta->end - delta->p))
        return false;
    *rest = str_from((const char *)delta->p + used, (size_t)(delta->end - delta->p) - used);
    return true;
}
