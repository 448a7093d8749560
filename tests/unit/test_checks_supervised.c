/* Stage 3: labels, dropped rows, the moving loss. Where a sample is too small to decide, and what a
 * count means. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "core/checks/registry.h"
#include "tests/harness/judged.h"

static struct check_result result;

static void expect(struct fake_run *run, const struct check *check, enum verdict verdict)
{
    judged_expect(run, check, verdict, &result);
}

/* ---- flat-all-masked ---- */

static struct fake_run *with_masked_labels(size_t n)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct audit_row rows[8];

    for (size_t i = 0; i < n; i++)
        rows[i] = (struct audit_row){
            .n_tokens = 96, .n_prompt = -1, .flags = AUDIT_ALL_MASKED, .last_id = -1};
    fake_audit(run, "train", AUDIT_RECORDED, rows, n);
    return run;
}

static void three_masked_rows_fail_and_one_is_too_few(void **state)
{
    (void)state;
    struct fake_run *run = with_masked_labels(3);
    expect(run, &check_flat_all_masked, VERDICT_FAIL);
    assert_int_equal(result.confidence, CONFIDENCE_CERTAIN);
    fake_run_free(run);
    run = with_masked_labels(1);
    expect(run, &check_flat_all_masked, VERDICT_UNKNOWN);
    assert_int_equal(result.n_missing, 1);
    assert_non_null(strstr(result.missing[0], "2 more rows"));
    fake_run_free(run);
}

static void one_masked_row_is_enough_when_it_is_all_rows(void **state)
{
    (void)state;
    struct fake_run *run = with_masked_labels(1);
    fake_dataset(run, "train", "messages", 1);
    expect(run, &check_flat_all_masked, VERDICT_FAIL);
    fake_run_free(run);
}

static void warn_of_rows(struct fake_run *run, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fake_event(run, "loss-zero-all-masked", "instance-ignored", 1,
                   "This instance will be ignored in loss calculation");
}

static void warnings_count_against_the_rows_seen_so_far(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    fake_event(run, "info", "num-examples", NONE, "  Num examples = 1,000");
    fake_capture(run, 1, "1,000");
    warn_of_rows(run, 9);
    fake_decided(run)->last_epoch = 0.01;   /* 10 rows */
    expect(run, &check_flat_all_masked, VERDICT_FAIL);
    assert_string_equal(result.branch, "warnings");
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    fake_event(run, "info", "num-examples", NONE, "  Num examples = 1,000");
    fake_capture(run, 1, "1,000");
    warn_of_rows(run, 9);
    fake_decided(run)->last_epoch = 1.0;
    expect(run, &check_flat_all_masked, VERDICT_PASS);
    fake_run_free(run);
}

/* Python prints a warning once: of 100 rows with 9 texts it speaks of 9. */
static void fewer_warnings_than_rows_are_enough_where_no_row_has_a_loss(void **state)
{
    static const double zero[] = {0.0, 0.0, 0.0, 0.0, 0.0};
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    fake_setting(run, "per_device_train_batch_size", "20");
    fake_decided(run)->last_step = 5;
    fake_curve(run, "loss", zero, 5);
    warn_of_rows(run, 9);
    expect(run, &check_flat_all_masked, VERDICT_FAIL);
    assert_string_equal(result.branch, "warnings");
    fake_run_free(run);
}

static void two_warnings_before_the_second_step_say_little(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    fake_setting(run, "per_device_train_batch_size", "1");
    fake_decided(run)->last_step = 1;
    warn_of_rows(run, 2);
    expect(run, &check_flat_all_masked, VERDICT_UNKNOWN);
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    fake_setting(run, "per_device_train_batch_size", "1");
    fake_decided(run)->last_step = 0;
    warn_of_rows(run, 1);
    expect(run, &check_flat_all_masked, VERDICT_UNKNOWN);
    fake_run_free(run);
}

/* ---- dropped-rows ---- */

