/* What one output shows of itself beside its prompt: flags of struct generation. Reads no file. */
#ifndef IMPORTERS_OUTPUTS_OUTPUT_FACTS_H
#define IMPORTERS_OUTPUTS_OUTPUT_FACTS_H

#include "core/base/str.h"
#include "core/model.h"

/* enum generation_flag. prompt and last_user (the text of the last user message) may have p NULL.
 * An output that holds the whole prompt byte for byte before its own text (pipelines return it so) is
 * looked at behind it. */
unsigned output_facts(struct str output, struct str prompt, struct str last_user);

/* A hash of the first GENERATION_OPENING_WORDS words, whatever the white space between them; 0: the
 * output has fewer. *n_words gets how many it has. A prompt that the output repeats before its own text
 * is left out. */
int64_t output_opening(struct str output, struct str prompt, int64_t *n_words);

#endif
