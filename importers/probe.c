/* Which importer wants a file. Names that nobody reads are told without opening the file; the
 * others are looked at: the first 64 KiB and the last 64 bytes. */
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/facts/form_read.h"
#include "importers/look.h"
#include "importers/plan_parts.h"
#include "importers/registry.h"
#include "importers/run/mlflow.h"
#include "importers/run/trackio.h"

struct known_name {
    const char *glob; /* of the last component, lower case */
    const char *reason;
};


/* Not opened at all. */
static const struct known_name KNOWN[] = {
    {"optimizer*.pt", "state of the optimiser, which no check reads"},
    {"optimizer*.bin", "state of the optimiser, which no check reads"},
    {"scheduler.pt", "state of the scheduler, which no check reads"},
    {"scaler.pt", "state of the loss scaler, which no check reads"},
    {"rng_state*", "state of the random generators, which no check reads"},
    {"*_states.pt", "a shard of DeepSpeed, which no check reads"},
    {"*.distcp", "a shard of FSDP, which no check reads"},
    {"*.pth", "weights in a form that no check reads"},
    {"*.pt", "weights in a form that no check reads"},
    {"*.ckpt", "weights in a form that no check reads"},
    {"*.h5", "weights in a form that no check reads"},
    {"*.msgpack", "weights in a form that no check reads"},
    {"*.onnx", "weights in a form that no check reads"},
    {"*.py", "source code"},
    {"*.pyc", "source code"},
    {"*.c", "source code"},
    {"*.h", "source code"},
    {"*.so", "a program"},
    {"*.png", "a picture"},
    {"*.jp*g", "a picture"},
    {"*.gif", "a picture"},
    {"*.webp", "a picture"},
    {"*.svg", "a picture"},
    {"*.pdf", "a picture"},
    {"*.mp[34]", "sound or film"},
    {"*.wav", "sound or film"},
    {"*.np[yz]", "an array, which no check reads"},
    {"*.zip", "an archive, not unpacked"},
    {"*.tar", "an archive, not unpacked"},
    {"*.tgz", "an archive, not unpacked"},
    {"*.tar.*", "an archive, not unpacked"},
    {"*.incomplete", "a half-downloaded file"},
    {"*.part", "a half-downloaded file"},
    {"*.crdownload", "a half-downloaded file"},
    {"*.aria2", "a half-downloaded file"},
    {".gitignore", "nothing about the run"},
    {".gitattributes", "nothing about the run"},
    {".ds_store", "nothing about the run"},
    {"wandb-events.jsonl", "measurements of the machine by W&B, which no check reads"},
    {"*.bundle", "git history, which `flatline history` reads"},
    {"*.xz", "compressed, which only gzip and zstd may be"},
    {"*.bz2", "compressed, which only gzip and zstd may be"},
    {"*.lz4", "compressed, which only gzip and zstd may be"},
};

/* Opened, and taken only by an importer that is made for it: the general readers of tables, rows
 * and settings would misread them. */
static const struct known_name SPECIAL[] = {
    {"prompt_train.txt", "a rendered prompt that is no text"},
    {"prompt_infer.txt", "a rendered prompt that is no text"},
    {"eval_results.jsonl", "an evaluation in a form that is not known"},
    {"retention.jsonl", "an evaluation in a form that is not known"},
    {"record.jsonl", "an evaluation in a form that is not known"},
    {"judge.jsonl", "judgements in a form that is not known"},
    {"*.eval", "an evaluation in a form that is not known"},
    {"samples_*.jsonl", "an evaluation in a form that is not known"},
    {"results_*.json", "an evaluation in a form that is not known"},
    {"serve.json", "a serving record in a form that is not known"},
    {"deploy.json", "a serving record in a form that is not known"},
};

static const char *const GENERAL[] = {"dataset_rows", "metrics_table", "settings_file",
                                      "console_log", "environment"};

static const char *known_reason(const struct known_name *list, size_t n, const char *name)
{
    char lower[256];
    size_t i = 0;

    for (; name[i] && i < sizeof lower - 1; i++)
        lower[i] = (char)tolower((unsigned char)name[i]);
    lower[i] = '\0';
    for (size_t k = 0; k < n; k++)
        if (fnmatch(list[k].glob, lower, 0) == 0)
            return list[k].reason;
    return NULL;
}

