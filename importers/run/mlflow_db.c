/* A run in MLflow's database (FORMATS.md B6). A database holds the runs of many: the plan names the
 * one that is meant (the role of the source is "run <id>"), else the latest is taken. Columns that
 * an older schema lacks are done without; what a newer one adds is not needed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/read/source.h"
#include "importers/peek.h"
#include "importers/run/database.h"
#include "importers/run/mlflow.h"

#define ID_BYTES   128
#define KEYS_MAX   5000
#define LOOK_EVERY 256
#define TEXT_BYTES ((size_t)64 << 10)
#define KEY_BYTES  512

static bool is_database(const struct peek *peek)
{
    return peek->head.n >= 16 && memcmp(peek->head.p, "SQLite format 3", 16) == 0;
}

/* Its tables stand on any page: the database is asked. */
static bool has_tables(const char *path)
{
    struct sqlite_file *file = NULL;
    bool has_runs = false, has_metrics = false;

    if (sqlite_file_open(&file, path, NULL, NULL) != OK)
        return false;
    bool is_mlflow = sqlite_file_has(file, "runs", "run_uuid", &has_runs, NULL) == OK && has_runs &&
                     sqlite_file_has(file, "metrics", "run_uuid", &has_metrics, NULL) == OK &&
                     has_metrics;
    sqlite_file_close(file);
    return is_mlflow;
}

static int probe(const struct peek *peek)
{
    if (is_database(peek) && has_tables(peek->path))
        return 95;
    return peek_name_is(peek, "mlflow.db") ? 60 : 0;
}

/* ---- Which run ---- */

static const char RUNS[] = "SELECT run_uuid FROM runs WHERE run_uuid IS NOT NULL "
                           "ORDER BY start_time DESC, run_uuid";

int mlflow_db_runs(const char *path, size_t most, struct arena *arena, const char *const **ids,
                   size_t *n, struct error *err)
{
    struct sqlite_file *file = NULL;
    struct sqlite_rows *rows = NULL;
    struct error why = {0};
    const char **list = arena_array(arena, most + 1, sizeof *list);

    *n = 0;
    *ids = list;
    if (!list)
        return error_set(err, E_NOMEM, "no memory for the runs of a database");
    int rc = sqlite_file_open(&file, path, NULL, &why);
    if (rc == OK)
        rc = sqlite_rows_open(&rows, file, RUNS, NULL, NULL, &why);
    while (rc == OK && *n < most && sqlite_rows_next(rows, &why) == 1) {
        struct str id = sqlite_rows_text(rows, 0);

        if (id.n > 0 && id.n < ID_BYTES && !memchr(id.p, '\0', id.n))
            list[(*n)++] = arena_strndup(arena, id.p, id.n);
    }
    sqlite_rows_close(rows);
    sqlite_file_close(file);
    return why.status == E_NOMEM ? error_set(err, E_NOMEM, "%s", why.message) : OK;
}

struct database {
    struct import *import;
    struct sqlite_file *file;
    char id[ID_BYTES];
    bool has_step, has_nan;
    size_t n_left_out;
};

static void copy_text(struct str text, char *out, size_t n)
{
    size_t k = text.n < n ? text.n : 0;

    if (k && memchr(text.p, '\0', k))
        k = 0;
    if (k)
        memcpy(out, text.p, k);
    out[k] = '\0';
}

static int choose_run(struct database *db, struct error *err)
{
    struct import *import = db->import;
    struct sqlite_rows *rows = NULL;
    int64_t n = 0;
    int rc, more = 0;

    if (import->role && strncmp(import->role, "run ", 4) == 0) {
        copy_text(str_of(import->role + 4), db->id, sizeof db->id);
        return OK;
    }
    rc = sqlite_rows_open(&rows, db->file, RUNS, NULL, NULL, err);
    while (rc == OK && (more = sqlite_rows_next(rows, err)) == 1)
        if (n++ == 0)
            copy_text(sqlite_rows_text(rows, 0), db->id, sizeof db->id);
    sqlite_rows_close(rows);
    if (rc != OK || more < 0)
        return rc != OK ? rc : more;
    return n > 1 ? sink_note(import->sink, NOTE_INFO, NONE, NONE, err,
                             "the database holds %lld runs: this is the latest", (long long)n)
                 : OK;
}

/* ---- Texts ---- */

static int read_pairs(struct database *db, const char *sql,
                      int (*put)(struct import *import, const char *key, const char *value,
                                 struct error *err),
                      struct error *err)
{
    struct sqlite_rows *rows = NULL;
    char key[KEY_BYTES];
    int more = 0, rc = sqlite_rows_open(&rows, db->file, sql, db->id, NULL, err);

    while (rc == OK && (more = sqlite_rows_next(rows, err)) == 1) {
        struct str value = sqlite_rows_text(rows, 1);

        copy_text(sqlite_rows_text(rows, 0), key, sizeof key);
        if (!*key || value.n > TEXT_BYTES || memchr(value.p, '\0', value.n)) {
            db->n_left_out++;
            continue;
        }
        rc = put(db->import, key, value.p, err); /* SQLite's texts end with a NUL */
    }
    sqlite_rows_close(rows);
    return rc == OK && more < 0 ? more : rc;
}

