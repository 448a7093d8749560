/* The power curve as text. See power_curve.h. Both axes are logarithmic: the curve falls in a line. */
#include "views/power_curve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "core/stats/paired.h"

enum { MIN_COLUMNS = 24, MAX_COLUMNS = 72, LABEL = 6, PLOT_ROWS = POWER_ROWS - 2 };

enum mark { NOTHING, LINE, LEVEL, NEEDED, OWN };

static const char *const PLAIN[] = {" ", "*", "-", "o", "#"};
static const char *const DRAWN[] = {" ", "\xe2\x80\xa2", "\xe2\x94\x84", "\xe2\x97\x8b", "\xe2\x97\x86"};

struct frame {
    double left, right, bottom, top;    /* log10 of items, and of shares */
    int cells;
    double need;                        /* items that show d; NaN */
};

/* False: there is nothing to draw. */
static bool frame_of(const struct power_curve *curve, int columns, struct frame *f)
{
    double d = fabs(curve->d), right = 10.0 * curve->n;

    f->need = items_needed(d, curve->discordance);
    if (isfinite(f->need))
        right = fmax(right, fmin(2.0 * f->need, 1e7));
    f->cells = (columns < MAX_COLUMNS ? columns : MAX_COLUMNS) - LABEL;
    f->left = log10(fmax(2.0, fmin(20.0, curve->n / 2.0)));
    f->right = log10(right);
    double top = smallest_effect(pow(10.0, f->left), curve->discordance);
    double bottom = smallest_effect(right, curve->discordance);
    if (d > 0.0) {
        top = fmax(top, d);
        bottom = fmin(bottom, fmax(d, 0.002));
    }
    f->top = log10(top);
    f->bottom = log10(bottom);
    return curve->n >= 2.0 && columns >= MIN_COLUMNS && isfinite(f->top) && isfinite(f->bottom) &&
           f->top > f->bottom && f->right > f->left;
}

static int row_of(const struct frame *f, double share)
{
    double at = (f->top - log10(share)) / (f->top - f->bottom) * (double)(PLOT_ROWS - 1);

    return (int)fmax(0.0, fmin((double)(PLOT_ROWS - 1), round(at)));
}

static int cell_of(const struct frame *f, double n)
{
    double at = (log10(n) - f->left) / (f->right - f->left) * (double)(f->cells - 1);

    return (int)fmax(0.0, fmin((double)(f->cells - 1), round(at)));
}

static double items_at(const struct frame *f, int cell)
{
    return pow(10.0, f->left + (f->right - f->left) * (double)cell / (double)(f->cells - 1));
}

static enum mark mark_at(const struct power_curve *curve, const struct frame *f, int row, int cell)
{
    double d = fabs(curve->d);
    bool is_level = d > 0.0 && row == row_of(f, fmax(d, 0.002));

    if (is_level && cell == cell_of(f, curve->n))
        return OWN;
    if (is_level && isfinite(f->need) && cell == cell_of(f, fmin(f->need, 1e7)))
        return NEEDED;
    double seen = smallest_effect(items_at(f, cell), curve->discordance);
    if (isfinite(seen) && row == row_of(f, seen))
        return LINE;
    return is_level ? LEVEL : NOTHING;
}

/* "200", "5k", "1M". */
static void put_count(char *out, size_t size, double n)
{
    double unit = n >= 1e6 ? 1e6 : n >= 1e3 ? 1e3 : 1.0;

    snprintf(out, size, "%.0f%s", n / unit, n >= 1e6 ? "M" : n >= 1e3 ? "k" : "");
}

/* Powers of ten under the axis, as far as they do not touch. */
static void put_numbers(struct buf *out, const struct frame *f)
{
    char text[16];
    int at = 0;

    for (int power = (int)ceil(f->left - 1e-9); power <= (int)floor(f->right + 1e-9); power++) {
        int cell = cell_of(f, pow(10.0, power));

        put_count(text, sizeof text, pow(10.0, power));
        if (cell < at || cell + (int)strlen(text) > f->cells)
            continue;
        buf_repeat(out, ' ', (size_t)(cell - at));
        buf_puts(out, text);
        at = cell + (int)strlen(text) + 1;
        buf_putc(out, ' ');
    }
    if (at + 5 <= f->cells)
        buf_puts(out, "items");
}

static void put_label(struct buf *out, const struct frame *f, int row)
{
    double share = pow(10.0, f->top - (f->top - f->bottom) * (double)row / (double)(PLOT_ROWS - 1));

    if (row % 2 == 0)
        buf_printf(out, "%5.*f", share < 0.0995 ? 1 : 0, 100.0 * share);
    else
        buf_puts(out, "     ");
}

const char *power_curve_row(const struct power_curve *curve, int i, int columns, bool ascii,
                            struct arena *arena)
{
    const char *const *glyph = ascii ? PLAIN : DRAWN;
    struct frame f;
    struct buf out;

    if (i < 0 || i >= POWER_ROWS || !frame_of(curve, columns, &f))
        return NULL;
    buf_init(&out, 4096);
    if (i == PLOT_ROWS) {
        buf_puts(&out, "     ");
        buf_puts(&out, ascii ? "+" : "\xe2\x94\x94");
        for (int cell = 0; cell < f.cells; cell++)
            buf_puts(&out, ascii ? "-" : "\xe2\x94\x80");
    } else if (i > PLOT_ROWS) {
        buf_puts(&out, "      ");
        put_numbers(&out, &f);
    } else {
        put_label(&out, &f, i);
        buf_puts(&out, ascii ? "|" : "\xe2\x94\x82");
        for (int cell = 0; cell < f.cells; cell++)
            buf_puts(&out, glyph[mark_at(curve, &f, i, cell)]);
    }
    const char *text = out.failed ? NULL : arena_strndup(arena, out.p ? out.p : "", out.n);
    buf_free(&out);
    return text;
}
