/* Searching in the focused pane while typing: smart case, "n of m", and the way back on Esc. */
#include <ctype.h>
#include <string.h>

#include "tui/frame.h"

static bool is_smart_case(const char *needle)
{
    for (; *needle; needle++)
        if (isupper((unsigned char)*needle))
            return true;
    return false;
}

static bool has_hit(struct str text, const char *needle)
{
    return is_smart_case(needle) ? str_find(text, needle) >= 0
                                 : str_has_ignoring_case(text, needle);
}

/* Lines are made in an arena of their own: a long search must not fill up the pane's. */
static bool line_matches(struct app *app, struct view *view, size_t i)
{
    struct arena *own = view->arena;
    bool found;

    view->arena = app->search_arena;
    found = has_hit(view->ops->line(view, i), app->search);
    view->arena = own;
    arena_reset(app->search_arena);
    return found;
}

void app_search_begin(struct app *app)
{
    const struct view *view = app_focused(app);

    app->search_from = view && view->ops->at ? view->ops->at(view) : 0;
    prompt_open(&app->prompt, PROMPT_SEARCH, "");
}

/* The number of the hit to go to, from 1. */
static size_t wanted_hit(const struct app *app, int direction, size_t n_before)
{
    if (direction == 0)         /* the first at or after where the search began */
        return n_before < app->search_n ? n_before + 1 : 1;
    if (direction > 0)
        return app->search_at < app->search_n ? app->search_at + 1 : 1;
    return app->search_at > 1 ? app->search_at - 1 : app->search_n;
}

void app_search(struct app *app, int direction)
{
    struct view *view = app_focused(app);
    size_t n, hits = 0, before = 0, wanted;

    app->search_n = 0;
    if (!view || !view->ops->n_lines || !app->search[0])
        return;
    n = view->ops->n_lines(view);
    for (size_t i = 0; i < n; i++)
        if (line_matches(app, view, i)) {
            app->search_n++;
            before += i < app->search_from;
        }
    if (app->search_n == 0)
        return;
    wanted = wanted_hit(app, direction, before);
    for (size_t i = 0; i < n; i++)
        if (line_matches(app, view, i) && ++hits == wanted) {
            app->search_at = wanted;
            view->ops->go(view, i);
            return;
        }
}

void app_search_end(struct app *app)
{
    struct view *view = app_focused(app);

    if (app->prompt.kind == PROMPT_SEARCH && view && view->ops->go && view->ops->n_lines &&
        app->search_from < view->ops->n_lines(view))
        view->ops->go(view, app->search_from);
    app->search[0] = '\0';
    app->search_n = app->search_at = 0;
}

static bool starts_hit(const struct cell *cells, int n, const char *needle, bool smart)
{
    for (int i = 0; needle[i]; i++) {
        int32_t c = i < n ? cells[i].base : 0;

        if (c == 0)
            c = ' ';
        if (c != (unsigned char)needle[i] &&
            (smart || c >= 128 || tolower((int)c) != tolower((unsigned char)needle[i])))
            return false;
    }
    return true;
}

/* On the cells, so that it holds for every pane alike. Only ASCII is marked, found is all. */
void app_mark_hits(const struct app *app, struct canvas *canvas, const struct area *area)
{
    int n = (int)strlen(app->search);
    bool smart = is_smart_case(app->search);

    for (int row = 0; n && row < area->rows; row++) {
        struct cell *cells =
            canvas->cells + (area->top + row) * canvas->columns + area->left;

        for (int column = 0; column + n <= area->columns; column++)
            if (starts_hit(cells + column, area->columns - column, app->search, smart)) {
                for (int i = 0; i < n; i++)
                    cells[column + i].style = STYLE_MATCH;
                column += n - 1;
            }
    }
}
