/* A long JSON document in bounded memory. See json.h.
 *
 * A window holds at least the value that is being read. Each value (a row, a member, a key) is
 * tried in the window; where it breaks off at the end of the window, more is read and it is tried
 * again, so that the scanner itself never waits for bytes. */
#include "core/read/json.h"

#include <stdlib.h>
#include <string.h>

#include "core/read/json_scan.h"
#include "core/read/source.h"

/* A window that stays in the cache while it is filled and read. */
#define WINDOW_BYTES ((size_t)256 << 10)

struct stream {
    struct source_file *file;
    const struct json_stream *handler;
    char *window;
    size_t capacity;
    struct json_cursor at; /* p, end, line and place of what is next */
    struct arena *arena;
    struct json_fields fields;
    bool cut;
    struct error *err;
};

/* ---- the window ---- */

/* The bytes from p on come to the front, in a window twice as large when they fill half of it. */
static int keep_rest(struct stream *s)
{
    size_t kept = (size_t)(s->at.end - s->at.p);
    char *to = s->window;

    if (kept > s->capacity / 2) {
        if (kept >= JSON_MAX_BYTES)
            return json_fail(&s->at, s->at.p, E_LIMIT, "one value is larger than %zu bytes",
                             JSON_MAX_BYTES);
        to = malloc(s->capacity * 2);
        if (!to)
            return json_fail(&s->at, s->at.p, E_NOMEM, "no memory for %zu bytes", s->capacity * 2);
        s->capacity *= 2;
    }
    memmove(to, s->at.p, kept);
    if (to != s->window)
        free(s->window);
    s->window = to;
    s->at.byte += s->at.p - s->at.begin;
    s->at.begin = s->at.p = to;
    s->at.end = to + kept;
    return OK;
}

static int read_more(struct stream *s)
{
    size_t got;
    int rc = keep_rest(s);

    if (rc != OK)
        return rc;

    size_t kept = (size_t)(s->at.end - s->at.begin);

    rc = source_at(s->file, s->at.byte + (int64_t)kept, s->window + kept, s->capacity - kept, &got,
                   s->err);
    if (rc != OK)
        return rc;
    s->at.end += got;
    s->at.is_final = got < s->capacity - kept;
    return OK;
}

/* Skips blanks; *c is the next byte, or '\0' with *at_end at the end of the file. */
static int next_byte(struct stream *s, char *c, bool *at_end)
{
    for (;;) {
        int rc = json_skip_blanks(&s->at);

        if (rc != OK)
            return rc;
        *at_end = s->at.p == s->at.end;
        *c = *at_end ? '\0' : *s->at.p;
        if (!*at_end || s->at.is_final)
            return OK;
        rc = read_more(s);
        if (rc != OK)
            return rc;
    }
}

/* The next byte, where the document must go on. */
static int next_inside(struct stream *s, char *c, const char *what)
{
    bool at_end;
    int rc = next_byte(s, c, &at_end);

    if (rc != OK || !at_end)
        return rc;
    s->cut = true;
    return json_broken_off(&s->at, what);
}

/* ---- one value ---- */

typedef int scan_function(struct json_cursor *cursor, void *out);

static int scan_as_string(struct json_cursor *cursor, void *out)
{
    return json_scan_string(cursor, out);
}

static int scan_as_tree(struct json_cursor *cursor, void *out)
{
    return json_scan_tree(cursor, out);
}

static int scan_as_row(struct json_cursor *cursor, void *out)
{
    return json_scan_flat(cursor, out);
}

/* Runs the scanner at the place, with as much text as it needs. Results below 0 are failures; the
 * place moves on unless the result is below `moves_from`. */
static int scan(struct stream *s, scan_function *scanner, void *out, int moves_from)
{
    for (;;) {
        struct json_cursor cursor = s->at;
        int rc = scanner(&cursor, out);

        if (rc >= moves_from)
            s->at = cursor;
        if (rc >= 0)
            return rc;
        if (!cursor.ended || s->at.is_final) {
            s->cut = cursor.ended;
            return rc;
        }
        arena_reset(s->arena);
        rc = read_more(s);
        if (rc != OK)
            return rc;
    }
}

static int give_member(struct stream *s, struct str key)
{
    struct json value = {.key = key};
    int rc = scan(s, scan_as_tree, &value, 0);

    if (rc == OK && s->handler->member)
        rc = s->handler->member(s->handler->ctx, &value, s->err);
    return rc;
}

static int give_row(struct stream *s, char first)
{
    struct json tree = {.type = JSON_NULL};
    struct json_row row = {.line = s->at.line, .byte = s->at.byte + (s->at.p - s->at.begin)};
    int is_flat = first == '{' ? scan(s, scan_as_row, &s->fields, 1) : 0;

    if (is_flat < 0)
        return is_flat;
    if (is_flat) {
        row.fields = s->fields.items;
        row.n = s->fields.n;
        row.shape = s->fields.shape;
    } else {
        arena_reset(s->arena);

        int rc = scan(s, scan_as_tree, &tree, 0);

        if (rc != OK)
            return rc;
        row.tree = &tree;
    }
    row.raw.p = s->at.begin + (row.byte - s->at.byte); /* the window may have moved */
    row.raw.n = (size_t)(s->at.p - row.raw.p);
    return s->handler->row ? s->handler->row(s->handler->ctx, &row, s->err) : OK;
}

