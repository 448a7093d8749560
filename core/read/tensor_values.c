/* See tensor_values.h. The loops run over blocks of lanes so that the compiler can keep them in
 * vector registers; one sum per lane, added up at the end. */
#include "core/read/tensor_values.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"

#define LANES 8
#define BLOCK 1024 /* a multiple of LANES */

enum value_kind { AS_NONE, AS_F64, AS_F32, AS_F16, AS_BF16, AS_TINY, AS_SIGNED, AS_UNSIGNED };

/* exponent, bias, mantissa: of the 8-bit floats. An FN kind has no infinity: all bits set is NaN; an
 * FNUZ kind has one NaN, where minus zero would be. */
struct dtype {
    const char *name;
    int bits;
    enum value_kind kind;
    int mantissa, bias;
    bool has_infinity, is_fnuz, is_exponent;
};

static const struct dtype DTYPES[] = {
    {.name = "BF16", .bits = 16, .kind = AS_BF16},
    {.name = "F32", .bits = 32, .kind = AS_F32},
    {.name = "F16", .bits = 16, .kind = AS_F16},
    {.name = "F64", .bits = 64, .kind = AS_F64},
    {.name = "F8_E5M2", .bits = 8, .kind = AS_TINY, .mantissa = 2, .bias = 15, .has_infinity = true},
    {.name = "F8_E4M3", .bits = 8, .kind = AS_TINY, .mantissa = 3, .bias = 7},
    {.name = "F8_E4M3FNUZ", .bits = 8, .kind = AS_TINY, .mantissa = 3, .bias = 8, .is_fnuz = true},
    {.name = "F8_E5M2FNUZ", .bits = 8, .kind = AS_TINY, .mantissa = 2, .bias = 16, .is_fnuz = true},
    {.name = "F8_E8M0", .bits = 8, .kind = AS_TINY, .bias = 127, .is_exponent = true},
    {.name = "I8", .bits = 8, .kind = AS_SIGNED},
    {.name = "I16", .bits = 16, .kind = AS_SIGNED},
    {.name = "I32", .bits = 32, .kind = AS_SIGNED},
    {.name = "I64", .bits = 64, .kind = AS_SIGNED},
    {.name = "U8", .bits = 8, .kind = AS_UNSIGNED},
    {.name = "U16", .bits = 16, .kind = AS_UNSIGNED},
    {.name = "U32", .bits = 32, .kind = AS_UNSIGNED},
    {.name = "U64", .bits = 64, .kind = AS_UNSIGNED},
    {.name = "BOOL", .bits = 8},
    {.name = "F4", .bits = 4},
    {.name = "F6_E2M3", .bits = 6},
    {.name = "F6_E3M2", .bits = 6},
    {.name = "C64", .bits = 64},
};

static const struct dtype *dtype_of(const char *name)
{
    for (size_t i = 0; name && i < sizeof DTYPES / sizeof *DTYPES; i++)
        if (strcmp(DTYPES[i].name, name) == 0)
            return &DTYPES[i];
    return NULL;
}

int tensor_dtype_bits(const char *dtype)
{
    const struct dtype *found = dtype_of(dtype);

    return found ? found->bits : 0;
}

size_t tensor_value_bytes(const char *dtype)
{
    const struct dtype *found = dtype_of(dtype);

    return found && found->kind != AS_NONE ? (size_t)found->bits / 8 : 0;
}

int tensor_sides(const char *shape, int64_t sides[8])
{
    const char *at = shape ? shape : "";
    int n = 0;

    if (*at != '[' && *at != '(')
        return -1;
    for (at++; *at && *at != ']' && *at != ')';) {
        char *end;

        if (*at == ',' || *at == ' ') {
            at++;
            continue;
        }
        if (n == 8 || *at < '0' || *at > '9')
            return -1;
        sides[n++] = strtoll(at, &end, 10);
        at = end;
    }
    return *at ? n : -1;
}

/* ---- What the bits mean ---- */

static float tiny_value(const struct dtype *dtype, unsigned bits)
{
    int exponent_bits = 7 - dtype->mantissa;
    int exponent = (int)(bits & 127) >> dtype->mantissa;
    int fraction = (int)bits & ((1 << dtype->mantissa) - 1);
    int top = (1 << exponent_bits) - 1;
    double value;

    if (dtype->is_exponent)
        return bits == 255 ? NAN : (float)ldexp(1.0, (int)bits - dtype->bias);
    if (dtype->is_fnuz && bits == 128)
        return NAN;
    if (dtype->has_infinity && exponent == top)
        return fraction ? NAN : INFINITY;
    if (!dtype->has_infinity && !dtype->is_fnuz && (bits & 127) == 127)
        return NAN;
    value = exponent == 0 ? ldexp(fraction, 1 - dtype->bias - dtype->mantissa)
                          : ldexp(fraction + (1 << dtype->mantissa),
                                  exponent - dtype->bias - dtype->mantissa);
    return (float)(bits & 128 ? -value : value);
}

