/* Stage 7: overfitting, the kept checkpoint, usual ranges. */
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

#define N(array) (sizeof(array) / sizeof *(array))

static struct check_result result;

static void expect(struct fake_run *run, const struct check *check, enum verdict verdict)
{
    judged_expect(run, check, verdict, &result);
}

/* Evaluations every 100 steps, and a training loss that falls to the end. */
static struct fake_run *run_with_evals(const double *e, size_t n)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    int64_t step[64];

    for (size_t i = 0; i < n; i++)
        step[i] = 100 * (int64_t)(i + 1);
    fake_curve_at(run, "eval_loss", step, e, n);
    fake_line(run, "loss", 2.0, 0.4, 100 * n);
    return run;
}

static const double SECOND_EPOCH[] = {1.55, 1.43, 1.39, 1.46, 1.51, 1.55, 1.78, 1.86, 1.91};
static const double MILD[] = {1.4668, 1.48, 1.5020};
static const double WOBBLE[] = {1.52, 1.41, 1.36, 1.345, 1.351, 1.338, 1.334, 1.336};

/* ---- overfit ---- */

static void a_clear_rise_after_the_best_fails(void **state)
{
    (void)state;
    struct fake_run *run = run_with_evals(SECOND_EPOCH, N(SECOND_EPOCH));
    expect(run, &check_overfit, VERDICT_FAIL);
    assert_int_equal(result.from_step, 300);
    assert_non_null(strstr(result.fixes[0], "300"));
    fake_run_free(run);
}

static void a_mild_rise_warns(void **state)
{
    (void)state;
    struct fake_run *run = run_with_evals(MILD, N(MILD));
    expect(run, &check_overfit, VERDICT_WARN);
    fake_run_free(run);
}

static void wobble_is_level(void **state)
{
    (void)state;
    struct fake_run *run = run_with_evals(WOBBLE, N(WOBBLE));
    expect(run, &check_overfit, VERDICT_PASS);
    expect(run, &check_last_not_best, VERDICT_PASS);
    fake_run_free(run);
}

static void a_small_evaluation_set_only_warns(void **state)
{
    (void)state;
    struct fake_run *run = run_with_evals(SECOND_EPOCH, N(SECOND_EPOCH));
    fake_dataset(run, "eval", "messages", 40);
    expect(run, &check_overfit, VERDICT_WARN);
    assert_true(judged_informs(&result, "small eval set"));
    fake_run_free(run);
}

static void a_rise_with_a_rising_training_loss_is_no_overfitting(void **state)
{
    const int64_t step[] = {100, 200, 300, 400};
    const double e[] = {1.2, 1.0, 1.5, 2.0};
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    fake_curve_at(run, "eval_loss", step, e, 4);
    fake_line(run, "loss", 1.0, 3.0, 400);
    expect(run, &check_overfit, VERDICT_PASS);
    fake_run_free(run);
}

static void the_worst_of_several_evaluation_sets_is_reported(void **state)
{
    (void)state;
    struct fake_run *run = run_with_evals(WOBBLE, N(WOBBLE));
    int64_t step[9];
    for (size_t i = 0; i < 9; i++)
        step[i] = 80 * (int64_t)(i + 1);
    fake_curve_at(run, "eval_g0_loss", step, SECOND_EPOCH, 9);
    expect(run, &check_overfit, VERDICT_FAIL);
    assert_non_null(strstr(result.finding, "eval_g0_loss"));
    fake_run_free(run);
}

static void the_reloaded_best_model_is_no_point_of_the_curve(void **state)
{
    const double e[] = {1.4668, 1.60, 1.75, 1.4668};
    (void)state;
    struct fake_run *run = run_with_evals(e, 4);
    expect(run, &check_overfit, VERDICT_FAIL);
    expect(run, &check_last_not_best, VERDICT_PASS);
    fake_run_free(run);
}

