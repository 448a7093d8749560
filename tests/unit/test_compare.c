/* Two runs side by side: settings, data, where curves part; the checkpoints beside the best. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "core/base/random.h"
#include "core/checks/registry.h"
#include "core/facts/checkpoint_set.h"
#include "core/facts/compare.h"
#include "core/facts/config_history.h"
#include "core/facts/facts_cache.h"
#include "core/facts/run_time.h"
#include "tests/harness/judged.h"

struct pair {
    struct fake_run *a, *b;
    struct arena *arena;
};

static int set_up(void **state)
{
    static struct pair pair;

    pair = (struct pair){fake_run_new(KIND_SFT), fake_run_new(KIND_SFT), arena_open(64u << 20)};
    *state = &pair;
    return pair.arena ? 0 : -1;
}

static int tear_down(void **state)
{
    struct pair *pair = *state;

    fake_run_free(pair->a);
    fake_run_free(pair->b);
    arena_close(pair->arena);
    return 0;
}

static const struct compared_setting *settings_of(struct pair *pair, size_t *n)
{
    const struct compared_setting *list = NULL;

    assert_true(compare_settings(fake_facts(pair->a), fake_facts(pair->b), pair->arena, &list, n));
    return list;
}

static void both(struct pair *pair, const char *name, const char *a, const char *b)
{
    if (a)
        fake_setting(pair->a, name, a);
    if (b)
        fake_setting(pair->b, name, b);
}

static void the_same_value_written_otherwise_is_no_difference(void **state)
{
    struct pair *pair = *state;
    size_t n;

    both(pair, "learning_rate", "1e-4", "0.0001");
    both(pair, "target_modules", "[\"q_proj\",\"v_proj\"]", "[\"v_proj\",\"q_proj\"]");
    both(pair, "bf16", "true", "True");
    (void)settings_of(pair, &n);
    assert_int_equal(n, 0);
}

/* Of 300 names the last differs; of the others the brackets or the order are what they say. */
static void lists_that_differ_are_told_whatever_their_size(void **state)
{
    struct pair *pair = *state;
    struct buf a, b;
    size_t n;

    buf_init(&a, 1 << 16);
    for (int i = 0; i < 300; i++)
        buf_printf(&a, "%s\"z%d\"", i ? "," : "[", i);
    buf_init(&b, 1 << 16);
    buf_printf(&b, "%s,\"other\"]", a.p);
    buf_puts(&a, ",\"zz\"]");
    both(pair, "target_modules", a.p, b.p);
    both(pair, "betas", "[0.9, 0.999]", "[0.999, 0.9]");
    both(pair, "blocks", "[[1, 2], [3]]", "[[1], [2, 3]]");
    both(pair, "datasets", "[{\"a\": \"b\"}, \"c\"]", "[{\"a\": \"c\"}, \"b\"]");
    (void)settings_of(pair, &n);
    assert_int_equal(n, 4);
    buf_free(&a);
    buf_free(&b);
}

static void what_differs_stands_by_knob_and_paths_stand_last(void **state)
{
    struct pair *pair = *state;
    size_t n;

    both(pair, "output_dir", "a", "b");
    both(pair, "learning_rate", "1e-4", "2e-4");
    both(pair, "num_train_epochs", "1", "3");
    both(pair, "seed", "1", "2");
    const struct compared_setting *list = settings_of(pair, &n);
    assert_int_equal(n, 4);
    assert_string_equal(list[0].name, "num_train_epochs");
    assert_int_equal(list[1].knob, KNOB_RATE);
    assert_int_equal(list[2].knob, KNOB_SEED);
    assert_true(list[3].is_incidental);
    assert_string_equal(list[1].a.text, "1e-4");
    assert_int_equal(list[1].b.setting->source_id, FAKE_LOG);
}

static void a_default_is_told_from_what_is_not_stated(void **state)
{
    struct pair *pair = *state;
    size_t n;

    fake_decided(pair->b)->run.framework = "transformers 5.2.0";
    both(pair, "num_train_epochs", "1", NULL);
    both(pair, "lora_r", "8", NULL);
    both(pair, "seed", "42", NULL);     /* the default: no difference */
    const struct compared_setting *list = settings_of(pair, &n);
    assert_int_equal(n, 2);
    assert_true(list[0].b.is_default && !list[0].is_one_sided);
    assert_string_equal(list[0].b.text, "3.0");
    assert_true(list[1].is_one_sided && !list[1].b.text);
}

