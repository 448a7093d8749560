/* Facts to plot series; see curves_data.h. */
#include "views/curves_data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/loss_zero.h"
#include "core/facts/metric_names.h"

#define MAX_EVALS        3              /* eval series drawn beside the loss */
#define COMPARABLE_SPAN  2.0            /* evals may stretch the loss's range by this factor */
#define FAR_END          3              /* a plan beyond so many times the data is cut … */
#define SHOWN_OF_PLAN    1.35           /* … to this, so that the data are not a sliver */

/* ---- x ---- */

static bool has_steps(const struct curve *curve)
{
    for (size_t i = 0; i < curve->n; i++)
        if (curve->step[i] != NONE)
            return true;
    return false;
}

/* Not falling inside a segment, whatever the file said: a missing or falling x repeats the one
 * before. */
static void keep_order(const struct curve *curve, double *x)
{
    for (size_t i = 0; i < curve->n; i++) {
        bool is_first = i == 0 || curve->segment[i] != curve->segment[i - 1];
        if (is_first && !isfinite(x[i]))
            x[i] = 0;
        else if (!is_first && !(x[i] >= x[i - 1]))
            x[i] = x[i - 1];
    }
}

static void x_of_epochs(const struct curve *curve, const struct curve *epoch, double *x)
{
    size_t j = 0;
    for (size_t i = 0; i < curve->n; i++) {
        while (j < epoch->n && epoch->seq[j] < curve->seq[i])
            j++;
        bool is_same_row = j < epoch->n && epoch->seq[j] == curve->seq[i];
        x[i] = is_same_row && isfinite(epoch->value[j]) ? epoch->value[j] : NAN;
    }
}

static bool has_epochs(const struct curve *curve, const struct curve *epoch)
{
    return epoch && epoch->source_id == curve->source_id && epoch->n > 0;
}

static const double *make_x(struct picture *picture, const struct run_facts *facts,
                            const struct curve *curve, enum picture_x kind, struct arena *arena)
{
    double *x = arena_array(arena, curve->n ? curve->n : 1, sizeof *x);
    const struct curve *epoch = kind == PICTURE_EPOCH ? facts_curve(facts, "epoch") : NULL;
    bool by_step = has_steps(curve);

    if (!x)
        return NULL;
    picture->x_name = has_epochs(curve, epoch) ? "epoch" : by_step ? "step" : "row";
    if (has_epochs(curve, epoch))
        x_of_epochs(curve, epoch, x);
    else
        for (size_t i = 0; i < curve->n; i++)
            x[i] = !by_step ? (double)(i + 1)
                   : curve->step[i] == NONE ? NAN : (double)curve->step[i];
    keep_order(curve, x);
    return x;
}

static void set_range(struct picture *picture, const struct run_facts *facts)
{
    bool by_epoch = strcmp(picture->x_name, "epoch") == 0;
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < picture->curve->n; i++) {
        low = picture->x[i] < low ? picture->x[i] : low;
        high = picture->x[i] > high ? picture->x[i] : high;
    }
    if (!(low <= high))
        low = 0, high = 1;
    /* From 0 where that costs little: the start of training is the left edge. */
    if (low > 0 && low < 0.2 * high)
        low = 0;
    picture->x_last = high;
    picture->planned = by_epoch ? facts->planned_epochs
                       : strcmp(picture->x_name, "step") == 0 && facts->max_steps > 0
                           ? (double)facts->max_steps
                           : NAN;
    if (picture->planned > high)
        high = picture->planned <= FAR_END * high ? picture->planned
                                                  : low + (high - low) * SHOWN_OF_PLAN;
    picture->x_low = low;
    picture->x_high = high;
}

/* ---- Kept points and abandoned tails ---- */

struct split {
    double *x, *y;
    int32_t *segment;
    size_t n;
};

static bool split_open(struct split *split, size_t n, struct arena *arena)
{
    n = n ? n : 1;
    split->x = arena_array(arena, n, sizeof *split->x);
    split->y = arena_array(arena, n, sizeof *split->y);
    split->segment = arena_array(arena, n, sizeof *split->segment);
    split->n = 0;
    return split->x && split->y && split->segment;
}

static void split_add(struct split *split, const struct picture *picture, size_t i)
{
    split->x[split->n] = picture->x[i];
    split->y[split->n] = picture->y[i];
    split->segment[split->n++] = picture->curve->segment[i];
}

