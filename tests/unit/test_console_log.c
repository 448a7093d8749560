/* Console logs: what becomes rows, steps, segments and events. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "importers/registry.h"
#include "importers/run/console_log.h"
#include "importers/run/console_traceback.h"
#include "tests/harness/tempdir.h"

static char *folder;
static struct buf dump;

static int set_up(void **state)
{
    (void)state;
    folder = tempdir_make();
    buf_init(&dump, (size_t)64 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_free(&dump);
    tempdir_remove(folder);
    return 0;
}

/* Imports the bytes as a log; the text dump is in `dump`. */
static void read_bytes(const char *bytes, size_t n)
{
    struct error err = {0};
    struct sink *sink;
    tempdir_write(folder, "train.log", bytes, n);
    const char *path = tempdir_path(folder, "train.log");
    const struct run run = {.key = "k", .folder = folder, .name = "n", .project = folder};
    const struct source source = {.path = path, .importer = "console_log", .importer_version = 1};
    buf_clear(&dump);
    assert_int_equal(sink_open_text(&sink, &dump, &err), OK);
    assert_int_equal(sink_begin(sink, &run, &source, &err), OK);
    struct import import = {.path = path, .run = &run, .sink = sink};
    import.arena = arena_open(ARENA_BATCH_BYTES);
    assert_non_null(import.arena);
    assert_int_equal(importer_console_log.run(&import, &err), OK);
    assert_int_equal(sink_end(sink, import.read_to, import.state, &err), OK);
    sink_close(sink);
    arena_close(import.arena);
}

static void read_log(const char *text)
{
    read_bytes(text, strlen(text));
}

