/* What loggers leave behind: event files, .wandb, MLflow. Which run a file belongs to, and curves over
 * several files. Their records are test_logger_framing's; what is in the files of the real writers is
 * compared by test_importers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sqlite3.h>

#include "core/base/clock.h"
#include "core/read/source.h"
#include "importers/folder.h"
#include "tests/harness/imported_run.h"
#include "tests/harness/logger_files.h"
#include "tests/harness/tempdir.h"

/* ---- Which run ---- */

struct planned {
    char *folder;
    struct arena *arena;
    struct plan plan;
};

static int set_up(void **state)
{
    struct planned *p = calloc(1, sizeof *p);

    assert_non_null(p);
    p->folder = tempdir_make();
    p->arena = arena_open((size_t)64 << 20);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct planned *p = *state;

    tempdir_remove(p->folder);
    arena_close(p->arena);
    free(p);
    return 0;
}

static void make_plan(struct planned *p)
{
    const char *path = p->folder;
    struct error err;

    assert_int_equal(plan_make(&path, 1, NULL, p->arena, &p->plan, &err), OK);
}

/* Which run has a file of that name ("3": the fourth), or -1. */
static int run_with(const struct planned *p, const char *shown)
{
    for (size_t i = 0; i < p->plan.n_runs; i++)
        for (size_t k = 0; k < p->plan.runs[i].n_files; k++)
            if (strcmp(p->plan.runs[i].files[k].shown, shown) == 0)
                return (int)i;
    return -1;
}

static void write_events(const char *folder, const char *name, int from, int to, double first)
{
    struct buf file;

    buf_init(&file, (size_t)1 << 20);
    logger_begin_events(&file);
    for (int i = from; i <= to; i++)
        logger_put_scalar(&file, "train/loss", i * 10, 1700000000 + i, first / i);
    assert_false(file.failed);
    tempdir_write(folder, name, file.p, file.n);
    buf_free(&file);
}

static void write_history(const char *folder, const char *name, int n, double first)
{
    struct buf file;

    buf_init(&file, (size_t)1 << 20);
    logger_begin_wandb(&file);
    for (int i = 1; i <= n; i++)
        logger_put_history(&file, "train/loss", i * 10, first / i);
    assert_false(file.failed);
    tempdir_write(folder, name, file.p, file.n);
    buf_free(&file);
}

