/* The checklist: one row a stage, the open stage's checks under it, the likely cause below.
 * Decides nothing; verdicts.h does. */
#include <stdio.h>
#include <string.h>

#include "views/registry.h"
#include "views/scroll.h"
#include "views/verdict_words.h"

#define FOOTER_ROWS 6
#define FOOTER_LEAST 4
#define MAX_LINES   160

enum { ACT_OPEN, ACT_CLOSE, ACT_STAGE };

static const struct action ACTIONS[] = {
    {ACT_OPEN, "open", "Enter", "open a stage, or a check's evidence; on a ? add the missing file"},
    {ACT_CLOSE, "close", "Esc", "close the open stage"},
    MOTION_ACTIONS,
    {ACT_STAGE + 0, "stage-0", "0", "stage 0: finished and finite (digits and P work everywhere)"},
    {ACT_STAGE + 1, "stage-1", "1", "stage 1: adapter"},
    {ACT_STAGE + 2, "stage-2", "2", "stage 2: prompts"},
    {ACT_STAGE + 3, "stage-3", "3", "stage 3: supervised"},
    {ACT_STAGE + 4, "stage-4", "4", "stage 4: evaluation power"},
    {ACT_STAGE + 5, "stage-5", "5", "stage 5: data"},
    {ACT_STAGE + 6, "stage-6", "6", "stage 6: leak"},
    {ACT_STAGE + 7, "stage-P", "P", "stage P: preference"},
    {ACT_STAGE + 8, "stage-7", "7", "stage 7: hyperparameters"},
    {0, NULL, NULL, NULL},
};

enum line_kind { LINE_STAGE, LINE_CHECK, LINE_REST };

struct line {
    enum line_kind kind;
    int stage;
    ptrdiff_t check;            /* row of the verdicts */
};

struct state {
    struct line lines[MAX_LINES];
    size_t n_lines, cursor, top;
    int open_stage;             /* -1: none */
    bool unfolded;
    int64_t run_id;             /* the cursor belongs to this run */
    ptrdiff_t shown_check;      /* 1 + the opened check that the cursor was moved to */
    size_t n_explained;         /* by the likely cause */
    bool has_results;           /* a check has run */
};

/* Rows for the list: all that it needs when a small footer still fits, else what a full footer
 * leaves. In a very low pane the list has everything; the frame's status line names the cause. */
static int list_rows(const struct view *view)
{
    const struct state *state = view->state;
    int rows = view->rows - FOOTER_ROWS;

    if (rows <= 4)
        return view->rows;
    if ((int)state->n_lines > rows && (int)state->n_lines <= view->rows - FOOTER_LEAST)
        return (int)state->n_lines;
    return rows;
}

/* A stage is folded when all its checks would not fit above a full footer. */
static int fold_rows(const struct view *view)
{
    return view->rows - FOOTER_ROWS > 4 ? view->rows - FOOTER_ROWS : view->rows;
}

static bool is_telling(const struct verdict_row *row)
{
    return row->result.verdict >= VERDICT_UNKNOWN;
}

static void add_line(struct state *state, struct line line)
{
    if (state->n_lines < MAX_LINES)
        state->lines[state->n_lines++] = line;
}

static void add_checks(const struct view *view, struct state *state, const struct stage_row *stage,
                       int index)
{
    bool folds = !state->unfolded && stage->n + N_STAGES > (size_t)fold_rows(view);
    bool has_rest = false;

    for (size_t i = stage->first; i < stage->first + stage->n; i++) {
        const struct verdict_row *row = &view->desk->verdicts->rows[i];

        if (!folds || is_telling(row) || (ptrdiff_t)i == view->desk->check)
            add_line(state, (struct line){LINE_CHECK, index, (ptrdiff_t)i});
        else
            has_rest = true;
    }
    if (has_rest)
        add_line(state, (struct line){LINE_REST, index, -1});
}

/* The cursor stays on its line when another size folds or unfolds the stage. */
static void keep_cursor(struct state *state, const struct line *was)
{
    for (size_t i = 0; i < state->n_lines; i++)
        if (state->lines[i].kind == was->kind && state->lines[i].stage == was->stage &&
            state->lines[i].check == was->check) {
            state->cursor = i;
            return;
        }
}

