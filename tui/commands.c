/* The `:` commands: by name, with completion. Panes' and the frame's actions are commands too. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/number.h"
#include "core/exports/report.h"
#include "tui/cli.h"
#include "tui/frame.h"
#include "views/curves_text.h"

#define REPORT_BYTES ((size_t)64 << 20)

struct named {
    const char *name, *help;
    void (*run)(struct app *app, const char *rest);
    bool stands_alone;          /* needs nothing behind it */
};

static void run_goto(struct app *app, const char *rest)
{
    struct str text = str_of(rest), kind;
    int64_t number;

    if (!str_split(&text, ' ', &kind) || !text.p || !number_parse_int(str_trim(text), &number) ||
        !(str_is(kind, "step") || str_is(kind, "row"))) {
        app_say(app, ":goto %s: expected step N or row N", rest);
        return;
    }
    if (str_is(kind, "step")) {
        desk_choose_step(&app->desk, number);
        return;
    }
    app_open_view(app, &view_labels);
    app->desk.row = number;
    app->desk.changed |= DESK_EVIDENCE;         /* the pane looks at the desk again */
}

static void run_open(struct app *app, const char *rest)
{
    struct run run;
    struct error err;
    int rc = store_run_find(app->reader, rest, app->desk_arena, &run, &err);

    if (rc == OK)
        desk_choose_run(&app->desk, run.id);
    else
        app_import(app, rest, false);
}

static void run_import(struct app *app, const char *rest)
{
    app_import(app, rest, false);
}

void app_set_line(struct app *app, const char *style)
{
    enum line_style line;

    if (!config_parse_line_style(style, &line))
        app_say(app, ":set line=%s: expected braille, block or ascii", style);
    else if (app->desk.ascii && line != LINE_ASCII)
        app_say(app, "this screen is ASCII only");
    else
        app->desk.line = line;
    app->needs_layout = true;
}

static void run_set(struct app *app, const char *rest)
{
    const char *equals = strrchr(rest, '='), *value = equals ? equals + 1 : "";
    char name[256];
    struct error err;

    while (*value == ' ')
        value++;

    if (!equals || equals == rest) {
        app_say(app, ":set %s: expected NAME=VALUE", rest);
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)(equals - rest), rest);
    if (strcmp(name, "theme") == 0) {
        if (theme_load(&app->theme, value, &err) != OK)
            app_complain(app, &err);
        else if (app->screen->set_theme)
            app->screen->set_theme(app->screen, &app->theme);
        return;
    }
    if (strcmp(name, "line") == 0) {
        app_set_line(app, value);
        return;
    }
    if (!app->desk.verdicts)
        return;
    if (worker_answer(app->worker, &app->verdicts.run, name, value[0] ? value : NULL,
                      &err) != OK)
        app_complain(app, &err);
    else
        app_say(app, "you said %s", rest);
}

static void draw_chart(struct buf *out, const struct run_facts *facts, const char *metric,
                       bool unicode)
{
    curves_as_text(out, facts, metric, 18, 78, unicode);
}

static void default_report(const struct app *app, char *out, size_t n)
{
    char safe[200];
    size_t k = 0;

    for (const char *p = app->verdicts.run.name; *p && k + 1 < sizeof safe; p++)
        safe[k++] = *p == '/' || *p < ' ' ? '_' : *p;
    safe[k] = '\0';
    mkdir("flatline-out", 0777);
    snprintf(out, n, "flatline-out/%s", safe);
    mkdir(out, 0777);
    snprintf(out, n, "flatline-out/%s/findings.md", safe);
}

/* An export that is there already is most likely the user's own of before: Enter writes over it. */
static void cannot_write(struct app *app, const char *path)
{
    char command[4200];

    if (errno == EEXIST) {
        snprintf(command, sizeof command, "export! %s", path);
        prompt_open(&app->prompt, PROMPT_COMMAND, command);
        app_say(app, "it exists already: Enter overwrites, Esc leaves it");
        return;
    }
    app_say(app, "%s: %s", path, strerror(errno));
    app->message_is_error = true;
}

