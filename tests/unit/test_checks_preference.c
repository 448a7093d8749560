/* Stage P: cut completions, groups without signal, a policy that stands still, negative KL. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "core/checks/registry.h"
#include "tests/harness/judged.h"

#define N(array) (sizeof(array) / sizeof *(array))

static struct check_result result;

static void expect(struct fake_run *run, const struct check *check, enum verdict verdict)
{
    judged_expect(run, check, verdict, &result);
}

/* ---- grpo-completions-clipped ---- */

static void nearly_all_completions_cut_fails(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    fake_level(run, "completions/clipped_ratio", 0.98, 12);
    fake_setting(run, "max_completion_length", "256");
    expect(run, &check_grpo_completions_clipped, VERDICT_FAIL);
    assert_int_equal(result.from_step, 1);
    fake_run_free(run);
}

static void half_of_them_or_few_rows_warn(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    fake_level(run, "completions/clipped_ratio", 0.6, 12);
    expect(run, &check_grpo_completions_clipped, VERDICT_WARN);
    fake_run_free(run);
    run = fake_run_new(KIND_GRPO);
    fake_level(run, "completions/clipped_ratio", 0.98, 3);
    expect(run, &check_grpo_completions_clipped, VERDICT_WARN);
    fake_run_free(run);
}

static void mean_length_at_the_limit_stands_for_the_ratio(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    fake_level(run, "completions/mean_length", 256, 12);
    fake_setting(run, "max_completion_length", "256");
    expect(run, &check_grpo_completions_clipped, VERDICT_FAIL);
    fake_run_free(run);
}

static void completions_that_grow_late_with_the_reward_are_no_cut(void **state)
{
    double ratio[20];
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    for (size_t i = 0; i < N(ratio); i++)
        ratio[i] = i < 9 ? 0.1 : 0.9;
    ratio[9] = 0.2;
    fake_curve(run, "completions/clipped_ratio", ratio, N(ratio));
    fake_line(run, "reward", 0.1, 0.9, 20);
    fake_level(run, "completions/mean_terminated_length", 120, 20);
    expect(run, &check_grpo_completions_clipped, VERDICT_PASS);
    fake_run_free(run);
}

static void a_cut_that_rises_with_the_reward_says_so(void **state)
{
    double ratio[20];
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    for (size_t i = 0; i < N(ratio); i++)
        ratio[i] = i < 6 ? 0.1 : 0.9;
    fake_curve(run, "completions/clipped_ratio", ratio, N(ratio));
    fake_line(run, "reward", 0.1, 0.9, 20);
    expect(run, &check_grpo_completions_clipped, VERDICT_FAIL);
    assert_string_equal(result.branch, "rising");
    fake_run_free(run);
}

static void few_cut_completions_pass_and_none_logged_is_unknown(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    fake_level(run, "completions/clipped_ratio", 0.1, 12);
    expect(run, &check_grpo_completions_clipped, VERDICT_PASS);
    fake_run_free(run);
    run = fake_run_new(KIND_GRPO);
    fake_level(run, "reward", 0.1, 12);
    expect(run, &check_grpo_completions_clipped, VERDICT_UNKNOWN);
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    expect(run, &check_grpo_completions_clipped, VERDICT_NOT_APPLICABLE);
    fake_run_free(run);
}

/* ---- grpo-no-signal ---- */

static void groups_without_a_difference_fail(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    fake_level(run, "frac_reward_zero_std", 1.0, 12);
    fake_level(run, "reward", 0.0, 12);
    fake_level(run, "step_time", 3600.0, 12);
    expect(run, &check_grpo_no_signal, VERDICT_FAIL);
    assert_true(judged_informs(&result, "all wrong"));
    assert_true(judged_informs(&result, "100 % of the rollouts"));
    assert_true(judged_informs(&result, "11 of 11 hours"));
    fake_run_free(run);
    run = fake_run_new(KIND_GRPO);
    fake_level(run, "reward_std", 0.0, 12);
    expect(run, &check_grpo_no_signal, VERDICT_FAIL);
    fake_run_free(run);
}

