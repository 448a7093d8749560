/* The rows of a data set as a table with what is known of each: sorted, filtered, counted, and one of them
 * read whole. Texts are read from the file for the rows that are seen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/unicode.h"
#include "core/facts/data_facts.h"
#include "views/registry.h"
#include "views/row_text.h"
#include "views/scroll.h"

enum { ACT_SORT, ACT_REVERSE, ACT_FILTER, ACT_COUNT, ACT_READ, ACT_NEXT_SET, ACT_LEFT, ACT_RIGHT };
enum { PREVIEW_BYTES = 400, READ_BYTES = 256 << 10, MOST_SEEN = 200, STEP = 8, BAR = 40, LABEL = 29 };

static const struct action ACTIONS[] = {
    {ACT_READ, "read-row", "Enter", "the whole row, and back"},
    {ACT_SORT, "sort", "s", "sort by the next column"},
    {ACT_REVERSE, "reverse", "S", "sort the other way round"},
    {ACT_FILTER, "filter", "f", "all rows, those with a flag, those whose targets contradict"},
    {ACT_COUNT, "count", "c", "how often each class and flag stands, and the lengths; and back"},
    {ACT_NEXT_SET, "next-rows", "o", "the next data set"},
    {ACT_LEFT, "left", "Left", "sideways"},
    {ACT_RIGHT, "right", "Right", "sideways"},
    MOTION_ACTIONS,
    {0, NULL, NULL, NULL},
};

enum { COLUMN_ROW, COLUMN_TOKENS, COLUMN_PROMPT, COLUMN_FLAGS, COLUMN_TARGET, COLUMN_INPUT, N_COLUMNS };
enum { N_SORTED = COLUMN_FLAGS + 1 };
static const struct table_column COLUMNS[N_COLUMNS] = {
    {"row", true, 0}, {"tokens", true, 0}, {"prompt", true, 0},
    {"flags", false, 16}, {"target", false, 24}, {"input", false, 0}};

enum filter { FILTER_NONE, FILTER_FLAGGED, FILTER_CONTRADICTS, N_FILTERS };
enum mode { MODE_ROWS, MODE_COUNTS, MODE_ROW };

struct state {
    struct table table;         /* first: table_view_… */
    struct scroll scroll;       /* of counts, and of one row */
    enum mode mode;
    enum filter filter;
    int sorted_by;
    bool is_falling;
    int64_t run_id;
    size_t set;                 /* of the data sets with rows */
    const struct dataset *dataset;
    const struct source *source;
    const struct sample *samples;
    size_t n;
    size_t *order;              /* rows that are shown */
    uint8_t *contradicts;       /* of a row; NULL: none does */
    size_t first_text, n_texts; /* of the order */
    struct row_text texts[MOST_SEEN];
    struct row_reader reader;
    char number[32];
    char heading[200];
};

/* ---- Rows ---- */

static bool has_rows(const struct dataset *dataset)
{
    return dataset->form && strcmp(dataset->form, "lengths") != 0 && dataset->n_rows > 0;
}

static size_t count_sets(const struct run_facts *facts)
{
    size_t n = 0;

    for (size_t i = 0; i < facts->n_datasets; i++)
        n += has_rows(&facts->datasets[i]);
    return n;
}

static const struct dataset *nth_set(const struct run_facts *facts, size_t at)
{
    for (size_t i = 0; i < facts->n_datasets; i++)
        if (has_rows(&facts->datasets[i]) && at-- == 0)
            return &facts->datasets[i];
    return NULL;
}

/* The training rows stand first: the pane opens at them. */
static size_t training_set(const struct run_facts *facts)
{
    size_t n = count_sets(facts);

    for (size_t i = 0; i < n; i++) {
        const struct dataset *dataset = nth_set(facts, i);
        if (dataset && dataset->split && strcmp(dataset->split, "train") == 0)
            return i;
    }
    return 0;
}

