/* The grid of cells: clipping, widths, hostile text, frames, dumps. It knows no terminal and no
 * colours. Widths are sums of wcwidth, because that is how ncurses will count them again; so
 * LC_CTYPE has to be a UTF-8 locale unless the canvas is an ASCII one. */
#include "views/canvas.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "core/base/unicode.h"

#define MAX_SIDE      4096              /* rows or columns: far above any terminal */
#define REPLACEMENT   0xFFFD
#define RIGHT_HALF    (-1)
#define VISIBLE_BYTES 16                /* "<U+10FFFF>" with room */

/* ---- Opening, clipping ---- */

int canvas_open(struct canvas **out, int rows, int columns, bool ascii, struct error *err)
{
    assert(rows >= 0 && columns >= 0);
    if (rows > MAX_SIDE || columns > MAX_SIDE)
        return error_set(err, E_LIMIT, "canvas of %d x %d cells, at most %d a side", rows, columns,
                         MAX_SIDE);
    struct canvas *canvas = calloc(1, sizeof *canvas);
    size_t n = (size_t)rows * (size_t)columns;
    struct cell *cells = calloc(n ? n : 1, sizeof *cells);
    if (!canvas || !cells) {
        free(canvas);
        free(cells);
        return error_set(err, E_NOMEM, "canvas of %d x %d cells", rows, columns);
    }
    *canvas = (struct canvas){.rows = rows, .columns = columns, .cells = cells, .ascii = ascii};
    canvas_clear(canvas);
    *out = canvas;
    return OK;
}

void canvas_close(struct canvas *canvas)
{
    if (!canvas)
        return;
    free(canvas->cells);
    free(canvas);
}

void canvas_clear(struct canvas *canvas)
{
    memset(canvas->cells, 0, (size_t)canvas->rows * (size_t)canvas->columns * sizeof(struct cell));
    canvas->cursor_row = -1;
    canvas->cursor_column = -1;
    canvas_clip(canvas, NULL);
}

static int clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

void canvas_clip(struct canvas *canvas, const struct area *area)
{
    struct area whole = {0, 0, canvas->rows, canvas->columns};
    struct area wanted = area ? *area : whole;

    canvas->clip_top = clamp(wanted.top, 0, canvas->rows);
    canvas->clip_left = clamp(wanted.left, 0, canvas->columns);
    canvas->clip_rows = clamp(wanted.rows, 0, canvas->rows - canvas->clip_top);
    canvas->clip_columns = clamp(wanted.columns, 0, canvas->columns - canvas->clip_left);
}

struct area canvas_area(const struct canvas *canvas)
{
    return (struct area){canvas->clip_top, canvas->clip_left, canvas->clip_rows,
                         canvas->clip_columns};
}

/* The cell at a place of the clip area, or NULL outside. */
static struct cell *cell_at(struct canvas *canvas, int row, int column)
{
    if (row < 0 || column < 0 || row >= canvas->clip_rows || column >= canvas->clip_columns)
        return NULL;
    size_t at = (size_t)(canvas->clip_top + row) * (size_t)canvas->columns +
                (size_t)(canvas->clip_left + column);
    return &canvas->cells[at];
}

/* ---- Writing cells ---- */

/* Signs of writing that have a plain form; all else that is not ASCII is '?'. */
static int32_t plain_form(int32_t codepoint)
{
    static const struct {
        int32_t sign, plain;
    } forms[] = {{0x2026, '~'}, {0x2013, '-'}, {0x2014, '-'}, {0x2018, '\''}, {0x2019, '\''},
                 {0x201c, '"'}, {0x201d, '"'}, {0x00d7, 'x'}, {0x2212, '-'},  {0x2588, '#'},
                 {0x00a0, ' '}};

    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (forms[i].sign == codepoint)
            return forms[i].plain;
    return '?';
}

/* What a code point becomes and how wide it is. 0 cells: a combining mark. */
static int width_of(const struct canvas *canvas, int32_t *codepoint)
{
    if (*codepoint < 0x80)
        return 1;
    int width = wcwidth((wchar_t)*codepoint);
    if (canvas->ascii) {
        if (width == 0)
            return 0;
        *codepoint = plain_form(*codepoint);
        return 1;
    }
    if (width < 0) {
        *codepoint = REPLACEMENT;
        return 1;
    }
    return width;
}

/* Writing over one half of a wide character blanks the other half. */
static void release(struct canvas *canvas, int row, int column)
{
    struct cell *cell = cell_at(canvas, row, column);
    size_t x = (size_t)(canvas->clip_left + column);

    if (cell->base == RIGHT_HALF && x > 0) {
        cell[-1].base = 0;
        cell[-1].marks[0] = cell[-1].marks[1] = 0;
    } else if (x + 1 < (size_t)canvas->columns && cell[1].base == RIGHT_HALF) {
        cell[1].base = 0;
    }
}

static void set_cell(struct canvas *canvas, int row, int column, enum style_role style,
                     int32_t codepoint)
{
    struct cell *cell = cell_at(canvas, row, column);
    if (!cell)
        return;
    release(canvas, row, column);
    *cell = (struct cell){.base = codepoint, .style = (uint8_t)style};
}

