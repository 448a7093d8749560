/* Between the files of the prompts pane. */
#ifndef VIEWS_PROMPTS_PARTS_H
#define VIEWS_PROMPTS_PARTS_H

#include "core/facts/prompt_pair.h"
#include "core/text/diff.h"
#include "views/scroll.h"

#define PROMPTS_TAG_DIFFERENCE 1        /* the line of the first difference */

/* By line first: it is what one reads. */
enum prompts_unit { PROMPTS_BY_LINE, PROMPTS_BY_WORD, PROMPTS_BY_TOKEN, N_PROMPTS_UNITS };

/* Side by side where there is room, until the user says how. */
enum prompts_sides { PROMPTS_AS_FITS, PROMPTS_UNIFIED, PROMPTS_SIDE_BY_SIDE };

struct prompts_state {
    struct scroll scroll;               /* first: scroll_view_… */
    const struct prompt_pair *pair;     /* of the facts; NULL: none */
    uint64_t serial;                    /* of the facts that the pair is of */
    bool was_announced;                 /* "comparing …" is on the screen: the next load compares */
    bool shows_blanks, no_wrap, shows_lint;
    enum prompts_sides sides;
    enum prompts_unit unit;
    int left;
    char heading[80];
};

/* Both texts up to the assistant's turn, which is what is compared. */
struct prompts_texts {
    struct str train, serve;
    struct str train_rest, serve_rest;  /* the answer and what follows: shown, not compared */
    struct diff diff;
    size_t train_mark, serve_mark;      /* where they first part; SIZE_MAX: nowhere */
};

/* Adds the lines of the pair to state->scroll.flow. */
MUST_CHECK int prompts_write(struct prompts_state *state, const struct view *view, struct error *err);
bool prompts_in_columns(const struct prompts_state *state, int columns);
/* prompts_diff.c: what differs, one under the other or in two columns */
MUST_CHECK int prompts_write_diff(struct prompts_state *state, struct textflow *flow, struct error *err);
/* One text alone, when the other side is not known. */
void prompts_write_text(const struct prompts_state *state, struct textflow *flow, struct str text);

#endif
