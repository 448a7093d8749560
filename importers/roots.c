/* Run roots (FORMATS.md B0 rule 2): which folders are the place where one training process left its
 * records. Whether two roots tell of the same run is asked of rows.c. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "core/facts/checkpoint_name.h"
#include "core/facts/rank_name.h"
#include "importers/roots_parts.h"

/* ---- Paths ---- */

bool path_is_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);

    if (n == 1 && *folder == '/')
        return true;
    return strncmp(path, folder, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

const char *parent_folder(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return path;
    return slash == path ? "/" : arena_strndup(arena, path, (size_t)(slash - path));
}

const char *folder_of_checkpoint(struct arena *arena, const char *path, const char *top)
{
    static const char MARK[] = "/checkpoint-";
    size_t from = strcmp(top, "/") == 0 ? 0 : strlen(top);
    const char *at = path_is_below(path, top) ? path + from : path;

    while ((at = strstr(at, MARK))) {
        const char *number = at + sizeof MARK - 1;
        size_t digits = strspn(number, "0123456789");

        if (digits && (number[digits] == '/' || number[digits] == '\0'))
            return at == path ? "/" : arena_strndup(arena, path, (size_t)(at - path));
        at = number;
    }
    return NULL;
}

static bool is_any(const char *name, const char *const *globs)
{
    for (; *globs; globs++)
        if (fnmatch(*globs, name, 0) == 0)
            return true;
    return false;
}

/* Folders that loggers make inside a root; wandb/run-…, mlruns/… hold more of them. */
static bool is_logger_folder(const char *name, const char *parent)
{
    static const char *const NAMES[] = {
        "runs",        "logs",           "wandb",      "lightning_logs",
        "mlruns",      "version_[0-9]*", "run-[0-9]*", "offline-run-[0-9]*",
        "tensorboard", "latest-run",     NULL};

    return is_any(name, NAMES) || strcmp(parent, "runs") == 0 || strcmp(parent, "logs") == 0;
}

/* ---- Records ---- */

unsigned root_record_of(const struct found *found)
{
    static const char *const STATE[] = {"trainer_state.json", "trainer_log.jsonl", NULL};
    static const char *const ARGS[] = {"training_args.bin", "training_args.json",
                                       "training_args.yaml", "all_results.json", NULL};
    static const char *const UNREADABLE[] = {"*tfevents*", "run-*.wandb", "mlflow.db", NULL};
    static const char *const LOGS[] = {"*tfevents*", "*.wandb", "*.db", "meta.yaml", NULL};
    static const char *const LOGGERS[] = {"tensorboard", "wandb",   "mlflow_files",
                                          "mlflow_db",   "trackio", NULL};
    const char *name = found->file->name;

    if (is_any(name, STATE))
        return RECORD_STATE;
    if (is_any(name, ARGS) || (strcmp(name, "args.json") == 0 && found->importer))
        return RECORD_ARGS;
    if (found->importer && strcmp(found->importer->id, "metrics_table") == 0)
        return RECORD_TABLE;
    if (!found->importer)
        return is_any(name, UNREADABLE) ? RECORD_EVENTS : 0;
    return is_any(found->importer->id, LOGGERS) && is_any(name, LOGS) ? RECORD_EVENTS : 0;
}

/* Everything below mlruns/ and wandb/ is theirs, whatever it is called. */
static const char *above_logger(struct arena *arena, const char *folder, const char *top)
{
    static const char *const MARKS[] = {"/mlruns/", "/wandb/"};
    size_t n = strlen(top);

    for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS; i++) {
        const char *path = arena_printf(arena, "%s/", folder);
        const char *at = strstr(path + (n < strlen(path) ? n : 0), MARKS[i]);

        if (at)
            return at == path ? "/" : arena_strndup(arena, path, (size_t)(at - path));
    }
    return folder;
}

