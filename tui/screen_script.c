/* A screen without a terminal: keys from a script file, screenshots as text.
 *
 * One thing a line, each run when the program is idle: a key name (`j`, `Tab`, `C-d`, `Esc`),
 * `text …` typed as it is, `:command`, `size 160x50`, `screenshot NAME` (`NAME+attrs`: with style
 * roles), `wait 600` (the seconds pass at once, on the script's own clock), `#` a comment. The app
 * waits for its worker before it asks for the next event. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/base/unicode.h"
#include "core/read/source.h"
#include "tui/keys.h"
#include "tui/screen.h"

#define SCRIPT_BYTES ((size_t)1 << 20)
#define MAX_WAIT     ((int64_t)366 * 86400)

struct script {
    struct screen screen;
    char *text;
    struct str rest;            /* of the script */
    struct str typing;          /* of a `text` line */
    const char *path;
    int64_t line;
};

static int wrong(struct script *script, struct str line, struct error *err)
{
    error_set(err, E_PARSE,
              "%.*s: expected a key name, text, :command, size CxR, wait SECONDS or screenshot NAME",
              (int)(line.n < 60 ? line.n : 60), line.p);
    error_at(err, script->path, script->line, NONE);
    return E_PARSE;
}

static bool parse_size(struct str text, int *columns, int *rows)
{
    struct str part;
    int64_t c, r;

    if (!str_split(&text, 'x', &part) || !text.p || !number_parse_int(part, &c) ||
        !number_parse_int(text, &r) || c < 1 || r < 1 || c > 1000 || r > 1000)
        return false;
    *columns = (int)c;
    *rows = (int)r;
    return true;
}

static int read_line(struct script *script, struct str line, struct screen_event *event,
                     struct error *err)
{
    char name[32];
    int key;

    if (line.p[0] == ':' && line.n > 1) {
        *event = (struct screen_event){.kind = EVENT_COMMAND, .text = str_skip(line, 1)};
        return OK;
    }
    if (str_starts(line, "screenshot ")) {
        *event = (struct screen_event){.kind = EVENT_SCREENSHOT,
                                       .text = str_trim(str_skip(line, 11))};
        return OK;
    }
    if (str_starts(line, "size ")) {
        struct screen *screen = &script->screen;

        if (!parse_size(str_trim(str_skip(line, 5)), &screen->columns, &screen->rows))
            return wrong(script, line, err);
        *event = (struct screen_event){
            .kind = EVENT_RESIZE, .rows = screen->rows, .columns = screen->columns};
        return OK;
    }
    if (str_starts(line, "wait ")) {
        *event = (struct screen_event){.kind = EVENT_WAIT};
        return number_parse_int(str_trim(str_skip(line, 5)), &event->seconds) &&
                       event->seconds >= 0 && event->seconds <= MAX_WAIT
                   ? OK
                   : wrong(script, line, err);
    }
    snprintf(name, sizeof name, "%.*s", (int)(line.n < 31 ? line.n : 31), line.p);
    key = key_parse(name);
    if (key < 0)
        return wrong(script, line, err);
    *event = (struct screen_event){.kind = EVENT_KEY, .key = key};
    return OK;
}

static int next_event(struct screen *screen, int job_fd, struct screen_event *event,
                      struct error *err)
{
    struct script *script = screen->state;
    struct str line;
    int32_t codepoint;

    (void)job_fd;
    if (script->typing.n) {
        script->typing = str_skip(script->typing, unicode_next(script->typing, &codepoint));
        *event = (struct screen_event){.kind = EVENT_KEY, .key = codepoint};
        return OK;
    }
    while (str_split(&script->rest, '\n', &line)) {
        script->line++;
        if (line.n && line.p[line.n - 1] == '\r')
            line.n--;
        if (line.n == 0 || line.p[0] == '#')
            continue;
        if (str_starts(line, "text ")) {
            script->typing = str_skip(line, 5);
            return next_event(screen, job_fd, event, err);
        }
        return read_line(script, line, event, err);
    }
    *event = (struct screen_event){.kind = EVENT_END};
    return OK;
}

static void do_nothing(struct screen *screen)
{
    (void)screen;
}

static void present_nothing(struct screen *screen, const struct canvas *canvas)
{
    (void)screen;
    (void)canvas;
}

static void close_script(struct screen *screen)
{
    struct script *script = screen->state;

    free(script->text);
    free(script);
}

static int read_stdin(char **out, size_t *n, struct error *err)
{
    struct buf text;
    char piece[4096];
    size_t got;

    buf_init(&text, SCRIPT_BYTES);
    while ((got = fread(piece, 1, sizeof piece, stdin)) > 0)
        buf_add(&text, piece, got);
    if (ferror(stdin) || text.failed) {
        buf_free(&text);
        return error_set(err, E_IO, "standard input: not readable as a script of at most %zu bytes",
                         SCRIPT_BYTES);
    }
    *n = text.n;
    *out = buf_steal(&text);
    return *out ? OK : error_set(err, E_NOMEM, "script");
}

int screen_script_open(struct screen **out, const char *path, bool ascii, struct error *err)
{
    struct script *script = calloc(1, sizeof *script);
    size_t n = 0;
    int rc;

    if (!script)
        return error_set(err, E_NOMEM, "script");
    rc = strcmp(path, "-") == 0 ? read_stdin(&script->text, &n, err)
                                : source_slurp(path, SCRIPT_BYTES, &script->text, &n, err);
    if (rc != OK) {
        free(script);
        return rc;
    }
    script->rest = str_from(script->text, n);
    script->path = path;
    script->screen = (struct screen){
        .rows = 24,
        .columns = 80,
        .ascii = ascii,
        .is_scripted = true,
        .wait_ms = -1,
        .next_event = next_event,
        .present = present_nothing,
        .redraw_all = do_nothing,
        .suspend = do_nothing,
        .resume = do_nothing,
        .close = close_script,
        .state = script,
    };
    *out = &script->screen;
    return OK;
}
