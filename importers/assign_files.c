/* The runs of an argument with their files, once it is known which belongs where (assign.c). */
#include <string.h>

#include "core/base/hash.h"
#include "core/facts/checkpoint_name.h"
#include "importers/assign_parts.h"
#include "importers/registry.h"

static const char *run_key(struct arena *arena, const struct root *root)
{
    uint64_t hash = hash_bytes(root->folder, strlen(root->folder) + 1);

    hash = hash_more(hash, root->id, strlen(root->id));
    return arena_printf(arena, "%016llx", (unsigned long long)hash);
}

static void make_run(struct scene *scene, const struct root *root, struct plan_run *run)
{
    struct arena *arena = scene->arena;

    *run = (struct plan_run){
        .run = {.key = run_key(arena, root),
                .folder = root->folder,
                .name = root->id,
                .project = scene->argument->folder,
                .kind = KIND_UNKNOWN,
                .outcome = OUTCOME_UNKNOWN,
                .started_at = NONE,
                .ended_at = NONE},
        .reason = root->reason,
    };
    if (root->is_whole_argument)
        run->run.name = ""; /* the id of files named one by one is for the key only */
}

struct list {
    struct plan_file *files;
    size_t n, capacity;
    bool has_own; /* not only what other runs have too */
};

static void list_add(struct list *list, struct arena *arena, struct plan_file file)
{
    list->files = arena_room(arena, list->files, list->n, &list->capacity, sizeof file);
    if (list->files)
        list->files[list->n++] = file;
    else
        list->n = list->capacity = 0;
}

/* A file of checkpoint-N/, or weights under the name of another framework's checkpoint. */
static bool tells_checkpoint(const struct walk_file *file, const char *root)
{
    struct checkpoint_name name;
    size_t end;

    return checkpoint_name_find(file->path, strlen(root), &end, &name) &&
           ((name.is_certain && file->path[end] == '/') || checkpoint_name_is_weights(file->name));
}

/* The run's own folder as a source: its checkpoints, and files that are not what they are called.
 */
static void add_folder_source(struct scene *scene, const struct root *root, bool has_unreadable,
                              struct list *out)
{
    const struct importer *importer = importer_by_id("checkpoints");
    bool wanted = has_unreadable;

    for (size_t i = 0; i < scene->n_found && !wanted; i++)
        wanted = path_is_below(scene->found[i].file->folder, root->folder) &&
                 tells_checkpoint(scene->found[i].file, root->folder);
    if (!wanted || !importer)
        return;
    const char *shown = root->folder;
    size_t below = strlen(scene->argument->folder);
    if (path_is_below(root->folder, scene->argument->folder))
        shown = strlen(root->folder) > below ? root->folder + below + 1 : ".";
    list_add(out, scene->arena,
             (struct plan_file){.path = root->folder,
                                .shown = shown,
                                .importer = importer,
                                .role = importer->role,
                                .reason = importer->title,
                                .size = 0});
}

static size_t count_true(const bool *flags, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += flags[i];
    return count;
}

int assign_files(struct scene *scene, struct assigned *out, struct error *err)
{
    struct arena *arena = scene->arena;
    size_t most = scene->n_roots + scene->n_found + 1;
    struct assigning a = {
        .scene = scene,
        .runs = arena_array(arena, most, sizeof *a.runs),
        .belongs = arena_array(arena, most, sizeof *a.belongs),
        .rows = arena_array(arena, most, sizeof *a.rows),
        .rows_known = arena_array(arena, most, sizeof *a.rows_known),
    };
    int rc;

    if (arena_failed(arena))
        return error_set(err, E_NOMEM, "no memory for the runs");
    for (size_t i = 0; i < scene->n_roots; i++)
        if (scene->roots[i].joined == i)
            a.runs[a.n_runs++] = &scene->roots[i];
    rc = assign_find_trainings(scene, err);
    if (rc == OK)
        rc = assign_add_lone_logs(&a, err);
    if (rc == OK)
        rc = assign_add_lone_data(&a, err);
    if (rc != OK)
        return rc;
    struct list *lists = arena_array(arena, a.n_runs + 1, sizeof *lists);
    bool *has_unreadable = arena_array(arena, a.n_runs + 1, sizeof *has_unreadable);
    struct plan_run *runs = arena_array(arena, a.n_runs + 1, sizeof *runs);
    if (!lists || !has_unreadable || !runs)
        return error_set(err, E_NOMEM, "no memory for the runs");
    for (size_t i = 0; i < scene->n_found; i++) {
        const struct found *f = &scene->found[i];

        if (!f->importer && !f->is_unreadable)
            continue;
        rc = assign_one(&a, f, err);
        if (rc != OK)
            return rc;
        for (size_t k = 0; k < a.n_runs; k++) {
            if (!a.belongs[k])
                continue;
            has_unreadable[k] |= f->is_unreadable;
            lists[k].has_own |= count_true(a.belongs, a.n_runs) < a.n_runs || a.n_runs == 1;
            if (f->importer)
                list_add(&lists[k], arena,
                         (struct plan_file){.path = f->file->path,
                                            .shown = f->file->shown,
                                            .importer = f->importer,
                                            .role = file_role(scene, f),
                                            .reason = f->reason,
                                            .size = f->file->size});
        }
    }
    for (size_t k = 0; k < a.n_runs; k++) {
        make_run(scene, a.runs[k], &runs[out->n_runs]);
        rc = note_disagreements(scene, lists[k].files, lists[k].n, a.n_runs, err);
        if (rc != OK)
            return rc;
        add_folder_source(scene, a.runs[k], has_unreadable[k], &lists[k]);
        runs[out->n_runs].files = lists[k].files;
        runs[out->n_runs].n_files = lists[k].n;
        out->n_runs += lists[k].n > 0 && lists[k].has_own;
    }
    out->runs = runs;
    return arena_failed(arena) ? error_set(err, E_NOMEM, "no memory for the runs") : OK;
}
