/* The evidence of the opened check: five lines that always answer the same questions (what was
 * found, why it is thought so, where else to look, what to press, on how much it rests), then the
 * evidence itself, what to do, what is missing. */
#include <string.h>

#include "views/registry.h"
#include "views/textflow.h"
#include "views/verdict_words.h"

enum { ACT_DOWN, ACT_UP, ACT_TOP, ACT_BOTTOM, ACT_PAGE_DOWN, ACT_PAGE_UP, ACT_NEXT_CHECK,
       ACT_PREVIOUS_CHECK, ACT_NEXT, ACT_PREVIOUS, ACT_OPEN, ACT_ADD };

static const struct action ACTIONS[] = {
    {ACT_DOWN, "down", "j Down", "scroll down"},
    {ACT_UP, "up", "k Up", "scroll up"},
    {ACT_TOP, "top", "g Home", "first line"},
    {ACT_BOTTOM, "bottom", "G End", "last line"},
    {ACT_PAGE_DOWN, "page-down", "C-d PgDn Space", "a page down"},
    {ACT_PAGE_UP, "page-up", "C-u PgUp b", "a page up"},
    {ACT_NEXT_CHECK, "next-check", "]", "evidence of the next check"},
    {ACT_PREVIOUS_CHECK, "previous-check", "[", "evidence of the previous check"},
    {ACT_NEXT, "next-evidence", "}", "next piece of evidence"},
    {ACT_PREVIOUS, "previous-evidence", "{", "previous piece of evidence"},
    {ACT_OPEN, "open", "Enter", "go to the place of the evidence"},
    {ACT_ADD, "add-file", "a", "add the missing file (:import PATH)"},
    {0, NULL, NULL, NULL},
};

struct state {
    struct textflow flow;
    size_t top;
    ptrdiff_t check;            /* what `top` belongs to */
};

static const struct verdict_row *opened(const struct view *view)
{
    const struct desk *desk = view->desk;

    if (!desk->verdicts || desk->check < 0 || desk->check >= (ptrdiff_t)desk->verdicts->n_rows)
        return NULL;
    return &desk->verdicts->rows[desk->check];
}

/* A label in the first five columns, the text behind it. */
static void label(struct textflow *flow, enum style_role style, const char *word)
{
    flow_break(flow);
    flow_indent(flow, 0, 5);
    flow_printf(flow, style, "%-4s ", word);
}

static void say_found(struct textflow *flow, const struct verdict_row *row)
{
    label(flow, verdict_style(row->result.verdict), verdict_word(row->result.verdict));
    if (row->result.verdict < VERDICT_WARN) {
        flow_puts(flow, STYLE_TEXT, row->check->title);
        flow_puts(flow, STYLE_DIM, row->result.verdict == VERDICT_UNKNOWN ? " (not decided)" : "");
        return;
    }
    flow_puts(flow, STYLE_STRONG, row->result.finding ? row->result.finding : row->check->title);
}

static void say_why(struct textflow *flow, const struct verdict_row *row)
{
    const struct check_result *result = &row->result;

    label(flow, STYLE_DIM, "WHY");
    if (result->verdict < VERDICT_WARN && result->finding)
        flow_puts(flow, STYLE_TEXT, result->finding);
    else if (result->n_evidence && result->evidence[0].text)
        flow_puts(flow, STYLE_TEXT, result->evidence[0].text);
    else
        flow_puts(flow, STYLE_TEXT, row->check->why);
}

static void say_see(const struct view *view, struct textflow *flow, const struct verdict_row *row)
{
    const struct verdicts *verdicts = view->desk->verdicts;
    const size_t *rows;
    size_t n;

    label(flow, STYLE_DIM, "SEE");
    if (row->dismissed) {
        flow_printf(flow, STYLE_TEXT, "dismissed: %s", row->dismissed);
        return;
    }
    if (row->explained_by) {
        flow_printf(flow, STYLE_TEXT, row->is_folded ? "the same fault as %s" : "follows from %s",
                    row->explained_by);
        return;
    }
    n = verdicts_explained(verdicts, (size_t)view->desk->check, view->arena, &rows);
    if (n)
        flow_puts(flow, STYLE_TEXT, "explains ");
    for (size_t i = 0; i < n; i++)
        flow_printf(flow, STYLE_TEXT, "%s%s", i ? ", " : "", verdicts->rows[rows[i]].check->id);
    if (n == 0 && row->result.n_fixes)
        flow_printf(flow, STYLE_TEXT, "fix: %s", row->result.fixes[0]);
    else if (n == 0 && row->result.n_missing)
        flow_printf(flow, STYLE_TEXT, "import %s", row->result.missing[0]);
    else if (n == 0)
        flow_puts(flow, STYLE_TEXT, row->check->why);
}

