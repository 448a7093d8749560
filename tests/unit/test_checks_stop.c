/* Checks of the tokens around an answer: is its end supervised and a stop token, padding, two BOS.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/checks/registry.h"
#include "tests/harness/judged.h"

enum { EOS = 2, WORD = 500, MOST = 64 };

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

/* ---- never-stops ---- */

static void rows_that_lack_a_stop_fail_with_the_row_and_the_token(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    add_rows(run, AUDIT_RECORDED, 8, 0, WORD)->last_text = "lamp";
    expect(run, &check_never_stops, VERDICT_FAIL);
    assert_int_equal(result.evidence[0].row, 0);
    assert_non_null(judged_with_text(&result, "lamp (500)"));
    assert_non_null(judged_with_text(&result, "</s> (2)"));
    fake_run_free(run);
}

static void four_rows_without_a_stop_warn(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    add_rows(run, AUDIT_RECORDED, 4, 0, WORD)->last_text = "lamp";
    expect(run, &check_never_stops, VERDICT_WARN);
    fake_run_free(run);
}

/* What cannot be decoded may be the newline behind the stop. */
static void without_the_vocabulary_a_missing_stop_is_a_warning(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    add_rows(run, AUDIT_RECORDED, 8, 0, WORD);
    expect(run, &check_never_stops, VERDICT_WARN);
    fake_run_free(run);
}

static void an_assumed_mask_warns_at_most(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct audit *audit = add_rows(run, AUDIT_SIMULATED, 50, 0, WORD);
    audit->last_text = "lamp";
    audit->assumption = "TRL 1.15 or later";
    expect(run, &check_never_stops, VERDICT_WARN);
    assert_int_equal(result.confidence, CONFIDENCE_LIKELY);
    assert_true(judged_informs(&result, "TRL 1.15 or later"));
    fake_run_free(run);
}

static void a_small_sample_with_stops_is_not_the_whole(void **state)
{
    (void)state;
    for (int is_sampled = 0; is_sampled < 2; is_sampled++) {
        struct fake_run *run = fake_run_new(KIND_SFT);
        add_rows(run, AUDIT_RECORDED, 8, AUDIT_END_TRAINED, EOS)->is_sampled = is_sampled;
        expect(run, &check_never_stops, is_sampled ? VERDICT_UNKNOWN : VERDICT_PASS);
        fake_run_free(run);
    }
    struct fake_run *run = fake_run_new(KIND_SFT);
    add_rows(run, AUDIT_RECORDED, 40, AUDIT_END_TRAINED, EOS)->is_sampled = true;
    expect(run, &check_never_stops, VERDICT_PASS);
    assert_int_equal(result.confidence, CONFIDENCE_STRONG);
    fake_run_free(run);
}

static void rows_that_the_cut_shortened_are_left_out(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct audit_row rows[20];
    for (size_t i = 0; i < 20; i++)
        rows[i] =
            (struct audit_row){.n_tokens = 100,
                               .n_prompt = 40,
                               .n_trained = 50,
                               .flags = i < 10 ? AUDIT_CUT | AUDIT_CUT_ANSWER : AUDIT_END_TRAINED,
                               .last_id = i < 10 ? WORD : EOS};
    fake_audit(run, "train", AUDIT_SIMULATED, rows, 20)->eos_id = EOS;
    expect(run, &check_never_stops, VERDICT_PASS);
    assert_true(judged_informs(&result, "10 rows are left out"));
    fake_run_free(run);
}

static void a_stop_of_the_generation_config_counts(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    fake_setting_on(run, SIDE_GENERATION, "eos_token_id", "[500, 2]");
    add_rows(run, AUDIT_RECORDED, 8, 0, WORD)->last_text = "<|im_end|>";
    expect(run, &check_never_stops, VERDICT_PASS);
    fake_run_free(run);
}

