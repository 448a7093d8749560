/* Is the adapter loaded, and is it the right one (C1.1, C1.2)? */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/checks/registry.h"
#include "tests/harness/judged.h"

#define Q0 "base_model.model.model.layers.0.self_attn.q_proj"
#define Q1 "base_model.model.model.layers.1.self_attn.q_proj"

static struct tensor tensor(const char *name, const char *shape, int64_t n)
{
    return (struct tensor){.name = name, .dtype = "F32", .shape = shape, .n_values = n, .norm = 1.0,
                           .n_nonzero = n, .n_nonfinite = 0, .delta_norm = NAN};
}

static const struct tensor *pairs(void)
{
    static struct tensor tensors[4];

    tensors[0] = tensor(Q0 ".lora_A.weight", "[8,64]", 512);
    tensors[1] = tensor(Q0 ".lora_B.weight", "[64,8]", 512);
    tensors[2] = tensor(Q1 ".lora_A.weight", "[8,64]", 512);
    tensors[3] = tensor(Q1 ".lora_B.weight", "[64,8]", 512);
    return tensors;
}

static void adapter_file(struct fake_run *run, const struct tensor *tensors, size_t n, int64_t size)
{
    fake_artefact(run, "adapter", "/fake/run/adapter_model.safetensors", NONE);
    fake_last_artefact(run)->size = size;
    fake_tensors(run, tensors, n);
}

static struct fake_run *lora(void)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    fake_setting_on(run, SIDE_ADAPTER, "peft_type", "LORA");
    fake_setting_on(run, SIDE_ADAPTER, "lora_r", "8");
    fake_setting_on(run, SIDE_ADAPTER, "target_modules", "[\"q_proj\"]");
    return run;
}

static void say(struct fake_run *run, const char *model, int64_t prompt, int64_t output, bool is_short)
{
    const struct generation g = {.source_id = FAKE_LOG,
                                 .row = NONE,
                                 .step = NONE,
                                 .model = model,
                                 .n_tokens = NONE,
                                 .max_new_tokens = NONE,
                                 .batch = NONE,
                                 .exact = -1,
                                 .flags = GENERATION_HAS_TEXT | (is_short ? GENERATION_IS_SHORT : 0),
                                 .prompt_hash = prompt,
                                 .output_hash = output};

    fake_generation(run, &g);
}

/* ---- adapter-not-loaded ---- */

static void missing_keys(struct fake_run *run, const char *keys)
{
    fake_event(run, "adapter-not-loaded", "missing-adapter-keys", NONE, keys);
    fake_capture(run, 1, keys);
}

static void keys_of_the_whole_adapter_that_are_missing_fail(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    adapter_file(run, pairs(), 4, 9000);
    missing_keys(run, "['" Q0 ".lora_A.default.weight', '" Q0 ".lora_B.default.weight', '" Q1
                      ".lora_A.default.weight', '" Q1 ".lora_B.default.weight']");
    judged_expect(run, &check_adapter_not_loaded, VERDICT_FAIL, &r);
    assert_string_equal(r.branch, "key-mismatch");
    assert_non_null(judged_at_line(&r, 1000));
    assert_true(judged_offers(&r, "adapter_name"));
    fake_run_free(run);
}

static void keys_of_a_part_that_are_missing_warn(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    adapter_file(run, pairs(), 4, 9000);
    missing_keys(run, "['" Q1 ".lora_A.default.weight', '" Q1 ".lora_B.default.weight']");
    judged_expect(run, &check_adapter_not_loaded, VERDICT_WARN, &r);
    fake_run_free(run);
}

