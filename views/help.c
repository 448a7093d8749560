/* Help made from the tables of actions: the frame's, then each pane's. */
#include "views/registry.h"
#include "views/scroll.h"

static const struct action ACTIONS[] = {
    MOTION_ACTIONS,
    {0, NULL, NULL, NULL},
};

struct state {
    struct scroll scroll;       /* first: scroll_view_… */
};

static const struct action *frame_actions;
static const char *(*bound_keys)(const struct action *, const char *);

void view_help_set_frame_actions(const struct action *actions,
                                 const char *(*keys)(const struct action *, const char *view_id))
{
    frame_actions = actions;
    bound_keys = keys;
}

static const struct view_ops *focused;

void view_help_set_focus(const struct view_ops *ops)
{
    if (ops != &view_help)
        focused = ops;
}

static void say_action(struct textflow *flow, const struct action *action, const char *keys)
{
    bool is_narrow = flow->columns < 64;

    flow_break(flow);
    flow_indent(flow, 2, is_narrow ? 6 : 36);
    flow_printf(flow, STYLE_STRONG, is_narrow ? "%s" : "%-14s", keys);
    flow_printf(flow, STYLE_DIM, is_narrow ? " %s" : " %-17s", action->name);
    flow_printf(flow, STYLE_TEXT, " %s", action->help);
}

static void say_title(struct textflow *flow, const char *title)
{
    if (flow->n_lines) {
        flow_break(flow);
        flow_break(flow);
    }
    flow_indent(flow, 0, 0);
    flow_puts(flow, STYLE_STRONG, title);
}

/* Moving is the same in all panes that have it: said once. */
static void say_actions(struct textflow *flow, const char *title, const char *view_id,
                        const struct action *actions, bool with_motions)
{
    bool has_title = false;

    for (const struct action *action = actions; action && action->name; action++) {
        if (!with_motions && action->id >= MOTION_FIRST && action->id <= MOTION_PAGE_UP)
            continue;
        if (!has_title)
            say_title(flow, title);
        has_title = true;
        say_action(flow, action, bound_keys ? bound_keys(action, view_id) : action->keys);
    }
    flow_break(flow);
}

static void say_legend(struct textflow *flow)
{
    say_title(flow, "what the signs mean");
    flow_break(flow);
    flow_indent(flow, 2, 2);
    flow_puts(flow, STYLE_TEXT,
              "The checklist runs from the cheapest question to the dearest: settle it from the top. "
              "ok, warn, FAIL, ? (something is missing: Enter on it asks for the file), n/a, off "
              "(dismissed). > is the opened check, v one marked as seen, * a failing stage that may "
              "explain the opened check.");
    flow_break(flow);
    flow_puts(flow, STYLE_TEXT,
              "Under a curve: N NaN, ^ +Inf, v -Inf, X last step of a run that did not finish, R "
              "resume, ! clipped spike, 0 zero (or <= 0 on a log axis), C checkpoint, G chosen commit, "
              "+ several; e "
              "on the curve is an evaluation. A smoothed line (ema w) trails by about w/(1-w) "
              "samples; the band behind it is the raw data, and verdicts use raw data only.");
    flow_break(flow);
}

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;
    struct textflow *flow = &state->scroll.flow;

    (void)err;
    scroll_begin(&state->scroll, view);
    if (focused)
        say_actions(flow, arena_printf(view->arena, "in this pane: %s", focused->title),
                    focused->id, focused->actions, false);
    say_actions(flow, "everywhere (the names also work after :)", "frame", frame_actions, false);
    say_actions(flow, "moving, in lists and texts", "help", ACTIONS, true);
    say_legend(flow);
    for (size_t i = 0; i < view_count(); i++)
        if (view_at(i) != focused && view_at(i) != &view_help)
            say_actions(flow, view_at(i)->title, view_at(i)->id, view_at(i)->actions, false);
    scroll_end(&state->scroll, view);
    return OK;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    scroll_draw(&((const struct state *)view->state)->scroll, canvas);
}

static bool act(struct view *view, int action)
{
    return scroll_act(&((struct state *)view->state)->scroll, action, view->rows);
}

const struct view_ops view_help = {
    .id = "help",
    .title = "help",
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
};
