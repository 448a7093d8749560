/* Which other run of the project a run is compared with, and by which knobs the two differ: for the
 * checks of stage 7 that look at more than one run. */
#ifndef CORE_CHECKS_RUN_PAIRS_H
#define CORE_CHECKS_RUN_PAIRS_H

#include "core/checks/check.h"
#include "core/facts/compare.h"

struct run_pair {
    const struct run_facts *other;
    const struct compared_setting *settings;    /* other is `a`, the run of the check is `b` */
    size_t n_settings;
    unsigned knobs;             /* 1 << enum knob of those that differ; the seed is not among them */
    size_t n_knobs;
    bool seed_differs, seed_is_unset;   /* unset: in either run */
};

/* Both were trained, are of one kind and of one base model as far as is known, state their settings,
 * and are no ten-row tests. */
bool runs_are_comparable(const struct run_facts *a, const struct run_facts *b);
/* False without memory. */
bool run_pair_read(struct check_ctx *ctx, const struct run_facts *other, struct run_pair *out);
/* "epochs, rank and alpha" */
const char *run_pair_knobs(const struct check_ctx *ctx, const struct run_pair *pair);
/* One record a setting that belongs to one of the knobs (a mask). */
void evidence_knobs(struct check_ctx *ctx, const struct run_pair *pair, unsigned knobs);

#endif
