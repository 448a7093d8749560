/* The curves pane on the canvas: title, plot, strips of grad_norm and lr on the same axis, values
 * at the cursor beside it where there is room. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/number.h"
#include "views/curves_parts.h"

#define VALUES_FROM    110              /* columns from which the values stand beside the plot */
#define VALUES_COLUMNS 30
#define MARKS_COLUMNS  38
#define STRIP_ROWS     4                /* with its empty row above */
#define LEAST_ROWS     13               /* of the title and the plot before strips are drawn */
#define STRIP_GUTTER   11               /* "grad_norm" and the axis */

/* ---- Values at a point ---- */

static double at_point(const struct curve *curve, const struct picture *picture, size_t point)
{
    double value;
    if (!curve || !curve_on_row(curve, picture->curve, point, &value))
        return NAN;
    return value;
}

/* The smoothed value: the kept points stand in file order among all of them. */
static double smoothed(const struct picture *picture, size_t point)
{
    const struct plot_series *kept = &picture->series[0];

    if (!picture->n_series || !picture->prepared[0].is_smoothed)
        return NAN;
    size_t i = kept->n == picture->curve->n ? point : 0;
    while (i < kept->n && !(kept->x[i] == picture->x[point] &&
                            (!kept->segment ||
                             kept->segment[i] == picture->curve->segment[point])))
        i++;
    return i < kept->n ? picture->prepared[0].smooth.y[i] : NAN;
}

static double checkpoint_before(const struct picture *picture, double x)
{
    double best = NAN;
    for (size_t i = 0; i < picture->n_marks; i++)
        if (picture->marks[i].kind == PLOT_MARK_CHECKPOINT && picture->marks[i].x <= x &&
            !(best >= picture->marks[i].x))
            best = picture->marks[i].x;
    return best;
}

struct value_line {
    char name[32], value[48];
};

static void put_value(struct value_line *lines, size_t *n, const char *name, double value,
                      bool also_nan)
{
    if (isnan(value) && !also_nan)
        return;
    snprintf(lines[*n].name, sizeof lines[*n].name, "%s", name);
    number_short(lines[*n].value, value, 3);
    ++*n;
}

#define MAX_VALUES 12

static size_t values_at(const struct curves_state *state, size_t point, struct value_line *lines)
{
    const struct picture *picture = &state->picture;
    const struct curve *curve = picture->curve;
    size_t n = 0;

    if (curve->step[point] != NONE) {
        snprintf(lines[n].name, sizeof lines[n].name, "step");
        snprintf(lines[n++].value, sizeof lines[n].value, "%lld", (long long)curve->step[point]);
    } else {
        snprintf(lines[n].name, sizeof lines[n].name, "row");
        snprintf(lines[n++].value, sizeof lines[n].value, "%zu", point + 1);
    }
    put_value(lines, &n, picture->name, curve->value[point], true);
    if (isnan(picture->y[point]) && !isnan(curve->value[point])) {
        snprintf(lines[n].name, sizeof lines[n].name, "in truth");
        snprintf(lines[n++].value, sizeof lines[n].value, "NaN");
    }
    put_value(lines, &n, "ema", smoothed(picture, point), false);
    if (state->lr != curve)
        put_value(lines, &n, "lr", at_point(state->lr, picture, point), false);
    if (state->grad_norm != curve && state->grad_norm) {
        double value = NAN;
        bool is_there = curve_on_row(state->grad_norm, curve, point, &value);
        put_value(lines, &n, "grad_norm", value, is_there);
    }
    put_value(lines, &n, "ckpt", checkpoint_before(picture, picture->x[point]), false);
    put_value(lines, &n, "epoch", at_point(state->epoch, picture, point), false);
    if (curve->n_segments > 1) {
        snprintf(lines[n].name, sizeof lines[n].name, "segment");
        snprintf(lines[n++].value, sizeof lines[n].value, "%d of %d",
                 (int)curve->segment[point] + 1, (int)curve->n_segments);
    }
    if (curve->line[point] != NONE) {
        snprintf(lines[n].name, sizeof lines[n].name, "line");
        snprintf(lines[n++].value, sizeof lines[n].value, "%lld", (long long)curve->line[point]);
    }
    return n;
}

