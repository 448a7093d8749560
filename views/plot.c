/* Draws series into an area: what is in range, how high, where the line goes. Two walks over the
 * pixel columns: the first finds the range and the rail, the second draws. The dots, labels and
 * rail marks themselves are in plot_glyphs.c, plot_axis.c, plot_rail.c. */
#include "views/plot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "views/plot_parts.h"
#include "views/plot_rail.h"

#define CLIP_WORTH       1.5            /* clip only when the range shrinks by this factor */

/* ---- One drawing ---- */

struct drawing {
    const struct plot *plot;
    struct canvas *canvas;
    struct arena *arena;
    struct plot_prepared prepared[PLOT_MAX_SERIES];
    size_t n_series;
    struct plot_layout layout;
    struct reduce_axis axis;
    struct scale scale;
    struct raster raster;
    struct rail rail;
    struct plot_said *said;
    /* Found by the first walk. */
    double low, high, high_kept;
    bool has_finite;
    double first_bad_x;
};

static bool prepare_series(struct drawing *d)
{
    const struct plot *plot = d->plot;
    d->n_series = plot->n_series < PLOT_MAX_SERIES ? plot->n_series : PLOT_MAX_SERIES;
    for (size_t i = 0; i < d->n_series; i++) {
        if (plot->series[i].prepared)
            d->prepared[i] = *plot->series[i].prepared;
        else if (plot_prepare(&d->prepared[i], &plot->series[i], d->arena, NULL) != OK)
            return false;
    }
    return true;
}

/* The least x > 0, for the left end of a log axis that begins at 0 or before. */
static double least_positive_x(const struct drawing *d)
{
    double least = INFINITY;
    for (size_t i = 0; i < d->n_series; i++)
        for (size_t p = 0; p < d->prepared[i].n_parts; p++) {
            size_t at = d->prepared[i].part_starts[p], end = d->prepared[i].part_starts[p + 1];
            while (at < end && !(d->plot->series[i].x[at] > 0))
                at++;
            if (at < end && d->plot->series[i].x[at] < least)
                least = d->plot->series[i].x[at];
        }
    return least;
}

static void set_axis(struct drawing *d)
{
    double low = d->plot->x_low, high = d->plot->x_high;
    bool is_log = d->plot->log_x;

    if (!isfinite(low) || !isfinite(high))
        low = 0, high = 1;
    d->axis.takes_lower = is_log && low <= 0;
    if (d->axis.takes_lower) {
        low = least_positive_x(d);
        if (!(low < high))
            is_log = false, low = d->plot->x_low;
    }
    if (!(low < high)) {                /* one point: some room around it */
        double room = fabs(low) > 1 ? fabs(low) * 0.5 : 0.5;
        high = low + room;
        low = is_log ? low / 2 : low - room;
    }
    d->axis.low = low;
    d->axis.high = high;
    d->axis.is_log = is_log;
    d->axis.takes_lower = d->axis.takes_lower && is_log;
}

/* ---- First walk: range and rail ---- */

static void take_range(struct drawing *d, const struct column *values)
{
    bool log_y = d->plot->log_y;
    size_t n = log_y ? values->n_positive : values->n;

    if (n == 0)
        return;
    double low = log_y ? values->low_positive : values->low;
    double kept = values->n_kept ? values->high_kept : -INFINITY;
    if (!d->has_finite || low < d->low)
        d->low = low;
    if (!d->has_finite || values->high > d->high)
        d->high = values->high;
    if (!d->has_finite || kept > d->high_kept)
        d->high_kept = kept;
    d->has_finite = true;
}

static void count(struct plot_said *said, const struct column *values, bool log_y)
{
    said->n_points += values->n + values->n_nan + values->n_pos_inf + values->n_neg_inf;
    said->n_nan += values->n_nan;
    said->n_pos_inf += values->n_pos_inf;
    said->n_neg_inf += values->n_neg_inf;
    said->n_zero += values->n_zero;
    said->n_not_positive += log_y ? values->n_not_positive : 0;
}

static void survey_part(struct drawing *d, size_t series, size_t from, size_t end)
{
    const struct plot_series *s = &d->plot->series[series];
    struct column_walk walk;
    struct column values;
    size_t column;

    column_walk_begin(&walk, &d->axis, &d->prepared[series].raw, s->x, from, end);
    while (column_walk_next(&walk, &values, &column)) {
        take_range(d, &values);
        if (s->letter)
            continue;
        if (!s->is_points)
            count(d->said, &values, d->plot->log_y);
        bool is_bad = values.n_nan || values.n_pos_inf || values.n_neg_inf;
        if (is_bad && isnan(d->first_bad_x))
            d->first_bad_x = s->x[walk.first];
        rail_add_column(&d->rail, column, &values, d->plot->log_y);
    }
}

