/* The facts of one row of a data set (form.h) from its JSON, and the lines that hold them. Knows no
 * file; which rows become candidates is form_pairs.h. */
#ifndef CORE_FACTS_FORM_ROW_H
#define CORE_FACTS_FORM_ROW_H

#include "core/facts/form.h"
#include "core/similar/shared_text.h"
#include "core/text/row_parts.h"
#include "core/text/tokenizer/tokenizer.h"

#define FORM_LINE_BYTES ((size_t)1 << 20) /* no line of facts is longer */

/* What one row after the other needs; memory is used again. One thread, one of them. */
struct form_scratch {
    struct arena *arena; /* of the tree's parts; reset by each row */
    struct buf input, target, text;
    struct shingles set;
    struct tokenizer_scratch *tokens; /* NULL: no tokenizer */
    struct tokens encoded;
};
MUST_CHECK int form_scratch_open(struct form_scratch *out, bool has_tokenizer, struct error *err);
void form_scratch_close(struct form_scratch *scratch);

/* The row's input and target as they are, in scratch or the tree. A row that is no object, or larger
 * than any limit, has the flag ROW_NOT_READABLE. */
MUST_CHECK int form_row_parts(const struct json *line, struct form_scratch *scratch,
                              struct row_parts *out, struct error *err);
/* Its normal text, input and target joined by a blank; in scratch. False: not readable. */
MUST_CHECK int form_row_text(const struct json *line, struct form_scratch *scratch, struct str *text,
                             bool *is_readable, struct error *err);
/* All but split and row, which the caller knows. `line` NULL: not readable. Borrows from scratch and
 * the line. */
MUST_CHECK int form_row_of(const struct json *line, const struct common_text *common,
                           const struct tokenizer *tokenizer, struct form_scratch *scratch,
                           struct form_row *out, struct error *err);

/* One line each, with its line feed; appended. */
void form_row_write(const struct form_row *row, struct buf *out);
void form_candidate_write(const struct form_candidate *candidate, struct buf *out);
void form_head_write(const struct form_head *head, struct buf *out);

#endif
