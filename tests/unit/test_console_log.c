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
#include "tests/harness/dumped.h"

static void read_log(const char *text)
{
    dumped_read_text(&importer_console_log, "train.log", text);
}

/* ---- Rows ---- */

static void rows_come_bare_and_quoted(void **state)
{
    (void)state;
    read_log("{'loss': 1.4596, 'grad_norm': nan, 'learning_rate': 4.5e-06, 'epoch': 0.66}\n"
             "{'loss': '5.072', 'grad_norm': 'inf', 'learning_rate': '0', 'epoch': '0.7'}\n");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep -\t1.4596\tline 1");
    dumped_has("point\tgrad_norm\tseq 0\tsegment 0\tstep -\tnan\tline 1");
    dumped_has("point\tgrad_norm\tseq 1\tsegment 0\tstep -\tinf\tline 2");
    dumped_has("point\tlearning_rate\tseq 1\tsegment 0\tstep -\t0.0\tline 2");
    dumped_has("point\tepoch\tseq 1\tsegment 0\tstep -\t0.7\tline 2");
}

static void nested_rows_are_flattened(void **state)
{
    (void)state;
    read_log("{'loss': 0.5, 'rewards': {'format': 1.0, 'acc': '0.25'}, 'note': None}\n");
    dumped_has("point\trewards/format\tseq 0\tsegment 0\tstep -\t1.0");
    dumped_has("point\trewards/acc\tseq 0\tsegment 0\tstep -\t0.25");
}

static void numbers_of_torch_and_numpy_are_read(void **state)
{
    (void)state;
    read_log("{'loss': tensor(1.5, device='cuda:0'), 'grad_norm': np.float64(0.25)}\n");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep -\t1.5");
    dumped_has("point\tgrad_norm\tseq 0\tsegment 0\tstep -\t0.25");
}

static void dicts_without_a_metric_are_no_rows(void **state)
{
    (void)state;
    read_log("{'pearson': 1.0, 'spearmanr': 1.0}\n{'task': {'name': 'x'}}\n"
             "{'label': 'loss', 'text': 'a'}\n");
    dumped_has_not("point");
    dumped_has("log-summary\t-\tstep -\tline -\tbyte -\t\t3\t0\t\t0");
}

static void a_row_takes_the_step_of_the_bar_drawn_anew(void **state)
{
    (void)state;
    read_log("  1%|   | 1/120 [00:00<00:43,  2.72it/s]\r"
             "                  \r{'loss': 1.0, 'epoch': 0.1}\n"
             "\r  3%|   | 4/120 [00:01<00:29,  3.90it/s]\r"
             "  4%|   | 5/120 [00:01<00:29,  3.90it/s]\n"
             "{'loss': 0.9, 'epoch': 0.2}\nsaving\n");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep 4\t1.0");
    dumped_has("point\tloss\tseq 1\tsegment 0\tstep 5\t0.9");
    dumped_has("last-progress\t-\tstep 5\tline 2\tbyte 130\t\t5\t120");
}

static void rows_in_heaps_have_no_step(void **state)
{
    (void)state;
    read_log(" 55%|   | 100/181 [16:15<13:08,  9.73s/it]\n"
             "{'loss': 0.6, 'epoch': 0.05}\n{'loss': 0.5, 'epoch': 0.1}\n"
             "{'loss': 0.4, 'epoch': 0.15}\n 56%|   | 101/181 [16:15<13:08,  9.73s/it]\n");
    assert_int_equal(dumped_count("point\tloss"), 3);
    assert_int_equal(dumped_count("step -\t"), 7); /* six numbers and the summary */
}

static void a_step_in_the_row_wins(void **state)
{
    (void)state;
    read_log(" 55%|   | 100/181 [16:15<13:08,  9.73s/it]\n"
             "{'loss': 0.6, 'step': 7, 'epoch': 0.05}\n"
             "{'loss': 0.5, 'global_step/max_steps': '17/124'}\n"
             "{\"current_steps\": 20, \"total_steps\": 570, \"loss\": 1.52, \"lr\": 1e-05}\n");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep 7\t0.6");
    dumped_has("point\tloss\tseq 1\tsegment 0\tstep 17\t0.5");
    dumped_has("point\tloss\tseq 2\tsegment 0\tstep 20\t1.52");
    dumped_has("series\tlr\tlearning_rate");
    dumped_has("20\t570");
}