static void a_new_head_is_no_missing_adapter(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    missing_keys(run, "['base_model.model.score.modules_to_save.default.weight']");
    fake_event(run, "adapter-not-loaded", "newly-initialized", NONE, "newly initialized: ['score.weight']");
    fake_capture(run, 3, "['score.weight']");
    fake_event(run, "adapter-not-loaded", "load-report", NONE, "score.weight | MISSING |");
    fake_capture(run, 1, "score.weight");
    fake_capture(run, 2, "MISSING");
    judged_expect(run, &check_adapter_not_loaded, VERDICT_UNKNOWN, &r);
    fake_run_free(run);
}

static void a_load_report_that_names_lora_fails(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    fake_event(run, "adapter-not-loaded", "load-report", NONE, "model.layers.{0...15} | UNEXPECTED");
    fake_capture(run, 1, "base_model.model.model.layers.{0...15}.self_attn.q_proj.lora_A.weight");
    fake_capture(run, 2, "UNEXPECTED");
    judged_expect(run, &check_adapter_not_loaded, VERDICT_FAIL, &r);
    fake_run_free(run);
}

static void equal_outputs_on_three_prompts_fail(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    for (int64_t i = 1; i <= 3; i++) {
        say(run, "base", i, 10 + i, false);
        say(run, "finetuned", i, 10 + i, false);
    }
    judged_expect(run, &check_adapter_not_loaded, VERDICT_FAIL, &r);
    assert_string_equal(r.branch, "identical-output");
    fake_run_free(run);
}

static void two_equal_outputs_and_short_ones_are_too_few(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    for (int64_t i = 1; i <= 4; i++) {
        say(run, "base", i, 10 + i, i > 2);
        say(run, "finetuned", i, 10 + i, i > 2);
    }
    judged_expect(run, &check_adapter_not_loaded, VERDICT_UNKNOWN, &r);
    fake_run_free(run);
}

static void one_prompt_that_differs_passes(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    for (int64_t i = 1; i <= 4; i++) {
        say(run, "base", i, 10 + i, false);
        say(run, "finetuned", i, i == 4 ? 99 : 10 + i, false);
    }
    judged_expect(run, &check_adapter_not_loaded, VERDICT_PASS, &r);
    fake_run_free(run);
}

static void the_step_before_training_is_the_base(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    for (int64_t i = 1; i <= 3; i++) {
        struct generation g = {.source_id = FAKE_LOG, .row = NONE, .model = "finetuned", .exact = -1,
                               .flags = GENERATION_HAS_TEXT, .prompt_hash = i, .output_hash = 10 + i};

        say(run, "base", i, 10 + i, false);
        fake_generation(run, &g);
    }
    judged_expect(run, &check_adapter_not_loaded, VERDICT_UNKNOWN, &r);
    fake_run_free(run);
}

static void an_early_checkpoint_may_answer_as_the_base(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    for (int64_t i = 1; i <= 3; i++)
        for (int64_t step = 0; step <= 20; step += 10) {
            struct generation g = {.source_id = FAKE_LOG, .row = NONE, .exact = -1,
                                   .step = step ? step : NONE, .model = step ? "finetuned" : "base",
                                   .flags = GENERATION_HAS_TEXT, .prompt_hash = i,
                                   .output_hash = step == 20 ? 90 + i : 10 + i};

            fake_generation(run, &g);
        }
    judged_expect(run, &check_adapter_not_loaded, VERDICT_PASS, &r);
    fake_run_free(run);
}

static void keys_of_another_root_than_the_servers_fail(void **state)
{
    const struct tensor served[] = {
        {.name = "language_model.model.layers.0.self_attn.q_proj", .dtype = "", .shape = "", .norm = NAN},
        {.name = "language_model.model.layers.1.self_attn.q_proj", .dtype = "", .shape = "", .norm = NAN}};
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    adapter_file(run, pairs(), 4, 9000);
    int64_t source = fake_source(run, "/fake/serve/module_names.txt", "peft_adapter");
    fake_artefact(run, "modules", "/fake/serve/module_names.txt", NONE);
    fake_last_artefact(run)->source_id = source;
    fake_tensors(run, served, 2);
    judged_expect(run, &check_adapter_not_loaded, VERDICT_FAIL, &r);
    assert_string_equal(r.branch, "key-mismatch");
    fake_run_free(run);
}

