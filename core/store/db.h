/* Statements, binding and transactions: what the files of core/store share. Private to them.
 *
 * A statement is prepared once per connection, found again by the address of its SQL (always a
 * string literal or a constant), and reset before it is handed out. A failed bind is remembered
 * and comes out of db_step. Errors name the database file and never leave SQLite's codes. */
#ifndef CORE_STORE_DB_H
#define CORE_STORE_DB_H

#include <sqlite3.h>

#include "core/store/store.h"

#define DB_MAX_STATEMENTS 256       /* slots, at most three quarters used: statements are few */
#define DB_MAX_NOTICES    8

struct store {
    sqlite3 *db;
    char *cache_path;               /* "" in memory */
    char *kept_path;                /* "" in memory */
    char *private_folder;           /* removed on closing, or NULL */
    int busy_timeout_ms;
    bool is_read_only;
    bool is_damaged;                /* met SQLITE_CORRUPT in the cache: moved aside on closing */

    int depth;                      /* of store_begin */
    bool is_batch;                  /* the open transaction is a sink's: it may be committed early */
    struct error batch_failure;     /* of such an early commit; the sink takes it */
    int bind_status;                /* first failed bind of the current statement */
    int64_t own_commits;

    struct {
        const char *sql;
        sqlite3_stmt *statement;
    } statements[DB_MAX_STATEMENTS];
    int n_statements;

    char *notices[DB_MAX_NOTICES + 1];
    int n_notices;
};

/* ---- Errors ---- */

/* Translates SQLite's code of the last call into err and returns the status. */
int db_error(struct store *store, int code, const sqlite3_stmt *statement, struct error *err);

/* ---- Statements ---- */

MUST_CHECK int db_prepare(struct store *store, const char *sql, sqlite3_stmt **out,
                          struct error *err);
/* 1 a row, 0 done (and reset), negative enum status (and reset). */
MUST_CHECK int db_step(struct store *store, sqlite3_stmt *statement, struct error *err);
/* A statement that gives no rows. */
MUST_CHECK int db_run(struct store *store, sqlite3_stmt *statement, struct error *err);
/* Prepares, binds one id as ?1 and runs. */
MUST_CHECK int db_run_id(struct store *store, const char *sql, int64_t id, struct error *err);
/* Without the cache of statements, for pragmas and schemas. */
MUST_CHECK int db_exec(struct store *store, const char *sql, struct error *err);
void db_finalize_all(struct store *store);

/* Bound memory must stay until the statement is reset. NULL text binds NULL. */
void db_bind_text(struct store *store, sqlite3_stmt *statement, int i, const char *text);
void db_bind_int(struct store *store, sqlite3_stmt *statement, int i, int64_t value);
void db_bind_count(struct store *store, sqlite3_stmt *statement, int i, int64_t value); /* NONE */
void db_bind_blob(struct store *store, sqlite3_stmt *statement, int i, const void *bytes,
                  size_t n);                        /* bytes NULL binds NULL */
/* A double with NaN and infinities as they are: 8 bytes, little-endian. `bits` keeps them until
 * the statement ran. */
void db_bind_double(struct store *store, sqlite3_stmt *statement, int i, double value,
                    uint8_t bits[8]);

const char *db_text(sqlite3_stmt *statement, int column, struct arena *arena);  /* NULL: NULL */
int64_t db_count(sqlite3_stmt *statement, int column);                          /* NULL: NONE */
double db_double(sqlite3_stmt *statement, int column);                          /* NULL: NaN */

/* ---- Lists: rows of unknown number into one array of the arena ---- */

struct db_list {
    struct arena *arena;
    void *items;
    size_t n, capacity, item_bytes;
};
/* E_NOMEM when the arena failed, naming what was loaded. */
MUST_CHECK int db_arena_check(const struct arena *arena, const char *what, struct error *err);

/* Fills one item from the row the statement stands on. */
typedef void db_fill_fn(sqlite3_stmt *statement, struct arena *arena, void *item);
/* Runs `sql` with ?1 = id (when has an id) and gives all rows as items. */
MUST_CHECK int db_load_by_id(struct store *store, const char *sql, int64_t id,
                             struct db_list *list, db_fill_fn *fill, struct error *err);
MUST_CHECK int db_load_by_key(struct store *store, const char *sql, const char *key,
                              struct db_list *list, db_fill_fn *fill, struct error *err);
MUST_CHECK int db_load(struct store *store, sqlite3_stmt *statement, struct db_list *list,
                       db_fill_fn *fill, struct error *err);

/* ---- A sink's batch: a transaction that any other writer may commit early ---- */

/* Opens one unless a transaction is open already; gives the failure of an early commit. */
MUST_CHECK int db_batch_open(struct store *store, struct error *err);
MUST_CHECK int db_batch_commit(struct store *store, struct error *err);
void db_batch_rollback(struct store *store);
/* What another writer of this connection calls first: commits the batch, so that what the user
 * wrote does not hang on what comes after. A failure is kept for the sink (db_batch_open). */
void db_batch_leave(struct store *store);

/* Sets the journal mode WAL; a code of SQLite. The change to it does not wait by the busy handler as all
 * else does: two programs that make a file at once would find it locked. */
int db_write_ahead(struct store *store, const char *schema);

#endif
