/* One canonical name per setting, every framework's spelling (CHECKS.md 2.4 rule 11).
 *
 * The canonical name is transformers' or PEFT's own where it has one (`learning_rate`,
 * `per_device_train_batch_size`, `lora_r` for PEFT's r). The table is data: one line a spelling.
 * Some spellings invert (`disable_gradient_checkpointing`): the value is turned when it is read. */
#ifndef CORE_FACTS_CONFIG_NAMES_H
#define CORE_FACTS_CONFIG_NAMES_H

#include <stdbool.h>

#include "core/model.h"

/* Canonical name for a raw key on a side, or NULL. `.`-joined nested keys are looked up whole
 * ("fp16.enabled", "zero_optimization.stage"), then by their last part where that is unambiguous.
 * *inverts is set when the raw value means the opposite. */
const char *config_name(enum side side, const char *raw_name, bool *inverts);
/* How many keys of a mapping are known: a file with two or more is a settings file. */
bool config_name_is_known(const char *raw_name);

#endif
