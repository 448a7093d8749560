/* Token ids and labels against the model (C0.10, C0.11): a failing, a healthy and an undecided run
 * for each. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "core/checks/registry.h"
#include "tests/harness/judged.h"

static struct fake_run *sft(void)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    fake_line(run, "loss", 2, 1, 20);
    return run;
}

/* ---- vocab-mismatch, nan-label-out-of-range ---- */

static void the_embedding_assertion_is_about_ids_not_labels(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result ids, labels;

    (void)state;
    fake_event(run, "vocab-mismatch", "assert-embedding-cuda", NONE,
               "Assertion `srcIndex < srcSelectDimSize` failed")
        ->line = 5;
    fake_event(run, "nan-label-out-of-range", "device-side-assert", NONE,
               "RuntimeError: CUDA error: device-side assert triggered");
    fake_event(run, "vocab-mismatch", "device-side-assert", NONE,
               "RuntimeError: CUDA error: device-side assert triggered");
    fake_check(run, &check_vocab_mismatch, &ids);
    fake_check(run, &check_nan_label_out_of_range, &labels);
    assert_int_equal(ids.verdict, VERDICT_FAIL);
    assert_non_null(judged_at_line(&ids, 5));
    assert_int_equal(labels.verdict, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void an_added_token_past_the_embedding_fails(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_setting_on(run, SIDE_MODEL, "vocab_size", "125696");
    fake_setting_on(run, SIDE_TOKENIZER, "added_token.125696", "<pad>");
    fake_check(run, &check_vocab_mismatch, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_string_equal(r.branch, "ids");
    fake_run_free(run);
}

static void a_padded_matrix_passes(void **state)
{
    struct fake_run *run = sft();
    struct check_result r;

    (void)state;
    fake_setting_on(run, SIDE_MODEL, "vocab_size", "151936");
    fake_setting_on(run, SIDE_TOKENIZER, "max_token_id", "151668");
    fake_check(run, &check_vocab_mismatch, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    fake_run_free(run);
}

/* BERT's added tokens are 100 to 103 of 30522: they do not tell how far the vocabulary goes. */
static void added_tokens_inside_the_vocabulary_do_not_tell_its_end(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_setting_on(run, SIDE_MODEL, "vocab_size", "30522");
    fake_setting_on(run, SIDE_TOKENIZER, "added_token.103", "[MASK]");
    fake_check(run, &check_vocab_mismatch, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    fake_run_free(run);
    run = fake_run_new(KIND_SFT);
    fake_setting_on(run, SIDE_MODEL, "vocab_size", "151936");
    fake_setting_on(run, SIDE_TOKENIZER, "added_token.151664", "<|im_end|>");
    fake_check(run, &check_vocab_mismatch, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    fake_run_free(run);
}

static void resized_rows_in_the_adapter_count(void **state)
{
    const struct tensor rows = {.name = "base_model.model.model.embed_tokens.weight",
                                .dtype = "F32",
                                .shape = "[125704,64]",
                                .norm = NAN,
                                .n_values = NONE,
                                .n_nonzero = NONE,
                                .n_nonfinite = NONE, .delta_norm = NAN};
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_setting_on(run, SIDE_MODEL, "vocab_size", "125696");
    fake_setting_on(run, SIDE_TOKENIZER, "added_token.125696", "<pad>");
    fake_artefact(run, "adapter", "adapter_model.safetensors", NONE);
    fake_tensors(run, &rows, 1);
    fake_check(run, &check_vocab_mismatch, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    fake_run_free(run);
}

static void ids_without_rows_are_unknown(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_check(run, &check_vocab_mismatch, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    assert_int_equal(r.n_missing, 2);
    fake_run_free(run);
}

static void a_target_out_of_bounds_names_the_label(void **state)
{
    struct fake_run *run = fake_run_new(KIND_CLASSIFICATION);
    struct check_result r;

    (void)state;
    fake_setting_on(run, SIDE_MODEL, "num_labels", "3");
    fake_event(run, "nan-label-out-of-range", "target-out-of-bounds", 1,
               "IndexError: Target 3 is out of bounds.")
        ->line = 66;
    fake_capture(run, 1, "3");
    fake_check(run, &check_nan_label_out_of_range, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_non_null(strstr(r.finding, "label 3"));
    assert_non_null(judged_at_line(&r, 66));
    fake_run_free(run);
}

static void labels_of_the_rows_are_held_against_the_classes(void **state)
{
    struct fake_run *run = fake_run_new(KIND_CLASSIFICATION);
    struct check_result r;

    (void)state;
    fake_setting_on(run, SIDE_MODEL, "num_labels", "3");
    fake_setting(run, "rows.max_label", "3");
    fake_setting(run, "rows.min_label", "0");
    fake_check(run, &check_nan_label_out_of_range, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_string_equal(r.branch, "labels");
    fake_run_free(run);

    run = fake_run_new(KIND_CLASSIFICATION);
    fake_setting_on(run, SIDE_MODEL, "num_labels", "4");
    fake_setting(run, "rows.max_label", "3");
    fake_setting(run, "rows.min_label", "0");
    fake_check(run, &check_nan_label_out_of_range, &r);
    assert_int_equal(r.verdict, VERDICT_PASS);
    fake_run_free(run);

    run = fake_run_new(KIND_CLASSIFICATION);
    fake_setting_on(run, SIDE_MODEL, "num_labels", "4");
    fake_setting(run, "rows.max_label", "3");
    fake_setting(run, "rows.min_label", "-1");
    fake_check(run, &check_nan_label_out_of_range, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    fake_run_free(run);
}

static void labels_that_were_trained_on_are_inside_some_other_range(void **state)
{
    struct fake_run *run = sft();
    struct check_result r;

    (void)state;
    fake_decided(run)->run.kind = KIND_CLASSIFICATION;
    fake_setting_on(run, SIDE_MODEL, "num_labels", "2");
    fake_setting(run, "rows.max_label", "4");
    fake_setting(run, "rows.min_label", "0");
    fake_check(run, &check_nan_label_out_of_range, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void a_sampled_id_past_the_embedding_is_about_ids(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result ids, labels;

    (void)state;
    fake_setting_on(run, SIDE_MODEL, "vocab_size", "32000");
    fake_setting(run, "rows.max_label", "32001");
    fake_setting(run, "rows.min_label", "3");
    fake_setting(run, "rows.max_input_id", "32001");
    fake_check(run, &check_vocab_mismatch, &ids);
    fake_check(run, &check_nan_label_out_of_range, &labels);
    assert_int_equal(ids.verdict, VERDICT_FAIL);
    assert_int_equal(labels.verdict, VERDICT_UNKNOWN);
    fake_run_free(run);

    run = fake_run_new(KIND_SFT);
    fake_setting_on(run, SIDE_MODEL, "vocab_size", "32000");
    fake_setting(run, "rows.max_label", "32001");
    fake_setting(run, "rows.min_label", "3");
    fake_setting(run, "rows.max_input_id", "31000");
    fake_check(run, &check_vocab_mismatch, &ids);
    fake_check(run, &check_nan_label_out_of_range, &labels);
    assert_int_equal(ids.verdict, VERDICT_UNKNOWN);
    assert_int_equal(labels.verdict, VERDICT_FAIL);
    fake_run_free(run);
}

static void rows_that_trained_say_nothing_of_the_other_labels(void **state)
{
    struct fake_run *run = sft();
    struct check_result r;

    (void)state;
    fake_check(run, &check_nan_label_out_of_range, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    assert_int_equal(r.n_information, 1);
    fake_check(run, &check_vocab_mismatch, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    assert_int_equal(r.n_information, 1);
    fake_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_embedding_assertion_is_about_ids_not_labels),
        cmocka_unit_test(an_added_token_past_the_embedding_fails),
        cmocka_unit_test(a_padded_matrix_passes),
        cmocka_unit_test(added_tokens_inside_the_vocabulary_do_not_tell_its_end),
        cmocka_unit_test(resized_rows_in_the_adapter_count),
        cmocka_unit_test(ids_without_rows_are_unknown),
        cmocka_unit_test(a_target_out_of_bounds_names_the_label),
        cmocka_unit_test(labels_of_the_rows_are_held_against_the_classes),
        cmocka_unit_test(labels_that_were_trained_on_are_inside_some_other_range),
        cmocka_unit_test(a_sampled_id_past_the_embedding_is_about_ids),
        cmocka_unit_test(rows_that_trained_say_nothing_of_the_other_labels),
    };
    return cmocka_run_group_tests_name("checks_ids", tests, NULL, NULL);
}
