/* Data rows as trees, exactly and fast. See json_parse_exact in json.h: what a chat template sees
 * must be what Python's reader gives. Settings files with comments and repairs are json.c.
 *
 * Texts without escapes are borrowed. A raw control character in a string is let pass, as is any
 * byte that is not UTF-8: who shows a text deals with it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/read/json_scan.h"

struct reader {
    const char *begin, *p, *end;
    int64_t line;
    struct arena *arena;
    struct error *err;
};

static int read_value(struct reader *r, int depth, struct json *out);

static int wrong(struct reader *r, int status, const char *what)
{
    if (r->p == r->end && status == E_PARSE)
        what = "the text breaks off";
    error_set(r->err, status, "%s", what);
    error_at(r->err, NULL, r->line, r->p - r->begin);
    return status;
}

static int no_room(struct reader *r)
{
    return wrong(r, E_LIMIT, "the document does not fit into its memory");
}

static inline void skip_blanks(struct reader *r)
{
    const char *p = r->p;

    for (; p < r->end; p++) {
        if (*p == '\n')
            r->line++;
        else if (*p != ' ' && *p != '\r' && *p != '\t')
            break;
    }
    r->p = p;
}

/* ---- strings ---- */

#define ONES  UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

/* The first quote, backslash or newline at or after p. */
static inline const char *string_stop(const char *p, const char *end)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    while (end - p >= 8) {
        uint64_t word, quote, slash, line, hit;

        memcpy(&word, p, 8);
        quote = word ^ (ONES * '"');
        slash = word ^ (ONES * '\\');
        line = word ^ (ONES * '\n');
        hit = ((quote - ONES) & ~quote) | ((slash - ONES) & ~slash) | ((line - ONES) & ~line);
        hit &= HIGHS;
        if (hit)
            return p + (unsigned)__builtin_ctzll(hit) / 8;
        p += 8;
    }
#endif
    while (p < end && *p != '"' && *p != '\\' && *p != '\n')
        p++;
    return p;
}

/* As unicode_put, but for surrogates too, as Python's surrogatepass writes them. */
static char *put(char *out, int32_t codepoint)
{
    if (codepoint < 0x80) {
        *out++ = (char)codepoint;
        return out;
    }
    if (codepoint < 0x800) {
        *out++ = (char)(0xC0 | codepoint >> 6);
    } else {
        if (codepoint < 0x10000) {
            *out++ = (char)(0xE0 | codepoint >> 12);
        } else {
            *out++ = (char)(0xF0 | codepoint >> 18);
            *out++ = (char)(0x80 | (codepoint >> 12 & 0x3F));
        }
        *out++ = (char)(0x80 | (codepoint >> 6 & 0x3F));
    }
    *out++ = (char)(0x80 | (codepoint & 0x3F));
    return out;
}

/* "uXXXX" at p, perhaps the first half of a pair. Returns the place after it, NULL when wrong. */
static const char *decode_unicode(const char *p, const char *end, char **out)
{
    int32_t first = json_hex4(p + 1, end);

    if (first < 0)
        return NULL;
    p += 5;
    if (first >= 0xD800 && first <= 0xDBFF && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
        int32_t second = json_hex4(p + 2, end);

        if (second >= 0xDC00 && second <= 0xDFFF) {
            *out = put(*out, 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
            return p + 6;
        }
    }
    *out = put(*out, first);
    return p;
}

static const char *decode_escape(const char *p, const char *end, char **out)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";

    if (*p == 'u')
        return decode_unicode(p, end, out);

    const char *hit = *p ? strchr(from, *p) : NULL;

    if (!hit)
        return NULL;
    *(*out)++ = to[hit - from];
    return p + 1;
}

/* The text between `begin` and `end`, which holds backslashes. An escape is never shorter than what
 * it stands for. */
static int decode_string(struct reader *r, const char *begin, const char *end, struct str *out)
{
    char *text = arena_alloc(r->arena, (size_t)(end - begin) + 1);
    char *w = text;

    if (!text)
        return no_room(r);
    for (const char *p = begin; p < end;) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        size_t n = (size_t)((slash ? slash : end) - p);

        memcpy(w, p, n);
        w += n;
        if (!slash)
            break;
        p = decode_escape(slash + 1, end, &w);
        if (!p) {
            r->p = slash;
            return wrong(r, E_PARSE, "a bad escape in a string");
        }
    }
    *out = str_from(text, (size_t)(w - text));
    return OK;
}

/* At '"'. */
static inline int read_string(struct reader *r, struct str *out)
{
    const char *begin = r->p + 1;
    const char *p = begin;
    bool has_escapes = false;

    for (;;) {
        p = string_stop(p, r->end);
        if (p == r->end || (*p == '\\' && p + 1 == r->end)) {
            r->p = r->end;
            return wrong(r, E_PARSE, "");
        }
        if (*p == '"')
            break;
        if (*p == '\\') {
            has_escapes = true;
            p++;
        }
        r->line += *p == '\n';
        p++;
    }
    r->p = p + 1;
    if (has_escapes)
        return decode_string(r, begin, p, out);
    *out = str_from(begin, (size_t)(p - begin));
    return OK;
}

