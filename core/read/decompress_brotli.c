/* brotli, one block. */
#include <brotli/decode.h>

#include "core/read/decompress_block.h"

bool block_unpack_brotli(struct str in, char *out, size_t n)
{
    size_t got = n;

    return BrotliDecoderDecompress(in.n, (const uint8_t *)in.p, &got, (uint8_t *)out) ==
               BROTLI_DECODER_RESULT_SUCCESS &&
           got == n;
}
