/* Where the user came from, which pane has the keys, and how large it is. */
#include <string.h>

#include "tui/frame.h"

void app_mark_way(struct app *app)
{
    const struct way here = {app->main_view, app->main_is_chosen, app->focus, app->zoom};

    if (app->n_way == MAX_WAY) {
        memmove(app->way, app->way + 1, (MAX_WAY - 1) * sizeof app->way[0]);
        app->n_way--;
    }
    app->way[app->n_way++] = here;
}

bool app_go_back(struct app *app)
{
    app->needs_layout = true;
    if (app->n_way) {
        const struct way *way = &app->way[--app->n_way];

        app->main_view = way->main_view;
        app->main_is_chosen = way->main_is_chosen;
        app->focus = way->focus;
        app->zoom = way->zoom;
        app_suit_views(app);
    } else if (app->zoom) {
        app->zoom = ZOOM_NONE;
    } else {
        return false;
    }
    return true;
}

/* In a narrow terminal one pane stands alone already: there is no half. */
void app_zoom(struct app *app)
{
    bool has_half = app->canvas->columns >= NARROW_COLUMNS;

    app->zoom = app->zoom == ZOOM_NONE && has_half ? ZOOM_HALF
                : app->zoom == ZOOM_FULL           ? ZOOM_NONE
                                                   : ZOOM_FULL;
    app->needs_layout = true;
}

void app_move_focus(struct app *app, int by)
{
    static const enum slot order[] = {SLOT_TRIAGE, SLOT_EVIDENCE, SLOT_MAIN};
    size_t at = 0;

    if (app->n_panes < 2 || app->zoom) {        /* the others are there, only not seen */
        int i = app->focus == SLOT_EVIDENCE ? 1 : app->focus == SLOT_TRIAGE ? 0 : 2;

        app->focus = order[(i + by + 3) % 3];
        app->needs_layout = true;
        return;
    }
    for (size_t i = 0; i < app->n_panes; i++)
        if (app->panes[i].slot == app->focus)
            at = i;
    at = (at + (size_t)(by > 0 ? 1 : app->n_panes - 1)) % app->n_panes;
    app->focus = app->panes[at].slot;
    if (app->canvas->columns < NARROW_COLUMNS)
        app->needs_layout = true;
}
