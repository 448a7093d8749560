/* Opening and closing the two databases: default places, health, migrations, what is done about a
 * file that is damaged, newer, foreign or not to be written. See store.h. Statements and
 * transactions are db.c; the tables are in the files named after them. */
#include "core/store/store.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/store/files.h"
#include "core/store/health.h"
#include "core/store/open.h"
#include "core/store/schema.h"

#define BUSY_TIMEOUT_MS 2000

/* ---- Notices -------------------------------------------------------------------------------- */

/* Without memory for it the notice is lost, which is no reason not to open. */
void open_notice(struct store *store, const char *fmt, ...)
{
    char text[PATH_MAX + 512];
    va_list args;

    if (store->n_notices == DB_MAX_NOTICES)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    store->notices[store->n_notices] = strdup(text);
    if (store->notices[store->n_notices])
        store->n_notices++;
}

const char *const *store_notices(const struct store *store)
{
    return (const char *const *)store->notices;
}

/* ---- The cache ------------------------------------------------------------------------------ */

static const char CACHE_PRAGMAS[] =
    "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;"
    "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA main.secure_delete = OFF;"
    "PRAGMA main.cache_size = -4000; PRAGMA wal_autocheckpoint = 1000;";

static void close_db(struct store *store)
{
    db_finalize_all(store);
    sqlite3_close(store->db);
    store->db = NULL;
}

static int count_commit(void *store)
{
    ((struct store *)store)->own_commits++;
    return 0;
}

static int open_db(struct store *store, const char *path, int flags)
{
    int code = sqlite3_open_v2(path, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL);

    if (code == SQLITE_OK) {
        sqlite3_extended_result_codes(store->db, 1);
        sqlite3_busy_timeout(store->db, store->busy_timeout_ms);
        sqlite3_commit_hook(store->db, count_commit, store);
    }
    return code;
}

static const struct health_expected *expected_cache(struct health_expected *out)
{
    *out = (struct health_expected){"main", CACHE_APPLICATION_ID, schema_cache_version()};
    return out;
}

/* Brings a good or empty cache up to date. */
static int make_cache(struct store *store, int64_t version)
{
    int code = SQLITE_OK;

    /* Larger pages, since the blocks are tens of kilobytes each. No waiting for the disk: a fresh
     * file that a crash tears is found damaged and made again. */
    if (version == 0)
        code = sqlite3_exec(store->db,
                            "PRAGMA main.page_size = 16384; PRAGMA main.synchronous = OFF", NULL,
                            NULL, NULL);
    if (code == SQLITE_OK)
        code = db_write_ahead(store, "main");
    if (code == SQLITE_OK)
        code = schema_migrate_cache(store->db, (int)version);
    if (code == SQLITE_OK)
        code = sqlite3_exec(store->db, CACHE_PRAGMAS, NULL, NULL, NULL);
    return code;
}

/* Opens the file as it is. *health is GOOD when the cache is ready; otherwise it is closed. */
static int open_cache_file(struct store *store, enum health *health, struct error *err)
{
    struct health_expected expected;
    int64_t version = 0;
    int code = open_db(store, store->cache_path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);

    if (code == SQLITE_OK)
        code = health_examine(store->db, expected_cache(&expected), health, &version);
    if (code == SQLITE_OK && (*health == HEALTH_GOOD || *health == HEALTH_EMPTY)) {
        code = make_cache(store, version);
        /* a step that does not fit what is there: the tables are not those that the version promises */
        if (code == SQLITE_ERROR)
            code = SQLITE_CORRUPT;
        *health = health_is_damage(code) ? HEALTH_DAMAGED : HEALTH_GOOD;
    }
    if (code == SQLITE_OK && *health == HEALTH_GOOD)
        return OK;

    int rc = code == SQLITE_OK || health_is_damage(code) ? OK : db_error(store, code, NULL, err);

    close_db(store);
    return rc;
}

static int take_path(char **path, char *text, struct error *err)
{
    if (!text)
        return error_set(err, E_NOMEM, "no memory for a path");
    free(*path);
    *path = text;
    return OK;
}

int open_set_path(char **path, const char *text, struct error *err)
{
    return take_path(path, strdup(text), err);
}