/* ---- numbers and words ---- */

static int read_number(struct reader *r, struct json *out)
{
    size_t n = number_prefix_json(r->p, r->end, &out->number, &out->is_integer);

    if (n == 0)
        return wrong(r, E_PARSE, "a number that is none");
    out->type = JSON_NUMBER;
    out->text = str_from(r->p, n);
    r->p += n;
    return OK;
}

static bool take_word(struct reader *r, const char *word)
{
    size_t n = strlen(word);

    if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
        return false;
    r->p += n;
    return true;
}

static int read_word(struct reader *r, struct json *out)
{
    const char *begin = r->p;

    if (take_word(r, "null"))
        out->type = JSON_NULL;
    else if (take_word(r, "true"))
        out->type = JSON_TRUE;
    else if (take_word(r, "false"))
        out->type = JSON_FALSE;
    else if (take_word(r, "NaN"))
        out->number = NAN;
    else if (take_word(r, "Infinity"))
        out->number = INFINITY;
    else if (take_word(r, "-Infinity"))
        out->number = -INFINITY;
    else
        return *r->p == '-' ? read_number(r, out) : wrong(r, E_PARSE, "expected a value");
    if (r->p - begin != 4 && out->number != 0) {
        out->type = JSON_NUMBER;
        out->text = str_from(begin, (size_t)(r->p - begin));
    }
    return OK;
}

static int merge_duplicates(struct reader *r, struct json *object)
{
    int n_merged = 0;

    return json_merge_members(object, &n_merged) == OK ? OK
                                                       : wrong(r, E_NOMEM, "no memory for an object");
}

/* ---- values ---- */

static int read_key(struct reader *r, struct str *key)
{
    if (r->p == r->end || *r->p != '"')
        return wrong(r, E_PARSE, "expected a key in double quotes");

    int rc = read_string(r, key);

    if (rc != OK)
        return rc;
    skip_blanks(r);
    if (r->p == r->end || *r->p != ':')
        return wrong(r, E_PARSE, "no ':' after a key");
    r->p++;
    skip_blanks(r);
    return OK;
}

static int read_child(struct reader *r, int depth, struct json *parent, struct json ***tail)
{
    struct json *child = arena_alloc(r->arena, sizeof *child);
    int rc = OK;

    if (!child)
        return no_room(r);
    if (parent->type == JSON_OBJECT)
        rc = read_key(r, &child->key);
    if (rc == OK)
        rc = read_value(r, depth + 1, child);
    **tail = child;
    *tail = &child->next;
    parent->n++;
    return rc;
}

/* An object or array, at its bracket. */
static int read_children(struct reader *r, int depth, struct json *out)
{
    char close = *r->p == '{' ? '}' : ']';
    struct json **tail = &out->child;

    out->type = close == '}' ? JSON_OBJECT : JSON_ARRAY;
    if (depth >= JSON_MAX_DEPTH)
        return wrong(r, E_LIMIT, "nested too deep");
    r->p++;
    skip_blanks(r);
    if (r->p < r->end && *r->p == close) {
        r->p++;
        return OK;
    }
    for (;;) {
        int rc = read_child(r, depth, out, &tail);

        if (rc != OK)
            return rc;
        skip_blanks(r);
        if (r->p == r->end || (*r->p != ',' && *r->p != close))
            return wrong(r, E_PARSE, "no ',' or closing bracket after a value");
        if (*r->p++ == close)
            break;
        skip_blanks(r);
    }
    return out->type == JSON_OBJECT && out->n > 1 ? merge_duplicates(r, out) : OK;
}

static int read_value(struct reader *r, int depth, struct json *out)
{
    if (r->p == r->end)
        return wrong(r, E_PARSE, "");
    out->line = r->line;
    switch (*r->p) {
    case '{':
    case '[':
        return read_children(r, depth, out);
    case '"':
        out->type = JSON_STRING;
        return read_string(r, &out->text);
    default:
        return *r->p >= '0' && *r->p <= '9' ? read_number(r, out) : read_word(r, out);
    }
}

int json_parse_exact(struct str text, struct arena *arena, const struct json **out,
                     struct error *err)
{
    struct reader r = {.line = 1, .arena = arena, .err = err};
    struct json *top = arena_alloc(arena, sizeof *top);

    r.begin = r.p = text.n ? text.p : "";
    r.end = r.begin + text.n;
    if (!top)
        return no_room(&r);
    if (r.end - r.p >= 3 && memcmp(r.p, "\xEF\xBB\xBF", 3) == 0)
        r.p += 3;
    skip_blanks(&r);

    int rc = read_value(&r, 0, top);

    if (rc != OK)
        return rc;
    skip_blanks(&r);
    if (r.p < r.end)
        return wrong(&r, E_PARSE, "text after the end of the document");
    *out = top;
    return OK;
}