const char *root_climb_loggers(struct arena *arena, const char *folder, const char *top)
{
    folder = above_logger(arena, folder, top);
    while (strcmp(folder, top) != 0 && strcmp(folder, "/") != 0) {
        const char *parent = parent_folder(arena, folder);

        /* What the argument itself is called says nothing of the folders in it. */
        if (!path_is_below(parent, top) ||
            !is_logger_folder(last_component(folder),
                              strcmp(parent, top) == 0 ? "" : last_component(parent)))
            break;
        folder = parent;
    }
    return folder;
}

static struct root *root_at(struct scene *scene, const char *folder, const char *id)
{
    for (size_t i = 0; i < scene->n_roots; i++)
        if (strcmp(scene->roots[i].folder, folder) == 0 && strcmp(scene->roots[i].id, id) == 0)
            return &scene->roots[i];
    if (scene->n_roots == ROOTS_MAX)
        return NULL;
    struct root *root = &scene->roots[scene->n_roots];
    *root = (struct root){.folder = folder, .id = id, .joined = scene->n_roots};
    scene->n_roots++;
    return root;
}

void root_add_record(struct scene *scene, const char *folder, const char *id, unsigned record,
                       const char *what)
{
    struct root *root = root_at(scene, folder, id);

    if (!root)
        return;
    if (root->records == 0 || record < (root->records & -root->records))
        root->reason = arena_printf(scene->arena, "holds %s", what);
    root->records |= record;
}

/* lightning_logs/version_1 and its like: several of them are several runs. */
static const char *version_of(const struct scene *scene, const struct found *found)
{
    const char *name = last_component(found->file->folder);
    size_t n = 0;

    if (fnmatch("version_[0-9]*", name, 0) != 0)
        return "";
    const char *parent = parent_folder(scene->arena, found->file->folder);
    for (size_t i = 0; i < scene->n_found; i++)
        n += root_record_of(&scene->found[i]) == RECORD_TABLE &&
             scene->found[i].file->folder != found->file->folder &&
             strcmp(parent_folder(scene->arena, scene->found[i].file->folder), parent) == 0 &&
             fnmatch("version_[0-9]*", last_component(scene->found[i].file->folder), 0) == 0;
    return n ? name : "";
}

static void strong_records(struct scene *scene)
{
    const char *top = scene->argument->folder;

    for (size_t i = 0; i < scene->n_found; i++) {
        const struct found *found = &scene->found[i];
        unsigned record = root_record_of(found);
        const char *of = folder_of_checkpoint(scene->arena, found->file->folder, top);

        if (of)
            root_add_record(scene, of, "", RECORD_STATE, "checkpoints");
        else if (record == RECORD_TABLE)
            root_add_record(scene, root_climb_loggers(scene->arena, found->file->folder, top),
                       version_of(scene, found), record, found->file->name);
        else if (record && record != RECORD_EVENTS)
            root_add_record(scene, found->file->folder, "", record, found->file->name);
    }
}

/* ---- Folding ---- */

static void drop_root(struct scene *scene, size_t i)
{
    memmove(&scene->roots[i], &scene->roots[i + 1],
            (scene->n_roots - i - 1) * sizeof *scene->roots);
    scene->n_roots--;
    for (size_t k = 0; k < scene->n_roots; k++)
        scene->roots[k].joined = k;
}

static bool same_bytes(const char *a, const char *b)
{
    char *pa = NULL, *pb = NULL;
    size_t na, nb;
    bool same = source_slurp(a, (size_t)1 << 20, &pa, &na, NULL) == OK &&
                source_slurp(b, (size_t)1 << 20, &pb, &nb, NULL) == OK && na == nb && na > 0 &&
                memcmp(pa, pb, na) == 0;

    free(pa);
    free(pb);
    return same;
}

