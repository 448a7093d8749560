/* How much longer the candidate's answers are than the base's, and how often each length won, as rows of
 * bars. */
#ifndef VIEWS_LENGTH_BARS_H
#define VIEWS_LENGTH_BARS_H

#include <stdbool.h>

#include "core/facts/judgements.h"

/* Row k of LENGTH_BINS: "  1.1-1.5x ######## 62, won 56 %". NULL without memory or room. */
const char *length_bar(const struct length_bins *bins, int k, int columns, bool ascii, struct arena *arena);

#endif
