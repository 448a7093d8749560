/* Runs and packed bits: levels, dictionary indices, booleans. See parquet_parts.h. */
#include "core/read/parquet_parts.h"

unsigned bits_for(unsigned max_value)
{
    unsigned n = 0;

    while (max_value >> n)
        n++;
    return n;
}

/* Written for little-endian machines and for others alike: compilers make one load of it. */
static uint64_t load_word(const unsigned char *p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

static uint64_t load_up_to(const unsigned char *p, const unsigned char *end, size_t at)
{
    size_t n = (size_t)(end - p);
    uint64_t word = 0;

    if (n >= 8 && at <= n - 8)
        return load_word(p + at);
    for (size_t i = 0; i < 8 && at + i < n; i++)
        word |= (uint64_t)p[at + i] << (8 * i);
    return word;
}

uint64_t bits_at(const unsigned char *p, const unsigned char *end, size_t at, unsigned width)
{
    unsigned shift = at % 8;

    if (width == 0)
        return 0;
    uint64_t word = load_up_to(p, end, at / 8) >> shift;
    if (shift + width > 64)
        word |= load_up_to(p, end, at / 8 + 8) << (64 - shift);
    return word & UINT64_MAX >> (64 - width);
}

void hybrid_init(struct hybrid *hybrid, struct str bytes, unsigned width)
{
    const unsigned char *p = (const unsigned char *)bytes.p;

    *hybrid = (struct hybrid){.p = p, .end = p + bytes.n, .width = width};
}

static bool take_varint(struct hybrid *hybrid, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 63 && hybrid->p < hybrid->end; shift += 7) {
        unsigned byte = *hybrid->p++;

        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* The last run may claim more values than its bytes hold: a group of eight is not always whole. */
static bool begin_packed(struct hybrid *hybrid, uint64_t groups)
{
    uint64_t n_bytes = (uint64_t)(hybrid->end - hybrid->p);

    hybrid->bit = 0;
    if (groups > n_bytes / hybrid->width)
        hybrid->n_packed = n_bytes * 8 / hybrid->width;
    else
        hybrid->n_packed = groups * 8;
    return hybrid->n_packed > 0;
}

static bool begin_run(struct hybrid *hybrid)
{
    size_t n_bytes = (hybrid->width + 7) / 8;
    uint64_t header;

    if (!take_varint(hybrid, &header))
        return false;
    if (header & 1)
        return begin_packed(hybrid, header >> 1);
    if ((size_t)(hybrid->end - hybrid->p) < n_bytes)
        return false;
    hybrid->same = (uint32_t)bits_at(hybrid->p, hybrid->end, 0, hybrid->width);
    hybrid->p += n_bytes;
    hybrid->n_same = header >> 1;
    return true;
}

static uint32_t msb_first(const struct hybrid *hybrid, size_t at)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < hybrid->width; i++, at++)
        value = value << 1 | (hybrid->p[at / 8] >> (7 - at % 8) & 1u);
    return value;
}

static size_t take_packed(struct hybrid *hybrid, uint32_t *out, size_t n)
{
    unsigned width = hybrid->width;

    if (n > hybrid->n_packed)
        n = (size_t)hybrid->n_packed;
    for (size_t i = 0; i < n; i++, hybrid->bit += width)
        out[i] = hybrid->is_msb_first
                     ? msb_first(hybrid, hybrid->bit)
                     : (uint32_t)bits_at(hybrid->p, hybrid->end, hybrid->bit, width);
    hybrid->n_packed -= n;
    if (hybrid->n_packed == 0)
        hybrid->p += (hybrid->bit + 7) / 8;
    return n;
}

static size_t take_same(struct hybrid *hybrid, uint32_t *out, size_t n)
{
    if (n > hybrid->n_same)
        n = (size_t)hybrid->n_same;
    for (size_t i = 0; i < n; i++)
        out[i] = hybrid->same;
    hybrid->n_same -= n;
    return n;
}

bool hybrid_take(struct hybrid *hybrid, uint32_t *out, size_t n)
{
    if (hybrid->width == 0) { /* some writers leave the runs of nothing away */
        memset(out, 0, n * sizeof *out);
        return true;
    }
    while (n) {
        size_t got = hybrid->n_same     ? take_same(hybrid, out, n)
                     : hybrid->n_packed ? take_packed(hybrid, out, n)
                                        : 0;

        out += got;
        n -= got;
        if (n && got == 0 && (hybrid->is_msb_first || !begin_run(hybrid)))
            return false;
    }
    return true;
}
