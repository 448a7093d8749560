/* The values of a page or a dictionary, by their encoding. See parquet_parts.h. */
#include <math.h>

#include "core/read/parquet_parts.h"

#define MAX_TEXT    ((size_t)256 << 20) /* of a batch of DELTA_BYTE_ARRAY */
#define JULIAN_1970 2440588
#define NANOS_A_DAY INT64_C(86400000000000)

static const char SHORT_OF[] = "it ends before its values do";

static uint32_t load_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t load_u64(const unsigned char *p)
{
    return (uint64_t)load_u32(p) | (uint64_t)load_u32(p + 4) << 32;
}

/* ---- Values of a fixed width ---- */

static void load_floats(const unsigned char *p, union table_value *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = load_u32(p + 4 * i);
        float value;

        memcpy(&value, &bits, sizeof value);
        out[i].d = (double)value;
    }
}

static void load_doubles(const unsigned char *p, union table_value *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = load_u64(p + 8 * i);

        memcpy(&out[i].d, &bits, sizeof bits);
    }
}

/* Nanoseconds of a day and the Julian day, as old writers have their timestamps. */
static int64_t load_int96(const unsigned char *p)
{
    uint64_t days = (uint64_t)(int64_t)(int32_t)load_u32(p + 8) - JULIAN_1970;

    return (int64_t)(days * (uint64_t)NANOS_A_DAY + load_u64(p));
}

static void load_fixed(const struct leaf_type *leaf, const unsigned char *p,
                       union table_value *out, size_t n)
{
    switch (leaf->type) {
    case PARQUET_INT32:
        for (size_t i = 0; i < n; i++)
            out[i].i = (int32_t)load_u32(p + 4 * i);
        return;
    case PARQUET_INT64:
        for (size_t i = 0; i < n; i++)
            out[i].i = (int64_t)load_u64(p + 8 * i);
        return;
    case PARQUET_INT96:
        for (size_t i = 0; i < n; i++)
            out[i].i = load_int96(p + 12 * i);
        return;
    case PARQUET_FLOAT:
        load_floats(p, out, n);
        return;
    case PARQUET_DOUBLE:
        load_doubles(p, out, n);
        return;
    case PARQUET_BOOLEAN:
    case PARQUET_BYTE_ARRAY:
    case PARQUET_FIXED:
        break;
    }
    for (size_t i = 0; i < n; i++)
        out[i].s = str_from((const char *)p + leaf->width * i, leaf->width);
}

/* ---- PLAIN ---- */

static const char *take_byte_arrays(struct values *values, union table_value *out, size_t n)
{
    const unsigned char *p = values->p;

    for (size_t i = 0; i < n; i++) {
        size_t left = (size_t)(values->end - p), length;

        if (left < 4)
            return SHORT_OF;
        length = load_u32(p);
        if (length > left - 4)
            return "a text is longer than what is left of its page";
        out[i].s = str_from((const char *)p + 4, length);
        p += 4 + length;
    }
    values->p = p;
    return NULL;
}

static const char *take_bits(struct values *values, union table_value *out, size_t n)
{
    size_t n_bits = (size_t)(values->end - values->p) * 8;

    if (n > n_bits || values->n_done > n_bits - n)
        return SHORT_OF;
    for (size_t i = 0; i < n; i++, values->n_done++)
        out[i].i = values->p[values->n_done / 8] >> (values->n_done % 8) & 1;
    return NULL;
}

static const char *take_plain(struct values *values, union table_value *out, size_t n)
{
    size_t width = values->leaf->width;

    if (values->leaf->type == PARQUET_BYTE_ARRAY)
        return take_byte_arrays(values, out, n);
    if (values->leaf->type == PARQUET_BOOLEAN)
        return take_bits(values, out, n);
    if (n * width > (size_t)(values->end - values->p))
        return SHORT_OF;
    load_fixed(values->leaf, values->p, out, n);
    values->p += n * width;
    return NULL;
}

/* ---- Runs ---- */

