/* The settings pane: every setting as every file states it, with its source. What decides when two
 * files disagree is marked; nothing is left out. */
#include <stdlib.h>
#include <string.h>

#include "views/registry.h"
#include "views/scroll.h"

enum { ACT_LEFT, ACT_RIGHT, ACT_SORT };

static const struct action ACTIONS[] = {
    {ACT_SORT, "sort", "s", "sort by the next column"},
    MOTION_ACTIONS,
    {ACT_LEFT, "scroll-left", "Left", "sideways to the left"},
    {ACT_RIGHT, "scroll-right", "Right", "sideways to the right"},
    {0, NULL, NULL, NULL},
};

enum { COLUMN_NAME, COLUMN_VALUE, COLUMN_SIDE, COLUMN_SOURCE, COLUMN_RAW, N_COLUMNS };

static const struct table_column COLUMNS[N_COLUMNS] = {
    {"setting", false, 44}, {"value", false, 40}, {"side", false, 0}, {"source", false, 48},
    {"written as", false, 0},
};

struct settings_row {
    const struct setting *setting;
    bool decides;               /* the most trusted statement of its name */
    bool is_contradicted;       /* another file says something else */
    const char *source;         /* "config.yaml:12" */
    const char *line;           /* all of it, for search and copy */
};

struct state {
    struct table table;         /* first: table_view_… */
    struct settings_row *rows;
    size_t sort;                /* column */
    ptrdiff_t check;            /* 1 + the check, whose evidence the selection was moved to */
    size_t evidence;
};

static const char *name_of(const struct setting *setting)
{
    return setting->name ? setting->name : setting->raw_name ? setting->raw_name : "";
}

static const char *value_of(const struct setting *setting)
{
    return setting->value ? setting->value : "null";
}

static const char *text_of(const struct settings_row *row, size_t column)
{
    switch (column) {
    case COLUMN_NAME:
        return name_of(row->setting);
    case COLUMN_VALUE:
        return value_of(row->setting);
    case COLUMN_SIDE:
        return side_name(row->setting->side);
    case COLUMN_SOURCE:
        return row->source;
    default:
        return row->setting->raw_name ? row->setting->raw_name : "";
    }
}

static struct str cell(const void *context, size_t row, size_t column, enum style_role *style)
{
    const struct state *state = context;
    const struct settings_row *r = &state->rows[row];

    if (!r->decides)
        *style = STYLE_DIM;
    if (column == COLUMN_VALUE && r->is_contradicted)
        *style = STYLE_WARN;
    return str_of(text_of(r, column));
}

/* Sorting needs the column, and qsort has no context: the column is kept beside each row. */
struct sort_item {
    struct settings_row row;
    size_t column, at;
};

static int compare(const void *a, const void *b)
{
    const struct sort_item *x = a, *y = b;
    bool is_known = x->row.setting->name, is_other_known = y->row.setting->name;

    /* By name, those that the checks know stand first: the rest are mostly defaults. */
    if (x->column == COLUMN_NAME && is_known != is_other_known)
        return is_known ? -1 : 1;
    int order = strcmp(text_of(&x->row, x->column), text_of(&y->row, y->column));
    return order ? order : x->at < y->at ? -1 : 1;
}

static void sort_rows(struct view *view)
{
    struct state *state = view->state;
    size_t n = state->table.n_rows;
    struct sort_item *items = arena_array(view->arena, n ? n : 1, sizeof *items);

    if (!items)
        return;
    for (size_t i = 0; i < n; i++)
        items[i] = (struct sort_item){state->rows[i], state->sort, i};
    qsort(items, n, sizeof *items, compare);
    for (size_t i = 0; i < n; i++)
        state->rows[i] = items[i].row;
    state->table.sorted_by = (ptrdiff_t)state->sort;
}

static void fill_row(const struct run_facts *facts, const struct setting *setting,
                     struct arena *arena, struct settings_row *row)
{
    const struct setting *best =
        setting->name ? facts_setting_on(facts, setting->side, setting->name) : setting;
    const char *file = setting->source_id ? facts_file_name(facts, setting->source_id) : "you said";

    row->setting = setting;
    row->decides = !best || best == setting ||
                   (best->source_id == setting->source_id && best->line == setting->line);
    row->is_contradicted = best && strcmp(value_of(best), value_of(setting)) != 0;
    const char *mark = row->decides ? "" : row->is_contradicted ? " (not used)" : " (same)";
    row->source = setting->line != NONE && setting->line > 0
                      ? arena_printf(arena, "%s:%lld%s", file, (long long)setting->line, mark)
                      : arena_printf(arena, "%s%s", file, mark);
    row->line = arena_printf(arena, "%s  %s  %s  %s  %s", text_of(row, COLUMN_NAME),
                             text_of(row, COLUMN_VALUE), text_of(row, COLUMN_SIDE), row->source,
                             text_of(row, COLUMN_RAW));
}

static bool names(const char *text, const char *name)
{
    size_t n = name ? strlen(name) : 0;

    return n && text && strncmp(text, name, n) == 0 && (text[n] == ' ' || text[n] == '=');
}

