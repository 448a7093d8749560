/* The labels pane: one row as it was tokenised, with what is supervised and what is masked, and over all
 * rows how many have which fault. Which row is shown follows the evidence of the open check; the
 * lines are made in labels_draw.c. */
#include <inttypes.h>
#include <string.h>

#include "core/exports/labels_report.h"
#include "views/labels_parts.h"
#include "views/registry.h"

enum {
    ACT_NEXT_FAULT, ACT_PREVIOUS_FAULT, ACT_NEXT_ROW, ACT_PREVIOUS_ROW, ACT_IDS, ACT_WRAP, ACT_BLANKS,
    ACT_SOURCE, ACT_HISTOGRAMS, ACT_NEXT_SET
};

static const struct action ACTIONS[] = {
    {ACT_NEXT_FAULT, "next-fault", "n", "next row with the same fault"},
    {ACT_PREVIOUS_FAULT, "previous-fault", "N", "row with the same fault before"},
    {ACT_NEXT_ROW, "next-row", "Right", "next row"},
    {ACT_PREVIOUS_ROW, "previous-row", "Left", "row before"},
    {ACT_IDS, "ids", "i", "token ids and labels under the text"},
    {ACT_WRAP, "wrap", "w", "wrap long lines or cut them"},
    {ACT_BLANKS, "blanks", "W", "blanks as dots"},
    {ACT_SOURCE, "source", "s", "the row as it stands in its file"},
    {ACT_HISTOGRAMS, "lengths", "H", "histograms of length and of supervised tokens, and all counts"},
    {ACT_NEXT_SET, "next-rows", "o", "the other rows: training, evaluation, recorded, simulated"},
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
}

/* The audit to show: the chosen one, or the first that has rows. */
static const struct audit *choose_audit(struct labels_state *state, const struct run_facts *facts)
{
    size_t n, k = 0;
    const struct audit *const *audits = facts_audits(facts, &n);
    const char *missing = NULL;

    for (size_t i = 0; i < 2 * n; i++) { /* twice: the count may start again from the first */
        const struct audit *audit = audits[i % n];

        if (audit->missing)
            missing = audit->missing;
        if (audit->basis == AUDIT_NONE || !audit->n_rows)
            continue;
        if (k++ == state->which)
            return audit;
    }
    if (k)
        state->which = 0;
    for (size_t i = 0; k && i < n; i++)
        if (audits[i]->basis != AUDIT_NONE && audits[i]->n_rows)
            return audits[i];
    (void)error_set(&state->failure, E_NOTFOUND, "no labels to show, missing: %s",
                    missing ? missing : "the training data with the tokenizer folder, or "
                                        "labels_sample.jsonl");
    return NULL;
}

/* The row that the evidence of the open check names, NONE when it names none. */
static int64_t row_of_evidence(const struct view *view)
{
    const struct desk *desk = view->desk;
    const struct check_result *result;

    if (!desk->verdicts || desk->check < 0 || (size_t)desk->check >= desk->verdicts->n_rows)
        return NONE;
    result = &desk->verdicts->rows[desk->check].result;
    return desk->evidence < result->n_evidence ? result->evidence[desk->evidence].row : NONE;
}

static int64_t first_fault(const struct audit *audit)
{
    for (int64_t i = 0; audit->rows && i < audit->n_rows; i++)
        if (labels_main_fault(audit, i))
            return i;
    return 0;
}

static void choose_row(struct labels_state *state, const struct view *view)
{
    const struct desk *desk = view->desk;
    bool is_new = state->check != desk->check + 1 || state->evidence != desk->evidence;
    int64_t row = is_new ? row_of_evidence(view) : NONE;

    state->check = desk->check + 1;
    state->evidence = desk->evidence;
    if (state->row == NONE && desk->row != NONE)
        row = desk->row;
    if (row != NONE && row >= 0 && row < state->audit->n_rows) {
        state->row = row;
        state->scroll.top = 0;
    } else if (state->row == NONE || state->row >= state->audit->n_rows) {
        state->row = first_fault(state->audit);
    }
}

