/* Tables of metrics that notebooks show: what becomes rows, and where they belong. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "importers/registry.h"
#include "importers/run/console_table.h"
#include "tests/harness/dumped.h"

static void read_log(const char *text)
{
    dumped_read_text(&importer_console_log, "notebook_output.txt", text);
}

static void a_table_with_tabs_becomes_rows(void **state)
{
    (void)state;
    read_log(" [60/60 02:11, Epoch 0/1]\nStep\tTraining Loss\n1\t1.826200\n2\t1.811700\n\n3\tnan\n"
             "Saving the model\n4\t0.5\n");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep 1\t1.8262\tline 3");
    dumped_has("point\tloss\tseq 1\tsegment 0\tstep 2\t1.8117\tline 4");
    dumped_has("point\tloss\tseq 2\tsegment 0\tstep 3\tnan\tline 6");
    assert_int_equal(dumped_count("point\t"), 3);
    dumped_has("last-progress\t-\tstep 60\tline 1\tbyte 0\t\t60\t60");
}

static void what_an_evaluation_measured_is_told_from_what_the_training_logged(void **state)
{
    (void)state;
    read_log("Step\tTraining Loss\tValidation Loss\tAccuracy\tWer Ortho\tG0 Loss\t"
             "rewards / margins\n400\tNo log\t0.484265\t0.9\t27.9\t0.4\t1.5\n"
             "800\t0.0335\t0.58\t0.91\t25.1\t0.3\t1.6\n");
    dumped_has("point\teval_loss\tseq 0\tsegment 0\tstep 400\t0.484265\tline 2");
    dumped_has("point\teval_accuracy\tseq 0\tsegment 0\tstep 400\t0.9");
    dumped_has("point\teval_wer_ortho\tseq 1\tsegment 0\tstep 800\t25.1");
    dumped_has("point\teval_g0_loss\tseq 1\tsegment 0\tstep 800\t0.3");
    dumped_has("point\trewards/margins\tseq 1\tsegment 0\tstep 800\t1.6");
    dumped_has("point\tloss\tseq 1\tsegment 0\tstep 800\t0.0335");
    assert_int_equal(dumped_count("point\tloss"), 1);
    dumped_has("\teval-row\t-\tstep 400\tline 2"); /* of the row without a training loss */
}

static void names_of_policy_training_keep_their_slash(void **state)
{
    (void)state;
    read_log("Step | Training Loss | reward | reward_std | completion_length | kl | "
             "rewards / match_format\n-- | -- | -- | -- | -- | -- | --\n"
             "1 | 0.000000 | -17.25 | 1.5 | 445.5 | 0.000000 | 0.25\n"
             "2 | -0.000000 | -10.5 | 1.7 | 389.25 | 0.00001 | 0.5\n");
    dumped_has("point\tloss\tseq 1\tsegment 0\tstep 2\t-0.0");
    dumped_has("point\treward\tseq 0\tsegment 0\tstep 1\t-17.25");
    dumped_has("point\tcompletion_length\tseq 1\tsegment 0\tstep 2\t389.25");
    dumped_has("point\trewards/match_format\tseq 1\tsegment 0\tstep 2\t0.5");
    dumped_has("point\tkl\tseq 1\tsegment 0\tstep 2\t1e-05\tline 4");
}

static void drawn_tables_and_tables_of_blanks_are_read(void **state)
{
    (void)state;
    read_log("| Step | Training Loss |\n|------|:-------------:|\n| 100  | **2.6647**    |\n\n"
             "+------+------+\n| Step | Loss |\n+------+------+\n|  200 | 2.5  |\n+------+------+\n"
             "done\nStep  Training Loss   Validation Loss\n300   2.496852       2.241520\n"
             " 400  2.297376       No log\n       ...\n500  2.1  2.0\n");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep 100\t2.6647\tline 3");
    dumped_has("point\tloss\tseq 1\tsegment 0\tstep 200\t2.5\tline 8");
    dumped_has("point\tloss\tseq 2\tsegment 0\tstep 300\t2.496852\tline 12");
    dumped_has("point\tloss\tseq 3\tsegment 0\tstep 400\t2.297376\tline 13");
    dumped_has("point\teval_loss\tseq 4\tsegment 0\tstep 500\t2.0\tline 15");
}

