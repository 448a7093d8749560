/* Unpacked text by offsets: restarts, limits and what a cut file gives. The packings themselves are
 * decompress_zlib.c and decompress_zstd.c. */
#include "core/read/decompress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "core/read/decompress_parts.h"

#define SKIP_BYTES ((size_t)256 << 10)

/* ---- Which packing ---- */

enum packing packing_of_bytes(struct str first_bytes)
{
    if (str_starts(first_bytes, "\x1f\x8b\x08"))
        return PACKING_GZIP;
    return str_starts(first_bytes, "\x28\xb5\x2f\xfd") ? PACKING_ZSTD : PACKING_NONE;
}

static const struct {
    const char *ending;
    enum packing packing;
} ENDINGS[] = {{".gz", PACKING_GZIP},
               {".gzip", PACKING_GZIP},
               {".zst", PACKING_ZSTD},
               {".zstd", PACKING_ZSTD}};

static size_t ending_of(const char *name, enum packing *packing)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof ENDINGS / sizeof *ENDINGS; i++) {
        size_t m = strlen(ENDINGS[i].ending);

        if (n > m && strcasecmp(name + n - m, ENDINGS[i].ending) == 0) {
            *packing = ENDINGS[i].packing;
            return m;
        }
    }
    *packing = PACKING_NONE;
    return 0;
}

enum packing packing_of_name(const char *name)
{
    enum packing packing;

    (void)ending_of(name, &packing);
    return packing;
}

const char *packing_name(enum packing packing)
{
    return packing == PACKING_GZIP ? "gzip" : packing == PACKING_ZSTD ? "zstd" : "";
}

struct str packing_inner_name(const char *name)
{
    enum packing packing;

    return str_from(name, strlen(name) - ending_of(name, &packing));
}

/* ---- What a packing asks ---- */

int unpacker_fetch(struct unpacker *unpacker, struct error *err)
{
    return unpacker->in.n ? OK : source_chunk(unpacker->packed, &unpacker->in, err);
}

void unpacker_take(struct unpacker *unpacker, size_t n)
{
    unpacker->in = str_skip(unpacker->in, n);
    unpacker->in_at += (int64_t)n;
}

static void put_place(struct unpacker *unpacker, struct error *err)
{
    error_at(err, source_path(unpacker->packed), NONE, unpacker->in_at);
}

int unpacker_fail(struct unpacker *unpacker, struct error *err, const char *fmt, ...)
{
    char what[256];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    int rc = error_set(err, E_PARSE, "%s", what);
    put_place(unpacker, err);
    return rc;
}

static int64_t last_restart(const struct unpacker *unpacker)
{
    return unpacker->n_restarts ? unpacker->restarts[unpacker->n_restarts - 1].at : 0;
}

bool unpacker_wants_restart(const struct unpacker *unpacker, int64_t at)
{
    return at - last_restart(unpacker) >= unpacker->distance;
}

static void thin_out(struct unpacker *unpacker)
{
    size_t n = 0;

    for (size_t i = 0; i < unpacker->n_restarts; i++)
        if (i % 2)
            unpacker->restarts[n++] = unpacker->restarts[i];
        else
            free(unpacker->restarts[i].window);
    unpacker->n_restarts = n;
    unpacker->distance *= 2;
}

void unpacker_add_restart(struct unpacker *unpacker, struct restart restart)
{
    if (!unpacker->restarts)
        unpacker->restarts = calloc(UNPACKED_RESTARTS, sizeof *unpacker->restarts);
    if (unpacker->n_restarts == UNPACKED_RESTARTS)
        thin_out(unpacker);
    if (unpacker->restarts && unpacker_wants_restart(unpacker, restart.at))
        unpacker->restarts[unpacker->n_restarts++] = restart;
    else
        free(restart.window);
}

/* ---- Reading ---- */

static int check_limits(struct unpacker *unpacker, struct error *err)
{
    int64_t packed = unpacker->in_at > 0 ? unpacker->in_at : 1;
    int rc = OK;

    if (unpacker->at > UNPACKED_MAX_BYTES)
        rc = error_set(err, E_LIMIT, "unpacks to more than %lld GiB",
                       (long long)(UNPACKED_MAX_BYTES >> 30));
    else if (unpacker->at > UNPACKED_FREE_BYTES && unpacker->at / packed > UNPACKED_MAX_RATIO)
        rc = error_set(err, E_LIMIT,
                       "%lld bytes unpack to more than %lld: above %d to 1 this is no data set",
                       (long long)packed, (long long)unpacker->at, UNPACKED_MAX_RATIO);
    if (rc != OK)
        put_place(unpacker, err);
    return rc;
}

static bool is_of_the_file(int status)
{
    return status == E_PARSE || status == E_LIMIT;
}

static int step(struct unpacker *unpacker, char *out, size_t n, size_t *got, struct error *err)
{
    struct error why = {.status = OK};
    bool at_end = false;

    *got = 0;
    int rc = unpacker->codec->step(unpacker, out, n, got, &at_end, &why);
    unpacker->at += (int64_t)*got;
    if (rc == OK)
        rc = check_limits(unpacker, &why);
    if (at_end)
        unpacker->end = unpacker->at;
    if (rc == OK)
        return OK;
    if (is_of_the_file(rc)) {
        unpacker->failed_at = unpacker->at;
        unpacker->failure = why;
    }
    if (err)
        *err = why;
    return rc;
}

