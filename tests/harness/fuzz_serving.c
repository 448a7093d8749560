/* Fuzz targets of the serving side: what a server is given, and what it serves. */
#include <stdlib.h>

#include "core/read/gguf.h"
#include "core/read/repr.h"
#include "core/read/source.h"
#include "tests/harness/fuzz_targets.h"

#define ARENA_BYTES ((size_t)256 << 20)

void fuzz_gguf(const uint8_t *bytes, size_t n)
{
    struct arena *arena = arena_open(ARENA_BYTES);
    struct source_file *file = NULL;
    struct gguf gguf;
    struct error err;

    if (!arena)
        abort();
    if (source_open_bytes(&file, "fuzz-00001-of-00002.gguf", bytes, n, &err) == OK) {
        if (gguf_read_file(file, arena, &gguf, &err) == OK && gguf.is_cut != (gguf.missing_bytes > 0))
            abort();
        source_close(file);
    }
    arena_close(arena);
}

void fuzz_repr(const uint8_t *bytes, size_t n)
{
    struct arena *arena = arena_open(ARENA_BYTES);
    const struct json *value = NULL;
    struct error err;
    size_t used = 0;

    if (!arena)
        abort();
    if (repr_parse(str_from((const char *)bytes, n), arena, &value, &used, &err) == OK &&
        (!value || used > n))
        abort();
    arena_close(arena);
}
