/* Stage 4: gains inside their interval, gains by length. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/checks/registry.h"
#include "tests/harness/judged.h"

static struct check_result result;

static struct fake_run *with_task(int64_t base, int64_t run, int64_t n)
{
    struct fake_run *made = fake_run_new(KIND_SFT);

    fake_suite(made, "base", "tickets", base, n);
    fake_suite(made, "run", "tickets", run, n);
    return made;
}

static void a_gain_that_the_items_cannot_show_fails_and_says_how_many_it_needs(void **state)
{
    struct fake_run *run = with_task(40, 42, 50);

    (void)state;
    judged_expect(run, &check_gain_within_ci, VERDICT_FAIL, &result);
    assert_string_equal(result.branch, "equal");
    assert_non_null(strstr(result.finding, "-11.3 to +19.1"));
    assert_non_null(judged_with_text(&result, "50 items see 17.3 points or more"));
    assert_non_null(judged_with_text(&result, "4.0 points need 979 items in pairs"));
    fake_run_free(run);
}

static void a_gain_beyond_its_interval_passes(void **state)
{
    struct fake_run *run = with_task(18, 34, 60);

    (void)state;
    judged_expect(run, &check_gain_within_ci, VERDICT_PASS, &result);
    assert_non_null(strstr(result.finding, "26.7 points"));
    fake_run_free(run);
}

static void a_candidate_that_is_worse_warns(void **state)
{
    struct fake_run *run = with_task(831, 765, 1319);

    (void)state;
    judged_expect(run, &check_gain_within_ci, VERDICT_WARN, &result);
    assert_string_equal(result.branch, "worse");
    fake_run_free(run);
}

static void the_price_of_a_gain_is_not_said_twice(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_suite(run, "base", "tickets", 60, 200);
    fake_suite(run, "run", "tickets", 150, 200);
    fake_suite(run, "base", "old", 160, 200);
    fake_suite(run, "run", "old", 90, 200);
    judged_expect(run, &check_catastrophic_forgetting, VERDICT_FAIL, &result);
    judged_expect(run, &check_gain_within_ci, VERDICT_PASS, &result);
    fake_run_free(run);
}

static void without_a_task_the_general_suite_counts(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_suite(run, "base", "gsm8k", 60, 200);
    fake_suite(run, "run", "gsm8k", 66, 200);
    judged_expect(run, &check_gain_within_ci, VERDICT_FAIL, &result);
    fake_run_free(run);
    run = with_task(18, 34, 60);
    fake_suite(run, "base", "gsm8k", 60, 200);
    fake_suite(run, "run", "gsm8k", 66, 200);
    judged_expect(run, &check_gain_within_ci, VERDICT_PASS, &result);
    fake_run_free(run);
}

static void one_gain_of_many_by_chance_is_none_by_holms_rule(void **state)
{
    static const char *const SUITES[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        fake_suite(run, "base", SUITES[i], 100, 200);
        fake_suite(run, "run", SUITES[i], i == 3 ? 121 : 99, 200); /* p = 0.035 alone */
    }
    judged_expect(run, &check_gain_within_ci, VERDICT_FAIL, &result);
    assert_non_null(strstr(result.finding, "Holm"));
    fake_run_free(run);
}

static void the_last_checkpoint_is_what_is_claimed(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_suite(run, "base", "tickets", 18, 60);
    fake_suite(run, "run", "tickets", 21, 60);
    fake_step(run, 100);
    fake_suite(run, "run", "tickets", 34, 60);
    fake_step(run, 200);
    judged_expect(run, &check_gain_within_ci, VERDICT_PASS, &result);
    fake_run_free(run);
}

static void one_side_alone_is_not_known(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_suite(run, "dpo", "judge-vs-sft", 174, 300);
    judged_expect(run, &check_gain_within_ci, VERDICT_UNKNOWN, &result);
    assert_non_null(strstr(result.missing[0], "base model on judge-vs-sft"));
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    judged_expect(run, &check_gain_within_ci, VERDICT_UNKNOWN, &result);
    fake_run_free(run);
}

