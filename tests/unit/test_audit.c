/* The audit of rows whose labels were recorded: what is counted in them, what of it is kept and when it is
 * made anew. Rows that are labelled here are test_audit_simulated.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "tests/harness/audited.h"

static int set_up(void **state)
{
    *state = imported_run_new();
    return 0;
}

static int tear_down(void **state)
{
    imported_run_free(*state);
    return 0;
}

static void write(const struct imported_run *run, const char *name, const char *text)
{
    tempdir_write_text(run->folder, name, text);
}
/* ChatML as Qwen has it: 151644 begins a turn, 151645 ends one, 151643 is the padding. */
static void write_tokenizer(const struct imported_run *run, const char *eos, const char *pad)
{
    char text[1024];

    snprintf(text, sizeof text,
             "{\"eos_token\": \"%s\", \"pad_token\": \"%s\", \"bos_token\": null,"
             " \"added_tokens_decoder\": {\"151643\": {\"content\": \"<|endoftext|>\"},"
             " \"151644\": {\"content\": \"<|im_start|>\"},"
             " \"151645\": {\"content\": \"<|im_end|>\"}}}",
             eos, pad);
    write(run, "tokenizer_config.json", text);
}

static const struct audit *audit_of(struct imported_run *run, const char *labels)
{
    write(run, "labels_sample.jsonl", labels);
    imported_run_audit(run, NULL);
    return facts_audit(run->facts, "train");
}

static void supervised_tokens_of_recorded_rows_are_counted(void **state)
{
    struct imported_run *run = *state;

    write_tokenizer(run, "<|im_end|>", "<|endoftext|>");
    const struct audit *audit = audit_of(
        run,
        "{\"input_ids\": [151644, 7, 8, 151645, 198], \"labels\": [-100, -100, 8, 151645, -100]}\n"
        "{\"input_ids\": [151644, 7], \"labels\": [-100, -100]}\n");

    assert_non_null(audit);
    assert_int_equal(audit->basis, AUDIT_RECORDED);
    assert_int_equal(audit->n_rows, 2);
    assert_int_equal(audit->n_tokens, 7);
    assert_int_equal(audit->n_trained, 2);
    assert_int_equal(audit->rows[0].n_trained, 2);
    assert_int_equal(audit->rows[0].n_prompt, 2);
    assert_int_equal(audit->rows[1].n_trained, 0);
    assert_int_equal(audited_flagged(audit, AUDIT_ALL_MASKED), 1);
    assert_int_equal(audited_flagged(audit, AUDIT_END_TRAINED), 1);
    assert_int_equal(audit->last_id, 151645);
    assert_string_equal(audit->last_text, "<|im_end|>");
    assert_true(audit->last_is_special);
    assert_true(audit->is_sampled);
}

static void a_newline_behind_the_end_of_turn_is_passed_over(void **state)
{
    struct imported_run *run = *state;

    write_tokenizer(run, "<|im_end|>", "<|endoftext|>");
    const struct audit *audit =
        audit_of(run, "{\"input_ids\": [9, 8, 151645, 198], \"labels\": [-100, 8, 151645, 198]}\n");

    assert_int_equal(audit->rows[0].last_id, 151645);
    assert_int_equal(audit->rows[0].n_trained, 3);
}

static void a_last_word_is_no_end_of_turn(void **state)
{
    struct imported_run *run = *state;

    write_tokenizer(run, "<|im_end|>", "<|endoftext|>");
    const struct audit *audit = audit_of(
        run, "{\"input_ids\": [9, 8, 10, 151645, 198], \"labels\": [-100, 8, 10, -100, -100]}\n");

    assert_int_equal(audit->rows[0].last_id, 10);
    assert_int_equal(audited_flagged(audit, AUDIT_END_TRAINED), 0);
}

static void padding_is_no_part_of_a_row(void **state)
{
    struct imported_run *run = *state;

    write_tokenizer(run, "<|im_end|>", "<|endoftext|>");
    const struct audit *audit =
        audit_of(run, "{\"input_ids\": [9, 8, 151645, 151643, 151643], \"labels\": [-100, 8, "
                      "151645, -100, -100]}\n"
                      "{\"input_ids\": [151643, 151643, 9, 8], \"labels\": [-100, -100, 9, 8]}\n"
                      "{\"input_ids\": [9, 8, 0, 0], \"labels\": [9, 8, -100, -100], "
                      "\"attention_mask\": [1, 1, 0, 0]}\n");

    assert_int_equal(audit->rows[0].n_tokens, 3);
    assert_int_equal(audit->rows[1].n_tokens, 2);
    assert_int_equal(audit->rows[2].n_tokens, 2);
    assert_int_equal(audited_flagged(audit, AUDIT_ALL_TRAINED), 2);
}

