/* gzip: members one behind the other, as gzip and bgzip write them. A restart stands at the border of
 * a deflate block, with the 32 KiB that were unpacked before it. */
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "core/read/decompress_block.h"
#include "core/read/decompress_parts.h"

#define WINDOW_BYTES  32768u
#define TRAILER_BYTES 8u /* check sum and length behind the data of a member */
#define AS_GZIP       (15 + 16)
#define AS_RAW        (-15)

struct gzip {
    z_stream z;
    enum { MEMBER_BEGINS, IN_MEMBER, IN_RAW, IN_TRAILER } place;
    unsigned left; /* of the trailer */
};

static int open_zlib(struct unpacker *unpacker, struct error *err)
{
    struct gzip *gzip = calloc(1, sizeof *gzip);

    if (!gzip || inflateInit2(&gzip->z, AS_GZIP) != Z_OK) {
        free(gzip);
        return error_set(err, E_NOMEM, "no memory to unpack gzip");
    }
    unpacker->state = gzip;
    return OK;
}

static void close_zlib(struct unpacker *unpacker)
{
    struct gzip *gzip = unpacker->state;

    (void)inflateEnd(&gzip->z);
    free(gzip);
}

static int restart_zlib(struct unpacker *unpacker, const struct restart *from, struct error *err)
{
    struct gzip *gzip = unpacker->state;

    gzip->place = MEMBER_BEGINS;
    if (!from->window)
        return OK;
    gzip->place = IN_RAW;
    bool is_set = inflateReset2(&gzip->z, AS_RAW) == Z_OK;
    if (is_set && from->bits)
        is_set = inflatePrime(&gzip->z, (int)from->bits,
                              (int)(from->first_byte >> (8 - from->bits))) == Z_OK;
    if (is_set)
        is_set = inflateSetDictionary(&gzip->z, from->window, from->window_bytes) == Z_OK;
    return is_set ? OK : error_set(err, E_NOMEM, "no memory to go back in gzip data");
}

/* At the border of a block that is not the last one. `before` is the byte before the place. */
static void keep_restart(struct unpacker *unpacker, int64_t at, unsigned before)
{
    struct gzip *gzip = unpacker->state;
    struct restart restart = {.at = at,
                              .packed_at = unpacker->in_at,
                              .bits = (unsigned)gzip->z.data_type & 7,
                              .first_byte = before,
                              .window = malloc(WINDOW_BYTES)};
    uInt n = 0;

    if (!restart.window)
        return;
    if (inflateGetDictionary(&gzip->z, restart.window, &n) != Z_OK) {
        free(restart.window);
        return;
    }
    restart.window_bytes = n;
    unpacker_add_restart(unpacker, restart);
}

/* At the beginning of a member, or at the end of the file. Zeros fill up tapes and blocks. */
static int begin_member(struct unpacker *unpacker, bool *at_end, struct error *err)
{
    struct gzip *gzip = unpacker->state;

    for (;;) {
        int rc = unpacker_fetch(unpacker, err);
        if (rc != OK)
            return rc;
        if (unpacker->in.n == 0) {
            *at_end = true;
            return OK;
        }
        if (unpacker->in_at == 0 || unpacker->in.p[0] != '\0')
            break;
        unpacker_take(unpacker, 1);
    }
    if ((unsigned char)unpacker->in.p[0] != 0x1f)
        return unpacker_fail(unpacker, err, "what stands behind the gzip data is no gzip data");
    if (inflateReset2(&gzip->z, AS_GZIP) != Z_OK)
        return error_set(err, E_NOMEM, "no memory to unpack gzip");
    if (unpacker_wants_restart(unpacker, unpacker->at))
        unpacker_add_restart(unpacker,
                             (struct restart){.at = unpacker->at, .packed_at = unpacker->in_at});
    gzip->place = IN_MEMBER;
    return OK;
}