static void say_next(const struct view *view, struct textflow *flow, const struct verdict_row *row)
{
    const struct check_result *result = &row->result;
    size_t i = view->desk->evidence;

    label(flow, STYLE_DIM, "NEXT");
    if (result->verdict == VERDICT_UNKNOWN) {
        flow_puts(flow, STYLE_TEXT, "a add the missing file, ] next check");
        return;
    }
    if (i < result->n_evidence) {
        const char *place = evidence_place(view->desk->facts, &result->evidence[i], view->arena);

        if (place[0])
            flow_printf(flow, STYLE_TEXT, "Enter opens %s", place);
    }
    flow_puts(flow, STYLE_TEXT,
              result->verdict >= VERDICT_WARN ? "  f finding, v mark, ] next check"
                                              : "  ] next check");
}

static void say_basis(struct textflow *flow, const struct verdict_row *row)
{
    const struct check_result *result = &row->result;
    const char *confidence = confidence_name(result->confidence);
    int64_t first = NONE, last = NONE;

    for (size_t i = 0; i < result->n_evidence; i++) {
        const struct evidence *e = &result->evidence[i];
        int64_t end = e->last_step != NONE ? e->last_step : e->step;

        if (e->step != NONE && (first == NONE || e->step < first))
            first = e->step;
        if (end != NONE && end > last)
            last = end;
    }
    label(flow, STYLE_DIM, "ON");
    flow_printf(flow, STYLE_TEXT, "%zu piece%s of evidence", result->n_evidence,
                result->n_evidence == 1 ? "" : "s");
    if (first != NONE && last > first)
        flow_printf(flow, STYLE_TEXT, ", steps %lld-%lld", (long long)first, (long long)last);
    else if (first != NONE)
        flow_printf(flow, STYLE_TEXT, ", step %lld", (long long)first);
    flow_printf(flow, STYLE_TEXT, "%s%s, %s", confidence ? "; " : "", confidence ? confidence : "",
                severity_name(row->check->severity));
}

static void say_evidence(const struct view *view, struct textflow *flow,
                         const struct check_result *result)
{
    for (size_t i = 0; i < result->n_evidence; i++) {
        const char *place = evidence_place(view->desk->facts, &result->evidence[i], view->arena);
        bool is_current = i == view->desk->evidence;

        if (i == 0) {
            flow_break(flow);
            flow_break(flow);
        } else {
            flow_break(flow);
        }
        flow_tag(flow, (int)i);
        flow_indent(flow, 0, 4);
        flow_puts(flow, is_current ? STYLE_STRONG : STYLE_DIM, is_current ? "> " : "  ");
        flow_puts(flow, is_current ? STYLE_STRONG : STYLE_TEXT, place);
        flow_puts(flow, STYLE_TEXT, place[0] ? "  " : "");
        flow_puts(flow, STYLE_TEXT, result->evidence[i].text ? result->evidence[i].text : "");
    }
    flow_break(flow);
    flow_tag(flow, -1);
}

static void say_list(struct textflow *flow, const char *title, const char *const *texts, size_t n)
{
    if (n == 0)
        return;
    flow_break(flow);
    flow_indent(flow, 0, 0);
    flow_puts(flow, STYLE_STRONG, title);
    for (size_t i = 0; i < n; i++) {
        flow_break(flow);
        flow_indent(flow, 0, 4);
        flow_printf(flow, STYLE_TEXT, "%zu   ", i + 1);
        flow_puts(flow, STYLE_TEXT, texts[i]);
    }
    flow_break(flow);
}

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;
    const struct verdict_row *row = opened(view);
    struct textflow *flow = &state->flow;

    (void)err;
    if (state->check != view->desk->check) {
        state->check = view->desk->check;
        state->top = 0;
    }
    flow_begin(flow, view->arena, view->canvas, view->columns > 1 ? view->columns : 1);
    if (!row)
        return OK;
    say_found(flow, row);
    say_why(flow, row);
    say_see(view, flow, row);
    say_next(view, flow, row);
    say_basis(flow, row);
    say_evidence(view, flow, &row->result);
    say_list(flow, "what to do, cheapest first", row->result.fixes, row->result.n_fixes);
    say_list(flow, "import to decide", row->result.missing, row->result.n_missing);
    say_list(flow, "also", row->result.information, row->result.n_information);
    flow_break(flow);
    flow_indent(flow, 0, 0);
    flow_puts(flow, STYLE_DIM, row->check->why);
    for (size_t i = 0; i < view->desk->n_remarks; i++) {
        const struct remark *remark = &view->desk->remarks[i];

        if (remark->check_id && strcmp(remark->check_id, row->check->id) == 0) {
            flow_break(flow);
            flow_printf(flow, STYLE_MESSAGE, "remark: %s", remark->text);
        }
    }
    if (state->top >= flow->n_lines)
        state->top = 0;
    return OK;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct state *state = view->state;

    if (!opened(view)) {
        canvas_puts(canvas, 0, 0, STYLE_DIM, "no check is open");
        return;
    }
    flow_draw(&state->flow, canvas, state->top, 0);
    if (state->top + (size_t)view->rows < state->flow.n_lines && view->rows > 1)
        canvas_right(canvas, view->rows - 1, view->columns, STYLE_DIM, "more");
}

