/* Which panes stand where, and drawing them: the two layouts of the screen and what lies between
 * and below. Geometry only; panes draw themselves. */
#include <string.h>

#include "core/base/number.h"
#include "tui/frame.h"
#include "tui/keys.h"
#include "views/verdict_words.h"

#define NARROW_COLUMNS 72
#define WIDE_COLUMNS   120
#define SIDE_COLUMNS   140
#define BOTTOM_ROWS    3

struct view *app_view(struct app *app, const struct view_ops *ops)
{
    for (size_t i = 0; i < view_count(); i++)
        if (view_at(i) == ops)
            return &app->views[i];
    BUG("view %s is not in the registry", ops->id);
}

static void add_pane(struct app *app, enum slot slot, const struct view_ops *ops, struct area area)
{
    if (app->n_panes == MAX_PANES || area.rows < 3 || area.columns < 10)
        return;
    app->panes[app->n_panes++] = (struct pane){slot, app_view(app, ops), area};
}

static const struct view_ops *in_slot(const struct app *app, enum slot slot)
{
    switch (slot) {
    case SLOT_TRIAGE:
        return &view_triage;
    case SLOT_MAIN:
        return app->main_view;
    case SLOT_EVIDENCE:
        return &view_evidence;
    case SLOT_SECOND:
        return app->second_view;
    case SLOT_SIDE:
        return &view_findings;
    case SLOT_RUNS:
        return &view_runs;
    case N_SLOTS:
        break;
    }
    return &view_triage;
}

/* One pane at a time; tall and narrow: the evidence under the checklist. */
static void layout_narrow(struct app *app, struct area body)
{
    if (body.rows >= 30 && (app->focus == SLOT_TRIAGE || app->focus == SLOT_EVIDENCE)) {
        int top = body.rows / 2;

        add_pane(app, SLOT_TRIAGE, &view_triage, (struct area){body.top, 0, top, body.columns});
        add_pane(app, SLOT_EVIDENCE, &view_evidence,
                 (struct area){body.top + top, 0, body.rows - top, body.columns});
        return;
    }
    if (app->focus == SLOT_SECOND || app->focus == SLOT_SIDE || app->focus == SLOT_RUNS)
        app->focus = SLOT_MAIN;
    add_pane(app, app->focus, in_slot(app, app->focus), body);
}

/* Checklist on the left; curve over evidence on the right, sharing a border. */
static void layout_middle(struct app *app, struct area body)
{
    int left = 27, right = body.columns - left;
    int below = body.rows <= 24 ? 9 : body.rows * 2 / 5;
    int above = body.rows - below + 1;

    add_pane(app, SLOT_TRIAGE, &view_triage, (struct area){body.top, 0, body.rows, left});
    add_pane(app, SLOT_MAIN, app->main_view, (struct area){body.top, left, above, right});
    add_pane(app, SLOT_EVIDENCE, &view_evidence,
             (struct area){body.top + above - 1, left, below, right});
}

static void layout_wide(struct app *app, struct area body)
{
    int left = 32, side = body.columns >= SIDE_COLUMNS ? body.columns / 4 : 0;
    int middle = body.columns - left - side;
    int runs = body.rows >= 30 && app->desk.n_runs > 1 ? 8 : 0;
    int above = body.rows * 11 / 20, below = body.rows - above;

    add_pane(app, SLOT_TRIAGE, &view_triage, (struct area){body.top, 0, body.rows - runs, left});
    add_pane(app, SLOT_MAIN, app->main_view, (struct area){body.top, left, above, middle});
    if (side) {
        int findings = body.rows >= 30 ? body.rows / 4 : 0;

        add_pane(app, SLOT_EVIDENCE, &view_evidence,
                 (struct area){body.top, left + middle, body.rows - findings, side});
        add_pane(app, SLOT_SECOND, app->second_view,
                 (struct area){body.top + above, left, below, middle});
        if (findings)
            add_pane(app, SLOT_SIDE, &view_findings,
                     (struct area){body.top + body.rows - findings, left + middle, findings, side});
    } else {
        add_pane(app, SLOT_EVIDENCE, &view_evidence,
                 (struct area){body.top + above, left, below, middle});
    }
    if (runs)
        add_pane(app, SLOT_RUNS, &view_runs,
                 (struct area){body.top + body.rows - runs, 0, runs, left});
}

static bool has_slot(const struct app *app, enum slot slot)
{
    for (size_t i = 0; i < app->n_panes; i++)
        if (app->panes[i].slot == slot)
            return true;
    return false;
}

