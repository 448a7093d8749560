/* Settings of LitGPT: hyperparameters.yaml, which it saves beside each checkpoint, or the file that
 * it was started with. */
#include "core/checks/check.h"
#include "importers/config/settings_document.h"

static const char *const LORA[] = {"lora_query",      "lora_key", "lora_value",
                                   "lora_projection", "lora_mlp", "lora_head"};
static const char *const OWN[] = {
    "lr_warmup_steps",   "lr_warmup_fraction", "final_validation", "initial_validation",
    "evaluate_example",  "logger_name",        "save_interval",    "log_interval",
    "global_batch_size", "micro_batch_size",   "checkpoint_dir",   "out_dir",
    "max_norm"};

static int probe(const struct peek *peek)
{
    if (!settings_is_document(peek) || !peek_has_key(peek, "train"))
        return 0;
    size_t n_lora = settings_count_keys(peek, (struct key_list){LORA, sizeof LORA / sizeof *LORA});
    size_t n_own = settings_count_keys(peek, (struct key_list){OWN, sizeof OWN / sizeof *OWN});
    if (peek_name_is(peek, "hyperparameters.yaml") && n_own >= 3)
        return 92;
    if (str_find(peek->head, "litgpt.") >= 0 && n_own >= 3)
        return 91;
    return n_lora >= 3 || n_own >= 6 ? 90 : 0;
}

static int run(struct import *import, struct error *err)
{
    return settings_document(import, "litgpt", err);
}

const struct importer importer_litgpt = {
    .id = "litgpt",
    .title = "settings of LitGPT",
    .hint = "hyperparameters.yaml",
    .supplies = NEEDS_SETTINGS,
    .version = 1,
    .role = "config",
    .probe = probe,
    .run = run,
};
