/* The title above the panes and the three rows below them: values at the cursor, where one is (or a
 * message), keys (or the prompt). */
#include <stdio.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/config_history.h"
#include "tui/frame.h"
#include "tui/keys.h"
#include "views/verdict_words.h"

#define OWN_KEYS    4           /* of the pane's own actions in the key bar */

/* ---- Title ---- */

static void steps_text(const struct run_facts *facts, char *out, size_t n)
{
    out[0] = '\0';
    if (facts->last_step != NONE && facts->max_steps != NONE)
        snprintf(out, n, "%lld/%lld ", (long long)facts->last_step, (long long)facts->max_steps);
    else if (facts->last_step != NONE)
        snprintf(out, n, "step %lld ", (long long)facts->last_step);
}

/* What goes on with the files, and how much of it is done. */
static int draw_reading(const struct desk *desk, struct canvas *canvas, int column)
{
    char done[32], total[32];

    if (desk->is_auditing && desk->import_total > 0)
        return canvas_printf(canvas, 0, column, STYLE_MESSAGE, "  auditing rows %lld/%lld",
                             (long long)desk->import_done, (long long)desk->import_total);
    if (!desk->is_importing)
        return column;
    if (desk->import_total <= 0)
        return canvas_puts(canvas, 0, column, STYLE_MESSAGE,
                           desk->import_done ? "  checking" : "  looking at the files");
    number_bytes(done, (double)desk->import_done);
    number_bytes(total, (double)desk->import_total);
    return canvas_printf(canvas, 0, column, STYLE_MESSAGE, "  reading %s of %s, %d%%", done, total,
                         (int)(100.0 * (double)desk->import_done / (double)desk->import_total));
}

/* "config a1b2c3d+dirty": the commit of the run's configuration. */
static int draw_commit(const struct run_facts *facts, struct canvas *canvas, int column)
{
    const struct config_history *history = facts_has_history(facts) ? facts_history(facts) : NULL;

    if (!history || !history->used)
        return column;
    return canvas_printf(canvas, 0, column, STYLE_DIM, "  config %.7s%s", history->used,
                         history->is_dirty ? "+dirty" : "");
}

void app_draw_title(struct app *app, struct canvas *canvas)
{
    const struct desk *desk = &app->desk;
    const struct run *run = desk->facts ? &desk->facts->run : NULL;
    int column = canvas_puts(canvas, 0, 0, STYLE_DIM, "flatline  ");
    bool crashed = run && run->outcome == OUTCOME_CRASHED;
    const char *outcome;
    struct str name;
    char steps[64];
    const char *live = app_live_word(app);
    int room;

    if (!run) {
        (void)draw_reading(desk, canvas, column - 2);
        return;
    }
    outcome = crashed ? "CRASHED" : outcome_name(run->outcome);
    steps_text(desk->facts, steps, sizeof steps);
    name = str_of(run->name);
    room = canvas->columns - column - 2 - (int)strlen(steps) -
           (int)strlen(outcome) - (live[0] ? 2 + (int)strlen(live) : 0);
    if (canvas_width(canvas, name) > room) {
        name = canvas_cut(canvas, name, room - 2);
        column = canvas_text(canvas, 0, column, STYLE_TITLE, name);
        column = canvas_puts(canvas, 0, column, STYLE_DIM, "..");
    } else {
        column = canvas_text(canvas, 0, column, STYLE_TITLE, name);
    }
    column = canvas_printf(canvas, 0, column, STYLE_TEXT, "  %s", steps);
    column = canvas_puts(canvas, 0, column, crashed ? STYLE_FAIL : STYLE_STRONG, outcome);
    if (live[0])
        column = canvas_printf(canvas, 0, column, STYLE_MESSAGE, "  %s", live);
    column = draw_reading(desk, canvas, column);
    column = canvas_printf(canvas, 0, column, STYLE_TEXT, "  %s%s", run_kind_name(run->kind),
                           desk->facts->kind_is_assumed ? "?" : "");
    if (canvas->columns >= WIDE_COLUMNS && run->framework)
        column = canvas_printf(canvas, 0, column, STYLE_DIM, "  %s", run->framework);
    if (canvas->columns >= WIDE_COLUMNS)
        column = draw_commit(desk->facts, canvas, column);
    if (desk->baseline_id)
        for (size_t i = 0; i < desk->n_runs; i++)
            if (desk->runs[i].id == desk->baseline_id)
                canvas_printf(canvas, 0, column, STYLE_DIM, "  beside %s", desk->runs[i].name);
}

