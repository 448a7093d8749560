/* Groups of settings, as data: one line a setting. */
#include "core/facts/knobs.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    enum knob knob;
} KNOBS[] = {
    {"num_train_epochs", KNOB_EPOCHS},
    {"max_steps", KNOB_EPOCHS},
    {"target_modules", KNOB_TARGETS},
    {"exclude_modules", KNOB_TARGETS},
    {"target_parameters", KNOB_TARGETS},
    {"lora_target_linear", KNOB_TARGETS},
    {"modules_to_save", KNOB_TARGETS},
    {"layers_to_transform", KNOB_TARGETS},
    {"finetuning_type", KNOB_TARGETS},
    {"use_peft", KNOB_TARGETS},
    {"lora_r", KNOB_RANK},
    {"r", KNOB_RANK},
    {"lora_alpha", KNOB_RANK},
    {"use_rslora", KNOB_RANK},
    {"lora_dropout", KNOB_RANK},
    {"use_dora", KNOB_RANK},
    {"rank_pattern", KNOB_RANK},
    {"alpha_pattern", KNOB_RANK},
    {"learning_rate", KNOB_RATE},
    {"lr_scheduler_type", KNOB_RATE},
    {"lr_scheduler_kwargs", KNOB_RATE},
    {"warmup_steps", KNOB_RATE},
    {"warmup_ratio", KNOB_RATE},
    {"min_lr", KNOB_RATE},
    {"min_lr_rate", KNOB_RATE},
    {"loraplus_lr_ratio", KNOB_RATE},
    {"learning_rate_embedding", KNOB_RATE},
    {"per_device_train_batch_size", KNOB_BATCH},
    {"gradient_accumulation_steps", KNOB_BATCH},
    {"train_batch_size", KNOB_BATCH},
    {"dataset", KNOB_DATA},
    {"max_samples", KNOB_DATA},
    {"max_train_samples", KNOB_DATA},
    {"val_size", KNOB_DATA},
    {"shuffle_dataset", KNOB_DATA},
    {"streaming", KNOB_DATA},
    {"train_sampling_strategy", KNOB_DATA},
    {"group_by_length", KNOB_DATA},
    {"max_length", KNOB_DATA},
    {"packing", KNOB_DATA},
    {"packing_strategy", KNOB_DATA},
    {"neat_packing", KNOB_DATA},
    {"template", KNOB_TEMPLATE},
    {"chat_template", KNOB_TEMPLATE},
    {"chat_template_path", KNOB_TEMPLATE},
    {"train_on_inputs", KNOB_TEMPLATE},
    {"train_on_eos", KNOB_TEMPLATE},
    {"train_on_responses_only", KNOB_TEMPLATE},
    {"mask_history", KNOB_TEMPLATE},
    {"roles_to_train", KNOB_TEMPLATE},
    {"assistant_only_loss", KNOB_TEMPLATE},
    {"completion_only_loss", KNOB_TEMPLATE},
    {"bf16", KNOB_PRECISION},
    {"fp16", KNOB_PRECISION},
    {"tf32", KNOB_PRECISION},
    {"torch_dtype", KNOB_PRECISION},
    {"load_in_4bit", KNOB_PRECISION},
    {"load_in_8bit", KNOB_PRECISION},
    {"quantization_bit", KNOB_PRECISION},
    {"seed", KNOB_SEED},
    {"data_seed", KNOB_SEED},
};

/* Whole names; and, below, beginnings and ends of them. */
static const char *const INCIDENTAL[] = {
    "run_name",       "report_to",        "overwrite_output_dir", "push_to_hub",
    "disable_tqdm",   "log_level",        "log_level_replica",    "local_rank",
    "logging_dir",    "resume_from_checkpoint", "ignore_data_skip", "deepspeed",
    "trust_remote_code", "preprocessing_num_workers", "dataloader_num_workers",
    "dataloader_pin_memory", "do_train",  "do_eval",              "do_predict",
    "include_tokens_per_second", "include_num_input_tokens_seen", "project", "group", "name",
    "_n_gpu",         "world_size",       "transformers_version", "inference_mode", "plot_loss",
    "framework",      "tokenizers_version", "peft_version",
};
static const char *const BEGINNINGS[] = {"logging_", "save_", "hub_", "wandb", "eval_",  "per_device_eval",
                                         "trackio_", "mlflow", "dataloader_", "ddp_", "skip_memory",
                                         "overwrite", "jit_", "ray_", "swanlab"};
static const char *const ENDS[] = {"_dir", "_path", "_folder", "_time", "_date", "_file", "_url"};

static const struct {
    const char *name, *value;
} DEFAULTS[] = {
    {"num_train_epochs", "3.0"},     {"seed", "42"},
    {"gradient_accumulation_steps", "1"}, {"weight_decay", "0.0"},
    {"lr_scheduler_type", "linear"}, {"max_grad_norm", "1.0"},
    {"per_device_train_batch_size", "8"}, {"adam_beta1", "0.9"},
    {"adam_beta2", "0.999"},         {"warmup_steps", "0"},
    {"warmup_ratio", "0.0"},         {"max_steps", "-1"},
    {"group_by_length", "false"},    {"logging_nan_inf_filter", "true"},
    {"dataloader_drop_last", "false"}, {"label_smoothing_factor", "0.0"},
    {"load_best_model_at_end", "false"}, {"packing", "false"},
    {"use_rslora", "false"},         {"use_dora", "false"},
};

enum knob knob_of(const char *name)
{
    for (size_t i = 0; name && i < sizeof KNOBS / sizeof *KNOBS; i++)
        if (strcmp(KNOBS[i].name, name) == 0)
            return KNOBS[i].knob;
    return KNOB_NONE;
}

const char *knob_name(enum knob knob)
{
    static const char *const NAMES[N_KNOBS] = {
        [KNOB_NONE] = "",
        [KNOB_EPOCHS] = "epochs",
        [KNOB_TARGETS] = "target modules",
        [KNOB_RANK] = "rank and alpha",
        [KNOB_RATE] = "learning rate and schedule",
        [KNOB_BATCH] = "batch and accumulation",
        [KNOB_DATA] = "data",
        [KNOB_TEMPLATE] = "template and masking",
        [KNOB_PRECISION] = "precision",
        [KNOB_SEED] = "seed",
    };

    return NAMES[knob];
}

bool knob_is_hyperparameter(enum knob knob)
{
    return knob >= KNOB_EPOCHS && knob <= KNOB_BATCH;
}

bool setting_is_incidental(const char *name)
{
    size_t n = name ? strlen(name) : 0;

    if (knob_of(name) != KNOB_NONE)
        return false;
    for (size_t i = 0; n && i < sizeof INCIDENTAL / sizeof *INCIDENTAL; i++)
        if (strcmp(INCIDENTAL[i], name) == 0)
            return true;
    for (size_t i = 0; n && i < sizeof BEGINNINGS / sizeof *BEGINNINGS; i++)
        if (strncmp(name, BEGINNINGS[i], strlen(BEGINNINGS[i])) == 0)
            return true;
    for (size_t i = 0; n && i < sizeof ENDS / sizeof *ENDS; i++) {
        size_t m = strlen(ENDS[i]);
        if (n > m && strcmp(name + n - m, ENDS[i]) == 0)
            return strcmp(name, "model_name_or_path") != 0;
    }
    return false;
}

const char *setting_default(const char *name)
{
    for (size_t i = 0; name && i < sizeof DEFAULTS / sizeof *DEFAULTS; i++)
        if (strcmp(DEFAULTS[i].name, name) == 0)
            return DEFAULTS[i].value;
    return NULL;
}
