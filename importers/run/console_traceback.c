/* Follows tracebacks line by line, each by the prefix that its rank puts before its lines. An
 * exception is said when it is known not to be handled by a chained one; its place in the order
 * of events is kept until then. */
#include "importers/run/console_traceback.h"

#include <stdlib.h>
#include <string.h>

#include "importers/run/console_exception.h"

#define MAX_PREFIX     96
#define FRAMES_BYTES   1900
#define MESSAGE_BYTES  2000
#define MAX_AGE_FRAMES 400 /* lines of others inside a traceback */
#define MAX_AGE_SAID   60  /* lines of a message before a chained traceback */

static const char header[] = "Traceback (most recent call last)";

int console_tracebacks_open(struct console_tracebacks *tracebacks, struct console_events *events,
                            struct error *err)
{
    *tracebacks = (struct console_tracebacks){.events = events};
    tracebacks->all = calloc(CONSOLE_MAX_TRACEBACKS, sizeof tracebacks->all[0]);
    if (tracebacks->all == NULL) {
        return error_set(err, E_NOMEM, "no memory for tracebacks");
    }
    for (size_t i = 0; i < CONSOLE_MAX_TRACEBACKS; i++) {
        struct console_traceback *tb = &tracebacks->all[i];
        buf_init(&tb->prefix, MAX_PREFIX);
        buf_init(&tb->frames, FRAMES_BYTES);
        buf_init(&tb->type, 200);
        buf_init(&tb->message, MESSAGE_BYTES);
        buf_init(&tb->cause, MESSAGE_BYTES);
        buf_init(&tb->text, MESSAGE_BYTES);
    }
    console_report_init(&tracebacks->report);
    return OK;
}

void console_tracebacks_close(struct console_tracebacks *tracebacks)
{
    for (size_t i = 0; tracebacks->all != NULL && i < CONSOLE_MAX_TRACEBACKS; i++) {
        struct console_traceback *tb = &tracebacks->all[i];
        buf_free(&tb->prefix);
        buf_free(&tb->frames);
        buf_free(&tb->type);
        buf_free(&tb->message);
        buf_free(&tb->cause);
        buf_free(&tb->text);
    }
    free(tracebacks->all);
    tracebacks->all = NULL;
    console_report_free(&tracebacks->report);
}

static void keep(struct buf *buf, struct str text)
{
    buf_clear(buf);
    buf_str(buf, str_first(text, buf->limit - 1));
}

static void release(struct console_tracebacks *tracebacks, struct console_traceback *tb)
{
    tb->state = TRACEBACK_FREE;
    buf_clear(&tb->cause);
    tracebacks->n_busy--;
}

/* Says the exception of a traceback and frees it. */
static int say(struct console_tracebacks *tracebacks, struct console_traceback *tb,
               struct error *err)
{
    struct str rank = {0};
    console_rank(buf_view(&tb->prefix), &rank);
    char first_line[32];
    struct console_said said = {.kind = "exception",
                                .step = tb->step,
                                .line = tb->line,
                                .byte = tb->byte,
                                .text = buf_view(&tb->text),
                                .n_captures = 6};
    said.captures[0] = buf_view(&tb->type);
    said.captures[1] = buf_view(&tb->message);
    said.captures[2] = rank.n > 0 ? rank : str_trim(buf_view(&tb->prefix));
    said.captures[3] = buf_view(&tb->frames);
    said.captures[4] = console_line_text(first_line, tb->header_line);
    said.captures[5] = buf_view(&tb->cause);
    int rc = console_events_fill(tracebacks->events, tb->place, &said, err);
    release(tracebacks, tb);
    return rc;
}

/* A traceback that breaks off: there is no exception line to quote. */
static int say_unfinished(struct console_tracebacks *tracebacks, struct console_traceback *tb,
                          struct error *err)
{
    if (tb->state == TRACEBACK_FRAMES) {
        tb->place = console_events_reserve(tracebacks->events);
        keep(&tb->type, str_of(""));
        keep(&tb->message, str_of(""));
        keep(&tb->text, str_of("Traceback (most recent call last):"));
        tb->line = tb->header_line;
        tb->byte = tb->header_byte;
        tb->step = tb->header_step;
    }
    return say(tracebacks, tb, err);
}

int console_tracebacks_settle(struct console_tracebacks *tracebacks, struct error *err)
{
    int rc = OK;
    for (size_t i = 0; tracebacks->n_busy > 0 && i < CONSOLE_MAX_TRACEBACKS && rc == OK; i++) {
        if (tracebacks->all[i].state == TRACEBACK_SAID) {
            rc = say(tracebacks, &tracebacks->all[i], err);
        }
    }
    return rc;
}

