/* What was read: the files of the run with their importers, and the notes on places in them. */
#include <string.h>

#include "views/registry.h"
#include "views/scroll.h"

static const struct action ACTIONS[] = {
    MOTION_ACTIONS,
    {0, NULL, NULL, NULL},
};

struct state {
    struct scroll scroll;       /* first: scroll_view_… */
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

/* Below the run, else below what was opened. */
static const char *shown_path(const struct run *run, const char *path)
{
    const char *const tops[] = {run->folder, run->project};

    for (size_t i = 0; i < sizeof tops / sizeof tops[0]; i++) {
        size_t n = tops[i] ? strlen(tops[i]) : 0;

        if (n && strncmp(path, tops[i], n) == 0 && path[n] == '/')
            return path + n + 1;
    }
    return path;
}

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;
    struct textflow *flow = &state->scroll.flow;
    const struct run_facts *facts = view->desk->facts;

    (void)err;
    scroll_begin(&state->scroll, view);
    if (!facts)
        return OK;
    flow_printf(flow, STYLE_STRONG, "%zu files were read", facts->n_sources);
    for (size_t i = 0; i < facts->n_sources; i++) {
        const struct source *source = &facts->sources[i];

        flow_break(flow);
        flow_indent(flow, 2, 6);
        flow_puts(flow, STYLE_TEXT, shown_path(&facts->run, source->path));
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
    scroll_end(&state->scroll, view);
    return OK;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct state *state = view->state;

    if (!view->desk->facts)
        canvas_puts(canvas, 0, 0, STYLE_DIM, "no run is open");
    else
        scroll_draw(&state->scroll, canvas);
}

static bool act(struct view *view, int action)
{
    return scroll_act(&((struct state *)view->state)->scroll, action, view->rows);
}

const struct view_ops view_import = {
    .id = "import",
    .title = "import",
    .state_size = sizeof(struct state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .n_lines = scroll_view_lines,
    .line = scroll_view_line,
    .go = scroll_view_go,
    .at = scroll_view_at,
    .position = scroll_view_position,
    .depends_on = DESK_RUN,
};
