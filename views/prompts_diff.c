/* The difference of two prompts as lines: one under the other with signs, or in two columns. The place
 * where they first part is marked in the text itself, so that wrapping cannot move it. See
 * prompts_parts.h. */
#include <stdint.h>
#include <string.h>

#include "core/exports/prompts_report.h"
#include "views/blanks.h"
#include "views/prompts_parts.h"

static const char *mark_of(const struct textflow *flow)
{
    return flow->canvas && flow->canvas->ascii ? ">>" : "\xe2\x96\xb8";
}

/* ---- What is compared ---- */

static size_t same_bytes(struct str a, struct str b)
{
    size_t n = 0;

    while (n < a.n && n < b.n && a.p[n] == b.p[n])
        n++;
    while (n && n < a.n && ((unsigned char)a.p[n] & 0xC0) == 0x80)
        n--;
    return n;
}

static int compare(const struct prompts_state *state, struct arena *arena, struct prompts_texts *out,
                   struct error *err)
{
    const struct prompt_side *a = &state->pair->train.side, *b = &state->pair->serve.side;
    bool has_ids = a->n_ids && b->n_ids;
    size_t same, train_end, serve_end;

    prompts_compared(state->pair, &train_end, &serve_end);
    out->train = str_first(a->text, train_end);
    out->serve = str_first(b->text, serve_end);
    out->train_rest = str_skip(a->text, train_end);
    out->serve_rest = str_skip(b->text, serve_end);
    same = same_bytes(out->train, out->serve);
    out->train_mark = out->serve_mark = same == out->train.n && same == out->serve.n ? SIZE_MAX : same;
    if (state->unit == PROMPTS_BY_TOKEN && has_ids)
        return diff_texts(out->train, out->serve, DIFF_TOKENS, a->end, a->n_ids, b->end, b->n_ids, arena,
                          &out->diff, err);
    return diff_texts(out->train, out->serve, state->unit == PROMPTS_BY_LINE ? DIFF_LINES : DIFF_WORDS, NULL,
                      0, NULL, 0, arena, &out->diff, err);
}

/* ---- One under the other ---- */

struct stretch {
    enum style_role style;
    const char *sign;           /* before each line; "" for parts of lines */
    struct str text;
    const char *mark;           /* a place in the text that is marked, NULL: none */
    bool is_end;                /* blanks at the end are the last of their line, or of what differs */
};

static void put_piece(const struct prompts_state *state, struct textflow *flow, enum style_role style,
                      struct str text, const char *mark, bool is_end)
{
    bool has_mark = mark && mark >= text.p && mark <= text.p + text.n;
    struct str before = has_mark ? str_first(text, (size_t)(mark - text.p)) : text;

    blanks_text(flow, style, before, state->shows_blanks, is_end && before.n == text.n);
    if (!has_mark)
        return;
    flow_puts(flow, STYLE_FAIL, mark_of(flow));
    blanks_text(flow, style, str_skip(text, before.n), state->shows_blanks, is_end);
}

static bool holds(struct str line, const char *mark, bool has_end)
{
    return mark && mark >= line.p && (mark < line.p + line.n || (has_end && mark == line.p + line.n));
}

static void put_stretch(const struct prompts_state *state, struct textflow *flow, const struct stretch *s)
{
    struct str text = s->text;

    while (text.n) {
        const char *end = memchr(text.p, '\n', text.n);
        struct str line = str_first(text, end ? (size_t)(end - text.p) : text.n);

        if (!flow->is_open)
            flow_puts(flow, s->style, s->sign);
        put_piece(state, flow, s->style, line, holds(line, s->mark, end != NULL) ? s->mark : NULL,
                  end || s->is_end);
        if (end) {
            flow_puts(flow, STYLE_DIM, "\\n");
            flow_break(flow);
        }
        text = str_skip(text, line.n + (end ? 1 : 0));
    }
}

