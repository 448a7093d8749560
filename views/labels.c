/* The labels pane: one row as it was tokenised, with what is supervised and what is masked, and over all
 * rows how many have which fault. Which row is shown follows the evidence of the open check; the
 * lines are made in labels_draw.c. */
#include <inttypes.h>
#include <string.h>

#include "core/exports/labels_report.h"
#include "views/labels_parts.h"
#include "views/registry.h"

#define ANNOUNCED_TOKENS 20000          /* more take so long to read that it is said first … */
#define ASKED_TOKENS     1000000        /* … and more than these are read when the user says so */
#define SIDEWAYS         8

enum {
    ACT_NEXT_FAULT, ACT_PREVIOUS_FAULT, ACT_NEXT_ROW, ACT_PREVIOUS_ROW, ACT_CHANGE, ACT_IDS, ACT_WRAP,
    ACT_BLANKS, ACT_SOURCE, ACT_HISTOGRAMS, ACT_NEXT_SET, ACT_LEFT, ACT_RIGHT, ACT_READ
};

static const struct action ACTIONS[] = {
    {ACT_NEXT_FAULT, "next-fault", "n", "next row with the same fault"},
    {ACT_PREVIOUS_FAULT, "previous-fault", "N", "row with the same fault before"},
    {ACT_NEXT_ROW, "next-row", ".", "next row"},
    {ACT_PREVIOUS_ROW, "previous-row", ",", "row before"},
    {ACT_CHANGE, "next-change", "c", "to where the text begins to be trained, or masked"},
    {ACT_IDS, "ids", "i", "token ids and labels under the text"},
    {ACT_WRAP, "wrap", "w", "wrap long lines, or scroll sideways"},
    {ACT_BLANKS, "blanks", "W", "every blank visible"},
    {ACT_SOURCE, "source", "s", "the row as it stands in its file"},
    {ACT_HISTOGRAMS, "lengths", "H", "histograms of length and of supervised tokens, and all counts"},
    {ACT_NEXT_SET, "next-rows", "o", "the other rows: training, evaluation, recorded, simulated"},
    {ACT_RIGHT, "right", "Right", "sideways; the next row while lines are wrapped"},
    {ACT_LEFT, "left", "Left", "sideways; the row before while lines are wrapped"},
    {ACT_READ, "read-row", "Enter", "read a row of very many tokens"},
    MOTION_ACTIONS,
    {0, NULL, NULL, NULL},
};

/* ---- Loading ---- */

static void forget_window(struct labels_state *state)
{
    audit_window_close(state->window);
    state->window = NULL;
    state->audit = NULL;
    state->labelled = NULL;
    state->read_row = NONE;
}

static bool has_rows(const struct audit *audit)
{
    return audit->basis != AUDIT_NONE && audit->n_rows && audit->rows && audit->dataset;
}

/* The evidence that the pane follows, NULL when no check is open. */
static const struct evidence *opened_evidence(const struct view *view)
{
    const struct desk *desk = view->desk;
    const struct check_result *result;

    if (!desk->verdicts || desk->check < 0 || (size_t)desk->check >= desk->verdicts->n_rows)
        return NULL;
    result = &desk->verdicts->rows[desk->check].result;
    return desk->evidence < result->n_evidence ? &result->evidence[desk->evidence] : NULL;
}

/* New evidence shows its own rows: recorded labels say one thing, the simulated ones may say another. */
static void follow_evidence(struct labels_state *state, const struct view *view)
{
    const struct evidence *evidence = opened_evidence(view);
    size_t n, k = 0;
    const struct audit *const *audits = facts_audits(view->desk->facts, &n);

    if (!evidence || !evidence->source_id)
        return;
    for (size_t i = 0; i < n; i++) {
        if (!has_rows(audits[i]))
            continue;
        if (audits[i]->dataset->source_id == evidence->source_id) {
            state->which = k;
            return;
        }
        k++;
    }
}

/* The audit to show: the chosen one of those that have rows; behind the last comes the first. */
static const struct audit *choose_audit(struct labels_state *state, const struct run_facts *facts)
{
    size_t n, k = 0;
    const struct audit *const *audits = facts_audits(facts, &n), *first = NULL;
    const char *missing = NULL;

    for (size_t i = 0; i < n; i++) {
        missing = audits[i]->missing ? audits[i]->missing : missing;
        if (!has_rows(audits[i]))
            continue;
        first = first ? first : audits[i];
        if (k++ == state->which)
            return audits[i];
    }
    state->which = 0;
    if (!first)
        (void)error_set(&state->failure, E_NOTFOUND, "no labels to show, missing: %s",
                        missing ? missing : "the training data with the tokenizer folder, or "
                                            "labels_sample.jsonl");
    return first;
}

static int64_t first_fault(const struct audit *audit)
{
    for (int64_t i = 0; i < audit->n_rows; i++)
        if (labels_main_fault(audit, i))
            return i;
    return 0;
}

