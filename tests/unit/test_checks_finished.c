/* Stage 0 without the NaN and memory families: the end of the run, gradients, precision,
 * divergence, accumulation. A failing, a healthy and an undecided run for each. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "core/checks/registry.h"
#include "tests/harness/judged.h"

#define N(array) (sizeof(array) / sizeof *(array))

static struct fake_run *sft(void)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    fake_line(run, "loss", 2, 1, 20);
    return run;
}

/* ---- run-incomplete ---- */

static void add_exception(struct fake_run *run, int64_t line, const char *first_line)
{
    fake_event(run, "log-summary", NULL, NONE, "");
    fake_capture(run, 3, "training");
    struct event *e = fake_event(run, "exception", NULL, 20, "OSError: No space left on device");

    e->line = line;
    fake_capture(run, 1, "OSError");
    fake_capture(run, 2, "[Errno 28] No space left on device");
    fake_capture(run, 5, first_line);
}

static void an_exception_at_the_end_is_quoted_with_its_place(void **state)
{
    struct fake_run *run = sft();
    struct check_result r;

    (void)state;
    fake_decided(run)->run.outcome = OUTCOME_CRASHED;
    fake_decided(run)->max_steps = 400;
    add_exception(run, 210, "190");
    fake_check(run, &check_run_incomplete, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_string_equal(r.branch, "exception");
    assert_non_null(strstr(r.finding, "No space left"));
    assert_non_null(strstr(r.finding, "step 20 of 400"));
    assert_string_equal(judged_at_line(&r, 210)->kind, "log");
    assert_string_equal(judged_at_line(&r, 190)->kind, "log");
    fake_run_free(run);
}

static void a_log_that_stops_is_a_warning(void **state)
{
    struct fake_run *run = sft();
    struct check_result r;

    (void)state;
    fake_decided(run)->run.outcome = OUTCOME_STOPPED;
    fake_decided(run)->max_steps = 400;
    fake_event(run, "last-line", NULL, 20, "saving checkpoint")->line = 77;
    fake_check(run, &check_run_incomplete, &r);
    assert_int_equal(r.verdict, VERDICT_WARN);
    assert_string_equal(r.branch, "stopped");
    assert_non_null(judged_at_line(&r, 77));
    fake_run_free(run);
}

static void a_state_inside_a_checkpoint_alone_decides_nothing(void **state)
{
    struct fake_run *run = sft();
    struct check_result r;

    (void)state;
    fake_decided(run)->run.outcome = OUTCOME_STOPPED;
    fake_decided(run)->has_training_log = false;
    fake_check(run, &check_run_incomplete, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void a_run_that_is_still_written_is_unknown(void **state)
{
    struct fake_run *run = sft();
    struct check_result r;

    (void)state;
    fake_decided(run)->run.outcome = OUTCOME_RUNNING;
    fake_check(run, &check_run_incomplete, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    assert_non_null(strstr(r.missing[0], "still running"));
    fake_run_free(run);
}

static void a_finished_run_passes_and_a_failed_save_after_it_warns(void **state)
{
    struct check_result r;

    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        struct fake_run *run = sft();
        fake_decided(run)->run.outcome = OUTCOME_FINISHED;
        fake_event(run, "end-marker", "train-runtime", 20, "{'train_runtime': 3.0}")->line = 50;
        if (fails)
            add_exception(run, 60, "55");
        fake_check(run, &check_run_incomplete, &r);
        assert_int_equal(r.verdict, fails ? VERDICT_WARN : VERDICT_PASS);
        if (fails)
            assert_string_equal(r.branch, "after-training");
        fake_run_free(run);
    }
}

static void a_prediction_is_no_incomplete_run(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_decided(run)->run.marks = MARK_EVAL_ONLY;
    fake_check(run, &check_run_incomplete, &r);
    assert_int_equal(r.verdict, VERDICT_NOT_APPLICABLE);
    fake_run_free(run);
}

/* ---- no-grad-graph ---- */

static void the_missing_graph_names_its_cause(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_setting(run, "gradient_checkpointing", "true");
    fake_event(run, "no-grad-graph", "checkpoint-no-grad", 0,
               "UserWarning: None of the inputs have requires_grad=True")
        ->line = 30;
    fake_event(run, "no-grad-graph", "no-grad-graph", 0,
               "RuntimeError: element 0 of tensors does not require grad")
        ->line = 40;
    fake_check(run, &check_no_grad_graph, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_non_null(strstr(r.finding, "checkpointing"));
    assert_non_null(judged_at_line(&r, 40));
    assert_non_null(judged_at_line(&r, 30));
    fake_run_free(run);
}

static void the_warning_alone_is_not_the_error(void **state)
{
    struct fake_run *run = sft();
    struct check_result r;

    (void)state;
    fake_event(run, "no-grad-graph", "checkpoint-no-grad", 0, "UserWarning: None of the inputs");
    fake_check(run, &check_no_grad_graph, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    fake_run_free(run);
}

static void without_rows_and_error_the_graph_is_unknown(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_check(run, &check_no_grad_graph, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    fake_run_free(run);
}

/* ---- bf16-unsupported ---- */

static void the_precision_error_fails_at_its_line(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_setting(run, "bf16", "true");
    fake_event(run, "bf16-unsupported", "bf16-unsupported", NONE,
               "ValueError: Your setup doesn't support bf16/gpu.")
        ->line = 12;
    fake_check(run, &check_bf16_unsupported, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_non_null(judged_at_line(&r, 12));
    fake_run_free(run);
}

static void a_run_that_trained_could_do_its_precision(void **state)
{
    struct fake_run *run = sft();
    struct check_result r;

    (void)state;
    fake_setting(run, "bf16", "true");
    fake_check(run, &check_bf16_unsupported, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    fake_run_free(run);
}

static void a_banner_without_bf16_fails_when_nothing_trained(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_setting(run, "bf16", "true");
    fake_event(run, "info", "unsloth-bf16", NONE, "Bfloat16 = FALSE.");
    fake_capture(run, 1, "FALSE");
    fake_check(run, &check_bf16_unsupported, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    fake_run_free(run);
}

static void precision_and_gpu_unknown_is_unknown(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_check(run, &check_bf16_unsupported, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    fake_run_free(run);
}

/* ---- diverged ---- */

static void a_loss_that_jumps_and_stays_fails_at_the_jump(void **state)
{
    double loss[40];
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    for (size_t i = 0; i < 40; i++)
        loss[i] = (i < 25 ? 1.2 - 0.01 * (double)i : 6.5) + 0.01 * (double)(i % 3);
    fake_curve(run, "loss", loss, 40);
    fake_setting(run, "learning_rate", "0.0002");
    fake_check(run, &check_diverged, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_int_equal(r.from_step, 26);
    assert_non_null(judged_at_line(&r, 27));
    fake_run_free(run);
}

static void noise_of_single_batches_is_no_divergence(void **state)
{
    double loss[60];
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    for (size_t i = 0; i < 60; i++)
        loss[i] = i % 7 == 3 ? 0.7 : 0.05 + 0.3 * (double)(i * 37 % 11) / 11.0;
    fake_curve(run, "loss", loss, 60);
    fake_check(run, &check_diverged, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    fake_run_free(run);
}

static void three_rows_do_not_tell(void **state)
{
    const double loss[] = {2, 9, 9};
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_curve(run, "loss", loss, 3);
    fake_check(run, &check_diverged, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    assert_non_null(strstr(r.missing[0], "3 more"));
    fake_run_free(run);
}

static void the_loss_of_grpo_is_not_asked(void **state)
{
    struct fake_run *run = fake_run_new(KIND_GRPO);
    struct check_result r;

    (void)state;
    fake_line(run, "loss", 0.01, 6, 40);
    fake_check(run, &check_diverged, &r);
    assert_int_equal(r.verdict, VERDICT_NOT_APPLICABLE);
    fake_run_free(run);
}

static void masked_batches_do_not_make_a_minimum(void **state)
{
    double loss[40], grad[40];
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    for (size_t i = 0; i < 40; i++) {
        bool is_masked = i >= 10 && i < 15;
        loss[i] = is_masked ? 0.0 : 1.5 - 0.01 * (double)i;
        grad[i] = is_masked ? 0.0 : 1.0;
    }
    fake_curve(run, "loss", loss, 40);
    fake_curve(run, "grad_norm", grad, 40);
    fake_check(run, &check_diverged, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    fake_run_free(run);
}

/* ---- grad-accum-loss-scale ---- */

static struct fake_run *accumulated(double loss, const char *micro, const char *accumulation)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    fake_line(run, "loss", loss, 0.9 * loss, 6);
    fake_setting(run, "per_device_train_batch_size", micro);
    fake_setting(run, "gradient_accumulation_steps", accumulation);
    return run;
}

static void a_twin_with_the_ratio_of_accumulation_fails(void **state)
{
    struct fake_run *run = accumulated(21.19, "4", "2"), *twin = accumulated(10.59, "8", "1");
    struct check_result r;

    (void)state;
    fake_check_among(run, &twin, 1, &check_grad_accum_loss_scale, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_int_equal(r.evidence[0].step, 1);
    fake_check_among(twin, &run, 1, &check_grad_accum_loss_scale, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    fake_run_free(run);
    fake_run_free(twin);
}

static void a_twin_with_the_same_loss_passes(void **state)
{
    struct fake_run *run = accumulated(2.1, "4", "2"), *twin = accumulated(2.0, "8", "1");
    struct check_result r;

    (void)state;
    fake_setting_on(run, SIDE_MODEL, "vocab_size", "32000");
    fake_check_among(run, &twin, 1, &check_grad_accum_loss_scale, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    fake_run_free(run);
    fake_run_free(twin);
}

static void a_first_loss_far_above_chance_is_a_warning(void **state)
{
    struct fake_run *run = accumulated(16.5, "1", "8");
    struct check_result r;

    (void)state;
    fake_setting_on(run, SIDE_MODEL, "vocab_size", "32000");
    fake_check(run, &check_grad_accum_loss_scale, &r);
    assert_int_equal(r.verdict, VERDICT_WARN);
    fake_run_free(run);
}

static void two_rows_in_common_are_no_agreement(void **state)
{
    static const double Y[] = {2.1, 2.0};
    struct fake_run *run = fake_run_new(KIND_SFT), *twin = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_curve(run, "loss", Y, 2);
    fake_curve(twin, "loss", Y, 2);
    fake_setting(run, "per_device_train_batch_size", "4");
    fake_setting(run, "gradient_accumulation_steps", "2");
    fake_setting(twin, "per_device_train_batch_size", "8");
    fake_setting(twin, "gradient_accumulation_steps", "1");
    fake_check_among(run, &twin, 1, &check_grad_accum_loss_scale, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    fake_run_free(run);
    fake_run_free(twin);
}

static void accumulation_without_a_version_is_unknown(void **state)
{
    struct fake_run *run = accumulated(2.0, "1", "8");
    struct check_result r;

    (void)state;
    fake_check(run, &check_grad_accum_loss_scale, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    fake_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exception_at_the_end_is_quoted_with_its_place),
        cmocka_unit_test(a_log_that_stops_is_a_warning),
        cmocka_unit_test(a_state_inside_a_checkpoint_alone_decides_nothing),
        cmocka_unit_test(a_run_that_is_still_written_is_unknown),
        cmocka_unit_test(a_finished_run_passes_and_a_failed_save_after_it_warns),
        cmocka_unit_test(a_prediction_is_no_incomplete_run),
        cmocka_unit_test(the_missing_graph_names_its_cause),
        cmocka_unit_test(the_warning_alone_is_not_the_error),
        cmocka_unit_test(without_rows_and_error_the_graph_is_unknown),
        cmocka_unit_test(the_precision_error_fails_at_its_line),
        cmocka_unit_test(a_run_that_trained_could_do_its_precision),
        cmocka_unit_test(a_banner_without_bf16_fails_when_nothing_trained),
        cmocka_unit_test(precision_and_gpu_unknown_is_unknown),
        cmocka_unit_test(a_loss_that_jumps_and_stays_fails_at_the_jump),
        cmocka_unit_test(noise_of_single_batches_is_no_divergence),
        cmocka_unit_test(three_rows_do_not_tell),
        cmocka_unit_test(the_loss_of_grpo_is_not_asked),
        cmocka_unit_test(masked_batches_do_not_make_a_minimum),
        cmocka_unit_test(a_twin_with_the_ratio_of_accumulation_fails),
        cmocka_unit_test(a_twin_with_the_same_loss_passes),
        cmocka_unit_test(a_first_loss_far_above_chance_is_a_warning),
        cmocka_unit_test(two_rows_in_common_are_no_agreement),
        cmocka_unit_test(accumulation_without_a_version_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
