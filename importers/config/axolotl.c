/* Settings of axolotl: one YAML file, often a copy of it in the output folder. */
#include "core/checks/check.h"
#include "importers/config/settings_document.h"

/* Words that no other framework has, and words that it shares. */
static const char *const OWN[] = {"sequence_len",
                                  "sample_packing",
                                  "eval_sample_packing",
                                  "dataset_prepared_path",
                                  "lora_target_linear",
                                  "pad_to_sequence_len",
                                  "roles_to_train",
                                  "train_on_eos",
                                  "train_on_eot",
                                  "excess_length_strategy",
                                  "saves_per_epoch",
                                  "evals_per_epoch",
                                  "lora_model_dir",
                                  "shuffle_merged_datasets",
                                  "flash_attn_rms_norm",
                                  "sample_packing_bin_size",
                                  "message_property_mappings",
                                  "axolotl_config_path"};
static const char *const SHARED[] = {"base_model",      "micro_batch_size",
                                     "num_epochs",      "datasets",
                                     "adapter",         "val_set_size",
                                     "learning_rate",   "optimizer",
                                     "lr_scheduler",    "train_on_inputs",
                                     "special_tokens",  "output_dir",
                                     "lora_r",          "gradient_accumulation_steps",
                                     "flash_attention", "rl",
                                     "chat_template"};

static int probe(const struct peek *peek)
{
    if (!settings_is_document(peek) || !peek_has_key(peek, "base_model"))
        return 0;
    size_t n_own = settings_count_keys(peek, (struct key_list){OWN, sizeof OWN / sizeof *OWN});
    size_t n_shared =
        settings_count_keys(peek, (struct key_list){SHARED, sizeof SHARED / sizeof *SHARED});
    if (peek_name_starts(peek, "axolotl") && n_own + n_shared >= 3)
        return 92;
    return n_own >= 1 && n_own + n_shared >= 4 ? 90 : 0;
}

static int run(struct import *import, struct error *err)
{
    return settings_document(import, "axolotl", err);
}

const struct importer importer_axolotl = {
    .id = "axolotl",
    .title = "settings of axolotl",
    .hint = "the YAML file the training was started with, axolotl_config.yaml",
    .supplies = NEEDS_SETTINGS,
    .version = 1,
    .role = "config",
    .probe = probe,
    .run = run,
};
