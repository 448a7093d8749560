/* Checks whose evidence is label rows: the cut, the prompt's share, added tokens, masks that are
 * assumed, rows that are dropped, samples and all rows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/checks/registry.h"
#include "tests/harness/judged.h"

enum { EOS = 2, WORD = 500, MOST = 400 };

static struct check_result result;

static void expect(struct fake_run *run, const struct check *check, enum verdict verdict)
{
    judged_expect(run, check, verdict, &result);
}

/* n rows alike: 100 tokens, 40 of them before the answer, the rest supervised. */
static struct audit *add_rows(struct fake_run *run, enum audit_basis basis, size_t n,
                              uint32_t flags, int32_t last_id)
{
    struct audit_row rows[MOST];

    for (size_t i = 0; i < n; i++)
        rows[i] = (struct audit_row){.n_tokens = 100,
                                     .n_prompt = 40,
                                     .n_trained = flags & AUDIT_ALL_MASKED ? 0 : 60,
                                     .flags = flags,
                                     .last_id = last_id};
    struct audit *audit = fake_audit(run, "train", basis, rows, n);
    audit->last_id = last_id;
    audit->n_last_id = (int64_t)n;
    audit->eos_id = EOS;
    audit->eos_text = "</s>";
    audit->pad_id = 0;
    audit->bos_id = 1;
    return audit;
}

/* ---- truncation-cuts-answer ---- */

static struct audit *add_cut_rows(struct fake_run *run, size_t n, size_t n_bad, uint32_t flags,
                                  int32_t n_trained)
{
    struct audit_row rows[MOST];

    for (size_t i = 0; i < n; i++)
        rows[i] = (struct audit_row){.n_tokens = i < n_bad ? 300 : 100,
                                     .n_prompt = i < n_bad ? 200 : 40,
                                     .n_trained = i < n_bad ? n_trained : 60,
                                     .flags = i < n_bad ? flags : AUDIT_END_TRAINED,
                                     .last_id = EOS};
    struct audit *audit = fake_audit(run, "train", AUDIT_SIMULATED, rows, n);
    audit->max_length = 128;
    return audit;
}

static void prompts_that_fill_the_limit_fail_from_a_tenth_on(void **state)
{
    const uint32_t flags =
        AUDIT_CUT | AUDIT_PROMPT_FILLS | AUDIT_ALL_MASKED | AUDIT_CUT_TO_NOTHING | AUDIT_CUT_ANSWER;

    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    add_cut_rows(run, 100, 10, flags, 0);
    expect(run, &check_truncation_cuts_answer, VERDICT_FAIL);
    assert_string_equal(result.branch, "");
    assert_int_equal(result.evidence[0].token, 200);
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    add_cut_rows(run, 100, 92, flags, 0);
    expect(run, &check_truncation_cuts_answer, VERDICT_FAIL);
    assert_string_equal(result.branch, "prompt-at-limit");
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    add_cut_rows(run, 100, 6, flags, 0);
    expect(run, &check_truncation_cuts_answer, VERDICT_WARN);
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    add_cut_rows(run, 100, 4, flags, 0);
    expect(run, &check_truncation_cuts_answer, VERDICT_PASS);
    fake_run_free(run);
}

static void answers_cut_inside_warn_from_a_fifth_on(void **state)
{
    (void)state;
    for (size_t bad = 19; bad <= 20; bad++) {
        struct fake_run *run = fake_run_new(KIND_SFT);
        add_cut_rows(run, 100, bad, AUDIT_CUT | AUDIT_CUT_ANSWER, 5);
        expect(run, &check_truncation_cuts_answer, bad == 20 ? VERDICT_WARN : VERDICT_PASS);
        fake_run_free(run);
    }
}

/* Recorded rows: those at the limit were cut; masked rows of other lengths are another fault. */
static void recorded_masked_rows_count_as_cut_only_at_the_limit(void **state)
{
    (void)state;
    for (int spread = 0; spread < 2; spread++) {
        struct fake_run *run = fake_run_new(KIND_SFT);
        struct audit_row rows[40];
        for (int i = 0; i < 40; i++) {
            bool is_masked = i % 2 == 0;
            rows[i] = (struct audit_row){.n_tokens = is_masked ? 128 - spread * i : 60,
                                         .n_prompt = -1,
                                         .n_trained = is_masked ? 0 : 9,
                                         .flags = is_masked ? AUDIT_ALL_MASKED : 0,
                                         .last_id = -1};
        }
        fake_audit(run, "train", AUDIT_RECORDED, rows, 40)->is_sampled = true;
        expect(run, &check_truncation_cuts_answer, spread ? VERDICT_UNKNOWN : VERDICT_FAIL);
        fake_run_free(run);
    }
}

