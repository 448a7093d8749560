/* Lines of the labels pane: the row's text with what is trained in brackets, ids and labels under the
 * tokens, the row's source, histograms. See labels_parts.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/unicode.h"
#include "core/exports/labels_report.h"
#include "core/text/labels.h"
#include "views/labels_parts.h"

#define N_BUCKETS 12

/* ---- What the row is ---- */

uint32_t labels_main_fault(const struct audit *audit, int64_t row)
{
    uint32_t faults = audit->rows ? audit->rows[row].flags & labels_fault_mask(audit) : 0;

    return faults & (~faults + 1); /* the lowest bit: the flags stand in the order of their weight */
}

int64_t labels_count_fault(const struct audit *audit, uint32_t fault)
{
    uint32_t wanted = fault ? fault : labels_fault_mask(audit);
    int64_t n = 0;

    for (int64_t i = 0; audit->rows && i < audit->n_rows; i++)
        n += (audit->rows[i].flags & wanted) != 0;
    return n;
}

static void say_policy(struct textflow *flow, const struct audit *audit)
{
    if (audit->basis == AUDIT_RECORDED)
        flow_puts(flow, STYLE_DIM, "recorded labels");
    else
        flow_printf(flow, STYLE_DIM, "simulated: %s", audit->policy);
    if (audit->because)
        flow_printf(flow, STYLE_DIM, " (%s)", audit->because);
    flow_break(flow);
    if (audit->assumption) {
        flow_printf(flow, STYLE_WARN, "assumed: %s", audit->assumption);
        flow_break(flow);
    }
}

static void say_row(struct textflow *flow, const struct labels_state *state)
{
    const struct audit *audit = state->audit;
    const struct audit_row *row = audit->rows ? &audit->rows[state->row] : NULL;
    uint32_t fault = labels_main_fault(audit, state->row);

    flow_printf(flow, STYLE_STRONG, "row %" PRId64 " of %" PRId64, state->row, audit->n_rows);
    if (row && row->n_tokens >= 0)
        flow_printf(flow, row->n_trained > 0 ? STYLE_TEXT : STYLE_FAIL, "  trained %d of %d tokens",
                    row->n_trained < 0 ? 0 : row->n_trained, row->n_tokens);
    if (audit->max_length != NONE)
        flow_printf(flow, STYLE_DIM, "  limit %" PRId64, audit->max_length);
    if (fault) {
        struct buf text;

        buf_init(&text, 1024);
        labels_faults(&text, row->flags & labels_fault_mask(audit));
        flow_printf(flow, STYLE_FAIL, "  %s", text.p);
        buf_free(&text);
    }
    flow_break(flow);
    flow_puts(flow, STYLE_TRAINED, "[trained]");
    flow_puts(flow, STYLE_MASKED, " masked");
    flow_printf(flow, STYLE_DIM, "   n N row with %s fault (%" PRId64 ")   i ids   s source   H lengths",
                fault ? "the same" : "a", labels_count_fault(audit, fault));
    flow_break(flow);
    flow_break(flow);
}

/* ---- The text ---- */

static bool is_trained(const struct labelled_row *row, size_t i)
{
    return row->trained[i] && i >= row->first_kept && i < row->end_kept;
}

/* Line ends are shown and end the line; blanks become dots when asked. */
static void put_text(struct textflow *flow, enum style_role style, struct str text, bool shows_blanks)
{
    while (text.n) {
        const char *end = memchr(text.p, '\n', text.n);
        struct str line = str_first(text, end ? (size_t)(end - text.p) : text.n);

        text = str_skip(text, line.n + (end ? 1 : 0));
        while (shows_blanks && line.n) {
            size_t n = 0;

            while (n < line.n && line.p[n] != ' ')
                n++;
            flow_text(flow, style, str_first(line, n));
            line = str_skip(line, n);
            if (line.n) {
                flow_puts(flow, STYLE_DIM, flow->canvas && !flow->canvas->ascii ? "\xc2\xb7" : "_");
                line = str_skip(line, 1);
            }
        }
        flow_text(flow, style, line);
        if (end) {
            flow_puts(flow, STYLE_DIM, "\\n");
            flow_break(flow);
        }
    }
}

static enum style_role style_of(const struct labelled_row *row, size_t i)
{
    if (i < row->first_kept || i >= row->end_kept)
        return STYLE_REMOVED;
    return row->trained[i] ? STYLE_TRAINED : STYLE_MASKED;
}

static void say_text(struct textflow *flow, const struct labels_state *state)
{
    const struct labelled_row *row = state->labelled;
    size_t shown = 0;
    bool is_open = false;

    for (size_t i = 0; i < row->n; i++) {
        bool wants = is_trained(row, i);

        if (row->begin[i] > shown) {
            put_text(flow, STYLE_DIM, str_from(row->text.p + shown, row->begin[i] - shown),
                     state->shows_blanks);
            shown = row->begin[i];
        }
        if (is_open && !wants)
            flow_puts(flow, STYLE_TRAINED, "]");
        if (i == row->end_kept && i > 0) {
            flow_break(flow);
            flow_printf(flow, STYLE_FAIL, "---- cut here: %zu tokens are left out ----", row->n - i);
            flow_break(flow);
        }
        if (wants && !is_open)
            flow_puts(flow, STYLE_TRAINED, "[");
        is_open = wants;
        if (row->end[i] > shown) {
            put_text(flow, style_of(row, i), str_from(row->text.p + shown, row->end[i] - shown),
                     state->shows_blanks);
            shown = row->end[i];
        } else if (row->begin[i] == row->end[i]) {
            const struct tokenizer *tokenizer = audit_window_tokenizer(state->window);
            struct str text = tokenizer ? tokenizer_token(tokenizer, row->ids[i]) : str_from(NULL, 0);

            if (text.p)
                flow_text(flow, style_of(row, i), text);
            else
                flow_printf(flow, style_of(row, i), "<%" PRIu32 ">", row->ids[i]);
        }
    }
    if (is_open)
        flow_puts(flow, STYLE_TRAINED, "]");
    if (shown < row->text.n)
        put_text(flow, STYLE_DIM, str_skip(row->text, shown), state->shows_blanks);
    flow_break(flow);
}

