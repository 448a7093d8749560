/* Tests of two models on the same items (F15), several tests at once (Holm), and what a number of
 * items can show at all (F17 of CHECKS.md). */
#ifndef CORE_STATS_PAIRED_H
#define CORE_STATS_PAIRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/stats/intervals.h"

/* Exact McNemar: b and c items that only one of the two got right. Two-sided. */
double mcnemar_p(int64_t b, int64_t c);
/* 95 % interval of the difference (gained - lost) / n of binary items. */
struct interval paired_binary(int64_t lost, int64_t gained, int64_t n);

struct paired_scores {
    double mean, se;            /* NaN below two items */
    struct interval interval;   /* 95 % */
    double p;                   /* two-sided, normal */
};
/* Differences of scores, item by item. cluster[i]: items of equal numbers are of one group; NULL: each
 * item is its own. Equal numbers must stand beside each other. */
struct paired_scores paired_scores(const double *d, const int64_t *cluster, size_t n);

/* rejects[i] where p[i] is significant at 5 % among n tests; NaN never is. */
void holm(const double *p, size_t n, bool *rejects);

/* The smallest difference that n items show with 80 % power when the share `discordance` of them
 * differs between the two; NaN below 2 items. */
double smallest_effect(double n, double discordance);
/* F17 the other way: the items that show `effect` with 80 % power when the share `discordance` of them
 * differs between the two; rounded up, NaN where there is no such number. */
double items_needed(double effect, double discordance);
/* The same without pairs: items of each of the two, whose shares are p1 and p2. */
double items_needed_unpaired(double p1, double p2);

#endif
