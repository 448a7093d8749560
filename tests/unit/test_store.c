/* Opening the two databases, runs and sources, two connections, transactions. Damage has its own
 * program: test_store_damage.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "core/base/clock.h"
#include "core/store/sink.h"
#include "core/store/store.h"
#include "tests/harness/tempdir.h"

struct fixture {
    char *folder;
    char *cache, *kept;
    struct store *store;
    struct arena *arena;
    struct error err;
};

static struct store_options options_of(const struct fixture *f)
{
    return (struct store_options){
        .cache_path = f->cache, .kept_path = f->kept, .busy_timeout_ms = 1};
}

static void open_store(struct fixture *f)
{
    struct store_options options = options_of(f);

    assert_int_equal(store_open(&f->store, &options, &f->err), OK);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = tempdir_make();
    f->cache = strdup(tempdir_path(f->folder, "deep/er/cache.db"));
    f->kept = strdup(tempdir_path(f->folder, "state/triage.db"));
    f->arena = arena_open(ARENA_CHECK_BYTES);
    open_store(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    store_close(f->store);
    arena_close(f->arena);
    tempdir_remove(f->folder);
    free(f->cache);
    free(f->kept);
    free(f);
    return 0;
}

static void reopen(struct fixture *f)
{
    store_close(f->store);
    open_store(f);
}

static struct run run_named(const char *key, const char *name, const char *folder)
{
    return (struct run){.key = key, .name = name, .folder = folder, .project = "/p",
                        .started_at = NONE, .ended_at = NONE};
}

static struct source source_at(const char *path)
{
    return (struct source){.path = path, .importer = "log", .importer_version = 2, .size = 10,
                           .mtime_ns = 5, .device = 1, .inode = 9, .role = "log"};
}

/* One source with one note. */
static void import_one(struct fixture *f, const struct run *run, const struct source *source)
{
    struct sink *sink;

    assert_int_equal(sink_open_store(&sink, f->store, &f->err), OK);
    assert_int_equal(sink_begin(sink, run, source, &f->err), OK);
    assert_int_equal(sink_note(sink, NOTE_WARN, 3, NONE, &f->err, "odd"), OK);
    assert_int_equal(sink_end(sink, 10, SOURCE_WHOLE, &f->err), OK);
    sink_close(sink);
}

static int mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return (int)(st.st_mode & 0777);
}

/* ---- Files ---------------------------------------------------------------------------------- */

static void files_and_folders_are_for_this_user_alone(void **state)
{
    struct fixture *f = *state;
    struct run run = run_named("k", "r", "/p/r");
    struct source source = source_at("/p/r/log");

    import_one(f, &run, &source);
    assert_int_equal(mode_of(f->cache), 0600);
    assert_int_equal(mode_of(f->kept), 0600);
    assert_int_equal(mode_of(tempdir_path(f->folder, "deep/er/cache.db-wal")), 0600);
    assert_int_equal(mode_of(tempdir_path(f->folder, "deep")), 0700);
    assert_int_equal(mode_of(tempdir_path(f->folder, "deep/er")), 0700);
    assert_null(store_notices(f->store)[0]);
}

static void the_default_places_follow_the_environment(void **state)
{
    struct fixture *f = *state;
    struct store_options options = {.busy_timeout_ms = 1};
    struct store *store;

    setenv("XDG_CACHE_HOME", tempdir_path(f->folder, "c"), 1);
    setenv("XDG_STATE_HOME", "relative", 1);
    setenv("HOME", tempdir_path(f->folder, "home"), 1);
    assert_int_equal(store_open(&store, &options, &f->err), OK);
    assert_non_null(strstr(store_cache_path(store), "/c/flatline/cache.db"));
    assert_non_null(strstr(store_kept_path(store), "/home/.local/state/flatline/triage.db"));
    store_close(store);
}

