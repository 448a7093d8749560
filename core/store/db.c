/* Statements, binding, transactions and the translation of SQLite's errors. See db.h. Opening is
 * store.c; what a table means is in the file named after it. */
#include "core/store/db.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"

/* ---- Errors --------------------------------------------------------------------------------- */

static const char *path_of(const struct store *store, bool is_kept)
{
    const char *path = is_kept ? store->kept_path : store->cache_path;

    return path && *path ? path : "the database in memory";
}

static int say(struct store *store, int code, bool is_kept, struct error *err)
{
    int system = sqlite3_system_errno(store->db);

    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return error_set(err, E_NOMEM, "no memory for the database");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_set(err, E_DB, "locked by another program for longer than %.3g s",
                         store->busy_timeout_ms / 1000.0);
    case SQLITE_FULL:
        return error_set(err, E_IO, "no space left for the database");
    case SQLITE_IOERR:
        return error_set(err, E_IO, "the database cannot be read or written: %s",
                         system ? strerror(system) : "input or output error");
    case SQLITE_READONLY:
        return error_set(err, E_IO, "the database cannot be written");
    case SQLITE_CANTOPEN:
        return error_set(err, E_IO, "the database cannot be opened: %s",
                         system ? strerror(system) : "no such file or no right to it");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        if (!is_kept)
            store->is_damaged = true;
        return error_set(err, E_DB, "is damaged, and set right on the next start: %s",
                         sqlite3_errstr(code));
    default:
        return error_set(err, E_DB, "database: %s", sqlite3_errmsg(store->db));
    }
}

int db_error(struct store *store, int code, const sqlite3_stmt *statement, struct error *err)
{
    const char *sql = statement ? sqlite3_sql((sqlite3_stmt *)(uintptr_t)statement) : NULL;
    bool is_kept = sql && strstr(sql, "kept.");
    int status = say(store, code, is_kept, err);

    error_at(err, path_of(store, is_kept), NONE, NONE);
    log_line("database: code %d: %s", code, sql ? sql : "");
    return status;
}

/* ---- Statements ----------------------------------------------------------------------------- */

static size_t slot_of(const struct store *store, const char *sql)
{
    size_t i = ((uintptr_t)sql * 0x9e3779b97f4a7c15u) >> 56;

    while (store->statements[i].sql && store->statements[i].sql != sql)
        i = (i + 1) % DB_MAX_STATEMENTS;
    return i;
}

int db_prepare(struct store *store, const char *sql, sqlite3_stmt **out, struct error *err)
{
    size_t i = slot_of(store, sql);
    sqlite3_stmt *statement = store->statements[i].statement;

    store->bind_status = SQLITE_OK;
    if (statement) {
        sqlite3_reset(statement);
        sqlite3_clear_bindings(statement);
        *out = statement;
        return OK;
    }

    int code = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);

    if (code != SQLITE_OK) {
        bool is_kept = strstr(sql, "kept.");
        int status = say(store, code, is_kept, err);

        error_at(err, path_of(store, is_kept), NONE, NONE);
        return status;
    }
    if (store->n_statements >= DB_MAX_STATEMENTS * 3 / 4)
        BUG("more than %d different statements", store->n_statements);
    store->statements[i].sql = sql;
    store->statements[i].statement = statement;
    store->n_statements++;
    *out = statement;
    return OK;
}

int db_step(struct store *store, sqlite3_stmt *statement, struct error *err)
{
    int code = store->bind_status;

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        return 1;
    if (code == SQLITE_DONE) {
        sqlite3_reset(statement);
        return 0;
    }

    int status = db_error(store, code, statement, err);

    sqlite3_reset(statement);
    return status;
}

int db_run(struct store *store, sqlite3_stmt *statement, struct error *err)
{
    int rc = db_step(store, statement, err);

    if (rc == 1)
        sqlite3_reset(statement);
    return rc < 0 ? rc : OK;
}