void curves_status(const struct view *view, struct buf *out)
{
    const struct curves_state *state = view->state;
    struct value_line lines[MAX_VALUES];
    ptrdiff_t cursor = curves_cursor(view);

    if (!state->has_picture || cursor < 0)
        return;
    size_t n = values_at(state, (size_t)cursor, lines);
    buf_puts(out, "cursor");
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%s %s", i ? "  " : " ", lines[i].name, lines[i].value);
    for (size_t i = 0; i < state->n_marks; i++)
        if (state->marks[i].point == (size_t)cursor)
            buf_printf(out, "  [%s]", state->marks[i].text);
}

/* ---- Drawing ---- */

static struct plot plot_of(const struct view *view, const struct picture *picture)
{
    const struct curves_state *state = view->state;
    struct plot plot = picture_plot(picture);
    ptrdiff_t cursor = curves_cursor(view);

    if (state->x_low < state->x_high) {
        plot.x_low = state->x_low;
        plot.x_high = state->x_high;
    } else {
        plot.x_low = state->picture.x_low;
        plot.x_high = state->picture.x_high;
    }
    plot.log_x = state->log_x;
    plot.clip_spikes = !state->keeps_spikes;
    plot.line = view->desk->line;
    plot.cursor_x = cursor >= 0 ? state->picture.x[cursor] : NAN;
    return plot;
}

static void draw_title(const struct curves_state *state, const struct plot *plot,
                       const struct plot_said *said, struct canvas *canvas, int columns)
{
    struct buf text;
    int at = canvas_puts(canvas, 0, 0, STYLE_STRONG, state->picture.name);

    buf_init(&text, 1024);
    picture_title(&state->picture, plot, said, columns - at, &text);
    canvas_text(canvas, 0, at, STYLE_DIM, buf_view(&text));
    buf_free(&text);
}

static void draw_strips(const struct view *view, struct canvas *canvas, struct area area,
                        size_t n_strips)
{
    const struct curves_state *state = view->state;

    for (size_t i = 0; i < n_strips; i++) {
        struct plot strip = plot_of(view, &state->strips[i]);
        struct area at = {area.top + (int)i * STRIP_ROWS + 1, area.left, STRIP_ROWS - 1,
                          area.columns};
        strip.has_axis = strip.has_rail = false;
        strip.gutter = STRIP_GUTTER;
        strip.strip_name = strcmp(state->strips[i].name, "learning_rate") == 0
                               ? "lr"
                               : state->strips[i].name;
        strip.n_marks = 0;
        plot_draw(&strip, canvas, &at, NULL);
    }
}

static void draw_counts(const struct plot_said *said, struct canvas *canvas, int row, int left)
{
    const struct {
        const char *name;
        size_t n;
    } counts[] = {{"NaN", said->n_nan}, {"+Inf", said->n_pos_inf}, {"-Inf", said->n_neg_inf},
                  {"0.0", said->n_zero}, {"clipped", said->n_clipped}};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        canvas_puts(canvas, row + (int)i, left, STYLE_DIM, counts[i].name);
        canvas_printf(canvas, row + (int)i, left + 11, counts[i].n ? STYLE_STRONG : STYLE_DIM,
                      "%zu shown", counts[i].n);
    }
}

