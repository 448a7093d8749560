/* Settings of LLaMA-Factory: its flat YAML or JSON, what its web page saves
 * (llamaboard_config.yaml, keys like "train.cutoff_len") and the training_args.yaml beside it. */
#include "core/checks/check.h"
#include "importers/config/settings_document.h"

/* Words that no other framework has, and words that it shares. */
static const char *const OWN[] = {"finetuning_type",   "cutoff_len",       "neat_packing",
                                  "lora_target",       "dataset_dir",      "pref_beta",
                                  "additional_target", "train.cutoff_len", "top.finetuning_type"};
static const char *const SHARED[] = {
    "stage",      "template",           "do_train",       "lora_rank",   "dataset",
    "packing",    "model_name_or_path", "flash_attn",     "val_size",    "learning_rate",
    "output_dir", "quantization_bit",   "top.model_name", "top.template"};

static int probe(const struct peek *peek)
{
    if (peek_name_is(peek, "llamaboard_config.yaml"))
        return 95;
    if (!settings_is_document(peek))
        return 0;
    size_t n_own = settings_count_keys(peek, (struct key_list){OWN, sizeof OWN / sizeof *OWN});
    size_t n_shared =
        settings_count_keys(peek, (struct key_list){SHARED, sizeof SHARED / sizeof *SHARED});
    if (!peek_is_yaml_name(peek)) /* other trainers' JSON has a word or two of these as well */
        return n_own >= 2 && n_shared >= 2 && peek_has_key(peek, "stage") ? 90 : 0;
    if (n_own >= 1 && n_own + n_shared >= 2)
        return 90;
    if (peek_name_is(peek, "training_args.yaml"))
        return 80;
    return 0;
}

static int run(struct import *import, struct error *err)
{
    return settings_document(import, "llamafactory", err);
}

const struct importer importer_llamafactory = {
    .id = "llamafactory",
    .title = "settings of LLaMA-Factory",
    .hint = "the YAML or JSON file the training was started with",
    .supplies = NEEDS_SETTINGS,
    .version = 2,
    .role = "config",
    .probe = probe,
    .run = run,
};