static void export_to(struct app *app, const char *path, bool force)
{
    struct report_options options = {.redact = {.secrets = true},
                                     .columns = 80,
                                     .version = FLATLINE_VERSION,
                                     .argument = app->n_paths ? app->paths[0] : NULL,
                                     .chart = draw_chart};
    char given[4096];
    struct buf text;
    struct error err;
    FILE *file;

    if (!app->desk.verdicts)
        return;
    if (path[0])
        snprintf(given, sizeof given, "%s", path);
    else
        default_report(app, given, sizeof given);
    buf_init(&text, REPORT_BYTES);
    if (report_markdown(&text, app->reader, &app->desk.run_id, 1, &options, &err) != OK) {
        app_complain(app, &err);
    } else if (text.failed) {
        app_say(app, "the report is larger than %zu MiB", REPORT_BYTES >> 20);
    } else if (!(file = fopen(given, force ? "w" : "wx"))) {
        cannot_write(app, given);
    } else {
        bool good = fwrite(text.p, 1, text.n, file) == text.n;

        if (fclose(file) != 0 || !good) {
            app_say(app, "%s: could not be written whole", given);
            app->message_is_error = true;
        } else {
            app_say(app, "written: %s", given);
            if (worker_exported(app->worker, &app->verdicts.run, &err) != OK)
                app_complain(app, &err);
        }
    }
    buf_free(&text);
}

static void run_export(struct app *app, const char *rest)
{
    export_to(app, rest, false);
}

static void run_export_over(struct app *app, const char *rest)
{
    export_to(app, rest, true);
}

static void run_remark(struct app *app, const char *rest)
{
    app_save_remark(app, rest);
}

static void run_dismiss(struct app *app, const char *rest)
{
    app_dismiss(app, rest);
}

static void run_make(struct app *app, const char *rest)
{
    app_say(app, "leave with q and run: flatline make %s %s", rest[0] ? rest : "longest-first",
            app->n_paths ? app->paths[0] : "PATH");
}

static void run_quit(struct app *app, const char *rest)
{
    (void)rest;
    app->wants_quit = true;
}

static void run_screenshot(struct app *app, const char *rest)
{
    app_screenshot(app, str_of(rest));
}

static void run_refresh(struct app *app, const char *rest)
{
    (void)rest;
    app_live_look(app, true);
}

static const struct named COMMANDS[] = {
    {"goto", "step N or row N", run_goto, false},
    {"open", "a run by name, key or path", run_open, false},
    {"import", "a file or folder into this run", run_import, false},
    {"set", "NAME=VALUE: theme, line, kind, goal, gpu, outcome, split:PATH, role:PATH", run_set, false},
    {"export", "the findings as Markdown", run_export, true},
    {"export!", "the same over an existing file", run_export_over, true},
    {"remark", "a remark about the opened check", run_remark, false},
    {"dismiss", "the opened check is no problem here, because …", run_dismiss, false},
    {"make", "files for the user", run_make, true},
    {"refresh", "look now whether files of this run changed", run_refresh, true},
    {"screenshot", "the screen as text into a file", run_screenshot, false},
    {"quit", "leave", run_quit, true},
    {NULL, NULL, NULL, false},
};

static bool run_action(struct app *app, const char *name)
{
    struct view *view = app_focused(app);

    for (const struct action *a = view ? view->ops->actions : NULL; a && a->name; a++)
        if (strcmp(a->name, name) == 0) {
            (void)view->ops->act(view, a->id);
            return true;
        }
    for (const struct action *a = FRAME_ACTIONS; a->name; a++)
        if (strcmp(a->name, name) == 0) {
            app_act_frame(app, a->id);
            return true;
        }
    return false;
}

/* `:cur` is `:curves` where no other pane begins so. */
static const struct view_ops *view_by_start(const char *start)
{
    const struct view_ops *found = NULL;

    for (size_t i = 0; i < view_count(); i++)
        if (strncmp(view_at(i)->id, start, strlen(start)) == 0) {
            if (found)
                return NULL;
            found = view_at(i);
        }
    return found;
}

/* Everything is saved at once, so that all of these only leave. */
static bool run_quit_as_in_vi(struct app *app, const char *name)
{
    static const char *const names[] = {"q", "q!", "qa", "wq", "x"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0) {
            app->wants_quit = true;
            return true;
        }
    return false;
}

static void say_unknown(struct app *app, const char *name)
{
    for (const struct named *c = COMMANDS; c->name; c++)
        if (strcmp(c->name, name) == 0) {
            app_say(app, ":%s: expected behind it: %s", name, c->help);
            return;
        }
    app_say(app, ":%s: no such command; Tab completes, ? lists them", name);
}

