/* Databases of MLflow and Trackio that another process has open, that are damaged, older or newer
 * than the ones that flatline knows: what can be read is read, nothing is written beside them, and
 * what is missing is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/read/source.h"
#include "importers/registry.h"
#include "tests/harness/importing.h"
#include "tests/harness/tempdir.h"

#define DUMP_BYTES ((size_t)4 << 20)

struct store {
    const char *importer, *sample;
};

static const struct store STORES[] = {
    {"mlflow_db", "tests/engines/loggers/mlflow_db/mlflow.db"},
    {"trackio", "tests/engines/loggers/trackio/sample.db"},
};

static char *copy_of(const struct store *store)
{
    char *folder = tempdir_make(), *bytes;
    size_t n;

    assert_int_equal(source_slurp(store->sample, (size_t)1 << 20, &bytes, &n, NULL), OK);
    tempdir_write(folder, "store.db", bytes, n);
    free(bytes);
    return folder;
}

static void say(sqlite3 *db, const char *sql)
{
    char *why = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
}

static sqlite3 *open_store(const char *folder, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(tempdir_path(folder, "store.db"), &db), SQLITE_OK);
    say(db, sql);
    return db;
}

/* What the importer says; the caller frees. */
static char *dump(const struct store *store, const char *folder)
{
    struct buf out;
    struct error err = {0};

    buf_init(&out, DUMP_BYTES);
    if (importing_dump(importer_by_id(store->importer), folder, tempdir_path(folder, "store.db"),
                       &out, &err) != OK)
        fail_msg("%s: %s", store->importer, err.message);
    char *text = strndup(out.p, out.n);
    assert_non_null(text);
    buf_free(&out);
    return text;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

static size_t count_files(const char *folder)
{
    DIR *dir = opendir(folder);
    size_t n = 0;

    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

static void a_writer_that_holds_the_lock_keeps_nobody_waiting(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof STORES / sizeof *STORES; i++) {
        char *folder = copy_of(&STORES[i]), *before = dump(&STORES[i], folder);
        sqlite3 *db = open_store(folder, "PRAGMA cache_spill = 1; BEGIN EXCLUSIVE; "
                                         "DELETE FROM metrics");
        size_t n_files = count_files(folder);
        char *text = dump(&STORES[i], folder);

        /* what is not committed does not count */
        assert_int_equal(count(text, "\npoint\t"), count(before, "\npoint\t"));
        assert_int_equal(count_files(folder), n_files);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        free(text);
        free(before);
        tempdir_remove(folder);
    }
}

static void what_stands_in_the_log_of_a_writer_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof STORES / sizeof *STORES; i++) {
        char *folder = copy_of(&STORES[i]);
        sqlite3 *db = open_store(folder, "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; "
                                         "DELETE FROM metrics WHERE step > 40");
        size_t n_files = count_files(folder);
        char *text = dump(&STORES[i], folder);

        assert_true(count(text, "\tstep 40\t") > 0);
        assert_int_equal(count(text, "\tstep 50\t"), 0);
        assert_int_equal(count(text, "a journal lies beside the database"), 1);
        assert_int_equal(count_files(folder), n_files);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        free(text);
        tempdir_remove(folder);
    }
}

static void columns_and_tables_of_a_newer_version_are_not_needed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof STORES / sizeof *STORES; i++) {
        char *folder = copy_of(&STORES[i]), *before = dump(&STORES[i], folder);
        sqlite3 *db = open_store(folder, "ALTER TABLE metrics ADD COLUMN later BLOB; "
                                         "CREATE TABLE of_tomorrow (a, b); "
                                         "CREATE VIEW metric_view AS SELECT * FROM metrics; "
                                         "PRAGMA user_version = 999");

        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        char *text = dump(&STORES[i], folder);
        assert_non_null(strstr(text, "\nend\twhole"));
        *strstr(text, "\nend\t") = *strstr(before, "\nend\t") = '\0'; /* with the size */
        assert_string_equal(text, before);
        free(text);
        free(before);
        tempdir_remove(folder);
    }
}

