/* The runs of the cache: choose one, or draw one beside the other. */
#include <string.h>
#include <unistd.h>

#include "views/registry.h"
#include "views/scroll.h"

enum { ACT_OPEN, ACT_BASELINE };

static const struct action ACTIONS[] = {
    {ACT_OPEN, "open", "Enter", "open the run"},
    {ACT_BASELINE, "baseline", "b Space", "draw the run beside the open one, or no longer"},
    MOTION_ACTIONS,
    {0, NULL, NULL, NULL},
};

static const struct table_column COLUMNS[] = {
    {"", false, 0}, {"run", false, 32}, {"state", false, 0}, {"kind", false, 0}, {"folder", false, 0}};

struct state {
    struct table table;         /* first: table_view_… */
    const struct desk *desk;
    char here[4096];            /* the current folder */
    int64_t run_id;             /* the open run that the selection was moved to */
};

/* The path as one would type it. */
static struct str from_here(const struct state *state, const char *path)
{
    size_t n = strlen(state->here);

    if (n > 1 && strncmp(path, state->here, n) == 0 && path[n] == '/')
        return str_of(path + n + 1);
    return str_of(n > 1 && strcmp(path, state->here) == 0 ? "." : path);
}

static struct str cell(const void *context, size_t row, size_t column, enum style_role *style)
{
    const struct desk *desk = ((const struct state *)context)->desk;
    const struct run *run = &desk->runs[row];

    switch (column) {
    case 0:
        return str_of(run->id == desk->run_id ? ">" : run->id == desk->baseline_id ? "=" : " ");
    case 1:
        return str_of(run->name);
    case 2:
        *style = run->outcome == OUTCOME_CRASHED ? STYLE_FAIL : STYLE_TEXT;
        return str_of(outcome_name(run->outcome));
    case 3:
        return str_of(run_kind_name(run->kind));
    default:
        *style = STYLE_DIM;
        return from_here(context, run->folder);
    }
}

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;

    (void)err;
    if (!getcwd(state->here, sizeof state->here))
        state->here[0] = '\0';
    state->desk = view->desk;
    state->table.columns = COLUMNS;
    state->table.n_columns = sizeof COLUMNS / sizeof COLUMNS[0];
    state->table.n_rows = view->desk->n_runs;
    state->table.cell = cell;
    state->table.context = state;
    state->table.match = view->desk->search;
    state->table.sorted_by = -1;
    for (size_t i = 0; state->run_id != view->desk->run_id && i < view->desk->n_runs; i++)
        if (view->desk->runs[i].id == view->desk->run_id)
            state->table.selected = i;
    state->run_id = view->desk->run_id;
    table_go(&state->table, state->table.selected, view->rows > 1 ? view->rows : 2);
    return OK;
}

/* In a narrow pane a long name must not push the state out. */
static void draw_table(const struct state *state, struct canvas *canvas, bool has_focus)
{
    struct table table = state->table;
    struct table_column columns[sizeof COLUMNS / sizeof COLUMNS[0]];
    int most = canvas_area(canvas).columns - 14;

    memcpy(columns, COLUMNS, sizeof columns);
    if (most < columns[1].max_cells)
        columns[1].max_cells = most > 8 ? most : 8;
    table.columns = columns;
    table_draw(&table, canvas, has_focus);
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct state *state = view->state;

    if (view->desk->n_runs == 0)
        canvas_puts(canvas, 0, 0, STYLE_DIM, "no runs yet; :import PATH adds some");
    else
        draw_table(state, canvas, view->has_focus);
}

static bool act(struct view *view, int action)
{
    struct state *state = view->state;
    struct desk *desk = view->desk;
    int64_t run = desk->n_runs ? desk->runs[state->table.selected].id : 0;

    if (motion_table(&state->table, action, view->rows))
        return true;
    switch (action) {
    case ACT_OPEN:
        if (run) {
            desk_choose_run(desk, run);
            desk->open_view = "triage";
        }
        return true;
    case ACT_BASELINE:
        desk->baseline_id = desk->baseline_id == run || run == desk->run_id ? 0 : run;
        desk->changed |= DESK_BASELINE;
        return true;
    default:
        return false;
    }
}

static size_t n_lines(const struct view *view)
{
    return view->desk->n_runs;
}

static struct str line_text(const struct view *view, size_t i)
{
    const struct run *run = &view->desk->runs[i];

    return str_of(arena_printf(view->arena, "%s %s %s", run->name, outcome_name(run->outcome),
                               run->folder));
}

const struct view_ops view_runs = {
    .id = "runs",
    .title = "runs",
    .state_size = sizeof(struct state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .n_lines = n_lines,
    .line = line_text,
    .go = table_view_go,
    .at = table_view_at,
    .position = table_view_position,
    .depends_on = DESK_RUN | DESK_BASELINE,
};
