/* Lines of the labels pane: what is wrong with the row, then its text with what is trained in brackets,
 * whose turn it is and a bar beside trained lines. See labels_parts.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/unicode.h"
#include "core/exports/labels_report.h"
#include "core/text/labels.h"
#include "views/blanks.h"
#include "views/labels_parts.h"

#define FEW_ROWS   14           /* a pane with fewer has no room for keys and reasons */
#define ROLE_CELLS 5
#define BAR_CELLS  2
#define BAR        0x2503

/* ---- What the row is ---- */

uint32_t labels_main_fault(const struct audit *audit, int64_t row)
{
    uint32_t faults = audit->rows ? audit->rows[row].flags & labels_fault_mask() : 0;

    return faults & (~faults + 1); /* the lowest bit: the flags stand in the order of their weight */
}

/* How many rows have it; with 0: any fault. */
static int64_t labels_count_fault(const struct audit *audit, uint32_t fault)
{
    uint32_t wanted = fault ? fault : labels_fault_mask();
    int64_t n = 0;

    for (int64_t i = 0; audit->rows && i < audit->n_rows; i++)
        n += (audit->rows[i].flags & wanted) != 0;
    return n;
}

size_t labels_count_parts(const struct labels_state *state)
{
    size_t n = state->labelled && state->mode == LABELS_TEXT ? state->labelled->n : 0;

    return n ? (n + LABELS_PART_TOKENS - 1) / LABELS_PART_TOKENS : 1;
}

static const char *opening(const struct textflow *flow)
{
    return flow->canvas && flow->canvas->ascii ? "[[" : "\xe2\x9f\xa6";
}

static const char *closing(const struct textflow *flow)
{
    return flow->canvas && flow->canvas->ascii ? "]]" : "\xe2\x9f\xa7";
}

static void say_fault(struct textflow *flow, const struct labels_state *state)
{
    const struct audit *audit = state->audit;
    uint32_t flags = audit->rows[state->row].flags, fault = labels_main_fault(audit, state->row);
    int32_t prompt = flags & AUDIT_HAS_SIDES ? audit->rows[state->row].n_trained_prompt : 0;
    int64_t n = labels_count_fault(audit, fault);
    struct buf text;

    buf_init(&text, 1024);
    labels_faults(&text, flags & labels_fault_mask());
    if (fault)
        flow_printf(flow, STYLE_FAIL, "%s", text.p);
    else if (prompt > 0)
        flow_printf(flow, STYLE_WARN, "%" PRId32 " of %" PRId32 " supervised tokens are of the prompt",
                    prompt, audit->rows[state->row].n_trained);
    else
        flow_puts(flow, STYLE_PASS, "no fault in this row");
    buf_clear(&text);
    if (audit->max_length != NONE)
        buf_printf(&text, "  limit %" PRId64, audit->max_length);
    if (n)
        buf_printf(&text, "  (n: %" PRId64 " %s)", n, fault ? "such rows" : "rows with a fault");
    flow_text(flow, STYLE_DIM, arena_str(flow->arena, buf_view(&text)));
    buf_free(&text);
    flow_break(flow);
}

/* One line where the pane is small: how the rest can be seen is in the counts (H). */
static void say_policy(struct textflow *flow, const struct audit *audit, bool is_small)
{
    flow->no_wrap = is_small;
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
    flow->no_wrap = false;
}

static void say_keys(struct textflow *flow)
{
    flow->no_wrap = true;
    flow_printf(flow, STYLE_TRAINED, "%strained%s", opening(flow), closing(flow));
    flow_puts(flow, STYLE_MASKED, " masked");
    flow_puts(flow, STYLE_DIM, "   , . row  n N fault  c change  i ids  s source  H counts");
    flow_break(flow);
    flow_break(flow);
    flow->no_wrap = false;
}

static void make_heading(struct labels_state *state)
{
    const struct audit *audit = state->audit;
    const struct audit_row *row = &audit->rows[state->row];
    int n = snprintf(state->heading, sizeof state->heading, "row %" PRId64 " of %" PRId64, state->row,
                     audit->n_rows);

    if (n < 0 || (size_t)n >= sizeof state->heading || row->n_tokens < 0)
        return;
    if (row->n_trained < 0)
        snprintf(state->heading + n, sizeof state->heading - (size_t)n, "  %d tokens", row->n_tokens);
    else
        snprintf(state->heading + n, sizeof state->heading - (size_t)n, "  trained %d of %d tokens",
                 row->n_trained, row->n_tokens);
}