/* ---- Where one is ---- */

/* A low terminal has no room for the cause under the list: it stands in the two rows below, the
 * check above its finding. */
static const struct verdict_row *cause_below(const struct app *app)
{
    const struct verdicts *verdicts = app->desk.verdicts;

    if (!verdicts || verdicts->headline < 0 || app->canvas->rows >= 17 ||
        app->focus != SLOT_TRIAGE)
        return NULL;
    return &verdicts->rows[verdicts->headline];
}

static void draw_cause(const struct app *app, struct canvas *canvas, int row,
                       const struct verdict_row *cause)
{
    int column = canvas_puts(canvas, row, 0, STYLE_STRONG,
                             app->desk.verdicts->headline_is_warning ? "possible cause: "
                                                                     : "likely cause: ");

    canvas_puts(canvas, row, column, verdict_style(cause->result.verdict), cause->check->id);
}

static int put_whole(struct canvas *canvas, int row, int column, const char *ascii)
{
    return column + (int)strlen(ascii) > canvas_area(canvas).columns
               ? column
               : canvas_puts(canvas, row, column, STYLE_TEXT, ascii);
}

/* "yours: 2 findings (1 to export), 1 remark"; a part for which there is no room is left out whole. */
static void draw_written(const struct desk *desk, struct canvas *canvas, int row, int column)
{
    size_t n_new = 0;
    char part[64];

    for (size_t i = 0; i < desk->n_user_findings; i++)
        n_new += !desk->user_findings[i].exported;
    if (desk->n_user_findings || desk->n_remarks)
        column = canvas_puts(canvas, row, column, STYLE_DIM, "   yours:");
    if (desk->n_user_findings)
        column = canvas_printf(canvas, row, column, STYLE_TEXT, " %zu finding%s",
                               desk->n_user_findings, desk->n_user_findings == 1 ? "" : "s");
    if (n_new) {
        (void)snprintf(part, sizeof part, " (%zu to export)", n_new);
        column = put_whole(canvas, row, column, part);
    }
    if (desk->n_remarks) {
        (void)snprintf(part, sizeof part, "%s %zu remark%s", desk->n_user_findings ? "," : "",
                       desk->n_remarks, desk->n_remarks == 1 ? "" : "s");
        (void)put_whole(canvas, row, column, part);
    }
}

static void draw_position(struct app *app, struct canvas *canvas, int row)
{
    const struct desk *desk = &app->desk;
    const struct verdicts *verdicts = desk->verdicts;
    const struct verdict_row *opened = app_opened(app);

    if (app->message[0]) {
        canvas_puts(canvas, row, 0, app->message_is_error ? STYLE_FAIL : STYLE_MESSAGE,
                    app->message);
        return;
    }
    if (cause_below(app)) {
        const char *finding = cause_below(app)->result.finding;

        canvas_puts(canvas, row, 0, STYLE_TEXT, finding ? finding : "");
        return;
    }
    for (int i = 0; verdicts && i < N_STAGES; i++) {
        const struct stage_row *stage = &verdicts->stages[i];
        int column;

        if (!opened || desk->check < (ptrdiff_t)stage->first ||
            desk->check >= (ptrdiff_t)(stage->first + stage->n))
            continue;
        column = canvas_printf(canvas, row, 0, STYLE_TEXT, "%s %s, check %zd of %zu",
                               stage_key(stage->stage), stage_name(stage->stage),
                               desk->check - (ptrdiff_t)stage->first + 1, stage->n);
        column = canvas_puts(canvas, row, column, STYLE_MESSAGE,
                             opened->dismissed ? "   dismissed" : opened->is_seen ? "   seen" : "");
        draw_written(desk, canvas, row, column);
    }
}

/* ---- Values at the cursor ---- */

/* What does not fit goes as a whole: half a number is worse than none. */
static struct str whole_values(const struct canvas *canvas, struct str text, int columns)
{
    struct str cut = canvas_cut(canvas, text, columns);

    if (cut.n == text.n)
        return text;
    for (size_t i = cut.n; i-- > 1;)
        if (cut.p[i] == ' ' && cut.p[i - 1] == ' ')
            return str_first(cut, i - 1);
    return cut;
}

/* Only what is seen has been loaded. */
static const struct view *shown_main(const struct app *app)
{
    for (size_t i = 0; i < app->n_panes; i++)
        if (app->panes[i].slot == SLOT_MAIN)
            return app->panes[i].view;
    return NULL;
}