static void without_a_home_nothing_is_kept_and_that_is_said(void **state)
{
    struct fixture *f = *state;
    struct store_options options = {.busy_timeout_ms = 1};
    struct store *store;
    char *private;

    setenv("TMPDIR", f->folder, 1);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    assert_int_equal(store_open(&store, &options, &f->err), OK);
    assert_non_null(store_notices(store)[0]);
    assert_non_null(store_notices(store)[1]);
    assert_null(store_notices(store)[2]);
    private = strdup(store_cache_path(store));
    assert_int_equal(access(private, F_OK), 0);
    store_close(store);
    assert_int_not_equal(access(private, F_OK), 0);
    *strrchr(private, '/') = '\0';
    assert_int_not_equal(access(private, F_OK), 0);     /* nor its folder */
    free(private);
}

static void a_folder_that_cannot_be_made_gives_a_private_store(void **state)
{
    struct fixture *f = *state;
    struct store_options options = options_of(f);
    struct run run = run_named("k", "r", "/p/r");
    struct source source = source_at("/p/r/log");
    struct store *store, *reader;
    const struct run *runs;
    size_t n;
    struct remark remark = {.text = "held"};
    const struct remark *remarks;
    int64_t id;

    setenv("TMPDIR", f->folder, 1);
    tempdir_write_text(f->folder, "file", "x");
    options.cache_path = strdup(tempdir_path(f->folder, "file/cache.db"));
    options.kept_path = strdup(tempdir_path(f->folder, "file/triage.db"));
    assert_int_equal(store_open(&store, &options, &f->err), OK);
    assert_non_null(strstr(store_notices(store)[0], "forgotten at exit"));
    assert_non_null(strstr(store_notices(store)[0], "/file"));
    assert_non_null(strstr(store_notices(store)[1], "lost at exit"));
    free((char *)(uintptr_t)options.cache_path);
    free((char *)(uintptr_t)options.kept_path);

    /* It works, for a second connection too. */
    struct store *own = f->store;

    f->store = store;
    import_one(f, &run, &source);
    f->store = own;
    assert_int_equal(store_remark_put(store, "k", &remark, &id, &f->err), OK);
    options = (struct store_options){.cache_path = store_cache_path(store),
                                     .kept_path = store_kept_path(store), .read_only = true};
    assert_int_equal(store_open(&reader, &options, &f->err), OK);
    assert_int_equal(store_runs(reader, f->arena, &runs, &n, &f->err), OK);
    assert_int_equal(n, 1);
    assert_int_equal(store_remarks(reader, "k", f->arena, &remarks, &n, &f->err), OK);
    assert_int_equal(n, 1);
    store_close(reader);
    store_close(store);
}

static void a_private_cache_is_shared_by_two_connections_and_removed(void **state)
{
    struct fixture *f = *state;
    struct store_options options = {.is_private = true, .kept_path = f->kept};
    struct store *store, *reader;
    char path[4200];

    setenv("TMPDIR", f->folder, 1);
    assert_int_equal(store_open(&store, &options, &f->err), OK);
    snprintf(path, sizeof path, "%s", store_cache_path(store));
    assert_int_equal(access(path, F_OK), 0);
    options = (struct store_options){.cache_path = path, .kept_path = f->kept, .read_only = true};
    assert_int_equal(store_open(&reader, &options, &f->err), OK);
    store_close(reader);
    store_close(store);
    assert_int_equal(access(path, F_OK), -1);
}

static void a_cache_in_memory_leaves_no_file(void **state)
{
    struct fixture *f = *state;
    struct store_options options = {.in_memory = true, .kept_path = f->kept};
    struct run run = run_named("k", "r", "/p/r");
    struct source source = source_at("/p/r/log");
    const struct run *runs;
    size_t n;

    store_close(f->store);
    unlink(f->cache);
    assert_int_equal(store_open(&f->store, &options, &f->err), OK);
    assert_string_equal(store_cache_path(f->store), "");
    import_one(f, &run, &source);
    assert_int_equal(store_runs(f->store, f->arena, &runs, &n, &f->err), OK);
    assert_int_equal(n, 1);
    assert_int_not_equal(access(f->cache, F_OK), 0);
}

/* ---- Runs ----------------------------------------------------------------------------------- */

