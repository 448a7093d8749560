/* The pieces of plot.c: dot grid, glyphs, scales and ticks. Private to plot*.c. */
#ifndef VIEWS_PLOT_PARTS_H
#define VIEWS_PLOT_PARTS_H

#include "views/plot.h"

/* ---- plot_glyphs.c: a grid of dots in layers, and what a cell of it looks like ---- */

enum layer_rank { RANK_BAND, RANK_TAIL, RANK_LINE };    /* the higher one wins a cell */

struct layer {
    enum layer_rank rank;
    enum style_role style;
    uint8_t *bits;              /* dots of each cell */
    int8_t *slope;              /* of each pixel column: 1 rising, -1 falling */
};

struct raster {
    enum line_style line;
    int cells_x, cells_y;
    int per_x, per_y;           /* dots a cell: 2x4, 2x2 or 1x2 */
    int width, height;          /* dots */
    struct layer layers[2 * PLOT_MAX_SERIES];
    size_t n_layers;
};

void raster_size(struct raster *raster, enum line_style line, int cells_x, int cells_y);
/* NULL when the arena is full. */
struct layer *raster_add_layer(struct raster *raster, struct arena *arena, enum layer_rank rank,
                               enum style_role style);
/* y counts from the bottom; dots outside the grid are left out. */
void raster_dot(const struct raster *raster, struct layer *layer, int x, int y);
void raster_bar(const struct raster *raster, struct layer *layer, int x, int low, int high);
void raster_line(const struct raster *raster, struct layer *layer, int x0, int y0, int x1, int y1);
/* Into the clip area at a place. */
void raster_show(const struct raster *raster, struct canvas *canvas, int top, int left);

/* ---- plot_axis.c: values to dots, ticks, labels ---- */

struct scale {
    double low, high;           /* low < high; both > 0 on a log scale */
    bool is_log;
};

/* Any double gives 0 … height-1; the caller leaves out what is not finite. */
int scale_dot(const struct scale *scale, double y, int height);

#define MAX_TICKS 24
struct ticks {
    double at[MAX_TICKS];
    char label[MAX_TICKS][16];
    size_t n;
};

/* 1-2-5 steps, at most `most` of them. */
void ticks_make(struct ticks *ticks, const struct scale *scale, size_t most);
int ticks_width(const struct ticks *ticks);

/* Where the parts of a plot stand in its area; -1: not there. */
struct plot_layout {
    int gutter;                 /* cells left of the curve, the axis among them */
    int rows, columns;          /* of the curve */
    int axis_row, rail_row, label_row;
};

void plot_draw_left(const struct plot *plot, const struct plot_layout *layout,
                    const struct scale *scale, const struct ticks *ticks, struct canvas *canvas);
void plot_draw_bottom(const struct plot *plot, const struct plot_layout *layout,
                      const struct reduce_axis *axis, struct canvas *canvas);

#endif
