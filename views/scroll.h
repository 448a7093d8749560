/* What all lists and texts do alike: the keys of moving, and a text that scrolls.
 *
 * MOTION_ACTIONS stands in a pane's table of actions behind the pane's own, which so come first
 * where both have a key. The codes do not meet those of the panes (from 0) or the frame's (1000). */
#ifndef VIEWS_SCROLL_H
#define VIEWS_SCROLL_H

#include "views/table.h"
#include "views/textflow.h"
#include "views/view.h"

enum motion {
    MOTION_FIRST = 900,
    MOTION_DOWN = MOTION_FIRST,
    MOTION_UP,
    MOTION_TOP,
    MOTION_BOTTOM,
    MOTION_HALF_DOWN,
    MOTION_HALF_UP,
    MOTION_PAGE_DOWN,
    MOTION_PAGE_UP
};

#define MOTION_ACTIONS                                                    \
    {MOTION_DOWN, "down", "j Down", "a line down"},                       \
    {MOTION_UP, "up", "k Up", "a line up"},                               \
    {MOTION_TOP, "top", "g Home", "the first line"},                      \
    {MOTION_BOTTOM, "bottom", "G End", "the last line"},                  \
    {MOTION_HALF_DOWN, "half-page-down", "C-d", "half a page down"},      \
    {MOTION_HALF_UP, "half-page-up", "C-u", "half a page up"},            \
    {MOTION_PAGE_DOWN, "page-down", "Space PgDn C-f", "a page down"},     \
    {MOTION_PAGE_UP, "page-up", "b PgUp C-b", "a page up"}

/* How many lines the motion goes on a page of so many rows; false: no motion. The ends are far
 * away: the caller clamps. */
bool motion_by(int action, int rows, ptrdiff_t *by);
/* A motion on a table whose pane has so many rows, header included. False: no motion. */
bool motion_table(struct table *table, int action, int rows);
/* "3 of 40" when not all is seen, else nothing. */
void table_position(const struct table *table, int rows, struct buf *out);

struct scroll {
    struct textflow flow;
    size_t top;
};

/* Between begin and end the text is added to scroll->flow; end keeps `top` inside. */
void scroll_begin(struct scroll *scroll, const struct view *view);
void scroll_end(struct scroll *scroll, const struct view *view);
void scroll_draw(const struct scroll *scroll, struct canvas *canvas);
bool scroll_act(struct scroll *scroll, int action, int rows);
/* A line comes into sight with some of what stands before it. */
void scroll_go(struct scroll *scroll, size_t line, int rows);
void scroll_position(const struct scroll *scroll, int rows, struct buf *out);

/* Members of struct view_ops for a pane whose state begins with a struct scroll … */
size_t scroll_view_lines(const struct view *view);
struct str scroll_view_line(const struct view *view, size_t i);
void scroll_view_go(struct view *view, size_t i);
size_t scroll_view_at(const struct view *view);
void scroll_view_position(const struct view *view, struct buf *out);
/* … or with a struct table. */
void table_view_go(struct view *view, size_t i);
size_t table_view_at(const struct view *view);
void table_view_position(const struct view *view, struct buf *out);

#endif
