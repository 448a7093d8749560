/* Every framework's spelling of a setting, one line a spelling (CHECKS.md 2.4 rule 11).
 *
 * To teach flatline a spelling: add the line {spelling, canonical name, flags} to its group, and a
 * case to tests/unit/test_config_names.c. The canonical name is transformers', TRL's or PEFT's own
 * and has a line of its own. Flags:
 *
 *   SHARED      other files than training settings use the word too: it does not make a mapping a
 *               settings file
 *   WHOLE_ONLY  means this only as the whole key, not as the last part of a nested one
 *   INVERTS     the value means the opposite
 *
 * Nested keys (a dot in them) and words of one framework's own sense are in config_keys.c.
 * The names of config.json, adapter_config.json, generation_config.json, tokenizer_config.json and
 * of serving records are canonical as they are, but for the few of OTHER_SIDES. */
#include "core/facts/config_names.h"

#include <string.h>

#include "core/facts/config_names_parts.h"

static const struct spelling TRAIN_NAMES[] = {
    /* Model and kind */
    {"model_name_or_path", "model_name_or_path", 0},
    {"base_model", "model_name_or_path", 0},
    {"base_model_config", "model_name_or_path", SHARED},
    {"model_path", "model_name_or_path", 0},
    {"pretrained_model_name_or_path", "model_name_or_path", 0},
    {"pretrained_model_name", "model_name_or_path", 0},
    {"model", "model_name_or_path", SHARED | WHOLE_ONLY},
    {"model_name", "model_name_or_path", SHARED | WHOLE_ONLY},
    {"model_id", "model_name_or_path", SHARED | WHOLE_ONLY},
    {"checkpoint_dir", "model_name_or_path", SHARED | WHOLE_ONLY},
    {"base_model_name_or_path", "base_model_name_or_path", SHARED},
    {"model_revision", "model_revision", SHARED},
    {"revision_of_model", "model_revision", 0},
    {"model_type", "model_type", SHARED},
    {"trust_remote_code", "trust_remote_code", 0},
    {"tokenizer_name_or_path", "tokenizer_name_or_path", SHARED},
    {"tokenizer_name", "tokenizer_name_or_path", SHARED},
    {"tokenizer_config", "tokenizer_name_or_path", SHARED | WHOLE_ONLY},
    {"tokenizer_dir", "tokenizer_name_or_path", SHARED},
    {"stage", "stage", SHARED | WHOLE_ONLY},
    {"rl", "rl", SHARED | WHOLE_ONLY},
    {"rlhf_type", "rl", SHARED},
    {"task_type", "task_type", SHARED},
    {"finetuning_type", "finetuning_type", 0},
    {"train_type", "finetuning_type", 0},
    {"sft_type", "finetuning_type", 0},
    {"tuner_type", "finetuning_type", 0},
    {"adapter", "finetuning_type", SHARED | WHOLE_ONLY},
    {"peft_type", "finetuning_type", SHARED},
    {"use_peft_type", "finetuning_type", 0},
    {"use_peft", "use_peft", 0},
    {"do_train", "do_train", 0},
    {"do_eval", "do_eval", 0},
    {"do_predict", "do_predict", 0},
    {"reward_model", "reward_model", SHARED},
    {"reward_model_path", "reward_model", SHARED},
    {"ref_model", "ref_model", SHARED},
    {"adapter_name_or_path", "adapter_name_or_path", 0},
    {"adapters", "adapter_name_or_path", SHARED | WHOLE_ONLY},
    {"lora_model_dir", "adapter_name_or_path", 0},
    {"resume_adapter", "adapter_name_or_path", 0},
    {"args_class", "args_class", SHARED},
    /* Data and template */
    {"dataset", "dataset", SHARED | WHOLE_ONLY},
    {"datasets", "dataset", SHARED | WHOLE_ONLY},
    {"dataset_name", "dataset", SHARED},
    {"train_file", "dataset", 0},
    {"dataset_path", "dataset", SHARED},
    {"data_path", "dataset", SHARED},
    {"pretraining_dataset", "dataset", 0},
    {"eval_dataset", "eval_dataset", SHARED | WHOLE_ONLY},
    {"val_dataset", "eval_dataset", SHARED},
    {"validation_file", "eval_dataset", 0},
    {"test_datasets", "eval_dataset", SHARED},
    {"val_size", "val_size", 0},
    {"val_set_size", "val_size", 0},
    {"split_dataset_ratio", "val_size", 0},
    {"test_size", "val_size", 0},
    {"val_split_fraction", "val_size", 0},
    {"template", "template", SHARED | WHOLE_ONLY},
    {"chat_template_name", "template", SHARED},
    {"chat_template", "chat_template", SHARED | WHOLE_ONLY},
    {"chat_template_path", "chat_template_path", 0},
    {"max_samples", "max_samples", SHARED},
    {"max_train_samples", "max_train_samples", 0},
    {"max_eval_samples", "max_eval_samples", 0},
    {"dataset_text_field", "dataset_text_field", SHARED},
    {"text_column", "dataset_text_field", SHARED},
    {"preprocessing_num_workers", "preprocessing_num_workers", 0},
    {"streaming", "streaming", SHARED},
    {"shuffle_dataset", "shuffle_dataset", 0},
    {"shuffle_merged_datasets", "shuffle_dataset", 0},
    {"disable_shuffling", "shuffle_dataset", INVERTS},
    {"dataset_shuffle", "shuffle_dataset", 0},
    {"max_length", "max_length", 0},
    {"max_seq_length", "max_length", 0},
    {"cutoff_len", "max_length", 0},
    {"sequence_len", "max_length", 0},
    {"max_seq_len", "max_length", 0},
    {"packing_length", "packing_length", 0},
    {"model_max_length", "max_length", 0},
    {"max_source_length", "max_length", 0},
    {"max_prompt_length", "max_prompt_length", 0},
    {"max_prompt_len", "max_prompt_length", 0},
    {"max_target_length", "max_target_length", 0},
    {"truncation_mode", "truncation_mode", SHARED},
    {"truncation_strategy", "truncation_mode", SHARED},
    {"pad_to_multiple_of", "pad_to_multiple_of", SHARED},
    {"pad_token", "pad_token", SHARED | WHOLE_ONLY},
    {"eos_token", "eos_token", SHARED | WHOLE_ONLY},
    {"resize_vocab", "resize_vocab", 0},
    {"resize_token_embeddings_to_32x", "resize_vocab", 0},
    {"special_tokens", "special_tokens", SHARED | WHOLE_ONLY},
    {"add_eos_token", "add_eos_token", SHARED},
    /* Labels */
    {"assistant_only_loss", "assistant_only_loss", 0},
    {"completion_only_loss", "completion_only_loss", 0},
    {"train_on_inputs", "train_on_inputs", 0},
    {"train_on_prompt", "train_on_inputs", 0},
    {"train_on_input", "train_on_inputs", 0},
    {"train_on_source", "train_on_inputs", 0},
    {"mask_inputs", "train_on_inputs", INVERTS},
    {"mask_prompt", "train_on_inputs", INVERTS},
    {"answer_only_loss", "train_on_inputs", INVERTS},
    {"mask_history", "mask_history", 0},
    {"roles_to_train", "roles_to_train", 0},
    {"train_on_eos", "train_on_eos", 0},
    {"loss_scale", "loss_scale", SHARED | WHOLE_ONLY},
    {"response_template", "response_template", 0},
    {"instruction_template", "instruction_template", 0},
    {"train_on_responses_only", "train_on_responses_only", 0},
    {"instruction_part", "instruction_part", 0},
    {"response_part", "response_part", 0},
    {"label_names", "label_names", 0},
    {"remove_unused_columns", "remove_unused_columns", 0},
    {"label_smoothing_factor", "label_smoothing_factor", 0},
    {"ignore_index", "ignore_index", SHARED},
    /* Packing and attention */
    {"packing", "packing", 0},
    {"sample_packing", "packing", 0},
    {"packed", "packing", 0},
    {"pack_sequences", "packing", 0},
    {"packed_sequence", "packing", 0},
    {"use_packing", "packing", 0},
    {"eval_packing", "eval_packing", 0},
    {"eval_sample_packing", "eval_packing", 0},
    {"packing_strategy", "packing_strategy", 0},
    {"neat_packing", "neat_packing", 0},
    {"padding_free", "padding_free", 0},
    {"batch_flattening", "padding_free", 0},
    {"attn_implementation", "attn_implementation", 0},
    {"_attn_implementation", "attn_implementation", 0},
    {"attn_impl", "attn_implementation", 0},
    {"flash_attn", "attn_implementation", 0},
    {"flash_attention", "attn_implementation", 0},
    {"use_flash_attn", "attn_implementation", 0},
    {"use_flash_attention_2", "attn_implementation", 0},
    {"use_flash_attention", "attn_implementation", 0},
    {"sdp_attention", "sdp_attention", 0},
    {"xformers_attention", "xformers_attention", 0},
    {"flex_attention", "flex_attention", 0},
    {"eager_attention", "eager_attention", 0},
    {"train_sampling_strategy", "train_sampling_strategy", 0},
    {"group_by_length", "group_by_length", 0},
    {"length_column_name", "length_column_name", 0},
    {"rope_scaling", "rope_scaling", SHARED},
    /* Batch and memory */
    {"per_device_train_batch_size", "per_device_train_batch_size", 0},
    {"micro_batch_size", "per_device_train_batch_size", 0},
    {"train_micro_batch_size_per_gpu", "per_device_train_batch_size", 0},
    {"per_gpu_train_batch_size", "per_device_train_batch_size", 0},
    {"micro_train_batch_size", "per_device_train_batch_size", 0},
    {"per_device_eval_batch_size", "per_device_eval_batch_size", 0},
    {"eval_batch_size", "per_device_eval_batch_size", 0},
    {"per_gpu_eval_batch_size", "per_device_eval_batch_size", 0},
    {"gradient_accumulation_steps", "gradient_accumulation_steps", 0},
    {"accumulate_grad_batches", "gradient_accumulation_steps", 0},
    {"grad_accum_steps", "gradient_accumulation_steps", 0},
    {"gradient_accumulation_iters", "gradient_accumulation_steps", 0},
    {"grad_accumulation_steps", "gradient_accumulation_steps", 0},
    {"global_batch_size", "global_batch_size", SHARED},
    {"train_batch_size", "global_batch_size", SHARED},
    {"gradient_checkpointing", "gradient_checkpointing", 0},
    {"use_gradient_checkpointing", "gradient_checkpointing", 0},
    {"enable_activation_checkpointing", "gradient_checkpointing", 0},
    {"activation_checkpointing", "gradient_checkpointing", 0},
    {"activations_checkpoint_granularity", "gradient_checkpointing", 0},
    {"vit_gradient_checkpointing", "vit_gradient_checkpointing", 0},
    {"disable_gradient_checkpointing", "gradient_checkpointing", INVERTS},
    {"gradient_checkpointing_kwargs", "gradient_checkpointing_kwargs", 0},
    {"auto_find_batch_size", "auto_find_batch_size", 0},
    {"eval_accumulation_steps", "eval_accumulation_steps", 0},
    {"batch_eval_metrics", "batch_eval_metrics", 0},
    {"prediction_loss_only", "prediction_loss_only", 0},
    {"predict_with_generate", "predict_with_generate", 0},
    {"include_for_metrics", "include_for_metrics", 0},
    {"include_inputs_for_metrics", "include_for_metrics", 0},
    {"torch_empty_cache_steps", "torch_empty_cache_steps", 0},
    {"dataloader_num_workers", "dataloader_num_workers", 0},
    {"dataloader_pin_memory", "dataloader_pin_memory", 0},
    {"dataloader_drop_last", "dataloader_drop_last", 0},
    {"average_tokens_across_devices", "average_tokens_across_devices", 0},
    {"use_liger_kernel", "use_liger_kernel", 0},
    {"enable_liger_kernel", "use_liger_kernel", 0},
    {"liger_kernel", "use_liger_kernel", 0},
    {"use_liger", "use_liger_kernel", 0},
    {"low_cpu_mem_usage", "low_cpu_mem_usage", 0},
    {"use_reentrant_gc", "use_reentrant_gc", SHARED},
    /* Precision and quantisation */
    {"bf16", "bf16", 0},
    {"bfloat16", "bf16", SHARED | WHOLE_ONLY},
    {"pure_bf16", "bf16", 0},
    {"fp16", "fp16", 0},
    {"float16", "fp16", SHARED | WHOLE_ONLY},
    {"bf16_full_eval", "bf16_full_eval", 0},
    {"fp16_full_eval", "fp16_full_eval", 0},
    {"tf32", "tf32", 0},
    {"precision", "precision", SHARED},
    {"mixed_precision", "precision", 0},
    {"fp16_opt_level", "fp16_opt_level", 0},
    {"half_precision_backend", "half_precision_backend", 0},
    {"upcast_layernorm", "upcast_layernorm", 0},
    {"upcast_lmhead_output", "upcast_lmhead_output", 0},
    {"torch_dtype", "torch_dtype", SHARED},
    {"dtype", "torch_dtype", SHARED},
    {"model_dtype", "torch_dtype", SHARED},
    {"infer_dtype", "torch_dtype", SHARED},
    {"initial_scale_power", "fp16.initial_scale_power", 0},
    {"min_loss_scale", "fp16.min_loss_scale", 0},
    {"loss_scale_window", "fp16.loss_scale_window", 0},
    {"load_in_4bit", "load_in_4bit", 0},
    {"use_4bit", "load_in_4bit", 0},
    {"load_in_8bit", "load_in_8bit", 0},
    {"use_8bit", "load_in_8bit", 0},
    {"quantization_bit", "quantization_bit", 0},
    {"quant_bits", "quantization_bit", 0},
    {"quantization_method", "quantization_method", SHARED},
    {"quant_method", "quantization_method", SHARED},
    {"bnb_4bit_compute_dtype", "bnb_4bit_compute_dtype", 0},
    {"bnb_4bit_quant_compute_dtype", "bnb_4bit_compute_dtype", 0},
    {"bnb_4bit_quant_type", "bnb_4bit_quant_type", 0},
    {"quantization_type", "bnb_4bit_quant_type", SHARED},
    {"bnb_4bit_use_double_quant", "bnb_4bit_use_double_quant", 0},
    {"double_quantization", "bnb_4bit_use_double_quant", 0},
    /* Optimiser and schedule */
    {"learning_rate", "learning_rate", 0},
    {"lr", "learning_rate", 0},
    {"peak_lr", "learning_rate", 0},
    {"actor_learning_rate", "learning_rate", 0},
    {"lr_scheduler_type", "lr_scheduler_type", 0},
    {"lr_scheduler", "lr_scheduler_type", 0},
    {"lr_schedule", "lr_scheduler_type", 0},
    {"lr_decay_style", "lr_scheduler_type", 0},
    {"lr_scheduler_kwargs", "lr_scheduler_kwargs", 0},
    {"warmup_steps", "warmup_steps", 0},
    {"lr_warmup_steps", "warmup_steps", 0},
    {"num_warmup_steps", "warmup_steps", 0},
    {"warmup_num_steps", "warmup_steps", 0},
    {"warmup_iters", "warmup_steps", 0},
    {"warmup_ratio", "warmup_ratio", 0},
    {"warmup_fraction", "warmup_ratio", 0},
    {"lr_warmup_ratio", "warmup_ratio", 0},
    {"lr_warmup_fraction", "warmup_ratio", 0},
    {"num_train_epochs", "num_train_epochs", 0},
    {"num_epochs", "num_train_epochs", 0},
    {"epochs", "num_train_epochs", WHOLE_ONLY},
    {"max_epochs", "num_train_epochs", 0},
    {"n_epochs", "num_train_epochs", 0},
    {"max_steps", "max_steps", 0},
    {"train_iters", "max_steps", 0},
    {"max_train_steps", "max_steps", 0},
    {"max_steps_total", "max_steps", 0},
    {"optim", "optim", 0},
    {"optimizer", "optim", SHARED},
    {"optim_args", "optim_args", 0},
    {"weight_decay", "weight_decay", 0},
    {"adam_beta1", "adam_beta1", 0},
    {"adam_beta2", "adam_beta2", 0},
    {"adam_epsilon", "adam_epsilon", 0},
    {"max_grad_norm", "max_grad_norm", 0},
    {"gradient_clipping", "max_grad_norm", 0},
    {"gradient_clip_val", "max_grad_norm", 0},
    {"clip_grad_norm", "max_grad_norm", 0},
    {"grad_clip", "max_grad_norm", 0},
    {"clip_grad", "max_grad_norm", 0},
    {"neftune_noise_alpha", "neftune_noise_alpha", 0},
    {"noisy_embedding_alpha", "neftune_noise_alpha", 0},
    {"seed", "seed", SHARED},
    {"random_seed", "seed", SHARED},
    {"data_seed", "data_seed", 0},
    {"full_determinism", "full_determinism", 0},
    {"learning_rate_embedding", "learning_rate_embedding", 0},
    {"embedding_learning_rate", "learning_rate_embedding", 0},
    {"embedding_lr", "learning_rate_embedding", 0},
    {"loraplus_lr_ratio", "loraplus_lr_ratio", 0},
    {"loraplus_ratio", "loraplus_lr_ratio", 0},
    {"lorap_lr_ratio", "loraplus_lr_ratio", 0},
    {"loraplus_lr_embedding", "loraplus_lr_embedding", 0},
    {"min_lr", "min_lr", SHARED},
    {"min_lr_rate", "min_lr_rate", SHARED},
    {"cosine_min_lr_ratio", "min_lr_rate", 0},
    /* Adapter */
    {"lora_r", "lora_r", 0},
    {"lora_rank", "lora_r", 0},
    {"lora_dim", "lora_r", 0},
    {"peft_lora_r", "lora_r", 0},
    {"lora_alpha", "lora_alpha", 0},
    {"peft_lora_alpha", "lora_alpha", 0},
    {"lora_dropout", "lora_dropout", 0},
    {"peft_lora_dropout", "lora_dropout", 0},
    {"use_rslora", "use_rslora", 0},
    {"peft_use_rslora", "use_rslora", 0},
    {"use_dora", "use_dora", 0},
    {"peft_use_dora", "use_dora", 0},
    {"target_modules", "target_modules", 0},
    {"lora_target", "target_modules", 0},
    {"lora_target_modules", "target_modules", 0},
    {"lora_attn_modules", "target_modules", 0},
    {"peft_target_modules", "target_modules", 0},
    {"exclude_modules", "exclude_modules", 0},
    {"lora_exclude_modules", "exclude_modules", 0},
    {"target_parameters", "target_parameters", 0},
    {"lora_target_parameters", "target_parameters", 0},
    {"lora_target_linear", "lora_target_linear", 0},
    {"modules_to_save", "modules_to_save", 0},
    {"lora_modules_to_save", "modules_to_save", 0},
    {"additional_target", "modules_to_save", 0},
    {"peft_modules_to_save", "modules_to_save", 0},
    {"trainable_token_indices", "trainable_token_indices", 0},
    {"peft_trainable_token_indices", "trainable_token_indices", 0},
    {"layers_to_transform", "layers_to_transform", 0},
    {"peft_layers_to_transform", "layers_to_transform", 0},
    {"ensure_weight_tying", "ensure_weight_tying", 0},
    {"peft_ensure_weight_tying", "ensure_weight_tying", 0},
    {"bias", "bias", SHARED | WHOLE_ONLY},
    {"lora_bias", "bias", SHARED | WHOLE_ONLY},
    {"init_lora_weights", "init_lora_weights", 0},
    {"init_weights", "init_lora_weights", SHARED | WHOLE_ONLY},
    {"peft_init_lora_weights", "init_lora_weights", 0},
    {"rank_pattern", "rank_pattern", 0},
    {"lora_rank_pattern", "rank_pattern", 0},
    {"alpha_pattern", "alpha_pattern", 0},
    {"lora_alpha_pattern", "alpha_pattern", 0},
    {"inference_mode", "inference_mode", SHARED},
    {"freeze_trainable_layers", "freeze_trainable_layers", 0},
    {"freeze_vision_tower", "freeze_vision_tower", 0},
    {"freeze_vit", "freeze_vision_tower", 0},
    {"unfrozen_parameters", "unfrozen_parameters", 0},
    {"merge_lora", "merge_lora", SHARED},
    /* Logging, evaluation, saving */
    {"logging_nan_inf_filter", "logging_nan_inf_filter", 0},
    {"logging_steps", "logging_steps", 0},
    {"log_interval", "logging_steps", 0},
    {"log_every_n_steps", "logging_steps", 0},
    {"logging_first_step", "logging_first_step", 0},
    {"logging_strategy", "logging_strategy", 0},
    {"log_level", "log_level", SHARED},
    {"report_to", "report_to", 0},
    {"run_name", "run_name", SHARED},
    {"wandb_name", "run_name", SHARED},
    {"mlflow_run_name", "run_name", SHARED},
    {"swanlab_run_name", "run_name", SHARED},
    {"swanlab_exp_name", "run_name", SHARED},
    {"eval_strategy", "eval_strategy", 0},
    {"evaluation_strategy", "eval_strategy", 0},
    {"eval_steps", "eval_steps", 0},
    {"val_check_interval", "eval_steps", 0},
    {"eval_on_start", "eval_on_start", 0},
    {"eval_delay", "eval_delay", 0},
    {"save_strategy", "save_strategy", 0},
    {"save_steps", "save_steps", 0},
    {"save_every_n_steps", "save_steps", 0},
    {"save_total_limit", "save_total_limit", 0},
    {"saves_total_limit", "save_total_limit", 0},
    {"max_checkpoints", "save_total_limit", 0},
    {"save_only_model", "save_only_model", 0},
    {"load_best_model_at_end", "load_best_model_at_end", 0},
    {"metric_for_best_model", "metric_for_best_model", 0},
    {"greater_is_better", "greater_is_better", 0},
    {"early_stopping_patience", "early_stopping_patience", 0},
    {"early_stopping_steps", "early_stopping_patience", 0},
    {"early_stopping", "early_stopping", SHARED},
    {"output_dir", "output_dir", 0},
    {"out_dir", "output_dir", 0},
    {"overwrite_output_dir", "overwrite_output_dir", 0},
    {"resume_from_checkpoint", "resume_from_checkpoint", 0},
    {"ignore_data_skip", "ignore_data_skip", 0},
    {"push_to_hub", "push_to_hub", 0},
    {"disable_tqdm", "disable_tqdm", 0},
    {"include_tokens_per_second", "include_tokens_per_second", 0},
    {"include_num_input_tokens_seen", "include_num_input_tokens_seen", 0},
    /* Preference tuning and RL */
    {"beta", "beta", SHARED | WHOLE_ONLY},
    {"pref_beta", "beta", SHARED | WHOLE_ONLY},
    {"dpo_beta", "beta", SHARED | WHOLE_ONLY},
    {"rl_beta", "beta", SHARED | WHOLE_ONLY},
    {"loss_type", "loss_type", SHARED | WHOLE_ONLY},
    {"pref_loss", "loss_type", SHARED | WHOLE_ONLY},
    {"dpo_loss_type", "loss_type", SHARED},
    {"loss_weights", "loss_weights", SHARED},
    {"dpo_loss_weights", "loss_weights", SHARED},
    {"label_smoothing", "label_smoothing", SHARED},
    {"dpo_label_smoothing", "label_smoothing", SHARED},
    {"ld_alpha", "ld_alpha", 0},
    {"rpo_alpha", "rpo_alpha", 0},
    {"pref_ftx", "pref_ftx", 0},
    {"simpo_gamma", "simpo_gamma", 0},
    {"desirable_weight", "desirable_weight", 0},
    {"kto_desirable_weight", "desirable_weight", 0},
    {"kto_chosen_weight", "desirable_weight", 0},
    {"undesirable_weight", "undesirable_weight", 0},
    {"kto_undesirable_weight", "undesirable_weight", 0},
    {"kto_rejected_weight", "undesirable_weight", 0},
    {"num_generations", "num_generations", 0},
    {"num_return_sequences", "num_generations", 0},
    {"n_samples_per_prompt", "num_generations", 0},
    {"num_samples_per_prompt", "num_generations", 0},
    {"max_completion_length", "max_completion_length", 0},
    {"response_length", "max_completion_length", 0},
    {"max_response_length", "max_completion_length", 0},
    {"generate_max_len", "max_completion_length", 0},
    {"mask_truncated_completions", "mask_truncated_completions", 0},
    {"scale_rewards", "scale_rewards", 0},
    {"num_iterations", "num_iterations", 0},
    {"epsilon", "epsilon", SHARED | WHOLE_ONLY},
    {"epsilon_high", "epsilon_high", SHARED},
    {"reward_weights", "reward_weights", 0},
    {"reward_funcs", "reward_funcs", 0},
    {"sync_ref_model", "sync_ref_model", 0},
    {"use_vllm", "use_vllm", 0},
    {"steps_per_generation", "steps_per_generation", 0},
    {"generation_batch_size", "generation_batch_size", 0},
    {"temperature", "temperature", SHARED | WHOLE_ONLY},
    {"importance_sampling_level", "importance_sampling_level", 0},
    {"init_kl_coef", "init_kl_coef", 0},
    {"kl_coef", "init_kl_coef", 0},
    {"kl_coeff", "init_kl_coef", 0},
    {"kl_penalty_coef", "init_kl_coef", 0},
    {"init_kl_coefficient", "init_kl_coef", 0},
    {"target_kl", "target_kl", 0},
    {"kl_target", "target_kl", 0},
    {"ppo_target", "target_kl", 0},
    {"adap_kl_ctrl", "adap_kl_ctrl", 0},
    {"adaptive_kl", "adap_kl_ctrl", 0},
    {"kl_penalty", "kl_penalty", 0},
    {"cliprange", "cliprange", 0},
    {"clip_range", "cliprange", 0},
    {"eps_clip", "cliprange", 0},
    {"cliprange_value", "cliprange_value", 0},
    {"vf_coef", "vf_coef", 0},
    {"ppo_epochs", "ppo_epochs", 0},
    {"num_ppo_epochs", "ppo_epochs", 0},
    {"whiten_rewards", "whiten_rewards", 0},
    {"ppo_whiten_rewards", "whiten_rewards", 0},
    {"missing_eos_penalty", "missing_eos_penalty", 0},
    {"precompute_ref_log_probs", "precompute_ref_log_probs", 0},
    {"pad_token_id", "pad_token_id", SHARED},
    /* Processes and sharding */
    {"world_size", "world_size", SHARED},
    {"num_processes", "world_size", SHARED},
    {"nproc_per_node", "world_size", SHARED},
    {"n_gpus", "world_size", SHARED},
    {"num_gpus", "world_size", SHARED},
    {"ray_num_workers", "world_size", SHARED},
    {"devices", "world_size", WHOLE_ONLY},
    {"local_rank", "local_rank", SHARED},
    {"n_gpu", "n_gpu", SHARED},
    {"_n_gpu", "n_gpu", SHARED},
    {"deepspeed", "deepspeed", SHARED | WHOLE_ONLY},
    {"deepspeed_config_file", "deepspeed", SHARED | WHOLE_ONLY},
    {"zero_stage", "zero_stage", 0},
    {"offload_optimizer_device", "offload_optimizer_device", 0},
    {"offload_param_device", "offload_param_device", 0},
    {"stage3_gather_16bit_weights_on_model_save", "stage3_gather_16bit_weights_on_model_save", 0},
    {"stage3_gather_fp16_weights_on_model_save", "stage3_gather_16bit_weights_on_model_save", 0},
    {"zero3_save_16bit_model", "stage3_gather_16bit_weights_on_model_save", 0},
    {"fsdp", "fsdp", SHARED | WHOLE_ONLY},
    {"fsdp_config", "fsdp_config", 0},
    {"ddp_find_unused_parameters", "ddp_find_unused_parameters", 0},
    {"torch_compile", "torch_compile", SHARED},
    {"compile", "torch_compile", SHARED},
    {"use_cpu", "use_cpu", SHARED},
    {"no_cuda", "use_cpu", SHARED},
    {"use_cache", "use_cache", SHARED},
};