static void add_mark(struct canvas *canvas, int row, int column, int32_t mark)
{
    struct cell *cell = cell_at(canvas, row, column);
    if (canvas->ascii || !cell)
        return;
    if (cell->base == RIGHT_HALF)
        cell = cell_at(canvas, row, column - 1);
    if (!cell || cell->base <= 0)
        return;
    if (!cell->marks[0])
        cell->marks[0] = mark;
    else if (!cell->marks[1])
        cell->marks[1] = mark;          /* further ones are dropped: a cell holds two */
}

/* Draws one code point of known width; a wide one cut by the edge leaves a blank. */
static void draw_wide(struct canvas *canvas, int row, int column, enum style_role style,
                      int32_t codepoint)
{
    bool left_in = cell_at(canvas, row, column), right_in = cell_at(canvas, row, column + 1);
    set_cell(canvas, row, column, style, left_in && right_in ? codepoint : ' ');
    set_cell(canvas, row, column + 1, style, left_in && right_in ? RIGHT_HALF : ' ');
}

/* ---- Text ---- */

/* One step of a text: a code point that can be shown, or the visible form of one that can not. */
struct step {
    size_t n_bytes;                     /* used of the text */
    int32_t codepoint;                  /* when not visible */
    int width;
    int n_visible;                      /* characters of `visible`, 0: draw the code point */
    char visible[VISIBLE_BYTES];
};

static void next_step(const struct canvas *canvas, struct str text, struct step *step)
{
    int32_t c;
    step->n_bytes = unicode_next(text, &c);
    step->n_visible = 0;
    if (c == '\t')
        c = ' ';
    if (c == '\n')
        step->n_visible = snprintf(step->visible, sizeof step->visible, "\\n");
    else if (c < 0)
        step->n_visible = snprintf(step->visible, sizeof step->visible, "<0x%02X>",
                                   (unsigned)(unsigned char)text.p[0]);
    else if (c < 0x80 && unicode_is_hostile(c))
        step->n_visible = snprintf(step->visible, sizeof step->visible, "<0x%02X>", (unsigned)c);
    else if (unicode_is_hostile(c))
        step->n_visible = snprintf(step->visible, sizeof step->visible, "<U+%04X>", (unsigned)c);
    step->codepoint = c;
    step->width = step->n_visible ? step->n_visible : width_of(canvas, &step->codepoint);
}

int canvas_text(struct canvas *canvas, int row, int column, enum style_role style,
                struct str text)
{
    struct step step;

    for (; text.n > 0 && column < canvas->clip_columns; text = str_skip(text, step.n_bytes)) {
        next_step(canvas, text, &step);
        if (step.width == 0) {
            add_mark(canvas, row, column - 1, step.codepoint);
            continue;
        }
        if (step.n_visible)
            for (int i = 0; i < step.n_visible; i++)
                set_cell(canvas, row, column + i, STYLE_HOSTILE, step.visible[i]);
        else if (step.width == 2)
            draw_wide(canvas, row, column, style, step.codepoint);
        else
            set_cell(canvas, row, column, style, step.codepoint);
        column += step.width;
    }
    return column;
}

int canvas_puts(struct canvas *canvas, int row, int column, enum style_role style,
                const char *text)
{
    return canvas_text(canvas, row, column, style, str_of(text));
}

int canvas_printf(struct canvas *canvas, int row, int column, enum style_role style,
                  const char *fmt, ...)
{
    char text[1024];
    va_list args;

    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n < 0)
        return column;
    size_t n_bytes = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    return canvas_text(canvas, row, column, style, unicode_cut(str_from(text, n_bytes), n_bytes));
}

void canvas_right(struct canvas *canvas, int row, int end_column, enum style_role style,
                  const char *text)
{
    canvas_puts(canvas, row, end_column - canvas_width(canvas, str_of(text)), style, text);
}

int canvas_width(const struct canvas *canvas, struct str text)
{
    struct step step;
    int width = 0;

    for (; text.n > 0 && width < INT32_MAX / 2; text = str_skip(text, step.n_bytes)) {
        next_step(canvas, text, &step);
        width += step.width;
    }
    return width;
}

struct str canvas_cut(const struct canvas *canvas, struct str text, int n_cells)
{
    struct step step;
    size_t n = 0;

    for (int width = 0; n < text.n; n += step.n_bytes) {
        next_step(canvas, str_skip(text, n), &step);
        width += step.width;
        if (width > n_cells)
            break;
    }
    return str_first(text, n);
}

/* ---- Single cells, styles ---- */

void canvas_put(struct canvas *canvas, int row, int column, enum style_role style,
                int32_t codepoint)
{
    if (canvas->ascii && codepoint > 126)
        codepoint = '?';
    set_cell(canvas, row, column, style, codepoint);
}

void canvas_style(struct canvas *canvas, int row, int column, int n, enum style_role style)
{
    for (int i = 0; i < n && column + i < canvas->clip_columns; i++) {
        struct cell *cell = cell_at(canvas, row, column + i);
        if (cell)
            cell->style = (uint8_t)style;
    }
}