static void a_store_whose_columns_have_other_names_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof STORES / sizeof *STORES; i++) {
        char *folder = copy_of(&STORES[i]);
        const char *sql = i == 0 ? "ALTER TABLE metrics RENAME COLUMN value TO worth"
                                 : "ALTER TABLE metrics RENAME COLUMN step TO stride";

        assert_int_equal(sqlite3_close(open_store(folder, sql)), SQLITE_OK);
        char *text = dump(&STORES[i], folder);
        assert_int_equal(count(text, "\npoint\t"), 0);
        assert_int_equal(count(text, "no such column"), 1);
        assert_int_equal(count(text, "\nend\tdamaged"), 1);
        assert_true(count(text, "\nsetting\t") > 3); /* the rest */
        free(text);
        tempdir_remove(folder);
    }
}

static void rows_of_trackio_that_are_no_objects_are_counted(void **state)
{
    char *folder = copy_of(&STORES[1]), *before = dump(&STORES[1], folder);

    (void)state;
    sqlite3 *db = open_store(folder,
                             "UPDATE metrics SET metrics = '{\"loss\": 1' WHERE step = 10; "
                             "UPDATE metrics SET metrics = '[1, 2]' WHERE step = 20; "
                             "UPDATE metrics SET metrics = x'00ff' WHERE step = 30; "
                             "UPDATE configs SET config = '{\"seed\": 7, \"a\": [' || "
                             "replace(hex(zeroblob(300)), '0', '[')");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    char *text = dump(&STORES[1], folder);
    assert_int_equal(count(text, "3 rows of the table metrics are no JSON objects"), 1);
    assert_true(count(text, "\tstep 40\t") > 0);
    assert_int_equal(count(text, "\tstep 40\t"), count(before, "\tstep 40\t"));
    assert_int_equal(count(text, "\nend\tdamaged"), 1);
    free(text);
    free(before);
    tempdir_remove(folder);
}

/* Before Trackio had ids, and before it had alerts. */
static void an_older_trackio_tells_runs_apart_by_name(void **state)
{
    char *folder = copy_of(&STORES[1]);

    (void)state;
    sqlite3 *db = open_store(
        folder, "CREATE TABLE old_metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp TEXT, "
                "run_name TEXT, step INTEGER, metrics TEXT); "
                "INSERT INTO old_metrics SELECT id, timestamp, run_name, step, metrics FROM metrics; "
                "DROP TABLE metrics; ALTER TABLE old_metrics RENAME TO metrics; "
                "CREATE TABLE old_configs (id INTEGER PRIMARY KEY AUTOINCREMENT, run_name TEXT, "
                "config TEXT, created_at TEXT); "
                "INSERT INTO old_configs SELECT id, run_name, config, created_at FROM configs; "
                "DROP TABLE configs; ALTER TABLE old_configs RENAME TO configs; "
                "DROP TABLE alerts");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    char *text = dump(&STORES[1], folder);
    assert_int_equal(count(text, "the database holds 2 runs: this is the latest"), 1);
    assert_int_equal(count(text, "\tsecond\t"), 1);
    assert_int_equal(count(text, "\tnested.scale\t"), 1);
    assert_true(count(text, "\npoint\ttrain/loss\t") == 6);
    free(text);
    tempdir_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_writer_that_holds_the_lock_keeps_nobody_waiting),
        cmocka_unit_test(what_stands_in_the_log_of_a_writer_counts),
        cmocka_unit_test(columns_and_tables_of_a_newer_version_are_not_needed),
        cmocka_unit_test(a_store_whose_columns_have_other_names_is_told),
        cmocka_unit_test(rows_of_trackio_that_are_no_objects_are_counted),
        cmocka_unit_test(an_older_trackio_tells_runs_apart_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
