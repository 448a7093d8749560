/* The artefacts pane: what was trained, evaluated and shipped, with the broken link named; Enter shows the
 * tensors of a file, with its norms, to sort and filter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "views/artefacts_parts.h"
#include "views/registry.h"
#include "views/scroll.h"

enum { ACT_OPEN, ACT_SORT, ACT_FILTER, ACT_MEASURE, ACT_LEFT, ACT_RIGHT };

static const struct action ACTIONS[] = {
    {ACT_OPEN, "open", "Enter", "the tensors of the file, and back"},
    {ACT_SORT, "sort", "s", "sort the tensors by the next column"},
    {ACT_FILTER, "filter", "i", "all tensors, odd ones, all zero, without a module"},
    {ACT_MEASURE, "measure", "M", "read values and hashes of files that were too large"},
    MOTION_ACTIONS,
    {ACT_LEFT, "scroll-left", "Left", "sideways to the left"},
    {ACT_RIGHT, "scroll-right", "Right", "sideways to the right"},
    {0, NULL, NULL, NULL},
};

struct state {
    struct table table;         /* first: table_view_… */
    struct artefact_rows rows;
    uint64_t serial;            /* of the facts whose tree was shown first */
    int64_t artefact_id;        /* whose tensors are shown; 0: the tree */
    size_t tree_row;            /* where the tree stood */
    enum tensor_filter filter;
    size_t sort;                /* column + 1; 0: as they come */
};

static struct str cell(const void *context, size_t row, size_t column, enum style_role *style)
{
    const struct artefact_row *r = &((const struct state *)context)->rows.items[row];

    *style = r->style[column];
    return str_of(r->cells[column]);
}

/* ---- Sorting ---- */

struct sort_item {
    struct artefact_row row;
    size_t column, at;
};

/* Numbers from great to small, unknown ones last; texts from a to z. */
static int by_column(const void *a, const void *b)
{
    const struct sort_item *x = a, *y = b;
    double left = x->row.keys[x->column], right = y->row.keys[y->column];

    if (isnan(left) != isnan(right))
        return isnan(left) ? 1 : -1;
    if (!isnan(left) && left != right)
        return left > right ? -1 : 1;
    int order = isnan(left) ? strcmp(x->row.cells[x->column], y->row.cells[y->column]) : 0;
    return order ? order : x->at < y->at ? -1 : 1;
}

static void sort_rows(struct view *view)
{
    struct state *state = view->state;
    struct sort_item *items = arena_array(view->arena, state->rows.n + 1, sizeof *items);

    for (size_t i = 0; items && i < state->rows.n; i++)
        items[i] = (struct sort_item){state->rows.items[i], state->sort - 1, i};
    if (!items)
        return;
    qsort(items, state->rows.n, sizeof *items, by_column);
    for (size_t i = 0; i < state->rows.n; i++)
        state->rows.items[i] = items[i].row;
}

/* ---- The view ---- */