void canvas_reverse(struct canvas *canvas, int row, int column, int n)
{
    for (int i = 0; i < n && column + i < canvas->clip_columns; i++) {
        struct cell *cell = cell_at(canvas, row, column + i);
        if (cell)
            cell->reverse = true;
    }
}

void canvas_fill(struct canvas *canvas, int row, int column, int n, enum style_role style,
                 int32_t codepoint)
{
    for (int i = 0; i < n && column + i < canvas->clip_columns; i++)
        canvas_put(canvas, row, column + i, style, codepoint);
}

/* ---- Frame ---- */

struct frame_glyphs {
    int32_t horizontal, vertical, top_left, top_right, bottom_left, bottom_right;
};

static const struct frame_glyphs plain = {0x2500, 0x2502, 0x250C, 0x2510, 0x2514, 0x2518};
static const struct frame_glyphs focus = {0x2550, 0x2551, 0x2554, 0x2557, 0x255A, 0x255D};
static const struct frame_glyphs ascii_plain = {'-', '|', '+', '+', '+', '+'};
/* The focus shows without colour too: '=' above and below. */
static const struct frame_glyphs ascii_focus = {'=', '|', '+', '+', '+', '+'};

void canvas_frame(struct canvas *canvas, const char *title, bool has_focus)
{
    const struct frame_glyphs *glyphs = canvas->ascii ? has_focus ? &ascii_focus : &ascii_plain
                                        : has_focus   ? &focus
                                                      : &plain;
    enum style_role style = has_focus ? STYLE_FRAME_FOCUS : STYLE_FRAME;
    int bottom = canvas->clip_rows - 1, right = canvas->clip_columns - 1;

    if (bottom < 1 || right < 1)
        return;
    canvas_fill(canvas, 0, 0, right + 1, style, glyphs->horizontal);
    canvas_fill(canvas, bottom, 0, right + 1, style, glyphs->horizontal);
    for (int row = 1; row < bottom; row++) {
        canvas_put(canvas, row, 0, style, glyphs->vertical);
        canvas_put(canvas, row, right, style, glyphs->vertical);
    }
    canvas_put(canvas, 0, 0, style, glyphs->top_left);
    canvas_put(canvas, 0, right, style, glyphs->top_right);
    canvas_put(canvas, bottom, 0, style, glyphs->bottom_left);
    canvas_put(canvas, bottom, right, style, glyphs->bottom_right);
    if (title && *title && right > 5) {
        struct str cut = canvas_cut(canvas, str_of(title), right - 4);
        canvas_put(canvas, 0, 2, style, ' ');
        int end = canvas_text(canvas, 0, 3, has_focus ? STYLE_STRONG : STYLE_TEXT, cut);
        canvas_put(canvas, 0, end, style, ' ');
    }
}

/* ---- Dump ---- */

static const struct cell *row_cells(const struct canvas *canvas, int row)
{
    return canvas->cells + (size_t)row * (size_t)canvas->columns;
}

static void dump_codepoint(struct buf *out, int32_t codepoint)
{
    char bytes[4];
    size_t n = unicode_put(bytes, codepoint);
    buf_add(out, bytes, n);
}

static void dump_row(const struct canvas *canvas, int row, struct buf *out)
{
    const struct cell *cells = row_cells(canvas, row);
    int end = canvas->columns;

    while (end > 0 && (cells[end - 1].base == 0 || cells[end - 1].base == ' '))
        end--;
    for (int i = 0; i < end; i++) {
        if (cells[i].base == RIGHT_HALF)
            continue;
        dump_codepoint(out, cells[i].base ? cells[i].base : ' ');
        for (int m = 0; m < 2; m++)
            if (cells[i].marks[m])
                dump_codepoint(out, cells[i].marks[m]);
    }
    buf_putc(out, '\n');
}

/* "|4+3 fail 9+1 reverse": column from 0, cells, role. Blank cells have no style to see. */
static void dump_styles(const struct canvas *canvas, int row, struct buf *out)
{
    const struct cell *cells = row_cells(canvas, row);
    const char *separator = "|";

    for (int i = 0, end; i < canvas->columns; i = end) {
        for (end = i + 1; end < canvas->columns && cells[end].style == cells[i].style &&
                          cells[end].reverse == cells[i].reverse;)
            end++;
        if (cells[i].style == STYLE_TEXT && !cells[i].reverse)
            continue;
        buf_printf(out, "%s%d+%d %s%s", separator, i, end - i,
                   style_name((enum style_role)cells[i].style),
                   cells[i].reverse ? " reverse" : "");
        separator = " ";
    }
    buf_puts(out, *separator == '|' ? "|\n" : "\n");
}

void canvas_dump(const struct canvas *canvas, bool with_styles, struct buf *out)
{
    for (int row = 0; row < canvas->rows; row++) {
        dump_row(canvas, row, out);
        if (with_styles)
            dump_styles(canvas, row, out);
    }
}
