/* The pieces of the curves pane: its state, the list of marks, the drawing. Private to
 * curves*.c. */
#ifndef VIEWS_CURVES_PARTS_H
#define VIEWS_CURVES_PARTS_H

#include "views/curves_data.h"

#define CURVES_MAX_STRIPS 2
#define CURVES_NAME_BYTES 128

struct curve_mark {             /* a place to jump to */
    size_t point;               /* index into the curve */
    const char *text;           /* "step 1212-1240  29 NaN" */
};

struct curves_state {
    /* Kept over loads. */
    char metric[CURVES_NAME_BYTES];     /* "" : the one that fits the check */
    enum picture_x x;
    bool log_x, log_y, keeps_spikes, lists_marks;
    int smoothing;                      /* index of the weights 0, .6, .9, .99 */
    bool has_started;
    int64_t run_seen;
    ptrdiff_t check_seen;
    size_t evidence_seen;
    double x_low, x_high;               /* what is shown; x_low > x_high: all */
    ptrdiff_t cursor;                   /* point, -1 none */
    bool goes_along;                    /* it stood on the last point when new ones came */
    size_t top_mark;                    /* of the list, when it is long */

    /* Made by load in an arena of their own, and kept as long as the same is asked for. */
    struct arena *pictures;
    uint64_t made_of;                   /* serial of the facts; 0: nothing is made */
    char made_metric[CURVES_NAME_BYTES];
    enum picture_x made_x;
    int made_smoothing;
    struct run_facts *other;            /* of the baseline that is drawn beside, or NULL */
    int64_t made_baseline;
    size_t made_points;                 /* of its curve, and the step of the last of them */
    int64_t made_last;
    struct picture picture;
    struct picture strips[CURVES_MAX_STRIPS];
    size_t n_strips, strips_tried;
    const struct curve_mark *marks;
    size_t n_marks;

    /* Made by load, in the view's arena. */
    bool has_picture;
    const char *const *names;
    size_t n_names;
    const struct curve *lr, *grad_norm, *epoch;
    const char *problem;                /* why nothing is drawn, or NULL */
};

/* The point under the cursor: the desk's step where another pane moved it; -1: none. */
ptrdiff_t curves_cursor(const struct view *view);

/* ---- curves_choice.c ---- */

bool curves_has_metric(const struct curves_state *state, const char *name);
/* The metric that the evidence names, the one looked at first; NULL: none. */
const char *curves_metric_of_evidence(const struct view *view);
/* The metric that suits the check; NULL when nothing was logged. */
const char *curves_fitting_metric(const struct view *view);
/* Where the fault begins; NONE. */
int64_t curves_fault_step(const struct view *view);

/* ---- curves_other.c ---- */

/* The baseline of the desk beside the picture that was just made. */
MUST_CHECK int curves_add_other(struct view *view, struct error *err);

/* ---- curves_marks.c ---- */

/* Runs of non-finite values, spikes, resumes, checkpoints and the last point, in file order. */
MUST_CHECK int curves_list_marks(const struct picture *picture, struct arena *arena,
                                 const struct curve_mark **out, size_t *n, struct error *err);

/* ---- curves_draw.c ---- */

void curves_draw(const struct view *view, struct canvas *canvas);
void curves_status(const struct view *view, struct buf *out);

#endif
