/* Settings of Unsloth's own command line and studio: sections model, data, training, lora. A script
 * that uses Unsloth is a run of TRL: its arguments are in training_args.bin. */
#include "core/checks/check.h"
#include "importers/config/settings_document.h"

static const char *const OWN[] = {"training_type",
                                  "finetune_vision_layers",
                                  "finetune_language_layers",
                                  "finetune_attention_modules",
                                  "finetune_mlp_modules",
                                  "vision_all_linear",
                                  "train_on_completions",
                                  "use_loftq",
                                  "random_seed",
                                  "format_type"};

static int probe(const struct peek *peek)
{
    if (!settings_is_document(peek) || !peek_has_key(peek, "training"))
        return 0;
    return settings_count_keys(peek, (struct key_list){OWN, sizeof OWN / sizeof *OWN}) >= 3 &&
                   peek_has_key(peek, "learning_rate")
               ? 91
               : 0;
}

static int run(struct import *import, struct error *err)
{
    return settings_document(import, "unsloth", err);
}

const struct importer importer_unsloth = {
    .id = "unsloth",
    .title = "settings of Unsloth",
    .hint = "the YAML file that Unsloth was started with",
    .supplies = NEEDS_SETTINGS,
    .version = 1,
    .role = "config",
    .probe = probe,
    .run = run,
};
