/* What one output shows of itself beside its prompt: flags of struct generation. Reads no file. */
#ifndef IMPORTERS_OUTPUTS_OUTPUT_FACTS_H
#define IMPORTERS_OUTPUTS_OUTPUT_FACTS_H

#include "core/base/str.h"
#include "core/model.h"

/* enum generation_flag. prompt and last_user (the text of the last user message) may have p NULL.
 * An output that holds the whole prompt byte for byte before its own text (pipelines return it so) is
 * looked at behind it. */
unsigned output_facts(struct str output, struct str prompt, struct str last_user);

#endif