static void a_weak_last_half_warns(void **state)
{
    double z[20];
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    for (size_t i = 0; i < N(z); i++)
        z[i] = i < 10 ? 0.2 : 0.85;
    fake_curve(run, "frac_reward_zero_std", z, N(z));
    fake_level(run, "reward", 0.3, 20);
    expect(run, &check_grpo_no_signal, VERDICT_WARN);
    fake_run_free(run);
}

static void saturation_after_the_reward_rose_is_learned(void **state)
{
    double z[20];
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    for (size_t i = 0; i < N(z); i++)
        z[i] = i < 8 ? 0.3 : 0.97;
    fake_curve(run, "frac_reward_zero_std", z, N(z));
    fake_line(run, "reward", 0.1, 1.0, 20);
    expect(run, &check_grpo_no_signal, VERDICT_PASS);
    assert_true(judged_informs(&result, "learned"));
    fake_run_free(run);
}

static void signal_passes_and_few_rows_are_unknown(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    fake_level(run, "frac_reward_zero_std", 0.3, 12);
    expect(run, &check_grpo_no_signal, VERDICT_PASS);
    fake_run_free(run);
    run = fake_run_new(KIND_GRPO);
    fake_level(run, "frac_reward_zero_std", 1.0, 3);
    expect(run, &check_grpo_no_signal, VERDICT_UNKNOWN);
    fake_run_free(run);
}

/* ---- kl-too-high ---- */

static void standing_reward(struct fake_run *run)
{
    double reward[20];
    for (size_t i = 0; i < N(reward); i++)
        reward[i] = 1.8 + 0.02 * (double)(i * 7 % 5 - 2.0);
    fake_curve(run, "reward", reward, N(reward));
    fake_level(run, "reward_std", 0.3, 20);
}

static void a_kl_near_zero_for_the_whole_run_fails(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    fake_line(run, "kl", 0.00055, 0.00057, 20);
    standing_reward(run);
    expect(run, &check_kl_too_high, VERDICT_FAIL);
    assert_int_equal(result.confidence, CONFIDENCE_STRONG);
    fake_run_free(run);
}

static void a_slow_kl_that_grows_moves(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    fake_line(run, "kl", 0.0010, 0.0040, 20);
    standing_reward(run);
    expect(run, &check_kl_too_high, VERDICT_PASS);
    fake_run_free(run);
}

static void groups_without_signal_are_another_fault(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    fake_level(run, "kl", 0.0005, 20);
    fake_level(run, "reward", 1.0, 20);
    fake_level(run, "reward_std", 0.0, 20);
    expect(run, &check_kl_too_high, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void a_kl_of_sequences_without_their_length_is_only_likely(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_PPO);
    fake_level(run, "objective/kl", 0.3, 20);
    standing_reward(run);
    expect(run, &check_kl_too_high, VERDICT_FAIL);
    assert_int_equal(result.confidence, CONFIDENCE_LIKELY);
    fake_run_free(run);
}

static void a_kl_far_below_its_target_warns(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_PPO);
    fake_line(run, "objective/kl", 0.05, 0.2, 20);
    standing_reward(run);
    fake_setting(run, "target_kl", "6");
    expect(run, &check_kl_too_high, VERDICT_WARN);
    fake_run_free(run);
}

static void no_kl_at_beta_zero_is_unknown(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    standing_reward(run);
    expect(run, &check_kl_too_high, VERDICT_UNKNOWN);
    expect(run, &check_negative_kl, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void a_dpo_loss_at_ln_two_or_margins_at_zero_fail(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_DPO);
    fake_level(run, "loss", 0.6931, 10);
    expect(run, &check_kl_too_high, VERDICT_FAIL);
    assert_string_equal(result.branch, "ln2");
    fake_run_free(run);
    run = fake_run_new(KIND_DPO);
    fake_line(run, "loss", 0.6931, 0.690, 10);
    fake_level(run, "rewards/margins", 0.001, 10);
    fake_level(run, "rewards/accuracies", 0.5, 10);
    expect(run, &check_kl_too_high, VERDICT_FAIL);
    assert_string_equal(result.branch, "margins");
    fake_run_free(run);
}

static void small_margins_with_rising_accuracies_move(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_DPO);
    fake_line(run, "loss", 0.692, 0.680, 10);
    fake_line(run, "rewards/margins", 0.0, 0.004, 10);
    fake_line(run, "rewards/accuracies", 0.475, 0.875, 10);
    expect(run, &check_kl_too_high, VERDICT_PASS);
    fake_run_free(run);
}