static void of_a_pad_that_ends_the_turn_the_first_one_stays(void **state)
{
    struct imported_run *run = *state;

    write_tokenizer(run, "<|im_end|>", "<|im_end|>");
    const struct audit *audit = audit_of(
        run,
        "{\"input_ids\": [9, 8, 151645, 151645, 151645], \"labels\": [-100, 8, -100, -100, -100]}\n"
        "{\"input_ids\": [9, 8, 151645, 151645], \"labels\": [-100, 8, 151645, -100]}\n");

    assert_int_equal(audit->rows[0].n_tokens, 3);
    assert_int_equal(audit->rows[1].n_tokens, 3);
    assert_int_equal(audited_flagged(audit, AUDIT_HAS_PAD_EOS), 2);
    assert_int_equal(audited_flagged(audit, AUDIT_PAD_EOS_TRAINED), 1);
}

static void two_bos_are_told_from_two_equal_words(void **state)
{
    struct imported_run *run = *state;

    write(run, "tokenizer_config.json",
          "{\"bos_token\": \"<s>\", \"eos_token\": \"</s>\","
          " \"added_tokens_decoder\": {\"1\": {\"content\": \"<s>\"}, \"2\": {\"content\": "
          "\"</s>\"}}}");
    const struct audit *audit =
        audit_of(run, "{\"input_ids\": [1, 1, 5], \"labels\": [1, 1, 5]}\n"
                      "{\"input_ids\": [5, 5, 2], \"labels\": [5, 5, 2]}\n"
                      "{\"input_ids\": [1, 5, 2], \"labels\": [1, 5, 2]}\n");

    assert_int_equal(audit->bos_id, 1);
    assert_int_equal(audited_flagged(audit, AUDIT_TWO_BOS), 1);
    assert_int_equal(audited_flagged(audit, AUDIT_STARTS_TWICE), 2);
}

static void a_masked_row_as_long_as_the_limit_was_cut(void **state)
{
    struct imported_run *run = *state;

    write(run, "training_args.json", "{\"max_length\": 4, \"learning_rate\": 0.001}");
    const struct audit *audit =
        audit_of(run, "{\"input_ids\": [5, 6, 7, 8], \"labels\": [-100, -100, -100, -100]}\n"
                      "{\"input_ids\": [5, 6, 7], \"labels\": [-100, -100, -100]}\n"
                      "{\"input_ids\": [5, 6, 7, 8], \"labels\": [-100, 6, 7, 8]}\n");

    assert_int_equal(audit->max_length, 4);
    assert_int_equal(audited_flagged(audit, AUDIT_ALL_MASKED), 2);
    assert_int_equal(audited_flagged(audit, AUDIT_CUT_TO_NOTHING), 1);
    assert_true(audit->rows[0].flags & AUDIT_PROMPT_FILLS);
    assert_false(audit->rows[1].flags & AUDIT_CUT);
}

static void without_a_stated_limit_the_longest_shared_length_is_it(void **state)
{
    struct imported_run *run = *state;
    const struct audit *audit =
        audit_of(run, "{\"input_ids\": [5, 6, 7], \"labels\": [-100, -100, -100]}\n"
                      "{\"input_ids\": [5, 6, 7], \"labels\": [-100, 6, 7]}\n"
                      "{\"input_ids\": [5, 6], \"labels\": [-100, -100]}\n");

    assert_int_equal(audit->max_length, 3);
    assert_int_equal(audited_flagged(audit, AUDIT_CUT_TO_NOTHING), 1);
}

static void ids_beyond_the_vocabularies_are_named(void **state)
{
    struct imported_run *run = *state;

    write(run, "base/config.json", "{\"model_type\": \"qwen2\", \"vocab_size\": 100}");
    write(run, "added_tokens.json", "{\"<tool>\": 100}");
    const struct audit *audit =
        audit_of(run, "{\"input_ids\": [5, 6], \"labels\": [5, 6]}\n"
                      "{\"input_ids\": [5, 100, 100], \"labels\": [5, 100, 100]}\n");

    assert_int_equal(audit->n_vocab, 100);
    assert_int_equal(audit->max_id, 100);
    assert_int_equal(audit->max_id_row, 1);
    assert_int_equal(audited_flagged(audit, AUDIT_BAD_ID), 1);
    assert_int_equal(audit->n_new_ids, 1);
    assert_int_equal(audit->new_ids[0].n_rows, 1);
    assert_string_equal(audit->new_ids[0].text, "<tool>");
}

