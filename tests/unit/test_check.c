/* Statements, merging and evidence of one check. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/harness/fake_run.h"

static int (*rule)(struct check_ctx *ctx);

static int run_rule(struct check_ctx *ctx, struct error *err)
{
    (void)err;
    return rule(ctx);
}

static const struct check PROBE = {.id = "probe",
                                   .version = 3,
                                   .stage = STAGE_FINISHED,
                                   .title = "t",
                                   .why = "w",
                                   .run = run_rule};

static void run_on(struct fake_run *run, const struct check *check, int (*of)(struct check_ctx *),
                   struct check_result *out)
{
    rule = of;
    fake_check(run, check, out);
}

static int warn_then_fail(struct check_ctx *ctx)
{
    check_warn(ctx, CONFIDENCE_LIKELY, "first", "a warning");
    check_fix(ctx, "do this");
    check_fail(ctx, CONFIDENCE_STRONG, "second", "a failure of %d", 7);
    return check_fail(ctx, CONFIDENCE_CERTAIN, "third", "a later failure");
}

static void first_statement_at_the_worst_level_stands(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    run_on(run, &PROBE, warn_then_fail, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_string_equal(r.finding, "a failure of 7");
    assert_string_equal(r.branch, "second");
    assert_int_equal(r.confidence, CONFIDENCE_STRONG);
    assert_int_equal(r.n_fixes, 1);
    assert_int_equal(r.check_version, 3);
    fake_run_free(run);
}

static int pass_and_unknown(struct check_ctx *ctx)
{
    check_pass(ctx, CONFIDENCE_CERTAIN, "fine");
    check_unknown(ctx, "the tokenizer folder");
    check_unknown(ctx, "the tokenizer folder");
    return check_unknown(ctx, "config.json");
}

static void a_branch_that_cannot_be_asked_turns_pass_into_unknown(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    run_on(run, &PROBE, pass_and_unknown, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    assert_int_equal(r.confidence, CONFIDENCE_NONE);
    assert_int_equal(r.n_missing, 2);
    assert_string_equal(r.missing[0], "the tokenizer folder");
    fake_run_free(run);
}

static int unknown_then_warn(struct check_ctx *ctx)
{
    check_unknown(ctx, "labels");
    return check_warn(ctx, CONFIDENCE_POSSIBLE, "", "seen");
}

static void an_unknown_branch_never_hides_a_warning(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    run_on(run, &PROBE, unknown_then_warn, &r);
    assert_int_equal(r.verdict, VERDICT_WARN);
    assert_int_equal(r.n_missing, 1);
    fake_run_free(run);
}

static int say_nothing(struct check_ctx *ctx)
{
    (void)ctx;
    return OK;
}

static void a_rule_that_says_nothing_is_unknown_not_pass(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    run_on(run, &PROBE, say_nothing, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static bool never(const struct run_facts *facts, const char **reason)
{
    (void)facts;
    *reason = "not for this kind";
    return false;
}

static void a_check_that_does_not_apply_gives_its_reason(void **state)
{
    struct check probe = PROBE;
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    probe.applies = never;
    run_on(run, &probe, warn_then_fail, &r);
    assert_int_equal(r.verdict, VERDICT_NOT_APPLICABLE);
    assert_string_equal(r.finding, "not for this kind");
    fake_run_free(run);
}

static void a_missing_need_is_unknown_with_what_to_import(void **state)
{
    struct check probe = PROBE;
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    probe.needs = NEEDS_TRAIN_SERIES | NEEDS_TOKENIZER;
    run_on(run, &probe, warn_then_fail, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    assert_int_equal(r.n_missing, 2);
    assert_non_null(strstr(r.missing[1], "tokenizer"));
    fake_run_free(run);
}

static int with_evidence(struct check_ctx *ctx)
{
    const struct curve *loss = facts_curve(ctx->facts, "loss");

    evidence_point(ctx, loss, 1, "loss %.1f", loss->value[1]);
    evidence_range(ctx, loss, 0, 2, "three rows");
    evidence_setting(ctx, NULL);
    evidence_setting(ctx, facts_setting(ctx->facts, "learning_rate"));
    evidence_number(ctx, 3.0, 2.0, "three against two");
    for (int i = 0; i < 40; i++)
        evidence_add(ctx, "number", "number %d", i)->value = i;
    return check_fail(ctx, CONFIDENCE_STRONG, "", "f");
}

static void evidence_points_to_rows_settings_and_numbers(void **state)
{
    const double y[] = {3, 2, 1};
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_curve(run, "loss", y, 3);
    fake_setting(run, "learning_rate", "0.003");
    run_on(run, &PROBE, with_evidence, &r);
    assert_int_equal(r.n_evidence, 44);
    assert_string_equal(r.evidence[0].series, "loss");
    assert_int_equal(r.evidence[0].step, 2);
    assert_true(r.evidence[0].line > 0);
    assert_true(r.evidence[0].has_value && r.evidence[0].value == 2.0);
    assert_int_equal(r.evidence[1].last_step, 3);
    assert_string_equal(r.evidence[2].text, "learning_rate = 0.003");
    assert_true(r.evidence[3].has_bound && r.evidence[3].bound == 2.0);
    assert_true(r.evidence[43].value == 39.0);
    assert_int_equal(r.from_step, NONE);
    fake_run_free(run);
}

static int begins_twice(struct check_ctx *ctx)
{
    check_begins(ctx, 40);
    check_begins(ctx, 12);
    check_begins(ctx, 90);
    return check_fail(ctx, CONFIDENCE_STRONG, "", "f");
}

static void the_smallest_step_is_where_the_fault_begins(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    run_on(run, &PROBE, begins_twice, &r);
    assert_int_equal(r.from_step, 12);
    fake_run_free(run);
}

static int pass_with_fix(struct check_ctx *ctx)
{
    check_fix(ctx, "no advice is due");
    check_info(ctx, "a note");
    return check_pass(ctx, CONFIDENCE_STRONG, "fine");
}

static void a_pass_keeps_its_notes_and_has_no_advice(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    run_on(run, &PROBE, pass_with_fix, &r);
    assert_int_equal(r.n_fixes, 0);
    assert_int_equal(r.n_information, 1);
    fake_run_free(run);
}

static int long_line(struct check_ctx *ctx)
{
    char text[1200];
    struct event event = {.source_id = FAKE_LOG, .line = 5, .step = NONE, .text = text};

    for (size_t i = 0; i + 1 < sizeof text; i++)
        text[i] = "\xc3\xa9"[i % 2];
    text[sizeof text - 1] = '\0';
    evidence_event(ctx, &event);
    return check_fail(ctx, CONFIDENCE_STRONG, "", "f");
}

static void a_long_line_is_cut_between_characters(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    run_on(run, &PROBE, long_line, &r);
    size_t n = strlen(r.evidence[0].text);
    assert_true(n < 410);
    assert_string_equal(r.evidence[0].text + n - 5, "\xc3\xa9…");
    fake_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_statement_at_the_worst_level_stands),
        cmocka_unit_test(a_branch_that_cannot_be_asked_turns_pass_into_unknown),
        cmocka_unit_test(an_unknown_branch_never_hides_a_warning),
        cmocka_unit_test(a_rule_that_says_nothing_is_unknown_not_pass),
        cmocka_unit_test(a_check_that_does_not_apply_gives_its_reason),
        cmocka_unit_test(a_missing_need_is_unknown_with_what_to_import),
        cmocka_unit_test(evidence_points_to_rows_settings_and_numbers),
        cmocka_unit_test(the_smallest_step_is_where_the_fault_begins),
        cmocka_unit_test(a_pass_keeps_its_notes_and_has_no_advice),
        cmocka_unit_test(a_long_line_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
