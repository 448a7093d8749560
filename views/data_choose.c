/* Which data set and which rows the data pane is about: the training rows at first, then what evidence points
 * to. See data_parts.h. */
#include <string.h>

#include "core/facts/data_columns.h"
#include "core/facts/leaks.h"
#include "views/data_parts.h"
#include "views/evidence_view.h"

/* ---- Which data set ---- */

static bool has_rows(const struct dataset *dataset)
{
    return dataset->form && strcmp(dataset->form, "lengths") != 0 && strcmp(dataset->form, "facts") != 0 &&
           dataset->n_rows > 0;
}

size_t data_count_sets(const struct run_facts *facts)
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
    size_t n = data_count_sets(facts);

    for (size_t i = 0; i < n; i++) {
        const struct dataset *dataset = nth_set(facts, i);
        if (dataset && dataset->split && strcmp(dataset->split, "train") == 0)
            return i;
    }
    return 0;
}

void data_open_mode(struct data_state *state, enum data_mode mode)
{
    state->mode = state->home = mode;
    state->came_from_values = false;
}

void data_show_all(struct data_state *state)
{
    state->filter = (struct data_filter){0};
    state->is_stale = true;
    state->rows.selected = state->rows.top = 0;
}

static struct column_names kept_names(struct data_state *state, const struct run_facts *facts)
{
    if (state->kept)
        arena_reset(state->kept);
    return state->kept && state->dataset ? data_columns_of(facts, state->dataset, state->kept)
                                         : (struct column_names){0};
}

static void forget_counts(struct data_state *state)
{
    data_scan_close(&state->scan);
    value_count_close(&state->count);
    state->values.selected = state->values.top = state->counts.selected = state->counts.top = 0;
}

void data_begin_run(struct view *view)
{
    struct data_state *state = view->state;
    const struct run_facts *facts = view->desk->facts;

    if (state->kept && state->run_id == view->desk->run_id)
        return;
    state->run_id = view->desk->run_id;
    state->set = facts ? training_set(facts) : 0;
    state->check = -1;
    data_open_mode(state, DATA_ROWS);
    data_show_all(state);
    forget_counts(state);
}

bool data_find_set(struct view *view)
{
    struct data_state *state = view->state;
    const struct run_facts *facts = view->desk->facts;
    const struct source *source = state->source;
    const char *path = state->scan.path;
    size_t n = state->n;

    state->dataset = facts ? nth_set(facts, state->set) : NULL;
    source = state->dataset ? facts_source(facts, state->dataset->source_id) : NULL;
    state->is_stale = state->is_stale || source != state->source || facts != state->facts ||
                      (facts && facts_data_hash(facts) != state->facts_hash);
    state->source = source;
    state->facts = facts;
    state->facts_hash = facts ? facts_data_hash(facts) : 0;
    state->samples = source ? facts_samples(facts, state->dataset, &state->n) : NULL;
    state->n = state->samples ? state->n : 0;
    if (!path || !source || strcmp(path, source->path) != 0 || n != state->n) {
        forget_counts(state);
        state->names = kept_names(state, facts);
        state->is_stale = true;
        if (state->n && !data_scan_begin(&state->scan, source->path, state->n, &state->names))
            return false;
    }
    return state->n > 0;
}

/* ---- Following ---- */

/* The set that was read from the source; of the run's own place in the list. */
void data_choose_source(struct data_state *state, const struct run_facts *facts, int64_t source_id)
{
    size_t n = data_count_sets(facts);

    for (size_t i = 0; source_id && i < n; i++)
        if (nth_set(facts, i)->source_id == source_id)
            state->set = i;
}

void data_count_values(struct data_state *state, const char *column)
{
    if (!state->source || (state->count.path && strcmp(state->count.column, column) == 0))
        return;
    state->values.selected = state->values.top = 0;
    (void)value_count_begin(&state->count, state->source->path, state->n, &state->names, column);
}

const char *data_shared_column(const struct run_facts *facts)
{
    const struct leaks *leaks = facts_leaks(facts);

    for (size_t i = 0; leaks && i < leaks->n_sets; i++)
        if (leaks->sets[i].n_columns)
            return leaks->sets[i].columns[0].name;
    return NULL;
}

/* Evidence about rows opens them: once, then the keys decide. */
const struct evidence *data_new_evidence(struct view *view, const struct check **check)
{
    struct data_state *state = view->state;
    const struct desk *desk = view->desk;
    const struct verdict_row *row;
    const struct evidence *evidence;
    const char *place;

    if (!desk->facts || !desk->verdicts || desk->check < 0 ||
        (size_t)desk->check >= desk->verdicts->n_rows ||
        (state->check == desk->check && state->evidence == desk->evidence))
        return NULL;
    state->check = desk->check;
    state->evidence = desk->evidence;
    row = &desk->verdicts->rows[desk->check];
    evidence = desk->evidence < row->result.n_evidence ? &row->result.evidence[desk->evidence] : NULL;
    place = evidence ? evidence_view(row->check, evidence) : NULL;
    *check = row->check;
    return place && strcmp(place, "data") == 0 ? evidence : NULL;
}

void data_follow_row(struct data_state *state, int64_t row)
{
    for (size_t i = 0; row != NONE && i < state->rows.n_rows; i++)
        if (state->order[i] == (size_t)row) {
            state->rows.selected = i;
            return;
        }
}

/* A row that another pane asks for, once. */
void data_follow_desk(struct view *view)
{
    struct data_state *state = view->state;
    int64_t row = view->desk->row;

    if (row == NONE || (size_t)row >= state->n || !view->has_focus)
        return;
    view->desk->row = NONE;
    data_follow_row(state, row);
}
