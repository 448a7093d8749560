/* Is the adapter's file whole, and is it applied once (C1.3, C1.4)? */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
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

/* ---- adapter-file-empty ---- */

static void a_header_alone_fails(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    adapter_file(run, pairs(), 0, 40);
    judged_expect(run, &check_adapter_file_empty, VERDICT_FAIL, &r);
    assert_non_null(judged_with_text(&r, "40 bytes"));
    fake_run_free(run);
}

static void tensors_without_values_fail(void **state)
{
    const struct tensor empty[] = {tensor(Q0 ".lora_A.weight", "[0]", 0),
                                   tensor(Q0 ".lora_B.weight", "[64,8]", 512)};
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    adapter_file(run, empty, 2, 3000);
    judged_expect(run, &check_adapter_file_empty, VERDICT_FAIL, &r);
    fake_run_free(run);

    run = lora();
    fake_event(run, "adapter-file-empty", "size-mismatch", NONE, "size mismatch");
    fake_capture(run, 1, Q0 ".lora_A.default.weight");
    fake_capture(run, 2, "[0]");
    fake_capture(run, 3, "[64, 8192]");
    judged_expect(run, &check_adapter_file_empty, VERDICT_FAIL, &r);
    fake_run_free(run);
}

static void a_file_far_smaller_than_what_was_trained_fails(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    adapter_file(run, pairs(), 4, 9000);
    fake_event(run, "flat-zero-trainable", "trainable-params", NONE, "trainable params");
    fake_capture(run, 1, "4,194,304");
    fake_capture(run, 2, "6,742,609,920");
    fake_capture(run, 3, "0.06");
    judged_expect(run, &check_adapter_file_empty, VERDICT_FAIL, &r);
    fake_run_free(run);
}

static void half_a_pair_warns(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    adapter_file(run, pairs(), 3, 6000);
    judged_expect(run, &check_adapter_file_empty, VERDICT_WARN, &r);
    fake_run_free(run);
}

static void a_small_and_complete_adapter_passes(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    adapter_file(run, pairs(), 4, 664);
    judged_expect(run, &check_adapter_file_empty, VERDICT_PASS, &r);
    fake_run_free(run);
}

static void a_pointer_instead_of_the_file_is_undecided(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    int64_t source = fake_source(run, "/fake/run/adapter_model.safetensors", "peft_adapter");
    fake_last_source(run)->state = SOURCE_DAMAGED;
    fake_artefact(run, "adapter", "/fake/run/adapter_model.safetensors", NONE);
    fake_last_artefact(run)->source_id = source;
    fake_last_artefact(run)->size = 134;
    judged_expect(run, &check_adapter_file_empty, VERDICT_UNKNOWN, &r);
    fake_run_free(run);
}

static void an_earlier_empty_checkpoint_warns(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    adapter_file(run, pairs(), 4, 9000);
    fake_artefact(run, "adapter", "/fake/run/checkpoint-5/adapter_model.safetensors", 5);
    fake_last_artefact(run)->size = 40;
    judged_expect(run, &check_adapter_file_empty, VERDICT_WARN, &r);
    fake_run_free(run);
}

/* ---- multiple-adapters ---- */

static void a_second_adapter_on_one_base_fails(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    fake_event(run, "multiple-adapters", "second-adapter", NONE, "Already found a `peft_config` attribute");
    judged_expect(run, &check_multiple_adapters, VERDICT_FAIL, &r);
    assert_non_null(judged_at_line(&r, 1000));
    fake_run_free(run);
}

static void keys_of_a_model_wrapped_twice_fail(void **state)
{
    const struct tensor twice[] = {
        tensor("base_model.model.base_model.model.lm_head.lora_A.weight", "[8,64]", 512),
        tensor("base_model.model.base_model.model.lm_head.lora_B.weight", "[64,8]", 512)};
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    adapter_file(run, twice, 2, 9000);
    judged_expect(run, &check_multiple_adapters, VERDICT_FAIL, &r);
    fake_run_free(run);
}

static enum verdict served(const char *engine, const char *model, const char *adapters)
{
    struct fake_run *run = lora();
    struct check_result r;
    int64_t serve = fake_source(run, "/fake/serve.json", "side_files");

    fake_setting_on(run, SIDE_SERVE, "engine", engine);
    fake_last_setting(run)->source_id = serve;
    fake_setting_on(run, SIDE_SERVE, "model", model);
    fake_last_setting(run)->source_id = serve;
    fake_setting_on(run, SIDE_SERVE, "adapter", adapters);
    fake_last_setting(run)->source_id = serve;
    fake_check(run, &check_multiple_adapters, &r);
    enum verdict verdict = r.verdict;
    fake_run_free(run);
    return verdict;
}

static void serving_by_name_is_deliberate(void **state)
{
    (void)state;
    assert_int_equal(served("vllm", "meta-llama/Llama-3.2-1B",
                            "[{\"name\":\"a\",\"path\":\"out/a\"},{\"name\":\"b\",\"path\":\"out/b\"}]"),
                     VERDICT_UNKNOWN);
    assert_int_equal(served("llama.cpp", "m.gguf", "[{\"path\":\"a.gguf\"},{\"path\":\"b.gguf\"}]"),
                     VERDICT_WARN);
    assert_int_equal(served("vllm", "out/merged", "[{\"name\":\"a\",\"path\":\"out/a\"}]"), VERDICT_FAIL);
}

static void a_log_of_the_loading_without_a_second_one_passes(void **state)
{
    struct fake_run *run = lora();
    struct check_result r;

    (void)state;
    fake_event(run, "flat-zero-trainable", "trainable-params", NONE, "trainable params: 8 || all params: 9");
    fake_capture(run, 1, "8");
    judged_expect(run, &check_multiple_adapters, VERDICT_PASS, &r);
    fake_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_alone_fails),
        cmocka_unit_test(tensors_without_values_fail),
        cmocka_unit_test(a_file_far_smaller_than_what_was_trained_fails),
        cmocka_unit_test(half_a_pair_warns),
        cmocka_unit_test(a_small_and_complete_adapter_passes),
        cmocka_unit_test(a_pointer_instead_of_the_file_is_undecided),
        cmocka_unit_test(an_earlier_empty_checkpoint_warns),
        cmocka_unit_test(a_second_adapter_on_one_base_fails),
        cmocka_unit_test(keys_of_a_model_wrapped_twice_fail),
        cmocka_unit_test(serving_by_name_is_deliberate),
        cmocka_unit_test(a_log_of_the_loading_without_a_second_one_passes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