static void long_rows_by_estimate_are_likely(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct sample rows[20];
    for (int i = 0; i < 20; i++)
        rows[i] = (struct sample){
            .flags = SAMPLE_ESTIMATED, .n_tokens = 300, .n_prompt_tokens = 250, .n_trained = -1};
    fake_dataset(run, "train", "prompt-completion", 20);
    fake_samples(run, rows, 20);
    fake_setting(run, "max_length", "128");
    expect(run, &check_truncation_cuts_answer, VERDICT_FAIL);
    assert_int_equal(result.confidence, CONFIDENCE_LIKELY);
    assert_true(judged_informs(&result, "estimated"));
    fake_run_free(run);
}

/* ---- prompt-not-masked ---- */

static struct audit *add_shares(struct fake_run *run, enum audit_basis basis, size_t n,
                                int32_t prompt, uint32_t flags)
{
    struct audit_row rows[MOST];

    for (size_t i = 0; i < n; i++)
        rows[i] = (struct audit_row){.n_tokens = 100,
                                     .n_prompt = prompt,
                                     .n_trained = 100,
                                     .n_trained_prompt = prompt,
                                     .flags = flags,
                                     .last_id = EOS};
    return fake_audit(run, "train", basis, rows, n);
}

static void a_supervised_prompt_fails_warns_or_passes_by_its_share(void **state)
{
    static const int32_t shares[] = {80, 79, 30, 29};
    static const enum verdict verdicts[] = {VERDICT_FAIL, VERDICT_WARN, VERDICT_WARN, VERDICT_PASS};

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct fake_run *run = fake_run_new(KIND_SFT);
        add_shares(run, AUDIT_SIMULATED, 40, shares[i], AUDIT_HAS_SIDES);
        expect(run, &check_prompt_not_masked, verdicts[i]);
        fake_run_free(run);
    }
}

static void half_of_it_fails_with_a_setting_that_says_so(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fake_run *run = fake_run_new(KIND_SFT);
        add_shares(run, AUDIT_SIMULATED, 40, 60, AUDIT_HAS_SIDES | AUDIT_ALL_TRAINED);
        if (i == 0)
            fake_setting(run, "train_on_inputs", "true");
        expect(run, &check_prompt_not_masked, i == 0 ? VERDICT_FAIL : VERDICT_WARN);
        fake_run_free(run);
    }
}

static void characters_stand_in_where_every_token_is_supervised(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct sample rows[10];
    for (int i = 0; i < 10; i++)
        rows[i] = (struct sample){.n_tokens = 100, .n_prompt_tokens = 89, .n_trained = -1};
    add_shares(run, AUDIT_RECORDED, 8, -1, AUDIT_ALL_TRAINED);
    fake_dataset(run, "train", "prompt-completion", 10);
    fake_samples(run, rows, 10);
    expect(run, &check_prompt_not_masked, VERDICT_FAIL);
    assert_int_equal(result.confidence, CONFIDENCE_LIKELY);
    fake_run_free(run);
}

static void outputs_that_echo_their_prompt_fail(void **state)
{
    (void)state;
    for (int n_echoes = 1; n_echoes <= 2; n_echoes++) {
        struct fake_run *run = fake_run_new(KIND_SFT);
        for (int i = 0; i < 4; i++) {
            struct generation made = {.source_id = FAKE_LOG,
                                      .ord = i,
                                      .row = NONE,
                                      .step = NONE,
                                      .model = "",
                                      .n_tokens = NONE,
                                      .max_new_tokens = NONE,
                                      .batch = NONE,
                                      .exact = -1,
                                      .flags = GENERATION_HAS_TEXT | GENERATION_HAS_PROMPT |
                                               (i < n_echoes ? GENERATION_ECHOES_PROMPT : 0)};
            fake_generation(run, &made);
        }
        expect(run, &check_prompt_not_masked, n_echoes == 2 ? VERDICT_FAIL : VERDICT_UNKNOWN);
        fake_run_free(run);
    }
}

/* ---- new-tokens-untrained ---- */

static void add_new_token(struct fake_run *run)
{
    fake_event(run, "new-tokens-untrained", "llf-resized-embeddings", NONE,
               "Resized token embeddings from 100 to 102");
    fake_capture(run, 1, "100");
    fake_capture(run, 2, "102");
    fake_setting(run, "finetuning_type", "lora");
    fake_setting_on(run, SIDE_TOKENIZER, "added_token.100", "<tool>");
}

static void new_tokens_in_rows_fail_unless_their_embeddings_are_trained(void **state)
{
    static const char *const trained[] = {NULL, "[\"embed_tokens\",\"lm_head\"]"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fake_run *run = fake_run_new(KIND_SFT);
        add_new_token(run);
        if (trained[i])
            fake_setting_on(run, SIDE_ADAPTER, "modules_to_save", trained[i]);
        struct audit_row rows[3] = {{.n_tokens = 9, .n_trained = 2, .flags = AUDIT_HAS_NEW_ID},
                                    {.n_tokens = 9, .n_trained = 2},
                                    {.n_tokens = 9, .n_trained = 2}};
        fake_audit(run, "train", AUDIT_RECORDED, rows, 3);
        expect(run, &check_new_tokens_untrained, trained[i] ? VERDICT_PASS : VERDICT_FAIL);
        fake_run_free(run);
    }
}

