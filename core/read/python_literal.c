/* Python literals as training scripts print them. See python_literal.h.
 *
 * Not Python: no arithmetic, no names but True, False, None, nan and inf. One kind of call is read
 * because repr writes it: a number or a text wrapped by its type, as in np.float64(0.5) or
 * tensor(0.5, device='cuda:0'); its first argument is the value. */
#include "core/read/python_literal.h"

#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/base/unicode.h"

struct cursor {
    const char *begin, *p, *end;
    int64_t line;
    struct arena *arena;
    struct error *err;
};

static int read_value(struct cursor *cursor, int depth, struct json *out);

static int fail(struct cursor *cursor, int status, const char *what)
{
    error_set(cursor->err, status, "%s", what);
    error_at(cursor->err, NULL, cursor->line, cursor->p - cursor->begin);
    return status;
}

static int no_room(struct cursor *cursor)
{
    return fail(cursor, E_LIMIT, "the literal does not fit into its memory");
}

static void skip_blanks(struct cursor *cursor)
{
    for (; cursor->p < cursor->end; cursor->p++) {
        if (*cursor->p == '\n')
            cursor->line++;
        else if (*cursor->p != ' ' && *cursor->p != '\t' && *cursor->p != '\r')
            break;
    }
}

/* The next byte after blanks, '\0' at the end (a zero in the text is nothing we accept either). */
static char peek(struct cursor *cursor)
{
    skip_blanks(cursor);
    return cursor->p < cursor->end ? *cursor->p : '\0';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

static struct str take_name(struct cursor *cursor)
{
    const char *from = cursor->p;

    while (cursor->p < cursor->end && is_name(*cursor->p))
        cursor->p++;
    return str_from(from, (size_t)(cursor->p - from));
}

/* ---- strings ---- */

static void put_codepoint(struct buf *out, int32_t codepoint)
{
    char bytes[4];
    size_t n = codepoint ? unicode_put(bytes, codepoint) : 0;

    if (n)
        buf_add(out, bytes, n);
    else
        buf_puts(out, "\xEF\xBF\xBD");
}

/* n_digits hexadecimal digits at p; -1 when there are not so many. */
static int32_t hex(const struct cursor *cursor, const char *p, int n_digits)
{
    int64_t value = 0;

    if (cursor->end - p < n_digits)
        return -1;
    for (int i = 0; i < n_digits; i++) {
        static const char digits[] = "0123456789abcdef";
        char c = p[i] >= 'A' && p[i] <= 'F' ? (char)(p[i] | 0x20) : p[i];
        const char *hit = c ? strchr(digits, c) : NULL;

        if (!hit)
            return -1;
        value = value * 16 + (hit - digits);
    }
    return value > 0x10FFFF ? 0xFFFD : (int32_t)value;
}

static int put_octal(struct cursor *cursor, struct buf *out)
{
    int32_t value = 0;

    for (int i = 0; i < 3 && cursor->p < cursor->end && *cursor->p >= '0' && *cursor->p <= '7'; i++)
        value = value * 8 + (*cursor->p++ - '0');
    put_codepoint(out, value);
    return OK;
}

/* What follows a backslash; unknown escapes stay as they are, as in Python. */
static int read_escape(struct cursor *cursor, struct buf *out)
{
    static const char from[] = "\\'\"abfnrtv";
    static const char to[] = "\\'\"\a\b\f\n\r\t\v";
    char c = *cursor->p;
    const char *hit = c ? strchr(from, c) : NULL;
    int n_digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;

    if (c >= '0' && c <= '7')
        return put_octal(cursor, out);
    cursor->p++;
    if (hit) {
        buf_putc(out, to[hit - from]);
    } else if (n_digits) {
        int32_t codepoint = hex(cursor, cursor->p, n_digits);

        if (codepoint < 0)
            return fail(cursor, E_PARSE, "a bad escape in a string");
        cursor->p += n_digits;
        put_codepoint(out, codepoint);
    } else if (c == '\n') {
        cursor->line++;
    } else {
        buf_putc(out, '\\');
        buf_putc(out, c);
    }
    return OK;
}

static int read_body(struct cursor *cursor, char quote, struct buf *out)
{
    while (cursor->p < cursor->end && *cursor->p != quote) {
        int rc = OK;

        if (*cursor->p == '\n')
            return fail(cursor, E_PARSE, "a line ends inside a string");
        if (*cursor->p == '\\' && cursor->end - cursor->p >= 2) {
            cursor->p++;
            rc = read_escape(cursor, out);
        } else {
            const char *from = cursor->p;

            while (cursor->p < cursor->end && *cursor->p != quote && *cursor->p != '\\' &&
                   *cursor->p != '\n')
                cursor->p++;
            if (cursor->p == from)
                cursor->p++; /* a backslash as the last byte */
            unicode_valid(out, str_from(from, (size_t)(cursor->p - from)));
        }
        if (rc != OK)
            return rc;
    }
    if (cursor->p == cursor->end)
        return fail(cursor, E_PARSE, "the text ends inside a string");
    cursor->p++;
    return OK;
}

static int read_string(struct cursor *cursor, struct str *out)
{
    struct buf text;
    char quote = *cursor->p++;

    buf_init(&text, JSON_MAX_BYTES);

    int rc = read_body(cursor, quote, &text);

    if (rc == OK && text.failed)
        rc = no_room(cursor);
    if (rc == OK) {
        *out = arena_str(cursor->arena, buf_view(&text));
        if (arena_failed(cursor->arena))
            rc = no_room(cursor);
    }
    buf_free(&text);
    return rc;
}

/* ---- numbers and names ---- */

/* "1_000_000" without its separators; texts without one are only copied. */
static int read_number(struct cursor *cursor, struct json *out)
{
    char text[64];
    const char *from = cursor->p;
    size_t n = 0;

    while (cursor->p < cursor->end &&
           (is_name(*cursor->p) || *cursor->p == '+' || *cursor->p == '-')) {
        bool is_sign = *cursor->p == '+' || *cursor->p == '-';

        if (is_sign && cursor->p > from && (cursor->p[-1] | 0x20) != 'e')
            break;
        if (*cursor->p != '_' && n < sizeof text)
            text[n++] = *cursor->p;
        cursor->p++;
    }

    struct str whole = str_from(from, (size_t)(cursor->p - from));
    struct str digits = n < sizeof text ? str_from(text, n) : whole;

    if (!number_parse_any(digits, &out->number)) {
        cursor->p = from;
        return fail(cursor, E_PARSE, "expected a value");
    }
    out->type = JSON_NUMBER;
    out->text = arena_str(cursor->arena, digits);
    out->is_integer = isfinite(out->number);
    for (size_t i = 0; i < digits.n; i++)
        out->is_integer = out->is_integer && digits.p[i] != '.' && (digits.p[i] | 0x20) != 'e';
    return arena_failed(cursor->arena) ? no_room(cursor) : OK;
}

/* The rest of a call's arguments: up to its closing parenthesis, over strings and brackets. */
static int skip_arguments(struct cursor *cursor)
{
    int depth = 1;

    for (; cursor->p < cursor->end && depth > 0; cursor->p++) {
        char c = *cursor->p;

        if (c == '(' || c == '[' || c == '{')
            depth++;
        if (c == ')' || c == ']' || c == '}')
            depth--;
        if (c == '\'' || c == '"') {
            const char *end = memchr(cursor->p + 1, c, (size_t)(cursor->end - cursor->p - 1));

            if (!end)
                break;
            cursor->p = end;
        }
    }
    return depth == 0 ? OK : fail(cursor, E_PARSE, "the text ends inside a call");
}

/* type(value, …): at the parenthesis. */
static int read_wrapped(struct cursor *cursor, int depth, struct json *out)
{
    int rc;

    if (depth >= JSON_MAX_DEPTH)
        return fail(cursor, E_LIMIT, "nested too deep");
    cursor->p++;
    rc = read_value(cursor, depth + 1, out);
    return rc == OK ? skip_arguments(cursor) : rc;
}

static int read_name(struct cursor *cursor, int depth, struct json *out)
{
    static const struct {
        const char *text;
        enum json_type type;
    } names[] = {
        {"None", JSON_NULL}, {"True", JSON_TRUE}, {"False", JSON_FALSE},
        {"null", JSON_NULL}, {"true", JSON_TRUE}, {"false", JSON_FALSE},
    };
    const char *from = cursor->p;
    struct str name = take_name(cursor);

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (str_is(name, names[i].text)) {
            out->type = names[i].type;
            return OK;
        }
    if (name.n && cursor->p < cursor->end && *cursor->p == '(')
        return read_wrapped(cursor, depth, out);
    cursor->p = from;
    return read_number(cursor, out);
}

/* ---- containers ---- */

static void drop_earlier(struct json *object, struct json *last)
{
    for (struct json **at = &object->child; *at != last; at = &(*at)->next)
        if (str_eq((*at)->key, last->key)) {
            *at = (*at)->next;
            object->n--;
            return;
        }
}

/* Keys that are no strings (numbers, None) become their text. */
static int read_key(struct cursor *cursor, int depth, struct json *child)
{
    struct json key = {.type = JSON_NULL};
    const char *from = cursor->p;
    int rc = read_value(cursor, depth + 1, &key);

    if (rc != OK)
        return rc;
    if (key.type == JSON_STRING)
        child->key = key.text;
    else
        child->key = arena_str(cursor->arena, str_from(from, (size_t)(cursor->p - from)));
    if (peek(cursor) != ':')
        return fail(cursor, E_PARSE, "no ':' after a key");
    cursor->p++;
    skip_blanks(cursor);
    return arena_failed(cursor->arena) ? no_room(cursor) : OK;
}

static int read_child(struct cursor *cursor, int depth, struct json *parent, struct json ***tail)
{
    struct json *child = arena_alloc(cursor->arena, sizeof *child);
    int rc = OK;

    if (!child)
        return no_room(cursor);
    if (parent->type == JSON_OBJECT)
        rc = read_key(cursor, depth, child);
    if (rc == OK)
        rc = read_value(cursor, depth + 1, child);
    if (rc != OK)
        return rc;
    **tail = child;
    *tail = &child->next;
    parent->n++;
    return OK;
}

/* Keeps the last of duplicate keys. Printed dicts have none; a hostile text is bounded. */
#define MOST_CHECKED 2000

static int drop_duplicates(struct cursor *cursor, struct json *object)
{
    if (object->n > MOST_CHECKED)
        return fail(cursor, E_LIMIT, "a dict of more than 2000 members");
    for (struct json *member = object->child; member; member = member->next)
        drop_earlier(object, member);
    return OK;
}

static int read_children(struct cursor *cursor, int depth, struct json *out)
{
    char open = *cursor->p++;
    char close = open == '{' ? '}' : open == '[' ? ']' : ')';
    struct json **tail = &out->child;

    out->type = open == '{' ? JSON_OBJECT : JSON_ARRAY;
    if (depth >= JSON_MAX_DEPTH)
        return fail(cursor, E_LIMIT, "nested too deep");
    while (peek(cursor) != close) {
        int rc = read_child(cursor, depth, out, &tail);

        if (rc != OK)
            return rc;

        char c = peek(cursor);

        if (c == ',')
            cursor->p++;
        else if (c != close)
            return fail(cursor, E_PARSE,
                        cursor->p == cursor->end ? "the text ends inside a dict or list"
                                                 : "no ',' or closing bracket after a value");
    }
    cursor->p++;
    return out->type == JSON_OBJECT ? drop_duplicates(cursor, out) : OK;
}

static int read_value(struct cursor *cursor, int depth, struct json *out)
{
    char c = peek(cursor);

    out->line = cursor->line;
    switch (c) {
    case '{':
    case '[':
    case '(':
        return read_children(cursor, depth, out);
    case '\'':
    case '"':
        out->type = JSON_STRING;
        return read_string(cursor, &out->text);
    case '\0':
        return fail(cursor, E_PARSE, "the text ends where a value is expected");
    default:
        return read_name(cursor, depth, out);
    }
}

int python_literal_parse(struct str text, struct arena *arena, const struct json **out,
                         size_t *used, struct error *err)
{
    struct cursor cursor = {.line = 1, .arena = arena, .err = err};
    struct json *top = arena_alloc(arena, sizeof *top);

    cursor.begin = cursor.p = text.n ? text.p : "";
    cursor.end = cursor.begin + text.n;
    if (!top)
        return no_room(&cursor);

    int rc = read_value(&cursor, 0, top);

    if (rc != OK)
        return rc;
    *used = (size_t)(cursor.p - cursor.begin);
    *out = top;
    return OK;
}