/* save_model writes the arguments beside every copy of the model: the same bytes, the same run. */
static bool repeats_arguments(const struct scene *scene, const struct root *weak,
                              const struct root *other)
{
    for (size_t i = 0; i < scene->n_found; i++) {
        const struct walk_file *a = scene->found[i].file;

        if (strcmp(a->name, "training_args.bin") != 0 || strcmp(a->folder, weak->folder) != 0)
            continue;
        for (size_t k = 0; k < scene->n_found; k++) {
            const struct walk_file *b = scene->found[k].file;

            if (k != i && strcmp(b->name, a->name) == 0 && b->size == a->size &&
                path_is_below(b->folder, other->folder) && same_bytes(a->path, b->path))
                return true;
        }
    }
    return false;
}

static size_t roots_below(const struct scene *scene, const struct root *root)
{
    size_t n = 0;

    for (size_t i = 0; i < scene->n_roots; i++)
        n += &scene->roots[i] != root && path_is_below(scene->roots[i].folder, root->folder);
    return n;
}

static bool is_part_of_another(const struct scene *scene, size_t i)
{
    const struct root *root = &scene->roots[i];
    bool is_weak = !(root->records & (RECORD_STATE | RECORD_TABLE)) && !*root->id;

    for (size_t k = 0; k < scene->n_roots && is_weak; k++) {
        const struct root *other = &scene->roots[k];

        if (k == i)
            continue;
        if (strcmp(root->folder, other->folder) != 0 &&
            path_is_below(root->folder, other->folder) &&
            (other->records & ~(unsigned)RECORD_EVENTS))
            return true; /* arguments or results of a copy inside a root */
        if (root->records == RECORD_EVENTS && path_is_below(other->folder, root->folder) &&
            roots_below(scene, root) == 1)
            return true; /* a logger beside the only root */
        if ((root->records & RECORD_ARGS) && (other->records & RECORD_STATE) &&
            repeats_arguments(scene, root, other))
            return true;
    }
    return false;
}

static void fold_parts(struct scene *scene)
{
    for (size_t i = 0; i < scene->n_roots;)
        if (is_part_of_another(scene, i))
            drop_root(scene, i);
        else
            i++;
}

/* ---- Rule 6 ---- */

/* The file that tells the loss best: the longest state, else the longest table. */
static const struct found *teller(const struct scene *scene, const struct root *root)
{
    const struct found *best = NULL;
    unsigned best_record = 0;

    for (size_t i = 0; i < scene->n_found; i++) {
        const struct found *f = &scene->found[i];
        unsigned record = root_record_of(f);

        if (!f->importer || record == 0 || record == RECORD_ARGS ||
            !path_is_below(f->file->folder, root->folder))
            continue;
        if ((f->part || *root->id) &&
            strcmp(f->part ? f->part : last_component(f->file->folder), root->id) != 0)
            continue;
        bool inner = false; /* another root inside this one tells of itself */
        for (size_t k = 0; k < scene->n_roots && !inner; k++)
            inner = strlen(scene->roots[k].folder) > strlen(root->folder) &&
                    path_is_below(f->file->folder, scene->roots[k].folder);
        if (inner)
            continue;
        if (!best || record < best_record ||
            (record == best_record && f->file->size > best->file->size)) {
            best = f;
            best_record = record;
        }
    }
    return best;
}

/* The name of the .wandb file of a root holds the run's id, which a resume keeps. */
static const char *wandb_file(const struct scene *scene, const struct root *root)
{
    for (size_t i = 0; i < scene->n_found; i++)
        if (fnmatch("run-*.wandb", scene->found[i].file->name, 0) == 0 &&
            strcmp(scene->found[i].file->folder, root->folder) == 0)
            return scene->found[i].file->name;
    return NULL;
}

static bool have_one_id(const struct scene *scene, const struct root *a, const struct root *b)
{
    const char *name_a = wandb_file(scene, a), *name_b = name_a ? wandb_file(scene, b) : NULL;

    return name_b && strcmp(name_a, name_b) == 0;
}

/* The strongest record of a root. */
static unsigned rank(const struct root *root)
{
    return root->records & -root->records;
}

/* Ranks repeat each other's steps; their losses may differ, since each sees its own rows. Of two numbers
 * one has to be 0: "rank_8" and "rank_16" are two settings. */