static const char *take_indices(struct values *values, union table_value *out, size_t n)
{
    uint32_t indices[PARQUET_BATCH];
    const struct dictionary *dictionary = values->dictionary;

    if (!hybrid_take(&values->hybrid, indices, n))
        return SHORT_OF;
    for (size_t i = 0; i < n; i++) {
        if (indices[i] >= dictionary->n)
            return "an entry that its dictionary does not have";
        out[i] = dictionary->values[indices[i]];
    }
    return NULL;
}

static const char *take_run_bits(struct values *values, union table_value *out, size_t n)
{
    uint32_t bits[PARQUET_BATCH];

    if (!hybrid_take(&values->hybrid, bits, n))
        return SHORT_OF;
    for (size_t i = 0; i < n; i++)
        out[i].i = bits[i];
    return NULL;
}

/* ---- Differences ---- */

static const char *take_numbers(struct values *values, union table_value *out, size_t n)
{
    int64_t numbers[PARQUET_BATCH];
    bool is_narrow = values->leaf->type == PARQUET_INT32;

    if (!delta_take(&values->delta, numbers, n))
        return SHORT_OF;
    for (size_t i = 0; i < n; i++)
        out[i].i = is_narrow ? (int32_t)(uint32_t)numbers[i] : numbers[i];
    return NULL;
}

static const char *take_lengths(struct values *values, union table_value *out, size_t n)
{
    int64_t lengths[PARQUET_BATCH];

    if (!delta_take(&values->delta, lengths, n))
        return SHORT_OF;
    for (size_t i = 0; i < n; i++) {
        if (lengths[i] < 0 || lengths[i] > values->end - values->p)
            return "a text is longer than what is left of its page";
        out[i].s = str_from((const char *)values->p, (size_t)lengths[i]);
        values->p += lengths[i];
    }
    return NULL;
}

/* One value: so many bytes of the one before, and what follows. */
static const char *add_suffix(struct values *values, int64_t prefix, int64_t suffix)
{
    if (prefix < 0 || (uint64_t)prefix > values->last.n)
        return "a text begins with more of the one before than that has";
    if (suffix < 0 || suffix > values->end - values->p)
        return "a text is longer than what is left of its page";
    values->last.n = (size_t)prefix;
    buf_add(&values->last, values->p, (size_t)suffix);
    values->p += suffix;
    buf_str(&values->text, buf_view(&values->last));
    return values->last.failed || values->text.failed ? "texts too large to hold" : NULL;
}

static const char *take_prefixed(struct values *values, union table_value *out, size_t n)
{
    int64_t prefixes[PARQUET_BATCH], suffixes[PARQUET_BATCH];

    if (!delta_take(&values->delta, prefixes, n) || !delta_take(&values->suffixes, suffixes, n))
        return SHORT_OF;
    buf_clear(&values->text);
    for (size_t i = 0; i < n; i++) {
        const char *wrong = add_suffix(values, prefixes[i], suffixes[i]);

        if (wrong)
            return wrong;
        out[i].s.n = values->last.n;
    }
    for (size_t i = 0, at = 0; i < n; at += out[i++].s.n)
        out[i].s.p = values->text.p ? values->text.p + at : "";
    if (values->leaf->type != PARQUET_FIXED)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (out[i].s.n != values->leaf->width)
            return "a value of another width than its column's";
    return NULL;
}

/* ---- Bytes side by side ---- */

static const char *take_streams(struct values *values, union table_value *out, size_t n)
{
    size_t width = values->leaf->width, all = values->n_streams;

    if (n > all - values->n_done)
        return SHORT_OF;
    buf_clear(&values->text);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < width; k++)
            buf_putc(&values->text, (char)values->p[k * all + values->n_done + i]);
    if (values->text.failed)
        return "texts too large to hold";
    load_fixed(values->leaf, (const unsigned char *)values->text.p, out, n);
    values->n_done += n;
    return NULL;
}

/* ---- Any ---- */

static const char NOT_OF_TYPE[] = "an encoding that its type cannot have";

static const char *init_dictionary(struct values *values, struct str bytes)
{
    unsigned width = bytes.n ? (unsigned char)bytes.p[0] : 0;

    if (!values->dictionary)
        return "entries of a dictionary that is not there";
    if (width > 32)
        return "entries of more than 32 bits";
    hybrid_init(&values->hybrid, str_skip(bytes, 1), width);
    return NULL;
}