static void other_loggers_rows_are_read_by_their_pattern(void **state)
{
    (void)state;
    read_log("iter 8 step 1: loss nan, iter time: 1957.89ms\n"
             "Iter 25: Train loss 1.593, Learning Rate 7.000e-05, It/sec 0.999\n"
             "Iter 25: Val loss 2.086, Val took 17.177s\n"
             "Step 30 | loss:2.0853 lr:2e-05 tokens_per_second_per_gpu:57.8\n"
             "step 40/400 loss 3.5948 grad 1.129\n");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep 8\tnan");
    dumped_has("point\tlearning_rate\tseq 1\tsegment 0\tstep 25\t7e-05");
    dumped_has("point\teval_loss\tseq 2\tsegment 0\tstep 25\t2.086");
    dumped_has("point\tloss\tseq 3\tsegment 0\tstep 30\t2.0853");
    dumped_has("point\tgrad_norm\tseq 4\tsegment 0\tstep 40\t1.129");
    dumped_has("last-progress\t-\tstep 40\tline 5");
}

static void batches_of_an_epoch_become_steps(void **state)
{
    (void)state;
    read_log("Epoch 2:  50%|##  | 50/100 [00:01<00:01, 24.37it/s, v_num=0, train_loss=nan.0]\n");
    dumped_has("point\ttrain_loss\tseq 0\tsegment 0\tstep 250\tnan");
    dumped_has_not("v_num\tseq");
    read_log("Epoch 1/3: 100%|## | 100/100 [00:01<00:00, 24.37it/s, loss=1.5]\n"
             "Epoch 2/3:  50%|#  | 50/100 [00:01<00:01, 24.37it/s, loss=1.2]\n");
    dumped_has("point\tloss\tseq 1\tsegment 0\tstep 150\t1.2");
    dumped_has("\t150\t300");
    dumped_has_not("training-restart");
}

static void numbers_behind_a_bar_are_a_row(void **state)
{
    (void)state;
    read_log("  5%|#  | 100/2000 [00:10<03:00, 10.00it/s, loss=1.25, lr=1e-4]\n");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep 100\t1.25");
    dumped_has("point\tlr\tseq 0\tsegment 0\tstep 100\t0.0001");
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
    dumped_has("point\teval_loss\tseq 0\tsegment 0\tstep 60\t0.5");
    dumped_has("eval-row\t-\tstep 60\tline 3");
    dumped_has("exception\t-\tstep 60\tline 5");
}

static void an_announced_evaluation_is_no_training(void **state)
{
    (void)state;
    read_log("***** Running Evaluation *****\n 46%|#  | 612/1322 [00:30<00:10,  6.00it/s]\n"
             "RuntimeError: CUDA error: out of memory\n");
    dumped_has("exception\t-\tstep -\tline 3");
    dumped_has_not("last-progress");
}

static void the_plan_tells_which_bar_is_the_training(void **state)
{
    (void)state;
    read_log(" 99%|#  | 517/518 [00:30<00:10,  6.00it/s]\n"
             "    Num examples = 500 | Num Epochs = 1 | Total steps = 60\n"
             "  3%|#  | 2/60 [00:30<00:10,  6.00it/s]\n 10%|#  | 52/518 [00:30<00:10,  6.00it/s]\n"
             "ValueError: x\n");
    dumped_has("exception\t-\tstep 2\tline 5");
    dumped_has("\t2\t60");
}

static void a_traceback_of_a_training_loop_marks_a_training_log(void **state)
{
    (void)state;
    read_log("Traceback (most recent call last):\n  File \"a\", line 1, in training_step\n"
             "KeyError: 1\n");
    dumped_has("log-summary\t-\tstep -\tline -\tbyte -\t\t3\t0\ttraining\t0");
    read_log("Traceback (most recent call last):\n  File \"a\", line 1, in merge\nKeyError: 1\n");
    dumped_has("log-summary\t-\tstep -\tline -\tbyte -\t\t3\t0\t\t0");
}

