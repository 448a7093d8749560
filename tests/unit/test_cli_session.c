/* Sessions of the command line: a damaged cache, a foreign one; what the user is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
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

/* What is written to stderr while the command runs. */
static int complaint(int (*command)(const struct options *), const struct fixture *f, char *out,
                     size_t size)
{
    int old_out = dup(STDOUT_FILENO), old_err = dup(STDERR_FILENO), status;
    int to = open(tempdir_path(f->folder, "stderr"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    ssize_t n;

    assert_true(to >= 0);
    fflush(stdout);
    dup2(to, STDERR_FILENO);
    dup2(to, STDOUT_FILENO);
    status = command(&f->options);
    fflush(stdout);
    dup2(old_err, STDERR_FILENO);
    dup2(old_out, STDOUT_FILENO);
    close(old_err);
    close(old_out);
    n = pread(to, out, size - 1, 0);
    out[n > 0 ? n : 0] = '\0';
    close(to);
    return status;
}

static int write_to_nobody(const struct options *options)
{
    int ends[2];

    (void)options;
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
    return cli_write("-", str_of("text"), false) ? 0 : 2;
}

/* As behind `| head`. */
static void a_reader_who_leaves_is_told_nothing(void **state)
{
    char said[4096];

    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(complaint(write_to_nobody, *state, said, sizeof said), 2);
    assert_string_equal(said, "");
}

static void a_mistyped_path_is_told_beside_what_was_found(void **state)
{
    struct fixture *f = *state;
    char log[300], said[32768];
    const char *paths[] = {log, "no-such-run"};

    tempdir_write_text(f->folder, "run/train.log",
                       "{'loss': 2.5, 'learning_rate': 1e-4, 'epoch': 0.1}\n"
                       "{'loss': 2.0, 'learning_rate': 1e-4, 'epoch': 0.2}\n");
    snprintf(log, sizeof log, "%s", tempdir_path(f->folder, "run"));
    f->options.paths = paths;
    f->options.n_paths = 2;
    complaint(cli_check, f, said, sizeof said);
    assert_non_null(strstr(said, "flatline: no-such-run: no such file or folder\n"));
    assert_non_null(strstr(said, "\nchecklist\n"));
}

static void a_series_that_is_not_there_is_answered_with_those_that_are(void **state)
{
    struct fixture *f = *state;
    char log[300], said[4096];
    const char *paths[] = {log};

    tempdir_write_text(f->folder, "run/train.log",
                       "{'loss': 2.5, 'learning_rate': 1e-4, 'epoch': 0.1}\n"
                       "{'loss': 2.0, 'learning_rate': 1e-4, 'epoch': 0.2}\n");
    snprintf(log, sizeof log, "%s", tempdir_path(f->folder, "run"));
    f->options.paths = paths;
    f->options.n_paths = 1;
    f->options.series = "perplexity";
    assert_int_equal(complaint(cli_curves, f, said, sizeof said), 2);
    assert_non_null(strstr(said, "perplexity: no such series in this run\n"));
    assert_non_null(strstr(said, "the run has "));
    assert_non_null(strstr(said, "loss"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_damaged_cache_is_met_once_and_the_work_is_done_again),
        TEST(work_that_fails_on_a_sound_cache_is_not_done_again),
        TEST(a_file_that_is_no_cache_stops_the_command),
        TEST(a_reader_who_leaves_is_told_nothing),
        TEST(a_mistyped_path_is_told_beside_what_was_found),
        TEST(a_series_that_is_not_there_is_answered_with_those_that_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
