/* Which run a file belongs to (FORMATS.md B0 rules 3 and 4). */
#include <math.h>
#include <string.h>

#include "importers/assign_parts.h"

/* ---- Which runs ---- */


static const struct root *joined_root(const struct scene *scene, const struct root *root)
{
    const struct root *r = root;

    for (size_t i = 0; i < scene->n_roots && r->joined != (size_t)(r - scene->roots); i++)
        r = &scene->roots[r->joined];
    return r;
}

static size_t run_of_root(const struct assigning *a, const struct root *root)
{
    const struct root *r = joined_root(a->scene, root);

    for (size_t i = 0; i < a->n_runs; i++)
        if (a->runs[i] == r)
            return i;
    return a->n_runs;
}

/* A root with an id shares its folder: only what lies in the folder of that name is its alone. */
static bool root_holds(const struct root *root, const struct walk_file *file)
{
    if (root->log || !path_is_below(file->folder, root->folder))
        return false;
    return !*root->id || strcmp(last_component(file->folder), root->id) == 0;
}

static bool tells_losses(const char *id)
{
    static const char *const IDS[] = {"hf_trainer_state", "metrics_table", "tensorboard", "wandb",
                                      "mlflow_files"};

    for (size_t i = 0; i < sizeof IDS / sizeof *IDS; i++)
        if (strcmp(id, IDS[i]) == 0)
            return true;
    return false;
}

/* A root of loggers' files alone, with other roots below it: the argument when a metric table lies
 * beside several run folders. */
static bool is_around_others(const struct scene *scene, const struct root *root)
{
    if (root->records & ~(unsigned)(RECORD_TABLE | RECORD_EVENTS))
        return false;
    for (size_t i = 0; i < scene->n_roots; i++)
        if (strlen(scene->roots[i].folder) > strlen(root->folder) &&
            path_is_below(scene->roots[i].folder, root->folder))
            return true;
    return false;
}

static bool is_of_a_training(const struct loss_rows *rows)
{
    size_t n = 0;

    for (size_t i = 0; i < rows->n; i++)
        n += !isnan(rows->step[i]) && !isnan(rows->loss[i]);
    return n > 1;
}

/* Which files in a root around others tell the losses of a training, steps with them: they are not
 * everybody's. */
int assign_find_trainings(struct scene *scene, struct error *err)
{
    for (size_t i = 0; i < scene->n_roots; i++) {
        const struct root *root = &scene->roots[i];

        if (!is_around_others(scene, root))
            continue;
        for (size_t k = 0; k < scene->n_found; k++) {
            struct found *f = &scene->found[k];
            struct loss_rows rows;

            if (!f->importer || f->part || !tells_losses(f->importer->id) ||
                !root_holds(root, f->file) || f->trains)
                continue;
            int rc = rows_read(f, scene->arena, &rows, err);
            if (rc != OK)
                return rc;
            f->trains = is_of_a_training(&rows);
        }
    }
    return OK;
}

/* The deepest root around the file. */
static bool inside_a_root(struct assigning *a, const struct found *found)
{
    const struct walk_file *file = found->file;
    const struct root *deepest = NULL;

    for (size_t i = 0; i < a->scene->n_roots; i++) {
        const struct root *root = &a->scene->roots[i];

        if (root_holds(root, file) && (!deepest || strlen(root->folder) > strlen(deepest->folder)))
            deepest = root;
    }
    if (!deepest || (!found->trains && is_around_others(a->scene, deepest)))
        return false; /* beside several run folders it is everybody's */
    size_t run = run_of_root(a, deepest);
    if (run < a->n_runs)
        a->belongs[run] = true;
    return run < a->n_runs;
}

/* A part of a file belongs to the root that was made of it. */
static void mark_part(struct assigning *a, const struct found *found)
{
    for (size_t i = 0; i < a->scene->n_roots; i++) {
        const struct root *root = &a->scene->roots[i];

        if (strcmp(root->id, found->part) == 0 && path_is_below(found->file->folder, root->folder) &&
            run_of_root(a, root) < a->n_runs)
            a->belongs[run_of_root(a, root)] = true;
    }
}

static int rows_of_run(struct assigning *a, size_t run, struct error *err)
{
    const struct found *best = NULL;

    if (a->rows_known[run])
        return OK;
    a->rows_known[run] = true;
    if (a->runs[run]->log)
        return rows_read(a->runs[run]->log, a->scene->arena, &a->rows[run], err);
    for (size_t i = 0; i < a->scene->n_found; i++) {
        const struct found *f = &a->scene->found[i];
        bool tells = f->importer && tells_losses(f->importer->id);

        if (tells && root_holds(a->runs[run], f->file) &&
            (!best || f->file->size > best->file->size))
            best = f;
    }
    return best ? rows_read(best, a->scene->arena, &a->rows[run], err) : OK;
}

