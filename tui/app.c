/* The event loop: opens the stores, the worker and the screen, then waits for keys and messages.
 * Blocks when idle; one repaint a turn. See app.h and frame.h. */
#include "tui/app.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "tui/cli.h"
#include "tui/frame.h"
#include "tui/keys.h"

#define PROGRESS_NS 250000000

void app_say(struct app *app, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(app->message, sizeof app->message, fmt, args);
    va_end(args);
    app->message_is_error = false;
}

void app_complain(struct app *app, const struct error *err)
{
    char text[sizeof err->path + sizeof err->message + 64];

    error_format(err, text, sizeof text);
    app_say(app, "%s", text);
    app->message_is_error = true;
    log_line("complaint: %s", text);
}

void app_import(struct app *app, const char *path, bool reimport)
{
    struct error err;

    if (path) {
        char *copy = strdup(path);

        if (!copy || app->n_paths == MAX_PATHS) {
            free(copy);
            app_say(app, "too many paths: %d at most", MAX_PATHS);
            return;
        }
        app->paths[app->n_paths++] = copy;
    }
    if (worker_import(app->worker, app->paths, app->n_paths, app->options->answers,
                      app->options->n_answers, reimport, &err) != OK) {
        app_complain(app, &err);
        return;
    }
    app->n_imports++;
    app->live.next_at = 0;
    app->desk.is_importing = true;
    app->desk.import_done = app->desk.import_total = 0;
}

/* ---- Opening ---- */

static struct store_options store_choice(const struct app *app)
{
    return (struct store_options){.cache_path = app->options->db,
                                  .is_private = app->options->no_cache};
}

static void say_notices(struct app *app)
{
    for (const char *const *notice = store_notices(app->writer); *notice; notice++) {
        app_say(app, "%s", *notice);
        app->message_is_error = true;
    }
}

/* What works on the open store: the second connection and the worker. */
static int open_readers(struct app *app, struct error *err)
{
    const struct store_options how = {.cache_path = store_cache_path(app->writer),
                                      .kept_path = store_kept_path(app->writer),
                                      .read_only = true};
    int rc = store_open(&app->reader, &how, err);

    if (rc == OK)
        rc = worker_open(&app->worker, app->writer, err);
    app->desk.store = app->reader;
    return rc;
}

static int open_stores(struct app *app, struct error *err)
{
    struct store_options how = store_choice(app);
    int rc = store_open(&app->writer, &how, err);

    if (rc != OK)
        return rc;
    say_notices(app);
    return open_readers(app, err);
}

/* The cache was found damaged: everything is read again into a fresh one. Once: what is damaged
 * again at once is not mended by that. */
static int renew_cache(struct app *app, struct error *err)
{
    struct store_options how = store_choice(app);
    int rc;

    if (app->is_renewed) {
        rc = error_set(err, E_DB, "damaged again as soon as it was made");
        error_at(err, store_cache_path(app->writer), NONE, NONE);
        return rc;
    }
    app->is_renewed = true;
    app->cache_is_damaged = false;
    worker_close(app->worker);
    app->worker = NULL;
    run_facts_close(app->facts);
    app->facts = NULL;
    app->desk.verdicts = NULL;
    app->desk.facts = NULL;
    store_close(app->reader);
    app->reader = NULL;
    rc = store_renew(&app->writer, &how, err);
    if (rc == OK)
        rc = open_readers(app, err);
    if (rc != OK)
        return rc;
    app->desk.run_id = 0;
    app->checks_asked_for = 0;
    app->n_imports = 0;
    app->needs_reload = true;
    app_import(app, NULL, false);
    say_notices(app);
    return OK;
}

static int open_screen(struct app *app, struct error *err)
{
    const struct options *options = app->options;
    const struct config *config = &app->config;
    bool ascii = options->ascii || config->ascii;
    int rc = theme_load(&app->theme,
                        options->theme     ? options->theme
                        : config->theme[0] ? config->theme
                                           : "default",
                        err);

    if (rc != OK)
        return rc;
    if (app->screen)
        rc = OK;
    else if (options->script)
        rc = screen_script_open(&app->screen, options->script, ascii, err);
    else
        rc = screen_curses_open(&app->screen, &app->theme, ascii, options->color, err);
    if (rc != OK)
        return rc;
    if (options->script && options->size &&
        sscanf(options->size, "%dx%d", &app->screen->columns, &app->screen->rows) != 2)
        return error_set(err, E_PARSE, "--size %s: expected COLUMNSxROWS", options->size);
    app->desk.ascii = app->screen->ascii;
    app->desk.line = app->screen->ascii ? LINE_ASCII
                     : config->has_line ? config->line
                                        : LINE_BRAILLE;
    return canvas_open(&app->canvas, app->screen->rows, app->screen->columns, app->screen->ascii,
                       err);
}

