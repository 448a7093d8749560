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

/* How far several runs of one model on one suite, alike but for their seed, lie apart. */
struct eval_spread {
    size_t n;                   /* runs; 1: there is one */
    double low, high, sd;       /* of their mean scores; sd NaN for one */
};

/* A candidate beside the base on one suite. Where a model ran several times with other seeds, the suite
 * is of all these runs: each item has its mean score. */
struct eval_pair {
    const struct eval_suite *base, *candidate;
    struct eval_spread base_runs, candidate_runs;
    double temperature;         /* the higher of the two where it is stated; NaN */
    bool is_general;
    bool is_variant;            /* another measure of a suite that stands beside it ("gsm8k (flexible-
                                   extract)"): to be shown, not to be counted again */
    const char *why_not;        /* NULL, or why the two may not be compared */
    bool is_paired;             /* the same items: lost and gained are known where they are binary */
    bool is_binary;
    int64_t n_base, n_candidate;
    int64_t n_groups;           /* of items that are not independent; NONE: each is its own */
    double n_alone;             /* so many independent items tell as much, where items go together; NaN:
                                   each is its own */
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
/* Another measure of a suite that the same source has of the same model. */
bool eval_suite_is_variant(const struct run_facts *facts, const struct eval_suite *suite);
/* The same model, whatever the checkpoint that the names end with ("out/checkpoint-200"). */
bool eval_same_model(const char *a, const char *b);
/* Some pair is of that suite of that model, on either side. */
bool eval_is_paired(const struct eval_pair *pairs, size_t n, const struct eval_suite *suite);
/* Items that were asked and have no result (NaN, null). */
int64_t eval_missing(const struct eval_suite *suite);
/* Each item is right or wrong. */
bool eval_suite_counts(const struct eval_suite *suite);
/* The number behind "key=" in what was decoded with; NaN: it is not stated. */
double eval_frozen_number(const char *frozen, const char *key);
/* "412 of 500", or "0.31 of 500 items" where scores are no counts. */
const char *eval_reached(const struct eval_suite *suite, struct arena *arena);
/* The share of items that differ between the two where it is known, else 0.2. */
double eval_discordance(const struct eval_pair *pair);
/* The smallest drop that the pair could have shown (F17): with the share of items that differ where it
 * is known, else 0.2. */
double eval_visible(const struct eval_pair *pair);

#endif
