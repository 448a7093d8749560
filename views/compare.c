/* The compare pane: the open run beside the baseline, one row for each setting, data file, curve and
 * verdict that differs. What differs is found by core/facts/compare.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/exports/compare_report.h"
#include "views/registry.h"
#include "views/scroll.h"
#include "views/verdict_words.h"

enum { ACT_OPEN, ACT_SORT, ACT_ALL, ACT_LEFT, ACT_RIGHT };

static const struct action ACTIONS[] = {
    {ACT_OPEN, "open", "Enter", "the setting, the curve or the check"},
    {ACT_SORT, "sort", "s", "sort by the next column"},
    {ACT_ALL, "incidental", "i", "paths, names, logging and saving too, or no longer"},
    MOTION_ACTIONS,
    {ACT_LEFT, "scroll-left", "Left", "sideways to the left"},
    {ACT_RIGHT, "scroll-right", "Right", "sideways to the right"},
    {0, NULL, NULL, NULL},
};

enum { COLUMN_GROUP, COLUMN_NAME, COLUMN_OWN, COLUMN_OTHER, N_COLUMNS };

enum row_kind { ROW_SETTING, ROW_DATA, ROW_CURVE, ROW_VERDICT };

struct compare_row {
    enum row_kind kind;
    const char *cells[N_COLUMNS];
    const char *line;           /* all of it, for search and copy */
    enum style_role own, other; /* of the two values */
    ptrdiff_t check;            /* ROW_VERDICT: index of the desk's verdicts */
    int64_t step;               /* ROW_CURVE: where they part */
    const struct compared_setting *setting;     /* ROW_SETTING */
    bool is_minor;              /* without effect, or stated by one run only */
};

struct state {
    struct table table;         /* first: table_view_… */
    struct table_column columns[N_COLUMNS];
    struct arena *arena;        /* what was compared; kept until another pair is chosen */
    struct run_facts *other;
    uint64_t serial;            /* of the desk's facts that were compared */
    int64_t baseline_id;
    struct compare_row *all;    /* in the order of core/facts/compare.h */
    size_t n_all;
    struct compare_row *rows;   /* those that are shown */
    size_t sort;                /* column + 1; 0: as they come */
    bool with_minor;
    const char *heading;
    char said[200];             /* what Enter found, where it opens nothing */
};

/* ---- Rows ---- */

static void add_row(struct state *state, struct compare_row row)
{
    for (int i = 0; i < N_COLUMNS; i++)
        row.cells[i] = row.cells[i] ? row.cells[i] : "";
    row.line = arena_printf(state->arena, "%s  %s  %s  %s", row.cells[0], row.cells[1], row.cells[2],
                            row.cells[3]);
    state->all[state->n_all++] = row;
}

/* One word: the column is narrow, and knob_name is for sentences. */
static const char *group_of(const struct compared_setting *s)
{
    static const char *const WORDS[N_KNOBS] = {
        [KNOB_EPOCHS] = "epochs", [KNOB_TARGETS] = "targets",   [KNOB_RANK] = "rank",
        [KNOB_RATE] = "rate",     [KNOB_BATCH] = "batch",       [KNOB_DATA] = "data",
        [KNOB_TEMPLATE] = "template", [KNOB_PRECISION] = "precision", [KNOB_SEED] = "seed"};

    if (s->is_incidental)
        return "no effect";
    if (s->knob != KNOB_NONE)
        return WORDS[s->knob];
    return s->side == SIDE_TRAIN ? "other" : side_name(s->side);
}

static void add_settings(struct state *state, const struct comparison *c)
{
    for (size_t i = 0; i < c->n_settings; i++) {
        const struct compared_setting *s = &c->settings[i];

        add_row(state, (struct compare_row){
                           .kind = ROW_SETTING,
                           .setting = s,
                           .cells = {group_of(s), s->name, compared_value_text(&s->a, state->arena),
                                     compared_value_text(&s->b, state->arena)},
                           .own = s->a.setting ? STYLE_TEXT : STYLE_DIM,
                           .other = s->b.setting ? STYLE_TEXT : STYLE_DIM,
                           .is_minor = s->is_incidental || (s->is_one_sided && s->knob == KNOB_NONE)});
    }
}

