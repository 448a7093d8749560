/* How accelerate was told to start the processes: default_config.yaml, or the file given to
 * `accelerate launch --config_file`. */
#include "core/checks/check.h"
#include "importers/config/settings_document.h"

static const char *const OWN[] = {"num_machines",    "machine_rank",     "main_training_function",
                                  "downcast_bf16",   "rdzv_backend",     "same_network",
                                  "tpu_use_cluster", "mixed_precision",  "num_processes",
                                  "dynamo_config",   "deepspeed_config", "fsdp_config"};

static int probe(const struct peek *peek)
{
    size_t n_own;

    if (!settings_is_document(peek) || !peek_has_key(peek, "distributed_type"))
        return 0;
    n_own = settings_count_keys(peek, (struct key_list){OWN, sizeof OWN / sizeof *OWN});
    if (peek_has_key(peek, "compute_environment"))
        return n_own >= 1 ? 93 : 0;
    return n_own >= 3 ? 90 : 0;
}

static int run(struct import *import, struct error *err)
{
    return settings_document(import, "accelerate", err);
}

const struct importer importer_accelerate = {
    .id = "accelerate",
    .title = "settings of accelerate",
    .hint = "default_config.yaml, or the file that accelerate was started with",
    .supplies = NEEDS_SETTINGS,
    .version = 1,
    .role = "config",
    .probe = probe,
    .run = run,
};