/* Four gained, none lost of 100: the interval leaves 0 out, the exact test has p = 0.125. */
static void few_that_differ_have_to_pass_the_exact_test(void **state)
{
    static char names[100][24];
    struct eval_item base[100] = {{0}}, tuned[100];
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    for (int i = 0; i < 100; i++) {
        snprintf(names[i], sizeof names[i], "q%02d", i);
        base[i] = (struct eval_item){.item = names[i], .score = i < 50};
        tuned[i] = base[i];
        tuned[i].score = i < 54;
    }
    fake_suite(run, "base", "tickets", 0, 1);
    fake_items(run, base, 100);
    fake_suite(run, "run", "tickets", 0, 1);
    fake_items(run, tuned, 100);
    judged_expect(run, &check_gain_within_ci, VERDICT_FAIL, &result);
    assert_non_null(strstr(result.finding, "exact test of pairs p is 0.12"));
    fake_run_free(run);
}

/* 60 samples of 100 epochs each: what repeats is no evidence of its own. */
static void repeated_items_count_once_by_their_group(void **state)
{
    enum { SAMPLES = 60, EPOCHS = 100 };
    static char names[SAMPLES * EPOCHS][40], groups[SAMPLES][24];
    static struct eval_item base[SAMPLES * EPOCHS], tuned[SAMPLES * EPOCHS];
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    for (int i = 0; i < SAMPLES * EPOCHS; i++) {
        int sample = i / EPOCHS;

        snprintf(groups[sample], sizeof groups[sample], "s%02d", sample);
        snprintf(names[i], sizeof names[i], "s%02d#%03d", sample, i % EPOCHS);
        base[i] = (struct eval_item){.item = names[i], .score = sample < 20,
                                     .cluster = groups[sample]};
        tuned[i] = base[i];
        tuned[i].score = sample >= 4 && sample < 27; /* 4 samples lost, 7 gained */
    }
    fake_suite(run, "base", "tickets", 0, 1);
    fake_items(run, base, SAMPLES * EPOCHS);
    fake_suite(run, "run", "tickets", 0, 1);
    fake_items(run, tuned, SAMPLES * EPOCHS);
    judged_expect(run, &check_gain_within_ci, VERDICT_FAIL, &result);
    fake_run_free(run);
}

/* ---- Judgements ---- */

enum { N = 200 };

/* `won` of N; the candidate's answers are `ratio` times as long but in the first `matched`, of which it
 * wins `matched_won`. */
static struct fake_run *with_judge(int won, double ratio, int matched, int matched_won)
{
    struct fake_run *run = fake_run_new(KIND_DPO);
    struct judgement list[N];

    for (int i = 0; i < N; i++) {
        int64_t length = 400 + i % 7 * 20;
        bool is_win = i < matched ? i < matched_won
                                  : i - matched < won - matched_won;
        list[i] = (struct judgement){.ord = i, .base = "base", .candidate = "ft",
                                     .length_base = length,
                                     .length_candidate = i < matched
                                                             ? length + (i % 3 - 1) * 10
                                                             : (int64_t)((double)length * ratio),
                                     .score = is_win, .step = NONE, .line = i + 1};
    }
    fake_judgements(run, list, N);
    return run;
}

static void a_win_rate_around_half_is_no_gain(void **state)
{
    struct fake_run *run = with_judge(108, 1.0, 0, 0);

    (void)state;
    judged_expect(run, &check_gain_within_ci, VERDICT_FAIL, &result);
    assert_non_null(strstr(result.finding, "contains 50 %"));
    judged_expect(run, &check_length_only_gain, VERDICT_PASS, &result);
    fake_run_free(run);
    run = with_judge(60, 1.0, 0, 0);
    judged_expect(run, &check_gain_within_ci, VERDICT_PASS, &result);
    fake_run_free(run);
    run = with_judge(130, 1.0, 0, 0);
    judged_expect(run, &check_gain_within_ci, VERDICT_PASS, &result);
    fake_run_free(run);
}

