/* Keys to actions, and the frame's own actions. Commands by name: commands.c. */
#include <stdio.h>
#include <string.h>

#include "tui/frame.h"
#include "tui/keys.h"
#include "tui/session_file.h"

enum {
    FRAME_HELP = 1000,
    FRAME_QUIT,
    FRAME_BACK,
    FRAME_NEXT_PANE,
    FRAME_PREVIOUS_PANE,
    FRAME_ZOOM,
    FRAME_PANES,
    FRAME_COMMAND,
    FRAME_SEARCH,
    FRAME_SEARCH_NEXT,
    FRAME_SEARCH_PREVIOUS,
    FRAME_FINDING,
    FRAME_REMARK,
    FRAME_MARK,
    FRAME_EXPORT,
    FRAME_COPY,
    FRAME_ADD,
    FRAME_RELOAD,
    FRAME_FOLLOW,
    FRAME_FORGET_PLACE,
    FRAME_REDRAW,
    FRAME_STOP,
    FRAME_NEXT_CHECK,
    FRAME_PREVIOUS_CHECK,
    FRAME_NEXT_EVIDENCE,
    FRAME_PREVIOUS_EVIDENCE
};

const struct action FRAME_ACTIONS[] = {
    {FRAME_HELP, "help", "? h F1", "this help"},
    {FRAME_QUIT, "quit", "q", "close the pane, then quit"},
    {FRAME_BACK, "back", "Esc", "back the way you came"},
    {FRAME_NEXT_PANE, "next-pane", "Tab", "next pane"},
    {FRAME_PREVIOUS_PANE, "previous-pane", "S-Tab", "previous pane"},
    {FRAME_ZOOM, "zoom-pane", "z", "this pane large, alone, and back"},
    {FRAME_PANES, "panes", "V", "list of panes"},
    {FRAME_COMMAND, "command", ":", "a command by name, Tab completes"},
    {FRAME_SEARCH, "search", "/", "search in the pane while typing"},
    {FRAME_SEARCH_NEXT, "search-next", "n", "next hit"},
    {FRAME_SEARCH_PREVIOUS, "search-previous", "N", "previous hit"},
    {FRAME_NEXT_CHECK, "next-check", "]", "evidence of the next check"},
    {FRAME_PREVIOUS_CHECK, "previous-check", "[", "evidence of the previous check"},
    {FRAME_NEXT_EVIDENCE, "next-evidence", "}", "next piece of evidence"},
    {FRAME_PREVIOUS_EVIDENCE, "previous-evidence", "{", "previous piece of evidence"},
    {FRAME_FINDING, "finding", "f", "make a finding of the current evidence"},
    {FRAME_REMARK, "remark", "e", "write a remark ($VISUAL or $EDITOR, else one line)"},
    {FRAME_MARK, "mark", "v", "mark the check: seen, then not a problem here, then undo"},
    {FRAME_EXPORT, "export", "E", "write the findings as Markdown"},
    {FRAME_COPY, "copy", "y", "copy the evidence to the terminal's clipboard (OSC 52)"},
    {FRAME_ADD, "add-file", "a", "add a file or folder to this run (:import PATH)"},
    {FRAME_RELOAD, "reload", "R", "look at the files again"},
    {FRAME_FOLLOW, "follow", "F", "follow the run: look for new rows every 15 s, or stop it"},
    {FRAME_FORGET_PLACE, "forget-place", "C-r", "forget the restored place"},
    {FRAME_REDRAW, "redraw", "C-l", "redraw from scratch"},
    {FRAME_STOP, "stop", "C-c", "stop the running import; quit when there is none"},
    {0, NULL, NULL, NULL},
};

static void step_check(struct app *app, ptrdiff_t by)
{
    ptrdiff_t to = app->desk.check + by;

    if (app->desk.verdicts && to >= 0 && to < (ptrdiff_t)app->desk.verdicts->n_rows)
        desk_choose_check(&app->desk, to);
}

static void step_evidence(struct app *app, ptrdiff_t by)
{
    const struct verdict_row *row = app_opened(app);
    ptrdiff_t to = (ptrdiff_t)app->desk.evidence + by;

    if (!row || to < 0 || to >= (ptrdiff_t)row->result.n_evidence)
        return;
    desk_choose_evidence(&app->desk, (size_t)to);
    if (row->result.evidence[to].step != NONE)
        desk_choose_step(&app->desk, row->result.evidence[to].step);
}