static bool are_ranks(const char *a, const struct loss_rows *rows_a, const char *b,
                      const struct loss_rows *rows_b)
{
    struct rank_name in_a, in_b;
    size_t common, differing, fewer = rows_a->n < rows_b->n ? rows_a->n : rows_b->n;

    if (!rank_name_find(a, 0, &in_a) || !rank_name_find(b, 0, &in_b) ||
        (in_a.rank != 0 && in_b.rank != 0) || !rank_names_are_beside(a, b))
        return false;
    rows_compare(rows_a, rows_b, &common, &differing);
    return fewer == 0 || (common >= 1 && 2 * common >= fewer);
}

static bool is_rank_0(const char *path)
{
    struct rank_name name;

    return rank_name_find(path, 0, &name) && name.rank == 0;
}

static int join_roots(struct scene *scene, struct error *err)
{
    struct loss_rows *rows = arena_array(scene->arena, scene->n_roots + 1, sizeof *rows);

    if (!rows)
        return error_set(err, E_NOMEM, "no memory for %zu runs", scene->n_roots);
    for (size_t i = 0; i < scene->n_roots; i++) {
        const struct found *f = teller(scene, &scene->roots[i]);
        int rc = f ? rows_read(f, scene->arena, &rows[i], err) : OK;

        if (rc != OK)
            return rc;
    }
    for (size_t i = 0; i < scene->n_roots; i++)
        for (size_t k = 0; k < i; k++) {
            if (scene->roots[k].joined != k ||
                (!rows_are_same(&rows[k], &rows[i]) &&
                 !have_one_id(scene, &scene->roots[k], &scene->roots[i]) &&
                 !are_ranks(scene->roots[k].folder, &rows[k], scene->roots[i].folder, &rows[i])))
                continue;
            /* The one with the state is the root, the other one a part of it. */
            bool swap = rank(&scene->roots[i]) < rank(&scene->roots[k]) ||
                        (!rows_are_same(&rows[k], &rows[i]) && is_rank_0(scene->roots[i].folder));
            scene->roots[swap ? k : i].joined = swap ? i : k;
            break;
        }
    return OK;
}

/* ---- Weights without a record ---- */

static bool is_side_folder(const char *name)
{
    static const char *const NAMES[] = {"base*",   "merged*", "serve*", "serving", "release*",
                                        "deploy*", "final*",  "best*",  NULL};

    return is_any(name, NAMES);
}

/* Adapters side by side without any record are runs of their own; anything less is one run. */
static void weight_roots(struct scene *scene)
{
    static const char *const WEIGHTS[] = {"adapter_model.*", NULL};
    size_t before = scene->n_roots;

    for (size_t i = 0; i < scene->n_found; i++) {
        const struct walk_file *file = scene->found[i].file;
        struct checkpoint_name name; /* epoch_0, epoch_1: of one run */

        if (is_any(file->name, WEIGHTS) && strcmp(file->folder, scene->argument->folder) != 0 &&
            !is_side_folder(last_component(file->folder)) &&
            !checkpoint_name_read(str_of(last_component(file->folder)), &name))
            root_add_record(scene, file->folder, "", RECORD_ARGS, file->name);
    }
    if (scene->n_roots - before < 2)
        scene->n_roots = before;
}

/* ---- Logs without a root (rule 5) ---- */

struct log_rows {
    const struct found *log;
    struct loss_rows rows;
};

/* "job.out" and "job.err", "stdout.log" and "stderr.log", "rank0.log" and "rank1.log": the names
 * differ in the stream or in digits only. */