static int load_row(struct labels_state *state, const struct run_facts *facts, struct error *err)
{
    int rc = OK;

    if (!state->window)
        rc = audit_window_open(&state->window, facts, state->audit, &state->failure);
    if (rc == OK)
        rc = audit_window_row(state->window, state->row, &state->labelled, &state->raw, &state->failure);
    if (rc == E_NOMEM)
        return error_set(err, E_NOMEM, "reading a row");
    return OK; /* what else went wrong is shown in the pane */
}

static int load(struct view *view, struct error *err)
{
    struct labels_state *state = view->state;
    const struct run_facts *facts = view->desk->facts;
    const struct audit *audit;
    int rc = OK;

    state->failure = (struct error){.status = OK};
    if (state->run_id != view->desk->run_id) {
        state->row = NONE;
        state->which = 0;
        state->run_id = view->desk->run_id;
    }
    if (!facts || state->serial != facts->serial)
        forget_window(state);
    scroll_begin(&state->scroll, view);
    if (facts) {
        state->serial = facts->serial;
        audit = choose_audit(state, facts);
        if (audit != state->audit)
            forget_window(state);
        state->audit = audit;
        if (audit) {
            choose_row(state, view);
            if (state->mode != LABELS_HISTOGRAMS)
                rc = load_row(state, facts, err);
        }
        if (rc == OK)
            labels_write(state, view);
    }
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
        scroll_draw(&state->scroll, canvas);
}

/* ---- Moving ---- */

static void go_to_row(struct view *view, int64_t row)
{
    struct labels_state *state = view->state;

    state->row = row;
    state->scroll.top = 0;
    view->wants_load = true;
}

static void go_to_fault(struct view *view, int direction)
{
    struct labels_state *state = view->state;
    const struct audit *audit = state->audit;
    uint32_t fault = labels_main_fault(audit, state->row);
    uint32_t wanted = fault ? fault : labels_fault_mask(audit);

    for (int64_t i = 1; audit->rows && i <= audit->n_rows; i++) {
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
    view->wants_load = true;
    return true;
}

static bool toggle(struct view *view, bool *what)
{
    *what = !*what;
    view->wants_load = true;
    return true;
}

static bool act(struct view *view, int action)
{
    struct labels_state *state = view->state;
    const struct audit *audit = state->audit;

    if (!audit)
        return scroll_act(&state->scroll, action, view->rows);
    switch (action) {
    case ACT_NEXT_FAULT:
    case ACT_PREVIOUS_FAULT:
        go_to_fault(view, action == ACT_NEXT_FAULT ? 1 : -1);
        return true;
    case ACT_NEXT_ROW:
        if (state->row + 1 < audit->n_rows)
            go_to_row(view, state->row + 1);
        return true;
    case ACT_PREVIOUS_ROW:
        if (state->row > 0)
            go_to_row(view, state->row - 1);
        return true;
    case ACT_IDS:
        return toggle(view, &state->shows_ids);
    case ACT_WRAP:
        return toggle(view, &state->no_wrap);
    case ACT_BLANKS:
        return toggle(view, &state->shows_blanks);
    case ACT_SOURCE:
        return set_mode(view, LABELS_SOURCE);
    case ACT_HISTOGRAMS:
        return set_mode(view, LABELS_HISTOGRAMS);
    case ACT_NEXT_SET:
        state->which++;
        go_to_row(view, NONE);
        return true;
    default:
        return scroll_act(&state->scroll, action, view->rows);
    }
}

static void close_view(struct view *view)
{
    forget_window(view->state);
}

static void status(const struct view *view, struct buf *out)
{
    const struct labels_state *state = view->state;

    if (state->audit && state->row != NONE)
        buf_printf(out, "%s row %" PRId64 " of %" PRId64,
                   state->audit->dataset ? state->audit->dataset->name : "", state->row,
                   state->audit->n_rows);
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
    .depends_on = DESK_RUN | DESK_CHECK | DESK_EVIDENCE,
};
