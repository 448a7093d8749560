/* Shingle sets that memory does not hold, in a file without a name beside the cache: it is gone
 * with the process. Block after block as they come; asked for by one thread. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/facts/leaks_parts.h"

struct leak_spill {
    struct similar_spill calls;
    int file; /* -1 until the first block */
    char folder[1024];
    int64_t *at; /* of each block */
    size_t capacity;
    int64_t end;
};

static int open_file(struct leak_spill *spill, struct error *err)
{
    char path[1100];

    if (spill->file >= 0)
        return OK;
    snprintf(path, sizeof path, "%s/shingles-XXXXXX", spill->folder);
    spill->file = mkostemp(path, O_CLOEXEC);
    if (spill->file < 0)
        return error_set(err, E_IO, "%s: %s", path, strerror(errno));
    unlink(path);
    return OK;
}

static int write_all(int file, const char *p, size_t n, int64_t at, struct error *err)
{
    while (n > 0) {
        ssize_t written = pwrite(file, p, n, at);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return error_set(err, E_IO, "shingles of rows beside the cache: %s", strerror(errno));
        p += written;
        n -= (size_t)written;
        at += written;
    }
    return OK;
}

static int put(void *ctx, uint32_t block, const void *bytes, size_t n, struct error *err)
{
    struct leak_spill *spill = ctx;
    int rc = open_file(spill, err);

    if (rc == OK && block >= spill->capacity) {
        size_t capacity = (size_t)block * 2 + 64;
        int64_t *at = realloc(spill->at, capacity * sizeof *at);

        if (!at)
            return error_set(err, E_NOMEM, "no memory for comparing rows");
        spill->at = at;
        spill->capacity = capacity;
    }
    if (rc == OK)
        rc = write_all(spill->file, bytes, n, spill->end, err);
    if (rc != OK)
        return rc;
    spill->at[block] = spill->end;
    spill->end += (int64_t)n;
    return OK;
}

static int get(void *ctx, uint32_t block, void *bytes, size_t n, struct error *err)
{
    const struct leak_spill *spill = ctx;
    char *p = bytes;
    int64_t at = spill->at[block];

    while (n > 0) {
        ssize_t got = pread(spill->file, p, n, at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return error_set(err, E_IO, "shingles of rows beside the cache: %s",
                             got < 0 ? strerror(errno) : "cut off");
        p += got;
        n -= (size_t)got;
        at += got;
    }
    return OK;
}

/* A cache in memory has no folder: then there is none. */
int leak_spill_open(struct leak_spill **out, const char *cache, struct error *err)
{
    const char *slash = cache ? strrchr(cache, '/') : NULL;

    *out = NULL;
    if (!slash || (size_t)(slash - cache) >= sizeof(*out)->folder)
        return OK;
    struct leak_spill *spill = calloc(1, sizeof *spill);
    if (!spill)
        return error_set(err, E_NOMEM, "no memory for comparing rows");
    spill->file = -1;
    memcpy(spill->folder, cache, (size_t)(slash - cache));
    spill->calls = (struct similar_spill){put, get, spill};
    *out = spill;
    return OK;
}

void leak_spill_close(struct leak_spill *spill)
{
    if (!spill)
        return;
    if (spill->file >= 0)
        close(spill->file);
    free(spill->at);
    free(spill);
}

const struct similar_spill *leak_spill_calls(const struct leak_spill *spill)
{
    return spill ? &spill->calls : NULL;
}
