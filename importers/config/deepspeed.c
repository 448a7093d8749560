/* DeepSpeed's JSON: ds_config.json, zero3.json. Values "auto" are left to the trainer and get no
 * canonical name. */
#include "core/checks/check.h"
#include "importers/config/settings_document.h"

/* A trainer's own arguments may hold DeepSpeed's as a part. */
static bool is_trainers(const struct peek *peek)
{
    return peek_has_key(peek, "output_dir") || peek_has_key(peek, "learning_rate") ||
           peek_has_key(peek, "model_name_or_path");
}

static int probe(const struct peek *peek)
{
    bool is_named = peek_name_starts(peek, "ds_") || peek_name_starts(peek, "zero") ||
                    peek_name_starts(peek, "deepspeed");

    if (!peek_is_object(peek))
        return is_named && peek_name_ends(peek, ".json") && peek_first(peek) == '/' ? 70 : 0;
    if (is_trainers(peek))
        return 0;
    if (peek_has_key(peek, "zero_optimization") ||
        peek_has_key(peek, "train_micro_batch_size_per_gpu"))
        return 90;
    if (peek_has_key(peek, "steps_per_print") && peek_has_key(peek, "optimizer"))
        return 85;
    return is_named && (peek_has_key(peek, "fp16") || peek_has_key(peek, "bf16") ||
                        peek_has_key(peek, "train_batch_size"))
               ? 80
               : 0;
}

static int run(struct import *import, struct error *err)
{
    return settings_document(import, "deepspeed", err);
}

const struct importer importer_deepspeed = {
    .id = "deepspeed",
    .title = "settings of DeepSpeed",
    .hint = "ds_config.json",
    .supplies = NEEDS_SETTINGS,
    .version = 2,
    .role = "config",
    .probe = probe,
    .run = run,
};
