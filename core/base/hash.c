/* 64-bit content hashes. See hash.h. */
#include "core/base/hash.h"

#include <xxhash.h>

uint64_t hash_bytes(const void *bytes, size_t n)
{
    return XXH3_64bits(bytes, n);
}

uint64_t hash_more(uint64_t seed, const void *bytes, size_t n)
{
    return XXH3_64bits_withSeed(bytes, n, seed);
}