static void items(struct fake_run *run, const char *model, bool other)
{
    static struct eval_item list[120];
    static char names[120][16];

    fake_suite(run, model, "task", 0, 120);
    for (int i = 0; i < 120; i++) {
        snprintf(names[i], sizeof names[i], "%03d", i);
        list[i] = (struct eval_item){.item = names[i], .score = (i % 3 == 0) != (other && i == 7)};
        fake_last_suite(run)->n_correct += list[i].score;
    }
    fake_items(run, list, 120);
}

static void the_same_result_on_each_item_fails(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    items(run, "base", false);
    items(run, "ft", false);
    judged_expect(run, &check_adapter_not_loaded, VERDICT_FAIL, &r);
    fake_run_free(run);

    run = lora();
    items(run, "base", false);
    items(run, "ft", true);
    judged_expect(run, &check_adapter_not_loaded, VERDICT_UNKNOWN, &r);
    fake_run_free(run);
}

static void equal_counts_without_items_warn(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    fake_suite(run, "base", "task", 61, 200);
    fake_suite(run, "ft", "task", 61, 200);
    fake_suite(run, "base", "mmlu", 102, 200);
    fake_suite(run, "ft", "mmlu", 102, 200);
    judged_expect(run, &check_adapter_not_loaded, VERDICT_WARN, &r);
    fake_run_free(run);

    run = lora(); /* all right, on both: says nothing */
    fake_suite(run, "base", "task", 200, 200);
    fake_suite(run, "ft", "task", 200, 200);
    judged_expect(run, &check_adapter_not_loaded, VERDICT_UNKNOWN, &r);
    fake_run_free(run);
}

static void the_base_alone_in_serving_warns(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    adapter_file(run, pairs(), 4, 9000);
    fake_setting_on(run, SIDE_ADAPTER, "base_model_name_or_path", "meta-llama/Llama-3.2-1B");
    int64_t serve = fake_source(run, "/fake/serve.json", "side_files");
    fake_setting_on(run, SIDE_SERVE, "model", "unsloth/Llama-3.2-1B");
    fake_last_setting(run)->source_id = serve;
    judged_expect(run, &check_adapter_not_loaded, VERDICT_WARN, &r);
    assert_string_equal(r.branch, "serving");
    fake_run_free(run);
}

static void a_full_fine_tune_has_no_adapter(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_setting(run, "finetuning_type", "full");
    judged_expect(run, &check_adapter_not_loaded, VERDICT_NOT_APPLICABLE, &r);
    judged_expect(run, &check_adapter_file_empty, VERDICT_NOT_APPLICABLE, &r);
    judged_expect(run, &check_wrong_adapter, VERDICT_NOT_APPLICABLE, &r);
    fake_run_free(run);
}

/* ---- wrong-adapter ---- */

static void an_adapter_of_a_wider_model_fails(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    adapter_file(run, pairs(), 4, 9000);
    fake_setting_on(run, SIDE_MODEL, "hidden_size", "128");
    judged_expect(run, &check_wrong_adapter, VERDICT_FAIL, &r);
    assert_string_equal(r.branch, "shape");
    fake_run_free(run);

    run = lora();
    adapter_file(run, pairs(), 4, 9000);
    fake_setting_on(run, SIDE_MODEL, "hidden_size", "64");
    fake_setting_on(run, SIDE_MODEL, "num_hidden_layers", "1");
    judged_expect(run, &check_wrong_adapter, VERDICT_FAIL, &r);
    assert_string_equal(r.branch, "depth");
    fake_run_free(run);

    run = lora();
    adapter_file(run, pairs(), 4, 9000);
    fake_setting_on(run, SIDE_MODEL, "hidden_size", "64");
    fake_setting_on(run, SIDE_MODEL, "num_hidden_layers", "2");
    judged_expect(run, &check_wrong_adapter, VERDICT_PASS, &r);
    fake_run_free(run);
}