void app_layout(struct app *app)
{
    const struct canvas *canvas = app->canvas;
    struct area body = {1, 0, canvas->rows - 1 - BOTTOM_ROWS, canvas->columns};

    app->n_panes = 0;
    app->needs_layout = false;
    if (canvas->rows < 10 || canvas->columns < 40)
        return;
    if (app->zoom)
        add_pane(app, app->focus, in_slot(app, app->focus), body);
    else if (canvas->columns < NARROW_COLUMNS)
        layout_narrow(app, body);
    else if (canvas->columns < WIDE_COLUMNS)
        layout_middle(app, body);
    else
        layout_wide(app, body);
    if (!has_slot(app, app->focus) && app->n_panes)
        app->focus = app->panes[0].slot;
    for (size_t i = 0; i < app->n_panes; i++) {
        app->panes[i].view->rows = app->panes[i].area.rows - 2;
        app->panes[i].view->columns = app->panes[i].area.columns - 2;
    }
    app_load_views(app, 0, true);
}

struct view *app_focused(struct app *app)
{
    for (size_t i = 0; i < app->n_panes; i++)
        if (app->panes[i].slot == app->focus)
            return app->panes[i].view;
    return app->n_panes ? app->panes[0].view : NULL;
}

static void load_view(struct app *app, struct view *view)
{
    struct error err;

    view->wants_load = false;
    view->canvas = app->canvas;
    arena_reset(view->arena);
    if (view->ops->load(view, &err) != OK)
        app_complain(app, &err);
}

void app_load_views(struct app *app, unsigned changed, bool all)
{
    for (size_t i = 0; i < app->n_panes; i++) {
        struct view *view = app->panes[i].view;

        if (all || view->wants_load || (view->ops->depends_on & changed))
            load_view(app, view);
    }
}

void app_open_view(struct app *app, const struct view_ops *ops, bool focus)
{
    for (size_t i = 0; i < app->n_panes; i++)
        if (app->panes[i].view->ops == ops) {
            if (focus)
                app->focus = app->panes[i].slot;
            return;
        }
    if (ops == &view_triage || ops == &view_evidence) {     /* one pane at a time */
        app->focus = ops == &view_triage ? SLOT_TRIAGE : SLOT_EVIDENCE;
    } else {
        if (app->n_history == MAX_HISTORY) {
            memmove(app->history, app->history + 1, (MAX_HISTORY - 1) * sizeof app->history[0]);
            app->n_history--;
        }
        app->history[app->n_history++] = app->main_view;
        app->main_view = ops;
        if (focus)
            app->focus = SLOT_MAIN;
    }
    app->needs_layout = true;
}

/* ---- Drawing ---- */

static void draw_title(struct app *app, struct canvas *canvas)
{
    const struct desk *desk = &app->desk;
    const struct run *run = desk->facts ? &desk->facts->run : NULL;
    int column = canvas_puts(canvas, 0, 0, STYLE_TITLE, "flatline  ");
    char done[32], total[32];

    if (run) {
        column = canvas_puts(canvas, 0, column, STYLE_TITLE, run->name);
        column = canvas_puts(canvas, 0, column, STYLE_TEXT, "  ");
        if (desk->facts->last_step != NONE && desk->facts->max_steps != NONE)
            column = canvas_printf(canvas, 0, column, STYLE_TEXT, "%lld/%lld ",
                                   (long long)desk->facts->last_step,
                                   (long long)desk->facts->max_steps);
        else if (desk->facts->last_step != NONE)
            column = canvas_printf(canvas, 0, column, STYLE_TEXT, "step %lld ",
                                   (long long)desk->facts->last_step);
        column = canvas_puts(canvas, 0, column,
                             run->outcome == OUTCOME_CRASHED ? STYLE_FAIL : STYLE_STRONG,
                             run->outcome == OUTCOME_CRASHED ? "CRASHED"
                                                             : outcome_name(run->outcome));
        column = canvas_printf(canvas, 0, column, STYLE_TEXT, "  %s%s", run_kind_name(run->kind),
                               desk->facts->kind_is_assumed ? "?" : "");
        if (canvas->columns >= WIDE_COLUMNS && run->framework)
            column = canvas_printf(canvas, 0, column, STYLE_DIM, "   %s", run->framework);
    }
    if (desk->import_total > 0) {
        number_bytes(done, (double)desk->import_done);
        number_bytes(total, (double)desk->import_total);
        canvas_printf(canvas, 0, column, STYLE_MESSAGE, "   reading %s of %s", done, total);
    }
}

static size_t not_exported(const struct desk *desk)
{
    size_t n = 0;

    for (size_t i = 0; i < desk->n_user_findings; i++)
        n += !desk->user_findings[i].exported;
    return n;
}