/* Calls for every segment of every series. */
static void each_part(struct drawing *d, void (*call)(struct drawing *, size_t, size_t, size_t))
{
    for (size_t i = 0; i < d->n_series; i++)
        for (size_t p = 0; p < d->prepared[i].n_parts; p++)
            call(d, i, d->prepared[i].part_starts[p], d->prepared[i].part_starts[p + 1]);
}

static double span_of(const struct drawing *d, double high)
{
    return d->plot->log_y ? log10(high) - log10(d->low) : high - d->low;
}

/* Equal values get room around them, so that the line stands in the middle. */
static void pad(struct scale *scale)
{
    if (scale->low < scale->high)
        return;
    double value = scale->low;
    if (scale->is_log) {
        scale->low = value / 2;
        scale->high = value <= 8e307 ? value * 2 : value;
    } else if (value == 0) {
        scale->high = 1;
    } else {
        scale->low = value - fabs(value) * 0.1;
        scale->high = value + fabs(value) * 0.1;
    }
    if (!(scale->low < scale->high) || !isfinite(scale->low) || !isfinite(scale->high) ||
        (scale->is_log && scale->low <= 0))
        *scale = (struct scale){.low = 1e-300, .high = 1e300, .is_log = scale->is_log};
}

static void set_scale(struct drawing *d)
{
    double high = d->high;

    if (!d->has_finite) {
        d->scale = (struct scale){.low = d->plot->log_y ? 0.1 : 0, .high = 1,
                                  .is_log = d->plot->log_y};
        return;
    }
    if (d->plot->clip_spikes && d->high_kept > d->low &&
        span_of(d, d->high) > CLIP_WORTH * span_of(d, d->high_kept))
        high = d->high_kept;
    d->scale = (struct scale){.low = d->low, .high = high, .is_log = d->plot->log_y};
    pad(&d->scale);
}

/* Spikes above the range: counted, the greatest one named, '!' on the rail. */
static void mark_clipped(struct drawing *d)
{
    for (size_t i = 0; i < d->n_series; i++)
        for (size_t k = 0; k < d->prepared[i].n_spikes; k++) {
            size_t at = d->prepared[i].spikes[k];
            double y = d->plot->series[i].y[at];
            ptrdiff_t column = axis_column(&d->axis, d->plot->series[i].x[at]);
            if (y <= d->scale.high || column < 0 || column >= (ptrdiff_t)d->axis.n_columns)
                continue;
            if (d->said->n_clipped++ == 0 || y > d->said->clipped_at)
                d->said->clipped_at = y;
            rail_add(&d->rail, (size_t)column, RAIL_CLIPPED);
        }
}

/* ---- Second walk: the line ---- */

struct pen {
    bool is_down;
    int x, y;
    int n;                      /* columns of this stroke */
};

static bool is_gap(const struct drawing *d, const struct column *values)
{
    return d->plot->log_y ? values->n_positive == 0 : values->n == 0;
}

static int dot(const struct drawing *d, double y)
{
    return scale_dot(&d->scale, y, d->raster.height);
}

/* Where the line from point `a` to point `b` (one of them off the axis) crosses the column
 * `edge`. */
static int crossing(const struct drawing *d, const struct plot_series *s, const double *y,
                    const size_t ab[2], double edge)
{
    double xa = axis_position(&d->axis, s->x[ab[0]]), xb = axis_position(&d->axis, s->x[ab[1]]);
    double ya = dot(d, y[ab[0]]), yb = dot(d, y[ab[1]]);
    double share = xb > xa ? (edge - xa) / (xb - xa) : 1;

    share = !(share > 0) ? 0 : share > 1 ? 1 : share;
    return (int)(ya + share * (yb - ya) + 0.5);
}

static bool can_draw(const struct drawing *d, double y)
{
    return isfinite(y) && (y > 0 || !d->plot->log_y);
}

