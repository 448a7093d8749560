/* template-mismatch, missing-generation-prompt, system-prompt-mismatch, truncation-mismatch: what decides
 * without a prompt file. The prompts themselves: the folders of tests/checks and test_prompt_pair. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/checks/registry.h"
#include "tests/harness/judged.h"

/* ---- template-mismatch ---- */

static void lines_of_trainers_warn_with_the_line(void **state)
{
    static const char *const patterns[] = {"prompt-mismatch", "prompt-not-prefix",
                                           "llf-template-missing"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct fake_run *run = fake_run_new(KIND_SFT);
        struct check_result r;

        fake_event(run, "template-mismatch", patterns[i], 0, "the trainer's line");
        judged_expect(run, &check_template_mismatch, VERDICT_WARN, &r);
        assert_int_equal(r.confidence, CONFIDENCE_LIKELY);
        assert_non_null(judged_at_line(&r, 1000));
        fake_run_free(run);
    }
}

static void nothing_known_asks_for_both_sides(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    judged_expect(run, &check_template_mismatch, VERDICT_UNKNOWN, &r);
    assert_int_equal(r.n_missing, 2);
    assert_non_null(strstr(r.missing[0], "prompt_train.txt"));
    assert_non_null(strstr(r.missing[1], "prompt_infer.txt"));
    fake_run_free(run);
}

static void classifiers_and_plain_text_are_not_prompted(void **state)
{
    static const enum run_kind kinds[] = {KIND_CLASSIFICATION, KIND_REWARD_MODEL,
                                          KIND_PRETRAINING};
    static const struct check *const checks[] = {
        &check_template_mismatch, &check_missing_generation_prompt, &check_system_prompt_mismatch,
        &check_truncation_mismatch};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 4; k++) {
            struct fake_run *run = fake_run_new(kinds[i]);
            struct check_result r;

            judged_expect(run, checks[k], VERDICT_NOT_APPLICABLE, &r);
            fake_run_free(run);
        }
}

/* ---- missing-generation-prompt ---- */

static void add_outputs(struct fake_run *run, const char *model, size_t n, size_t n_with_header)
{
    for (size_t i = 0; i < n; i++) {
        struct generation made = {.source_id = FAKE_LOG,
                                  .ord = (int64_t)i,
                                  .row = (int64_t)i,
                                  .step = NONE,
                                  .model = model,
                                  .n_tokens = NONE,
                                  .max_new_tokens = NONE,
                                  .batch = NONE,
                                  .exact = -1,
                                  .flags = GENERATION_HAS_TEXT};

        if (i < n_with_header)
            made.flags |= GENERATION_STARTS_WITH_HEADER;
        fake_generation(run, &made);
    }
}

static void half_of_the_outputs_begin_with_a_header(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    add_outputs(run, "finetuned", 4, 2);
    judged_expect(run, &check_missing_generation_prompt, VERDICT_WARN, &r);
    assert_string_equal(r.branch, "outputs");
    fake_run_free(run);
}

static void a_few_outputs_with_a_header_or_the_bases_own_are_no_finding(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    add_outputs(run, "finetuned", 5, 2);
    judged_expect(run, &check_missing_generation_prompt, VERDICT_UNKNOWN, &r);
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    add_outputs(run, "base", 4, 4);
    judged_expect(run, &check_missing_generation_prompt, VERDICT_UNKNOWN, &r);
    fake_run_free(run);
}

/* ---- truncation-mismatch ---- */

static struct fake_run *run_with_lengths(int32_t usual, int32_t longer, size_t n_longer)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    int32_t tokens[200];

    for (size_t i = 0; i < 200; i++)
        tokens[i] = i < n_longer ? longer : usual;
    fake_lengths(run, tokens, 200);
    fake_setting(run, "max_length", "512");
    return run;
}

static void five_percent_cut_and_twice_the_window_fail(void **state)
{
    struct fake_run *run = run_with_lengths(100, 900, 10);
    struct check_result r;

    (void)state;
    fake_setting_on(run, SIDE_SERVE, "max_model_len", "1024");
    judged_expect(run, &check_truncation_mismatch, VERDICT_FAIL, &r);
    assert_int_equal(r.confidence, CONFIDENCE_CERTAIN);
    assert_true(judged_offers(&r, "max_length 960"));
    fake_run_free(run);
    run = run_with_lengths(100, 900, 9);
    fake_setting_on(run, SIDE_SERVE, "max_model_len", "1024");
    judged_expect(run, &check_truncation_mismatch, VERDICT_PASS, &r);
    fake_run_free(run);
    run = run_with_lengths(100, 900, 10);
    fake_setting_on(run, SIDE_SERVE, "max_model_len", "1023");
    judged_expect(run, &check_truncation_mismatch, VERDICT_PASS, &r);
    fake_run_free(run);
}

