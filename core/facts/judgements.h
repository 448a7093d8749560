/* What judges preferred, pair of models by pair of models: how often the candidate won, how long its
 * answers are beside the base's, and what is left of the gain at equal length (F14, F18 of CHECKS.md).
 * Numbers only: what they mean is the checks' question. */
#ifndef CORE_FACTS_JUDGEMENTS_H
#define CORE_FACTS_JUDGEMENTS_H

#include "core/facts/run_facts.h"
#include "core/stats/intervals.h"
#include "core/stats/length_controlled.h"

/* The judgements of one candidate against one base at one step, in one file. */
struct judged_pair {
    const char *base, *candidate;
    int64_t source_id, step, line;      /* line: of the first; step: NONE */
    int64_t n;
    double wins;                        /* a tie is half a win */
    int64_t n_ties;
    int64_t n_repeats;                  /* of a question that was judged before: not independent of it */
    int64_t n_questions;
    double n_alone;                     /* so many independent judgements tell as much; n without repeats,
                                           NaN when all are of one question */
    double rate;                        /* wins / n */
    struct interval interval;           /* Wilson of n_alone, 95 % */
    /* Of the judgements with both lengths. */
    int64_t n_lengths;
    double mean_base, mean_candidate;   /* NaN: none has them */
    double ratio;                       /* mean_candidate / mean_base; NaN */
    double *length_base, *length_candidate, *score;    /* n_lengths each, in order of the file */
    int64_t n_matched;                  /* whose lengths differ by at most 10 % of the base's */
    double matched_wins;
    struct interval matched;            /* Wilson, 95 %, with repeats as in n_alone */
};

/* In the order in which they appear. False without memory. */
bool judged_pairs_read(const struct run_facts *facts, struct arena *arena,
                       struct judged_pair **pairs, size_t *n);
enum { LENGTH_BINS = 7 };
/* How much longer the candidate's answer is than the base's: the ends of the bins as ratios, and of each bin
 * how many judgements it has and how many of them (ties half) the candidate won. */
struct length_bins {
    double from[LENGTH_BINS];           /* 0 for the first; each goes up to the next one's */
    int64_t n[LENGTH_BINS];
    double wins[LENGTH_BINS];
};
struct length_bins judged_length_bins(const struct judged_pair *pair);
/* F18 on the judgements with both lengths, its interval wider where questions repeat; takes a while.
 * False: refused, or without memory. */
bool judged_controlled(const struct judged_pair *pair, struct length_controlled *out);

#endif
