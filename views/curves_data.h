/* From a run's facts to something that can be plotted: kept points and abandoned tails, eval
 * points, marks, the axis. Shared by the pane and by the text form; neither chooses data. */
#ifndef VIEWS_CURVES_DATA_H
#define VIEWS_CURVES_DATA_H

#include "core/facts/run_facts.h"
#include "views/plot.h"

enum picture_x { PICTURE_STEP, PICTURE_EPOCH };

struct picture {
    const struct curve *curve;
    const char *name;                   /* of the metric */
    const char *x_name;                 /* "step", "epoch", or "row" when no row has a step */
    const double *x;                    /* of every point of the curve */
    const double *y;                    /* what is drawn: the values, NaN where the log hid one */
    size_t n_hidden;                    /* such points */
    double x_low, x_high;               /* the whole axis, the planned end in it */
    double x_last;                      /* of the last point */
    double planned;                     /* planned last x, NaN when not known */
    struct plot_series series[PLOT_MAX_SERIES];
    struct plot_prepared prepared[PLOT_MAX_SERIES];
    size_t n_series;                    /* 0 is the metric, then tail and eval points */
    struct plot_mark *marks;            /* with room for one more */
    size_t n_marks, n_own_marks;        /* own: without the commit */
    bool is_smoothable;                 /* not learning_rate, epoch, eval metrics */
    const char *overlap;                /* "512-540 run twice, second kept", or NULL */
    const char *other_run;              /* name of the run drawn beside it, or NULL */
    const char *other_scale;            /* "eval_loss": logged, but on a scale of its own; NULL */
};

/* E_NOTFOUND when the metric was not logged. Lives in the arena, and as long as the facts; it
 * points into itself, so it is never copied. */
MUST_CHECK int picture_make(struct picture *out, const struct run_facts *facts, const char *name,
                            enum picture_x x, double smoothing, struct arena *arena,
                            struct error *err);
/* The same metric of another run beside it, on the same axis; nothing when that run did not log it or has
 * another kind of x. The other facts must live as long as the picture. */
MUST_CHECK int picture_add_other(struct picture *picture, const struct run_facts *other,
                                 enum picture_x x, struct arena *arena, struct error *err);
/* Companion strip: the curve alone on the same kind of axis. */
MUST_CHECK int picture_make_strip(struct picture *out, const struct run_facts *facts,
                                  const char *name, enum picture_x x, struct arena *arena,
                                  struct error *err);
/* Names of the metrics that can be drawn, the important ones first. */
MUST_CHECK int picture_names(const struct run_facts *facts, struct arena *arena,
                             const char *const **names, size_t *n, struct error *err);
/* A plot of the picture over x_low … x_high with the defaults of the pane. */
struct plot picture_plot(const struct picture *picture);
/* Title parts after the name: "ema .60  log  1 clipped at 41.7  1240 pts", most important first,
 * each with two blanks before it; stops before `columns` would be passed. */
void picture_title(const struct picture *picture, const struct plot *plot,
                   const struct plot_said *said, int columns, struct buf *out);
/* Checkpoints, resumes and the end of the run as marks of the rail (curves_events.c). */
MUST_CHECK int picture_add_marks(struct picture *picture, const struct run_facts *facts,
                                 struct arena *arena, struct error *err);
/* Where a commit of the configuration took effect: one mark more, or none (step NONE). */
void picture_mark_commit(struct picture *picture, int64_t step);
/* Index of the point nearest to a step, or -1. */
ptrdiff_t picture_point_at(const struct picture *picture, int64_t step);

#endif
