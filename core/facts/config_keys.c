/* Spellings that need more than one word: nested keys joined by dots, and words that mean this in
 * one framework only. Single words that mean the same everywhere are in config_names.c. */
#include "core/facts/config_names_parts.h"

#include <string.h>

/* A key ends with one of these ("deepspeed.zero_optimization.stage" does). The longest counts, so
 * that a line without a name keeps what its last part alone would say from being believed. */
static const struct spelling NESTED[] = {
    /* DeepSpeed */
    {"bf16.enabled", "bf16", 0},
    {"fp16.enabled", "fp16", 0},
    {"fp16.loss_scale", "fp16.loss_scale", 0},
    {"fp16.initial_scale_power", "fp16.initial_scale_power", 0},
    {"fp16.min_loss_scale", "fp16.min_loss_scale", 0},
    {"fp16.loss_scale_window", "fp16.loss_scale_window", 0},
    {"optimizer.type", "optim", SHARED},
    {"optimizer.params.lr", "learning_rate", 0},
    {"optimizer.params.weight_decay", "weight_decay", 0},
    {"optimizer.params.eps", "adam_epsilon", 0},
    {"scheduler.type", "lr_scheduler_type", 0},
    {"scheduler.params.total_num_steps", "max_steps", 0},
    {"scheduler.params.warmup_type", NULL, 0},
    {"zero_optimization.stage", "zero_stage", 0},
    {"zero_optimization.offload_optimizer.device", "offload_optimizer_device", 0},
    {"zero_optimization.offload_param.device", "offload_param_device", 0},
    {"zero_optimization.stage3_gather_16bit_weights_on_model_save",
     "stage3_gather_16bit_weights_on_model_save", 0},
    {"zero_optimization.stage3_gather_fp16_weights_on_model_save",
     "stage3_gather_16bit_weights_on_model_save", 0},
    /* accelerate */
    {"fsdp_config.fsdp_activation_checkpointing", "gradient_checkpointing", 0},
    {"fp8_config.margin", NULL, 0},
    /* axolotl */
    {"special_tokens.pad_token", "pad_token", SHARED},
    {"special_tokens.eos_token", "eos_token", SHARED},
    {"trl.beta", "beta", SHARED},
    {"trl.loss_type", "loss_type", SHARED},
    {"trl.epsilon", "epsilon", SHARED},
    {"trl.temperature", "temperature", SHARED},
    {"vllm.dtype", NULL, 0},
    {"vllm.max_model_len", NULL, 0},
    /* torchtune */
    {"checkpointer.checkpoint_dir", "model_name_or_path", 0},
    {"checkpointer.output_dir", NULL, 0},
    {"checkpointer.model_type", NULL, 0},
    {"ref_checkpointer.checkpoint_dir", "ref_model", 0},
    {"ref_checkpointer.output_dir", NULL, 0},
    {"ref_checkpointer.model_type", NULL, 0},
    {"ref_policy_checkpointer.checkpoint_dir", "ref_model", 0},
    {"ref_policy_checkpointer.output_dir", NULL, 0},
    {"ref_policy_checkpointer.model_type", NULL, 0},
    {"reward_checkpointer.checkpoint_dir", "reward_model", 0},
    {"reward_checkpointer.output_dir", NULL, 0},
    {"reward_checkpointer.model_type", NULL, 0},
    {"value_checkpointer.output_dir", NULL, 0},
    {"value_checkpointer.model_type", NULL, 0},
    {"teacher_checkpointer.output_dir", NULL, 0},
    {"teacher_checkpointer.model_type", NULL, 0},
    {"dataset.data_files", "dataset", SHARED},
    {"loss._component_", "loss", SHARED},
    {"model._component_", "model_builder", SHARED},
    {"loss.beta", "beta", SHARED},
    {"loss.label_smoothing", "label_smoothing", SHARED},
    {"loss.epsilon", "cliprange", 0},
    {"loss.value_clip_range", "cliprange_value", 0},
    {"loss.value_coeff", "vf_coef", 0},
    {"model.quantize_base", "load_in_4bit", 0},
    {"lr_scheduler._component_", "lr_scheduler_type", 0},
    {"optimizer._component_", "optim", SHARED},
    {"tokenizer.path", "tokenizer_name_or_path", SHARED},
    {"profiler.output_dir", NULL, 0},
    {"profiler.warmup_steps", NULL, 0},
    /* LitGPT */
    {"data.init_args.json_path", "dataset", SHARED},
    {"data.init_args.seed", "data_seed", 0},
    {"eval.interval", "eval_steps", SHARED},
    {"eval.max_iters", NULL, 0},
    {"eval.max_new_tokens", NULL, 0},
    {"optimizer.class_path", "optim", SHARED},
    {"optimizer.init_args.eps", "adam_epsilon", 0},
    {"train.epochs", "num_train_epochs", 0},
    {"train.max_norm", "max_grad_norm", 0},
    {"train.save_interval", "save_steps", 0},
    {"eval.initial_validation", "eval_on_start", 0},
    /* NeMo and Lightning */
    {"trainer.devices", "world_size", SHARED},
    {"exp_manager.name", "run_name", SHARED},
    {"exp_manager.explicit_log_dir", "output_dir", 0},
    {"exp_manager.exp_dir", "output_dir", 0},
    {"checkpoint_callback_params.monitor", "metric_for_best_model", 0},
    {"checkpoint_callback_params.mode", "greater_is_better", 0},
    {"checkpoint_callback_params.save_top_k", "save_total_limit", 0},
    {"checkpoint_callback_params.every_n_train_steps", "save_steps", 0},
    {"early_stopping_callback_params.patience", "early_stopping_patience", 0},
    {"model.encoder_seq_length", "max_length", 0},
    {"model.restore_from_path", "model_name_or_path", 0},
    {"peft.peft_scheme", "finetuning_type", 0},
    {"peft.restore_from_path", "adapter_name_or_path", 0},
    {"lora_tuning.adapter_dim", "lora_r", 0},
    {"lora_tuning.alpha", "lora_alpha", 0},
    {"lora_tuning.adapter_dropout", "lora_dropout", 0},
    {"optim.name", "optim", SHARED},
    {"optim.sched.name", "lr_scheduler_type", 0},
    {"optim.sched.max_steps", NULL, 0},
    {"train_ds.file_names", "dataset", SHARED},
    {"train_ds.file_path", "dataset", SHARED},
    {"train_ds.manifest_filepath", "dataset", SHARED},
    {"train_ds.batch_size", "per_device_train_batch_size", 0},
    {"train_ds.packed_sequence", "packing", 0},
    {"validation_ds.file_names", "eval_dataset", SHARED},
    {"validation_ds.file_path", "eval_dataset", SHARED},
    {"validation_ds.manifest_filepath", "eval_dataset", SHARED},
    {"validation_ds.batch_size", "per_device_eval_batch_size", 0},
    {"validation_ds.micro_batch_size", "per_device_eval_batch_size", 0},
    {"validation_ds.global_batch_size", NULL, 0},
    {"validation_ds.max_seq_length", NULL, 0},
    {"test_ds.micro_batch_size", NULL, 0},
    {"test_ds.global_batch_size", NULL, 0},
    {"test_ds.max_seq_length", NULL, 0},
    /* Facts that importers state in this form */
    {"dataset.num_rows", "dataset.num_rows", SHARED},
    {"generations.n_pairs", "generations.n_pairs", SHARED},
    {"generations.n_identical", "generations.n_identical", SHARED},
};