int db_run_id(struct store *store, const char *sql, int64_t id, struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store, sql, &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, id);
    return db_run(store, statement, err);
}

int db_exec(struct store *store, const char *sql, struct error *err)
{
    int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

    if (code == SQLITE_OK)
        return OK;

    int status = say(store, code, false, err);

    error_at(err, path_of(store, false), NONE, NONE);
    return status;
}

void db_finalize_all(struct store *store)
{
    for (int i = 0; i < DB_MAX_STATEMENTS; i++) {
        sqlite3_finalize(store->statements[i].statement);
        store->statements[i].statement = NULL;
        store->statements[i].sql = NULL;
    }
    store->n_statements = 0;
}

/* ---- Binding and columns -------------------------------------------------------------------- */

static void keep(struct store *store, int code)
{
    if (store->bind_status == SQLITE_OK)
        store->bind_status = code;
}

void db_bind_text(struct store *store, sqlite3_stmt *statement, int i, const char *text)
{
    if (text)
        keep(store, sqlite3_bind_text(statement, i, text, -1, SQLITE_STATIC));
    else
        keep(store, sqlite3_bind_null(statement, i));
}

void db_bind_int(struct store *store, sqlite3_stmt *statement, int i, int64_t value)
{
    keep(store, sqlite3_bind_int64(statement, i, value));
}

void db_bind_count(struct store *store, sqlite3_stmt *statement, int i, int64_t value)
{
    if (value == NONE)
        keep(store, sqlite3_bind_null(statement, i));
    else
        keep(store, sqlite3_bind_int64(statement, i, value));
}

void db_bind_blob(struct store *store, sqlite3_stmt *statement, int i, const void *bytes,
                  size_t n)
{
    if (bytes)
        keep(store, sqlite3_bind_blob64(statement, i, bytes, n, SQLITE_STATIC));
    else
        keep(store, sqlite3_bind_null(statement, i));
}

void db_bind_double(struct store *store, sqlite3_stmt *statement, int i, double value,
                    uint8_t bits[8])
{
    uint64_t word;

    memcpy(&word, &value, sizeof word);
    for (int b = 0; b < 8; b++)
        bits[b] = (uint8_t)(word >> (8 * b));
    db_bind_blob(store, statement, i, bits, 8);
}

const char *db_text(sqlite3_stmt *statement, int column, struct arena *arena)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);

    if (!text)      /* NULL, or SQLite had no memory, which db_load sees */
        return sqlite3_column_type(statement, column) == SQLITE_NULL ? NULL : "";
    return arena_strndup(arena, text, (size_t)sqlite3_column_bytes(statement, column));
}

int64_t db_count(sqlite3_stmt *statement, int column)
{
    if (sqlite3_column_type(statement, column) == SQLITE_NULL)
        return NONE;
    return sqlite3_column_int64(statement, column);
}

double db_double(sqlite3_stmt *statement, int column)
{
    const uint8_t *bits = sqlite3_column_blob(statement, column);
    uint64_t word = 0;
    double value;

    if (!bits || sqlite3_column_bytes(statement, column) != 8)
        return NAN;
    for (int b = 0; b < 8; b++)
        word |= (uint64_t)bits[b] << (8 * b);
    memcpy(&value, &word, sizeof value);
    return value;
}

/* ---- Lists ---------------------------------------------------------------------------------- */

/* Zeroed room for one more item; NULL when the arena has failed. */
static void *list_add(struct db_list *list)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 16;
        void *items = arena_grow(list->arena, list->items, list->n * list->item_bytes,
                                 capacity * list->item_bytes);

        if (!items)
            return NULL;
        list->items = items;
        list->capacity = capacity;
    }
    return (char *)list->items + list->n++ * list->item_bytes;
}

int db_arena_check(const struct arena *arena, const char *what, struct error *err)
{
    if (arena_failed(arena))
        return error_set(err, E_NOMEM, "no memory for %s after %zu bytes", what,
                         arena_used(arena));
    return OK;
}