/* The template's end of turn is a stop even where the tokenizer's EOS is another token. */
static void a_special_token_that_the_rows_end_with_is_a_stop(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct audit *audit = add_rows(run, AUDIT_RECORDED, 8, 0, WORD);
    audit->last_text = "<|im_end|>";
    audit->last_is_special = true;
    expect(run, &check_never_stops, VERDICT_PASS);
    fake_run_free(run);
}

static void add_outputs(struct fake_run *run, size_t n, size_t n_long, const char *model)
{
    for (size_t i = 0; i < n; i++) {
        struct generation made = {.source_id = FAKE_LOG,
                                  .ord = (int64_t)i,
                                  .row = NONE,
                                  .step = NONE,
                                  .model = model,
                                  .finish_reason = i < n_long ? "length" : "stop",
                                  .n_tokens = 64,
                                  .max_new_tokens = 64,
                                  .batch = NONE,
                                  .exact = -1};
        fake_generation(run, &made);
    }
}

static void outputs_that_run_to_the_limit_warn_where_labels_are_not_known(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    add_outputs(run, 6, 3, "finetuned");
    expect(run, &check_never_stops, VERDICT_WARN);
    assert_string_equal(result.branch, "generations");
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    add_outputs(run, 6, 2, "finetuned");
    expect(run, &check_never_stops, VERDICT_UNKNOWN);
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    add_outputs(run, 6, 6, "base");
    expect(run, &check_never_stops, VERDICT_UNKNOWN);
    fake_run_free(run);
}

/* ---- pad-equals-eos ---- */

static void pad_that_is_eos_fails_only_where_it_is_never_supervised(void **state)
{
    (void)state;
    for (int is_trained = 0; is_trained < 2; is_trained++) {
        struct fake_run *run = fake_run_new(KIND_SFT);
        uint32_t flags = AUDIT_HAS_PAD_EOS | (is_trained ? AUDIT_PAD_EOS_TRAINED : 0);
        add_rows(run, AUDIT_RECORDED, 4, flags, WORD)->pad_id = EOS;
        expect(run, &check_pad_equals_eos, is_trained ? VERDICT_PASS : VERDICT_FAIL);
        fake_run_free(run);
    }
}

static void pad_that_is_eos_without_labels_is_open_or_the_collators_fault(void **state)
{
    (void)state;
    for (int masks = 0; masks < 2; masks++) {
        struct fake_run *run = fake_run_new(KIND_SFT);
        fake_setting_on(run, SIDE_TOKENIZER, "pad_token", "</s>");
        fake_setting_on(run, SIDE_TOKENIZER, "eos_token", "</s>");
        if (masks)
            fake_setting(run, "response_template", "### Response:");
        expect(run, &check_pad_equals_eos, masks ? VERDICT_WARN : VERDICT_UNKNOWN);
        fake_run_free(run);
    }
}

static void different_tokens_pass_and_classification_is_not_asked(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fake_run *run = fake_run_new(i == 0 ? KIND_SFT : KIND_CLASSIFICATION);
        fake_setting_on(run, SIDE_TOKENIZER, "pad_token", "<pad>");
        fake_setting_on(run, SIDE_TOKENIZER, "eos_token", "</s>");
        expect(run, &check_pad_equals_eos, i == 0 ? VERDICT_PASS : VERDICT_NOT_APPLICABLE);
        fake_run_free(run);
    }
}

/* ---- eos-config-mismatch ---- */

static struct audit *add_ended_rows(struct fake_run *run)
{
    struct audit *audit = add_rows(run, AUDIT_RECORDED, 8, AUDIT_END_TRAINED, 7);

    audit->last_text = "<|im_end|>";
    audit->last_is_special = true;
    return audit;
}

