/* See file_ends.h. */
#include "importers/file_ends.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/base/str.h"
#include "core/read/source.h"

bool file_is_appended(const char *importer, const char *path)
{
    static const char *const IDS[] = {"console_log", "metrics_table", "trainer_log", "tensorboard",
                                      "wandb"};
    static const char *const REWRITTEN[] = {".csv", ".tsv", ".json", ".yaml", ".gz", ".zst"};

    for (size_t i = 0; i < sizeof REWRITTEN / sizeof *REWRITTEN; i++)
        if (str_ends(str_of(path), REWRITTEN[i]))
            return false;
    for (size_t i = 0; i < sizeof IDS / sizeof *IDS; i++)
        if (strcmp(importer, IDS[i]) == 0)
            return true;
    return false;
}

/* Of the bytes from `offset`; false: not all of them are there. */
static bool hash_at(struct source_file *file, int64_t offset, size_t n, int64_t *out)
{
    char bytes[FILE_END_BYTES];
    size_t got = 0;

    if (source_at(file, offset, bytes, n, &got, NULL) != OK || got != n)
        return false;
    uint64_t hash = hash_bytes(bytes, n);
    memcpy(out, &hash, sizeof hash);
    return true;
}

static bool hash_ends(const char *path, int64_t size, int64_t *head, int64_t *tail)
{
    size_t n = size < FILE_END_BYTES ? (size_t)size : FILE_END_BYTES;
    struct source_file *file = NULL;

    if (size <= 0 || source_open(&file, path, NULL) != OK)
        return false;
    bool is_read = hash_at(file, 0, n, head) && hash_at(file, size - (int64_t)n, n, tail);
    source_close(file);
    return is_read;
}

void file_ends_read(struct source *source)
{
    bool is_read = hash_ends(source->path, source->size, &source->head_hash, &source->tail_hash);

    source->hashed_to = is_read ? source->size : 0;
}

bool file_ends_hold(const struct source *stored)
{
    int64_t head, tail;

    if (stored->hashed_to <= 0)
        return true;
    return hash_ends(stored->path, stored->hashed_to, &head, &tail) && head == stored->head_hash &&
           tail == stored->tail_hash;
}
