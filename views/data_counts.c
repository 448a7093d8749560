/* What was counted over all rows: together, by column, class, flag and length; and the values of one
 * column. Enter on a line shows the rows behind it. See data_parts.h. */
#include <stdio.h>
#include <string.h>

#include "core/base/unicode.h"
#include "views/data_parts.h"

enum { MOST_LINES = 400, BAR = 40, SHORT_BAR = 10, LABELS = 36, WIDE = 100, NOTED_BAR = 6,
       OPENING_WORDS = 2 };   /* the ones that decide (C5.2) */
static const char BAR_TEXT[BAR + 1] = "########################################";

static const struct {
    uint32_t flag;
    const char *name;
} FLAGS[DATA_N_FLAGS] = {{SAMPLE_EMPTY_ANSWER, "empty answer"},
                         {SAMPLE_EMPTY_PROMPT, "empty prompt"},
                         {SAMPLE_NO_ASSISTANT, "no answer"}};

/* [0]: none; [i]: 2^(i-1) … 2^i - 1, as struct data_lengths has it. */
static int bin_of(int64_t n)
{
    int bin = 0;

    for (; n > 0 && bin < DATA_TOKEN_BINS - 1; n >>= 1)
        bin++;
    return bin;
}

void data_tally(struct data_state *state)
{
    memset(state->n_with_flag, 0, sizeof state->n_with_flag);
    memset(state->token_bins, 0, sizeof state->token_bins);
    state->n_over = 0;
    if (!facts_number(state->facts, "max_length", &state->limit) || !(state->limit > 0))
        state->limit = 0;
    for (size_t i = 0; i < state->n; i++) {
        const struct sample *sample = &state->samples[i];

        for (size_t k = 0; k < DATA_N_FLAGS; k++)
            state->n_with_flag[k] += (sample->flags & FLAGS[k].flag) != 0;
        if (sample->n_tokens < 0)
            continue;
        state->token_bins[bin_of(sample->n_tokens)]++;
        state->n_over += state->limit > 0 && sample->n_tokens > state->limit;
    }
}

/* ---- Lines ---- */

struct lines {
    struct data_line *items;
    size_t n;
    struct arena *arena;
};

static struct data_line *add(struct lines *lines, const char *name, int64_t n, int64_t most)
{
    struct data_line *line = &lines->items[lines->n];   /* the last one is written to again and again */

    lines->n += lines->n < MOST_LINES;

    *line = (struct data_line){.name = name, .n = n, .most = most, .style = STYLE_TEXT};
    return line;
}

static void add_title(struct lines *lines, const char *title, const char *note)
{
    if (lines->n)
        add(lines, "", NONE, NONE);
    struct data_line *line = add(lines, title, NONE, NONE);
    line->style = STYLE_STRONG;
    line->note = note;
}

static void filters(struct data_line *line, struct data_filter filter, const char *said)
{
    line->has_filter = line->n > 0;
    line->filter = filter;
    snprintf(line->filter.said, sizeof line->filter.said, "%s", said);
}

static void add_together(struct lines *lines, const struct data_state *state, const struct data_facts *data)
{
    if (!data)
        return;
    add_title(lines, "training rows together", data->is_partial ? "not all of them"
                                               : data->limits   ? "facts, no rows here"
                                                                : NULL);
    add(lines, "rows", data->n_rows, data->n_rows);
    add(lines, "duplicate rows", data->n_duplicates, data->n_rows);
    add(lines, "repeated inputs", data->n_groups, data->n_rows);
    struct data_line *line = add(lines, "contradictory", data->n_contradictory, data->n_rows);

    if (state->n_contradicts)
        filters(line, (struct data_filter){.kind = DATA_CONTRADICTS}, "contradictory");
    add(lines, "an empty text", data->n_degenerate, data->n_rows);
    add(lines, "not readable", data->n_unreadable, data->n_rows);
}

static void add_columns(struct lines *lines, const struct data_state *state)
{
    const struct data_scan *scan = &state->scan;
    int64_t rows = (int64_t)scan->walk.next;

    if (!scan->walk.is_begun || scan->n_columns == 0)
        return;
    add_title(lines, "columns", "Enter: its values");
    if (scan->has_input)
        add(lines, "input of the row", rows, rows)->column = SCAN_INPUT;
    if (scan->has_target)
        add(lines, "target of the row", rows, rows)->column = SCAN_TARGET;
    for (size_t i = 0; i < scan->n_columns; i++)
        add(lines, scan->columns[i].name, (int64_t)scan->columns[i].n, rows)->column = scan->columns[i].name;
    if (scan->has_more_columns)
        add(lines, "and more columns", NONE, NONE)->style = STYLE_DIM;
}

