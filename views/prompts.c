/* The prompts pane: the prompt trained against the prompt served, side by side or unified, by line, word
 * or token, with the first difference named; and what the chat template does with plain conversations.
 * The pair is made by core/facts/prompt_pair, the lines in prompts_draw.c. */
#include <string.h>

#include "views/prompts_parts.h"
#include "views/registry.h"

#define SIDEWAYS 8

enum { ACT_SIDES, ACT_UNIT, ACT_BLANKS, ACT_WRAP, ACT_LINT, ACT_DIFFERENCE, ACT_LEFT, ACT_RIGHT };

static const struct action ACTIONS[] = {
    {ACT_SIDES, "side-by-side", "d", "side by side, or one under the other"},
    {ACT_UNIT, "unit", "t", "differences by line, word or token"},
    {ACT_BLANKS, "blanks", "W", "every blank visible"},
    {ACT_WRAP, "wrap", "w", "wrap long lines or scroll sideways"},
    {ACT_LINT, "lint", "l", "what the chat template does with plain conversations"},
    {ACT_DIFFERENCE, "first-difference", "n", "to the first difference"},
    {ACT_LEFT, "scroll-left", "Left", "sideways to the left"},
    {ACT_RIGHT, "scroll-right", "Right", "sideways to the right"},
    MOTION_ACTIONS,
    {0, NULL, NULL, NULL},
};

/* Made once for the facts: tokenizers are loaded and rows read for it, so the screen says so first. */
static int find_pair(struct view *view, struct prompts_state *state, struct error *err)
{
    const struct run_facts *facts = view->desk->facts;

    if (state->pair && state->serial == facts->serial)
        return OK;
    state->pair = NULL;
    if (!state->was_announced) {
        state->was_announced = view->wants_load = true;
        flow_puts(&state->scroll.flow, STYLE_DIM, "comparing the prompts ...");
        return OK;
    }
    state->was_announced = false;
    state->pair = facts_prompt_pair(facts);
    state->serial = facts->serial;
    if (state->pair)
        return OK;
    return run_facts_status(facts, err) != OK ? err->status : error_set(err, E_NOMEM, "two prompts");
}

static int load(struct view *view, struct error *err)
{
    struct prompts_state *state = view->state;
    int rc = OK;

    state->heading[0] = '\0';
    scroll_begin(&state->scroll, view);
    if (view->desk->facts)
        rc = find_pair(view, state, err);
    else
        state->pair = NULL;
    if (rc == OK && state->pair)
        rc = prompts_write(state, view, err);
    scroll_end(&state->scroll, view);
    return rc;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct prompts_state *state = view->state;

    if (!view->desk->facts)
        canvas_puts(canvas, 0, 0, STYLE_DIM,
                    view->desk->is_importing ? "reading the files" : "no run is open");
    else if (state->no_wrap && !prompts_in_columns(state, view->columns))
        flow_draw(&state->scroll.flow, canvas, state->scroll.top, state->left);
    else
        scroll_draw(&state->scroll, canvas);
}

static bool reload(struct view *view)
{
    view->wants_load = true;
    return true;
}

/* Columns are cut anew for each place; all else is only drawn from another cell on. */
static bool sideways(struct view *view, int by)
{
    struct prompts_state *state = view->state;

    if (!state->no_wrap)
        return false;
    state->left = state->left + by > 0 ? state->left + by : 0;
    return reload(view);
}

static const char *heading(const struct view *view)
{
    const struct prompts_state *state = view->state;

    return state->heading[0] ? state->heading : NULL;
}

static bool act(struct view *view, int action)
{
    struct prompts_state *state = view->state;

    switch (action) {
    case ACT_SIDES:
        state->sides = prompts_in_columns(state, view->columns) ? PROMPTS_UNIFIED : PROMPTS_SIDE_BY_SIDE;
        return reload(view);
    case ACT_UNIT:
        state->unit = (enum prompts_unit)((state->unit + 1) % N_PROMPTS_UNITS);
        return reload(view);
    case ACT_BLANKS:
        state->shows_blanks = !state->shows_blanks;
        return reload(view);
    case ACT_WRAP:
        state->no_wrap = !state->no_wrap;
        state->left = 0;
        return reload(view);
    case ACT_LINT:
        state->shows_lint = !state->shows_lint;
        state->scroll.top = 0;
        return reload(view);
    case ACT_DIFFERENCE:
        scroll_go(&state->scroll, flow_find_tag(&state->scroll.flow, PROMPTS_TAG_DIFFERENCE), view->rows);
        return true;
    case ACT_LEFT:
        return sideways(view, -SIDEWAYS);
    case ACT_RIGHT:
        return sideways(view, SIDEWAYS);
    default:
        return scroll_act(&state->scroll, action, view->rows);
    }
}

const struct view_ops view_prompts = {
    .id = "prompts",
    .title = "prompts",
    .state_size = sizeof(struct prompts_state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .n_lines = scroll_view_lines,
    .line = scroll_view_line,
    .go = scroll_view_go,
    .at = scroll_view_at,
    .position = scroll_view_position,
    .heading = heading,
    .depends_on = DESK_RUN,
};
