/* Tables of metrics: which files they are, steps, names, empty cells. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "importers/registry.h"
#include "tests/harness/tempdir.h"

static char *folder;
static struct buf dump;

static int set_up(void **state)
{
    (void)state;
    folder = tempdir_make();
    buf_init(&dump, (size_t)16 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_free(&dump);
    tempdir_remove(folder);
    return 0;
}

static void read_table(const char *name, const char *text)
{
    struct error err = {0};
    struct sink *sink;
    tempdir_write_text(folder, name, text);
    const char *path = tempdir_path(folder, name);
    const struct run run = {.key = "k", .folder = folder, .name = "n", .project = folder};
    const struct source source = {.path = path, .importer = "metrics_table"};
    buf_clear(&dump);
    assert_int_equal(sink_open_text(&sink, &dump, &err), OK);
    assert_int_equal(sink_begin(sink, &run, &source, &err), OK);
    struct import import = {.path = path, .run = &run, .sink = sink};
    import.arena = arena_open(ARENA_BATCH_BYTES);
    assert_non_null(import.arena);
    assert_int_equal(importer_metrics_table.run(&import, &err), OK);
    assert_int_equal(sink_end(sink, import.read_to, import.state, &err), OK);
    sink_close(sink);
    arena_close(import.arena);
}

static void has(const char *needle)
{
    if (strstr(dump.p, needle) == NULL) {
        fail_msg("missing %s in\n%s", needle, dump.p);
    }
}

static void has_not(const char *needle)
{
    if (strstr(dump.p, needle) != NULL) {
        fail_msg("unexpected %s in\n%s", needle, dump.p);
    }
}

static void a_csv_of_lightning_leaves_cells_empty(void **state)
{
    (void)state;
    read_table("metrics.csv", "epoch,lr,step,train_loss,val_loss\n0,0.004,4,5.5,\n0,,13,,3.4\n");
    has("series\ttrain_loss\tloss");
    has("series\tval_loss\teval_loss");
    has("point\ttrain_loss\tseq 0\tsegment 0\tstep 4\t5.5\tline 2");
    has("point\tval_loss\tseq 1\tsegment 0\tstep 13\t3.4\tline 3");
    has_not("point\ttrain_loss\tseq 1");
}

static void train_loss_beside_loss_keeps_its_name(void **state)
{
    (void)state;
    read_table("metrics.csv", "step,loss,train_loss\n1,2.0,2.5\n");
    has("series\ttrain_loss\ttrain_loss");
    has("series\tloss\tloss");
}

static void rows_of_jsonl_are_flattened(void **state)
{
    (void)state;
    read_table("metrics.jsonl", "{\"iter\": 1, \"loss\": \"nan\", \"opt\": {\"lr\": 0.1}}\n"
                                "{\"iter\": 2, \"loss\": Infinity, \"name\": \"x\"}\n");
    has("point\tloss\tseq 0\tsegment 0\tstep 1\tnan");
    has("point\topt/lr\tseq 0\tsegment 0\tstep 1\t0.1");
    has("point\tloss\tseq 1\tsegment 0\tstep 2\tinf");
    has_not("\tname\t");
}

static void without_a_step_the_row_counts_and_says_so(void **state)
{
    (void)state;
    read_table("metrics.csv", "loss\n2.0\n1.5\n");
    has("point\tloss\tseq 1\tsegment 0\tstep 1\t1.5");
    has("note\tinfo\tline 1\tbyte -\tno step column");
    read_table("metrics.jsonl", "{\"loss\": 2.0}\n{\"loss\": 1.5}\n");
    has("point\tloss\tseq 1\tsegment 0\tstep 1\t1.5");
}

static void bad_lines_are_noted_with_their_place(void **state)
{
    (void)state;
    read_table("metrics.jsonl", "{\"step\": 1, \"loss\": 2.0}\nnonsense\n[1]\n{\"step\": 2, \"lo");
    has("point\tloss\tseq 0");
    has("note\twarn\tline 2");
    has("1 lines hold no object");
    has("note\tinfo\tline 4");
}

static int probe(const char *name, const char *text)
{
    struct peek peek = {.path = name, .name = name, .folder_name = "", .head = str_of(text)};
    peek.size = (int64_t)peek.head.n;
    return importer_metrics_table.probe(&peek);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_csv_of_lightning_leaves_cells_empty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(train_loss_beside_loss_keeps_its_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_of_jsonl_are_flattened, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_step_the_row_counts_and_says_so, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(bad_lines_are_noted_with_their_place, set_up, tear_down),
        cmocka_unit_test(metric_tables_are_told_from_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
