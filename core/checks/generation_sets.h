/* Generations of one model at one step as a set, for the checks that ask how outputs changed over a
 * training: longer, or all alike. Hashes and lengths alone; no text is read. */
#ifndef CORE_CHECKS_GENERATION_SETS_H
#define CORE_CHECKS_GENERATION_SETS_H

#include "core/checks/check.h"

enum { MAX_GENERATION_SETS = 32, GENERATION_SET_ROWS = 4096 };

struct generation_set {
    const char *model;
    int64_t step;               /* NONE: the rows state none */
    bool is_base;
    const struct generation **items; size_t n;  /* outputs with a text or a length, in file order */
};

/* The sets in order of first use. */
size_t generation_sets_read(struct check_ctx *ctx, struct generation_set out[MAX_GENERATION_SETS]);
/* What stands before the set in the training: the base, else the same model at its first step; NULL. */
const struct generation_set *generation_set_before(const struct generation_set *sets, size_t n,
                                                   const struct generation_set *own);
/* No set of the same model is later. */
bool generation_set_is_last(const struct generation_set *sets, size_t n,
                            const struct generation_set *own);

struct length_ratio {
    size_t n;                   /* prompts that both answered */
    double before, after;       /* mean lengths, in tokens or in words */
    double ratio;
    bool in_tokens;
};
/* Over the prompts that both sets have; false: there are none, or no lengths. */
bool generation_lengths(struct check_ctx *ctx, const struct generation_set *before,
                        const struct generation_set *after, struct length_ratio *out);

struct alike {
    size_t n_prompts;           /* different prompts with an output of four words or more */
    size_t n_same, n_opening;   /* most prompts that share one output, or one opening */
    const struct generation *same, *opening;    /* one of those */
};
struct alike generation_alike(struct check_ctx *ctx, const struct generation_set *set);

#endif
