/* What runs tell of the commits that they used: the last healthy one, what changed since, when one took
 * effect. Newest revision first, as in a history. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/exports/history_report.h"
#include "core/facts/history_effect.h"
#include "tests/harness/fake_run.h"

#define AT(i) ((int64_t)1800000000 + (i) * 86400)

static const struct config_change TO_HIGH[] = {{"learning_rate", "1e-4", "2e-3", 3}};
static const struct config_change TO_LONG[] = {{"max_length", "2048", "4096", 4},
                                               {"packing", NULL, "true", 5}};
static const struct config_change AND_BACK[] = {{"packing", "true", NULL, NONE},
                                                {"learning_rate", "2e-3", "1e-3", 3}};

static const struct revision REVISIONS[] = {
    {.commit = "dddddddddddddddddddddddddddddddddddddddd", .status = "modified", .blob = "d",
     .commit_time = AT(3), .changes = AND_BACK, .n_changes = 2},
    {.commit = "cccccccccccccccccccccccccccccccccccccccc", .status = "modified", .blob = "c",
     .commit_time = AT(2), .changes = TO_LONG, .n_changes = 2},
    {.commit = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", .status = "modified", .blob = "b",
     .commit_time = AT(1), .changes = TO_HIGH, .n_changes = 1},
    {.commit = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", .status = "added", .blob = "a",
     .commit_time = AT(0)},
};

static struct config_history history(void)
{
    return (struct config_history){.revisions = REVISIONS, .n_revisions = 4};
}

static struct history_run made(int64_t id, ptrdiff_t used_at, enum outcome outcome, enum verdict verdict)
{
    return (struct history_run){.run = {.id = id, .name = "other", .outcome = outcome},
                                .used_at = used_at, .began = NONE, .verdict = verdict,
                                .was_checked = true};
}

static struct history_healthy healthy_of(const struct history_run *runs, size_t n, struct arena *arena)
{
    const struct config_history h = history();
    struct history_healthy out;

    assert_true(history_last_healthy(&h, runs, n, 1, arena, &out));
    return out;
}

static int open_arena(void **state)
{
    *state = arena_open(1u << 20);
    return *state ? 0 : -1;
}

static int close_arena(void **state)
{
    arena_close(*state);
    return 0;
}

static void a_broken_run_has_the_last_healthy_commit_before_it(void **state)
{
    const struct history_run runs[] = {made(1, 0, OUTCOME_FINISHED, VERDICT_FAIL),
                                       made(2, 3, OUTCOME_FINISHED, VERDICT_PASS),
                                       made(3, 2, OUTCOME_FINISHED, VERDICT_WARN),
                                       made(4, 1, OUTCOME_CRASHED, VERDICT_WARN)};
    struct history_healthy found = healthy_of(runs, 4, *state);

    assert_int_equal(found.at, 2);
    assert_int_equal(found.run->run.id, 3);
    assert_int_equal(found.n_commits, 2);
    assert_false(found.is_rough);
    /* packing came and went: it is no difference */
    assert_int_equal(found.n_changes, 2);
    assert_string_equal(found.changes[0].name, "max_length");
    assert_string_equal(found.changes[1].name, "learning_rate");
    assert_string_equal(found.changes[1].old_value, "2e-3");
    assert_string_equal(found.changes[1].new_value, "1e-3");
}

static void a_later_commit_under_which_all_is_well_is_not_it(void **state)
{
    const struct history_run runs[] = {made(1, 2, OUTCOME_FINISHED, VERDICT_FAIL),
                                       made(2, 0, OUTCOME_FINISHED, VERDICT_PASS)};

    assert_int_equal(healthy_of(runs, 2, *state).at, -1);
}

static void a_healthy_run_is_asked_nothing(void **state)
{
    const struct history_run runs[] = {made(1, 0, OUTCOME_FINISHED, VERDICT_WARN),
                                       made(2, 1, OUTCOME_FINISHED, VERDICT_PASS)};

    assert_int_equal(healthy_of(runs, 2, *state).at, -1);
    assert_false(history_run_broke(runs, 2, 1));
}

