/* Settings of ms-swift: args.json, which holds every argument as it was in the end, or the file
 * that it was started with. */
#include "core/checks/check.h"
#include "importers/config/settings_document.h"

static const char *const OWN[] = {"tuner_type",
                                  "train_type",
                                  "sft_type",
                                  "tuner_backend",
                                  "rlhf_type",
                                  "freeze_llm",
                                  "freeze_vit",
                                  "freeze_aligner",
                                  "truncation_strategy",
                                  "vit_gradient_checkpointing",
                                  "split_dataset_ratio",
                                  "lazy_tokenize",
                                  "attn_impl",
                                  "use_swift_lora",
                                  "dataset_shuffle",
                                  "train_dataloader_shuffle",
                                  "val_dataset_shuffle",
                                  "template_backend",
                                  "agent_template",
                                  "lorap_lr_ratio",
                                  "llamapro_num_new_blocks",
                                  "add_version",
                                  "model_author",
                                  "external_plugins",
                                  "custom_register_path",
                                  "aligner_lr",
                                  "vit_lr"};
static const char *const SHARED[] = {
    "model",          "dataset",    "template",   "learning_rate",    "output_dir",
    "lora_rank",      "loss_scale", "max_length", "num_train_epochs", "per_device_train_batch_size",
    "target_modules", "torch_dtype"};

static int probe(const struct peek *peek)
{
    if (!settings_is_document(peek) || !peek_has_key(peek, "dataset"))
        return 0;
    size_t n_own = settings_count_keys(peek, (struct key_list){OWN, sizeof OWN / sizeof *OWN});
    size_t n_shared =
        settings_count_keys(peek, (struct key_list){SHARED, sizeof SHARED / sizeof *SHARED});
    if (peek_name_is(peek, "args.json") && n_own >= 2 && n_shared >= 3)
        return 94;
    return (n_own >= 2 && n_shared >= 3) || (n_own >= 1 && n_shared >= 6) ? 91 : 0;
}

static int run(struct import *import, struct error *err)
{
    return settings_document(import, "ms_swift", err);
}

const struct importer importer_ms_swift = {
    .id = "ms_swift",
    .title = "settings of ms-swift",
    .hint = "args.json of the output folder",
    .supplies = NEEDS_SETTINGS,
    .version = 1,
    .role = "config",
    .probe = probe,
    .run = run,
};