static void without_evaluation_it_is_not_known(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    fake_line(run, "loss", 2.0, 1.0, 100);
    fake_decided(run)->planned_epochs = 10;
    expect(run, &check_overfit, VERDICT_UNKNOWN);
    assert_true(judged_informs(&result, "10 epochs"));
    expect(run, &check_last_not_best, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void two_evaluations_are_not_enough_to_pass(void **state)
{
    const double e[] = {1.5, 1.4};
    (void)state;
    struct fake_run *run = run_with_evals(e, 2);
    expect(run, &check_overfit, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void reinforcement_runs_and_ten_row_tests_are_not_asked(void **state)
{
    (void)state;
    struct fake_run *run = run_with_evals(SECOND_EPOCH, N(SECOND_EPOCH));
    fake_decided(run)->run.kind = KIND_GRPO;
    expect(run, &check_overfit, VERDICT_NOT_APPLICABLE);
    expect(run, &check_last_not_best, VERDICT_NOT_APPLICABLE);
    fake_run_free(run);
    run = run_with_evals(SECOND_EPOCH, N(SECOND_EPOCH));
    fake_decided(run)->run.marks = MARK_TEN_ROW_TEST;
    expect(run, &check_overfit, VERDICT_NOT_APPLICABLE);
    expect(run, &check_last_not_best, VERDICT_NOT_APPLICABLE);
    expect(run, &check_hyperparams_range, VERDICT_NOT_APPLICABLE);
    fake_run_free(run);
}

/* ---- last-not-best ---- */

static void the_last_checkpoint_far_above_the_best_fails(void **state)
{
    (void)state;
    struct fake_run *run = run_with_evals(SECOND_EPOCH, N(SECOND_EPOCH));
    expect(run, &check_last_not_best, VERDICT_FAIL);
    assert_string_equal(result.branch, "");
    assert_non_null(strstr(result.fixes[0], "checkpoint-300"));
    fake_run_free(run);
}

static void a_best_checkpoint_that_was_overwritten_is_gone(void **state)
{
    (void)state;
    struct fake_run *run = run_with_evals(MILD, N(MILD));
    fake_artefact(run, "checkpoint", "/fake/run/checkpoint-200", 200);
    fake_artefact(run, "checkpoint", "/fake/run/checkpoint-300", 300);
    expect(run, &check_last_not_best, VERDICT_FAIL);
    assert_string_equal(result.branch, "gone");
    fake_run_free(run);
}

static void one_imported_folder_says_nothing_about_the_others(void **state)
{
    (void)state;
    struct fake_run *run = run_with_evals(MILD, N(MILD));
    fake_artefact(run, "checkpoint", "/fake/run/checkpoint-300", 300);
    expect(run, &check_last_not_best, VERDICT_WARN);
    fake_run_free(run);
}

static void a_save_limit_tells_that_the_best_was_deleted(void **state)
{
    (void)state;
    struct fake_run *run = run_with_evals(MILD, N(MILD));
    fake_artefact(run, "checkpoint", "/fake/run/checkpoint-300", 300);
    fake_setting(run, "save_total_limit", "1");
    fake_setting(run, "save_steps", "100");
    expect(run, &check_last_not_best, VERDICT_FAIL);
    assert_string_equal(result.branch, "gone");
    fake_run_free(run);
}

static const char *text_with(const char *word)
{
    for (size_t i = 0; i < result.n_evidence; i++)
        if (result.evidence[i].text && strstr(result.evidence[i].text, word))
            return result.evidence[i].text;
    return "";
}

/* The same evaluations; the checkpoints as three other frameworks call theirs. */
static void checkpoints_of_other_names_are_told_with_the_one_to_keep(void **state)
{
    static const struct {
        const char *best, *last;
        int64_t best_step, last_step;
    } NAMES[] = {
        {"/fake/run/epoch=0-step=101.ckpt", "/fake/run/epoch=2-step=301.ckpt", 101, 301},
        {"/fake/run/step-000100", "/fake/run/step-000300", 100, 300},
        {"/fake/run/epoch_0", "/fake/run/epoch_2", NONE, NONE},
    };
    static const double BEST_FIRST[] = {1.0, 1.2, 1.5};

    (void)state;
    for (size_t i = 0; i < N(NAMES); i++) {
        struct fake_run *run = run_with_evals(BEST_FIRST, N(BEST_FIRST));
        char expected[100];

        fake_decided(run)->last_epoch = 3.0;
        fake_artefact(run, "checkpoint", NAMES[i].best, NAMES[i].best_step);
        fake_artefact(run, "checkpoint", NAMES[i].last, NAMES[i].last_step);
        expect(run, &check_last_not_best, VERDICT_FAIL);
        assert_string_equal(result.branch, "");
        snprintf(expected, sizeof expected, "on disk: %s; keep %s", strrchr(NAMES[i].best, '/') + 1,
                 strrchr(NAMES[i].best, '/') + 1);
        assert_string_equal(text_with("on disk"), expected);
        assert_string_equal(text_with("of the steps"), "67 % of the steps came after the best");
        assert_true(*text_with("no other evaluation"));
        fake_run_free(run);
    }
}

static void the_best_model_loaded_at_the_end_passes(void **state)
{
    (void)state;
    struct fake_run *run = run_with_evals(SECOND_EPOCH, N(SECOND_EPOCH));
    fake_setting(run, "load_best_model_at_end", "true");
    fake_decided(run)->has_end_marker = true;
    expect(run, &check_last_not_best, VERDICT_PASS);
    fake_run_free(run);
}

static void a_deployed_step_beside_the_best_is_named(void **state)
{
    (void)state;
    struct fake_run *run = run_with_evals(SECOND_EPOCH, N(SECOND_EPOCH));
    fake_setting_on(run, SIDE_SERVE, "step", "700");
    expect(run, &check_last_not_best, VERDICT_FAIL);
    assert_string_equal(result.branch, "deployed");
    fake_run_free(run);
}

static void the_deployed_best_passes(void **state)
{
    (void)state;
    struct fake_run *run = run_with_evals(SECOND_EPOCH, N(SECOND_EPOCH));
    fake_setting_on(run, SIDE_SERVE, "step", "300");
    expect(run, &check_last_not_best, VERDICT_PASS);
    fake_run_free(run);
}

static struct fake_run *run_with_metric(const double *metric, size_t n)
{
    struct fake_run *run = run_with_evals(SECOND_EPOCH, N(SECOND_EPOCH));
    int64_t step[16];

    for (size_t i = 0; i < n; i++)
        step[i] = 100 * (int64_t)(i + 1);
    fake_setting(run, "metric_for_best_model", "rouge1");
    if (n > 0)
        fake_curve_at(run, "eval_rouge1", step, metric, n);
    return run;
}

static void the_best_by_a_task_metric_passes_whatever_the_loss(void **state)
{
    static const double RISING[] = {0.1, 0.2, 0.25, 0.27, 0.3, 0.31, 0.33, 0.34, 0.35};
    (void)state;
    struct fake_run *run = run_with_metric(RISING, N(RISING));
    expect(run, &check_last_not_best, VERDICT_PASS);
    fake_run_free(run);
}

static void a_better_task_metric_before_the_end_needs_the_items(void **state)
{
    static const double PEAK[] = {0.1, 0.2, 0.35, 0.34, 0.3, 0.31, 0.33, 0.31, 0.3};
    (void)state;
    struct fake_run *run = run_with_metric(PEAK, N(PEAK));
    expect(run, &check_last_not_best, VERDICT_UNKNOWN);
    assert_non_null(strstr(result.missing[0], "step 300"));
    fake_run_free(run);
    run = run_with_metric(PEAK, N(PEAK));
    fake_setting(run, "load_best_model_at_end", "true");
    fake_decided(run)->has_end_marker = true;
    expect(run, &check_last_not_best, VERDICT_PASS);
    fake_run_free(run);
    run = run_with_metric(PEAK, 0);
    expect(run, &check_last_not_best, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void the_worst_of_several_evaluation_sets_counts_for_what_was_kept(void **state)
{
    (void)state;
    struct fake_run *run = run_with_evals(WOBBLE, N(WOBBLE));
    int64_t step[16];
    for (size_t i = 0; i < N(SECOND_EPOCH); i++)
        step[i] = 100 * (int64_t)(i + 1);
    fake_curve_at(run, "eval_other_loss", step, SECOND_EPOCH, N(SECOND_EPOCH));
    expect(run, &check_last_not_best, VERDICT_FAIL);
    assert_non_null(strstr(result.finding, "eval_other_loss"));
    fake_run_free(run);
}

static void early_stopping_that_found_no_metric_warns(void **state)
{
    (void)state;
    struct fake_run *run = run_with_evals(WOBBLE, N(WOBBLE));
    fake_event(run, "last-not-best", "early-stopping-no-metric", 100,
               "early stopping required metric_for_best_model, but did not find eval_f1");
    expect(run, &check_last_not_best, VERDICT_WARN);
    fake_run_free(run);
}

/* ---- hyperparams-range ---- */

static struct fake_run *run_with_settings(enum run_kind kind, const char *rate, const char *epochs)
{
    struct fake_run *run = fake_run_new(kind);
    fake_setting(run, "learning_rate", rate);
    fake_setting(run, "num_train_epochs", epochs);
    fake_setting(run, "finetuning_type", "lora");
    fake_setting(run, "lora_r", "16");
    fake_setting(run, "lora_alpha", "32");
    return run;
}

static void usual_values_pass(void **state)
{
    (void)state;
    struct fake_run *run = run_with_settings(KIND_SFT, "0.0002", "3");
    expect(run, &check_hyperparams_range, VERDICT_PASS);
    fake_run_free(run);
}

static void a_rate_above_its_range_warns_and_one_below_is_a_note(void **state)
{
    (void)state;
    struct fake_run *run = run_with_settings(KIND_SFT, "0.003", "3");
    expect(run, &check_hyperparams_range, VERDICT_WARN);
    assert_string_equal(result.branch, "rate");
    assert_int_equal(result.confidence, CONFIDENCE_POSSIBLE);
    fake_run_free(run);
    run = run_with_settings(KIND_SFT, "1e-5", "3");
    expect(run, &check_hyperparams_range, VERDICT_PASS);
    assert_true(judged_informs(&result, "learning rate"));
    fake_run_free(run);
}

static void only_the_first_knob_is_proposed_and_the_others_are_listed(void **state)
{
    (void)state;
    struct fake_run *run = run_with_settings(KIND_SFT, "0.003", "10");
    fake_dataset(run, "train", "messages", 5000);
    expect(run, &check_hyperparams_range, VERDICT_WARN);
    assert_string_equal(result.branch, "epochs");
    assert_int_equal(result.n_fixes, 1);
    assert_true(judged_informs(&result, "learning rate"));
    fake_run_free(run);
}

static void many_epochs_over_few_rows_are_a_note(void **state)
{
    (void)state;
    struct fake_run *run = run_with_settings(KIND_SFT, "0.0002", "10");
    fake_dataset(run, "train", "messages", 200);
    expect(run, &check_hyperparams_range, VERDICT_PASS);
    fake_run_free(run);
}

static void many_epochs_of_a_long_epoch_warn_without_the_rows(void **state)
{
    (void)state;
    struct fake_run *run = run_with_settings(KIND_SFT, "0.0002", "10");
    fake_setting(run, "per_device_train_batch_size", "4");
    fake_setting(run, "gradient_accumulation_steps", "4");
    fake_decided(run)->last_step = 1000;
    fake_decided(run)->last_epoch = 10.0;
    expect(run, &check_hyperparams_range, VERDICT_WARN);
    assert_string_equal(result.branch, "epochs");
    fake_run_free(run);
    run = run_with_settings(KIND_SFT, "0.0002", "10");
    fake_setting(run, "per_device_train_batch_size", "4");
    fake_decided(run)->last_step = 1000;
    fake_decided(run)->last_epoch = 10.0;
    expect(run, &check_hyperparams_range, VERDICT_PASS);
    fake_run_free(run);
}

static void a_run_that_stopped_is_judged_by_the_epochs_it_was_meant_to_have(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_DPO);
    fake_setting(run, "learning_rate", "1e-6");
    fake_setting(run, "max_steps", "5000");
    fake_decided(run)->last_step = 200;
    fake_decided(run)->last_epoch = 0.32;
    expect(run, &check_hyperparams_range, VERDICT_WARN);
    assert_non_null(strstr(result.finding, "8 epochs"));
    fake_run_free(run);
}

static void a_run_that_stopped_itself_is_judged_by_the_epochs_it_had(void **state)
{
    (void)state;
    struct fake_run *run = run_with_settings(KIND_SFT, "2e-4", "15");
    fake_dataset(run, "train", "messages", 5000);
    fake_decided(run)->has_end_marker = true;
    fake_decided(run)->last_epoch = 0.75;
    expect(run, &check_hyperparams_range, VERDICT_PASS);
    fake_run_free(run);
    run = run_with_settings(KIND_SFT, "2e-4", "15");
    fake_dataset(run, "train", "messages", 5000);
    fake_decided(run)->has_end_marker = true;
    fake_decided(run)->last_epoch = 15.0;
    expect(run, &check_hyperparams_range, VERDICT_WARN);
    fake_run_free(run);
}

static void the_rows_that_the_trainer_counted_are_known(void **state)
{
    const int64_t step[] = {10000};
    const double seconds[] = {38738.2786}, per_second[] = {4.13};
    (void)state;
    struct fake_run *run = run_with_settings(KIND_SFT, "2e-4", "25");
    fake_curve_at(run, "train_runtime", step, seconds, 1);
    fake_curve_at(run, "train_samples_per_second", step, per_second, 1);
    fake_decided(run)->has_end_marker = true;
    fake_decided(run)->last_epoch = 24.29;
    fake_decided(run)->last_step = fake_decided(run)->max_steps = 10000;
    expect(run, &check_hyperparams_range, VERDICT_WARN);
    assert_string_equal(result.branch, "epochs");
    assert_non_null(strstr(result.finding, "6586 rows"));
    fake_run_free(run);
}

static void the_steps_that_override_the_epochs_are_shown(void **state)
{
    (void)state;
    struct fake_run *run = run_with_settings(KIND_DPO, "5e-6", "1");
    fake_setting(run, "max_steps", "1000");
    fake_decided(run)->last_epoch = 62.5;
    fake_decided(run)->last_step = 1000;
    expect(run, &check_hyperparams_range, VERDICT_WARN);
    assert_non_null(strstr(result.evidence[0].text, "max_steps"));
    fake_run_free(run);
}

static void rates_of_other_optimisers_than_adam_are_a_note(void **state)
{
    (void)state;
    struct fake_run *run = run_with_settings(KIND_SFT, "0.3", "2");
    fake_setting(run, "optim", "sgd");
    expect(run, &check_hyperparams_range, VERDICT_PASS);
    assert_true(judged_informs(&result, "learning rate 0.3"));
    fake_run_free(run);
    run = run_with_settings(KIND_SFT, "0.3", "2");
    fake_setting(run, "optim", "paged_adamw_8bit");
    expect(run, &check_hyperparams_range, VERDICT_WARN);
    fake_run_free(run);
}

static void preference_epochs_and_rates_have_their_own_range(void **state)
{
    (void)state;
    struct fake_run *run = run_with_settings(KIND_DPO, "5e-6", "1");
    expect(run, &check_hyperparams_range, VERDICT_PASS);
    fake_run_free(run);
    run = run_with_settings(KIND_DPO, "0.0002", "1");
    expect(run, &check_hyperparams_range, VERDICT_WARN);
    assert_string_equal(result.branch, "rate");
    fake_run_free(run);
    run = run_with_settings(KIND_DPO, "5e-6", "4");
    expect(run, &check_hyperparams_range, VERDICT_WARN);
    assert_string_equal(result.branch, "epochs");
    fake_run_free(run);
}

static void a_tiny_rank_and_a_steep_alpha_warn(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    fake_setting(run, "learning_rate", "0.0001");
    fake_setting(run, "num_train_epochs", "2");
    fake_setting(run, "finetuning_type", "lora");
    fake_setting(run, "lora_r", "2");
    fake_setting(run, "lora_alpha", "32");
    expect(run, &check_hyperparams_range, VERDICT_WARN);
    assert_string_equal(result.branch, "rank");
    assert_true(judged_informs(&result, "lora_alpha"));
    fake_run_free(run);
}

static void without_arguments_nothing_is_in_range(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    fake_line(run, "loss", 2.0, 1.0, 50);
    expect(run, &check_hyperparams_range, VERDICT_UNKNOWN);
    assert_true(result.n_missing >= 2);
    fake_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clear_rise_after_the_best_fails),
        cmocka_unit_test(a_mild_rise_warns),
        cmocka_unit_test(wobble_is_level),
        cmocka_unit_test(a_small_evaluation_set_only_warns),
        cmocka_unit_test(a_rise_with_a_rising_training_loss_is_no_overfitting),
        cmocka_unit_test(the_worst_of_several_evaluation_sets_is_reported),
        cmocka_unit_test(the_reloaded_best_model_is_no_point_of_the_curve),
        cmocka_unit_test(without_evaluation_it_is_not_known),
        cmocka_unit_test(two_evaluations_are_not_enough_to_pass),
        cmocka_unit_test(reinforcement_runs_and_ten_row_tests_are_not_asked),
        cmocka_unit_test(the_last_checkpoint_far_above_the_best_fails),
        cmocka_unit_test(a_best_checkpoint_that_was_overwritten_is_gone),
        cmocka_unit_test(checkpoints_of_other_names_are_told_with_the_one_to_keep),
        cmocka_unit_test(one_imported_folder_says_nothing_about_the_others),
        cmocka_unit_test(a_save_limit_tells_that_the_best_was_deleted),
        cmocka_unit_test(the_best_model_loaded_at_the_end_passes),
        cmocka_unit_test(a_deployed_step_beside_the_best_is_named),
        cmocka_unit_test(the_deployed_best_passes),
        cmocka_unit_test(the_best_by_a_task_metric_passes_whatever_the_loss),
        cmocka_unit_test(a_better_task_metric_before_the_end_needs_the_items),
        cmocka_unit_test(the_worst_of_several_evaluation_sets_counts_for_what_was_kept),
        cmocka_unit_test(early_stopping_that_found_no_metric_warns),
        cmocka_unit_test(usual_values_pass),
        cmocka_unit_test(a_rate_above_its_range_warns_and_one_below_is_a_note),
        cmocka_unit_test(only_the_first_knob_is_proposed_and_the_others_are_listed),
        cmocka_unit_test(many_epochs_over_few_rows_are_a_note),
        cmocka_unit_test(many_epochs_of_a_long_epoch_warn_without_the_rows),
        cmocka_unit_test(a_run_that_stopped_is_judged_by_the_epochs_it_was_meant_to_have),
        cmocka_unit_test(a_run_that_stopped_itself_is_judged_by_the_epochs_it_had),
        cmocka_unit_test(the_rows_that_the_trainer_counted_are_known),
        cmocka_unit_test(the_steps_that_override_the_epochs_are_shown),
        cmocka_unit_test(rates_of_other_optimisers_than_adam_are_a_note),
        cmocka_unit_test(preference_epochs_and_rates_have_their_own_range),
        cmocka_unit_test(a_tiny_rank_and_a_steep_alpha_warn),
        cmocka_unit_test(without_arguments_nothing_is_in_range),
    };
    return cmocka_run_group_tests_name("checks_stage7", tests, NULL, NULL);
}
