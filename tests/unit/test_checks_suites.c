/* Stages 4 and 5: suites that fell, what it was paid for, rows in blocks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/checks/registry.h"
#include "tests/harness/judged.h"

static struct check_result result;

static struct fake_run *with_suites(int64_t retention, int64_t task)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    fake_suite(run, "base", "retention", 400, 500);
    fake_suite(run, "run", "retention", retention, 500);
    fake_suite(run, "base", "tickets", 90, 300);
    fake_suite(run, "run", "tickets", task, 300);
    return run;
}

static void a_suite_that_fell_beyond_its_interval_fails(void **state)
{
    struct fake_run *run = with_suites(340, 200);

    (void)state;
    judged_expect(run, &check_general_regression, VERDICT_FAIL, &result);
    assert_non_null(judged_with_text(&result, "base 400 of 500"));
    judged_expect(run, &check_catastrophic_forgetting, VERDICT_FAIL, &result);
    assert_string_equal(result.branch, "suite-only"); /* nothing is known of the training */
    fake_run_free(run);
}

static void a_small_fall_passes_and_says_what_could_have_been_seen(void **state)
{
    struct fake_run *run = with_suites(396, 200);

    (void)state;
    judged_expect(run, &check_general_regression, VERDICT_PASS, &result);
    assert_non_null(strstr(result.finding, "5.6 points"));
    judged_expect(run, &check_catastrophic_forgetting, VERDICT_PASS, &result);
    fake_run_free(run);
}

static void a_risky_training_leads_without_a_gain(void **state)
{
    struct fake_run *run = with_suites(340, 92);

    (void)state;
    fake_setting(run, "finetuning_type", "full");
    fake_setting(run, "learning_rate", "0.00005");
    fake_setting(run, "num_train_epochs", "2");
    judged_expect(run, &check_catastrophic_forgetting, VERDICT_FAIL, &result);
    assert_string_equal(result.branch, "");
    assert_non_null(strstr(result.finding, "full fine-tune"));
    fake_run_free(run);
}

static void a_careful_training_without_a_gain_did_not_pay_with_it(void **state)
{
    struct fake_run *run = with_suites(340, 92);

    (void)state;
    fake_setting(run, "finetuning_type", "lora");
    fake_setting(run, "learning_rate", "0.0001");
    fake_setting(run, "num_train_epochs", "2");
    judged_expect(run, &check_catastrophic_forgetting, VERDICT_PASS, &result);
    judged_expect(run, &check_general_regression, VERDICT_FAIL, &result);
    fake_run_free(run);
}

static void of_many_suites_one_that_fell_by_chance_is_no_fall(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    char name[32];

    (void)state;
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "mmlu_%d", i);
        fake_suite(run, "base", name, 160, 200);
        fake_suite(run, "run", name, i == 4 ? 143 : 160, 200); /* p about 0.04 alone */
    }
    judged_expect(run, &check_general_regression, VERDICT_WARN, &result);
    fake_run_free(run);
}

static void the_same_items_decide_what_counts_alone_cannot(void **state)
{
    struct eval_item base[60], tuned[60];
    char names[60][8];
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    for (size_t i = 0; i < 60; i++) {
        snprintf(names[i], sizeof names[i], "q%02zu", i);
        base[i] = (struct eval_item){.item = names[i], .score = i < 45};
        tuned[i] = (struct eval_item){.item = names[i], .score = i < 45 && i >= 8};
    }
    fake_suite(run, "base", "general", 0, 0);
    fake_items(run, base, 60);
    fake_suite(run, "run", "general", 0, 0);
    fake_items(run, tuned, 60);
    judged_expect(run, &check_general_regression, VERDICT_FAIL, &result);
    assert_non_null(judged_with_text(&result, "8 items lost, 0 gained"));
    fake_run_free(run);
}

static void without_a_general_suite_it_is_not_known(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_suite(run, "base", "tickets", 90, 300);
    fake_suite(run, "run", "tickets", 200, 300);
    judged_expect(run, &check_general_regression, VERDICT_UNKNOWN, &result);
    judged_expect(run, &check_catastrophic_forgetting, VERDICT_UNKNOWN, &result);
    fake_run_free(run);
}

static void the_user_may_call_a_suite_general(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_answer(run, "suite:poems", "general");
    fake_suite(run, "base", "poems", 250, 300);
    fake_suite(run, "run", "poems", 180, 300);
    judged_expect(run, &check_general_regression, VERDICT_FAIL, &result);
    fake_run_free(run);
}