static void a_second_start_marker_begins_a_segment(void **state)
{
    (void)state;
    read_log("{'loss': 0.76, 'epoch': 0.9}\n***** Running training *****\n"
             "{'loss': 1.92, 'epoch': 1.1}\n");
    dumped_has("point\tloss\tseq 0\tsegment 0");
    dumped_has("point\tloss\tseq 1\tsegment 1");
    dumped_has("training-restart\t-\tstep -\tline 2");
    dumped_has("start-marker\trunning-training");
}

static void a_step_or_epoch_that_falls_begins_a_segment(void **state)
{
    (void)state;
    read_log("{'loss': 0.7, 'step': 20}\n{'loss': 0.8, 'step': 10}\n{'loss': 0.8, 'step': 20}\n");
    dumped_has("point\tloss\tseq 1\tsegment 1");
    dumped_has("point\tloss\tseq 2\tsegment 1");
    read_log("{'loss': 0.7, 'epoch': 1.5}\n{'loss': 0.8, 'epoch': 0.5}\n");
    dumped_has("point\tloss\tseq 1\tsegment 1");
}

static void a_bar_that_begins_again_is_a_restart(void **state)
{
    (void)state;
    read_log(" 50%|#  | 60/120 [00:10<00:10,  6.00it/s]\n{'loss': 1.0}\n"
             " 50%|#  | 60/120 [00:10<00:10,  6.00it/s]\nKilled\n"
             "  0%|   | 0/120 [00:00<?, ?it/s]\r 43%|#  | 52/120 [00:10<00:10,  6.00it/s]\n"
             "{'loss': 0.9}\n 43%|#  | 52/120 [00:10<00:10,  6.00it/s]\n");
    dumped_has("training-restart\t-\tstep 60\tline 5");
    dumped_has("point\tloss\tseq 1\tsegment 1\tstep 52");
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
    dumped_has("exception\t-\tstep 2321\tline 7");
    dumped_has("torch.cuda.OutOfMemoryError\tCUDA out of memory.\t\t<module> evaluation_loop\t1\t");
    assert_int_equal(dumped_count("\texception\t"), 1);
}

static void of_a_chain_the_last_exception_counts(void **state)
{
    (void)state;
    read_log("Traceback (most recent call last):\n  File \"a.py\", line 1, in first\n"
             "KeyError: 'x'\n\n"
             "During handling of the above exception, another exception occurred:\n\n"
             "Traceback (most recent call last):\n  File \"b.py\", line 2, in second\n"
             "ValueError: no\n");
    assert_int_equal(dumped_count("\texception\t"), 1);
    dumped_has("ValueError\tno\t\tsecond\t7\tKeyError: 'x'");
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
    dumped_has("ValueError\tfrom three\t3\tthree\t2");
    dumped_has("OSError\tfrom one\t1\tone\t1");
    dumped_has("line -\tbyte -\t\t7\t0\t\t2");
}

static void unmarked_tracebacks_may_be_mixed(void **state)
{
    (void)state;
    read_log("Traceback (most recent call last):\nTraceback (most recent call last):\n"
             "  File \"a.py\", line 1, in one\n  File \"a.py\", line 1, in one\n"
             "ModuleNotFoundError: No module named 'a'\n"
             "ModuleNotFoundError: No module named 'a'\n");
    assert_int_equal(dumped_count("\texception\t-"), 2);
}

