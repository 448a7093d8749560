/* Tables of metrics: which files they are, steps, names, empty cells. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "importers/registry.h"
#include "tests/harness/dumped.h"

static void read_table(const char *name, const char *text)
{
    dumped_read_text(&importer_metrics_table, name, text);
}

static void a_csv_of_lightning_leaves_cells_empty(void **state)
{
    (void)state;
    read_table("metrics.csv", "epoch,lr,step,train_loss,val_loss\n0,0.004,4,5.5,\n0,,13,,3.4\n");
    dumped_has("series\ttrain_loss\tloss");
    dumped_has("series\tval_loss\teval_loss");
    dumped_has("point\ttrain_loss\tseq 0\tsegment 0\tstep 4\t5.5\tline 2");
    dumped_has("point\tval_loss\tseq 1\tsegment 0\tstep 13\t3.4\tline 3");
    dumped_has_not("point\ttrain_loss\tseq 1");
}

static void train_loss_beside_loss_keeps_its_name(void **state)
{
    (void)state;
    read_table("metrics.csv", "step,loss,train_loss\n1,2.0,2.5\n");
    dumped_has("series\ttrain_loss\ttrain_loss");
    dumped_has("series\tloss\tloss");
}

static void rows_of_jsonl_are_flattened(void **state)
{
    (void)state;
    read_table("metrics.jsonl", "{\"iter\": 1, \"loss\": \"nan\", \"opt\": {\"lr\": 0.1}}\n"
                                "{\"iter\": 2, \"loss\": Infinity, \"name\": \"x\"}\n");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep 1\tnan");
    dumped_has("point\topt/lr\tseq 0\tsegment 0\tstep 1\t0.1");
    dumped_has("point\tloss\tseq 1\tsegment 0\tstep 2\tinf");
    dumped_has_not("\tname\t");
}

static void without_a_step_the_row_counts_and_says_so(void **state)
{
    (void)state;
    read_table("metrics.csv", "loss\n2.0\n1.5\n");
    dumped_has("point\tloss\tseq 1\tsegment 0\tstep 1\t1.5");
    dumped_has("note\tinfo\tline 1\tbyte -\tno step column");
    read_table("metrics.jsonl", "{\"loss\": 2.0}\n{\"loss\": 1.5}\n");
    dumped_has("point\tloss\tseq 1\tsegment 0\tstep 1\t1.5");
}

static void bad_lines_are_noted_with_their_place(void **state)
{
    (void)state;
    read_table("metrics.jsonl", "{\"step\": 1, \"loss\": 2.0}\nnonsense\n[1]\n{\"step\": 2, \"lo");
    dumped_has("point\tloss\tseq 0");
    dumped_has("note\twarn\tline 2");
    dumped_has("1 lines hold no object");
    dumped_has("note\tinfo\tline 4");
}

static int probe(const char *name, const char *text)
{
    return dumped_probe(&importer_metrics_table, name, text);
}

static void metric_tables_are_told_from_data(void **state)
{
    (void)state;
    assert_true(probe("metrics.jsonl", "{\"step\": 1, \"loss\": 2}\n{\"step\": 2, \"loss\": 2}\n") >
                90);
    assert_true(probe("run1.csv", "step,loss,lr\n1,2,3\n") > 70);
    assert_true(probe("run1.tsv", "\"global_step\"\t\"train/loss\"\n1\t2\n") > 70);
    assert_int_equal(probe("lengths.csv", "row,tokens\n0,1\n"), 0);
    assert_int_equal(probe("train.csv", "text,label\nhi,1\n"), 0);
    assert_int_equal(probe("train.jsonl", "{\"prompt\": \"a\", \"loss\": 1, \"step\": 1}\n"), 0);
    assert_int_equal(probe("generations.jsonl", "{\"step\": 1, \"output\": \"x\"}\n"), 0);
    assert_int_equal(probe("adapter_norms.jsonl", "{\"key\": \"a\", \"norm\": 1}\n"), 0);
    assert_int_equal(probe("notes.txt", "step,loss\n"), 0);
}

static void charts_downloaded_as_csv_keep_their_metric(void **state)
{
    static const char wandb[] = "\"Step\",\"a - b - train/loss\",\"a - b - train/loss__MIN\","
                                "\"c - train/loss\"\n\"10\",\"2.5\",\"2.4\",\"9\"\n";
    static const char board[] = "Wall time,Step,Value\n1741000000.5,5,2.25\n";
    (void)state;
    assert_true(probe("wandb_export_2025-03-01T10_22_11.123+01_00.csv", wandb) > 70);
    read_table("wandb_export_2025-03-01T10_22_11.123+01_00.csv", wandb);
    dumped_has("series\ttrain/loss\tloss");
    dumped_has("point\ttrain/loss\tseq 0\tsegment 0\tstep 10\t2.5");
    assert_int_equal(dumped_count("point\t"), 1); /* the first run of the chart, no ranges */
    assert_true(probe("run-.-tag-train_loss.csv", board) > 70);
    read_table("run-.-tag-eval_loss.csv", board);
    dumped_has("series\teval_loss\teval_loss");
    dumped_has("point\teval_loss\tseq 0\tsegment 0\tstep 5\t2.25");
    assert_int_equal(probe("run-.-tag-memory.csv", board), 0);
}

static void headers_for_people_are_names_too(void **state)
{
    static const char text[] = "Epoch,Step,Training Loss,Validation Loss\n1,10,2.5,2.75\n";
    (void)state;
    assert_true(probe("history_of_run.csv", text) > 70);
    read_table("history_of_run.csv", text);
    dumped_has("series\ttraining_loss\tloss");
    dumped_has("point\tvalidation_loss\tseq 0\tsegment 0\tstep 10\t2.75");
    assert_int_equal(probe("rows.csv", "Text,Label\nhi,1\n"), 0);
}

static void a_logger_of_objects_may_write_into_a_log(void **state)
{
    static const char text[] = "{\"level\": \"info\", \"step\": 5, \"loss\": 1.5, \"lr\": 0.0}\n"
                               "{\"level\": \"info\", \"step\": 10, \"loss\": 1.25, \"lr\": 0.0}\n";
    (void)state;
    assert_true(probe("train.log", text) > 70);
    read_table("train.log", text);
    dumped_has("point\tloss\tseq 1\tsegment 0\tstep 10\t1.25");
    assert_int_equal(probe("train.log", "{'loss': 1.5}\n{'loss': 1.5}\n"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, dumped_set_up, dumped_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_csv_of_lightning_leaves_cells_empty),
        TEST(train_loss_beside_loss_keeps_its_name),
        TEST(rows_of_jsonl_are_flattened),
        TEST(without_a_step_the_row_counts_and_says_so),
        TEST(bad_lines_are_noted_with_their_place),
        cmocka_unit_test(metric_tables_are_told_from_data),
        TEST(charts_downloaded_as_csv_keep_their_metric),
        TEST(headers_for_people_are_names_too),
        TEST(a_logger_of_objects_may_write_into_a_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