int db_load(struct store *store, sqlite3_stmt *statement, struct db_list *list, db_fill_fn *fill,
            struct error *err)
{
    int rc;

    while ((rc = db_step(store, statement, err)) == 1) {
        void *item = list_add(list);

        if (item)
            fill(statement, list->arena, item);
        if (arena_failed(list->arena)) {
            sqlite3_reset(statement);
            return db_arena_check(list->arena, "a list from the database", err);
        }
        if (sqlite3_errcode(store->db) == SQLITE_NOMEM) {
            sqlite3_reset(statement);
            return error_set(err, E_NOMEM, "no memory for a list from the database");
        }
    }
    return rc;
}

int db_load_by_id(struct store *store, const char *sql, int64_t id, struct db_list *list,
                  db_fill_fn *fill, struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store, sql, &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, id);
    return db_load(store, statement, list, fill, err);
}

int db_load_by_key(struct store *store, const char *sql, const char *key, struct db_list *list,
                   db_fill_fn *fill, struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store, sql, &statement, err);

    if (rc != OK)
        return rc;
    db_bind_text(store, statement, 1, key);
    return db_load(store, statement, list, fill, err);
}

/* ---- Transactions --------------------------------------------------------------------------- */

/* An UPDATE of no row takes the write lock of the cache at once and waits for it, but, unlike
 * BEGIN IMMEDIATE, leaves the kept database free for other programs. */
static int begin(struct store *store, struct error *err)
{
    int rc = db_exec(store, "BEGIN", err);

    if (rc == OK && !store->is_read_only)
        rc = db_exec(store, "UPDATE main.run SET id = id WHERE 0", err);
    if (rc != OK && !sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

/* A failed commit leaves nothing: the caller may try the whole again. */
static int commit(struct store *store, struct error *err)
{
    if (sqlite3_get_autocommit(store->db))
        return error_set(err, E_DB, "the database gave the transaction up");

    int rc = db_exec(store, "COMMIT", err);

    if (rc != OK && !sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

static void rollback(struct store *store)
{
    if (!sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

int store_begin(struct store *store, struct error *err)
{
    db_batch_leave(store);
    if (store->depth == 0) {
        int rc = begin(store, err);

        if (rc != OK)
            return rc;
    }
    store->depth++;
    return OK;
}

int store_commit(struct store *store, struct error *err)
{
    if (store->depth == 0)
        BUG("a commit outside a transaction");
    if (--store->depth > 0)
        return OK;
    return commit(store, err);
}

void store_rollback(struct store *store)
{
    store->depth = 0;
    rollback(store);
}

int db_batch_open(struct store *store, struct error *err)
{
    if (store->batch_failure.status != OK) {
        int status = store->batch_failure.status;

        if (err)
            *err = store->batch_failure;
        store->batch_failure.status = OK;
        return status;
    }
    if (store->depth > 0 || store->is_batch)
        return OK;

    int rc = begin(store, err);

    if (rc == OK)
        store->is_batch = true;
    return rc;
}

int db_batch_commit(struct store *store, struct error *err)
{
    if (!store->is_batch)
        return OK;
    store->is_batch = false;
    return commit(store, err);
}

void db_batch_leave(struct store *store)
{
    struct error met;

    if (store->is_batch && db_batch_commit(store, &met) != OK)
        store->batch_failure = met;
}

void db_batch_rollback(struct store *store)
{
    store->batch_failure.status = OK;
    if (store->is_batch)
        rollback(store);
    store->is_batch = false;
}

int db_write_ahead(struct store *store, const char *schema)
{
    enum { PAUSE_MS = 10 };
    char sql[64];
    int code;

    snprintf(sql, sizeof sql, "PRAGMA %s.journal_mode = WAL", schema);
    for (int waited = 0;; waited += PAUSE_MS) {
        code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
        if ((code & 0xff) != SQLITE_BUSY || waited >= store->busy_timeout_ms)
            return code;
        sqlite3_sleep(PAUSE_MS);
    }
}
