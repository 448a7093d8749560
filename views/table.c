/* Drawing and moving of a table; see table.h. Widths come from the first rows and from those that
 * are seen, so that a table of a million rows costs what a screen costs. */
#include "views/table.h"

#include <string.h>
#include <strings.h>

#define GAP            2                /* blanks between columns */
#define MEASURED_ROWS  500              /* rows from the start that decide the widths */

static struct str cell_text(const struct table *table, size_t row, size_t column,
                            enum style_role *style)
{
    *style = STYLE_TEXT;
    return table->cell(table->context, row, column, style);
}

static void measure(const struct table *table, const struct canvas *canvas, size_t row,
                    int *widths)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        enum style_role style;
        int width = canvas_width(canvas, cell_text(table, row, i, &style));
        int most = table->columns[i].max_cells;
        if (most > 0 && width > most)
            width = most;
        if (width > widths[i])
            widths[i] = width;
    }
}

static void widths_of(const struct table *table, const struct canvas *canvas, size_t top,
                      int rows, int *widths)
{
    for (size_t i = 0; i < table->n_columns; i++)
        widths[i] = canvas_width(canvas, str_of(table->columns[i].title)) +
                    (table->sorted_by == (ptrdiff_t)i ? 1 : 0);
    for (size_t row = 0; row < table->n_rows && row < MEASURED_ROWS; row++)
        measure(table, canvas, row, widths);
    for (size_t row = top; row < table->n_rows && row < top + (size_t)(rows > 0 ? rows : 0); row++)
        measure(table, canvas, row, widths);
}

/* The first row shown: `top`, moved as far as the selected row needs. */
static size_t first_shown(const struct table *table, int rows)
{
    size_t height = rows > 1 ? (size_t)rows : 1, top = table->top;
    if (table->n_rows <= height)
        return 0;
    if (top > table->n_rows - height)
        top = table->n_rows - height;
    if (table->selected < top)
        return table->selected;
    if (table->selected >= top + height)
        return table->selected - height + 1;
    return top;
}

static void mark_match(const struct table *table, struct canvas *canvas, int row, int column,
                       struct str text)
{
    if (!table->match || !*table->match)
        return;
    ptrdiff_t at = -1;
    for (size_t i = 0; at < 0 && i + strlen(table->match) <= text.n; i++)
        if (strncasecmp(text.p + i, table->match, strlen(table->match)) == 0)
            at = (ptrdiff_t)i;
    if (at < 0)
        return;
    canvas_style(canvas, row, column + canvas_width(canvas, str_first(text, (size_t)at)),
                 canvas_width(canvas, str_first(str_skip(text, (size_t)at),
                                                strlen(table->match))),
                 STYLE_MATCH);
}

static void draw_row(const struct table *table, struct canvas *canvas, int row, size_t index,
                     const int *widths)
{
    int column = -table->left;
    for (size_t i = 0; i < table->n_columns; i++) {
        enum style_role style;
        struct str text = canvas_cut(canvas, cell_text(table, index, i, &style), widths[i]);
        int at = column;
        if (table->columns[i].is_right)
            at += widths[i] - canvas_width(canvas, text);
        canvas_text(canvas, row, at, style, text);
        mark_match(table, canvas, row, at, text);
        column += widths[i] + GAP;
    }
}

static void draw_header(const struct table *table, struct canvas *canvas, const int *widths)
{
    int column = -table->left;
    for (size_t i = 0; i < table->n_columns; i++) {
        const char *title = table->columns[i].title;
        int title_width = canvas_width(canvas, str_of(title));
        int at = table->columns[i].is_right ? column + widths[i] - title_width : column;
        int end = canvas_puts(canvas, 0, at, STYLE_STRONG, title);
        if (table->sorted_by == (ptrdiff_t)i)
            canvas_put(canvas, 0, table->columns[i].is_right ? at - 1 : end, STYLE_STRONG,
                       table->is_falling ? 'v' : '^');
        column += widths[i] + GAP;
    }
}

void table_draw(const struct table *table, struct canvas *canvas, bool has_focus)
{
    struct area area = canvas_area(canvas);
    int widths[TABLE_MAX_COLUMNS] = {0};
    int rows = area.rows - 1;
    size_t top = first_shown(table, rows);

    widths_of(table, canvas, top, rows, widths);
    draw_header(table, canvas, widths);
    for (int row = 0; row < rows && top + (size_t)row < table->n_rows; row++) {
        size_t index = top + (size_t)row;
        draw_row(table, canvas, row + 1, index, widths);
        if (index != table->selected)
            continue;
        if (has_focus)
            canvas_reverse(canvas, row + 1, 0, area.columns);
        else
            canvas_style(canvas, row + 1, 0, area.columns, STYLE_CURSOR);
    }
}

void table_go(struct table *table, size_t row, int rows)
{
    if (table->n_rows == 0)
        row = 0;
    else if (row >= table->n_rows)
        row = table->n_rows - 1;
    table->selected = row;
    table->top = first_shown(table, rows - 1);
}

void table_move(struct table *table, ptrdiff_t by, int rows)
{
    ptrdiff_t wanted = (ptrdiff_t)table->selected + by;
    table_go(table, wanted < 0 ? 0 : (size_t)wanted, rows);
}

void table_scroll(struct table *table, int by)
{
    table->left += by;
    if (table->left < 0)
        table->left = 0;
}