static int open_views(struct app *app, struct error *err)
{
    for (size_t i = 0; i < view_count(); i++) {
        struct view *view = &app->views[i];

        view->ops = view_at(i);
        view->desk = &app->desk;
        view->arena = arena_open(ARENA_VIEW_BYTES);
        view->state = calloc(1, view->ops->state_size ? view->ops->state_size : 1);
        if (!view->arena || !view->state)
            return error_set(err, E_NOMEM, "pane %s", view->ops->id);
    }
    app->main_view = &view_curves;
    app->second_view = &view_log;
    view_help_set_frame_actions(FRAME_ACTIONS, keys_of);
    return OK;
}

static int open_app(struct app *app, struct error *err)
{
    const struct options *options = app->options;
    int rc;

    app->desk.check = -1;
    app->desk.step = NONE;
    app->desk.row = NONE;
    prompt_init(&app->prompt);
    app->desk.search = app->search;
    app->desk_arena = arena_open(ARENA_CHECK_BYTES);
    app->search_arena = arena_open(ARENA_FRAME_BYTES);
    if (!app->desk_arena || !app->search_arena)
        return error_set(err, E_NOMEM, "desk");
    config_load(&app->config, FRAME_ACTIONS);
    if (options->log && (rc = log_open(options->log, err)) != OK)
        return rc;
    if (options->record && !(app->record = fopen(options->record, "w"))) {
        rc = error_set(err, E_IO, "record: %s", strerror(errno));
        error_at(err, options->record, NONE, NONE);
        return rc;
    }
    rc = open_stores(app, err);
    if (rc == OK)
        rc = open_views(app, err);
    return rc == OK ? open_screen(app, err) : rc;
}

static void close_app(struct app *app)
{
    if (app->worker)
        app_save_place(app);
    worker_close(app->worker);
    if (app->screen)
        app->screen->close(app->screen);
    for (size_t i = 0; i < view_count(); i++) {
        if (app->views[i].state && app->views[i].ops->close)
            app->views[i].ops->close(&app->views[i]);
        arena_close(app->views[i].arena);
        free(app->views[i].state);
    }
    run_facts_close(app->facts);
    arena_close(app->desk_arena);
    arena_close(app->search_arena);
    canvas_close(app->canvas);
    store_close(app->reader);
    store_close(app->writer);
    for (size_t i = 0; i < app->n_paths; i++)
        free((char *)(uintptr_t)app->paths[i]);
    prompt_close(&app->prompt);
    if (app->record)
        fclose(app->record);
    log_close();
}

/* ---- The loop ---- */

/* Often enough to see that it goes on, seldom enough to cost nothing on a slow line. */
static void take_progress(struct app *app, const struct job_message *message)
{
    int64_t now = clock_ticks_ns();

    bool is_auditing = strcmp(message->text, WORKER_AUDITS) == 0;

    if (app->desk.import_total && message->b && is_auditing == app->desk.is_auditing &&
        now - app->progress_at < PROGRESS_NS)
        return;
    app->desk.is_auditing = is_auditing;
    app->progress_at = now;
    app->desk.import_done = message->a;
    app->desk.import_total = message->b;
}

static void end_import(struct app *app)
{
    if (app->n_imports > 0)
        app->n_imports--;
    app->desk.is_importing = app->n_imports > 0;
    app->desk.import_total = 0;
    app->may_be_outdated = true;
    app->facts_are_stale = true;
    app->wants_runs = true;
}