static void mark_contradictions(struct state *state, const struct data_facts *data, struct arena *arena)
{
    state->contradicts = NULL;
    for (size_t g = 0; data && g < data->n_shown; g++) {
        const struct data_group *group = &data->groups[g];

        for (size_t k = 0; group->kind >= DATA_CONTRADICTORY && k < group->n_targets; k++)
            for (size_t i = 0; i < group->targets[k].n_rows; i++) {
                const struct data_place *place = &group->targets[k].rows[i];

                if (place->file < 0 || (size_t)place->file >= data->n_files || place->row < 0 ||
                    (size_t)place->row >= state->n ||
                    data->files[place->file].source_id != state->source->id)
                    continue;
                if (!state->contradicts)
                    state->contradicts = arena_alloc(arena, state->n + 1);
                if (state->contradicts)
                    state->contradicts[place->row] = 1;
            }
    }
}

static bool is_shown(const struct state *state, size_t row)
{
    bool contradicts = state->contradicts && state->contradicts[row];
    uint32_t flags = state->samples[row].flags & ~(uint32_t)SAMPLE_ESTIMATED;

    return state->filter == FILTER_NONE || (state->filter == FILTER_FLAGGED && (flags || contradicts)) ||
           (state->filter == FILTER_CONTRADICTS && contradicts);
}

struct sorted {
    int64_t key;
    size_t row;
};

