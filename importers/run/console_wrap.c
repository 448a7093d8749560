/* See console_wrap.h. Each kind has a function that tells how many bytes before the text are its
 * own; 0 where the line is none of it. */
#include "importers/run/console_wrap.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "importers/run/console_split.h"
#include "importers/run/console_traceback.h"

#define MIN_LINES 3
#define MAX_LINES 200

/* ---- Heads ---- */

/* Bytes of "2025-03-04T10:02:11.123+01:00": digits, and the marks between them. */
static size_t time_bytes(struct str text, const char *marks)
{
    size_t n = 0, digits = 0;
    while (n < text.n && n < 40 &&
           (isdigit((unsigned char)text.p[n]) || (text.p[n] && strchr(marks, text.p[n])))) {
        digits += isdigit((unsigned char)text.p[n]) != 0;
        n++;
    }
    return digits >= 4 ? n : 0;
}

/* {"log":" */
static size_t docker_head(struct str line)
{
    static const char head[] = "{\"log\":";
    size_t n = sizeof head - 1;
    if (!str_starts(line, head)) {
        return 0;
    }
    while (n < line.n && line.p[n] == ' ') {
        n++;
    }
    bool is_record = n < line.n && line.p[n] == '"' && str_find(line, "\"stream\":") > 0;
    return is_record ? n + 1 : 0;
}

/* The kubelet adds the stream and whether the line is whole. */
static size_t stream_bytes(struct str text)
{
    static const char *const streams[] = {" stdout F", " stderr F", " stdout P", " stderr P"};
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        if (str_starts(text, streams[i])) {
            return strlen(streams[i]);
        }
    }
    return 0;
}

static size_t blank_behind(struct str text, size_t n)
{
    return n < text.n && text.p[n] == ' ' ? n + 1 : n;
}

static size_t time_head(struct str line)
{
    size_t n = time_bytes(line, "-T:.,+Z");
    if (n < 15 || line.p[4] != '-' || line.p[10] != 'T') {
        return 0;
    }
    return blank_behind(line, n + stream_bytes(str_skip(line, n)));
}

static size_t bracket_head(struct str line)
{
    if (line.n < 6 || line.p[0] != '[') {
        return 0;
    }
    size_t n = time_bytes(str_skip(line, 1), "-/T:., +Z") + 1;
    if (n < 5 || n >= line.n || line.p[n] != ']' ||
        memchr(line.p, ':', n) == NULL) {
        return 0;
    }
    return blank_behind(line, n + 1);
}

/* "Mar 04 10:02:11 host python[4411]: " */
static size_t journal_head(struct str line)
{
    if (line.n < 20 || !isupper((unsigned char)line.p[0]) || line.p[3] != ' ' ||
        line.p[9] != ':' || line.p[12] != ':') {
        return 0;
    }
    struct str rest = str_first(line, line.n < 120 ? line.n : 120);
    ptrdiff_t end = str_find(rest, "]:");
    ptrdiff_t colon = str_find(str_skip(rest, 15), ": ");
    if (end > 15) {
        return blank_behind(line, (size_t)end + 2);
    }
    return colon > 0 ? (size_t)colon + 17 : 0;
}

static size_t same_head(const struct console_wrap *wrap, struct str line)
{
    return wrap->same[0] && str_starts(line, wrap->same) ? strlen(wrap->same) : 0;
}

/* "trainer-1  | ", "[pod/sft-7x2lq/trainer] " */
static size_t service_bytes(struct str line)
{
    struct str near = str_first(line, line.n < 90 ? line.n : 90);
    if (str_starts(near, "[pod/")) {
        ptrdiff_t end = str_find(near, "] ");
        return end > 0 ? (size_t)end + 2 : 0;
    }
    size_t n = 0;
    while (n < near.n && (isalnum((unsigned char)near.p[n]) || strchr("_.-", near.p[n]))) {
        n++;
    }
    if (n < 3 || !isdigit((unsigned char)near.p[n - 1]) || n >= near.n || near.p[n] != ' ') {
        return 0;
    }
    while (n < near.n && near.p[n] == ' ') {
        n++;
    }
    return n + 1 < near.n && near.p[n] == '|' && near.p[n + 1] == ' ' ? n + 2 : 0;
}

