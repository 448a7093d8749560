/* Stage P: swapped columns, reward hacking, a KL that nothing holds, growing outputs, drifting margins:
 * each beside what only looks like it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "core/checks/registry.h"
#include "tests/harness/judged.h"

#define N(array) (sizeof(array) / sizeof *(array))

static struct check_result result;

static void expect(struct fake_run *run, const struct check *check, enum verdict verdict)
{
    judged_expect(run, check, verdict, &result);
}

static void pairs(struct fake_run *run, const char *facts)
{
    fake_dataset(run, "train", "preference", 100);
    fake_setting(run, "rows.preference", facts);
}

/* Noise that is the same every time. */
static double noise(size_t i)
{
    return sin((double)i * 2.399963);
}

/* ---- chosen-rejected-swapped ---- */

static void scores_decide_which_side_is_better(void **state)
{
    static const struct {
        const char *facts;
        enum verdict verdict;
    } CASES[] = {
        {"{\"pairs\":100,\"scored\":100,\"contradicting\":60,\"score\":\"score_chosen\","
         "\"rows\":[[3,2,1,9]]}", VERDICT_FAIL},
        {"{\"pairs\":100,\"scored\":100,\"contradicting\":59}", VERDICT_WARN},
        {"{\"pairs\":100,\"scored\":100,\"contradicting\":40}", VERDICT_WARN},
        {"{\"pairs\":100,\"scored\":100,\"contradicting\":39}", VERDICT_PASS},
        {"{\"pairs\":100,\"scored\":19,\"contradicting\":19}", VERDICT_UNKNOWN},
        {"{\"pairs\":100,\"longer\":99}", VERDICT_UNKNOWN},
        {"{\"pairs\":0,\"labels\":50,\"true\":25}", VERDICT_NOT_APPLICABLE},
    };
    (void)state;
    for (size_t i = 0; i < N(CASES); i++) {
        struct fake_run *run = fake_run_new(KIND_DPO);
        pairs(run, CASES[i].facts);
        expect(run, &check_chosen_rejected_swapped, CASES[i].verdict);
        if (i == 0)
            assert_non_null(judged_at_line(&result, 3));
        fake_run_free(run);
    }
}

