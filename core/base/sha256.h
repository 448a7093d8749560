/* SHA-256 of bytes and of streamed files. */
#ifndef CORE_BASE_SHA256_H
#define CORE_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

struct sha256;

MUST_CHECK int sha256_open(struct sha256 **out, struct error *err);
void sha256_add(struct sha256 *hash, const void *bytes, size_t n);
/* Writes the digest and resets; lower-case hex with NUL in `hex` (may be NULL). */
void sha256_finish(struct sha256 *hash, uint8_t digest[32], char hex[65]);
void sha256_close(struct sha256 *hash);

#endif
