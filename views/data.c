/* The rows of a data set as a table with what is known of each: sorted, filtered, searched, counted; each
 * number leads to its rows, each row can be read whole. Texts are read from the file for the rows that are
 * seen; what needs all of them reads the file once more, a little between two keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/unicode.h"
#include "views/data_parts.h"
#include "views/registry.h"

enum { ACT_READ, ACT_BACK, ACT_SORT, ACT_REVERSE, ACT_FILTER, ACT_COUNT, ACT_NEXT_SET, ACT_LEFT, ACT_RIGHT };
enum { STEP = 8 };
#define KEPT_BYTES ((size_t)8 << 20)
#define SEEN_BYTES ((size_t)64 << 20)

static const struct action ACTIONS[] = {
    {ACT_READ, "read-row", "Enter", "the whole row, and back; in the counts the rows behind a number"},
    {ACT_COUNT, "count", "c", "how often each value, class, flag and length stands; and back"},
    {ACT_FILTER, "filter", "f", "all rows, those with a flag, those whose targets contradict"},
    {ACT_SORT, "sort", "s", "sort by the next column"},
    {ACT_REVERSE, "reverse", "S", "sort the other way round"},
    {ACT_BACK, "close", "Esc", "back to the counts, or to all rows"},
    {ACT_NEXT_SET, "next-rows", "o", "the next data set"},
    {ACT_LEFT, "left", "Left", "sideways"},
    {ACT_RIGHT, "right", "Right", "sideways"},
    MOTION_ACTIONS,
    {0, NULL, NULL, NULL},
};

/* ---- The pane ---- */

static void say_progress(struct data_state *state, const struct row_walk *walk)
{
    size_t used = strlen(state->heading);

    if (walk->trouble[0])
        snprintf(state->heading + used, sizeof state->heading - used, " (%s)", walk->trouble);
    else if (!walk->is_done)
        snprintf(state->heading + used, sizeof state->heading - used, " so far");
}

static void say_row(struct data_state *state, const char *name)
{
    size_t row = state->order[state->rows.selected];
    int64_t line = row_text_line(state->source->path, state->samples[row].at);

    if (line == NONE)
        snprintf(state->heading, sizeof state->heading, "%.100s row %zu", name, row);
    else
        snprintf(state->heading, sizeof state->heading, "%.100s:%lld, row %zu", name, (long long)line, row);
}

static void say_values(struct data_state *state)
{
    const struct value_count *count = &state->count;

    snprintf(state->heading, sizeof state->heading, "%.60s: %zu%s value%s in %zu rows", count->column,
             count->n_values, count->n_other ? "+" : "", count->n_values == 1 ? "" : "s", count->walk.next);
    say_progress(state, &count->walk);
}

static void say_heading(struct data_state *state)
{
    const char *slash = strrchr(state->source->path, '/');
    const char *name = slash ? slash + 1 : state->source->path;

    switch (state->mode) {
    case DATA_ROW:
        say_row(state, name);
        break;
    case DATA_COUNTS:
        snprintf(state->heading, sizeof state->heading, "%.100s, %zu rows counted", name, state->n);
        say_progress(state, &state->scan.walk);
        break;
    case DATA_VALUES:
        say_values(state);
        break;
    case DATA_ROWS:
        snprintf(state->heading, sizeof state->heading, "%.60s, %zu of %zu rows%s%s", name,
                 state->rows.n_rows, state->n, state->filter.said[0] ? ", " : "", state->filter.said);
        break;
    }
}

/* Where the running search is in the row that was opened. */
static void go_to_hit(struct view *view)
{
    struct data_state *state = view->state;
    const char *search = view->desk->search;

    if (!state->is_row_new)
        return;
    state->is_row_new = false;
    for (size_t i = 0; search && search[0] && i < state->row.flow.n_lines; i++)
        if (str_has_ignoring_case(flow_line_text(&state->row.flow, i, view->arena), search)) {
            scroll_go(&state->row, i, view->rows);
            return;
        }
}

static int load_mode(struct view *view, struct error *err)
{
    struct data_state *state = view->state;
    int rows = view->rows > 1 ? view->rows : 2;

    switch (state->mode) {
    case DATA_ROWS:
        data_table_columns(state);
        table_go(&state->rows, state->rows.selected, rows);
        data_read_seen(view);
        return OK;
    case DATA_COUNTS:
        data_count_columns(state, view->columns);
        if (data_write_counts(view, err) != OK)
            return err->status;
        table_go(&state->counts, state->counts.selected, rows);
        return OK;
    case DATA_VALUES:
        data_value_columns(state, view->columns);
        table_go(&state->values, state->values.selected, rows);
        return OK;
    case DATA_ROW:
        scroll_begin(&state->row, view);
        data_put_row(view);
        scroll_end(&state->row, view);
        go_to_hit(view);
        return OK;
    }
    return OK;
}