static void say_overlap(struct picture *picture, const bool *is_tail, struct arena *arena)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < picture->curve->n; i++)
        if (is_tail[i]) {
            low = picture->x[i] < low ? picture->x[i] : low;
            high = picture->x[i] > high ? picture->x[i] : high;
        }
    if (low <= high)
        picture->overlap = arena_printf(arena, "%s %.10g-%.10g run twice, last kept",
                                        picture->x_name, low, high);
}

/* A point is abandoned when a later segment begins at or before its x. */
static bool *find_tail(const struct picture *picture, struct arena *arena)
{
    const struct curve *curve = picture->curve;
    bool *is_tail = arena_array(arena, curve->n, sizeof *is_tail);
    double later = INFINITY, here = INFINITY;

    for (size_t i = curve->n; is_tail && i-- > 0;) {
        if (i + 1 < curve->n && curve->segment[i] != curve->segment[i + 1])
            later = here < later ? here : later;
        here = picture->x[i];           /* ends as the first x of the segment */
        is_tail[i] = here >= later;
    }
    return is_tail;
}

static int add_series(struct picture *picture, struct plot_series series, struct arena *arena,
                      struct error *err)
{
    if (picture->n_series == PLOT_MAX_SERIES)
        return OK;
    size_t at = picture->n_series;
    picture->series[at] = series;
    int rc = plot_prepare(&picture->prepared[at], &picture->series[at], arena, err);
    if (rc != OK)
        return rc;
    picture->series[at].prepared = &picture->prepared[at];
    picture->n_series++;
    return OK;
}

static int add_metric(struct picture *picture, double smoothing, struct arena *arena,
                      struct error *err)
{
    const struct curve *curve = picture->curve;
    struct plot_series whole = {.n = curve->n, .x = picture->x, .y = picture->y,
                                .segment = curve->segment, .style = STYLE_CURVE_A,
                                .smoothing = picture->is_smoothable ? smoothing : 0};
    if (curve->n_segments <= 1 || curve->n == 0)
        return add_series(picture, whole, arena, err);
    struct split kept, tail;
    bool *is_tail = find_tail(picture, arena);
    if (!is_tail || !split_open(&kept, curve->n, arena) || !split_open(&tail, curve->n, arena))
        return error_set(err, E_NOMEM, "a curve of %zu points", curve->n);
    for (size_t i = 0; i < curve->n; i++)
        split_add(is_tail[i] ? &tail : &kept, picture, i);
    whole.n = kept.n;
    whole.x = kept.x;
    whole.y = kept.y;
    whole.segment = kept.segment;
    int rc = add_series(picture, whole, arena, err);
    if (rc != OK || tail.n == 0)
        return rc;
    say_overlap(picture, is_tail, arena);
    return add_series(picture,
                      (struct plot_series){.n = tail.n, .x = tail.x, .y = tail.y,
                                           .segment = tail.segment, .is_tail = true,
                                           .style = STYLE_CURVE_TAIL},
                      arena, err);
}

/* ---- Eval points ---- */

static void finite_range(const struct curve *curve, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < curve->n; i++)
        if (isfinite(curve->value[i])) {
            *low = curve->value[i] < *low ? curve->value[i] : *low;
            *high = curve->value[i] > *high ? curve->value[i] : *high;
        }
}

/* One axis serves both when the evals do not squeeze the loss. */
static bool is_comparable(const struct curve *loss, const struct curve *eval)
{
    double low, high, eval_low, eval_high;

    finite_range(loss, &low, &high);
    finite_range(eval, &eval_low, &eval_high);
    if (!(eval_low <= eval_high))
        return true;                    /* nothing finite: only rail marks */
    if (!(low < high))
        return low <= high && eval_low > low / 4 && eval_high < low * 4;
    double both_low = eval_low < low ? eval_low : low, both_high = eval_high > high ? eval_high : high;
    return (both_high - both_low) <= COMPARABLE_SPAN * (high - low);
}

static int add_evals(struct picture *picture, const struct run_facts *facts, enum picture_x kind,
                     struct arena *arena, struct error *err)
{
    size_t n;
    const struct curve *const *evals = facts_eval_losses(facts, &n);
    int rc = OK;

