/* Help made from the tables of actions: the frame's, then each pane's. */
#include "views/registry.h"
#include "views/textflow.h"

enum { ACT_DOWN, ACT_UP, ACT_TOP, ACT_BOTTOM, ACT_PAGE_DOWN, ACT_PAGE_UP };

static const struct action ACTIONS[] = {
    {ACT_DOWN, "down", "j Down", "scroll down"},
    {ACT_UP, "up", "k Up", "scroll up"},
    {ACT_TOP, "top", "g Home", "first line"},
    {ACT_BOTTOM, "bottom", "G End", "last line"},
    {ACT_PAGE_DOWN, "page-down", "C-d PgDn Space", "a page down"},
    {ACT_PAGE_UP, "page-up", "C-u PgUp b", "a page up"},
    {0, NULL, NULL, NULL},
};

struct state {
    struct textflow flow;
    size_t top;
};

static const struct action *frame_actions;
static const char *(*bound_keys)(const struct action *, const char *);

void view_help_set_frame_actions(const struct action *actions,
                                 const char *(*keys)(const struct action *, const char *view_id))
{
    frame_actions = actions;
    bound_keys = keys;
}

static void say_actions(struct textflow *flow, const char *title, const char *view_id,
                        const struct action *actions)
{
    flow_break(flow);
    flow_indent(flow, 0, 0);
    flow_puts(flow, STYLE_STRONG, title);
    for (const struct action *action = actions; action && action->name; action++) {
        flow_break(flow);
        flow_indent(flow, 2, 36);
        flow_printf(flow, STYLE_TEXT, "%-16s", bound_keys ? bound_keys(action, view_id) : action->keys);
        flow_printf(flow, STYLE_DIM, " %-18s", action->name);
        flow_printf(flow, STYLE_TEXT, " %s", action->help);
    }
    flow_break(flow);
}

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;
    struct textflow *flow = &state->flow;

    (void)err;
    flow_begin(flow, view->arena, view->canvas, view->columns > 1 ? view->columns : 1);
    flow_puts(flow, STYLE_TEXT,
              "The checklist runs from the cheapest question to the dearest: settle it from the top. "
              "ok, warn, FAIL, ? (something is missing: the row says what to import), n/a. "
              "> is the opened check, * a failing stage that may explain it.");
    flow_break(flow);
    flow_puts(flow, STYLE_TEXT,
              "Under a curve: N NaN, ^ +Inf, v -Inf, X last step of a run that did not finish, R resume, "
              "! clipped spike, 0 zero (or <= 0 on a log axis), C checkpoint, + several; e on the "
              "curve is an evaluation. A smoothed line (ema w) trails by about w/(1-w) samples; the "
              "band behind it is the raw data, and verdicts use raw data only.");
    flow_break(flow);
    say_actions(flow, "everywhere (the name also works after :)", "frame", frame_actions);
    for (size_t i = 0; i < view_count(); i++)
        say_actions(flow, view_at(i)->title, view_at(i)->id, view_at(i)->actions);
    return OK;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct state *state = view->state;

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

const struct view_ops view_help = {
    .id = "help",
    .title = "help",
    .state_size = sizeof(struct state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .n_lines = n_lines,
    .line = line_text,
    .go = go,
};