static void take_messages(struct app *app)
{
    struct job_message message;

    while (job_next_message(worker_job(app->worker), &message)) {
        switch (message.kind) {
        case JOB_PROGRESS:
            take_progress(app, &message);
            break;
        case JOB_BATCH:
            if (message.tag == WORKER_LOOK) {
                app_live_take(app, &message);
                break;
            }
            if (message.tag == WORKER_IMPORT) {
                app->desk.import_done = 1;      /* what is left of it is checking */
                app->desk.import_total = 0;
            }
            app->facts_are_stale |= message.tag == WORKER_IMPORT || message.b;
            app->may_be_outdated = true;
            break;
        case JOB_DONE:
            app->desk.is_auditing = false;
            if (message.tag == WORKER_IMPORT)
                end_import(app);
            if (message.tag == WORKER_LOOK)
                app_live_take(app, &message);
            break;
        case JOB_FAILED:
            app->desk.is_auditing = false;
            if (message.tag == WORKER_IMPORT)
                end_import(app);
            if (message.tag == WORKER_LOOK)
                app_live_take(app, &message);
            app->cache_is_damaged |= store_is_damaged(app->writer);
            app_say(app, "%s", message.text);
            app->message_is_error = true;
            app->needs_reload = true;
            break;
        case JOB_NOTICE:
            app_say(app, "%s", message.text);
            break;
        }
    }
}

static void refresh(struct app *app)
{
    struct error err;

    /* in the middle of a look some files are new and others are not yet */
    if (app->may_be_outdated && !app->live.is_looking) {
        app->may_be_outdated = false;
        app->needs_reload |= app_is_outdated(app);
    }
    if (app->needs_reload) {
        app->needs_reload = false;
        if (app_load_desk(app, &err) != OK)
            app_complain(app, &err);
        app->needs_layout = true;
    }
    if (app->wants_runs) {              /* nothing here: the runs that were read before */
        app->wants_runs = false;
        if (app->desk.run_id == 0 && app->desk.n_runs && !app->has_acted)
            app_open_view(app, &view_runs);
    }
    if (app->needs_layout)
        app_layout(app);
}

static void resize(struct app *app, int rows, int columns)
{
    struct canvas *fresh;
    struct error err;

    if (canvas_open(&fresh, rows > 0 ? rows : 1, columns > 0 ? columns : 1, app->desk.ascii, &err) !=
        OK) {
        app_complain(app, &err);
        return;
    }
    canvas_close(app->canvas);
    app->canvas = fresh;
    app->needs_layout = true;
}

static void record(struct app *app, const struct screen_event *event)
{
    char name[16];

    if (!app->record)
        return;
    if (event->kind == EVENT_KEY) {
        key_to_name(event->key, name);
        fprintf(app->record, "%s\n", name);
    } else if (event->kind == EVENT_RESIZE) {
        fprintf(app->record, "size %dx%d\n", event->columns, event->rows);
    } else if (event->kind == EVENT_PASTE) {
        fprintf(app->record, "text %.*s\n", (int)event->text.n, event->text.p);
    }
    fflush(app->record);
}

static void handle(struct app *app, const struct screen_event *event)
{
    char command[4096];

    record(app, event);
    app->live.holds_paint &= event->kind == EVENT_NONE || event->kind == EVENT_JOB;
    switch (event->kind) {
    case EVENT_KEY:
        app_key(app, event->key);
        break;
    case EVENT_PASTE:
        if (app->prompt.kind != PROMPT_NONE)
            prompt_paste(&app->prompt, event->text);
        break;
    case EVENT_RESIZE:
        resize(app, event->rows, event->columns);
        break;
    case EVENT_COMMAND:
        snprintf(command, sizeof command, "%.*s",
                 (int)(event->text.n < sizeof command ? event->text.n : sizeof command - 1),
                 event->text.p);
        app->message[0] = '\0';
        app_command(app, command);
        break;
    case EVENT_WAIT:
        app_live_pass(app, event->seconds);
        break;
    case EVENT_SCREENSHOT:
        app_screenshot(app, event->text);
        break;
    case EVENT_SIGNAL:
        app->stop_signal = event->signal;
        app->wants_quit = true;
        break;
    case EVENT_END:
        app->wants_quit = true;
        break;
    case EVENT_NONE:
    case EVENT_TIME:
    case EVENT_JOB:
        break;
    }
}

/* A pane has more to read: a step at a time, between two looks at the keyboard. */
static bool has_waiting_pane(const struct app *app)
{
    for (size_t i = 0; i < app->n_panes; i++)
        if (app->panes[i].view->wants_load)
            return true;
    return false;
}

