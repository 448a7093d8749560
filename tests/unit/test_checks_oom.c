/* The out-of-memory family and what looks like it: each check with a failing run, a healthy
 * look-alike and a run that cannot tell. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/checks/registry.h"
#include "tests/harness/judged.h"

struct fixture {
    struct fake_run *run;
    struct check_result result;
};

static int open_run(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->run = fake_run_new(KIND_SFT);
    *state = f;
    return 0;
}

static int close_run(void **state)
{
    struct fixture *f = *state;
    fake_run_free(f->run);
    free(f);
    return 0;
}

#define cmocka_run_test(name) cmocka_unit_test_setup_teardown(name, open_run, close_run)

static void expect(struct fixture *f, const struct check *check, enum verdict verdict)
{
    judged_expect(f->run, check, verdict, &f->result);
}

/* "CUDA out of memory. Tried to allocate …" in the form of torch 1.5 to 2.0. */
static void old_message(struct fixture *f, int64_t step, const char *const sizes[5])
{
    fake_event(f->run, "oom-train", "oom-torch-1-5", step, "CUDA out of memory. Tried to allocate");
    for (int i = 0; i < 5; i++) {
        fake_capture(f->run, i == 0 ? 1 : 2 + 2 * i, sizes[i]);
        fake_capture(f->run, i == 0 ? 2 : 3 + 2 * i, "GiB");
    }
}

static const char *const FULL[5] = {"0.06", "23.70", "23.29", "0.06", "23.29"};
static const char *const ELSEWHERE[5] = {"0.5", "79.15", "3.10", "0.20", "3.30"};

static void exception_in(struct fixture *f, const char *frames)
{
    fake_event(f->run, "exception", NULL, NONE, "torch.cuda.OutOfMemoryError: CUDA out of memory");
    fake_capture(f->run, 1, "OutOfMemoryError");
    fake_capture(f->run, 2, "CUDA out of memory");
    fake_capture(f->run, 4, frames);
}

static void losses(struct fixture *f, size_t n)
{
    fake_line(f->run, "loss", 2.0, 1.0, n);
}

/* ---- oom-train ---- */

static void a_step_that_does_not_fit_fails_and_names_the_ladder(void **state)
{
    struct fixture *f = *state;
    fake_event(f->run, "start-marker", "running-training", NONE, "***** Running training *****");
    fake_setting(f->run, "per_device_train_batch_size", "4");
    fake_setting(f->run, "gradient_accumulation_steps", "4");
    fake_setting(f->run, "gradient_checkpointing", "false");
    old_message(f, 0, FULL);
    exception_in(f, "train training_step backward");
    expect(f, &check_oom_train, VERDICT_FAIL);
    assert_int_equal(f->result.confidence, CONFIDENCE_CERTAIN);
    assert_int_equal(f->result.from_step, 0);
    assert_true(f->result.n_fixes >= 2);
    assert_non_null(strstr(f->result.fixes[0], "micro batch 4 -> 1, accumulation 4 -> 16"));
    assert_non_null(strstr(f->result.fixes[1], "gradient checkpointing"));
    expect(f, &check_oom_memory_held, VERDICT_PASS);
    expect(f, &check_oom_longest_sequence, VERDICT_UNKNOWN);
}

static void the_rung_that_is_enough_stands_first_when_the_shape_is_known(void **state)
{
    struct fixture *f = *state;
    static const char *const SIZES[][2] = {
        {"hidden_size", "4096"},        {"num_hidden_layers", "32"}, {"num_attention_heads", "32"},
        {"intermediate_size", "11008"}, {"vocab_size", "32000"},     {"model_type", "llama"}};
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
        fake_setting_on(f->run, SIDE_MODEL, SIZES[i][0], SIZES[i][1]);
    fake_setting(f->run, "per_device_train_batch_size", "4");
    fake_setting(f->run, "max_length", "2048");
    fake_setting(f->run, "lora_r", "8");
    fake_setting(f->run, "bf16", "true");
    old_message(f, 3, FULL);
    losses(f, 3);
    expect(f, &check_oom_train, VERDICT_FAIL);
    assert_true(f->result.n_fixes > 2);
    assert_non_null(strstr(f->result.fixes[0], "estimated peak"));
    assert_true(f->result.n_evidence >= 3);
}