static size_t count(const char *needle)
{
    size_t n = 0;
    for (const char *p = dump.p; (p = strstr(p, needle)) != NULL; p += strlen(needle)) {
        n++;
    }
    return n;
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

/* ---- Rows ---- */

static void rows_come_bare_and_quoted(void **state)
{
    (void)state;
    read_log("{'loss': 1.4596, 'grad_norm': nan, 'learning_rate': 4.5e-06, 'epoch': 0.66}\n"
             "{'loss': '5.072', 'grad_norm': 'inf', 'learning_rate': '0', 'epoch': '0.7'}\n");
    has("point\tloss\tseq 0\tsegment 0\tstep -\t1.4596\tline 1");
    has("point\tgrad_norm\tseq 0\tsegment 0\tstep -\tnan\tline 1");
    has("point\tgrad_norm\tseq 1\tsegment 0\tstep -\tinf\tline 2");
    has("point\tlearning_rate\tseq 1\tsegment 0\tstep -\t0.0\tline 2");
    has("point\tepoch\tseq 1\tsegment 0\tstep -\t0.7\tline 2");
}

static void nested_rows_are_flattened(void **state)
{
    (void)state;
    read_log("{'loss': 0.5, 'rewards': {'format': 1.0, 'acc': '0.25'}, 'note': None}\n");
    has("point\trewards/format\tseq 0\tsegment 0\tstep -\t1.0");
    has("point\trewards/acc\tseq 0\tsegment 0\tstep -\t0.25");
}

static void numbers_of_torch_and_numpy_are_read(void **state)
{
    (void)state;
    read_log("{'loss': tensor(1.5, device='cuda:0'), 'grad_norm': np.float64(0.25)}\n");
    has("point\tloss\tseq 0\tsegment 0\tstep -\t1.5");
    has("point\tgrad_norm\tseq 0\tsegment 0\tstep -\t0.25");
}

static void dicts_without_a_metric_are_no_rows(void **state)
{
    (void)state;
    read_log("{'pearson': 1.0, 'spearmanr': 1.0}\n{'task': {'name': 'x'}}\n"
             "{'label': 'loss', 'text': 'a'}\n");
    has_not("point");
    has("log-summary\t-\tstep -\tline -\tbyte -\t\t3\t0\t\t0");
}

static void a_row_takes_the_step_of_the_bar_drawn_anew(void **state)
{
    (void)state;
    read_log("  1%|   | 1/120 [00:00<00:43,  2.72it/s]\r"
             "                  \r{'loss': 1.0, 'epoch': 0.1}\n"
             "\r  3%|   | 4/120 [00:01<00:29,  3.90it/s]\r"
             "  4%|   | 5/120 [00:01<00:29,  3.90it/s]\n"
             "{'loss': 0.9, 'epoch': 0.2}\nsaving\n");
    has("point\tloss\tseq 0\tsegment 0\tstep 4\t1.0");
    has("point\tloss\tseq 1\tsegment 0\tstep 5\t0.9");
    has("last-progress\t-\tstep 5\tline 2\tbyte 130\t\t5\t120");
}

static void rows_in_heaps_have_no_step(void **state)
{
    (void)state;
    read_log(" 55%|   | 100/181 [16:15<13:08,  9.73s/it]\n"
             "{'loss': 0.6, 'epoch': 0.05}\n{'loss': 0.5, 'epoch': 0.1}\n"
             "{'loss': 0.4, 'epoch': 0.15}\n 56%|   | 101/181 [16:15<13:08,  9.73s/it]\n");
    assert_int_equal(count("point\tloss"), 3);
    assert_int_equal(count("step -\t"), 7); /* six numbers and the summary */
}

static void a_step_in_the_row_wins(void **state)
{
    (void)state;
    read_log(" 55%|   | 100/181 [16:15<13:08,  9.73s/it]\n"
             "{'loss': 0.6, 'step': 7, 'epoch': 0.05}\n"
             "{'loss': 0.5, 'global_step/max_steps': '17/124'}\n"
             "{\"current_steps\": 20, \"total_steps\": 570, \"loss\": 1.52, \"lr\": 1e-05}\n");
    has("point\tloss\tseq 0\tsegment 0\tstep 7\t0.6");
    has("point\tloss\tseq 1\tsegment 0\tstep 17\t0.5");
    has("point\tloss\tseq 2\tsegment 0\tstep 20\t1.52");
    has("series\tlr\tlearning_rate");
    has("20\t570");
}

static void other_loggers_rows_are_read_by_their_pattern(void **state)
{
    (void)state;
    read_log("iter 8 step 1: loss nan, iter time: 1957.89ms\n"
             "Iter 25: Train loss 1.593, Learning Rate 7.000e-05, It/sec 0.999\n"
             "Iter 25: Val loss 2.086, Val took 17.177s\n"
             "Step 30 | loss:2.0853 lr:2e-05 tokens_per_second_per_gpu:57.8\n"
             "step 40/400 loss 3.5948 grad 1.129\n");
    has("point\tloss\tseq 0\tsegment 0\tstep 8\tnan");
    has("point\tlearning_rate\tseq 1\tsegment 0\tstep 25\t7e-05");
    has("point\teval_loss\tseq 2\tsegment 0\tstep 25\t2.086");
    has("point\tloss\tseq 3\tsegment 0\tstep 30\t2.0853");
    has("point\tgrad_norm\tseq 4\tsegment 0\tstep 40\t1.129");
    has("last-progress\t-\tstep 40\tline 5");
}

static void batches_of_an_epoch_become_steps(void **state)
{
    (void)state;
    read_log("Epoch 2:  50%|##  | 50/100 [00:01<00:01, 24.37it/s, v_num=0, train_loss=nan.0]\n");
    has("point\ttrain_loss\tseq 0\tsegment 0\tstep 250\tnan");
    has_not("v_num\tseq");
    read_log("Epoch 1/3: 100%|## | 100/100 [00:01<00:00, 24.37it/s, loss=1.5]\n"
             "Epoch 2/3:  50%|#  | 50/100 [00:01<00:01, 24.37it/s, loss=1.2]\n");
    has("point\tloss\tseq 1\tsegment 0\tstep 150\t1.2");
    has("\t150\t300");
    has_not("training-restart");
}

static void numbers_behind_a_bar_are_a_row(void **state)
{
    (void)state;
    read_log("  5%|#  | 100/2000 [00:10<03:00, 10.00it/s, loss=1.25, lr=1e-4]\n");
    has("point\tloss\tseq 0\tsegment 0\tstep 100\t1.25");
    has("point\tlr\tseq 0\tsegment 0\tstep 100\t0.0001");
}

/* ---- Progress, segments ---- */

static void the_bar_of_an_evaluation_gives_no_steps(void **state)
{
    (void)state;
    read_log(" 50%|#  | 60/120 [00:10<00:10,  6.00it/s]\n"
             "  2%|   | 2/100 [00:00<00:23,  4.12it/s]\r 99%|## | 99/100 [00:20<00:00,  4.12it/s]\n"
             "{'eval_loss': 0.5, 'eval_runtime': 20.0, 'epoch': 1.0}\n"
             " 50%|#  | 60/120 [00:30<00:10,  6.00it/s]\n"
             "RuntimeError: CUDA error: out of memory\n");
    has("point\teval_loss\tseq 0\tsegment 0\tstep 60\t0.5");
    has("eval-row\t-\tstep 60\tline 3");
    has("exception\t-\tstep 60\tline 5");
}

static void an_announced_evaluation_is_no_training(void **state)
{
    (void)state;
    read_log("***** Running Evaluation *****\n 46%|#  | 612/1322 [00:30<00:10,  6.00it/s]\n"
             "RuntimeError: CUDA error: out of memory\n");
    has("exception\t-\tstep -\tline 3");
    has_not("last-progress");
}

static void the_plan_tells_which_bar_is_the_training(void **state)
{
    (void)state;
    read_log(" 99%|#  | 517/518 [00:30<00:10,  6.00it/s]\n"
             "    Num examples = 500 | Num Epochs = 1 | Total steps = 60\n"
             "  3%|#  | 2/60 [00:30<00:10,  6.00it/s]\n 10%|#  | 52/518 [00:30<00:10,  6.00it/s]\n"
             "ValueError: x\n");
    has("exception\t-\tstep 2\tline 5");
    has("\t2\t60");
}

static void a_traceback_of_a_training_loop_marks_a_training_log(void **state)
{
    (void)state;
    read_log("Traceback (most recent call last):\n  File \"a\", line 1, in training_step\n"
             "KeyError: 1\n");
    has("log-summary\t-\tstep -\tline -\tbyte -\t\t3\t0\ttraining\t0");
    read_log("Traceback (most recent call last):\n  File \"a\", line 1, in merge\nKeyError: 1\n");
    has("log-summary\t-\tstep -\tline -\tbyte -\t\t3\t0\t\t0");
}

static void a_second_start_marker_begins_a_segment(void **state)
{
    (void)state;
    read_log("{'loss': 0.76, 'epoch': 0.9}\n***** Running training *****\n"
             "{'loss': 1.92, 'epoch': 1.1}\n");
    has("point\tloss\tseq 0\tsegment 0");
    has("point\tloss\tseq 1\tsegment 1");
    has("training-restart\t-\tstep -\tline 2");
    has("start-marker\trunning-training");
}

static void a_step_or_epoch_that_falls_begins_a_segment(void **state)
{
    (void)state;
    read_log("{'loss': 0.7, 'step': 20}\n{'loss': 0.8, 'step': 10}\n{'loss': 0.8, 'step': 20}\n");
    has("point\tloss\tseq 1\tsegment 1");
    has("point\tloss\tseq 2\tsegment 1");
    read_log("{'loss': 0.7, 'epoch': 1.5}\n{'loss': 0.8, 'epoch': 0.5}\n");
    has("point\tloss\tseq 1\tsegment 1");
}

static void a_bar_that_begins_again_is_a_restart(void **state)
{
    (void)state;
    read_log(" 50%|#  | 60/120 [00:10<00:10,  6.00it/s]\n{'loss': 1.0}\n"
             " 50%|#  | 60/120 [00:10<00:10,  6.00it/s]\nKilled\n"
             "  0%|   | 0/120 [00:00<?, ?it/s]\r 43%|#  | 52/120 [00:10<00:10,  6.00it/s]\n"
             "{'loss': 0.9}\n 43%|#  | 52/120 [00:10<00:10,  6.00it/s]\n");
    has("training-restart\t-\tstep 60\tline 5");
    has("point\tloss\tseq 1\tsegment 1\tstep 52");
}

/* ---- Tracebacks ---- */

static void a_traceback_ends_with_its_exception(void **state)
{
    (void)state;
    read_log("  7%|   | 2321/31570 [4:16:04<33:18:50,  4.10s/it]"
             "Traceback (most recent call last):\n"
             "  File \"train.py\", line 16, in <module>\n    main()\n    ^^^^^^\n"
             "  File \"t/trainer.py\", line 9, in evaluation_loop\n    x()\n"
             "torch.cuda.OutOfMemoryError: CUDA out of memory.\n");
    has("exception\t-\tstep 2321\tline 7");
    has("torch.cuda.OutOfMemoryError\tCUDA out of memory.\t\t<module> evaluation_loop\t1\t");
    assert_int_equal(count("\texception\t"), 1);
}

static void of_a_chain_the_last_exception_counts(void **state)
{
    (void)state;
    read_log("Traceback (most recent call last):\n  File \"a.py\", line 1, in first\n"
             "KeyError: 'x'\n\n"
             "During handling of the above exception, another exception occurred:\n\n"
             "Traceback (most recent call last):\n  File \"b.py\", line 2, in second\n"
             "ValueError: no\n");
    assert_int_equal(count("\texception\t"), 1);
    has("ValueError\tno\t\tsecond\t7\tKeyError: 'x'");
}

static void tracebacks_of_ranks_run_through_each_other(void **state)
{
    (void)state;
    read_log("[rank1]: Traceback (most recent call last):\n"
             "[rank3]: Traceback (most recent call last):\n"
             "[rank1]:   File \"a.py\", line 1, in one\n"
             "[rank3]:   File \"a.py\", line 1, in three\n"
             "[rank1]:     x()\n"
             "[rank3]: ValueError: from three\n"
             "[rank1]: OSError: from one\n");
    has("ValueError\tfrom three\t3\tthree\t2");
    has("OSError\tfrom one\t1\tone\t1");
    has("line -\tbyte -\t\t7\t0\t\t2");
}

static void unmarked_tracebacks_may_be_mixed(void **state)
{
    (void)state;
    read_log("Traceback (most recent call last):\nTraceback (most recent call last):\n"
             "  File \"a.py\", line 1, in one\n  File \"a.py\", line 1, in one\n"
             "ModuleNotFoundError: No module named 'a'\n"
             "ModuleNotFoundError: No module named 'a'\n");
    assert_int_equal(count("\texception\t-"), 2);
}

static void exceptions_have_many_forms(void **state)
{
    (void)state;
    read_log("Traceback (most recent call last):\n  File \"a.py\", line 1, in one\n"
             "KeyboardInterrupt\n");
    has("KeyboardInterrupt\t\t\tone");
    read_log("Traceback (most recent call last):\n  File \"a.py\", line 1, in one\n"
             "RuntimeError: Error(s) in loading state_dict for X:\n"
             "\tsize mismatch for a.weight: copying a param with shape torch.Size([0]) from "
             "checkpoint, the shape in current model is torch.Size([64, 8]).\n");
    has("RuntimeError\tError(s) in loading state_dict for X:");
    has("adapter-file-empty\tsize-mismatch");
    read_log("  File \"a.py\", line 3\n    foo bar\n        ^\nSyntaxError: invalid syntax\n");
    has("SyntaxError\tinvalid syntax");
    read_log("ValueError: alone\n");
    has("exception\t-\tstep -\tline 1\tbyte 0\tValueError: alone\tValueError\talone\t\t\t\t");
}

static void warnings_and_levels_are_no_exceptions(void **state)
{
    (void)state;
    read_log("UserWarning: x\nINFO: y\nError: z\nEpoch: 3\n/a/b.py:3: FutureWarning: old\n");
    has_not("\texception\t");
}

static void a_notebook_prints_its_own_form(void **state)
{
    (void)state;
    read_log("OutOfMemoryError                          Traceback (most recent call last)\n"
             "Cell In[5], line 1\n----> 1 trainer.train()\n\n"
             "File ~/x/trainer.py:1859, in Trainer.train(self, resume)\n   1857 inner\n\n"
             "OutOfMemoryError: CUDA out of memory.\n");
    has("OutOfMemoryError\tCUDA out of memory.\t\ttrain\t1");
    assert_int_equal(count("\texception\t"), 1);
}

static void a_log_that_ends_inside_a_traceback_says_so(void **state)
{
    (void)state;
    read_log("Traceback (most recent call last):\n  File \"a.py\", line 1, in one\n    x(");
    has("exception\t-\tstep -\tline 1\tbyte 0\tTraceback (most recent call last):\t\t\t\tone\t1");
}

static void the_launcher_names_the_root_cause(void **state)
{
    (void)state;
    read_log("ChildFailedError: \n====\nRoot Cause (first observed failure):\n[0]:\n"
             "  time      : 2026-02-16_15:36:37\n  host      : node7\n"
             "  rank      : 1 (local_rank: 1)\n  exitcode  : -9 (pid: 653736)\n"
             "  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 653736\n"
             "====\n");
    has("root-cause\t-\tstep -\tline 3");
    has("\t-9\t1\t653736\tnode7\tSignal 9 (SIGKILL) received by PID 653736");
    has("host-oom-killed\telastic-exitcode-killed");
}

/* ---- Text ---- */

static void killed_is_found_behind_a_bar(void **state)
{
    (void)state;
    read_log(" 46%|#  | 55/120 [00:03<00:05, 11.58it/s]Killed\n");
    has("host-oom-killed\tshell-killed\tstep 55");
    read_log("Killed in action\n");
    has_not("host-oom-killed");
}

static void terminal_codes_are_removed(void **state)
{
    (void)state;
    read_log("\x1b[1mscore.weight\x1b[0m | \x1b[33mMISSING\x1b[0m    |\n"
             "\x1b]0;title\a{'loss': 1.0}\x1b[A\n");
    has("adapter-not-loaded\tload-report\tstep -\tline 1\tbyte 0\tscore.weight | MISSING    |");
    has("point\tloss\tseq 0");
}

static void hostile_bytes_are_harmless(void **state)
{
    (void)state;
    static const char text[] =
        "\xff\xf0\0{'loss': 1.0}\0\n\xc3ValueError: \x80\xff\nValueError: \x80\n";
    read_bytes(text, sizeof text - 1);
    has("point\tloss\tseq 0\tsegment 0\tstep -\t1.0");
    has("exception\t-\tstep -\tline 3");
}

static void a_very_long_line_is_cut(void **state)
{
    (void)state;
    size_t n = 3 * CONSOLE_LINE_BYTES;
    char *text = malloc(n + 64);
    memset(text, 'x', n);
    int more = snprintf(text + n, 64, "\n{'loss': 2.0}\n");
    read_bytes(text, n + (size_t)more);
    has("note\tinfo\tline 1\tbyte 0\tline longer than 1 MiB");
    has("point\tloss\tseq 0\tsegment 0\tstep -\t2.0\tline 2");
    free(text);
}

static void pieces_across_chunks_are_whole(void **state)
{
    (void)state;
    static const char row[] = "{'loss': 1.25, 'grad_norm': 0.5}\n";
    size_t n = CONSOLE_LINE_BYTES + 4096;
    char *text = malloc(n);
    size_t rows = n / (sizeof row - 1);
    for (size_t i = 0; i < rows; i++) {
        memcpy(text + i * (sizeof row - 1), row, sizeof row - 1);
    }
    read_bytes(text, rows * (sizeof row - 1));
    assert_int_equal(count("point\tloss"), rows);
    assert_int_equal(count("\t1.25\t"), rows);
    free(text);
}

static void events_are_capped_and_counted(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 1u << 20);
    for (int i = 1; i <= 250; i++) {
        buf_printf(&text, "Grad overflow on iteration %d\n", i);
    }
    read_log(text.p);
    assert_int_equal(count("loss-scale-overflow\tdeepspeed-grad-overflow\tstep"),
                     CONSOLE_MAX_EVENTS + 1);
    has("Grad overflow on iteration 200\t200");
    has_not("Grad overflow on iteration 201\t");
    has("event\tseq 249\tloss-scale-overflow\tdeepspeed-grad-overflow\tstep -\tline 250");
    has("loss-scale-overflow\tdeepspeed-grad-overflow\t250\t1\t250");
    buf_free(&text);
}

