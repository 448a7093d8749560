/* The NaN family of stage 0: a failing, a healthy and an undecided run for each check, and where
 * the evidence points. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "core/checks/registry.h"
#include "core/facts/loss_zero.h"
#include "core/facts/onset.h"
#include "tests/harness/judged.h"

#define N(array) (sizeof(array) / sizeof *(array))

/* ---- The reading of loss 0.0 ---- */

static enum loss_zero_reading reading(const double *loss, const double *grad, size_t n)
{
    struct fake_run *run = fake_run_with_rows(loss, grad, n);
    struct loss_zero zero;

    loss_zero_read(fake_facts(run), &zero);
    fake_run_free(run);
    return zero.reading;
}

static void zero_is_read_in_the_order_of_the_document(void **state)
{
    const double masked[] = {2, 0, 1.9, 1.8, 0, 1.7}, masked_g[] = {1, 0, 1, 1, 0, 1};
    const double dead[] = {2, 1.9, 0, 0, 0}, dead_g[] = {1, 2, NAN, NAN, NAN};
    const double none[] = {0, 0, 0, 0}, none_g[] = {0, 0, 0, 0};
    const double undecided_g[] = {NAN, NAN, NAN, NAN};
    const double small[] = {0.2, 0.01, 0, 0.0001, 0}, small_g[] = {1, 0.1, 0.01, 0.01, 0.01};

    (void)state;
    assert_int_equal(reading(masked, masked_g, 6), LOSS_ZERO_MASKED_BATCH);
    assert_int_equal(reading(dead, dead_g, 5), LOSS_ZERO_NONFINITE);
    assert_int_equal(reading(dead, NULL, 5), LOSS_ZERO_NONFINITE);
    assert_int_equal(reading(none, none_g, 4), LOSS_ZERO_NOTHING_SUPERVISED);
    assert_int_equal(reading(none, NULL, 4), LOSS_ZERO_NOTHING_SUPERVISED);
    assert_int_equal(reading(none, undecided_g, 4), LOSS_ZERO_UNDECIDED);
    assert_int_equal(reading(small, small_g, 5), LOSS_ZERO_ROUNDED);
    assert_int_equal(reading(masked + 2, NULL, 2), LOSS_ZERO_NONE);
}

static void zero_with_reward_keys_is_normal_when_gradients_flow(void **state)
{
    const double loss[] = {0, 0, 0.001, 0}, grad[] = {0.2, 0.1, 0.3, 0.2};
    const double reward[] = {0.1, 0.2, 0.3, 0.4};
    struct fake_run *run = fake_run_new(KIND_GRPO);
    struct loss_zero zero;

    (void)state;
    fake_curve(run, "loss", loss, 4);
    fake_curve(run, "grad_norm", grad, 4);
    fake_curve(run, "reward", reward, 4);
    loss_zero_read(fake_facts(run), &zero);
    assert_int_equal(zero.reading, LOSS_ZERO_RL_NORMAL);
    assert_int_equal(zero.n_substitution, 0);
    fake_run_free(run);
}

static void dpo_at_zero_with_wide_margins_is_saturated(void **state)
{
    struct fake_run *run = fake_run_new(KIND_DPO);
    struct loss_zero zero;

    (void)state;
    fake_level(run, "loss", 0.0, 4);
    fake_level(run, "grad_norm", 1e-6, 4);
    fake_level(run, "rewards/margins", 22.0, 4);
    fake_level(run, "rewards/accuracies", 1.0, 4);
    loss_zero_read(fake_facts(run), &zero);
    assert_int_equal(zero.reading, LOSS_ZERO_DPO_SATURATED);
    fake_run_free(run);
}

/* ---- nan-hidden-in-log ---- */