static void runs_are_kept_and_the_newest_import_comes_first(void **state)
{
    struct fixture *f = *state;
    struct run first = run_named("k1", "one", "/p/1"), second = run_named("k2", "two", "/p/2");
    struct source source = source_at("/p/log");
    const struct run *runs;
    size_t n;

    clock_fix(100);
    import_one(f, &first, &source);
    clock_fix(101);
    import_one(f, &second, &source);
    reopen(f);
    assert_int_equal(store_runs(f->store, f->arena, &runs, &n, &f->err), OK);
    assert_int_equal(n, 2);
    assert_string_equal(runs[0].key, "k2");
    assert_string_equal(runs[1].name, "one");
    assert_string_equal(runs[1].folder, "/p/1");
    assert_string_equal(runs[1].project, "/p");
    assert_null(runs[1].framework);
    assert_int_equal(runs[1].started_at, NONE);
    clock_fix(102);
    import_one(f, &first, &source);
    clock_fix(NONE);
    assert_int_equal(store_runs(f->store, f->arena, &runs, &n, &f->err), OK);
    assert_int_equal(n, 2);
    assert_string_equal(runs[0].key, "k1");
}

static void a_run_is_found_by_key_name_or_folder(void **state)
{
    struct fixture *f = *state;
    struct run run = run_named("k1", "one", NULL), other = run_named("k2", "one", "/p/2");
    struct source source = source_at("/p/log");
    char real[4096];
    struct run found;

    tempdir_write_text(f->folder, "out/log", "");
    assert_non_null(realpath(tempdir_path(f->folder, "out"), real));
    run.folder = real;
    import_one(f, &run, &source);
    assert_int_equal(store_run_find(f->store, "k1", f->arena, &found, &f->err), OK);
    assert_int_equal(store_run_find(f->store, "one", f->arena, &found, &f->err), OK);
    assert_int_equal(
        store_run_find(f->store, tempdir_path(f->folder, "out/../out/"), f->arena, &found,
                       &f->err),
        OK);
    assert_string_equal(found.key, "k1");
    assert_int_equal(store_run_by_id(f->store, found.id, f->arena, &found, &f->err), OK);
    assert_int_equal(store_run_find(f->store, "nobody", f->arena, &found, &f->err), E_NOTFOUND);
    assert_int_equal(store_run_by_id(f->store, 999, f->arena, &found, &f->err), E_NOTFOUND);
    import_one(f, &other, &source);
    assert_int_equal(store_run_find(f->store, "one", f->arena, &found, &f->err), E_NOTFOUND);
    assert_non_null(strstr(f->err.message, "2 runs"));
    assert_int_equal(store_run_find(f->store, "/p/2", f->arena, &found, &f->err), OK);
}

static void what_facts_decide_survives_a_new_import(void **state)
{
    struct fixture *f = *state;
    struct run run = run_named("k1", "one", "/p/1"), found;
    struct source source = source_at("/p/log");

    import_one(f, &run, &source);
    assert_int_equal(store_run_find(f->store, "k1", f->arena, &found, &f->err), OK);
    found.kind = KIND_DPO;
    found.marks = MARK_TEN_ROW_TEST;
    found.outcome = OUTCOME_CRASHED;
    found.framework = "trl 0.9";
    found.started_at = 0;
    found.ended_at = 77;
    assert_int_equal(store_run_update(f->store, &found, &f->err), OK);
    run.name = "renamed";
    import_one(f, &run, &source);
    assert_int_equal(store_run_find(f->store, "k1", f->arena, &found, &f->err), OK);
    assert_int_equal(found.kind, KIND_DPO);
    assert_int_equal(found.marks, MARK_TEN_ROW_TEST);
    assert_int_equal(found.outcome, OUTCOME_CRASHED);
    assert_string_equal(found.framework, "trl 0.9");
    assert_int_equal(found.started_at, 0);
    assert_int_equal(found.ended_at, 77);
    assert_string_equal(found.name, "renamed");
}