/* ---- negative-kl ---- */

static void a_clearly_negative_kl_fails(void **state)
{
    const double kl[] = {0.1, 0.2, -233.5, -180.0};
    (void)state;
    struct fake_run *run = fake_run_new(KIND_PPO);
    fake_curve(run, "objective/kl", kl, N(kl));
    expect(run, &check_negative_kl, VERDICT_FAIL);
    assert_int_equal(result.from_step, 3);
    fake_run_free(run);
}

static void one_mild_value_warns_although_row_and_warning_hold_it(void **state)
{
    const double kl[] = {0.1, -2.0, 0.2};
    (void)state;
    struct fake_run *run = fake_run_new(KIND_PPO);
    fake_curve(run, "objective/kl", kl, N(kl));
    fake_event(run, "negative-kl", "kl-negative", 2,
               "KL divergence is starting to become negative: -2.00");
    fake_capture(run, 1, "-2.00");
    expect(run, &check_negative_kl, VERDICT_WARN);
    fake_run_free(run);
}

static void estimator_noise_above_minus_one_passes(void **state)
{
    const double kl[] = {0.1, -0.8, -0.0008, -0.4};
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    fake_curve(run, "kl", kl, N(kl));
    expect(run, &check_negative_kl, VERDICT_PASS);
    fake_run_free(run);
}

static void supervised_runs_are_not_asked(void **state)
{
    const struct check *checks[] = {&check_grpo_no_signal, &check_kl_too_high, &check_negative_kl};
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    for (size_t i = 0; i < N(checks); i++)
        expect(run, checks[i], VERDICT_NOT_APPLICABLE);
    fake_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearly_all_completions_cut_fails),
        cmocka_unit_test(half_of_them_or_few_rows_warn),
        cmocka_unit_test(mean_length_at_the_limit_stands_for_the_ratio),
        cmocka_unit_test(completions_that_grow_late_with_the_reward_are_no_cut),
        cmocka_unit_test(a_cut_that_rises_with_the_reward_says_so),
        cmocka_unit_test(few_cut_completions_pass_and_none_logged_is_unknown),
        cmocka_unit_test(groups_without_a_difference_fail),
        cmocka_unit_test(a_weak_last_half_warns),
        cmocka_unit_test(saturation_after_the_reward_rose_is_learned),
        cmocka_unit_test(signal_passes_and_few_rows_are_unknown),
        cmocka_unit_test(a_kl_near_zero_for_the_whole_run_fails),
        cmocka_unit_test(a_slow_kl_that_grows_moves),
        cmocka_unit_test(groups_without_signal_are_another_fault),
        cmocka_unit_test(a_kl_of_sequences_without_their_length_is_only_likely),
        cmocka_unit_test(a_kl_far_below_its_target_warns),
        cmocka_unit_test(no_kl_at_beta_zero_is_unknown),
        cmocka_unit_test(a_dpo_loss_at_ln_two_or_margins_at_zero_fail),
        cmocka_unit_test(small_margins_with_rising_accuracies_move),
        cmocka_unit_test(a_clearly_negative_kl_fails),
        cmocka_unit_test(one_mild_value_warns_although_row_and_warning_hold_it),
        cmocka_unit_test(estimator_noise_above_minus_one_passes),
        cmocka_unit_test(supervised_runs_are_not_asked),
    };
    return cmocka_run_group_tests_name("checks_preference", tests, NULL, NULL);
}
