/* Suites of the base and of candidates side by side: which result is put beside which, runs with several
 * seeds, repeats of items, scores in two units, results that are missing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/facts/eval_suites.h"
#include "tests/harness/fake_run.h"

enum { N = 40 };

static struct fake_run *run;
static struct eval_pair *pairs;
static size_t n_pairs;

static int set_up(void **state)
{
    (void)state;
    run = fake_run_new(KIND_SFT);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_run_free(run);
    return 0;
}

static void read_pairs(void)
{
    assert_true(eval_pairs_read(fake_facts(run), fake_arena(run), &pairs, &n_pairs));
}

static void add(const char *model, const char *suite, int right, const char *frozen)
{
    fake_suite(run, model, suite, right, N);
    fake_last_suite(run)->frozen = frozen;
}

/* Items q00 …, the first `right` of them with `score`, the others 0. */
static void add_items(const char *model, const char *suite, int first, int n, int right, double score)
{
    static char names[N][8];
    struct eval_item items[N] = {{0}};

    for (int i = 0; i < n; i++) {
        snprintf(names[first + i], sizeof names[0], "q%02d", first + i);
        items[i] = (struct eval_item){.item = names[first + i], .score = i < right ? score : 0.0};
    }
    fake_suite(run, model, suite, 0, 0);
    fake_items(run, items, (size_t)n);
}

static void the_base_decoded_the_same_way_is_taken(void **state)
{
    (void)state;
    add("base", "t", 10, "metric=acc shots=5");
    add("base", "t", 20, "metric=acc shots=0");
    add("ft", "t", 25, "metric=acc shots=0");
    read_pairs();
    assert_int_equal(n_pairs, 1);
    assert_true(pairs[0].base->n_correct == 20.0);
    assert_null(pairs[0].why_not);
}

static void what_differs_in_the_decoding_is_named(void **state)
{
    (void)state;
    add("base", "t", 10, "metric=acc filter=strict shots=5");
    add("ft", "t", 25, "metric=acc filter=flexible shots=5");
    add("base", "u", 10, "metric=acc");
    add("ft", "u", 25, "metric=acc shots=5 temperature=0");
    add("base", "v", 10, "metric=acc top_p=0.9");
    add("ft", "v", 25, "metric=acc");
    read_pairs();
    assert_int_equal(n_pairs, 3);
    assert_non_null(strstr(pairs[0].why_not, "filter=strict and filter=flexible"));
    assert_null(pairs[1].why_not); /* one file alone cannot state it */
    assert_non_null(strstr(pairs[2].why_not, "top_p is stated of one alone"));
}

static void runs_with_other_seeds_are_one_result(void **state)
{
    (void)state;
    add("base", "t", 20, "temperature=0.7 seed=1");
    add("base", "t", 22, "temperature=0.7 seed=2");
    add("ft", "t", 20, "temperature=0.7 seed=1");
    add("ft", "t", 28, "temperature=0.7 seed=2");
    add("ft", "t", 24, "temperature=0.7 seed=3");
    read_pairs();
    assert_int_equal(n_pairs, 1);
    assert_int_equal(pairs[0].base_runs.n, 2);
    assert_int_equal(pairs[0].candidate_runs.n, 3);
    assert_true(fabs(pairs[0].p_candidate - 0.6) < 1e-12);
    assert_true(fabs(pairs[0].candidate_runs.sd - 0.1) < 1e-12);
    assert_true(pairs[0].candidate_runs.high == 0.7);
    assert_true(pairs[0].temperature == 0.7);
}

static void each_item_has_its_mean_over_the_seeds(void **state)
{
    (void)state;
    add_items("base", "t", 0, N, 10, 1.0);
    add_items("ft", "t", 0, N, 20, 1.0);
    fake_last_suite(run)->frozen = "temperature=1 seed=1";
    add_items("ft", "t", 0, N, 10, 1.0);
    fake_last_suite(run)->frozen = "temperature=1 seed=2";
    read_pairs();
    assert_int_equal(n_pairs, 1);
    assert_true(pairs[0].is_paired);
    assert_false(pairs[0].is_binary);
    assert_true(fabs(pairs[0].d - 5.0 / N) < 1e-12);
}

