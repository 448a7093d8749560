/* The order of the rungs, when one of them is enough, and what is skipped. */
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>


#include "core/memory/oom_ladder.h"

static const double GIB = 1073741824.0;

/* LLaMA-7B with LoRA on q and v, as in the first 24 GiB crash of a fine-tune. */
static const struct memory_shape LLAMA_7B = {.n_parameters = 6738415616.0,
                                             .n_trainable = 4194304.0,
                                             .layers = 32,
                                             .hidden = 4096,
                                             .kv_hidden = 4096,
                                             .feed_forward = 11008,
                                             .vocabulary = 32000,
                                             .heads = 32};
static const struct memory_settings LORA = {.micro_batch = 4,
                                            .sequence = 2048,
                                            .weights = WEIGHTS_16BIT,
                                            .gradient_bytes = 4,
                                            .optimiser_bytes = 8,
                                            .master_bytes = 4,
                                            .flash_attention = true,
                                            .logits_factor = 16,
                                            .accumulation = 4,
                                            .eval_batch = 8};

static void a_seven_billion_lora_on_24_gib_needs_batch_and_checkpointing(void **state)
{
    const struct ladder_facts facts = {.capacity = 23.70 * GIB};
    struct ladder ladder;
    (void)state;
    oom_ladder(&LLAMA_7B, &LORA, &facts, DIALECT_TRANSFORMERS, &ladder);
    assert_string_equal(ladder.rungs[0].id, "1");
    assert_string_equal(ladder.rungs[0].change, "micro batch 4 -> 1, accumulation 4 -> 16");
    assert_false(ladder.rungs[0].fits);
    assert_string_equal(ladder.rungs[1].id, "2");
    assert_int_equal(ladder.proposal, 1);
    assert_true(ladder.rungs[1].fits);
    assert_true(ladder.rungs[1].estimate < ladder.rungs[0].estimate);
}

static void without_a_shape_the_order_stands_and_nothing_is_promised(void **state)
{
    const struct memory_shape none = {0};
    const struct memory_settings settings = {
        .micro_batch = 4, .accumulation = 4, .optimiser_bytes = 8, .logits_factor = 16};
    const struct ladder_facts facts = {.capacity = 24 * GIB};
    struct ladder ladder;
    (void)state;
    oom_ladder(&none, &settings, &facts, DIALECT_TRANSFORMERS, &ladder);
    assert_int_equal(ladder.proposal, -1);
    assert_string_equal(ladder.rungs[0].change, "micro batch 4 -> 1, accumulation 4 -> 16");
    assert_true(ladder.rungs[0].estimate == 0.0);
    assert_true(ladder.before == 0.0);
    for (size_t i = 0; i < ladder.n; i++)
        assert_false(ladder.rungs[i].fits);
}

static void one_rung_that_is_enough_is_proposed_alone(void **state)
{
    const struct ladder_facts facts = {.capacity = 40 * GIB};
    struct memory_settings settings = LORA;
    struct ladder ladder;
    (void)state;
    settings.micro_batch = 2;
    oom_ladder(&LLAMA_7B, &settings, &facts, DIALECT_TRANSFORMERS, &ladder);
    assert_int_equal(ladder.proposal, 0);
    assert_true(ladder.proposal_is_single);
}

static void two_rungs_are_proposed_where_neither_is_enough_alone(void **state)
{
    const struct ladder_facts facts = {.capacity = 18.5 * GIB};
    struct ladder ladder;
    (void)state;
    oom_ladder(&LLAMA_7B, &LORA, &facts, DIALECT_TRANSFORMERS, &ladder);
    assert_int_equal(ladder.proposal, 1);
    assert_false(ladder.proposal_is_single);
}

static void an_infinite_batch_is_not_halved_for_ever(void **state)
{
    const struct ladder_facts facts = {.capacity = 24 * GIB};
    struct memory_settings settings = LORA;
    struct ladder ladder;
    (void)state;
    settings.micro_batch = INFINITY;
    oom_ladder(&LLAMA_7B, &settings, &facts, DIALECT_TRANSFORMERS, &ladder);
    settings.micro_batch = NAN;
    oom_ladder(&LLAMA_7B, &settings, &facts, DIALECT_TRANSFORMERS, &ladder);
    assert_int_equal(ladder.proposal, -1);
}