/* Folders of loggers hold many small files whose names say nothing. */
static const char *folder_reason(const struct walk_file *file)
{
    static const char *const PARTS[] = {"/metrics/", "/params/", "/tags/"};

    if (strstr(file->path, "/mlruns/") && strcmp(file->name, "meta.yaml") != 0) {
        for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
            if (strstr(strstr(file->path, "/mlruns/"), PARTS[i]))
                return "read with the meta.yaml of its run in MLflow";
        return "a copy that MLflow keeps";
    }
    if (strstr(file->shown, "wandb/") && strstr(file->shown, "run-")) {
        if (strstr(file->shown, "/logs/debug"))
            return "W&B's own debug log";
    }
    return NULL;
}

/* What a run logged with mlflow.log_table is its own. */
static bool may_be_logged_table(const struct walk_file *file)
{
    const char *at = strstr(file->path, "/artifacts/");

    return at && !strchr(at + strlen("/artifacts/"), '/') && str_ends(str_of(file->name), ".json");
}

static bool is_general(const struct importer *importer)
{
    for (size_t i = 0; i < sizeof GENERAL / sizeof *GENERAL; i++)
        if (strcmp(importer->id, GENERAL[i]) == 0)
            return true;
    return false;
}

const struct answer *plan_answer(const struct plan_options *options, const char *what,
                                 const struct walk_file *file)
{
    size_t n = strlen(what);

    for (size_t i = options ? options->n_answers : 0; i-- > 0;) {
        const char *name = options->answers[i].name;

        if (strncmp(name, what, n) != 0 || name[n] != ':')
            continue;
        name += n + 1;
        if (strcmp(name, file->shown) == 0 || strcmp(name, file->path) == 0 ||
            strcmp(name, file->name) == 0)
            return &options->answers[i];
    }
    return NULL;
}

static void ignore(struct found *found, const char *reason)
{
    found->importer = NULL;
    found->reason = reason;
}

static void decide(struct found *found, const struct peek *peek, struct arena *arena)
{
    const struct importer *second = NULL;
    const char *special = known_reason(SPECIAL, sizeof SPECIAL / sizeof *SPECIAL, peek->name);
    int score = 0;

    found->importer = importer_probe(peek, &score, &second);
    if (!found->importer || score <= 0) {
        ignore(found, special ? special : "no importer knows it");
    } else if (special && is_general(found->importer)) {
        ignore(found, special);
    } else if (second) {
        found->reason =
            arena_printf(arena, "%s (could also be: %s)", found->importer->title, second->title);
    } else {
        found->reason = found->importer->title;
    }
}

static void look(struct found *found, struct look *look, struct arena *arena)
{
    const struct walk_file *file = found->file;
    struct error why;

    if (look_at(look, file->path, &why) != OK) {
        found->is_unreadable = true;
        ignore(found, arena_printf(arena, "cannot be read: %s", why.message));
        return;
    }
    enum source_oddity oddity = source_oddity(look->peek.head);
    if (oddity == ODDITY_EMPTY && form_part_of_name(file->name) == FORM_CANDIDATES) {
        ignore(found, "facts of a data set without any candidate");
        return;
    }
    if (oddity == ODDITY_EMPTY || oddity == ODDITY_LFS_POINTER) {
        found->is_unreadable = true;
        ignore(found, source_oddity_name(oddity));
        return;
    }
    look->peek.folder_name = last_component(file->folder);
    decide(found, &look->peek, arena);
    if (look->packing != PACKING_NONE && found->importer && !found->importer->reads_packed)
        ignore(found, arena_printf(arena, "%s packed with %s, which is read unpacked only",
                                   found->importer->title, packing_name(look->packing)));
}

