/* Settings of LLaMA-Factory: its flat YAML, what its web page saves (llamaboard_config.yaml, keys
 * like "train.cutoff_len") and the training_args.yaml beside it. */
#include "core/checks/check.h"
#include "importers/importer.h"
#include "importers/peek.h"

/* Words that no other framework has, and words that it shares. */
static const char *const OWN[] = {"finetuning_type",   "cutoff_len",       "neat_packing",
                                  "lora_target",       "dataset_dir",      "pref_beta",
                                  "additional_target", "train.cutoff_len", "top.finetuning_type"};
static const char *const SHARED[] = {
    "stage",      "template",           "do_train",       "lora_rank",   "dataset",
    "packing",    "model_name_or_path", "flash_attn",     "val_size",    "learning_rate",
    "output_dir", "quantization_bit",   "top.model_name", "top.template"};

static size_t count(const struct peek *peek, const char *const *keys, size_t n)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += peek_has_key(peek, keys[i]);
    return found;
}

static int probe(const struct peek *peek)
{
    if (peek_name_is(peek, "llamaboard_config.yaml"))
        return 95;
    if (!peek_is_yaml_name(peek))
        return 0;
    size_t n_own = count(peek, OWN, sizeof OWN / sizeof *OWN);
    size_t n_shared = count(peek, SHARED, sizeof SHARED / sizeof *SHARED);
    if (n_own >= 1 && n_own + n_shared >= 2)
        return 90;
    if (peek_name_is(peek, "training_args.yaml"))
        return 80;
    return 0;
}

static int run(struct import *import, struct error *err)
{
    const struct json *tree;
    int rc = import_yaml(import, &tree, err);

    import->n_rows_are = "settings";
    if (rc != OK || !tree)
        return rc;
    import->n_rows = (int64_t)tree->n;
    if (!json_is(tree, JSON_OBJECT))
        return sink_note(import->sink, NOTE_WARN, tree->line, NONE, err,
                         "not a mapping of settings");
    return import_settings_tree(import, SIDE_TRAIN, "", tree, err);
}

const struct importer importer_llamafactory = {
    .id = "llamafactory",
    .title = "settings of LLaMA-Factory",
    .hint = "the YAML file the training was started with",
    .supplies = NEEDS_SETTINGS,
    .version = 1,
    .role = "config",
    .probe = probe,
    .run = run,
};
