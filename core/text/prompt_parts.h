/* What the files of core/text/prompt*.c share: the turn markers of the families, found at a place. */
#ifndef CORE_TEXT_PROMPT_PARTS_H
#define CORE_TEXT_PROMPT_PARTS_H

#include "core/text/prompt.h"

enum marker_act {
    MARK_LEAD,      /* BOS and the like: belongs to no turn */
    MARK_OPEN,      /* a header: what follows is the content of its role */
    MARK_CLOSE      /* ends the turn */
};

struct marker_match {
    enum marker_act act;
    const char *role;
    size_t n;       /* bytes, the line end or blank that belongs to the header included */
    size_t core;    /* bytes without that */
};

/* Tokens that a tokenizer calls special; n 0: none are known. */
struct special_list {
    const struct str *items;
    size_t n;
};

/* A marker of the family begins at `at`. */
bool prompt_marker_at(enum marker_family family, const struct special_list *special,
                      struct str text, size_t at, struct marker_match *out);
/* The family whose markers come first in the text. */
enum marker_family prompt_family_of(struct str text, const struct special_list *special);
/* Bytes of a thinking block at the start of the text with the blanks around it, also of one that is
 * open or holds only blanks; 0 when there is none. *is_empty: it holds nothing. */
size_t prompt_thinking(struct str text, bool *is_empty);
/* The families where turns have no end marker: blanks before the next header are the template's. */
bool prompt_family_is_open(enum marker_family family);
size_t prompt_blanks(struct str text);          /* leading white space, bytes */
size_t prompt_blanks_before(struct str text, size_t end);   /* white space right before `end` */
bool prompt_same_but_blanks(struct str a, struct str b);
/* Of the word sets, ASCII case ignored; 1 when both are empty. */
double prompt_word_likeness(struct str a, struct str b, struct arena *arena);
/* The same words in the same order, but for words of a date; false for equal texts. */
bool prompt_only_dates_differ(struct str a, struct str b);

#endif
