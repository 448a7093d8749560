/* CRC-32C (Castagnoli), as TFRecord files use it: over lengths and data, masked.
 *
 * The table is the caller's: made once by crc32c_table, read-only from then on. */
#ifndef CORE_READ_CRC32C_H
#define CORE_READ_CRC32C_H

#include <stddef.h>
#include <stdint.h>

struct crc32c_table {
    uint32_t by[8][256]; /* by[k]: a byte followed by k zero bytes */
};

void crc32c_table(struct crc32c_table *table);
uint32_t crc32c(const struct crc32c_table *table, const void *bytes, size_t n);
/* What is stored: a checksum of bytes that hold checksums would be weak. */
uint32_t crc32c_masked(const struct crc32c_table *table, const void *bytes, size_t n);

#endif