void prompts_write_text(const struct prompts_state *state, struct textflow *flow, struct str text)
{
    struct stretch all = {.style = STYLE_TEXT, .sign = "  ", .text = text, .is_end = true};

    flow->no_wrap = state->no_wrap;
    flow_indent(flow, 0, 2);
    put_stretch(state, flow, &all);
    flow_break(flow);
    flow->no_wrap = false;
}

static void put_change(const struct prompts_state *state, struct textflow *flow,
                       const struct prompts_texts *texts, const struct diff_part *part)
{
    bool by_line = state->unit == PROMPTS_BY_LINE, is_added = part->kind == DIFF_ADDED;
    enum style_role style = is_added ? STYLE_ADDED : STYLE_REMOVED;
    size_t mark = is_added ? texts->serve_mark : texts->train_mark;
    struct stretch s = {
        .style = style,
        .sign = !by_line ? "  " : is_added ? "+ " : "- ",
        .text = is_added ? str_from(texts->serve.p + part->b_begin, part->b_end - part->b_begin)
                         : str_from(texts->train.p + part->a_begin, part->a_end - part->a_begin),
        .is_end = true,
        .mark = mark == SIZE_MAX ? NULL : (is_added ? texts->serve.p : texts->train.p) + mark,
    };

    if (by_line && flow->is_open)
        flow_break(flow);
    if (!by_line && !flow->is_open)
        flow_puts(flow, STYLE_TEXT, "  ");
    if (!by_line)
        flow_puts(flow, style, is_added ? "{+" : "[-");
    put_stretch(state, flow, &s);
    if (!by_line && !flow->is_open)     /* behind a line end: in the line that ended */
        flow->is_open = flow->n_lines > 0;
    if (!by_line)
        flow_puts(flow, style, is_added ? "+}" : "-]");
    if (!by_line && s.text.n && s.text.p[s.text.n - 1] == '\n')
        flow_break(flow);
}

static void put_unified(const struct prompts_state *state, struct textflow *flow,
                        const struct prompts_texts *texts)
{
    bool has_difference = false;

    flow_indent(flow, 0, 2);
    for (size_t i = 0; i < texts->diff.n; i++) {
        const struct diff_part *part = &texts->diff.parts[i];
        struct stretch same = {.style = STYLE_TEXT, .sign = "  ", .is_end = state->unit == PROMPTS_BY_LINE,
                               .text = str_from(texts->train.p + part->a_begin, part->a_end - part->a_begin)};

        if (part->kind == DIFF_EQUAL) {
            if (state->unit == PROMPTS_BY_LINE && flow->is_open)
                flow_break(flow);
            put_stretch(state, flow, &same);
            continue;
        }
        flow_tag(flow, has_difference ? -1 : PROMPTS_TAG_DIFFERENCE);
        has_difference = true;
        put_change(state, flow, texts, part);
        flow_tag(flow, -1);
    }
    if (flow->is_open)
        flow_break(flow);
    flow_indent(flow, 0, 0);
}

/* ---- Two columns ---- */

struct half {                   /* one side of a stretch on its way into lines */
    struct str text;
    const char *mark;
    enum style_role style;
    char sign;
    int width;
    /* By word or token: what of the text is the same on both sides is not in the style of a change. */
    const struct diff *finer;   /* NULL: whole lines */
    const char *base;           /* of the side's whole text */
    size_t n_base;
    bool is_serve;
};

/* The end of the stretch at `at` that is all changed or all the same, and whether it is the same. */
static size_t finer_end(const struct half *half, size_t at, bool *is_same)
{
    for (size_t i = 0; i < half->finer->n; i++) {
        const struct diff_part *part = &half->finer->parts[i];
        size_t begin = half->is_serve ? part->b_begin : part->a_begin;
        size_t end = half->is_serve ? part->b_end : part->a_end;

        if (at < begin || at >= end)
            continue;
        *is_same = part->kind == DIFF_EQUAL;
        while (end < half->n_base && ((unsigned char)half->base[end] & 0xC0) == 0x80)
            end++;
        return end;
    }
    *is_same = false;
    return SIZE_MAX;
}

