/* See file_hash.h. */
#include "core/read/file_hash.h"

#include "core/base/sha256.h"
#include "core/read/source.h"

int file_sha256(const char *path, const struct file_hash_hooks *hooks, char hex[65],
                struct error *err)
{
    struct sha256 *hash = NULL;
    struct source_file *file = NULL;
    struct str chunk;
    uint8_t digest[32];
    int rc = source_open(&file, path, err);

    if (rc == OK)
        rc = sha256_open(&hash, err);
    while (rc == OK) {
        rc = source_chunk(file, &chunk, err);
        if (rc != OK || chunk.n == 0)
            break;
        sha256_add(hash, chunk.p, chunk.n);
        if (hooks && hooks->progress)
            hooks->progress(hooks->ctx, source_tell(file));
        if (hooks && hooks->cancel && atomic_load(hooks->cancel))
            rc = error_set(err, E_CANCELLED, "cancelled while hashing");
    }
    if (rc == OK && source_has_changed(file)) {
        rc = error_set(err, E_IO, "changed while it was hashed");
        error_at(err, path, NONE, NONE);
    }
    if (rc == OK)
        sha256_finish(hash, digest, hex);
    sha256_close(hash);
    source_close(file);
    return rc;
}
