/* Two texts side by side with what differs marked: repeated inputs with several targets, test rows with
 * the training row that is nearest, the chosen and the rejected answer of a row. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "views/evidence_view.h"
#include "views/pairs_parts.h"
#include "views/registry.h"
#include "views/scroll.h"

enum {
    ACT_NEXT,
    ACT_PREVIOUS,
    ACT_NEXT_GROUP,
    ACT_PREVIOUS_GROUP,
    ACT_NEXT_DIFFERENCE,
    ACT_PREVIOUS_DIFFERENCE
};
enum { WIDE = 76, GAP = 3 };

static const struct action ACTIONS[] = {
    {ACT_NEXT, "next-pair", ". Right", "next pair"},
    {ACT_PREVIOUS, "previous-pair", ", Left", "pair before"},
    {ACT_NEXT_DIFFERENCE, "difference", "d", "to the next word that differs"},
    {ACT_PREVIOUS_DIFFERENCE, "difference-before", "D", "to the one before"},
    {ACT_NEXT_GROUP, "next-group", "n", "first pair of the next input, test set or file"},
    {ACT_PREVIOUS_GROUP, "previous-group", "N", "first pair of the input, test set or file before"},
    MOTION_ACTIONS,
    {0, NULL, NULL, NULL},
};

struct state {
    struct scroll scroll;       /* first: scroll_view_…; the left side, or both */
    struct textflow right;
    bool is_wide;
    struct pair_list list;      /* in the pane's arena */
    size_t at;                  /* pair shown */
    ptrdiff_t difference;       /* that the keys stand on, -1 none */
    size_t *lines, n_differences;
    int64_t run_id;
    ptrdiff_t check;            /* 1 + the one whose evidence was followed, and which */
    size_t evidence;
    struct row_reader reader;
    char heading[200];
};

/* ---- What it is about ---- */

static const char *kind_text(enum data_group_kind kind)
{
    switch (kind) {
    case DATA_CONTRADICTORY:
        return "contradictory";
    case DATA_RANKED_BOTH_WAYS:
        return "ranked both ways";
    case DATA_BOTH_LABELS:
        return "both labels";
    case DATA_FREE_TEXT:
        return "free texts";
    case DATA_AGREES:
        return "same but for style";
    }
    return "";
}

static const char *leak_text(const struct leak_pair *pair)
{
    return pair->flags & LEAK_EXACT  ? "copy in test"
           : pair->flags & LEAK_NEAR ? "near copy in test"
                                     : "part of training";
}

/* Short enough that the end is seen in half a terminal of 80 columns. */
static void put_heading(struct state *state, const struct pair_section *section)
{
    size_t n, number = pairs_number(&state->list, state->at, &n);
    int used = snprintf(state->heading, sizeof state->heading, "%zu of %zu, ", number, n);
    char *end = state->heading + used;
    size_t room = sizeof state->heading - (size_t)used;

    if (section->kind == PAIR_ANSWERS) {
        snprintf(end, room, "chosen | rejected");
    } else if (section->kind == PAIR_TARGETS) {
        snprintf(end, room, "%s, Jaccard %.2f", kind_text(section->group->kind), section->group->jaccard);
    } else {
        const struct leak_pair *pair = &section->set->pairs[state->at - section->first];
        bool is_part = !(pair->flags & (LEAK_EXACT | LEAK_NEAR));

        snprintf(end, room, "%s, %s %.2f", leak_text(pair), is_part ? "contained" : "Jaccard",
                 is_part ? leak_containment(pair) : leak_jaccard(pair));
    }
}

static void say_nothing(struct textflow *flow, const struct run_facts *facts)
{
    flow_puts(flow, STYLE_UNKNOWN,
              !facts               ? "no run chosen"
              : facts_data(facts) ? "no input stands in several rows with different targets, no test row is "
                                    "near a training row, and no row has a chosen and a rejected answer"
                                  : "no training rows: the key a imports them (JSONL, JSON, CSV, Parquet or "
                                    "Arrow)");
    if (!facts || facts_leaks(facts))
        return;
    flow_break(flow);
    flow_puts(flow, STYLE_DIM, "near copies are looked for when a test split is imported too");
}

/* ---- Following ---- */

/* Evidence of a repeated input, a leaked row or a pair opens it: once, then the keys decide. */
static void follow_evidence(struct view *view)
{
    struct state *state = view->state;
    const struct desk *desk = view->desk;
    const struct verdict_row *row;
    const struct evidence *evidence;
    const char *place;

    if (!desk->verdicts || desk->check < 0 || (size_t)desk->check >= desk->verdicts->n_rows ||
        (state->check == desk->check + 1 && state->evidence == desk->evidence))
        return;
    row = &desk->verdicts->rows[desk->check];
    state->check = desk->check + 1;
    state->evidence = desk->evidence;
    evidence = desk->evidence < row->result.n_evidence ? &row->result.evidence[desk->evidence] : NULL;
    place = evidence ? evidence_view(row->check, evidence) : NULL;
    if (!place || strcmp(place, "pairs") != 0)
        return;
    /* a share stands for all: the first row that is shown of them */
    for (size_t i = 0; evidence->row == NONE && i < row->result.n_evidence; i++)
        if (row->result.evidence[i].row != NONE)
            evidence = &row->result.evidence[i];
    if (!pairs_of_evidence(desk->facts, &state->list, row->check, evidence, &state->at))
        return;
    state->scroll.top = 0;
    state->difference = -1;
}

/* ---- The pane ---- */

