/* What the checks of stage 6 say of a test set that was compared to the training rows. */
#ifndef CORE_CHECKS_LEAK_EVIDENCE_H
#define CORE_CHECKS_LEAK_EVIDENCE_H

#include "core/checks/check.h"
#include "core/facts/leaks.h"

double leak_share(int64_t part, int64_t of); /* 0 of none */
/* UNKNOWN with what has to be imported: there is no side with rows of texts, or it cannot be read.
 */
int leak_unknown(struct check_ctx *ctx);
/* Every row of the set and of training was compared. */
bool leak_is_whole(const struct leaks *leaks, const struct leak_set *set);
/* Information: what was compared and how, what was stripped, what was not looked at. */
void leak_tell(struct check_ctx *ctx, const struct leaks *leaks, const struct leak_set *set);
/* The score on the clean and on the leaked part of the set, of each model whose items are its rows.
 */
void leak_scores(struct check_ctx *ctx, const struct leak_set *set);

#endif