static void a_shared_source_is_stored_for_each_run_and_goes_with_it(void **state)
{
    struct fixture *f = *state;
    struct run one = run_named("k1", "one", "/p/1"), two = run_named("k2", "two", "/p/2"), found;
    struct source source = source_at("/p/base");
    const struct source *sources;
    const struct note *notes;
    size_t n;

    import_one(f, &one, &source);
    import_one(f, &two, &source);
    assert_int_equal(store_run_find(f->store, "k1", f->arena, &found, &f->err), OK);
    assert_int_equal(store_run_forget(f->store, found.id, &f->err), OK);
    assert_int_equal(store_sources(f->store, found.id, f->arena, &sources, &n, &f->err), OK);
    assert_int_equal(n, 0);
    assert_int_equal(store_run_find(f->store, "k2", f->arena, &found, &f->err), OK);
    assert_int_equal(store_sources(f->store, found.id, f->arena, &sources, &n, &f->err), OK);
    assert_int_equal(n, 1);
    assert_string_equal(sources[0].path, "/p/base");
    assert_string_equal(sources[0].importer, "log");
    assert_int_equal(sources[0].importer_version, 2);
    assert_int_equal(sources[0].size, 10);
    assert_int_equal(sources[0].mtime_ns, 5);
    assert_int_equal(sources[0].inode, 9);
    assert_int_equal(sources[0].read_to, 10);
    assert_int_equal(sources[0].state, SOURCE_WHOLE);
    assert_string_equal(sources[0].role, "log");
    assert_int_equal(store_notes(f->store, found.id, f->arena, &notes, &n, &f->err), OK);
    assert_int_equal(n, 1);
    assert_string_equal(notes[0].message, "odd");
    assert_string_equal(notes[0].path, "/p/base");
    assert_int_equal(notes[0].severity, NOTE_WARN);
    assert_int_equal(notes[0].line, 3);
    assert_int_equal(notes[0].byte, NONE);
}

/* ---- Two connections ------------------------------------------------------------------------ */

static struct store *open_reader(struct fixture *f)
{
    struct store_options options = {.cache_path = store_cache_path(f->store),
                                    .kept_path = store_kept_path(f->store), .read_only = true};
    struct store *reader = NULL;

    assert_int_equal(store_open(&reader, &options, &f->err), OK);
    return reader;
}

static void the_reader_sees_commits_and_is_never_blocked(void **state)
{
    struct fixture *f = *state;
    struct store *reader = open_reader(f);
    struct run run = run_named("k1", "one", "/p/1");
    struct source source = source_at("/p/log");
    struct sink *sink;
    const struct run *runs;
    const struct tick *ticks;
    int64_t before, during, after;
    size_t n;

    assert_int_equal(store_data_version(reader, &before, &f->err), OK);
    assert_int_equal(sink_open_store(&sink, f->store, &f->err), OK);
    assert_int_equal(sink_begin(sink, &run, &source, &f->err), OK);
    assert_int_equal(store_runs(reader, f->arena, &runs, &n, &f->err), OK);
    assert_int_equal(n, 0);
    assert_int_equal(store_data_version(reader, &during, &f->err), OK);
    assert_int_equal(during, before);
    assert_int_equal(sink_end(sink, 1, SOURCE_WHOLE, &f->err), OK);
    sink_close(sink);
    assert_int_equal(store_runs(reader, f->arena, &runs, &n, &f->err), OK);
    assert_int_equal(n, 1);
    assert_int_equal(store_data_version(reader, &after, &f->err), OK);
    assert_true(after > before);
    assert_int_equal(store_tick_set(f->store, "k1", "c", "seen", NULL, &f->err), OK);
    assert_int_equal(store_ticks(reader, "k1", f->arena, &ticks, &n, &f->err), OK);
    assert_int_equal(n, 1);
    store_close(reader);
}

static void the_reader_writes_nothing(void **state)
{
    struct fixture *f = *state;
    struct store *reader = open_reader(f);

    assert_int_not_equal(store_tick_set(reader, "k", "c", "seen", NULL, &f->err), OK);
    assert_int_not_equal(store_run_forget(reader, 1, &f->err), OK);
    store_close(reader);
}

static void a_reader_needs_a_cache(void **state)
{
    struct fixture *f = *state;
    struct store_options options = {.cache_path = "/nowhere/cache.db", .read_only = true};
    struct store *reader;

    assert_int_equal(store_open(&reader, &options, &f->err), E_IO);
    assert_string_equal(f->err.path, "/nowhere/cache.db");
}

