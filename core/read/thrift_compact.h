/* The compact protocol of Thrift, walked field by field without a schema: the footer and the page
 * headers of Parquet.
 *
 * Failure is sticky: after `wrong` is set every answer is zero or empty and every list and struct
 * ends, so that a caller reads on and looks once. Lengths and list sizes are checked against the
 * bytes that are left; structs nest at most THRIFT_MAX_DEPTH deep. */
#ifndef CORE_READ_THRIFT_COMPACT_H
#define CORE_READ_THRIFT_COMPACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

#define THRIFT_MAX_DEPTH 32

enum thrift_type {
    THRIFT_STOP = 0,
    THRIFT_TRUE = 1,
    THRIFT_FALSE = 2,
    THRIFT_I8 = 3,
    THRIFT_I16 = 4,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_DOUBLE = 7,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_SET = 10,
    THRIFT_MAP = 11,
    THRIFT_STRUCT = 12,
    THRIFT_UUID = 13
};

struct thrift {
    const unsigned char *begin, *p, *end;
    const char *wrong; /* NULL: nothing is wrong so far */
    bool is_cut;       /* what is wrong is that the bytes end */
};

struct thrift_field {
    int32_t id; /* begin a struct with zeros */
    enum thrift_type type;
};

struct thrift thrift_of(struct str bytes);
/* The next field of a struct; false at its end. Its value must be taken or skipped. */
bool thrift_next(struct thrift *in, struct thrift_field *field);
void thrift_skip(struct thrift *in, const struct thrift_field *field);
/* Values of the type that is expected; another one is wrong. */
int64_t thrift_int(struct thrift *in, const struct thrift_field *field);
bool thrift_bool(struct thrift *in, const struct thrift_field *field);
struct str thrift_bytes(struct thrift *in, const struct thrift_field *field);
/* How many elements of the type a list has. They follow, each to be taken by itself. */
size_t thrift_list(struct thrift *in, const struct thrift_field *field, enum thrift_type element);
/* A field that is a struct begins: thrift_next gives its fields. False: it is none. */
bool thrift_struct(struct thrift *in, const struct thrift_field *field);

#endif