static void make_lines(const struct view *view)
{
    struct state *state = view->state;
    const struct line was = state->n_lines ? state->lines[state->cursor] : (struct line){0};
    bool has_cursor = state->n_lines > 0;

    state->n_lines = 0;
    for (int i = 0; view->desk->verdicts && i < N_STAGES; i++) {
        add_line(state, (struct line){LINE_STAGE, i, -1});
        if (i == state->open_stage)
            add_checks(view, state, &view->desk->verdicts->stages[i], i);
    }
    if (has_cursor)
        keep_cursor(state, &was);
    if (state->cursor >= state->n_lines)
        state->cursor = state->n_lines ? state->n_lines - 1 : 0;
}

static void scroll(const struct view *view)
{
    struct state *state = view->state;
    size_t rows = (size_t)list_rows(view);

    if (state->cursor < state->top)
        state->top = state->cursor;
    if (state->cursor >= state->top + rows)
        state->top = state->cursor - rows + 1;
}

static int stage_of_check(const struct verdicts *verdicts, ptrdiff_t check)
{
    for (int i = 0; i < N_STAGES; i++)
        if (check >= (ptrdiff_t)verdicts->stages[i].first &&
            check < (ptrdiff_t)(verdicts->stages[i].first + verdicts->stages[i].n))
            return i;
    return -1;
}

static void go_to_check(struct view *view, ptrdiff_t check)
{
    struct state *state = view->state;
    int stage = stage_of_check(view->desk->verdicts, check);

    if (stage != state->open_stage)
        state->unfolded = false;
    state->open_stage = stage;
    make_lines(view);
    for (size_t i = 0; i < state->n_lines; i++)
        if (state->lines[i].kind == LINE_CHECK && state->lines[i].check == check)
            state->cursor = i;
    scroll(view);
}

static bool has_results(const struct verdicts *verdicts)
{
    for (size_t i = 0; verdicts && i < verdicts->n_rows; i++)
        if (verdicts->rows[i].result.check_version > 0)
            return true;
    return false;
}

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;
    struct desk *desk = view->desk;
    const size_t *explained;

    (void)err;
    state->has_results = has_results(desk->verdicts);
    state->n_explained = desk->verdicts && desk->verdicts->headline >= 0
                             ? verdicts_explained(desk->verdicts, (size_t)desk->verdicts->headline,
                                                  view->arena, &explained)
                             : 0;
    if (state->run_id != desk->run_id) {
        state->run_id = desk->run_id;
        state->open_stage = -1;
        state->unfolded = false;
        state->shown_check = 0;
        state->cursor = state->top = 0;
    }
    make_lines(view);
    /* follow the opened check, but leave the cursor alone when only the numbers changed */
    if (desk->verdicts && desk->check >= 0 && desk->check < (ptrdiff_t)desk->verdicts->n_rows &&
        state->shown_check != desk->check + 1) {
        state->shown_check = desk->check + 1;
        go_to_check(view, desk->check);
    }
    scroll(view);
    return OK;
}

/* ---- Drawing ---- */

/* `*` marks a failing stage that may explain the opened check: it stands earlier. */
static bool may_explain(const struct view *view, int stage)
{
    const struct desk *desk = view->desk;

    return desk->check >= 0 && desk->verdicts->stages[stage].verdict == VERDICT_FAIL &&
           stage < stage_of_check(desk->verdicts, desk->check);
}

static void draw_stage(const struct view *view, struct canvas *canvas, int row, int stage)
{
    const struct stage_row *about = &view->desk->verdicts->stages[stage];
    int end = canvas_area(canvas).columns;

    canvas_puts(canvas, row, 0, STYLE_TEXT, may_explain(view, stage) ? "*" : " ");
    canvas_printf(canvas, row, 1, STYLE_TEXT, "%s %s", stage_key(about->stage),
                  stage_name(about->stage));
    canvas_fill(canvas, row, end - 5, 5, STYLE_TEXT, ' ');
    canvas_puts(canvas, row, end - 4, verdict_style(about->verdict), verdict_word(about->verdict));
}

