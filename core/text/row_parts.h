/* Input and target of a data row, as the checks of stages 5 and 6 and the facts form see them
 * (FORMATS.md B25): the texts before the last assistant turn, joined by one line feed, and that turn. */
#ifndef CORE_TEXT_ROW_PARTS_H
#define CORE_TEXT_ROW_PARTS_H

#include "core/base/arena.h"
#include "core/text/conversation.h"

enum row_part_flag {                /* B25's flags */
    ROW_EMPTY_INPUT = 1,
    ROW_EMPTY_TARGET = 2,
    ROW_NULL_FIELD = 4,
    ROW_NOT_READABLE = 8
};

struct row_parts {
    struct str input, target;       /* never NULL texts; "" where there are none */
    unsigned flags;                 /* enum row_part_flag */
    bool has_target;                /* the form has one (a prompt alone has not) */
};

/* Chat: contents in order, system first; Alpaca: instruction, input; prompt/completion: prompt;
 * preference: prompt and chosen; text: nothing and the text; a row with one class label: its text and
 * the label. A list of content parts counts its text parts. Texts in the arena or in the row. */
MUST_CHECK int row_parts_of(const struct conversation *row, struct arena *arena,
                            struct row_parts *out, struct error *err);

#endif