struct side_spelling {
    enum side side;
    const char *raw, *name;
};

static const struct side_spelling OTHER_SIDES[] = {
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

#define N_TRAIN_NAMES (sizeof TRAIN_NAMES / sizeof *TRAIN_NAMES)
#define N_OTHER_SIDES (sizeof OTHER_SIDES / sizeof *OTHER_SIDES)

static const struct spelling *find(const char *raw_name)
{
    for (size_t i = 0; i < N_TRAIN_NAMES; i++)
        if (strcmp(TRAIN_NAMES[i].raw, raw_name) == 0)
            return &TRAIN_NAMES[i];
    return NULL;
}

static const struct spelling *find_nested_key(const char *key)
{
    size_t n;
    const struct spelling *keys = config_nested_keys(&n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(keys[i].raw, key) == 0)
            return &keys[i];
    return NULL;
}

/* The whole key, else its longest ending, the last part only where that says enough alone. */
static const struct spelling *find_ending(const char *raw_name)
{
    const char *end = raw_name;
    const struct spelling *found = NULL;

    for (const char *dot = strchr(end, '.'); dot && !found; dot = strchr(end, '.')) {
        found = find_nested_key(end);
        end = dot + 1;
    }
    if (found)
        return found;
    found = find(end);
    return found && (end == raw_name || !(found->flags & WHOLE_ONLY)) ? found : NULL;
}

static const struct spelling *find_own(const char *framework, const char *raw_name)
{
    size_t n;
    const struct own_spelling *words = config_own_words(&n);

    for (size_t i = 0; framework && i < n; i++)
        if (strcmp(words[i].framework, framework) == 0 &&
            strcmp(words[i].spelling.raw, raw_name) == 0)
            return &words[i].spelling;
    return NULL;
}

const char *config_name_of(const char *framework, enum side side, const char *raw_name,
                           bool *inverts)
{
    *inverts = false;
    if (side != SIDE_TRAIN && side != SIDE_EVAL) {
        for (size_t i = 0; i < N_OTHER_SIDES; i++)
            if (OTHER_SIDES[i].side == side && strcmp(OTHER_SIDES[i].raw, raw_name) == 0)
                return OTHER_SIDES[i].name;
        return raw_name;
    }
    const struct spelling *spelling = find_own(framework, raw_name);
    if (!spelling)
        spelling = find_ending(raw_name);
    if (!spelling)
        return NULL;
    *inverts = (spelling->flags & INVERTS) != 0;
    return spelling->name;
}

const char *config_name(enum side side, const char *raw_name, bool *inverts)
{
    return config_name_of(NULL, side, raw_name, inverts);
}

bool config_name_is_known(const char *raw_name)
{
    const struct spelling *spelling = find_ending(raw_name);

    return spelling && spelling->name && !(spelling->flags & SHARED);
}