static void put_painted(const struct prompts_state *state, struct textflow *flow, const struct half *half,
                        struct str line, const char *mark, bool is_end)
{
    while (half->finer && line.n) {
        size_t at = (size_t)(line.p - half->base);
        bool is_same;
        size_t n = finer_end(half, at, &is_same) - at;

        if (n >= line.n)
            n = line.n;
        put_piece(state, flow, is_same ? STYLE_TEXT : half->style, str_first(line, n),
                  mark >= line.p && mark < line.p + n ? mark : NULL, is_end && n == line.n);
        line = str_skip(line, n);
        if (!line.n && mark == line.p)
            flow_puts(flow, STYLE_FAIL, mark_of(flow));
    }
    if (!half->finer)
        put_piece(state, flow, half->style, line, mark, is_end);
}

/* The next line of a side, at most as wide as its column; *has_end: a line end stands behind it. */
static struct str next_line(const struct prompts_state *state, const struct canvas *canvas, struct half *half,
                            bool *has_end)
{
    const char *end = memchr(half->text.p, '\n', half->text.n);
    struct str line = str_first(half->text, end ? (size_t)(end - half->text.p) : half->text.n), cut;

    if (state->no_wrap) {
        half->text = str_skip(half->text, line.n + (end ? 1 : 0));
        *has_end = end != NULL;
        line = str_skip(line, canvas_cut(canvas, line, state->left).n);
        return canvas_cut(canvas, line, half->width);
    }
    cut = canvas_cut(canvas, line, half->width);
    while (state->shows_blanks && cut.n > 1 && blanks_width(canvas, cut, true, true) > half->width)
        cut = canvas_cut(canvas, cut, canvas_width(canvas, cut) - 1);
    if (cut.n == 0 && line.n)
        cut = line;
    *has_end = end && cut.n == line.n;
    half->text = str_skip(half->text, cut.n + (*has_end ? 1 : 0));
    return cut;
}

static void put_half(const struct prompts_state *state, struct textflow *flow, struct half *half,
                     bool is_there)
{
    int used = 0, mark_width = canvas_width(flow->canvas, str_of(mark_of(flow)));
    bool has_end = false, is_marked;
    struct str line;

    if (is_there) {
        line = next_line(state, flow->canvas, half, &has_end);
        is_marked = holds(line, half->mark, has_end);
        flow_printf(flow, half->style, "%c", half->sign);
        put_painted(state, flow, half, line, is_marked ? half->mark : NULL, has_end || !half->text.n);
        used = blanks_width(flow->canvas, line, state->shows_blanks, has_end || !half->text.n) + 1 +
               (is_marked ? mark_width : 0) + (has_end ? 2 : 0);
        if (has_end)
            flow_puts(flow, STYLE_DIM, "\\n");
    }
    flow_printf(flow, STYLE_TEXT, "%*s", used < half->width + 5 ? half->width + 5 - used : 0, "");
}

static void put_rows(const struct prompts_state *state, struct textflow *flow, struct half *left,
                     struct half *right)
{
    while (left->text.n || right->text.n) {
        put_half(state, flow, left, left->text.n > 0);
        flow_puts(flow, STYLE_FRAME, "|");
        put_half(state, flow, right, right->text.n > 0);
        flow_break(flow);
    }
}