static void draw_check(const struct view *view, struct canvas *canvas, int row, ptrdiff_t check)
{
    const struct verdict_row *about = &view->desk->verdicts->rows[check];
    bool is_quiet = about->explained_by || about->dismissed;
    int end = canvas_area(canvas).columns;

    canvas_puts(canvas, row, 1, STYLE_DIM, about->is_seen && !about->dismissed ? "v" : " ");
    canvas_puts(canvas, row, 2, STYLE_STRONG, check == view->desk->check ? ">" : " ");
    canvas_puts(canvas, row, 3, is_quiet ? STYLE_DIM : STYLE_TEXT, about->check->id);
    canvas_fill(canvas, row, end - 5, 5, STYLE_TEXT, ' ');
    canvas_puts(canvas, row, end - 4,
                about->dismissed ? STYLE_DIM : verdict_style(about->result.verdict),
                about->dismissed ? "off" : verdict_word(about->result.verdict));
}

static void draw_rest(const struct view *view, struct canvas *canvas, int row, int stage)
{
    const struct stage_row *about = &view->desk->verdicts->stages[stage];
    size_t n_ok = 0, n_na = 0;
    int column = 3;

    for (size_t i = about->first; i < about->first + about->n; i++) {
        enum verdict verdict = view->desk->verdicts->rows[i].result.verdict;

        n_ok += verdict == VERDICT_PASS;
        n_na += verdict == VERDICT_NOT_APPLICABLE;
    }
    if (n_na == about->n && about->stage == STAGE_PREFERENCE) {
        canvas_puts(canvas, row, 3, STYLE_DIM, "not a preference run");
        return;
    }
    if (n_ok)
        column = canvas_printf(canvas, row, column, STYLE_DIM, "%zu ok  ", n_ok);
    if (n_na)
        canvas_printf(canvas, row, column, STYLE_DIM, "%zu n/a", n_na);
}

static void draw_line(const struct view *view, struct canvas *canvas, int row, size_t i)
{
    const struct state *state = view->state;
    const struct line *line = &state->lines[i];

    switch (line->kind) {
    case LINE_STAGE:
        draw_stage(view, canvas, row, line->stage);
        break;
    case LINE_CHECK:
        draw_check(view, canvas, row, line->check);
        break;
    case LINE_REST:
        draw_rest(view, canvas, row, line->stage);
        break;
    }
    if (i == state->cursor)
        /* the verdict keeps its own colour, and a move costs the fewer bytes over a slow link */
        canvas_reverse(canvas, row, 0, canvas_area(canvas).columns - 5);
}

/* Wraps a text over at most n rows, ".." where it had to end; returns the rows used. */
static int draw_wrapped(struct canvas *canvas, int row, int n, enum style_role style,
                        const char *text)
{
    struct str rest = str_of(text);
    int columns = canvas_area(canvas).columns, used = 0;

    while (rest.n && used < n) {
        bool is_last = used + 1 == n && canvas_width(canvas, rest) > columns;
        struct str part = canvas_cut(canvas, rest, is_last ? columns - 2 : columns);
        size_t cut = part.n;

        while (cut < rest.n && cut > 0 && part.p[cut - 1] != ' ' && rest.p[cut] != ' ')
            cut--;
        if (cut == 0 || part.n == rest.n)
            cut = part.n;
        while (is_last && cut > 1 && rest.p[cut - 1] == ' ')
            cut--;
        if (cut == 0)
            break;

        int end = canvas_text(canvas, row + used++, 0, style, str_first(rest, cut));

        if (is_last)
            canvas_puts(canvas, row + used - 1, end, STYLE_DIM, "..");
        rest = str_trim(str_skip(rest, cut));
    }
    return used;
}

static void draw_counts(const struct verdicts *verdicts, struct canvas *canvas, int row)
{
    size_t n[VERDICT_FAIL + 1] = {0};
    int column = 0;

    for (size_t i = 0; i < N_STAGES; i++)
        n[verdicts->stages[i].verdict]++;
    if (n[VERDICT_FAIL])
        column = canvas_printf(canvas, row, column, STYLE_FAIL, "%zu FAIL ", n[VERDICT_FAIL]);
    if (n[VERDICT_WARN])
        column = canvas_printf(canvas, row, column, STYLE_WARN, "%zu warn ", n[VERDICT_WARN]);
    if (n[VERDICT_UNKNOWN])
        canvas_printf(canvas, row, column, STYLE_TEXT, "%zu to do", n[VERDICT_UNKNOWN]);
}

