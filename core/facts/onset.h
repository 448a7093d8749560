/* Where a run became non-finite (F4 of CHECKS.md), and what the rows before it looked like: shared
 * by the checks of the NaN family. Pure readings: no verdicts here. */
#ifndef CORE_FACTS_ONSET_H
#define CORE_FACTS_ONSET_H

#include "core/base/arena.h"
#include "core/facts/loss_zero.h"
#include "core/facts/run_facts.h"

struct run_onset {
    bool found;
    bool is_persistent;             /* >= 2 consecutive rows, or until the end */
    const struct curve *curve;      /* the metric that is bad first */
    size_t first_bad;               /* its row in that curve */
    ptrdiff_t last_finite;          /* row of that curve before it, or -1: bad from the first row */
    int64_t last_finite_step;       /* the onset lies in (last_finite_step, first_bad_step]; NONE */
    int64_t first_bad_step;
    int64_t line;                   /* of the first bad row */
    size_t n_bad;                   /* rows of that curve */
    bool is_substitution;           /* the value itself is finite: the log filter hid it (5.3) */
    bool only_infinite_grad;        /* nothing but non-finite grad_norms beside finite non-zero losses */
    bool recovers;                  /* the last row of that curve is finite again */

    /* What the rows before say; only for the training onset. */
    bool has_ramp_data;             /* there were finite rows to judge by */
    double grad_ratio;              /* last finite grad_norm / its median of the 20 rows before; NaN */
    double grad_before, grad_median;
    double loss_ratio;              /* median of the last 3 finite rows / running minimum; NaN */
    double loss_sigmas;             /* ln(loss_ratio) / sigma of F3; NaN below 6 rows */
    bool loss_rose;                 /* the loss part of C0.15 */
    double first_loss;              /* first finite loss of the run, NaN */
};

/* Onset on the training rows: loss, grad_norm beside it (substitution rows), entropy, logps, kl. */
void onset_training(const struct run_facts *facts, struct arena *arena, struct run_onset *out);
/* Onset on the evaluation rows (eval_loss of every named set; the earliest one). */
void onset_eval(const struct run_facts *facts, struct arena *arena, struct run_onset *out);

/* "step 20", or "line 7" where the rows have no steps. */
const char *onset_place(const struct run_onset *onset, struct arena *arena);

/* The fp16 situation of a run: 1 yes, 0 no, -1 not known. *decided (may be NULL) gets the setting. */
int precision_is_fp16(const struct run_facts *facts, const struct setting **decided);
/* The base model was pretrained in bf16, by its config or its family. *decided as above. */
int base_is_bf16(const struct run_facts *facts, const struct setting **decided);

/* Batch replay (F4): the rows of the optimiser steps in (from, to]. */
struct onset_rows {
    bool is_named;                  /* sampler, seed, batch sizes and row count are known */
    const char *why_not;            /* what is missing, when not */
    const int64_t *rows;
    size_t n_rows;
    const struct dataset *dataset;
};
void onset_replay(const struct run_facts *facts, struct arena *arena, int64_t from_step,
                  int64_t to_step, struct onset_rows *out);

#endif