static int by_key(const void *pa, const void *pb)
{
    const struct sorted *a = pa, *b = pb;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static int64_t key_of(const struct state *state, size_t row)
{
    const struct sample *sample = &state->samples[row];
    int64_t keys[N_SORTED] = {
        (int64_t)row, sample->n_tokens, sample->n_prompt_tokens,
        (int64_t)(sample->flags & ~(uint32_t)SAMPLE_ESTIMATED) * 2 +
            (state->contradicts && state->contradicts[row])};

    return state->is_falling ? -keys[state->sorted_by] : keys[state->sorted_by];
}

static int order_rows(struct state *state, struct arena *arena, struct error *err)
{
    struct sorted *sorted = malloc((state->n + 1) * sizeof *sorted);
    size_t n = 0;

    state->order = arena_array(arena, state->n + 1, sizeof *state->order);
    if (!sorted || !state->order) {
        free(sorted);
        return error_set(err, E_NOMEM, "no memory to sort %zu rows", state->n);
    }
    for (size_t row = 0; row < state->n; row++)
        if (is_shown(state, row))
            sorted[n++] = (struct sorted){key_of(state, row), row};
    if (n)
        qsort(sorted, n, sizeof *sorted, by_key);
    for (size_t i = 0; i < n; i++)
        state->order[i] = sorted[i].row;
    free(sorted);
    state->table.n_rows = n;
    return OK;
}

/* ---- Cells ---- */

static struct str flags_text(const struct state *state, size_t row, enum style_role *style)
{
    uint32_t flags = state->samples[row].flags;

    *style = STYLE_WARN;
    if (flags & SAMPLE_EMPTY_ANSWER)
        return str_of("empty answer");
    if (flags & SAMPLE_EMPTY_PROMPT)
        return str_of("empty prompt");
    if (flags & SAMPLE_NO_ASSISTANT)
        return str_of("no answer");
    if (state->contradicts && state->contradicts[row])
        return str_of("contradicts");
    *style = STYLE_TEXT;
    return str_of("");
}

static struct str number_text(struct state *state, int64_t n, bool is_estimated)
{
    if (n < 0)
        return str_of("-");
    snprintf(state->number, sizeof state->number, "%s%lld", is_estimated ? "~" : "", (long long)n);
    return str_of(state->number);
}

static struct str cell(const void *context, size_t i, size_t column, enum style_role *style)
{
    struct state *state = (struct state *)(uintptr_t)context;
    size_t row = state->order[i];
    const struct sample *sample = &state->samples[row];
    bool is_estimated = sample->flags & SAMPLE_ESTIMATED, is_read;

    is_read = i >= state->first_text && i < state->first_text + state->n_texts;
    switch (column) {
    case COLUMN_ROW:
        return number_text(state, (int64_t)row, false);
    case COLUMN_TOKENS:
        return number_text(state, sample->n_tokens, is_estimated);
    case COLUMN_PROMPT:
        return number_text(state, sample->n_prompt_tokens, is_estimated);
    case COLUMN_FLAGS:
        return flags_text(state, row, style);
    case COLUMN_TARGET:
        return is_read ? state->texts[i - state->first_text].target : str_of("");
    default:
        *style = STYLE_DIM;
        return is_read ? state->texts[i - state->first_text].input : str_of("");
    }
}

/* One line: line ends become blanks, so that a cell is a cell. */
static struct str one_line(struct str text, struct arena *arena)
{
    char *copy = arena_alloc(arena, text.n + 1);

    if (!copy)
        return str_of("");
    for (size_t i = 0; i < text.n; i++)
        copy[i] = text.p[i] == '\n' || text.p[i] == '\r' || text.p[i] == '\t' ? ' ' : text.p[i];
    return str_trim(str_from(copy, text.n));
}

static void read_seen(struct view *view)
{
    struct state *state = view->state;
    size_t rows = view->rows > 1 ? (size_t)view->rows - 1 : 1;

    state->first_text = state->table.top;
    state->n_texts = 0;
    for (size_t i = state->first_text; i < state->table.n_rows && i < state->first_text + rows; i++) {
        struct row_text *text = &state->texts[state->n_texts];
        size_t row = state->order[i];

        if (state->n_texts == MOST_SEEN)
            return;
        state->n_texts++;
        (void)row_text_read(&state->reader, state->source->path, state->samples[row].at, (int64_t)row,
                            PREVIEW_BYTES, false, view->arena, text);
        text->input = one_line(text->input, view->arena);
        text->target = one_line(text->target, view->arena);
    }
}

/* ---- Counts ---- */

static void put_bar(struct textflow *flow, const char *name, int64_t n, int64_t most)
{
    int left = flow->columns - LABEL, longest = left < 0 ? 0 : left < BAR ? left : BAR;
    int cells = most > 0 ? (int)((double)n / (double)most * longest + 0.5) : 0;

    flow_printf(flow, STYLE_TEXT, "%-18s %9lld ", name, (long long)n);
    for (int i = 0; i < cells; i++)
        flow_puts(flow, STYLE_CURVE_A, "#");
    flow_break(flow);
}

static void put_title(struct textflow *flow, const char *title)
{
    if (flow->n_lines)
        flow_break(flow);
    flow_puts(flow, STYLE_STRONG, title);
    flow_break(flow);
}

static void put_classes(struct textflow *flow, const struct data_facts *data)
{
    if (!data || data->n_kept_classes == 0)
        return;
    put_title(flow, "classes of the training rows");
    for (size_t i = 0; i < data->n_kept_classes; i++) {
        struct buf name;

        buf_init(&name, 4096);
        unicode_visible(&name, unicode_cut(str_of(data->classes[i].name), 18), false);
        put_bar(flow, name.p ? name.p : "", data->classes[i].n_rows, data->classes[0].n_rows);
        buf_free(&name);
    }
    if (data->n_classes > (int64_t)data->n_kept_classes) {
        flow_printf(flow, STYLE_DIM, "and %lld more classes",
                    (long long)(data->n_classes - (int64_t)data->n_kept_classes));
        flow_break(flow);
    }
}

static void put_flags(struct textflow *flow, const struct state *state)
{
    static const struct {
        uint32_t flag;
        const char *name;
    } FLAGS[] = {{SAMPLE_EMPTY_ANSWER, "empty answer"},
                 {SAMPLE_EMPTY_PROMPT, "empty prompt"},
                 {SAMPLE_NO_ASSISTANT, "no answer"}};

    put_title(flow, "flags");
    for (size_t k = 0; k < sizeof FLAGS / sizeof *FLAGS; k++) {
        int64_t n = 0;

        for (size_t i = 0; i < state->n; i++)
            n += (state->samples[i].flags & FLAGS[k].flag) != 0;
        put_bar(flow, FLAGS[k].name, n, (int64_t)state->n);
    }
}

static void put_lengths(struct textflow *flow, const struct state *state, const struct run_facts *facts)
{
    int64_t bins[32] = {0}, most = 0, n_over = 0;
    double limit = 0.0;
    int last = 0;
    bool has_limit = facts_number(facts, "max_length", &limit) && limit > 0;

    for (size_t i = 0; i < state->n; i++) {
        int bin = 0;

        if (state->samples[i].n_tokens < 0)
            continue;
        for (int32_t n = state->samples[i].n_tokens; n > 0 && bin < 31; n >>= 1)
            bin++;
        most = ++bins[bin] > most ? bins[bin] : most;
        last = bin > last ? bin : last;
        n_over += has_limit && state->samples[i].n_tokens > limit;
    }
    put_title(flow, state->n && state->samples[0].flags & SAMPLE_ESTIMATED ? "tokens (estimated)" : "tokens");
    int first = 0;
    while (first < last && bins[first] == 0)
        first++;
    for (int bin = first; bin <= last; bin++) {
        char name[40];

        snprintf(name, sizeof name, "%lld-%lld", bin ? 1LL << (bin - 1) : 0, bin ? (1LL << bin) - 1 : 0);
        put_bar(flow, name, bins[bin], most);
    }
    if (has_limit)
        flow_printf(flow, n_over ? STYLE_WARN : STYLE_TEXT, "above max_length %.0f: %lld rows", limit,
                    (long long)n_over);
}

static void put_together(struct textflow *flow, const struct data_facts *data)
{
    if (!data)
        return;
    put_title(flow, "training rows together");
    put_bar(flow, "rows", data->n_rows, data->n_rows);
    put_bar(flow, "duplicate rows", data->n_duplicates, data->n_rows);
    put_bar(flow, "repeated inputs", data->n_groups, data->n_rows);
    put_bar(flow, "contradictory", data->n_contradictory, data->n_rows);
    put_bar(flow, "an empty text", data->n_degenerate, data->n_rows);
    put_bar(flow, "not readable", data->n_unreadable, data->n_rows);
}

/* ---- One row ---- */

static void put_block(struct textflow *flow, const char *title, struct str text)
{
    if (text.n == 0)
        return;
    put_title(flow, title);
    flow_text(flow, STYLE_TEXT, text);
    flow_break(flow);
}

static void put_row(struct view *view)
{
    struct state *state = view->state;
    size_t row = state->order[state->table.selected];
    struct row_text text;

    if (!row_text_read(&state->reader, state->source->path, state->samples[row].at, (int64_t)row,
                       READ_BYTES, true, view->arena, &text)) {
        flow_puts(&state->scroll.flow, STYLE_UNKNOWN, "the row cannot be read any more");
        return;
    }
    put_block(&state->scroll.flow, "input", text.input);
    put_block(&state->scroll.flow, "target", text.target);
    put_block(&state->scroll.flow, "as it stands in its file", text.raw);
}

/* ---- The pane ---- */

static void say_heading(struct state *state)
{
    static const char *const FILTERS[] = {"", ", with a flag", ", contradictory"};
    const char *slash = strrchr(state->source->path, '/');
    const char *name = slash ? slash + 1 : state->source->path;

    if (state->mode == MODE_ROW && state->table.n_rows)
        snprintf(state->heading, sizeof state->heading, "%.100s row %zu", name,
                 state->order[state->table.selected]);
    else if (state->mode == MODE_COUNTS)
        snprintf(state->heading, sizeof state->heading, "%.100s, %zu rows counted", name, state->n);
    else
        snprintf(state->heading, sizeof state->heading, "%.100s, %zu of %zu rows%s", name,
                 state->table.n_rows, state->n, FILTERS[state->filter]);
}

static bool find_set(struct view *view)
{
    struct state *state = view->state;
    const struct run_facts *facts = view->desk->facts;

    if (state->run_id != view->desk->run_id) {
        state->set = facts ? training_set(facts) : 0;
        state->mode = MODE_ROWS;
        state->filter = FILTER_NONE;
        state->table.selected = state->table.top = 0;
    }
    state->run_id = view->desk->run_id;
    state->dataset = facts ? nth_set(facts, state->set) : NULL;
    state->source = state->dataset ? facts_source(facts, state->dataset->source_id) : NULL;
    state->samples = state->source ? facts_samples(facts, state->dataset, &state->n) : NULL;
    return state->samples && state->n;
}

/* A row that another pane asks for, once. */
static void follow_row(struct view *view)
{
    struct state *state = view->state;
    int64_t row = view->desk->row;

    if (row == NONE || (size_t)row >= state->n || !view->has_focus)
        return;
    for (size_t i = 0; i < state->table.n_rows; i++)
        if (state->order[i] == (size_t)row)
            state->table.selected = i;
    view->desk->row = NONE;
}

static void write_flow(struct view *view)
{
    struct state *state = view->state;
    const struct data_facts *data = facts_data(view->desk->facts);

    scroll_begin(&state->scroll, view);
    if (state->mode == MODE_ROW) {
        put_row(view);
    } else {
        put_together(&state->scroll.flow, data);
        put_classes(&state->scroll.flow, data);
        put_flags(&state->scroll.flow, state);
        put_lengths(&state->scroll.flow, state, view->desk->facts);
    }
    scroll_end(&state->scroll, view);
}

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;

    state->table.n_rows = state->n_texts = 0;
    state->heading[0] = '\0';
    if (!find_set(view))
        return OK;
    state->table.columns = COLUMNS;
    state->table.n_columns = N_COLUMNS;
    state->table.cell = cell;
    state->table.context = state;
    state->table.sorted_by = state->sorted_by;
    state->table.is_falling = state->is_falling;
    mark_contradictions(state, facts_data(view->desk->facts), view->arena);
    int rc = order_rows(state, view->arena, err);
    if (rc != OK)
        return rc;
    follow_row(view);
    table_go(&state->table, state->table.selected, view->rows > 1 ? view->rows : 2);
    if (state->mode == MODE_ROW && state->table.n_rows == 0)
        state->mode = MODE_ROWS;
    say_heading(state);
    if (state->mode == MODE_ROWS)
        read_seen(view);
    else
        write_flow(view);
    return OK;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct state *state = view->state;

    if (!view->desk->facts)
        canvas_puts(canvas, 0, 0, STYLE_UNKNOWN, "no run chosen");
    else if (!state->samples || state->n == 0)
        canvas_puts(canvas, 0, 0, STYLE_UNKNOWN,
                    "no rows: import the training data (JSONL, JSON, CSV, Parquet or Arrow)");
    else if (state->mode != MODE_ROWS)
        scroll_draw(&state->scroll, canvas);
    else if (state->table.n_rows == 0)
        canvas_puts(canvas, 0, 0, STYLE_DIM, "no row is left by the filter; f shows others");
    else
        table_draw(&state->table, canvas, view->has_focus);
}