static const struct own_spelling OWN[] = {
    /* micro batch × accumulation × processes */
    {"axolotl", {"batch_size", "global_batch_size", 0}},
    {"torchtune", {"batch_size", "per_device_train_batch_size", 0}},
    {"torchtune", {"dtype", "precision", 0}},
    {"torchtune", {"batch_size_val", "per_device_eval_batch_size", 0}},
    {"torchtune", {"shuffle", "shuffle_dataset", 0}},
    {"torchtune", {"dataloader.shuffle", "shuffle_dataset", 0}},
    {"torchtune", {"model.lora_attn_modules", NULL, 0}}, /* a part of them: see lora_targets.c */
    {"litgpt", {"quantize", "quantization_method", 0}},
    {"litgpt", {"initial_checkpoint_dir", "model_name_or_path", 0}},
    {"litgpt", {"logger_name", "report_to", 0}},
    {"litgpt", {"resume", "resume_from_checkpoint", 0}},
    /* what evalscope asks, no part of the data */
    {"ms_swift", {"eval_dataset", NULL, 0}},
    /* a limit for streams beside num_train_epochs */
    {"ms_swift", {"max_epochs", NULL, 0}},
    {"ms_swift", {"early_stop_interval", "early_stopping_patience", 0}},
    {"ms_swift", {"adam_eps", "adam_epsilon", 0}},
    {"ms_swift", {"lr_warmup_iters", "warmup_steps", 0}},
    {"axolotl", {"orpo_alpha", "beta", 0}},
    {"axolotl", {"dpo_padding_free", "padding_free", 0}},
    {"axolotl", {"dataset_processes", "preprocessing_num_workers", 0}},
    {"unsloth", {"training.batch_size", "per_device_train_batch_size", 0}},
    {"unsloth", {"training.training_type", "finetuning_type", 0}},
    {"unsloth", {"training.train_on_completions", "train_on_responses_only", 0}},
    {"unsloth", {"data.dataset", "dataset", 0}},
    {"unsloth", {"data.local_dataset", "dataset", 0}},
};