static void another_filter_of_a_task_is_no_second_claim(void **state)
{
    (void)state;
    add("base", "gsm8k", 10, NULL);
    add("base", "gsm8k (flexible-extract)", 12, NULL);
    add("ft", "gsm8k", 20, NULL);
    add("ft", "gsm8k (flexible-extract)", 21, NULL);
    add("base", "essays (long)", 10, NULL);
    add("ft", "essays (long)", 11, NULL);
    read_pairs();
    assert_int_equal(n_pairs, 3);
    assert_false(pairs[0].is_variant);
    assert_true(pairs[1].is_variant);
    assert_false(pairs[2].is_variant); /* there is no suite "essays" */
}

static void per_cent_on_one_side_is_not_compared_with_shares(void **state)
{
    (void)state;
    add_items("base", "t", 0, N, 20, 0.5);
    fake_last_suite(run)->metric = "score";
    add_items("ft", "t", 0, N, 20, 70.0);
    fake_last_suite(run)->metric = "score";
    add_items("base", "u", 0, N, 20, 50.0);
    fake_last_suite(run)->metric = "score";
    add_items("ft", "u", 0, N, 20, 70.0);
    fake_last_suite(run)->metric = "score";
    add_items("ft", "v", 0, N, 20, 7000.0);
    fake_last_suite(run)->metric = "score";
    add_items("base", "v", 0, N, 20, 7000.0);
    fake_last_suite(run)->metric = "score";
    read_pairs();
    assert_int_equal(n_pairs, 3);
    assert_non_null(strstr(pairs[0].why_not, "per cent"));
    assert_null(pairs[1].why_not);
    assert_true(fabs(pairs[1].d - 0.1) < 1e-12); /* ten points */
    assert_non_null(strstr(pairs[2].why_not, "above 100"));
}

static void repeats_of_an_item_are_one_group(void **state)
{
    struct eval_item base[N] = {{0}}, tuned[N] = {{0}};
    char names[N][8];

    (void)state;
    for (size_t i = 0; i < N; i++) { /* four items, ten times each */
        snprintf(names[i], sizeof names[i], i < 4 ? "q%zu" : "q%zu#%zu", i % 4, i / 4 + 1);
        base[i] = (struct eval_item){.item = names[i], .score = 0.0, .cluster = i < 4 ? NULL : names[i % 4]};
        tuned[i] = base[i];
        tuned[i].score = i % 4 < 3 ? 1.0 : 0.0;
    }
    fake_suite(run, "base", "t", 0, 0);
    fake_items(run, base, N);
    fake_suite(run, "ft", "t", 0, 0);
    fake_items(run, tuned, N);
    read_pairs();
    assert_int_equal(pairs[0].n_groups, 4);
    assert_true(fabs(pairs[0].p - 0.25) < 1e-9); /* three of four went up: by their signs */
}

/* Twenty groups of twenty items that are all right or all wrong, other ones on each side. */
static void samples_whose_items_go_together_tell_as_much_as_their_groups(void **state)
{
    static struct eval_item items[400];
    static char names[2][400][16], groups[20][16];

    (void)state;
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < 400; i++) {
            snprintf(names[side][i], sizeof names[side][i], "%d-%03d", side, i);
            snprintf(groups[i / 20], sizeof groups[0], "g%02d", i / 20);
            items[i] = (struct eval_item){.item = names[side][i],
                                          .cluster = groups[i / 20],
                                          .score = i / 20 < (side ? 14 : 10) ? 1.0 : 0.0};
        }
        fake_suite(run, side ? "ft" : "base", "t", 0, 0);
        fake_items(run, items, 400);
    }
    read_pairs();
    assert_int_equal(n_pairs, 1);
    assert_false(pairs[0].is_paired);
    assert_true(fabs(pairs[0].n_alone - 19.0) < 1e-9);
    struct interval of_groups = newcombe_of_shares(0.5, 19.0, 0.7, 19.0);
    assert_true(fabs(pairs[0].interval.low - of_groups.low) < 1e-9);
    assert_true(pairs[0].interval.low < 0.0 && pairs[0].p > 0.05);
}

static void items_of_one_group_alone_tell_nothing(void **state)
{
    struct eval_item items[4] = {{0}};
    static const char *const NAMES[] = {"a", "b", "c", "d"};

    (void)state;
    for (size_t i = 0; i < 4; i++)
        items[i] = (struct eval_item){.item = NAMES[i], .cluster = "one"};
    fake_suite(run, "base", "t", 0, 0);
    fake_items(run, items, 4);
    for (size_t i = 0; i < 4; i++)
        items[i].score = 1.0;
    fake_suite(run, "ft", "t", 0, 0);
    fake_items(run, items, 4);
    read_pairs();
    assert_string_equal(pairs[0].why_not, "all items are of one group");
}

