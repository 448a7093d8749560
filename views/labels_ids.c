/* Token ids and labels in columns under the tokens' texts. See labels_parts.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/unicode.h"
#include "core/text/labels.h"
#include "views/blanks.h"
#include "views/labels_parts.h"

#define ID_CELLS    12              /* of a token at most */
#define LABEL_CELLS 6               /* the word before a line */

struct id_cell {
    char text[128], id[16], label[16];
    size_t n;
    bool ascii;
    int width;
};

/* Blanks are shown: they belong to the token. */
static void copy_text(struct id_cell *cell, struct str text)
{
    for (size_t i = 0; i < text.n && cell->n + 3 < sizeof cell->text; i++) {
        const char *sign = text.p[i] == ' ' ? blanks_dot(NULL) : NULL;

        if (sign && !cell->ascii)
            cell->n += (size_t)snprintf(cell->text + cell->n, sizeof cell->text - cell->n, "%s", sign);
        else
            cell->text[cell->n++] = sign ? '_' : text.p[i];
    }
    cell->text[cell->n] = '\0';
}

static void fill_cell(struct id_cell *cell, const struct labels_state *state, size_t i,
                      const struct canvas *canvas)
{
    const struct labelled_row *row = state->labelled;
    const struct tokenizer *tokenizer = audit_window_tokenizer(state->window);
    struct str text = str_from(row->text.p + row->begin[i], row->end[i] - row->begin[i]);
    struct buf visible;
    int width;

    if (!text.n && tokenizer)
        text = tokenizer_token(tokenizer, row->ids[i]);
    cell->n = 0;
    cell->ascii = canvas && canvas->ascii;
    buf_init(&visible, 4096);
    unicode_visible(&visible, unicode_cut(text, 48), false);
    text = canvas ? canvas_cut(canvas, buf_view(&visible), ID_CELLS)
                  : str_first(buf_view(&visible), ID_CELLS);
    copy_text(cell, text);
    snprintf(cell->id, sizeof cell->id, "%" PRIu32, row->ids[i]);
    if (labels_is_trained(row, i))
        snprintf(cell->label, sizeof cell->label, "%" PRIu32,
                 row->label_id ? row->label_id[i] : row->ids[i]);
    else
        snprintf(cell->label, sizeof cell->label, "-100");
    width = canvas ? canvas_width(canvas, text) : (int)text.n;
    if (width < (int)strlen(cell->id))
        width = (int)strlen(cell->id);
    cell->width = width < (int)strlen(cell->label) ? (int)strlen(cell->label) : width;
    buf_free(&visible);
}

static void put_cells(struct textflow *flow, const struct labels_state *state, const struct id_cell *cells,
                      size_t first, size_t n)
{
    static const char *const names[] = {"text  ", "id    ", "label "};

    for (int line = 0; line < 3; line++) {
        flow_puts(flow, STYLE_DIM, names[line]);
        for (size_t i = 0; i < n; i++) {
            const char *text = line == 0 ? cells[i].text : line == 1 ? cells[i].id : cells[i].label;
            int width = flow->canvas ? canvas_width(flow->canvas, str_of(text)) : (int)strlen(text);

            flow_printf(flow, STYLE_TEXT, "%*s", cells[i].width - width + 1, "");
            flow_puts(flow, labels_style(state->labelled, first + i), arena_strdup(flow->arena, text));
        }
        flow_break(flow);
    }
    flow_break(flow);
}

void labels_write_ids(struct textflow *flow, const struct labels_state *state)
{
    size_t first = state->part * LABELS_PART_TOKENS, end = first + LABELS_PART_TOKENS, n = 0;
    struct id_cell cells[64];
    int column = LABEL_CELLS;

    if (end > state->labelled->n)
        end = state->labelled->n;
    for (size_t i = first; i < end; i++) {
        struct id_cell cell;

        fill_cell(&cell, state, i, flow->canvas);
        if (n && (column + cell.width + 1 > flow->columns || n == sizeof cells / sizeof *cells)) {
            put_cells(flow, state, cells, first, n);
            first = i;
            n = 0;
            column = LABEL_CELLS;
        }
        cells[n++] = cell;
        column += cell.width + 1;
    }
    if (n)
        put_cells(flow, state, cells, first, n);
}