/* A half's exponent and fraction, moved to where a float has them, with the difference of the two
 * biases; a subnormal one is made with a leading one that is taken away again. Both ways are
 * computed so that the loop has no branch. */
static void halves(const uint16_t *in, float *out)
{
    for (int i = 0; i < BLOCK; i++) {
        uint32_t bits = (uint32_t)(in[i] & 0x7fff) << 13;
        union {
            uint32_t bits;
            float value;
        } normal = {.bits = bits + (112u << 23)}, small = {.bits = bits + (113u << 23)};

        small.value -= 0x1p-14f;
        normal.bits |= bits >= 31u << 23 ? 0x7f800000u : 0;
        normal.bits = bits < 1u << 23 ? small.bits : normal.bits;
        normal.bits |= (uint32_t)(in[i] & 0x8000) << 16;
        out[i] = normal.value;
    }
}

static void brains(const uint16_t *in, float *out)
{
    for (int i = 0; i < BLOCK; i++) {
        union {
            uint32_t bits;
            float value;
        } as = {.bits = (uint32_t)in[i] << 16};

        out[i] = as.value;
    }
}

static double integer_at(const struct dtype *dtype, const unsigned char *p)
{
    uint64_t bits = 0;

    memcpy(&bits, p, (size_t)dtype->bits / 8);
    if (dtype->kind == AS_UNSIGNED || dtype->bits == 64)
        return dtype->kind == AS_UNSIGNED ? (double)bits : (double)(int64_t)bits;
    return (double)((int64_t)(bits << (64 - dtype->bits)) >> (64 - dtype->bits));
}

static double wide_at(const unsigned char *p)
{
    double value;

    memcpy(&value, p, 8);
    return value;
}

/* At most a block; what is behind n_values is filled with zeros. */
static void to_floats(const struct dtype *dtype, const unsigned char *p, size_t n_values, float *out)
{
    size_t width = (size_t)dtype->bits / 8;
    uint16_t raw[BLOCK];

    if (n_values < BLOCK) {
        memset(raw, 0, sizeof raw);
        memset(out, 0, BLOCK * sizeof *out);
    }
    switch (dtype->kind) {
    case AS_F32:
        memcpy(out, p, n_values * 4);
        return;
    case AS_F16:
    case AS_BF16:
        memcpy(raw, p, n_values * 2);
        (dtype->kind == AS_F16 ? halves : brains)(raw, out);
        return;
    case AS_TINY:
        for (size_t i = 0; i < n_values; i++)
            out[i] = tiny_value(dtype, p[i]);
        return;
    case AS_F64:
        for (size_t i = 0; i < n_values; i++)
            out[i] = (float)wide_at(p + 8 * i);
        return;
    case AS_SIGNED:
    case AS_UNSIGNED:
        for (size_t i = 0; i < n_values; i++)
            out[i] = (float)integer_at(dtype, p + width * i);
        return;
    case AS_NONE:
        break;
    }
}

bool tensor_floats(const char *dtype, const void *bytes, size_t n_values, float *out)
{
    const struct dtype *found = dtype_of(dtype);
    const unsigned char *p = bytes;
    float block[BLOCK];

    if (!found || found->kind == AS_NONE)
        return false;
    for (size_t i = 0; i < n_values; i += BLOCK) {
        size_t n = n_values - i < BLOCK ? n_values - i : BLOCK;

        to_floats(found, p + i * ((size_t)found->bits / 8), n, block);
        memcpy(out + i, block, n * sizeof *out);
    }
    return true;
}

/* ---- Sums ---- */

/* A whole block, of which the first n are values and the others 0. */
static void add_block(struct tensor_sums *sums, const float *values, size_t n)
{
    double squares[LANES] = {0}, total = 0;
    int32_t zeros[LANES] = {0}, bad[LANES] = {0};
    int64_t n_bad = 0, n_zero = 0;

    for (int i = 0; i < BLOCK; i += LANES)
        for (int k = 0; k < LANES; k++) {
            float value = values[i + k];

            zeros[k] += value == 0.0f;
            bad[k] += !(fabsf(value) <= FLT_MAX);
            squares[k] += (double)value * (double)value;
        }
    for (int k = 0; k < LANES; k++) {
        n_bad += bad[k];
        n_zero += zeros[k];
        total += squares[k];
    }
    if (n_bad) {
        total = 0;
        for (size_t i = 0; i < n; i++)
            if (isfinite(values[i]))
                total += (double)values[i] * (double)values[i];
    }
    sums->squares += total;
    sums->n_nonzero += BLOCK - n_zero;
    sums->n_nonfinite += n_bad;
}