/* ---- The text ---- */

bool labels_is_trained(const struct labelled_row *row, size_t i)
{
    return row->trained[i] && i >= row->first_kept && i < row->end_kept;
}

enum style_role labels_style(const struct labelled_row *row, size_t i)
{
    if (i < row->first_kept || i >= row->end_kept)
        return STYLE_REMOVED;
    return row->trained[i] ? STYLE_TRAINED : STYLE_MASKED;
}

/* Text goes out in stretches of one style: the tokens of one character are not to be shown apart. */
struct writer {
    struct textflow *flow;
    const struct labels_state *state;
    struct str text;
    size_t from, to;            /* taken, not yet put */
    enum style_role style;
    size_t n_put, n_left_out;   /* bytes of this part */
    bool is_open;               /* a bracket */
};

/* Line ends are shown and end the line. */
static void put_text(struct writer *w, struct str text)
{
    while (text.n) {
        const char *end = memchr(text.p, '\n', text.n);
        struct str line = str_first(text, end ? (size_t)(end - text.p) : text.n);

        blanks_text(w->flow, w->style, line, w->state->shows_blanks, end != NULL);
        text = str_skip(text, line.n + (end ? 1 : 0));
        if (end) {
            flow_puts(w->flow, w->style, "\\n");
            flow_break(w->flow);
        }
    }
}

static void flush(struct writer *w)
{
    struct str text = str_from(w->text.p + w->from, w->to - w->from);

    w->from = w->to;
    if (w->n_put + text.n > LABELS_PART_BYTES) {
        struct str shown = unicode_cut(text, LABELS_PART_BYTES - w->n_put);

        w->n_left_out += text.n - shown.n;
        text = shown;
    }
    w->n_put += text.n;
    put_text(w, text);
}

static void take(struct writer *w, enum style_role style, size_t end)
{
    if (style != w->style)
        flush(w);
    w->style = style;
    w->to = end;
    for (int i = 0; i < 3 && w->to < w->text.n && ((unsigned char)w->text.p[w->to] & 0xC0) == 0x80; i++)
        w->to++;
}

static void bracket(struct writer *w, bool opens)
{
    if (opens == w->is_open)
        return;
    flush(w);
    /* Behind a line end the closing one stands in the line that ended. */
    bool is_behind = !opens && !w->flow->is_open && w->flow->n_lines;
    w->flow->is_open |= is_behind;
    flow_puts(w->flow, STYLE_TRAINED, opens ? opening(w->flow) : closing(w->flow));
    if (is_behind)
        flow_break(w->flow);
    w->is_open = opens;
}

/* A line of its own about what the limit took. */
static void say_cut(struct writer *w, size_t n, const char *where)
{
    bracket(w, false);
    flush(w);
    if (w->flow->is_open)
        flow_break(w->flow);
    flow_printf(w->flow, STYLE_FAIL, "---- cut here: the %zu tokens %s are left out ----", n, where);
    flow_break(w->flow);
}

/* A token that stands in no text (BOS that the tokenizer adds): as the vocabulary spells it. */
static void put_name(struct writer *w, size_t i)
{
    const struct labelled_row *row = w->state->labelled;
    const struct tokenizer *tokenizer = audit_window_tokenizer(w->state->window);
    struct str name = tokenizer ? tokenizer_token(tokenizer, row->ids[i]) : str_from(NULL, 0);

    flush(w);
    w->n_put += name.n ? name.n : 8;
    if (name.p && w->n_put < LABELS_PART_BYTES)
        flow_text(w->flow, labels_style(row, i), name);
    else if (w->n_put < LABELS_PART_BYTES)
        flow_printf(w->flow, labels_style(row, i), "<%" PRIu32 ">", row->ids[i]);
}

static bool is_role(int side)
{
    return side == SIDE_OF_SYSTEM || side == SIDE_OF_USER || side == SIDE_OF_ASSISTANT ||
           side == SIDE_OF_TOOL;
}