static void zeros_beside_nan_gradients_hide_a_nan(void **state)
{
    const double loss[] = {2.1, 1.9, 1.46, 0, 0, 0}, grad[] = {1, 1, NAN, NAN, NAN, NAN};
    struct fake_run *run = fake_run_with_rows(loss, grad, 6);
    struct check_result r;

    (void)state;
    fake_check(run, &check_nan_hidden_in_log, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_int_equal(r.confidence, CONFIDENCE_CERTAIN);
    assert_int_equal(r.from_step, 3);
    const struct evidence *e = judged_at_step(&r, 3);
    assert_non_null(e);
    assert_int_equal(e->last_step, 6);
    assert_int_equal(e->line, 4);
    fake_run_free(run);
}

static void trailing_zeros_without_grad_norm_hide_a_nan(void **state)
{
    const double loss[] = {2.1, 3.9, 0, 0, 0};
    struct fake_run *run = fake_run_with_rows(loss, NULL, 5);
    struct check_result r;

    (void)state;
    fake_check(run, &check_nan_hidden_in_log, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_int_equal(r.from_step, 3);
    fake_run_free(run);
}

static void one_skipped_step_is_a_warning_at_most(void **state)
{
    const double loss[] = {2.1, 1.9, 1.46, 1.4, 1.3}, grad[] = {1, 1, NAN, 1, 1};
    const int64_t step[] = {100, 200, 300, 400, 500};
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_curve_at(run, "loss", step, loss, 5);
    fake_curve_at(run, "grad_norm", step, grad, 5);
    fake_setting(run, "fp16", "true");
    fake_check(run, &check_nan_hidden_in_log, &r);
    assert_int_equal(r.verdict, VERDICT_WARN);
    fake_run_free(run);
}

static void masked_batches_hide_no_nan(void **state)
{
    const double loss[] = {2.1, 0, 1.46, 0, 1.3}, grad[] = {1, 0, 1, 0, 1};
    struct fake_run *run = fake_run_with_rows(loss, grad, 5);
    struct check_result r;

    (void)state;
    fake_check(run, &check_nan_hidden_in_log, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    fake_run_free(run);
}

static void a_wide_window_without_grad_norm_is_unknown(void **state)
{
    const double loss[] = {2.1, 1.9, 1.46};
    struct fake_run *run = fake_run_with_rows(loss, NULL, 3);
    struct check_result r;

    (void)state;
    fake_setting(run, "logging_steps", "10");
    fake_check(run, &check_nan_hidden_in_log, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    assert_non_null(strstr(r.missing[0], "grad_norm"));
    fake_run_free(run);
}

/* ---- nan-onset ---- */

static void a_loss_that_stays_nan_has_its_interval(void **state)
{
    const double loss[] = {2.1, 1.9, NAN, NAN};
    struct fake_run *run = fake_run_with_rows(loss, NULL, 4);
    struct check_result r;

    (void)state;
    fake_check(run, &check_nan_onset, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_non_null(strstr(r.finding, "step 3"));
    assert_non_null(strstr(r.finding, "step 2"));
    assert_int_equal(r.from_step, 3);
    assert_int_equal(judged_at_step(&r, 3)->line, 4);
    fake_run_free(run);
}

static void an_exception_about_such_numbers_is_the_onsets(void **state)
{
    static const struct {
        const char *message;
        bool is_ours;
    } CASES[] = {{"probability tensor contains either `inf`, `nan` or element < 0", true},
                 {"Loss is NaN, stopping", true},
                 {"information about a banana was not found", false}};
    const double loss[] = {2.1, 1.9, NAN, NAN};

    (void)state;
    for (size_t i = 0; i < N(CASES); i++) {
        struct fake_run *run = fake_run_with_rows(loss, NULL, 4);
        struct check_result r;

        fake_event(run, "exception", NULL, 4, CASES[i].message);
        fake_capture(run, 1, "RuntimeError");
        fake_capture(run, 2, CASES[i].message);
        fake_check(run, &check_nan_onset, &r);
        assert_int_equal(judged_with_text(&r, CASES[i].message) != NULL, CASES[i].is_ours);
        fake_run_free(run);
    }
}

static void an_isolated_nan_is_a_warning(void **state)
{
    const double loss[] = {2.1, NAN, 1.8, 1.7};
    struct fake_run *run = fake_run_with_rows(loss, NULL, 4);
    struct check_result r;

    (void)state;
    fake_check(run, &check_nan_onset, &r);
    assert_int_equal(r.verdict, VERDICT_WARN);
    fake_run_free(run);
}

static void skipped_fp16_steps_are_no_onset(void **state)
{
    const double loss[] = {2.1, 1.9, 1.8, 1.7}, grad[] = {1, INFINITY, 1, 1};
    struct fake_run *run = fake_run_with_rows(loss, grad, 4);
    struct check_result r;

    (void)state;
    fake_setting(run, "fp16", "true");
    fake_check(run, &check_nan_onset, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    assert_int_equal(r.n_information, 1);
    fake_run_free(run);
}

static void nan_rows_with_living_gradients_are_said_to_be_so(void **state)
{
    const double loss[] = {2.1, 1.9, NAN, NAN, NAN}, grad[] = {1, 1, 1, 1, 1};
    struct fake_run *run = fake_run_with_rows(loss, grad, 5);
    struct check_result r;

    (void)state;
    fake_check(run, &check_nan_onset, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_int_equal(r.confidence, CONFIDENCE_STRONG);
    fake_run_free(run);
}

static void no_rows_at_all_is_unknown(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_check(run, &check_nan_onset, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    fake_run_free(run);
}

/* ---- nan-fp16-overflow ---- */

static const double DEAD[] = {2.1, 1.9, 1.8, 0, 0, 0}, DEAD_G[] = {1, 1, 1, NAN, NAN, NAN};

static void fp16_on_a_bf16_base_with_a_nan_fails(void **state)
{
    struct fake_run *run = fake_run_with_rows(DEAD, DEAD_G, 6);
    struct check_result r;

    (void)state;
    fake_setting(run, "fp16", "true");
    fake_setting_on(run, SIDE_MODEL, "torch_dtype", "bfloat16");
    fake_check(run, &check_nan_fp16_overflow, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_non_null(judged_with_text(&r, "fp16 = true"));
    assert_non_null(judged_with_text(&r, "torch_dtype = bfloat16"));
    assert_non_null(judged_at_step(&r, 4));
    assert_int_equal(r.from_step, NONE);
    fake_run_free(run);
}

static void t5_is_a_bf16_base_by_its_family(void **state)
{
    struct fake_run *run = fake_run_with_rows(DEAD, DEAD_G, 6);
    struct check_result r;

    (void)state;
    fake_setting(run, "fp16", "true");
    fake_setting_on(run, SIDE_MODEL, "model_type", "t5");
    fake_check(run, &check_nan_fp16_overflow, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    fake_run_free(run);
}

static void the_setting_alone_is_a_possible_fault(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_line(run, "loss", 2, 1, 20);
    fake_setting(run, "fp16", "true");
    fake_setting_on(run, SIDE_MODEL, "torch_dtype", "bfloat16");
    fake_check(run, &check_nan_fp16_overflow, &r);
    assert_int_equal(r.verdict, VERDICT_WARN);
    assert_int_equal(r.confidence, CONFIDENCE_POSSIBLE);
    fake_run_free(run);
}

static void the_same_curve_under_bf16_passes(void **state)
{
    struct fake_run *run = fake_run_with_rows(DEAD, DEAD_G, 6);
    struct check_result r;

    (void)state;
    fake_setting(run, "bf16", "true");
    fake_setting(run, "fp16", "false");
    fake_setting_on(run, SIDE_MODEL, "torch_dtype", "bfloat16");
    fake_check(run, &check_nan_fp16_overflow, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    fake_run_free(run);
}

static void fp16_on_an_fp32_base_passes(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_line(run, "loss", 2, 1, 20);
    fake_setting(run, "fp16", "true");
    fake_setting_on(run, SIDE_MODEL, "torch_dtype", "float32");
    fake_setting_on(run, SIDE_MODEL, "model_type", "gpt2");
    fake_check(run, &check_nan_fp16_overflow, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    fake_run_free(run);
}

static void an_unknown_precision_asks_for_the_arguments(void **state)
{
    struct fake_run *run = fake_run_with_rows(DEAD, DEAD_G, 6);
    struct check_result r;

    (void)state;
    fake_check(run, &check_nan_fp16_overflow, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    assert_int_equal(r.n_missing, 2);
    fake_run_free(run);
}

/* ---- nan-high-lr ---- */

static const double RAMP[] = {2.0, 1.9, 1.85, 1.8, 1.82, 1.81, 4.5, 7.0, 9.5, NAN, NAN};
static const double RAMP_G[] = {1, 1.1, 1, 0.9, 1, 1.2, 60, 200, 900, NAN, NAN};

static void a_ramp_above_the_bound_fails(void **state)
{
    struct fake_run *run = fake_run_with_rows(RAMP, RAMP_G, N(RAMP));
    struct check_result r;

    (void)state;
    fake_setting(run, "learning_rate", "0.005");
    fake_check(run, &check_nan_high_lr, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_int_equal(r.confidence, CONFIDENCE_STRONG);
    assert_non_null(judged_with_text(&r, "learning_rate = 0.005"));
    assert_non_null(judged_at_step(&r, 10));
    assert_non_null(strstr(r.fixes[0], "0.0005"));
    fake_run_free(run);
}

static void a_high_rate_without_a_ramp_is_not_the_cause(void **state)
{
    const double loss[] = {0.6, 2.9, 0.7, 0.5, 2.8, 0.9, 0.6, 2.7, 0, 0, 0};
    const double grad[] = {1, 3, 1, 2, 3, 2, 1, 3, NAN, NAN, NAN};
    struct fake_run *run = fake_run_with_rows(loss, grad, N(loss));
    struct check_result r;

    (void)state;
    fake_setting(run, "learning_rate", "0.005");
    fake_check(run, &check_nan_high_lr, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    fake_run_free(run);
}

static void an_onset_within_warmup_fails(void **state)
{
    const double loss[] = {2.0, 1.9, 1.95, 0, 0, 0}, grad[] = {1, 1, 1, NAN, NAN, NAN};
    struct fake_run *run = fake_run_with_rows(loss, grad, N(loss));
    struct check_result r;

    (void)state;
    fake_setting(run, "learning_rate", "0.003");
    fake_setting(run, "warmup_steps", "10");
    fake_check(run, &check_nan_high_lr, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    fake_run_free(run);
}

static void a_gradient_that_explodes_at_an_ordinary_rate_is_a_warning(void **state)
{
    struct fake_run *run = fake_run_with_rows(RAMP, RAMP_G, N(RAMP));
    struct check_result r;

    (void)state;
    fake_setting(run, "learning_rate", "0.0001");
    fake_setting(run, "fp16", "false");
    fake_setting(run, "bf16", "true");
    fake_check(run, &check_nan_high_lr, &r);
    assert_int_equal(r.verdict, VERDICT_WARN);
    fake_run_free(run);
}

static void an_onset_without_a_known_rate_is_unknown(void **state)
{
    struct fake_run *run = fake_run_with_rows(RAMP, RAMP_G, N(RAMP));
    struct check_result r;

    (void)state;
    fake_check(run, &check_nan_high_lr, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void a_spike_without_an_onset_passes(void **state)
{
    const double loss[] = {2.0, 1.9, 9.0, 1.8, 1.7}, grad[] = {1, 1, 48, 1, 1};
    struct fake_run *run = fake_run_with_rows(loss, grad, N(loss));
    struct check_result r;

    (void)state;
    fake_setting(run, "learning_rate", "0.005");
    fake_check(run, &check_nan_high_lr, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    fake_run_free(run);
}

/* ---- The scale search of fp16 ---- */

static void the_scale_search_of_fp16_is_no_finding(void **state)
{
    const double loss[] = {2.1, 2.0, 1.9, 1.8, 1.7}, grad[] = {NAN, INFINITY, NAN, 1, 1};
    struct fake_run *run = fake_run_with_rows(loss, grad, 5);
    struct check_result hidden, onset;

    (void)state;
    fake_setting(run, "fp16", "true");
    fake_check(run, &check_nan_hidden_in_log, &hidden);
    fake_check(run, &check_nan_onset, &onset);
    assert_int_equal(hidden.verdict, VERDICT_PASS);
    assert_int_equal(onset.verdict, VERDICT_PASS);
    fake_run_free(run);
}

static void the_same_rows_to_the_end_are_a_finding(void **state)
{
    const double loss[] = {2.1, 2.0, 1.9, 1.8, 1.7}, grad[] = {1, 1, NAN, NAN, NAN};
    struct fake_run *run = fake_run_with_rows(loss, grad, 5);
    struct check_result hidden, onset;

    (void)state;
    fake_setting(run, "fp16", "true");
    fake_check(run, &check_nan_hidden_in_log, &hidden);
    fake_check(run, &check_nan_onset, &onset);
    assert_int_equal(hidden.verdict, VERDICT_FAIL);
    assert_int_equal(onset.verdict, VERDICT_FAIL);
    fake_run_free(run);
}

static void llama_30b_is_not_llama_3(void **state)
{
    static const struct {
        const char *name;
        int is_bf16;
    } NAMES[] = {{"decapoda/llama-30b-hf", -1},
                 {"meta-llama/Llama-3-8B", 1},
                 {"Llama-2-7b", 1},
                 {"t5-11b", 1},
                 {"google/gemma2-9b", 1},
                 {"Qwen/Qwen2.5-0.5B", 1}};

    (void)state;
    for (size_t i = 0; i < N(NAMES); i++) {
        struct fake_run *run = fake_run_new(KIND_SFT);
        fake_setting(run, "model_name_or_path", NAMES[i].name);
        assert_int_equal(base_is_bf16(fake_facts(run), NULL), NAMES[i].is_bf16);
        fake_run_free(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_is_read_in_the_order_of_the_document),
        cmocka_unit_test(zero_with_reward_keys_is_normal_when_gradients_flow),
        cmocka_unit_test(dpo_at_zero_with_wide_margins_is_saturated),
        cmocka_unit_test(zeros_beside_nan_gradients_hide_a_nan),
        cmocka_unit_test(trailing_zeros_without_grad_norm_hide_a_nan),
        cmocka_unit_test(one_skipped_step_is_a_warning_at_most),
        cmocka_unit_test(masked_batches_hide_no_nan),
        cmocka_unit_test(a_wide_window_without_grad_norm_is_unknown),
        cmocka_unit_test(a_loss_that_stays_nan_has_its_interval),
        cmocka_unit_test(an_exception_about_such_numbers_is_the_onsets),
        cmocka_unit_test(an_isolated_nan_is_a_warning),
        cmocka_unit_test(skipped_fp16_steps_are_no_onset),
        cmocka_unit_test(nan_rows_with_living_gradients_are_said_to_be_so),
        cmocka_unit_test(no_rows_at_all_is_unknown),
        cmocka_unit_test(fp16_on_a_bf16_base_with_a_nan_fails),
        cmocka_unit_test(t5_is_a_bf16_base_by_its_family),
        cmocka_unit_test(the_setting_alone_is_a_possible_fault),
        cmocka_unit_test(the_same_curve_under_bf16_passes),
        cmocka_unit_test(fp16_on_an_fp32_base_passes),
        cmocka_unit_test(an_unknown_precision_asks_for_the_arguments),
        cmocka_unit_test(a_ramp_above_the_bound_fails),
        cmocka_unit_test(a_high_rate_without_a_ramp_is_not_the_cause),
        cmocka_unit_test(an_onset_within_warmup_fails),
        cmocka_unit_test(a_gradient_that_explodes_at_an_ordinary_rate_is_a_warning),
        cmocka_unit_test(an_onset_without_a_known_rate_is_unknown),
        cmocka_unit_test(a_spike_without_an_onset_passes),
        cmocka_unit_test(the_scale_search_of_fp16_is_no_finding),
        cmocka_unit_test(the_same_rows_to_the_end_are_a_finding),
        cmocka_unit_test(llama_30b_is_not_llama_3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
