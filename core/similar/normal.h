/* Texts as near-duplicates and repeated inputs compare them, to the byte as FORMATS.md B25 says:
 * NFKC; lower case code point by code point; white space runs to one blank, ends trimmed. Then the
 * common text of all rows is stripped, then shingles are made. */
#ifndef CORE_SIMILAR_NORMAL_H
#define CORE_SIMILAR_NORMAL_H

#include "core/base/error.h"
#include "core/base/str.h"

/* Replaces *out. Broken UTF-8 is read as U+FFFD. E_NOMEM, E_LIMIT (the buf's own). */
MUST_CHECK int normal_text(struct str text, struct buf *out, struct error *err);

#endif
