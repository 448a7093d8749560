/* The run's own folder as a source: which checkpoints lie on disk, how large they are, and which
 * files are not what their name says (Git LFS pointers, empty ones). Reads no checkpoint; the files
 * in it that matter have importers of their own. */
#include <stdlib.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/facts/checkpoint_name.h"
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
    const char *folder; /* or file */
    int64_t step, size; /* step: NONE where the name tells an epoch only */
    bool is_certain;    /* by its name, or by the weights in it */
};

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

    if (str_ends(str_of(file->path), ".incomplete"))
        return sink_note(import->sink, NOTE_WARN, NONE, NONE, err,
                         "%s: a download that did not end", file->shown);
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
    struct checkpoint_name name;
    size_t end;

    if (!checkpoint_name_find(file->path, strlen(import->path), &end, &name))
        return note_oddity(import, file, err);
    struct checkpoint *last = *n ? &list[*n - 1] : NULL;
    bool is_known = last && strncmp(last->folder, file->path, end) == 0 && !last->folder[end];
    /* what stands behind the name: nothing of a file, which then has to hold weights itself */
    bool holds = checkpoint_name_is_weights(file->name);
    if (!is_known && *n < CHECKPOINTS_MAX) {
        last = &list[(*n)++];
        *last = (struct checkpoint){.folder = arena_strndup(import->arena, file->path, end),
                                    .step = name.step,
                                    .is_certain = name.is_certain && file->path[end] == '/'};
        if (!last->folder)
            return error_set(err, E_NOMEM, "no memory for the name of a checkpoint");
        is_known = true;
    }
    if (is_known) {
        last->size += file->size;
        last->is_certain |= holds;
    }
    return note_oddity(import, file, err);
}

static int run(struct import *import, struct error *err)
{
    const char *paths[] = {import->path};
    struct walk walk;
    size_t n = 0; /* with those that turn out to be other folders */
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

        if (!list[i].is_certain)
            continue;
        rc = sink_artefact(import->sink,
                           &(struct artefact){.kind = "checkpoint",
                                              .role = "trained",
                                              .path = list[i].folder,
                                              .size = list[i].size,
                                              .step = list[i].step},
                           &id, err);
        import->n_rows++;
    }
    import->n_rows_are = "checkpoints";
    import->state = SOURCE_WHOLE;
    return rc;
}

const struct importer importer_checkpoints = {
    .id = "checkpoints",
    .title = "checkpoint folders on disk",
    .hint = "the run's folder with its checkpoints (checkpoint-N, epoch=1-step=200.ckpt, step_200)",
    .supplies = NEEDS_CHECKPOINTS,
    .version = 2,
    .role = "checkpoints",
    .is_folder = true,
    .probe = probe,
    .run = run,
};
