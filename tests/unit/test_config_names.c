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
        {"swanlab_run_name", "run_name", false},
        {"quantization_type", "bnb_4bit_quant_type", false},
        {"double_quantization", "bnb_4bit_use_double_quant", false},
        {"bnb_4bit_use_double_quant", "bnb_4bit_use_double_quant", false},
        {"kto_chosen_weight", "desirable_weight", false},
        {"kto_rejected_weight", "undesirable_weight", false},
        /* axolotl */
        {"sequence_len", "max_length", false},
        {"micro_batch_size", "per_device_train_batch_size", false},
        {"num_epochs", "num_train_epochs", false},
        {"sample_packing", "packing", false},
        {"adapter", "finetuning_type", false},
        {"lora_target_modules", "target_modules", false},
        {"peft_use_rslora", "use_rslora", false},
        {"base_model", "model_name_or_path", false},
        {"base_model_config", "model_name_or_path", false},
        {"revision_of_model", "model_revision", false},
        {"tokenizer_config", "tokenizer_name_or_path", false},
        {"pretraining_dataset", "dataset", false},
        {"max_prompt_len", "max_prompt_length", false},
        {"batch_flattening", "padding_free", false},
        {"sdp_attention", "sdp_attention", false},
        {"xformers_attention", "xformers_attention", false},
        {"flex_attention", "flex_attention", false},
        {"eager_attention", "eager_attention", false},
        {"bfloat16", "bf16", false},
        {"float16", "fp16", false},
        {"noisy_embedding_alpha", "neftune_noise_alpha", false},
        {"loraplus_lr_embedding", "loraplus_lr_embedding", false},
        {"cosine_min_lr_ratio", "min_lr_rate", false},
        {"lora_rank_pattern", "rank_pattern", false},
        {"lora_alpha_pattern", "alpha_pattern", false},
        {"wandb_name", "run_name", false},
        {"mlflow_run_name", "run_name", false},
        {"dpo_loss_type", "loss_type", false},
        {"dpo_loss_weights", "loss_weights", false},
        {"kto_desirable_weight", "desirable_weight", false},
        {"kto_undesirable_weight", "undesirable_weight", false},
        {"ray_num_workers", "world_size", false},
        {"special_tokens.pad_token", "pad_token", false},
        {"special_tokens.eos_token", "eos_token", false},
        {"trl.beta", "beta", false},
        {"trl.loss_type", "loss_type", false},
        {"trl.epsilon", "epsilon", false},
        {"trl.temperature", "temperature", false},
        {"trl.num_generations", "num_generations", false},
        {"vllm.dtype", NULL, false},
        {"vllm.max_model_len", NULL, false},
        /* DeepSpeed */
        {"scheduler.type", "lr_scheduler_type", false},
        {"scheduler.params.total_num_steps", "max_steps", false},
        {"scheduler.params.warmup_type", NULL, false},
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
        {"data.init_args.json_path", "dataset", false},
        {"data.init_args.seed", "data_seed", false},
        {"eval.interval", "eval_steps", false},
        {"eval.max_iters", NULL, false},
        {"eval.max_new_tokens", NULL, false},
        {"optimizer.class_path", "optim", false},
        {"optimizer.init_args.lr", "learning_rate", false},
        {"optimizer.init_args.eps", "adam_epsilon", false},
        {"train.max_norm", "max_grad_norm", false},
        {"train.save_interval", "save_steps", false},
        {"train.global_batch_size", "global_batch_size", false},
        {"train.lr_warmup_steps", "warmup_steps", false},
        {"tokenizer_dir", "tokenizer_name_or_path", false},
        {"exp_manager.name", "run_name", false},
        {"exp_manager.explicit_log_dir", "output_dir", false},
        {"exp_manager.exp_dir", "output_dir", false},
        {"exp_manager.checkpoint_callback_params.monitor", "metric_for_best_model", false},
        {"exp_manager.checkpoint_callback_params.mode", "greater_is_better", false},
        {"exp_manager.checkpoint_callback_params.save_top_k", "save_total_limit", false},
        {"checkpoint_callback_params.every_n_train_steps", "save_steps", false},
        {"early_stopping_callback_params.patience", "early_stopping_patience", false},
        {"model.encoder_seq_length", "max_length", false},
        {"model.restore_from_path", "model_name_or_path", false},
        {"model.peft.peft_scheme", "finetuning_type", false},
        {"model.peft.restore_from_path", "adapter_name_or_path", false},
        {"model.peft.lora_tuning.adapter_dim", "lora_r", false},
        {"model.peft.lora_tuning.alpha", "lora_alpha", false},
        {"model.peft.lora_tuning.adapter_dropout", "lora_dropout", false},
        {"model.answer_only_loss", "train_on_inputs", true},
        {"model.activations_checkpoint_granularity", "gradient_checkpointing", false},
        {"model.optim.name", "optim", false},
        {"model.optim.sched.name", "lr_scheduler_type", false},
        {"model.optim.sched.max_steps", NULL, false},
        {"model.data.train_ds.file_names", "dataset", false},
        {"train_ds.file_path", "dataset", false},
        {"train_ds.manifest_filepath", "dataset", false},
        {"model.train_ds.batch_size", "per_device_train_batch_size", false},
        {"model.data.train_ds.packed_sequence", "packing", false},
        {"validation_ds.file_names", "eval_dataset", false},
        {"validation_ds.file_path", "eval_dataset", false},
        {"validation_ds.manifest_filepath", "eval_dataset", false},
        {"validation_ds.batch_size", "per_device_eval_batch_size", false},
        {"validation_ds.micro_batch_size", "per_device_eval_batch_size", false},
        {"validation_ds.global_batch_size", NULL, false},
        {"validation_ds.max_seq_length", NULL, false},
        {"test_ds.micro_batch_size", NULL, false},
        {"test_ds.global_batch_size", NULL, false},
        {"test_ds.max_seq_length", NULL, false},
        {"model.lora_attn_modules", "target_modules", false},
        {"optimizer.lr", "learning_rate", false},
        {"optimizer._component_", "optim", false},
        {"lr_scheduler._component_", "lr_scheduler_type", false},
        {"loss._component_", "loss", false},
        {"loss.beta", "beta", false},
        {"loss.label_smoothing", "label_smoothing", false},
        {"loss.epsilon", "cliprange", false},
        {"loss.value_clip_range", "cliprange_value", false},
        {"loss.value_coeff", "vf_coef", false},
        {"model.quantize_base", "load_in_4bit", false},
        {"eval.initial_validation", "eval_on_start", false},
        {"dataset_num_proc", "preprocessing_num_workers", false},
        {"dataset_streaming", "streaming", false},
        {"use_bnb_nested_quant", "bnb_4bit_use_double_quant", false},
        {"lora_task_type", "task_type", false},
        {"wandb_exp_name", "run_name", false},
        {"trackio_run_name", "run_name", false},
        {"trackio.run_name", "run_name", false},
        {"tokenizer.path", "tokenizer_name_or_path", false},
        {"tokenizer.max_seq_len", "max_length", false},
        {"dataset.packed", "packing", false},
        {"dataset.data_files", "dataset", false},
        {"dataset.train_on_input", "train_on_inputs", false},
        {"checkpointer.checkpoint_dir", "model_name_or_path", false},
        {"checkpointer.output_dir", NULL, false},
        {"checkpointer.model_type", NULL, false},
        {"ref_checkpointer.checkpoint_dir", "ref_model", false},
        {"ref_checkpointer.output_dir", NULL, false},
        {"ref_checkpointer.model_type", NULL, false},
        {"ref_policy_checkpointer.checkpoint_dir", "ref_model", false},
        {"ref_policy_checkpointer.output_dir", NULL, false},
        {"ref_policy_checkpointer.model_type", NULL, false},
        {"reward_checkpointer.checkpoint_dir", "reward_model", false},
        {"reward_checkpointer.output_dir", NULL, false},
        {"reward_checkpointer.model_type", NULL, false},
        {"value_checkpointer.output_dir", NULL, false},
        {"value_checkpointer.model_type", NULL, false},
        {"teacher_checkpointer.output_dir", NULL, false},
        {"teacher_checkpointer.model_type", NULL, false},
        {"profiler.output_dir", NULL, false},
        {"profiler.warmup_steps", NULL, false},
        {"kl_coeff", "init_kl_coef", false},
        /* ms-swift, accelerate */
        {"sft_type", "finetuning_type", false},
        {"adapters", "adapter_name_or_path", false},
        {"packing_length", "packing_length", false},
        {"vit_gradient_checkpointing", "vit_gradient_checkpointing", false},
        {"lorap_lr_ratio", "loraplus_lr_ratio", false},
        {"init_weights", "init_lora_weights", false},
        {"freeze_vit", "freeze_vision_tower", false},
        {"swanlab_exp_name", "run_name", false},
        {"fsdp_config.fsdp_activation_checkpointing", "gradient_checkpointing", false},
        {"fp8_config.margin", NULL, false},
        {"deepspeed_config.zero_stage", "zero_stage", false},
        {"deepspeed.zero_optimization.stage", "zero_stage", false},
        {"random_seed", "seed", false},
        /* words that mean this only as a whole key, and unknown ones */
        {"optimizer.beta", NULL, false},
        {"other.stage", NULL, false},
        {"nonsense", NULL, false},
        {"", NULL, false},
    };

    (void)state;
    expect_all(SIDE_TRAIN, cases, sizeof cases / sizeof *cases);
}

