/* A grid of cells in memory: what a screen shows, without a terminal.
 *
 * Views draw on a canvas; tui/ copies it out. All text goes through canvas_text, which makes
 * control characters, escapes, bidi controls and invalid bytes visible (STYLE_HOSTILE), measures
 * by wcwidth sums, and clips. In ASCII mode (canvas->ascii) characters above 127 become '?' and
 * frames and plots use ASCII forms. Nothing here fails: what does not fit is clipped. */
#ifndef VIEWS_CANVAS_H
#define VIEWS_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "views/style.h"

struct cell {
    int32_t base;               /* code point; 0: blank; -1: right half of a wide character */
    int32_t marks[2];           /* combining characters, 0: none */
    uint8_t style;              /* enum style_role */
    bool reverse;               /* the cursor bar over it */
};

struct canvas {
    int rows, columns;
    struct cell *cells;         /* rows * columns, row by row */
    bool ascii;
    int cursor_row, cursor_column;      /* where the terminal cursor stands; -1: hidden */
    int clip_top, clip_left, clip_rows, clip_columns;   /* drawing is clipped to this */
};

MUST_CHECK int canvas_open(struct canvas **out, int rows, int columns, bool ascii,
                           struct error *err);
void canvas_close(struct canvas *canvas);
void canvas_clear(struct canvas *canvas);

struct area {
    int top, left, rows, columns;
};

/* Later drawing is relative to the area and clipped to it; the whole canvas again with NULL. */
void canvas_clip(struct canvas *canvas, const struct area *area);
struct area canvas_area(const struct canvas *canvas);       /* rows and columns of the clip */

/* Draws at a row and column of the clip area; returns the column after the text. */
int canvas_text(struct canvas *canvas, int row, int column, enum style_role style,
                struct str text);
int canvas_puts(struct canvas *canvas, int row, int column, enum style_role style,
                const char *text);
int canvas_printf(struct canvas *canvas, int row, int column, enum style_role style,
                  const char *fmt, ...) PRINTF_LIKE(5, 6);
/* Right-aligned, ending before `end_column`. */
void canvas_right(struct canvas *canvas, int row, int end_column, enum style_role style,
                  const char *text);
/* One code point, one cell (plots and frames). */
void canvas_put(struct canvas *canvas, int row, int column, enum style_role style,
                int32_t codepoint);
void canvas_style(struct canvas *canvas, int row, int column, int n, enum style_role style);
void canvas_reverse(struct canvas *canvas, int row, int column, int n);
void canvas_fill(struct canvas *canvas, int row, int column, int n, enum style_role style,
                 int32_t codepoint);
/* A frame around the clip area with a title in its upper border. */
void canvas_frame(struct canvas *canvas, const char *title, bool has_focus);
/* Cells that a text would take. */
int canvas_width(const struct canvas *canvas, struct str text);
/* The longest prefix of at most n_cells, never cutting a character. */
struct str canvas_cut(const struct canvas *canvas, struct str text, int n_cells);

/* The canvas as text, one line a row, trailing blanks kept out; with_styles adds after each row a
 * line "|4+3 fail 9+1 cursor reverse" of the runs that are not plain text: column, cells, role.
 * For tests and screenshots. */
void canvas_dump(const struct canvas *canvas, bool with_styles, struct buf *out);

#endif
