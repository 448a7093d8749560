/* Which library unpacks a block. See decompress_block.h. */
#include "core/read/decompress_block.h"

struct block {
    const char *name;
    bool (*unpack)(struct str in, char *out, size_t n);
};

static bool copy(struct str in, char *out, size_t n)
{
    if (in.n == n && n)
        memcpy(out, in.p, n);
    return in.n == n;
}

static const struct block BLOCKS[] = {
    [BLOCK_PLAIN] = {"plain", copy},
    [BLOCK_SNAPPY] = {"snappy", block_unpack_snappy},
    [BLOCK_GZIP] = {"gzip", block_unpack_gzip},
    [BLOCK_BROTLI] = {"brotli", block_unpack_brotli},
    [BLOCK_ZSTD] = {"zstd", block_unpack_zstd},
    [BLOCK_LZ4_RAW] = {"lz4", block_unpack_lz4_raw},
    [BLOCK_LZ4_HADOOP] = {"lz4 of Hadoop", block_unpack_lz4_hadoop},
    [BLOCK_LZ4_FRAME] = {"lz4", block_unpack_lz4_frame},
};

int block_unpack(enum block_codec codec, struct str in, char *out, size_t n, struct error *err)
{
    if (!BLOCKS[codec].unpack(in, out, n))
        return error_set(err, E_PARSE, "%zu bytes of %s do not unpack to the %zu bytes they should",
                         in.n, BLOCKS[codec].name, n);
    return OK;
}
