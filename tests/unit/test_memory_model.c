/* The memory of a step against the published rows of CHECKS.md F20, and F10's counts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "core/memory/memory_model.h"

static const double GIB = 1073741824.0;

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g, expected %.17g", value, expected);
}

/* Llama-3.2-3B, full fine-tune in bf16 with bf16 states, packed to 4,096, batch 2. */
static const struct memory_shape LLAMA_3B = {.n_parameters = 3212749824.0,
                                             .n_trainable = 3212749824.0,
                                             .n_linear = 2818572288.0,
                                             .layers = 28,
                                             .hidden = 3072,
                                             .kv_hidden = 1024,
                                             .feed_forward = 8192,
                                             .vocabulary = 128256,
                                             .heads = 24};
static const struct memory_settings FULL = {.micro_batch = 2,
                                            .sequence = 4096,
                                            .weights = WEIGHTS_16BIT,
                                            .gradient_bytes = 2,
                                            .optimiser_bytes = 4,
                                            .flash_attention = true,
                                            .logits_factor = 16,
                                            .accumulation = 1,
                                            .eval_batch = 8};

static void parts_of_a_full_fine_tune_are_those_stated(void **state)
{
    struct memory_estimate e;
    (void)state;
    memory_estimate(&LLAMA_3B, &FULL, &e);
    assert_true(e.is_known);
    const struct memory_parts *forward = &e.phases[PHASE_FORWARD];
    near(forward->weights / GIB, 5.98, 5e-3);
    near(forward->optimiser / GIB, 11.97, 5e-3);
    near(forward->activations / GIB, 22.75, 5e-3);
    near(e.phases[PHASE_BACKWARD].activations / GIB, 0.8125, 5e-5);
    near(forward->logits / GIB, 1.96 + 16 * 0.98, 0.06);
}

static void peaks_meet_the_published_rows(void **state)
{
    static const struct {
        double factor;
        bool checkpointing;
        double peak;
        enum memory_phase phase;
    } rows[] = {
        {16, false, 58.3, PHASE_FORWARD},
        {8, false, 50.5, PHASE_FORWARD},
        {0, false, 42.7, PHASE_FORWARD},
        {0, true, 24.7, PHASE_BACKWARD},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct memory_settings settings = FULL;
        struct memory_estimate e;
        settings.logits_factor = rows[i].factor;
        settings.checkpointing = rows[i].checkpointing;
        memory_estimate(&LLAMA_3B, &settings, &e);
        near(e.peak_bytes / GIB, rows[i].peak, 0.05);
        assert_int_equal(e.peak, rows[i].phase);
        if (rows[i].checkpointing)
            near(e.phases[PHASE_FORWARD].total / GIB, 21.2, 0.05);
    }
}

static void adapters_meet_the_published_rows(void **state)
{
    struct memory_shape shape = LLAMA_3B;
    struct memory_settings settings = FULL;
    struct memory_estimate e;
    (void)state;
    shape.n_trainable = 1; /* "+ adapter" is left out of the table */
    settings.logits_factor = 0;
    settings.checkpointing = true;
    memory_estimate(&shape, &settings, &e);
    near(e.phases[PHASE_FORWARD].total / GIB, 9.3, 0.05);
    settings.is_offloaded = true;
    memory_estimate(&shape, &settings, &e);
    near(e.phases[PHASE_FORWARD].total / GIB, 7.9, 0.05);
    settings.weights = WEIGHTS_NF4_DOUBLE;
    memory_estimate(&shape, &settings, &e);
    near(e.phases[PHASE_FORWARD].weights / GIB, 2.09, 5e-3);
    near(e.phases[PHASE_FORWARD].total / GIB, 4.0, 0.06);
    settings.is_offloaded = false;
    memory_estimate(&shape, &settings, &e);
    near(e.phases[PHASE_FORWARD].total / GIB, 5.4, 0.05);
}

static void accumulation_holds_gradients_through_the_forward_pass(void **state)
{
    struct memory_settings settings = FULL;
    struct memory_estimate once, twice;
    (void)state;
    memory_estimate(&LLAMA_3B, &settings, &once);
    settings.accumulation = 2;
    memory_estimate(&LLAMA_3B, &settings, &twice);
    near(twice.peak_bytes - once.peak_bytes, 2 * LLAMA_3B.n_parameters, 1);
}

