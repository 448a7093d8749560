/* Settings of NeMo: a YAML file with the sections trainer, model (or data) and exp_manager.
 * Lightning's own command line has a section trainer, too: that alone is not enough. */
#include "core/checks/check.h"
#include "importers/config/settings_document.h"

static const char *const OWN[] = {"exp_manager",
                                  "train_ds",
                                  "validation_ds",
                                  "restore_from_path",
                                  "megatron_amp_O2",
                                  "tensor_model_parallel_size",
                                  "pipeline_model_parallel_size",
                                  "peft_scheme",
                                  "answer_only_loss",
                                  "create_checkpoint_callback",
                                  "explicit_log_dir",
                                  "encoder_seq_length"};
static const char *const TRAINING[] = {
    "optim", "max_steps", "max_epochs", "accumulate_grad_batches", "micro_batch_size", "devices"};

static int probe(const struct peek *peek)
{
    if (!settings_is_document(peek) || !peek_has_key(peek, "trainer") ||
        !(peek_has_key(peek, "model") || peek_has_key(peek, "data")))
        return 0;
    return settings_count_keys(peek, (struct key_list){OWN, sizeof OWN / sizeof *OWN}) >= 2 &&
                   settings_count_keys(
                       peek, (struct key_list){TRAINING, sizeof TRAINING / sizeof *TRAINING}) >= 2
               ? 91
               : 0;
}

static int run(struct import *import, struct error *err)
{
    return settings_document(import, "nemo", err);
}

const struct importer importer_nemo = {
    .id = "nemo",
    .title = "settings of NeMo",
    .hint = "the YAML file the training was started with",
    .supplies = NEEDS_SETTINGS,
    .version = 1,
    .role = "config",
    .probe = probe,
    .run = run,
};
