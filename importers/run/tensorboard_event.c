/* One event of a TensorBoard file (FORMATS.md B4). Fields that are not known are passed over. */
#include <math.h>

#include "core/read/protobuf.h"
#include "importers/run/tensorboard.h"

static double double_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

bool tensorboard_event_of(struct str bytes, struct tensorboard_event *out)
{
    enum { WALL = 1, STEP = 2, VERSION = 3, SUMMARY = 5, SESSION = 7 };
    struct protobuf in = protobuf_of(bytes), session;
    struct protobuf_field field;
    int rc;

    *out = (struct tensorboard_event){.wall = NAN};
    while ((rc = protobuf_next(&in, &field, NULL)) == 1) {
        if (field.number == WALL && field.wire == WIRE_64) {
            out->wall = double_of(field.value);
        } else if (field.number == STEP && field.wire == WIRE_VARINT) {
            out->step = protobuf_int(&field);
        } else if (field.number == VERSION && field.wire == WIRE_BYTES) {
            out->file_version = field.bytes;
        } else if (field.number == SUMMARY && field.wire == WIRE_BYTES) {
            out->summary = field.bytes;
        } else if (field.number == SESSION && field.wire == WIRE_BYTES) {
            session = protobuf_of(field.bytes);
            out->is_start =
                protobuf_next(&session, &field, NULL) == 1 && field.number == 1 && field.value == 1;
        }
    }
    return rc == 0;
}

/* ---- Values ---- */

static enum tensorboard_plugin plugin_of(struct str name)
{
    if (str_is(name, "scalars"))
        return PLUGIN_SCALARS;
    if (str_is(name, "text"))
        return PLUGIN_TEXT;
    return str_is(name, "hparams") ? PLUGIN_HPARAMS : PLUGIN_OTHER;
}

static void take_metadata(struct str metadata, struct tensorboard_value *out)
{
    struct protobuf in = protobuf_of(metadata), inner;
    struct protobuf_field field;

    while (protobuf_next(&in, &field, NULL) == 1) {
        if (field.number != 1 || field.wire != WIRE_BYTES)
            continue;
        inner = protobuf_of(field.bytes);
        while (protobuf_next(&inner, &field, NULL) == 1) {
            if (field.number == 1 && field.wire == WIRE_BYTES)
                out->plugin = plugin_of(field.bytes);
            else if (field.number == 2 && field.wire == WIRE_BYTES)
                out->content = field.bytes;
        }
    }
}

static bool take_value(struct str bytes, struct tensorboard_value *out)
{
    enum { TAG = 1, SIMPLE = 2, TENSOR = 8, METADATA = 9 };
    struct protobuf in = protobuf_of(bytes);
    struct protobuf_field field;
    int rc;

    *out = (struct tensorboard_value){.plugin = PLUGIN_NONE};
    while ((rc = protobuf_next(&in, &field, NULL)) == 1) {
        if (field.number == TAG && field.wire == WIRE_BYTES) {
            out->tag = field.bytes;
        } else if (field.number == SIMPLE && field.wire == WIRE_32) {
            out->number = (double)protobuf_float(&field);
            out->has_number = true;
        } else if (field.number == TENSOR && field.wire == WIRE_BYTES) {
            out->tensor = field.bytes;
        } else if (field.number == METADATA && field.wire == WIRE_BYTES) {
            take_metadata(field.bytes, out);
        }
    }
    return rc == 0;
}

int tensorboard_next_value(struct str *rest, struct tensorboard_value *out)
{
    struct protobuf in = protobuf_of(*rest);
    struct protobuf_field field;
    int rc;

    while ((rc = protobuf_next(&in, &field, NULL)) == 1) {
        if (field.number != 1 || field.wire != WIRE_BYTES)
            continue;
        *rest = str_from(in.p, (size_t)(in.end - in.p));
        return take_value(field.bytes, out) ? 1 : -1;
    }
    return rc == 0 ? 0 : -1;
}

/* ---- Tensors ---- */

enum dtype {
    FLOAT = 1,
    DOUBLE = 2,
    INT32 = 3,
    UINT8 = 4,
    INT16 = 5,
    INT8 = 6,
    TEXT = 7,
    INT64 = 9,
    BOOL = 10,
    BFLOAT16 = 14,
    UINT16 = 17,
    HALF = 19,
    UINT32 = 22,
    UINT64 = 23
};

