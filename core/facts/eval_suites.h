/* What the base and its candidates reached on each suite, put beside each other (CHECKS.md stage 4).
 * Numbers only: what they mean is the checks' question. */
#ifndef CORE_FACTS_EVAL_SUITES_H
#define CORE_FACTS_EVAL_SUITES_H

#include "core/facts/run_facts.h"
#include "core/stats/intervals.h"

/* base, ref, reference, before; sft where a preference run starts from it. */
bool eval_model_is_base(const struct run_facts *facts, const char *model);
/* A suite of general ability by its name, or by the user's answer "suite:NAME=general|task". */
bool eval_suite_is_general(const struct run_facts *facts, const char *suite);

/* A candidate beside the base on one suite. */
struct eval_pair {
    const struct eval_suite *base, *candidate;
    bool is_general;
    const char *why_not;        /* NULL, or why the two may not be compared */
    bool is_paired;             /* the same items: lost and gained are known where they are binary */
    bool is_binary;
    int64_t n_base, n_candidate;
    int64_t lost, gained;       /* right to wrong, wrong to right; NONE */
    double p_base, p_candidate; /* mean scores */
    double d;                   /* candidate - base */
    struct interval interval;   /* 95 %, NaN when it cannot be told */
    double p;                   /* of "no difference" */
};

/* One pair for each candidate and suite that the base has too, in the order of the files. False without
 * memory. */
bool eval_pairs_read(const struct run_facts *facts, struct arena *arena, struct eval_pair **pairs,
                     size_t *n);
/* Any two results on the same suite, such as those of two checkpoints: out->base is `a`. */
void eval_compare(const struct run_facts *facts, struct arena *arena, const struct eval_suite *a,
                  const struct eval_suite *b, struct eval_pair *out);
/* "412 of 500", or "0.31 of 500 items" where scores are no counts. */
const char *eval_reached(const struct eval_suite *suite, struct arena *arena);
/* The share of items that differ between the two where it is known, else 0.2. */
double eval_discordance(const struct eval_pair *pair);
/* The smallest drop that the pair could have shown (F17): with the share of items that differ where it
 * is known, else 0.2. */
double eval_visible(const struct eval_pair *pair);

#endif
