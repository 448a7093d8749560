/* Flatbuffers read in place, without a schema: the metadata of Arrow.
 *
 * Every offset is checked; what points outside is as if it were not there. Nothing is copied. Offsets
 * may form a graph in which one table stands below itself: who walks it counts what it visits. */
#ifndef CORE_READ_FLATBUFFER_H
#define CORE_READ_FLATBUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct flat_table {
    struct str bytes; /* of the whole buffer */
    size_t at;        /* of the table */
    size_t vtable, vtable_bytes;
};

/* Vectors of structs and numbers: n items of a fixed size. Of tables and texts: offsets. */
struct flat_vector {
    struct str bytes;
    size_t at, n;
};

bool flat_root(struct str bytes, struct flat_table *out);
/* `slot` is the byte of the vtable, 4 for the first field. */
bool flat_has(const struct flat_table *table, unsigned slot);
uint64_t flat_number(const struct flat_table *table, unsigned slot, unsigned n_bytes,
                     uint64_t by_default);
int64_t flat_signed(const struct flat_table *table, unsigned slot, unsigned n_bytes,
                    int64_t by_default);
bool flat_child(const struct flat_table *table, unsigned slot, struct flat_table *out);
struct str flat_text(const struct flat_table *table, unsigned slot); /* empty when it is not there */
struct flat_vector flat_vector(const struct flat_table *table, unsigned slot, unsigned item_bytes);
bool flat_item(const struct flat_vector *vector, size_t i, struct flat_table *out);
/* The 64-bit number at a byte of the i-th item of a vector of structs. */
int64_t flat_item_number(const struct flat_vector *vector, size_t i, unsigned item_bytes,
                         unsigned byte);

#endif