static bool act_on_rows(struct view *view, int action)
{
    struct state *state = view->state;

    switch (action) {
    case ACT_SORT:
        state->sorted_by = (state->sorted_by + 1) % N_SORTED;
        state->is_falling = state->sorted_by != COLUMN_ROW;
        break;
    case ACT_REVERSE:
        state->is_falling = !state->is_falling;
        break;
    case ACT_FILTER:
        state->filter = (state->filter + 1) % N_FILTERS;
        break;
    case ACT_LEFT:
    case ACT_RIGHT:
        table_scroll(&state->table, action == ACT_LEFT ? -STEP : STEP);
        return true;
    default:
        return false;
    }
    state->table.selected = state->table.top = 0;
    view->wants_load = true;
    return true;
}

static bool act(struct view *view, int action)
{
    struct state *state = view->state;

    if (action == ACT_READ || action == ACT_COUNT) {
        enum mode mode = action == ACT_READ ? MODE_ROW : MODE_COUNTS;

        state->mode = state->mode == mode ? MODE_ROWS : mode;
        state->scroll.top = 0;
        view->wants_load = true;
        return true;
    }
    if (action == ACT_NEXT_SET && view->desk->facts) {
        size_t n = count_sets(view->desk->facts);

        state->set = n ? (state->set + 1) % n : 0;
        state->mode = MODE_ROWS;
        state->table.selected = state->table.top = 0;
        view->wants_load = true;
        return true;
    }
    if (state->mode != MODE_ROWS)
        return scroll_act(&state->scroll, action, view->rows);
    if (motion_table(&state->table, action, view->rows)) {
        view->wants_load = state->table.top != state->first_text;
        return true;
    }
    return act_on_rows(view, action);
}

static void close_pane(struct view *view)
{
    row_reader_close(&((struct state *)view->state)->reader);
}

static void position(const struct view *view, struct buf *out)
{
    const struct state *state = view->state;

    if (state->mode == MODE_ROWS)
        table_position(&state->table, view->rows, out);
    else
        scroll_position(&state->scroll, view->rows, out);
}

static const char *heading(const struct view *view)
{
    const struct state *state = view->state;

    return state->heading[0] ? state->heading : NULL;
}

const struct view_ops view_data = {
    .id = "data",
    .title = "data",
    .state_size = sizeof(struct state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .close = close_pane,
    .position = position,
    .heading = heading,
    .depends_on = DESK_RUN,
};
