/* Spellings of settings: what each framework's word means. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/facts/config_names.h"
#include "core/facts/config_values.h"

struct spelling_case {
    const char *raw, *name;
    bool inverts;
};

static void expect_all(enum side side, const struct spelling_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool inverts = !cases[i].inverts;
        const char *name = config_name(side, cases[i].raw, &inverts);

        if (!cases[i].name) {
            assert_null(name);
        } else {
            if (!name || strcmp(name, cases[i].name) != 0)
                fail_msg("%s is %s, expected %s", cases[i].raw, name ? name : "unknown",
                         cases[i].name);
            assert_int_equal(inverts, cases[i].inverts);
        }
    }
}

static void every_framework_has_the_same_names(void **state)
{
    static const struct spelling_case cases[] = {
        /* transformers, TRL */
        {"learning_rate", "learning_rate", false},
        {"per_device_train_batch_size", "per_device_train_batch_size", false},
        {"max_seq_length", "max_length", false},
        {"evaluation_strategy", "eval_strategy", false},
        {"_n_gpu", "n_gpu", false},
        {"dtype", "torch_dtype", false},
        /* LLaMA-Factory */
        {"cutoff_len", "max_length", false},
        {"lora_rank", "lora_r", false},
        {"lora_target", "target_modules", false},
        {"additional_target", "modules_to_save", false},
        {"disable_gradient_checkpointing", "gradient_checkpointing", true},
        {"flash_attn", "attn_implementation", false},
        {"train_on_prompt", "train_on_inputs", false},
        {"pref_beta", "beta", false},
        {"pref_loss", "loss_type", false},
        {"train.cutoff_len", "max_length", false},
        /* axolotl */
        {"sequence_len", "max_length", false},
        {"micro_batch_size", "per_device_train_batch_size", false},
        {"num_epochs", "num_train_epochs", false},
        {"sample_packing", "packing", false},
        {"adapter", "finetuning_type", false},
        {"lora_target_modules", "target_modules", false},
        {"peft_use_rslora", "use_rslora", false},
        {"base_model", "model_name_or_path", false},
        /* DeepSpeed */
        {"fp16.enabled", "fp16", false},
        {"bf16.enabled", "bf16", false},
        {"zero_optimization.stage", "zero_stage", false},
        {"train_micro_batch_size_per_gpu", "per_device_train_batch_size", false},
        {"gradient_clipping", "max_grad_norm", false},
        {"optimizer.params.lr", "learning_rate", false},
        /* litgpt, NeMo, torchtune, PPO */
        {"data.init_args.mask_prompt", "train_on_inputs", true},
        {"train.epochs", "num_train_epochs", false},
        {"model.optim.lr", "learning_rate", false},
        {"trainer.devices", "world_size", false},
        {"kl_coef", "init_kl_coef", false},
        /* words that mean this only as a whole key, and unknown ones */
        {"optimizer.beta", NULL, false},
        {"other.stage", NULL, false},
        {"nonsense", NULL, false},
        {"", NULL, false},
    };

    (void)state;
    expect_all(SIDE_TRAIN, cases, sizeof cases / sizeof *cases);
}

static void other_sides_keep_their_own_names(void **state)
{
    static const struct spelling_case adapter[] = {
        {"r", "lora_r", false},
        {"lora_alpha", "lora_alpha", false},
        {"peft_type", "peft_type", false},
    };
    static const struct spelling_case serve[] = {
        {"ctx_size", "max_model_len", false},
        {"max_model_len", "max_model_len", false},
        {"system_prompt", "system", false},
        {"artefact", "artefact", false},
    };

    (void)state;
    expect_all(SIDE_ADAPTER, adapter, sizeof adapter / sizeof *adapter);
    expect_all(SIDE_SERVE, serve, sizeof serve / sizeof *serve);
}

