/* Keys to actions, and the frame's own actions. Commands by name: commands.c. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/read/source.h"
#include "tui/frame.h"
#include "tui/keys.h"
#include "tui/session_file.h"
#include "views/verdict_words.h"

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
    FRAME_RELOAD,
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
    {FRAME_ZOOM, "zoom-pane", "z", "this pane alone, and back"},
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
    {FRAME_RELOAD, "reload", "R", "look at the files again"},
    {FRAME_FORGET_PLACE, "forget-place", "C-r", "forget the restored place"},
    {FRAME_REDRAW, "redraw", "C-l", "redraw from scratch"},
    {FRAME_STOP, "stop", "C-c", "stop the running import; quit when there is none"},
    {0, NULL, NULL, NULL},
};

/* ---- Search ---- */

static bool is_smart_case(const char *needle)
{
    for (; *needle; needle++)
        if (isupper((unsigned char)*needle))
            return true;
    return false;
}

static bool line_matches(const struct view *view, size_t i, const char *needle)
{
    struct str line = view->ops->line(view, i);

    return is_smart_case(needle) ? str_find(line, needle) >= 0
                                 : str_has_ignoring_case(line, needle);
}

/* The hit that `direction` leads to from the hit of before; 0: the nearest at or after it. */
void app_search(struct app *app, int direction)
{
    struct view *view = app_focused(app);
    size_t n, hits = 0, target = 0, wanted;

    app->search_n = 0;
    if (!view || !view->ops->n_lines || !app->search[0])
        return;
    n = view->ops->n_lines(view);
    for (size_t i = 0; i < n; i++)
        app->search_n += line_matches(view, i, app->search);
    if (app->search_n == 0)
        return;
    wanted = direction == 0 ? 1 : app->search_at + (size_t)(direction > 0 ? 1 : app->search_n - 1);
    wanted = (wanted - 1) % app->search_n + 1;
    for (size_t i = 0; i < n && hits < wanted; i++)
        if (line_matches(view, i, app->search)) {
            hits++;
            target = i;
        }
    app->search_at = wanted;
    view->ops->go(view, target);
}

/* ---- What the user writes ---- */

static const struct verdict_row *opened(const struct app *app)
{
    const struct desk *desk = &app->desk;

    return desk->verdicts && desk->check >= 0 ? &desk->verdicts->rows[desk->check] : NULL;
}

static const struct evidence *current_evidence(const struct app *app)
{
    const struct verdict_row *row = opened(app);

    return row && app->desk.evidence < row->result.n_evidence
               ? &row->result.evidence[app->desk.evidence]
               : NULL;
}

static void make_finding(struct app *app)
{
    const struct verdict_row *row = opened(app);
    const struct evidence *evidence = current_evidence(app);
    struct user_finding finding = {.line = NONE, .step = NONE};
    const struct source *source;
    struct error err;

    if (!row)
        return;
    finding.check_id = row->check->id;
    finding.verdict = verdict_name(row->result.verdict);
    finding.sentence = row->result.finding ? row->result.finding : row->check->title;
    finding.made_at = 0;
    if (evidence) {
        source = evidence->source_id ? facts_source(app->facts, evidence->source_id) : NULL;
        finding.path = source ? source->path : NULL;
        finding.line = evidence->line;
        finding.step = evidence->step;
        finding.commit = evidence->commit;
    }
    if (worker_finding(app->worker, &app->verdicts.run, &finding, &err) != OK)
        app_complain(app, &err);
    else
        app_say(app, "finding saved: %s", row->check->id);
}

/* Not marked -> seen -> dismissed (asks why) -> not marked. */
static void mark_check(struct app *app)
{
    const struct verdict_row *row = opened(app);
    struct error err;
    int rc = OK;

    if (!row)
        return;
    if (row->dismissed) {
        rc = worker_tick(app->worker, &app->verdicts.run, row->check->id, NULL, NULL, &err);
        app_say(app, "%s: mark taken away", row->check->id);
    } else if (row->is_seen) {
        prompt_open(&app->prompt, PROMPT_DISMISS, "");
    } else {
        rc = worker_tick(app->worker, &app->verdicts.run, row->check->id, "seen", NULL, &err);
        app_say(app, "%s: seen; v again: not a problem here", row->check->id);
    }
    if (rc != OK)
        app_complain(app, &err);
}

static void save_remark(struct app *app, const char *text)
{
    const struct verdict_row *row = opened(app);
    struct arena *arena = app->desk_arena;
    const struct evidence *evidence = current_evidence(app);
    const char *place = evidence ? evidence_place(app->facts, evidence, arena) : NULL;
    struct error err;

    if (!app->desk.verdicts || !text[0])
        return;
    if (worker_remark(app->worker, &app->verdicts.run, row ? row->check->id : NULL,
                      place && place[0] ? place : NULL, text, &err) != OK)
        app_complain(app, &err);
    else
        app_say(app, "remark saved");
}

