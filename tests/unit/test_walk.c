/* The walk over the arguments: order, bounds, what is skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "importers/walk.h"
#include "tests/harness/tempdir.h"

struct fixture {
    char *folder;
    struct arena *arena;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = tempdir_make();
    f->arena = arena_open((size_t)16 << 20);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    tempdir_remove(f->folder);
    arena_close(f->arena);
    free(f);
    return 0;
}

static struct walk walk_one(struct fixture *f, const char *path)
{
    struct walk walk;
    struct error err;

    assert_int_equal(walk_paths(&path, 1, f->arena, &walk, &err), OK);
    return walk;
}

static const char *skipped(const struct walk *walk, const char *end)
{
    for (size_t i = 0; i < walk->n_skipped; i++) {
        size_t n = strlen(walk->skipped[i].path), m = strlen(end);

        if (n >= m && strcmp(walk->skipped[i].path + n - m, end) == 0)
            return walk->skipped[i].reason;
    }
    return NULL;
}

static void files_come_in_the_order_of_their_names(void **state)
{
    struct fixture *f = *state;
    static const char *const ORDER[] = {"a.json", "b/x.json", "b/y.json", "c.json"};

    tempdir_write_text(f->folder, "c.json", "{}");
    tempdir_write_text(f->folder, "b/y.json", "{}");
    tempdir_write_text(f->folder, "a.json", "{}1");
    tempdir_write_text(f->folder, "b/x.json", "{}");
    struct walk walk = walk_one(f, f->folder);
    assert_int_equal(walk.n_arguments, 1);
    assert_int_equal(walk.arguments[0].n_files, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(walk.arguments[0].files[i].shown, ORDER[i]);
    assert_int_equal(walk.arguments[0].files[0].size, 3);
    assert_string_equal(walk.arguments[0].files[1].name, "x.json");
}

static void folders_without_runs_are_skipped_and_said(void **state)
{
    struct fixture *f = *state;

    tempdir_write_text(f->folder, ".git/config", "x");
    tempdir_write_text(f->folder, "node_modules/a/b.json", "x");
    tempdir_write_text(f->folder, "myenv/pyvenv.cfg", "x");
    tempdir_write_text(f->folder, "myenv/lib/c.json", "x");
    tempdir_write_text(f->folder, "d.json", "x");
    struct walk walk = walk_one(f, f->folder);
    assert_int_equal(walk.arguments[0].n_files, 1);
    assert_non_null(skipped(&walk, "/.git"));
    assert_non_null(skipped(&walk, "/node_modules"));
    assert_non_null(skipped(&walk, "/myenv"));
}

static void a_store_that_nobody_reads_says_what_to_export(void **state)
{
    struct fixture *f = *state;

    tempdir_write_text(f->folder, ".aim/meta/chunks/0f03/000008.log", "x");
    tempdir_write_text(f->folder, "d.json", "x");
    struct walk walk = walk_one(f, f->folder);
    assert_int_equal(walk.arguments[0].n_files, 1);
    assert_non_null(strstr(skipped(&walk, "/.aim"), "metrics.csv"));
    walk = walk_one(f, tempdir_path(f->folder, ".aim"));
    assert_non_null(strstr(skipped(&walk, "/.aim"), "metrics.csv"));
}

static void links_are_listed_but_not_followed(void **state)
{
    struct fixture *f = *state;

    tempdir_write_text(f->folder, "real/a.json", "x");
    assert_int_equal(symlink("..", tempdir_path(f->folder, "real/loop")), 0);
    assert_int_equal(symlink("real/a.json", tempdir_path(f->folder, "b.json")), 0);
    struct walk walk = walk_one(f, f->folder);
    assert_int_equal(walk.arguments[0].n_files, 1);
    assert_string_equal(skipped(&walk, "/real/loop"), "a link, not followed");
    assert_string_equal(skipped(&walk, "/b.json"), "a link, not followed");
}

static void the_seventh_level_is_not_entered(void **state)
{
    struct fixture *f = *state;

    tempdir_write_text(f->folder, "1/2/3/4/5/6/in.json", "x");
    tempdir_write_text(f->folder, "1/2/3/4/5/6/7/out.json", "x");
    struct walk walk = walk_one(f, f->folder);
    assert_int_equal(walk.arguments[0].n_files, 1);
    assert_string_equal(walk.arguments[0].files[0].name, "in.json");
    assert_string_equal(skipped(&walk, "/6/7"), "deeper than 6 folders");
}

static void a_pipe_is_not_opened(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(mkfifo(tempdir_path(f->folder, "pipe"), 0600), 0);
    struct walk walk = walk_one(f, f->folder);
    assert_int_equal(walk.arguments[0].n_files, 0);
    assert_string_equal(skipped(&walk, "/pipe"), "not a regular file");
}

static void a_missing_path_is_listed_and_the_others_go_on(void **state)
{
    struct fixture *f = *state;
    struct walk walk;
    struct error err;

    tempdir_write_text(f->folder, "a.json", "x");
    const char *paths[] = {tempdir_path(f->folder, "nothing"), f->folder};
    assert_int_equal(walk_paths(paths, 2, f->arena, &walk, &err), OK);
    assert_int_equal(walk.n_arguments, 1);
    assert_string_equal(skipped(&walk, "/nothing"), "no such file or folder");
}

static void files_named_one_by_one_are_one_argument(void **state)
{
    struct fixture *f = *state;
    struct walk walk;
    struct error err;

    tempdir_write_text(f->folder, "a/train.log", "x");
    tempdir_write_text(f->folder, "b/state.json", "x");
    tempdir_write_text(f->folder, "b/other.json", "x");
    const char *paths[] = {tempdir_path(f->folder, "b/state.json"),
                           tempdir_path(f->folder, "a/train.log")};
    assert_int_equal(walk_paths(paths, 2, f->arena, &walk, &err), OK);
    assert_int_equal(walk.n_arguments, 1);
    assert_true(walk.arguments[0].is_files);
    assert_int_equal(walk.arguments[0].n_files, 2);
    assert_string_equal(walk.arguments[0].files[0].shown, "b/state.json");
}

static void a_path_inside_another_is_found_once(void **state)
{
    struct fixture *f = *state;
    struct walk walk;
    struct error err;

    tempdir_write_text(f->folder, "a/b/x.json", "x");
    const char *paths[] = {tempdir_path(f->folder, "a/b"), f->folder,
                           tempdir_path(f->folder, "a/b/x.json"), f->folder};
    assert_int_equal(walk_paths(paths, 4, f->arena, &walk, &err), OK);
    assert_int_equal(walk.n_arguments, 1);
    assert_int_equal(walk.arguments[0].n_files, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_come_in_the_order_of_their_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(folders_without_runs_are_skipped_and_said, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_store_that_nobody_reads_says_what_to_export, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(links_are_listed_but_not_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_seventh_level_is_not_entered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pipe_is_not_opened, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_missing_path_is_listed_and_the_others_go_on, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(files_named_one_by_one_are_one_argument, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_path_inside_another_is_found_once, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
