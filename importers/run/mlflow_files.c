/* A run in MLflow's store of folders (FORMATS.md B6): meta.yaml, and beside it a file for each
 * metric, parameter and tag. All of it is one source, meta.yaml's. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/number.h"
#include "core/checks/check.h"
#include "core/read/source.h"
#include "importers/peek.h"
#include "importers/run/mlflow.h"

#define MAX_DEPTH   5
#define MAX_FILES   5000 /* of one kind */
#define PATH_BYTES  4096
#define LINE_BYTES  ((size_t)4 << 10)
#define PARAM_BYTES ((size_t)64 << 10)
#define LOOK_EVERY  256
#define MAX_NOTES   5

static int probe(const struct peek *peek)
{
    bool is_run = peek_name_is(peek, "meta.yaml") && peek_has_key(peek, "artifact_uri") &&
                  (peek_has_key(peek, "run_id") || peek_has_key(peek, "run_uuid"));

    return is_run ? 95 : 0;
}

struct store {
    struct import *import;
    size_t n_files, n_bad, n_left_out;
};

/* What to do with the file of one key. */
typedef int take_file(struct store *store, const char *path, const char *key, struct error *err);

/* ---- Folders ---- */

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int walk(struct store *store, const char *folder, const char *prefix, int depth,
                take_file *take, struct error *err);

static int visit(struct store *store, const char *folder, const char *prefix, const char *name,
                 int depth, take_file *take, struct error *err)
{
    char path[PATH_BYTES], key[PATH_BYTES];
    struct stat st;
    bool fits = snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
                snprintf(key, sizeof key, "%s%s", prefix, name) < (int)sizeof key - 1;

    if (!fits || lstat(path, &st) != 0)
        return OK;
    if (S_ISDIR(st.st_mode)) {
        strncat(key, "/", sizeof key - strlen(key) - 1);
        return depth < MAX_DEPTH ? walk(store, path, key, depth + 1, take, err) : OK;
    }
    if (!S_ISREG(st.st_mode))
        return OK;
    if (store->n_files++ >= MAX_FILES) {
        store->n_left_out++;
        return OK;
    }
    return take(store, path, key, err);
}

/* In order of the names; a slash in a key is a folder. */
static int walk(struct store *store, const char *folder, const char *prefix, int depth,
                take_file *take, struct error *err)
{
    struct dirent **names = NULL;
    int rc = OK, n = scandir(folder, &names, visible, alphasort);

    for (int i = 0; i < n; i++) {
        if (rc == OK)
            rc = visit(store, folder, prefix, names[i]->d_name, depth, take, err);
        free(names[i]);
    }
    free(names);
    return rc;
}

/* ---- Files ---- */

struct measured {
    int64_t milliseconds, step;
    double value;
};

static bool next_field(struct str *line, struct str *field)
{
    return str_split(line, ' ', field) && field->n > 0;
}

/* "timestamp value step", the step missing in old stores; more may follow. */
static bool measured_of(struct str line, struct measured *out)
{
    struct str field;
    double number;

    *out = (struct measured){.milliseconds = NONE};
    if (!next_field(&line, &field) || !number_parse_any(field, &number) || !(fabs(number) < 9e15))
        return false;
    out->milliseconds = (int64_t)number;
    if (!next_field(&line, &field) || !number_parse_any(field, &out->value))
        return false;
    if (!next_field(&line, &field))
        return true;
    if (!number_parse_any(field, &number) || !(fabs(number) < 9e15))
        return false;
    out->step = (int64_t)number;
    return true;
}

static int note_bad(struct store *store, const char *key, int64_t line, struct error *err)
{
    store->import->state = SOURCE_DAMAGED;
    if (store->n_bad++ >= MAX_NOTES)
        return OK;
    return sink_note(store->import->sink, NOTE_WARN, NONE, NONE, err,
                     "metrics/%.200s line %lld: expected a time, a value and a step", key,
                     (long long)line);
}

/* Where no step was ever given, all are 0. */
static int look_for_steps(struct source_file *file, bool *has_steps, struct error *err)
{
    struct source_line line;
    struct measured measured;
    int64_t n = 0;
    int rc;

    *has_steps = false;
    while (!*has_steps && (rc = source_next_line(file, LINE_BYTES, &line, err)) == 1)
        if (measured_of(line.text, &measured)) {
            *has_steps = measured.step != 0;
            n++;
        }
    *has_steps |= n == 1;
    return source_seek(file, 0, err);
}

static int read_metric(struct store *store, struct source_file *file, const char *key,
                       struct error *err)
{
    struct import *import = store->import;
    struct mlflow_metric metric;
    struct source_line line;
    struct measured measured;
    bool has_steps;
    int rc = look_for_steps(file, &has_steps, err), more = 0;