static size_t mark_mentioned(struct assigning *a, const struct found *found)
{
    size_t n = 0;

    for (size_t i = 0; i < a->n_runs; i++) {
        const char *name = last_component(a->runs[i]->folder);
        const char *words[] = {arena_printf(a->scene->arena, "%s/checkpoint-", name),
                               arena_printf(a->scene->arena, "/%s\n", name), a->runs[i]->folder};

        if (!a->runs[i]->log && file_mentions(found->file->path, words, 3)) {
            a->belongs[i] = true;
            n++;
        }
    }
    return n;
}

/* A log outside the roots: the runs whose rows it repeats, else those whose folder it prints. */
static int assign_log(struct assigning *a, const struct found *found, size_t *n, struct error *err)
{
    struct loss_rows rows;
    int rc;

    *n = 0;
    for (size_t i = 0; i < a->n_runs; i++)
        if (a->runs[i]->log == found) {
            a->belongs[i] = true;
            *n = 1;
            return OK;
        }
    rc = rows_read(found, a->scene->arena, &rows, err);
    for (size_t i = 0; i < a->n_runs && rc == OK; i++) {
        rc = rows.n ? rows_of_run(a, i, err) : OK;
        if (rc == OK && rows.n && rows_are_same(&a->rows[i], &rows)) {
            a->belongs[i] = true;
            (*n)++;
        }
    }
    if (rc == OK && *n == 0)
        *n = mark_mentioned(a, found);
    return rc;
}

static bool is_config(const struct found *found)
{
    static const char *const IDS[] = {"hf_training_args", "llamafactory", "axolotl",
                                      "torchtune",        "litgpt",       "ms_swift",
                                      "nemo",             "unsloth",      "settings_file"};

    for (size_t i = 0; found->importer && i < sizeof IDS / sizeof *IDS; i++)
        if (strcmp(found->importer->id, IDS[i]) == 0 && found->file->size < (1 << 20))
            return true;
    return false;
}

/* Runs whose settings name the file. */
static size_t mark_named(struct assigning *a, const struct found *found)
{
    const char *words[] = {found->file->name};
    size_t n = 0;

    if (!found->importer || strcmp(found->importer->id, "dataset_rows") != 0)
        return 0;
    for (size_t i = 0; i < a->scene->n_found; i++) {
        const struct found *f = &a->scene->found[i];

        if (!is_config(f) || f == found)
            continue;
        for (size_t k = 0; k < a->n_runs; k++)
            if (!a->belongs[k] && root_holds(a->runs[k], f->file) &&
                file_mentions(f->file->path, words, 1)) {
                a->belongs[k] = true;
                n++;
            }
    }
    return n;
}

/* Runs whose folder a serving record names: what is served is theirs alone. */
static size_t mark_served(struct assigning *a, const struct found *found)
{
    size_t n = 0;

    for (size_t i = 0; i < a->n_runs; i++)
        if (!a->runs[i]->log && !a->runs[i]->is_lone_data &&
            serving_names(found, last_component(a->runs[i]->folder))) {
            a->belongs[i] = true;
            n++;
        }
    return n;
}

/* Every root below the file's own folder, or the nearest folder around it that has some. */
static void mark_below(struct assigning *a, const struct walk_file *file)
{
    const char *folder = file->folder;
    size_t n = 0;

    while (n == 0) {
        for (size_t i = 0; i < a->n_runs; i++)
            if (!a->runs[i]->is_lone_data && path_is_below(a->runs[i]->folder, folder)) {
                a->belongs[i] = true;
                n++;
            }
        if (strcmp(folder, a->scene->argument->folder) == 0 || strcmp(folder, "/") == 0)
            break;
        folder = parent_folder(a->scene->arena, folder);
    }
}

static bool inside_lone_data(struct assigning *a, const struct walk_file *file)
{
    for (size_t i = 0; i < a->n_runs; i++)
        if (a->runs[i]->is_lone_data && path_is_below(file->folder, a->runs[i]->folder)) {
            a->belongs[i] = true;
            return true;
        }
    return false;
}

static bool is_stream_of_a_run(const struct assigning *a, const struct found *found, size_t *run)
{
    for (size_t i = 0; i < a->n_runs; i++)
        if (a->runs[i]->log && a->runs[i]->log != found &&
            logs_are_streams(a->runs[i]->log, found)) {
            *run = i;
            return true;
        }
    return false;
}

int assign_one(struct assigning *a, const struct found *found, struct error *err)
{
    size_t n = 0;
    int rc;

    memset(a->belongs, 0, a->n_runs * sizeof *a->belongs);
    if (a->n_runs == 1) {
        a->belongs[0] = true;
        return OK;
    }
    if (found->part) {
        mark_part(a, found);
        return OK;
    }
    bool is_log = found->importer && importer_is_log(found->importer->id);
    if (inside_a_root(a, found) || inside_lone_data(a, found->file))
        return OK;
    if (is_log) {
        rc = assign_log(a, found, &n, err);
        if (rc != OK || n)
            return rc;
        if (is_stream_of_a_run(a, found, &n)) {
            a->belongs[n] = true;
            return OK;
        }
    } else if (mark_named(a, found) || mark_served(a, found)) {
        return OK;
    }
    mark_below(a, found->file);
    return OK;
}

