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
/* The value as the canonical name means it ("fa2" is flash_attention_2), or the value itself.
 * Borrowed: a constant or `value`. *type is changed with it. */
const char *config_value(const char *name, const char *value, enum value_type *type);
/* True when the value leaves it open ("auto", ""): such a row gets no canonical name. */
bool config_value_is_open(const char *name, const char *value, enum value_type type);
/* The i-th canonical setting that a raw one implies besides its own: precision "bf16-mixed" says
 * bf16 is true. NULL: no more. Everything returned is constant. */
const char *config_implied(const char *raw_name, const char *value, size_t i, const char **implied,
                           enum value_type *type);
/* Is it a training setting of any framework? A mapping with two or more such keys is a settings
 * file. Words that other files use as well ("beta", "stage", "r", "dataset") are not counted. */
bool config_name_is_known(const char *raw_name);

#endif
