/* The checklist as everybody shows it: headline, roots, stages, dismissals (CHECKS.md 1.3). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/checks/registry.h"
#include "core/checks/verdicts.h"

enum { MAX = 80 };

struct board {
    struct arena *arena;
    struct run run;
    struct check_result results[MAX];
    struct tick ticks[2];
    size_t n, n_ticks;
    struct verdicts verdicts;
};

static int set_up(void **state)
{
    static struct board board;

    board = (struct board){.arena = arena_open(1 << 24), .run = {.id = 1, .name = "r"}};
    *state = &board;
    return board.arena ? 0 : -1;
}

static int tear_down(void **state)
{
    struct board *b = *state;

    arena_close(b->arena);
    return 0;
}

static struct check_result *put(struct board *b, const char *id, enum verdict verdict)
{
    struct check_result *r = &b->results[b->n++];

    *r = (struct check_result){.check_id = id,
                               .verdict = verdict,
                               .branch = "",
                               .finding = "f",
                               .confidence = CONFIDENCE_STRONG,
                               .from_step = NONE};
    return r;
}

static const char *headline(struct board *b)
{
    verdicts_make(&b->run, b->results, b->n, b->ticks, b->n_ticks, b->arena, &b->verdicts);
    return b->verdicts.headline < 0 ? "none" : b->verdicts.rows[b->verdicts.headline].check->id;
}

static const struct verdict_row *row(const struct board *b, const char *id)
{
    for (size_t i = 0; i < b->verdicts.n_rows; i++)
        if (strcmp(b->verdicts.rows[i].check->id, id) == 0)
            return &b->verdicts.rows[i];
    return NULL;
}

static void every_check_has_a_row_in_order(void **state)
{
    struct board *b = *state;

    headline(b);
    assert_int_equal(b->verdicts.n_rows, check_count());
    for (size_t i = 0; i < check_count(); i++) {
        assert_ptr_equal(b->verdicts.rows[i].check, check_at(i));
        assert_string_equal(b->verdicts.rows[i].result.finding, "not run yet");
    }
    assert_int_equal(b->verdicts.verdict, VERDICT_UNKNOWN);
    assert_false(b->verdicts.is_complete);
}

static void the_first_failing_root_is_the_headline(void **state)
{
    struct board *b = *state;

    put(b, "diverged", VERDICT_FAIL);
    put(b, "nan-all-masked-rows", VERDICT_WARN);
    put(b, "overfit", VERDICT_FAIL);
    put(b, "resume-jump", VERDICT_FAIL);
    assert_string_equal(headline(b), "resume-jump");
    assert_false(b->verdicts.headline_is_warning);
    assert_string_equal(row(b, "diverged")->explained_by, "resume-jump");
    assert_string_equal(row(b, "overfit")->explained_by, "diverged");
    assert_int_equal(b->verdicts.n_roots, 2);
}

static void without_a_failure_the_first_warning_is_a_possible_cause(void **state)
{
    struct board *b = *state;

    put(b, "overfit", VERDICT_WARN);
    put(b, "nan-bad-data", VERDICT_WARN);
    assert_string_equal(headline(b), "nan-bad-data");
    assert_true(b->verdicts.headline_is_warning);
}

static void a_log_that_stops_gives_way_to_any_warning_but_hyperparameters(void **state)
{
    struct board *b = *state;

    put(b, "run-incomplete", VERDICT_WARN)->branch = "stopped";
    assert_string_equal(headline(b), "run-incomplete");
    put(b, "overfit", VERDICT_WARN);
    assert_string_equal(headline(b), "run-incomplete");
    put(b, "nan-bad-data", VERDICT_WARN);
    assert_string_equal(headline(b), "nan-bad-data");
}

static void a_range_is_no_headline_without_a_bad_outcome(void **state)
{
    struct board *b = *state;
    struct check_result *range = put(b, "hyperparams-range", VERDICT_WARN);

    range->confidence = CONFIDENCE_POSSIBLE;
    assert_string_equal(headline(b), "none");
    assert_int_equal(b->verdicts.n_roots, 1);
    range->branch = "unsatisfactory";
    assert_string_equal(headline(b), "hyperparams-range");
    put(b, "nan-bad-data", VERDICT_WARN);
    assert_string_equal(headline(b), "nan-bad-data");
}

static void hyperparameters_wait_while_something_cheaper_fails(void **state)
{
    struct board *b = *state;

    put(b, "hyperparams-range", VERDICT_WARN);
    struct check_result *cheaper = put(b, "lr-zero", VERDICT_WARN);
    headline(b);
    assert_int_equal(row(b, "hyperparams-range")->result.verdict, VERDICT_WARN);
    cheaper->verdict = VERDICT_FAIL;
    assert_string_equal(headline(b), "lr-zero");
    assert_int_equal(row(b, "hyperparams-range")->result.verdict, VERDICT_NOT_APPLICABLE);
    assert_string_equal(row(b, "hyperparams-range")->result.finding,
                        "not yet: lr-zero fails, settle it first");
    assert_int_equal(b->verdicts.n_roots, 1);
    b->ticks[b->n_ticks++] = (struct tick){"lr-zero", "dismissed", "known", 0};
    headline(b);
    assert_int_equal(row(b, "hyperparams-range")->result.verdict, VERDICT_WARN);
}

static void overfitting_does_not_wait(void **state)
{
    struct board *b = *state;

    put(b, "lr-zero", VERDICT_FAIL);
    put(b, "overfit", VERDICT_FAIL);
    headline(b);
    assert_int_equal(row(b, "overfit")->result.verdict, VERDICT_FAIL);
}

static void a_dismissed_finding_counts_nowhere(void **state)
{
    struct board *b = *state;

    put(b, "diverged", VERDICT_FAIL);
    put(b, "nan-bad-data", VERDICT_WARN);
    b->ticks[b->n_ticks++] = (struct tick){"diverged", "dismissed", "known", 0};
    b->ticks[b->n_ticks++] = (struct tick){"nan-bad-data", "seen", NULL, 0};
    assert_string_equal(headline(b), "nan-bad-data");
    assert_int_equal(b->verdicts.verdict, VERDICT_WARN);
    assert_string_equal(row(b, "diverged")->dismissed, "known");
    assert_int_equal(row(b, "diverged")->result.verdict, VERDICT_FAIL);
    assert_true(row(b, "nan-bad-data")->is_seen);
}

static void stages_take_their_worst(void **state)
{
    struct board *b = *state;

    put(b, "diverged", VERDICT_WARN);
    put(b, "nan-onset", VERDICT_PASS);
    headline(b);
    assert_int_equal(b->verdicts.stages[STAGE_FINISHED].verdict, VERDICT_WARN);
    for (int s = 0; s < N_STAGES; s++) {
        const struct stage_row *stage = &b->verdicts.stages[s];

        assert_int_equal(stage->stage, s);
        assert_true(stage->n > 0);
        assert_int_equal(b->verdicts.rows[stage->first].check->stage, s);
    }
}

static void a_stage_is_ok_when_all_its_checks_are(void **state)
{
    struct board *b = *state;

    for (size_t i = 0; i < check_count(); i++)
        put(b, check_at(i)->id, VERDICT_PASS);
    headline(b);
    for (int s = 0; s < N_STAGES; s++)
        assert_int_equal(b->verdicts.stages[s].verdict, VERDICT_PASS);
}

static void explained_rows_hang_below_their_cause(void **state)
{
    struct board *b = *state;
    const size_t *below = NULL;

    put(b, "nan-fp16-overflow", VERDICT_FAIL);
    put(b, "nan-onset", VERDICT_FAIL);
    put(b, "nan-hidden-in-log", VERDICT_FAIL);
    assert_string_equal(headline(b), "nan-fp16-overflow");
    size_t n = verdicts_explained(&b->verdicts, (size_t)b->verdicts.headline, b->arena, &below);
    assert_int_equal(n, 2);
    assert_true(b->verdicts.rows[below[0]].is_folded);
}

static void nothing_found_names_the_first_missing_import(void **state)
{
    static const char *const MISSING[] = {"the console log"};
    struct board *b = *state;

    struct check_result *r = put(b, check_at(0)->id, VERDICT_UNKNOWN);
    r->missing = MISSING;
    r->n_missing = 1;
    assert_string_equal(headline(b), "none");
    assert_string_equal(b->verdicts.cheapest_import, "the console log");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_check_has_a_row_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_first_failing_root_is_the_headline, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_failure_the_first_warning_is_a_possible_cause,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_log_that_stops_gives_way_to_any_warning_but_hyperparameters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_range_is_no_headline_without_a_bad_outcome, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(hyperparameters_wait_while_something_cheaper_fails, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(overfitting_does_not_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dismissed_finding_counts_nowhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stages_take_their_worst, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_stage_is_ok_when_all_its_checks_are, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(explained_rows_hang_below_their_cause, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_found_names_the_first_missing_import, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