/* ---- Logs outside the roots that tell of a run of their own (rule 4) ---- */

/* Is there one run only in the nearest folder around the file that has some, and is that folder not
 * the whole argument? Then it stands there as if it had been named alone (rule 3). */
static bool is_beside_one_run(const struct assigning *a, const struct walk_file *file)
{
    const char *top = a->scene->argument->folder;

    for (const char *folder = file->folder; strcmp(folder, top) != 0 && strcmp(folder, "/") != 0;
         folder = parent_folder(a->scene->arena, folder)) {
        size_t n = 0;

        for (size_t i = 0; i < a->n_runs; i++)
            n += path_is_below(a->runs[i]->folder, folder);
        if (n)
            return n == 1;
    }
    return false;
}

/* People keep notebooks for many things: one that trained nothing is no run. */
static int is_idle_notebook(const struct assigning *a, const struct found *found, bool *is_idle,
                            struct error *err)
{
    struct loss_rows rows = {0};
    bool is_notebook = strcmp(found->importer->id, "notebook") == 0;
    int rc = is_notebook ? rows_read(found, a->scene->arena, &rows, err) : OK;

    *is_idle = is_notebook && !rows.is_training;
    return rc;
}

int assign_add_lone_logs(struct assigning *a, struct error *err)
{
    struct scene *scene = a->scene;

    if (a->n_runs < 2 || a->runs[0]->log)
        return OK;
    for (size_t i = 0; i < scene->n_found; i++) {
        struct found *f = &scene->found[i];
        size_t n = 0, run;

        if (!f->importer || !importer_is_log(f->importer->id))
            continue;
        memset(a->belongs, 0, a->n_runs * sizeof *a->belongs);
        if (inside_a_root(a, f) || is_stream_of_a_run(a, f, &run))
            continue;
        int rc = assign_log(a, f, &n, err);
        if (rc != OK)
            return rc;
        if (n || is_beside_one_run(a, f->file))
            continue;
        bool is_idle = false;
        rc = is_idle_notebook(a, f, &is_idle, err);
        if (rc != OK)
            return rc;
        if (is_idle)
            continue;
        struct root *root = arena_alloc(scene->arena, sizeof *root);
        if (!root)
            return error_set(err, E_NOMEM, "no memory for the runs");
        *root = (struct root){.folder = f->file->folder,
                              .id = f->file->name,
                              .log = f,
                              .reason = "a log that repeats no other run's rows"};
        a->runs[a->n_runs++] = root;
    }
    return OK;
}

/* The largest folder around the file that holds no run; NULL: the file's own folder does. */
static const char *folder_without_runs(const struct assigning *a, const struct walk_file *file)
{
    const char *without = NULL;

    for (const char *folder = file->folder; strcmp(folder, "/") != 0;
         folder = parent_folder(a->scene->arena, folder)) {
        for (size_t i = 0; i < a->n_runs; i++)
            if (!a->runs[i]->is_lone_data && path_is_below(a->runs[i]->folder, folder))
                return without;
        without = folder;
    }
    return without;
}

static bool is_shared_folder(const char *name)
{
    static const char *const SHARED[] = {
        "data",     "dataset",   "datasets", "base",       "base_model", "model",     "models",
        "merged",   "eval",      "evals",    "evaluation", "test",       "tests",     "serve",
        "release",  "deploy",    "inputs",   "shared",     "prompts",    "templates", "tokenizer",
        "results",  "logs",      "config",   "configs",    "conf",       "scripts",   "src",
        "examples", "notebooks", "docs",     "tools"};

    for (size_t i = 0; i < sizeof SHARED / sizeof *SHARED; i++)
        if (strcasecmp(name, SHARED[i]) == 0)
            return true;
    return false;
}

/* data/, base/ and the like are the project's and so every run's; any other folder without a run,
 * whose rows no run's settings name, stands for itself: its files say nothing of the others. */
int assign_add_lone_data(struct assigning *a, struct error *err)
{
    struct scene *scene = a->scene;

    if (a->n_runs < 2)
        return OK;
    for (size_t i = 0; i < scene->n_found; i++) {
        const struct found *f = &scene->found[i];

        if (!f->importer || importer_is_log(f->importer->id) || is_serving_record(f))
            continue;
        memset(a->belongs, 0, a->n_runs * sizeof *a->belongs);
        const char *folder = folder_without_runs(a, f->file);
        if (!folder || is_shared_folder(last_component(folder)) || is_beside_one_run(a, f->file) ||
            inside_a_root(a, f) || inside_lone_data(a, f->file) || mark_named(a, f))
            continue;
        struct root *root = arena_alloc(scene->arena, sizeof *root);
        if (!root)
            return error_set(err, E_NOMEM, "no memory for the runs");
        *root = (struct root){.folder = folder,
                              .id = "",
                              .is_lone_data = true,
                              .reason = "a folder without a run, which no run names"};
        a->runs[a->n_runs++] = root;
    }
    return OK;
}
