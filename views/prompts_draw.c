/* Lines of the prompts pane: where both sides are from, where they part, and their difference, unified or
 * in two columns. See prompts_parts.h. */
#include <inttypes.h>
#include <string.h>

#include "core/exports/prompts_report.h"
#include "core/text/template_lint.h"
#include "views/prompts_parts.h"

#define LEAST_TWO_COLUMNS 60            /* narrower panes show one side under the other */
#define DOT               "\xc2\xb7"

/* ---- Where they are from ---- */

static void say_side(struct textflow *flow, const char *name, const struct prompt_record *record)
{
    flow_printf(flow, STYLE_STRONG, "%-9s", name);
    if (record->origin == PROMPT_ABSENT)
        flow_printf(flow, STYLE_UNKNOWN, "not known, missing: %s", record->missing ? record->missing : "");
    else
        flow_puts(flow, STYLE_TEXT, record->about);
    if (record->side.n_ids)
        flow_printf(flow, STYLE_DIM, ", %zu tokens", record->side.n_ids);
    flow_break(flow);
    if (record->failure) {
        flow_printf(flow, STYLE_FAIL, "         the template refuses it: %s", record->failure);
        flow_break(flow);
    }
}

static enum style_role style_of_verdict(enum prompt_difference difference)
{
    switch (difference) {
    case PROMPTS_EQUAL:
    case PROMPTS_OTHER_TEXT:
        return STYLE_PASS;
    case PROMPTS_OTHER_FAMILY:
    case PROMPTS_SYSTEM_ONE_SIDE:
    case PROMPTS_NO_HEADER:
        return STYLE_FAIL;
    case PROMPTS_OTHER_BYTES:
    case PROMPTS_OTHER_IDS:
        return STYLE_WARN;
    case PROMPTS_CONTENT_BLANKS:
        return STYLE_TEXT;
    case PROMPTS_UNKNOWN:
        break;
    }
    return STYLE_UNKNOWN;
}

static void say_verdict(struct textflow *flow, const struct prompt_pair *pair)
{
    bool is_pair = pair->train.origin != PROMPT_ABSENT && pair->serve.origin != PROMPT_ABSENT;
    struct buf text;

    buf_init(&text, 1 << 16);
    prompts_verdict(&text, pair);
    flow_text(flow, is_pair ? style_of_verdict(pair->comparison.difference) : STYLE_UNKNOWN,
              arena_str(flow->arena, buf_view(&text)));
    buf_free(&text);
    flow_break(flow);
}

/* ---- Text with its signs ---- */

static void put_blanks(const struct prompts_state *state, struct textflow *flow, enum style_role style,
                       struct str line)
{
    size_t end = line.n;

    /* Blanks before a line end are always shown: they are what one does not see. */
    while (end && line.p[end - 1] == ' ')
        end--;
    for (size_t i = 0; i < line.n;) {
        size_t n = i;

        while (n < line.n && !(line.p[n] == ' ' && (state->shows_blanks || n >= end)))
            n++;
        flow_text(flow, style, str_from(line.p + i, n - i));
        for (i = n; i < line.n && line.p[i] == ' ' && (state->shows_blanks || i >= end); i++)
            flow_puts(flow, style, flow->canvas && flow->canvas->ascii ? "_" : DOT);
    }
}

/* Whole lines behind a sign; `is_open` says whether a line is begun already. */
static void put_stretch(const struct prompts_state *state, struct textflow *flow, enum style_role style,
                        const char *sign, struct str text, bool *is_open)
{
    while (text.n) {
        const char *end = memchr(text.p, '\n', text.n);
        struct str line = str_first(text, end ? (size_t)(end - text.p) : text.n);

        if (!*is_open)
            flow_puts(flow, style, sign);
        put_blanks(state, flow, style, line);
        *is_open = !end;
        if (end) {
            flow_puts(flow, STYLE_DIM, "\\n");
            flow_break(flow);
        }
        text = str_skip(text, line.n + (end ? 1 : 0));
    }
}

static void put_unified(const struct prompts_state *state, struct textflow *flow, const struct diff *diff)
{
    struct str a = state->pair->train.side.text, b = state->pair->serve.side.text;
    bool by_line = state->unit == DIFF_LINES, is_open = false;
    bool has_difference = false;

    for (size_t i = 0; i < diff->n; i++) {
        const struct diff_part *part = &diff->parts[i];
        bool is_added = part->kind == DIFF_ADDED;
        struct str text = is_added ? str_from(b.p + part->b_begin, part->b_end - part->b_begin)
                                   : str_from(a.p + part->a_begin, part->a_end - part->a_begin);

        if (part->kind == DIFF_EQUAL) {
            put_stretch(state, flow, STYLE_TEXT, "  ", text, &is_open);
            continue;
        }
        flow_tag(flow, has_difference ? -1 : PROMPTS_TAG_DIFFERENCE);
        has_difference = true;
        if (by_line && is_open) {
            flow_break(flow);
            is_open = false;
        }
        if (!by_line)
            flow_puts(flow, is_added ? STYLE_ADDED : STYLE_REMOVED, is_added ? "{+" : "[-");
        put_stretch(state, flow, is_added ? STYLE_ADDED : STYLE_REMOVED, is_added ? "+ " : "- ", text,
                    &is_open);
        if (!by_line)
            flow_puts(flow, is_added ? STYLE_ADDED : STYLE_REMOVED, is_added ? "+}" : "-]");
        flow_tag(flow, -1);
    }
    flow_break(flow);
}

