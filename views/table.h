/* A scrolling table: columns as wide as their content, one selected row, sideways scroll.
 *
 * The table asks for its cells; it holds no data. Drawing changes nothing: what is at the top
 * follows from `top` and `selected`, so that the selected row is always seen. */
#ifndef VIEWS_TABLE_H
#define VIEWS_TABLE_H

#include "views/canvas.h"

#define TABLE_MAX_COLUMNS 16

struct table_column {
    const char *title;
    bool is_right;              /* numbers: aligned to the right */
    int max_cells;              /* 0: as wide as the content */
};

struct table {
    const struct table_column *columns;
    size_t n_columns;           /* <= TABLE_MAX_COLUMNS */
    size_t n_rows;
    /* Text of a cell (borrowed until the next call); *style is STYLE_TEXT at first. */
    struct str (*cell)(const void *context, size_t row, size_t column, enum style_role *style);
    const void *context;
    size_t selected, top;
    int left;                   /* cells scrolled sideways */
    const char *match;          /* running search, marked in the rows; NULL or "" none */
    ptrdiff_t sorted_by;        /* column that is marked as sorted, -1 none */
    bool is_falling;            /* sorted from great to small */
};

/* A header row, then rows, in the clip area. */
void table_draw(const struct table *table, struct canvas *canvas, bool has_focus);
/* Moves the selection and keeps it in view; `rows` is the height that was drawn. */
void table_move(struct table *table, ptrdiff_t by, int rows);
void table_go(struct table *table, size_t row, int rows);
/* Sideways by so many cells; never left of the first. */
void table_scroll(struct table *table, int by);

#endif