static void exceptions_have_many_forms(void **state)
{
    (void)state;
    read_log("Traceback (most recent call last):\n  File \"a.py\", line 1, in one\n"
             "KeyboardInterrupt\n");
    dumped_has("KeyboardInterrupt\t\t\tone");
    read_log("Traceback (most recent call last):\n  File \"a.py\", line 1, in one\n"
             "RuntimeError: Error(s) in loading state_dict for X:\n"
             "\tsize mismatch for a.weight: copying a param with shape torch.Size([0]) from "
             "checkpoint, the shape in current model is torch.Size([64, 8]).\n");
    dumped_has("RuntimeError\tError(s) in loading state_dict for X:");
    dumped_has("adapter-file-empty\tsize-mismatch");
    read_log("  File \"a.py\", line 3\n    foo bar\n        ^\nSyntaxError: invalid syntax\n");
    dumped_has("SyntaxError\tinvalid syntax");
    read_log("ValueError: alone\n");
    dumped_has("exception\t-\tstep -\tline 1\tbyte 0\tValueError: alone\tValueError\t"
               "alone\t\t\t\t");
}

static void warnings_and_levels_are_no_exceptions(void **state)
{
    (void)state;
    read_log("UserWarning: x\nINFO: y\nError: z\nEpoch: 3\n/a/b.py:3: FutureWarning: old\n");
    dumped_has_not("\texception\t");
}

static void a_notebook_prints_its_own_form(void **state)
{
    (void)state;
    read_log("OutOfMemoryError                          Traceback (most recent call last)\n"
             "Cell In[5], line 1\n----> 1 trainer.train()\n\n"
             "File ~/x/trainer.py:1859, in Trainer.train(self, resume)\n   1857 inner\n\n"
             "OutOfMemoryError: CUDA out of memory.\n");
    dumped_has("OutOfMemoryError\tCUDA out of memory.\t\ttrain\t1");
    assert_int_equal(dumped_count("\texception\t"), 1);
}

static void a_log_that_ends_inside_a_traceback_says_so(void **state)
{
    (void)state;
    read_log("Traceback (most recent call last):\n  File \"a.py\", line 1, in one\n    x(");
    dumped_has("exception\t-\tstep -\tline 1\tbyte 0\t"
               "Traceback (most recent call last):\t\t\t\tone\t1");
}

static void the_launcher_names_the_root_cause(void **state)
{
    (void)state;
    read_log("ChildFailedError: \n====\nRoot Cause (first observed failure):\n[0]:\n"
             "  time      : 2026-02-16_15:36:37\n  host      : node7\n"
             "  rank      : 1 (local_rank: 1)\n  exitcode  : -9 (pid: 653736)\n"
             "  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 653736\n"
             "====\n");
    dumped_has("root-cause\t-\tstep -\tline 3");
    dumped_has("\t-9\t1\t653736\tnode7\tSignal 9 (SIGKILL) received by PID 653736");
    dumped_has("host-oom-killed\telastic-exitcode-killed");
}

/* ---- Text ---- */

static void killed_is_found_behind_a_bar(void **state)
{
    (void)state;
    read_log(" 46%|#  | 55/120 [00:03<00:05, 11.58it/s]Killed\n");
    dumped_has("host-oom-killed\tshell-killed\tstep 55");
    read_log("Killed in action\n");
    dumped_has_not("host-oom-killed");
}

static void terminal_codes_are_removed(void **state)
{
    (void)state;
    read_log("\x1b[1mscore.weight\x1b[0m | \x1b[33mMISSING\x1b[0m    |\n"
             "\x1b]0;title\a{'loss': 1.0}\x1b[A\n");
    dumped_has("adapter-not-loaded\tload-report\tstep -\tline 1\tbyte 0\t"
               "score.weight | MISSING    |");
    dumped_has("point\tloss\tseq 0");
}

static void hostile_bytes_are_harmless(void **state)
{
    (void)state;
    static const char text[] =
        "\xff\xf0\0{'loss': 1.0}\0\n\xc3ValueError: \x80\xff\nValueError: \x80\n";
    dumped_read(&importer_console_log, "train.log", text, sizeof text - 1);
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep -\t1.0");
    dumped_has("exception\t-\tstep -\tline 3");
}