/* How well a row fits: its name begins the text of the evidence, or at least the line is the same
 * (a whole file may stand in one line). */
static int fit(const struct settings_row *row, const struct evidence *evidence)
{
    const struct setting *setting = row->setting;

    if (setting->source_id != evidence->source_id)
        return 0;
    if (names(evidence->text, setting->raw_name) || names(evidence->text, setting->name))
        return 2;
    return evidence->line != NONE && evidence->line == setting->line;
}

/* A setting that is evidence is selected when it becomes the current evidence. */
static void follow_evidence(struct view *view)
{
    const struct desk *desk = view->desk;
    struct state *state = view->state;
    const struct check_result *result;
    int best = 0;

    if (state->check == desk->check + 1 && state->evidence == desk->evidence)
        return;
    state->check = desk->check + 1;
    state->evidence = desk->evidence;
    if (!desk->verdicts || desk->check < 0)
        return;
    result = &desk->verdicts->rows[desk->check].result;
    for (size_t i = 0; desk->evidence < result->n_evidence && i < state->table.n_rows; i++) {
        int found = fit(&state->rows[i], &result->evidence[desk->evidence]);

        if (found > best) {
            best = found;
            table_go(&state->table, i, view->rows > 1 ? view->rows : 2);
        }
    }
}

/* A setting that another pane names: the statement that decides. */
static void follow_wish(struct view *view)
{
    struct desk *desk = view->desk;
    struct state *state = view->state;
    const char *wanted = desk->open_setting;
    ptrdiff_t best = -1;

    desk->open_setting = NULL;
    for (size_t i = 0; wanted && i < state->table.n_rows; i++) {
        const struct settings_row *row = &state->rows[i];
        bool is_it = strcmp(name_of(row->setting), wanted) == 0 && row->setting->side == desk->open_side;

        if (is_it && (best < 0 || row->decides))
            best = (ptrdiff_t)i;
    }
    if (best >= 0)
        table_go(&state->table, (size_t)best, view->rows > 1 ? view->rows : 2);
}

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;
    const struct run_facts *facts = view->desk->facts;
    size_t n = facts ? facts->n_settings : 0;

    state->table.columns = COLUMNS;
    state->table.n_columns = N_COLUMNS;
    state->table.cell = cell;
    state->table.context = state;
    state->table.n_rows = 0;
    state->rows = arena_array(view->arena, n ? n : 1, sizeof *state->rows);
    if (!state->rows)
        return error_set(err, E_NOMEM, "%zu settings", n);
    for (size_t i = 0; i < n; i++)
        fill_row(facts, &facts->settings[i], view->arena, &state->rows[i]);
    if (arena_failed(view->arena))
        return error_set(err, E_NOMEM, "%zu settings", n);
    state->table.n_rows = n;
    sort_rows(view);
    table_go(&state->table, state->table.selected, view->rows > 1 ? view->rows : 2);
    follow_evidence(view);
    follow_wish(view);
    return OK;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct state *state = view->state;
    struct table table = state->table;

    if (!view->desk->facts || table.n_rows == 0) {
        canvas_puts(canvas, 0, 0, STYLE_UNKNOWN,
                    view->desk->facts ? "no settings were found: the key a imports the"
                                      : "no run chosen");
        if (view->desk->facts)
            canvas_puts(canvas, 1, 0, STYLE_UNKNOWN, "configuration, training_args.bin or a log");
        return;
    }
    table.match = view->desk->search;
    /* In a narrow pane a long name must not push the values out. */
    struct table_column columns[N_COLUMNS];
    int width = canvas_area(canvas).columns * 2 / 5;
    memcpy(columns, COLUMNS, sizeof columns);
    for (size_t i = COLUMN_NAME; i <= COLUMN_VALUE; i++)
        if (width < columns[i].max_cells)
            columns[i].max_cells = width > 12 ? width : 12;
    table.columns = columns;
    table_draw(&table, canvas, view->has_focus);
}

static bool act(struct view *view, int action)
{
    struct state *state = view->state;
    struct table *table = &state->table;

    if (motion_table(table, action, view->rows))
        return true;
    switch (action) {
    case ACT_LEFT:
    case ACT_RIGHT:
        table_scroll(table, action == ACT_LEFT ? -8 : 8);
        return true;
    case ACT_SORT:
        state->sort = (state->sort + 1) % N_COLUMNS;
        sort_rows(view);
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
    return str_of(i < state->table.n_rows ? state->rows[i].line : "");
}

static void status(const struct view *view, struct buf *out)
{
    const struct state *state = view->state;
    if (state->table.selected >= state->table.n_rows)
        return;
    const struct settings_row *row = &state->rows[state->table.selected];
    buf_printf(out, "%s = ", text_of(row, COLUMN_NAME));
    buf_str(out, str_first(str_of(text_of(row, COLUMN_VALUE)), 400));
    buf_printf(out, "  %s  %s", text_of(row, COLUMN_SIDE), row->source);
}

const struct view_ops view_settings = {
    .id = "settings",
    .title = "settings",
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
    .depends_on = DESK_RUN | DESK_CHECK | DESK_EVIDENCE | DESK_SETTING,
};