static double float_of(uint64_t bits)
{
    return (double)protobuf_float(&(struct protobuf_field){.value = bits});
}

static double half_of(uint64_t bits)
{
    int exponent = (int)(bits >> 10 & 31);
    double mantissa = (double)(bits & 1023), value;

    if (exponent == 31)
        value = mantissa != 0 ? (double)NAN : (double)INFINITY;
    else
        value = exponent == 0 ? ldexp(mantissa, -24) : ldexp(mantissa + 1024, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

static size_t width_of(uint64_t dtype)
{
    switch (dtype) {
    case UINT8:
    case INT8:
    case BOOL:
        return 1;
    case INT16:
    case UINT16:
    case HALF:
    case BFLOAT16:
        return 2;
    case FLOAT:
    case INT32:
    case UINT32:
        return 4;
    case DOUBLE:
    case INT64:
    case UINT64:
        return 8;
    default:
        return 0;
    }
}

/* The bits of a number as its type means them. */
static double number_of(uint64_t dtype, uint64_t bits)
{
    switch (dtype) {
    case FLOAT:
        return float_of(bits);
    case DOUBLE:
        return double_of(bits);
    case HALF:
        return half_of(bits);
    case BFLOAT16:
        return float_of(bits << 16);
    case INT8:
        return (double)(int8_t)bits;
    case INT16:
        return (double)(int16_t)bits;
    case INT32:
        return (double)(int32_t)bits;
    case INT64:
        return (double)(int64_t)bits;
    default:
        return (double)bits;
    }
}

/* The field that holds the values of a type, and whether each has a fixed width there. */
static uint32_t field_of(uint64_t dtype, size_t *fixed)
{
    *fixed = dtype == FLOAT ? 4 : dtype == DOUBLE ? 8 : 0;
    switch (dtype) {
    case FLOAT:
        return 5;
    case DOUBLE:
        return 6;
    case INT64:
        return 10;
    case BOOL:
        return 11;
    case HALF:
    case BFLOAT16:
        return 13;
    case UINT32:
        return 16;
    case UINT64:
        return 17;
    default:
        return 7;
    }
}

static uint64_t little_endian(struct str bytes)
{
    uint64_t value = 0;

    for (size_t i = bytes.n; i-- > 0;)
        value = value << 8 | (unsigned char)bytes.p[i];
    return value;
}

/* Packed: exactly one number. */
static bool packed_number(struct str bytes, size_t fixed, uint64_t *bits)
{
    size_t n = 0;

    if (fixed != 0) {
        *bits = little_endian(bytes);
        return bytes.n == fixed;
    }
    *bits = 0;
    for (unsigned shift = 0; n < bytes.n && shift < 64; shift += 7, n++) {
        *bits |= (uint64_t)((unsigned char)bytes.p[n] & 0x7F) << shift;
        if ((unsigned char)bytes.p[n] < 0x80)
            return n + 1 == bytes.n;
    }
    return false;
}

bool tensorboard_tensor_number(struct str tensor, double *out)
{
    enum { DTYPE = 1, CONTENT = 4 };
    struct protobuf in = protobuf_of(tensor);
    struct protobuf_field field;
    struct str content = {0};
    uint64_t dtype = 0, bits = 0;
    size_t n = 0, fixed;
    int rc;

    while ((rc = protobuf_next(&in, &field, NULL)) == 1) {
        if (field.number == DTYPE && field.wire == WIRE_VARINT) {
            dtype = field.value;
        } else if (field.number == CONTENT && field.wire == WIRE_BYTES) {
            content = field.bytes;
        } else if (field.number == field_of(dtype, &fixed)) {
            n++;
            bits = field.value;
            if (field.wire == WIRE_BYTES && !packed_number(field.bytes, fixed, &bits))
                return false;
        }
    }
    if (rc != 0 || width_of(dtype) == 0)
        return false;
    if (content.n != 0) {
        bits = content.n == width_of(dtype) ? little_endian(content) : 0;
        n = content.n == width_of(dtype);
    }
    *out = number_of(dtype, bits);
    return n == 1;
}

bool tensorboard_tensor_text(struct str tensor, struct str *out)
{
    struct protobuf in = protobuf_of(tensor);
    struct protobuf_field field;

    while (protobuf_next(&in, &field, NULL) == 1)
        if (field.number == 8 && field.wire == WIRE_BYTES) {
            *out = field.bytes;
            return true;
        }
    return false;
}
