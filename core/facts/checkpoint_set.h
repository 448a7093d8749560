/* The checkpoints of a run that its evaluation cannot tell from the best one, which of them are still
 * there, and how much of the run came after the best.
 *
 * Rule (F6 and F7 of CHECKS.md): e_j cannot be told from the best e_b when
 *
 *     e_j - e_b <= max(0.01 |e_b|, 2 sigma_e)
 *
 * sigma_e = 1.4826 MAD(first differences of e) / sqrt(2), the scatter from one evaluation to the next, for
 * 5 points and more, else 0. It is the "one standard error" idea of Breiman, Friedman, Olshen and Stone,
 * Classification and Regression Trees (1984), section 3.4.3, at twice the error: among models that the
 * held-out rows do not separate, which one is lowest is chance. A checkpoint is evaluated when its step is
 * one of the curve (or one more, where the logger counts from 0: Lightning); of the others nothing is
 * said. A folder of which only the epoch is known (epoch_0) is placed by the steps of an epoch. */
#ifndef CORE_FACTS_CHECKPOINT_SET_H
#define CORE_FACTS_CHECKPOINT_SET_H

#include "core/facts/eval_points.h"

struct checkpoint_set {
    size_t best;                /* row of the points */
    double sigma, bound;        /* e_b + bound is the highest that cannot be told from it */
    const size_t *rows;         /* of the points that cannot be told from the best, in order of steps */
    size_t n_rows;
    const struct artefact *const *kept; /* those of them whose folder was imported */
    size_t n_kept;
    const struct artefact *keep;    /* the best of these; NULL: none is there */
    const struct artefact *nearest; /* when none is: of those that are there, the best evaluated one */
    double nearest_value;
    size_t n_folders;           /* checkpoint folders of the run */
    double share_after;         /* steps after the best, of all; NaN when not known */
    double seconds_after;       /* of the run's time; NaN when not known */
};

/* The points must have steps and be those of a loss (lower is better). False without memory or steps. */
bool checkpoint_set_read(const struct run_facts *facts, const struct eval_points *points,
                         struct arena *arena, struct checkpoint_set *out);
/* The row of the points that a checkpoint was evaluated at, -1: none. */
ptrdiff_t checkpoint_row(const struct run_facts *facts, const struct eval_points *points,
                         const struct artefact *artefact);
bool artefact_is_checkpoint(const struct artefact *artefact);
/* What its folder or file is called: "checkpoint-200", "epoch=1-step=200.ckpt". */
const char *checkpoint_shown(const struct artefact *artefact);
/* "200, 250, 300 and 4 more" */
const char *checkpoint_steps(const struct checkpoint_set *set, const struct eval_points *points,
                             struct arena *arena);

#endif