static void data_is_compared_by_split(void **state)
{
    struct pair *pair = *state;
    const struct compared_data *list = NULL;
    size_t n;

    fake_dataset(pair->a, "train", "messages", 100);
    fake_dataset(pair->b, "train", "messages", 90);
    fake_dataset(pair->b, "eval", "messages", 10);
    assert_true(compare_data(fake_facts(pair->a), fake_facts(pair->b), pair->arena, &list, &n));
    assert_int_equal(n, 2);
    assert_string_equal(list[0].what, "train rows");
    assert_string_equal(list[0].b, "90");
    assert_string_equal(list[1].what, "eval files");
    assert_null(list[1].a);
}

/* A falling loss with noise of so many percent; from `shift_at` on it is `shift` higher (in ln). */
static void noisy(struct fake_run *run, uint64_t seed, size_t n, size_t shift_at, double shift)
{
    struct random random;
    double y[400];

    random_seed(&random, seed);
    for (size_t i = 0; i < n; i++) {
        double noise = 0.0;

        for (int k = 0; k < 12; k++)
            noise += random_unit(&random) - 0.5; /* variance 1 */
        y[i] = 2.0 * exp(-(double)i / 300.0 + 0.06 * noise + (i >= shift_at ? shift : 0.0));
    }
    fake_curve(run, "loss", y, n);
}

static struct compared_curve loss_of(struct pair *pair)
{
    struct compared_curve out;

    assert_true(compare_curve(facts_curve(fake_facts(pair->a), "loss"),
                              facts_curve(fake_facts(pair->b), "loss"), pair->arena, &out));
    return out;
}

static void noise_alone_is_no_parting(void **state)
{
    struct pair *pair = *state;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        (void)tear_down(state);
        (void)set_up(state);
        noisy(pair->a, seed, 300, 300, 0.0);
        noisy(pair->b, 1000 + seed, 300, 300, 0.0);
        assert_int_equal(loss_of(pair).answer, PARTING_WITHIN_NOISE);
    }
}

static void a_lasting_shift_is_found_where_it_begins(void **state)
{
    struct pair *pair = *state;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        (void)tear_down(state);
        (void)set_up(state);
        noisy(pair->a, seed, 300, 300, 0.0);
        noisy(pair->b, 1000 + seed, 300, 150, 0.25);
        struct compared_curve found = loss_of(pair);
        assert_int_equal(found.answer, PARTING_FOUND);
        assert_in_range(found.step, 135, 165);
        assert_false(found.from_start);
    }
}

static void twins_part_at_the_very_step(void **state)
{
    struct pair *pair = *state;
    double a[60], b[60];

    for (size_t i = 0; i < 60; i++) {
        a[i] = 2.0 - 0.01 * (double)i;
        b[i] = i < 40 ? a[i] : a[i] * 1.05;
    }
    fake_curve(pair->a, "loss", a, 60);
    fake_curve(pair->b, "loss", b, 60);
    struct compared_curve found = loss_of(pair);
    assert_int_equal(found.answer, PARTING_FOUND);
    assert_int_equal(found.step, 41);
}

static void equal_curves_and_few_steps_are_said(void **state)
{
    struct pair *pair = *state;
    const int64_t steps[] = {10, 20, 30}, others[] = {20, 25, 30};
    const double y[] = {3, 2, 1}, z[] = {2, 5, 1.5};

    fake_curve_at(pair->a, "loss", steps, y, 3);
    fake_curve_at(pair->b, "loss", others, z, 3);
    struct compared_curve found = loss_of(pair);
    assert_int_equal(found.n_common, 2);
    assert_int_equal(found.answer, PARTING_TOO_FEW);
    (void)tear_down(state);
    (void)set_up(state);
    fake_curve_at(pair->a, "loss", steps, y, 3);
    fake_curve_at(pair->b, "loss", steps, y, 3);
    assert_int_equal(loss_of(pair).answer, PARTING_EQUAL);
}

