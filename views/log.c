/* The file of the current evidence at its line: a log, but any text file. Reads a window of lines
 * around the place, from the nearest place whose byte is known; never the whole file. Of a progress
 * bar that was redrawn on one line the last state is shown. */
#include <string.h>

#include "core/read/source.h"
#include "views/registry.h"
#include "views/scroll.h"
#include "views/verdict_words.h"

#define WINDOW_LINES 600
#define LINES_BEFORE 200
#define SHOWN_BYTES  4000
#define SCAN_BYTES   ((int64_t)64 << 20)    /* what is read at most to find a line */

enum { ACT_LEFT, ACT_RIGHT, ACT_WRAP, ACT_PLACE };

static const struct action ACTIONS[] = {
    {ACT_PLACE, "place", "=", "back to the line of the evidence"},
    {ACT_WRAP, "wrap", "w", "wrap long lines, or scroll them sideways"},
    MOTION_ACTIONS,
    {ACT_LEFT, "left", "Left", "scroll to the left"},
    {ACT_RIGHT, "right", "Right", "scroll to the right"},
    {0, NULL, NULL, NULL},
};

struct shown_line {
    int64_t number;
    struct str text;
};

struct state {
    int64_t source_id;
    int64_t target;             /* line of the evidence, NONE */
    int64_t wanted;             /* line that has to be in the window */
    const struct shown_line *lines;
    size_t n_lines, top;
    bool has_more;              /* the file goes on behind the window */
    int left;
    bool wraps;
    const char *problem;        /* why nothing is shown */
    const char *name;
    int64_t run_id;             /* what the place was chosen for */
    ptrdiff_t check;
    size_t evidence;
};

static const struct evidence *current(const struct desk *desk)
{
    const struct check_result *result;

    if (!desk->verdicts || desk->check < 0 || desk->check >= (ptrdiff_t)desk->verdicts->n_rows)
        return NULL;
    result = &desk->verdicts->rows[desk->check].result;
    return desk->evidence < result->n_evidence ? &result->evidence[desk->evidence] : NULL;
}

static bool is_text_source(const struct source *source)
{
    size_t n = strlen(source->path);

    return !(n > 4 && (strcmp(source->path + n - 4, ".bin") == 0)) &&
           !(n > 12 && strcmp(source->path + n - 12, ".safetensors") == 0);
}

static const struct source *first_log(const struct run_facts *facts)
{
    for (size_t i = 0; facts && i < facts->n_sources; i++)
        if (importer_is_log(facts->sources[i].importer))
            return &facts->sources[i];
    return NULL;
}

/* The nearest place at or before the line whose byte is known. */
static void find_anchor(const struct run_facts *facts, int64_t source_id, int64_t line,
                        int64_t *anchor_line, int64_t *anchor_byte)
{
    *anchor_line = 1;
    *anchor_byte = 0;
    for (size_t i = 0; i < facts->n_events; i++) {
        const struct event *event = &facts->events[i];

        if (event->source_id == source_id && event->line != NONE && event->byte != NONE &&
            event->line <= line && event->line > *anchor_line) {
            *anchor_line = event->line;
            *anchor_byte = event->byte;
        }
    }
}

/* What the terminal would have left of the line: the part behind the last lone '\r'. */
static struct str last_state(struct str text)
{
    while (text.n && text.p[text.n - 1] == '\r')
        text.n--;
    for (size_t i = text.n; i-- > 0;)
        if (text.p[i] == '\r')
            return str_skip(text, i + 1);
    return text;
}

static int read_window(struct view *view, const char *path, int64_t first, struct error *err)
{
    struct state *state = view->state;
    struct shown_line *lines = arena_array(view->arena, WINDOW_LINES, sizeof *lines);
    struct source_file *file = NULL;
    struct source_line line;
    int64_t at_line, at_byte, start;
    int rc = source_open(&file, path, err);

    if (rc != OK || !lines)
        return rc != OK ? rc : error_set(err, E_NOMEM, "log window");
    find_anchor(view->desk->facts, state->source_id, first, &at_line, &at_byte);
    /* an event's byte may lie inside its line (behind a '\r'): numbers count from its line on */
    start = at_byte;
    rc = source_seek(file, at_byte, err);
    state->n_lines = 0;
    state->has_more = false;
    while (rc == OK && (rc = source_next_line(file, 0, &line, err)) == 1) {
        rc = OK;
        if (at_line >= first) {
            if (state->n_lines == WINDOW_LINES) {
                state->has_more = true;
                break;
            }
            lines[state->n_lines].number = at_line;
            lines[state->n_lines++].text =
                arena_str(view->arena, str_first(last_state(line.text), SHOWN_BYTES));
        } else if (source_tell(file) - start > SCAN_BYTES) {
            state->problem = "the line is too far from a known place in this large file";
            break;
        }
        at_line++;
    }
    source_close(file);
    state->lines = lines;
    return rc < 0 ? rc : OK;
}