/* What the pane reads besides: first the values that are looked at, then the texts. */
static void read_on(struct view *view)
{
    struct data_state *state = view->state;
    bool wants_values = state->count.path && !state->count.walk.is_done;
    bool wants_texts = state->mode == DATA_COUNTS || state->scan.n_text_bytes < SCAN_TEXT_BYTES ||
                       state->filter.kind == DATA_IN_INPUT_WORDS ||
                       state->filter.kind == DATA_IN_TARGET_WORDS;
    bool goes_on = false;

    if (wants_values)
        goes_on = value_count_step(&state->count);
    else if (wants_texts && !state->scan.walk.is_done)
        goes_on = data_scan_step(&state->scan);
    else
        return;
    view->wants_load = goes_on || !state->scan.walk.is_done;
    /* rows that a filter could not know before */
    if (!goes_on && state->filter.kind >= DATA_IN_INPUT_WORDS)
        state->is_stale = true;
}

static void open_evidence(struct view *view, const struct check *check, const struct evidence *evidence)
{
    struct data_state *state = view->state;
    const char *column = strcmp(check->id, "row-split") == 0 ? data_shared_column(view->desk->facts) : NULL;

    data_show_all(state);
    if (column) {
        data_count_values(state, column);
        data_open_mode(state, DATA_VALUES);
    } else {
        data_open_mode(state, evidence->row == NONE ? DATA_COUNTS : DATA_ROWS);
    }
}

static void stand_at(struct view *view, const struct evidence *evidence, struct error *err)
{
    struct data_state *state = view->state;

    data_follow_row(state, evidence->row);
    if (state->mode != DATA_COUNTS || data_write_counts(view, err) != OK)
        return;
    state->counts.selected = data_line_of_classes(state);
    state->counts.top = state->counts.selected ? state->counts.selected - 1 : 0;
}

static int load(struct view *view, struct error *err)
{
    struct data_state *state = view->state;
    const struct check *check = NULL;
    const struct evidence *evidence;
    int rc;

    state->heading[0] = '\0';
    data_begin_run(view);
    evidence = data_new_evidence(view, &check);
    if (!state->kept)
        state->kept = arena_open(KEPT_BYTES);
    if (!state->seen)
        state->seen = arena_open(SEEN_BYTES);
    if (!state->kept || !state->seen)
        return error_set(err, E_NOMEM, "no memory for the rows of a data set");
    if (evidence)
        data_choose_source(state, view->desk->facts, evidence->source_id);
    if (!data_find_set(view)) {
        state->rows.n_rows = state->counts.n_rows = 0;
        state->has_no_rows = true;
        state->mode = DATA_COUNTS;
        data_count_columns(state, view->columns);
        return state->facts && facts_data(state->facts) ? data_write_counts(view, err) : OK;
    }
    if (state->has_no_rows)
        data_open_mode(state, DATA_ROWS);
    state->has_no_rows = false;
    if (evidence)
        open_evidence(view, check, evidence);
    read_on(view);
    rc = data_order(view, err);
    if (rc != OK)
        return rc;
    if (evidence)
        stand_at(view, evidence, err);
    data_follow_desk(view);
    if (state->mode == DATA_ROW && state->rows.n_rows == 0)
        state->mode = DATA_ROWS;
    if (state->rows.selected >= state->rows.n_rows)
        state->rows.selected = state->rows.n_rows ? state->rows.n_rows - 1 : 0;
    rc = load_mode(view, err);
    say_heading(state);
    return rc;
}

/* In lines that the narrowest pane has room for. */
static void draw_nothing(struct canvas *canvas)
{
    canvas_puts(canvas, 0, 0, STYLE_UNKNOWN, "no rows: the key a imports the training data");
    canvas_puts(canvas, 1, 0, STYLE_UNKNOWN, "(JSONL, JSON, CSV, Parquet or Arrow)");
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct data_state *state = view->state;

    if (!view->desk->facts)
        canvas_puts(canvas, 0, 0, STYLE_UNKNOWN, "no run chosen");
    else if (state->n == 0 && state->counts.n_rows == 0)
        draw_nothing(canvas);
    else if (state->mode == DATA_ROW)
        scroll_draw(&state->row, canvas);
    else if (state->mode == DATA_COUNTS)
        table_draw(&state->counts, canvas, view->has_focus);
    else if (state->mode == DATA_VALUES)
        table_draw(&state->values, canvas, view->has_focus);
    else if (state->rows.n_rows == 0)
        canvas_puts(canvas, 0, 0, STYLE_DIM, "no row is left by the filter; f shows others");
    else
        table_draw(&state->rows, canvas, view->has_focus);
}