static void the_other_side_warns_from_one_percent(void **state)
{
    struct fake_run *run = run_with_lengths(100, 900, 2);
    struct check_result r;

    (void)state;
    fake_setting_on(run, SIDE_SERVE, "max_model_len", "512");
    fake_setting_on(run, SIDE_SERVE, "truncation_side", "left");
    judged_expect(run, &check_truncation_mismatch, VERDICT_WARN, &r);
    assert_string_equal(r.branch, "other-side");
    fake_run_free(run);
    run = run_with_lengths(100, 900, 1);
    fake_setting_on(run, SIDE_SERVE, "max_model_len", "512");
    fake_setting_on(run, SIDE_SERVE, "truncation_side", "left");
    judged_expect(run, &check_truncation_mismatch, VERDICT_PASS, &r);
    fake_run_free(run);
}

static void what_training_cut_the_window_need_not_hold(void **state)
{
    struct fake_run *run = run_with_lengths(400, 900, 0);
    struct check_result r;

    (void)state;
    fake_setting_on(run, SIDE_SERVE, "max_model_len", "399");
    judged_expect(run, &check_truncation_mismatch, VERDICT_WARN, &r);
    assert_string_equal(r.branch, "small-window");
    fake_run_free(run);
}

static void packing_that_splits_rows_cuts_nothing(void **state)
{
    struct fake_run *run = run_with_lengths(900, 900, 200);
    struct check_result r;

    (void)state;
    fake_setting(run, "packing", "true");
    fake_setting_on(run, SIDE_SERVE, "max_model_len", "4096");
    judged_expect(run, &check_truncation_mismatch, VERDICT_PASS, &r);
    fake_run_free(run);
}

static void rows_that_fit_wait_for_the_serving_limits(void **state)
{
    struct fake_run *run = run_with_lengths(100, 100, 0);
    struct check_result r;

    (void)state;
    judged_expect(run, &check_truncation_mismatch, VERDICT_UNKNOWN, &r);
    assert_non_null(strstr(r.missing[0], "serve.json"));
    fake_run_free(run);
}

static void the_tokenizers_message_counts_beyond_the_trainers_limit(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_setting(run, "max_length", "1024");
    fake_event(run, "truncation-mismatch", "longer-than-model-max", NONE,
               "Token indices sequence length is longer than …");
    fake_capture(run, 1, "5120");
    fake_capture(run, 2, "1024");
    judged_expect(run, &check_truncation_mismatch, VERDICT_WARN, &r);
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    fake_setting(run, "max_length", "8192");
    fake_event(run, "truncation-mismatch", "longer-than-model-max", NONE,
               "Token indices sequence length is longer than …");
    fake_capture(run, 1, "5120");
    judged_expect(run, &check_truncation_mismatch, VERDICT_UNKNOWN, &r);
    fake_run_free(run);
}

static void estimates_need_a_margin_and_are_likely_at_best(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct sample rows[100];
    struct check_result r;

    (void)state;
    for (size_t i = 0; i < 100; i++)
        rows[i] = (struct sample){.n_tokens = i % 2 ? 900 : 700,
                                  .n_prompt_tokens = -1,
                                  .n_trained = -1,
                                  .flags = SAMPLE_ESTIMATED};
    fake_dataset(run, "train", "messages", 100);
    fake_samples(run, rows, 100);
    fake_setting(run, "max_length", "512");
    fake_setting_on(run, SIDE_SERVE, "max_model_len", "4096");
    judged_expect(run, &check_truncation_mismatch, VERDICT_FAIL, &r);
    assert_int_equal(r.confidence, CONFIDENCE_LIKELY);
    assert_non_null(strstr(r.finding, "estimated"));
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    fake_dataset(run, "train", "messages", 100);
    fake_samples(run, rows, 100);
    fake_setting(run, "max_length", "640");
    fake_setting_on(run, SIDE_SERVE, "max_model_len", "4096");
    judged_expect(run, &check_truncation_mismatch, VERDICT_PASS, &r);
    fake_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_trainers_warn_with_the_line),
        cmocka_unit_test(nothing_known_asks_for_both_sides),
        cmocka_unit_test(classifiers_and_plain_text_are_not_prompted),
        cmocka_unit_test(half_of_the_outputs_begin_with_a_header),
        cmocka_unit_test(a_few_outputs_with_a_header_or_the_bases_own_are_no_finding),
        cmocka_unit_test(five_percent_cut_and_twice_the_window_fail),
        cmocka_unit_test(the_other_side_warns_from_one_percent),
        cmocka_unit_test(what_training_cut_the_window_need_not_hold),
        cmocka_unit_test(packing_that_splits_rows_cuts_nothing),
        cmocka_unit_test(rows_that_fit_wait_for_the_serving_limits),
        cmocka_unit_test(the_tokenizers_message_counts_beyond_the_trainers_limit),
        cmocka_unit_test(estimates_need_a_margin_and_are_likely_at_best),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
