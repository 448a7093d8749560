/* Names of the enums: what is written is read again, and every value has its own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/model.h"

static void kinds_of_runs_are_read_as_they_are_written(void **state)
{
    static const char *const names[] = {"unknown",        "grpo",    "ppo",         "dpo", "reward-model",
                                        "classification", "seq2seq", "pretraining", "sft"};
    enum run_kind kind = KIND_GRPO;

    (void)state;
    for (int i = KIND_UNKNOWN; i <= KIND_SFT; i++) {
        assert_string_equal(run_kind_name((enum run_kind)i), names[i]);
        assert_true(run_kind_parse(names[i], &kind));
        assert_int_equal(kind, i);
    }
    kind = KIND_GRPO;
    assert_false(run_kind_parse("SFT", &kind));
    assert_false(run_kind_parse("", &kind));
    assert_false(run_kind_parse("sft ", &kind));
    assert_int_equal(kind, KIND_GRPO);
}

static void outcomes_are_those_of_the_json_form(void **state)
{
    (void)state;
    assert_string_equal(outcome_name(OUTCOME_UNKNOWN), "unknown");
    assert_string_equal(outcome_name(OUTCOME_FINISHED), "finished");
    assert_string_equal(outcome_name(OUTCOME_CRASHED), "crashed");
    assert_string_equal(outcome_name(OUTCOME_STOPPED), "stopped");
    assert_string_equal(outcome_name(OUTCOME_RUNNING), "running");
}

static void verdicts_are_read_as_they_are_written(void **state)
{
    static const char *const names[] = {"not-applicable", "pass", "unknown", "warn", "fail"};
    enum verdict verdict = VERDICT_PASS;

    (void)state;
    for (int i = VERDICT_NOT_APPLICABLE; i <= VERDICT_FAIL; i++) {
        assert_string_equal(verdict_name((enum verdict)i), names[i]);
        assert_true(verdict_parse(names[i], &verdict));
        assert_int_equal(verdict, i);
    }
    assert_false(verdict_parse("FAIL", &verdict));
    assert_false(verdict_parse("", &verdict));
    assert_int_equal(verdict, VERDICT_FAIL);
}

static void sides_are_read_as_they_are_written(void **state)
{
    static const char *const names[] = {"train",   "eval",      "serve",     "model",
                                        "adapter", "tokenizer", "generation"};
    enum side side = SIDE_TRAIN;

    (void)state;
    for (int i = SIDE_TRAIN; i <= SIDE_GENERATION; i++) {
        assert_string_equal(side_name((enum side)i), names[i]);
        assert_true(side_parse(names[i], &side));
        assert_int_equal(side, i);
    }
    assert_false(side_parse("training", &side));
}

static void states_of_sources_are_read_as_they_are_written(void **state)
{
    static const char *const names[] = {"whole", "growing", "damaged", "gone"};
    enum source_state source = SOURCE_WHOLE;

    (void)state;
    for (int i = SOURCE_WHOLE; i <= SOURCE_GONE; i++) {
        assert_string_equal(source_state_name((enum source_state)i), names[i]);
        assert_true(source_state_parse(names[i], &source));
        assert_int_equal(source, i);
    }
    assert_false(source_state_parse("", &source));
}

static void severities_and_confidences_have_the_words_of_the_json_form(void **state)
{
    (void)state;
    assert_string_equal(severity_name(SEVERITY_BLOCKS), "blocks");
    assert_string_equal(severity_name(SEVERITY_MISLEADS), "misleads");
    assert_string_equal(severity_name(SEVERITY_WASTES), "wastes");
    assert_null(confidence_name(CONFIDENCE_NONE));
    assert_string_equal(confidence_name(CONFIDENCE_POSSIBLE), "possible");
    assert_string_equal(confidence_name(CONFIDENCE_LIKELY), "likely");
    assert_string_equal(confidence_name(CONFIDENCE_STRONG), "strong");
    assert_string_equal(confidence_name(CONFIDENCE_CERTAIN), "certain");
}

/* The order is the order of triage; the checklist has 19 columns for a name. */
static void stages_stand_in_triage_order_with_short_names_and_a_question(void **state)
{
    const char *const keys = "0123456P7";

    (void)state;
    for (int i = 0; i < N_STAGES; i++) {
        enum stage stage = (enum stage)i;

        assert_int_equal(strlen(stage_key(stage)), 1);
        assert_int_equal(stage_key(stage)[0], keys[i]);
        assert_in_range(strlen(stage_name(stage)), 3, 18);
        assert_true(strlen(stage_question(stage)) > 10);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(stage_name(stage), stage_name((enum stage)k));
    }
}

/* The worst verdict of a stage is its greatest. */
static void verdicts_are_ordered_from_harmless_to_bad(void **state)
{
    (void)state;
    assert_true(VERDICT_NOT_APPLICABLE < VERDICT_PASS && VERDICT_PASS < VERDICT_UNKNOWN &&
                VERDICT_UNKNOWN < VERDICT_WARN && VERDICT_WARN < VERDICT_FAIL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_runs_are_read_as_they_are_written),
        cmocka_unit_test(outcomes_are_those_of_the_json_form),
        cmocka_unit_test(verdicts_are_read_as_they_are_written),
        cmocka_unit_test(sides_are_read_as_they_are_written),
        cmocka_unit_test(states_of_sources_are_read_as_they_are_written),
        cmocka_unit_test(severities_and_confidences_have_the_words_of_the_json_form),
        cmocka_unit_test(stages_stand_in_triage_order_with_short_names_and_a_question),
        cmocka_unit_test(verdicts_are_ordered_from_harmless_to_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
