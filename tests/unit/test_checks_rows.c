/* Masked rows, degenerate rows and the fp16 loss scale: a failing, a healthy and an undecided run
 * for each check, and where the evidence points. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "core/checks/registry.h"
#include "tests/harness/judged.h"

static const double DEAD[] = {2.1, 1.9, 1.8, 0, 0, 0}, DEAD_G[] = {1, 1, 1, NAN, NAN, NAN};

/* ---- nan-all-masked-rows ---- */

static struct audit_row masked_or_not(int32_t n_trained)
{
    return (struct audit_row){.n_tokens = 96,
                              .n_prompt = -1,
                              .n_trained = n_trained,
                              .flags = n_trained ? 0 : AUDIT_ALL_MASKED,
                              .last_id = -1};
}

static void add_labels(struct fake_run *run, const char *split, size_t n, size_t every)
{
    struct audit_row rows[400];

    for (size_t i = 0; i < n; i++)
        rows[i] = masked_or_not(every && i % every == every - 1 ? 0 : 12);
    fake_audit(run, split, AUDIT_RECORDED, rows, n);
}

static void masked_rows_and_a_nan_fail_with_the_row(void **state)
{
    struct fake_run *run = fake_run_with_rows(DEAD, DEAD_G, 6);
    struct check_result r;

    (void)state;
    add_labels(run, "train", 200, 50);
    fake_check(run, &check_nan_all_masked_rows, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_non_null(strstr(r.finding, "4 of 200"));
    assert_int_equal(r.evidence[0].row, 49);
    fake_run_free(run);
}

static void isolated_zero_rows_fail_without_any_labels(void **state)
{
    double loss[100], grad[100];
    struct check_result r;

    (void)state;
    for (size_t i = 0; i < 100; i++) {
        bool is_masked = i % 20 == 10;
        loss[i] = is_masked ? 0.0 : 1.0 + 0.01 * (double)(i % 7);
        grad[i] = is_masked ? 0.0 : 1.0;
    }
    struct fake_run *run = fake_run_with_rows(loss, grad, 100);
    fake_check(run, &check_nan_all_masked_rows, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_string_equal(r.branch, "zero-rows");
    assert_int_equal(r.from_step, 11);
    fake_run_free(run);
}

static void one_zero_row_is_a_warning(void **state)
{
    const double loss[] = {2, 1.9, 0, 1.8, 1.7}, grad[] = {1, 1, 0, 1, 1};
    struct fake_run *run = fake_run_with_rows(loss, grad, 5);
    struct check_result r;

    (void)state;
    fake_check(run, &check_nan_all_masked_rows, &r);
    assert_int_equal(r.verdict, VERDICT_WARN);
    fake_run_free(run);
}

static void few_masked_rows_in_large_batches_pass(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_line(run, "loss", 2, 1, 40);
    fake_level(run, "grad_norm", 1, 40);
    fake_setting(run, "per_device_train_batch_size", "8");
    add_labels(run, "train", 400, 200);
    fake_check(run, &check_nan_all_masked_rows, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    assert_int_equal(r.n_information, 1);
    fake_run_free(run);
}

static void evaluation_alone_may_be_masked(void **state)
{
    const double eval[] = {NAN, NAN};
    const int64_t at[] = {20, 40};
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_line(run, "loss", 2, 1, 40);
    fake_curve_at(run, "eval_loss", at, eval, 2);
    add_labels(run, "eval", 60, 1);
    fake_check(run, &check_nan_all_masked_rows, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_string_equal(r.branch, "eval");
    assert_non_null(judged_at_step(&r, 20));
    fake_run_free(run);
}

static void nothing_known_about_labels_is_unknown(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_line(run, "loss", 2, 1, 40);
    fake_check(run, &check_nan_all_masked_rows, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void prompts_beyond_the_limit_count_when_the_prompt_is_masked(void **state)
{
    struct sample rows[20];
    struct fake_run *run = fake_run_with_rows(DEAD, DEAD_G, 6);
    struct check_result r;

    (void)state;
    for (size_t i = 0; i < 20; i++)
        rows[i] = (struct sample){.flags = SAMPLE_ESTIMATED,
                                  .n_tokens = 90,
                                  .n_trained = -1,
                                  .n_prompt_tokens = i == 7 ? 4400 : 40};
    fake_setting(run, "train_on_inputs", "false");
    fake_setting(run, "max_length", "2048");
    fake_dataset(run, "train", "messages", 20);
    fake_samples(run, rows, 20);
    fake_check(run, &check_nan_all_masked_rows, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_int_equal(r.confidence, CONFIDENCE_LIKELY);
    assert_int_equal(r.evidence[0].row, 7);
    fake_run_free(run);
}

/* ---- nan-bad-data ---- */

static void add_rows(struct fake_run *run, size_t n, size_t bad, uint32_t flag)
{
    struct sample rows[400];

    for (size_t i = 0; i < n; i++)
        rows[i] = (struct sample){
            .flags = i == bad ? flag : 0, .n_tokens = 40, .n_prompt_tokens = -1, .n_trained = -1};
    fake_dataset(run, "train", "messages", (int64_t)n);
    fake_samples(run, rows, n);
}

static void an_empty_answer_and_a_nan_fail(void **state)
{
    struct fake_run *run = fake_run_with_rows(DEAD, DEAD_G, 6);
    struct check_result r;

    (void)state;
    add_rows(run, 14, 9, SAMPLE_EMPTY_ANSWER);
    fake_check(run, &check_nan_bad_data, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_int_equal(r.confidence, CONFIDENCE_LIKELY);
    assert_non_null(strstr(r.finding, "row 9"));
    fake_run_free(run);
}

static void a_replayed_batch_with_the_row_makes_it_strong(void **state)
{
    struct fake_run *run = fake_run_with_rows(DEAD, DEAD_G, 6);
    struct check_result r;

    (void)state;
    /* Sequential: step 4 takes row 3. */
    add_rows(run, 14, 3, SAMPLE_EMPTY_ANSWER);
    fake_setting(run, "per_device_train_batch_size", "1");
    fake_setting(run, "gradient_accumulation_steps", "1");
    fake_setting(run, "train_sampling_strategy", "sequential");
    fake_setting(run, "seed", "42");
    fake_setting(run, "world_size", "1");
    fake_check(run, &check_nan_bad_data, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_int_equal(r.confidence, CONFIDENCE_STRONG);
    assert_string_equal(r.branch, "replayed");
    const struct evidence *e = judged_with_text(&r, "lies in the batches");
    assert_int_equal(e->row, 3);
    assert_int_equal(e->step, 4);
    fake_run_free(run);
}

static void a_degenerate_row_without_a_nan_is_a_warning(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_line(run, "loss", 2, 1, 20);
    add_rows(run, 100, 50, SAMPLE_NO_ASSISTANT);
    fake_check(run, &check_nan_bad_data, &r);
    assert_int_equal(r.verdict, VERDICT_WARN);
    fake_run_free(run);
}

static void sound_rows_pass_although_the_loss_is_nan(void **state)
{
    struct fake_run *run = fake_run_with_rows(DEAD, DEAD_G, 6);
    struct check_result r;

    (void)state;
    add_rows(run, 14, 14, 0);
    fake_check(run, &check_nan_bad_data, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    fake_run_free(run);
}

static void no_data_is_unknown(void **state)
{
    struct fake_run *run = fake_run_with_rows(DEAD, DEAD_G, 6);
    struct check_result r;

    (void)state;
    fake_check(run, &check_nan_bad_data, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    fake_run_free(run);
}

/* ---- loss-scale-overflow ---- */

static void overflow_at(struct fake_run *run, int64_t step)
{
    fake_event(run, "loss-scale-overflow", "deepspeed-overflow", step,
               "[deepspeed] OVERFLOW! Rank 0 Skipping step.");
}

static void the_minimum_of_the_scale_fails_at_its_line(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_event(run, "loss-scale-overflow", "deepspeed-scale-minimum", 377,
               "Exception: Current loss scale already at minimum")
        ->line = 88;
    fake_check(run, &check_loss_scale_overflow, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_int_equal(r.evidence[0].line, 88);
    fake_run_free(run);
}

static void five_overflows_in_a_row_fail_only_after_the_start(void **state)
{
    struct check_result r;

    (void)state;
    for (int late = 0; late < 2; late++) {
        struct fake_run *run = fake_run_new(KIND_SFT);
        for (int64_t i = 0; i < 6; i++)
            overflow_at(run, (late ? 300 : 2) + i);
        fake_check(run, &check_loss_scale_overflow, &r);
        assert_int_equal(r.verdict, late ? VERDICT_FAIL : VERDICT_PASS);
        if (late)
            assert_int_equal(r.from_step, 300);
        fake_run_free(run);
    }
}

static void eight_of_510_skipped_steps_are_usual(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_event(run, "loss-scale-overflow", "deepspeed-skipped", 510,
               "step=510, skipped=8, lr=[9e-6]");
    fake_capture(run, 1, "510");
    fake_capture(run, 2, "8");
    fake_check(run, &check_loss_scale_overflow, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    fake_run_free(run);
}

static void a_run_in_bf16_has_no_scale(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_setting(run, "bf16", "true");
    fake_check(run, &check_loss_scale_overflow, &r);
    assert_int_equal(r.verdict, VERDICT_NOT_APPLICABLE);
    fake_run_free(run);
}

static void a_sample_without_masked_rows_is_not_the_whole(void **state)
{
    struct audit_row rows[3];
    struct check_result r;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        rows[i] = masked_or_not(12);
    for (int is_sample = 0; is_sample < 2; is_sample++) {
        struct fake_run *run = fake_run_with_rows(DEAD, NULL, 3);
        fake_audit(run, "train", AUDIT_RECORDED, rows, 3)->is_sampled = is_sample;
        fake_check(run, &check_nan_all_masked_rows, &r);
        assert_int_equal(r.verdict, is_sample ? VERDICT_UNKNOWN : VERDICT_PASS);
        fake_run_free(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_without_masked_rows_is_not_the_whole),
        cmocka_unit_test(masked_rows_and_a_nan_fail_with_the_row),
        cmocka_unit_test(isolated_zero_rows_fail_without_any_labels),
        cmocka_unit_test(one_zero_row_is_a_warning),
        cmocka_unit_test(few_masked_rows_in_large_batches_pass),
        cmocka_unit_test(evaluation_alone_may_be_masked),
        cmocka_unit_test(nothing_known_about_labels_is_unknown),
        cmocka_unit_test(prompts_beyond_the_limit_count_when_the_prompt_is_masked),
        cmocka_unit_test(an_empty_answer_and_a_nan_fail),
        cmocka_unit_test(a_replayed_batch_with_the_row_makes_it_strong),
        cmocka_unit_test(a_degenerate_row_without_a_nan_is_a_warning),
        cmocka_unit_test(sound_rows_pass_although_the_loss_is_nan),
        cmocka_unit_test(no_data_is_unknown),
        cmocka_unit_test(the_minimum_of_the_scale_fails_at_its_line),
        cmocka_unit_test(five_overflows_in_a_row_fail_only_after_the_start),
        cmocka_unit_test(eight_of_510_skipped_steps_are_usual),
        cmocka_unit_test(a_run_in_bf16_has_no_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
