/* Attaching triage.db as `kept`: what is done about a file that is damaged, newer, foreign or not
 * to be written. What is in it is triage.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/files.h"
#include "core/store/health.h"
#include "core/store/open.h"
#include "core/store/salvage.h"
#include "core/store/schema.h"

static int attach(struct store *store, const char *path)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->db, "ATTACH ?1 AS kept", -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 1, path, -1, SQLITE_STATIC);
    if (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_DONE)
        code = SQLITE_OK;
    sqlite3_finalize(statement);
    return code;
}

static void detach(struct store *store)
{
    sqlite3_exec(store->db, "DETACH kept", NULL, NULL, NULL);
}

static int attach_in_memory(struct store *store, struct error *err)
{
    int rc = open_set_path(&store->kept_path, "", err);

    if (rc != OK)
        return rc;

    int code = attach(store, ":memory:");

    if (code == SQLITE_OK)
        code = schema_migrate_kept(store->db, 0);
    return code == SQLITE_OK ? OK : db_error(store, code, NULL, err);
}

static const struct health_expected *expected_kept(struct health_expected *out)
{
    *out = (struct health_expected){"kept", KEPT_APPLICATION_ID, schema_kept_version()};
    return out;
}

/* Attaches the file as it is. *health is GOOD when it is ready; otherwise it is not attached. */
static int attach_file(struct store *store, enum health *health, struct error *err)
{
    struct health_expected expected;
    int64_t version = 0;
    int code = attach(store, store->kept_path);

    if (code == SQLITE_OK)
        code = health_examine(store->db, expected_kept(&expected), health, &version);
    if (health_is_damage(code)) {
        *health = HEALTH_DAMAGED;
        code = SQLITE_OK;
    }
    if (code == SQLITE_OK && (*health == HEALTH_GOOD || *health == HEALTH_EMPTY)) {
        *health = HEALTH_GOOD;
        if (version == 0)       /* a fresh file that a crash tears is made again */
            sqlite3_exec(store->db, "PRAGMA kept.synchronous = OFF", NULL, NULL, NULL);
        code = db_write_ahead(store, "kept");
        if (code == SQLITE_OK)
            code = schema_migrate_kept(store->db, (int)version);
        if (code == SQLITE_OK)
            code = sqlite3_exec(store->db, "PRAGMA kept.synchronous = FULL", NULL, NULL, NULL);
        if (code == SQLITE_OK)
            return OK;
    }

    int rc = OK;

    if (code != SQLITE_OK) {
        rc = db_error(store, code, NULL, err);
        error_at(err, store->kept_path, NONE, NONE);
    }
    detach(store);
    return rc;
}

/* What is readable goes into a new file first, so that at no time it is in no file. */
static int renew_kept(struct store *store, struct error *err)
{
    char *aside = NULL;
    size_t n = strlen(store->kept_path) + sizeof ".saved";
    char *saved = malloc(n);
    int n_rows = 0;

    if (!saved)
        return error_set(err, E_NOMEM, "no memory for a path");
    snprintf(saved, n, "%s.saved", store->kept_path);
    files_remove(saved);

    int rc = salvage_kept(store->kept_path, saved, &n_rows, err);

    if (rc == OK)
        rc = files_move_aside(store->kept_path, &aside, err);
    if (rc == OK)
        rc = files_rename(saved, store->kept_path, err);
    if (rc == OK)
        open_notice(store,
                    "the file of remarks %s is damaged: %d remarks, marks and answers could be"
                    " read and were saved; the damaged file is now %s",
                    store->kept_path, n_rows, aside);
    free(aside);
    free(saved);
    return rc;
}

static int replace_foreign_kept(struct store *store, struct error *err)
{
    char *aside = NULL;
    int rc = files_move_aside(store->kept_path, &aside, err);

    if (rc == OK)
        rc = files_prepare(store->kept_path, err);
    if (rc == OK)
        open_notice(store, "the file of remarks %s belongs to another program: it is now %s",
                    store->kept_path, aside);
    free(aside);
    return rc;
}

static int newer_kept(const struct store *store, struct error *err)
{
    int rc = error_set(err, E_UNSUPPORTED, "written by a newer version");

    error_at(err, store->kept_path, NONE, NONE);
    return rc;
}

static int attach_kept_at(struct store *store, struct error *err)
{
    enum health health = HEALTH_GOOD;
    int rc = files_prepare(store->kept_path, err);

    if (rc == OK)
        rc = open_absolute_path(&store->kept_path, err);
    if (rc == OK)
        rc = attach_file(store, &health, err);
    if (rc != OK || health == HEALTH_GOOD)
        return rc;
    if (health == HEALTH_NEWER)     /* left for the newer version */
        return newer_kept(store, err);
    rc = health == HEALTH_FOREIGN ? replace_foreign_kept(store, err) : renew_kept(store, err);
    if (rc == OK)
        rc = attach_file(store, &health, err);
    if (rc == OK && health != HEALTH_GOOD) {
        rc = error_set(err, E_DB, "a fresh file of remarks %s", health_clause(health));
        error_at(err, store->kept_path, NONE, NONE);
    }
    return rc;
}

/* Where nothing can be kept: a private file that is removed at exit (the second connection sees
 * it too), with what the old file says; in memory where not even that can be made. */
static int attach_kept_privately(struct store *store, const struct error *why, struct error *err)
{
    char text[sizeof why->path + sizeof why->message + 32];
    enum health health = HEALTH_GOOD;
    char *old = store->kept_path;
    int n_rows = 0;

    error_format(why, text, sizeof text);
    open_notice(store, "remarks cannot be kept and are lost at exit: %s", text);
    store->kept_path = NULL;

    int rc = open_private_path(store, &store->kept_path, "triage.db", err);

    if (rc == OK && old)
        rc = salvage_kept(old, store->kept_path, &n_rows, err);
    if (rc == OK)
        rc = files_prepare(store->kept_path, err);
    if (rc == OK)
        rc = attach_file(store, &health, err);
    free(old);
    if (rc == OK || rc == E_NOMEM)
        return rc;
    return attach_in_memory(store, err);
}

int kept_attach_for_writing(struct store *store, const struct store_options *options,
                            struct error *err)
{
    struct error why;
    int rc = options->kept_path ? open_set_path(&store->kept_path, options->kept_path, &why)
                                : files_default_kept(&store->kept_path, &why);

    if (rc == OK)
        rc = attach_kept_at(store, &why);
    if (rc == OK)
        return OK;
    if (rc == E_NOMEM || rc == E_DB) {
        if (err)
            *err = why;
        return rc;
    }
    return attach_kept_privately(store, &why, err);
}

int kept_attach_for_reading(struct store *store, const char *path, struct error *err)
{
    struct health_expected expected;
    enum health health = HEALTH_DAMAGED;
    int64_t version = 0;
    int rc = path ? open_set_path(&store->kept_path, path, err)
                  : files_default_kept(&store->kept_path, err);

    if (rc == E_NOTFOUND || (rc == OK && !*store->kept_path))
        return attach_in_memory(store, err);
    if (rc != OK)
        return rc;

    int code = attach(store, store->kept_path);

    if (code == SQLITE_OK)
        code = health_examine(store->db, expected_kept(&expected), &health, &version);
    if (code == SQLITE_OK && health == HEALTH_GOOD && version == expected.version)
        return OK;
    detach(store);
    return attach_in_memory(store, err);
}
