/* Varints, fixed numbers and bytes. See protobuf.h. */
#include "core/read/protobuf.h"

#define LARGEST_FIELD ((UINT64_C(1) << 29) - 1)

struct protobuf protobuf_of(struct str bytes)
{
    return (struct protobuf){bytes.p, bytes.p, bytes.p + bytes.n};
}

static int fail(const struct protobuf *in, struct error *err, const char *what)
{
    int rc = error_set(err, E_PARSE, "protocol buffer: %s", what);

    error_at(err, NULL, NONE, in->p - in->begin);
    return rc;
}

static int take_varint(struct protobuf *in, uint64_t *out, struct error *err)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (in->p == in->end)
            return fail(in, err, "it ends inside a number");

        unsigned char byte = (unsigned char)*in->p++;

        if (shift < 64)
            value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = value;
            return OK;
        }
    }
    return fail(in, err, "a number of more than ten bytes");
}

static int take_fixed(struct protobuf *in, unsigned n, uint64_t *out, struct error *err)
{
    uint64_t value = 0;

    if ((size_t)(in->end - in->p) < n)
        return fail(in, err, "it ends inside a number");
    for (unsigned i = 0; i < n; i++)
        value |= (uint64_t)(unsigned char)in->p[i] << (8 * i);
    in->p += n;
    *out = value;
    return OK;
}

static int take_bytes(struct protobuf *in, struct protobuf_field *out, struct error *err)
{
    int rc = take_varint(in, &out->value, err);

    if (rc != OK)
        return rc;
    if (out->value > (uint64_t)(in->end - in->p))
        return fail(in, err, "a field that is longer than what is left");
    out->bytes = str_from(in->p, (size_t)out->value);
    in->p += out->value;
    return OK;
}

int protobuf_next(struct protobuf *in, struct protobuf_field *out, struct error *err)
{
    uint64_t key;
    int rc;

    if (in->p == in->end)
        return 0;
    rc = take_varint(in, &key, err);
    if (rc != OK)
        return rc;
    if (key >> 3 == 0 || key >> 3 > LARGEST_FIELD)
        return fail(in, err, "a field number out of range");
    *out = (struct protobuf_field){.number = (uint32_t)(key >> 3),
                                   .wire = (enum protobuf_wire)(key & 7)};
    switch (key & 7) {
    case WIRE_VARINT:
        rc = take_varint(in, &out->value, err);
        break;
    case WIRE_64:
        rc = take_fixed(in, 8, &out->value, err);
        break;
    case WIRE_BYTES:
        rc = take_bytes(in, out, err);
        break;
    case WIRE_32:
        rc = take_fixed(in, 4, &out->value, err);
        break;
    default:
        rc = fail(in, err, "a field of no known wire type");
    }
    return rc == OK ? 1 : rc;
}

float protobuf_float(const struct protobuf_field *field)
{
    uint32_t bits = (uint32_t)field->value;
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

int64_t protobuf_int(const struct protobuf_field *field)
{
    return (int64_t)field->value;
}