/* ---- Actions ---- */

static struct table *table_of(struct data_state *state)
{
    return state->mode == DATA_ROWS     ? &state->rows
           : state->mode == DATA_COUNTS ? &state->counts
           : state->mode == DATA_VALUES ? &state->values
                                        : NULL;
}

static void drill(struct data_state *state, const struct data_filter *filter)
{
    state->came_from_values = state->mode == DATA_VALUES;
    data_show_all(state);
    state->filter = *filter;
    state->mode = DATA_ROWS;
}

static void enter_value(struct data_state *state)
{
    const struct value_count *count = &state->count;
    size_t i = state->values.selected;
    bool is_other = i >= count->n_ordered;
    struct data_filter filter = {.kind = DATA_WITH_VALUE,
                                 .low = is_other ? SCAN_OTHER_VALUE : (int64_t)count->order[i]};
    struct str value =
        is_other ? str_of("other values") : unicode_cut(str_of(count->values[count->order[i]].text), 40);

    if (i >= state->values.n_rows)
        return;
    snprintf(filter.said, sizeof filter.said, "%.40s = %.*s", count->column, (int)value.n, value.p);
    drill(state, &filter);
}

static void enter(struct data_state *state)
{
    const struct data_line *line =
        state->mode == DATA_COUNTS && state->counts.selected < state->n_lines
            ? &state->lines[state->counts.selected]
            : NULL;

    if (state->mode == DATA_ROW) {
        state->mode = DATA_ROWS;
    } else if (state->mode == DATA_ROWS && state->rows.n_rows) {
        state->mode = DATA_ROW;
        state->row.top = 0;
        state->is_row_new = true;
    } else if (state->mode == DATA_VALUES && state->values.n_rows) {
        enter_value(state);
    } else if (line && line->column && state->n) {
        data_count_values(state, line->column);
        state->mode = DATA_VALUES;
    } else if (line && line->has_filter && state->n) {
        drill(state, &line->filter);
    }
}

/* The way back: from a row to the rows, from the rows behind a number to where it stood. */
static bool go_back(struct data_state *state)
{
    bool is_drilled = state->filter.kind > DATA_CONTRADICTS || state->came_from_values;

    if (state->mode == DATA_ROW) {
        state->mode = DATA_ROWS;
    } else if (state->mode == DATA_ROWS && is_drilled) {
        state->mode = state->came_from_values ? DATA_VALUES : DATA_COUNTS;
        data_show_all(state);
    } else if (state->mode == state->home) {
        return false;
    } else if (state->mode == DATA_VALUES) {
        state->mode = DATA_COUNTS;
    } else if (state->mode == DATA_COUNTS) {
        state->mode = DATA_ROWS;
        state->home = DATA_ROWS;
    } else {
        return false;
    }
    return true;
}

static void next_set(struct view *view)
{
    struct data_state *state = view->state;
    size_t n = view->desk->facts ? data_count_sets(view->desk->facts) : 0;

    state->set = n ? (state->set + 1) % n : 0;
    data_open_mode(state, DATA_ROWS);
    data_show_all(state);
}

static void next_filter(struct data_state *state)
{
    static const struct data_filter FILTERS[] = {{.kind = DATA_ALL},
                                                 {.kind = DATA_FLAGGED, .said = "with a flag"},
                                                 {.kind = DATA_CONTRADICTS, .said = "contradictory"}};
    size_t n = sizeof FILTERS / sizeof *FILTERS, at = state->filter.kind < n ? state->filter.kind + 1u : 0;

    data_show_all(state);
    state->came_from_values = false;
    state->filter = FILTERS[at % n];
}

static bool act_on_rows(struct data_state *state, int action)
{
    switch (action) {
    case ACT_SORT:
        state->sorted_by = (state->sorted_by + 1) % DATA_N_SORTED;
        state->is_falling = state->sorted_by != DATA_COLUMN_ROW;
        break;
    case ACT_REVERSE:
        state->is_falling = !state->is_falling;
        break;
    case ACT_FILTER:
        next_filter(state);
        break;
    default:
        return false;
    }
    state->is_stale = true;
    state->rows.selected = state->rows.top = 0;
    return true;
}

