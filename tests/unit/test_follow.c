/* Which files of a followed run changed, what a change means, how long the run is silent. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness/tempdir.h"
#include "tui/follow.h"

struct fixture {
    char *folder;
    struct follow *follow;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct error err;

    assert_non_null(f);
    f->folder = tempdir_make();
    assert_int_equal(follow_open(&f->follow, &err), OK);
    follow_reset(f->follow, "run");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    follow_close(f->follow);
    tempdir_remove(f->folder);
    free(f);
    return 0;
}

/* ---- Which files changed ---- */

static void nothing_is_new_where_nothing_happened(void **state)
{
    struct fixture *f = *state;

    tempdir_write_text(f->folder, "a.log", "one\n");
    follow_watch(f->follow, tempdir_path(f->folder, "a.log"));
    follow_watch(f->follow, f->folder);
    follow_watch(f->follow, f->folder);
    assert_int_equal(follow_n_watched(f->follow), 2);
    assert_int_equal(follow_look(f->follow), 0);
    assert_int_equal(follow_look(f->follow), 0);
}

static void a_file_that_grew_is_news_once(void **state)
{
    struct fixture *f = *state;

    tempdir_write_text(f->folder, "a.log", "one\n");
    follow_watch(f->follow, tempdir_path(f->folder, "a.log"));
    tempdir_write_text(f->folder, "a.log", "one\ntwo\n");
    assert_int_equal(follow_look(f->follow), 1);
    assert_int_equal(follow_look(f->follow), 0);
}

static void a_new_file_shows_in_its_folder(void **state)
{
    struct fixture *f = *state;
    struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};

    assert_int_equal(utimensat(-1, f->folder, long_ago, 0), 0);
    follow_watch(f->follow, f->folder);
    tempdir_write_text(f->folder, "checkpoint-20/trainer_state.json", "{}");
    assert_int_equal(follow_look(f->follow), 1);
}

static void a_file_that_goes_and_comes_is_news_twice(void **state)
{
    struct fixture *f = *state;
    const char *path = tempdir_path(f->folder, "a.log");

    follow_watch(f->follow, path);
    assert_int_equal(follow_look(f->follow), 0);
    tempdir_write_text(f->folder, "a.log", "one\n");
    assert_int_equal(follow_look(f->follow), 1);
    assert_int_equal(remove(path), 0);
    assert_int_equal(follow_look(f->follow), 1);
    assert_int_equal(follow_look(f->follow), 0);
}

