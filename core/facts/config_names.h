/* One canonical name per setting, every framework's spelling (CHECKS.md 2.4 rule 11).
 *
 * The canonical name is transformers' or PEFT's own where it has one (`learning_rate`,
 * `per_device_train_batch_size`, `lora_r` for PEFT's r). The table is data: one line a spelling.
 * Some spellings invert (`disable_gradient_checkpointing`): import_setting stores the row as the
 * file has it without a canonical name, and a second one "not disable_…" with the turned value. */
#ifndef CORE_FACTS_CONFIG_NAMES_H
#define CORE_FACTS_CONFIG_NAMES_H

#include <stdbool.h>

#include "core/model.h"

/* Canonical name for a raw key on a side, or NULL. `.`-joined nested keys are looked up whole
 * ("fp16.enabled", "zero_optimization.stage"), then by their last part where that is unambiguous.
 * *inverts is set when the raw value means the opposite. */
const char *config_name(enum side side, const char *raw_name, bool *inverts);
/* Is it a training setting of any framework? A mapping with two or more such keys is a settings
 * file. Words that other files use as well ("beta", "stage", "r", "dataset") are not counted. */
bool config_name_is_known(const char *raw_name);

#endif
