/* Marks of the rail, gathered by cell. Private to plot*.c. */
#ifndef VIEWS_PLOT_RAIL_H
#define VIEWS_PLOT_RAIL_H

#include "views/plot.h"

enum rail_bit {
    RAIL_NAN = 1,
    RAIL_POS_INF = 2,
    RAIL_NEG_INF = 4,
    RAIL_END = 8,
    RAIL_RESUME = 16,
    RAIL_CLIPPED = 32,
    RAIL_ZERO = 64,
    RAIL_NEGATIVE = 128,
    RAIL_CHECKPOINT = 256,
    RAIL_COMMIT = 512
};

struct rail {
    uint16_t *cells;            /* enum rail_bit each */
    int n_cells, per_cell;      /* pixel columns a cell */
};

void rail_add(struct rail *rail, size_t column, enum rail_bit bits);
void rail_add_column(struct rail *rail, size_t column, const struct column *values, bool log_y);
void rail_add_mark(struct rail *rail, const struct reduce_axis *axis,
                   const struct plot_mark *mark);
void rail_show(const struct rail *rail, struct canvas *canvas, int row, int left);
void rail_show_losses(const struct rail *rail, struct canvas *canvas, int row, int left);

#endif
