/* Scales, 1-2-5 ticks, and the labels around a curve. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/number.h"
#include "views/plot_parts.h"

int scale_dot(const struct scale *scale, double y, int height)
{
    double low = scale->low, high = scale->high;

    if (scale->is_log) {
        if (!(y > 0))
            return 0;
        y = log10(y);
        low = log10(low);
        high = log10(high);
    }
    /* Halves, so that a range beyond the greatest double does not overflow. */
    double share = (y / 2 - low / 2) / (high / 2 - low / 2);
    if (!(share > 0))
        return 0;
    if (share >= 1)
        return height - 1;
    return (int)(share * (height - 1) + 0.5);
}

/* ---- Ticks ---- */

/* Significant digits that tell the value from its neighbour, one step away. */
static int digits_between(double size, double step)
{
    double n = step > 0 ? floor(log10(size) + 1e-9) - floor(log10(step) + 1e-9) + 1 : 1;

    return n < 1 ? 1 : n > 6 ? 6 : (int)n;
}

/* Labels of one axis have the same number of decimals; great and tiny ones are in powers. */
static void label_tick(char *out, size_t n, double value, double step)
{
    double size = fabs(value);
    if (size < step / 1000)
        value = 0;
    if (size >= 1e6 || (size > 0 && size < 1e-3)) {
        snprintf(out, n, "%.*g", digits_between(size, step), value);
        if (size >= 1e6 && size < 1e9 && fmod(value, 1e5) == 0)
            snprintf(out, n, "%gM", value / 1e6);
        else if (strlen(out) > 3 && strstr(out, "e-0"))
            memmove(strstr(out, "e-0") + 2, strstr(out, "e-0") + 3, strlen(strstr(out, "e-0") + 3) + 1);
        return;
    }
    int decimals = 0;
    for (double unit = step; decimals < 6 && unit < 0.9999 && unit > 0; unit *= 10)
        decimals++;
    if (size >= 10000 && fmod(value, 100) == 0 && step >= 100)
        snprintf(out, n, "%gk", value / 1000);
    else
        snprintf(out, n, "%.*f", decimals, value);
}

static void add_tick(struct ticks *ticks, double value, double step)
{
    if (ticks->n >= MAX_TICKS)
        return;
    ticks->at[ticks->n] = value;
    label_tick(ticks->label[ticks->n], sizeof ticks->label[0], value, step);
    ticks->n++;
}

static double nice_step(double range, size_t most)
{
    double rough = range / (double)(most ? most : 1);
    double power = pow(10, floor(log10(rough)));
    double share = rough / power;

    return power * (share <= 1.0001 ? 1 : share <= 2.0001 ? 2 : share <= 5.0001 ? 5 : 10);
}

static void linear_ticks(struct ticks *ticks, double low, double high, size_t most)
{
    double step = nice_step(high - low, most);
    if (!isfinite(step) || step <= 0)
        return;
    double first = ceil(low / step - 1e-9);
    for (size_t i = 0; i <= most + 1; i++) {
        double value = (first + (double)i) * step;
        if (!isfinite(value) || value > high + step * 1e-9)
            break;
        add_tick(ticks, value, step);
    }
}

/* Every mantissa of the set at every power inside the range. */
static size_t log_ticks(struct ticks *ticks, const struct scale *scale, const char *mantissas,
                        int every)
{
    size_t count = 0;
    int from = (int)floor(log10(scale->low)), to = (int)ceil(log10(scale->high));

    for (int power = from; power <= to; power++)
        for (const char *m = mantissas; *m && power % every == 0; m++) {
            double unit = pow(10, power), value = (*m - '0') * unit;
            if (value < scale->low * (1 - 1e-9) || value > scale->high * (1 + 1e-9))
                continue;
            count++;
            if (ticks)
                add_tick(ticks, value, unit);
        }
    return count;
}

void ticks_make(struct ticks *ticks, const struct scale *scale, size_t most)
{
    static const struct {
        const char *mantissas;
        int every;
    } sets[] = {{"125", 1}, {"13", 1}, {"1", 1}, {"1", 2}, {"1", 5}, {"1", 20}, {"1", 100}};

    *ticks = (struct ticks){.n = 0};
    most = most < 2 ? 2 : most > MAX_TICKS - 2 ? MAX_TICKS - 2 : most;
    if (scale->is_log)
        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
            size_t n = log_ticks(NULL, scale, sets[i].mantissas, sets[i].every);
            if (n < 2)
                break;
            if (n > most)
                continue;
            log_ticks(ticks, scale, sets[i].mantissas, sets[i].every);
            return;
        }
    linear_ticks(ticks, scale->low, scale->high, most);
}