    for (size_t i = 0; rc == OK && i < n && i < MAX_EVALS; i++) {
        struct picture unused = {0};
        if (!is_comparable(picture->curve, evals[i])) {
            picture->other_scale = evals[i]->name;
            continue;
        }
        const double *x = make_x(&unused, facts, evals[i], kind, arena);
        if (!x)
            return error_set(err, E_NOMEM, "eval points");
        if (strcmp(unused.x_name, picture->x_name) != 0)
            continue;
        rc = add_series(picture,
                        (struct plot_series){.n = evals[i]->n, .x = x, .y = evals[i]->value,
                                             .segment = evals[i]->segment, .is_points = true,
                                             .style = STYLE_EVAL_POINT},
                        arena, err);
    }
    return rc;
}

/* ---- Public ---- */

/* A loss behind which the log filter hid a NaN is drawn as what it was: a mark on the rail, no point
 * at 0. The values at the cursor stay as they were logged. */
static const double *shown_values(struct picture *picture, const struct run_facts *facts,
                                  struct arena *arena)
{
    const struct curve *curve = picture->curve;
    struct loss_zero zero;
    double *y;

    if (strcmp(picture->name, "loss") != 0)
        return curve->value;
    loss_zero_read(facts, &zero);
    if (zero.loss != curve || zero.n_substitution == 0)
        return curve->value;
    y = arena_array(arena, curve->n, sizeof *y);
    for (size_t i = 0; y && i < curve->n; i++)
        y[i] = zero.is_substitution[i] ? NAN : curve->value[i];
    picture->n_hidden = zero.n_substitution;
    return y ? y : curve->value;
}

static int begin(struct picture *picture, const struct run_facts *facts, const char *name,
                 enum picture_x x, struct arena *arena, struct error *err)
{
    *picture = (struct picture){.name = name, .curve = facts_curve(facts, name)};
    if (!picture->curve || picture->curve->n == 0)
        return error_set(err, E_NOTFOUND, "%s was not logged", name);
    picture->x = make_x(picture, facts, picture->curve, x, arena);
    if (!picture->x)
        return error_set(err, E_NOMEM, "a curve of %zu points", picture->curve->n);
    picture->y = shown_values(picture, facts, arena);
    set_range(picture, facts);
    picture->is_smoothable = strcmp(name, "learning_rate") != 0 && strcmp(name, "epoch") != 0 &&
                             strncmp(name, "eval_", 5) != 0;
    return OK;
}

int picture_make(struct picture *out, const struct run_facts *facts, const char *name,
                 enum picture_x x, double smoothing, struct arena *arena, struct error *err)
{
    int rc = begin(out, facts, name, x, arena, err);

    if (rc == OK)
        rc = add_metric(out, smoothing, arena, err);
    if (rc == OK && strcmp(name, "loss") == 0)
        rc = add_evals(out, facts, x, arena, err);
    if (rc == OK && strncmp(name, "eval_", 5) == 0) {
        struct plot_series points = out->series[0];
        points.is_points = true;
        points.style = STYLE_EVAL_POINT;
        points.prepared = NULL;
        rc = add_series(out, points, arena, err);
    }
    return rc == OK ? picture_add_marks(out, facts, arena, err) : rc;
}

int picture_add_other(struct picture *picture, const struct run_facts *other, enum picture_x x,
                      struct arena *arena, struct error *err)
{
    struct picture beside;

    if (!facts_has_curve(other, picture->name))
        return OK;
    int rc = begin(&beside, other, picture->name, x, arena, err);
    if (rc == E_NOTFOUND)
        return OK;
    if (rc != OK || strcmp(beside.x_name, picture->x_name) != 0)
        return rc;
    if (beside.x_last > picture->x_high)
        picture->x_high = beside.x_last;
    picture->other_run = other->run.name ? other->run.name : "baseline";
    return add_series(picture,
                      (struct plot_series){.n = beside.curve->n, .x = beside.x, .y = beside.y,
                                           .segment = beside.curve->segment, .style = STYLE_CURVE_B,
                                           .letter = 'B',
                                           .smoothing = picture->series[0].smoothing},
                      arena, err);
}

int picture_make_strip(struct picture *out, const struct run_facts *facts, const char *name,
                       enum picture_x x, struct arena *arena, struct error *err)
{
    int rc = begin(out, facts, name, x, arena, err);
    return rc == OK ? add_metric(out, 0, arena, err) : rc;
}

