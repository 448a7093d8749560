/* The prompt of a training row as the model saw it, and the first answer to it. */
#ifndef CORE_EXPORTS_ROW_PROMPT_H
#define CORE_EXPORTS_ROW_PROMPT_H

#include "core/base/arena.h"
#include "core/text/labels.h"
#include "core/text/tokenizer/tokenizer.h"

struct row_prompt {
    struct str prompt, target;      /* p NULL: not known */
    int64_t n_target;               /* tokens of the target */
    bool is_cut;                    /* … which the length limit ended, not its own end */
};

/* The bytes of the first answer: its tokens that are trained in a row, without the special ones behind
 * them. Nothing is filled where no text stands before it. Texts in the arena; tokenizer may be NULL. */
void row_prompt_of(const struct labelled_row *row, const struct tokenizer *tokenizer,
                   struct arena *arena, struct row_prompt *out);

#endif