/* ---- Which came first ---- */

static void runs_are_ordered_by_their_files_then_by_their_names(void **state)
{
    struct pair *pair = *state;

    fake_decided(pair->a)->run.name = "sft-09";
    fake_decided(pair->b)->run.name = "sft-10";
    assert_int_equal(run_order(fake_facts(pair->a), fake_facts(pair->b)), -1);
    assert_int_equal(run_began(fake_facts(pair->a)), NONE);
    (void)tear_down(state);
    (void)set_up(state);
    fake_decided(pair->a)->run.name = "sft-09";
    fake_decided(pair->b)->run.name = "sft-10";
    fake_source(pair->a, "/r/events.out.tfevents.1796038421.node.35.0", "tensorboard");
    fake_setting(pair->b, "wandb.started_at", "2026-11-30T11:00:00.5Z");
    assert_int_equal(run_began(fake_facts(pair->a)), 1796038421);
    assert_int_equal(run_began(fake_facts(pair->b)), 1796036400);
    assert_int_equal(run_order(fake_facts(pair->a), fake_facts(pair->b)), 1);
}

/* ---- Knobs ---- */

static void usual(struct fake_run *run, const char *rank, const char *seed)
{
    fake_setting(run, "learning_rate", "1e-4");
    fake_setting(run, "num_train_epochs", "2");
    fake_setting(run, "per_device_train_batch_size", "8");
    fake_setting(run, "lora_r", rank);
    if (seed)
        fake_setting(run, "seed", seed);
}

static enum verdict knobs_of(struct pair *pair)
{
    struct check_result result;

    fake_check_among(pair->a, &pair->b, 1, &check_many_knobs, &result);
    return result.verdict;
}

static void one_knob_and_one_seed_pass(void **state)
{
    struct pair *pair = *state;

    usual(pair->a, "16", "42");
    usual(pair->b, "32", "42");
    assert_int_equal(knobs_of(pair), VERDICT_PASS);
}

static void another_seed_or_none_warns(void **state)
{
    struct pair *pair = *state;

    usual(pair->a, "16", "42");
    usual(pair->b, "32", "7");
    assert_int_equal(knobs_of(pair), VERDICT_WARN);
    (void)tear_down(state);
    (void)set_up(state);
    usual(pair->a, "16", NULL);
    usual(pair->b, "32", NULL);
    assert_int_equal(knobs_of(pair), VERDICT_WARN);
}

static void the_same_run_with_another_seed_is_no_fault(void **state)
{
    struct pair *pair = *state;
    struct check_result result;

    usual(pair->a, "16", "42");
    usual(pair->b, "16", "7");
    fake_check_among(pair->a, &pair->b, 1, &check_many_knobs, &result);
    assert_int_equal(result.verdict, VERDICT_PASS);
    assert_non_null(strstr(result.finding, "only the seed differs"));
}

/* The twin with another seed measures noise: it does not hide what a third run changed. */
static void a_twin_by_seed_hides_no_other_run(void **state)
{
    struct pair *pair = *state;
    struct fake_run *third = fake_run_new(KIND_SFT);
    struct fake_run *others[] = {pair->b, third};
    struct check_result result;

    usual(pair->a, "16", "42");
    usual(pair->b, "16", "7");
    usual(third, "64", "42");
    both(pair, "bf16", "false", NULL);
    fake_setting(third, "bf16", "true");
    fake_check_among(pair->a, others, 2, &check_many_knobs, &result);
    assert_int_equal(result.verdict, VERDICT_WARN);
    assert_non_null(strstr(result.finding, "2 groups"));
    fake_run_free(third);
}

/* ---- Hyperparameters and the commits of the configuration ---- */

static const struct config_change WARMER[] = {{"warmup_steps", "10", "200", 6}};
static const struct revision COMMITS[] = {
    {.commit = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", .subject = "warm up longer",
     .status = "modified", .blob = "b", .changes = WARMER, .n_changes = 1},
    {.commit = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", .subject = "first",
     .status = "added", .blob = "a"},
};

struct given {
    struct config_history history;
    const struct config_history *list[1];
};