static void draw_position(struct app *app, struct canvas *canvas, int row)
{
    const struct desk *desk = &app->desk;
    const struct verdicts *verdicts = desk->verdicts;

    if (app->message[0]) {
        canvas_puts(canvas, row, 0, app->message_is_error ? STYLE_FAIL : STYLE_MESSAGE,
                    app->message);
        return;
    }
    for (int i = 0; verdicts && i < N_STAGES; i++) {
        const struct stage_row *stage = &verdicts->stages[i];

        if (desk->check < (ptrdiff_t)stage->first ||
            desk->check >= (ptrdiff_t)(stage->first + stage->n))
            continue;
        canvas_printf(canvas, row, 0, STYLE_TEXT,
                      "%s %s, check %zd of %zu   %zu of your findings, %zu not exported",
                      stage_key(stage->stage), stage_name(stage->stage),
                      desk->check - (ptrdiff_t)stage->first + 1, stage->n, desk->n_user_findings,
                      not_exported(desk));
    }
}

/* The value at the cursor, from whichever pane has one: the focused first, then the main one. */
static void draw_values(struct app *app, struct canvas *canvas, int row)
{
    const struct view *views[2] = {app_focused(app), app_view(app, app->main_view)};
    struct buf text;

    buf_init(&text, 1 << 12);
    if (app->search[0] && app->search_n)
        buf_printf(&text, "/%s  %zu of %zu   ", app->search, app->search_at, app->search_n);
    else if (app->search[0])
        buf_printf(&text, "/%s  not found   ", app->search);
    for (int i = 0; i < 2; i++)
        if (views[i] && views[i]->ops->status) {
            size_t n = text.n;

            views[i]->ops->status(views[i], &text);
            if (text.n > n)
                break;
        }
    canvas_text(canvas, row, 0, STYLE_STATUS, buf_view(&text));
    buf_free(&text);
}

static void draw_keys(const struct app *app, struct canvas *canvas, int row)
{
    static const char *const wide =
        "?/h help  Tab pane  ] [ check  } { evidence  Enter open  Esc back  z zoom  V panes  "
        "+ - = zoom  arrows cursor  f finding  e remark  v mark  E export  / search  : command  q quit";
    static const char *const narrow =
        "?help Tab pane ]next check Enter open f finding / search : command q quit";

    canvas_puts(canvas, row, 0, STYLE_KEYS, app->canvas->columns >= WIDE_COLUMNS ? wide : narrow);
}

/* "triage 7/9": how many stages are decided. */
static void pane_title(const struct app *app, const struct view *view, char *out, size_t n)
{
    const struct verdicts *verdicts = app->desk.verdicts;
    int decided = 0;

    for (int i = 0; verdicts && i < N_STAGES; i++)
        decided += verdicts->stages[i].verdict != VERDICT_UNKNOWN;
    if (view->ops == &view_triage)
        snprintf(out, n, "triage %d/%d", decided, N_STAGES);
    else if (view->ops == &view_evidence && verdicts && app->desk.check >= 0)
        snprintf(out, n, "%s %s", stage_key(verdicts->rows[app->desk.check].check->stage),
                 verdicts->rows[app->desk.check].check->id);
    else
        snprintf(out, n, "%s", view->ops->title);
}

static void draw_pane(struct app *app, const struct pane *pane)
{
    struct area inner = {pane->area.top + 1, pane->area.left + 1, pane->area.rows - 2,
                         pane->area.columns - 2};
    char title[160];

    pane->view->has_focus = pane->slot == app->focus;
    pane_title(app, pane->view, title, sizeof title);
    canvas_clip(app->canvas, &pane->area);
    canvas_frame(app->canvas, title, pane->view->has_focus);
    canvas_clip(app->canvas, &inner);
    pane->view->ops->draw(pane->view, app->canvas);
    canvas_clip(app->canvas, NULL);
}

static void draw_bottom(struct app *app, struct canvas *canvas)
{
    int row = canvas->rows - BOTTOM_ROWS;

    if (app->prompt.kind != PROMPT_NONE && app->prompt.candidates[0])
        canvas_puts(canvas, row, 0, STYLE_DIM, app->prompt.candidates);
    else
        draw_values(app, canvas, row);
    draw_position(app, canvas, row + 1);
    if (app->prompt.kind != PROMPT_NONE)
        prompt_draw(&app->prompt, canvas, row + 2);
    else
        draw_keys(app, canvas, row + 2);
}

void app_draw(struct app *app)
{
    struct canvas *canvas = app->canvas;

    canvas_clear(canvas);
    canvas_clip(canvas, NULL);
    canvas->cursor_row = canvas->cursor_column = -1;
    if (canvas->rows < 10 || canvas->columns < 40) {
        canvas_puts(canvas, 0, 0, STYLE_TEXT, "terminal too small (need 40x10)");
    } else {
        draw_title(app, canvas);
        for (size_t i = 0; i < app->n_panes; i++)
            draw_pane(app, &app->panes[i]);
        draw_bottom(app, canvas);
    }
    app->screen->present(app->screen, canvas);
}
