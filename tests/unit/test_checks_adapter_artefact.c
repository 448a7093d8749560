/* Is what was evaluated what is deployed, was it merged in 16 bit, do tied embeddings stay tied (C1.5 to
 * C1.7)? */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/checks/registry.h"
#include "core/checks/verdicts.h"
#include "tests/harness/judged.h"

static struct fake_run *lora(void)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    fake_setting_on(run, SIDE_ADAPTER, "peft_type", "LORA");
    return run;
}

/* ---- wrong-artefact ---- */

struct record {
    const char *artefact, *sha256, *quantization, *step;
};

static void deployed(struct fake_run *run, const struct record *record)
{
    int64_t source = fake_source(run, "/fake/deploy.json", "side_files");
    const char *const names[] = {"artefact", "sha256", "quantization", "step"};
    const char *const values[] = {record->artefact, record->sha256, record->quantization, record->step};

    for (size_t i = 0; i < 4; i++)
        if (values[i]) {
            fake_setting_on(run, SIDE_SERVE, names[i], values[i]);
            fake_last_setting(run)->source_id = source;
            if (i < 3)
                fake_last_setting(run)->type = VALUE_TEXT;
        }
}

static void evaluated(struct fake_run *run, const char *artefact, const char *sha256, int64_t step)
{
    fake_suite(run, "ft", "task", 80, 100);
    fake_last_suite(run)->artefact = artefact;
    fake_last_suite(run)->sha256 = sha256;
    fake_last_suite(run)->step = step;
}

static const char *branch_of(const char *artefact, const char *sha256, int64_t step,
                             struct record record, enum verdict verdict)
{
    static char branch[32];
    struct fake_run *run = lora();
    struct check_result r;

    evaluated(run, artefact, sha256, step);
    deployed(run, &record);
    judged_expect(run, &check_wrong_artefact, verdict, &r);
    strncpy(branch, r.branch ? r.branch : "", sizeof branch - 1);
    fake_run_free(run);
    return branch;
}

static void another_hash_fails(void **state)
{
    (void)state;
    assert_string_equal(branch_of("adapter+bf16 base", "a1c4e0", NONE,
                                  (struct record){"desk-q4_k_m.gguf", "77d01b", "Q4_K_M", NULL},
                                  VERDICT_FAIL),
                        "hash");
}

static void the_same_hash_under_another_path_passes(void **state)
{
    (void)state;
    (void)branch_of("run/checkpoint-260/adapter_model.safetensors", "09AB7EA25AF4", NONE,
                    (struct record){"release/adapter_model.safetensors", "09ab7ea25af4271771", NULL, NULL},
                    VERDICT_PASS);
}

static void a_quantised_file_that_was_evaluated_itself_passes(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    evaluated(run, "adapter+bf16 base", "a1c4e0", NONE);
    fake_suite(run, "q4", "task", 78, 100);
    fake_last_suite(run)->sha256 = "77d01b";
    deployed(run, &(struct record){"desk-q4_k_m.gguf", "77d01b", "Q4_K_M", NULL});
    judged_expect(run, &check_wrong_artefact, VERDICT_PASS, &r);
    fake_run_free(run);
}

static void an_evaluation_in_four_bit_is_a_note_beside_the_same_bytes(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    evaluated(run, "desk", "a1c4e0", NONE);
    deployed(run, &(struct record){"desk", "a1c4e0", NULL, NULL});
    fake_setting_on(run, SIDE_EVAL, "lm_eval.load_in_4bit", "True");
    judged_expect(run, &check_wrong_artefact, VERDICT_PASS, &r);
    assert_int_equal(r.n_information, 1);
    assert_non_null(strstr(r.information[0], "in 4 bit"));
    fake_run_free(run);
    run = lora();
    evaluated(run, "desk", "a1c4e0", NONE);
    deployed(run, &(struct record){"desk", "a1c4e0", NULL, NULL});
    fake_setting_on(run, SIDE_EVAL, "lm_eval.load_in_4bit", "False");
    judged_expect(run, &check_wrong_artefact, VERDICT_PASS, &r);
    assert_int_equal(r.n_information, 0);
    fake_run_free(run);
}

