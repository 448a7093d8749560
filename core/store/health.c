/* What a database file is: ours and good, empty, foreign, none, newer or damaged. See health.h. */
#include "core/store/health.h"

#include <stdio.h>
#include <string.h>

#define WHOLE_CHECK_BYTES (8 << 20)

static const char *const HEALTH_CLAUSES[] = {
    [HEALTH_FOREIGN] = "belongs to another program",
    [HEALTH_NO_DATABASE] = "is no database",
    [HEALTH_NEWER] = "was written by a newer version",
    [HEALTH_DAMAGED] = "is damaged",
};

const char *health_clause(enum health health)
{
    return HEALTH_CLAUSES[health];
}

int health_pragma(sqlite3 *db, const char *schema, const char *name, int64_t *out)
{
    char sql[96];
    sqlite3_stmt *statement = NULL;

    snprintf(sql, sizeof sql, "PRAGMA %s.%s", schema, name);

    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        *out = sqlite3_column_int64(statement, 0);
        code = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    return code;
}

static int count_objects(sqlite3 *db, const char *schema, int64_t *n)
{
    char sql[96];
    sqlite3_stmt *statement = NULL;

    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s.sqlite_schema", schema);

    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        *n = sqlite3_column_int64(statement, 0);
        code = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    return code;
}

/* Structure of the pages, of one table or ("1") of all. */
static int check_part(sqlite3 *db, const char *schema, const char *part, bool *is_good)
{
    char sql[96];
    sqlite3_stmt *statement = NULL;

    snprintf(sql, sizeof sql, "PRAGMA %s.quick_check(%s)", schema, part);

    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);

        *is_good = *is_good && text && strcmp(text, "ok") == 0;
        code = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    return code;
}

/* Opening must be quick however large the cache is: of a large one, only the tables that every
 * screen needs are looked at. Damage elsewhere is met when it is read (blocks have a hash). */
static int quick_check(sqlite3 *db, const char *schema, bool *is_good)
{
    static const char *const NEEDED[] = {"run", "source", "series", "check_result"};
    int64_t n_pages = 0, page_bytes = 0;
    int code = health_pragma(db, schema, "page_count", &n_pages);

    if (code == SQLITE_OK)
        code = health_pragma(db, schema, "page_size", &page_bytes);
    if (code == SQLITE_OK && strcmp(schema, "kept") == 0)
        return check_part(db, schema, "1", is_good);
    if (code == SQLITE_OK && n_pages <= WHOLE_CHECK_BYTES / (page_bytes ? page_bytes : 1))
        return check_part(db, schema, "1", is_good);
    for (size_t i = 0; i < sizeof NEEDED / sizeof NEEDED[0] && code == SQLITE_OK && *is_good; i++)
        code = check_part(db, schema, NEEDED[i], is_good);
    return code;
}

bool health_is_damage(int code)
{
    return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB;
}

/* One look at the file: in several, another program may make its tables between two of them, and a
 * cache that is just being made would seem foreign. */
static int look(sqlite3 *db, const struct health_expected *expected, int64_t *id, int64_t *version,
                int64_t *n_objects, bool *is_good)
{
    int code = sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);

    if (code != SQLITE_OK)
        return code;
    code = health_pragma(db, expected->schema, "application_id", id);
    if (code == SQLITE_OK)
        code = health_pragma(db, expected->schema, "user_version", version);
    if (code == SQLITE_OK)
        code = count_objects(db, expected->schema, n_objects);
    if (code == SQLITE_OK && *id == expected->application_id && *version <= expected->version)
        code = quick_check(db, expected->schema, is_good);
    (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL); /* nothing was written */
    return code;
}

int health_examine(sqlite3 *db, const struct health_expected *expected, enum health *health,
                   int64_t *version)
{
    int64_t id = 0, n_objects = 0;
    bool is_good = true;
    int code = look(db, expected, &id, version, &n_objects, &is_good);

    if ((code & 0xff) == SQLITE_NOTADB)
        *health = HEALTH_NO_DATABASE;
    else if (health_is_damage(code) || !is_good)
        *health = HEALTH_DAMAGED;
    else if (code != SQLITE_OK)
        return code;
    else if (id == 0 && *version == 0 && n_objects == 0)
        *health = HEALTH_EMPTY;
    else if (id != expected->application_id)
        *health = HEALTH_FOREIGN;
    else if (*version > expected->version)
        *health = HEALTH_NEWER;
    else
        *health = HEALTH_GOOD;
    return SQLITE_OK;
}
