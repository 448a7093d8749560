/* Unicode's normal forms, with what happened to each character.
 *
 * By the rules of Unicode 9, as the tokenizers library has them: what was assigned later does not
 * decompose and has no combining class. A form is given as steps, from which a caller can tell
 * where each new character comes from. */
#ifndef CORE_BASE_UNICODE_NORM_H
#define CORE_BASE_UNICODE_NORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/str.h"

enum unicode_form { UNICODE_NFC, UNICODE_NFD, UNICODE_NFKC, UNICODE_NFKD };

/* A character of the new text. `change` 1: inserted, nothing of the old text is used up. 0: takes
 * the place of one old character. -n: of one, and the n after it are gone. */
struct unicode_step {
    int32_t codepoint, change;
};

struct unicode_steps {
    struct unicode_step *items;
    size_t n, capacity;
};

void unicode_steps_free(struct unicode_steps *steps);
MUST_CHECK int unicode_steps_push(struct unicode_steps *steps, int32_t codepoint, int32_t change,
                                  struct error *err);

/* False only when the text is in that form for certain: a quick look. */
bool unicode_may_change(struct str text, enum unicode_form form);
/* Replaces the steps by those that make the form of the text, which is valid UTF-8. */
MUST_CHECK int unicode_normalize(struct str text, enum unicode_form form,
                                 struct unicode_steps *steps, struct error *err);
/* Appends the NFKC of a valid text by the rules of Unicode 14, as Python 3.11 has them: what was
 * assigned later stays as it is. E_NOMEM. */
MUST_CHECK int unicode_nfkc(struct str text, struct buf *out, struct error *err);

#endif