/* ---- Ids and labels under the tokens ---- */

#define ID_CELLS 12

struct id_cell {
    char text[64], id[16], label[16];
    int width;
};

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
    buf_init(&visible, 4096);
    unicode_visible(&visible, unicode_cut(text, 48), false);
    text = canvas ? canvas_cut(canvas, buf_view(&visible), ID_CELLS)
                  : str_first(buf_view(&visible), ID_CELLS);
    snprintf(cell->text, sizeof cell->text, "%.*s", (int)text.n, text.p);
    snprintf(cell->id, sizeof cell->id, "%" PRIu32, row->ids[i]);
    if (is_trained(row, i))
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
            flow_puts(flow, style_of(state->labelled, first + i), arena_strdup(flow->arena, text));
        }
        flow_break(flow);
    }
    flow_break(flow);
}

static void say_ids(struct textflow *flow, const struct labels_state *state)
{
    struct id_cell cells[64];
    size_t n = 0, first = 0;
    int column = 6;

    for (size_t i = 0; i < state->labelled->n; i++) {
        struct id_cell cell;

        fill_cell(&cell, state, i, flow->canvas);
        if (n && (column + cell.width + 1 > flow->columns || n == sizeof cells / sizeof *cells)) {
            put_cells(flow, state, cells, first, n);
            first = i;
            n = 0;
            column = 6;
        }
        cells[n++] = cell;
        column += cell.width + 1;
    }
    if (n)
        put_cells(flow, state, cells, first, n);
}

/* ---- Histograms ---- */

static int32_t number_of(const struct audit_row *row, bool of_trained)
{
    return of_trained ? row->n_trained : row->n_tokens;
}

static void say_histogram(struct textflow *flow, const struct audit *audit, bool of_trained)
{
    int64_t counts[N_BUCKETS] = {0}, most = 1, high = 1, low = 0;
    int room = flow->columns - 30;

    for (int64_t i = 0; i < audit->n_rows; i++)
        if (number_of(&audit->rows[i], of_trained) > high)
            high = number_of(&audit->rows[i], of_trained);
    if (!of_trained && audit->max_length > high)
        high = audit->max_length;
    int64_t width = high / N_BUCKETS + 1;

    for (int64_t i = 0; i < audit->n_rows; i++) {
        int32_t number = number_of(&audit->rows[i], of_trained);

        if (number >= 0 && ++counts[number / width] > most)
            most = counts[number / width];
    }
    flow_puts(flow, STYLE_STRONG, of_trained ? "supervised tokens a row" : "tokens a row, before the cut");
    flow_break(flow);
    for (int i = 0; i < N_BUCKETS; i++, low += width) {
        bool has_limit = !of_trained && audit->max_length >= low && audit->max_length < low + width;
        int bar = room > 0 ? (int)(counts[i] * room / most) : 0;

        flow_printf(flow, STYLE_TEXT, "%7" PRId64 "-%-7" PRId64 "%8" PRId64 " ", low, low + width - 1,
                    counts[i]);
        for (int k = 0; k < bar || (k == 0 && counts[i]); k++)
            flow_puts(flow, STYLE_CURVE_A, "#");
        if (has_limit)
            flow_printf(flow, STYLE_FAIL, " <- limit %" PRId64, audit->max_length);
        flow_break(flow);
    }
    flow_break(flow);
}

/* ---- All of it ---- */

static void say_summary(struct textflow *flow, const struct audit *audit)
{
    struct buf text;

    buf_init(&text, 1 << 16);
    labels_summary(&text, audit);
    flow_text(flow, STYLE_TEXT, arena_str(flow->arena, buf_view(&text)));
    buf_free(&text);
    flow_break(flow);
}

void labels_write(struct labels_state *state, const struct view *view)
{
    struct textflow *flow = &state->scroll.flow;

    (void)view;
    if (!state->audit) {
        flow_puts(flow, STYLE_UNKNOWN, state->failure.message);
        flow_break(flow);
        return;
    }
    say_policy(flow, state->audit);
    if (state->mode == LABELS_HISTOGRAMS) {
        say_summary(flow, state->audit);
        if (state->audit->rows) {
            say_histogram(flow, state->audit, false);
            say_histogram(flow, state->audit, true);
        }
        return;
    }
    say_row(flow, state);
    flow->no_wrap = state->no_wrap;
    if (state->failure.status != OK) {
        flow_puts(flow, STYLE_FAIL, state->failure.message);
        flow_break(flow);
    } else if (state->mode == LABELS_SOURCE) {
        flow_text(flow, STYLE_TEXT, state->raw);
        flow_break(flow);
    } else if (state->labelled->refused) {
        flow_printf(flow, STYLE_FAIL, "the row cannot be rendered: %s", state->labelled->refused);
        flow_break(flow);
    } else {
        say_text(flow, state);
        if (state->shows_ids) {
            flow_break(flow);
            say_ids(flow, state);
        }
    }
}
