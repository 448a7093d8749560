/* What the tensors of an adapter say: pairs, ranks, scales, layers, names that fit nothing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "core/facts/adapter_facts.h"
#include "tests/harness/fake_run.h"

static struct tensor tensor(const char *name, const char *shape, int64_t n)
{
    return (struct tensor){.name = name, .dtype = "F32", .shape = shape, .n_values = n, .norm = 1.0,
                           .n_nonzero = n, .n_nonfinite = 0, .delta_norm = NAN};
}

#define LAYER0 "base_model.model.model.layers.0.self_attn.q_proj"
#define LAYER3 "base_model.model.model.layers.3.mlp.down_proj"

static struct fake_run *with(const struct tensor *tensors, size_t n)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    fake_artefact(run, "adapter", "/fake/run/adapter_model.safetensors", NONE);
    fake_tensors(run, tensors, n);
    return run;
}

static void a_pair_has_its_rank_scale_and_change(void **state)
{
    struct tensor tensors[] = {tensor(LAYER0 ".lora_B.weight", "[64,8]", 512),
                               tensor(LAYER0 ".lora_A.weight", "[8,32]", 256),
                               tensor(LAYER3 ".lora_A.default.weight", "[8,128]", 1024),
                               tensor(LAYER3 ".lora_B.default.weight", "[32,8]", 256),
                               tensor(LAYER3 ".lora_magnitude_vector", "[32]", 32)};
    struct adapter_facts facts;

    (void)state;
    tensors[0].delta_norm = 3.0;
    struct fake_run *run = with(tensors, 5);
    fake_setting_on(run, SIDE_ADAPTER, "lora_alpha", "16");
    fake_setting_on(run, SIDE_ADAPTER, "lora_r", "8");
    fake_setting_on(run, SIDE_MODEL, "num_hidden_layers", "4");
    assert_true(adapter_facts_read(fake_facts(run), &fake_facts(run)->artefacts[0], fake_arena(run), &facts));
    assert_int_equal(facts.n_pairs, 2);
    assert_string_equal(facts.pairs[0].module, "model.layers.0.self_attn.q_proj");
    assert_int_equal(facts.pairs[0].rank, 8);
    assert_int_equal(facts.pairs[0].n_in, 32);
    assert_int_equal(facts.pairs[0].n_out, 64);
    assert_true(fabs(facts.pairs[0].delta_norm - 6.0) < 1e-12);
    assert_true(isnan(facts.pairs[1].delta_norm));
    assert_non_null(facts.pairs[1].magnitude);
    assert_int_equal(facts.n_layers, 4);
    assert_int_equal(facts.n_covered, 2);
    assert_int_equal(facts.layers[3], 1);
    assert_int_equal(facts.n_lora, 512 + 256 + 1024 + 256 + 32);
    assert_int_equal(facts.n_halves, 0);
    fake_run_free(run);
}

static void rank_stabilised_scale_divides_by_the_root(void **state)
{
    const struct tensor tensors[] = {tensor(LAYER0 ".lora_A.weight", "[16,32]", 512),
                                     tensor(LAYER0 ".lora_B.weight", "[64,16]", 1024)};
    struct adapter_facts facts;
    struct fake_run *run = with(tensors, 2);

    (void)state;
    int64_t config = fake_source(run, "/fake/run/adapter_config.json", "peft_adapter");
    fake_setting_on(run, SIDE_ADAPTER, "lora_alpha", "8");
    fake_last_setting(run)->source_id = config;
    fake_setting_on(run, SIDE_ADAPTER, "use_rslora", "true");
    fake_last_setting(run)->source_id = config;
    fake_last_artefact(run)->source_id = config;
    assert_true(adapter_facts_read(fake_facts(run), &fake_facts(run)->artefacts[0], fake_arena(run), &facts));
    assert_true(fabs(facts.pairs[0].scale - 2.0) < 1e-12);
    fake_run_free(run);
}

static void halves_wrappers_and_empty_tensors_are_seen(void **state)
{
    const struct tensor tensors[] = {
        tensor("base_model.model._orig_mod.model.layers.0.q_proj.lora_A.weight", "[8,32]", 256),
        tensor("base_model.model.base_model.model.lm_head.lora_A.weight", "[0]", 0),
        tensor("base_model.model.base_model.model.lm_head.lora_B.weight", "[0]", 0),
        tensor("base_model.model.score.weight", "[2,32]", 64)};
    struct adapter_facts facts;
    struct fake_run *run = with(tensors, 4);

    (void)state;
    assert_true(adapter_facts_read(fake_facts(run), &fake_facts(run)->artefacts[0], fake_arena(run), &facts));
    assert_int_equal(facts.n_halves, 1);
    assert_string_equal(facts.wrapper, "_orig_mod");
    assert_true(facts.is_wrapped_twice);
    assert_int_equal(facts.n_empty, 2);
    assert_int_equal(facts.n_others, 1);
    fake_run_free(run);
}

static void modules(struct fake_run *run, const char *const *names, size_t n)
{
    struct tensor tensors[8];

    for (size_t i = 0; i < n; i++)
        tensors[i] = (struct tensor){.name = names[i], .dtype = "", .shape = "", .n_values = NONE,
                                     .norm = NAN, .n_nonzero = NONE, .n_nonfinite = NONE,
                                     .delta_norm = NAN};
    int64_t source = fake_source(run, "/fake/module_names.txt", "peft_adapter");
    fake_artefact(run, "modules", "/fake/module_names.txt", NONE);
    fake_last_artefact(run)->source_id = source;
    fake_tensors(run, tensors, n);
}

static size_t unmatched(const char *const *names, size_t n)
{
    const struct tensor tensors[] = {tensor(LAYER0 ".lora_A.weight", "[8,32]", 256),
                                     tensor(LAYER0 ".lora_B.weight", "[64,8]", 512)};
    struct adapter_facts facts;
    struct fake_run *run = with(tensors, 2);

    modules(run, names, n);
    assert_true(adapter_facts_read(fake_facts(run), &fake_facts(run)->artefacts[0], fake_arena(run), &facts));
    assert_int_equal(facts.modules.n, n);
    size_t found = facts.n_unmatched;
    fake_run_free(run);
    return found;
}

static void the_prefix_of_peft_is_no_difference(void **state)
{
    static const char *const SAME[] = {"model.layers.0.self_attn.q_proj", "model.layers.0.self_attn"};
    static const char *const ADAPTED[] = {"base_model.model.model.layers.0.self_attn.q_proj"};
    static const char *const INNER[] = {"layers.0.self_attn.q_proj"};
    static const char *const OTHER_ROOT[] = {"language_model.model.layers.0.self_attn.q_proj"};
    static const char *const OTHER_LAYER[] = {"model.layers.1.self_attn.q_proj"};

    (void)state;
    assert_int_equal(unmatched(SAME, 2), 0);
    assert_int_equal(unmatched(ADAPTED, 1), 0);
    assert_int_equal(unmatched(INNER, 1), 0);
    assert_int_equal(unmatched(OTHER_ROOT, 1), 1);
    assert_int_equal(unmatched(OTHER_LAYER, 1), 1);
}

static void shapes_are_read_as_dimensions(void **state)
{
    const struct tensor good = {.shape = "[4096, 16]"}, none = {.shape = ""}, empty = {.shape = "[0]"};
    int64_t size[4];

    (void)state;
    assert_int_equal(tensor_dimensions(&good, size), 2);
    assert_int_equal(size[1], 16);
    assert_int_equal(tensor_dimensions(&none, size), 0);
    assert_int_equal(tensor_dimensions(&empty, size), 1);
    assert_int_equal(tensor_dimensions(NULL, size), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pair_has_its_rank_scale_and_change),
        cmocka_unit_test(rank_stabilised_scale_divides_by_the_root),
        cmocka_unit_test(halves_wrappers_and_empty_tensors_are_seen),
        cmocka_unit_test(the_prefix_of_peft_is_no_difference),
        cmocka_unit_test(shapes_are_read_as_dimensions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
