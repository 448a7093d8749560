/* zstd: frames one behind the other, skippable ones passed over. A restart stands at the beginning of
 * a frame; within a frame there is none. Frames that need more than 128 MiB at once are refused by
 * the library. */
#include <stdlib.h>
#include <zstd.h>

#include "core/read/decompress_block.h"
#include "core/read/decompress_parts.h"

struct zstd {
    ZSTD_DStream *stream;
    bool in_frame;
};

static int restart_zstd(struct unpacker *unpacker, const struct restart *from, struct error *err)
{
    struct zstd *zstd = unpacker->state;

    (void)from;
    zstd->in_frame = false;
    if (ZSTD_isError(ZSTD_initDStream(zstd->stream)))
        return error_set(err, E_NOMEM, "no memory to unpack zstd");
    return OK;
}

static int open_zstd(struct unpacker *unpacker, struct error *err)
{
    struct zstd *zstd = calloc(1, sizeof *zstd);

    if (zstd)
        zstd->stream = ZSTD_createDStream();
    if (!zstd || !zstd->stream) {
        free(zstd);
        return error_set(err, E_NOMEM, "no memory to unpack zstd");
    }
    unpacker->state = zstd;
    return restart_zstd(unpacker, NULL, err);
}

static void close_zstd(struct unpacker *unpacker)
{
    struct zstd *zstd = unpacker->state;

    (void)ZSTD_freeDStream(zstd->stream);
    free(zstd);
}

static int step_zstd(struct unpacker *unpacker, char *out, size_t n, size_t *got, bool *at_end,
                     struct error *err)
{
    struct zstd *zstd = unpacker->state;

    *got = 0;
    while (*got == 0) {
        int rc = unpacker_fetch(unpacker, err);
        if (rc != OK)
            return rc;
        if (unpacker->in.n == 0 && !zstd->in_frame) {
            *at_end = true;
            return OK;
        }
        if (!zstd->in_frame && unpacker_wants_restart(unpacker, unpacker->at))
            unpacker_add_restart(
                unpacker, (struct restart){.at = unpacker->at, .packed_at = unpacker->in_at});
        ZSTD_inBuffer from = {unpacker->in.p, unpacker->in.n, 0};
        ZSTD_outBuffer to = {out, n, 0};
        size_t left = ZSTD_decompressStream(zstd->stream, &to, &from);

        unpacker_take(unpacker, from.pos);
        *got = to.pos;
        if (ZSTD_isError(left))
            return unpacker_fail(unpacker, err, "the zstd data is damaged: %s",
                                 ZSTD_getErrorName(left));
        if (from.size == 0 && to.pos == 0 && left)
            return unpacker_fail(unpacker, err, "the packed file is cut inside its zstd data");
        zstd->in_frame = left != 0;
    }
    return OK;
}

const struct codec codec_zstd = {
    .open = open_zstd, .close = close_zstd, .step = step_zstd, .restart = restart_zstd};

bool block_unpack_zstd(struct str in, char *out, size_t n)
{
    size_t got = ZSTD_decompress(out, n, in.p, in.n);

    return !ZSTD_isError(got) && got == n;
}
