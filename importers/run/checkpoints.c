/* The run's own folder as a source: which checkpoints lie on disk, how large they are, and which
 * files are not what their name says (Git LFS pointers, empty ones). Reads no checkpoint; the files
 * in it that matter have importers of their own. */
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/check.h"
#include "core/read/source.h"
#include "importers/importer.h"
#include "importers/walk.h"

#define POINTER_MAX_BYTES 1024 /* a Git LFS pointer has about 130 */
#define CHECKPOINTS_MAX   100000

/* Folders are never probed: the plan names this importer itself. */
static int probe(const struct peek *peek)
{
    (void)peek;
    return 0;
}

struct checkpoint {
    const char *folder;
    int64_t step, size;
};

/* The path up to and with the component checkpoint-N, or NULL. */
static const char *checkpoint_of(struct arena *arena, const char *root, const char *path,
                                 int64_t *step)
{
    static const char MARK[] = "/checkpoint-";
    const char *at = path + strlen(root);

    while ((at = strstr(at, MARK))) {
        const char *number = at + sizeof MARK - 1;
        size_t digits = strspn(number, "0123456789");

        if (digits && number[digits] == '/' && number_parse_int(str_from(number, digits), step))
            return arena_strndup(arena, path, (size_t)(number + digits - path));
        at = number;
    }
    return NULL;
}

static int by_step(const void *pa, const void *pb)
{
    const struct checkpoint *a = pa, *b = pb;

    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return strcmp(a->folder, b->folder);
}

static int note_oddity(struct import *import, const struct walk_file *file, struct error *err)
{
    struct source_file *source = NULL;
    char head[256];
    size_t n = 0;

    if (file->size > POINTER_MAX_BYTES || source_open(&source, file->path, NULL) != OK)
        return OK;
    int rc = source_at(source, 0, head, sizeof head, &n, NULL);
    source_close(source);
    enum source_oddity oddity = source_oddity(str_from(head, n));
    if (rc != OK || (oddity != ODDITY_EMPTY && oddity != ODDITY_LFS_POINTER))
        return OK;
    return sink_note(import->sink, NOTE_WARN, NONE, NONE, err, "%s: %s", file->shown,
                     source_oddity_name(oddity));
}

static int look_at(struct import *import, const struct walk_file *file, struct checkpoint *list,
                   size_t *n, struct error *err)
{
    int64_t step;
    const char *folder = checkpoint_of(import->arena, import->path, file->path, &step);

    if (folder && *n && strcmp(list[*n - 1].folder, folder) == 0)
        list[*n - 1].size += file->size;
    else if (folder && *n < CHECKPOINTS_MAX)
        list[(*n)++] = (struct checkpoint){.folder = folder, .step = step, .size = file->size};
    return note_oddity(import, file, err);
}

static int run(struct import *import, struct error *err)
{
    const char *paths[] = {import->path};
    struct walk walk;
    size_t n = 0;
    int rc = walk_paths(paths, 1, import->arena, &walk, err);

    if (rc != OK)
        return rc;
    size_t n_files = walk.n_arguments ? walk.arguments[0].n_files : 0;
    struct checkpoint *list = arena_array(import->arena, n_files + 1, sizeof *list);
    if (!list)
        return error_set(err, E_NOMEM, "no memory for %zu files", n_files);
    for (size_t i = 0; i < n_files && rc == OK; i++)
        rc = look_at(import, &walk.arguments[0].files[i], list, &n, err);
    if (n)
        qsort(list, n, sizeof *list, by_step);
    for (size_t i = 0; i < n && rc == OK; i++) {
        int64_t id;

        rc = sink_artefact(import->sink,
                           &(struct artefact){.kind = "checkpoint",
                                              .role = "trained",
                                              .path = list[i].folder,
                                              .size = list[i].size,
                                              .step = list[i].step},
                           &id, err);
    }
    import->n_rows = (int64_t)n;
    import->n_rows_are = "checkpoints";
    import->state = SOURCE_WHOLE;
    return rc;
}

const struct importer importer_checkpoints = {
    .id = "checkpoints",
    .title = "checkpoint folders on disk",
    .hint = "the run's folder with its checkpoint-N",
    .supplies = NEEDS_CHECKPOINTS,
    .version = 1,
    .role = "checkpoints",
    .is_folder = true,
    .probe = probe,
    .run = run,
};
