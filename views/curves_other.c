/* The baseline's curve beside the run's own. */
#include "views/curves_parts.h"

static void forget(struct curves_state *state)
{
    run_facts_close(state->other);
    state->other = NULL;
}

/* The facts of the baseline, opened again when its files were read again. */
static int open_other(struct view *view, struct error *err)
{
    struct curves_state *state = view->state;
    const struct desk *desk = view->desk;

    if (state->other && (state->other->run.id != desk->baseline_id ||
                         !run_facts_are_current(state->other, desk->store)))
        forget(state);
    if (state->other || !desk->baseline_id || !desk->store)
        return OK;
    return run_facts_open(&state->other, desk->store, desk->baseline_id, err);
}

int curves_add_other(struct view *view, struct error *err)
{
    struct curves_state *state = view->state;

    state->made_baseline = view->desk->baseline_id;
    if (!view->desk->baseline_id) {
        forget(state);
        return OK;
    }
    int rc = open_other(view, err);
    if (rc != OK || !state->other)
        return rc;
    return picture_add_other(&state->picture, state->other, state->x, state->pictures, err);
}