static void canonical_names_are_their_own_spelling(void **state)
{
    static const char *const names[] = {
        "learning_rate",
        "per_device_train_batch_size",
        "gradient_accumulation_steps",
        "per_device_eval_batch_size",
        "gradient_checkpointing",
        "max_length",
        "num_train_epochs",
        "max_steps",
        "warmup_steps",
        "warmup_ratio",
        "bf16",
        "fp16",
        "lora_r",
        "lora_alpha",
        "use_rslora",
        "target_modules",
        "modules_to_save",
        "assistant_only_loss",
        "completion_only_loss",
        "train_on_inputs",
        "packing",
        "packing_strategy",
        "neat_packing",
        "padding_free",
        "attn_implementation",
        "train_sampling_strategy",
        "group_by_length",
        "seed",
        "data_seed",
        "logging_nan_inf_filter",
        "logging_steps",
        "load_best_model_at_end",
        "metric_for_best_model",
        "greater_is_better",
        "save_total_limit",
        "eval_strategy",
        "beta",
        "loss_type",
        "num_generations",
        "max_completion_length",
        "model_name_or_path",
        "output_dir",
        "optim",
        "lr_scheduler_type",
        "auto_find_batch_size",
        "max_grad_norm",
        "weight_decay",
        "lora_dropout",
        "neftune_noise_alpha",
        "remove_unused_columns",
        "label_names",
        "load_in_4bit",
        "load_in_8bit",
        "quantization_bit",
        "torch_dtype",
        "tf32",
        "world_size",
        "finetuning_type",
        "stage",
        "rl",
        "dataset",
        "init_kl_coef",
        "target_kl",
        "trainable_token_indices",
        "eval_accumulation_steps",
        "resume_from_checkpoint",
        "max_samples",
        "val_size",
        "ld_alpha",
        "ensure_weight_tying",
        "zero_stage",
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool inverts;
        const char *name = config_name(SIDE_TRAIN, names[i], &inverts);

        if (!name)
            fail_msg("%s is not known", names[i]);
        assert_string_equal(name, names[i]);
        assert_false(inverts);
    }
}

static void values_mean_the_same_in_every_framework(void **state)
{
    enum value_type type = VALUE_TEXT;

    (void)state;
    assert_string_equal(config_value("attn_implementation", "fa2", &type), "flash_attention_2");
    type = VALUE_BOOL;
    assert_string_equal(config_value("attn_implementation", "true", &type), "flash_attention_2");
    assert_int_equal(type, VALUE_TEXT);
    assert_string_equal(config_value("attn_implementation", "sdpa", &type), "sdpa");
    assert_string_equal(config_value("target_modules", "all", &type), "all-linear");
    type = VALUE_TEXT;
    assert_string_equal(config_value("torch_dtype", "torch.bfloat16", &type), "bfloat16");
    assert_null(config_value("seed", NULL, &type));
}

static void what_is_left_open_is_no_statement(void **state)
{
    (void)state;
    assert_true(config_value_is_open("gradient_accumulation_steps", "auto", VALUE_TEXT));
    assert_true(config_value_is_open("attn_implementation", "false", VALUE_BOOL));
    assert_false(config_value_is_open("bf16", "false", VALUE_BOOL));
    assert_false(config_value_is_open("optim", "adamw_torch", VALUE_TEXT));
}

static void a_precision_word_implies_its_switch(void **state)
{
    const char *value = NULL;
    enum value_type type = VALUE_NULL;

    (void)state;
    assert_string_equal(config_implied("precision", "bf16-mixed", 0, &value, &type), "bf16");
    assert_string_equal(value, "true");
    assert_null(config_implied("precision", "bf16-mixed", 1, &value, &type));
    assert_string_equal(config_implied("trainer.precision", "16", 0, &value, &type), "fp16");
    assert_null(config_implied("precision", "32", 0, &value, &type));
}

static void common_words_do_not_make_a_settings_file(void **state)
{
    (void)state;
    assert_true(config_name_is_known("learning_rate"));
    assert_true(config_name_is_known("trainer.accumulate_grad_batches"));
    assert_false(config_name_is_known("beta"));
    assert_false(config_name_is_known("stage"));
    assert_false(config_name_is_known("model"));
    assert_false(config_name_is_known("text"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_framework_has_the_same_names),
        cmocka_unit_test(other_sides_keep_their_own_names),
        cmocka_unit_test(canonical_names_are_their_own_spelling),
        cmocka_unit_test(values_mean_the_same_in_every_framework),
        cmocka_unit_test(what_is_left_open_is_no_statement),
        cmocka_unit_test(a_precision_word_implies_its_switch),
        cmocka_unit_test(common_words_do_not_make_a_settings_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