static void any_prefix_of_a_log_is_read(void **state)
{
    (void)state;
    static const char text[] =
        "***** Running training *****\r\n  1%|\xe2\x96\x8f | 1/120 [00:00<00:43,  2.72it/s]"
        "\x1b[A{'loss': 1.0, 'a': {'b': [1, 2]}}\n[rank1]: Traceback (most recent call last):\n"
        "[rank1]:   File \"a\", line 1, in f\n[rank1]: OSError: [Errno 28]\nRoot Cause (first "
        "observed failure):\n exitcode : -9 (pid: 1)\n====\n";
    for (size_t n = 1; n < sizeof text; n++) {
        read_bytes(text, n);
        has("\nend\twhole\t");
    }
}

static void an_empty_file_and_a_pointer_are_notes(void **state)
{
    (void)state;
    read_log("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n");
    has("note\terror");
    has("end\tdamaged");
    has_not("event");
}

/* ---- Lines ---- */

static void check_rank(const char *text, size_t used, const char *rank)
{
    struct str found = {0};
    assert_int_equal(console_rank(str_of(text), &found), used);
    if (used > 0) {
        assert_true(str_is(found, rank));
    }
}

static void ranks_are_known_by_their_prefix(void **state)
{
    (void)state;
    check_rank("[rank3]: x", 9, "3");
    check_rank("[default0]:x", 11, "0");
    check_rank("[1,0]<stderr>: x", 15, "0");
    check_rank("0: x", 3, "0");
    check_rank("(task pid=12, ip=1) x", 20, "task pid=12, ip=1");
    check_rank("[INFO] x", 0, "");
    check_rank("[2025-03-20 10:11] x", 0, "");
    check_rank("12:30 x", 0, "");
}