static void draw_no_cause(const struct verdicts *verdicts, struct canvas *canvas, int row, int n)
{
    int used = draw_wrapped(canvas, row, n, STYLE_STRONG, "no fault found in what was imported");

    if (verdicts->n_roots && n > used) { /* too weak for a cause, but not nothing */
        int column = canvas_puts(canvas, row + used, 0, STYLE_WARN, "look at ");

        canvas_puts(canvas, row + used++, column, STYLE_TEXT,
                    verdicts->rows[verdicts->roots[0]].check->id);
    }
    if (!verdicts->cheapest_import || n <= used)
        return;
    canvas_puts(canvas, row + used, 0, STYLE_TEXT, "to decide more (key a):");
    if (n > used + 1)
        draw_wrapped(canvas, row + used + 1, n - used - 1, STYLE_DIM, verdicts->cheapest_import);
}

static void draw_cause(const struct view *view, struct canvas *canvas, int row, int n)
{
    const struct verdicts *verdicts = view->desk->verdicts;
    const struct verdict_row *cause;
    int columns = canvas_area(canvas).columns, end;
    size_t n_explained = ((const struct state *)view->state)->n_explained;
    char more[40];

    if (verdicts->headline < 0) {
        draw_no_cause(verdicts, canvas, row, n);
        return;
    }
    cause = &verdicts->rows[verdicts->headline];
    end = canvas_puts(canvas, row, 0, STYLE_STRONG,
                      verdicts->headline_is_warning ? "possible cause" : "likely cause");
    snprintf(more, sizeof more, "explains %zu", n_explained);
    if (n_explained && end + 1 + (int)strlen(more) > columns)
        snprintf(more, sizeof more, "+%zu", n_explained);
    if (n_explained)
        canvas_right(canvas, row, columns, STYLE_DIM, more);
    canvas_puts(canvas, row + 1, 0, verdict_style(cause->result.verdict), cause->check->id);
    draw_wrapped(canvas, row + 2, n - 2, STYLE_TEXT,
                 cause->result.finding ? cause->result.finding : "");
}

/* Before the first verdict: the frame of the list, so that it only has to fill in. */
static void draw_empty(const struct view *view, struct canvas *canvas)
{
    int end = canvas_area(canvas).columns, row = 0;

    if (view->desk->is_importing || view->desk->run_id) {
        for (int i = 0; i < N_STAGES && row < view->rows; i++, row++) {
            canvas_printf(canvas, row, 1, STYLE_DIM, "%s %s", stage_key((enum stage)i),
                          stage_name((enum stage)i));
            canvas_puts(canvas, row, end - 4, STYLE_DIM, "...");
        }
        draw_wrapped(canvas, row + 1, view->rows - row - 1, STYLE_DIM,
                     !view->desk->is_importing ? "no verdicts yet"
                     : view->desk->verdicts    ? "checking"
                                               : "reading the files");
        return;
    }
    row = draw_wrapped(canvas, 0, view->rows, STYLE_STRONG, "no run is open");
    draw_wrapped(canvas, row, view->rows - row, STYLE_TEXT,
                 view->desk->n_runs ? ":runs lists those that were read before, the key a reads a folder"
                                    : "nothing was found here: the key a reads another file or folder");
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct state *state = view->state;
    int rows = list_rows(view), row = 0;

    if (!view->desk->verdicts || (view->desk->is_importing && !state->has_results)) {
        draw_empty(view, canvas);
        return;
    }
    for (size_t i = state->top; i < state->n_lines && row < rows; i++)
        draw_line(view, canvas, row++, i);
    if (rows == view->rows)
        return;
    /* room that the list leaves belongs to the cause */
    if (view->rows - row > FOOTER_ROWS)
        row++;
    draw_counts(view->desk->verdicts, canvas, row);
    draw_cause(view, canvas, row + 1, view->rows - row - 1);
}