/* Most runs leave some check undecided: that is no fault. */
static void a_run_without_a_fault_is_healthy_and_one_not_checked_is_not(void **state)
{
    struct history_run runs[] = {made(1, 0, OUTCOME_FINISHED, VERDICT_FAIL),
                                 made(2, 2, OUTCOME_FINISHED, VERDICT_UNKNOWN),
                                 made(3, 1, OUTCOME_FINISHED, VERDICT_UNKNOWN)};

    runs[2].was_checked = false;
    assert_int_equal(healthy_of(runs, 3, *state).at, 2);
    assert_string_equal(history_run_word(&runs[1]), "no fault found");
    assert_string_equal(history_run_word(&runs[2]), "not checked");
}

static void a_twin_under_the_same_commit_clears_the_settings(void **state)
{
    const struct history_run runs[] = {made(1, 1, OUTCOME_CRASHED, VERDICT_UNKNOWN),
                                       made(2, 1, OUTCOME_FINISHED, VERDICT_PASS)};
    const struct config_history h = history();
    struct history_healthy found = healthy_of(runs, 2, *state);
    struct buf text;

    assert_true(found.is_same_commit);
    assert_int_equal(found.n_changes, 0);
    buf_init(&text, 1000);
    history_healthy_text(&text, &h, &found);
    assert_non_null(strstr(text.p, "the same commit"));
    buf_free(&text);
}

static void versions_of_two_branches_are_called_rough(void **state)
{
    static const struct config_change odd[] = {{"learning_rate", "7e-5", "2e-3", 3}};
    struct revision revisions[4];
    struct config_history h = history();
    const struct history_run runs[] = {made(1, 0, OUTCOME_CRASHED, VERDICT_FAIL),
                                       made(2, 3, OUTCOME_FINISHED, VERDICT_PASS)};
    struct history_healthy found;

    memcpy(revisions, REVISIONS, sizeof revisions);
    revisions[1].changes = odd;
    revisions[1].n_changes = 1;
    h.revisions = revisions;
    assert_true(history_last_healthy(&h, runs, 2, 1, *state, &found));
    assert_true(found.is_rough);
}

/* ---- When a commit took effect ---- */

static const double LOSS[] = {3, 2, 1};

static void the_first_run_under_a_commit_is_where_it_took_effect(void **state)
{
    struct fake_run *run = fake_run_with_rows(LOSS, NULL, 3);
    const struct config_history h = history();
    const struct history_run runs[] = {made(1, 0, OUTCOME_FINISHED, VERDICT_FAIL),
                                       made(2, 3, OUTCOME_FINISHED, VERDICT_PASS),
                                       made(3, 2, OUTCOME_FINISHED, VERDICT_WARN)};

    (void)state;
    fake_decided(run)->run.id = 1;
    struct history_effect effect = history_effect_of(&h, runs, 3, fake_facts(run), 1);
    assert_int_equal(effect.kind, HISTORY_EFFECT_HERE);
    assert_int_equal(effect.step, 1);
    assert_int_equal(effect.before->run.id, 3);
    effect = history_effect_of(&h, runs, 3, fake_facts(run), 2);
    assert_int_equal(effect.kind, HISTORY_EFFECT_OTHER);
    assert_int_equal(effect.with->run.id, 3);
    assert_int_equal(effect.before->run.id, 2);
    fake_run_free(run);
}

static void a_commit_that_no_run_has_used_yet_took_no_effect(void **state)
{
    struct fake_run *run = fake_run_with_rows(LOSS, NULL, 3);
    const struct config_history h = history();
    const struct history_run runs[] = {made(1, 2, OUTCOME_FINISHED, VERDICT_FAIL)};

    (void)state;
    fake_decided(run)->run.id = 1;
    assert_int_equal(history_effect_of(&h, runs, 1, fake_facts(run), 0).kind, HISTORY_EFFECT_UNKNOWN);
    fake_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_broken_run_has_the_last_healthy_commit_before_it, open_arena,
                                        close_arena),
        cmocka_unit_test_setup_teardown(a_later_commit_under_which_all_is_well_is_not_it, open_arena,
                                        close_arena),
        cmocka_unit_test_setup_teardown(a_healthy_run_is_asked_nothing, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(a_run_without_a_fault_is_healthy_and_one_not_checked_is_not,
                                        open_arena, close_arena),
        cmocka_unit_test_setup_teardown(a_twin_under_the_same_commit_clears_the_settings, open_arena,
                                        close_arena),
        cmocka_unit_test_setup_teardown(versions_of_two_branches_are_called_rough, open_arena, close_arena),
        cmocka_unit_test(the_first_run_under_a_commit_is_where_it_took_effect),
        cmocka_unit_test(a_commit_that_no_run_has_used_yet_took_no_effect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