static void an_end_that_generation_does_not_stop_at_fails(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    add_ended_rows(run);
    fake_setting_on(run, SIDE_GENERATION, "eos_token_id", "2");
    expect(run, &check_eos_config_mismatch, VERDICT_FAIL);
    assert_non_null(strstr(result.finding, "<|im_end|> (7)"));
    assert_true(judged_offers(&result, "eos_token_id = [7, 2]"));
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    add_ended_rows(run);
    fake_setting_on(run, SIDE_GENERATION, "eos_token_id", "[7, 2]");
    expect(run, &check_eos_config_mismatch, VERDICT_PASS);
    fake_run_free(run);
}

static void without_a_generation_config_another_eos_warns(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    add_ended_rows(run);
    expect(run, &check_eos_config_mismatch, VERDICT_WARN);
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    add_ended_rows(run);
    fake_setting_on(run, SIDE_MODEL, "eos_token_id", "[2, 7]");
    expect(run, &check_eos_config_mismatch, VERDICT_PASS);
    fake_run_free(run);
}

static void rows_that_end_with_a_word_are_another_question(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    add_rows(run, AUDIT_RECORDED, 8, 0, WORD);
    fake_setting_on(run, SIDE_GENERATION, "eos_token_id", "2");
    expect(run, &check_eos_config_mismatch, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void empty_outputs_beside_a_pad_that_stops_fail(void **state)
{
    (void)state;
    for (int is_empty = 0; is_empty < 2; is_empty++) {
        struct fake_run *run = fake_run_new(KIND_SFT);
        add_ended_rows(run);
        fake_setting_on(run, SIDE_GENERATION, "eos_token_id", "[7, 0]");
        fake_setting_on(run, SIDE_GENERATION, "pad_token_id", "0");
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
                                      .flags = GENERATION_HAS_TEXT |
                                               (is_empty ? GENERATION_IS_EMPTY : 0)};
            fake_generation(run, &made);
        }
        expect(run, &check_eos_config_mismatch, is_empty ? VERDICT_FAIL : VERDICT_PASS);
        fake_run_free(run);
    }
}

/* ---- double-bos ---- */

static void two_bos_in_half_of_the_rows_fail(void **state)
{
    (void)state;
    for (int half = 0; half < 2; half++) {
        struct fake_run *run = fake_run_new(KIND_SFT);
        struct audit_row rows[10];
        for (int i = 0; i < 10; i++)
            rows[i] = (struct audit_row){.n_tokens = 9,
                                         .n_prompt = -1,
                                         .n_trained = 3,
                                         .flags = i < (half ? 5 : 4) ? AUDIT_TWO_BOS : 0,
                                         .last_id = 2};
        fake_audit(run, "train", AUDIT_RECORDED, rows, 10)->bos_id = 1;
        expect(run, &check_double_bos, half ? VERDICT_FAIL : VERDICT_UNKNOWN);
        if (half)
            assert_int_equal(result.evidence[0].token, 1);
        fake_run_free(run);
    }
}

static void a_bos_that_is_the_pad_token_too_may_be_padding(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct audit *audit = add_rows(run, AUDIT_RECORDED, 8, AUDIT_TWO_BOS, EOS);
    audit->pad_id = audit->bos_id;
    expect(run, &check_double_bos, VERDICT_WARN);
    assert_int_equal(result.confidence, CONFIDENCE_POSSIBLE);
    fake_run_free(run);
}

static void what_the_server_said_fails_and_what_was_mended_informs(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    fake_event(run, "double-bos", "llamacpp-double-bos", NONE, "Added a BOS token …");
    expect(run, &check_double_bos, VERDICT_FAIL);
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    fake_event(run, "double-bos", "unsloth-double-bos", NONE, "We found double BOS tokens …");
    expect(run, &check_double_bos, VERDICT_UNKNOWN);
    assert_true(judged_informs(&result, "took one out"));
    fake_run_free(run);
}

/* ---- padding-side ---- */