static void add_classes(struct lines *lines, const struct data_facts *data)
{
    if (!data || data->n_kept_classes == 0)
        return;
    add_title(lines, "classes of training rows", NULL);
    for (size_t i = 0; i < data->n_kept_classes; i++) {
        const struct data_class *class = &data->classes[i];
        const struct data_opening *opening = &class->openings[OPENING_WORDS - 1];

        add(lines, class->name, class->n_rows, data->classes[0].n_rows)->column = SCAN_TARGET;
        if (!opening->text || opening->n_in == 0)
            continue;
        struct data_line *line = add(lines, arena_printf(lines->arena, "  \"%s\"", opening->text),
                                     opening->n_in, data->classes[0].n_rows);
        line->style = STYLE_DIM;
        line->note = arena_printf(lines->arena, "and %lld others", (long long)opening->n_out);
    }
    if (data->n_classes > (int64_t)data->n_kept_classes)
        add(lines, arena_printf(lines->arena, "and %lld more classes",
                                (long long)(data->n_classes - (int64_t)data->n_kept_classes)),
            NONE, NONE)->style = STYLE_DIM;
}

static void add_flags(struct lines *lines, const struct data_state *state)
{
    add_title(lines, "flags", NULL);
    for (size_t k = 0; k < DATA_N_FLAGS; k++)
        filters(add(lines, FLAGS[k].name, state->n_with_flag[k], (int64_t)state->n),
                (struct data_filter){.kind = DATA_WITH_FLAG, .flag = FLAGS[k].flag}, FLAGS[k].name);
}

struct histogram {
    const char *of;             /* "tokens" */
    const int64_t *bins;
    int n_bins;
    enum data_filter_kind kind;
    double limit;
};

static void add_bins(struct lines *lines, const struct histogram *h)
{
    int first = 0, last = h->n_bins - 1;
    int64_t most = 1;

    while (last > 0 && h->bins[last] == 0)
        last--;
    while (first < last && h->bins[first] == 0)
        first++;
    if (h->limit > 0 && bin_of((int64_t)h->limit) > last && bin_of((int64_t)h->limit) < h->n_bins)
        last = bin_of((int64_t)h->limit);
    for (int i = first; i <= last; i++)
        most = h->bins[i] > most ? h->bins[i] : most;
    for (int i = first; i <= last; i++) {
        int64_t low = i ? (int64_t)1 << (i - 1) : 0, high = i ? ((int64_t)1 << i) - 1 : 0;
        const char *name = i == h->n_bins - 1 ? arena_printf(lines->arena, "%lld or more", (long long)low)
                           : low == high      ? arena_printf(lines->arena, "%lld", (long long)low)
                                              : arena_printf(lines->arena, "%lld-%lld", (long long)low,
                                                             (long long)high);
        struct data_line *line = add(lines, name, h->bins[i], most);

        high = i == h->n_bins - 1 ? INT64_MAX : high;
        if (h->limit > 0 && h->limit >= (double)low && h->limit <= (double)high)
            line->note = arena_printf(lines->arena, "<- limit %.0f", h->limit);
        filters(line, (struct data_filter){.kind = h->kind, .low = low, .high = high},
                arena_printf(lines->arena, "%s %s", name, h->of));
    }
}

static void add_tokens(struct lines *lines, const struct data_state *state)
{
    bool is_estimated = state->n && state->samples[0].flags & SAMPLE_ESTIMATED;
    const struct histogram h = {"tokens", state->token_bins, DATA_TOKEN_BINS, DATA_IN_TOKENS, state->limit};

    if (state->n == 0)
        return;
    add_title(lines, "tokens", is_estimated ? "estimated, without a tokenizer" : NULL);
    add_bins(lines, &h);
    if (state->limit <= 0)
        return;
    struct data_line *line =
        add(lines, arena_printf(lines->arena, "above max_length %.0f", state->limit), state->n_over,
            (int64_t)state->n);
    line->style = state->n_over ? STYLE_WARN : STYLE_TEXT;
    filters(line,
            (struct data_filter){.kind = DATA_IN_TOKENS, .low = (int64_t)state->limit + 1, .high = INT64_MAX},
            line->name);
}

static void add_words(struct lines *lines, const char *of, const struct data_lengths *lengths,
                      enum data_filter_kind kind)
{
    const struct histogram h = {"words", lengths->bins, DATA_BINS, kind, 0.0};

    if (lengths->n == 0)
        return;
    add_title(lines, arena_printf(lines->arena, "words of the %s", of),
              arena_printf(lines->arena, "median %lld, 95 %% %lld, longest %lld", (long long)lengths->median,
                           (long long)lengths->p95, (long long)lengths->longest));
    add_bins(lines, &h);
}

static bool is_training(const struct data_state *state, const struct data_facts *data)
{
    for (size_t i = 0; data && i < data->n_files; i++)
        if (state->source && data->files[i].source_id == state->source->id)
            return true;
    return false;
}