/* The column of values, where the pane is wide. */
static void draw_values(const struct view *view, struct canvas *canvas,
                        const struct plot_said *said, struct area area)
{
    const struct curves_state *state = view->state;
    struct value_line lines[MAX_VALUES];
    ptrdiff_t cursor = curves_cursor(view);
    int row = 0;

    for (int i = 0; i < area.rows; i++)
        canvas_put(canvas, i, area.left, STYLE_FRAME, canvas->ascii ? '|' : 0x2502);
    canvas_puts(canvas, row++, area.left + 2, STYLE_DIM, "values at cursor");
    size_t n = cursor >= 0 ? values_at(state, (size_t)cursor, lines) : 0;
    for (size_t i = 0; i < n; i++, row++) {
        canvas_puts(canvas, row, area.left + 2, STYLE_TEXT, lines[i].name);
        canvas_puts(canvas, row, area.left + 13, STYLE_STRONG, lines[i].value);
    }
    draw_counts(said, canvas, row + 1, area.left + 2);
}

static void draw_marks(const struct view *view, struct canvas *canvas, struct area area)
{
    const struct curves_state *state = view->state;
    ptrdiff_t cursor = curves_cursor(view);
    struct area before = canvas_area(canvas);
    struct area list = {before.top + area.top, before.left + area.left, area.rows, area.columns};
    size_t at = 0, rows = area.rows > 1 ? (size_t)area.rows - 1 : 0;

    canvas_clip(canvas, &list);
    for (int row = 0; row < area.rows; row++) {
        canvas_fill(canvas, row, 0, area.columns, STYLE_TEXT, ' ');
        canvas_put(canvas, row, 0, STYLE_FRAME, canvas->ascii ? '|' : 0x2502);
    }
    canvas_printf(canvas, 0, 2, STYLE_DIM, "%zu marks, Ctrl-arrows go", state->n_marks);
    while (at < state->n_marks && (ptrdiff_t)state->marks[at].point < cursor)
        at++;
    size_t top = at > rows / 2 ? at - rows / 2 : 0;
    if (top + rows > state->n_marks)
        top = state->n_marks > rows ? state->n_marks - rows : 0;
    for (size_t i = 0; i < rows && top + i < state->n_marks; i++) {
        canvas_puts(canvas, (int)i + 1, 2, STYLE_TEXT, state->marks[top + i].text);
        if ((ptrdiff_t)state->marks[top + i].point == cursor)
            canvas_reverse(canvas, (int)i + 1, 1, area.columns - 1);
    }
    canvas_clip(canvas, &before);
}

void curves_draw(const struct view *view, struct canvas *canvas)
{
    const struct curves_state *state = view->state;
    struct area area = canvas_area(canvas);
    struct plot_said said;

    if (!state->has_picture) {
        canvas_puts(canvas, 0, 0, STYLE_UNKNOWN, state->problem ? state->problem : "no run chosen");
        return;
    }
    bool has_values = area.columns > VALUES_FROM;
    int columns = has_values ? area.columns - VALUES_COLUMNS : area.columns;
    int spare = (area.rows - LEAST_ROWS) / STRIP_ROWS;
    size_t n_strips = spare < 0 ? 0 : (size_t)spare < state->n_strips ? (size_t)spare : state->n_strips;
    int plot_rows = area.rows - 1 - (int)n_strips * STRIP_ROWS;
    struct area at = {.top = 1, .rows = plot_rows, .columns = columns};
    struct plot plot = plot_of(view, &state->picture);

    plot.log_y = state->log_y;
    plot.gutter = n_strips ? STRIP_GUTTER : 0;
    plot_draw(&plot, canvas, &at, &said);
    draw_title(state, &plot, &said, canvas, columns);
    draw_strips(view, canvas, (struct area){plot_rows + 1, 0, 0, columns}, n_strips);
    if (has_values)
        draw_values(view, canvas, &said,
                    (struct area){0, columns, area.rows, VALUES_COLUMNS});
    if (state->lists_marks) {
        int width = columns < MARKS_COLUMNS ? columns : MARKS_COLUMNS;
        draw_marks(view, canvas, (struct area){1, columns - width, plot_rows, width});
    }
}