static void write_state(const char *folder, const char *name, int n, double first)
{
    char text[8192];
    int at = snprintf(text, sizeof text, "{\"global_step\": %d, \"log_history\": [", n * 10);

    for (int i = 1; i <= n; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s{\"loss\": %.4f, \"step\": %d}",
                       i > 1 ? ", " : "", first / i, i * 10);
    snprintf(text + at, sizeof text - (size_t)at, "]}\n");
    tempdir_write_text(folder, name, text);
}

static void logs_of_one_training_are_one_run(void **state)
{
    struct planned *p = *state;

    write_state(p->folder, "out/trainer_state.json", 9, 3);
    write_events(p->folder, "out/runs/Jan01_host/events.out.tfevents.1.host", 1, 9, 3);
    write_history(p->folder, "wandb/offline-run-20260101_000000-aaa/run-aaa.wandb", 9, 3);
    make_plan(p);
    assert_int_equal(p->plan.n_runs, 1);
    assert_int_equal(run_with(p, "out/runs/Jan01_host/events.out.tfevents.1.host"), 0);
    assert_int_equal(run_with(p, "wandb/offline-run-20260101_000000-aaa/run-aaa.wandb"), 0);
}

static void each_log_goes_to_the_run_whose_loss_it_repeats(void **state)
{
    struct planned *p = *state;
    const char *a = "wandb/run-20260101_000000-aaa/run-aaa.wandb";
    const char *b = "wandb/run-20260102_000000-bbb/run-bbb.wandb";
    const char *c = "wandb/run-20260103_000000-ccc/run-ccc.wandb";

    write_state(p->folder, "one/trainer_state.json", 9, 3);
    write_state(p->folder, "two/trainer_state.json", 9, 5);
    write_history(p->folder, a, 9, 5);
    write_history(p->folder, b, 9, 3);
    write_history(p->folder, c, 9, 7);
    make_plan(p);
    assert_int_equal(p->plan.n_runs, 3);
    assert_int_equal(run_with(p, b), run_with(p, "one/trainer_state.json"));
    assert_int_equal(run_with(p, a), run_with(p, "two/trainer_state.json"));
    assert_int_not_equal(run_with(p, c), run_with(p, a));
    assert_int_not_equal(run_with(p, c), run_with(p, b));
}

static void event_files_side_by_side_are_runs_and_their_parts_are_not(void **state)
{
    struct planned *p = *state;

    write_events(p->folder, "runs/a/events.out.tfevents.1.host", 1, 9, 3);
    write_events(p->folder, "runs/a/1700000000.5/events.out.tfevents.2.host", 1, 1, 1);
    write_events(p->folder, "runs/a/loss_eval/events.out.tfevents.3.host", 1, 9, 4);
    write_events(p->folder, "runs/b/events.out.tfevents.4.host", 1, 9, 5);
    make_plan(p);
    assert_int_equal(p->plan.n_runs, 2);
    int a = run_with(p, "runs/a/events.out.tfevents.1.host");
    assert_int_equal(run_with(p, "runs/a/1700000000.5/events.out.tfevents.2.host"), a);
    assert_int_equal(run_with(p, "runs/a/loss_eval/events.out.tfevents.3.host"), a);
    assert_int_not_equal(run_with(p, "runs/b/events.out.tfevents.4.host"), a);
}

static void a_resume_of_wandb_keeps_its_run(void **state)
{
    struct planned *p = *state;

    write_history(p->folder, "wandb/run-20260101_000000-aaa/run-aaa.wandb", 9, 3);
    write_history(p->folder, "wandb/run-20260102_000000-aaa/run-aaa.wandb", 5, 8);
    write_history(p->folder, "wandb/run-20260103_000000-bbb/run-bbb.wandb", 7, 9);
    make_plan(p);
    assert_int_equal(p->plan.n_runs, 2);
}

static void copy_sample(const char *folder, const char *name, const char *sample)
{
    char *bytes;
    size_t n;

    assert_int_equal(source_slurp(sample, (size_t)1 << 20, &bytes, &n, NULL), OK);
    tempdir_write(folder, name, bytes, n);
    free(bytes);
}

static void each_run_of_a_database_is_a_run(void **state)
{
    struct planned *p = *state;
    struct sink *sink;
    struct buf text;
    struct error err;

    copy_sample(p->folder, "mlflow.db", "tests/importers/mlflow_db/two-runs/mlflow.db");
    write_state(p->folder, "out/trainer_state.json", 9, 3);
    make_plan(p);
    assert_int_equal(p->plan.n_runs, 3);
    buf_init(&text, (size_t)1 << 20);
    assert_int_equal(sink_open_text(&sink, &text, &err), OK);
    assert_int_equal(plan_import(&p->plan, sink, true, NULL, &err), OK);
    sink_close(sink);
    assert_true(str_find(buf_view(&text), "smooth-owl-0") >= 0);
    assert_true(str_find(buf_view(&text), "smooth-owl-1") >= 0);
    buf_free(&text);
}

static void say_to_database(const char *path, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void runs_of_a_database_that_are_too_many_are_told(void **state)
{
    struct planned *p = *state;

    copy_sample(p->folder, "mlflow.db", "tests/importers/mlflow_db/two-runs/mlflow.db");
    say_to_database(tempdir_path(p->folder, "mlflow.db"),
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 199) "
                    "INSERT INTO runs (run_uuid, start_time) SELECT 'more' || i, i FROM n");
    make_plan(p);
    assert_int_equal(p->plan.n_runs, 200);
    assert_int_equal(p->plan.n_ignored, 1);
    assert_non_null(strstr(p->plan.ignored[0].reason, "more than 200 runs"));
    say_to_database(tempdir_path(p->folder, "mlflow.db"), "DELETE FROM runs WHERE start_time = 1");
    make_plan(p);
    assert_int_equal(p->plan.n_runs, 200);
    assert_int_equal(p->plan.n_ignored, 0);
}

/* In a folder of projects: else each run of the database would have the curve of the event file. */
static void a_log_above_folders_of_runs_is_a_run_of_its_own(void **state)
{
    struct planned *p = *state;
    const char *above[] = {"events.out.tfevents.1.host", "run-aaa.wandb", "metrics.csv"};

    write_events(p->folder, above[0], 1, 9, 7);
    write_history(p->folder, above[1], 9, 7);
    tempdir_write_text(p->folder, above[2], "step,loss\n10,7\n20,3.5\n30,2.3333\n");
    copy_sample(p->folder, "store/mlflow.db", "tests/importers/mlflow_db/two-runs/mlflow.db");
    tempdir_write_text(p->folder, "lengths.csv", "row,tokens\n0,10\n1,12\n");
    make_plan(p);
    assert_int_equal(p->plan.n_runs, 3);
    for (size_t i = 0; i < 3; i++) {
        int run = run_with(p, above[i]);

        assert_true(run >= 0);
        assert_int_equal(run, run_with(p, above[0]));
        for (size_t k = 0; k < p->plan.runs[run].n_files; k++)
            assert_string_not_equal(p->plan.runs[run].files[k].shown, "store/mlflow.db");
    }
    size_t n = 0; /* what tells no losses is everybody's */
    for (size_t i = 0; i < p->plan.n_runs; i++)
        for (size_t k = 0; k < p->plan.runs[i].n_files; k++)
            n += strcmp(p->plan.runs[i].files[k].shown, "lengths.csv") == 0;
    assert_int_equal(n, 3);
}

static size_t n_live(const struct planned *p)
{
    struct sink *sink;
    struct buf text;
    struct error err;
    size_t n = 0;

    buf_init(&text, (size_t)1 << 20);
    assert_int_equal(sink_open_text(&sink, &text, &err), OK);
    assert_int_equal(plan_import(&p->plan, sink, true, NULL, &err), OK);
    sink_close(sink);
    for (const char *at = text.p; (at = strstr(at, "the run may be going on")); at++)
        n++;
    buf_free(&text);
    return n;
}

/* Who looks right after the end is not told that it goes on. */
static void a_run_whose_logger_saw_its_end_is_not_live(void **state)
{
    struct planned *p = *state;

    copy_sample(p->folder, "mlflow.db", "tests/importers/mlflow_db/two-runs/mlflow.db");
    make_plan(p);
    clock_fix(1700001010);
    assert_int_equal(n_live(p), 0);
    say_to_database(tempdir_path(p->folder, "mlflow.db"), "UPDATE runs SET status = 'RUNNING'");
    make_plan(p);
    assert_int_equal(n_live(p), 1); /* the other one's last record is 1,000 s old */
    clock_fix(NONE);
}

static void logs_that_disagree_are_told(void **state)
{
    struct planned *p = *state;
    const char *events = "out/runs/Jan01_host/events.out.tfevents.1.host";

    write_state(p->folder, "out/trainer_state.json", 9, 3);
    write_events(p->folder, events, 1, 9, 4);
    make_plan(p);
    assert_int_equal(p->plan.n_runs, 1);
    for (size_t k = 0; k < p->plan.runs[0].n_files; k++) {
        const struct plan_file *file = &p->plan.runs[0].files[k];

        if (strcmp(file->shown, events) != 0)
            assert_null(file->note);
        else
            assert_string_equal(file->note, "the loss differs from that of out/trainer_state.json "
                                            "at 9 of 9 common steps: the other one counts");
    }
}

/* ---- Several processes ---- */

static void write_rows(const char *folder, const char *name, double first)
{
    char text[8192];
    int at = 0;

    for (int i = 1; i <= 30; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "{\"step\": %d, \"loss\": %.4f}\n", i,
                       first / i);
    tempdir_write_text(folder, name, text);
}

static void write_console(const char *folder, const char *name, double first)
{
    char text[8192] = "***** Running training *****\n";
    int at = (int)strlen(text);

    for (int i = 1; i <= 30; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "{'loss': %.4f, 'grad_norm': 1.0, 'epoch': %.2f}\n", first / i, 0.01 * i);
    tempdir_write_text(folder, name, text);
}

static void expect_rank_0(struct imported_run *run, const char *what)
{
    print_message("%s\n", what);
    imported_run_read(run);
    const struct curve *loss = facts_curve(run->facts, "loss");
    assert_non_null(loss);
    assert_int_equal(loss->n, 30);
    assert_true(loss->value[0] > 2.99 && loss->value[0] < 3.01);
    imported_run_free(run);
}

static void of_several_processes_rank_0_counts(void **state)
{
    struct imported_run *run = imported_run_new();

    (void)state;
    write_rows(run->folder, "metrics_rank1.jsonl", 4);
    write_rows(run->folder, "metrics_rank0.jsonl", 3);
    expect_rank_0(run, "rows, rank in the name of the file");
    run = imported_run_new();
    write_rows(run->folder, "rank_1/metrics.jsonl", 4);
    write_rows(run->folder, "rank_0/metrics.jsonl", 3);
    expect_rank_0(run, "rows, a folder each");
    run = imported_run_new();
    write_console(run->folder, "train.rank1.log", 4);
    write_console(run->folder, "train.rank0.log", 3);
    expect_rank_0(run, "console logs");
    run = imported_run_new();
    write_console(run->folder, "logs/attempt_0/1/stdout.log", 4);
    write_console(run->folder, "logs/attempt_0/0/stdout.log", 3);
    expect_rank_0(run, "console logs of torchrun");
    run = imported_run_new();
    write_events(run->folder, "runs/rank_1/events.out.tfevents.1700000001.a.12", 1, 30, 4);
    write_events(run->folder, "runs/rank_0/events.out.tfevents.1700000002.a.11", 1, 30, 3);
    expect_rank_0(run, "event files, a folder each");
    run = imported_run_new();
    write_events(run->folder, "runs/events.out.tfevents.1700000001.a.rank1", 1, 30, 4);
    write_events(run->folder, "runs/events.out.tfevents.1700000002.a.rank0", 1, 30, 3);
    expect_rank_0(run, "event files beside each other");
    run = imported_run_new();
    write_history(run->folder, "rank1/run-abc12345.wandb", 30, 4);
    write_history(run->folder, "rank0/run-abc12346.wandb", 30, 3);
    expect_rank_0(run, "W&B");
}

static void in_one_log_rank_0_counts_though_others_print_first(void **state)
{
    struct imported_run *run = imported_run_new();
    char text[16384] = "[rank1]: ***** Running training *****\n";
    int at = (int)strlen(text);

    (void)state;
    for (int i = 1; i <= 30; i++)
        for (int rank = 1; rank >= 0; rank--)
            at += snprintf(text + at, sizeof text - (size_t)at,
                           "[rank%d]: {'loss': %.4f, 'grad_norm': 1.0, 'epoch': %.2f}\n", rank,
                           (3.0 + rank) / i, 0.01 * i);
    tempdir_write_text(run->folder, "train.log", text);
    expect_rank_0(run, "one log");
}

static void numbers_of_a_sweep_are_no_processes(void **state)
{
    struct planned *p = *state;

    write_rows(p->folder, "rank_8/metrics.jsonl", 4);
    write_rows(p->folder, "rank_16/metrics.jsonl", 3);
    write_rows(p->folder, "lora_rank0/metrics.jsonl", 5);
    make_plan(p);
    assert_int_equal(p->plan.n_runs, 3);
}

/* ---- Curves ---- */

static void a_curve_goes_on_in_the_next_file(void **state)
{
    struct imported_run *run = imported_run_new();

    (void)state;
    write_events(run->folder, "runs/events.out.tfevents.1700000001.host", 1, 8, 3);
    write_events(run->folder, "runs/events.out.tfevents.1700000002.host", 6, 12, 3);
    write_events(run->folder, "runs/events.out.tfevents.1700000003.host", 11, 15, 3);
    imported_run_read(run);
    const struct curve *loss = facts_curve(run->facts, "loss");
    double value;
    assert_non_null(loss);
    assert_int_equal(loss->n, 15);
    assert_int_equal(loss->n_segments, 3);
    for (size_t i = 0; i < loss->n; i++) {
        assert_int_equal(loss->step[i], (int64_t)(i + 1) * 10);
        assert_true(curve_on_row(loss, loss, i, &value));
        assert_true(value == loss->value[i]);
    }
    assert_int_equal(run->facts->last_step, 150);
    imported_run_free(run);
}

/* Killed at step 120, resumed from 80 without its optimizer: the loss jumps at 90, in the second file. */
static void a_restart_in_a_new_file_shows_its_own_rows(void **state)
{
    struct imported_run *run = imported_run_new();

    (void)state;
    write_events(run->folder, "runs/events.out.tfevents.1700000001.host", 1, 12, 3);
    write_events(run->folder, "runs/events.out.tfevents.1700000002.host", 9, 20, 9);
    imported_run_read(run);
    const struct curve *loss = facts_curve(run->facts, "loss");
    assert_non_null(loss);
    assert_int_equal(loss->n, 20);
    assert_int_equal(loss->n_segments, 2);
    assert_int_equal(loss->segment[7], 0);
    assert_int_equal(loss->segment[8], 1);
    assert_int_equal(loss->step[8], 90);
    assert_true(loss->value[8] > 0.99 && loss->value[8] < 1.01);
    imported_run_free(run);
}

/* The clock of one machine was wrong when it named its file, or the files were renamed. */
static void the_times_in_event_files_order_them_before_their_names(void **state)
{
    struct imported_run *run = imported_run_new();

    (void)state;
    write_events(run->folder, "runs/events.out.tfevents.1700000001.host", 9, 20, 9);
    write_events(run->folder, "runs/events.out.tfevents.1700000002.host", 1, 10, 9);
    imported_run_read(run);
    const struct curve *loss = facts_curve(run->facts, "loss");
    assert_non_null(loss);
    assert_int_equal(loss->n, 20);
    assert_int_equal(loss->step[0], 10);
    assert_int_equal(loss->n_segments, 2);
    imported_run_free(run);
}

static void another_attempt_does_not_go_on(void **state)
{
    struct imported_run *run = imported_run_new();

    (void)state;
    write_events(run->folder, "runs/events.out.tfevents.1700000001.host", 1, 9, 3);
    write_events(run->folder, "runs/events.out.tfevents.1700000002.host", 1, 6, 5);
    imported_run_read(run);
    const struct curve *loss = facts_curve(run->facts, "loss");
    assert_non_null(loss);
    assert_int_equal(loss->n, 9);
    assert_true(loss->value[0] > 2.9 && loss->value[0] < 3.1);
    imported_run_free(run);
}

static void a_metric_that_two_logs_have_is_counted_once(void **state)
{
    struct imported_run *run = imported_run_new();

    (void)state;
    write_state(run->folder, "trainer_state.json", 9, 3);
    write_events(run->folder, "runs/events.out.tfevents.1700000001.host", 1, 9, 3);
    imported_run_read(run);
    const struct curve *loss = facts_curve(run->facts, "loss");
    assert_non_null(loss);
    assert_int_equal(loss->n, 9);
    assert_int_equal(loss->n_segments, 1);
    imported_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(logs_of_one_training_are_one_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_log_goes_to_the_run_whose_loss_it_repeats, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(event_files_side_by_side_are_runs_and_their_parts_are_not,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_resume_of_wandb_keeps_its_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_run_of_a_database_is_a_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_of_a_database_that_are_too_many_are_told, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_log_above_folders_of_runs_is_a_run_of_its_own, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_run_whose_logger_saw_its_end_is_not_live, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(logs_that_disagree_are_told, set_up, tear_down),
        cmocka_unit_test(a_curve_goes_on_in_the_next_file),
        cmocka_unit_test(of_several_processes_rank_0_counts),
        cmocka_unit_test(in_one_log_rank_0_counts_though_others_print_first),
        cmocka_unit_test_setup_teardown(numbers_of_a_sweep_are_no_processes, set_up, tear_down),
        cmocka_unit_test(a_restart_in_a_new_file_shows_its_own_rows),
        cmocka_unit_test(the_times_in_event_files_order_them_before_their_names),
        cmocka_unit_test(another_attempt_does_not_go_on),
        cmocka_unit_test(a_metric_that_two_logs_have_is_counted_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
