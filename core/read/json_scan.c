/* The words of JSON: blanks, strings, numbers. See json_scan.h; rows of them are json_flat.c.
 *
 * Stricter than Python's reader nowhere, laxer in two places: raw control characters in strings
 * are kept (some writers put them there), and invalid UTF-8 is repaired and counted. */
#include "core/read/json_scan.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/number.h"
#include "core/base/unicode.h"

int json_fail(struct json_cursor *cursor, const char *at, int status, const char *fmt, ...)
{
    char message[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    error_set(cursor->err, status, "%s", message);
    error_at(cursor->err, NULL, cursor->line, cursor->byte + (at - cursor->begin));
    return status;
}

int json_broken_off(struct json_cursor *cursor, const char *what)
{
    cursor->ended = true;
    return json_fail(cursor, cursor->end, E_PARSE, "the text ends inside %s", what);
}

void json_skip_mark(struct json_cursor *cursor)
{
    if (cursor->end - cursor->p >= 3 && memcmp(cursor->p, "\xEF\xBB\xBF", 3) == 0)
        cursor->p += 3;
}

static int skip_comment(struct json_cursor *cursor)
{
    const char *p = cursor->p + 1;
    const char *end = cursor->end;

    if (p < end && *p == '/') {
        const char *newline = memchr(p, '\n', (size_t)(end - p));

        cursor->p = newline ? newline : end;
        return OK;
    }
    if (p >= end || *p != '*')
        return json_fail(cursor, cursor->p, E_PARSE, "'/', expected a value");
    for (p++; end - p >= 2; p++) {
        if (p[0] == '*' && p[1] == '/') {
            cursor->p = p + 2;
            return OK;
        }
        cursor->line += *p == '\n';
    }
    return json_broken_off(cursor, "a comment");
}

/* Blanks without comments. */
static inline void skip_plain(struct json_cursor *cursor)
{
    const char *p = cursor->p;
    const char *end = cursor->end;

    for (; p < end; p++) {
        if (*p == '\n')
            cursor->line++;
        else if (*p != ' ' && *p != '\r' && *p != '\t')
            break;
    }
    cursor->p = p;
}

int json_skip_blanks(struct json_cursor *cursor)
{
    skip_plain(cursor);
    while (cursor->allow_comments && cursor->p < cursor->end && *cursor->p == '/') {
        int rc = skip_comment(cursor);

        if (rc != OK)
            return rc;
        skip_plain(cursor);
    }
    return OK;
}

int json_peek(struct json_cursor *cursor, char *c, const char *what)
{
    if (cursor->p == cursor->end)
        return json_broken_off(cursor, what);
    *c = *cursor->p;
    return OK;
}

/* ---- strings ---- */

#define ONES  UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

/* The first quote, backslash or control character; *high collects the bytes passed, so that its
 * top bits tell whether one was not ASCII (bytes after the found one may be among them: then a
 * clean string is only looked at twice). */
static inline const char *string_stop(const char *p, const char *end, uint64_t *high)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    while (end - p >= 8) {
        uint64_t word, quote, slash, hit;

        memcpy(&word, p, 8);
        quote = word ^ (ONES * '"');
        slash = word ^ (ONES * '\\');
        hit =
            ((quote - ONES) & ~quote) | ((slash - ONES) & ~slash) | ((word - ONES * 0x20) & ~word);
        hit &= HIGHS;
        if (hit) {
            unsigned n = (unsigned)__builtin_ctzll(hit) / 8;

            *high |= word & ((UINT64_C(1) << (8 * n)) - 1);
            return p + n;
        }
        *high |= word;
        p += 8;
    }
#endif
    for (; p < end; p++) {
        unsigned char c = (unsigned char)*p;

        if (c == '"' || c == '\\' || c < 0x20)
            break;
        *high |= (uint64_t)c;
    }
    return p;
}

struct raw_string {
    const char *p, *end; /* between the quotes */
    bool has_escapes, has_zeros;
    uint64_t high;
};

/* Finds the end of the string at p. */
static inline int find_string(struct json_cursor *cursor, struct raw_string *out)
{
    const char *p = cursor->p + 1;
    const char *end = cursor->end;

    *out = (struct raw_string){.p = p};
    for (;;) {
        p = string_stop(p, end, &out->high);
        if (p == end)
            return json_broken_off(cursor, "a string");
        if (*p == '"')
            break;
        if (*p == '\\') {
            if (end - p < 2)
                return json_broken_off(cursor, "a string");
            out->has_escapes = true;
            p++;
        } else if (*p == '\n') {
            cursor->line++;
        } else if (*p == '\0') {
            out->has_zeros = true;
        }
        p++;
    }
    out->end = p;
    cursor->p = p + 1;
    return OK;
}