static void a_very_long_line_is_cut(void **state)
{
    (void)state;
    size_t n = 3 * CONSOLE_LINE_BYTES;
    char *text = malloc(n + 64);
    memset(text, 'x', n);
    int more = snprintf(text + n, 64, "\n{'loss': 2.0}\n");
    dumped_read(&importer_console_log, "train.log", text, n + (size_t)more);
    dumped_has("note\tinfo\tline 1\tbyte 0\tline longer than 1 MiB");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep -\t2.0\tline 2");
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
    dumped_read(&importer_console_log, "train.log", text, rows * (sizeof row - 1));
    assert_int_equal(dumped_count("point\tloss"), rows);
    assert_int_equal(dumped_count("\t1.25\t"), rows);
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
    assert_int_equal(dumped_count("loss-scale-overflow\tdeepspeed-grad-overflow\tstep"),
                     CONSOLE_MAX_EVENTS + 1);
    dumped_has("Grad overflow on iteration 200\t200");
    dumped_has_not("Grad overflow on iteration 201\t");
    dumped_has("event\tseq 249\tloss-scale-overflow\tdeepspeed-grad-overflow\tstep -\tline 250");
    dumped_has("loss-scale-overflow\tdeepspeed-grad-overflow\t250\t1\t250");
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
        dumped_read(&importer_console_log, "train.log", text, n);
        dumped_has("\nend\twhole\t");
    }
}

static void an_empty_file_and_a_pointer_are_notes(void **state)
{
    (void)state;
    read_log("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n");
    dumped_has("note\terror");
    dumped_has("end\tdamaged");
    dumped_has_not("event");
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
    return dumped_probe(&importer_console_log, name, text);
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
    assert_true(probe("log_1712.txt", "Step 1 | loss:2.08 lr:0.0003 \n") > 0);
    /* Manuals quote tracebacks, catalogues hold messages. */
    assert_int_equal(probe("PKG-INFO", "fails:\n\n   >>> f()\n   Traceback (most recent call last):\n"
                                       "   ...\n   ValueError: no value\n"), 0);
    assert_int_equal(probe("messages", "Message.XError: X Error: of failed request\n"), 0);
    assert_true(probe("crash", "Traceback (most recent call last):\n  f\nValueError: no\n") > 40);
    assert_true(probe("crash", "[rank0]: Traceback (most recent call last):\n") > 40);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, dumped_set_up, dumped_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_come_bare_and_quoted),
        TEST(nested_rows_are_flattened),
        TEST(numbers_of_torch_and_numpy_are_read),
        TEST(dicts_without_a_metric_are_no_rows),
        TEST(a_row_takes_the_step_of_the_bar_drawn_anew),
        TEST(rows_in_heaps_have_no_step),
        TEST(a_step_in_the_row_wins),
        TEST(other_loggers_rows_are_read_by_their_pattern),
        TEST(batches_of_an_epoch_become_steps),
        TEST(numbers_behind_a_bar_are_a_row),
        TEST(the_bar_of_an_evaluation_gives_no_steps),
        TEST(an_announced_evaluation_is_no_training),
        TEST(the_plan_tells_which_bar_is_the_training),
        TEST(a_traceback_of_a_training_loop_marks_a_training_log),
        TEST(a_second_start_marker_begins_a_segment),
        TEST(a_step_or_epoch_that_falls_begins_a_segment),
        TEST(a_bar_that_begins_again_is_a_restart),
        TEST(a_traceback_ends_with_its_exception),
        TEST(of_a_chain_the_last_exception_counts),
        TEST(tracebacks_of_ranks_run_through_each_other),
        TEST(unmarked_tracebacks_may_be_mixed),
        TEST(exceptions_have_many_forms),
        TEST(warnings_and_levels_are_no_exceptions),
        TEST(a_notebook_prints_its_own_form),
        TEST(a_log_that_ends_inside_a_traceback_says_so),
        TEST(the_launcher_names_the_root_cause),
        TEST(killed_is_found_behind_a_bar),
        TEST(terminal_codes_are_removed),
        TEST(hostile_bytes_are_harmless),
        TEST(a_very_long_line_is_cut),
        TEST(pieces_across_chunks_are_whole),
        TEST(events_are_capped_and_counted),
        TEST(any_prefix_of_a_log_is_read),
        TEST(an_empty_file_and_a_pointer_are_notes),
        cmocka_unit_test(ranks_are_known_by_their_prefix),
        cmocka_unit_test(logs_are_told_from_other_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
