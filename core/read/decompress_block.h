/* Blocks packed one by one, of a size that is told beside them: pages of Parquet, buffers of Arrow.
 * The whole block is in memory, the room is the caller's. */
#ifndef CORE_READ_DECOMPRESS_BLOCK_H
#define CORE_READ_DECOMPRESS_BLOCK_H

#include "core/base/error.h"
#include "core/base/str.h"

enum block_codec {
    BLOCK_PLAIN,
    BLOCK_SNAPPY,
    BLOCK_GZIP,
    BLOCK_BROTLI,
    BLOCK_ZSTD,
    BLOCK_LZ4_RAW,
    BLOCK_LZ4_HADOOP, /* big-endian sizes before raw blocks; a raw block alone is taken too */
    BLOCK_LZ4_FRAME
};

/* Fills out to its last byte, or E_PARSE: damaged, or of another size than was told. */
MUST_CHECK int block_unpack(enum block_codec codec, struct str in, char *out, size_t n,
                            struct error *err);

/* One for each library. True: n bytes, no more and no less, were unpacked. */
bool block_unpack_snappy(struct str in, char *out, size_t n);
bool block_unpack_gzip(struct str in, char *out, size_t n);
bool block_unpack_brotli(struct str in, char *out, size_t n);
bool block_unpack_zstd(struct str in, char *out, size_t n);
bool block_unpack_lz4_raw(struct str in, char *out, size_t n);
bool block_unpack_lz4_hadoop(struct str in, char *out, size_t n);
bool block_unpack_lz4_frame(struct str in, char *out, size_t n);

#endif
