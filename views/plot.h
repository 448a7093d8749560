/* Drawing a curve into a canvas area: reduction, axes, rail (TUI.md section 5).
 *
 * Pure: the same data, range and size give the same cells. Nothing is hidden: each pixel column
 * keeps min, max, first and last of the finite values and counts of NaN, ±inf and zeros. */
#ifndef VIEWS_PLOT_H
#define VIEWS_PLOT_H

#include "views/canvas.h"
#include "views/view.h"

struct plot_series {
    size_t n;
    const double *x;            /* not falling inside a segment */
    const double *y;
    const int32_t *segment;     /* NULL: one */
    enum style_role style;
    bool is_points;             /* eval points: never joined, drawn as marks */
    bool is_tail;               /* abandoned tail: dim */
    double smoothing;           /* 0 … <1; the raw band is drawn dim under it */
};

enum plot_mark_kind { PLOT_MARK_CHECKPOINT, PLOT_MARK_RESUME, PLOT_MARK_END, PLOT_MARK_EVAL };

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
};

/* What was drawn, for titles and the status line. */
struct plot_said {
    size_t n_points, n_nan, n_pos_inf, n_neg_inf, n_zero, n_clipped;
    double clipped_at;          /* the greatest clipped value */
    double y_low, y_high;
    const char *sentence;       /* when there is no finite value: one sentence, else NULL */
    char sentence_text[160];
};

void plot_draw(const struct plot *plot, struct canvas *canvas, const struct area *area,
               struct plot_said *said);

#endif