static void three_equal_gains_are_no_certainty(void **state)
{
    (void)state;
    add_items("base", "t", 0, 3, 0, 0.5);
    fake_last_suite(run)->metric = "score";
    add_items("ft", "t", 0, 3, 3, 0.5);
    fake_last_suite(run)->metric = "score";
    read_pairs();
    assert_true(fabs(pairs[0].p - 0.25) < 1e-9); /* their spread is 0, their number is 3 */
}

static void items_without_a_result_are_left_out_and_counted(void **state)
{
    struct eval_item items[N] = {{0}};
    char names[N][8];

    (void)state;
    add_items("base", "t", 0, N, 10, 1.0);
    for (size_t i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "q%02zu", i);
        items[i] = (struct eval_item){.item = names[i], .score = i < 5 ? NAN : 1.0};
    }
    fake_suite(run, "ft", "t", 0, 0);
    fake_items(run, items, N);
    read_pairs();
    assert_int_equal(pairs[0].n_candidate, N - 5);
    assert_int_equal(eval_missing(pairs[0].candidate), 5);
    assert_int_equal(eval_missing(pairs[0].base), 0);
}

static void items_that_only_one_side_has_are_left_out(void **state)
{
    (void)state;
    add_items("base", "t", 0, 30, 15, 1.0);
    add_items("ft", "t", 10, 30, 15, 1.0);
    add_items("base", "u", 0, 20, 10, 1.0);
    add_items("ft", "u", 15, 20, 10, 1.0);
    read_pairs();
    assert_true(pairs[0].is_paired);
    assert_int_equal(pairs[0].n_base, 20);
    assert_false(pairs[1].is_paired); /* 5 of 20 */
    assert_int_equal(pairs[1].n_base, 20);
}

static void counts_that_cannot_be_are_left_out(void **state)
{
    (void)state;
    fake_suite(run, "base", "t", 50, 40);
    fake_suite(run, "ft", "t", 20, 40);
    fake_suite(run, "base", "u", 10, -3);
    fake_suite(run, "ft", "u", 20, 40);
    fake_suite(run, "base", "v", 0, 0);
    fake_suite(run, "ft", "v", 20, 40);
    read_pairs();
    assert_int_equal(n_pairs, 0);
}

static void a_checkpoint_is_the_model_it_is_of(void **state)
{
    (void)state;
    assert_true(eval_same_model("out/desk/checkpoint-200", "out/desk/checkpoint-400"));
    assert_true(eval_same_model("acme/desk@checkpoint-200", "acme/desk"));
    assert_false(eval_same_model("out/desk/checkpoint-200", "out/other/checkpoint-200"));
    assert_false(eval_same_model("checkpoint-200", "checkpoint-400"));
}

static void a_pinned_revision_of_the_base_is_the_base(void **state)
{
    (void)state;
    fake_setting(run, "model_name_or_path", "acme/base-1b");
    assert_true(eval_model_is_base(fake_facts(run), "acme/base-1b@3f2a"));
    assert_true(eval_model_is_base(fake_facts(run), "hf/acme/base-1b"));
    assert_false(eval_model_is_base(fake_facts(run), "acme/base-1b-desk@3f2a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_base_decoded_the_same_way_is_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_differs_in_the_decoding_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_with_other_seeds_are_one_result, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_item_has_its_mean_over_the_seeds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_filter_of_a_task_is_no_second_claim, set_up, tear_down),
        cmocka_unit_test_setup_teardown(per_cent_on_one_side_is_not_compared_with_shares, set_up, tear_down),
        cmocka_unit_test_setup_teardown(repeats_of_an_item_are_one_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(samples_whose_items_go_together_tell_as_much_as_their_groups, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(items_of_one_group_alone_tell_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(three_equal_gains_are_no_certainty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(items_without_a_result_are_left_out_and_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(items_that_only_one_side_has_are_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(counts_that_cannot_be_are_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_checkpoint_is_the_model_it_is_of, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pinned_revision_of_the_base_is_the_base, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
