/* Which modules LoRA trains, where a framework says it by switches instead of names. */
#ifndef IMPORTERS_CONFIG_LORA_TARGETS_H
#define IMPORTERS_CONFIG_LORA_TARGETS_H

#include "importers/importer.h"

/* LitGPT's lora_query, lora_key …; torchtune's model.lora_attn_modules, apply_lora_to_mlp and
 * apply_lora_to_output: as one setting target_modules in PEFT's words, whose raw name says which
 * keys it comes from. Nothing where the document has none of them. `framework` may be NULL. */
MUST_CHECK int lora_targets(struct import *import, const char *framework,
                            const struct json *document, struct error *err);

#endif