/* The line comes in from the left of the axis, and leaves it on the right. */
static void enter(struct drawing *d, const struct plot_series *s, const double *y, size_t from,
                  size_t first, struct pen *pen)
{
    if (first <= from || first >= s->n || !can_draw(d, y[first - 1]) || !can_draw(d, y[first]))
        return;
    /* As if two columns went before: what comes in from outside is no lone point. */
    *pen = (struct pen){true, 0, crossing(d, s, y, (const size_t[]){first - 1, first}, 0), 2};
}

static void leave(struct drawing *d, struct layer *layer, const struct plot_series *s,
                  const double *y, size_t end, size_t last, const struct pen *pen)
{
    if (!pen->is_down || last + 1 >= end || !can_draw(d, y[last + 1]) || !can_draw(d, y[last]))
        return;
    int at = crossing(d, s, y, (const size_t[]){last, last + 1}, (double)d->raster.width - 1);
    raster_line(&d->raster, layer, pen->x, pen->y, d->raster.width - 1, at);
}

/* A point with nothing to join is easily missed as one dot: it gets four. */
static void lift_pen(struct drawing *d, struct layer *layer, struct pen *pen)
{
    if (pen->is_down && pen->n == 1) {
        int x = pen->x / 2 * 2, y = pen->y / 2 * 2;
        for (int i = 0; i < 4 && d->raster.per_x == 2; i++)
            raster_dot(&d->raster, layer, x + i % 2, y + i / 2);
    }
    pen->is_down = false;
}

static void draw_column(struct drawing *d, struct layer *layer, const struct column *values,
                        size_t column, struct pen *pen)
{
    bool log_y = d->plot->log_y;
    int x = (int)column;

    if (is_gap(d, values)) {
        lift_pen(d, layer, pen);
        return;
    }
    int first = dot(d, log_y ? values->first_positive : values->first);
    int last = dot(d, log_y ? values->last_positive : values->last);
    int low = dot(d, log_y ? values->low_positive : values->low), high = dot(d, values->high);
    if (pen->is_down)
        raster_line(&d->raster, layer, pen->x, pen->y, x, first);
    raster_bar(&d->raster, layer, x, low, high);
    if (high > low)
        layer->slope[x] = (int8_t)((last > first) - (last < first));
    *pen = (struct pen){true, x, last, pen->is_down ? pen->n + 1 : 1};
}

static void draw_line(struct drawing *d, size_t series, struct layer *layer,
                      const struct series_blocks *blocks)
{
    const struct plot_series *s = &d->plot->series[series];
    const struct plot_prepared *prepared = &d->prepared[series];

    for (size_t p = 0; p < prepared->n_parts; p++) {
        size_t from = prepared->part_starts[p], end = prepared->part_starts[p + 1];
        struct column_walk walk;
        struct column values;
        struct pen pen = {.is_down = false};
        size_t column;

        column_walk_begin(&walk, &d->axis, blocks, s->x, from, end);
        enter(d, s, blocks->y, from, walk.at, &pen);
        while (column_walk_next(&walk, &values, &column))
            draw_column(d, layer, &values, column, &pen);
        if (walk.end > from)
            leave(d, layer, s, blocks->y, end, walk.end - 1, &pen);
        if (walk.end == end)
            lift_pen(d, layer, &pen);
    }
}

static bool draw_series(struct drawing *d, size_t i)
{
    const struct plot_series *s = &d->plot->series[i];
    struct layer *layer;

    if (s->is_points)
        return true;
    if (d->prepared[i].is_smoothed) {
        layer = raster_add_layer(&d->raster, d->arena, RANK_BAND, STYLE_CURVE_BAND);
        if (!layer)
            return false;
        draw_line(d, i, layer, &d->prepared[i].raw);
    }
    layer = raster_add_layer(&d->raster, d->arena, s->is_tail ? RANK_TAIL : RANK_LINE,
                             s->is_tail ? STYLE_CURVE_TAIL : s->style);
    if (!layer)
        return false;
    draw_line(d, i, layer, d->prepared[i].is_smoothed ? &d->prepared[i].smooth
                                                      : &d->prepared[i].raw);
    return true;
}