int console_tracebacks_finish(struct console_tracebacks *tracebacks, struct error *err)
{
    int rc = console_report_finish(tracebacks, err);
    for (size_t i = 0; i < CONSOLE_MAX_TRACEBACKS && rc == OK; i++) {
        if (tracebacks->all[i].state != TRACEBACK_FREE) {
            rc = say_unfinished(tracebacks, &tracebacks->all[i], err);
        }
    }
    return rc;
}

/* The traceback that a header with this prefix continues, or a free place; NULL: all are busy. */
static struct console_traceback *place_for(struct console_tracebacks *tracebacks, struct str prefix)
{
    struct console_traceback *unused = NULL;
    for (size_t i = 0; i < CONSOLE_MAX_TRACEBACKS; i++) {
        struct console_traceback *tb = &tracebacks->all[i];
        if (tb->state == TRACEBACK_FREE) {
            unused = unused != NULL ? unused : tb;
        } else if (str_eq(buf_view(&tb->prefix), prefix)) {
            return tb;
        }
    }
    return unused;
}

static struct str prefix_of(const struct console_line *line, ptrdiff_t at)
{
    struct str before = str_first(line->body, (size_t)at);
    return before.n > MAX_PREFIX - 1 ? str_first(before, 0) : before;
}

/* IPython puts the type and a wide gap before the header. */
static bool is_notebook_header(struct str prefix, struct str *type)
{
    *type = str_trim(prefix);
    return prefix.n > type->n + 2 && type->n > 0 && console_is_exception_name(*type) &&
           prefix.p[prefix.n - 1] == ' ' && prefix.p[prefix.n - 2] == ' ';
}

static void start(struct console_traceback *tb, struct str prefix, const struct console_line *line)
{
    struct str type;
    bool is_notebook = is_notebook_header(prefix, &type);
    tb->state = TRACEBACK_FRAMES;
    tb->is_notebook = is_notebook;
    keep(&tb->type, is_notebook ? type : str_of(""));
    keep(&tb->prefix, is_notebook ? str_of("") : prefix);
    tb->prefix_is_sure = is_notebook || prefix.n == 0;
    tb->was_frame = false;
    tb->n_headers = 1;
    tb->age = 0;
    tb->header_line = line->line;
    tb->header_byte = line->byte;
    tb->header_step = line->step;
    buf_clear(&tb->frames);
}

int console_tracebacks_begin(struct console_tracebacks *tracebacks, const struct console_line *line,
                             struct error *err)
{
    ptrdiff_t at = str_find(line->body, header);
    if (at < 0) {
        return OK;
    }
    struct str prefix = prefix_of(line, at);
    struct console_traceback *tb = place_for(tracebacks, prefix);
    if (tb == NULL) {
        return OK;
    }
    if (tb->state == TRACEBACK_FRAMES) {
        tb->n_headers++;
        return OK;
    }
    if (tb->state == TRACEBACK_SAID) {
        int rc = say(tracebacks, tb, err);
        if (rc != OK) {
            return rc;
        }
    }
    if (tb->state == TRACEBACK_FREE) {
        tracebacks->n_busy++;
    }
    start(tb, prefix, line);
    return OK;
}

/* The line without the traceback's prefix; false: it is of somebody else. */
static bool take_prefix(struct console_traceback *tb, struct str text, struct str *rest)
{
    struct str prefix = buf_view(&tb->prefix);
    *rest = text;
    if (prefix.n == 0) {
        return true;
    }
    if (text.n >= prefix.n && memcmp(text.p, prefix.p, prefix.n) == 0) {
        *rest = str_skip(text, prefix.n);
        tb->prefix_is_sure = true;
        return true;
    }
    struct str bare = str_trim(prefix);
    if (str_eq(str_trim(text), bare)) {
        *rest = str_from(text.p, 0);
        return true;
    }
    if (!tb->prefix_is_sure && str_starts(text, "  File ")) {
        buf_clear(&tb->prefix); /* a logger's prefix, only before the first line */
        return true;
    }
    return false;
}

static void add_frame(struct console_tracebacks *tracebacks, struct console_traceback *tb,
                      struct str rest)
{
    struct str name;
    if (!console_frame_name(rest, tb->is_notebook, &name)) {
        return;
    }
    tracebacks->saw_training |= str_is(name, "_inner_training_loop") ||
                                str_is(name, "inner_training_loop") ||
                                str_is(name, "training_step") || str_is(name, "train_step");
    if (tb->frames.n + name.n + 2 > FRAMES_BYTES) {
        return;
    }
    buf_puts(&tb->frames, tb->frames.n > 0 ? " " : "");
    buf_str(&tb->frames, name);
}

static void say_later(struct console_tracebacks *tracebacks, struct console_traceback *tb,
                      const struct console_line *line, struct str type, struct str message)
{
    tb->state = TRACEBACK_SAID;
    tb->age = 0;
    tb->place = console_events_reserve(tracebacks->events);
    keep(&tb->type, type);
    keep(&tb->message, message);
    keep(&tb->text, line->text);
    tb->line = line->line;
    tb->byte = line->byte;
    tb->step = line->step;
}

