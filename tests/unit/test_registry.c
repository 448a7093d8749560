/* The list of checks: ids, order, texts, and that a run about which nothing is known passes none.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <string.h>

#include "core/checks/registry.h"
#include "tests/harness/fake_run.h"

static void ids_are_unique_and_found(void **state)
{
    (void)state;
    assert_true(check_count() > 0);
    for (size_t i = 0; i < check_count(); i++) {
        assert_ptr_equal(check_by_id(check_at(i)->id), check_at(i));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(check_at(i)->id, check_at(k)->id);
    }
    assert_null(check_by_id("no-such-check"));
    assert_null(check_by_id(NULL));
    assert_null(check_at(check_count()));
}

static void ids_are_words_joined_by_dashes(void **state)
{
    (void)state;
    for (size_t i = 0; i < check_count(); i++)
        for (const char *c = check_at(i)->id; *c; c++)
            assert_true(islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '-');
}

static void stages_stand_in_triage_order(void **state)
{
    (void)state;
    for (size_t i = 1; i < check_count(); i++)
        assert_true(check_at(i)->stage >= check_at(i - 1)->stage);
}

static void every_check_says_what_it_is_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < check_count(); i++) {
        const struct check *check = check_at(i);
        assert_non_null(check->title);
        assert_non_null(check->why);
        assert_true(strlen(check->why) > 20);
        assert_true(check->title[strlen(check->title) - 1] != '.');
        assert_true(check->version >= 1);
        assert_non_null(check->run);
        assert_int_equal(check->needs >> N_NEEDS, 0);
    }
}

static void every_need_has_a_hint_of_its_own(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_NEEDS; i++)
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(need_hint((enum need)(1u << i)),
                                    need_hint((enum need)(1u << k)));
}

static void a_run_of_unknown_kind_leaves_what_depends_on_it_open(void **state)
{
    static const char *const IDS[] = {"grpo-no-signal", "kl-too-high", "hyperparams-range"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct fake_run *run = fake_run_new(KIND_UNKNOWN);
        struct check_result r;
        fake_check(run, check_by_id(IDS[i]), &r);
        assert_int_equal(r.verdict, VERDICT_UNKNOWN);
        assert_non_null(strstr(r.missing[0], "kind of run"));
        fake_run_free(run);
    }
    struct fake_run *run = fake_run_new(KIND_UNKNOWN);
    struct check_result r;
    fake_decided(run)->run.marks = MARK_EVAL_ONLY;
    fake_check(run, check_by_id("hyperparams-range"), &r);
    assert_int_equal(r.verdict, VERDICT_NOT_APPLICABLE);
    fake_run_free(run);
}

/* Missing data is never PASS, and never a finding. */
static void a_run_without_anything_passes_nothing_and_finds_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < check_count(); i++) {
        struct fake_run *run = fake_run_new(KIND_SFT);
        struct check_result r;
        fake_decided(run)->has_training_log = false;
        fake_check(run, check_at(i), &r);
        if (r.verdict != VERDICT_UNKNOWN && r.verdict != VERDICT_NOT_APPLICABLE)
            fail_msg("%s: %s, \"%s\"", check_at(i)->id, verdict_name(r.verdict), r.finding);
        if (r.verdict == VERDICT_UNKNOWN && r.n_missing == 0)
            fail_msg("%s does not say what to import", check_at(i)->id);
        fake_run_free(run);
    }
}

static void an_unknown_kind_breaks_no_rule(void **state)
{
    (void)state;
    for (int kind = KIND_UNKNOWN; kind <= KIND_SFT; kind++)
        for (size_t i = 0; i < check_count(); i++) {
            struct fake_run *run = fake_run_new((enum run_kind)kind);
            struct check_result r;
            fake_line(run, "loss", 2, 1, 3);
            fake_level(run, "grad_norm", 1, 3);
            fake_check(run, check_at(i), &r);
            assert_non_null(r.finding);
            assert_true(r.verdict < VERDICT_FAIL);
            fake_run_free(run);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_unique_and_found),
        cmocka_unit_test(ids_are_words_joined_by_dashes),
        cmocka_unit_test(stages_stand_in_triage_order),
        cmocka_unit_test(every_check_says_what_it_is_for),
        cmocka_unit_test(every_need_has_a_hint_of_its_own),
        cmocka_unit_test(a_run_of_unknown_kind_leaves_what_depends_on_it_open),
        cmocka_unit_test(a_run_without_anything_passes_nothing_and_finds_nothing),
        cmocka_unit_test(an_unknown_kind_breaks_no_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
