/* The rail under the axis: one mark a cell for all that a curve cannot show. */
#include <math.h>

#include "views/plot_rail.h"

/* In order of seriousness: the first of them that a cell has is shown. */
static const struct {
    enum rail_bit bit;
    char glyph;
    enum style_role style;
} marks[] = {
    {RAIL_NAN, 'N', STYLE_RAIL_BAD},  {RAIL_POS_INF, '^', STYLE_RAIL_BAD},
    {RAIL_NEG_INF, 'v', STYLE_RAIL_BAD}, {RAIL_END, 'X', STYLE_RAIL_BAD},
    {RAIL_COMMIT, 'G', STYLE_RAIL},   {RAIL_RESUME, 'R', STYLE_RAIL},   {RAIL_CLIPPED, '!', STYLE_RAIL},
    {RAIL_ZERO, '0', STYLE_RAIL},     {RAIL_NEGATIVE, '-', STYLE_RAIL},
    {RAIL_CHECKPOINT, 'C', STYLE_RAIL},
};
#define N_MARKS (sizeof marks / sizeof *marks)

void rail_add_column(struct rail *rail, size_t column, const struct column *values, bool log_y)
{
    unsigned bits = 0;
    if (values->n_nan)
        bits |= RAIL_NAN;
    if (values->n_pos_inf)
        bits |= RAIL_POS_INF;
    if (values->n_neg_inf)
        bits |= RAIL_NEG_INF;
    if (log_y && values->n_zero)
        bits |= RAIL_ZERO;
    if (log_y && values->n_not_positive > values->n_zero)
        bits |= RAIL_NEGATIVE;
    rail_add(rail, column, (enum rail_bit)bits);
}

void rail_add(struct rail *rail, size_t column, enum rail_bit bits)
{
    size_t cell = column / (size_t)rail->per_cell;
    if (cell < (size_t)rail->n_cells)
        rail->cells[cell] |= (uint16_t)bits;
}

void rail_add_mark(struct rail *rail, const struct reduce_axis *axis,
                   const struct plot_mark *mark)
{
    ptrdiff_t column = axis_column(axis, mark->x);
    if (column < 0 || column >= (ptrdiff_t)axis->n_columns)
        return;
    switch (mark->kind) {
    case PLOT_MARK_CHECKPOINT:
        rail_add(rail, (size_t)column, RAIL_CHECKPOINT);
        break;
    case PLOT_MARK_RESUME:
        rail_add(rail, (size_t)column, RAIL_RESUME);
        break;
    case PLOT_MARK_END:
        rail_add(rail, (size_t)column, RAIL_END);
        break;
    case PLOT_MARK_COMMIT:
        rail_add(rail, (size_t)column, RAIL_COMMIT);
        break;
    case PLOT_MARK_EVAL:                /* drawn on the curve, not here */
        break;
    }
}

static void show_cell(unsigned bits, struct canvas *canvas, int row, int column)
{
    size_t winner = N_MARKS, n_kinds = 0;
    for (size_t i = 0; i < N_MARKS; i++)
        if (bits & (unsigned)marks[i].bit) {
            winner = n_kinds == 0 ? i : winner;
            n_kinds++;
        }
    if (n_kinds == 0)
        return;
    bool never_hidden = bits & (RAIL_NAN | RAIL_POS_INF | RAIL_NEG_INF);
    canvas_put(canvas, row, column, marks[winner].style,
               n_kinds > 1 && !never_hidden ? '+' : marks[winner].glyph);
}

void rail_show(const struct rail *rail, struct canvas *canvas, int row, int left)
{
    for (int i = 0; i < rail->n_cells; i++)
        show_cell(rail->cells[i], canvas, row, left + i);
}

/* Without a rail of its own (a strip) only what would be lost is marked. */
void rail_show_losses(const struct rail *rail, struct canvas *canvas, int row, int left)
{
    const unsigned losses = RAIL_NAN | RAIL_POS_INF | RAIL_NEG_INF;
    for (int i = 0; i < rail->n_cells; i++)
        show_cell(rail->cells[i] & losses, canvas, row, left + i);
}