static void give_history(struct given *given, struct fake_run *run, ptrdiff_t used_at)
{
    struct facts_cache *cache = fake_facts(run)->cache;

    given->history = (struct config_history){.id = 7, .revisions = COMMITS, .n_revisions = 2,
                                             .used_at = used_at};
    given->list[0] = &given->history;
    cache->histories = given->list;
    cache->n_histories = 1;
    cache->histories_known = true;
}

/* Nothing else tells which run came first, and neither states its warm-up. */
static void commits_tell_the_order_of_runs_and_what_they_changed(void **state)
{
    struct pair *pair = *state;
    struct given a, b;
    struct check_result result;

    usual(pair->a, "16", "42");
    usual(pair->b, "16", "42");
    give_history(&a, pair->a, 0);
    give_history(&b, pair->b, 1);
    fake_check_among(pair->a, &pair->b, 1, &check_hyperparams_first, &result);
    assert_int_equal(result.verdict, VERDICT_WARN);
    assert_non_null(strstr(result.finding, "learning rate and schedule"));
    assert_true(result.n_evidence > 0);
    assert_string_equal(result.evidence[0].commit, COMMITS[0].commit);
    assert_non_null(strstr(result.evidence[0].text, "warm up longer"));
    fake_check_among(pair->b, &pair->a, 1, &check_hyperparams_first, &result);
    assert_int_equal(result.verdict, VERDICT_NOT_APPLICABLE);
}

static void one_run_with_a_history_names_the_commit_to_look_before(void **state)
{
    struct pair *pair = *state;
    struct given a;
    struct check_result result;

    usual(pair->a, "16", "42");
    give_history(&a, pair->a, 0);
    fake_check(pair->a, &check_hyperparams_first, &result);
    assert_int_equal(result.verdict, VERDICT_NOT_APPLICABLE);
    assert_non_null(strstr(result.finding, "bbbbbbb changed warmup_steps"));
}

static void a_run_alone_is_compared_with_nothing(void **state)
{
    struct pair *pair = *state;
    struct check_result result;

    usual(pair->a, "16", "42");
    fake_check(pair->a, &check_many_knobs, &result);
    assert_int_equal(result.verdict, VERDICT_NOT_APPLICABLE);
}

/* ---- Checkpoints ---- */

static void checkpoints_within_noise_of_the_best_are_a_set(void **state)
{
    struct pair *pair = *state;
    const int64_t steps[] = {100, 200, 300, 400, 500, 600};
    const double e[] = {1.40, 1.010, 1.000, 1.006, 1.20, 1.40};
    struct eval_points points;
    struct checkpoint_set set;

    fake_curve_at(pair->a, "eval_loss", steps, e, 6);
    fake_artefact(pair->a, "checkpoint", "/r/checkpoint-400", 400);
    fake_artefact(pair->a, "checkpoint", "/r/checkpoint-600", 600);
    const struct run_facts *facts = fake_facts(pair->a);
    assert_true(eval_points_read(facts_curve(facts, "eval_loss"), pair->arena, &points));
    assert_true(checkpoint_set_read(facts, &points, pair->arena, &set));
    assert_int_equal(points.step[set.best], 300);
    assert_non_null(set.keep);
    assert_int_equal(set.keep->step, 400);
    assert_int_equal(set.n_kept, 1);
    assert_true(set.n_rows >= 3);
    assert_true(fabs(set.share_after - 0.5) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_same_value_written_otherwise_is_no_difference, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lists_that_differ_are_told_whatever_their_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_differs_stands_by_knob_and_paths_stand_last, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_default_is_told_from_what_is_not_stated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(data_is_compared_by_split, set_up, tear_down),
        cmocka_unit_test_setup_teardown(noise_alone_is_no_parting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lasting_shift_is_found_where_it_begins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(twins_part_at_the_very_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(equal_curves_and_few_steps_are_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_are_ordered_by_their_files_then_by_their_names, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_knob_and_one_seed_pass, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_seed_or_none_warns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_same_run_with_another_seed_is_no_fault, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_twin_by_seed_hides_no_other_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(commits_tell_the_order_of_runs_and_what_they_changed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_run_with_a_history_names_the_commit_to_look_before, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_run_alone_is_compared_with_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(checkpoints_within_noise_of_the_best_are_a_set, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
