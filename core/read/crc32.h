/* Cyclic checksums of 32 bits over reflected polynomials: CRC-32C as TFRecord files use it, CRC-32
 * as .wandb files do.
 *
 * The table is the caller's: made once, read-only from then on. */
#ifndef CORE_READ_CRC32_H
#define CORE_READ_CRC32_H

#include <stddef.h>
#include <stdint.h>

#define CRC32C_POLYNOMIAL UINT32_C(0x82F63B78) /* Castagnoli */
#define CRC32_POLYNOMIAL  UINT32_C(0xEDB88320) /* IEEE 802.3, zlib */

struct crc32_table {
    uint32_t by[8][256]; /* by[k]: a byte followed by k zero bytes */
};

void crc32_make_table(struct crc32_table *table, uint32_t polynomial);
uint32_t crc32_of(const struct crc32_table *table, const void *bytes, size_t n);
/* As TFRecord stores it: a checksum of bytes that hold checksums would be weak. */
uint32_t crc32_masked(const struct crc32_table *table, const void *bytes, size_t n);

#endif