/* ---- Which kind is it? ---- */

static size_t head_of(const struct console_wrap *wrap, struct str line)
{
    switch (wrap->kind) {
    case WRAP_DOCKER:
        return docker_head(line);
    case WRAP_TIME:
        return time_head(line);
    case WRAP_BRACKET:
        return bracket_head(line);
    case WRAP_JOURNAL:
        return journal_head(line);
    case WRAP_SAME:
        return same_head(wrap, line);
    case WRAP_NONE:
    case WRAP_UTF16:
        break;
    }
    return 0;
}

bool console_wrap_is_utf16(struct str head)
{
    if (head.n >= 2 && (unsigned char)head.p[0] == 0xff && (unsigned char)head.p[1] == 0xfe) {
        return true;
    }
    size_t n = head.n < 200 ? head.n & ~(size_t)1 : 200, zeros = 0;
    for (size_t i = 0; i + 1 < n; i += 2) {
        zeros += head.p[i] != '\0' && head.p[i + 1] == '\0';
    }
    return n >= 8 && zeros * 10 >= n / 2 * 9;
}

/* Does nearly every line of the head have it? */
static bool is_wrapped(const struct console_wrap *wrap, struct str head, struct buf *scratch)
{
    size_t n = 0, n_wrapped = 0;
    struct str line;
    while (n < MAX_LINES && str_split(&head, '\n', &line)) {
        buf_clear(scratch);
        console_strip(scratch, line);
        if (scratch->n == 0 || (scratch->n == 1 && scratch->p[0] == '\r')) {
            continue;
        }
        if (!head.p && n >= MIN_LINES) {
            break; /* the last one may be cut */
        }
        n++;
        n_wrapped += head_of(wrap, buf_view(scratch)) > 0;
    }
    size_t enough = wrap->kind == WRAP_DOCKER ? 1 : MIN_LINES;
    return n >= enough && n_wrapped * 10 >= n * 9;
}

static void take_same(struct console_wrap *wrap, struct str head, struct buf *scratch)
{
    struct str line, rank;
    wrap->same[0] = '\0';
    if (!str_split(&head, '\n', &line)) {
        return;
    }
    buf_clear(scratch);
    console_strip(scratch, line);
    line = buf_view(scratch);
    size_t n = service_bytes(line);
    n = n > 0 ? n : console_rank(line, &rank);
    if (n < sizeof wrap->same) {
        memcpy(wrap->same, line.p, n);
        wrap->same[n] = '\0';
        wrap->has_blank = n > 0 && wrap->same[n - 1] == ' ';
        while (n > 0 && wrap->same[n - 1] == ' ') {
            wrap->same[--n] = '\0'; /* a blank line ends behind it */
        }
    }
}

void console_wrap_find(struct console_wrap *wrap, struct str head)
{
    static const enum console_wrap_kind kinds[] = {WRAP_DOCKER, WRAP_TIME, WRAP_BRACKET,
                                                   WRAP_JOURNAL, WRAP_SAME};
    struct buf scratch;
    *wrap = (struct console_wrap){.kind = WRAP_UTF16};
    if (console_wrap_is_utf16(head)) {
        return;
    }
    buf_init(&scratch, WRAP_HEAD_BYTES);
    take_same(wrap, head, &scratch);
    bool found = false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !found; i++) {
        wrap->kind = kinds[i];
        found = is_wrapped(wrap, head, &scratch);
    }
    wrap->kind = found ? wrap->kind : WRAP_NONE;
    buf_free(&scratch);
}

int console_wrap_find_in(struct console_wrap *wrap, struct source_file *file, struct error *err)
{
    size_t got = 0;
    char *head = malloc(WRAP_HEAD_BYTES);
    if (head == NULL) {
        return error_set(err, E_NOMEM, "no memory for the head of a log");
    }
    int rc = source_at(file, 0, head, WRAP_HEAD_BYTES, &got, err);
    if (rc == OK) {
        console_wrap_find(wrap, str_from(head, got));
    }
    free(head);
    return rc;
}

