/* What is left of a win rate when both answers are as long as each other (F18 of CHECKS.md): a logistic
 * fit of who won on tanh of the difference in length, read where that difference is 0. */
#ifndef CORE_STATS_LENGTH_CONTROLLED_H
#define CORE_STATS_LENGTH_CONTROLLED_H

#include <stdbool.h>
#include <stddef.h>

#include "core/stats/intervals.h"

enum { LENGTH_CONTROLLED_MIN = 50 };    /* judgements, below which it is refused */

struct length_controlled {
    size_t n;
    double sd;                  /* of the differences in length */
    double theta, phi;
    double rate;                /* the win rate at equal length */
    struct interval interval;   /* 95 %, by bootstrap */
};

/* score: 1 won, 0 lost, 0.5 a tie, of the candidate. False: fewer than LENGTH_CONTROLLED_MIN, or lengths
 * that do not differ, or without memory. The same input gives the same interval. */
bool length_controlled(const double *length_base, const double *length_candidate,
                       const double *score, size_t n, struct length_controlled *out);

#endif
