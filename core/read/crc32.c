/* Eight bytes at a time, by tables. See crc32.h. */
#include "core/read/crc32.h"

#define MASK_DELTA 0xA282EAD8u

void crc32_make_table(struct crc32_table *table, uint32_t polynomial)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;

        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (polynomial & (0u - (crc & 1)));
        table->by[0][i] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t before = table->by[k - 1][i];

            table->by[k][i] = (before >> 8) ^ table->by[0][before & 0xFF];
        }
}

static uint32_t four(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint32_t crc32_of(const struct crc32_table *table, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint32_t crc = 0xFFFFFFFFu;

    for (; n >= 8; n -= 8, p += 8) {
        uint32_t low = crc ^ four(p), high = four(p + 4);

        crc = table->by[7][low & 0xFF] ^ table->by[6][(low >> 8) & 0xFF] ^
              table->by[5][(low >> 16) & 0xFF] ^ table->by[4][low >> 24] ^
              table->by[3][high & 0xFF] ^ table->by[2][(high >> 8) & 0xFF] ^
              table->by[1][(high >> 16) & 0xFF] ^ table->by[0][high >> 24];
    }
    for (; n > 0; n--, p++)
        crc = (crc >> 8) ^ table->by[0][(crc ^ *p) & 0xFF];
    return crc ^ 0xFFFFFFFFu;
}

uint32_t crc32_masked(const struct crc32_table *table, const void *bytes, size_t n)
{
    uint32_t crc = crc32_of(table, bytes, n);

    return ((crc >> 15) | (crc << 17)) + MASK_DELTA;
}
