/* What number of items shows which difference at 80 % power, drawn as rows of text: the curve, and on it
 * this run's number of items and its difference. */
#ifndef VIEWS_POWER_CURVE_H
#define VIEWS_POWER_CURVE_H

#include <stdbool.h>

#include "core/base/arena.h"

enum { POWER_ROWS = 9 };        /* of the drawing, with the axis and its numbers */

struct power_curve {
    double n;                   /* items of this run */
    double d;                   /* its difference, as a share; sign aside */
    double discordance;         /* share of items that differ */
};

/* The i-th row, 0 the topmost; lives in the arena. NULL without memory, or where nothing can be drawn (n
 * below 2, or fewer than 24 columns). */
const char *power_curve_row(const struct power_curve *curve, int i, int columns, bool ascii,
                            struct arena *arena);

#endif
