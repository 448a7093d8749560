/* One file through one importer into the text sink. */
#include "tests/harness/importing.h"

#include <stdlib.h>
#include <string.h>

#include "core/read/source.h"

bool importing_look(const char *path, struct looked_at *out)
{
    struct source_file *file = NULL;
    struct error err;
    size_t n_head = 0, n_tail = 0;

    memset(out, 0, sizeof *out);
    if (source_open(&file, path, &err) != OK)
        return false;
    int64_t size = source_size(file);
    int64_t tail_at = size > PEEK_TAIL_BYTES ? size - PEEK_TAIL_BYTES : 0;
    out->bytes = malloc(PEEK_HEAD_BYTES + PEEK_TAIL_BYTES);
    bool is_read =
        out->bytes && source_at(file, 0, out->bytes, PEEK_HEAD_BYTES, &n_head, &err) == OK &&
        source_at(file, tail_at, out->bytes + PEEK_HEAD_BYTES, PEEK_TAIL_BYTES, &n_tail, &err) ==
            OK;
    const char *slash = strrchr(path, '/');
    out->peek = (struct peek){.path = path,
                              .name = slash ? slash + 1 : path,
                              .folder_name = "",
                              .head = str_from(out->bytes, n_head),
                              .tail = str_from(out->bytes + PEEK_HEAD_BYTES, n_tail),
                              .size = size};
    source_close(file);
    return is_read;
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