const struct spelling *config_nested_keys(size_t *n)
{
    *n = sizeof NESTED / sizeof *NESTED;
    return NESTED;
}

const struct own_spelling *config_own_words(size_t *n)
{
    *n = sizeof OWN / sizeof *OWN;
    return OWN;
}

/* Of models, adapters and serving records, whose names are canonical as they are. */
static const struct side_spelling {
    enum side side;
    const char *raw, *name;
} OTHER_SIDES[] = {
    {SIDE_ADAPTER, "r", "lora_r"},
    {SIDE_ADAPTER, "lora_rank", "lora_r"},
    {SIDE_MODEL, "dtype", "torch_dtype"},
    {SIDE_MODEL, "_attn_implementation", "attn_implementation"},
    {SIDE_SERVE, "max_context_len", "max_model_len"},
    {SIDE_SERVE, "context_length", "max_model_len"},
    {SIDE_SERVE, "ctx_size", "max_model_len"},
    {SIDE_SERVE, "num_ctx", "max_model_len"},
    {SIDE_SERVE, "max_total_tokens", "max_model_len"},
    {SIDE_SERVE, "max_new_tokens", "max_tokens"},
    {SIDE_SERVE, "model_name_or_path", "model"},
    {SIDE_SERVE, "model_path", "model"},
    {SIDE_SERVE, "model_id", "model"},
    {SIDE_SERVE, "quant", "quantization"},
    {SIDE_SERVE, "quantize", "quantization"},
    {SIDE_SERVE, "system_prompt", "system"},
    {SIDE_SERVE, "artifact", "artefact"},
    {SIDE_SERVE, "lora", "adapter"},
    {SIDE_SERVE, "adapter_path", "adapter"},
    {SIDE_SERVE, "lora_modules", "adapter"},
    {SIDE_SERVE, "lora_paths", "adapter"},
    {SIDE_SERVE, "lora_adapters", "adapter"},
    {SIDE_SERVE, "lora_scaled", "adapter"},
    {SIDE_SERVE, "model_tag", "model"},
    {SIDE_SERVE, "hf_repo", "model"},
    {SIDE_SERVE, "alias", "served_model_name"},
    {SIDE_SERVE, "tokenizer_path", "tokenizer"},
    {SIDE_SERVE, "chat_template_file", "chat_template"},
    {SIDE_SERVE, "chat_format", "chat_template"},
    {SIDE_SERVE, "n_predict", "max_tokens"},
    {SIDE_SERVE, "num_predict", "max_tokens"},
    {SIDE_SERVE, "n_ctx", "max_model_len"},
    {SIDE_SERVE, "max_input_length", "max_input_tokens"},
};

const char *config_other_side(enum side side, const char *raw_name)
{
    for (size_t i = 0; i < sizeof OTHER_SIDES / sizeof *OTHER_SIDES; i++)
        if (OTHER_SIDES[i].side == side && strcmp(OTHER_SIDES[i].raw, raw_name) == 0)
            return OTHER_SIDES[i].name;
    return raw_name;
}