/* ---- The text inside ---- */

static void add_code_point(struct buf *out, unsigned code)
{
    char bytes[3];
    if (code < 0x80) {
        bytes[0] = (char)code;
        buf_add(out, bytes, 1);
    } else if (code < 0x800) {
        bytes[0] = (char)(0xc0 | code >> 6);
        bytes[1] = (char)(0x80 | (code & 0x3f));
        buf_add(out, bytes, 2);
    } else {
        bytes[0] = (char)(0xe0 | code >> 12);
        bytes[1] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[2] = (char)(0x80 | (code & 0x3f));
        buf_add(out, bytes, 3);
    }
}

/* The line was cut at the low byte of its end: its high byte stands before the next line. */
static struct str from_utf16(struct str piece, struct buf *scratch)
{
    if (piece.n > 0 && piece.p[0] == '\0') {
        piece = str_skip(piece, 1);
    }
    buf_clear(scratch);
    for (size_t i = 0; i + 1 < piece.n; i += 2) {
        unsigned code = (unsigned char)piece.p[i] | (unsigned)(unsigned char)piece.p[i + 1] << 8;
        bool is_half = code >= 0xd800 && code < 0xe000;
        if (code != 0xfeff && code != 0) {
            add_code_point(scratch, is_half ? 0xfffd : code);
        }
    }
    return buf_view(scratch);
}

static unsigned hex_value(char c)
{
    return c >= '0' && c <= '9' ? (unsigned)(c - '0') : ((unsigned)c | 0x20) - 'a' + 10;
}

/* One escape of JSON behind its backslash; returns its bytes. */
static size_t add_escape(struct buf *out, struct str rest)
{
    static const char names[] = "nrtbf", values[] = "\n\r\t\b\f";
    const char *name = rest.n > 0 && rest.p[0] ? strchr(names, rest.p[0]) : NULL;
    if (rest.n >= 5 && rest.p[0] == 'u') {
        unsigned code = 0;
        for (size_t i = 1; i < 5; i++) {
            code = code << 4 | (isxdigit((unsigned char)rest.p[i]) ? hex_value(rest.p[i]) : 0);
        }
        add_code_point(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
        return 5;
    }
    if (name) {
        buf_add(out, &values[name - names], 1);
    } else if (rest.n > 0) {
        buf_add(out, rest.p, 1);
    }
    return rest.n > 0;
}

static struct str from_docker(struct str piece, struct buf *scratch)
{
    struct str rest = str_skip(piece, docker_head(piece));
    buf_clear(scratch);
    while (rest.n > 0 && rest.p[0] != '"') {
        size_t n = 0;
        while (n < rest.n && rest.p[n] != '"' && rest.p[n] != '\\') {
            n++;
        }
        buf_add(scratch, rest.p, n);
        rest = str_skip(rest, n);
        if (rest.n > 0 && rest.p[0] == '\\') {
            rest = str_skip(rest, 1);
            rest = str_skip(rest, add_escape(scratch, rest));
        }
    }
    return buf_view(scratch);
}

struct str console_wrap_open(const struct console_wrap *wrap, struct str piece, struct buf *scratch)
{
    if (wrap->kind == WRAP_NONE) {
        return piece;
    }
    if (wrap->kind == WRAP_UTF16) {
        return from_utf16(piece, scratch);
    }
    bool has_escape = memchr(piece.p, '\x1b', piece.n) != NULL;
    if (has_escape && wrap->kind != WRAP_DOCKER) {
        buf_clear(scratch);
        console_strip(scratch, piece);
        piece = buf_view(scratch);
    }
    size_t n = head_of(wrap, piece);
    if (n == 0) {
        return piece;
    }
    if (wrap->kind == WRAP_DOCKER) {
        return from_docker(piece, scratch);
    }
    n = wrap->kind == WRAP_SAME && wrap->has_blank ? blank_behind(piece, n) : n;
    return str_skip(piece, n);
}
