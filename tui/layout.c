/* Which panes stand where, and drawing them: the two layouts of the screen and what lies between
 * and below. Geometry only; panes draw themselves. */
#include <string.h>

#include "core/facts/config_history.h"
#include "tui/frame.h"
#include "views/evidence_view.h"

#define SIDE_COLUMNS 140
#define MANY_POINTS  200000

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

static bool has_history(const struct app *app)
{
    return app->desk.facts && facts_has_history(app->desk.facts);
}

static const struct view_ops *side_view(const struct app *app)
{
    bool is_elsewhere = app->main_view == &view_history || app->second_view == &view_history;

    return has_history(app) && !is_elsewhere ? &view_history : &view_findings;
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
        return side_view(app);
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
        int findings = body.rows < 30 ? 0 : has_history(app) ? body.rows * 2 / 5 : body.rows / 4;

        add_pane(app, SLOT_EVIDENCE, &view_evidence,
                 (struct area){body.top, left + middle, body.rows - findings, side});
        add_pane(app, SLOT_SECOND, app->second_view,
                 (struct area){body.top + above, left, below, middle});
        if (findings)
            add_pane(app, SLOT_SIDE, side_view(app),
                     (struct area){body.top + body.rows - findings, left + middle, findings, side});
    } else {
        add_pane(app, SLOT_EVIDENCE, &view_evidence,
                 (struct area){body.top + above, left, below, middle});
    }
    if (runs)
        add_pane(app, SLOT_RUNS, &view_runs,
                 (struct area){body.top + body.rows - runs, 0, runs, left});
}

