/* 64-bit content hashes (XXH3). Not for security: artefact hashes are sha256.h. */
#ifndef CORE_BASE_HASH_H
#define CORE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *bytes, size_t n);
/* Chains: hash_more(hash_bytes(a), b) differs from hash_more(hash_bytes(b), a). */
uint64_t hash_more(uint64_t seed, const void *bytes, size_t n);

#endif