static void choose_row(struct labels_state *state, const struct view *view, bool is_new)
{
    const struct evidence *evidence = is_new ? opened_evidence(view) : NULL;
    int64_t row = NONE, n = state->audit->n_rows;

    if (evidence && (!evidence->source_id || evidence->source_id == state->audit->dataset->source_id))
        row = evidence->row;
    if (view->desk->row != NONE && view->desk->row < n) {   /* asked for by its number, once */
        row = view->desk->row;
        view->desk->row = NONE;
    }
    if (row != NONE && row >= 0 && row < n && row != state->row) {
        state->row = row;
        state->scroll.top = state->part = 0;
    } else if (state->row == NONE || state->row >= n) {
        state->row = first_fault(state->audit);
    }
}

static int32_t tokens_of(const struct labels_state *state)
{
    return state->audit->rows[state->row].n_tokens;
}

/* Opening loads a tokenizer, and a long row takes its time: the screen says so before it is done. */
static bool is_put_off(struct labels_state *state, struct view *view)
{
    if (state->read_row == state->row)
        return false;
    state->labelled = NULL;
    if (tokens_of(state) > ASKED_TOKENS && state->wanted_row != state->row)
        return true;
    if (!state->was_announced && (!state->window || tokens_of(state) > ANNOUNCED_TOKENS)) {
        state->was_announced = view->wants_load = true;
        return true;
    }
    state->was_announced = false;
    return false;
}

static int load_row(struct labels_state *state, const struct run_facts *facts, struct error *err)
{
    int rc = OK;

    if (state->read_row == state->row)
        return OK;
    if (!state->window)
        rc = audit_window_open(&state->window, facts, state->audit, &state->failure);
    if (rc == OK)
        rc = audit_window_row(state->window, state->row, &state->labelled, &state->raw, &state->failure);
    if (rc == E_NOMEM)
        return error_set(err, E_NOMEM, "reading a row");
    if (rc == OK)
        state->read_row = state->row;
    else
        state->labelled = NULL;
    return OK; /* what else went wrong is shown in the pane */
}

/* What is looked at: the audit and the row. */
static void choose(struct labels_state *state, const struct view *view)
{
    const struct desk *desk = view->desk;
    bool is_new = state->check != desk->check + 1 || state->evidence != desk->evidence;
    const struct audit *audit;

    state->check = desk->check + 1;
    state->evidence = desk->evidence;
    if (is_new)
        follow_evidence(state, view);
    audit = choose_audit(state, desk->facts);
    if (audit != state->audit) {
        forget_window(state);
        state->row = is_new || state->row == NONE || !audit || state->row < audit->n_rows ? state->row
                                                                                          : NONE;
    }
    state->audit = audit;
    if (audit)
        choose_row(state, view, is_new);
}

static int load(struct view *view, struct error *err)
{
    struct labels_state *state = view->state;
    const struct run_facts *facts = view->desk->facts;
    int rc = OK;

    state->failure = (struct error){.status = OK};
    state->heading[0] = '\0';
    if (state->run_id != view->desk->run_id) {
        state->row = state->wanted_row = NONE;
        state->which = state->check = 0;
        state->run_id = view->desk->run_id;
    }
    if (!facts || state->serial != facts->serial)
        forget_window(state);
    scroll_begin(&state->scroll, view);
    if (facts) {
        state->serial = facts->serial;
        choose(state, view);
        if (state->audit && state->mode != LABELS_HISTOGRAMS && !is_put_off(state, view))
            rc = load_row(state, facts, err);
        if (rc == OK)
            labels_write(state, view);
    }
    if (state->from_below)
        state->scroll.top = state->scroll.flow.n_lines;
    state->from_below = false;
    scroll_end(&state->scroll, view);
    return rc;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct labels_state *state = view->state;

    if (!view->desk->facts)
        canvas_puts(canvas, 0, 0, STYLE_DIM,
                    view->desk->is_importing ? "reading the files" : "no run is open");
    else
        labels_draw(state, canvas);
}

/* ---- Moving ---- */

static void go_to_row(struct view *view, int64_t row)
{
    struct labels_state *state = view->state;

    state->row = row;
    state->scroll.top = state->part = 0;
    state->left = 0;
    view->wants_load = true;
}

/* By one row; at the ends nothing. */
static bool step_row(struct view *view, int by)
{
    struct labels_state *state = view->state;

    if (state->row + by >= 0 && state->row + by < state->audit->n_rows)
        go_to_row(view, state->row + by);
    return true;
}

static void go_to_fault(struct view *view, int direction)
{
    struct labels_state *state = view->state;
    const struct audit *audit = state->audit;
    uint32_t fault = labels_main_fault(audit, state->row);
    uint32_t wanted = fault ? fault : labels_fault_mask();

    for (int64_t i = 1; i <= audit->n_rows; i++) {
        int64_t row = (state->row + direction * i + audit->n_rows) % audit->n_rows;

        if (!(audit->rows[row].flags & wanted))
            continue;
        go_to_row(view, row);
        return;
    }
}

