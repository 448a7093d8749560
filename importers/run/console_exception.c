/* What single lines say: exception lines, frames, rank prefixes, the elastic launcher's report. */
#include "importers/run/console_exception.h"

#include <stdio.h>
#include <string.h>

#define REPORT_LINES 14

struct str console_line_text(char out[32], int64_t line)
{
    int n = snprintf(out, 32, "%lld", (long long)line);
    return str_from(out, n > 0 ? (size_t)n : 0);
}

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The part behind the last dot. */
static struct str last_component(struct str name)
{
    size_t begin = 0;
    for (size_t i = 0; i < name.n; i++) {
        begin = name.p[i] == '.' ? i + 1 : begin;
    }
    return str_skip(name, begin);
}

static bool is_camel_case(struct str name)
{
    bool has_lower = false;
    for (size_t i = 0; i < name.n; i++) {
        has_lower |= name.p[i] >= 'a' && name.p[i] <= 'z';
    }
    return has_lower && name.n > 0 && name.p[0] >= 'A' && name.p[0] <= 'Z';
}

bool console_is_exception_name(struct str name)
{
    static const char *const ends[] = {"Error",     "Exception", "Exit",
                                       "Interrupt", "Iteration", "Failure",
                                       "Timeout",   "Expired",   "ExceptionGroup"};
    struct str last = last_component(name);
    if (!is_camel_case(last)) {
        return false;
    }
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (str_ends(last, ends[i])) { /* "Error: …" alone is anybody's message */
            return last.n > strlen(ends[i]) || str_is(last, "Exception");
        }
    }
    return false;
}

bool console_exception(struct str text, bool is_sure, struct str *type, struct str *message)
{
    size_t n = 0;
    while (n < text.n && (is_name_byte(text.p[n]) || text.p[n] == '.')) {
        n++;
    }
    if (n < 3 || n > 150) {
        return false;
    }
    struct str rest = str_skip(text, n);
    bool has_message = str_starts(rest, ": ");
    bool is_alone = str_trim(rest).n == 0 || str_is(str_trim(rest), ":");
    if (!has_message && !is_alone) {
        return false;
    }
    *type = str_first(text, n);
    *message = has_message ? str_trim(str_skip(rest, 2)) : str_from(rest.p, 0);
    if (console_is_exception_name(*type)) {
        return true;
    }
    return is_sure && is_camel_case(last_component(*type));
}

/* Behind `, in ` up to the end or a bracket. */
static bool name_behind(struct str line, const char *word, struct str *name)
{
    ptrdiff_t at = str_find(line, word);
    if (at < 0) {
        return false;
    }
    struct str rest = str_skip(line, (size_t)at + strlen(word));
    size_t n = 0;
    while (n < rest.n &&
           (is_name_byte(rest.p[n]) || rest.p[n] == '.' || rest.p[n] == '<' || rest.p[n] == '>')) {
        n++;
    }
    *name = last_component(str_first(rest, n));
    return name->n > 0;
}

bool console_frame_name(struct str line, bool is_notebook, struct str *name)
{
    if (str_starts(line, "  File \"")) {
        return name_behind(line, ", in ", name);
    }
    if (!is_notebook) {
        return false;
    }
    if (str_starts(line, "File ") || str_starts(line, "Cell In") || str_starts(line, "Input In")) {
        return name_behind(line, ", in ", name) || name_behind(line, " in ", name);
    }
    bool is_path = line.n > 0 && (line.p[0] == '/' || line.p[0] == '~' || line.p[0] == '<');
    return is_path && name_behind(line, " in ", name);
}

/* "[rank3]:", "[default0]:", "[0]:", "[1,0]<stderr>:" */
static size_t bracket_rank(struct str text, struct str *rank)
{
    size_t i = 1, digits = 1;
    while (i < text.n && i < 24 &&
           (is_name_byte(text.p[i]) || text.p[i] == ' ' || text.p[i] == ',')) {
        bool is_digit = text.p[i] >= '0' && text.p[i] <= '9';
        i++;
        digits = is_digit ? digits : i;
    }
    if (i >= text.n || text.p[i] != ']' || digits >= i) {
        return 0;
    }
    *rank = str_from(text.p + digits, i - digits);
    size_t n = i + 1;
    if (str_starts(str_skip(text, n), "<std")) {
        while (n < text.n && text.p[n] != '>') {
            n++;
        }
        n += n < text.n;
    }
    return n < text.n && text.p[n] == ':' ? n + 1 : 0;
}

