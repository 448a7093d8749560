/* snappy. The length in its head is believed by the library: it is compared before anything is
 * written. */
#include <snappy-c.h>

#include "core/read/decompress_block.h"

bool block_unpack_snappy(struct str in, char *out, size_t n)
{
    size_t told = 0;

    if (snappy_uncompressed_length(in.p, in.n, &told) != SNAPPY_OK || told != n)
        return false;
    return snappy_uncompress(in.p, in.n, out, &told) == SNAPPY_OK && told == n;
}
