/* Between the two files of LLaMA-Factory's rule. */
#ifndef CORE_TEXT_LABELS_LLAMAFACTORY_H
#define CORE_TEXT_LABELS_LLAMAFACTORY_H

#include "core/text/labels_parts.h"

struct turn {
    struct str text;
    enum token_side side;       /* USER, ASSISTANT, TOOL (an observation) */
};

/* One side of a pair: tokens of the labeller's row, before anything is cut. */
struct part {
    size_t begin, end;
};

struct llf {
    struct labeller *l;
    const struct turn *turns;
    size_t n_turns;
    struct str system;
    struct part *parts;         /* one a turn; 2 k is the source, 2 k + 1 the target */
    struct error *err;
};

bool llf_has_efficient_eos(const struct labeller *l);
/* All parts are encoded: the end of the row, labels, and the cut. */
MUST_CHECK int llf_end_row(struct llf *llf);

#endif