static void load_on(struct app *app, const struct screen_event *event)
{
    if (event->kind == EVENT_NONE)
        app_load_views(app, 0, false);
    while (app->screen->is_scripted && has_waiting_pane(app))
        app_load_views(app, 0, false);
    app->screen->is_busy = has_waiting_pane(app);
}

static int loop(struct app *app, struct error *err)
{
    struct screen_event event = {.kind = EVENT_JOB};

    app->holds_back = true;
    refresh(app);
    app_draw(app);
    app->holds_back = false;
    while (!app->wants_quit) {
        int rc;

        if (app->screen->is_scripted)   /* each line of a script runs when all is quiet */
            job_wait_idle(worker_job(app->worker));
        take_messages(app);
        refresh(app);
        if (app->cache_is_damaged || store_is_damaged(app->reader)) {
            rc = renew_cache(app, err);
            if (rc != OK)
                return rc;
            continue;
        }
        load_on(app, &event);
        app->live.holds_paint = app->live.holds_paint && has_waiting_pane(app);
        if (!app->screen->is_scripted && !app->live.holds_paint)
            app_draw(app);
        app_live_wait(app);
        rc = app->screen->next_event(app->screen, job_fd(worker_job(app->worker)), &event, err);
        if (rc != OK)
            return rc;
        handle(app, &event);
        app_live_time(app);
        take_messages(app);
        refresh(app);
    }
    return OK;
}

static void choose_paths(struct app *app)
{
    static const char *const here = ".";
    const char *const *paths = app->options->n_paths ? app->options->paths : &here;
    size_t n = app->options->n_paths ? app->options->n_paths : 1;
    char real[PATH_MAX];

    for (size_t i = 0; i < n && i < MAX_PATHS; i++) {
        char *copy = strdup(paths[i]);

        if (copy)
            app->paths[app->n_paths++] = copy;
    }
    if (n > MAX_PATHS) {
        app_say(app, "%zu paths: only the first %d are opened", n, MAX_PATHS);
        app->message_is_error = true;
    }
    if (app->n_paths && realpath(app->paths[0], real))
        snprintf(app->folder_key, sizeof app->folder_key, "%s", real);
}

/* Without a terminal `flatline PATH` prints what `flatline check PATH` does. */
static bool has_terminal(const struct options *options)
{
    const char *term = getenv("TERM");

    return options->script || (isatty(STDOUT_FILENO) && term && term[0] && strcmp(term, "dumb") != 0);
}

static int print_instead(const struct options *options)
{
    struct options as_check = *options;
    static const char *const here = ".";

    if (as_check.n_paths == 0) {
        as_check.paths = &here;
        as_check.n_paths = 1;
    }
    if (isatty(STDOUT_FILENO))
        printf("(no usable terminal: printing the checklist)\n");
    fflush(stdout);
    if (as_check.color == 0)            /* the terminal is not known to understand it */
        as_check.color = -1;
    return cli_check(&as_check);
}

int app_run(const struct options *options)
{
    return has_terminal(options) ? app_run_on(options, NULL) : print_instead(options);
}

int app_run_on(const struct options *options, struct screen *screen)
{
    struct app *app;
    struct error err;
    int rc, status, stop_signal;

    app = calloc(1, sizeof *app);
    if (!app) {
        fprintf(stderr, "flatline: out of memory\n");
        return 2;
    }
    app->options = options;
    app->screen = screen;
    app->live.choice = options->no_follow ? LIVE_OFF : LIVE_AUTO;
    choose_paths(app);
    app->needs_reload = true;
    rc = open_app(app, &err);
    if (rc == OK) {
        app_import(app, NULL, false);
        if (app->config.n_problems) {
            app_say(app, "%s", app->config.problem);
            app->message_is_error = true;
        }
        rc = loop(app, &err);
    }
    stop_signal = app->stop_signal;
    close_app(app);
    free(app);
    if (rc != OK)
        cli_complain(&err);
    status = rc == OK ? 0 : 2;
    if (stop_signal) {                  /* so that the shell sees what ended us */
        signal(stop_signal, SIG_DFL);
        raise(stop_signal);
    }
    return status;
}