static void a_batch_in_one_line_is_several_rows(void **state)
{
    struct imported_run *run = *state;
    const struct audit *audit =
        audit_of(run, "{\"input_ids\": [[5, 6], [7, 8]], \"labels\": [[-100, 6], [-100, -100]]}\n"
                      "{\"input_ids\": [5], \"labels\": [5]}\n");

    assert_int_equal(audit->n_rows, 3);
    assert_int_equal(audit->rows[1].n_trained, 0);
    assert_int_equal(audit->rows[2].n_trained, 1);
}

static void a_row_that_cannot_be_read_is_counted_and_named(void **state)
{
    struct imported_run *run = *state;
    const struct audit *audit = audit_of(run, "{\"input_ids\": [5, 6], \"labels\": [5, 6]}\n"
                                              "{\"input_ids\": [5, 6], \"labels\": [5]}\n"
                                              "{\"input_ids\": [5, \n");

    assert_int_equal(audit->n_rows, 3);
    assert_int_equal(audited_flagged(audit, AUDIT_UNREADABLE), 2);
    assert_int_equal(audit->first_refused_row, 1);
    assert_string_equal(audit->first_refusal, "input_ids and labels have different lengths");
}

static void ids_and_labels_are_whole_numbers(void **state)
{
    struct imported_run *run = *state;

    write_tokenizer(run, "<|im_end|>", "<|endoftext|>");
    const struct audit *audit =
        audit_of(run, "{\"input_ids\": [9, 8, 7], \"labels\": [-99.5, 8.5, 7]}\n"
                      "{\"input_ids\": [9.5, 8, 7], \"labels\": [-100, 8, 7]}\n"
                      "{\"input_ids\": [9.0, 8, 7], \"labels\": [-100.0, 8.0, 7]}\n");

    assert_int_equal(audited_flagged(audit, AUDIT_UNREADABLE), 2);
    assert_int_equal(audit->rows[2].n_trained, 2);
}

/* Of a batch with other lists, those that are missing are no labels. */
static void a_batch_of_uneven_lists_is_read_as_far_as_it_goes(void **state)
{
    struct imported_run *run = *state;

    write_tokenizer(run, "<|im_end|>", "<|endoftext|>");
    const struct audit *audit = audit_of(run, "{\"input_ids\": [[9, 8], [9, 7], [9]],"
                                              " \"labels\": [[-100, 8], [-100]]}\n");

    assert_int_equal(audit->n_rows, 3);
    assert_int_equal(audit->rows[0].n_trained, 1);
    assert_int_equal(audited_flagged(audit, AUDIT_UNREADABLE), 1);
    assert_int_equal(audit->rows[2].n_trained, -1);
}

static void evaluation_rows_are_a_split_of_their_own(void **state)
{
    struct imported_run *run = *state;

    write(run, "labels_sample_eval.jsonl", "{\"input_ids\": [5], \"labels\": [-100]}\n");
    const struct audit *audit = audit_of(run, "{\"input_ids\": [5], \"labels\": [5]}\n");
    const struct audit *eval = facts_audit(run->facts, "eval");
    size_t n;

    assert_int_equal(audit->n_trained, 1);
    assert_non_null(eval);
    assert_int_equal(audited_flagged(eval, AUDIT_ALL_MASKED), 1);
    (void)facts_audits(run->facts, &n);
    assert_int_equal(n, 2);
}

/* ---- Kept ---- */

static uint64_t hash_after_audit(struct imported_run *run, const char *labels)
{
    (void)audit_of(run, labels);
    return facts_audits_hash(run->facts);
}

static void an_unchanged_run_is_not_audited_again(void **state)
{
    struct imported_run *run = *state;
    static const char ROW[] = "{\"input_ids\": [5, 6], \"labels\": [-100, 6]}\n";

    uint64_t first = hash_after_audit(run, ROW);
    int64_t id = audited_id(run);
    imported_run_audit(run, NULL);
    assert_int_equal(audited_id(run), id);
    assert_true(facts_audits_hash(run->facts) == first);
    const struct audit *audit = facts_audit(run->facts, "train");
    assert_int_equal(audit->rows[0].n_trained, 1);
    assert_string_equal(audit->because, "labels_sample.jsonl");
}

static void a_changed_setting_makes_the_audit_anew(void **state)
{
    struct imported_run *run = *state;
    static const char ROW[] = "{\"input_ids\": [5, 6], \"labels\": [-100, -100]}\n";

    uint64_t first = hash_after_audit(run, ROW);
    write(run, "training_args.json", "{\"max_length\": 2, \"learning_rate\": 0.001}");
    assert_false(hash_after_audit(run, ROW) == first);
    assert_int_equal(audited_flagged(facts_audit(run->facts, "train"), AUDIT_CUT), 1);
}