/* A turn begins: in a line of its own, so that its name can stand beside it. */
static void turn(struct writer *w, size_t i)
{
    int side = w->state->labelled->has_sides ? w->state->labelled->side[i] : SIDE_OF_NOBODY;

    if (side == w->flow->tag)
        return;
    flush(w);
    if (is_role(side) && w->flow->is_open) {
        bracket(w, false);
        flow_break(w->flow);
    }
    flow_tag(w->flow, side);
}

static void token(struct writer *w, size_t i)
{
    const struct labelled_row *row = w->state->labelled;

    if (row->begin[i] > w->to && row->end[i] > row->begin[i])
        take(w, STYLE_DIM, row->begin[i]);
    if (i == row->first_kept && i > 0)
        say_cut(w, i, "before");
    if (i == row->end_kept && i > 0)
        say_cut(w, row->n - i, "that follow");
    turn(w, i);
    bracket(w, labels_is_trained(row, i));
    if (row->end[i] > w->to)
        take(w, labels_style(row, i), row->end[i]);
    else if (row->begin[i] == row->end[i])
        put_name(w, i);
}

/* Where the text of a part begins: behind the tokens before it. */
static size_t text_before(const struct labelled_row *row, size_t first)
{
    while (first && row->end[first - 1] <= row->begin[first - 1])
        first--;
    return first ? row->end[first - 1] : 0;
}

static void say_part(const struct writer *w, size_t n_parts)
{
    if (w->n_left_out) {
        flow_break(w->flow);
        flow_printf(w->flow, STYLE_WARN, "---- %zu bytes of this part are not shown ----", w->n_left_out);
    }
    if (n_parts > 1) {
        flow_break(w->flow);
        flow_printf(w->flow, STYLE_STRONG, "---- part %zu of %zu, %zu tokens each ----", w->state->part + 1,
                    n_parts, LABELS_PART_TOKENS);
    }
    flow_break(w->flow);
}

static void say_text(struct textflow *flow, struct labels_state *state)
{
    const struct labelled_row *row = state->labelled;
    size_t n_parts = labels_count_parts(state);
    struct writer w = {.flow = flow, .state = state, .text = row->text, .style = STYLE_DIM};

    if (state->part >= n_parts)
        state->part = n_parts - 1;
    size_t first = state->part * LABELS_PART_TOKENS, end = first + LABELS_PART_TOKENS;

    end = end < row->n ? end : row->n;
    flow_tag(flow, SIDE_OF_NOBODY);
    w.from = w.to = text_before(row, first);
    take(&w, STYLE_DIM, w.to);
    w.from = w.to;
    for (size_t i = first; i < end; i++)
        token(&w, i);
    bracket(&w, false);
    if (end == row->n)
        take(&w, STYLE_DIM, row->text.n);
    flush(&w);
    say_part(&w, n_parts);
    flow_tag(flow, -1);
}

/* ---- All of it ---- */

static void say_labels(struct textflow *flow, struct labels_state *state)
{
    bool has_roles = state->labelled->has_sides && flow->columns >= 40;

    state->gutter = (has_roles ? ROLE_CELLS : 0) + BAR_CELLS;
    flow_indent(flow, state->gutter, state->gutter);
    state->first_text = flow->n_lines;
    flow->no_wrap = state->no_wrap;
    say_text(flow, state);
    flow->no_wrap = false;
    state->end_text = flow->n_lines;
    flow_indent(flow, 0, 0);
    if (state->shows_ids) {
        flow_break(flow);
        labels_write_ids(flow, state);
    }
}

static void say_not_yet(struct textflow *flow, const struct labels_state *state)
{
    int32_t n = state->audit->rows[state->row].n_tokens;

    if (state->was_announced)
        flow_printf(flow, STYLE_DIM, "reading row %" PRId64 " ...", state->row);
    else
        flow_printf(flow, STYLE_STRONG, "a row of %d tokens: Enter reads it, which may take some seconds", n);
    flow_break(flow);
}