static int pass_trailer(struct unpacker *unpacker, struct error *err)
{
    struct gzip *gzip = unpacker->state;
    int rc = unpacker_fetch(unpacker, err);

    if (rc != OK)
        return rc;
    if (unpacker->in.n == 0)
        return unpacker_fail(unpacker, err, "the packed file is cut inside its gzip data");
    size_t n = unpacker->in.n < gzip->left ? unpacker->in.n : gzip->left;
    unpacker_take(unpacker, n);
    gzip->left -= (unsigned)n;
    if (gzip->left == 0)
        gzip->place = MEMBER_BEGINS;
    return OK;
}

static int end_member(struct unpacker *unpacker)
{
    struct gzip *gzip = unpacker->state;

    gzip->left = TRAILER_BYTES;
    gzip->place = gzip->place == IN_RAW ? IN_TRAILER : MEMBER_BEGINS;
    (void)unpacker;
    return OK;
}

static int inflate_some(struct unpacker *unpacker, char *out, size_t n, size_t *got,
                        struct error *err)
{
    struct gzip *gzip = unpacker->state;
    z_stream *z = &gzip->z;
    int rc = unpacker_fetch(unpacker, err);

    if (rc != OK)
        return rc;
    size_t n_in = unpacker->in.n;
    /* zlib's own type is not const; it does not write there. */
    z->next_in = (Bytef *)(uintptr_t)unpacker->in.p;
    z->avail_in = (uInt)n_in;
    z->next_out = (Bytef *)out;
    z->avail_out = n < UINT32_MAX ? (uInt)n : UINT32_MAX;
    uInt room = z->avail_out;
    int result = inflate(z, Z_BLOCK);
    size_t n_taken = n_in - z->avail_in;
    unsigned before = n_taken ? (unsigned char)unpacker->in.p[n_taken - 1] : 0;

    unpacker_take(unpacker, n_taken);
    *got = room - z->avail_out;
    if (result == Z_STREAM_END)
        return end_member(unpacker);
    if (result == Z_OK && n_taken && (z->data_type & 128) && !(z->data_type & 64) &&
        unpacker_wants_restart(unpacker, unpacker->at + (int64_t)*got))
        keep_restart(unpacker, unpacker->at + (int64_t)*got, before);
    if (result == Z_MEM_ERROR)
        return error_set(err, E_NOMEM, "no memory to unpack gzip");
    if (result != Z_OK && result != Z_BUF_ERROR)
        return unpacker_fail(unpacker, err, "the gzip data is damaged: %s",
                             z->msg ? z->msg : "it cannot be unpacked");
    if (n_in == 0 && *got == 0)
        return unpacker_fail(unpacker, err, "the packed file is cut inside its gzip data");
    return OK;
}

static int step_zlib(struct unpacker *unpacker, char *out, size_t n, size_t *got, bool *at_end,
                     struct error *err)
{
    struct gzip *gzip = unpacker->state;
    int rc = OK;

    *got = 0;
    while (rc == OK && *got == 0 && !*at_end) {
        if (gzip->place == MEMBER_BEGINS)
            rc = begin_member(unpacker, at_end, err);
        else if (gzip->place == IN_TRAILER)
            rc = pass_trailer(unpacker, err);
        else
            rc = inflate_some(unpacker, out, n, got, err);
    }
    return rc;
}

const struct codec codec_zlib = {
    .open = open_zlib, .close = close_zlib, .step = step_zlib, .restart = restart_zlib};

/* A page may be of several members, and of zlib's own wrapping. */
bool block_unpack_gzip(struct str in, char *out, size_t n)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)in.p, .next_out = (Bytef *)out};
    int rc = Z_OK;

    if (in.n > UINT_MAX || n > UINT_MAX || inflateInit2(&stream, 15 + 32) != Z_OK)
        return false;
    stream.avail_in = (uInt)in.n;
    stream.avail_out = (uInt)n;
    while ((rc = inflate(&stream, Z_FINISH)) == Z_STREAM_END && stream.avail_in &&
           stream.avail_out)
        if (inflateReset(&stream) != Z_OK)
            break;
    (void)inflateEnd(&stream);
    return rc == Z_STREAM_END && stream.avail_out == 0;
}
