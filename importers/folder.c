/* From paths to a plan: walk, probe, find the roots, give every file its runs. The stations stand
 * in plan_parts.h; reading is plan_import.c's. */
#include "importers/folder.h"

#include <string.h>

#include "importers/plan_parts.h"

struct making {
    struct arena *arena;
    struct plan_run *runs;
    size_t n_runs, runs_capacity;
    struct plan_run *beside; /* what was named beside a run and is none */
    size_t n_beside, beside_capacity;
    struct plan_file *ignored;
    size_t n_ignored, ignored_capacity;
};

static void add_run(struct making *making, const struct plan_run *run)
{
    making->runs =
        arena_room(making->arena, making->runs, making->n_runs, &making->runs_capacity, sizeof *run);
    if (making->runs)
        making->runs[making->n_runs++] = *run;
}

static void add_beside(struct making *making, const struct plan_run *run)
{
    making->beside = arena_room(making->arena, making->beside, making->n_beside,
                                &making->beside_capacity, sizeof *run);
    if (making->beside)
        making->beside[making->n_beside++] = *run;
}

static void add_ignored(struct making *making, struct plan_file file)
{
    making->ignored = arena_room(making->arena, making->ignored, making->n_ignored,
                           &making->ignored_capacity, sizeof file);
    if (making->ignored)
        making->ignored[making->n_ignored++] = file;
}

/* Files named one by one, or the folder of a data set's facts, without a record of training: made for a
 * run. Any other folder may be a run that left little. */
static bool is_made_for_a_run(const struct scene *scene)
{
    bool is_facts = false;

    for (size_t i = 0; i < scene->n_found && !is_facts; i++) {
        const struct found *f = &scene->found[i];

        is_facts = f->importer && strcmp(f->importer->id, "dataset_facts") == 0 &&
                   strcmp(f->file->folder, scene->argument->folder) == 0;
    }
    return scene->n_roots == 1 && scene->roots[0].has_no_record &&
           (scene->argument->is_files || is_facts);
}

/* By their whole paths: below the run's folder they are not. */
static void join_beside(struct making *making, struct plan_run *run, const struct plan_run *beside)
{
    struct plan_file *files =
        arena_array(making->arena, run->n_files + beside->n_files, sizeof *files);

    if (!files)
        return;
    if (run->n_files)
        memcpy(files, run->files, run->n_files * sizeof *files);
    for (size_t i = 0; i < beside->n_files; i++) {
        struct plan_file *file = &files[run->n_files + i];

        *file = beside->files[i];
        file->shown = file->path;
        file->reason = "named beside the only run";
    }
    run->files = files;
    run->n_files += beside->n_files;
}

/* With no run or several, what was named stands as it would alone. */
static void place_beside(struct making *making)
{
    bool has_one_run = making->n_runs == 1;

    for (size_t i = 0; i < making->n_beside; i++)
        if (has_one_run)
            join_beside(making, &making->runs[0], &making->beside[i]);
        else
            add_run(making, &making->beside[i]);
}

static int plan_argument(struct making *making, const struct walk_argument *argument,
                         const struct plan_options *options, struct error *err)
{
    struct scene scene = {.argument = argument, .options = options, .arena = making->arena};
    struct assigned assigned = {0};
    int rc = probe_files(&scene, err);

    if (rc == OK)
        rc = find_roots(&scene, err);
    if (rc == OK)
        rc = assign_files(&scene, &assigned, err);
    for (size_t i = 0; rc == OK && i < assigned.n_runs; i++)
        (is_made_for_a_run(&scene) ? add_beside : add_run)(making, &assigned.runs[i]);
    for (size_t i = 0; rc == OK && i < scene.n_found; i++) {
        const struct found *f = &scene.found[i];

        if (!f->importer)
            add_ignored(making, (struct plan_file){.path = f->file->path,
                                                   .shown = f->file->shown,
                                                   .reason = f->reason,
                                                   .size = f->file->size});
    }
    return rc;
}

static void count_bytes_to_read(struct plan *plan)
{
    for (size_t i = 0; i < plan->n_runs; i++)
        for (size_t k = 0; k < plan->runs[i].n_files; k++)
            plan->total_bytes += plan->runs[i].files[k].size;
}

int plan_make(const char *const *paths, size_t n_paths, const struct plan_options *options,
              struct arena *arena, struct plan *out, struct error *err)
{
    struct making making = {.arena = arena};
    struct walk walk;
    int rc = walk_paths(paths, n_paths, arena, &walk, err);

    for (size_t i = 0; rc == OK && i < walk.n_arguments; i++)
        rc = plan_argument(&making, &walk.arguments[i], options, err);
    if (rc != OK)
        return rc;
    place_beside(&making);
    for (size_t i = 0; i < walk.n_skipped; i++)
        add_ignored(&making, (struct plan_file){.path = walk.skipped[i].path,
                                                .shown = walk.skipped[i].shown,
                                                .reason = walk.skipped[i].reason,
                                                .size = 0});
    name_runs(making.runs, making.n_runs, arena);
    if (arena_failed(arena))
        return error_set(err, E_NOMEM, "no memory for the plan of the import");
    *out = (struct plan){.runs = making.runs,
                         .n_runs = making.n_runs,
                         .ignored = making.ignored,
                         .n_ignored = making.n_ignored,
                         .nothing_readable = making.n_runs == 0};
    count_bytes_to_read(out);
    return OK;
}
