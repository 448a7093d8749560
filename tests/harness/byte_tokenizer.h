/* A run with a tokenizer of bytes, so that a test chooses every token of a row.
 *
 * Ids 0 to 255 are the bytes; 256 begins a turn (<|im_start|>), 257 ends one (<|im_end|>). */
#ifndef TESTS_HARNESS_BYTE_TOKENIZER_H
#define TESTS_HARNESS_BYTE_TOKENIZER_H

#include "core/base/str.h"

#define BYTE_TURN 256
#define BYTE_END  257

/* tokenizer.json and tokenizer_config.json (with a ChatML template) into the folder. */
void byte_tokenizer_write(const char *folder);
/* One line of labels_sample.jsonl: the tokens of the text ("{" begins a turn, "}" ends one, all else are
 * bytes), of which those from byte `first` up to `end` are trained. */
void byte_row(struct buf *out, const char *text, size_t first, size_t end);

#endif
