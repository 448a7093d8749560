/* Wrapped text with style roles: build once for a width, draw from any line.
 *
 * Words wrap at blanks; a word longer than a line is cut where it must be. Texts are borrowed:
 * they have to live as long as the flow. Everything else lives in the arena; when that fails the
 * flow simply ends early. Widths are the canvas's (wcwidth sums, hostile text made visible). */
#ifndef VIEWS_TEXTFLOW_H
#define VIEWS_TEXTFLOW_H

#include "core/base/arena.h"
#include "views/canvas.h"

struct flow_run {               /* a stretch of one line in one style */
    int column;
    enum style_role style;
    struct str text;
};

struct flow_line {
    size_t first, n;            /* its runs */
    int tag;                    /* what flow_tag said last: the caller's own index, -1 none */
};

struct textflow {
    struct arena *arena;
    const struct canvas *canvas;        /* for widths only */
    int columns;                        /* to wrap at, >= 1 */
    int indent, hanging;                /* first line of a paragraph, the lines after it */
    bool no_wrap;                       /* one line a paragraph, clipped when drawn */
    struct flow_line *lines;
    size_t n_lines, n_lines_capacity;
    struct flow_run *runs;
    size_t n_runs, n_runs_capacity;
    int column;                         /* where the next word goes */
    int tag;
    bool is_open;                       /* the last line may still be added to */
};

void flow_begin(struct textflow *flow, struct arena *arena, const struct canvas *canvas,
                int columns);
/* Indents of the paragraphs to come: of the first line and of the wrapped ones. */
void flow_indent(struct textflow *flow, int first, int hanging);
/* Lines to come carry this index (a search target, an evidence number). */
void flow_tag(struct textflow *flow, int tag);
/* Adds to the current paragraph; '\n' ends it. */
void flow_text(struct textflow *flow, enum style_role style, struct str text);
void flow_puts(struct textflow *flow, enum style_role style, const char *text);
/* The text is made in the arena. */
void flow_printf(struct textflow *flow, enum style_role style, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Ends the paragraph; on an ended one it adds an empty line. */
void flow_break(struct textflow *flow);

/* Lines from `top` on into the clip area, moved `left` cells to the left (no_wrap). */
void flow_draw(const struct textflow *flow, struct canvas *canvas, size_t top, int left);
/* The text of a line without styles, in the arena. */
struct str flow_line_text(const struct textflow *flow, size_t line, struct arena *arena);
/* First line with the tag, or 0. */
size_t flow_find_tag(const struct textflow *flow, int tag);

#endif