static void torchs_message_about_shapes_fails(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    fake_event(run, "vocab-mismatch", "size-mismatch", NONE, "size mismatch for " Q0 ".lora_A");
    fake_capture(run, 1, Q0 ".lora_A.default.weight");
    fake_capture(run, 2, "[8, 4096]");
    fake_capture(run, 3, "[8, 5120]");
    judged_expect(run, &check_wrong_adapter, VERDICT_FAIL, &r);
    fake_run_free(run);
}

static enum verdict by_names(const char *own, const char *served)
{
    struct fake_run *run = lora();
    struct check_result r;

    fake_setting_on(run, SIDE_ADAPTER, "base_model_name_or_path", own);
    fake_setting_on(run, SIDE_SERVE, "base", served);
    fake_check(run, &check_wrong_adapter, &r);
    enum verdict verdict = r.verdict;
    fake_run_free(run);
    return verdict;
}

static void the_served_base_is_held_against_the_adapters(void **state)
{
    (void)state;
    assert_int_equal(by_names("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B"), VERDICT_FAIL);
    assert_int_equal(by_names("Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-14B"), VERDICT_WARN);
    assert_int_equal(by_names("Qwen/Qwen2.5-7B", "/models/qwen2.5-7b-GPTQ"), VERDICT_PASS);
    assert_int_equal(by_names("", "Qwen/Qwen2.5-7B"), VERDICT_WARN);
    assert_int_equal(by_names("base", "Qwen/Qwen2.5-7B"), VERDICT_UNKNOWN);
}

static enum verdict by_family(const char *own, const char *type)
{
    struct fake_run *run = lora();
    struct check_result r;
    int64_t config = fake_source(run, "/fake/base/config.json", "hf_model");

    fake_last_source(run)->role = "base";
    fake_setting_on(run, SIDE_MODEL, "model_type", type);
    fake_last_setting(run)->source_id = config;
    fake_setting_on(run, SIDE_ADAPTER, "base_model_name_or_path", own);
    fake_check(run, &check_wrong_adapter, &r);
    enum verdict verdict = r.verdict;
    fake_run_free(run);
    return verdict;
}

static void another_base_in_the_evaluation_is_a_note(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_setting_on(run, SIDE_ADAPTER, "base_model_name_or_path", "acme/base-1b");
    fake_setting_on(run, SIDE_EVAL, "lm_eval.peft", "out/desk");
    fake_setting_on(run, SIDE_EVAL, "lm_eval.pretrained", "acme/other-3b");
    judged_expect(run, &check_wrong_adapter, VERDICT_UNKNOWN, &r);
    assert_int_equal(r.n_information, 1);
    assert_non_null(strstr(r.information[0], "loaded the adapter on acme/other-3b"));
    fake_run_free(run);
}

static void another_base_in_the_arguments_alone_is_a_note(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result r;

    (void)state;
    fake_setting_on(run, SIDE_ADAPTER, "base_model_name_or_path", "meta-llama/Llama-3.2-1B");
    fake_setting(run, "model_name_or_path", "/models/Llama-3.2-1B-Instruct");
    judged_expect(run, &check_wrong_adapter, VERDICT_UNKNOWN, &r);
    assert_int_equal(r.n_information, 1);
    assert_non_null(strstr(r.information[0], "the training arguments"));
    fake_run_free(run);
}

static void a_base_of_another_family_fails(void **state)
{
    (void)state;
    assert_int_equal(by_family("Qwen/Qwen2.5-7B", "llama"), VERDICT_FAIL);
    assert_int_equal(by_family("Qwen/Qwen2.5-7B", "qwen2"), VERDICT_UNKNOWN);
    assert_int_equal(by_family("xtuner/llava-llama-3-8b", "llava"), VERDICT_UNKNOWN);
    assert_int_equal(by_family("my-model", "llama"), VERDICT_UNKNOWN);
}