static void move(struct view *view, ptrdiff_t by)
{
    struct state *state = view->state;
    ptrdiff_t last = (ptrdiff_t)state->flow.n_lines - view->rows;
    ptrdiff_t to = (ptrdiff_t)state->top + by;

    state->top = (size_t)(to > last ? (last > 0 ? last : 0) : to < 0 ? 0 : to);
}

static void choose(struct view *view, ptrdiff_t by)
{
    const struct verdict_row *row = opened(view);
    ptrdiff_t to = (ptrdiff_t)view->desk->evidence + by;

    if (!row || to < 0 || to >= (ptrdiff_t)row->result.n_evidence)
        return;
    desk_choose_evidence(view->desk, (size_t)to);
    if (row->result.evidence[to].step != NONE)
        desk_choose_step(view->desk, row->result.evidence[to].step);
}

/* Where the evidence is: a log line in the log, a setting in the settings, rows on the curve. */
static void open_place(struct view *view)
{
    const struct verdict_row *row = opened(view);
    const struct evidence *e;

    if (row->result.verdict == VERDICT_UNKNOWN || view->desk->evidence >= row->result.n_evidence) {
        view->desk->request = "import ";
        return;
    }
    e = &row->result.evidence[view->desk->evidence];
    if (e->step != NONE)
        desk_choose_step(view->desk, e->step);
    if (e->kind && strcmp(e->kind, "rows") == 0)
        view->desk->open_view = "curves";
    else if (e->source_id)
        view->desk->open_view = "log";
}

static bool act(struct view *view, int action)
{
    struct desk *desk = view->desk;

    if (!opened(view))
        return false;
    switch (action) {
    case ACT_DOWN:
        move(view, 1);
        return true;
    case ACT_UP:
        move(view, -1);
        return true;
    case ACT_TOP:
        move(view, -(ptrdiff_t)((struct state *)view->state)->flow.n_lines);
        return true;
    case ACT_BOTTOM:
        move(view, (ptrdiff_t)((struct state *)view->state)->flow.n_lines);
        return true;
    case ACT_PAGE_DOWN:
        move(view, view->rows - 1);
        return true;
    case ACT_PAGE_UP:
        move(view, 1 - view->rows);
        return true;
    case ACT_NEXT_CHECK:
        if (desk->check + 1 < (ptrdiff_t)desk->verdicts->n_rows)
            desk_choose_check(desk, desk->check + 1);
        return true;
    case ACT_PREVIOUS_CHECK:
        if (desk->check > 0)
            desk_choose_check(desk, desk->check - 1);
        return true;
    case ACT_NEXT:
        choose(view, 1);
        return true;
    case ACT_PREVIOUS:
        choose(view, -1);
        return true;
    case ACT_OPEN:
        open_place(view);
        return true;
    case ACT_ADD:
        desk->request = "import ";
        return true;
    default:
        return false;
    }
}

static size_t n_lines(const struct view *view)
{
    return ((const struct state *)view->state)->flow.n_lines;
}

static struct str line_text(const struct view *view, size_t i)
{
    return flow_line_text(&((const struct state *)view->state)->flow, i, view->arena);
}

static void go(struct view *view, size_t i)
{
    ((struct state *)view->state)->top = 0;
    move(view, (ptrdiff_t)i);
}

const struct view_ops view_evidence = {
    .id = "evidence",
    .title = "evidence",
    .state_size = sizeof(struct state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .n_lines = n_lines,
    .line = line_text,
    .go = go,
    .depends_on = DESK_RUN | DESK_CHECK | DESK_EVIDENCE,
};