static struct fake_run *trained_rows(int64_t in_file, const char *trained)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    fake_dataset(run, "train", "messages", in_file);
    fake_event(run, "start-marker", "running-training", NONE, "***** Running training *****");
    fake_event(run, "info", "num-examples", NONE, "  Num examples");
    fake_capture(run, 1, trained);
    return run;
}

static void fewer_rows_than_in_the_file_fail_once_packing_is_known_to_be_off(void **state)
{
    (void)state;
    struct fake_run *run = trained_rows(1000, "700");
    expect(run, &check_dropped_rows, VERDICT_WARN);
    fake_run_free(run);
    run = trained_rows(1000, "700");
    fake_setting(run, "packing", "false");
    expect(run, &check_dropped_rows, VERDICT_FAIL);
    fake_run_free(run);
    run = trained_rows(1000, "995");
    expect(run, &check_dropped_rows, VERDICT_PASS);
    fake_run_free(run);
}

static void a_training_set_without_rows_has_lost_them(void **state)
{
    static const char REFUSAL[] =
        "ValueError: num_samples should be a positive integer value, but got num_samples=0";
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    fake_dataset(run, "train", "messages", 300);
    fake_event(run, "exception", NULL, NONE, REFUSAL);
    expect(run, &check_dropped_rows, VERDICT_FAIL);
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    fake_event(run, "exception", NULL, NONE, REFUSAL);
    expect(run, &check_dropped_rows, VERDICT_WARN);
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    fake_dataset(run, "train", "messages", 300);
    fake_event(run, "exception", NULL, NONE, "ValueError: num_samples should be given");
    expect(run, &check_dropped_rows, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void a_validation_split_is_subtracted(void **state)
{
    (void)state;
    struct fake_run *run = trained_rows(1000, "900");
    fake_setting(run, "val_size", "0.1");
    expect(run, &check_dropped_rows, VERDICT_PASS);
    fake_run_free(run);
    run = trained_rows(1000, "500");
    fake_setting(run, "val_size", "0.1");
    expect(run, &check_dropped_rows, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void packed_rows_cannot_be_counted(void **state)
{
    (void)state;
    struct fake_run *run = trained_rows(1000, "120");
    fake_setting(run, "packing", "true");
    expect(run, &check_dropped_rows, VERDICT_UNKNOWN);
    assert_int_equal(result.n_information, 1);
    fake_run_free(run);
}

/* ---- loss-flat ---- */

static void a_fall_is_told_in_per_cent_of_the_start(void **state)
{
    double y[40];
    (void)state;
    for (int i = 0; i < 40; i++)
        y[i] = 8.0 * exp(-0.2 * i);
    struct fake_run *run = fake_run_new(KIND_SFT);
    fake_curve(run, "loss", y, 40);
    expect(run, &check_loss_flat, VERDICT_PASS);
    assert_non_null(strstr(result.finding, "falls by 99."));
    fake_run_free(run);
}

static void three_rows_near_ln_of_the_vocabulary_are_nothing_to_judge_by(void **state)
{
    static const double y[] = {10.4, 10.3, 10.2, 10.2, 10.1, 10.1};
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    fake_setting_on(run, SIDE_MODEL, "vocab_size", "32000");
    fake_curve(run, "loss", y, 3);
    expect(run, &check_loss_flat, VERDICT_UNKNOWN);
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    fake_setting_on(run, SIDE_MODEL, "vocab_size", "32000");
    fake_curve(run, "loss", y, 6);
    expect(run, &check_loss_flat, VERDICT_WARN);
    assert_string_equal(result.branch, "ln-vocabulary");
    fake_run_free(run);
}

/* ---- flat-no-grad ---- */

static void no_loss_and_no_gradient_is_another_checks_question(void **state)
{
    static const double zero[] = {0.0541, 0, 0, 0}, high[] = {1.84, 1.83, 1.85, 1.84};
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    fake_curve(run, "loss", zero, 4);
    fake_level(run, "grad_norm", 0.0, 4);
    expect(run, &check_flat_no_grad, VERDICT_UNKNOWN);
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    fake_curve(run, "loss", high, 4);
    fake_level(run, "grad_norm", 0.0, 4);
    expect(run, &check_flat_no_grad, VERDICT_FAIL);
    fake_run_free(run);
}

/* ---- flat-target-modules-mismatch ---- */

static struct fake_run *adapter_run(const char *base, const char *targets)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    fake_setting_on(run, SIDE_ADAPTER, "peft_type", "LORA");
    fake_setting_on(run, SIDE_ADAPTER, "base_model_name_or_path", base);
    fake_setting_on(run, SIDE_ADAPTER, "target_modules", targets);
    return run;
}

static void the_name_of_the_base_tells_that_no_target_fits(void **state)
{
    (void)state;
    struct fake_run *run = adapter_run("THUDM/chatglm2-6b", "[\"q_proj\",\"v_proj\"]");
    expect(run, &check_flat_target_modules_mismatch, VERDICT_FAIL);
    assert_string_equal(result.branch, "names");
    fake_run_free(run);
    run = adapter_run("THUDM/chatglm2-6b", "[\"query_key_value\",\"v_proj\"]");
    expect(run, &check_flat_target_modules_mismatch, VERDICT_UNKNOWN);
    fake_run_free(run);
    run = adapter_run("someone/own-model", "[\"q_proj\",\"v_proj\"]");
    expect(run, &check_flat_target_modules_mismatch, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void with_modules(struct fake_run *run)
{
    static const char *const NAMES[] = {"model.layers.0.self_attn.q_proj",
                                        "model.layers.0.mlp.up_proj", "lm_head"};
    struct tensor tensors[3];

    for (size_t i = 0; i < 3; i++)
        tensors[i] = (struct tensor){.name = NAMES[i], .dtype = "", .shape = "", .norm = NAN,
                                     .n_values = NONE, .n_nonzero = NONE, .n_nonfinite = NONE,
                                     .delta_norm = NAN};
    fake_artefact(run, "modules", "module_names.txt", NONE);
    fake_tensors(run, tensors, 3);
}

static void a_regex_is_matched_on_whole_paths(void **state)
{
    (void)state;
    struct fake_run *run = adapter_run("x/y", ".*self_attn\\.(q|v)_proj");
    with_modules(run);
    expect(run, &check_flat_target_modules_mismatch, VERDICT_PASS);
    fake_run_free(run);
    run = adapter_run("x/y", "self_attn\\.(q|v)_proj");
    with_modules(run);
    expect(run, &check_flat_target_modules_mismatch, VERDICT_FAIL);
    fake_run_free(run);
    run = adapter_run("x/y", ".*(unclosed");
    with_modules(run);
    expect(run, &check_flat_target_modules_mismatch, VERDICT_UNKNOWN);
    fake_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_masked_rows_fail_and_one_is_too_few),
        cmocka_unit_test(one_masked_row_is_enough_when_it_is_all_rows),
        cmocka_unit_test(warnings_count_against_the_rows_seen_so_far),
        cmocka_unit_test(fewer_warnings_than_rows_are_enough_where_no_row_has_a_loss),
        cmocka_unit_test(two_warnings_before_the_second_step_say_little),
        cmocka_unit_test(fewer_rows_than_in_the_file_fail_once_packing_is_known_to_be_off),
        cmocka_unit_test(a_training_set_without_rows_has_lost_them),
        cmocka_unit_test(a_validation_split_is_subtracted),
        cmocka_unit_test(packed_rows_cannot_be_counted),
        cmocka_unit_test(no_loss_and_no_gradient_is_another_checks_question),
        cmocka_unit_test(the_name_of_the_base_tells_that_no_target_fits),
        cmocka_unit_test(a_regex_is_matched_on_whole_paths),
        cmocka_unit_test(a_fall_is_told_in_per_cent_of_the_start),
        cmocka_unit_test(three_rows_near_ln_of_the_vocabulary_are_nothing_to_judge_by),
    };
    return cmocka_run_group_tests_name("checks_supervised", tests, NULL, NULL);
}
