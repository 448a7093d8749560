/* Drawing a curve into a canvas area: reduction, axes, rail (TUI.md section 5).
 *
 * Pure: the same data, range and size give the same cells. Nothing is hidden: each pixel column
 * keeps min, max, first and last of the finite values and counts of NaN, ±inf and zeros. */
#ifndef VIEWS_PLOT_H
#define VIEWS_PLOT_H

#include "core/stats/reduce.h"
#include "views/canvas.h"
#include "views/view.h"

#define PLOT_MAX_SERIES 8       /* the views draw two or three */

/* What does not depend on range and size: made once at load, so that a redraw of a million points
 * does not read them. */
struct plot_prepared {
    size_t n_parts;                     /* segments */
    const size_t *part_starts;          /* n_parts + 1 */
    const bool *is_spike;
    const size_t *spikes;
    size_t n_spikes;
    struct series_blocks raw, smooth;
    bool is_smoothed;                   /* not for points, constants, short series, weight 0 */
};

struct plot_series {
    size_t n;
    const double *x;            /* not falling inside a segment */
    const double *y;
    const int32_t *segment;     /* NULL: one */
    enum style_role style;
    bool is_points;             /* eval points: never joined, drawn as marks */
    bool is_tail;               /* abandoned tail: dim */
    char letter;                /* of another run drawn beside: stands at the end of its line; its points
                                   are not counted, nor are they on the rail. 0: the run's own */
    double smoothing;           /* 0 … <1; the raw band is drawn dim under it */
    const struct plot_prepared *prepared;   /* NULL: made for this one drawing */
};

/* Borrows the arrays of the series. E_NOMEM. */
MUST_CHECK int plot_prepare(struct plot_prepared *out, const struct plot_series *series,
                            struct arena *arena, struct error *err);
/* After a change of series->smoothing alone: only the smooth line is made anew. E_NOMEM: nothing
 * changed. */
MUST_CHECK int plot_smooth_again(struct plot_prepared *prepared, const struct plot_series *series,
                                 struct arena *arena, struct error *err);

enum plot_mark_kind { PLOT_MARK_CHECKPOINT, PLOT_MARK_RESUME, PLOT_MARK_END, PLOT_MARK_EVAL,
                      PLOT_MARK_COMMIT };

struct plot_mark {
    enum plot_mark_kind kind;
    double x;
};

struct plot {
    const struct plot_series *series;
    size_t n_series;
    const struct plot_mark *marks;
    size_t n_marks;
    double x_low, x_high;       /* what is shown */
    bool log_x, log_y;
    bool clip_spikes;
    enum line_style line;
    double cursor_x;            /* NaN: none */
    bool has_rail, has_axis;
    const char *x_name;
    int gutter;                 /* least cells for the labels on the left, to line plots up */
    const char *strip_name;     /* a strip of few rows: its name in the gutter; NULL: a plot */
};

/* What was drawn, for titles and the status line. */
struct plot_said {
    size_t n_points, n_nan, n_pos_inf, n_neg_inf, n_zero, n_clipped;
    size_t n_not_positive;      /* on a log axis: zero or less, marked on the rail */
    double clipped_at;          /* the greatest clipped value */
    double y_low, y_high;
    const char *sentence;       /* when there is no finite value: one sentence, else NULL */
    char sentence_text[160];    /* where it stands: copy the text, not the struct */
};

void plot_draw(const struct plot *plot, struct canvas *canvas, const struct area *area,
               struct plot_said *said);

#endif
