/* The text that most rows share, such as an instruction or a template (FORMATS.md B25): over normal
 * texts, in words, the longest beginning that grows word by word while the commonest next word
 * (ties: the smaller bytes) is shared by at least half of all rows; then the longest end of what is
 * left.
 *
 * Texts are kept until it is found, COMMON_BYTES at most; of more rows those whose numbers' draws
 * are smallest are looked at (is_sample), the same ones each time. */
#ifndef CORE_SIMILAR_SHARED_TEXT_H
#define CORE_SIMILAR_SHARED_TEXT_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/str.h"

#define COMMON_BYTES ((size_t)256 << 20)

struct common_text {
    char *prefix, *suffix;     /* words joined by one blank; never NULL after common_find */
    size_t n_prefix, n_suffix; /* words */
    bool is_sample;
};
void common_text_free(struct common_text *common);

struct common;
MUST_CHECK int common_open(struct common **out, size_t max_bytes,
                           struct error *err); /* 0: COMMON_BYTES */
void common_close(struct common *common);      /* NULL allowed */
/* The next row's normal text, copied. E_NOMEM. */
MUST_CHECK int common_add(struct common *common, struct str normal, struct error *err);
/* Of the rows so far; done with it the texts are gone. */
MUST_CHECK int common_find(struct common *common, struct common_text *out, struct error *err);

/* The text without the prefix that it begins with and the suffix that it ends with; borrowed. */
struct str common_strip(const struct common_text *common, struct str normal);

#endif
