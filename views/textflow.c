/* Wrapping of styled text into lines. Knows paragraphs, indents and tags; not scrolling state. */
#include "views/textflow.h"

#include <stdarg.h>
#include <string.h>

#define MAX_TEXT_BYTES 8192             /* of one flow_printf */

void flow_begin(struct textflow *flow, struct arena *arena, const struct canvas *canvas,
                int columns)
{
    *flow = (struct textflow){
        .arena = arena, .canvas = canvas, .columns = columns < 1 ? 1 : columns, .tag = -1};
}

void flow_indent(struct textflow *flow, int first, int hanging)
{
    int most = flow->columns - 1;
    flow->indent = first < most ? first : most;
    flow->hanging = hanging < most ? hanging : most;
}

void flow_tag(struct textflow *flow, int tag)
{
    flow->tag = tag;
}

/* Room for one more element; false when the arena has failed. */
static bool make_room(struct arena *arena, void **array, size_t n, size_t *capacity, size_t size)
{
    if (n < *capacity)
        return true;
    size_t wanted = *capacity ? *capacity * 2 : 32;
    void *grown = arena_grow(arena, *array, n * size, wanted * size);
    if (!grown)
        return false;
    *array = grown;
    *capacity = wanted;
    return true;
}

static bool open_line(struct textflow *flow, int indent)
{
    void *lines = flow->lines;
    if (!make_room(flow->arena, &lines, flow->n_lines, &flow->n_lines_capacity,
                   sizeof *flow->lines))
        return false;
    flow->lines = lines;
    flow->lines[flow->n_lines++] = (struct flow_line){.first = flow->n_runs, .tag = flow->tag};
    flow->column = indent;
    flow->is_open = true;
    return true;
}

/* Puts a piece on the current line, joined to the run before it where that is the same text going
 * on. */
static void add_run(struct textflow *flow, enum style_role style, struct str piece, int width)
{
    struct flow_line *line = &flow->lines[flow->n_lines - 1];
    struct flow_run *last = line->n ? &flow->runs[flow->n_runs - 1] : NULL;

    if (last && last->style == style && last->text.p + last->text.n == piece.p) {
        last->text.n += piece.n;
        flow->column += width;
        return;
    }
    void *runs = flow->runs;
    if (!make_room(flow->arena, &runs, flow->n_runs, &flow->n_runs_capacity, sizeof *flow->runs))
        return;
    flow->runs = runs;
    flow->runs[flow->n_runs++] = (struct flow_run){flow->column, style, piece};
    line->n++;
    flow->column += width;
}

/* A word (or a stretch of blanks) that may be longer than a line. */
static void add_word(struct textflow *flow, enum style_role style, struct str word)
{
    while (word.n > 0) {
        /* What is wider than a line is not measured to its end: that would take its length squared. */
        struct str seen = flow->no_wrap ? word : canvas_cut(flow->canvas, word, flow->columns);
        int width = seen.n < word.n ? flow->columns + 1 : canvas_width(flow->canvas, word);
        bool at_start = flow->lines[flow->n_lines - 1].n == 0;
        if (flow->no_wrap || flow->column + width <= flow->columns) {
            add_run(flow, style, word, width);
            return;
        }
        if (!at_start && flow->hanging + width <= flow->columns) {
            if (!open_line(flow, flow->hanging))
                return;
            continue;
        }
        struct str cut = canvas_cut(flow->canvas, word, flow->columns - flow->column);
        if (cut.n == 0 && !at_start) {
            if (!open_line(flow, flow->hanging))
                return;
            continue;
        }
        if (cut.n == 0)                 /* one character wider than the line: it is clipped */
            cut = word;
        add_run(flow, style, cut, canvas_width(flow->canvas, cut));
        word = str_skip(word, cut.n);
        if (word.n > 0 && !open_line(flow, flow->hanging))
            return;
    }
}

static void add_blanks(struct textflow *flow, enum style_role style, struct str blanks)
{
    int width = (int)(blanks.n < 4096 ? blanks.n : 4096);
    bool at_wrapped_start = flow->lines[flow->n_lines - 1].n == 0 && flow->n_lines > 1 &&
                            flow->column == flow->hanging && flow->hanging != flow->indent;
    if (flow->no_wrap || flow->column + width < flow->columns) {
        if (!at_wrapped_start)
            add_run(flow, style, blanks, width);
        return;
    }
    flow->column = flow->columns;       /* blanks at the edge vanish; the next word wraps */
}

static size_t span(struct str text, bool of_blanks)
{
    size_t n = 0;
    while (n < text.n && text.p[n] != '\n' && (text.p[n] == ' ') == of_blanks)
        n++;
    return n;
}

void flow_text(struct textflow *flow, enum style_role style, struct str text)
{
    while (text.n > 0) {
        if (text.p[0] == '\n') {
            flow_break(flow);
            text = str_skip(text, 1);
            continue;
        }
        if (!flow->is_open && !open_line(flow, flow->indent))
            return;
        bool blanks = text.p[0] == ' ';
        size_t n = flow->no_wrap ? text.n : span(text, blanks);
        if (flow->no_wrap) {
            const char *newline = memchr(text.p, '\n', text.n);
            n = newline ? (size_t)(newline - text.p) : text.n;
        }
        if (blanks && !flow->no_wrap)
            add_blanks(flow, style, str_first(text, n));
        else
            add_word(flow, style, str_first(text, n));
        text = str_skip(text, n);
    }
}

void flow_puts(struct textflow *flow, enum style_role style, const char *text)
{
    flow_text(flow, style, str_of(text));
}

void flow_printf(struct textflow *flow, enum style_role style, const char *fmt, ...)
{
    struct buf text;
    va_list args;

    buf_init(&text, MAX_TEXT_BYTES);
    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    flow_text(flow, style, arena_str(flow->arena, buf_view(&text)));
    buf_free(&text);
}

void flow_break(struct textflow *flow)
{
    if (!flow->is_open && !open_line(flow, 0))
        return;
    flow->is_open = false;
}

void flow_draw(const struct textflow *flow, struct canvas *canvas, size_t top, int left)
{
    int rows = canvas_area(canvas).rows;

    for (int row = 0; row < rows && top + (size_t)row < flow->n_lines; row++) {
        const struct flow_line *line = &flow->lines[top + (size_t)row];
        for (size_t i = line->first; i < line->first + line->n; i++)
            canvas_text(canvas, row, flow->runs[i].column - left, flow->runs[i].style,
                        flow->runs[i].text);
    }
}

struct str flow_line_text(const struct textflow *flow, size_t line, struct arena *arena)
{
    struct buf text;

    if (line >= flow->n_lines)
        return str_of("");
    buf_init(&text, 1u << 20);
    const struct flow_line *wanted = &flow->lines[line];
    for (size_t i = wanted->first; i < wanted->first + wanted->n; i++)
        buf_str(&text, flow->runs[i].text);
    struct str out = arena_str(arena, buf_view(&text));
    buf_free(&text);
    return out;
}

size_t flow_find_tag(const struct textflow *flow, int tag)
{
    for (size_t i = 0; i < flow->n_lines; i++)
        if (flow->lines[i].tag == tag)
            return i;
    return 0;
}