static void reserved_memory_far_above_allocated_is_fragmented(void **state)
{
    struct fixture *f = *state;
    static const char *const FRAGMENTED[5] = {"4.0", "24.0", "12.0", "0.5", "20.0"};
    old_message(f, 10, FRAGMENTED);
    losses(f, 10);
    expect(f, &check_oom_train, VERDICT_FAIL);
    assert_non_null(strstr(f->result.fixes[0], "expandable_segments"));
}

static void an_error_that_was_retried_at_a_smaller_batch_passes(void **state)
{
    struct fixture *f = *state;
    old_message(f, 0, FULL);
    fake_event(f->run, "info", "batch-size-retried", NONE,
               "Currently training with a batch size of: 8");
    fake_capture(f->run, 1, "8");
    losses(f, 40);
    fake_event(f->run, "end-marker", "train-runtime", 40, "{'train_runtime': 912.3}");
    fake_decided(f->run)->has_end_marker = true;
    fake_decided(f->run)->run.outcome = OUTCOME_FINISHED;
    expect(f, &check_oom_train, VERDICT_PASS);
    assert_true(judged_informs(&f->result, "batch 8"));
    expect(f, &check_oom_memory_held, VERDICT_PASS);
    expect(f, &check_oom_eval, VERDICT_PASS);
    expect(f, &check_oom_longest_sequence, VERDICT_PASS);
}

static void a_log_without_a_step_cannot_tell(void **state)
{
    struct fixture *f = *state;
    fake_event(f->run, "last-line", NULL, NONE, "loading the model");
    expect(f, &check_oom_train, VERDICT_UNKNOWN);
    assert_true(f->result.n_missing == 1);
}