size_t console_rank(struct str text, struct str *rank)
{
    size_t n = 0;
    if (text.n < 3) {
        return 0;
    }
    if (text.p[0] == '[') {
        n = bracket_rank(text, rank);
    } else if (text.p[0] == '(') {
        const char *close = memchr(text.p, ')', text.n < 90 ? text.n : 90);
        struct str inside = str_from(text.p + 1, close != NULL ? (size_t)(close - text.p) - 1 : 0);
        if (str_find(inside, "pid=") >= 0) {
            *rank = inside;
            n = inside.n + 2;
        }
    } else if (text.p[0] >= '0' && text.p[0] <= '9') {
        size_t digits = 0;
        while (digits < text.n && digits < 5 && text.p[digits] >= '0' && text.p[digits] <= '9') {
            digits++;
        }
        if (digits < 5 && digits + 1 < text.n && text.p[digits] == ':' &&
            text.p[digits + 1] == ' ') {
            *rank = str_first(text, digits);
            n = digits + 1;
        }
    }
    return n > 0 && n < text.n && text.p[n] == ' ' ? n + 1 : n;
}

/* ---- torch.distributed.elastic ---- */

void console_report_init(struct console_report *report)
{
    buf_init(&report->host, 300);
    buf_init(&report->rank, 40);
    buf_init(&report->exit_code, 40);
    buf_init(&report->pid, 40);
    buf_init(&report->traceback, 2000);
    buf_init(&report->text, 2000);
}

void console_report_free(struct console_report *report)
{
    buf_free(&report->host);
    buf_free(&report->rank);
    buf_free(&report->exit_code);
    buf_free(&report->pid);
    buf_free(&report->traceback);
    buf_free(&report->text);
}

static void keep(struct buf *buf, struct str text)
{
    buf_clear(buf);
    buf_str(buf, str_first(text, buf->limit - 1));
}

void console_tracebacks_begin_report(struct console_tracebacks *tracebacks,
                                     const struct console_line *line)
{
    struct console_report *report = &tracebacks->report;
    report->n_left = REPORT_LINES;
    report->line = line->line;
    report->byte = line->byte;
    report->step = line->step;
    keep(&report->text, line->text);
    buf_clear(&report->host);
    buf_clear(&report->rank);
    buf_clear(&report->exit_code);
    buf_clear(&report->pid);
    buf_clear(&report->traceback);
}

int console_report_finish(struct console_tracebacks *tracebacks, struct error *err)
{
    struct console_report *report = &tracebacks->report;
    if (report->n_left == 0) {
        return OK;
    }
    report->n_left = 0;
    struct console_said said = {.kind = "root-cause",
                                .step = report->step,
                                .line = report->line,
                                .byte = report->byte,
                                .text = buf_view(&report->text),
                                .n_captures = 5,
                                .captures = {buf_view(&report->exit_code), buf_view(&report->rank),
                                             buf_view(&report->pid), buf_view(&report->host),
                                             buf_view(&report->traceback)}};
    return console_events_add(tracebacks->events, &said, err);
}

/* "-9 (pid: 123)" or "0 (local_rank: 0)": both numbers. */
static void split_brackets(struct str value, struct buf *first, struct buf *second)
{
    struct str rest = value, part;
    if (str_split(&rest, ' ', &part)) {
        keep(first, part);
    }
    ptrdiff_t at = str_find(value, ": ");
    if (second != NULL && at >= 0) {
        struct str inside = str_skip(value, (size_t)at + 2);
        if (inside.n > 0 && inside.p[inside.n - 1] == ')') {
            inside.n--;
        }
        keep(second, inside);
    }
}

int console_report_line(struct console_tracebacks *tracebacks, const struct console_line *line,
                        struct error *err)
{
    struct console_report *report = &tracebacks->report;
    struct str rest = str_trim(line->inner), key;
    if (str_starts(rest, "====") || --report->n_left == 0) {
        report->n_left = 1;
        return console_report_finish(tracebacks, err);
    }
    if (!str_split(&rest, ':', &key)) {
        return OK;
    }
    key = str_trim(key);
    rest = str_trim(rest);
    if (str_is(key, "exitcode")) {
        split_brackets(rest, &report->exit_code, &report->pid);
    } else if (str_is(key, "rank")) {
        split_brackets(rest, &report->rank, NULL);
    } else if (str_is(key, "host")) {
        keep(&report->host, rest);
    } else if (str_is(key, "traceback")) {
        keep(&report->traceback, rest);
    }
    return OK;
}
