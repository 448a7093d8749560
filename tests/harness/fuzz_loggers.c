/* The fuzzed readers of loggers' files. See fuzz_targets.h. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "importers/importer.h"
#include "importers/registry.h"
#include "tests/harness/fuzz_targets.h"

/* A file with a name of its own: SQLite does not open what is only a descriptor. */
static void import_into_nothing(const char *id, const uint8_t *bytes, size_t n)
{
    const struct importer *importer = importer_by_id(id);
    const struct run run = {.key = "key", .folder = "/", .name = "run", .project = "/"};
    struct arena *arena = arena_open(ARENA_BATCH_BYTES);
    struct sink *sink = NULL;
    struct error err;
    char path[64] = "/tmp/flatline-fuzz-XXXXXX";
    int fd = mkstemp(path);

    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || !arena)
        abort();
    struct source source = {.path = path, .importer = id, .role = importer->role};
    struct import import = {.path = path, .run = &run, .arena = arena};
    if (sink_open_null(&sink, &err) != OK || sink_begin(sink, &run, &source, &err) != OK)
        abort();
    import.sink = sink;
    if (importer->run(&import, &err) == OK)
        (void)!sink_end(sink, import.read_to, import.state, &err);
    else
        sink_abort(sink);
    sink_close(sink);
    close(fd);
    (void)unlink(path);
    arena_close(arena);
}

void fuzz_tensorboard(const uint8_t *bytes, size_t n)
{
    import_into_nothing("tensorboard", bytes, n);
}

void fuzz_wandb(const uint8_t *bytes, size_t n)
{
    import_into_nothing("wandb", bytes, n);
}

void fuzz_mlflow_db(const uint8_t *bytes, size_t n)
{
    import_into_nothing("mlflow_db", bytes, n);
}