static void the_items_of_two_checkpoints_decide_by_a_task_metric(void **state)
{
    const int64_t steps[] = {100, 200, 300};
    const double metric[] = {0.5, 0.8, 0.6};
    struct eval_item best[40], kept[40];
    char names[40][8];
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    for (size_t i = 0; i < 40; i++) {
        snprintf(names[i], sizeof names[i], "q%02zu", i);
        best[i] = (struct eval_item){.item = names[i], .score = i < 32};
        kept[i] = (struct eval_item){.item = names[i], .score = i < 20};
    }
    fake_curve_at(run, "eval_accuracy", steps, metric, 3);
    fake_setting(run, "metric_for_best_model", "accuracy");
    fake_suite(run, "run", "tickets", 0, 0);
    fake_items(run, best, 40);
    fake_step(run, 200);
    fake_suite(run, "run", "tickets", 0, 0);
    fake_items(run, kept, 40);
    fake_step(run, 300);
    judged_expect(run, &check_last_not_best, VERDICT_FAIL, &result);
    assert_non_null(judged_with_text(&result, "12 items lost"));
    fake_run_free(run);
}

/* ---- dataset-unshuffled ---- */

#define BLOCKS "{\"rows\":120,\"runs\":3,\"counts\":[40,40,40],\"edges\":[0,40,80]}"
#define MIXED  "{\"rows\":120,\"runs\":78,\"counts\":[40,40,40]}"

static struct fake_run *with_rows(const char *column, const char *blocks)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    fake_dataset(run, "train", "text", 120);
    fake_setting(run, column, blocks);
    return run;
}

/* The rows are named by their raw name, which a fake setting shares with its canonical one; the data set
 * has to be of the same source. */
static void rows_in_blocks_and_a_sequential_sampler_fail(void **state)
{
    struct fake_run *run = with_rows("rows.blocks.label", BLOCKS);

    (void)state;
    fake_setting(run, "train_sampling_strategy", "sequential");
    judged_expect(run, &check_dataset_unshuffled, VERDICT_FAIL, &result);
    fake_run_free(run);
}

static void rows_in_blocks_drawn_at_random_pass(void **state)
{
    struct fake_run *run = with_rows("rows.blocks.label", BLOCKS);

    (void)state;
    fake_setting(run, "num_train_epochs", "2");
    judged_expect(run, &check_dataset_unshuffled, VERDICT_PASS, &result);
    fake_run_free(run);
}

static void mixed_rows_pass_whatever_the_sampler(void **state)
{
    struct fake_run *run = with_rows("rows.blocks.label", MIXED);

    (void)state;
    fake_setting(run, "train_sampling_strategy", "sequential");
    judged_expect(run, &check_dataset_unshuffled, VERDICT_PASS, &result);
    fake_run_free(run);
}

static void blocks_under_an_unknown_sampler_warn(void **state)
{
    struct fake_run *run = with_rows("rows.blocks.source", BLOCKS);

    (void)state;
    judged_expect(run, &check_dataset_unshuffled, VERDICT_WARN, &result);
    fake_run_free(run);
}

static void a_loss_that_rises_at_the_edges_is_seen_through_any_sampler(void **state)
{
    struct fake_run *run = with_rows("rows.blocks.label", BLOCKS);
    double loss[60];

    (void)state;
    for (size_t i = 0; i < 60; i++) /* 30 steps an epoch, an edge each 10 */
        loss[i] = 2.0 - 0.18 * (double)(i % 10);
    fake_curve(run, "loss", loss, 60);
    fake_decided(run)->last_epoch = 2.0;
    fake_setting(run, "num_train_epochs", "2");
    judged_expect(run, &check_dataset_unshuffled, VERDICT_WARN, &result);
    assert_non_null(strstr(result.finding, "edges"));
    fake_run_free(run);
}

static void damaged_counts_are_no_blocks(void **state)
{
    struct fake_run *run = with_rows("rows.blocks.label", "{\"rows\":");

    (void)state;
    judged_expect(run, &check_dataset_unshuffled, VERDICT_UNKNOWN, &result);
    fake_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_suite_that_fell_beyond_its_interval_fails),
        cmocka_unit_test(a_small_fall_passes_and_says_what_could_have_been_seen),
        cmocka_unit_test(a_risky_training_leads_without_a_gain),
        cmocka_unit_test(a_careful_training_without_a_gain_did_not_pay_with_it),
        cmocka_unit_test(of_many_suites_one_that_fell_by_chance_is_no_fall),
        cmocka_unit_test(the_same_items_decide_what_counts_alone_cannot),
        cmocka_unit_test(without_a_general_suite_it_is_not_known),
        cmocka_unit_test(the_user_may_call_a_suite_general),
        cmocka_unit_test(the_items_of_two_checkpoints_decide_by_a_task_metric),
        cmocka_unit_test(rows_in_blocks_and_a_sequential_sampler_fail),
        cmocka_unit_test(rows_in_blocks_drawn_at_random_pass),
        cmocka_unit_test(mixed_rows_pass_whatever_the_sampler),
        cmocka_unit_test(blocks_under_an_unknown_sampler_warn),
        cmocka_unit_test(a_loss_that_rises_at_the_edges_is_seen_through_any_sampler),
        cmocka_unit_test(damaged_counts_are_no_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
