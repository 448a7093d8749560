/* Packs bytes with gzip or zstd, for tests of what unpacks them. */
#ifndef TESTS_HARNESS_PACKING_H
#define TESTS_HARNESS_PACKING_H

#include <stddef.h>

#include "core/base/str.h"

/* One member or frame each, appended to `out`. Abort when they cannot. */
void pack_gzip(struct buf *out, const void *bytes, size_t n);
void pack_zstd(struct buf *out, const void *bytes, size_t n);

#endif