static void new_tokens_without_proof_of_use_warn(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    add_new_token(run);
    expect(run, &check_new_tokens_untrained, VERDICT_WARN);
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    add_new_token(run);
    fake_setting_on(run, SIDE_ADAPTER, "modules_to_save", "[\"embed_tokens\"]");
    fake_setting_on(run, SIDE_MODEL, "tie_word_embeddings", "false");
    expect(run, &check_new_tokens_untrained, VERDICT_WARN);
    assert_string_equal(result.branch, "half");
    fake_run_free(run);
}

static void a_new_token_that_ends_the_turn_says_so(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    add_new_token(run);
    fake_setting_on(run, SIDE_TOKENIZER, "eos_token", "<tool>");
    expect(run, &check_new_tokens_untrained, VERDICT_WARN);
    assert_string_equal(result.branch, "turn-end");
    fake_run_free(run);
}

/* ---- masks that are assumed, and rows that the trainer drops ---- */

static void all_masked_by_an_assumed_mask_is_a_warning(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fake_run *run = fake_run_new(KIND_SFT);
        struct audit *audit =
            add_rows(run, AUDIT_SIMULATED, 50, AUDIT_ALL_MASKED | AUDIT_NO_MARKER, -1);
        audit->marker = "Answer: ";
        audit->marker_ids = "[99, 220]";
        audit->nearest_ids = "[99, 17]";
        audit->nearest_text = "Answer:";
        if (i == 1)
            audit->assumption = "the old collator";
        expect(run, &check_flat_all_masked, i == 0 ? VERDICT_FAIL : VERDICT_WARN);
        assert_non_null(judged_with_text(&result, "[99, 220]"));
        assert_non_null(judged_with_text(&result, "[99, 17]"));
        fake_run_free(run);
    }
}

static void rows_that_the_trainer_drops_by_its_rule_count(void **state)
{
    static const size_t dropped[] = {10, 2, 1};
    static const enum verdict verdicts[] = {VERDICT_FAIL, VERDICT_WARN, VERDICT_UNKNOWN};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct fake_run *run = fake_run_new(KIND_SFT);
        add_cut_rows(run, 100, dropped[i], AUDIT_DROPPED | AUDIT_ALL_MASKED, 0);
        expect(run, &check_dropped_rows, verdicts[i]);
        fake_run_free(run);
    }
}

static void a_clean_sample_gives_way_to_all_rows_simulated(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    add_rows(run, AUDIT_RECORDED, 8, AUDIT_END_TRAINED, EOS)->is_sampled = true;
    add_cut_rows(run, 300, 6, AUDIT_ALL_MASKED | AUDIT_CUT | AUDIT_CUT_TO_NOTHING, 0);
    expect(run, &check_nan_all_masked_rows, VERDICT_WARN);
    assert_non_null(strstr(result.finding, "6 of 300"));
    fake_run_free(run);
}

static void ids_of_rows_beyond_the_vocabulary_are_named(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct audit *audit = add_rows(run, AUDIT_RECORDED, 3, AUDIT_BAD_ID, EOS);
    audit->max_id = 701;
    audit->max_id_row = 2;
    fake_setting_on(run, SIDE_MODEL, "vocab_size", "700");
    expect(run, &check_vocab_mismatch, VERDICT_FAIL);
    assert_non_null(judged_with_text(&result, "holds id 701"));
    fake_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_that_fill_the_limit_fail_from_a_tenth_on),
        cmocka_unit_test(answers_cut_inside_warn_from_a_fifth_on),
        cmocka_unit_test(recorded_masked_rows_count_as_cut_only_at_the_limit),
        cmocka_unit_test(long_rows_by_estimate_are_likely),
        cmocka_unit_test(a_supervised_prompt_fails_warns_or_passes_by_its_share),
        cmocka_unit_test(half_of_it_fails_with_a_setting_that_says_so),
        cmocka_unit_test(characters_stand_in_where_every_token_is_supervised),
        cmocka_unit_test(outputs_that_echo_their_prompt_fail),
        cmocka_unit_test(new_tokens_in_rows_fail_unless_their_embeddings_are_trained),
        cmocka_unit_test(new_tokens_without_proof_of_use_warn),
        cmocka_unit_test(a_new_token_that_ends_the_turn_says_so),
        cmocka_unit_test(all_masked_by_an_assumed_mask_is_a_warning),
        cmocka_unit_test(rows_that_the_trainer_drops_by_its_rule_count),
        cmocka_unit_test(a_clean_sample_gives_way_to_all_rows_simulated),
        cmocka_unit_test(ids_of_rows_beyond_the_vocabulary_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
