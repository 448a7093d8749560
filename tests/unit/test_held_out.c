/* What is known of the quality that a preference run did not train on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/checks/held_out.h"
#include "tests/harness/fake_run.h"

#define N(array) (sizeof(array) / sizeof *(array))

static void heldout(struct fake_run *run, int64_t before, int64_t after)
{
    fake_suite(run, "base", "heldout", before, 1319);
    fake_suite(run, "ft", "heldout", after, 1319);
}

static enum held_out_answer held_of(struct fake_run *run)
{
    struct check_ctx ctx = {.facts = fake_facts(run), .arena = fake_arena(run)};

    return held_out_read(&ctx).answer;
}

static void held_out_quality_is_read_from_series(void **state)
{
    static const struct {
        const char *name;
        double from, to;
        enum held_out_answer answer;
    } CASES[] = {
        {"eval_heldout_accuracy", 0.9, 0.1, HELD_OUT_FELL},
        {"eval_accuracy", 0.3, 0.6, HELD_OUT_ROSE},
        {"eval/win_rate", 0.40, 0.30, HELD_OUT_FELL},
        {"win_rate", 55, 70, HELD_OUT_ROSE},
        {"gold_reward", 1.0, 0.2, HELD_OUT_FELL},
        {"eval_reward", 0.3, 0.9, HELD_OUT_UNKNOWN},
        {"eval_reward", 0.9, 0.3, HELD_OUT_FELL},
        {"eval_rewards/accuracies", 0.5, 0.9, HELD_OUT_UNKNOWN},
        {"eval_mean_token_accuracy", 0.9, 0.3, HELD_OUT_UNKNOWN},
        {"rewards/accuracies", 0.5, 0.9, HELD_OUT_UNKNOWN},
        {"eval_loss", 0.9, 0.3, HELD_OUT_UNKNOWN},
        {"val_accuracy", 0.9, 0.3, HELD_OUT_FELL},
        {"test_score", 0.9, 0.3, HELD_OUT_UNKNOWN},
        {"val_", 0.9, 0.3, HELD_OUT_UNKNOWN},
        {"eval/", 0.9, 0.3, HELD_OUT_UNKNOWN},
    };
    (void)state;
    for (size_t i = 0; i < N(CASES); i++) {
        struct fake_run *run = fake_run_new(KIND_GRPO);
        fake_line(run, CASES[i].name, CASES[i].from, CASES[i].to, 10);
        if (held_of(run) != CASES[i].answer)
            fail_msg("%s from %g to %g is read as %d", CASES[i].name, CASES[i].from, CASES[i].to,
                     (int)held_of(run));
        fake_run_free(run);
    }
}

static void a_fall_of_any_kind_outweighs(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_GRPO);
    fake_line(run, "eval_accuracy", 0.3, 0.6, 10);
    heldout(run, 831, 765);
    assert_int_equal(held_of(run), HELD_OUT_FELL);
    fake_run_free(run);
    /* ability in general counts where nothing else was evaluated */
    run = fake_run_new(KIND_GRPO);
    heldout(run, 765, 831);
    fake_suite(run, "base", "mmlu", 700, 1000);
    fake_suite(run, "ft", "mmlu", 500, 1000);
    assert_int_equal(held_of(run), HELD_OUT_ROSE);
    fake_run_free(run);
    run = fake_run_new(KIND_GRPO);
    fake_suite(run, "base", "mmlu", 700, 1000);
    fake_suite(run, "ft", "mmlu", 500, 1000);
    assert_int_equal(held_of(run), HELD_OUT_FELL);
    fake_run_free(run);
}

static enum held_out_answer judged(const char *base, int64_t won, int64_t long_wins, int64_t length)
{
    struct judgement all[200];
    struct fake_run *run = fake_run_new(KIND_DPO);

    for (int64_t i = 0; i < 200; i++) /* one in five has the length of the base's */
        all[i] = (struct judgement){.source_id = FAKE_LOG, .ord = i, .base = base,
                                    .candidate = "ft", .length_base = 100,
                                    .length_candidate = i % 5 == 0 ? 100 : length,
                                    .score = (i % 5 == 0 ? i % 10 == 0 : i < long_wins) ||
                                                     (long_wins == 0 && i < won)
                                                 ? 1.0
                                                 : 0.0,
                                    .step = NONE, .line = i + 1};
    fake_judgements(run, all, 200);
    enum held_out_answer answer = held_of(run);
    fake_run_free(run);
    return answer;
}

static void judgements_count_against_the_start_of_the_training_only(void **state)
{
    (void)state;
    assert_int_equal(judged("base", 150, 0, 100), HELD_OUT_ROSE);
    assert_int_equal(judged("base", 20, 0, 100), HELD_OUT_FELL);
    assert_int_equal(judged("gpt-4", 20, 0, 100), HELD_OUT_UNKNOWN);
    /* wins as the longer answer, and one of two at equal length */
    assert_int_equal(judged("base", 0, 200, 180), HELD_OUT_FLAT);
}

static void win_rates_count_against_the_start_of_the_training_only(void **state)
{
    static const struct {
        const char *suite;
        enum held_out_answer answer;
    } CASES[] = {
        {"judge-vs-sft", HELD_OUT_FELL},    {"win_rate", HELD_OUT_FELL},
        {"alpaca_eval_2", HELD_OUT_UNKNOWN}, {"win rate vs gpt-4", HELD_OUT_UNKNOWN},
        {"vs other", HELD_OUT_UNKNOWN},
    };
    (void)state;
    for (size_t i = 0; i < N(CASES); i++) {
        struct fake_run *run = fake_run_new(KIND_DPO);
        fake_suite(run, "dpo", CASES[i].suite, 41, 120);
        if (held_of(run) != CASES[i].answer)
            fail_msg("%s is read as %d", CASES[i].suite, (int)held_of(run));
        fake_run_free(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_out_quality_is_read_from_series),
        cmocka_unit_test(a_fall_of_any_kind_outweighs),
        cmocka_unit_test(judgements_count_against_the_start_of_the_training_only),
        cmocka_unit_test(win_rates_count_against_the_start_of_the_training_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