static void add_data(struct state *state, const struct comparison *c)
{
    for (size_t i = 0; i < c->n_data; i++)
        add_row(state, (struct compare_row){
                           .kind = ROW_DATA,
                           .cells = {"data", c->data[i].what, c->data[i].a ? c->data[i].a : "not imported",
                                     c->data[i].b ? c->data[i].b : "not imported"}});
}

static void add_curves(struct state *state, const struct comparison *c)
{
    static const char *const WORDS[] = {"too few steps", "equal", "within noise", "parts"};

    for (size_t i = 0; i < c->n_curves; i++) {
        const struct compared_curve *curve = &c->curves[i];
        bool has_parted = curve->answer == PARTING_FOUND;
        /* The step has a column where no width cuts it: half a number is a wrong one. */
        const char *where = has_parted ? arena_printf(state->arena, "step %lld", (long long)curve->step)
                                       : "curve";
        const char *what = has_parted ? arena_printf(state->arena, "%s parts", curve->name)
                                      : arena_printf(state->arena, "%s: %s", curve->name,
                                                     WORDS[curve->answer]);

        add_row(state, (struct compare_row){
                           .kind = ROW_CURVE,
                           .cells = {where, what, arena_printf(state->arena, "%.4g", curve->at_a),
                                     arena_printf(state->arena, "%.4g", curve->at_b)},
                           .step = has_parted ? curve->step : NONE,
                           .is_minor = !has_parted});
    }
}

static void add_verdicts(struct state *state, const struct verdicts *own, const struct verdicts *other)
{
    for (size_t i = 0; i < own->n_rows && i < other->n_rows; i++) {
        enum verdict x = own->rows[i].result.verdict, y = other->rows[i].result.verdict;

        if (x == y)
            continue;
        add_row(state, (struct compare_row){.kind = ROW_VERDICT,
                                            .cells = {"verdict", own->rows[i].check->id, verdict_word(x),
                                                      verdict_word(y)},
                                            .own = verdict_style(x),
                                            .other = verdict_style(y),
                                            .check = (ptrdiff_t)i,
                                            .is_minor = x < VERDICT_WARN && y < VERDICT_WARN});
    }
}

/* Sorting needs the column, and qsort has no context: the column is kept beside each row. */
struct sort_item {
    struct compare_row row;
    size_t column, at;
};

static int by_column(const void *a, const void *b)
{
    const struct sort_item *x = a, *y = b;
    int order = strcmp(x->row.cells[x->column], y->row.cells[x->column]);

    return order ? order : x->at < y->at ? -1 : 1;
}

static int show_rows(struct view *view, struct error *err)
{
    struct state *state = view->state;
    struct sort_item *items = arena_array(view->arena, state->n_all + 1, sizeof *items);
    size_t n = 0;

    state->rows = arena_array(view->arena, state->n_all + 1, sizeof *state->rows);
    if (!items || !state->rows)
        return error_set(err, E_NOMEM, "no memory to show %zu differences", state->n_all);
    for (size_t i = 0; i < state->n_all; i++)
        if (state->with_minor || !state->all[i].is_minor) {
            items[n] = (struct sort_item){state->all[i], state->sort ? state->sort - 1 : 0, n};
            n++;
        }
    if (state->sort)
        qsort(items, n, sizeof *items, by_column);
    for (size_t i = 0; i < n; i++)
        state->rows[i] = items[i].row;
    state->table.n_rows = n;
    state->table.sorted_by = (ptrdiff_t)state->sort - 1;
    table_go(&state->table, state->table.selected, view->rows > 1 ? view->rows : 2);
    return OK;
}

/* ---- The pair ---- */

static void forget(struct state *state)
{
    run_facts_close(state->other);
    arena_close(state->arena);
    state->other = NULL;
    state->arena = NULL;
    state->all = NULL;
    state->n_all = 0;
    state->heading = NULL;
    state->serial = 0;
}

