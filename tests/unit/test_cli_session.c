/* Sessions of the command line: a damaged cache, a foreign one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "core/store/sink.h"
#include "tests/harness/tempdir.h"
#include "tui/cli.h"

struct fixture {
    char *folder;
    struct options options;
};

static int n_calls;

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = tempdir_make();
    f->options.db = strdup(tempdir_path(f->folder, "cache.db"));
    setenv("XDG_STATE_HOME", f->folder, 1);
    n_calls = 0;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    tempdir_remove(f->folder);
    free((char *)(uintptr_t)f->options.db);
    free(f);
    return 0;
}

static int write_points(struct session *session, const struct options *options)
{
    const struct run run = {.key = "k", .folder = "/run", .name = "run"};
    const struct source source = {.path = "/run/log", .importer = "log", .size = 1};
    const struct point point = {.value = 1};
    struct sink *sink;
    int handle;

    (void)options;
    assert_int_equal(sink_open_store(&sink, session->store, &session->err), OK);
    assert_int_equal(sink_begin(sink, &run, &source, &session->err), OK);
    assert_int_equal(sink_series(sink, "loss", NULL, &handle, &session->err), OK);
    assert_int_equal(sink_point(sink, handle, &point, &session->err), OK);
    assert_int_equal(sink_end(sink, 1, SOURCE_WHOLE, &session->err), OK);
    sink_close(sink);
    return 0;
}

/* 0 when there are points that can be read, 1 when there are none. */
static int read_points(struct session *session, const struct options *options)
{
    const struct series *series;
    struct point_columns points;
    size_t n;

    (void)options;
    n_calls++;
    assert_null(session->run_ids);
    assert_int_equal(store_series(session->store, 1, session->arena, &series, &n, &session->err),
                     OK);
    if (n == 0)
        return 1;
    return store_points(session->store, series[0].id, session->arena, &points, &session->err) == OK
               ? 0
               : 2;
}

static int cannot_tell(struct session *session, const struct options *options)
{
    (void)session;
    (void)options;
    n_calls++;
    return 2;
}

static void spoil_points(const char *path)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE point_block SET value_bits = zeroblob(8)", NULL, NULL,
                                  NULL),
                     SQLITE_OK);
    sqlite3_close(db);
}

static void a_damaged_cache_is_met_once_and_the_work_is_done_again(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(in_session(&f->options, write_points), 0);
    assert_int_equal(in_session(&f->options, read_points), 0);
    spoil_points(f->options.db);
    n_calls = 0;
    assert_int_equal(in_session(&f->options, read_points), 1);
    assert_int_equal(n_calls, 2);
    assert_int_equal(access(tempdir_path(f->folder, "cache.db.aside-1"), F_OK), 0);
}

static void work_that_fails_on_a_sound_cache_is_not_done_again(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(in_session(&f->options, cannot_tell), 2);
    assert_int_equal(n_calls, 1);
}

static void a_file_that_is_no_cache_stops_the_command(void **state)
{
    struct fixture *f = *state;

    tempdir_write_text(f->folder, "cache.db", "notes of the user\n");
    assert_int_equal(in_session(&f->options, read_points), 2);
    assert_int_equal(n_calls, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_damaged_cache_is_met_once_and_the_work_is_done_again),
        TEST(work_that_fails_on_a_sound_cache_is_not_done_again),
        TEST(a_file_that_is_no_cache_stops_the_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
