/* Two files of one run are known by their loss rows (FORMATS.md B0 rule 6). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "importers/plan_parts.h"
#include "importers/registry.h"
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

static struct loss_rows rows_of(struct fixture *f, const char *name, const char *importer,
                                const char *text)
{
    struct loss_rows rows;
    struct error err;

    tempdir_write_text(f->folder, name, text);
    const struct walk_file file = {
        .path = arena_strdup(f->arena, tempdir_path(f->folder, name)), .shown = name, .name = name};
    const struct found found = {.file = &file, .importer = importer_by_id(importer)};
    assert_non_null(found.importer);
    assert_int_equal(rows_read(&found, f->arena, &rows, &err), OK);
    return rows;
}

static void a_state_and_its_console_are_the_same_run(void **state)
{
    struct fixture *f = *state;
    struct loss_rows a =
        rows_of(f, "trainer_state.json", "hf_trainer_state",
                "{\"global_step\": 30, \"log_history\": [\n"
                "{\"epoch\": 0.25, \"loss\": 1.46291, \"step\": 10},\n"
                "{\"epoch\": 0.5, \"loss\": 1.2, \"step\": 20},\n"
                "{\"epoch\": 0.5, \"eval_loss\": 9, \"step\": 20},\n"
                "{\"epoch\": 0.75, \"loss\": 1.1004, \"step\": 30},\n"
                "{\"epoch\": 0.75, \"train_loss\": 7, \"train_runtime\": 3.5, \"step\": 30}]}\n");
    struct loss_rows b = rows_of(f, "console.log", "console_log",
                                 "  0%|   | 0/30\r{'loss': 1.4629, 'epoch': 0.25}\n"
                                 "{'loss': '1.2', 'epoch': '0.5'}\n"
                                 "{'loss': 1.1004, 'epoch': 0.75}\n");
    assert_int_equal(a.n, 3);
    assert_int_equal(b.n, 3);
    assert_true(b.is_training);
    assert_true(rows_are_same(&a, &b));
}

static void a_differing_row_keeps_runs_apart(void **state)
{
    struct fixture *f = *state;
    struct loss_rows a = rows_of(f, "a.jsonl", "metrics_table",
                                 "{\"step\": 1, \"loss\": 1.5}\n{\"step\": 2, \"loss\": 1.4}\n"
                                 "{\"step\": 3, \"loss\": 1.3}\n{\"step\": 4, \"loss\": 1.2}\n");
    struct loss_rows b = rows_of(f, "b.jsonl", "metrics_table",
                                 "{\"step\": 1, \"loss\": 1.5}\n{\"step\": 2, \"loss\": 1.4}\n"
                                 "{\"step\": 3, \"loss\": 1.3}\n{\"step\": 4, \"loss\": 1.25}\n");
    assert_true(rows_are_same(&a, &a));
    assert_false(rows_are_same(&a, &b));
}

/* Runs of a sweep lie close together: what differs in a digit that both print is another run. */
static void runs_that_lie_closer_than_a_short_print_stay_apart(void **state)
{
    struct fixture *f = *state;
    struct loss_rows a = rows_of(f, "a.csv", "metrics_table",
                                 "step,loss\n1,2.5013\n2,2.4127\n3,2.3301\n4,2.2\n");
    struct loss_rows b = rows_of(f, "b.csv", "metrics_table",
                                 "step,loss\n1,2.5018\n2,2.4131\n3,2.3307\n4,2.2004\n");
    struct loss_rows whole =
        rows_of(f, "c.csv", "metrics_table",
                "step,loss\n1,2.50134992599487\n2,2.41265010833740\n3,2.33014988899231\n"
                "4,2.20004510879516\n");
    struct loss_rows four_digits =
        rows_of(f, "d.log", "console_log",
                "{'loss': '2.501', 'step': 1}\n{'loss': '2.413', 'step': 2}\n"
                "{'loss': '2.33', 'step': 3}\n{'loss': '2.2', 'step': 4}\n");

    assert_int_equal(whole.n, 4);
    assert_int_equal(four_digits.n, 4);
    assert_false(rows_are_same(&a, &b));
    assert_true(rows_are_same(&a, &whole));
    assert_true(rows_are_same(&a, &four_digits));
    assert_true(rows_are_same(&whole, &four_digits));
}

static void constant_losses_join_nothing(void **state)
{
    struct fixture *f = *state;
    struct loss_rows a = rows_of(f, "a.jsonl", "metrics_table",
                                 "{\"step\": 1, \"loss\": 0.0}\n{\"step\": 2, \"loss\": 0.0}\n"
                                 "{\"step\": 3, \"loss\": 0.0}\n{\"step\": 4, \"loss\": NaN}\n");

    assert_int_equal(a.n, 4);
    assert_false(rows_are_same(&a, &a));
}

static void two_common_rows_are_too_few(void **state)
{
    struct fixture *f = *state;
    struct loss_rows a = rows_of(f, "a.csv", "metrics_table", "step,loss\n1,1.5\n2,1.4\n");

    assert_int_equal(a.n, 2);
    assert_false(rows_are_same(&a, &a));
}

static void a_log_without_a_loss_is_known_to_train_by_its_marker(void **state)
{
    struct fixture *f = *state;
    struct loss_rows a = rows_of(f, "a.log", "console_log", "***** Running training *****\n");
    struct loss_rows b = rows_of(f, "b.log", "console_log", "step 20/400 loss 3.59 grad 1.1\n");
    struct loss_rows c = rows_of(f, "c.log", "console_log", "Loading weights\nprofit and loss\n");

    assert_true(a.is_training);
    assert_true(b.is_training);
    assert_false(c.is_training);
}

static void a_damaged_file_gives_the_rows_before_the_damage(void **state)
{
    struct fixture *f = *state;
    struct loss_rows a = rows_of(f, "trainer_state.json", "hf_trainer_state",
                                 "{\"log_history\": [{\"loss\": 1.5, \"step\": 1}, {\"loss\": 1");

    assert_int_equal(a.n, 1);
    assert_true(a.loss[0] == 1.5);
}

static void mentions_are_found_in_text(void **state)
{
    struct fixture *f = *state;
    const char *words[] = {"run_b/checkpoint-", "out"};

    tempdir_write_text(f->folder, "a.log", "x\nSaving to /tmp/run_b/checkpoint-20\n");
    assert_true(file_mentions(tempdir_path(f->folder, "a.log"), words, 1));
    assert_false(file_mentions(tempdir_path(f->folder, "a.log"), words + 1, 1));
    assert_false(file_mentions(tempdir_path(f->folder, "none.log"), words, 2));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_state_and_its_console_are_the_same_run),
        CASE(a_differing_row_keeps_runs_apart),
        CASE(runs_that_lie_closer_than_a_short_print_stay_apart),
        CASE(constant_losses_join_nothing),
        CASE(two_common_rows_are_too_few),
        CASE(a_log_without_a_loss_is_known_to_train_by_its_marker),
        CASE(a_damaged_file_gives_the_rows_before_the_damage),
        CASE(mentions_are_found_in_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