/* Points are letters, so that they are told from the line without colour. */
static void draw_points_part(struct drawing *d, size_t series, size_t from, size_t end)
{
    const struct plot_series *s = &d->plot->series[series];
    struct column_walk walk;
    struct column values;
    size_t column;

    if (!s->is_points)
        return;
    column_walk_begin(&walk, &d->axis, &d->prepared[series].raw, s->x, from, end);
    while (column_walk_next(&walk, &values, &column)) {
        if (is_gap(d, &values))
            continue;
        double ends[2] = {d->plot->log_y ? values.low_positive : values.low, values.high};
        for (int i = 0; i < 2; i++) {
            int row = d->layout.rows - 1 - dot(d, ends[i]) / d->raster.per_y;
            canvas_put(d->canvas, row, d->layout.gutter + (int)column / d->raster.per_x, s->style,
                       'e');
        }
    }
}

/* The letter of another run at the end of its line: told without colour which one it is. */
static void draw_letter_part(struct drawing *d, size_t series, size_t from, size_t end)
{
    const struct plot_series *s = &d->plot->series[series];
    const struct plot_prepared *prepared = &d->prepared[series];
    struct column_walk walk;
    struct column values;
    size_t column, last = 0;
    double y = NAN;

    if (!s->letter)
        return;
    column_walk_begin(&walk, &d->axis, prepared->is_smoothed ? &prepared->smooth : &prepared->raw, s->x,
                      from, end);
    while (column_walk_next(&walk, &values, &column))
        if (!is_gap(d, &values)) {
            y = d->plot->log_y ? values.low_positive : values.high;
            last = column;
        }
    if (isnan(y))
        return;
    canvas_put(d->canvas, d->layout.rows - 1 - dot(d, y) / d->raster.per_y,
               d->layout.gutter + (int)last / d->raster.per_x, s->style, (unsigned char)s->letter);
}

/* ---- Around the line ---- */

static void set_layout(struct drawing *d, struct area area, int label_width)
{
    const struct plot *plot = d->plot;
    struct plot_layout *layout = &d->layout;
    int rows = area.rows;

    *layout = (struct plot_layout){.axis_row = -1, .rail_row = -1, .label_row = -1};
    /* The rail goes last: it is what must never be hidden. */
    bool has_rail = plot->has_rail && rows >= 2;
    bool has_axis = plot->has_axis && rows >= 5;
    bool has_labels = plot->has_axis && rows >= 6;
    layout->rows = rows - has_rail - has_axis - has_labels;
    int row = layout->rows;
    if (has_axis)
        layout->axis_row = row++;
    if (has_rail)
        layout->rail_row = row++;
    if (has_labels)
        layout->label_row = row++;
    layout->gutter = label_width + 2;
    if (layout->gutter < (plot->has_rail ? 6 : 2))
        layout->gutter = plot->has_rail ? 6 : 2;
    if (layout->gutter < plot->gutter)
        layout->gutter = plot->gutter;
    if (layout->gutter > area.columns / 2)
        layout->gutter = area.columns / 2;
    layout->columns = area.columns - layout->gutter;
}

/* The cursor stands as a thin line where nothing is drawn, and turns what is drawn around. */
static void draw_cursor(struct drawing *d)
{
    ptrdiff_t at = isnan(d->plot->cursor_x) ? -1 : axis_column(&d->axis, d->plot->cursor_x);
    if (at < 0 || at >= (ptrdiff_t)d->axis.n_columns)
        return;
    struct canvas *canvas = d->canvas;
    int column = d->layout.gutter + (int)at / d->raster.per_x;
    int end = d->layout.rows + (d->layout.axis_row >= 0) + (d->layout.rail_row >= 0);
    for (int row = 0; row < end; row++) {
        const struct cell *cell = &canvas->cells[(canvas->clip_top + row) * canvas->columns +
                                                 canvas->clip_left + column];
        if (row < d->layout.rows && (cell->base == 0 || cell->base == ' '))
            canvas_put(canvas, row, column, STYLE_SAMPLE, canvas->ascii ? ':' : 0x250A);
        else
            canvas_reverse(canvas, row, column, 1);
    }
}

static void say_nothing_finite(struct drawing *d)
{
    struct plot_said *said = d->said;
    size_t n_bad = said->n_nan + said->n_pos_inf + said->n_neg_inf;
    const char *what = n_bad == said->n_nan ? "NaN" : said->n_nan == 0 ? "infinite" : "NaN or infinite";
    const char *x_name = d->plot->x_name ? d->plot->x_name : "x";

    if (said->n_points == 0)
        snprintf(said->sentence_text, sizeof said->sentence_text, "no values here");
    else if (n_bad < said->n_points)
        snprintf(said->sentence_text, sizeof said->sentence_text,
                 "none of %zu values is above 0: L for a linear axis", said->n_points);
    else if (n_bad == 1)
        snprintf(said->sentence_text, sizeof said->sentence_text, "the only value is %s, at %s %.10g",
                 what, x_name, d->first_bad_x);
    else
        snprintf(said->sentence_text, sizeof said->sentence_text,
                 "all %zu values are %s, first at %s %.10g", n_bad, what, x_name, d->first_bad_x);
    said->sentence = said->sentence_text;
    int width = (int)strlen(said->sentence), room = d->layout.columns;
    canvas_puts(d->canvas, d->layout.rows / 2,
                d->layout.gutter + (width < room ? (room - width) / 2 : 0), STYLE_FAIL,
                said->sentence);
}

