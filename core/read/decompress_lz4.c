/* lz4 in its three wrappings: a raw block, Hadoop's (sizes before each block), the frame. */
#include <limits.h>
#include <lz4.h>
#include <lz4frame.h>

#include "core/read/decompress_block.h"

bool block_unpack_lz4_raw(struct str in, char *out, size_t n)
{
    char none;

    if (in.n > INT_MAX || n > INT_MAX)
        return false;
    return LZ4_decompress_safe(in.p, n ? out : &none, (int)in.n, (int)n) == (int)n;
}

static size_t big_endian(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;

    return (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
}

static bool unpack_hadoop(struct str in, char *out, size_t n)
{
    size_t done = 0;

    while (in.n >= 8) {
        size_t unpacked = big_endian(in.p), packed = big_endian(in.p + 4);

        in = str_skip(in, 8);
        if (packed > in.n || unpacked > n - done ||
            !block_unpack_lz4_raw(str_first(in, packed), out + done, unpacked))
            return false;
        in = str_skip(in, packed);
        done += unpacked;
    }
    return in.n == 0 && done == n;
}

/* Writers of the deprecated codec differ: some left the sizes away. */
bool block_unpack_lz4_hadoop(struct str in, char *out, size_t n)
{
    return unpack_hadoop(in, out, n) || block_unpack_lz4_raw(in, out, n);
}

bool block_unpack_lz4_frame(struct str in, char *out, size_t n)
{
    LZ4F_dctx *context = NULL;
    size_t done = 0, left = 1;

    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
        return false;
    while (left && in.n) {
        size_t room = n - done, taken = in.n;

        left = LZ4F_decompress(context, out + done, &room, in.p, &taken, NULL);
        if (LZ4F_isError(left) || (room == 0 && taken == 0))
            break;
        done += room;
        in = str_skip(in, taken);
    }
    LZ4F_freeDecompressionContext(context);
    return left == 0 && done == n;
}