static void a_failing_cublas_handle_is_only_a_possibility(void **state)
{
    struct fixture *f = *state;
    fake_event(
        f->run, "oom-train", "cublas-alloc", 0,
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`");
    expect(f, &check_oom_train, VERDICT_WARN);
    assert_int_equal(f->result.confidence, CONFIDENCE_POSSIBLE);
}

static void a_cublas_handle_beside_an_index_error_is_no_memory_fault(void **state)
{
    struct fixture *f = *state;
    losses(f, 3);
    fake_event(f->run, "vocab-mismatch", "assert-embedding-cuda", 3,
               "Assertion `srcIndex < srcSelectDimSize` failed");
    fake_event(f->run, "oom-train", "cublas-alloc", 3, "CUBLAS_STATUS_ALLOC_FAILED");
    expect(f, &check_oom_train, VERDICT_PASS);
}

/* ---- oom-memory-held ---- */

static void another_process_with_half_of_the_gpu_holds_it(void **state)
{
    struct fixture *f = *state;
    old_message(f, 0, ELSEWHERE);
    fake_event(f->run, "oom-memory-held", "process-memory", 0,
               "Process 4711 has 71.2 GiB memory in use");
    fake_capture(f->run, 1, "4711");
    fake_capture(f->run, 2, "71.2");
    fake_capture(f->run, 3, "GiB");
    expect(f, &check_oom_memory_held, VERDICT_FAIL);
    assert_string_equal(f->result.branch, "other-process");
    assert_true(judged_offers(&f->result, "4711"));
    expect(f, &check_oom_train, VERDICT_UNKNOWN);
}

static void our_own_process_in_the_list_is_no_other(void **state)
{
    struct fixture *f = *state;
    old_message(f, 0, FULL);
    fake_event(f->run, "oom-memory-held", "process-memory", 0,
               "Process 4711 has 23.5 GiB memory in use");
    fake_capture(f->run, 1, "4711");
    fake_capture(f->run, 2, "23.5");
    fake_capture(f->run, 3, "GiB");
    losses(f, 0);
    expect(f, &check_oom_train, VERDICT_FAIL);
    expect(f, &check_oom_memory_held, VERDICT_UNKNOWN);
}

static void little_of_our_own_while_nothing_is_free_is_held(void **state)
{
    struct fixture *f = *state;
    old_message(f, 1, ELSEWHERE);
    expect(f, &check_oom_memory_held, VERDICT_FAIL);
    assert_string_equal(f->result.branch, "little-own");
}

static void an_earlier_training_in_the_same_output_holds_its_memory(void **state)
{
    struct fixture *f = *state;
    static const char *const SECOND[5] = {"0.7", "14.76", "13.21", "0.39", "13.36"};
    const int64_t step[] = {100, 200};
    const double loss[] = {0.41, 0.19};
    fake_curve_at(f->run, "loss", step, loss, 2);
    fake_event(f->run, "end-marker", "train-runtime", 200, "{'train_runtime': 412.8}");
    old_message(f, 0, SECOND);
    expect(f, &check_oom_memory_held, VERDICT_FAIL);
    assert_string_equal(f->result.branch, "earlier-run");
}

static void an_early_error_without_our_own_size_cannot_tell(void **state)
{
    struct fixture *f = *state;
    fake_event(f->run, "start-marker", "running-training", NONE, "***** Running training *****");
    fake_event(f->run, "oom-train", "oom-torch-2-1", 0, "CUDA out of memory. Tried to allocate");
    fake_capture(f->run, 2, "2.00");
    fake_capture(f->run, 3, "GiB");
    fake_capture(f->run, 5, "79.15");
    fake_capture(f->run, 6, "GiB");
    fake_capture(f->run, 7, "1.00");
    fake_capture(f->run, 8, "GiB");
    expect(f, &check_oom_memory_held, VERDICT_UNKNOWN);
    expect(f, &check_oom_train, VERDICT_FAIL);
}

static void the_bare_message_of_the_driver_is_a_warning(void **state)
{
    struct fixture *f = *state;
    fake_event(f->run, "oom-train", "oom-cuda-bare", 0, "RuntimeError: CUDA error: out of memory");
    expect(f, &check_oom_memory_held, VERDICT_WARN);
    assert_int_equal(f->result.confidence, CONFIDENCE_POSSIBLE);
}

static void without_a_log_nothing_is_said(void **state)
{
    struct fixture *f = *state;
    fake_decided(f->run)->n_sources = 0;
    fake_decided(f->run)->has_training_log = false;
    losses(f, 20);
    const struct check *checks[] = {&check_oom_memory_held, &check_oom_eval,
                                    &check_oom_longest_sequence, &check_oom_train,
                                    &check_host_oom_killed};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        expect(f, checks[i], VERDICT_UNKNOWN);
}

/* ---- oom-eval ---- */

static void an_error_in_an_evaluation_frame_is_the_evaluations(void **state)
{
    struct fixture *f = *state;
    losses(f, 100);
    fake_event(f->run, "eval-marker", "running-evaluation", 100, "***** Running Evaluation *****");
    old_message(f, 100, FULL);
    exception_in(f, "main evaluate evaluation_loop");
    expect(f, &check_oom_eval, VERDICT_FAIL);
    assert_int_equal(f->result.from_step, 100);
    assert_non_null(strstr(f->result.fixes[0], "per_device_eval_batch_size"));
    expect(f, &check_oom_train, VERDICT_PASS);
    expect(f, &check_oom_longest_sequence, VERDICT_UNKNOWN);
}

static void an_error_long_after_the_last_evaluation_is_not_the_evaluations(void **state)
{
    struct fixture *f = *state;
    losses(f, 500);
    fake_event(f->run, "eval-row", NULL, 200, "{'eval_loss': 1.2}")->line = 202;
    old_message(f, 500, FULL);
    exception_in(f, "train training_step");
    expect(f, &check_oom_eval, VERDICT_PASS);
    expect(f, &check_oom_longest_sequence, VERDICT_FAIL);
}

static void a_run_without_an_evaluation_so_far_cannot_tell(void **state)
{
    struct fixture *f = *state;
    losses(f, 30);
    fake_event(f->run, "last-line", NULL, 30, "step 30");
    expect(f, &check_oom_eval, VERDICT_UNKNOWN);
}

static void evaluation_that_is_off_passes(void **state)
{
    struct fixture *f = *state;
    losses(f, 30);
    fake_setting(f->run, "eval_strategy", "no");
    expect(f, &check_oom_eval, VERDICT_PASS);
}

/* ---- oom-longest-sequence, max-length-oversized ---- */

static void rows_with_a_long_tail(struct fixture *f)
{
    int32_t tokens[200];
    for (int i = 0; i < 200; i++)
        tokens[i] = i < 196 ? 400 + i : 6000 + 100 * i;
    fake_lengths(f->run, tokens, 200);
}

static void many_good_steps_and_a_long_tail_is_the_longest_batch(void **state)
{
    struct fixture *f = *state;
    losses(f, 300);
    rows_with_a_long_tail(f);
    fake_setting(f->run, "max_length", "32768");
    old_message(f, 300, FULL);
    expect(f, &check_oom_longest_sequence, VERDICT_FAIL);
    assert_string_equal(f->result.branch, "tail");
    assert_int_equal(f->result.confidence, CONFIDENCE_STRONG);
    expect(f, &check_oom_train, VERDICT_PASS);
    expect(f, &check_max_length_oversized, VERDICT_WARN);
}

static void without_lengths_the_form_alone_is_likely(void **state)
{
    struct fixture *f = *state;
    losses(f, 300);
    old_message(f, 300, FULL);
    expect(f, &check_oom_longest_sequence, VERDICT_FAIL);
    assert_int_equal(f->result.confidence, CONFIDENCE_LIKELY);
    assert_true(judged_informs(&f->result, "lengths.csv"));
}

static void equally_long_rows_are_an_ordinary_step(void **state)
{
    struct fixture *f = *state;
    int32_t tokens[200];
    for (int i = 0; i < 200; i++)
        tokens[i] = 900 + i;
    fake_lengths(f->run, tokens, 200);
    losses(f, 300);
    old_message(f, 300, FULL);
    expect(f, &check_oom_train, VERDICT_FAIL);
    expect(f, &check_oom_longest_sequence, VERDICT_UNKNOWN);
}

static void a_finished_run_had_its_longest_batch(void **state)
{
    struct fixture *f = *state;
    losses(f, 300);
    fake_decided(f->run)->run.outcome = OUTCOME_FINISHED;
    expect(f, &check_oom_longest_sequence, VERDICT_PASS);
}

static void a_high_limit_with_dynamic_padding_is_cheap(void **state)
{
    struct fixture *f = *state;
    rows_with_a_long_tail(f);
    losses(f, 50);
    fake_setting(f->run, "max_length", "32768");
    expect(f, &check_max_length_oversized, VERDICT_PASS);
    assert_true(f->result.n_information == 1);
}

static void rows_padded_to_a_high_limit_waste_most_of_it(void **state)
{
    struct fixture *f = *state;
    rows_with_a_long_tail(f);
    losses(f, 50);
    fake_setting(f->run, "max_length", "8192");
    fake_setting(f->run, "pad_to_multiple_of", "8192");
    expect(f, &check_max_length_oversized, VERDICT_WARN);
    assert_string_equal(f->result.branch, "padding");
    assert_true(f->result.n_fixes == 1);
}

static void a_limit_near_the_rows_passes_and_none_is_unknown(void **state)
{
    struct fixture *f = *state;
    int32_t tokens[100];
    for (int i = 0; i < 100; i++)
        tokens[i] = 700;
    fake_lengths(f->run, tokens, 100);
    expect(f, &check_max_length_oversized, VERDICT_UNKNOWN);
}

static void a_limit_below_twice_the_rows_passes(void **state)
{
    struct fixture *f = *state;
    int32_t tokens[100];
    for (int i = 0; i < 100; i++)
        tokens[i] = 700;
    fake_lengths(f->run, tokens, 100);
    fake_setting(f->run, "max_length", "1024");
    expect(f, &check_max_length_oversized, VERDICT_PASS);
}

/* ---- host-oom-killed ---- */

static void a_return_code_of_minus_nine_is_likely_host_memory(void **state)
{
    struct fixture *f = *state;
    losses(f, 6);
    fake_event(f->run, "host-oom-killed", "deepspeed-return-code", 6,
               "[launch.py:325:sigkill_handler] exits with return code = -9");
    fake_capture(f->run, 1, "-9");
    expect(f, &check_host_oom_killed, VERDICT_FAIL);
    assert_int_equal(f->result.confidence, CONFIDENCE_LIKELY);
    assert_int_equal(f->result.from_step, 6);
}

static void the_kernels_line_proves_it(void **state)
{
    struct fixture *f = *state;
    losses(f, 6);
    fake_event(f->run, "host-oom-killed", "kernel-oom", NONE,
               "Out of memory: Killed process 41822 (python)");
    fake_capture(f->run, 1, "41822");
    fake_capture(f->run, 2, "python");
    fake_capture(f->run, 3, "104857600");
    fake_capture(f->run, 4, "62914560");
    expect(f, &check_host_oom_killed, VERDICT_FAIL);
    assert_int_equal(f->result.confidence, CONFIDENCE_CERTAIN);
}

static void a_log_that_just_stops_may_have_been_killed(void **state)
{
    struct fixture *f = *state;
    losses(f, 6);
    fake_decided(f->run)->run.outcome = OUTCOME_STOPPED;
    expect(f, &check_host_oom_killed, VERDICT_UNKNOWN);
    assert_non_null(strstr(f->result.missing[0], "dmesg"));
}

static void other_return_codes_are_other_ends(void **state)
{
    struct fixture *f = *state;
    losses(f, 6);
    fake_event(f->run, "host-oom-killed", "deepspeed-return-code", 6, "exits with return code = 1");
    fake_capture(f->run, 1, "1");
    fake_event(f->run, "host-oom-killed", "elastic-failed", 6, "failed (exitcode: -15)");
    fake_capture(f->run, 1, "-15");
    expect(f, &check_host_oom_killed, VERDICT_PASS);
}

static void a_kill_after_a_gpu_error_is_its_consequence(void **state)
{
    struct fixture *f = *state;
    losses(f, 6);
    old_message(f, 6, FULL);
    fake_event(f->run, "host-oom-killed", "deepspeed-return-code", 6,
               "exits with return code = -9");
    fake_capture(f->run, 1, "-9");
    expect(f, &check_host_oom_killed, VERDICT_PASS);
    expect(f, &check_oom_train, VERDICT_FAIL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_run_test(a_step_that_does_not_fit_fails_and_names_the_ladder),
        cmocka_run_test(the_rung_that_is_enough_stands_first_when_the_shape_is_known),
        cmocka_run_test(reserved_memory_far_above_allocated_is_fragmented),
        cmocka_run_test(an_error_that_was_retried_at_a_smaller_batch_passes),
        cmocka_run_test(a_log_without_a_step_cannot_tell),
        cmocka_run_test(a_failing_cublas_handle_is_only_a_possibility),
        cmocka_run_test(a_cublas_handle_beside_an_index_error_is_no_memory_fault),
        cmocka_run_test(another_process_with_half_of_the_gpu_holds_it),
        cmocka_run_test(our_own_process_in_the_list_is_no_other),
        cmocka_run_test(little_of_our_own_while_nothing_is_free_is_held),
        cmocka_run_test(an_earlier_training_in_the_same_output_holds_its_memory),
        cmocka_run_test(an_early_error_without_our_own_size_cannot_tell),
        cmocka_run_test(the_bare_message_of_the_driver_is_a_warning),
        cmocka_run_test(without_a_log_nothing_is_said),
        cmocka_run_test(an_error_in_an_evaluation_frame_is_the_evaluations),
        cmocka_run_test(an_error_long_after_the_last_evaluation_is_not_the_evaluations),
        cmocka_run_test(a_run_without_an_evaluation_so_far_cannot_tell),
        cmocka_run_test(evaluation_that_is_off_passes),
        cmocka_run_test(many_good_steps_and_a_long_tail_is_the_longest_batch),
        cmocka_run_test(without_lengths_the_form_alone_is_likely),
        cmocka_run_test(equally_long_rows_are_an_ordinary_step),
        cmocka_run_test(a_finished_run_had_its_longest_batch),
        cmocka_run_test(a_high_limit_with_dynamic_padding_is_cheap),
        cmocka_run_test(rows_padded_to_a_high_limit_waste_most_of_it),
        cmocka_run_test(a_limit_near_the_rows_passes_and_none_is_unknown),
        cmocka_run_test(a_limit_below_twice_the_rows_passes),
        cmocka_run_test(a_return_code_of_minus_nine_is_likely_host_memory),
        cmocka_run_test(the_kernels_line_proves_it),
        cmocka_run_test(a_log_that_just_stops_may_have_been_killed),
        cmocka_run_test(other_return_codes_are_other_ends),
        cmocka_run_test(a_kill_after_a_gpu_error_is_its_consequence),
    };
    return cmocka_run_group_tests_name("checks_oom", tests, NULL, NULL);
}