/* ---- Two columns: lines of both sides lined up ---- */

struct side_lines {                     /* the lines of a stretch, cut to the width of a column */
    struct str *line;
    bool *has_end;                      /* a line end stands behind it */
    size_t n;
};

static size_t count_lines(const struct canvas *canvas, struct str text, int width)
{
    size_t n = 0;

    while (text.n) {
        const char *end = memchr(text.p, '\n', text.n);
        struct str line = str_first(text, end ? (size_t)(end - text.p) : text.n);
        struct str cut = canvas_cut(canvas, line, width);

        if (cut.n == 0 && line.n)
            cut = line;
        text = str_skip(text, cut.n + (end && cut.n == line.n ? 1 : 0));
        n++;
    }
    return n;
}

static struct side_lines cut_lines(struct textflow *flow, struct str text, int width)
{
    struct side_lines out = {.n = count_lines(flow->canvas, text, width)};
    size_t n = 0;

    out.line = arena_array(flow->arena, out.n, sizeof *out.line);
    out.has_end = arena_array(flow->arena, out.n, sizeof *out.has_end);
    if (!out.line || !out.has_end)
        return (struct side_lines){.n = 0};
    while (text.n && n < out.n) {
        const char *end = memchr(text.p, '\n', text.n);
        struct str line = str_first(text, end ? (size_t)(end - text.p) : text.n);
        struct str cut = canvas_cut(flow->canvas, line, width);

        if (cut.n == 0 && line.n)
            cut = line;
        out.line[n] = cut;
        out.has_end[n++] = end && cut.n == line.n;
        text = str_skip(text, cut.n + (end && cut.n == line.n ? 1 : 0));
    }
    return out;
}

static void put_half(const struct prompts_state *state, struct textflow *flow, const struct side_lines *lines,
                     size_t i, enum style_role style, char sign, int width)
{
    int used = 0;

    flow_printf(flow, style, "%c", i < lines->n ? sign : ' ');
    if (i < lines->n) {
        put_blanks(state, flow, style, lines->line[i]);
        used = canvas_width(flow->canvas, lines->line[i]);
        if (lines->has_end[i]) {
            flow_puts(flow, STYLE_DIM, "\\n");
            used += 2;
        }
    }
    flow_printf(flow, STYLE_TEXT, "%*s", used < width ? width - used : 0, "");
}

static void put_rows(const struct prompts_state *state, struct textflow *flow, struct str a, struct str b,
                     bool is_equal, int width)
{
    struct side_lines left = cut_lines(flow, a, width - 2), right = cut_lines(flow, b, width - 2);
    size_t n = left.n > right.n ? left.n : right.n;

    for (size_t i = 0; i < n; i++) {
        put_half(state, flow, &left, i, is_equal ? STYLE_TEXT : STYLE_REMOVED, is_equal ? ' ' : '-', width);
        flow_puts(flow, STYLE_FRAME, "|");
        put_half(state, flow, &right, i, is_equal ? STYLE_TEXT : STYLE_ADDED, is_equal ? ' ' : '+', width);
        flow_break(flow);
    }
}

static void put_columns(const struct prompts_state *state, struct textflow *flow, const struct diff *diff)
{
    struct str a = state->pair->train.side.text, b = state->pair->serve.side.text;
    int width = (flow->columns - 3) / 2;
    bool has_difference = false;

    flow->no_wrap = true;
    flow_printf(flow, STYLE_STRONG, "%-*s| %s", width + 1, " training", "serving");
    flow_break(flow);
    for (size_t i = 0; i < diff->n;) {
        size_t a_begin = diff->parts[i].a_begin, a_end = a_begin;
        size_t b_begin = diff->parts[i].b_begin, b_end = b_begin;
        bool is_equal = diff->parts[i].kind == DIFF_EQUAL;

        /* What was removed and what was added in its place stand beside each other. */
        for (; i < diff->n && (diff->parts[i].kind == DIFF_EQUAL) == is_equal; i++) {
            a_end = diff->parts[i].a_end > a_end ? diff->parts[i].a_end : a_end;
            b_end = diff->parts[i].b_end > b_end ? diff->parts[i].b_end : b_end;
        }
        if (!is_equal) {
            flow_tag(flow, has_difference ? -1 : PROMPTS_TAG_DIFFERENCE);
            has_difference = true;
        }
        put_rows(state, flow, str_from(a.p + a_begin, a_end - a_begin),
                 str_from(b.p + b_begin, b_end - b_begin), is_equal, width);
        flow_tag(flow, -1);
    }
    flow->no_wrap = false;
}