static void another_kind_of_file_fails(void **state)
{
    (void)state;
    assert_string_equal(branch_of("adapter on bf16 base", NULL, NONE,
                                  (struct record){"merged/model.safetensors", NULL, NULL, NULL},
                                  VERDICT_FAIL),
                        "kind");
    assert_string_equal(branch_of("merged/model.safetensors", "aabbccdd", NONE,
                                  (struct record){"desk.gguf", NULL, NULL, NULL}, VERDICT_FAIL),
                        "kind");
}

static void another_step_fails(void **state)
{
    (void)state;
    assert_string_equal(
        branch_of("out/checkpoint-260", NULL, 260, (struct record){NULL, NULL, NULL, "130"}, VERDICT_FAIL),
        "step");
    (void)branch_of("out/checkpoint-260", NULL, 260, (struct record){NULL, NULL, NULL, "260"},
                    VERDICT_UNKNOWN);
}

static void names_alone_warn(void **state)
{
    (void)state;
    assert_string_equal(branch_of("out/v3/model.safetensors", NULL, NONE,
                                  (struct record){"out/v4/model.safetensors", NULL, NULL, NULL},
                                  VERDICT_WARN),
                        "name");
}

static void one_side_alone_is_undecided(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    evaluated(run, "run/adapter_model.safetensors", "a1c4e0", NONE);
    judged_expect(run, &check_wrong_artefact, VERDICT_UNKNOWN, &r);
    fake_run_free(run);

    run = lora();
    deployed(run, &(struct record){"desk.gguf", "77d01b", NULL, NULL});
    judged_expect(run, &check_wrong_artefact, VERDICT_UNKNOWN, &r);
    fake_run_free(run);
}

static void a_file_that_is_not_what_its_record_says_fails(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    fake_artefact(run, "adapter", "/fake/release/adapter_model.safetensors", NONE);
    fake_last_artefact(run)->role = "served";
    fake_last_artefact(run)->sha256 = "ccccccc3";
    evaluated(run, "run/adapter_model.safetensors", "bbbbbbb2", NONE);
    deployed(run, &(struct record){"release/adapter_model.safetensors", "bbbbbbb2", NULL, NULL});
    judged_expect(run, &check_wrong_artefact, VERDICT_FAIL, &r);
    assert_string_equal(r.branch, "file");
    fake_run_free(run);
}

static enum verdict unused(const char *names)
{
    struct fake_run *run = lora();
    struct check_result r;

    fake_event(run, "wrong-artefact", "weights-not-used", NONE, "were not used when initializing");
    fake_capture(run, 3, names);
    fake_check(run, &check_wrong_artefact, &r);
    enum verdict verdict = r.verdict;
    fake_run_free(run);
    return verdict;
}

static void weights_that_were_left_out_warn(void **state)
{
    (void)state;
    assert_int_equal(unused("['base_model.model.lm_head.weight']"), VERDICT_WARN);
    assert_int_equal(unused("['model.layers.0.mlp.down_proj.base_layer.weight']"), VERDICT_WARN);
    assert_int_equal(unused("['lm_head.weight', 'cls.predictions.bias']"), VERDICT_UNKNOWN);
    assert_int_equal(unused("['bert.pooler.dense.weight', 'classifier.bias']"), VERDICT_UNKNOWN);
    assert_int_equal(unused("['transformer.h.0.attn.masked_bias']"), VERDICT_UNKNOWN);
}

/* ---- merged-into-quantised ---- */

static void the_merges_warning_fails(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    fake_event(run, "merged-into-quantised", "merge-into-quantised", NONE, "Merge lora module to 4-bit");
    fake_capture(run, 1, "4");
    judged_expect(run, &check_merged_into_quantised, VERDICT_FAIL, &r);
    assert_non_null(strstr(r.finding, "4-bit"));
    fake_run_free(run);
}

static void merged_config(struct fake_run *run, const char *method, const char *key, bool has_weights)
{
    int64_t source = fake_source(run, "/fake/merged/config.json", "hf_model");

    fake_last_source(run)->role = "merged";
    if (method) {
        fake_setting_on(run, SIDE_MODEL, "quantization_config.quant_method", method);
        fake_last_setting(run)->source_id = source;
        fake_setting_on(run, SIDE_MODEL, key, "true");
        fake_last_setting(run)->source_id = source;
    }
    if (has_weights)
        fake_artefact(run, "base", "/fake/merged/model.safetensors", NONE);
}