static void pairs_double_the_tokens(void **state)
{
    struct memory_settings settings = FULL;
    struct memory_estimate one, pair;
    (void)state;
    memory_estimate(&LLAMA_3B, &settings, &one);
    settings.is_pair = true;
    memory_estimate(&LLAMA_3B, &settings, &pair);
    near(pair.phases[PHASE_FORWARD].activations, 2 * one.phases[PHASE_FORWARD].activations, 1);
}

static void predictions_pile_up_outside_of_the_training_peak(void **state)
{
    struct memory_settings settings = FULL;
    struct memory_estimate without, with;
    (void)state;
    memory_estimate(&LLAMA_3B, &settings, &without);
    settings.n_eval = 1000;
    settings.eval_keeps_predictions = 1;
    memory_estimate(&LLAMA_3B, &settings, &with);
    near(with.phases[PHASE_EVALUATION].predictions, 1000.0 * 4096 * 128256 * 4, 1);
    near(with.peak_bytes, without.peak_bytes, 1);
}

static void the_cache_of_a_token_is_that_of_llama_8b(void **state)
{
    const struct memory_shape shape = {.n_parameters = 8e9,
                                       .n_trainable = 1,
                                       .layers = 32,
                                       .hidden = 4096,
                                       .kv_hidden = 1024,
                                       .feed_forward = 14336,
                                       .vocabulary = 128256};
    struct memory_settings settings = {.micro_batch = 1,
                                       .sequence = 1,
                                       .eval_batch = 1,
                                       .eval_generates = true,
                                       .flash_attention = true};
    struct memory_estimate e;
    (void)state;
    memory_estimate(&shape, &settings, &e);
    near(e.phases[PHASE_EVALUATION].kv_cache, 131072, 0);
}

static void a_missing_number_is_no_estimate(void **state)
{
    struct memory_shape shape = LLAMA_3B;
    struct memory_settings settings = FULL;
    struct memory_estimate e;
    (void)state;
    shape.hidden = 0;
    memory_estimate(&shape, &settings, &e);
    assert_false(e.is_known);
    settings.sequence = 0;
    memory_estimate(&LLAMA_3B, &settings, &e);
    assert_false(e.is_known);
    assert_true(memory_longest_sequence(&shape, &FULL, 1, 80 * GIB) == 0.0);
}

static void the_longest_sequence_fits_and_the_next_does_not(void **state)
{
    struct memory_settings settings = FULL;
    struct memory_estimate e;
    (void)state;
    double longest = memory_longest_sequence(&LLAMA_3B, &settings, 1.0, 50.0 * GIB);
    assert_true(longest > 2048 && longest < 4096);
    settings.sequence = longest;
    memory_estimate(&LLAMA_3B, &settings, &e);
    assert_true(e.peak_bytes <= 50.0 * GIB);
    settings.sequence = longest + 1;
    memory_estimate(&LLAMA_3B, &settings, &e);
    assert_true(e.peak_bytes > 50.0 * GIB);
}

static void lora_counts_are_those_of_known_models(void **state)
{
    struct memory_shape llama8 = {.layers = 32,
                                  .hidden = 4096,
                                  .kv_hidden = 1024,
                                  .feed_forward = 14336,
                                  .vocabulary = 128256};
    (void)state;
    near(memory_count_lora(&llama8, 16), 41943040, 0);
    near(memory_count_lora(&LLAMA_3B, 8), 12156928, 0);
    near(32 * 2 * lora_parameters(8, 4096, 4096, false), 4194304, 0);
    near(lora_parameters(8, 10, 20, true), 260, 0);
}

static void parameters_follow_from_the_shape(void **state)
{
    (void)state;
    near(memory_count_linear(&LLAMA_3B), LLAMA_3B.n_linear, 0);
    near(memory_count_parameters(&LLAMA_3B, true), LLAMA_3B.n_parameters, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_a_full_fine_tune_are_those_stated),
        cmocka_unit_test(peaks_meet_the_published_rows),
        cmocka_unit_test(adapters_meet_the_published_rows),
        cmocka_unit_test(accumulation_holds_gradients_through_the_forward_pass),
        cmocka_unit_test(pairs_double_the_tokens),
        cmocka_unit_test(predictions_pile_up_outside_of_the_training_peak),
        cmocka_unit_test(the_cache_of_a_token_is_that_of_llama_8b),
        cmocka_unit_test(a_missing_number_is_no_estimate),
        cmocka_unit_test(the_longest_sequence_fits_and_the_next_does_not),
        cmocka_unit_test(lora_counts_are_those_of_known_models),
        cmocka_unit_test(parameters_follow_from_the_shape),
    };
    return cmocka_run_group_tests_name("memory_model", tests, NULL, NULL);
}
