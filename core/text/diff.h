/* The difference of two texts as a list of equal, removed and added stretches, by token, word or
 * line. Shortest edit by Myers' algorithm within a bound; beyond it the middle becomes one removed and one
 * added stretch, and is_bounded says so. Applying the stretches to A gives B. */
#ifndef CORE_TEXT_DIFF_H
#define CORE_TEXT_DIFF_H

#include "core/base/arena.h"
#include "core/base/str.h"

enum diff_unit { DIFF_TOKENS, DIFF_WORDS, DIFF_LINES };
enum diff_kind { DIFF_EQUAL, DIFF_REMOVED, DIFF_ADDED };

struct diff_part {
    enum diff_kind kind;
    size_t a_begin, a_end, b_begin, b_end;      /* bytes; the side that it is not of is empty there */
};

struct diff {
    const struct diff_part *parts;
    size_t n;
    bool is_bounded;
};

/* `a_ends`, `b_ends`: ends of the tokens in bytes, rising, for DIFF_TOKENS; else NULL. In the arena;
 * E_NOMEM. */
MUST_CHECK int diff_texts(struct str a, struct str b, enum diff_unit unit, const uint32_t *a_ends,
                          size_t n_a, const uint32_t *b_ends, size_t n_b, struct arena *arena,
                          struct diff *out, struct error *err);

#endif