/* ---- the document ---- */

/* After a value: passes a comma, or the closing bracket (*more false). */
static int pass_separator(struct stream *s, char close, bool *more, const char *what)
{
    char c;
    int rc = next_inside(s, &c, what);

    if (rc != OK)
        return rc;
    if (c != ',' && c != close)
        return json_fail(&s->at, s->at.p, E_PARSE, "no ',' or '%c' after a value", close);
    s->at.p++;
    *more = c == ',';
    return OK;
}

/* Passes the opening bracket, and the closing one when there is nothing between. */
static int open_bracket(struct stream *s, char close, bool *more, const char *what)
{
    char c;

    s->at.p++;

    int rc = next_inside(s, &c, what);

    if (rc != OK)
        return rc;
    *more = c != close;
    if (c == close)
        s->at.p++;
    return OK;
}

static int read_rows(struct stream *s)
{
    bool more;
    char c;
    int rc = open_bracket(s, ']', &more, "an array");

    while (rc == OK && more) {
        rc = next_inside(s, &c, "an array");
        if (rc == OK)
            rc = give_row(s, c);
        arena_reset(s->arena);
        if (rc == OK)
            rc = pass_separator(s, ']', &more, "an array");
    }
    return rc;
}

static int read_member(struct stream *s)
{
    struct json_scalar key;
    char c;
    int rc = next_inside(s, &c, "an object");

    if (rc == OK && c != '"')
        rc = json_fail(&s->at, s->at.p, E_PARSE, "expected a key in double quotes");
    if (rc == OK)
        rc = scan(s, scan_as_string, &key, 0);
    if (rc != OK)
        return rc;

    /* The window may move and the arena be reset before the value is whole. */
    char *name = strndup(key.text.p, key.text.n);

    if (!name)
        return json_fail(&s->at, s->at.p, E_NOMEM, "no memory for a key");
    rc = next_inside(s, &c, "an object");
    if (rc == OK && c != ':')
        rc = json_fail(&s->at, s->at.p, E_PARSE, "no ':' after a key");
    if (rc == OK) {
        s->at.p++;
        rc = next_inside(s, &c, "an object");
    }
    if (rc == OK && c == '[' && s->handler->array_key && strcmp(name, s->handler->array_key) == 0)
        rc = read_rows(s);
    else if (rc == OK)
        rc = give_member(s, str_of(name));
    free(name);
    return rc;
}

static int read_members(struct stream *s)
{
    bool more;
    int rc = open_bracket(s, '}', &more, "an object");

    while (rc == OK && more) {
        rc = read_member(s);
        arena_reset(s->arena);
        if (rc == OK)
            rc = pass_separator(s, '}', &more, "an object");
    }
    return rc;
}

static int read_document(struct stream *s)
{
    bool at_end;
    char c;
    int rc;

    do { /* three bytes tell whether there is a mark */
        rc = read_more(s);
        if (rc != OK)
            return rc;
    } while (s->at.end - s->at.p < 3 && !s->at.is_final);
    json_skip_mark(&s->at);
    rc = next_inside(s, &c, "the document, which is empty");
    if (rc == OK)
        rc = c == '{' ? read_members(s) : c == '[' ? read_rows(s) : give_member(s, str_of(""));
    if (rc == OK)
        rc = next_byte(s, &c, &at_end);
    if (rc == OK && !at_end)
        rc = json_fail(&s->at, s->at.p, E_PARSE, "text after the end of the document");
    return rc;
}

int json_stream(struct source_file *file, const struct json_stream *handler, bool *cut,
                struct error *err)
{
    struct error own;
    struct stream s = {.file = file, .handler = handler, .err = err ? err : &own};
    int rc;

    s.capacity =
        source_buffer_bytes(file) < WINDOW_BYTES ? source_buffer_bytes(file) : WINDOW_BYTES;
    s.window = malloc(s.capacity);
    s.arena = arena_open(ARENA_RENDER_BYTES);
    s.at = (struct json_cursor){.line = 1, .arena = s.arena, .err = s.err};
    s.at.begin = s.at.p = s.at.end = s.window;
    if (s.window && s.arena)
        rc = read_document(&s);
    else
        rc = error_set(s.err, E_NOMEM, "no memory to read a document");
    if (rc != OK && s.err->path[0] == '\0')
        error_at(s.err, source_path(file), s.err->line, s.err->byte);
    if (handler->n_repairs)
        *handler->n_repairs += s.at.n_repairs;
    *cut = s.cut;
    free(s.window);
    json_fields_free(&s.fields);
    arena_close(s.arena);
    return rc;
}
