/* The hash of short texts: tokens and pieces. Quick for the few bytes that a word has; not for
 * hostile keys, so the tables over it bound their probes. */
#ifndef CORE_TEXT_TOKENIZER_PIECE_HASH_H
#define CORE_TEXT_TOKENIZER_PIECE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t piece_mix(uint64_t a, uint64_t b)
{
    uint64_t hash = (a ^ UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0xD6E8FEB86659FD93);

    hash = (hash ^ hash >> 32 ^ b) * UINT64_C(0x9FB21C651E98DF25);
    hash = (hash ^ hash >> 29) * UINT64_C(0xD6E8FEB86659FD93);
    return hash ^ hash >> 32;
}

static inline uint64_t piece_hash(const char *p, size_t n)
{
    uint64_t a = 0, b = 0, hash = n;

    while (n > 16) {
        memcpy(&a, p, 8);
        memcpy(&b, p + 8, 8);
        hash = piece_mix(a ^ hash, b);
        p += 16;
        n -= 16;
    }
    if (n >= 8) {
        memcpy(&a, p, 8);
        memcpy(&b, p + n - 8, 8);
    } else if (n >= 4) {
        uint32_t low, high;

        memcpy(&low, p, 4);
        memcpy(&high, p + n - 4, 4);
        a = low;
        b = high;
    } else if (n) {
        a = (uint64_t)(unsigned char)p[0] | (uint64_t)(unsigned char)p[n / 2] << 8 |
            (uint64_t)(unsigned char)p[n - 1] << 16;
        b = n;
    } else {
        b = 0;
    }
    return piece_mix(a ^ hash, b);
}

/* Two ids. */
static inline uint64_t pair_hash(uint32_t left, uint32_t right)
{
    uint64_t key = (uint64_t)left << 32 | right;

    key *= UINT64_C(0x9E3779B97F4A7C15);
    return key ^ key >> 32;
}

#endif
