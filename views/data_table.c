/* Rows of a data set: which are shown in which order, their cells, and one of them whole. See
 * data_parts.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/unicode.h"
#include "views/data_parts.h"

enum { PREVIEW_BYTES = 400, READ_BYTES = 256 << 10, DIGIT_BITS = 11, DIGIT_MASK = (1 << DIGIT_BITS) - 1 };

static const struct table_column COLUMNS[DATA_N_COLUMNS] = {
    {"row", true, 0}, {"tokens", true, 0}, {"prompt", true, 0},
    {"flags", false, 16}, {"target", false, 24}, {"input", false, 0}};

/* ---- Which rows ---- */

static void mark_place(struct data_state *state, const struct data_facts *data,
                       const struct data_place *place)
{
    if (place->file < 0 || (size_t)place->file >= data->n_files || place->row < 0 ||
        (size_t)place->row >= state->n || data->files[place->file].source_id != state->source->id)
        return;
    if (!state->contradicts)
        state->contradicts = calloc(state->n + 1, 1);
    if (state->contradicts && !state->contradicts[place->row])
        state->n_contradicts += state->contradicts[place->row] = 1;
}

static void mark_contradictions(struct data_state *state, const struct data_facts *data)
{
    free(state->contradicts);
    state->contradicts = NULL;
    state->n_contradicts = 0;
    for (size_t g = 0; data && g < data->n_shown; g++) {
        const struct data_group *group = &data->groups[g];

        for (size_t k = 0; group->kind >= DATA_CONTRADICTORY && k < group->n_targets; k++)
            for (size_t i = 0; i < group->targets[k].n_rows; i++)
                mark_place(state, data, &group->targets[k].rows[i]);
    }
}

static bool is_within(const struct data_filter *filter, int64_t n)
{
    return n >= filter->low && n <= filter->high;
}

static bool was_read(const struct data_state *state, size_t row)
{
    return row < state->scan.walk.next;
}

static bool is_shown(const struct data_state *state, size_t row)
{
    const struct data_filter *filter = &state->filter;
    const struct sample *sample = &state->samples[row];
    bool contradicts = state->contradicts && state->contradicts[row];
    uint32_t flags = sample->flags & ~(uint32_t)SAMPLE_ESTIMATED;

    switch (filter->kind) {
    case DATA_ALL:
        return true;
    case DATA_FLAGGED:
        return flags || contradicts;
    case DATA_CONTRADICTS:
        return contradicts;
    case DATA_WITH_FLAG:
        return flags & filter->flag;
    case DATA_IN_TOKENS:
        return is_within(filter, sample->n_tokens);
    case DATA_IN_INPUT_WORDS:
        return was_read(state, row) && is_within(filter, state->scan.input_words[row]);
    case DATA_IN_TARGET_WORDS:
        return was_read(state, row) && is_within(filter, state->scan.target_words[row]);
    case DATA_WITH_VALUE:
        return state->count.of_row && row < state->count.walk.n &&
               state->count.of_row[row] == (uint32_t)filter->low;
    }
    return true;
}

static int64_t key_of(const struct data_state *state, size_t row)
{
    const struct sample *sample = &state->samples[row];

    switch (state->sorted_by) {
    case DATA_COLUMN_TOKENS:
        return sample->n_tokens;
    case DATA_COLUMN_PROMPT:
        return sample->n_prompt_tokens;
    case DATA_COLUMN_FLAGS:
        return (int64_t)(sample->flags & ~(uint32_t)SAMPLE_ESTIMATED) * 2 +
               (state->contradicts && state->contradicts[row]);
    default:
        return (int64_t)row;
    }
}

struct sorted {
    uint64_t key;               /* from 0 */
    size_t row;
};

/* Keys become distances from where the order begins. Returns the greatest. */
static uint64_t take_keys(const struct data_state *state, struct sorted *sorted, size_t n)
{
    int64_t low = INT64_MAX, high = INT64_MIN;

    for (size_t i = 0; i < n; i++) {
        int64_t key = key_of(state, sorted[i].row);

        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t key = key_of(state, sorted[i].row);

        sorted[i].key = (uint64_t)(state->is_falling ? high - key : key - low);
    }
    return n ? (uint64_t)(high - low) : 0;
}

/* By digits from the last one on: a million rows between two keys. Equal ones stay as they stand. */
static struct sorted *sort_rows(struct sorted *sorted, struct sorted *other, size_t n, uint64_t most)
{
    for (unsigned shift = 0; shift < 64 && most >> shift; shift += DIGIT_BITS) {
        size_t starts[1 << DIGIT_BITS] = {0}, sum = 0;
        struct sorted *last = sorted;

        for (size_t i = 0; i < n; i++)
            starts[sorted[i].key >> shift & DIGIT_MASK]++;
        for (size_t k = 0; k <= DIGIT_MASK; k++) {
            size_t count = starts[k];
            starts[k] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++)
            other[starts[sorted[i].key >> shift & DIGIT_MASK]++] = sorted[i];
        sorted = other;
        other = last;
    }
    return sorted;
}