static int say_difference(struct prompts_state *state, struct textflow *flow, struct error *err)
{
    static const char *const names[] = {[DIFF_TOKENS] = "token", [DIFF_WORDS] = "word",
                                        [DIFF_LINES] = "line"};
    const struct prompt_side *a = &state->pair->train.side, *b = &state->pair->serve.side;
    bool has_ids = a->n_ids && b->n_ids, in_columns;
    enum diff_unit unit = state->unit == DIFF_TOKENS && !has_ids ? DIFF_WORDS : state->unit;
    struct diff diff;
    int rc = diff_texts(a->text, b->text, unit, has_ids ? a->end : NULL, has_ids ? a->n_ids : 0,
                        has_ids ? b->end : NULL, has_ids ? b->n_ids : 0, flow->arena, &diff, err);

    if (rc != OK)
        return rc;
    in_columns = !state->is_unified && unit == DIFF_LINES && flow->columns >= LEAST_TWO_COLUMNS &&
                 flow->canvas;
    flow_printf(flow, STYLE_DIM, "by %s%s   t unit   d %s   W blanks   l template lint   n first difference",
                names[unit], unit != state->unit ? " (no tokenizer on both sides)" : "",
                in_columns ? "one under the other" : "side by side");
    flow_break(flow);
    if (diff.is_bounded) {
        flow_puts(flow, STYLE_WARN, "too different to be lined up: one stretch was replaced whole");
        flow_break(flow);
    }
    flow_break(flow);
    if (in_columns)
        put_columns(state, flow, &diff);
    else
        put_unified(state, flow, &diff);
    return OK;
}

/* ---- The template ---- */

static const char *lint_word(enum lint_verdict verdict, enum style_role *style)
{
    static const struct {
        const char *word;
        enum style_role style;
    } words[] = {
        [LINT_OK] = {"ok", STYLE_PASS},
        [LINT_FAILS] = {"FAIL", STYLE_FAIL},
        [LINT_NOTE] = {"note", STYLE_WARN},
        [LINT_NOT_APPLICABLE] = {"n/a", STYLE_NA},
    };

    *style = words[verdict].style;
    return words[verdict].word;
}

static int say_lint(struct textflow *flow, const struct view *view, bool in_full, struct error *err)
{
    struct arena *arena = flow->arena;
    struct mask_policy policy;
    struct chat_template_set set;
    const struct named_template *chosen;
    struct lint lint;
    int rc;

    mask_policy_choose(view->desk->facts, arena, &policy);
    if (!policy.template_path)
        return OK;
    rc = chat_template_find(policy.template_path, arena, &set, err);
    chosen = rc == OK ? chat_template_choose(&set, false) : NULL;
    if (!chosen)
        return rc == E_NOMEM ? rc : OK;
    rc = template_lint(chosen->text, NULL, arena, &lint, err);
    if (rc != OK)
        return rc;
    flow_puts(flow, STYLE_STRONG, "template ");
    for (size_t i = 0; i < N_LINT_PROPERTIES; i++) {
        enum style_role style;
        const char *word = lint_word(lint.lines[i].verdict, &style);

        if (in_full) {
            flow_break(flow);
            flow_printf(flow, style, "%-5s", word);
            flow_printf(flow, STYLE_STRONG, "%-18s", lint.lines[i].name);
            if (lint.lines[i].shape)
                flow_printf(flow, STYLE_TEXT, "%s: ", lint.lines[i].shape);
            flow_puts(flow, STYLE_TEXT, lint.lines[i].text);
        } else if (lint.lines[i].verdict == LINT_FAILS || lint.lines[i].verdict == LINT_NOTE) {
            flow_printf(flow, style, "%s %s  ", word, lint.lines[i].name);
        }
    }
    if (!in_full && !lint.fails)
        flow_puts(flow, STYLE_DIM, "nothing fails");
    flow_break(flow);
    return OK;
}

/* ---- All of it ---- */

int prompts_write(struct prompts_state *state, const struct view *view, struct error *err)
{
    struct textflow *flow = &state->scroll.flow;
    const struct prompt_pair *pair = state->pair;
    bool has_train = pair->train.origin != PROMPT_ABSENT, has_serve = pair->serve.origin != PROMPT_ABSENT;
    bool is_open = false;
    int rc;

    say_verdict(flow, pair);
    say_side(flow, "training", &pair->train);
    say_side(flow, "serving", &pair->serve);
    rc = say_lint(flow, view, state->shows_lint, err);
    if (rc != OK || state->shows_lint)
        return rc;
    flow->no_wrap = state->no_wrap;
    if (has_train && has_serve)
        return say_difference(state, flow, err);
    flow_break(flow);
    if (has_train || has_serve)
        put_stretch(state, flow, STYLE_TEXT, "  ",
                    has_train ? pair->train.side.text : pair->serve.side.text, &is_open);
    flow_break(flow);
    return OK;
}
