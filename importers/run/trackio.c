/* A run in a database of Trackio: one file a project, <project>.db in TRACKIO_DIR or below
 * ~/.cache/huggingface/trackio. A row of `metrics` is one call of log() as a JSON object, a row of
 * `configs` the settings of a run. Runs are told apart by run_id, in older databases by their name.
 *
 * The database holds the runs of many: the plan names the one that is meant (the role of the source
 * is "run <id>"), else the latest is taken. Use of GPU and CPU (system_metrics) and traces are no
 * metrics of the training. Trackio does not record how a run ended. */
#include "importers/run/trackio.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/checks/check.h"
#include "importers/peek.h"
#include "importers/run/database.h"
#include "importers/run/wandb.h"

#define ID_BYTES   256
#define MAX_ALERTS 20
#define TEXT_BYTES 300

static bool has_both(struct sqlite_file *file, const char *a, const char *b, const char *column)
{
    bool has_a = false, has_b = false;

    return sqlite_file_has(file, a, column, &has_a, NULL) == OK && has_a &&
           sqlite_file_has(file, b, column, &has_b, NULL) == OK && has_b;
}

static int probe(const struct peek *peek)
{
    struct sqlite_file *file = NULL;

    if (peek->head.n < 16 || memcmp(peek->head.p, "SQLite format 3", 16) != 0 ||
        sqlite_file_open(&file, peek->path, NULL, NULL) != OK)
        return 0;
    bool is_own = has_both(file, "metrics", "configs", "run_name") &&
                  has_both(file, "metrics", "metrics", "metrics");
    sqlite_file_close(file);
    return is_own ? 95 : 0;
}

/* ---- Which run ---- */

static const char RUNS_BY_ID[] =
    "SELECT run_id FROM metrics WHERE run_id <> '' GROUP BY run_id ORDER BY max(id) DESC";
static const char RUNS_BY_NAME[] =
    "SELECT run_name FROM metrics WHERE run_name <> '' GROUP BY run_name ORDER BY max(id) DESC";

struct database {
    struct import *import;
    struct sqlite_file *file;
    char id[ID_BYTES];
    bool has_id;
};

static bool copy_id(struct str text, char out[ID_BYTES])
{
    bool is_usable = text.n > 0 && text.n < ID_BYTES && !memchr(text.p, '\0', text.n);
    size_t n = is_usable ? text.n : 0;

    if (n)
        memcpy(out, text.p, n);
    out[n] = '\0';
    return is_usable;
}

static int list_runs(struct sqlite_file *file, const char *sql, size_t most, struct arena *arena,
                     const char **list, size_t *n, struct error *why)
{
    struct sqlite_rows *rows = NULL;
    char id[ID_BYTES];
    int more = 0, rc = sqlite_rows_open(&rows, file, sql, NULL, NULL, why);

    while (rc == OK && *n < most && (more = sqlite_rows_next(rows, why)) == 1)
        if (copy_id(sqlite_rows_text(rows, 0), id))
            list[(*n)++] = arena_strdup(arena, id);
    sqlite_rows_close(rows);
    return rc == OK && more < 0 ? more : rc;
}

int trackio_runs(const char *path, size_t most, struct arena *arena, const char *const **ids,
                 size_t *n, struct error *err)
{
    struct sqlite_file *file = NULL;
    struct error why = {0};
    bool has_id = false;
    const char **list = arena_array(arena, most + 1, sizeof *list);

    *n = 0;
    *ids = list;
    if (!list)
        return error_set(err, E_NOMEM, "no memory for the runs of a database");
    int rc = sqlite_file_open(&file, path, NULL, &why);
    if (rc == OK)
        rc = sqlite_file_has(file, "metrics", "run_id", &has_id, &why);
    if (rc == OK)
        rc = list_runs(file, has_id ? RUNS_BY_ID : RUNS_BY_NAME, most, arena, list, n, &why);
    sqlite_file_close(file);
    if (arena_failed(arena))
        rc = E_NOMEM;
    return rc == E_NOMEM ? error_set(err, E_NOMEM, "no memory for the runs of a database") : OK;
}

