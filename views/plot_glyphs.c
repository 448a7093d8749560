/* Dots to characters: braille (2x4 dots a cell), quadrant blocks (2x2) and ASCII (1x2). A cell has
 * one style: lines hide the tail and the raw band; two lines in one cell become the union of their
 * dots in the neutral style, so that neither run hides the other. */
#include <stdlib.h>

#include "views/plot_parts.h"

void raster_size(struct raster *raster, enum line_style line, int cells_x, int cells_y)
{
    int per_x = line == LINE_ASCII ? 1 : 2, per_y = line == LINE_BRAILLE ? 4 : 2;

    *raster = (struct raster){.line = line, .cells_x = cells_x, .cells_y = cells_y, .per_x = per_x,
                              .per_y = per_y, .width = cells_x * per_x,
                              .height = cells_y * per_y};
}

struct layer *raster_add_layer(struct raster *raster, struct arena *arena, enum layer_rank rank,
                               enum style_role style)
{
    size_t n_cells = (size_t)raster->cells_x * (size_t)raster->cells_y;
    uint8_t *bits = arena_array(arena, n_cells ? n_cells : 1, 1);
    int8_t *slope = arena_array(arena, (size_t)raster->width + 1, 1);

    if (!bits || !slope || raster->n_layers == 2 * PLOT_MAX_SERIES)
        return NULL;
    struct layer *layer = &raster->layers[raster->n_layers++];
    *layer = (struct layer){rank, style, bits, slope};
    return layer;
}

/* Bit of a dot inside its cell: numbered from the lower left, row by row. */
static unsigned bit_of(const struct raster *raster, int x, int y)
{
    return 1u << ((y % raster->per_y) * raster->per_x + x % raster->per_x);
}

void raster_dot(const struct raster *raster, struct layer *layer, int x, int y)
{
    if (x < 0 || y < 0 || x >= raster->width || y >= raster->height)
        return;
    int cell_row = raster->cells_y - 1 - y / raster->per_y, cell_column = x / raster->per_x;
    layer->bits[cell_row * raster->cells_x + cell_column] |= (uint8_t)bit_of(raster, x, y);
}

/* The band is drawn with every other dot, its ends always: lighter than the line also where there
 * is no colour, and no extreme is lost. */
static bool is_thinned(const struct raster *raster, const struct layer *layer, int x, int y)
{
    return layer->rank == RANK_BAND && raster->line != LINE_ASCII && (x + y) % 2;
}

void raster_bar(const struct raster *raster, struct layer *layer, int x, int low, int high)
{
    low = low < 0 ? 0 : low;
    high = high >= raster->height ? raster->height - 1 : high;
    for (int y = low; y <= high; y++)
        if (y == low || y == high || !is_thinned(raster, layer, x, y))
            raster_dot(raster, layer, x, y);
}

void raster_line(const struct raster *raster, struct layer *layer, int x0, int y0, int x1, int y1)
{
    int dx = abs(x1 - x0), dy = -abs(y1 - y0);
    int step_x = x0 < x1 ? 1 : -1, step_y = y0 < y1 ? 1 : -1;

    for (int x = x0 < 0 ? 0 : x0; y0 != y1 && x <= x1 && x < raster->width; x++)
        layer->slope[x] = (int8_t)((y1 > y0) - (y1 < y0));
    for (int off = dx + dy; x0 != x1 || y0 != y1;) {
        if (!is_thinned(raster, layer, x0, y0))
            raster_dot(raster, layer, x0, y0);
        int twice = 2 * off;
        if (twice >= dy)
            off += dy, x0 += step_x;
        if (twice <= dx)
            off += dx, y0 += step_y;
    }
    raster_dot(raster, layer, x1, y1);
}

/* ---- Glyphs ---- */

/* Our bit k is the dot at row k / 2 from the bottom, column k % 2; these are its Unicode bits. */
static int32_t braille(unsigned bits)
{
    static const uint8_t unicode_bit[8] = {0x40, 0x80, 0x04, 0x20, 0x02, 0x10, 0x01, 0x08};
    int32_t glyph = 0x2800;
    for (int k = 0; k < 8; k++)
        if (bits & 1u << k)
            glyph |= unicode_bit[k];
    return glyph;
}

/* Bits: 1 lower left, 2 lower right, 4 upper left, 8 upper right. */
static int32_t block(unsigned bits)
{
    static const uint16_t glyphs[16] = {' ',    0x2596, 0x2597, 0x2584, 0x2598, 0x258C,
                                        0x259A, 0x2599, 0x259D, 0x259E, 0x2590, 0x259F,
                                        0x2580, 0x259B, 0x259C, 0x2588};
    return glyphs[bits & 15];
}

static bool has_bits(const struct raster *raster, const struct layer *layer, int row, int column,
                     unsigned bits)
{
    return row >= 0 && row < raster->cells_y && column >= 0 && column < raster->cells_x &&
           (layer->bits[row * raster->cells_x + column] & bits);
}

/* Level strokes where the line goes on beside at the same height, else a dot; steep ones lean as
 * the line does, and stand where they run over several rows. */
static int32_t ascii(const struct raster *raster, const struct layer *layer, int row, int column,
                     unsigned bits)
{
    if (layer->rank == RANK_BAND)
        return bits == 3 ? ':' : bits == 1 ? '.' : '\'';
    if (bits == 3) {
        bool above = has_bits(raster, layer, row - 1, column, 1);
        bool below = has_bits(raster, layer, row + 1, column, 2);
        int slope = layer->slope[column];
        return (above && below) || slope == 0 ? '|' : slope > 0 ? '/' : '\\';
    }
    bool goes_on = has_bits(raster, layer, row, column - 1, bits) ||
                   has_bits(raster, layer, row, column + 1, bits);
    if (bits == 1)
        return goes_on ? '_' : '.';
    return goes_on ? '-' : '\'';
}

static void show_cell(const struct raster *raster, struct canvas *canvas, int row, int column,
                      struct area at)
{
    const struct layer *shown = NULL;
    unsigned bits = 0;
    enum style_role style = STYLE_TEXT;

    for (size_t i = 0; i < raster->n_layers; i++) {
        const struct layer *layer = &raster->layers[i];
        unsigned here = layer->bits[row * raster->cells_x + column];
        if (!here || (shown && layer->rank < shown->rank))
            continue;
        bool is_union = shown && shown->rank == layer->rank;
        style = is_union && style != layer->style ? STYLE_TEXT : layer->style;
        bits = is_union ? bits | here : here;
        shown = layer;
    }
    if (!shown)
        return;
    int32_t glyph = raster->line == LINE_BRAILLE ? braille(bits)
                    : raster->line == LINE_BLOCK ? block(bits)
                                                 : ascii(raster, shown, row, column, bits);
    canvas_put(canvas, at.top + row, at.left + column, style, glyph);
}

void raster_show(const struct raster *raster, struct canvas *canvas, int top, int left)
{
    struct area at = {.top = top, .left = left};
    for (int row = 0; row < raster->cells_y; row++)
        for (int column = 0; column < raster->cells_x; column++)
            show_cell(raster, canvas, row, column, at);
}