static void list_panes(struct app *app)
{
    prompt_open(&app->prompt, PROMPT_COMMAND, "");
    snprintf(app->prompt.candidates, sizeof app->prompt.candidates, "%s", "");
    for (size_t i = 0; i < view_count(); i++) {
        size_t n = strlen(app->prompt.candidates);

        snprintf(app->prompt.candidates + n, sizeof app->prompt.candidates - n, "%s  ",
                 view_at(i)->id);
    }
}

static void forget_place(struct app *app)
{
    if (!app->desk.verdicts)
        return;
    session_file_save(app->desk.verdicts->run.key, NULL);
    app->desk.check = app->verdicts.headline >= 0 ? app->verdicts.headline : 0;
    app->desk.evidence = 0;
    app->desk.step = NONE;
    app->desk.changed |= DESK_CHECK | DESK_EVIDENCE | DESK_STEP;
    app_say(app, "place forgotten");
}

/* Esc: what is closest goes first. */
static void go_back(struct app *app)
{
    if (app_go_back(app) || app->focus == SLOT_TRIAGE)
        return;
    app->focus = SLOT_TRIAGE;
    app->needs_layout = true;
}

/* Help has the whole screen; asked for again it closes. */
static void open_help(struct app *app)
{
    const struct view *view = app_focused(app);

    if (view && view->ops == &view_help) {
        go_back(app);
        return;
    }
    if (view)
        view_help_set_focus(view->ops);
    app_open_view(app, &view_help);
    app->zoom = ZOOM_FULL;
    app->needs_layout = true;
}

void app_act_frame(struct app *app, int action)
{
    switch (action) {
    case FRAME_HELP:
        open_help(app);
        break;
    case FRAME_QUIT:
        if (!app_go_back(app))
            app->wants_quit = true;
        break;
    case FRAME_BACK:
        go_back(app);
        break;
    case FRAME_NEXT_PANE:
        app_move_focus(app, 1);
        break;
    case FRAME_PREVIOUS_PANE:
        app_move_focus(app, -1);
        break;
    case FRAME_ZOOM:
        app_zoom(app);
        break;
    case FRAME_PANES:
        list_panes(app);
        break;
    case FRAME_COMMAND:
        prompt_open(&app->prompt, PROMPT_COMMAND, "");
        break;
    case FRAME_SEARCH:
        app_search_begin(app);
        break;
    case FRAME_SEARCH_NEXT:
        app_search(app, 1);
        break;
    case FRAME_SEARCH_PREVIOUS:
        app_search(app, -1);
        break;
    case FRAME_NEXT_CHECK:
        step_check(app, 1);
        break;
    case FRAME_PREVIOUS_CHECK:
        step_check(app, -1);
        break;
    case FRAME_NEXT_EVIDENCE:
        step_evidence(app, 1);
        break;
    case FRAME_PREVIOUS_EVIDENCE:
        step_evidence(app, -1);
        break;
    case FRAME_FINDING:
        app_make_finding(app);
        break;
    case FRAME_REMARK:
        app_edit_remark(app);
        break;
    case FRAME_MARK:
        app_mark_check(app);
        break;
    case FRAME_EXPORT:
        app_command(app, "export");
        break;
    case FRAME_COPY:
        app_copy_evidence(app);
        break;
    case FRAME_ADD:
        prompt_open(&app->prompt, PROMPT_COMMAND, "import ");
        break;
    case FRAME_RELOAD:
        app_import(app, NULL, true);
        break;
    case FRAME_FOLLOW:
        app_live_toggle(app);
        break;
    case FRAME_FORGET_PLACE:
        forget_place(app);
        break;
    case FRAME_REDRAW:
        app->screen->redraw_all(app->screen);
        break;
    case FRAME_STOP:
        if (job_is_busy(worker_job(app->worker)) && !app->live.is_looking) {
            job_cancel(worker_job(app->worker));
            app_say(app, "stopping the import; what was read stays");
        } else {
            app->wants_quit = true;
        }
        break;
    default:
        BUG("frame action %d", action);
    }
}