static void show_place(struct state *state, int64_t source_id, int64_t line)
{
    state->source_id = source_id;
    state->target = line;
    state->wanted = line == NONE ? 1 : line;
    state->top = 0;
    state->left = 0;
}

static bool can_be_shown(const struct desk *desk, const struct evidence *evidence)
{
    const struct source *source =
        evidence->source_id ? facts_source(desk->facts, evidence->source_id) : NULL;

    return source && is_text_source(source);
}

/* The file of the chosen evidence; where that is no text, the first of the check's that is one with
 * a line; else the run's log. */
static void choose_source(struct view *view)
{
    const struct desk *desk = view->desk;
    struct state *state = view->state;
    const struct evidence *evidence = current(desk);
    bool is_new = state->source_id == 0 || state->run_id != desk->run_id ||
                  state->check != desk->check || state->evidence != desk->evidence;
    const struct source *log;

    if (!is_new)
        return;
    state->run_id = desk->run_id;
    state->check = desk->check;
    state->evidence = desk->evidence;
    if (evidence && !can_be_shown(desk, evidence)) {
        const struct check_result *result = &desk->verdicts->rows[desk->check].result;

        evidence = NULL;
        for (size_t i = 0; i < result->n_evidence && !evidence; i++)
            if (result->evidence[i].line != NONE && can_be_shown(desk, &result->evidence[i]))
                evidence = &result->evidence[i];
    }
    log = first_log(desk->facts);
    if (evidence)
        show_place(state, evidence->source_id, evidence->line);
    else if (log)
        show_place(state, log->id, NONE);
    else
        state->source_id = 0;
}

static void put_in_sight(struct view *view, int64_t line)
{
    struct state *state = view->state;

    for (size_t i = 0; i < state->n_lines; i++)
        if (state->lines[i].number == line)
            state->top = i > (size_t)view->rows / 3 ? i - (size_t)view->rows / 3 : 0;
}

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;
    const struct source *source;
    struct error why;
    int64_t first;

    (void)err;
    state->problem = NULL;
    state->n_lines = 0;
    if (!view->desk->facts)
        return OK;
    choose_source(view);
    source = state->source_id ? facts_source(view->desk->facts, state->source_id) : NULL;
    if (!source) {
        state->problem = "no text file to show; the key a imports one";
        state->source_id = 0;
        return OK;
    }
    state->name = facts_file_name(view->desk->facts, source->id);
    if (!is_text_source(source)) {
        state->problem = "not a text file; :settings shows what it says";
        return OK;
    }
    first = state->wanted > LINES_BEFORE ? state->wanted - LINES_BEFORE : 1;
    if (read_window(view, source->path, first, &why) != OK)
        state->problem = arena_printf(view->arena, "%s", why.message);
    put_in_sight(view, state->wanted);
    return OK;
}

/* A lone row of a line, with marks where it goes on to the left or right. */
static void draw_cut(const struct state *state, struct canvas *canvas, int row, int column,
                     const struct shown_line *line, enum style_role style)
{
    int end = canvas_area(canvas).columns;
    struct str rest = str_skip(line->text, canvas_cut(canvas, line->text, state->left).n);

    canvas_text(canvas, row, column, style, rest);
    if (state->left && line->text.n)
        canvas_puts(canvas, row, column, STYLE_DIM, "<");
    if (canvas_width(canvas, rest) > end - column)
        canvas_puts(canvas, row, end - 1, STYLE_DIM, ">");
}