static int read_run(struct database *db, struct error *err)
{
    struct sqlite_rows *rows = NULL;
    char status[64];
    int rc = mlflow_tag(db->import, "run_id", db->id, err);

    if (rc == OK)
        rc = sqlite_rows_open(&rows, db->file, "SELECT status FROM runs WHERE run_uuid = ?1",
                              db->id, NULL, err);
    if (rc != OK)
        return rc;
    int more = sqlite_rows_next(rows, err);
    copy_text(more == 1 ? sqlite_rows_text(rows, 0) : str_of(""), status, sizeof status);
    sqlite_rows_close(rows);
    if (more < 0)
        return more;
    return *status ? mlflow_status(db->import, status, err) : OK;
}

/* ---- Metrics ---- */

/* MLflow has no NaN in its column, and the largest double for an infinity. */
static double value_of(struct sqlite_rows *rows)
{
    double value = sqlite_rows_double(rows, 0);

    if (sqlite_rows_int(rows, 3) != 0)
        return (double)NAN;
    if (fabs(value) >= 1.7976931348623157e308)
        return value < 0 ? -(double)INFINITY : (double)INFINITY;
    return value;
}

static int steps_are_stated(struct database *db, const char *key, bool *are, struct error *err)
{
    struct sqlite_rows *rows = NULL;
    int rc = OK;

    *are = false;
    if (!db->has_step)
        return OK;
    rc = sqlite_rows_open(&rows, db->file,
                          "SELECT count(*) = 1 OR max(abs(step)) > 0 FROM metrics "
                          "WHERE key = ?1 AND run_uuid = ?2",
                          key, db->id, err);
    if (rc == OK) {
        rc = sqlite_rows_next(rows, err);
        *are = rc == 1 && sqlite_rows_int(rows, 0) != 0;
    }
    sqlite_rows_close(rows);
    return rc < 0 ? rc : OK;
}

static int read_metric(struct database *db, const char *key, struct error *err)
{
    struct import *import = db->import;
    struct mlflow_metric metric;
    struct sqlite_rows *rows = NULL;
    char sql[256];
    bool has_steps;
    int more = 0, rc = steps_are_stated(db, key, &has_steps, err);

    snprintf(sql, sizeof sql,
             "SELECT value, timestamp, %s, %s FROM metrics WHERE key = ?1 AND run_uuid = ?2 "
             "ORDER BY timestamp%s",
             db->has_step ? "step" : "0", db->has_nan ? "is_nan" : "0",
             db->has_step ? ", step" : "");
    if (rc == OK)
        rc = mlflow_metric_begin(&metric, import, key, has_steps, err);
    if (rc == OK)
        rc = sqlite_rows_open(&rows, db->file, sql, key, db->id, err);
    while (rc == OK && (more = sqlite_rows_next(rows, err)) == 1) {
        if (import->max_rows > 0 && metric.n >= import->max_rows)
            break;
        rc = mlflow_metric_add(&metric, sqlite_rows_int(rows, 1), value_of(rows),
                               sqlite_rows_int(rows, 2), err);
    }
    sqlite_rows_close(rows);
    return rc == OK && more < 0 ? more : rc;
}

static int read_metrics(struct database *db, struct error *err)
{
    struct sqlite_rows *keys = NULL;
    char key[KEY_BYTES];
    int64_t n = 0;
    int more = 0, rc = sqlite_file_has(db->file, "metrics", "step", &db->has_step, err);

    if (rc == OK)
        rc = sqlite_file_has(db->file, "metrics", "is_nan", &db->has_nan, err);
    if (rc == OK)
        rc = sqlite_rows_open(&keys, db->file,
                              "SELECT DISTINCT key FROM metrics WHERE run_uuid = ?1 ORDER BY key",
                              db->id, NULL, err);
    while (rc == OK && (more = sqlite_rows_next(keys, err)) == 1) {
        copy_text(sqlite_rows_text(keys, 0), key, sizeof key);
        if (!*key || n++ >= KEYS_MAX)
            db->n_left_out++;
        else
            rc = read_metric(db, key, err);
    }
    sqlite_rows_close(keys);
    return rc == OK && more < 0 ? more : rc;
}

/* ---- The file ---- */

static int read_database(void *ctx, struct sqlite_file *file, struct error *err)
{
    struct database *db = ctx;

    db->file = file;
    int rc = choose_run(db, err);

    if (rc == OK && !*db->id)
        return sink_note(db->import->sink, NOTE_INFO, NONE, NONE, err, "the database holds no run");
    if (rc == OK)
        rc = read_run(db, err);
    if (rc == OK)
        rc = read_pairs(db, "SELECT key, value FROM params WHERE run_uuid = ?1 ORDER BY key",
                        mlflow_param, err);
    if (rc == OK)
        rc = read_pairs(db, "SELECT key, value FROM tags WHERE run_uuid = ?1 ORDER BY key",
                        mlflow_tag, err);
    return rc == OK ? read_metrics(db, err) : rc;
}

static int run(struct import *import, struct error *err)
{
    struct database db = {.import = import};

    import->n_rows_are = "values";
    int rc = database_import(import, read_database, &db, err);
    if (rc == OK && db.n_left_out > 0)
        rc = sink_note(import->sink, NOTE_WARN, NONE, NONE, err,
                       "%zu names or values were left out for their length or number",
                       db.n_left_out);
    return rc;
}

const struct importer importer_mlflow_db = {
    .id = "mlflow_db",
    .title = "database of MLflow",
    .hint = "mlflow.db",
    .supplies = NEEDS_TRAIN_SERIES | NEEDS_EVAL_SERIES | NEEDS_SETTINGS,
    .version = 1,
    .role = "metrics",
    .is_folder = true, /* its write-ahead log grows beside it */
    .probe = probe,
    .run = run,
};