static int choose_run(struct database *db, struct error *err)
{
    static const char COUNT_BY_ID[] = "SELECT count(DISTINCT run_id) FROM metrics";
    static const char COUNT_BY_NAME[] = "SELECT count(DISTINCT run_name) FROM metrics";
    struct import *import = db->import;
    struct sqlite_rows *rows = NULL;
    const char *list[1];
    size_t n = 0;
    int64_t n_runs = 0;

    if (import->role && strncmp(import->role, "run ", 4) == 0) {
        (void)copy_id(str_of(import->role + 4), db->id);
        return OK;
    }
    int rc = list_runs(db->file, db->has_id ? RUNS_BY_ID : RUNS_BY_NAME, 1, import->arena, list, &n,
                       err);
    if (rc != OK || n == 0)
        return rc;
    (void)copy_id(str_of(list[0]), db->id);
    rc = sqlite_rows_open(&rows, db->file, db->has_id ? COUNT_BY_ID : COUNT_BY_NAME, NULL, NULL,
                          err);
    if (rc == OK && sqlite_rows_next(rows, NULL) == 1)
        n_runs = sqlite_rows_int(rows, 0);
    sqlite_rows_close(rows);
    return rc == OK && n_runs > 1
               ? sink_note(import->sink, NOTE_INFO, NONE, NONE, err,
                           "the database holds %lld runs: this is the latest", (long long)n_runs)
               : rc;
}

/* The statement for the run alone, by the column that tells the runs of this file apart. */
static const char *of_run(const struct database *db, char out[256], const char *select,
                          const char *order)
{
    (void)snprintf(out, 256, "%s WHERE %s = ?1 %s", select, db->has_id ? "run_id" : "run_name",
                   order);
    return out;
}

/* ---- Settings ---- */

/* `_Username`, `_Group`, `_Created` are Trackio's own. */
static int take_config(struct import *import, struct str text, struct error *err)
{
    const struct json *config;
    struct error why = {0};
    int rc = OK;

    arena_reset(import->arena);
    if (json_parse(text, false, import->arena, &config, NULL, &why) != OK)
        return import_note_error(import, &why, err);
    for (const struct json *child = json_is(config, JSON_OBJECT) ? config->child : NULL;
         child && rc == OK; child = child->next) {
        const char *name = arena_strndup(import->arena, child->key.p, child->key.n);

        if (!name)
            return error_set(err, E_NOMEM, "no memory for a setting");
        if (*name == '_' || !*name)
            continue;
        if (child->type == JSON_OBJECT && child->child)
            rc = import_settings_tree(import, SIDE_TRAIN, name, child, err);
        else
            rc = import_json_setting(import, SIDE_TRAIN, name, child, err);
    }
    return rc;
}

static int take_name(struct import *import, struct str text, struct error *err)
{
    char name[ID_BYTES];

    return copy_id(text, name) ? import_setting(import, SIDE_TRAIN, "trackio.run_name", name,
                                                VALUE_TEXT, NONE, err)
                               : OK;
}

static int read_config(struct database *db, struct error *err)
{
    struct sqlite_rows *rows = NULL;
    char sql[256];
    int more = 0,
        rc = sqlite_rows_open(&rows, db->file,
                              of_run(db, sql, "SELECT run_name FROM metrics", "LIMIT 1"),
                              db->id, NULL, err);

    if (rc == OK && (more = sqlite_rows_next(rows, err)) == 1)
        rc = take_name(db->import, sqlite_rows_text(rows, 0), err);
    sqlite_rows_close(rows);
    rows = NULL;
    if (rc != OK || more < 0)
        return rc != OK ? rc : more;
    rc = sqlite_rows_open(&rows, db->file,
                          of_run(db, sql, "SELECT config FROM configs", "ORDER BY id"),
                          db->id, NULL, err);
    while (rc == OK && (more = sqlite_rows_next(rows, err)) == 1)
        rc = take_config(db->import, sqlite_rows_text(rows, 0), err);
    sqlite_rows_close(rows);
    return rc == OK && more < 0 ? more : rc;
}

/* ---- Metrics ---- */

static const char ROWS[] = "SELECT metrics, step, strftime('%s', timestamp), "
                           "strftime('%f', timestamp) - strftime('%S', timestamp) FROM metrics";

static int note_rows(struct import *import, const struct wandb_history *history, struct error *err)
{
    int rc = OK;

    if (history->n_damaged > 0) {
        import->state = SOURCE_DAMAGED;
        rc = sink_note(import->sink, NOTE_WARN, NONE, NONE, err,
                       "%lld rows of the table metrics are no JSON objects and were left out",
                       (long long)history->n_damaged);
    }
    if (rc == OK && history->n_left_out > 0)
        rc = sink_note(import->sink, NOTE_WARN, NONE, NONE, err,
                       "%lld values were left out for their length or number",
                       (long long)history->n_left_out);
    return rc;
}