/* Of what is packed only rows, event files and logs are looked at. */
static bool is_packed_other(const char *name)
{
    static const char *const READ[] = {".jsonl", ".json", ".ndjson", ".csv", ".tsv",
                                       ".log",   ".out",  ".err",    ".txt"};
    struct str inner = packing_inner_name(name);

    if (packing_of_name(name) == PACKING_NONE || str_has_ignoring_case(inner, ".tfevents."))
        return false;
    for (size_t i = 0; i < sizeof READ / sizeof *READ; i++) {
        size_t n = strlen(READ[i]);
        if (inner.n > n && strncasecmp(inner.p + inner.n - n, READ[i], n) == 0)
            return false;
    }
    return true;
}

static void probe(struct scene *scene, struct found *found, struct look *place)
{
    const struct answer *answer = plan_answer(scene->options, "importer", found->file);
    const struct importer *asked = answer ? importer_by_id(answer->value) : NULL;

    if (asked) {
        found->importer = asked;
        found->reason = "the user named the importer";
        return;
    }
    const char *reason = known_reason(KNOWN, sizeof KNOWN / sizeof *KNOWN, found->file->name);
    if (!reason && is_packed_other(found->file->name))
        reason = "compressed: unpack it, only rows, event files and logs are read packed";
    const char *kept = reason ? NULL : folder_reason(found->file);
    if (reason || (kept && !may_be_logged_table(found->file))) {
        ignore(found, reason ? reason : kept);
        return;
    }
    look(found, place, scene->arena);
    if (kept && (!found->importer || strcmp(found->importer->id, "eval_tables") != 0))
        ignore(found, kept);
}

/* ---- Files that hold several runs ---- */

#define PARTS_MAX 200

typedef int runs_of_file(const char *path, size_t most, struct arena *arena,
                         const char *const **ids, size_t *n, struct error *err);

static runs_of_file *runs_of(const char *importer)
{
    if (strcmp(importer, "mlflow_db") == 0)
        return mlflow_db_runs;
    return strcmp(importer, "trackio") == 0 ? trackio_runs : NULL;
}

static int split_database(struct scene *scene, const struct found *found, struct found **list,
                          size_t *n, size_t *capacity, struct error *err)
{
    const char *const *ids = NULL;
    size_t n_ids = 0;
    runs_of_file *runs = found->importer ? runs_of(found->importer->id) : NULL;
    int rc = runs ? runs(found->file->path, PARTS_MAX + 1, scene->arena, &ids, &n_ids, err) : OK;

    for (size_t i = 0; rc == OK && i < (n_ids > 1 ? n_ids : 1); i++) {
        *list = arena_room(scene->arena, *list, *n, capacity, sizeof **list);
        if (!*list)
            return error_set(err, E_NOMEM, "no memory for the runs of a database");
        (*list)[*n] = *found;
        if (i == PARTS_MAX)
            ignore(&(*list)[*n], arena_printf(scene->arena, "a database of more than %d runs: the "
                                              "older ones are left out", PARTS_MAX));
        (*list)[(*n)++].part = n_ids > 1 && i < PARTS_MAX ? ids[i] : NULL;
    }
    return rc;
}

static int split_databases(struct scene *scene, struct error *err)
{
    struct found *list = NULL;
    size_t n = 0, capacity = 0;
    bool has_any = false;
    int rc = OK;

    for (size_t i = 0; i < scene->n_found; i++)
        has_any |= scene->found[i].importer && runs_of(scene->found[i].importer->id);
    if (!has_any)
        return OK;
    for (size_t i = 0; i < scene->n_found && rc == OK; i++)
        rc = split_database(scene, &scene->found[i], &list, &n, &capacity, err);
    if (rc == OK) {
        scene->found = list;
        scene->n_found = n;
    }
    return rc;
}

int probe_files(struct scene *scene, struct error *err)
{
    size_t n = scene->argument->n_files;
    struct look *place = malloc(sizeof *place);

    scene->found = arena_array(scene->arena, n + 1, sizeof *scene->found);
    if (!place || !scene->found) {
        free(place);
        return error_set(err, E_NOMEM, "no memory to look at %zu files", n);
    }
    for (size_t i = 0; i < n; i++) {
        scene->found[i].file = &scene->argument->files[i];
        probe(scene, &scene->found[i], place);
    }
    scene->n_found = n;
    free(place);
    return split_databases(scene, err);
}