    if (rc == OK)
        rc = mlflow_metric_begin(&metric, import, key, has_steps, err);
    while (rc == OK && (more = source_next_line(file, LINE_BYTES, &line, err)) == 1) {
        if (line.number % LOOK_EVERY == 0 && import_is_cancelled(import))
            return error_set(err, E_CANCELLED, "import cancelled");
        if (import->max_rows > 0 && metric.n >= import->max_rows)
            return OK;
        if (line.text.n == 0)
            continue;
        if (measured_of(line.text, &measured))
            rc = mlflow_metric_add(&metric, measured.milliseconds, measured.value, measured.step,
                                   err);
        else if (line.whole)
            rc = note_bad(store, key, line.number, err);
        else
            import->state = SOURCE_GROWING;
    }
    return more < 0 ? more : rc;
}

static int take_metric(struct store *store, const char *path, const char *key, struct error *err)
{
    struct source_file *file = NULL;
    struct error why = {0};
    int rc = source_open(&file, path, &why);

    if (rc == OK)
        rc = read_metric(store, file, key, &why);
    source_close(file);
    return rc == OK ? OK : import_note_error(store->import, &why, err);
}

static int take_text(struct store *store, const char *path, const char *key, struct error *err,
                     int (*put)(struct import *import, const char *key, const char *value,
                                struct error *err))
{
    struct error why = {0};
    char *text = NULL;
    size_t n = 0;
    int rc = source_slurp(path, PARAM_BYTES, &text, &n, &why);

    if (rc != OK)
        return import_note_error(store->import, &why, err);
    if (strlen(text) == n)
        rc = put(store->import, key, text, err);
    free(text);
    return rc;
}

static int take_param(struct store *store, const char *path, const char *key, struct error *err)
{
    return take_text(store, path, key, err, mlflow_param);
}

static int take_tag(struct store *store, const char *path, const char *key, struct error *err)
{
    return take_text(store, path, key, err, mlflow_tag);
}

/* ---- meta.yaml ---- */

static int take_meta(struct import *import, const struct json *meta, struct error *err)
{
    static const char *const FIELDS[] = {"run_id", "run_uuid", "run_name", "source_version"};
    static const char *const STATUS[] = {"",         "RUNNING", "SCHEDULED",
                                         "FINISHED", "FAILED",  "KILLED"};
    const struct json *status = json_get(meta, "status");
    int rc = OK;

    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS && rc == OK; i++) {
        const struct json *field = json_get(meta, FIELDS[i]);
        char value[256];

        if (!field || (field->type != JSON_STRING && field->type != JSON_NUMBER))
            continue;
        snprintf(value, sizeof value, "%.*s", (int)str_first(field->text, 255).n, field->text.p);
        rc = mlflow_tag(import, FIELDS[i], value, err);
    }
    if (rc == OK && status && status->type == JSON_NUMBER && status->number >= 1 &&
        status->number <= 5)
        rc = mlflow_status(import, STATUS[(int)status->number], err);
    return rc;
}

static int read_folder(struct store *store, const char *name, take_file *take, struct error *err)
{
    const char *slash = strrchr(store->import->path, '/');
    char folder[PATH_BYTES];
    int n = snprintf(folder, sizeof folder, "%.*s/%s",
                     slash ? (int)(slash - store->import->path) : 0, store->import->path, name);

    if (!slash || n >= (int)sizeof folder)
        return OK;
    store->n_files = 0;
    return walk(store, folder, "", 0, take, err);
}

static int run(struct import *import, struct error *err)
{
    struct store store = {.import = import};
    const struct json *meta;

    import->n_rows_are = "values";
    import->state = SOURCE_WHOLE;
    int rc = import_yaml(import, &meta, err);
    if (rc == OK && json_is(meta, JSON_OBJECT))
        rc = take_meta(import, meta, err);
    if (rc == OK)
        rc = read_folder(&store, "params", take_param, err);
    if (rc == OK)
        rc = read_folder(&store, "tags", take_tag, err);
    if (rc == OK)
        rc = read_folder(&store, "metrics", take_metric, err);
    if (rc == OK && store.n_left_out > 0)
        rc = sink_note(import->sink, NOTE_WARN, NONE, NONE, err,
                       "%zu files beyond %d were left out", store.n_left_out, MAX_FILES);
    return rc;
}

const struct importer importer_mlflow_files = {
    .id = "mlflow_files",
    .title = "run in MLflow's folders",
    .hint = "mlruns/<experiment>/<run>/meta.yaml",
    .supplies = NEEDS_TRAIN_SERIES | NEEDS_EVAL_SERIES | NEEDS_SETTINGS,
    .version = 1,
    .role = "metrics",
    .is_folder = true,
    .probe = probe,
    .run = run,
};