int open_absolute_path(char **path, struct error *err)
{
    char *real = realpath(*path, NULL);

    if (real)
        return take_path(path, real, err);

    int rc = error_set(err, errno == ENOMEM ? E_NOMEM : E_IO, "cannot be found: %s",
                       strerror(errno));

    error_at(err, *path, NONE, NONE);
    return rc;
}

/* A file that the user named may be any file: what is not ours is left as it is. */
static int refuse_foreign(const struct store *store, enum health health, struct error *err)
{
    int rc = error_set(err, E_DB, "%s; expected a cache of flatline, or a name that is free",
                       health_clause(health));

    error_at(err, store->cache_path, NONE, NONE);
    return rc;
}

static int open_cache_at(struct store *store, bool is_named_by_user, struct error *err)
{
    enum health health = HEALTH_GOOD;
    char *aside = NULL;
    int rc = files_prepare(store->cache_path, err);

    if (rc == OK)
        rc = open_absolute_path(&store->cache_path, err);
    if (rc == OK)
        rc = open_cache_file(store, &health, err);
    if (rc != OK || health == HEALTH_GOOD)
        return rc;
    if (is_named_by_user && (health == HEALTH_FOREIGN || health == HEALTH_NO_DATABASE))
        return refuse_foreign(store, health, err);
    rc = files_move_aside(store->cache_path, &aside, err);
    if (rc != OK)
        return rc;
    open_notice(store, "the cache %s %s: it is now %s, and everything is read again",
                store->cache_path, health_clause(health), aside);
    free(aside);
    rc = files_prepare(store->cache_path, err);
    if (rc == OK)
        rc = open_cache_file(store, &health, err);
    if (rc == OK && health != HEALTH_GOOD) {
        rc = error_set(err, E_DB, "a fresh cache %s", health_clause(health));
        error_at(err, store->cache_path, NONE, NONE);
    }
    return rc;
}

static int open_cache_in_memory(struct store *store, struct error *err)
{
    int rc = open_set_path(&store->cache_path, "", err);

    if (rc != OK)
        return rc;

    int code = open_db(store, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);

    if (code == SQLITE_OK)
        code = make_cache(store, 0);
    return code == SQLITE_OK ? OK : db_error(store, code, NULL, err);
}

int open_private_path(struct store *store, char **path, const char *name, struct error *err)
{
    if (!store->private_folder) {
        int rc = files_private_folder(&store->private_folder, err);

        if (rc != OK)
            return rc;
    }
    return take_path(path, files_join(store->private_folder, name), err);
}

/* A file that a second connection can open too. */
static int open_cache_privately(struct store *store, struct error *err)
{
    int rc = open_private_path(store, &store->cache_path, "cache.db", err);

    return rc == OK ? open_cache_at(store, false, err) : rc;
}

static int open_cache_for_writing(struct store *store, const struct store_options *options,
                                  struct error *err)
{
    struct error why;
    int rc = options->cache_path ? open_set_path(&store->cache_path, options->cache_path, &why)
                                 : files_default_cache(&store->cache_path, &why);

    if (rc == OK)
        rc = open_cache_at(store, options->cache_path != NULL, &why);
    if (rc == OK)
        return OK;
    close_db(store);
    if (rc == E_NOMEM || rc == E_DB) {
        if (err)
            *err = why;
        return rc;
    }

    char text[sizeof why.path + sizeof why.message + 32];

    error_format(&why, text, sizeof text);
    open_notice(store, "no cache is kept, what is read now is forgotten at exit: %s", text);
    rc = open_cache_privately(store, err);
    if (rc == OK || rc == E_NOMEM)
        return rc;
    close_db(store);
    return open_cache_in_memory(store, err);
}

