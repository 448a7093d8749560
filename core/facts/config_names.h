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
 * ("fp16.enabled"), then by ever shorter endings ("deepspeed.zero_optimization.stage"), by their
 * last part alone where that is unambiguous.
 * *inverts is set when the raw value means the opposite. */
const char *config_name(enum side side, const char *raw_name, bool *inverts);
/* The same in the words of one framework ("torchtune": an importer's id), which may use a word in a
 * sense of its own: its batch_size is a device's, axolotl's is the whole step's. NULL: no such words. */
const char *config_name_of(const char *framework, enum side side, const char *raw_name,
                           bool *inverts);
/* Is it a training setting of any framework? A mapping with two or more such keys is a settings
 * file. Words that other files use as well ("beta", "stage", "r", "dataset") are not counted. */
bool config_name_is_known(const char *raw_name);

#endif
