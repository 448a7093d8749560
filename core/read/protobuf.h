/* The wire format of protocol buffers, walked field by field without a schema.
 *
 * Messages inside messages are bytes, to be walked in turn. Groups are refused. Every length is
 * checked against what is left. */
#ifndef CORE_READ_PROTOBUF_H
#define CORE_READ_PROTOBUF_H

#include <stdint.h>

#include "core/base/error.h"
#include "core/base/str.h"

enum protobuf_wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct protobuf {
    const char *begin, *p, *end;
};

struct protobuf_field {
    uint32_t number;            /* from 1 */
    enum protobuf_wire wire;
    uint64_t value;             /* of numbers; of bytes their count */
    struct str bytes;           /* of WIRE_BYTES, borrowed */
};

struct protobuf protobuf_of(struct str bytes);
/* 1 a field, 0 the end, E_PARSE with the byte where it is wrong or breaks off. */
MUST_CHECK int protobuf_next(struct protobuf *in, struct protobuf_field *out, struct error *err);
float protobuf_float(const struct protobuf_field *field);       /* of WIRE_32 */
int64_t protobuf_int(const struct protobuf_field *field);       /* int32, int64, bool, enum */

#endif