static struct fake_run *project_run(const char *name, const char *folder, const char *hash, double loss)
{
    struct fake_run *run = lora();
    char path[128];

    fake_decided(run)->run.name = name;
    fake_decided(run)->run.folder = folder;
    snprintf(path, sizeof path, "%s/adapter_model.safetensors", folder);
    fake_artefact(run, "adapter", path, NONE);
    fake_last_artefact(run)->sha256 = hash;
    fake_tensors(run, pairs(), 4);
    fake_level(run, "loss", loss, 5);
    return run;
}

static void the_adapter_of_another_run_fails(void **state)
{
    struct fake_run *run = project_run("b", "/fake/b", "abcdef12", 1.0);
    struct fake_run *other = project_run("a", "/fake/a", "abcdef12", 2.0);
    struct check_result r;

    (void)state;
    fake_check_among(run, &other, 1, &check_wrong_adapter, &r);
    assert_int_equal(r.verdict, VERDICT_FAIL);
    assert_string_equal(r.branch, "equal-hash");
    fake_run_free(run);
    fake_run_free(other);
}

static void the_same_training_twice_may_end_in_the_same_bytes(void **state)
{
    struct fake_run *run = project_run("b", "/fake/b", "abcdef12", 1.0);
    struct fake_run *other = project_run("a", "/fake/a", "abcdef12", 1.0);
    struct check_result r;

    (void)state;
    fake_check_among(run, &other, 1, &check_wrong_adapter, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    fake_run_free(run);
    fake_run_free(other);
}

static void what_it_started_from_is_not_another_runs(void **state)
{
    struct fake_run *run = project_run("b", "/fake/b", "abcdef12", 1.0);
    struct fake_run *other = project_run("a", "/fake/a", "abcdef12", 2.0);
    struct check_result r;

    (void)state;
    fake_setting(run, "adapter_name_or_path", "out/a");
    fake_check_among(run, &other, 1, &check_wrong_adapter, &r);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    fake_run_free(run);
    fake_run_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_the_whole_adapter_that_are_missing_fail),
        cmocka_unit_test(keys_of_a_part_that_are_missing_warn),
        cmocka_unit_test(a_new_head_is_no_missing_adapter),
        cmocka_unit_test(a_load_report_that_names_lora_fails),
        cmocka_unit_test(equal_outputs_on_three_prompts_fail),
        cmocka_unit_test(two_equal_outputs_and_short_ones_are_too_few),
        cmocka_unit_test(one_prompt_that_differs_passes),
        cmocka_unit_test(the_step_before_training_is_the_base),
        cmocka_unit_test(an_early_checkpoint_may_answer_as_the_base),
        cmocka_unit_test(keys_of_another_root_than_the_servers_fail),
        cmocka_unit_test(the_same_result_on_each_item_fails),
        cmocka_unit_test(equal_counts_without_items_warn),
        cmocka_unit_test(the_base_alone_in_serving_warns),
        cmocka_unit_test(a_full_fine_tune_has_no_adapter),
        cmocka_unit_test(an_adapter_of_a_wider_model_fails),
        cmocka_unit_test(torchs_message_about_shapes_fails),
        cmocka_unit_test(the_served_base_is_held_against_the_adapters),
        cmocka_unit_test(another_base_in_the_evaluation_is_a_note),
        cmocka_unit_test(another_base_in_the_arguments_alone_is_a_note),
        cmocka_unit_test(a_base_of_another_family_fails),
        cmocka_unit_test(the_adapter_of_another_run_fails),
        cmocka_unit_test(the_same_training_twice_may_end_in_the_same_bytes),
        cmocka_unit_test(what_it_started_from_is_not_another_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
