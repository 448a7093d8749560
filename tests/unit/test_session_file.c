/* Where the user was is kept per run, bounded, and never in the way. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/error.h"
#include "tests/harness/tempdir.h"
#include "tui/session_file.h"

static char *folder;

static int setup(void **state)
{
    (void)state;
    folder = tempdir_make();
    setenv("XDG_STATE_HOME", folder, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tempdir_remove(folder);
    return 0;
}

static struct session_place place_at(int64_t step)
{
    struct session_place place = {.step = step, .saved_at = 1768435200 + step};

    snprintf(place.check_id, sizeof place.check_id, "nan-onset");
    snprintf(place.view, sizeof place.view, "curves");
    snprintf(place.focus, sizeof place.focus, "evidence");
    return place;
}

static void a_place_is_found_again(void **state)
{
    struct session_place place = place_at(1212), found;

    (void)state;
    session_file_save("run-a", &place);
    assert_true(session_file_load("run-a", &found));
    assert_string_equal(found.check_id, "nan-onset");
    assert_string_equal(found.view, "curves");
    assert_string_equal(found.focus, "evidence");
    assert_int_equal(found.step, 1212);
    assert_int_equal(found.saved_at, 1768435200 + 1212);
    assert_false(session_file_load("run-b", &found));
    assert_false(session_file_load("run", &found));
}

static void empty_members_and_no_step_are_kept_as_they_are(void **state)
{
    struct session_place place = {.step = NONE, .saved_at = 1}, found;

    (void)state;
    session_file_save("run-a", &place);
    assert_true(session_file_load("run-a", &found));
    assert_string_equal(found.check_id, "");
    assert_string_equal(found.focus, "");
    assert_int_equal(found.step, NONE);
}

static void the_last_place_of_a_run_replaces_the_one_before(void **state)
{
    struct session_place place, found;

    (void)state;
    for (int i = 0; i < 5; i++) {
        place = place_at(i);
        session_file_save("run-a", &place);
        place = place_at(100 + i);
        session_file_save("run-b", &place);
    }
    assert_true(session_file_load("run-a", &found));
    assert_int_equal(found.step, 4);
    assert_true(session_file_load("run-b", &found));
    assert_int_equal(found.step, 104);
}

static void a_place_can_be_forgotten(void **state)
{
    struct session_place place = place_at(1), found;

    (void)state;
    session_file_save("run-a", &place);
    session_file_save("run-b", &place);
    session_file_save("run-a", NULL);
    assert_false(session_file_load("run-a", &found));
    assert_true(session_file_load("run-b", &found));
}

static void the_oldest_runs_are_dropped(void **state)
{
    struct session_place place, found;
    char key[32];

    (void)state;
    for (int i = 0; i < SESSION_RUNS + 5; i++) {
        place = place_at(i);
        snprintf(key, sizeof key, "run-%d", i);
        session_file_save(key, &place);
    }
    assert_false(session_file_load("run-4", &found));
    assert_true(session_file_load("run-5", &found));
    /* saving a run that is there already drops nobody */
    place = place_at(7);
    for (int i = 0; i < 10; i++)
        session_file_save("run-100", &place);
    assert_true(session_file_load("run-5", &found));
    assert_true(session_file_load("run-204", &found));
}

static void lines_that_are_wrong_are_passed_over(void **state)
{
    struct session_place place = place_at(3), found;

    (void)state;
    tempdir_write_text(folder, "flatline/session",
                       "run-x\n\n\t\t\t\t\t\nrun-y\tsoon\tnan-onset\t4\tcurves\tevidence\n"
                       "run-a\t7\tloss-flat\t4\tcurves\tevidence\n\xff\xfe\x00garbage");
    assert_true(session_file_load("run-a", &found));
    assert_string_equal(found.check_id, "loss-flat");
    assert_false(session_file_load("run-x", &found));
    assert_false(session_file_load("run-y", &found));
    session_file_save("run-b", &place);
    assert_true(session_file_load("run-a", &found));
    assert_true(session_file_load("run-b", &found));
}

static void members_longer_than_their_place_are_cut(void **state)
{
    char line[2000];
    struct session_place found;

    (void)state;
    memset(line, 'x', sizeof line);
    memcpy(line, "run-a\t7\t", 8);
    memcpy(line + 1000, "\t4\tc\te\n", 8);      /* with the NUL */
    tempdir_write_text(folder, "flatline/session", line);
    assert_true(session_file_load("run-a", &found));
    assert_int_equal(strlen(found.check_id), sizeof found.check_id - 1);
    assert_int_equal(found.step, 4);
}

static void the_file_is_the_users_alone(void **state)
{
    struct session_place place = place_at(3);
    struct stat about;

    (void)state;
    session_file_save("run-a", &place);
    assert_int_equal(stat(tempdir_path(folder, "flatline/session"), &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_int_equal(stat(tempdir_path(folder, "flatline"), &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
}

static void a_folder_that_cannot_be_written_is_no_trouble(void **state)
{
    struct session_place place = place_at(3), found;

    (void)state;
    tempdir_write_text(folder, "file", "");
    setenv("XDG_STATE_HOME", tempdir_path(folder, "file"), 1);
    session_file_save("run-a", &place);
    assert_false(session_file_load("run-a", &found));
    setenv("XDG_STATE_HOME", "relative", 1);
    setenv("HOME", "", 1);
    session_file_save("run-a", &place);
    assert_false(session_file_load("run-a", &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_place_is_found_again, setup, teardown),
        cmocka_unit_test_setup_teardown(empty_members_and_no_step_are_kept_as_they_are, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_last_place_of_a_run_replaces_the_one_before, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_place_can_be_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(the_oldest_runs_are_dropped, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_that_are_wrong_are_passed_over, setup, teardown),
        cmocka_unit_test_setup_teardown(members_longer_than_their_place_are_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(the_file_is_the_users_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_written_is_no_trouble, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