static int order_rows(struct data_state *state, struct error *err)
{
    struct sorted *sorted = malloc(2 * (state->n + 1) * sizeof *sorted), *done;
    size_t *order = realloc(state->order, (state->n + 1) * sizeof *order);
    size_t n = 0;

    state->order = order ? order : state->order;
    if (!sorted || !order) {
        free(sorted);
        state->rows.n_rows = 0;
        return error_set(err, E_NOMEM, "no memory to sort %zu rows", state->n);
    }
    for (size_t row = 0; row < state->n; row++)
        if (is_shown(state, row))
            sorted[n++].row = row;
    uint64_t most = take_keys(state, sorted, n);
    done = sort_rows(sorted, sorted + state->n + 1, n, most);
    for (size_t i = 0; i < n; i++)
        order[i] = done[i].row;
    free(sorted);
    state->rows.n_rows = n;
    return OK;
}

int data_order(struct view *view, struct error *err)
{
    struct data_state *state = view->state;

    if (!state->is_stale)
        return OK;
    state->is_stale = false;
    state->n_texts = 0;
    mark_contradictions(state, facts_data(view->desk->facts));
    data_tally(state);
    return order_rows(state, err);
}

/* ---- Cells ---- */

static struct str flags_text(const struct data_state *state, size_t row, enum style_role *style)
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

static struct str number_text(struct data_state *state, int64_t n, bool is_estimated)
{
    if (n < 0)
        return str_of("-");
    snprintf(state->number, sizeof state->number, "%s%lld", is_estimated ? "~" : "", (long long)n);
    return str_of(state->number);
}

static struct str cell(const void *context, size_t i, size_t column, enum style_role *style)
{
    struct data_state *state = (struct data_state *)(uintptr_t)context;
    size_t row = state->order[i];
    const struct sample *sample = &state->samples[row];
    bool is_estimated = sample->flags & SAMPLE_ESTIMATED;
    bool is_read = i >= state->first_text && i < state->first_text + state->n_texts;

    switch (column) {
    case DATA_COLUMN_ROW:
        return number_text(state, (int64_t)row, false);
    case DATA_COLUMN_TOKENS:
        return number_text(state, sample->n_tokens, is_estimated);
    case DATA_COLUMN_PROMPT:
        return number_text(state, sample->n_prompt_tokens, is_estimated);
    case DATA_COLUMN_FLAGS:
        return flags_text(state, row, style);
    case DATA_COLUMN_TARGET:
        return is_read ? state->texts[i - state->first_text].target : str_of("");
    default:
        *style = STYLE_DIM;
        return is_read ? state->texts[i - state->first_text].input : str_of("");
    }
}

void data_table_columns(struct data_state *state)
{
    state->rows.columns = COLUMNS;
    state->rows.n_columns = DATA_N_COLUMNS;
    state->rows.cell = cell;
    state->rows.context = state;
    state->rows.sorted_by = state->sorted_by;
    state->rows.is_falling = state->is_falling;
}

/* ---- Texts ---- */

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

void data_read_seen(struct view *view)
{
    struct data_state *state = view->state;
    size_t rows = view->rows > 1 ? (size_t)view->rows - 1 : 1, top = state->rows.top;
    size_t n = state->rows.n_rows - top < rows ? state->rows.n_rows - top : rows;

    n = n < DATA_MOST_SEEN ? n : DATA_MOST_SEEN;
    if (state->first_text == top && state->n_texts == n)
        return;
    arena_reset(state->seen);
    state->first_text = top;
    state->n_texts = 0;
    state->reader.names = state->names;
    while (state->n_texts < n) {
        struct row_text *text = &state->texts[state->n_texts];
        size_t row = state->order[top + state->n_texts++];

        (void)row_text_read(&state->reader, state->source->path, state->samples[row].at, (int64_t)row,
                            PREVIEW_BYTES, false, state->seen, text);
        text->input = one_line(text->input, state->seen);
        text->target = one_line(text->target, state->seen);
    }
}

struct str data_search_text(const struct data_state *state, size_t i)
{
    return i < state->rows.n_rows ? data_scan_text(&state->scan, state->order[i]) : str_of("");
}

/* ---- One row ---- */

static void put_block(struct textflow *flow, const char *title, struct str text)
{
    if (text.n == 0)
        return;
    if (flow->n_lines)
        flow_break(flow);
    flow_puts(flow, STYLE_STRONG, title);
    flow_break(flow);
    flow_text(flow, STYLE_TEXT, text);
    flow_break(flow);
}

void data_put_row(struct view *view)
{
    struct data_state *state = view->state;
    struct textflow *flow = &state->row.flow;
    size_t row = state->order[state->rows.selected];
    struct row_text text;

    state->reader.names = state->names;
    if (!row_text_read(&state->reader, state->source->path, state->samples[row].at, (int64_t)row,
                       READ_BYTES, true, view->arena, &text)) {
        flow_puts(flow, STYLE_UNKNOWN, "the row cannot be read any more");
        return;
    }
    if (text.fields.n) {
        flow_text(flow, STYLE_DIM, text.fields);
        flow_break(flow);
    }
    put_block(flow, "input", text.input);
    put_block(flow, text.rejected.p ? "chosen" : "target",
              text.target.n || text.input.n == 0 ? text.target : str_of("(empty)"));
    put_block(flow, "rejected", text.rejected);
    put_block(flow, "as it stands in its file", text.raw);
    if (text.is_cut)
        flow_puts(flow, STYLE_DIM, "a text goes on beyond what is shown");
}