static void add_batch(struct fake_run *run, int64_t batch, int64_t prompt, int64_t output)
{
    struct generation made = {.source_id = FAKE_LOG,
                              .ord = batch,
                              .row = NONE,
                              .step = NONE,
                              .model = "",
                              .n_tokens = NONE,
                              .max_new_tokens = NONE,
                              .batch = batch,
                              .exact = -1,
                              .flags = GENERATION_HAS_TEXT,
                              .prompt_hash = prompt,
                              .output_hash = output};
    fake_generation(run, &made);
}

static void the_right_padding_line_fails_unless_batches_hold_one_row(void **state)
{
    static const int64_t batches[] = {NONE, 4, 1};
    static const enum confidence sure[] = {CONFIDENCE_LIKELY, CONFIDENCE_CERTAIN,
                                           CONFIDENCE_STRONG};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct fake_run *run = fake_run_new(KIND_SFT);
        fake_event(run, "padding-side", "right-padding-generation", NONE,
                   "right-padding was detected");
        if (batches[i] != NONE)
            add_batch(run, batches[i], 3, 4);
        expect(run, &check_padding_side, i < 2 ? VERDICT_FAIL : VERDICT_PASS);
        assert_int_equal(result.confidence, sure[i]);
        fake_run_free(run);
    }
}

static void right_padding_in_the_tokenizer_alone_says_nothing(void **state)
{
    (void)state;
    struct fake_run *run = fake_run_new(KIND_SFT);
    fake_setting_on(run, SIDE_TOKENIZER, "padding_side", "right");
    expect(run, &check_padding_side, VERDICT_UNKNOWN);
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    fake_setting_on(run, SIDE_TOKENIZER, "padding_side", "right");
    for (int64_t i = 0; i < 4; i++) {
        add_batch(run, 1, 10 + i, 20 + i);
        add_batch(run, 8, 10 + i, 30 + i);
    }
    expect(run, &check_padding_side, VERDICT_WARN);
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    fake_setting_on(run, SIDE_TOKENIZER, "padding_side", "right");
    fake_setting_on(run, SIDE_SERVE, "padding_side", "left");
    expect(run, &check_padding_side, VERDICT_PASS);
    fake_run_free(run);
    run = fake_run_new(KIND_SEQ2SEQ);
    expect(run, &check_padding_side, VERDICT_NOT_APPLICABLE);
    fake_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_lack_a_stop_fail_with_the_row_and_the_token),
        cmocka_unit_test(four_rows_without_a_stop_warn),
        cmocka_unit_test(without_the_vocabulary_a_missing_stop_is_a_warning),
        cmocka_unit_test(an_assumed_mask_warns_at_most),
        cmocka_unit_test(a_small_sample_with_stops_is_not_the_whole),
        cmocka_unit_test(rows_that_the_cut_shortened_are_left_out),
        cmocka_unit_test(a_stop_of_the_generation_config_counts),
        cmocka_unit_test(a_special_token_that_the_rows_end_with_is_a_stop),
        cmocka_unit_test(outputs_that_run_to_the_limit_warn_where_labels_are_not_known),
        cmocka_unit_test(pad_that_is_eos_fails_only_where_it_is_never_supervised),
        cmocka_unit_test(pad_that_is_eos_without_labels_is_open_or_the_collators_fault),
        cmocka_unit_test(different_tokens_pass_and_classification_is_not_asked),
        cmocka_unit_test(an_end_that_generation_does_not_stop_at_fails),
        cmocka_unit_test(without_a_generation_config_another_eos_warns),
        cmocka_unit_test(rows_that_end_with_a_word_are_another_question),
        cmocka_unit_test(empty_outputs_beside_a_pad_that_stops_fail),
        cmocka_unit_test(two_bos_in_half_of_the_rows_fail),
        cmocka_unit_test(a_bos_that_is_the_pad_token_too_may_be_padding),
        cmocka_unit_test(what_the_server_said_fails_and_what_was_mended_informs),
        cmocka_unit_test(the_right_padding_line_fails_unless_batches_hold_one_row),
        cmocka_unit_test(right_padding_in_the_tokenizer_alone_says_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