static bool move(struct view *view, int action)
{
    struct data_state *state = view->state;
    struct table *table = table_of(state);

    if (!table)
        return scroll_act(&state->row, action, view->rows);
    if (action == ACT_LEFT || action == ACT_RIGHT) {
        table_scroll(table, action == ACT_LEFT ? -STEP : STEP);
        return true;
    }
    if (!motion_table(table, action, view->rows))
        return false;
    /* a step of the pass may be waiting */
    view->wants_load = view->wants_load || (table == &state->rows && table->top != state->first_text);
    return true;
}

static bool act(struct view *view, int action)
{
    struct data_state *state = view->state;
    bool is_used = true;

    if (move(view, action))
        return true;
    switch (action) {
    case ACT_READ:
        enter(state);
        break;
    case ACT_BACK:
        is_used = go_back(state);
        break;
    case ACT_COUNT:
        state->mode = state->mode == DATA_COUNTS ? DATA_ROWS : DATA_COUNTS;
        break;
    case ACT_NEXT_SET:
        next_set(view);
        break;
    default:
        is_used = state->mode == DATA_ROWS && act_on_rows(state, action);
        break;
    }
    view->wants_load = view->wants_load || is_used;
    return is_used;
}

static void close_pane(struct view *view)
{
    struct data_state *state = view->state;

    row_reader_close(&state->reader);
    data_scan_close(&state->scan);
    value_count_close(&state->count);
    free(state->order);
    free(state->contradicts);
    arena_close(state->kept);
    arena_close(state->seen);
}

/* ---- Search, and what stands around the pane ---- */

static size_t n_lines(const struct view *view)
{
    struct data_state *state = view->state;

    return state->mode == DATA_ROW ? state->row.flow.n_lines : table_of(state)->n_rows;
}

static struct str line_text(const struct view *view, size_t i)
{
    const struct data_state *state = view->state;

    switch (state->mode) {
    case DATA_ROW:
        return flow_line_text(&state->row.flow, i, view->arena);
    case DATA_COUNTS:
        return str_of(state->lines[i].name);
    case DATA_VALUES:
        return str_of(i < state->count.n_ordered ? state->count.values[state->count.order[i]].text : "");
    case DATA_ROWS:
        return data_search_text(state, i);
    }
    return str_of("");
}

static void go(struct view *view, size_t i)
{
    struct data_state *state = view->state;

    if (state->mode == DATA_ROW) {
        scroll_go(&state->row, i, view->rows);
        return;
    }
    table_go(table_of(state), i, view->rows > 1 ? view->rows : 2);
    view->wants_load = true;
}

static size_t at(const struct view *view)
{
    struct data_state *state = view->state;

    return state->mode == DATA_ROW ? state->row.top : table_of(state)->selected;
}

static void status(const struct view *view, struct buf *out)
{
    const struct data_state *state = view->state;
    const struct row_walk *walk = state->mode == DATA_VALUES ? &state->count.walk : &state->scan.walk;

    if (state->n == 0 || state->mode == DATA_ROW)
        return;
    if (!walk->is_done && walk->next < walk->n && walk->is_begun)
        buf_printf(out, "%zu of %zu rows read for search and counts", walk->next, walk->n);
    else if (state->mode == DATA_ROWS && state->scan.n_texts < state->n)
        buf_printf(out, "search sees the first %zu of %zu rows", state->scan.n_texts, state->n);
    else if (state->mode == DATA_COUNTS)
        buf_puts(out, "Enter shows the rows behind a number, the values of a column");
    else if (state->mode == DATA_VALUES)
        buf_puts(out, "Enter shows the rows with the value");
    else if (state->filter.kind == DATA_CONTRADICTS)
        buf_puts(out, "contradictory: rows of the inputs that are shown (at most 20)");
}

static void position(const struct view *view, struct buf *out)
{
    struct data_state *state = view->state;

    if (state->mode == DATA_ROW)
        scroll_position(&state->row, view->rows, out);
    else
        table_position(table_of(state), view->rows, out);
}

static const char *heading(const struct view *view)
{
    const struct data_state *state = view->state;

    return state->heading[0] ? state->heading : NULL;
}

const struct view_ops view_data = {
    .id = "data",
    .title = "data",
    .state_size = sizeof(struct data_state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .close = close_pane,
    .n_lines = n_lines,
    .line = line_text,
    .go = go,
    .at = at,
    .status = status,
    .position = position,
    .heading = heading,
    .depends_on = DESK_RUN | DESK_CHECK | DESK_EVIDENCE,
};