/* ---- Actions ---- */

static void move(struct view *view, ptrdiff_t by)
{
    struct state *state = view->state;
    ptrdiff_t last = (ptrdiff_t)state->n_lines - 1, to = (ptrdiff_t)state->cursor + by;

    state->cursor = (size_t)(to < 0 ? 0 : to > last ? (last < 0 ? 0 : last) : to);
    scroll(view);
}

static void open_line(struct view *view)
{
    struct state *state = view->state;
    const struct line line = state->lines[state->cursor];

    if (line.kind == LINE_STAGE) {
        state->open_stage = state->open_stage == line.stage ? -1 : line.stage;
        state->unfolded = false;
        make_lines(view);
        for (size_t i = 0; i < state->n_lines; i++)
            if (state->lines[i].kind == LINE_STAGE && state->lines[i].stage == line.stage)
                state->cursor = i;
    } else if (line.kind == LINE_REST) {
        state->unfolded = true;
        make_lines(view);
    } else if (line.kind == LINE_CHECK) {
        if (view->desk->check == line.check &&
            view->desk->verdicts->rows[line.check].result.verdict == VERDICT_UNKNOWN)
            view->desk->request = "import ";
        desk_choose_check(view->desk, line.check);
        view->desk->open_view = "evidence";
    }
    scroll(view);
}

static void close_stage(struct view *view)
{
    struct state *state = view->state;
    int stage = state->open_stage;

    state->open_stage = -1;
    make_lines(view);
    if (stage >= 0)
        state->cursor = (size_t)stage;
    scroll(view);
}

static void open_stage(struct view *view, int stage)
{
    struct state *state = view->state;

    state->open_stage = stage;
    state->unfolded = false;
    make_lines(view);
    state->cursor = (size_t)stage;
    scroll(view);
}

static bool act(struct view *view, int action)
{
    struct state *state = view->state;
    ptrdiff_t by;

    if (!view->desk->verdicts)
        return false;
    if (motion_by(action, list_rows(view), &by)) {
        move(view, by);
        return true;
    }
    switch (action) {
    case ACT_OPEN:
        open_line(view);
        return true;
    case ACT_CLOSE:
        if (state->open_stage < 0)
            return false;
        close_stage(view);
        return true;
    default:
        if (action < ACT_STAGE || action >= ACT_STAGE + N_STAGES)
            return false;
        open_stage(view, action - ACT_STAGE);
        return true;
    }
}

/* ---- Search: over all checks, also those that are folded away ---- */

static size_t n_lines(const struct view *view)
{
    return view->desk->verdicts ? view->desk->verdicts->n_rows : 0;
}

static struct str line_text(const struct view *view, size_t i)
{
    const struct verdict_row *row = &view->desk->verdicts->rows[i];

    return str_of(arena_printf(view->arena, "%s %s %s", row->check->id, row->check->title,
                               verdict_word(row->result.verdict)));
}

static void go(struct view *view, size_t i)
{
    go_to_check(view, (ptrdiff_t)i);
}

/* The check under the cursor, or the first of the stage. */
static size_t at(const struct view *view)
{
    const struct state *state = view->state;
    const struct line *line = state->n_lines ? &state->lines[state->cursor] : NULL;

    if (!line || !view->desk->verdicts)
        return 0;
    return line->check >= 0 ? (size_t)line->check : view->desk->verdicts->stages[line->stage].first;
}

static void position(const struct view *view, struct buf *out)
{
    const struct state *state = view->state;

    /* of one width, so that a move does not shift the border */
    if (view->desk->verdicts && state->n_lines > (size_t)list_rows(view))
        buf_printf(out, "%*zu of %zu", state->n_lines > 9 ? 2 : 1, state->cursor + 1,
                   state->n_lines);
}

const struct view_ops view_triage = {
    .id = "triage",
    .title = "triage",
    .state_size = sizeof(struct state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .n_lines = n_lines,
    .line = line_text,
    .go = go,
    .at = at,
    .position = position,
    .depends_on = DESK_RUN | DESK_CHECK,
};