static void the_batch_is_halved_only_as_far_as_needed(void **state)
{
    const struct ladder_facts facts = {.capacity = 60 * GIB};
    struct ladder ladder;
    (void)state;
    oom_ladder(&LLAMA_7B, &LORA, &facts, DIALECT_TRANSFORMERS, &ladder);
    assert_string_equal(ladder.rungs[0].change, "micro batch 4 -> 2, accumulation 4 -> 8");
}

static void what_is_already_on_is_skipped(void **state)
{
    const struct ladder_facts facts = {.capacity = 16 * GIB};
    struct memory_settings settings = LORA;
    struct ladder ladder;
    (void)state;
    settings.micro_batch = 1;
    settings.checkpointing = true;
    settings.optimiser_bytes = 2;
    settings.logits_factor = 0;
    oom_ladder(&LLAMA_7B, &settings, &facts, DIALECT_AXOLOTL, &ladder);
    assert_true(ladder.rungs[0].is_taken); /* batch */
    assert_true(ladder.rungs[1].is_taken); /* checkpointing */
    assert_true(ladder.rungs[2].is_taken); /* optimiser */
    assert_true(ladder.rungs[4].is_taken); /* chunked loss */
    assert_true(ladder.rungs[5].is_taken); /* LoRA */
    assert_string_equal(ladder.rungs[6].id, "6");
    assert_int_equal(ladder.proposal, 6);
    assert_string_equal(ladder.rungs[6].setting, "adapter: qlora, load_in_4bit: true");
}

static void the_length_is_cut_at_p99_unless_too_many_rows_lose_their_end(void **state)
{
    struct ladder_facts facts = {.capacity = 24 * GIB, .p99 = 700, .cut_share = 0.008};
    struct ladder ladder;
    (void)state;
    oom_ladder(&LLAMA_7B, &LORA, &facts, DIALECT_TRANSFORMERS, &ladder);
    assert_false(ladder.rungs[3].is_taken);
    assert_string_equal(ladder.rungs[3].change,
                        "maximum length 2048 -> 704, which cuts 0.8 % of the rows");
    facts.cut_share = 0.02;
    oom_ladder(&LLAMA_7B, &LORA, &facts, DIALECT_TRANSFORMERS, &ladder);
    assert_true(ladder.rungs[3].is_taken);
}

static void a_measurement_far_from_the_estimate_scales_it(void **state)
{
    struct ladder_facts facts = {.capacity = 80 * GIB};
    struct ladder plain, scaled;
    (void)state;
    oom_ladder(&LLAMA_7B, &LORA, &facts, DIALECT_TRANSFORMERS, &plain);
    assert_true(plain.scale == 1.0);
    facts.measured = plain.before * 2.0;
    oom_ladder(&LLAMA_7B, &LORA, &facts, DIALECT_TRANSFORMERS, &scaled);
    assert_true(fabs(scaled.scale - 2.0) < 1e-9);
    assert_true(fabs(scaled.before - facts.measured) < 1.0);
    facts.measured = plain.before + 0.2 * facts.capacity;
    oom_ladder(&LLAMA_7B, &LORA, &facts, DIALECT_TRANSFORMERS, &scaled);
    assert_true(scaled.scale == 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seven_billion_lora_on_24_gib_needs_batch_and_checkpointing),
        cmocka_unit_test(without_a_shape_the_order_stands_and_nothing_is_promised),
        cmocka_unit_test(one_rung_that_is_enough_is_proposed_alone),
        cmocka_unit_test(two_rungs_are_proposed_where_neither_is_enough_alone),
        cmocka_unit_test(an_infinite_batch_is_not_halved_for_ever),
        cmocka_unit_test(the_batch_is_halved_only_as_far_as_needed),
        cmocka_unit_test(what_is_already_on_is_skipped),
        cmocka_unit_test(the_length_is_cut_at_p99_unless_too_many_rows_lose_their_end),
        cmocka_unit_test(a_measurement_far_from_the_estimate_scales_it),
    };
    return cmocka_run_group_tests_name("oom_ladder", tests, NULL, NULL);
}