int32_t json_hex4(const char *p, const char *end)
{
    int32_t value = 0;

    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int32_t digit = c >= '0' && c <= '9'                     ? c - '0'
                        : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                                 : -1;

        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

struct writer {
    char *p;
    int n_repairs;
};

static void put_codepoint(struct writer *out, int32_t codepoint)
{
    if (codepoint == 0 || (codepoint >= 0xD800 && codepoint <= 0xDFFF)) {
        codepoint = 0xFFFD;
        out->n_repairs++;
    }
    out->p += unicode_put(out->p, codepoint);
}

/* "uXXXX" at p, perhaps the first half of a pair. Returns the place after it, NULL when wrong. */
static const char *decode_unicode(const char *p, const char *end, struct writer *out)
{
    int32_t first = json_hex4(p + 1, end);

    if (first < 0)
        return NULL;
    p += 5;
    if (first >= 0xD800 && first <= 0xDBFF && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
        int32_t second = json_hex4(p + 2, end);

        if (second >= 0xDC00 && second <= 0xDFFF) {
            put_codepoint(out, 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
            return p + 6;
        }
    }
    put_codepoint(out, first);
    return p;
}

/* What follows a backslash at p. */
static const char *decode_escape(const char *p, const char *end, struct writer *out)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";

    if (*p == 'u')
        return decode_unicode(p, end, out);

    const char *hit = *p ? strchr(from, *p) : NULL;

    if (!hit)
        return NULL;
    *out->p++ = to[hit - from];
    return p + 1;
}

static const char *copy_plain(const char *p, const char *end, struct writer *out)
{
    const char *slash = memchr(p, '\\', (size_t)(end - p));
    size_t n = (size_t)((slash ? slash : end) - p);

    memcpy(out->p, p, n);
    out->p += n;
    return p + n;
}

/* As copy_plain, one character at a time: zeros and invalid bytes become U+FFFD. */
static const char *copy_repaired(const char *p, const char *end, struct writer *out)
{
    while (p < end && *p != '\\') {
        int32_t codepoint;
        size_t n = unicode_next(str_from(p, (size_t)(end - p)), &codepoint);

        put_codepoint(out, codepoint < 0 ? 0 : codepoint);
        p += n;
    }
    return p;
}

static int decode_string(struct json_cursor *cursor, const struct raw_string *raw, bool is_clean,
                         struct str *out)
{
    size_t n = (size_t)(raw->end - raw->p);
    /* An escape is never shorter than what it stands for; an invalid byte becomes three. */
    char *text = arena_alloc(cursor->arena, (is_clean ? n : 3 * n) + 1);
    struct writer writer = {.p = text};

    if (!text)
        return json_fail(cursor, raw->p, E_LIMIT, "a string of %zu bytes does not fit", n);
    for (const char *p = raw->p; p < raw->end;) {
        if (*p == '\\') {
            const char *after = decode_escape(p + 1, raw->end, &writer);

            if (!after)
                return json_fail(cursor, p, E_PARSE, "a bad escape in a string");
            p = after;
        } else {
            p = is_clean ? copy_plain(p, raw->end, &writer) : copy_repaired(p, raw->end, &writer);
        }
    }
    *writer.p = '\0';
    cursor->n_repairs += writer.n_repairs;
    *out = str_from(text, (size_t)(writer.p - text));
    return OK;
}

static inline int scan_string(struct json_cursor *cursor, struct json_scalar *out)
{
    struct raw_string raw;
    int rc = find_string(cursor, &raw);

    if (rc != OK)
        return rc;
    out->type = JSON_STRING;
    out->text = str_from(raw.p, (size_t)(raw.end - raw.p));
    out->is_borrowed = true;

    bool is_clean = !raw.has_zeros && (!(raw.high & HIGHS) || unicode_is_valid(out->text));

    if (is_clean && !raw.has_escapes)
        return OK;
    out->is_borrowed = false;
    return decode_string(cursor, &raw, is_clean, &out->text);
}

int json_scan_string(struct json_cursor *cursor, struct json_scalar *out)
{
    out->number = NAN;
    out->is_integer = false;
    return scan_string(cursor, out);
}

/* ---- numbers and words ---- */

static int scan_word(struct json_cursor *cursor, struct json_scalar *out)
{
    static const struct {
        const char *text;
        enum json_type type;
        double number;
    } words[] = {
        {"null", JSON_NULL, NAN},
        {"true", JSON_TRUE, NAN},
        {"false", JSON_FALSE, NAN},
        {"NaN", JSON_NUMBER, NAN},
        {"Infinity", JSON_NUMBER, INFINITY},
        {"-Infinity", JSON_NUMBER, -INFINITY},
    };
    size_t left = (size_t)(cursor->end - cursor->p);

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strlen(words[i].text);

        if (memcmp(cursor->p, words[i].text, n < left ? n : left) != 0)
            continue;
        if (left < n)
            return json_broken_off(cursor, "a word");
        *out = (struct json_scalar){words[i].type, str_from(cursor->p, n), words[i].number, false,
                                    true};
        cursor->p += n;
        return OK;
    }

    unsigned char c = (unsigned char)*cursor->p;

    if (c >= 0x20 && c < 0x7F)
        return json_fail(cursor, cursor->p, E_PARSE, "'%c', expected a value", c);
    return json_fail(cursor, cursor->p, E_PARSE, "byte 0x%02x, expected a value", c);
}

/* The longest tail that may still become part of a number is "e+": with more than that behind it
 * the number is whole. */
static inline int scan_number(struct json_cursor *cursor, struct json_scalar *out)
{
    const char *p = cursor->p;
    size_t n = number_prefix_json(p, cursor->end, &out->number, &out->is_integer);

    if (!cursor->is_final && (n ? cursor->end - (p + n) < 3 : cursor->end - p < 2))
        return json_broken_off(cursor, "a number");
    if (n == 0)
        return scan_word(cursor, out);
    out->type = JSON_NUMBER;
    out->text = str_from(p, n);
    out->is_borrowed = true;
    cursor->p = p + n;
    return OK;
}

static inline int scan_scalar(struct json_cursor *cursor, struct json_scalar *out)
{
    if (cursor->p == cursor->end)
        return json_broken_off(cursor, "the document");

    char c = *cursor->p;

    if (c == '-' || (c >= '0' && c <= '9'))
        return scan_number(cursor, out);
    out->number = NAN;
    out->is_integer = false;
    return c == '"' ? scan_string(cursor, out) : scan_word(cursor, out);
}

int json_scan_scalar(struct json_cursor *cursor, struct json_scalar *out)
{
    return scan_scalar(cursor, out);
}