static void own_commits_raise_the_data_version_too(void **state)
{
    struct fixture *f = *state;
    int64_t before, after;

    assert_int_equal(store_data_version(f->store, &before, &f->err), OK);
    assert_int_equal(store_answer_set(f->store, "k", "kind", "dpo", &f->err), OK);
    assert_int_equal(store_data_version(f->store, &after, &f->err), OK);
    assert_true(after > before);
}

static void a_locked_cache_is_an_error_that_names_it(void **state)
{
    struct fixture *f = *state;
    struct run run = run_named("k1", "one", "/p/1");
    struct source source = source_at("/p/log");
    const struct run *runs;
    struct sink *sink;
    sqlite3 *other;
    size_t n;

    assert_int_equal(sqlite3_open(f->cache, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sink_open_store(&sink, f->store, &f->err), OK);
    assert_int_equal(sink_begin(sink, &run, &source, &f->err), E_DB);
    assert_non_null(strstr(f->err.path, "cache.db"));
    assert_non_null(strstr(f->err.message, "locked"));
    assert_int_equal(store_begin(f->store, &f->err), E_DB);
    assert_int_equal(store_runs(f->store, f->arena, &runs, &n, &f->err), OK);
    /* Remarks do not wait for the cache. */
    assert_int_equal(store_answer_set(f->store, "k", "kind", "dpo", &f->err), OK);
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    assert_int_equal(sink_begin(sink, &run, &source, &f->err), OK);
    assert_int_equal(sink_end(sink, 1, SOURCE_WHOLE, &f->err), OK);
    sink_close(sink);
}

static void a_cache_held_exclusively_cannot_be_opened(void **state)
{
    struct fixture *f = *state;
    struct store_options options = options_of(f);
    struct store *store;
    sqlite3 *other;

    store_close(f->store);
    f->store = NULL;
    assert_int_equal(sqlite3_open(f->cache, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", NULL,
                                  NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(store_open(&store, &options, &f->err), E_DB);
    assert_non_null(strstr(f->err.path, "cache.db"));
    assert_non_null(strstr(f->err.message, "locked"));
    sqlite3_close(other);
    open_store(f);                          /* it was left where it is */
    assert_null(store_notices(f->store)[0]);
}

/* ---- Transactions --------------------------------------------------------------------------- */

static void a_rollback_takes_everything_back(void **state)
{
    struct fixture *f = *state;
    struct run run = run_named("k1", "one", "/p/1");
    struct source source = source_at("/p/log");
    const struct run *runs;
    size_t n;

    assert_int_equal(store_begin(f->store, &f->err), OK);
    import_one(f, &run, &source);
    assert_int_equal(store_runs(f->store, f->arena, &runs, &n, &f->err), OK);
    assert_int_equal(n, 1);
    store_rollback(f->store);
    assert_int_equal(store_runs(f->store, f->arena, &runs, &n, &f->err), OK);
    assert_int_equal(n, 0);
    assert_int_equal(store_begin(f->store, &f->err), OK);
    import_one(f, &run, &source);
    assert_int_equal(store_commit(f->store, &f->err), OK);
    reopen(f);
    assert_int_equal(store_runs(f->store, f->arena, &runs, &n, &f->err), OK);
    assert_int_equal(n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_and_folders_are_for_this_user_alone, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_default_places_follow_the_environment, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(without_a_home_nothing_is_kept_and_that_is_said, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_made_gives_a_private_store, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_private_cache_is_shared_by_two_connections_and_removed,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cache_in_memory_leaves_no_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_are_kept_and_the_newest_import_comes_first, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_run_is_found_by_key_name_or_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_facts_decide_survives_a_new_import, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_shared_source_is_stored_for_each_run_and_goes_with_it,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_reader_sees_commits_and_is_never_blocked, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_reader_writes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reader_needs_a_cache, set_up, tear_down),
        cmocka_unit_test_setup_teardown(own_commits_raise_the_data_version_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_locked_cache_is_an_error_that_names_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_cache_held_exclusively_cannot_be_opened, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_rollback_takes_everything_back, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