static void say_row(struct textflow *flow, struct labels_state *state)
{
    if (state->failure.status != OK) {
        flow_puts(flow, STYLE_FAIL, state->failure.message);
    } else if (!state->labelled) {
        say_not_yet(flow, state);
    } else if (state->mode == LABELS_SOURCE) {
        flow->no_wrap = state->no_wrap;
        state->first_text = flow->n_lines;
        flow_text(flow, STYLE_TEXT, state->raw);
        flow_break(flow);
        state->end_text = flow->n_lines;
        flow->no_wrap = false;
    } else if (state->labelled->refused) {
        flow_printf(flow, STYLE_FAIL, "the row cannot be rendered: %s", state->labelled->refused);
        flow_puts(flow, STYLE_DIM, "  (s shows its source)");
    } else {
        say_labels(flow, state);
    }
}

void labels_write(struct labels_state *state, const struct view *view)
{
    struct textflow *flow = &state->scroll.flow;
    bool is_small = view->rows < FEW_ROWS;

    state->first_text = state->end_text = 0;
    state->gutter = 0;
    if (!state->audit) {
        flow_puts(flow, STYLE_UNKNOWN, state->failure.message);
        flow_break(flow);
        return;
    }
    if (state->mode == LABELS_HISTOGRAMS) {
        snprintf(state->heading, sizeof state->heading, "counts over %" PRId64 " rows  (H back)",
                 state->audit->n_rows);
        labels_write_histograms(flow, state->audit);
        return;
    }
    make_heading(state);
    say_fault(flow, state);
    say_policy(flow, state->audit, is_small);
    if (!is_small)
        say_keys(flow);
    say_row(flow, state);
}

/* ---- Drawing ---- */

static bool has_style(const struct textflow *flow, const struct flow_line *line, enum style_role style)
{
    for (size_t i = line->first; i < line->first + line->n; i++)
        if (flow->runs[i].style == style)
            return true;
    return false;
}

size_t labels_next_change(const struct labels_state *state)
{
    const struct textflow *flow = &state->scroll.flow;
    size_t n = state->end_text - state->first_text, top = state->scroll.top, first = state->first_text;

    for (size_t k = 1; k <= n; k++) {
        size_t i = top < first ? first + k - 1 : first + (top - first + k) % n;
        bool is = has_style(flow, &flow->lines[i], STYLE_TRAINED);
        bool was = i > first && has_style(flow, &flow->lines[i - 1], STYLE_TRAINED);

        if (is != was)
            return i;
    }
    return top;
}

/* The role where the turn begins or the pane does, and a bar beside what is trained. */
static void draw_gutter(const struct labels_state *state, struct canvas *canvas, size_t i, int row)
{
    static const char *const roles[] = {[SIDE_OF_SYSTEM] = "sys", [SIDE_OF_USER] = "user",
                                        [SIDE_OF_ASSISTANT] = "asst", [SIDE_OF_TOOL] = "tool"};
    const struct textflow *flow = &state->scroll.flow;
    const struct flow_line *line = &flow->lines[i];
    bool begins = row == 0 || i == state->first_text || line[-1].tag != line->tag;

    if (state->gutter > BAR_CELLS && is_role(line->tag) && begins)
        canvas_puts(canvas, row, 0, STYLE_STRONG, roles[line->tag]);
    if (has_style(flow, line, STYLE_TRAINED))
        canvas_put(canvas, row, state->gutter - BAR_CELLS, STYLE_TRAINED, canvas->ascii ? '|' : BAR);
    else if (has_style(flow, line, STYLE_REMOVED))
        canvas_put(canvas, row, state->gutter - BAR_CELLS, STYLE_REMOVED, 'x');
}

void labels_draw(const struct labels_state *state, struct canvas *canvas)
{
    const struct textflow *flow = &state->scroll.flow;
    const struct area area = canvas_area(canvas);

    for (int row = 0; row < area.rows && state->scroll.top + (size_t)row < flow->n_lines; row++) {
        size_t i = state->scroll.top + (size_t)row;
        bool is_text = i >= state->first_text && i < state->end_text;
        int gutter = is_text && state->gutter < area.columns ? state->gutter : 0;
        struct area line = {area.top + row, area.left + gutter, 1, area.columns - gutter};

        canvas_clip(canvas, &line);
        flow_draw(flow, canvas, i, gutter + (is_text ? state->left : 0));
        canvas_clip(canvas, &area);
        if (gutter)
            draw_gutter(state, canvas, i, row);
    }
}