static bool is_drawable(const struct run_facts *facts, const char *name)
{
    return !metric_is_step(name) && facts_has_curve(facts, name);
}

int picture_names(const struct run_facts *facts, struct arena *arena, const char *const **names,
                  size_t *n, struct error *err)
{
    static const char *const first[] = {"loss",   "eval_loss", "grad_norm",    "learning_rate",
                                        "reward", "kl",        "entropy"};
    const size_t n_first = sizeof first / sizeof *first;
    const char **list = arena_array(arena, facts->n_series + n_first, sizeof *list);
    size_t count = 0;

    if (!list)
        return error_set(err, E_NOMEM, "names of %zu series", facts->n_series);
    for (size_t i = 0; i < n_first + facts->n_series; i++) {
        const char *name = i < n_first ? first[i] : facts->series[i - n_first].name;
        bool is_new = name && is_drawable(facts, name);
        for (size_t k = 0; is_new && k < count; k++)
            is_new = strcmp(list[k], name) != 0;
        if (is_new)
            list[count++] = name;
    }
    *names = list;
    *n = count;
    return OK;
}

struct plot picture_plot(const struct picture *picture)
{
    return (struct plot){.series = picture->series, .n_series = picture->n_series,
                         .marks = picture->marks, .n_marks = picture->n_marks,
                         .x_low = picture->x_low, .x_high = picture->x_high,
                         .clip_spikes = true, .cursor_x = NAN, .has_rail = true,
                         .has_axis = true, .x_name = picture->x_name};
}

ptrdiff_t picture_point_at(const struct picture *picture, int64_t step)
{
    const struct curve *curve = picture->curve;
    ptrdiff_t best = -1;
    int64_t best_off = INT64_MAX;

    /* From the end: what was kept goes before what was abandoned. */
    for (size_t i = curve->n; i-- > 0 && best_off > 0;) {
        if (curve->step[i] == NONE)
            continue;
        int64_t off = curve->step[i] > step ? curve->step[i] - step : step - curve->step[i];
        if (off < best_off) {
            best_off = off;
            best = (ptrdiff_t)i;
        }
    }
    return best;
}

/* Adds a part when there is room for it. */
static void add_part(struct buf *out, size_t room, const char *part)
{
    if (*part && strlen(part) + 2 <= room - (out->n < room ? out->n : room))
        buf_printf(out, "  %s", part);
}

void picture_title(const struct picture *picture, const struct plot *plot,
                   const struct plot_said *said, int columns, struct buf *out)
{
    size_t room = out->n + (size_t)(columns > 0 ? columns : 0);
    bool is_wide = columns >= 64;
    char part[160], number[32];

    if (is_wide || plot->log_x || strcmp(picture->x_name, "step") != 0) {
        snprintf(part, sizeof part, "x=%s%s", picture->x_name, plot->log_x ? " (log)" : "");
        add_part(out, room, part);
    }
    add_part(out, room, plot->log_y ? "y=log" : is_wide ? "y=lin" : "");
    if (picture->n_series && picture->prepared[0].is_smoothed) {
        snprintf(part, sizeof part, "ema %.2f", picture->series[0].smoothing);
        memmove(part + 4, part + 5, strlen(part + 4));
        add_part(out, room, part);
    }
    if (said->n_clipped) {
        number_short(number, said->clipped_at, 3);
        snprintf(part, sizeof part, "%zu clipped%s %s", said->n_clipped,
                 said->n_clipped > 1 ? " up to" : " at", number);
        add_part(out, room, part);
    }
    if (said->n_not_positive) {
        snprintf(part, sizeof part, "%zu not above 0", said->n_not_positive);
        add_part(out, room, part);
    }
    snprintf(part, sizeof part, said->n_points == picture->curve->n ? "%zu pts" : "%zu of %zu pts",
             said->n_points, picture->curve->n);
    add_part(out, room, part);
    if (picture->planned > picture->x_high && plot->x_high >= picture->x_high) {
        snprintf(part, sizeof part, "planned %.10g", picture->planned);
        add_part(out, room, part);
    }
    if (picture->other_run) {
        snprintf(part, sizeof part, "B %s", picture->other_run);
        add_part(out, room, part);
    }
    if (picture->overlap)
        add_part(out, room, picture->overlap);
    if (picture->other_scale) {
        snprintf(part, sizeof part, "%s: own scale, N", picture->other_scale);
        add_part(out, room, part);
    }
}
