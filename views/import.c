/* What was read: the files of the run with their importers, and the notes on places in them. */
#include <string.h>

#include "views/registry.h"
#include "views/textflow.h"

enum { ACT_DOWN, ACT_UP, ACT_TOP, ACT_BOTTOM, ACT_PAGE_DOWN, ACT_PAGE_UP, ACT_ADD };

static const struct action ACTIONS[] = {
    {ACT_DOWN, "down", "j Down", "scroll down"},
    {ACT_UP, "up", "k Up", "scroll up"},
    {ACT_TOP, "top", "g Home", "first line"},
    {ACT_BOTTOM, "bottom", "G End", "last line"},
    {ACT_PAGE_DOWN, "page-down", "C-d PgDn Space", "a page down"},
    {ACT_PAGE_UP, "page-up", "C-u PgUp b", "a page up"},
    {ACT_ADD, "add-file", "a", "add a file (:import PATH)"},
    {0, NULL, NULL, NULL},
};

struct state {
    struct textflow flow;
    size_t top;
};

static void say_note(const struct view *view, struct textflow *flow, const struct note *note)
{
    static const enum style_role styles[] = {
        [NOTE_INFO] = STYLE_DIM, [NOTE_WARN] = STYLE_WARN, [NOTE_ERROR] = STYLE_FAIL};
    const char *name = note->source_id ? facts_file_name(view->desk->facts, note->source_id)
                       : note->path    ? note->path
                                       : "";

    flow_break(flow);
    flow_indent(flow, 2, 6);
    flow_puts(flow, styles[note->severity], name);
    if (note->line != NONE)
        flow_printf(flow, styles[note->severity], ":%lld", (long long)note->line);
    flow_puts(flow, STYLE_TEXT, name[0] ? ": " : "");
    flow_puts(flow, STYLE_TEXT, note->message);
}

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;
    struct textflow *flow = &state->flow;
    const struct run_facts *facts = view->desk->facts;

    (void)err;
    flow_begin(flow, view->arena, view->canvas, view->columns > 1 ? view->columns : 1);
    if (!facts)
        return OK;
    flow_printf(flow, STYLE_STRONG, "%zu files were read", facts->n_sources);
    for (size_t i = 0; i < facts->n_sources; i++) {
        const struct source *source = &facts->sources[i];
        const char *shown = source->path;
        size_t n = strlen(facts->run.folder);

        if (strncmp(shown, facts->run.folder, n) == 0 && shown[n] == '/')
            shown += n + 1;
        flow_break(flow);
        flow_indent(flow, 2, 6);
        flow_puts(flow, STYLE_TEXT, shown);
        flow_printf(flow, STYLE_DIM, "  %s", source->importer);
        if (source->state != SOURCE_WHOLE)
            flow_printf(flow, STYLE_WARN, "  %s", source_state_name(source->state));
    }
    flow_break(flow);
    flow_break(flow);
    flow_indent(flow, 0, 0);
    flow_printf(flow, STYLE_STRONG, "%zu notes", facts->n_notes);
    for (size_t i = 0; i < facts->n_notes; i++)
        say_note(view, flow, &facts->notes[i]);
    flow_break(flow);
    return OK;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct state *state = view->state;

    if (!view->desk->facts)
        canvas_puts(canvas, 0, 0, STYLE_DIM, "no run is open");
    else
        flow_draw(&state->flow, canvas, state->top, 0);
}

static void move(struct view *view, ptrdiff_t by)
{
    struct state *state = view->state;
    ptrdiff_t last = (ptrdiff_t)state->flow.n_lines - view->rows;
    ptrdiff_t to = (ptrdiff_t)state->top + by;

    state->top = (size_t)(to > last ? (last > 0 ? last : 0) : to < 0 ? 0 : to);
}

static bool act(struct view *view, int action)
{
    const struct state *state = view->state;

    switch (action) {
    case ACT_DOWN:
        move(view, 1);
        return true;
    case ACT_UP:
        move(view, -1);
        return true;
    case ACT_TOP:
        move(view, -(ptrdiff_t)state->flow.n_lines);
        return true;
    case ACT_BOTTOM:
        move(view, (ptrdiff_t)state->flow.n_lines);
        return true;
    case ACT_PAGE_DOWN:
        move(view, view->rows - 1);
        return true;
    case ACT_PAGE_UP:
        move(view, 1 - view->rows);
        return true;
    case ACT_ADD:
        view->desk->request = "import ";
        return true;
    default:
        return false;
    }
}

static size_t n_lines(const struct view *view)
{
    return ((const struct state *)view->state)->flow.n_lines;
}

static struct str line_text(const struct view *view, size_t i)
{
    return flow_line_text(&((const struct state *)view->state)->flow, i, view->arena);
}

static void go(struct view *view, size_t i)
{
    ((struct state *)view->state)->top = 0;
    move(view, (ptrdiff_t)i);
}

const struct view_ops view_import = {
    .id = "import",
    .title = "import",
    .state_size = sizeof(struct state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .n_lines = n_lines,
    .line = line_text,
    .go = go,
    .depends_on = DESK_RUN,
};