void app_command(struct app *app, const char *command)
{
    struct str text = str_trim(str_of(command)), word;
    char name[64], rest[4096];

    if (text.n == 0)
        return;
    (void)str_split(&text, ' ', &word);
    snprintf(name, sizeof name, "%.*s", (int)(word.n < 63 ? word.n : 63), word.p);
    text = text.p ? str_trim(text) : str_of("");
    snprintf(rest, sizeof rest, "%.*s", (int)(text.n < 4095 ? text.n : 4095), text.p);
    for (const struct named *c = COMMANDS; c->name; c++)
        if (strcmp(c->name, name) == 0 && (rest[0] || c->stands_alone)) {
            c->run(app, rest);
            app_after_action(app);
            return;
        }
    if (view_by_id(name) && view_by_id(name) != &view_help)
        app_open_view(app, view_by_id(name));
    else if (view_by_start(name))
        app_open_view(app, view_by_start(name));
    else if (!run_action(app, name) && !run_quit_as_in_vi(app, name))
        say_unknown(app, name);
    app_after_action(app);
}

void app_screenshot(struct app *app, struct str name)
{
    bool with_styles = str_ends(name, "+attrs");
    char path[1024];
    struct buf text;
    FILE *file;

    if (with_styles)
        name.n -= 6;
    snprintf(path, sizeof path, "%.*s", (int)(name.n < 1023 ? name.n : 1023), name.p);
    app_draw(app);
    buf_init(&text, (size_t)64 << 20);
    canvas_dump(app->canvas, with_styles, &text);
    file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (!file || fwrite(text.p, 1, text.n, file) != text.n)
        app_say(app, "%s: could not be written", path);
    if (file && file != stdout)
        fclose(file);
    buf_free(&text);
}

/* ---- Completion ---- */

static void offer(struct buf *out, const char *typed, const char *candidate)
{
    size_t n = strlen(candidate);

    if (strncmp(candidate, typed, strlen(typed)) != 0)
        return;
    for (size_t i = 0; i + n < out->n; i++)     /* a pane may be called as a command is */
        if ((i == 0 || out->p[i - 1] == '\n') && memcmp(out->p + i, candidate, n) == 0 &&
            out->p[i + n] == '\n')
            return;
    buf_printf(out, "%s\n", candidate);
}

static void complete_names(struct app *app, const char *typed, struct buf *out)
{
    const struct view *view = app_focused(app);

    for (const struct named *c = COMMANDS; c->name; c++)
        offer(out, typed, c->name);
    for (size_t i = 0; i < view_count(); i++)
        offer(out, typed, view_at(i)->id);
    for (const struct action *a = view ? view->ops->actions : NULL; a && a->name; a++)
        offer(out, typed, a->name);
    for (const struct action *a = FRAME_ACTIONS; a->name; a++)
        offer(out, typed, a->name);
}

static void complete_path(const char *command, const char *typed, struct buf *out)
{
    const char *slash = strrchr(typed, '/'), *prefix = slash ? slash + 1 : typed;
    char folder[4096], whole[4200];
    struct dirent *entry;
    struct stat st;
    DIR *dir;

    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - typed + 1) : 0, typed);
    dir = opendir(folder[0] ? folder : ".");
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.' && prefix[0] != '.')
            continue;
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(whole, sizeof whole, "%.3800s%.255s", folder, entry->d_name);
        buf_printf(out, "%s %s%s\n", command, whole,
                   stat(whole, &st) == 0 && S_ISDIR(st.st_mode) ? "/" : "");
    }
    if (dir)
        closedir(dir);
}

void app_complete(void *ctx, const char *text, struct buf *out)
{
    struct app *app = ctx;
    const char *blank = strchr(text, ' ');
    char command[64];

    if (!blank) {
        complete_names(app, text, out);
        return;
    }
    snprintf(command, sizeof command, "%.*s", (int)(blank - text < 63 ? blank - text : 63), text);
    if (strcmp(command, "import") == 0 || strcmp(command, "open") == 0 ||
        strcmp(command, "export") == 0 || strcmp(command, "export!") == 0)
        complete_path(command, blank + 1, out);
    else if (strcmp(command, "set") == 0) {
        for (const char *const *name = theme_names(); *name; name++) {
            char whole[80];

            snprintf(whole, sizeof whole, "set theme=%s", *name);
            offer(out, text, whole);
        }
        offer(out, text, "set line=braille");
        offer(out, text, "set line=block");
        offer(out, text, "set line=ascii");
        offer(out, text, "set kind=");
        offer(out, text, "set goal=");
        offer(out, text, "set gpu=");
        offer(out, text, "set outcome=");
    }
}