/* The user's editor by argv, not by shell text. */
static bool run_editor(const char *editor, const char *path)
{
    char command[1024], *words[32];
    struct str rest = str_of(editor), word;
    size_t n = 0, used = 0;
    int status = -1;
    pid_t child;

    while (n < 30 && str_split(&rest, ' ', &word)) {
        if (word.n == 0 || used + word.n + 1 > sizeof command)
            continue;
        memcpy(command + used, word.p, word.n);
        command[used + word.n] = '\0';
        words[n++] = command + used;
        used += word.n + 1;
    }
    if (n == 0)
        return false;
    words[n++] = (char *)(uintptr_t)path;
    words[n] = NULL;
    child = fork();
    if (child == 0) {
        execvp(words[0], words);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static void edit_remark(struct app *app)
{
    const char *editor = getenv("VISUAL"), *folder = getenv("TMPDIR");
    char path[1024], *text = NULL;
    size_t n;
    int fd;

    if (!editor || !editor[0])
        editor = getenv("EDITOR");
    if (!editor || !editor[0]) {
        prompt_open(&app->prompt, PROMPT_REMARK, "");
        return;
    }
    snprintf(path, sizeof path, "%s/flatline-remark.XXXXXX", folder && folder[0] ? folder : "/tmp");
    fd = mkstemp(path);
    if (fd < 0) {
        prompt_open(&app->prompt, PROMPT_REMARK, "");
        return;
    }
    close(fd);
    app->screen->suspend(app->screen);
    if (!run_editor(editor, path))
        app_say(app, "%s did not end well; nothing was saved", editor);
    else if (source_slurp(path, 1 << 16, &text, &n, NULL) == OK && n > 0) {
        while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
            text[--n] = '\0';
        save_remark(app, text);
    }
    app->screen->resume(app->screen);
    free(text);
    unlink(path);
}

static void copy_evidence(struct app *app)
{
    const struct verdict_row *row = opened(app);
    const struct evidence *evidence = current_evidence(app);
    const char *text;

    if (!row)
        return;
    text = evidence ? arena_printf(app->desk_arena, "%s  %s",
                                   evidence_place(app->facts, evidence, app->desk_arena),
                                   evidence->text ? evidence->text : "")
                    : row->result.finding;
    if (text && app->screen->copy) {
        app->screen->copy(app->screen, str_of(text));
        app_say(app, "copied");
    }
}

/* ---- Frame actions ---- */

static void move_focus(struct app *app, int by)
{
    size_t at = 0;

    if (app->n_panes == 0)
        return;
    if (app->canvas->columns < 72 || app->zoom) {       /* one pane at a time */
        static const enum slot order[] = {SLOT_TRIAGE, SLOT_EVIDENCE, SLOT_MAIN};
        int i = app->focus == SLOT_EVIDENCE ? 1 : app->focus == SLOT_TRIAGE ? 0 : 2;

        app->focus = order[(i + by + 3) % 3];
        app->needs_layout = true;
        return;
    }
    for (size_t i = 0; i < app->n_panes; i++)
        if (app->panes[i].slot == app->focus)
            at = i;
    at = (at + (size_t)(by > 0 ? 1 : app->n_panes - 1)) % app->n_panes;
    app->focus = app->panes[at].slot;
}

/* False when there is nothing to go back to. */
static bool go_back(struct app *app)
{
    if (app->search[0]) {
        app->search[0] = '\0';
        app->search_n = 0;
        app->needs_layout = true;
    } else if (app->zoom) {
        app->zoom = 0;
        app->needs_layout = true;
    } else if (app->n_history && app->focus == SLOT_MAIN) {
        app->main_view = app->history[--app->n_history];
        app->focus = app->n_history ? SLOT_MAIN : SLOT_TRIAGE;
        app->needs_layout = true;
    } else if (app->focus != SLOT_TRIAGE) {
        app->focus = SLOT_TRIAGE;
        app->needs_layout = app->canvas->columns < 72;
    } else {
        return false;
    }
    return true;
}

static void step_check(struct app *app, ptrdiff_t by)
{
    ptrdiff_t to = app->desk.check + by;

    if (app->desk.verdicts && to >= 0 && to < (ptrdiff_t)app->desk.verdicts->n_rows)
        desk_choose_check(&app->desk, to);
}

static void step_evidence(struct app *app, ptrdiff_t by)
{
    const struct verdict_row *row = opened(app);
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

void app_act_frame(struct app *app, int action)
{
    switch (action) {
    case FRAME_HELP:
        app_open_view(app, &view_help, true);
        break;
    case FRAME_QUIT:
        if (app->n_history || app->zoom)
            go_back(app);
        else
            app->wants_quit = true;
        break;
    case FRAME_BACK:
        go_back(app);
        break;
    case FRAME_NEXT_PANE:
        move_focus(app, 1);
        break;
    case FRAME_PREVIOUS_PANE:
        move_focus(app, -1);
        break;
    case FRAME_ZOOM:
        app->zoom = !app->zoom;
        app->needs_layout = true;
        break;
    case FRAME_PANES:
        list_panes(app);
        break;
    case FRAME_COMMAND:
        prompt_open(&app->prompt, PROMPT_COMMAND, "");
        break;
    case FRAME_SEARCH:
        prompt_open(&app->prompt, PROMPT_SEARCH, "");
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
        make_finding(app);
        break;
    case FRAME_REMARK:
        edit_remark(app);
        break;
    case FRAME_MARK:
        mark_check(app);
        break;
    case FRAME_EXPORT:
        app_command(app, "export");
        break;
    case FRAME_COPY:
        copy_evidence(app);
        break;
    case FRAME_RELOAD:
        app_import(app, NULL, true);
        break;
    case FRAME_FORGET_PLACE:
        forget_place(app);
        break;
    case FRAME_REDRAW:
        app->screen->redraw_all(app->screen);
        break;
    case FRAME_STOP:
        if (job_is_busy(worker_job(app->worker))) {
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
    }
    if (view && view_by_id(view))
        app_open_view(app, view_by_id(view), true);
    if (request)
        prompt_open(&app->prompt, PROMPT_COMMAND, request);
    if (!app->needs_reload && !app->needs_layout)
        app_load_views(app, changed, false);
}

static void accept_prompt(struct app *app)
{
    enum prompt_kind kind = app->prompt.kind;
    char text[4096];
    struct error err;
    const struct verdict_row *row = opened(app);

    snprintf(text, sizeof text, "%s", app->prompt.text.p);
    app->prompt.kind = PROMPT_NONE;
    switch (kind) {
    case PROMPT_COMMAND:
        prompt_remember(&app->prompt, text);
        app_command(app, text);
        break;
    case PROMPT_REMARK:
        save_remark(app, text);
        break;
    case PROMPT_DISMISS:
        if (!row || !text[0])
            app_say(app, "a dismissal needs a reason");
        else if (worker_tick(app->worker, &app->verdicts.run, row->check->id, "dismissed", text,
                             &err) != OK)
            app_complain(app, &err);
        else
            app_say(app, "%s: dismissed", row->check->id);
        break;
    case PROMPT_SEARCH:
    case PROMPT_NONE:
        break;
    }
}

static void prompt_has_key(struct app *app, int key)
{
    switch (prompt_key(&app->prompt, key, app->prompt.kind == PROMPT_COMMAND ? app_complete : NULL,
                       app)) {
    case PROMPT_ACCEPTED:
        accept_prompt(app);
        break;
    case PROMPT_CANCELLED:
        if (app->prompt.kind == PROMPT_SEARCH)
            app->search[0] = '\0';
        app->prompt.kind = PROMPT_NONE;
        break;
    case PROMPT_CHANGED:
        if (app->prompt.kind == PROMPT_SEARCH) {
            snprintf(app->search, sizeof app->search, "%s", app->prompt.text.p);
            app->search_at = 0;
            app_search(app, 0);
        }
        break;
    case PROMPT_GOES_ON:
        break;
    }
    app->desk.search = app->search;
}

void app_key(struct app *app, int key)
{
    struct view *view = app_focused(app);
    const struct action *action;

    app->message[0] = '\0';
    app->message_is_error = false;
    if (app->prompt.kind != PROMPT_NONE) {
        prompt_has_key(app, key);
    } else if (app->search[0] && (key == 'n' || key == 'N')) {
        app_search(app, key == 'n' ? 1 : -1);
    } else if (view && (action = keys_find(view->ops->actions, view->ops->id, key)) &&
               view->ops->act(view, action->id)) {
        /* done by the pane */
    } else if ((action = keys_find(FRAME_ACTIONS, "frame", key))) {
        app_act_frame(app, action->id);
    } else if (key != KEYCODE_ENTER && (action = keys_find(view_triage.actions, "triage", key)) &&
               key >= '0' && key <= 'P') {
        /* digits and P pick a stage from every pane that has no other use for them */
        struct view *triage = app_view(app, &view_triage);

        triage->ops->act(triage, action->id);
        app_open_view(app, &view_triage, true);
    }
    app_after_action(app);
}