/* ---- Probe ---- */

static int probe(const char *name, const char *text)
{
    struct peek peek = {.path = name, .name = name, .folder_name = "", .head = str_of(text)};
    peek.size = (int64_t)peek.head.n;
    return importer_console_log.probe(&peek);
}

static void logs_are_told_from_other_text(void **state)
{
    (void)state;
    assert_true(probe("train.log", "hello\n") > 50);
    assert_true(probe("notes.txt", "Traceback (most recent call last):\n it/s]") > 50);
    assert_int_equal(probe("README.md", "Traceback (most recent call last):\n"), 0);
    assert_int_equal(probe("train.py", "print('Traceback (most recent call last)')"), 0);
    assert_int_equal(probe("prompt_train.txt", "<|im_start|>user\nhi"), 0);
    assert_int_equal(probe("x.log", "{\"a\": 1}\n{\"a\": 2}\n"), 0);
    assert_int_equal(probe("notes.txt", "some words\n"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_come_bare_and_quoted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nested_rows_are_flattened, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_of_torch_and_numpy_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dicts_without_a_metric_are_no_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_row_takes_the_step_of_the_bar_drawn_anew, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(rows_in_heaps_have_no_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_step_in_the_row_wins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_loggers_rows_are_read_by_their_pattern, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(batches_of_an_epoch_become_steps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_behind_a_bar_are_a_row, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_bar_of_an_evaluation_gives_no_steps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_announced_evaluation_is_no_training, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_plan_tells_which_bar_is_the_training, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_traceback_of_a_training_loop_marks_a_training_log, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_second_start_marker_begins_a_segment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_step_or_epoch_that_falls_begins_a_segment, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_bar_that_begins_again_is_a_restart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_traceback_ends_with_its_exception, set_up, tear_down),
        cmocka_unit_test_setup_teardown(of_a_chain_the_last_exception_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tracebacks_of_ranks_run_through_each_other, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(unmarked_tracebacks_may_be_mixed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exceptions_have_many_forms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(warnings_and_levels_are_no_exceptions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_notebook_prints_its_own_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_log_that_ends_inside_a_traceback_says_so, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_launcher_names_the_root_cause, set_up, tear_down),
        cmocka_unit_test_setup_teardown(killed_is_found_behind_a_bar, set_up, tear_down),
        cmocka_unit_test_setup_teardown(terminal_codes_are_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hostile_bytes_are_harmless, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_very_long_line_is_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pieces_across_chunks_are_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(events_are_capped_and_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_prefix_of_a_log_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_file_and_a_pointer_are_notes, set_up, tear_down),
        cmocka_unit_test(ranks_are_known_by_their_prefix),
        cmocka_unit_test(logs_are_told_from_other_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