static void a_file_that_was_replaced_by_one_of_its_size_is_news(void **state)
{
    struct fixture *f = *state;
    struct timespec date[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    char path[4096];

    tempdir_write_text(f->folder, "a.log", "one\n");
    tempdir_write_text(f->folder, "b.log", "two\n");
    snprintf(path, sizeof path, "%s", tempdir_path(f->folder, "a.log"));
    assert_int_equal(utimensat(-1, path, date, 0), 0);
    assert_int_equal(utimensat(-1, tempdir_path(f->folder, "b.log"), date, 0), 0);
    follow_watch(f->follow, path);
    assert_int_equal(rename(tempdir_path(f->folder, "b.log"), path), 0);
    assert_int_equal(follow_look(f->follow), 1);
}

static void more_files_than_the_bound_do_no_harm(void **state)
{
    struct fixture *f = *state;
    char path[64];

    for (int i = 0; i < FOLLOW_MAX_PATHS + 10; i++) {
        snprintf(path, sizeof path, "/nowhere/%d", i);
        follow_watch(f->follow, path);
    }
    assert_int_equal(follow_n_watched(f->follow), FOLLOW_MAX_PATHS);
    assert_int_equal(follow_look(f->follow), 0);
    follow_watch_begin(f->follow);
    assert_int_equal(follow_n_watched(f->follow), 0);
}

/* ---- What a file becomes ---- */

static const struct source STORED = {.path = "/run/console.log", .importer = "console_log",
                                     .importer_version = 1, .size = 1000, .mtime_ns = 50,
                                     .device = 1, .inode = 7, .state = SOURCE_WHOLE, .role = "log"};

static enum import_choice choose(struct fixture *f, struct source stored, struct source now,
                                 bool has_rows, bool is_settling, bool *is_cut)
{
    const struct follow_file file = {&stored, &now, has_rows, is_settling, false};

    return follow_choose(f->follow, &file, is_cut);
}

static void what_is_as_it_was_read_stays(void **state)
{
    struct fixture *f = *state;
    struct source growing = STORED, other = STORED;
    bool is_cut;

    growing.state = SOURCE_GROWING;
    other.role = "trained";
    assert_int_equal(choose(f, STORED, STORED, true, false, &is_cut), IMPORT_LEAVE);
    assert_int_equal(choose(f, growing, STORED, true, false, &is_cut), IMPORT_LEAVE);
    assert_int_equal(choose(f, growing, STORED, true, true, &is_cut), IMPORT_AS_EVER);
    assert_int_equal(choose(f, STORED, other, true, false, &is_cut), IMPORT_AS_EVER);
}

static void what_grew_is_of_a_run_that_goes_on(void **state)
{
    struct fixture *f = *state;
    struct source longer = STORED, touched = STORED, gone = STORED;
    bool is_cut;

    longer.size++;
    longer.mtime_ns++;
    touched.mtime_ns++;
    gone.state = SOURCE_GONE;
    assert_int_equal(choose(f, STORED, longer, true, false, &is_cut), IMPORT_GROWING);
    assert_int_equal(choose(f, STORED, longer, false, false, &is_cut), IMPORT_AS_EVER);
    assert_int_equal(choose(f, STORED, touched, true, false, &is_cut), IMPORT_AS_EVER);
    assert_int_equal(choose(f, gone, STORED, true, false, &is_cut), IMPORT_AS_EVER);
    assert_false(is_cut);
}

static void what_is_shorter_is_believed_at_the_second_look(void **state)
{
    struct fixture *f = *state;
    struct source shorter = STORED, longer = STORED;
    bool is_cut;

    shorter.size = 10;
    longer.size = 2000;
    assert_int_equal(choose(f, STORED, shorter, true, false, &is_cut), IMPORT_LEAVE);
    assert_false(is_cut);
    assert_true(follow_waits(f->follow));
    (void)follow_look(f->follow);
    assert_int_equal(choose(f, STORED, shorter, true, false, &is_cut), IMPORT_GROWING);
    assert_true(is_cut);
    assert_false(follow_waits(f->follow));
    /* on its way to be written: whole again at the next look */
    assert_int_equal(choose(f, STORED, shorter, true, false, &is_cut), IMPORT_LEAVE);
    assert_int_equal(choose(f, STORED, longer, true, false, &is_cut), IMPORT_GROWING);
    assert_false(is_cut);
    assert_int_equal(choose(f, STORED, shorter, true, false, &is_cut), IMPORT_LEAVE);
    /* settings that were shortened are the settings; no rows are lost */
    (void)follow_look(f->follow);
    assert_int_equal(choose(f, STORED, shorter, false, false, &is_cut), IMPORT_AS_EVER);
    assert_false(is_cut);
}

static void a_large_file_rests_unless_it_grows_much(void **state)
{
    struct fixture *f = *state;
    const struct source stored = {.path = "/run/metrics.jsonl", .size = 100 << 20};
    int64_t s = 1000000000;

    assert_false(follow_rests(f->follow, &stored, (100 << 20) + 10, 0));
    follow_was_read(f->follow, stored.path, s, 10 * s);
    assert_true(follow_rests(f->follow, &stored, (100 << 20) + 10, 11 * s));
    assert_true(follow_waits(f->follow));
    assert_true(follow_rests(f->follow, &stored, (100 << 20) + 10, (9 + FOLLOW_REST) * s));
    assert_false(follow_rests(f->follow, &stored, (100 << 20) + 10, (10 + FOLLOW_REST) * s));
    assert_false(follow_rests(f->follow, &stored, 107 << 20, 11 * s));  /* a sixteenth */
    assert_false(follow_rests(f->follow, &stored, 50 << 20, 11 * s));   /* shorter: another file */
    const struct source small = {.path = "/run/small.jsonl", .size = 1 << 20};
    follow_was_read(f->follow, small.path, s, 10 * s);
    assert_false(follow_rests(f->follow, &small, (1 << 20) + 10, 11 * s));
}

/* ---- How it lives ---- */

static void silence_is_said_in_words_with_the_pace_of_the_rows(void **state)
{
    struct fixture *f = *state;
    char words[200];

    follow_rows(f->follow, 10, 100000, 100001);
    follow_rows(f->follow, 15, 100060, 100061);
    assert_int_equal(follow_silence(f->follow, 100061 + 599), 599);
    assert_false(follow_is_silent(f->follow, 100061 + FOLLOW_SILENT_S - 1));
    assert_true(follow_is_silent(f->follow, 100061 + FOLLOW_SILENT_S));
    follow_say_silence(f->follow, 100061 + 34 * 60, false, words, sizeof words);
    assert_string_equal(words, "no new row for 34 min, rows came every 12 s: probably dead");
    follow_say_silence(f->follow, 100061 + 34 * 60, true, words, sizeof words);
    assert_non_null(strstr(words, "it may hang"));
}

static void a_run_of_slow_rows_is_given_time(void **state)
{
    struct fixture *f = *state;

    follow_rows(f->follow, 1, 100000, 100000);
    follow_rows(f->follow, 2, 100900, 100900);      /* one in 15 minutes */
    assert_false(follow_is_silent(f->follow, 100900 + 4 * 900));
    assert_true(follow_is_silent(f->follow, 100900 + FOLLOW_ROWS * 900));
}

static void a_run_that_was_dead_before_is_silent_since_its_last_row(void **state)
{
    struct fixture *f = *state;
    char words[200];

    follow_rows(f->follow, 10, 100000, 100000 + 34 * 60);
    assert_true(follow_is_silent(f->follow, 100000 + 34 * 60));
    follow_say_silence(f->follow, 100000 + 34 * 60, false, words, sizeof words);
    assert_string_equal(words, "no new row for 34 min: probably dead");
}

static void a_clock_that_goes_back_is_no_silence(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(follow_silence(f->follow, 5), 0);          /* nothing was seen yet */
    follow_rows(f->follow, 10, 200000, 100000);                 /* dates of the future */
    assert_int_equal(follow_silence(f->follow, 100000), 0);
    assert_int_equal(follow_silence(f->follow, 50000), 0);
    assert_int_equal(follow_silence(f->follow, 50000 + 600), 600);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(nothing_is_new_where_nothing_happened),
        CASE(a_file_that_grew_is_news_once),
        CASE(a_new_file_shows_in_its_folder),
        CASE(a_file_that_goes_and_comes_is_news_twice),
        CASE(a_file_that_was_replaced_by_one_of_its_size_is_news),
        CASE(more_files_than_the_bound_do_no_harm),
        CASE(what_is_as_it_was_read_stays),
        CASE(what_grew_is_of_a_run_that_goes_on),
        CASE(what_is_shorter_is_believed_at_the_second_look),
        CASE(a_large_file_rests_unless_it_grows_much),
        CASE(silence_is_said_in_words_with_the_pace_of_the_rows),
        CASE(a_run_of_slow_rows_is_given_time),
        CASE(a_run_that_was_dead_before_is_silent_since_its_last_row),
        CASE(a_clock_that_goes_back_is_no_silence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
