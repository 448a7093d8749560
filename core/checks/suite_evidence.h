/* What the checks of stage 4 say of a candidate beside its base. */
#ifndef CORE_CHECKS_SUITE_EVIDENCE_H
#define CORE_CHECKS_SUITE_EVIDENCE_H

#include "core/checks/check.h"
#include "core/facts/eval_suites.h"

/* "retention: base 412 of 500, candidate 351 of 500, -12.2 points (95 %: -17.4 to -7.0)" */
void evidence_pair(struct check_ctx *ctx, const struct eval_pair *pair);
/* What the pair rests on where that is less than it looks: items without a result, items that only one side
 * has, repeats of items; and sampling, with the spread over seeds where several runs show it. */
void evidence_basis(struct check_ctx *ctx, const struct eval_pair *pair);
/* The same items by the suite's other measures ("gsm8k (flexible-extract)"), one line each. */
void evidence_variants(struct check_ctx *ctx, const struct eval_pair *pairs, size_t n,
                       const struct eval_pair *of);
/* What is below 0 among the general suites, by Holm's rule over those that can be compared (F16):
 * falls[i] for pairs[i]. Returns how many. */
size_t general_falls(const struct eval_pair *pairs, size_t n, bool *falls);
/* The interval of the pair, weighed alone, lies above 0. */
bool pair_rose(const struct eval_pair *pair);
bool pair_fell(const struct eval_pair *pair);
/* The suite of the same candidate at the same step that rose most and is no general one; NULL. */
const struct eval_pair *gain_beside(const struct eval_pair *pairs, size_t n,
                                    const struct eval_pair *fall);
/* No suite is named general, and this one was good before and fell far while another of the same
 * candidate rose: what C4.4 takes for the old ability. */
bool pair_is_old_ability(const struct eval_pair *pairs, size_t n, const struct eval_pair *pair);

#endif
