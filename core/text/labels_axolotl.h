/* Between the files of axolotl's chat_template rule. */
#ifndef CORE_TEXT_LABELS_AXOLOTL_H
#define CORE_TEXT_LABELS_AXOLOTL_H

#include "core/text/labels_parts.h"

/* A part of a content that is trained or not. Offsets are code points, `end` is the last one. */
struct detail {
    int64_t begin, end;
    bool is_trained;
};

struct details {
    struct detail *items;       /* NULL: the whole content goes the way of its turn */
    size_t n;
};

/* From content parts with `train` or `weight`; E_NOMEM only. */
MUST_CHECK int axolotl_details_of_parts(struct labeller *l, const struct json *parts,
                                        struct details *out, struct error *err);
/* From a training_detail field: [{begin_offset, end_offset, train}, …]. */
MUST_CHECK int axolotl_details_of_field(struct labeller *l, const struct json *field,
                                        struct details *out, struct error *err);
/* Trains the tokens of l->row from `first` on that lie in trained parts of the content. */
MUST_CHECK int axolotl_train_details(struct labeller *l, struct str content,
                                     const struct details *details, size_t first,
                                     struct error *err);
/* The text of a content part: text, else content, else value. */
struct str axolotl_part_text(const struct json *part);

#endif