/* From whichever pane has some: the focused first, then the main one. */
static void draw_values(struct app *app, struct canvas *canvas, int row)
{
    const struct view *views[2] = {app_focused(app), shown_main(app)};
    struct buf text;
    int column = 0;

    if (app->search[0] && app->search_n)
        column = canvas_printf(canvas, row, 0, STYLE_STRONG, "/%s  %zu of %zu  ", app->search,
                               app->search_at, app->search_n);
    else if (app->search[0])
        column = canvas_printf(canvas, row, 0, STYLE_WARN, "/%s  not in this pane  ", app->search);
    buf_init(&text, 1 << 12);
    for (int i = 0; i < 2 && text.n == 0; i++)
        if (views[i] && views[i]->ops->status)
            views[i]->ops->status(views[i], &text);
    canvas_text(canvas, row, column, STYLE_STATUS,
                whole_values(canvas, buf_view(&text), canvas->columns - column));
    buf_free(&text);
}

/* ---- Keys ---- */

struct hint {
    const char *action, *label;
};

/* In the order of what a hand needs first; as many as fit. */
static const struct hint HINTS[] = {
    {"help", "help"},         {"quit", "quit"},          {"next-pane", "pane"},
    {"next-check", "check"},  {"back", "back"},          {"search", "search"},
    {"command", "command"},   {"zoom-pane", "zoom"},     {"finding", "finding"},
    {"mark", "mark"},         {"add-file", "add file"},  {"remark", "remark"},
    {"export", "export"},     {"next-evidence", "evidence"}, {"copy", "copy"},
    {"panes", "panes"},
};

static const char *action_keys(const struct action *actions, const char *view_id,
                               const char *name)
{
    for (const struct action *action = actions; action && action->name; action++)
        if (strcmp(action->name, name) == 0)
            return keys_of(action, view_id);
    return NULL;
}

/* The first key with its label; false when there is no room. */
static bool add_hint(struct canvas *canvas, int row, int *column, const char *keys,
                     const char *label)
{
    struct str rest = str_of(keys), first;
    int width;

    if (!keys || !str_split(&rest, ' ', &first) || first.n == 0)
        return true;
    width = canvas_width(canvas, first) + 1 + canvas_width(canvas, str_of(label));
    if (*column + width > canvas->columns)
        return false;
    canvas_text(canvas, row, *column, STYLE_STRONG, first);
    canvas_puts(canvas, row, *column + canvas_width(canvas, first) + 1, STYLE_KEYS, label);
    *column += width + 2;
    return true;
}

/* What every hand tries anyway needs no hint. */
static bool is_motion(const struct action *action)
{
    static const char *const names[] = {"down", "up", "left", "right", "top", "bottom", "scroll-left",
                                        "scroll-right", "close", "first-sample", "last-sample"};
    static const char *const starts[] = {"stage-", "next-", "previous-", "zoom-"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(action->name, names[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (strncmp(action->name, starts[i], strlen(starts[i])) == 0)
            return true;
    return strstr(action->name, "page");
}

static void draw_keys(struct app *app, struct canvas *canvas, int row)
{
    const struct view *view = app_focused(app);
    int column = 0, n_own = 0;

    for (int i = 0; i < 2; i++)         /* never without these */
        (void)add_hint(canvas, row, &column, action_keys(FRAME_ACTIONS, "frame", HINTS[i].action),
                       HINTS[i].label);
    for (const struct action *own = view ? view->ops->actions : NULL; own && own->name; own++)
        if (!is_motion(own) && n_own++ < OWN_KEYS &&
            !add_hint(canvas, row, &column, keys_of(own, view->ops->id), own->name))
            return;
    for (size_t i = 2; i < sizeof HINTS / sizeof HINTS[0]; i++)
        if (!add_hint(canvas, row, &column, action_keys(FRAME_ACTIONS, "frame", HINTS[i].action),
                      HINTS[i].label))
            return;
}

void app_draw_bottom(struct app *app, struct canvas *canvas, int row)
{
    if (app->prompt.kind != PROMPT_NONE && app->prompt.candidates[0])
        canvas_text(canvas, row, 0, STYLE_DIM,
                    whole_values(canvas, str_of(app->prompt.candidates), canvas->columns));
    else if (cause_below(app) && !app->search[0])
        draw_cause(app, canvas, row, cause_below(app));
    else
        draw_values(app, canvas, row);
    draw_position(app, canvas, row + 1);
    if (app->prompt.kind != PROMPT_NONE)
        prompt_draw(&app->prompt, canvas, row + 2);
    else
        draw_keys(app, canvas, row + 2);
}