void app_after_action(struct app *app)
{
    struct desk *desk = &app->desk;
    const char *request = desk->request, *view = desk->open_view;
    unsigned changed = desk->changed;

    desk->request = desk->open_view = NULL;
    desk->changed = 0;
    if (changed & DESK_RUN) {
        app->opened_at_start = false;
        app->needs_reload = true;
        if (view)               /* from the list to the run: its own panes, the list is behind */
            app_mark_way(app);
        app->main_is_chosen = false;
        if (desk->baseline_id == desk->run_id)
            desk->baseline_id = 0;
    }
    if (changed & (DESK_CHECK | DESK_EVIDENCE))
        app_suit_views(app);
    if (view && view_by_id(view) && (changed & DESK_RUN))
        app_show_view(app, view_by_id(view));
    else if (view && view_by_id(view))
        app_open_view(app, view_by_id(view));
    desk->open_stays = false;
    if (request)
        prompt_open(&app->prompt, PROMPT_COMMAND, request);
    if (!app->needs_reload && !app->needs_layout)
        app_load_views(app, changed, false);
}

static void accept_prompt(struct app *app)
{
    enum prompt_kind kind = app->prompt.kind;
    char text[4096];

    snprintf(text, sizeof text, "%s", app->prompt.text.p);
    app->prompt.kind = PROMPT_NONE;
    switch (kind) {
    case PROMPT_COMMAND:
        prompt_remember(&app->prompt, text);
        app_command(app, text);
        break;
    case PROMPT_REMARK:
        app_save_remark(app, text);
        break;
    case PROMPT_DISMISS:
        app_dismiss(app, text);
        break;
    case PROMPT_SEARCH:
    case PROMPT_NONE:
        break;
    }
}

static void search_typed(struct app *app)
{
    snprintf(app->search, sizeof app->search, "%s", app->prompt.text.p);
    app->search_at = 0;
    app_search(app, 0);
}

static void prompt_has_key(struct app *app, int key)
{
    bool completes = app->prompt.kind == PROMPT_COMMAND;

    switch (prompt_key(&app->prompt, key, completes ? app_complete : NULL, app)) {
    case PROMPT_ACCEPTED:
        accept_prompt(app);
        break;
    case PROMPT_CANCELLED:
        if (app->prompt.kind == PROMPT_SEARCH)
            app_search_end(app);
        app->prompt.kind = PROMPT_NONE;
        break;
    case PROMPT_CHANGED:
        if (app->prompt.kind == PROMPT_SEARCH)
            search_typed(app);
        break;
    case PROMPT_GOES_ON:
        break;
    }
}

/* Digits and P pick a stage from every pane that has no other use for them. */
static bool pick_stage(struct app *app, int key)
{
    struct view *triage = app_view(app, &view_triage);
    const struct action *action;

    if (!((key >= '0' && key <= '7') || key == 'P'))
        return false;
    action = keys_find(view_triage.actions, "triage", key);
    if (!action || !app->desk.verdicts)
        return false;
    app_open_view(app, &view_triage);
    triage->ops->act(triage, action->id);
    return true;
}

static void plain_key(struct app *app, int key)
{
    struct view *view = app_focused(app);
    const struct action *action;

    if (app->search[0] && (key == 'n' || key == 'N' || key == KEYCODE_ESC)) {
        if (key == KEYCODE_ESC)
            app_search_end(app);
        else
            app_search(app, key == 'n' ? 1 : -1);
        return;
    }
    action = view ? keys_find(view->ops->actions, view->ops->id, key) : NULL;
    if (action && view->ops->act(view, action->id))
        return;
    action = keys_find(FRAME_ACTIONS, "frame", key);
    if (action)
        app_act_frame(app, action->id);
    else
        (void)pick_stage(app, key);
}

void app_key(struct app *app, int key)
{
    app->message[0] = '\0';
    app->message_is_error = false;
    app->has_acted = true;
    if (app->prompt.kind != PROMPT_NONE)
        prompt_has_key(app, key);
    else
        plain_key(app, key);
    app->desk.search = app->search;
    app_after_action(app);
}