static const char *init_run_bits(struct values *values, struct str bytes)
{
    if (values->leaf->type != PARQUET_BOOLEAN)
        return NOT_OF_TYPE;
    if (bytes.n < 4)
        return SHORT_OF;
    size_t n = load_u32((const unsigned char *)bytes.p);
    bytes = str_skip(bytes, 4);
    if (n > bytes.n)
        return SHORT_OF;
    hybrid_init(&values->hybrid, str_first(bytes, n), 1);
    return NULL;
}

static const char *init_delta(struct values *values, struct str bytes)
{
    enum parquet_type type = values->leaf->type;
    struct delta first, second;
    struct str rest;
    bool is_text = type == PARQUET_BYTE_ARRAY || type == PARQUET_FIXED;

    if (is_text == (values->encoding == ENCODING_DELTA_BINARY_PACKED) ||
        (!is_text && type != PARQUET_INT32 && type != PARQUET_INT64) ||
        (type == PARQUET_FIXED && values->encoding != ENCODING_DELTA_BYTE_ARRAY))
        return NOT_OF_TYPE;
    if (!delta_init(&values->delta, bytes))
        return "the head of its differences is wrong";
    if (!is_text)
        return NULL;
    first = values->delta;
    if (!delta_skip(&first, &rest))
        return SHORT_OF;
    if (values->encoding == ENCODING_DELTA_BYTE_ARRAY) {
        if (!delta_init(&values->suffixes, rest))
            return "the head of its differences is wrong";
        second = values->suffixes;
        if (!delta_skip(&second, &rest))
            return SHORT_OF;
    }
    values->p = (const unsigned char *)rest.p;
    buf_clear(&values->last);
    return NULL;
}

static const char *init_streams(struct values *values, struct str bytes)
{
    enum parquet_type type = values->leaf->type;

    if (type == PARQUET_BOOLEAN || type == PARQUET_INT96 || type == PARQUET_BYTE_ARRAY ||
        values->leaf->width == 0)
        return NOT_OF_TYPE;
    values->n_streams = bytes.n / values->leaf->width;
    return NULL;
}

const char *values_init(struct values *values, const struct leaf_type *leaf,
                        const struct dictionary *dictionary, int encoding, struct str bytes)
{
    values->leaf = leaf;
    values->dictionary = dictionary;
    values->encoding = (enum parquet_encoding)encoding;
    values->p = (const unsigned char *)bytes.p;
    values->end = values->p + bytes.n;
    values->n_done = 0;
    values->text.limit = values->last.limit = MAX_TEXT;
    switch (encoding) {
    case ENCODING_PLAIN:
        return NULL;
    case ENCODING_PLAIN_DICTIONARY:
    case ENCODING_RLE_DICTIONARY:
        return init_dictionary(values, bytes);
    case ENCODING_RLE:
        return init_run_bits(values, bytes);
    case ENCODING_DELTA_BINARY_PACKED:
    case ENCODING_DELTA_LENGTH_BYTE_ARRAY:
    case ENCODING_DELTA_BYTE_ARRAY:
        return init_delta(values, bytes);
    case ENCODING_BYTE_STREAM_SPLIT:
        return init_streams(values, bytes);
    default:
        return "an encoding that is not supported";
    }
}

const char *values_take(struct values *values, union table_value *out, size_t n)
{
    if (n == 0)
        return NULL;
    switch (values->encoding) {
    case ENCODING_PLAIN_DICTIONARY:
    case ENCODING_RLE_DICTIONARY:
        return take_indices(values, out, n);
    case ENCODING_RLE:
        return take_run_bits(values, out, n);
    case ENCODING_DELTA_BINARY_PACKED:
        return take_numbers(values, out, n);
    case ENCODING_DELTA_LENGTH_BYTE_ARRAY:
        return take_lengths(values, out, n);
    case ENCODING_DELTA_BYTE_ARRAY:
        return take_prefixed(values, out, n);
    case ENCODING_BYTE_STREAM_SPLIT:
        return take_streams(values, out, n);
    case ENCODING_PLAIN:
    case ENCODING_BIT_PACKED:
        break;
    }
    return take_plain(values, out, n);
}
