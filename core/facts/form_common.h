/* The text that most training rows share, exactly, whatever their number (FORMATS.md B25; what it is:
 * core/similar/shared_text.h, which keeps all rows or a sample of them).
 *
 * What half of all rows share, half of the rows of some part share. So the rows are looked at part by
 * part, what half of a part begins (ends) with is kept, and only that is counted over all rows in one
 * or two more passes. Memory: one part and what was kept. */
#ifndef CORE_FACTS_FORM_COMMON_H
#define CORE_FACTS_FORM_COMMON_H

#include <stdbool.h>

#include "core/similar/shared_text.h"

#define FORM_PART_BYTES ((size_t)64 << 20)

struct form_common;
/* part_bytes 0: FORM_PART_BYTES. */
MUST_CHECK int form_common_open(struct form_common **out, size_t part_bytes, struct error *err);
void form_common_close(struct form_common *common); /* NULL allowed */
/* The next row's normal text, copied; in each pass the same rows, in any order. E_NOMEM; E_LIMIT:
 * parts share more than 8,000,000 words. */
MUST_CHECK int form_common_add(struct form_common *common, struct str normal, struct error *err);
/* At the end of a pass: does it need another one? */
MUST_CHECK int form_common_end_pass(struct form_common *common, bool *needs_more,
                                    struct error *err);
/* After the last pass. The words follow one another in out->prefix and out->suffix. A word with a NUL
 * is shared by nobody. */
MUST_CHECK int form_common_find(const struct form_common *common, struct common_text *out,
                                struct error *err);

#endif
