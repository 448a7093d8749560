/* Robust numbers (CHECKS.md section 4). Inputs are not changed. n is stated by each function;
 * below its minimum the result is NaN ("too few"). Finite values only: the caller leaves out
 * the others. */
#ifndef CORE_STATS_ROBUST_H
#define CORE_STATS_ROBUST_H

#include <stdbool.h>
#include <stddef.h>

double stat_median(const double *x, size_t n);              /* n >= 1 */
double stat_mad(const double *x, size_t n);                 /* median |x - median|; n >= 1 */
double stat_quantile(const double *x, size_t n, double q);  /* nearest rank: ceil(q n); n >= 1 */
double stat_mean(const double *x, size_t n);
double stat_sd(const double *x, size_t n);                  /* sample; n >= 2 */
/* Drops floor(share n) values at each end. */
double stat_trimmed_mean(const double *x, size_t n, double share);
/* 1.4826 MAD(first differences)/sqrt(2): the noise sigma of F3 and F6; n >= 3. */
double stat_noise(const double *x, size_t n);

struct slope {
    double slope, low, high;    /* Theil–Sen and its 95 % interval */
};
/* n >= 3; above 300 points 300 evenly spaced ones. False: too few. */
bool stat_theil_sen(const double *x, const double *y, size_t n, struct slope *out);

#endif