static void add_double(struct tensor_sums *sums, double value)
{
    sums->n_nonzero += value != 0;
    if (isfinite(value))
        sums->squares += value * value;
    else
        sums->n_nonfinite++;
}

static double byte_value(const struct dtype *dtype, unsigned char bits)
{
    return dtype->kind == AS_TINY ? (double)tiny_value(dtype, bits) : integer_at(dtype, &bits);
}

/* A byte has 256 values: they are counted. */
static void add_bytes(struct tensor_sums *sums, const struct dtype *dtype, const unsigned char *p,
                     size_t n)
{
    int64_t counts[256] = {0};

    for (size_t i = 0; i < n; i++)
        counts[p[i]]++;
    for (unsigned bits = 0; bits < 256; bits++) {
        double value = byte_value(dtype, (unsigned char)bits);

        sums->n_nonzero += value != 0 ? counts[bits] : 0;
        if (isfinite(value))
            sums->squares += value * value * (double)counts[bits];
        else
            sums->n_nonfinite += counts[bits];
    }
}

void tensor_sums_add(struct tensor_sums *sums, const char *dtype, const void *bytes, size_t n)
{
    const struct dtype *found = dtype_of(dtype);
    const unsigned char *p = bytes;
    float values[BLOCK];

    sums->hash = hash_more(sums->hash, bytes, n);
    if (!found || found->kind == AS_NONE)
        return;
    size_t width = (size_t)found->bits / 8, n_values = n / width;
    sums->n += (int64_t)n_values;
    if (width == 1) {
        add_bytes(sums, found, p, n_values);
        return;
    }
    if (found->kind != AS_F32 && found->kind != AS_F16 && found->kind != AS_BF16) {
        for (size_t i = 0; i < n_values; i++)
            add_double(sums, found->kind == AS_F64 ? wide_at(p + 8 * i)
                                                   : integer_at(found, p + width * i));
        return;
    }
    for (size_t i = 0; i < n_values; i += BLOCK) {
        size_t some = n_values - i < BLOCK ? n_values - i : BLOCK;

        to_floats(found, p + i * width, some, values);
        add_block(sums, values, some);
    }
}

void tensor_sums_done(const struct tensor_sums *sums, struct tensor *out)
{
    /* 0 says "not read": a hash that is 0 is told apart by one bit. */
    out->content_hash = (int64_t)(sums->hash ? sums->hash : 1);
    if (tensor_value_bytes(out->dtype) == 0)
        return;
    out->norm = sqrt(sums->squares);
    out->n_nonzero = sums->n_nonzero;
    out->n_nonfinite = sums->n_nonfinite;
}

/* ---- Norm of a product ---- */

static double dot(const float *x, const float *y, int64_t n)
{
    double sums[LANES] = {0}, total = 0;
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            sums[k] += (double)x[i + k] * (double)y[i + k];
    for (; i < n; i++)
        total += (double)x[i] * (double)y[i];
    for (int k = 0; k < LANES; k++)
        total += sums[k];
    return total;
}

/* gram += rowᵀ · row */
static void add_outer(double *gram, const float *row, int64_t rank)
{
    for (int64_t i = 0; i < rank; i++) {
        double left = (double)row[i];

        for (int64_t k = 0; k <= i; k++)
            gram[i * rank + k] += left * (double)row[k];
    }
}

double tensor_delta_norm(const float *a, const float *b, int64_t rank, int64_t n_in, int64_t n_out)
{
    double *gram = rank > 0 && rank <= 8192 ? calloc((size_t)(rank * rank), sizeof *gram) : NULL;
    double total = 0;

    if (!gram)
        return NAN;
    for (int64_t row = 0; row < n_out; row++)
        add_outer(gram, b + row * rank, rank);
    for (int64_t i = 0; i < rank; i++)
        for (int64_t k = 0; k <= i; k++)
            total += (i == k ? 1.0 : 2.0) * gram[i * rank + k] *
                     dot(a + i * n_in, a + k * n_in, n_in);
    free(gram);
    /* Rounding may leave a little below zero where the product is all zero. */
    return isfinite(total) ? sqrt(total > 0 ? total : 0) : NAN;
}
