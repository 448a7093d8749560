/* DeepSpeed's JSON: ds_config.json, zero3.json. Values "auto" are left to the trainer and get no
 * canonical name. */
#include "core/checks/check.h"
#include "importers/importer.h"
#include "importers/peek.h"

static int probe(const struct peek *peek)
{
    bool is_named = peek_name_starts(peek, "ds_") || peek_name_starts(peek, "zero") ||
                    peek_name_starts(peek, "deepspeed");

    if (!peek_is_object(peek))
        return is_named && peek_name_ends(peek, ".json") && peek_first(peek) == '/' ? 70 : 0;
    if (peek_has_key(peek, "zero_optimization") ||
        peek_has_key(peek, "train_micro_batch_size_per_gpu"))
        return 90;
    return is_named && (peek_has_key(peek, "fp16") || peek_has_key(peek, "bf16") ||
                        peek_has_key(peek, "train_batch_size"))
               ? 80
               : 0;
}

static int run(struct import *import, struct error *err)
{
    const struct json *tree;
    int rc = import_json(import, &tree, err);

    import->n_rows_are = "settings";
    if (rc != OK || !tree)
        return rc;
    import->n_rows = (int64_t)tree->n;
    return import_settings_tree(import, SIDE_TRAIN, "", tree, err);
}

const struct importer importer_deepspeed = {
    .id = "deepspeed",
    .title = "settings of DeepSpeed",
    .hint = "ds_config.json",
    .supplies = NEEDS_SETTINGS,
    .version = 1,
    .role = "config",
    .probe = probe,
    .run = run,
};
