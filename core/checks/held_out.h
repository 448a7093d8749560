/* What is known of the quality that a preference run did not train on: suites beside the base,
 * judgements, win rates, held-out accuracy, the reward of another model. A reading that stage P weighs
 * reward, KL, margin and length against; no verdict. */
#ifndef CORE_CHECKS_HELD_OUT_H
#define CORE_CHECKS_HELD_OUT_H

#include "core/checks/check.h"
#include "core/facts/eval_suites.h"
#include "core/facts/judgements.h"

enum held_out_answer {
    HELD_OUT_UNKNOWN,
    HELD_OUT_ROSE,              /* an interval above no change, and none below it */
    HELD_OUT_FLAT,              /* every interval holds "no change" */
    HELD_OUT_FELL               /* an interval below it */
};

struct held_out {
    enum held_out_answer answer;
    const char *what;           /* what decided, one clause: "heldout: base 831 of 1319, ft 765 of 1319" */
    const struct eval_pair *pair;       /* or NULL */
    const struct eval_suite *won;       /* a win rate as a summary row, or NULL */
    const struct judged_pair *judged;   /* or NULL */
    const struct curve *curve;          /* or NULL */
    double value, bound;        /* what was held against what; NaN */
    struct interval interval;   /* of value, NaN where it has none */
};

/* The worst of all that is known: fell, flat, rose. A suite of general ability counts only where
 * no other is there. */
struct held_out held_out_read(struct check_ctx *ctx);
/* The record that decided, as evidence; nothing for HELD_OUT_UNKNOWN. */
void held_out_show(struct check_ctx *ctx, const struct held_out *held_out);
/* What to import where it is not known. */
#define HELD_OUT_MISSING                                                                         \
    "judged or held-out quality (eval_results.jsonl with base and tuned model, judge.jsonl, or a " \
    "held-out accuracy in the metric rows)"

#endif