static void draw_rail(struct drawing *d)
{
    for (size_t i = 0; i < d->plot->n_marks; i++)
        rail_add_mark(&d->rail, &d->axis, &d->plot->marks[i]);
    if (d->layout.rail_row >= 0) {
        if (d->layout.gutter >= 5)
            canvas_right(d->canvas, d->layout.rail_row, d->layout.gutter - 1, STYLE_AXIS, "rail");
        rail_show(&d->rail, d->canvas, d->layout.rail_row, d->layout.gutter);
    } else {
        rail_show_losses(&d->rail, d->canvas, d->layout.rows - 1, d->layout.gutter);
    }
}

/* Sizes of the raster and the rail for a layout whose gutter may still be a guess. */
static bool open_grid(struct drawing *d)
{
    enum line_style line = d->canvas->ascii ? LINE_ASCII : d->plot->line;

    raster_size(&d->raster, line, d->layout.columns, d->layout.rows);
    d->axis.n_columns = (size_t)d->raster.width;
    d->rail = (struct rail){
        .cells = arena_array(d->arena, (size_t)d->layout.columns, sizeof(uint16_t)),
        .n_cells = d->layout.columns,
        .per_cell = d->raster.per_x,
    };
    return d->rail.cells;
}

static void survey(struct drawing *d)
{
    *d->said = (struct plot_said){0};
    d->has_finite = false;
    d->first_bad_x = NAN;
    each_part(d, survey_part);
    set_scale(d);
}

static bool draw(struct drawing *d, struct area area)
{
    struct ticks ticks;

    if (!prepare_series(d))
        return false;
    set_layout(d, area, 4);
    if (d->layout.columns < 1 || d->layout.rows < 1 || !open_grid(d))
        return d->layout.columns < 1 || d->layout.rows < 1;
    set_axis(d);
    survey(d);
    int n_ticks = (d->layout.rows + 1) / 2;
    ticks_make(&ticks, &d->scale, (size_t)(n_ticks < 8 ? n_ticks : 8));
    int width = d->plot->strip_name ? 4 : ticks_width(&ticks);
    if (width > 4) {                    /* wider labels: a narrower curve, so look again */
        set_layout(d, area, width);
        if (!open_grid(d))
            return false;
        survey(d);
    }
    mark_clipped(d);
    for (size_t i = 0; i < d->n_series; i++)
        if (!draw_series(d, i))
            return false;
    raster_show(&d->raster, d->canvas, 0, d->layout.gutter);
    each_part(d, draw_points_part);
    each_part(d, draw_letter_part);
    plot_draw_left(d->plot, &d->layout, &d->scale, &ticks, d->canvas);
    plot_draw_bottom(d->plot, &d->layout, &d->axis, d->canvas);
    if (!d->has_finite)
        say_nothing_finite(d);
    draw_rail(d);
    draw_cursor(d);
    d->said->y_low = d->scale.low;
    d->said->y_high = d->scale.high;
    return true;
}

void plot_draw(const struct plot *plot, struct canvas *canvas, const struct area *area,
               struct plot_said *said)
{
    struct area before = canvas_area(canvas);
    struct area inner = {before.top + area->top, before.left + area->left, area->rows,
                         area->columns};
    struct plot_said unused;
    struct drawing d = {.plot = plot, .canvas = canvas, .said = said ? said : &unused};

    *d.said = (struct plot_said){0};
    canvas_clip(canvas, &inner);
    inner = canvas_area(canvas);
    d.arena = arena_open(ARENA_CHECK_BYTES);
    if (!d.arena || !draw(&d, inner))
        canvas_puts(canvas, 0, 0, STYLE_FAIL, "not enough memory to draw this curve");
    arena_close(d.arena);
    canvas_clip(canvas, &before);
}