int data_write_counts(struct view *view, struct error *err)
{
    struct data_state *state = view->state;
    const struct data_facts *data = facts_data(view->desk->facts);
    struct lines lines = {.items = arena_array(view->arena, MOST_LINES + 1, sizeof *lines.items),
                          .arena = view->arena};

    state->lines = lines.items;
    state->n_lines = 0;
    if (!lines.items)
        return error_set(err, E_NOMEM, "no memory for what was counted");
    add_together(&lines, state, data);
    add_columns(&lines, state);
    add_classes(&lines, data);
    if (state->n)
        add_flags(&lines, state);
    add_tokens(&lines, state);
    /* without the rows there is nothing to show behind a line, but the line stands */
    if (data && (is_training(state, data) || state->n == 0)) {
        add_words(&lines, "input", &data->input, DATA_IN_INPUT_WORDS);
        add_words(&lines, "target", &data->target, DATA_IN_TARGET_WORDS);
    }
    state->n_lines = lines.n;
    state->counts.n_rows = lines.n;
    return OK;
}

size_t data_line_of_classes(const struct data_state *state)
{
    for (size_t i = 0; i + 1 < state->n_lines; i++)
        if (state->lines[i].n == NONE && strncmp(state->lines[i].name, "classes", 7) == 0)
            return i + 1;
    return 0;
}

/* ---- Cells of both lists ---- */

static struct str bar_text(struct data_state *state, int64_t n, int64_t most, const char *note)
{
    int bar = !note ? state->bar_cells : state->bar_cells > 4 * NOTED_BAR ? NOTED_BAR : 0;
    int cells = most > 0 ? (int)((double)n / (double)most * state->bar_cells + 0.5) : 0;

    cells = cells == 0 && n > 0 ? 1 : cells > state->bar_cells ? state->bar_cells : cells;
    if (!note)
        return str_from(BAR_TEXT, (size_t)cells);
    cells = cells < bar ? cells : bar;
    snprintf(state->number, sizeof state->number, "%.*s%s%s", cells, BAR_TEXT, cells ? " " : "", note);
    return str_of(state->number);
}

static struct str whole(struct data_state *state, int64_t n)
{
    snprintf(state->number, sizeof state->number, "%lld", (long long)n);
    return str_of(state->number);
}

static struct str count_cell(const void *context, size_t i, size_t column, enum style_role *style)
{
    struct data_state *state = (struct data_state *)(uintptr_t)context;
    const struct data_line *line = &state->lines[i];

    if (column == 0) {
        *style = line->style;
        return str_of(line->name);
    }
    if (line->n == NONE) {
        *style = STYLE_DIM;
        return str_of(column == 2 ? line->note : "");
    }
    if (column == 1)
        return whole(state, line->n);
    *style = line->note ? STYLE_WARN : STYLE_CURVE_A;
    return bar_text(state, line->n, line->most, line->note);
}

void data_count_columns(struct data_state *state, int columns)
{
    static const struct table_column COLUMNS[] = {{"", false, 24}, {"rows", true, 0}, {"", false, 0}};

    int room = columns - LABELS;

    state->bar_cells = room < SHORT_BAR ? SHORT_BAR : room > BAR ? BAR : room;
    state->counts.columns = COLUMNS;
    state->counts.n_columns = sizeof COLUMNS / sizeof *COLUMNS;
    state->counts.cell = count_cell;
    state->counts.context = state;
    state->counts.sorted_by = -1;
}

static struct str value_cell(const void *context, size_t i, size_t column, enum style_role *style)
{
    struct data_state *state = (struct data_state *)(uintptr_t)context;
    const struct value_count *count = &state->count;
    bool is_other = i == count->n_ordered;
    const struct scan_value *value = is_other ? NULL : &count->values[count->order[i]];
    size_t n = is_other ? count->n_other : value->n;

    switch (column) {
    case 0:
        return whole(state, (int64_t)n);
    case 1:
        snprintf(state->number, sizeof state->number, "%.1f",
                 count->walk.next ? 100.0 * (double)n / (double)count->walk.next : 0.0);
        return str_of(state->number);
    case 2:
        *style = STYLE_CURVE_A;
        return bar_text(state, (int64_t)n, (int64_t)count->values[count->order[0]].n, NULL);
    case 3:
        *style = STYLE_DIM;
        return str_of(is_other ? "" : value->kind);
    default:
        *style = is_other ? STYLE_DIM : STYLE_TEXT;
        return str_of(is_other         ? "values beyond the first 200,000"
                      : value->text[0] ? value->text
                                       : "(empty)");
    }
}

void data_value_columns(struct data_state *state, int columns)
{
    static const struct table_column COLUMNS[] = {
        {"rows", true, 0}, {"%", true, 0}, {"", false, 0}, {"is", false, 0}, {"value", false, 0}};

    state->bar_cells = columns < WIDE ? SHORT_BAR : BAR;
    state->values.columns = COLUMNS;
    state->values.n_columns = sizeof COLUMNS / sizeof *COLUMNS;
    state->values.cell = value_cell;
    state->values.context = state;
    state->values.sorted_by = 0;
    state->values.is_falling = true;
    state->values.n_rows = state->count.n_ordered + (state->count.n_other > 0);
}
