/* Values of settings: one spelling each, what leaves it open, what one setting says of another.
 * Names are canonical (config_names.h) where not called raw. */
#ifndef CORE_FACTS_CONFIG_VALUES_H
#define CORE_FACTS_CONFIG_VALUES_H

#include <stdbool.h>

#include "core/model.h"

/* The value as the canonical name means it ("fa2" is flash_attention_2), or the value itself.
 * Borrowed: a constant or `value`. *type is changed with it. */
const char *config_value(const char *name, const char *value, enum value_type *type);
/* True when the value leaves it open ("auto", ""): such a row gets no canonical name. */
bool config_value_is_open(const char *name, const char *value, enum value_type type);
/* The i-th canonical setting that a raw one implies besides its own: precision "bf16-mixed" says
 * bf16 is true. NULL: no more. Everything returned is constant. */
const char *config_implied(const char *raw_name, const char *value, size_t i, const char **implied,
                           enum value_type *type);

#endif