static void put_columns(const struct prompts_state *state, struct textflow *flow,
                        const struct prompts_texts *texts, const struct diff *diff)
{
    int width = (flow->columns - 1) / 2 - 5;    /* a sign, the mark and a line end beside the text */
    const struct diff *finer = state->unit == PROMPTS_BY_LINE ? NULL : &texts->diff;
    bool has_difference = false;

    flow->no_wrap = true;
    for (size_t i = 0; i < diff->n;) {
        size_t a_begin = diff->parts[i].a_begin, a_end = a_begin;
        size_t b_begin = diff->parts[i].b_begin, b_end = b_begin;
        bool is_equal = diff->parts[i].kind == DIFF_EQUAL;

        /* What was removed and what was added in its place stand beside each other. */
        for (; i < diff->n && (diff->parts[i].kind == DIFF_EQUAL) == is_equal; i++) {
            a_end = diff->parts[i].a_end > a_end ? diff->parts[i].a_end : a_end;
            b_end = diff->parts[i].b_end > b_end ? diff->parts[i].b_end : b_end;
        }
        struct half left = {str_from(texts->train.p + a_begin, a_end - a_begin), NULL,
                            is_equal ? STYLE_TEXT : STYLE_REMOVED, is_equal ? ' ' : '-', width, finer,
                            texts->train.p, texts->train.n, false};
        struct half right = {str_from(texts->serve.p + b_begin, b_end - b_begin), NULL,
                             is_equal ? STYLE_TEXT : STYLE_ADDED, is_equal ? ' ' : '+', width, finer,
                             texts->serve.p, texts->serve.n, true};
        if (!is_equal && texts->train_mark != SIZE_MAX) {
            left.mark = texts->train.p + texts->train_mark;
            right.mark = texts->serve.p + texts->serve_mark;
        }
        flow_tag(flow, is_equal || has_difference ? -1 : PROMPTS_TAG_DIFFERENCE);
        has_difference |= !is_equal;
        put_rows(state, flow, &left, &right);
        flow_tag(flow, -1);
    }
    flow->no_wrap = false;
}

/* ---- The answer ---- */

static void put_rest(const struct prompts_state *state, struct textflow *flow,
                     const struct prompts_texts *texts, bool in_columns)
{
    int width = (flow->columns - 1) / 2 - 5;

    if (!texts->train_rest.n && !texts->serve_rest.n)
        return;
    flow_puts(flow, STYLE_DIM, "---- the assistant's turn: shown, not compared ----");
    flow_break(flow);
    if (in_columns) {
        struct half left = {texts->train_rest, NULL, STYLE_DIM, ' ', width, NULL, NULL, 0, false};
        struct half right = {texts->serve_rest, NULL, STYLE_DIM, ' ', width, NULL, NULL, 0, true};

        flow->no_wrap = true;
        put_rows(state, flow, &left, &right);
        flow->no_wrap = false;
        return;
    }
    struct stretch train = {.style = STYLE_DIM, .sign = "t ", .text = texts->train_rest, .is_end = true};
    struct stretch serve = {.style = STYLE_DIM, .sign = "s ", .text = texts->serve_rest, .is_end = true};

    flow_indent(flow, 0, 2);
    put_stretch(state, flow, &train);
    if (flow->is_open)
        flow_break(flow);
    put_stretch(state, flow, &serve);
    flow_indent(flow, 0, 0);
}

int prompts_write_diff(struct prompts_state *state, struct textflow *flow, struct error *err)
{
    bool in_columns = prompts_in_columns(state, flow->columns);
    struct prompts_texts texts = {0};
    struct diff by_line;
    int rc = compare(state, flow->arena, &texts, err);

    if (rc == OK && in_columns)         /* words and tokens are marked inside of lines side by side */
        rc = diff_texts(texts.train, texts.serve, DIFF_LINES, NULL, 0, NULL, 0, flow->arena, &by_line, err);
    if (rc != OK)
        return rc;
    if (texts.diff.is_bounded) {
        flow_puts(flow, STYLE_WARN, "too different to be lined up: one stretch was replaced whole");
        flow_break(flow);
    }
    if (in_columns) {
        put_columns(state, flow, &texts, &by_line);
    } else {
        flow->no_wrap = state->no_wrap;
        put_unified(state, flow, &texts);
        flow->no_wrap = false;
    }
    put_rest(state, flow, &texts, in_columns);
    flow_break(flow);
    return OK;
}