/* "2 settings, loss parts at step 330": what one looks here for. */
static void make_heading(struct state *state, const struct comparison *c)
{
    const struct compared_curve *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < state->n_all; i++)
        n += state->all[i].kind == ROW_SETTING && !state->all[i].is_minor;
    for (size_t i = 0; !first && i < c->n_curves; i++)
        if (strcmp(c->curves[i].name, "learning_rate") != 0)
            first = &c->curves[i];
    const char *settings = n == 1 ? "1 setting" : arena_printf(state->arena, "%zu settings", n);
    if (first && first->answer == PARTING_FOUND)
        state->heading = arena_printf(state->arena, "%s, %s parts at step %lld", settings, first->name,
                                      (long long)first->step);
    else if (first && first->answer != PARTING_TOO_FEW)
        state->heading = arena_printf(state->arena, "%s, %s %s", settings, first->name,
                                      first->answer == PARTING_EQUAL ? "is equal" : "within noise");
    else
        state->heading = settings;
}

static int compare_runs(struct view *view, struct error *err)
{
    struct state *state = view->state;
    const struct desk *desk = view->desk;
    struct verdicts verdicts;
    struct comparison c;

    state->arena = arena_open(ARENA_VIEW_BYTES);
    if (!state->arena)
        return error_set(err, E_NOMEM, "no memory to compare two runs");
    int rc = run_facts_open(&state->other, desk->store, desk->baseline_id, err);
    if (rc == OK)
        rc = comparison_make(&c, desk->facts, state->other, state->arena, err);
    if (rc == OK)
        rc = verdicts_load(desk->store, desk->baseline_id, state->arena, &verdicts, err);
    if (rc != OK)
        return rc;
    size_t n = c.n_settings + c.n_data + c.n_curves + verdicts.n_rows;
    state->all = arena_array(state->arena, n + 1, sizeof *state->all);
    if (!state->all)
        return error_set(err, E_NOMEM, "no memory to compare two runs");
    /* What was done first, then what came of it. */
    add_settings(state, &c);
    add_data(state, &c);
    add_curves(state, &c);
    if (desk->verdicts)
        add_verdicts(state, desk->verdicts, &verdicts);
    make_heading(state, &c);
    if (arena_failed(state->arena))
        return error_set(err, E_NOMEM, "no memory to compare two runs");
    state->serial = desk->facts->serial;
    state->baseline_id = desk->baseline_id;
    return OK;
}

static struct str cell(const void *context, size_t row, size_t column, enum style_role *style)
{
    const struct compare_row *r = &((const struct state *)context)->rows[row];

    if (r->is_minor)
        *style = STYLE_DIM;
    else if (column == COLUMN_OWN)
        *style = r->own;
    else if (column == COLUMN_OTHER)
        *style = r->other;
    return str_of(r->cells[column]);
}

static const char *name_of(const struct desk *desk, int64_t id)
{
    for (size_t i = 0; i < desk->n_runs; i++)
        if (desk->runs[i].id == id)
            return desk->runs[i].name;
    return "baseline";
}

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;
    const struct desk *desk = view->desk;
    const struct run_facts *facts = desk->facts;

    state->table.columns = state->columns;
    state->table.n_columns = N_COLUMNS;
    state->table.cell = cell;
    state->table.context = state;
    state->table.n_rows = 0;
    if (!facts || !desk->baseline_id) {
        forget(state);
        return OK;
    }
    state->columns[COLUMN_GROUP] = (struct table_column){"", false, 26};
    state->columns[COLUMN_NAME] = (struct table_column){"differs", false, 40};
    state->columns[COLUMN_OWN] = (struct table_column){name_of(desk, desk->run_id), false, 30};
    state->columns[COLUMN_OTHER] = (struct table_column){name_of(desk, desk->baseline_id), false, 30};
    if (state->serial != facts->serial || state->baseline_id != desk->baseline_id) {
        forget(state);
        int rc = compare_runs(view, err);
        if (rc != OK) {
            forget(state);
            return rc;
        }
    }
    return show_rows(view, err);
}