static int in_frames(struct console_tracebacks *tracebacks, struct console_traceback *tb,
                     struct str rest, const struct console_line *line, struct error *err)
{
    struct str type, message;
    if (str_trim(rest).n == 0) {
        return OK;
    }
    bool is_indented = rest.n > 1 && (rest.p[0] == '\t' || (rest.p[0] == ' ' && rest.p[1] == ' '));
    if (is_indented || console_frame_name(rest, tb->is_notebook, &type)) {
        add_frame(tracebacks, tb, rest);
        tb->was_frame = true;
        tb->age = 0;
        return OK;
    }
    bool is_exception = console_exception(rest, tb->was_frame, &type, &message);
    if (tb->is_notebook) {
        is_exception = is_exception && str_ends(type, tb->type.p);
    }
    if (!is_exception) {
        tb->was_frame = false;
        if (++tb->age > MAX_AGE_FRAMES) {
            release(tracebacks, tb);
        }
        return OK;
    }
    bool is_mixed = tb->n_headers > 1;
    int n_headers = tb->n_headers;
    say_later(tracebacks, tb, line, type, message);
    if (!is_mixed) {
        return OK;
    }
    /* Several unmarked tracebacks run through each other: their exceptions come one by one. */
    int rc = say(tracebacks, tb, err);
    tb->state = TRACEBACK_FRAMES;
    tb->n_headers = n_headers - 1;
    tb->age = 0;
    tracebacks->n_busy++;
    return rc;
}

static bool is_chain(struct str text)
{
    return str_starts(text, "During handling of the above exception") ||
           str_starts(text, "The above exception was the direct cause");
}

static int after_exception(struct console_tracebacks *tracebacks, struct console_traceback *tb,
                           struct str rest, struct error *err)
{
    if (is_chain(rest)) {
        int rc = console_events_fill(tracebacks->events, tb->place, NULL, err);
        tb->state = TRACEBACK_CHAINED;
        tb->age = 0;
        if (tb->cause.n == 0) {
            buf_str(&tb->cause, buf_view(&tb->type));
            buf_puts(&tb->cause, tb->message.n > 0 ? ": " : "");
            buf_str(&tb->cause, str_first(buf_view(&tb->message), MESSAGE_BYTES - tb->cause.n - 1));
        }
        return rc;
    }
    return ++tb->age > MAX_AGE_SAID ? say(tracebacks, tb, err) : OK;
}

static int see(struct console_tracebacks *tracebacks, struct console_traceback *tb,
               const struct console_line *line, bool *is_part, struct error *err)
{
    struct str rest;
    if (!take_prefix(tb, line->body, &rest)) {
        if (tb->state == TRACEBACK_SAID && ++tb->age > 4 * MAX_AGE_SAID) {
            return say(tracebacks, tb, err);
        }
        return OK;
    }
    switch (tb->state) {
    case TRACEBACK_FRAMES:
        *is_part = true;
        return in_frames(tracebacks, tb, rest, line, err);
    case TRACEBACK_SAID:
        return after_exception(tracebacks, tb, rest, err);
    case TRACEBACK_CHAINED:
        if (++tb->age > MAX_AGE_SAID) {
            release(tracebacks, tb);
        }
        return OK;
    case TRACEBACK_FREE:
        break;
    }
    return OK;
}

/* "ValueError: …" alone: logs are often cut to their last line. */
static int without_traceback(struct console_tracebacks *tracebacks, const struct console_line *line,
                             struct error *err)
{
    struct str rank = {0}, type, message;
    console_rank(line->body, &rank);
    if (!console_exception(line->inner, false, &type, &message)) {
        return OK;
    }
    struct console_said said = {.kind = "exception",
                                .step = line->step,
                                .line = line->line,
                                .byte = line->byte,
                                .text = line->text,
                                .n_captures = 6,
                                .captures = {type, message, rank}};
    for (int i = 3; i < 6; i++) {
        said.captures[i] = str_of("");
    }
    return console_events_add(tracebacks->events, &said, err);
}

int console_tracebacks_line(struct console_tracebacks *tracebacks, const struct console_line *line,
                            struct error *err)
{
    bool is_part = false;
    size_t n_busy = tracebacks->n_busy;
    if (tracebacks->report.n_left > 0) {
        int rc = console_report_line(tracebacks, line, err);
        if (rc != OK) {
            return rc;
        }
    }
    for (size_t i = 0; n_busy > 0 && i < CONSOLE_MAX_TRACEBACKS; i++) {
        struct console_traceback *tb = &tracebacks->all[i];
        if (tb->state == TRACEBACK_FREE) {
            continue;
        }
        n_busy--;
        int rc = see(tracebacks, tb, line, &is_part, err);
        if (rc != OK) {
            return rc;
        }
    }
    return is_part ? OK : without_traceback(tracebacks, line, err);
}