static bool set_mode(struct view *view, enum labels_mode mode)
{
    struct labels_state *state = view->state;

    state->mode = state->mode == mode ? LABELS_TEXT : mode;
    state->scroll.top = 0;
    state->left = 0;
    view->wants_load = true;
    return true;
}

static bool toggle(struct view *view, bool *what)
{
    *what = !*what;
    view->wants_load = true;
    return true;
}

static bool go_to_part(struct view *view, size_t part, bool from_below)
{
    struct labels_state *state = view->state;

    state->part = part;
    state->scroll.top = 0;
    state->from_below = from_below;
    view->wants_load = true;
    return true;
}

/* Over the edge of a part lies the next one. */
static bool scroll_parts(struct view *view, int action)
{
    struct labels_state *state = view->state;
    size_t n = labels_count_parts(state), top = state->scroll.top;
    bool is_at_end = top + (size_t)view->rows >= state->scroll.flow.n_lines;
    ptrdiff_t by;

    if (n > 1 && motion_by(action, view->rows, &by)) {
        if (action == MOTION_TOP && state->part)
            return go_to_part(view, 0, false);
        if (action == MOTION_BOTTOM && state->part + 1 < n)
            return go_to_part(view, n - 1, true);
        if (by > 0 && is_at_end && state->part + 1 < n)
            return go_to_part(view, state->part + 1, false);
        if (by < 0 && top == 0 && state->part)
            return go_to_part(view, state->part - 1, true);
    }
    return scroll_act(&state->scroll, action, view->rows);
}

static bool sideways(struct view *view, int by)
{
    struct labels_state *state = view->state;

    if (!state->no_wrap)
        return step_row(view, by);
    state->left += by * SIDEWAYS;
    state->left = state->left < 0 ? 0 : state->left;
    return true;
}

static bool toggle_wrap(struct view *view)
{
    struct labels_state *state = view->state;

    state->left = 0;
    return toggle(view, &state->no_wrap);
}

static bool read_row(struct view *view)
{
    struct labels_state *state = view->state;

    if (state->read_row == state->row)
        return false;
    state->wanted_row = state->row;
    view->wants_load = true;
    return true;
}

static bool change_look(struct view *view, int action)
{
    struct labels_state *state = view->state;

    switch (action) {
    case ACT_IDS:
        return toggle(view, &state->shows_ids);
    case ACT_WRAP:
        return toggle_wrap(view);
    case ACT_BLANKS:
        return toggle(view, &state->shows_blanks);
    case ACT_SOURCE:
        return set_mode(view, LABELS_SOURCE);
    default:
        return set_mode(view, LABELS_HISTOGRAMS);
    }
}

static bool act(struct view *view, int action)
{
    struct labels_state *state = view->state;

    if (!state->audit)
        return scroll_act(&state->scroll, action, view->rows);
    switch (action) {
    case ACT_NEXT_FAULT:
    case ACT_PREVIOUS_FAULT:
        go_to_fault(view, action == ACT_NEXT_FAULT ? 1 : -1);
        return true;
    case ACT_NEXT_ROW:
    case ACT_PREVIOUS_ROW:
        return step_row(view, action == ACT_NEXT_ROW ? 1 : -1);
    case ACT_RIGHT:
    case ACT_LEFT:
        return sideways(view, action == ACT_RIGHT ? 1 : -1);
    case ACT_CHANGE:
        scroll_go(&state->scroll, labels_next_change(state), view->rows);
        return true;
    case ACT_IDS:
    case ACT_WRAP:
    case ACT_BLANKS:
    case ACT_SOURCE:
    case ACT_HISTOGRAMS:
        return change_look(view, action);
    case ACT_NEXT_SET:
        state->which++;
        go_to_row(view, NONE);
        return true;
    case ACT_READ:
        return read_row(view);
    default:
        return scroll_parts(view, action);
    }
}

static void close_view(struct view *view)
{
    forget_window(view->state);
}

static void status(const struct view *view, struct buf *out)
{
    const struct labels_state *state = view->state;
    size_t n_parts;

    if (!state->audit || state->row == NONE)
        return;
    n_parts = labels_count_parts(state);
    buf_printf(out, "%s row %" PRId64 " of %" PRId64, state->audit->dataset->name, state->row,
               state->audit->n_rows);
    if (n_parts > 1)
        buf_printf(out, "  part %zu of %zu", state->part + 1, n_parts);
}

static const char *heading(const struct view *view)
{
    const struct labels_state *state = view->state;

    return state->heading[0] ? state->heading : NULL;
}

const struct view_ops view_labels = {
    .id = "labels",
    .title = "labels",
    .state_size = sizeof(struct labels_state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .close = close_view,
    .n_lines = scroll_view_lines,
    .line = scroll_view_line,
    .go = scroll_view_go,
    .at = scroll_view_at,
    .status = status,
    .position = scroll_view_position,
    .heading = heading,
    .depends_on = DESK_RUN | DESK_CHECK | DESK_EVIDENCE,
};