static int go_back_to(struct unpacker *unpacker, const struct restart *from, struct error *err)
{
    int rc = source_seek(unpacker->packed, from->packed_at, err);

    if (rc != OK)
        return rc;
    unpacker->in = str_from(NULL, 0);
    unpacker->in_at = from->packed_at;
    unpacker->at = from->at;
    return unpacker->codec->restart(unpacker, from, err);
}

/* Near the offset and not behind it. */
static int approach(struct unpacker *unpacker, int64_t offset, struct error *err)
{
    static const struct restart START = {.at = 0};
    const struct restart *from = &START;

    for (size_t i = 0; i < unpacker->n_restarts && unpacker->restarts[i].at <= offset; i++)
        from = &unpacker->restarts[i];
    if (offset >= unpacker->at && from->at <= unpacker->at)
        return OK;
    return go_back_to(unpacker, from, err);
}

static int skip_to(struct unpacker *unpacker, int64_t offset, struct error *err)
{
    int rc = approach(unpacker, offset, err);

    if (rc == OK && unpacker->at < offset && !unpacker->skipped) {
        unpacker->skipped = malloc(SKIP_BYTES);
        if (!unpacker->skipped)
            return error_set(err, E_NOMEM, "no memory to unpack a file");
    }
    while (rc == OK && unpacker->at < offset && unpacker->at != unpacker->end) {
        int64_t left = offset - unpacker->at;
        size_t got;

        rc = step(unpacker, unpacker->skipped, left < (int64_t)SKIP_BYTES ? (size_t)left : SKIP_BYTES,
                  &got, err);
    }
    return rc;
}

static int read_at(void *ctx, int64_t offset, void *out, size_t n, size_t *got, struct error *err)
{
    struct unpacker *unpacker = ctx;
    size_t done = 0;
    int rc;

    *got = 0;
    if (unpacker->failed_at != NONE && offset >= unpacker->failed_at) {
        if (err)
            *err = unpacker->failure;
        return unpacker->failure.status;
    }
    if (unpacker->end != NONE && offset >= unpacker->end)
        return OK;
    rc = skip_to(unpacker, offset, err);
    while (rc == OK && done < n && unpacker->at != unpacker->end &&
           unpacker->at != unpacker->failed_at) {
        size_t once;

        rc = step(unpacker, (char *)out + done, n - done, &once, err);
        done += once;
    }
    *got = done;
    /* What is whole is given first; the next reading says what is wrong. */
    return done && is_of_the_file(rc) ? OK : rc;
}

/* ---- Opening ---- */

static void close_unpacker(void *ctx)
{
    struct unpacker *unpacker = ctx;

    if (unpacker->state)
        unpacker->codec->close(unpacker);
    for (size_t i = 0; i < unpacker->n_restarts; i++)
        free(unpacker->restarts[i].window);
    free(unpacker->restarts);
    free(unpacker->skipped);
    source_close(unpacker->packed);
    free(unpacker);
}

int source_unpack(struct source_file **out, struct source_file *packed, enum packing packing,
                  struct error *err)
{
    struct unpacker *unpacker = calloc(1, sizeof *unpacker);

    if (!unpacker) {
        source_close(packed);
        return error_set(err, E_NOMEM, "no memory to unpack a file");
    }
    *unpacker = (struct unpacker){.packed = packed,
                                  .packing = packing,
                                  .codec = packing == PACKING_GZIP ? &codec_zlib : &codec_zstd,
                                  .distance = UNPACKED_RESTART_BYTES,
                                  .end = NONE,
                                  .failed_at = NONE};
    int rc = source_seek(packed, 0, err);
    if (rc == OK)
        rc = unpacker->codec->open(unpacker, err);
    if (rc != OK) {
        close_unpacker(unpacker);
        return rc;
    }
    const struct source_reader reader = {
        .read_at = read_at, .close = close_unpacker, .ctx = unpacker};
    return source_open_reader(out, source_path(packed), &reader, err);
}

int source_unpack_if_packed(struct source_file **out, enum packing *packing,
                            struct source_file *file, struct error *err)
{
    char head[8];
    size_t n = 0;
    int rc = source_at(file, 0, head, sizeof head, &n, err);

    if (rc != OK) {
        source_close(file);
        return rc;
    }
    *packing = packing_of_bytes(str_from(head, n));
    if (*packing != PACKING_NONE)
        return source_unpack(out, file, *packing, err);
    *out = file;
    return OK;
}

int source_open_unpacked(struct source_file **out, enum packing *packing, const char *path,
                         struct error *err)
{
    struct source_file *file;
    int rc = source_open(&file, path, err);

    return rc == OK ? source_unpack_if_packed(out, packing, file, err) : rc;
}

int64_t source_packed_tell(const struct source_file *file)
{
    const struct source_reader *reader = source_reader_of(file);

    if (!reader || reader->read_at != read_at)
        return source_tell(file);
    return ((const struct unpacker *)reader->ctx)->in_at;
}
