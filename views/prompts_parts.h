/* Between the files of the prompts pane. */
#ifndef VIEWS_PROMPTS_PARTS_H
#define VIEWS_PROMPTS_PARTS_H

#include "core/facts/prompt_pair.h"
#include "core/text/diff.h"
#include "views/scroll.h"

#define PROMPTS_TAG_DIFFERENCE 1        /* the line of the first difference */

struct prompts_state {
    struct scroll scroll;               /* first: scroll_view_… */
    const struct prompt_pair *pair;     /* of the facts; NULL: none */
    bool is_unified, shows_blanks, no_wrap, shows_lint;
    enum diff_unit unit;
    int left;
};

/* Adds the lines of the pair to state->scroll.flow. */
MUST_CHECK int prompts_write(struct prompts_state *state, const struct view *view, struct error *err);

#endif