static int read_metrics(struct database *db, struct error *err)
{
    struct wandb_history history;
    struct sqlite_rows *rows = NULL;
    struct error why = {0};
    char sql[256];
    int more = 0, rc = wandb_history_begin(&history, db->import, err);

    if (rc == OK)
        rc = sqlite_rows_open(&rows, db->file, of_run(db, sql, ROWS, "ORDER BY id"), db->id, NULL, err);
    while (rc == OK && (more = sqlite_rows_next(rows, &why)) == 1) {
        double wall = (double)sqlite_rows_int(rows, 2) + sqlite_rows_double(rows, 3);

        rc = wandb_history_add_json(&history, sqlite_rows_text(rows, 0), sqlite_rows_int(rows, 1),
                                    sqlite_rows_is_null(rows, 2) ? (double)NAN : wall, err);
    }
    rc = rc == 1 ? OK : rc; /* as many as are wanted */
    sqlite_rows_close(rows);
    if (rc == OK)
        rc = note_rows(db->import, &history, err);
    wandb_history_end(&history);
    if (rc == OK && more < 0)
        return error_set(err, why.status, "%s", why.message);
    return rc;
}

/* ---- Alerts ---- */

static void shorten(struct str text, char out[TEXT_BYTES])
{
    size_t n = text.n < TEXT_BYTES ? text.n : TEXT_BYTES - 1;

    while (n > 0 && n < text.n && ((unsigned char)text.p[n] & 0xC0) == 0x80)
        n--;
    if (n)
        memcpy(out, text.p, n);
    out[n] = '\0';
}

static int note_alert(struct import *import, struct sqlite_rows *rows, struct error *err)
{
    char title[TEXT_BYTES], text[TEXT_BYTES], level[TEXT_BYTES];

    shorten(sqlite_rows_text(rows, 0), title);
    shorten(sqlite_rows_text(rows, 1), text);
    shorten(sqlite_rows_text(rows, 2), level);
    return sink_note(import->sink, NOTE_INFO, NONE, NONE, err,
                     "alert of Trackio (%s) at its step %lld: %s%s%s", level,
                     (long long)sqlite_rows_int(rows, 3), title, *text ? ": " : "", text);
}

/* What the training itself called an alert. Older databases have none. */
static int read_alerts(struct database *db, struct error *err)
{
    struct sqlite_rows *rows = NULL;
    char sql[256];
    bool has = false;
    int64_t n = 0;
    int more = 0,
        rc = sqlite_file_has(db->file, "alerts", db->has_id ? "run_id" : "run_name", &has, err);

    if (rc != OK || !has)
        return rc;
    rc = sqlite_rows_open(
        &rows, db->file,
        of_run(db, sql, "SELECT title, text, level, step FROM alerts", "ORDER BY id"),
        db->id, NULL, err);
    while (rc == OK && (more = sqlite_rows_next(rows, err)) == 1)
        if (n++ < MAX_ALERTS)
            rc = note_alert(db->import, rows, err);
    sqlite_rows_close(rows);
    if (rc == OK && n > MAX_ALERTS)
        rc = sink_note(db->import->sink, NOTE_INFO, NONE, NONE, err, "%lld more alerts of Trackio",
                       (long long)(n - MAX_ALERTS));
    return rc == OK && more < 0 ? more : rc;
}

/* ---- The file ---- */

static int read_database(void *ctx, struct sqlite_file *file, struct error *err)
{
    struct database *db = ctx;

    db->file = file;
    int rc = sqlite_file_has(db->file, "metrics", "run_id", &db->has_id, err);

    if (rc == OK)
        rc = choose_run(db, err);
    if (rc == OK && !*db->id)
        return sink_note(db->import->sink, NOTE_INFO, NONE, NONE, err, "the database holds no run");
    if (rc == OK)
        rc = read_config(db, err);
    if (rc == OK)
        rc = read_metrics(db, err);
    return rc == OK ? read_alerts(db, err) : rc;
}

static int run(struct import *import, struct error *err)
{
    struct database db = {.import = import};

    import->n_rows_are = "metric rows";
    return database_import(import, read_database, &db, err);
}

const struct importer importer_trackio = {
    .id = "trackio",
    .title = "database of Trackio",
    .hint = "<project>.db in TRACKIO_DIR or ~/.cache/huggingface/trackio",
    .supplies = NEEDS_TRAIN_SERIES | NEEDS_EVAL_SERIES | NEEDS_SETTINGS,
    .version = 1,
    .role = "metrics",
    .is_folder = true, /* its write-ahead log grows beside it */
    .probe = probe,
    .run = run,
};