static void a_confirmed_goal_may_contradict_the_rows(void **state)
{
    static const char FACTS[] = "{\"pairs\":30,\"longer\":29,\"shorter\":0}";
    (void)state;
    struct fake_run *run = fake_run_new(KIND_DPO);
    pairs(run, FACTS);
    fake_answer(run, "goal", "shorter");
    expect(run, &check_chosen_rejected_swapped, VERDICT_FAIL);
    assert_string_equal(result.branch, "goal");
    fake_run_free(run);
    run = fake_run_new(KIND_DPO);
    pairs(run, FACTS);
    fake_answer(run, "goal", "longer");
    expect(run, &check_chosen_rejected_swapped, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void a_reference_that_prefers_the_other_side_fails(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_DPO);
    pairs(run, "{\"pairs\":200}");
    fake_curve_at(run, "reference_accuracy", (const int64_t[]){0}, (const double[]){0.2}, 1);
    expect(run, &check_chosen_rejected_swapped, VERDICT_FAIL);
    assert_string_equal(result.branch, "reference");
    fake_run_free(run);
}

/* ---- reward-hacking ---- */

static void rl_run(struct fake_run *run, double (*reward)(size_t), double (*kl)(size_t), size_t n)
{
    double y[64], z[64];

    for (size_t i = 0; i < n; i++) {
        y[i] = reward(i);
        z[i] = kl(i);
    }
    fake_curve(run, "reward", y, n);
    fake_curve(run, "kl", z, n);
}

static double saturating(size_t i)
{
    return 3.0 * (1.0 - exp(-(double)i / 6.0)) + 0.02 * noise(i);
}
static double exploding(size_t i)
{
    return 0.02 * exp((double)i / 6.0);
}
static double slow(size_t i)
{
    return 0.002 * (double)i;
}
static double rising(size_t i)
{
    return 0.2 + 0.02 * (double)i + 0.02 * noise(i);
}

static void a_kl_that_explodes_for_no_reward_fails(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    rl_run(run, saturating, exploding, 32);
    expect(run, &check_reward_hacking, VERDICT_FAIL);
    assert_string_equal(result.branch, "kl");
    assert_true(judged_offers(&result, "knee"));
    fake_run_free(run);
}

static void better_answers_excuse_the_kl(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    rl_run(run, saturating, exploding, 32);
    fake_suite(run, "base", "task", 300, 600);
    fake_suite(run, "tuned", "task", 400, 600);
    expect(run, &check_reward_hacking, VERDICT_PASS);
    fake_run_free(run);
}

static void a_kl_that_rises_slowly_is_no_hacking(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    rl_run(run, rising, slow, 32);
    expect(run, &check_reward_hacking, VERDICT_UNKNOWN);
    fake_run_free(run);
    run = fake_run_new(KIND_GRPO);
    rl_run(run, rising, slow, 32);
    fake_suite(run, "base", "task", 300, 600);
    fake_suite(run, "tuned", "task", 305, 600);
    expect(run, &check_reward_hacking, VERDICT_PASS);
    fake_run_free(run);
    run = fake_run_new(KIND_GRPO);
    rl_run(run, rising, slow, 12);
    expect(run, &check_reward_hacking, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void style_that_rises_while_accuracy_falls_fails(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    rl_run(run, rising, slow, 24);
    fake_line(run, "rewards/format_reward/mean", 0.1, 0.9, 24);
    fake_line(run, "rewards/accuracy_reward/mean", 0.5, 0.1, 24);
    fake_line(run, "rewards/accuracy_reward/std", 0.1, 0.9, 24);
    expect(run, &check_reward_hacking, VERDICT_FAIL);
    assert_string_equal(result.branch, "contradiction");
    fake_run_free(run);
    /* a fall inside the noise of few right answers is none */
    double few[24];
    for (size_t i = 0; i < N(few); i++)
        few[i] = i % 3 ? 0.0 : 0.06;
    few[1] = few[2] = few[4] = 0.03;
    run = fake_run_new(KIND_GRPO);
    rl_run(run, rising, slow, 24);
    fake_line(run, "rewards/format_reward/mean", 0.1, 0.9, 24);
    fake_curve(run, "rewards/accuracy_reward/mean", few, N(few));
    expect(run, &check_reward_hacking, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void output(struct fake_run *run, const char *model, int64_t prompt, int64_t hash,
                   int64_t opening, int64_t words)
{
    const struct generation made = {.source_id = FAKE_LOG, .row = NONE, .step = NONE,
                                    .model = model, .n_tokens = NONE, .max_new_tokens = NONE,
                                    .batch = NONE, .exact = -1,
                                    .flags = words < 4 ? GENERATION_HAS_TEXT | GENERATION_IS_SHORT
                                                       : GENERATION_HAS_TEXT,
                                    .prompt_hash = prompt, .output_hash = hash,
                                    .opening_hash = opening, .n_words = words};

    fake_generation(run, &made);
}

static void one_answer_to_all_prompts_fails(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_PPO);
    for (int64_t i = 1; i <= 6; i++)
        output(run, "", i, i <= 3 ? 77 : i, 0, 7);
    expect(run, &check_reward_hacking, VERDICT_FAIL);
    assert_string_equal(result.branch, "outputs");
    fake_run_free(run);
    run = fake_run_new(KIND_PPO);
    for (int64_t i = 1; i <= 6; i++)
        output(run, "tuned", i, 100 + i, 5, 20);
    expect(run, &check_reward_hacking, VERDICT_FAIL);
    fake_run_free(run);
}

static void short_answers_and_a_base_that_opens_alike_are_no_fault(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_PPO);
    for (int64_t i = 1; i <= 8; i++)
        output(run, "tuned", i, 77, 0, 1);
    expect(run, &check_reward_hacking, VERDICT_UNKNOWN);
    fake_run_free(run);
    run = fake_run_new(KIND_PPO);
    for (int64_t i = 1; i <= 8; i++) {
        output(run, "base", i, 200 + i, 5, 20);
        output(run, "tuned", i, 100 + i, 5, 20);
    }
    expect(run, &check_reward_hacking, VERDICT_UNKNOWN);
    assert_true(judged_informs(&result, "before the training too"));
    fake_run_free(run);
    run = fake_run_new(KIND_PPO); /* one prompt, sampled eight times */
    for (int64_t i = 1; i <= 8; i++)
        output(run, "tuned", 1, 77, 5, 20);
    expect(run, &check_reward_hacking, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static double linear_then_behind(size_t i)
{
    double root = sqrt(0.0004 * (double)(i + 1));

    return i < 20 ? 2.0 * root + 0.004 * noise(i) : 0.18 + 0.0004 * (double)i + 0.004 * noise(i);
}
static double growing(size_t i)
{
    return 0.0004 * (double)(i + 1);
}

static void a_reward_behind_its_root_of_kl_only_warns(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    rl_run(run, linear_then_behind, growing, 40);
    expect(run, &check_reward_hacking, VERDICT_WARN);
    assert_string_equal(result.branch, "root-kl");
    assert_int_equal(result.confidence, CONFIDENCE_POSSIBLE);
    fake_run_free(run);
}

/* ---- kl-too-low ---- */

static void heldout(struct fake_run *run, int64_t before, int64_t after)
{
    fake_suite(run, "base", "heldout", before, 1319);
    fake_suite(run, "ft", "heldout", after, 1319);
}

static void a_small_coefficient_is_a_fault_only_where_quality_falls(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    fake_setting(run, "beta", "0.0");
    fake_line(run, "reward", 0.65, 0.74, 16);
    heldout(run, 831, 765);
    expect(run, &check_kl_too_low, VERDICT_FAIL);
    assert_string_equal(result.branch, "held-out");
    fake_run_free(run);
    run = fake_run_new(KIND_GRPO);
    fake_setting(run, "beta", "0.0");
    fake_line(run, "reward", 0.65, 0.74, 16);
    heldout(run, 765, 831);
    expect(run, &check_kl_too_low, VERDICT_PASS);
    fake_run_free(run);
    run = fake_run_new(KIND_GRPO);
    fake_setting(run, "beta", "0.0");
    fake_line(run, "reward", 0.65, 0.74, 16);
    expect(run, &check_kl_too_low, VERDICT_UNKNOWN);
    assert_true(judged_informs(&result, "holds nothing"));
    fake_run_free(run);
}

static void an_ordinary_coefficient_is_not_to_blame(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    fake_setting(run, "beta", "0.04");
    fake_line(run, "reward", 0.65, 0.74, 16);
    fake_line(run, "kl", 0.0, 4.0, 16);
    heldout(run, 831, 765);
    expect(run, &check_kl_too_low, VERDICT_PASS);
    fake_run_free(run);
}

static void a_kl_that_is_far_and_grows_fails_by_its_coefficient(void **state)
{
    static const struct {
        const char *beta;
        enum verdict verdict;
    } CASES[] = {{"0.01", VERDICT_FAIL}, {NULL, VERDICT_WARN}, {"0.05", VERDICT_UNKNOWN}};
    (void)state;
    for (size_t i = 0; i < N(CASES); i++) {
        struct fake_run *run = fake_run_new(KIND_GRPO);
        if (CASES[i].beta)
            fake_setting(run, "beta", CASES[i].beta);
        fake_line(run, "kl", 0.0, 6.0, 24);
        expect(run, &check_kl_too_low, CASES[i].verdict);
        fake_run_free(run);
    }
    struct fake_run *run = fake_run_new(KIND_PPO); /* 6 per sequence is near */
    fake_setting(run, "init_kl_coef", "0.001");
    fake_line(run, "objective/kl", 0.0, 6.0, 24);
    expect(run, &check_kl_too_low, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void a_reward_that_no_kl_is_logged_with_has_no_coefficient(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    fake_line(run, "reward", 0.65, 0.74, 16);
    fake_level(run, "reward_std", 0.3, 16);
    heldout(run, 831, 765);
    expect(run, &check_kl_too_low, VERDICT_FAIL);
    assert_int_equal(result.confidence, CONFIDENCE_LIKELY);
    fake_run_free(run);
}

/* ---- dpo-length-exploitation ---- */

static void outputs_that_grow_fail(void **state)
{
    static const double JUMPED[] = {9.8, 61.3, 29.4, 27.3, 26.8, 26.6, 26.0, 27.0, 28.2, 28.2};
    (void)state;
    struct fake_run *run = fake_run_new(KIND_DPO);
    fake_curve(run, "eval_output_tokens", JUMPED, N(JUMPED));
    expect(run, &check_dpo_length_exploitation, VERDICT_FAIL);
    assert_int_equal(result.from_step, 2);
    fake_run_free(run);
    run = fake_run_new(KIND_DPO);
    fake_line(run, "eval_output_tokens", 100, 124, 10);
    expect(run, &check_dpo_length_exploitation, VERDICT_PASS);
    fake_run_free(run);
    run = fake_run_new(KIND_DPO);
    fake_line(run, "eval_output_tokens", 100, 200, 4);
    expect(run, &check_dpo_length_exploitation, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void longer_answers_as_the_goal_are_no_fault(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_DPO);
    fake_line(run, "eval_output_tokens", 100, 300, 10);
    fake_answer(run, "goal", "longer");
    expect(run, &check_dpo_length_exploitation, VERDICT_NOT_APPLICABLE);
    fake_run_free(run);
}

static void reasoning_may_get_longer_while_it_gets_right(void **state)
{
    static const double TO[] = {0.9, 0.05};
    static const enum verdict VERDICTS[] = {VERDICT_PASS, VERDICT_FAIL};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct fake_run *run = fake_run_new(KIND_GRPO);
        fake_line(run, "completions/mean_length", 100, 400, 20);
        fake_line(run, "rewards/accuracy_reward/mean", 0.4, TO[i], 20);
        expect(run, &check_dpo_length_exploitation, VERDICTS[i]);
        fake_run_free(run);
    }
    struct fake_run *run = fake_run_new(KIND_GRPO);
    fake_line(run, "completions/mean_length", 100, 400, 20);
    expect(run, &check_dpo_length_exploitation, VERDICT_WARN);
    assert_int_equal(result.confidence, CONFIDENCE_POSSIBLE);
    fake_run_free(run);
}

static void generations_before_and_after_tell_the_length(void **state)
{
    static const int64_t WORDS[] = {14, 11};
    static const enum verdict VERDICTS[] = {VERDICT_FAIL, VERDICT_PASS};
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct fake_run *run = fake_run_new(KIND_DPO);
        for (int64_t i = 1; i <= 12; i++) {
            output(run, "base", i, i, i, 10);
            output(run, "tuned", i, 100 + i, 100 + i, WORDS[k]);
        }
        expect(run, &check_dpo_length_exploitation, VERDICTS[k]);
        fake_run_free(run);
    }
    struct fake_run *run = fake_run_new(KIND_DPO); /* too few prompts */
    for (int64_t i = 1; i <= 9; i++) {
        output(run, "base", i, i, i, 10);
        output(run, "tuned", i, 100 + i, 100 + i, 30);
    }
    expect(run, &check_dpo_length_exploitation, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void rows_alone_never_fail(void **state)
{
    static const char LONGER[] = "{\"pairs\":36,\"longer\":28,\"shorter\":8,\"mean_chosen\":37.667,"
                                 "\"mean_rejected\":16.5,\"sd_chosen\":15,\"sd_rejected\":9}";
    (void)state;
    struct fake_run *run = fake_run_new(KIND_DPO);
    pairs(run, LONGER);
    expect(run, &check_dpo_length_exploitation, VERDICT_WARN);
    assert_int_equal(result.confidence, CONFIDENCE_POSSIBLE);
    fake_run_free(run);
    run = fake_run_new(KIND_DPO); /* the outputs are known, and keep their length */
    pairs(run, LONGER);
    fake_level(run, "eval_output_tokens", 100, 10);
    expect(run, &check_dpo_length_exploitation, VERDICT_PASS);
    fake_run_free(run);
    run = fake_run_new(KIND_DPO); /* a word more, with lengths that hardly vary */
    pairs(run, "{\"pairs\":36,\"longer\":20,\"shorter\":8,\"mean_chosen\":10.6,"
               "\"mean_rejected\":10,\"sd_chosen\":1,\"sd_rejected\":1}");
    expect(run, &check_dpo_length_exploitation, VERDICT_UNKNOWN);
    fake_run_free(run);
}

/* ---- off-policy-drift ---- */

static void drifting(struct fake_run *run)
{
    fake_line(run, "rewards/margins", 1.5, 8.5, 8);
    fake_line(run, "logps/chosen", -24.1, -36.6, 8);
    fake_line(run, "logps/rejected", -71, -180, 8);
    fake_level(run, "rewards/accuracies", 0.9, 8);
}

static void the_answers_decide_on_a_margin_that_drifts(void **state)
{
    static const int64_t WON[] = {41, 60, 80};
    static const enum verdict VERDICTS[] = {VERDICT_FAIL, VERDICT_WARN, VERDICT_PASS};
    (void)state;
    for (size_t i = 0; i < N(WON); i++) {
        struct fake_run *run = fake_run_new(KIND_DPO);
        drifting(run);
        fake_suite(run, "dpo", "judge-vs-sft", WON[i], 120);
        expect(run, &check_off_policy_drift, VERDICTS[i]);
        fake_run_free(run);
    }
    struct fake_run *run = fake_run_new(KIND_DPO);
    drifting(run);
    expect(run, &check_off_policy_drift, VERDICT_UNKNOWN);
    assert_true(judged_informs(&result, "less likely"));
    fake_run_free(run);
}

static void small_falls_of_the_chosen_answers_are_normal(void **state)
{
    static const double FROM[] = {-212, -0.136, -5}, TO[] = {-216, -0.6, -6.9};
    (void)state;
    for (size_t i = 0; i < N(FROM); i++) { /* 2 %; below 2 nats; below 2 nats */
        struct fake_run *run = fake_run_new(KIND_DPO);
        fake_line(run, "rewards/margins", 0, 1, 8);
        fake_line(run, "logps/chosen", FROM[i], TO[i], 8);
        fake_suite(run, "dpo", "judge-vs-sft", 41, 120);
        expect(run, &check_off_policy_drift, VERDICT_PASS);
        fake_run_free(run);
    }
}

static void saturation_fails_unless_the_answers_are_better(void **state)
{
    (void)state;
    for (int better = 0; better < 2; better++) {
        struct fake_run *run = fake_run_new(KIND_DPO);
        fake_line(run, "rewards/margins", 2, 141.7, 12);
        fake_line(run, "logps/chosen", -300, -320, 12);
        fake_level(run, "rewards/accuracies", 1.0, 12);
        if (better)
            fake_suite(run, "dpo", "judge-vs-sft", 80, 120);
        expect(run, &check_off_policy_drift, better ? VERDICT_PASS : VERDICT_FAIL);
        fake_run_free(run);
    }
}

static void other_kinds_are_not_asked(void **state)
{
    static const struct check *const CHECKS_OF_RL[] = {&check_reward_hacking, &check_kl_too_low};
    static const struct check *const CHECKS_OF_DPO[] = {&check_off_policy_drift,
                                                        &check_chosen_rejected_swapped};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct fake_run *run = fake_run_new(KIND_DPO);
        expect(run, CHECKS_OF_RL[i], VERDICT_NOT_APPLICABLE);
        fake_run_free(run);
        run = fake_run_new(KIND_GRPO);
        expect(run, CHECKS_OF_DPO[i], VERDICT_NOT_APPLICABLE);
        fake_run_free(run);
        run = fake_run_new(KIND_SFT);
        expect(run, &check_dpo_length_exploitation, VERDICT_NOT_APPLICABLE);
        fake_run_free(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_decide_which_side_is_better),
        cmocka_unit_test(a_confirmed_goal_may_contradict_the_rows),
        cmocka_unit_test(a_reference_that_prefers_the_other_side_fails),
        cmocka_unit_test(a_kl_that_explodes_for_no_reward_fails),
        cmocka_unit_test(better_answers_excuse_the_kl),
        cmocka_unit_test(a_kl_that_rises_slowly_is_no_hacking),
        cmocka_unit_test(style_that_rises_while_accuracy_falls_fails),
        cmocka_unit_test(one_answer_to_all_prompts_fails),
        cmocka_unit_test(short_answers_and_a_base_that_opens_alike_are_no_fault),
        cmocka_unit_test(a_reward_behind_its_root_of_kl_only_warns),
        cmocka_unit_test(a_small_coefficient_is_a_fault_only_where_quality_falls),
        cmocka_unit_test(an_ordinary_coefficient_is_not_to_blame),
        cmocka_unit_test(a_kl_that_is_far_and_grows_fails_by_its_coefficient),
        cmocka_unit_test(a_reward_that_no_kl_is_logged_with_has_no_coefficient),
        cmocka_unit_test(outputs_that_grow_fail),
        cmocka_unit_test(longer_answers_as_the_goal_are_no_fault),
        cmocka_unit_test(reasoning_may_get_longer_while_it_gets_right),
        cmocka_unit_test(generations_before_and_after_tell_the_length),
        cmocka_unit_test(rows_alone_never_fail),
        cmocka_unit_test(the_answers_decide_on_a_margin_that_drifts),
        cmocka_unit_test(small_falls_of_the_chosen_answers_are_normal),
        cmocka_unit_test(saturation_fails_unless_the_answers_are_better),
        cmocka_unit_test(other_kinds_are_not_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
