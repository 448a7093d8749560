/* How long a text is without a tokenizer: its words and characters, and the tokens that they make by
 * CHECKS.md F-LEN. Sums, so that the parts of a row can be added before the tokens are estimated. */
#ifndef CORE_TEXT_TEXT_SIZE_H
#define CORE_TEXT_TEXT_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

struct text_size {
    double words;       /* runs of bytes that are no white space of ASCII */
    double characters;  /* code points */
};

struct text_size text_size_of(struct str text);
struct text_size text_size_sum(struct text_size a, struct text_size b);
/* max(ceil(1.3 words), ceil(characters / 4)); INT32_MAX at most. */
int32_t text_size_tokens(struct text_size size);

#endif
