/* The regular expressions of tokenizer files: written for Oniguruma in Ruby's syntax, matched by
 * PCRE2. What means something else there is rewritten; what cannot be is refused by name
 * (E_UNSUPPORTED). A pattern is const after compiling; each thread has its own scratch. */
#ifndef CORE_TEXT_TOKENIZER_PATTERN_H
#define CORE_TEXT_TOKENIZER_PATTERN_H

#include "core/base/error.h"
#include "core/base/str.h"

struct pattern;
struct pattern_scratch;

/* `is_text`: to be found as it stands. E_PARSE with the byte for what does not compile. */
MUST_CHECK int pattern_compile(struct pattern **out, struct str source, bool is_text,
                               struct error *err);
void pattern_close(struct pattern *pattern);

MUST_CHECK int pattern_scratch_open(struct pattern_scratch **out, struct error *err);
void pattern_scratch_close(struct pattern_scratch *scratch);
/* A new text begins: the time that its patterns take counts from here. */
void pattern_scratch_begin(struct pattern_scratch *scratch);

/* Walks over the matches in a text of valid UTF-8 as the library's binding of Oniguruma does: an
 * empty match right behind another one does not count. */
struct pattern_search {
    const struct pattern *pattern;
    struct pattern_scratch *scratch;
    struct str text;
    size_t from;
    size_t last; /* end of the last match, SIZE_MAX: none yet */
};

/* `room` is used where the text must be copied, and lasts as long as the search. */
struct pattern_search pattern_begin(const struct pattern *pattern, struct pattern_scratch *scratch,
                                    struct str text, struct buf *room);
/* 1 a match, 0 no more, negative: E_LIMIT it does not come to an end. */
int pattern_next(struct pattern_search *search, size_t *begin, size_t *end, struct error *err);

/* The text as PCRE2 is to see it; p NULL: no memory. (pattern_later.c) */
struct str pattern_subject(struct str text, struct buf *room);
/* The pattern as PCRE2 is given it, appended. For pattern.c and tests. (pattern_rewrite.c) */
MUST_CHECK int pattern_rewrite(struct buf *out, struct str source, struct error *err);

#endif
