/* Moving through lists and texts. See scroll.h. */
#include "views/scroll.h"

#define FAR_AWAY ((ptrdiff_t)1 << 40)

bool motion_by(int action, int rows, ptrdiff_t *by)
{
    ptrdiff_t page = rows > 2 ? rows - 1 : 1, half = rows > 3 ? rows / 2 : 1;
    const ptrdiff_t moves[] = {1, -1, -FAR_AWAY, FAR_AWAY, half, -half, page, -page};

    if (action < MOTION_FIRST || action > MOTION_PAGE_UP)
        return false;
    *by = moves[action - MOTION_FIRST];
    return true;
}

bool motion_table(struct table *table, int action, int rows)
{
    ptrdiff_t by;

    if (!motion_by(action, rows > 1 ? rows - 1 : 1, &by))
        return false;
    table_move(table, by, rows > 1 ? rows : 2);
    return true;
}

void table_position(const struct table *table, int rows, struct buf *out)
{
    if (table->n_rows > (size_t)(rows > 1 ? rows - 1 : 1))
        buf_printf(out, "%zu of %zu", table->selected + 1, table->n_rows);
}

void scroll_begin(struct scroll *scroll, const struct view *view)
{
    flow_begin(&scroll->flow, view->arena, view->canvas, view->columns > 1 ? view->columns : 1);
}

static void move_to(struct scroll *scroll, ptrdiff_t to, int rows)
{
    ptrdiff_t last = (ptrdiff_t)scroll->flow.n_lines - rows;

    if (to > last)
        to = last;
    scroll->top = to > 0 ? (size_t)to : 0;
}

void scroll_end(struct scroll *scroll, const struct view *view)
{
    flow_break(&scroll->flow);
    move_to(scroll, (ptrdiff_t)scroll->top, view->rows);
}

void scroll_draw(const struct scroll *scroll, struct canvas *canvas)
{
    flow_draw(&scroll->flow, canvas, scroll->top, 0);
}

bool scroll_act(struct scroll *scroll, int action, int rows)
{
    ptrdiff_t by;

    if (!motion_by(action, rows, &by))
        return false;
    move_to(scroll, (ptrdiff_t)scroll->top + by, rows);
    return true;
}

void scroll_go(struct scroll *scroll, size_t line, int rows)
{
    move_to(scroll, (ptrdiff_t)line - rows / 3, rows);
}

void scroll_position(const struct scroll *scroll, int rows, struct buf *out)
{
    size_t n = scroll->flow.n_lines, end = scroll->top + (size_t)(rows > 0 ? rows : 0);

    if (n > (size_t)(rows > 0 ? rows : 0))
        buf_printf(out, "%zu-%zu of %zu", scroll->top + 1, end < n ? end : n, n);
}

/* ---- Members of view_ops -------------------------------------------------------------------- */

static const struct scroll *scroll_of(const struct view *view)
{
    return view->state;
}

size_t scroll_view_lines(const struct view *view)
{
    return scroll_of(view)->flow.n_lines;
}

struct str scroll_view_line(const struct view *view, size_t i)
{
    return flow_line_text(&scroll_of(view)->flow, i, view->arena);
}

void scroll_view_go(struct view *view, size_t i)
{
    scroll_go(view->state, i, view->rows);
}

size_t scroll_view_at(const struct view *view)
{
    return scroll_of(view)->top;
}

void scroll_view_position(const struct view *view, struct buf *out)
{
    scroll_position(scroll_of(view), view->rows, out);
}

void table_view_go(struct view *view, size_t i)
{
    table_go(view->state, i, view->rows > 1 ? view->rows : 2);
}

size_t table_view_at(const struct view *view)
{
    return ((const struct table *)view->state)->selected;
}

void table_view_position(const struct view *view, struct buf *out)
{
    table_position(view->state, view->rows, out);
}
