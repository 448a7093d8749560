/* The two sides of a pair as text: beside each other, part under part, or one under the other; what both
 * have is said once. See pairs_parts.h. */
#include <stdint.h>
#include <string.h>

#include "core/text/diff.h"
#include "views/pairs_parts.h"

enum { MOST_BLANKS = 100000 };

/* ---- What differs ---- */

/* Line ends of what differs are seen. */
static void put_changed(struct textflow *flow, enum style_role style, struct str text)
{
    struct str rest = text, line;

    while (rest.n) {
        const char *end = memchr(rest.p, '\n', rest.n);

        line = str_first(rest, end ? (size_t)(end - rest.p) : rest.n);
        flow_text(flow, style, line);
        if (end) {
            flow_puts(flow, style, "\\n");
            flow_text(flow, style, str_of("\n"));
        }
        rest = str_skip(rest, line.n + (end ? 1 : 0));
    }
}

static void note_line(struct pair_layout *layout, size_t difference, size_t line)
{
    while (layout->n <= difference) {
        size_t *room = arena_room(layout->flow->arena, layout->lines, layout->n, &layout->capacity,
                                  sizeof *layout->lines);

        if (!room)
            return;
        layout->lines = room;
        layout->lines[layout->n++] = SIZE_MAX;
    }
    if (line < layout->lines[difference])
        layout->lines[difference] = line;
}

static size_t line_now(const struct textflow *flow)
{
    return flow->is_open && flow->n_lines ? flow->n_lines - 1 : flow->n_lines;
}

static void put_difference(struct pair_layout *layout, struct textflow *flow, struct str piece,
                           size_t number, bool is_right)
{
    bool is_current = layout->current == (ptrdiff_t)number;
    enum style_role style = is_current ? STYLE_MATCH : is_right ? STYLE_ADDED : STYLE_REMOVED;

    flow_puts(flow, style, is_right ? "{+" : "[-");
    note_line(layout, number, line_now(flow));
    put_changed(flow, style, piece);
    flow_puts(flow, style, is_right ? "+}" : "-]");
}

static bool is_blank_part(struct str text, const struct diff_part *part)
{
    return part->kind == DIFF_EQUAL &&
           str_trim(str_from(text.p + part->a_begin, part->a_end - part->a_begin)).n == 0;
}

/* The end of the difference that begins at part `i`: blanks between words that all differ are of it. */
static size_t end_of_difference(struct str a, const struct diff *diff, size_t i)
{
    size_t end = i + 1;

    while (end < diff->n) {
        if (diff->parts[end].kind != DIFF_EQUAL)
            end++;
        else if (end + 1 < diff->n && is_blank_part(a, &diff->parts[end]))
            end += 2;
        else
            break;
    }
    return end;
}

struct texts {
    struct str a, b;
};

/* Blanks that both sides of a difference end with are none of it. */
static size_t same_blanks(struct str a, struct str b)
{
    size_t n = 0;

    while (n < a.n && n < b.n && a.p[a.n - 1 - n] == b.p[b.n - 1 - n] && strchr(" \t\n\r", a.p[a.n - 1 - n]))
        n++;
    return n;
}

/* Returns how many differences there are: stretches between what is equal. */
static size_t put_marked(struct pair_layout *layout, struct textflow *flow, const struct texts *texts,
                         const struct diff *diff, bool is_right)
{
    size_t n = 0, next;

    for (size_t i = 0; i < diff->n; i = next) {
        bool is_equal = diff->parts[i].kind == DIFF_EQUAL;

        next = is_equal ? i + 1 : end_of_difference(texts->a, diff, i);
        const struct diff_part *first = &diff->parts[i], *last = &diff->parts[next - 1];
        struct str a = str_from(texts->a.p + first->a_begin, last->a_end - first->a_begin);
        struct str b = str_from(texts->b.p + first->b_begin, last->b_end - first->b_begin);
        struct str piece = is_right ? b : a;
        size_t plain = is_equal ? piece.n : same_blanks(a, b);

        n += !is_equal;
        if (piece.n > plain)
            put_difference(layout, flow, str_first(piece, piece.n - plain), layout->n_seen + n - 1, is_right);
        flow_text(flow, STYLE_TEXT, str_skip(piece, piece.n - plain));
    }
    flow_break(flow);
    return n;
}

/* ---- Parts ---- */

static void put_name(struct textflow *flow, const char *side, const char *name, const char *more)
{
    flow_printf(flow, STYLE_DIM, "%s%s%s", side, name, more);
    flow_break(flow);
    flow_indent(flow, 2, 2);
}