static enum verdict merged(const char *method, const char *key, bool has_weights)
{
    struct fake_run *run = lora();
    struct check_result r;

    merged_config(run, method, key, has_weights);
    fake_check(run, &check_merged_into_quantised, &r);
    enum verdict verdict = r.verdict;
    fake_run_free(run);
    return verdict;
}

static void the_merged_config_tells_what_was_merged_into(void **state)
{
    (void)state;
    assert_int_equal(merged("bitsandbytes", "quantization_config.load_in_4bit", true), VERDICT_FAIL);
    assert_int_equal(merged("bitsandbytes", "quantization_config.load_in_8bit", false), VERDICT_WARN);
    assert_int_equal(merged("gptq", "quantization_config.desc_act", true), VERDICT_UNKNOWN);
    assert_int_equal(merged(NULL, NULL, true), VERDICT_PASS);
}

static void nothing_merged_is_not_applicable(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    judged_expect(run, &check_merged_into_quantised, VERDICT_NOT_APPLICABLE, &r);
    fake_run_free(run);
}

static void say(struct fake_run *run, const char *model, int64_t prompt, int64_t output)
{
    const struct generation g = {.source_id = FAKE_LOG,
                                 .row = NONE,
                                 .step = NONE,
                                 .model = model,
                                 .exact = -1,
                                 .flags = GENERATION_HAS_TEXT,
                                 .prompt_hash = prompt,
                                 .output_hash = output};

    fake_generation(run, &g);
}

static void a_merge_that_answers_as_the_base_fails(void **state)
{
    struct fake_run *run = lora();
    struct check_result lost, loaded;

    (void)state;
    for (int64_t i = 1; i <= 3; i++) {
        say(run, "base", i, 10 + i);
        say(run, "adapter", i, 20 + i);
        say(run, "merged", i, 10 + i);
    }
    judged_expect(run, &check_merged_into_quantised, VERDICT_FAIL, &lost);
    assert_string_equal(lost.branch, "outputs");
    judged_expect(run, &check_adapter_not_loaded, VERDICT_PASS, &loaded);
    fake_run_free(run);
}

/* ---- tied-embeddings-saved ---- */

static void a_tied_head_that_is_trained_by_itself_fails(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    fake_setting_on(run, SIDE_MODEL, "tie_word_embeddings", "true");
    fake_setting_on(run, SIDE_ADAPTER, "modules_to_save", "[\"lm_head\"]");
    judged_expect(run, &check_tied_embeddings_saved, VERDICT_FAIL, &r);
    assert_string_equal(r.branch, "trained");
    fake_run_free(run);
}

static void tying_that_is_kept_passes(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    fake_setting_on(run, SIDE_MODEL, "tie_word_embeddings", "true");
    fake_setting_on(run, SIDE_ADAPTER, "modules_to_save", "[\"lm_head\",\"embed_tokens\"]");
    fake_setting_on(run, SIDE_ADAPTER, "ensure_weight_tying", "true");
    fake_event(run, "tied-embeddings-saved", "shared-tensor-removed", NONE, "Removed shared tensor");
    judged_expect(run, &check_tied_embeddings_saved, VERDICT_PASS, &r);
    fake_run_free(run);

    run = lora();
    fake_setting_on(run, SIDE_MODEL, "tie_word_embeddings", "false");
    fake_setting_on(run, SIDE_ADAPTER, "modules_to_save", "[\"lm_head\",\"embed_tokens\"]");
    judged_expect(run, &check_tied_embeddings_saved, VERDICT_PASS, &r);
    fake_run_free(run);
}

static void pefts_warning_alone_warns(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    fake_event(run, "tied-embeddings-saved", "tied-layer-in-adapter", NONE, "Model has tie_word_embeddings");
    judged_expect(run, &check_tied_embeddings_saved, VERDICT_WARN, &r);
    fake_run_free(run);
}

