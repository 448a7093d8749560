/* What a training loss of exactly 0.0 means (CHECKS.md 5.2), and which rows hide a non-finite loss
 * (the substitution rows of 5.3). Pure readings of the logged rows: no verdicts here. */
#ifndef CORE_FACTS_LOSS_ZERO_H
#define CORE_FACTS_LOSS_ZERO_H

#include "core/facts/run_facts.h"

enum loss_zero_reading {
    LOSS_ZERO_NO_LOSS,              /* no training loss was logged */
    LOSS_ZERO_NONE,                 /* no row is exactly 0.0 */
    LOSS_ZERO_RL_NORMAL,            /* (c) reward keys and grad_norm > 0 on half of the rows or more,
                                           or reward keys without anything that speaks against it */
    LOSS_ZERO_RL_NO_SIGNAL,         /* reward_std 0 and grad_norm 0 */
    LOSS_ZERO_DPO_SATURATED,        /* (d) margins > 10, accuracies 1.0 */
    LOSS_ZERO_MASKED_BATCH,         /* (e) isolated rows 0.0/0.0 between non-zero rows */
    LOSS_ZERO_NONFINITE,            /* (a) non-zero rows first, then 0.0 that stands for a NaN */
    LOSS_ZERO_NOTHING_SUPERVISED,   /* (b) 0.0 from the first row, grad_norm 0.0 or not logged */
    LOSS_ZERO_UNDECIDED,            /* item 5: 0.0 from the first row, grad_norm non-finite */
    LOSS_ZERO_ROUNDED               /* item 6: a small number printed as 0.0, or 0.0 now and then */
};

struct loss_zero {
    enum loss_zero_reading reading;
    const struct curve *loss;       /* NULL with LOSS_ZERO_NO_LOSS */
    bool has_grad_norm;             /* logged on at least one row of the loss */
    size_t n_rows;                  /* rows of the loss */
    const double *grad_norm;        /* of each row of the loss; see has_grad_norm_on */
    const bool *has_grad_norm_on;
    size_t n_zero;                  /* rows with loss exactly 0.0 */
    bool first_row_is_zero;
    bool has_reward_keys;           /* reward, kl, rewards/margins …: preference or RL */

    const bool *is_substitution;    /* row i stands for a non-finite loss (5.3) */
    size_t n_substitution;
    size_t first_substitution;      /* index; n_rows when there is none */

    const bool *is_masked_batch;    /* row i: loss 0.0, grad_norm 0.0, non-zero rows before and after
                                       (never in preference or RL runs) */
    size_t n_masked_batch;
    size_t n_dead_gradient;         /* loss > 0 with grad_norm exactly 0.0 on single rows */
};

/* Read once; the rows live as long as the facts. Without memory the reading is LOSS_ZERO_NO_LOSS and
 * run_facts_status tells. */
void loss_zero_read(const struct run_facts *facts, struct loss_zero *out);

/* grad_norm of row i of the loss: on the same row, else the value logged at the same step of the
 * same segment by another source. False: not logged there. */
bool loss_zero_grad_norm(const struct loss_zero *zero, size_t i, double *value);

#endif
