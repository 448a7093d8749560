/* Which finding explains which: the constant tables of CHECKS.md 1.4 (same-fault groups) and 1.5
 * (cause, effects), for all ids of CHECKS.md, also those whose checks come later. */
#ifndef CORE_CHECKS_EXPLAINS_H
#define CORE_CHECKS_EXPLAINS_H

#include "core/model.h"

/* Fills explained_by[i] (index of the row that explains or leads it, or -1) and is_folded[i] for n
 * results in checklist order. is_dismissed[i] rows neither explain nor are explained. */
void explains_mark(const struct check_result *results, const bool *is_dismissed, size_t n,
                   ptrdiff_t *explained_by, bool *is_folded);
/* The table has no cycles and names no id twice as cause and effect of itself: for the tests. */
bool explains_is_sound(void);

#endif