static void both_saved(struct fake_run *run, const char *path, int64_t hash)
{
    const struct tensor tensors[] = {
        {.name = "model.embed_tokens.weight", .dtype = "BF16", .shape = "[200,64]", .norm = NAN,
         .content_hash = hash},
        {.name = "lm_head.weight", .dtype = "BF16", .shape = "[200,64]", .norm = NAN, .content_hash = 7}};

    fake_setting_on(run, SIDE_MODEL, "tie_word_embeddings", "true");
    fake_artefact(run, "base", path, NONE);
    fake_last_artefact(run)->role = "merged";
    fake_tensors(run, tensors, 2);
}

static void both_matrices_in_a_tied_model_fail(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    both_saved(run, "/fake/merged/model.safetensors", 8);
    judged_expect(run, &check_tied_embeddings_saved, VERDICT_FAIL, &r);
    assert_string_equal(r.branch, "saved");
    fake_run_free(run);

    run = lora(); /* the same matrix twice */
    both_saved(run, "/fake/merged/model.safetensors", 7);
    judged_expect(run, &check_tied_embeddings_saved, VERDICT_PASS, &r);
    fake_run_free(run);

    run = lora(); /* torch names the one storage twice */
    both_saved(run, "/fake/merged/pytorch_model.bin", 0);
    judged_expect(run, &check_tied_embeddings_saved, VERDICT_PASS, &r);
    fake_run_free(run);
}

static void a_model_of_unknown_tying_is_undecided(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    judged_expect(run, &check_tied_embeddings_saved, VERDICT_UNKNOWN, &r);
    fake_run_free(run);
}

/* ---- flat-no-grad by hashes ---- */

static void checkpoint(struct fake_run *run, int64_t step, const char *sha256)
{
    char path[96];

    snprintf(path, sizeof path, "/fake/run/checkpoint-%d/adapter_model.safetensors", (int)step);
    fake_artefact(run, "adapter", path, step);
    fake_last_artefact(run)->role = "trained";
    fake_last_artefact(run)->size = 9000;
    fake_last_artefact(run)->sha256 = sha256;
}

static void equal_weights_at_two_steps_fail(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    checkpoint(run, 10, "abcdef12");
    checkpoint(run, 20, "abcdef12");
    judged_expect(run, &check_flat_no_grad, VERDICT_FAIL, &r);
    assert_string_equal(r.branch, "equal-hash");
    fake_run_free(run);

    run = lora();
    checkpoint(run, 10, "abcdef12");
    checkpoint(run, 20, "abcdef34");
    judged_expect(run, &check_flat_no_grad, VERDICT_PASS, &r);
    fake_run_free(run);

    run = lora(); /* no rate, no change: another check's */
    checkpoint(run, 10, "abcdef12");
    checkpoint(run, 20, "abcdef12");
    fake_level(run, "learning_rate", 0.0, 20);
    fake_check(run, &check_flat_no_grad, &r);
    assert_int_not_equal(r.verdict, VERDICT_FAIL);
    fake_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_hash_fails),
        cmocka_unit_test(the_same_hash_under_another_path_passes),
        cmocka_unit_test(a_quantised_file_that_was_evaluated_itself_passes),
        cmocka_unit_test(an_evaluation_in_four_bit_is_a_note_beside_the_same_bytes),
        cmocka_unit_test(another_kind_of_file_fails),
        cmocka_unit_test(another_step_fails),
        cmocka_unit_test(names_alone_warn),
        cmocka_unit_test(one_side_alone_is_undecided),
        cmocka_unit_test(a_file_that_is_not_what_its_record_says_fails),
        cmocka_unit_test(weights_that_were_left_out_warn),
        cmocka_unit_test(the_merges_warning_fails),
        cmocka_unit_test(the_merged_config_tells_what_was_merged_into),
        cmocka_unit_test(nothing_merged_is_not_applicable),
        cmocka_unit_test(a_merge_that_answers_as_the_base_fails),
        cmocka_unit_test(a_tied_head_that_is_trained_by_itself_fails),
        cmocka_unit_test(tying_that_is_kept_passes),
        cmocka_unit_test(pefts_warning_alone_warns),
        cmocka_unit_test(both_matrices_in_a_tied_model_fail),
        cmocka_unit_test(a_model_of_unknown_tying_is_undecided),
        cmocka_unit_test(equal_weights_at_two_steps_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