int ticks_width(const struct ticks *ticks)
{
    int width = 0;
    for (size_t i = 0; i < ticks->n; i++)
        if ((int)strlen(ticks->label[i]) > width)
            width = (int)strlen(ticks->label[i]);
    return width;
}

/* ---- Drawing ---- */

/* A strip says its highest and lowest value, and its name between. */
static void label_strip(const struct plot *plot, const struct plot_layout *layout,
                        const struct scale *scale, struct canvas *canvas)
{
    char high[32], low[32];
    int end = layout->gutter - 2;

    number_short(high, scale->high, 3);
    number_short(low, scale->low, 3);
    if (layout->rows >= 3) {
        canvas_right(canvas, 0, end, STYLE_AXIS, high);
        canvas_right(canvas, layout->rows - 1, end, STYLE_AXIS, low);
    }
    canvas_right(canvas, layout->rows >= 3 ? layout->rows / 2 : 0, end, STYLE_STRONG,
                 plot->strip_name);
}

void plot_draw_left(const struct plot *plot, const struct plot_layout *layout,
                    const struct scale *scale, const struct ticks *ticks, struct canvas *canvas)
{
    int32_t bar = canvas->ascii ? '|' : 0x2502, tick = canvas->ascii ? '|' : 0x2524;
    int last_row = layout->rows;

    for (int row = 0; row < layout->rows; row++)
        canvas_put(canvas, row, layout->gutter - 1, STYLE_AXIS, bar);
    if (plot->strip_name) {
        label_strip(plot, layout, scale, canvas);
        return;
    }
    for (size_t i = 0; i < ticks->n; i++) {
        int row = layout->rows - 1 - scale_dot(scale, ticks->at[i], layout->rows * 4) / 4;
        if (row >= last_row)
            continue;                   /* two ticks in one row: the lower one stands */
        last_row = row;
        canvas_right(canvas, row, layout->gutter - 2, STYLE_AXIS, ticks->label[i]);
        canvas_put(canvas, row, layout->gutter - 1, STYLE_AXIS, tick);
    }
}

static void label_column(const struct plot_layout *layout, struct canvas *canvas, int column,
                         const char *label, int *free_from)
{
    int width = (int)strlen(label), left = layout->gutter + column - width / 2;
    int right_edge = layout->gutter + layout->columns;

    if (left + width > right_edge)
        left = right_edge - width;
    if (left < *free_from)
        return;
    canvas_puts(canvas, layout->label_row, left, STYLE_AXIS, label);
    *free_from = left + width + 1;
}

void plot_draw_bottom(const struct plot *plot, const struct plot_layout *layout,
                      const struct reduce_axis *axis, struct canvas *canvas)
{
    struct scale scale = {axis->low, axis->high, axis->is_log};
    struct ticks ticks;
    int per_cell = layout->columns > 0 ? (int)axis->n_columns / layout->columns : 1;
    int free_from = 0;

    if (layout->axis_row < 0)
        return;
    canvas_put(canvas, layout->axis_row, layout->gutter - 1, STYLE_AXIS,
               canvas->ascii ? '+' : 0x2514);
    canvas_fill(canvas, layout->axis_row, layout->gutter, layout->columns, STYLE_AXIS,
                canvas->ascii ? '-' : 0x2500);
    ticks_make(&ticks, &scale, (size_t)(layout->columns / 7 + 1));
    if (axis->is_log && axis->takes_lower && plot->x_low <= 0 && layout->label_row >= 0)
        label_column(layout, canvas, 0, "0", &free_from);
    for (size_t i = 0; i < ticks.n; i++) {
        ptrdiff_t at = axis_column(axis, ticks.at[i]);
        if (at < 0 || at >= (ptrdiff_t)axis->n_columns)
            continue;
        int column = (int)at / per_cell;
        canvas_put(canvas, layout->axis_row, layout->gutter + column, STYLE_AXIS,
                   canvas->ascii ? '+' : 0x252C);
        if (layout->label_row >= 0)
            label_column(layout, canvas, column, ticks.label[i], &free_from);
    }
}