static void epochs_take_their_step_from_the_bar_that_they_divide(void **state)
{
    (void)state;
    read_log("[784/784 30:52, Epoch 4/4]\nEpoch\tTraining Loss\tValidation Loss\n"
             "1\tNo log\t0.299\n2\t0.5\t0.384\n3\t0.2\t0.368\n");
    dumped_has("point\teval_loss\tseq 0\tsegment 0\tstep 196\t0.299\tline 3");
    dumped_has("point\tepoch\tseq 1\tsegment 0\tstep 392\t2.0");
    dumped_has("point\tloss\tseq 2\tsegment 0\tstep 588\t0.2");
}

static void epochs_without_a_bar_have_no_step(void **state)
{
    (void)state;
    read_log("[100/100 30:52, Epoch 1.50/2]\nEpoch\tTraining Loss\tValidation Loss\n"
             "1\t0.5\t0.384\n2\tNo log\t0.3\n");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep -\t0.5\tline 3");
    dumped_has("point\teval_loss\tseq 1\tsegment 0\tstep -\t0.3\tline 4");
    read_log("Epoch\tTraining Loss\n1\t0.5\n2\t0.4\n");
    dumped_has("point\tloss\tseq 1\tsegment 0\tstep -\t0.4");
}

static void a_bar_that_stopped_short_is_the_last_progress(void **state)
{
    (void)state;
    read_log("  [  21/4720 02:29 < 10:16:13, 0.13 it/s, Epoch 0.04/10]\nStep\tTraining Loss\n"
             "10\t1.5\n20\t1.4\n[10/10 00:01]\n"
             "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n");
    dumped_has("last-progress\t-\tstep 21\tline 1\tbyte 0\t\t21\t4720");
    dumped_has("exception\t-\tstep 21\tline 6");
}

static void a_second_table_that_begins_again_is_a_new_segment(void **state)
{
    (void)state;
    read_log("Step\tTraining Loss\n10\t1.5\n20\t1.4\nStep\tTraining Loss\n10\t1.9\n20\t1.8\n");
    dumped_has("point\tloss\tseq 1\tsegment 0\tstep 20\t1.4");
    dumped_has("point\tloss\tseq 3\tsegment 1\tstep 20\t1.8");
}

static void other_tables_and_prose_are_no_rows(void **state)
{
    (void)state;
    read_log("Step\tTime\n1\t0.5\nEpoch  the loss is printed below\nStep\nLoss\tStep\n1\t2\n"
             "Step\tTraining Loss\tKL\n1\t0.5\nStep\tTraining Loss\nfirst\t0.5\n"
             "Step\tTraining Loss\n1\t12 minutes\n[1/2]\n[x/60 02:11, Epoch 0/1]\n"
             "[3/0 02:11, Epoch 0/1]\n");
    dumped_has_not("point\t");
    dumped_has_not("last-progress");
}

static void a_table_wider_than_any_is_left_alone(void **state)
{
    (void)state;
    char text[4096] = "Step\tTraining Loss";
    size_t n = strlen(text);
    for (int i = 0; i < CONSOLE_TABLE_COLUMNS; i++) {
        memcpy(text + n, "\treward", 7);
        n += 7;
    }
    text[n] = '\0';
    read_log(text);
    dumped_has_not("point\t");
}

static void a_saved_table_is_a_log(void **state)
{
    (void)state;
    assert_true(dumped_probe(&importer_console_log, "colab.txt", "Step\tTraining Loss\n1\t0.5\n"));
    assert_false(dumped_probe(&importer_console_log, "notes.txt", "training loss fell\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_with_tabs_becomes_rows),
        cmocka_unit_test(what_an_evaluation_measured_is_told_from_what_the_training_logged),
        cmocka_unit_test(names_of_policy_training_keep_their_slash),
        cmocka_unit_test(drawn_tables_and_tables_of_blanks_are_read),
        cmocka_unit_test(epochs_take_their_step_from_the_bar_that_they_divide),
        cmocka_unit_test(epochs_without_a_bar_have_no_step),
        cmocka_unit_test(a_bar_that_stopped_short_is_the_last_progress),
        cmocka_unit_test(a_second_table_that_begins_again_is_a_new_segment),
        cmocka_unit_test(other_tables_and_prose_are_no_rows),
        cmocka_unit_test(a_table_wider_than_any_is_left_alone),
        cmocka_unit_test(a_saved_table_is_a_log),
    };
    return cmocka_run_group_tests(tests, dumped_set_up, dumped_tear_down);
}