static int write_pair(struct view *view, struct error *err)
{
    struct state *state = view->state;
    const struct pair_section *section = pairs_section(&state->list, state->at);
    struct pair_layout layout = {.flow = &state->scroll.flow, .current = state->difference};
    struct pair_side sides[2];
    int half = (view->columns - GAP) / 2;

    put_heading(state, section);
    state->is_wide = view->columns >= WIDE;
    if (state->is_wide) {
        layout.flow->columns = half;
        flow_begin(&state->right, view->arena, view->canvas, half);
        layout.right = &state->right;
    }
    pairs_sides(view, &state->reader, section, state->at - section->first, sides);
    int rc = pairs_write(sides, &layout, err);
    state->lines = layout.lines;
    state->n_differences = layout.n;
    return rc;
}

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;
    const struct run_facts *facts = view->desk->facts;
    int rc = OK;

    scroll_begin(&state->scroll, view);
    state->is_wide = false;
    state->heading[0] = '\0';
    state->n_differences = 0;
    if (state->run_id != view->desk->run_id) {
        state->at = 0;
        state->check = 0;
        state->difference = -1;
    }
    state->run_id = view->desk->run_id;
    state->list = (struct pair_list){0};
    if (facts)
        rc = pairs_list(facts, view->arena, &state->list, err);
    if (rc != OK)
        return rc;
    if (state->list.n)
        follow_evidence(view);
    if (state->at >= state->list.n)
        state->at = 0;
    if (state->list.n == 0)
        say_nothing(&state->scroll.flow, facts);
    else
        rc = write_pair(view, err);
    scroll_end(&state->scroll, view);
    return rc;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct state *state = view->state;
    struct area area = canvas_area(canvas);
    int half = (area.columns - GAP) / 2;

    if (!state->is_wide) {
        scroll_draw(&state->scroll, canvas);
        return;
    }
    struct area left = {area.top, area.left, area.rows, half};
    struct area right = {area.top, area.left + half + GAP, area.rows, area.columns - half - GAP};
    for (int row = 0; row < area.rows; row++)
        canvas_put(canvas, row, half + 1, STYLE_FRAME, '|');
    canvas_clip(canvas, &left);
    scroll_draw(&state->scroll, canvas);
    canvas_clip(canvas, &right);
    flow_draw(&state->right, canvas, state->scroll.top, 0);
    canvas_clip(canvas, &area);
}

static void go_to(struct view *view, size_t at)
{
    struct state *state = view->state;

    if (at >= state->list.n)
        return;
    state->at = at;
    state->scroll.top = 0;
    state->difference = -1;
    view->wants_load = true;
}

/* The first pair of the section `by` sections away. */
static void go_section(struct view *view, ptrdiff_t by)
{
    const struct state *state = view->state;
    const struct pair_section *section = pairs_section(&state->list, state->at);
    ptrdiff_t to = section ? section - state->list.sections + by : -1;

    if (to >= 0 && to < (ptrdiff_t)state->list.n_sections)
        go_to(view, state->list.sections[to].first);
}

static void go_difference(struct view *view, ptrdiff_t by)
{
    struct state *state = view->state;
    ptrdiff_t to = state->difference + by, n = (ptrdiff_t)state->n_differences;

    if (n == 0)
        return;
    state->difference = to < 0 ? 0 : to >= n ? n - 1 : to;
    if (state->lines[state->difference] != SIZE_MAX)
        scroll_go(&state->scroll, state->lines[state->difference], view->rows);
    view->wants_load = true;
}

static bool act(struct view *view, int action)
{
    struct state *state = view->state;

    if (scroll_act(&state->scroll, action, view->rows))
        return true;
    switch (action) {
    case ACT_NEXT:
        go_to(view, state->at + 1);
        return true;
    case ACT_PREVIOUS:
        if (state->at > 0)
            go_to(view, state->at - 1);
        return true;
    case ACT_NEXT_GROUP:
        go_section(view, 1);
        return true;
    case ACT_PREVIOUS_GROUP:
        go_section(view, -1);
        return true;
    case ACT_NEXT_DIFFERENCE:
        go_difference(view, 1);
        return true;
    case ACT_PREVIOUS_DIFFERENCE:
        go_difference(view, -1);
        return true;
    default:
        return false;
    }
}

static void status(const struct view *view, struct buf *out)
{
    const struct state *state = view->state;

    if (state->list.n == 0)
        return;
    if (state->n_differences == 0)
        buf_puts(out, "no word differs");
    else if (state->difference < 0)
        buf_printf(out, "%zu difference%s, d goes to the first", state->n_differences,
                   state->n_differences == 1 ? "" : "s");
    else
        buf_printf(out, "difference %zd of %zu", state->difference + 1, state->n_differences);
    if (state->list.n > 1)
        buf_puts(out, "   . next pair");
}

static void close_pane(struct view *view)
{
    row_reader_close(&((struct state *)view->state)->reader);
}

static const char *heading(const struct view *view)
{
    const struct state *state = view->state;

    return state->heading[0] ? state->heading : NULL;
}

const struct view_ops view_pairs = {
    .id = "pairs",
    .title = "pairs",
    .state_size = sizeof(struct state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .close = close_pane,
    .n_lines = scroll_view_lines,
    .line = scroll_view_line,
    .go = scroll_view_go,
    .at = scroll_view_at,
    .status = status,
    .position = scroll_view_position,
    .heading = heading,
    .depends_on = DESK_RUN | DESK_CHECK | DESK_EVIDENCE,
};
