/* See flatbuffer.h. */
#include "core/read/flatbuffer.h"

static bool is_inside(struct str bytes, size_t at, size_t n)
{
    return at <= bytes.n && n <= bytes.n - at;
}

/* Little-endian, zero outside. */
static uint64_t load(struct str bytes, size_t at, unsigned n)
{
    uint64_t value = 0;

    if (!is_inside(bytes, at, n))
        return 0;
    for (unsigned i = 0; i < n; i++)
        value |= (uint64_t)(unsigned char)bytes.p[at + i] << (8 * i);
    return value;
}

static bool table_at(struct str bytes, size_t at, struct flat_table *out)
{
    if (!is_inside(bytes, at, 4))
        return false;
    int64_t vtable = (int64_t)at - (int32_t)(uint32_t)load(bytes, at, 4);
    if (vtable < 0 || !is_inside(bytes, (size_t)vtable, 4))
        return false;
    size_t n = (size_t)load(bytes, (size_t)vtable, 2);
    if (n < 4 || !is_inside(bytes, (size_t)vtable, n))
        return false;
    *out = (struct flat_table){bytes, at, (size_t)vtable, n};
    return true;
}

bool flat_root(struct str bytes, struct flat_table *out)
{
    return bytes.n >= 8 && table_at(bytes, (size_t)load(bytes, 0, 4), out);
}

/* Where a field stands; 0: it is not there. */
static size_t place(const struct flat_table *table, unsigned slot, unsigned n_bytes)
{
    if (slot + 2 > table->vtable_bytes)
        return 0;
    size_t offset = (size_t)load(table->bytes, table->vtable + slot, 2);
    return offset && is_inside(table->bytes, table->at + offset, n_bytes) ? table->at + offset : 0;
}

/* What a field points to. */
static size_t target(const struct flat_table *table, unsigned slot)
{
    size_t at = place(table, slot, 4);
    size_t offset = at ? (size_t)load(table->bytes, at, 4) : 0;

    return offset && is_inside(table->bytes, at + offset, 4) ? at + offset : 0;
}

bool flat_has(const struct flat_table *table, unsigned slot)
{
    return place(table, slot, 1) != 0;
}

uint64_t flat_number(const struct flat_table *table, unsigned slot, unsigned n_bytes,
                     uint64_t by_default)
{
    size_t at = place(table, slot, n_bytes);

    return at ? load(table->bytes, at, n_bytes) : by_default;
}

int64_t flat_signed(const struct flat_table *table, unsigned slot, unsigned n_bytes,
                    int64_t by_default)
{
    unsigned shift = 64 - 8 * n_bytes;

    return (int64_t)(flat_number(table, slot, n_bytes, (uint64_t)by_default) << shift) >> shift;
}

bool flat_child(const struct flat_table *table, unsigned slot, struct flat_table *out)
{
    size_t at = target(table, slot);

    return at && table_at(table->bytes, at, out);
}

struct str flat_text(const struct flat_table *table, unsigned slot)
{
    size_t at = target(table, slot);
    size_t n = at ? (size_t)load(table->bytes, at, 4) : 0;

    if (!at || !is_inside(table->bytes, at + 4, n))
        return str_of(NULL);
    return str_from(table->bytes.p + at + 4, n);
}

struct flat_vector flat_vector(const struct flat_table *table, unsigned slot, unsigned item_bytes)
{
    size_t at = target(table, slot);
    size_t n = at ? (size_t)load(table->bytes, at, 4) : 0;

    if (!at || n > (table->bytes.n - at - 4) / item_bytes)
        return (struct flat_vector){.bytes = table->bytes};
    return (struct flat_vector){table->bytes, at + 4, n};
}

bool flat_item(const struct flat_vector *vector, size_t i, struct flat_table *out)
{
    if (i >= vector->n)
        return false;
    size_t at = vector->at + 4 * i;
    size_t offset = (size_t)load(vector->bytes, at, 4);
    return offset && table_at(vector->bytes, at + offset, out);
}

int64_t flat_item_number(const struct flat_vector *vector, size_t i, unsigned item_bytes,
                         unsigned byte)
{
    return i < vector->n ? (int64_t)load(vector->bytes, vector->at + i * item_bytes + byte, 8) : 0;
}