static void end_part(struct textflow *flow)
{
    flow_indent(flow, 0, 0);
}

/* Both sides have come to one line. */
static void even_out(struct textflow *a, struct textflow *b)
{
    struct textflow *shorter = a->n_lines < b->n_lines ? a : b;
    size_t n = a->n_lines > b->n_lines ? a->n_lines : b->n_lines;

    for (size_t i = 0; i < MOST_BLANKS && shorter->n_lines < n; i++)
        flow_break(shorter);
}

static void put_same(struct pair_layout *layout, const char *name, struct str text)
{
    put_name(layout->flow, "", name, ", the same in both");
    flow_text(layout->flow, STYLE_TEXT, text.n ? text : str_of("(empty)"));
    flow_break(layout->flow);
    end_part(layout->flow);
    if (!layout->right)
        return;
    put_name(layout->right, "", name, ": the same");
    end_part(layout->right);
    even_out(layout->flow, layout->right);
}

static int put_part(struct pair_layout *layout, struct str a, struct str b, const char *const names[2],
                    struct error *err)
{
    const struct texts texts = {a, b};
    struct diff diff;
    struct textflow *right = layout->right ? layout->right : layout->flow;
    const char *const letters[2] = {layout->right ? "" : "A: ", layout->right ? "" : "B: "};

    if (a.n == 0 && b.n == 0)
        return OK;
    if (str_eq(a, b) && strcmp(names[0], names[1]) == 0) {
        put_same(layout, names[0], a);
        return OK;
    }
    int rc = diff_texts(a, b, DIFF_WORDS, NULL, 0, NULL, 0, layout->flow->arena, &diff, err);
    if (rc != OK)
        return rc;
    put_name(layout->flow, letters[0], names[0], str_eq(a, b) ? " (equal texts)" : "");
    if (a.n == 0)
        flow_puts(layout->flow, STYLE_WARN, "(empty)");
    size_t n = put_marked(layout, layout->flow, &texts, &diff, false);
    end_part(layout->flow);
    put_name(right, letters[1], names[1], str_eq(a, b) ? " (equal texts)" : "");
    if (b.n == 0)
        flow_puts(right, STYLE_WARN, "(empty)");
    (void)put_marked(layout, right, &texts, &diff, true);
    end_part(right);
    layout->n_seen += n;
    if (layout->right)
        even_out(layout->flow, layout->right);
    return OK;
}

static void put_fields(struct pair_layout *layout, const struct pair_side sides[2])
{
    for (int i = 0; i < 2; i++) {
        struct textflow *flow = i && layout->right ? layout->right : layout->flow;

        if (sides[i].fields.n == 0 || (i && str_eq(sides[0].fields, sides[1].fields)))
            continue;
        if (!layout->right && !str_eq(sides[0].fields, sides[1].fields))
            flow_puts(flow, STYLE_DIM, i ? "B: " : "A: ");
        flow_text(flow, STYLE_DIM, sides[i].fields);
        flow_break(flow);
    }
    if (layout->right)
        even_out(layout->flow, layout->right);
}

static void put_titles(struct pair_layout *layout, const struct pair_side sides[2])
{
    if (!layout->right) {
        flow_printf(layout->flow, STYLE_STRONG, "A  %s", sides[0].title);
        flow_break(layout->flow);
        flow_printf(layout->flow, STYLE_STRONG, "B  %s", sides[1].title);
        flow_break(layout->flow);
        return;
    }
    flow_puts(layout->flow, STYLE_STRONG, sides[0].title);
    flow_break(layout->flow);
    flow_puts(layout->right, STYLE_STRONG, sides[1].title);
    flow_break(layout->right);
    even_out(layout->flow, layout->right);
}

int pairs_write(const struct pair_side sides[2], struct pair_layout *layout, struct error *err)
{
    const char *const inputs[2] = {sides[0].input_name, sides[1].input_name};
    const char *const targets[2] = {sides[0].target_name, sides[1].target_name};

    put_titles(layout, sides);
    put_fields(layout, sides);
    int rc = put_part(layout, sides[0].input, sides[1].input, inputs, err);
    if (rc == OK)
        rc = put_part(layout, sides[0].target, sides[1].target, targets, err);
    if (rc == OK && (sides[0].is_cut || sides[1].is_cut)) {
        flow_puts(layout->flow, STYLE_DIM, "a text goes on beyond what is shown");
        flow_break(layout->flow);
    }
    if (rc == OK && layout->right)
        even_out(layout->flow, layout->right);
    return rc;
}
