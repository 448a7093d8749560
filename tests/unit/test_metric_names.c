/* Canonical names of metrics. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/facts/metric_names.h"

static void other_spellings_become_one_name(void **state)
{
    (void)state;
    assert_string_equal(metric_name("train/loss"), "loss");
    assert_string_equal(metric_name("val_loss"), "eval_loss");
    assert_string_equal(metric_name("eval/loss"), "eval_loss");
    assert_string_equal(metric_name("lr"), "learning_rate");
    assert_string_equal(metric_name("env/reward_mean"), "reward");
    assert_string_equal(metric_name("objective/scores"), "reward");
    assert_string_equal(metric_name("completion_length"), "completions/mean_length");
    assert_string_equal(metric_name("train/rewards/margins"), "rewards/margins");
}

static void names_of_rl_trainers_become_those_of_trl(void **state)
{
    static const char *const PAIRS[][2] = {
        {"critic/score/mean", "reward"},
        {"critic/kl", "kl"},
        {"actor/reward_kl_penalty", "kl"},
        {"response_length/mean", "completions/mean_length"},
        {"response_length/clip_ratio", "completions/clipped_ratio"},
        {"train/response_length", "completions/mean_length"},
        {"train/objective/kl", "objective/kl"},
        {"train/objective/scores", "reward"},
        {"eval/rewards/accuracies", "eval_rewards/accuracies"},
        {"completion_len/mean", "completions/mean_length"},
        /* against the policy that sampled, or another program's rounding: no KL of the reference */
        {"actor/ppo_kl", "actor/ppo_kl"},
        {"mismatch_kl/mean", "mismatch_kl/mean"},
        {"critic/rewards/mean", "critic/rewards/mean"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++)
        assert_string_equal(metric_name(PAIRS[i][0]), PAIRS[i][1]);
}

static void what_is_only_similar_keeps_its_name(void **state)
{
    (void)state;
    assert_string_equal(metric_name("train_loss"), "train_loss");
    assert_string_equal(metric_name("objective/kl"), "objective/kl");
    assert_string_equal(metric_name("kl"), "kl");
    assert_string_equal(metric_name("rewards/chosen"), "rewards/chosen");
    assert_string_equal(metric_name("rewards/accuracy_reward/mean"),
                        "rewards/accuracy_reward/mean");
    const char *own = "my_metric";
    assert_ptr_equal(metric_name(own), own);
}

static void a_canonical_name_is_its_own_canonical_name(void **state)
{
    (void)state;
    static const char *const raw[] = {"train/loss", "val_loss",      "lr",      "grad norm",
                                      "lm loss",    "reward_margin", "train/kl"};
    for (size_t i = 0; i < sizeof raw / sizeof raw[0]; i++) {
        assert_string_equal(metric_name(metric_name(raw[i])), metric_name(raw[i]));
    }
}

static void eval_losses_may_have_a_set_name(void **state)
{
    (void)state;
    assert_true(metric_is_eval_loss("eval_loss"));
    assert_true(metric_is_eval_loss("eval_g0_loss"));
    assert_false(metric_is_eval_loss("eval_runtime"));
    assert_false(metric_is_eval_loss("eval__los"));
    assert_false(metric_is_eval_loss("loss"));
}

static void steps_are_places_not_series(void **state)
{
    (void)state;
    assert_true(metric_is_step("step"));
    assert_true(metric_is_step("_step"));
    assert_true(metric_is_step("current_steps"));
    assert_false(metric_is_step("step_time"));
    assert_false(metric_is_step("epoch"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_spellings_become_one_name),
        cmocka_unit_test(names_of_rl_trainers_become_those_of_trl),
        cmocka_unit_test(what_is_only_similar_keeps_its_name),
        cmocka_unit_test(a_canonical_name_is_its_own_canonical_name),
        cmocka_unit_test(eval_losses_may_have_a_set_name),
        cmocka_unit_test(steps_are_places_not_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