static int draw_wrapped(struct canvas *canvas, int row, int column, struct str rest,
                        enum style_role style)
{
    struct area area = canvas_area(canvas);

    do {
        struct str part = canvas_cut(canvas, rest, area.columns - column);

        canvas_text(canvas, row++, column, style, part);
        rest = str_skip(rest, part.n ? part.n : rest.n);
    } while (rest.n && row < area.rows);
    return row;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct state *state = view->state;
    struct area area = canvas_area(canvas);
    int row = 0;

    if (state->problem) {
        canvas_puts(canvas, 0, 0, STYLE_DIM, state->problem);
        return;
    }
    if (state->n_lines == 0)
        canvas_puts(canvas, 0, 0, STYLE_DIM, "nothing to show yet");
    for (size_t i = state->top; i < state->n_lines && row < area.rows; i++) {
        const struct shown_line *line = &state->lines[i];
        bool is_target = line->number == state->target;
        enum style_role style = is_target ? STYLE_STRONG : STYLE_TEXT;
        int column = canvas_printf(canvas, row, 0, is_target ? STYLE_FAIL : STYLE_DIM, "%c%5lld ",
                                   is_target ? '>' : ' ', (long long)line->number);

        if (state->wraps)
            row = draw_wrapped(canvas, row, column, line->text, style);
        else
            draw_cut(state, canvas, row++, column, line, style);
    }
}

/* The window moves when the way leads out of it. */
static void move(struct view *view, ptrdiff_t by)
{
    struct state *state = view->state;
    ptrdiff_t last = (ptrdiff_t)state->n_lines - view->rows;
    ptrdiff_t to = (ptrdiff_t)state->top + by;

    if (to < 0 && state->n_lines && state->lines[0].number > 1) {
        state->wanted = by < -WINDOW_LINES ? 1 : state->lines[0].number;
        view->wants_load = true;
        return;
    }
    if (to > last && state->has_more) {
        state->wanted = state->lines[state->n_lines - 1].number;
        view->wants_load = true;
        return;
    }
    state->top = (size_t)(to > last ? (last > 0 ? last : 0) : to < 0 ? 0 : to);
}

static bool act(struct view *view, int action)
{
    struct state *state = view->state;
    ptrdiff_t by;

    if (motion_by(action, view->rows, &by)) {
        move(view, by);
        return true;
    }
    switch (action) {
    case ACT_LEFT:
        state->left = state->left > 8 ? state->left - 8 : 0;
        return true;
    case ACT_RIGHT:
        state->left += 8;
        return true;
    case ACT_WRAP:
        state->wraps = !state->wraps;
        return true;
    case ACT_PLACE:
        state->wanted = state->target == NONE ? 1 : state->target;
        view->wants_load = true;
        return true;
    default:
        return false;
    }
}

static size_t n_lines(const struct view *view)
{
    return ((const struct state *)view->state)->n_lines;
}

static struct str line_text(const struct view *view, size_t i)
{
    return ((const struct state *)view->state)->lines[i].text;
}

static void go(struct view *view, size_t i)
{
    struct state *state = view->state;

    state->top = i > (size_t)view->rows / 3 ? i - (size_t)view->rows / 3 : 0;
}

static size_t at(const struct view *view)
{
    return ((const struct state *)view->state)->top;
}

static void status(const struct view *view, struct buf *out)
{
    const struct state *state = view->state;
    size_t last = state->top + (size_t)(view->rows > 0 ? view->rows : 1) - 1;

    if (state->problem || state->n_lines == 0)
        return;
    buf_printf(out, "%s  lines %lld-%lld", state->name,
               (long long)state->lines[state->top].number,
               (long long)state->lines[last < state->n_lines ? last : state->n_lines - 1].number);
    if (state->target != NONE)
        buf_printf(out, "  evidence at %lld", (long long)state->target);
}

static const char *heading(const struct view *view)
{
    const struct state *state = view->state;

    return state->source_id ? state->name : NULL;
}

const struct view_ops view_log = {
    .id = "log",
    .title = "log",
    .state_size = sizeof(struct state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .n_lines = n_lines,
    .line = line_text,
    .go = go,
    .at = at,
    .status = status,
    .heading = heading,
    .depends_on = DESK_RUN | DESK_CHECK | DESK_EVIDENCE,
};
