/* Settings of torchtune: sections that name their class by `_component_`, values that refer to
 * others
 * ("${output_dir}/logs"), which are kept as text. Its recipes for evaluation and generation look
 * alike, but train nothing. */
#include "core/checks/check.h"
#include "importers/config/settings_document.h"

static const char *const TRAINING[] = {"optimizer",           "epochs",
                                       "lr_scheduler",        "gradient_accumulation_steps",
                                       "max_steps_per_epoch", "loss"};
static const char *const SECTIONS[] = {"checkpointer", "metric_logger", "tokenizer", "model",
                                       "dataset"};

static int probe(const struct peek *peek)
{
    if (!settings_is_document(peek) || !peek_has_key(peek, "_component_") ||
        str_find(peek->head, "torchtune.") < 0)
        return 0;
    return settings_count_keys(
               peek, (struct key_list){TRAINING, sizeof TRAINING / sizeof *TRAINING}) >= 3 &&
                   settings_count_keys(
                       peek, (struct key_list){SECTIONS, sizeof SECTIONS / sizeof *SECTIONS}) >= 2
               ? 92
               : 0;
}

static int run(struct import *import, struct error *err)
{
    return settings_document(import, "torchtune", err);
}

const struct importer importer_torchtune = {
    .id = "torchtune",
    .title = "settings of torchtune",
    .hint = "torchtune_config.yaml, or the recipe that the training was started with",
    .supplies = NEEDS_SETTINGS,
    .version = 1,
    .role = "config",
    .probe = probe,
    .run = run,
};
