/* Single values of tables (Parquet, Arrow) as JSON, the same for both formats.
 *
 *   whole numbers   digit by digit, unsigned ones as such
 *   floats          the double, also of half and single precision; its text is empty, since the
 *                   shortest one costs more than all else (json_write writes it from the number)
 *   texts           as they are; bytes that are not UTF-8 are refused
 *   binary          base64 with '=' at the end
 *   decimals        a number up to 15 digits of precision, a text of all digits above
 *   dates, times    "2024-05-01", "09:30:00.250000", "2024-05-01T09:30:00.250000", of an instant
 *                   with "+00:00"; nine digits where there are nanoseconds, none where the second
 *                   is whole, as Python's isoformat has it
 *   durations       the number of their unit
 *   UUIDs           "123e4567-e89b-12d3-a456-426614174000" */
#ifndef CORE_READ_TABLE_VALUE_H
#define CORE_READ_TABLE_VALUE_H

#include "core/read/json.h"

enum value_kind {
    VALUE_NULL,
    VALUE_BOOL,      /* i */
    VALUE_INT,       /* i */
    VALUE_UINT,      /* i, its lowest `bits` */
    VALUE_FLOAT,     /* d */
    VALUE_HALF,      /* s, two bytes, little-endian */
    VALUE_TEXT,      /* s */
    VALUE_BYTES,     /* s */
    VALUE_DECIMAL,   /* i, or s when is_bytes */
    VALUE_DATE,      /* i, days since 1970 */
    VALUE_TIME,      /* i, since midnight */
    VALUE_TIMESTAMP, /* i, since 1970 */
    VALUE_UUID       /* s, 16 bytes */
};

struct value_type {
    enum value_kind kind;
    int bits;                 /* of VALUE_UINT */
    int scale, precision;     /* of VALUE_DECIMAL */
    bool is_bytes;            /* of VALUE_DECIMAL: two's complement in s */
    bool is_little_endian;    /* of those bytes */
    int64_t units_per_second; /* of VALUE_TIME and VALUE_TIMESTAMP: 1, 1000, 10^6, 10^9 */
    bool is_utc;              /* of VALUE_TIMESTAMP: an instant, not a wall clock's time */
};

union table_value {
    int64_t i;
    double d;
    struct str s;
};

#define VALUE_DECIMAL_BYTES 32

/* Fills *out, which is a JSON_NULL of zeros else. NULL when it is as it should be, else what is wrong. */
const char *value_json(struct arena *arena, const struct value_type *type, union table_value value,
                       struct json *out);
/* A value of the type as it might be, for a look at a table's form. */
void value_example(const struct value_type *type, struct json *out);

#endif
