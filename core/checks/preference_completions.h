/* Logged completions (core/facts/completions.h) as the checks of stage P read them: curves by step where
 * the trainer logged no series, and sentences about groups and phrases. Readings, no verdicts. */
#ifndef CORE_CHECKS_PREFERENCE_COMPLETIONS_H
#define CORE_CHECKS_PREFERENCE_COMPLETIONS_H

#include "core/checks/preference_series.h"
#include "core/facts/completions.h"

enum completions_curve {
    COMPLETIONS_DEAD,           /* share of groups without a difference */
    COMPLETIONS_WORDS           /* mean length */
};
/* By step; its points stand in no file. False: no completions, or none that tell. */
bool completions_values(struct check_ctx *ctx, enum completions_curve what, struct values *out);

struct completion_sums {        /* over all steps */
    int64_t n_groups, n_dead, n_wrong, n_right;
    int64_t n_grouped, n_dead_rows;     /* completions */
    int64_t first_step, last_step;
};
/* False: there are no groups. */
bool completions_sum(struct check_ctx *ctx, struct completion_sums *out);

/* The most inflated phrases as evidence, at most so many, and how they were told from chance. */
void completions_show_phrases(struct check_ctx *ctx, size_t most);
/* The first of them as an information note. */
void completions_note_phrase(struct check_ctx *ctx);
/* "40 of 48 completions to different prompts": one text, or one opening; NULL: neither, or it was so
 * from the first quarter on (*is_old). */
const char *completions_alike(struct check_ctx *ctx, bool *is_same_text, bool *is_old);

#endif