static void plain_name(const struct found *log, char *out, size_t n)
{
    static const char *const STREAMS[] = {"stdout", "stderr", ".out", ".err"};
    char text[256];
    size_t k = 0;

    strncpy(text, log->file->name, sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (const char *p = text; *p && k + 1 < n;) {
        size_t stream = 0;

        for (size_t i = 0; i < sizeof STREAMS / sizeof *STREAMS && !stream; i++)
            if (strncmp(p, STREAMS[i], strlen(STREAMS[i])) == 0)
                stream = strlen(STREAMS[i]);
        if (!stream && !(*p >= '0' && *p <= '9'))
            out[k++] = *p;
        p += stream ? stream : 1;
    }
    out[k] = '\0';
}

bool logs_are_streams(const struct found *a, const struct found *b)
{
    char na[256], nb[256];

    if (strcmp(a->file->folder, b->file->folder) != 0)
        return false;
    plain_name(a, na, sizeof na);
    plain_name(b, nb, sizeof nb);
    return strcmp(na, nb) == 0;
}

static bool are_one_process(const struct log_rows *a, const struct log_rows *b)
{
    return rows_are_same(&a->rows, &b->rows) ||
           are_ranks(a->log->file->path, &a->rows, b->log->file->path, &b->rows) ||
           ((a->rows.n == 0 || b->rows.n == 0) && logs_are_streams(a->log, b->log));
}

static int log_roots(struct scene *scene, struct error *err)
{
    struct log_rows *logs = arena_array(scene->arena, scene->n_found + 1, sizeof *logs);
    size_t n = 0;

    if (!logs)
        return error_set(err, E_NOMEM, "no memory for %zu logs", scene->n_found);
    for (size_t i = 0; i < scene->n_found && n < ROOTS_MAX; i++) {
        const struct found *f = &scene->found[i];

        if (!f->importer || !importer_is_log(f->importer->id))
            continue;
        int rc = rows_read(f, scene->arena, &logs[n].rows, err);
        if (rc != OK)
            return rc;
        logs[n].log = f;
        n += logs[n].rows.is_training;
    }
    for (size_t i = 0; i < n; i++) {
        bool is_known = false;

        for (size_t k = 0; k < i && !is_known; k++)
            is_known = are_one_process(&logs[k], &logs[i]);
        if (is_known)
            continue;
        struct root *root = &scene->roots[scene->n_roots];
        *root = (struct root){.folder = logs[i].log->file->folder,
                              .id = logs[i].log->file->name,
                              .reason = "a log of training without a run folder",
                              .joined = scene->n_roots,
                              .log = logs[i].log};
        scene->n_roots++;
    }
    return OK;
}

/* ---- All together ---- */

static void whole_argument(struct scene *scene)
{
    struct root *root = &scene->roots[0];

    if (scene->n_roots == 0) {
        *root = (struct root){.reason = "no record of training: the files of the argument",
                               .has_no_record = true};
        scene->n_roots = 1;
    }
    if (scene->n_roots == 1 && (root->log || !root->folder)) {
        root->folder = scene->argument->folder;
        root->id = scene->argument->is_files && scene->n_found ? scene->found[0].file->name : "";
        root->log = NULL;
    }
}

static size_t count_runs(const struct scene *scene)
{
    size_t n = 0;

    for (size_t i = 0; i < scene->n_roots; i++)
        n += scene->roots[i].joined == i;
    return n;
}

int find_roots(struct scene *scene, struct error *err)
{
    int rc = OK;

    scene->roots = arena_array(scene->arena, ROOTS_MAX + 1, sizeof *scene->roots);
    if (!scene->roots)
        return error_set(err, E_NOMEM, "no memory for the runs");
    strong_records(scene);
    rc = root_add_logged(scene, err);
    if (rc != OK)
        return rc;
    fold_parts(scene);
    if (scene->n_roots > 1)
        rc = join_roots(scene, err);
    if (rc == OK && scene->n_roots == 0)
        rc = log_roots(scene, err);
    if (rc == OK && scene->n_roots == 0)
        weight_roots(scene);
    if (rc != OK)
        return rc;
    whole_argument(scene);
    if (count_runs(scene) == 1)
        for (size_t i = 0; i < scene->n_roots; i++)
            scene->roots[i].is_whole_argument = scene->roots[i].joined == i;
    return arena_failed(scene->arena) ? error_set(err, E_NOMEM, "no memory for the runs") : OK;
}