static void close_view(struct view *view)
{
    forget(view->state);
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct state *state = view->state;
    const char *text = NULL;

    if (!view->desk->facts)
        text = "no run chosen";
    else if (!view->desk->baseline_id)
        text = "no baseline: Enter opens the list of runs,";
    else if (state->table.n_rows == 0)
        text = state->n_all ? "nothing that matters differs; i shows the rest" : "nothing differs";
    if (text) {
        canvas_puts(canvas, 0, 0, STYLE_DIM, text);
        if (view->desk->facts && !view->desk->baseline_id)
            canvas_puts(canvas, 1, 0, STYLE_DIM, "b or Space on a run there sets one");
        return;
    }
    struct table table = state->table;
    struct table_column columns[N_COLUMNS];
    static const int SHARES[N_COLUMNS] = {24, 32, 20, 20}; /* of a hundred cells */
    int width = canvas_area(canvas).columns;

    table.match = view->desk->search;
    memcpy(columns, state->columns, sizeof columns);
    for (int i = 0; i < N_COLUMNS; i++)
        if (width * SHARES[i] / 100 < columns[i].max_cells)
            columns[i].max_cells = width > 40 ? width * SHARES[i] / 100 : 8;
    table.columns = columns;
    table_draw(&table, canvas, view->has_focus);
}

/* Of a setting that only the other run states there is no row to stand on: its place is said. */
static void open_setting(struct view *view, const struct compared_setting *s)
{
    struct state *state = view->state;
    struct desk *desk = view->desk;

    if (s->a.setting) {
        desk->open_setting = s->name;
        desk->open_side = s->a.setting->side;
        desk->changed |= DESK_SETTING;
        desk->open_view = "settings";
        return;
    }
    if (!s->b.setting)
        return;
    int n = snprintf(state->said, sizeof state->said, "not stated by this run; %.60s has it in %.80s",
                     name_of(desk, desk->baseline_id),
                     facts_file_name(state->other, s->b.setting->source_id));
    if (s->b.setting->line > 0 && n > 0 && n < (int)sizeof state->said)
        snprintf(state->said + n, sizeof state->said - (size_t)n, ":%lld", (long long)s->b.setting->line);
}

static void open_row(struct view *view)
{
    const struct state *state = view->state;
    struct desk *desk = view->desk;

    if (desk->facts && !desk->baseline_id)
        desk->open_view = "runs";
    if (state->table.selected >= state->table.n_rows)
        return;
    const struct compare_row *row = &state->rows[state->table.selected];
    switch (row->kind) {
    case ROW_SETTING:
        open_setting(view, row->setting);
        break;
    case ROW_DATA:
        desk->open_view = "import";
        break;
    case ROW_CURVE:
        if (row->step != NONE)
            desk_choose_step(desk, row->step);
        desk->open_view = "curves";
        break;
    case ROW_VERDICT:
        desk_choose_check(desk, row->check);
        desk->open_view = "triage";
        break;
    }
}

static bool act(struct view *view, int action)
{
    struct state *state = view->state;
    struct error err;

    state->said[0] = '\0';
    if (motion_table(&state->table, action, view->rows))
        return true;
    switch (action) {
    case ACT_OPEN:
        open_row(view);
        return true;
    case ACT_LEFT:
    case ACT_RIGHT:
        table_scroll(&state->table, action == ACT_LEFT ? -8 : 8);
        return true;
    case ACT_SORT:
    case ACT_ALL:
        if (action == ACT_SORT)
            state->sort = (state->sort + 1) % (N_COLUMNS + 1);
        else
            state->with_minor = !state->with_minor;
        if (state->all && show_rows(view, &err) != OK)
            state->table.n_rows = 0;
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

    if (state->said[0])
        buf_puts(out, state->said);
    else if (state->table.selected < state->table.n_rows)
        buf_str(out, str_first(str_of(state->rows[state->table.selected].line), 400));
}

static const char *heading(const struct view *view)
{
    const struct state *state = view->state;

    return state->heading;
}

const struct view_ops view_compare = {
    .id = "compare",
    .title = "compare",
    .state_size = sizeof(struct state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .close = close_view,
    .n_lines = n_lines,
    .line = line,
    .go = table_view_go,
    .at = table_view_at,
    .position = table_view_position,
    .status = status,
    .heading = heading,
    .depends_on = DESK_RUN | DESK_BASELINE,
};