static void facts_opened_before_the_audit_are_not_current_after_it(void **state)
{
    struct imported_run *run = *state;
    struct run_facts *before = NULL;

    write(run, "labels_sample.jsonl", "{\"input_ids\": [5], \"labels\": [5]}\n");
    imported_run_read(run);
    assert_int_equal(run_facts_open(&before, run->store, run->facts->run.id, &run->err), OK);
    assert_int_equal(audits_refresh(run->facts, run->store, NULL, &run->err), OK);
    assert_false(run_facts_are_current(before, run->store));
    assert_true(run_facts_are_current(run->facts, run->store));
    run_facts_close(before);
}

static int refuse(void *ctx, struct error *err)
{
    (void)ctx;
    return error_set(err, E_CANCELLED, "cancelled");
}

static void a_stopped_audit_keeps_what_was_counted_and_is_made_anew(void **state)
{
    struct imported_run *run = *state;
    const struct audit_hooks hooks = {.yield = refuse};
    struct buf text;

    buf_init(&text, 1 << 20);
    for (int i = 0; i < 600; i++)
        buf_puts(&text, "{\"input_ids\": [5], \"labels\": [5]}\n");
    write(run, "labels_sample.jsonl", text.p);
    buf_free(&text);
    imported_run_audit(run, &hooks);

    const struct audit *audit = facts_audit(run->facts, "train");
    assert_true(audit->is_partial);
    assert_int_equal(audit->n_rows, 256);
    assert_int_equal(audit->n_trained, 256);
    imported_run_audit(run, NULL);
    audit = facts_audit(run->facts, "train");
    assert_false(audit->is_partial);
    assert_int_equal(audit->n_rows, 600);
}

static void more_rows_than_a_block_come_back_as_they_were(void **state)
{
    struct imported_run *run = *state;
    struct buf text;

    buf_init(&text, 1 << 22);
    for (int i = 0; i < 5000; i++)
        buf_printf(&text, "{\"input_ids\": [%d, 6], \"labels\": [-100, %d]}\n", i,
                   i % 3 ? 6 : -100);
    const struct audit *audit = audit_of(run, text.p);
    buf_free(&text);

    assert_int_equal(audit->n_rows, 5000);
    for (int64_t i = 0; i < 5000; i++)
        assert_int_equal(audit->rows[i].n_trained, i % 3 ? 1 : 0);
    assert_int_equal(audit->max_id, 4999);
}

/* ---- Simulated rows ---- */
/* ---- One row again ---- */

static void a_window_shows_recorded_rows_of_a_batch(void **state)
{
    struct imported_run *run = *state;
    struct audit_window *window = NULL;
    const struct labelled_row *row;
    const struct audit *audit =
        audit_of(run, "{\"input_ids\": [5], \"labels\": [5]}\n"
                      "{\"input_ids\": [[6, 7], [8, 9]], \"labels\": [[-100, 7], [-100, -100]]}\n"
                      "{\"input_ids\": [4], \"labels\": [4]}\n");

    assert_int_equal(audit_window_open(&window, run->facts, audit, &run->err), OK);
    static const uint32_t FIRST[] = {5, 6, 8, 4};
    for (int64_t i = 3; i >= 0; i--) {
        assert_int_equal(audit_window_row(window, i, &row, NULL, &run->err), OK);
        assert_int_equal(row->ids[0], FIRST[i]);
    }
    audit_window_close(window);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(supervised_tokens_of_recorded_rows_are_counted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_newline_behind_the_end_of_turn_is_passed_over, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_last_word_is_no_end_of_turn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(padding_is_no_part_of_a_row, set_up, tear_down),
        cmocka_unit_test_setup_teardown(of_a_pad_that_ends_the_turn_the_first_one_stays, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(two_bos_are_told_from_two_equal_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_masked_row_as_long_as_the_limit_was_cut, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(without_a_stated_limit_the_longest_shared_length_is_it,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(ids_beyond_the_vocabularies_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_batch_in_one_line_is_several_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_row_that_cannot_be_read_is_counted_and_named, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(ids_and_labels_are_whole_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_batch_of_uneven_lists_is_read_as_far_as_it_goes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(evaluation_rows_are_a_split_of_their_own, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_unchanged_run_is_not_audited_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_changed_setting_makes_the_audit_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(facts_opened_before_the_audit_are_not_current_after_it,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stopped_audit_keeps_what_was_counted_and_is_made_anew,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_rows_than_a_block_come_back_as_they_were, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_window_shows_recorded_rows_of_a_batch, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
