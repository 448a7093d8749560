/* Names of models, hashes, and which file is which. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/facts/lineage.h"
#include "tests/harness/fake_run.h"

static void a_quantised_copy_has_the_name_of_its_model(void **state)
{
    (void)state;
    assert_int_equal(base_names_agree("unsloth/Llama-3.2-1B-unsloth-bnb-4bit", "meta-llama/Llama-3.2-1B"), 1);
    assert_int_equal(base_names_agree("TheBloke/Mistral-7B-v0.1-GPTQ", "mistralai/Mistral-7B-v0.1"), 1);
    assert_int_equal(base_names_agree("Qwen/Qwen2.5-7B-Instruct-AWQ", "/data/qwen2.5-7b-instruct"), 1);
    assert_int_equal(base_names_agree("llama-3.2-1b.Q4_K_M.gguf", "Llama-3.2-1B"), 1);
    assert_int_equal(base_names_agree("llama3.2:1b", "meta-llama/Llama-3.2-1B"), 1);
    assert_int_equal(base_names_agree("llama3.1:8b-instruct-q4_K_M", "Llama-3.1-8B-Instruct"), 1);
    assert_int_equal(
        base_names_agree("/root/.cache/huggingface/hub/models--Qwen--Qwen2.5-0.5B/snapshots/"
                         "060db6499f32faf8b98477b0a26969ef7d8b9987",
                         "Qwen/Qwen2.5-0.5B"),
        1);
}

static void other_models_have_other_names(void **state)
{
    (void)state;
    assert_int_equal(base_names_agree("Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-0.5B"), 0);
    assert_int_equal(base_names_agree("Llama-3.1-8B", "Llama-3.1-8B-Instruct"), 0);
    assert_true(base_names_differ_in_tuning("meta-llama/Llama-3.1-8B", "Llama-3.1-8B-Instruct"));
    assert_true(base_names_differ_in_tuning("mistralai/Mistral-7B-v0.1", "Mistral-7B-Instruct-v0.1"));
    assert_true(base_names_differ_in_tuning("google/gemma-2-9b", "google/gemma-2-9b-it"));
    assert_false(base_names_differ_in_tuning("Qwen2.5-7B", "Qwen2.5-14B-Instruct"));
}

static void a_generic_folder_names_no_model(void **state)
{
    (void)state;
    assert_int_equal(base_names_agree("base", "Qwen/Qwen2.5-7B"), -1);
    assert_int_equal(base_names_agree("out/checkpoint-200", "Qwen/Qwen2.5-7B"), -1);
    assert_int_equal(base_names_agree("", "Qwen/Qwen2.5-7B"), -1);
    assert_int_equal(base_names_agree(NULL, "x"), -1);
    assert_int_equal(base_names_agree("$MODEL", "Qwen/Qwen2.5-7B"), -1);
    assert_int_equal(base_names_agree("qwen2.5:0.5b", "Qwen/Qwen2.5-0.5B-Instruct"), -1);
    assert_int_equal(base_names_agree("qwen2.5:7b", "Qwen/Qwen2.5-0.5B-Instruct"), 0);
    assert_int_equal(base_names_agree("base", "base"), 1);
}

static void a_hash_may_be_cut(void **state)
{
    (void)state;
    assert_int_equal(lineage_hashes_agree("77d01b", "77D01BAA00"), 1);
    assert_int_equal(lineage_hashes_agree("sha256:77d01b", "77d01b"), 1);
    assert_int_equal(lineage_hashes_agree("77d01b", "a1c4e0"), 0);
    assert_int_equal(lineage_hashes_agree("77d", "77d01b"), -1);
    assert_int_equal(lineage_hashes_agree(NULL, "77d01b"), -1);
}

static void a_name_tells_the_kind_of_a_file(void **state)
{
    (void)state;
    assert_int_equal(lineage_form_of("desk-q4_k_m.gguf"), FORM_GGUF);
    assert_int_equal(lineage_form_of("Q8_0"), FORM_GGUF);
    assert_int_equal(lineage_form_of("adapter+bf16 base"), FORM_ADAPTER);
    assert_int_equal(lineage_form_of("out/merged-16bit"), FORM_MERGED);
    assert_int_equal(lineage_form_of("desk-lora-merged"), FORM_MERGED);
    assert_int_equal(lineage_form_of("model-AWQ"), FORM_QUANTISED);
    assert_int_equal(lineage_form_of("release/model.safetensors"), FORM_FULL);
    assert_int_equal(lineage_form_of("out/checkpoint-600"), FORM_UNKNOWN);
    assert_int_equal(lineage_form_of(NULL), FORM_UNKNOWN);
}

static void weights(struct fake_run *run, const char *path, const char *role, const char *hash)
{
    fake_artefact(run, "adapter", path, NONE);
    fake_last_artefact(run)->role = role;
    fake_last_artefact(run)->sha256 = hash;
}

static void a_row_that_names_a_folder_has_the_hash_of_its_file(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    weights(run, "/fake/run/checkpoint-100/adapter_model.safetensors", "trained", "aaaaaa11");
    weights(run, "/fake/run/checkpoint-200/adapter_model.safetensors", "trained", "bbbbbb22");
    weights(run, "/fake/release/adapter_model.safetensors", "served", "bbbbbb22");
    fake_suite(run, "run/checkpoint-200", "task", 80, 100);
    const struct lineage *lineage = facts_lineage(fake_facts(run));
    const struct lineage_link *link = lineage_link_of(lineage, LINEAGE_EVALUATED, LINEAGE_SERVED);
    assert_non_null(link);
    assert_int_equal(link->state, LINK_SAME);
    assert_int_equal(link->by, BY_HASH);
    assert_int_equal(lineage->nodes[link->from].step, 200);
    link = lineage_link_of(lineage, LINEAGE_TRAINED, LINEAGE_SERVED);
    assert_non_null(link);
    assert_string_equal(lineage->nodes[link->from].name, "run/checkpoint-200/adapter_model.safetensors");
    fake_run_free(run);
}

static void nodes_come_in_the_order_of_their_roles(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    weights(run, "/fake/release/adapter_model.safetensors", "served", NULL);
    weights(run, "/fake/run/adapter_model.safetensors", "trained", NULL);
    fake_setting_on(run, SIDE_ADAPTER, "base_model_name_or_path", "Qwen/Qwen2.5-0.5B");
    const struct lineage *lineage = facts_lineage(fake_facts(run));
    assert_int_equal(lineage->n_nodes, 3);
    assert_int_equal(lineage->nodes[0].role, LINEAGE_BASE);
    assert_int_equal(lineage->nodes[1].role, LINEAGE_TRAINED);
    assert_int_equal(lineage->nodes[2].role, LINEAGE_SERVED);
    fake_run_free(run);
}

static void words_for_a_model_are_no_files(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_suite(run, "ft", "task", 80, 100);
    fake_setting_on(run, SIDE_SERVE, "model", "support-bot");
    const struct lineage_link *link =
        lineage_link_of(facts_lineage(fake_facts(run)), LINEAGE_EVALUATED, LINEAGE_SERVED);
    assert_true(link == NULL || link->state == LINK_UNKNOWN);
    fake_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quantised_copy_has_the_name_of_its_model),
        cmocka_unit_test(other_models_have_other_names),
        cmocka_unit_test(a_generic_folder_names_no_model),
        cmocka_unit_test(a_hash_may_be_cut),
        cmocka_unit_test(a_name_tells_the_kind_of_a_file),
        cmocka_unit_test(a_row_that_names_a_folder_has_the_hash_of_its_file),
        cmocka_unit_test(nodes_come_in_the_order_of_their_roles),
        cmocka_unit_test(words_for_a_model_are_no_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