static void longer_answers_that_win_only_by_length_fail(void **state)
{
    struct fake_run *run = with_judge(135, 2.0, 40, 20);

    (void)state;
    judged_expect(run, &check_length_only_gain, VERDICT_FAIL, &result);
    assert_non_null(judged_with_text(&result, "times as long as those of base"));
    assert_non_null(judged_with_text(&result, "of 40 pairs"));
    assert_non_null(judged_with_text(&result, "0.9-1.1x ###          40, won 50 %"));
    judged_expect(run, &check_gain_within_ci, VERDICT_PASS, &result);
    fake_run_free(run);
}

static void a_gain_that_remains_at_equal_length_passes(void **state)
{
    struct fake_run *run = with_judge(150, 1.6, 60, 50);

    (void)state;
    judged_expect(run, &check_length_only_gain, VERDICT_PASS, &result);
    fake_run_free(run);
}

static void longer_answers_that_do_not_win_are_no_gain(void **state)
{
    struct fake_run *run = with_judge(40, 2.0, 0, 0);

    (void)state;
    judged_expect(run, &check_length_only_gain, VERDICT_PASS, &result);
    fake_run_free(run);
}

static void without_lengths_it_is_not_known(void **state)
{
    struct fake_run *run = fake_run_new(KIND_DPO);
    struct judgement one = {.base = "base", .candidate = "ft", .length_base = NONE,
                            .length_candidate = 3, .score = 1.0, .step = NONE, .line = 1};

    (void)state;
    fake_judgements(run, &one, 1);
    judged_expect(run, &check_length_only_gain, VERDICT_UNKNOWN, &result);
    fake_run_free(run);
    run = fake_run_new(KIND_DPO);
    judged_expect(run, &check_length_only_gain, VERDICT_UNKNOWN, &result);
    fake_run_free(run);
}

/* Items q00 …, the first `right` of them right, the first `missing` without a result. */
static void add_items(struct fake_run *run, const char *model, size_t right, size_t missing)
{
    static char names[80][8];
    struct eval_item items[80] = {{0}};

    for (size_t i = 0; i < 80; i++) {
        snprintf(names[i], sizeof names[i], "q%02zu", i);
        items[i] = (struct eval_item){.item = names[i], .score = i < missing ? NAN : i < right};
    }
    fake_suite(run, model, "tickets", 0, 0);
    fake_items(run, items, 80);
}

static void items_without_a_result_are_said_and_weighed_as_wrong(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    add_items(run, "base", 40, 0);
    add_items(run, "ft", 43, 10);
    judged_expect(run, &check_gain_within_ci, VERDICT_FAIL, &result);
    assert_non_null(judged_with_text(&result, "0 items of base and 10 of ft have no result"));
    assert_non_null(judged_with_text(&result, "counted as wrong they leave -8.8 points"));
    assert_non_null(judged_with_text(&result, "70 items have a result of both, of 80 and 70"));
    fake_run_free(run);
}

static void one_sampled_run_is_said_to_be_one(void **state)
{
    struct fake_run *run = with_task(40, 42, 50);

    (void)state;
    fake_last_suite(run)->frozen = "temperature=0.7";
    judged_expect(run, &check_gain_within_ci, VERDICT_FAIL, &result);
    assert_non_null(judged_with_text(&result, "sampled at temperature 0.7, one run a model"));
    fake_last_suite(run)->frozen = NULL;
    fake_run_free(run);
    run = with_task(40, 42, 50);
    fake_last_suite(run)->frozen = "temperature=0";
    judged_expect(run, &check_gain_within_ci, VERDICT_FAIL, &result);
    assert_null(judged_with_text(&result, "sampled"));
    fake_run_free(run);
}

static void the_spread_over_seeds_stands_beside_the_gain(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    static const char *const FROZEN[] = {"temperature=1 seed=1", "temperature=1 seed=2"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        fake_suite(run, "base", "tickets", 40 + (int64_t)i, 80);
        fake_last_suite(run)->frozen = FROZEN[i];
        fake_suite(run, "ft", "tickets", 40 + 8 * (int64_t)i, 80);
        fake_last_suite(run)->frozen = FROZEN[i];
    }
    judged_expect(run, &check_gain_within_ci, VERDICT_FAIL, &result);
    assert_non_null(judged_with_text(&result, "2 runs of ft with other seeds reach 50.0 to 60.0 %"));
    assert_null(judged_with_text(&result, "sampled at"));
    fake_run_free(run);
}

