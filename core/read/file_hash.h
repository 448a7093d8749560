/* SHA-256 of a whole file, streamed. */
#ifndef CORE_READ_FILE_HASH_H
#define CORE_READ_FILE_HASH_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/error.h"

struct file_hash_hooks {                        /* all NULL allowed */
    const atomic_bool *cancel;                  /* E_CANCELLED */
    void (*progress)(void *ctx, int64_t bytes); /* read so far */
    void *ctx;
};

/* hooks NULL: none. E_IO when the file changed while it was read. */
MUST_CHECK int file_sha256(const char *path, const struct file_hash_hooks *hooks, char hex[65],
                           struct error *err);

#endif
