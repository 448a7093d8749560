/* The evidence of the opened check: five lines that always answer the same questions (what was
 * found, why it is thought so, where else to look, what to press, on how much it rests), then the
 * evidence itself, what to do, what is missing. */
#include <string.h>

#include "views/evidence_view.h"
#include "views/registry.h"
#include "views/scroll.h"
#include "views/verdict_words.h"

#define WHY_LINES 2

enum { ACT_OPEN };

static const struct action ACTIONS[] = {
    {ACT_OPEN, "open", "Enter", "go to the place of the evidence; on a ? add the missing file"},
    MOTION_ACTIONS,
    {0, NULL, NULL, NULL},
};

struct state {
    struct scroll scroll;       /* first: scroll_view_… */
    ptrdiff_t check;            /* what the place in the text belongs to */
    size_t evidence;
    int64_t run_id;
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
    if (flow->n_lines)
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

static bool has_digit(const char *text)
{
    return text && strpbrk(text, "0123456789");
}

/* The number that decided, with its bound, where the text does not say it. */
static const char *text_of(const struct textflow *flow, const struct evidence *e)
{
    if (!e->text || !e->text[0] || !e->has_value || !e->has_bound || has_digit(e->text))
        return e->text ? e->text : "";
    return arena_printf(flow->arena, "%s: %.4g (bound %.4g)", e->text, e->value, e->bound);
}

/* The first pieces of evidence in a row: what the verdict stands on, before any scrolling. Two lines
 * of the pane at most, so that what to press next is seen too. */
static void say_why(struct textflow *flow, const struct verdict_row *row)
{
    const struct check_result *result = &row->result;
    int room = WHY_LINES * (flow->columns > 12 ? flow->columns - 6 : 6), used = 0;
    size_t n = 0;

    label(flow, STYLE_DIM, "WHY");
    if (result->verdict < VERDICT_WARN && result->finding) {
        flow_puts(flow, STYLE_TEXT, result->finding);
        return;
    }
    for (size_t i = 0; i < result->n_evidence; i++) {
        const struct evidence *e = &result->evidence[i];
        bool has_step = e->step != NONE && (e->last_step == NONE || e->last_step == e->step);
        struct str text = str_of(text_of(flow, e));
        int width = canvas_width(flow->canvas, text) + (has_step ? 14 : 2);

        if (text.n == 0 || (n && used + width > room))
            continue;
        flow_puts(flow, STYLE_TEXT, n++ ? "; " : "");
        if (width > room) {
            flow_text(flow, STYLE_TEXT, canvas_cut(flow->canvas, text, room - 16));
            flow_puts(flow, STYLE_DIM, "..");
        } else {
            flow_text(flow, STYLE_TEXT, text);
        }
        if (has_step)
            flow_printf(flow, STYLE_DIM, " (step %lld)", (long long)e->step);
        used += width;
    }
    if (n == 0)
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

/* A pane that says more than the place in the file that it read. */
static bool is_shown_by(const char *pane)
{
    static const char *const PANES[] = {"pairs", "data", "evals", "preference"};

    for (size_t i = 0; pane && i < sizeof PANES / sizeof *PANES; i++)
        if (strcmp(pane, PANES[i]) == 0)
            return true;
    return false;
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
        const char *pane = evidence_view(row->check, &result->evidence[i]);

        if (result->evidence[i].kind && strcmp(result->evidence[i].kind, "setting") == 0)
            flow_puts(flow, STYLE_TEXT, "Enter shows the setting, ");
        else if (place[0] && result->evidence[i].row != NONE)
            flow_printf(flow, STYLE_TEXT, "Enter opens %s, ", place);
        else if (is_shown_by(pane))
            flow_printf(flow, STYLE_TEXT, "Enter opens the pane %s, ", pane);
        else if (place[0])
            flow_printf(flow, STYLE_TEXT, "Enter opens %s, ", place);
        if (result->n_evidence > 1)
            flow_puts(flow, STYLE_TEXT, "} next evidence, ");
    }
    flow_puts(flow, STYLE_TEXT,
              result->verdict >= VERDICT_WARN ? "f finding, v mark, ] next check"
                                              : "] next check");
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
        flow_puts(flow, STYLE_TEXT, text_of(flow, &result->evidence[i]));
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

static void say_remarks(const struct view *view, struct textflow *flow,
                        const struct verdict_row *row)
{
    flow_indent(flow, 0, 0);
    for (size_t i = 0; i < view->desk->n_remarks; i++) {
        const struct remark *remark = &view->desk->remarks[i];

        if (!remark->check_id || strcmp(remark->check_id, row->check->id) != 0)
            continue;
        flow_break(flow);
        flow_printf(flow, STYLE_MESSAGE, "remark: %s", remark->text);
    }
}

static void say_all(struct view *view, struct textflow *flow, const struct verdict_row *row)
{
    say_found(flow, row);
    say_why(flow, row);
    say_see(view, flow, row);
    say_next(view, flow, row);
    say_basis(flow, row);
    say_remarks(view, flow, row);
    say_evidence(view, flow, &row->result);
    say_list(flow, "what to do, cheapest first", row->result.fixes, row->result.n_fixes);
    say_list(flow, "import to decide", row->result.missing, row->result.n_missing);
    say_list(flow, "also", row->result.information, row->result.n_information);
    flow_break(flow);
    flow_indent(flow, 0, 0);
    flow_puts(flow, STYLE_DIM, row->check->why);
}

/* The chosen piece of evidence has to be seen when it was chosen by a key. */
static void follow_evidence(struct view *view)
{
    struct state *state = view->state;
    size_t line;

    if (state->evidence == view->desk->evidence)
        return;
    state->evidence = view->desk->evidence;
    line = flow_find_tag(&state->scroll.flow, (int)state->evidence);
    if (line < state->scroll.top || line >= state->scroll.top + (size_t)view->rows)
        scroll_go(&state->scroll, line, view->rows);
}

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;
    const struct verdict_row *row = opened(view);

    (void)err;
    if (state->check != view->desk->check || state->run_id != view->desk->run_id) {
        state->check = view->desk->check;
        state->run_id = view->desk->run_id;
        state->evidence = 0;
        state->scroll.top = 0;
    }
    scroll_begin(&state->scroll, view);
    if (!row)
        return OK;
    say_all(view, &state->scroll.flow, row);
    scroll_end(&state->scroll, view);
    follow_evidence(view);
    return OK;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    if (!opened(view))
        canvas_puts(canvas, 0, 0, STYLE_DIM,
                    view->desk->is_importing ? "reading the files; checks follow" : "no check is open");
    else
        scroll_draw(&((const struct state *)view->state)->scroll, canvas);
}

/* A missing file is asked for; all else is shown in the pane that it belongs to. */
static void open_place(struct view *view)
{
    const struct verdict_row *row = opened(view);
    struct desk *desk = view->desk;
    const struct evidence *e;

    if (row->result.verdict == VERDICT_UNKNOWN) {
        desk->request = "import ";
        return;
    }
    if (desk->evidence >= row->result.n_evidence)
        return;
    e = &row->result.evidence[desk->evidence];
    if (e->step != NONE)
        desk_choose_step(desk, e->step);
    if (evidence_view(row->check, e))
        desk->open_view = evidence_view(row->check, e);
}

static bool act(struct view *view, int action)
{
    if (!opened(view))
        return false;
    if (action != ACT_OPEN)
        return scroll_act(&((struct state *)view->state)->scroll, action, view->rows);
    open_place(view);
    return true;
}

const struct view_ops view_evidence = {
    .id = "evidence",
    .title = "evidence",
    .state_size = sizeof(struct state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .n_lines = scroll_view_lines,
    .line = scroll_view_line,
    .go = scroll_view_go,
    .at = scroll_view_at,
    .position = scroll_view_position,
    .depends_on = DESK_RUN | DESK_CHECK | DESK_EVIDENCE,
};