static int open_cache_for_reading(struct store *store, const char *path, struct error *err)
{
    struct health_expected expected;
    enum health health = HEALTH_GOOD;
    int64_t version = 0;
    int rc = path ? open_set_path(&store->cache_path, path, err)
                  : files_default_cache(&store->cache_path, err);

    if (rc != OK)
        return rc;

    int code = open_db(store, store->cache_path, SQLITE_OPEN_READONLY);

    if (code == SQLITE_OK)
        code = health_pragma(store->db, "main", "application_id", &expected.application_id);
    if (code == SQLITE_OK)
        code = health_pragma(store->db, "main", "user_version", &version);
    if (code == SQLITE_OK)
        code = sqlite3_exec(store->db, CACHE_PRAGMAS, NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return db_error(store, code, NULL, err);
    if (expected.application_id != CACHE_APPLICATION_ID)
        health = HEALTH_FOREIGN;
    else if (version != schema_cache_version())
        health = HEALTH_NEWER;
    if (health != HEALTH_GOOD) {
        rc = error_set(err, E_DB, "the cache %s", health_clause(health));
        error_at(err, store->cache_path, NONE, NONE);
    }
    return rc;
}

/* ---- Open and close ------------------------------------------------------------------------- */

static int open_both(struct store *store, const struct store_options *options, struct error *err)
{
    int rc;

    if (options->read_only) {
        rc = open_cache_for_reading(store, options->cache_path, err);
        if (rc == OK)
            rc = kept_attach_for_reading(store, options->kept_path, err);
        return rc == OK ? db_exec(store, "PRAGMA query_only = ON", err) : rc;
    }
    rc = options->in_memory    ? open_cache_in_memory(store, err)
         : options->is_private ? open_cache_privately(store, err)
                               : open_cache_for_writing(store, options, err);
    if (rc == OK)
        rc = kept_attach_for_writing(store, options, err);
    return rc;
}

int store_open(struct store **out, const struct store_options *options, struct error *err)
{
    struct store *store = calloc(1, sizeof *store);

    if (!store)
        return error_set(err, E_NOMEM, "no memory for the store");
    store->is_read_only = options->read_only;
    store->busy_timeout_ms = options->busy_timeout_ms ? options->busy_timeout_ms : BUSY_TIMEOUT_MS;

    int rc = open_both(store, options, err);

    store->own_commits = 0;
    if (rc == OK)
        *out = store;
    else
        store_close(store);
    return rc;
}

/* Damage that was met while reading: the next start begins with a fresh cache. */
static void put_damaged_cache_aside(struct store *store)
{
    char *aside = NULL;

    if (!store->is_damaged || store->is_read_only || !store->cache_path || !*store->cache_path)
        return;
    if (files_move_aside(store->cache_path, &aside, NULL) == OK)
        free(aside);
}

void store_close(struct store *store)
{
    if (!store)
        return;
    if (store->db) {
        store_rollback(store);
        db_finalize_all(store);
        if (!store->is_read_only)
            sqlite3_exec(store->db, "PRAGMA analysis_limit = 400; PRAGMA main.optimize", NULL,
                         NULL, NULL);
    }
    close_db(store);
    put_damaged_cache_aside(store);
    if (store->private_folder)
        files_remove_private_folder(store->private_folder);
    for (int i = 0; i < store->n_notices; i++)
        free(store->notices[i]);
    free(store->private_folder);
    free(store->cache_path);
    free(store->kept_path);
    free(store);
}

int store_renew(struct store **store, const struct store_options *options, struct error *err)
{
    char *path = strdup((*store)->cache_path), *aside = NULL;
    int rc = path ? OK : error_set(err, E_NOMEM, "no memory for a path");

    (*store)->is_damaged = false;       /* it is moved here, where it can be told */
    store_close(*store);
    *store = NULL;
    if (rc == OK && access(path, F_OK) == 0)    /* else it was private, or in memory */
        rc = files_move_aside(path, &aside, err);
    if (rc == OK)
        rc = store_open(store, options, err);
    if (rc == OK && aside)
        open_notice(*store, "the cache %s is damaged: it is now %s, and everything is read again",
                    path, aside);
    free(aside);
    free(path);
    return rc;
}

bool store_is_damaged(const struct store *store)
{
    return store->is_damaged;
}

const char *store_cache_path(const struct store *store)
{
    return store->cache_path;
}

const char *store_kept_path(const struct store *store)
{
    return store->kept_path;
}

int store_data_version(struct store *store, int64_t *version, struct error *err)
{
    int64_t cache = 0, kept = 0;
    int code = health_pragma(store->db, "main", "data_version", &cache);

    if (code == SQLITE_OK)
        code = health_pragma(store->db, "kept", "data_version", &kept);
    if (code != SQLITE_OK)
        return db_error(store, code, NULL, err);
    *version = cache + kept + store->own_commits;
    return OK;
}
