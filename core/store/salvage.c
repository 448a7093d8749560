/* Copies what is readable of a triage.db into a fresh one. See salvage.h.
 *
 * Each table is read from its first row until a damaged page stops it, then from its last row
 * backwards: one bad page costs the rows on it only. */
#include "core/store/salvage.h"

#include <sqlite3.h>
#include <string.h>

#include "core/base/str.h"
#include "core/store/files.h"
#include "core/store/schema.h"

#define MAX_PATH_BYTES (3 * 4096 + 64)      /* every byte of a path as %XX */

struct table {
    const char *forwards, *backwards, *insert;
    int n_columns;
};

static const struct table TABLES[] = {
    {"SELECT run_key, check_id, state, reason, set_at FROM triage ORDER BY run_key, check_id",
     "SELECT run_key, check_id, state, reason, set_at FROM triage"
     " ORDER BY run_key DESC, check_id DESC",
     "INSERT OR IGNORE INTO kept.triage (run_key, check_id, state, reason, set_at)"
     " VALUES (?1, ?2, ?3, ?4, ?5)",
     5},
    {"SELECT run_key, name, value, set_at FROM answer ORDER BY run_key, name",
     "SELECT run_key, name, value, set_at FROM answer ORDER BY run_key DESC, name DESC",
     "INSERT OR IGNORE INTO kept.answer (run_key, name, value, set_at) VALUES (?1, ?2, ?3, ?4)",
     4},
    {"SELECT id, run_key, check_id, place, text, written_at FROM remark ORDER BY id",
     "SELECT id, run_key, check_id, place, text, written_at FROM remark ORDER BY id DESC",
     "INSERT OR IGNORE INTO kept.remark (id, run_key, check_id, place, text, written_at)"
     " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
     6},
    {"SELECT id, run_key, check_id, verdict, sentence, path, line, step, commit_id, exported,"
     " made_at FROM user_finding ORDER BY id",
     "SELECT id, run_key, check_id, verdict, sentence, path, line, step, commit_id, exported,"
     " made_at FROM user_finding ORDER BY id DESC",
     "INSERT OR IGNORE INTO kept.user_finding (id, run_key, check_id, verdict, sentence, path,"
     " line, step, commit_id, exported, made_at)"
     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
     11},
};

/* Codes of ours or of the system; all else is damage, and skipped. */
static bool is_failure(int code)
{
    switch (code & 0xff) {
    case SQLITE_NOMEM:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
        return true;
    default:
        return false;
    }
}

static int copy_rows(sqlite3_stmt *select, sqlite3_stmt *insert, int n_columns, int *n_rows,
                     sqlite3 *to)
{
    while (sqlite3_step(select) == SQLITE_ROW) {
        int code = SQLITE_OK;

        for (int i = 0; i < n_columns && code == SQLITE_OK; i++)
            code = sqlite3_bind_value(insert, i + 1, sqlite3_column_value(select, i));
        if (code == SQLITE_OK)
            code = sqlite3_step(insert);
        sqlite3_reset(insert);
        if (code == SQLITE_DONE)
            *n_rows += sqlite3_changes(to);
        else if (is_failure(code))
            return code;
    }
    return SQLITE_OK;
}

static int copy_table(sqlite3 *from, sqlite3 *to, const struct table *table, int *n_rows)
{
    const char *const ways[] = {table->forwards, table->backwards};
    sqlite3_stmt *insert = NULL;
    int code = sqlite3_prepare_v2(to, table->insert, -1, &insert, NULL);

    for (int i = 0; i < 2 && code == SQLITE_OK; i++) {
        sqlite3_stmt *select = NULL;

        if (sqlite3_prepare_v2(from, ways[i], -1, &select, NULL) == SQLITE_OK)
            code = copy_rows(select, insert, table->n_columns, n_rows, to);
        sqlite3_finalize(select);
    }
    sqlite3_finalize(insert);
    return code;
}

static bool is_readable(sqlite3 *db)
{
    return sqlite3_exec(db, "SELECT 1 FROM sqlite_schema LIMIT 1", NULL, NULL, NULL) == SQLITE_OK;
}

/* A database in WAL mode in a folder that cannot be written opens as "immutable" only, which
 * takes an address with the odd bytes of the path escaped. */
static sqlite3 *open_immutable(const char *path)
{
    struct buf address;
    sqlite3 *db = NULL;

    buf_init(&address, MAX_PATH_BYTES);
    buf_puts(&address, "file:");
    for (const char *p = path; *p; p++)
        if (strchr("?#%", *p))
            buf_printf(&address, "%%%02X", (unsigned char)*p);
        else
            buf_putc(&address, *p);
    buf_puts(&address, "?immutable=1");
    if (!address.failed)
        sqlite3_open_v2(address.p, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    buf_free(&address);
    return db;
}

static sqlite3 *open_from(const char *path)
{
    sqlite3 *db = NULL;

    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK && is_readable(db))
        return db;
    sqlite3_close(db);
    return open_immutable(path);
}

static int make_target(sqlite3 **out, const char *path)
{
    sqlite3_stmt *attach = NULL;
    int code = sqlite3_open(":memory:", out);

    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(*out, "ATTACH ?1 AS kept", -1, &attach, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(attach, 1, path, -1, SQLITE_STATIC);
    if (code == SQLITE_OK && (code = sqlite3_step(attach)) == SQLITE_DONE)
        code = SQLITE_OK;
    sqlite3_finalize(attach);
    if (code == SQLITE_OK)
        code = schema_migrate_kept(*out, 0);
    return code;
}

int salvage_kept(const char *from, const char *to, int *n_rows, struct error *err)
{
    sqlite3 *target = NULL, *source = NULL;
    int n = 0;
    int rc = files_prepare(to, err);

    if (rc != OK)
        return rc;

    int code = make_target(&target, to);

    if (code == SQLITE_OK)
        source = open_from(from);
    if (source)                             /* lets the intact tables of a damaged schema be read */
        sqlite3_exec(source, "PRAGMA writable_schema = ON", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(target, "BEGIN", NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof TABLES / sizeof TABLES[0] && source && code == SQLITE_OK; i++)
        code = copy_table(source, target, &TABLES[i], &n);
    if (code == SQLITE_OK)
        code = sqlite3_exec(target, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(source);
    sqlite3_close(target);
    if (code != SQLITE_OK) {
        files_remove(to);
        rc = error_set(err, code == SQLITE_NOMEM ? E_NOMEM : E_IO, "cannot be written: %s",
                       sqlite3_errstr(code));
        error_at(err, to, NONE, NONE);
        return rc;
    }
    *n_rows = n;
    return OK;
}
