/* One file through one importer into the text sink. */
#include "tests/harness/importing.h"

#include <stdlib.h>

bool importing_look(const char *path, struct looked_at *out)
{
    struct error err;

    out->bytes = malloc(sizeof *out->bytes);
    if (!out->bytes || look_at(out->bytes, path, &err) != OK)
        return false;
    out->peek = out->bytes->peek;
    return true;
}

static int import_one(struct sink *sink, const struct importer *importer, const char *folder,
                      const char *path, struct error *err)
{
    struct run run = {.key = "key", .folder = folder, .name = "run", .project = folder};
    struct source source = {.path = path,
                            .importer = importer->id,
                            .importer_version = importer->version,
                            .role = importer->role};
    struct arena *arena = arena_open(ARENA_BATCH_BYTES);
    struct import import = {.path = path, .run = &run, .sink = sink, .arena = arena};
    int rc = arena ? sink_begin(sink, &run, &source, err) : E_NOMEM;

    if (rc == OK)
        rc = importer->run(&import, err);
    if (rc == OK)
        rc = sink_end(sink, import.read_to, import.state, err);
    arena_close(arena);
    return rc;
}

int importing_dump(const struct importer *importer, const char *folder, const char *path,
                   struct buf *out, struct error *err)
{
    struct sink *sink = NULL;
    int rc = sink_open_text(&sink, out, err);

    if (rc == OK)
        rc = import_one(sink, importer, folder, path, err);
    sink_close(sink);
    return rc;
}