static const struct artefact *shown_artefact(const struct view *view)
{
    const struct state *state = view->state;
    const struct run_facts *facts = view->desk->facts;

    for (size_t i = 0; facts && i < facts->n_artefacts; i++)
        if (state->artefact_id && facts->artefacts[i].id == state->artefact_id)
            return &facts->artefacts[i];
    return NULL;
}

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;
    const struct artefact *artefact = shown_artefact(view);
    bool is_made = true;

    state->rows = (struct artefact_rows){0};
    state->table.n_rows = 0;
    state->table.cell = cell;
    state->table.context = state;
    state->table.sorted_by = -1;
    if (!view->desk->facts)
        return OK;
    if (!artefact)
        state->artefact_id = 0;
    is_made = artefact ? artefacts_tensors(view, artefact, state->filter, &state->rows)
                       : artefacts_tree(view, &state->rows);
    if (!is_made || arena_failed(view->arena))
        return error_set(err, E_NOMEM, "no memory to show the artefacts");
    if (!artefact && state->serial != view->desk->facts->serial) {
        if (state->serial == 0)
            state->table.selected = state->rows.start;
        state->serial = view->desk->facts->serial;
    }
    if (artefact && state->sort) {
        sort_rows(view);
        state->table.sorted_by = (ptrdiff_t)state->sort - 1;
        state->table.is_falling = true;
    }
    state->table.columns = state->rows.columns;
    state->table.n_columns = state->rows.n_columns;
    state->table.n_rows = state->rows.n;
    table_go(&state->table, state->table.selected, view->rows > 1 ? view->rows : 2);
    return OK;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct state *state = view->state;
    struct table table = state->table;

    if (!view->desk->facts || state->rows.n == 0) {
        canvas_puts(canvas, 0, 0, STYLE_DIM,
                    !view->desk->facts   ? "no run chosen"
                    : state->artefact_id ? "no such tensors; i shows others, Enter goes back"
                                         : "no adapter, model or serving record was imported; a adds one");
        return;
    }
    table.match = view->desk->search;
    table_draw(&table, canvas, view->has_focus);
}

static void open_row(struct view *view)
{
    struct state *state = view->state;
    const struct artefact *artefact = NULL;

    if (state->artefact_id) {
        state->artefact_id = 0;
        state->table.selected = state->tree_row;
    } else {
        /* a line under a file stands for the file */
        for (size_t i = state->table.selected + 1; i-- > 0 && i < state->rows.n && !artefact;)
            artefact = state->rows.items[i].artefact;
        if (!artefact)
            return;
        state->tree_row = state->table.selected;
        state->artefact_id = artefact->id;
        state->table.selected = 0;
    }
    state->table.left = 0;
    view->wants_load = true;
}

static bool act(struct view *view, int action)
{
    struct state *state = view->state;

    if (motion_table(&state->table, action, view->rows))
        return true;
    switch (action) {
    case ACT_OPEN:
        open_row(view);
        return true;
    case ACT_SORT:
        state->sort = (state->sort + 1) % (ARTEFACT_COLUMNS + 1);
        view->wants_load = true;
        return true;
    case ACT_FILTER:
        state->filter = (state->filter + 1) % N_TENSOR_FILTERS;
        view->wants_load = true;
        return true;
    case ACT_MEASURE:
        view->desk->request = "set measure=all";
        return true;
    case ACT_LEFT:
    case ACT_RIGHT:
        table_scroll(&state->table, action == ACT_LEFT ? -8 : 8);
        return true;
    default:
        return false;
    }
}

static size_t n_lines(const struct view *view)
{
    const struct state *state = view->state;

    return state->table.n_rows;
}

static struct str line(const struct view *view, size_t i)
{
    const struct state *state = view->state;
    const char *const *cells;

    if (i >= state->rows.n)
        return str_of("");
    cells = state->rows.items[i].cells;
    return str_of(arena_printf(view->arena, "%s  %s  %s  %s  %s  %s", cells[0], cells[1], cells[2],
                               cells[3], cells[4], cells[5]));
}

static void status(const struct view *view, struct buf *out)
{
    const struct state *state = view->state;

    if (state->table.selected >= state->rows.n)
        return;
    for (size_t i = 0; i < state->rows.n_columns; i++) {
        struct str text = str_trim(str_of(state->rows.items[state->table.selected].cells[i]));

        if (text.n)
            buf_puts(out, out->n ? "  " : "");
        buf_str(out, text);
    }
}

static const char *heading(const struct view *view)
{
    const struct state *state = view->state;

    return state->rows.heading;
}

const struct view_ops view_artefacts = {
    .id = "artefacts",
    .title = "artefacts",
    .state_size = sizeof(struct state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .n_lines = n_lines,
    .line = line,
    .go = table_view_go,
    .at = table_view_at,
    .position = table_view_position,
    .status = status,
    .heading = heading,
    .depends_on = DESK_RUN,
};