static void the_best_of_several_checkpoints_is_named_beside_the_last(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_suite(run, "base", "tickets", 18, 60);
    fake_suite(run, "out/checkpoint-100", "tickets", 36, 60);
    fake_step(run, 100);
    fake_suite(run, "out/checkpoint-200", "tickets", 33, 60);
    fake_step(run, 200);
    judged_expect(run, &check_gain_within_ci, VERDICT_PASS, &result);
    assert_non_null(judged_with_text(&result, "of 2 checkpoints step 100 is the best with 60.0 %"));
    fake_run_free(run);
}

static void a_question_that_was_judged_twice_is_said(void **state)
{
    static const char *const QUESTIONS[] = {"q1", "q2", "q3"};
    struct judgement judged[6];
    struct fake_run *run = fake_run_new(KIND_DPO);

    (void)state;
    for (size_t i = 0; i < 6; i++)
        judged[i] = (struct judgement){.source_id = FAKE_LOG, .ord = (int64_t)i, .item = QUESTIONS[i % 3],
                                       .base = "base", .candidate = "ft", .length_base = NONE,
                                       .length_candidate = NONE, .score = i != 1, .step = NONE,
                                       .line = (int64_t)i + 1};
    fake_judgements(run, judged, 6);
    judged_expect(run, &check_gain_within_ci, VERDICT_FAIL, &result);
    assert_non_null(judged_with_text(&result, "3 of the 6 judgements are of a question that was judged"));
    fake_run_free(run);
}

static void a_suite_that_both_pass_whole_tells_nothing(void **state)
{
    struct fake_run *run = with_task(50, 50, 50);

    (void)state;
    judged_expect(run, &check_gain_within_ci, VERDICT_PASS, &result);
    fake_run_free(run);
}

static void the_adapter_that_was_not_evaluated_is_told(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_setting(run, "finetuning_type", "lora");
    fake_setting(run, "model_name_or_path", "acme/base-1b");
    fake_setting_on(run, SIDE_EVAL, "lm_eval.pretrained", "acme/base-1b");
    fake_suite(run, "acme/base-1b", "tickets", 18, 60);
    judged_expect(run, &check_gain_within_ci, VERDICT_UNKNOWN, &result);
    assert_non_null(strstr(result.missing[0], "without peft="));
    fake_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gain_that_the_items_cannot_show_fails_and_says_how_many_it_needs),
        cmocka_unit_test(a_gain_beyond_its_interval_passes),
        cmocka_unit_test(a_candidate_that_is_worse_warns),
        cmocka_unit_test(the_price_of_a_gain_is_not_said_twice),
        cmocka_unit_test(without_a_task_the_general_suite_counts),
        cmocka_unit_test(one_gain_of_many_by_chance_is_none_by_holms_rule),
        cmocka_unit_test(the_last_checkpoint_is_what_is_claimed),
        cmocka_unit_test(one_side_alone_is_not_known),
        cmocka_unit_test(few_that_differ_have_to_pass_the_exact_test),
        cmocka_unit_test(repeated_items_count_once_by_their_group),
        cmocka_unit_test(items_without_a_result_are_said_and_weighed_as_wrong),
        cmocka_unit_test(one_sampled_run_is_said_to_be_one),
        cmocka_unit_test(the_spread_over_seeds_stands_beside_the_gain),
        cmocka_unit_test(the_best_of_several_checkpoints_is_named_beside_the_last),
        cmocka_unit_test(a_question_that_was_judged_twice_is_said),
        cmocka_unit_test(a_suite_that_both_pass_whole_tells_nothing),
        cmocka_unit_test(the_adapter_that_was_not_evaluated_is_told),
        cmocka_unit_test(a_win_rate_around_half_is_no_gain),
        cmocka_unit_test(longer_answers_that_win_only_by_length_fail),
        cmocka_unit_test(a_gain_that_remains_at_equal_length_passes),
        cmocka_unit_test(longer_answers_that_do_not_win_are_no_gain),
        cmocka_unit_test(without_lengths_it_is_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