/* The pane with the keys beside the checklist, or the checklist beside its evidence. */
static void layout_half(struct app *app, struct area body)
{
    bool is_triage = app->focus == SLOT_TRIAGE;
    int left = is_triage ? body.columns / 2 : body.columns >= WIDE_COLUMNS ? 32 : 27;
    enum slot right = is_triage ? SLOT_EVIDENCE : app->focus;

    add_pane(app, SLOT_TRIAGE, &view_triage, (struct area){body.top, 0, body.rows, left});
    add_pane(app, right, in_slot(app, right),
             (struct area){body.top, left, body.rows, body.columns - left});
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
    if (app->zoom == ZOOM_HALF && canvas->columns >= NARROW_COLUMNS)
        layout_half(app, body);
    else if (app->zoom == ZOOM_FULL)
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

/* Hundreds of milliseconds: not before there is something to look at. */
static bool is_slow(const struct app *app, const struct view *view)
{
    const struct run_facts *facts = app->desk.facts;
    int64_t n_points = 0;

    for (size_t i = 0; facts && i < facts->n_series; i++)
        n_points += facts->series[i].n_points;
    return view->ops == &view_curves && n_points > MANY_POINTS;
}

static void load_view(struct app *app, struct view *view)
{
    struct error err;

    view->wants_load = app->holds_back && is_slow(app, view);
    if (view->wants_load)
        return;
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

static bool is_shown(const struct app *app, const struct view_ops *ops, enum slot *slot)
{
    for (size_t i = 0; i < app->n_panes; i++)
        if (app->panes[i].view->ops == ops) {
            *slot = app->panes[i].slot;
            return true;
        }
    return false;
}

void app_open_view(struct app *app, const struct view_ops *ops)
{
    enum slot slot = SLOT_MAIN;

    if (is_shown(app, ops, &slot) && (slot == app->focus || app->desk.open_stays))
        return;
    app_mark_way(app);
    app_show_view(app, ops);
}

void app_show_view(struct app *app, const struct view_ops *ops)
{
    enum slot slot = SLOT_MAIN;
    bool shown = is_shown(app, ops, &slot);

    if (!shown && ops == &view_triage)
        slot = SLOT_TRIAGE;
    else if (!shown && ops == &view_evidence)
        slot = SLOT_EVIDENCE;
    app->focus = slot;
    if (shown && app->canvas->columns >= NARROW_COLUMNS && app->zoom != ZOOM_HALF)
        return;
    app->needs_layout = true;
    if (!shown && slot == SLOT_MAIN) {
        app->main_view = ops;
        app->main_is_chosen = true;
    }
}

static bool has_points(const struct run_facts *facts)
{
    return facts && facts->n_series > 0;
}

static bool has_log(const struct run_facts *facts)
{
    for (size_t i = 0; facts && i < facts->n_sources; i++)
        if (importer_is_log(facts->sources[i].importer))
            return true;
    return false;
}

static const char *evidence_kind(const struct app *app, size_t i)
{
    const struct verdict_row *row = app_opened(app);

    if (!row || row->result.verdict < VERDICT_WARN || i >= row->result.n_evidence ||
        !row->result.evidence[i].kind)
        return "";
    return row->result.evidence[i].kind;
}

/* The pane of rows, prompts, scores or rewards that the opened check is about, NULL when it is about
 * another. */
static const struct view_ops *suited_text(const struct app *app)
{
    static const char *const PANES[] = {"labels", "prompts", "pairs", "data", "evals", "preference"};
    const struct verdict_row *row = app_opened(app);
    const char *place;

    if (!row || row->result.verdict < VERDICT_WARN || !row->result.n_evidence)
        return NULL;
    place = evidence_view(row->check, &row->result.evidence[0]);
    for (size_t i = 0; place && i < sizeof PANES / sizeof *PANES; i++)
        if (strcmp(place, PANES[i]) == 0)
            return view_by_id(place);
    return NULL;
}

/* Where the evidence of the opened check can be seen: the log for a line of it, rows and prompts in
 * their panes, else the curves, in which all else shows; what the run has none of is not shown. */
static const struct view_ops *suited_main(const struct app *app)
{
    const struct run_facts *facts = app->desk.facts;

    if (suited_text(app))
        return suited_text(app);

    if (strcmp(evidence_kind(app, 0), "log") == 0 &&
        app_opened(app)->result.evidence[0].line != NONE)
        return &view_log;
    if (has_points(facts))
        return &view_curves;
    if (strcmp(evidence_kind(app, 0), "setting") == 0)
        return &view_settings;
    return has_log(facts) ? &view_log : &view_curves;
}

static const struct view_ops *suited_second(const struct app *app)
{
    const struct verdict_row *row = app_opened(app);

    if (app->main_view == &view_curves && strcmp(evidence_kind(app, app->desk.evidence), "setting") == 0)
        return &view_settings;
    if (suited_text(app) && has_points(app->desk.facts))
        return &view_curves;
    if (row && row->check->stage == STAGE_HYPERPARAMETERS && has_history(app))
        return &view_history;
    if (app->main_view != &view_log)
        return &view_log;
    if (row && strncmp(row->check->id, "oom", 3) == 0)
        return &view_memory;
    return has_points(app->desk.facts) ? &view_curves : &view_settings;
}

void app_suit_views(struct app *app)
{
    const struct view_ops *main_view = app->main_is_chosen ? app->main_view : suited_main(app);
    const struct view_ops *second;

    app->needs_layout |= main_view != app->main_view;
    app->main_view = main_view;
    second = suited_second(app);
    app->needs_layout |= second != app->second_view;
    app->second_view = second;
}

/* ---- Drawing ---- */

/* "triage 7/9": how many stages are decided. */
static void pane_title(const struct app *app, const struct view *view, char *out, size_t n)
{
    const struct verdicts *verdicts = app->desk.verdicts;
    const char *heading;
    int decided = 0;

    for (int i = 0; verdicts && i < N_STAGES; i++)
        decided += verdicts->stages[i].verdict != VERDICT_UNKNOWN;
    if (view->ops == &view_triage)
        snprintf(out, n, "triage %d/%d", decided, N_STAGES);
    else if (view->ops == &view_evidence && verdicts && app->desk.check >= 0)
        snprintf(out, n, "%s %s", stage_key(verdicts->rows[app->desk.check].check->stage),
                 verdicts->rows[app->desk.check].check->id);
    else if (view->ops->heading && (heading = view->ops->heading(view)))
        snprintf(out, n, "%s  %s", view->ops->title, heading);
    else
        snprintf(out, n, "%s", view->ops->title);
}

/* "3 of 40" in the lower border. */
static void draw_place(const struct view *view, struct canvas *canvas, int row, int end)
{
    struct buf text;

    if (!view->ops->position)
        return;
    buf_init(&text, 200);
    view->ops->position(view, &text);
    if (text.n && (int)text.n + 6 < view->columns)
        canvas_printf(canvas, row, end - (int)text.n - 4, STYLE_DIM, " %s ", text.p);
    buf_free(&text);
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
    draw_place(pane->view, app->canvas, pane->area.top + pane->area.rows - 1,
               pane->area.left + pane->area.columns);
    if (app->search[0] && pane->view->has_focus)
        app_mark_hits(app, app->canvas, &inner);
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
        app_draw_title(app, canvas);
        for (size_t i = 0; i < app->n_panes; i++)
            draw_pane(app, &app->panes[i]);
        app_draw_bottom(app, canvas, canvas->rows - BOTTOM_ROWS);
    }
    app->screen->present(app->screen, canvas);
}