static void a_word_may_mean_another_thing_in_one_framework(void **state)
{
    static const struct {
        const char *framework;
        struct spelling_case spelling;
    } cases[] = {
        {NULL, {"batch_size", NULL, false}},
        {"axolotl", {"batch_size", "global_batch_size", false}},
        {"torchtune", {"batch_size", "per_device_train_batch_size", false}},
        {"torchtune", {"batch_size_val", "per_device_eval_batch_size", false}},
        {"torchtune", {"dtype", "precision", false}},
        {NULL, {"dtype", "torch_dtype", false}},
        {"litgpt", {"quantize", "quantization_method", false}},
        {"litgpt", {"initial_checkpoint_dir", "model_name_or_path", false}},
        {"torchtune", {"shuffle", "shuffle_dataset", false}},
        {"torchtune", {"dataloader.shuffle", "shuffle_dataset", false}},
        {"torchtune", {"model.lora_attn_modules", NULL, false}},
        {NULL, {"shuffle", NULL, false}},
        {"litgpt", {"logger_name", "report_to", false}},
        {"litgpt", {"resume", "resume_from_checkpoint", false}},
        {"ms_swift", {"early_stop_interval", "early_stopping_patience", false}},
        {"ms_swift", {"adam_eps", "adam_epsilon", false}},
        {"ms_swift", {"lr_warmup_iters", "warmup_steps", false}},
        {"axolotl", {"orpo_alpha", "beta", false}},
        {"axolotl", {"dpo_padding_free", "padding_free", false}},
        {"axolotl", {"dataset_processes", "preprocessing_num_workers", false}},
        {"ms_swift", {"eval_dataset", NULL, false}},
        {NULL, {"eval_dataset", "eval_dataset", false}},
        {"ms_swift", {"max_epochs", NULL, false}},
        {"unsloth", {"training.batch_size", "per_device_train_batch_size", false}},
        {"unsloth", {"training.training_type", "finetuning_type", false}},
        {"unsloth", {"training.train_on_completions", "train_on_responses_only", false}},
        {"unsloth", {"data.dataset", "dataset", false}},
        {"unsloth", {"data.local_dataset", "dataset", false}},
        {"torchtune", {"dataset.packed", "packing", false}},
        {"nobody", {"learning_rate", "learning_rate", false}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct spelling_case *expected = &cases[i].spelling;
        bool inverts = true;
        const char *name =
            config_name_of(cases[i].framework, SIDE_TRAIN, expected->raw, &inverts);

        assert_false(inverts);
        if (!expected->name)
            assert_null(name);
        else
            assert_string_equal(name, expected->name);
    }
}

static void a_key_is_not_named_after_its_last_part_where_that_misleads(void **state)
{
    (void)state;
    assert_false(config_name_is_known("profiler.warmup_steps"));
    assert_true(config_name_is_known("deepspeed.bf16.enabled"));
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
    type = VALUE_TEXT;
    assert_string_equal(config_value("gradient_checkpointing", "selective", &type), "true");
    assert_int_equal(type, VALUE_BOOL);
    type = VALUE_TEXT;
    assert_string_equal(config_value("greater_is_better", "min", &type), "false");
    assert_string_equal(config_value("lr_scheduler_type", "CosineAnnealing", &type), "cosine");
    assert_string_equal(config_value("lr_scheduler_type", "WarmupDecayLR", &type), "linear");
    assert_string_equal(config_value("optim", "torch.optim.AdamW", &type), "adamw_torch");
    assert_string_equal(config_value("torch_dtype", "bf16", &type), "bfloat16");
}

static void what_is_left_open_is_no_statement(void **state)
{
    (void)state;
    assert_true(config_value_is_open("output_dir", "${output_dir}", VALUE_TEXT));
    assert_false(config_value_is_open("output_dir", "${output_dir}/logs", VALUE_TEXT));
    assert_false(config_value_is_open("output_dir", "$", VALUE_TEXT));
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
        cmocka_unit_test(a_word_may_mean_another_thing_in_one_framework),
        cmocka_unit_test(a_key_is_not_named_after_its_last_part_where_that_misleads),
        cmocka_unit_test(other_sides_keep_their_own_names),
        cmocka_unit_test(canonical_names_are_their_own_spelling),
        cmocka_unit_test(values_mean_the_same_in_every_framework),
        cmocka_unit_test(what_is_left_open_is_no_statement),
        cmocka_unit_test(a_precision_word_implies_its_switch),
        cmocka_unit_test(common_words_do_not_make_a_settings_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
