/* See packing.h. */
#include "tests/harness/packing.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

void pack_gzip(struct buf *out, const void *bytes, size_t n)
{
    z_stream z = {0};

    if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    uLong room = deflateBound(&z, (uLong)n);
    unsigned char *packed = malloc(room);
    if (!packed)
        abort();
    z.next_in = (Bytef *)(uintptr_t)bytes;
    z.avail_in = (uInt)n;
    z.next_out = packed;
    z.avail_out = (uInt)room;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    buf_add(out, packed, z.total_out);
    (void)deflateEnd(&z);
    free(packed);
}

void pack_zstd(struct buf *out, const void *bytes, size_t n)
{
    size_t room = ZSTD_compressBound(n);
    char *packed = malloc(room);

    if (!packed)
        abort();
    size_t used = ZSTD_compress(packed, room, bytes, n, 3);
    if (ZSTD_isError(used))
        abort();
    buf_add(out, packed, used);
    free(packed);
}
