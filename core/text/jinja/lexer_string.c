/* String literals of templates: Python's escapes, by way of Jinja2's detour over unicode-escape.
 * See jinja_parts.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/compiler.h"

struct str jinja_lex_string(struct compiler *c, struct str raw, int line);

struct decoder {
    struct compiler *c;
    const char *p, *end;
    char *out;
    int line;
};

/* The characters that templates are likely to call by name; the whole list of Unicode's names is
 * not in the program. */
static const struct {
    const char *name;
    int32_t codepoint;
} names[] = {
    {"BULLET", 0x2022},
    {"EN DASH", 0x2013},
    {"EM DASH", 0x2014},
    {"HORIZONTAL ELLIPSIS", 0x2026},
    {"NO-BREAK SPACE", 0xA0},
    {"ZERO WIDTH SPACE", 0x200B},
    {"ZERO WIDTH JOINER", 0x200D},
    {"ZERO WIDTH NON-JOINER", 0x200C},
    {"ZERO WIDTH NO-BREAK SPACE", 0xFEFF},
    {"LEFT SINGLE QUOTATION MARK", 0x2018},
    {"RIGHT SINGLE QUOTATION MARK", 0x2019},
    {"LEFT DOUBLE QUOTATION MARK", 0x201C},
    {"RIGHT DOUBLE QUOTATION MARK", 0x201D},
    {"FULLWIDTH VERTICAL LINE", 0xFF5C},
    {"LOWER ONE EIGHTH BLOCK", 0x2581},
    {"SPACE", 0x20},
    {"LINE FEED", 0x0A},
    {"CARRIAGE RETURN", 0x0D},
    {"CHARACTER TABULATION", 0x09},
    {"NULL", 0},
    {"APOSTROPHE", 0x27},
    {"QUOTATION MARK", 0x22},
    {"REVERSE SOLIDUS", 0x5C},
    {"SOLIDUS", 0x2F},
    {"LESS-THAN SIGN", 0x3C},
    {"GREATER-THAN SIGN", 0x3E},
    {"LEFT CURLY BRACKET", 0x7B},
    {"RIGHT CURLY BRACKET", 0x7D},
    {"VERTICAL LINE", 0x7C},
    {"RIGHTWARDS ARROW", 0x2192},
    {"LEFTWARDS ARROW", 0x2190},
    {"CHECK MARK", 0x2713},
    {"LINE SEPARATOR", 0x2028},
    {"PARAGRAPH SEPARATOR", 0x2029},
    {"IDEOGRAPHIC SPACE", 0x3000},
    {"REPLACEMENT CHARACTER", 0xFFFD},
    {"MIDDLE DOT", 0xB7},
    {"DEGREE SIGN", 0xB0},
    {"COPYRIGHT SIGN", 0xA9},
    {"SNOWMAN", 0x2603},
};

static void put(struct decoder *d, int32_t codepoint)
{
    if (codepoint < 0x80) {
        *d->out++ = (char)codepoint;
        return;
    }
    if (codepoint < 0x800) {
        *d->out++ = (char)(0xC0 | codepoint >> 6);
    } else {
        if (codepoint < 0x10000) {
            *d->out++ = (char)(0xE0 | codepoint >> 12);
        } else {
            *d->out++ = (char)(0xF0 | codepoint >> 18);
            *d->out++ = (char)(0x80 | (codepoint >> 12 & 0x3F));
        }
        *d->out++ = (char)(0x80 | (codepoint >> 6 & 0x3F));
    }
    *d->out++ = (char)(0x80 | (codepoint & 0x3F));
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

static void decode_hex(struct decoder *d, int n_digits)
{
    int64_t value = 0;

    for (int i = 0; i < n_digits; i++) {
        int digit = d->p < d->end ? hex_digit(*d->p) : -1;

        if (digit < 0)
            jinja_compiler_fail(d->c, d->line, "truncated \\x, \\u or \\U escape in a string");
        value = value * 16 + digit;
        d->p++;
    }
    if (value > 0x10FFFF)
        jinja_compiler_fail(d->c, d->line, "illegal Unicode character in a string");
    put(d, (int32_t)value);
}

static void decode_octal(struct decoder *d, char first)
{
    int32_t value = first - '0';

    for (int i = 0; i < 2 && d->p < d->end && *d->p >= '0' && *d->p <= '7'; i++)
        value = value * 8 + (*d->p++ - '0');
    put(d, value);
}

static void decode_name(struct decoder *d)
{
    const char *close =
        d->p < d->end && *d->p == '{' ? memchr(d->p, '}', (size_t)(d->end - d->p)) : NULL;

    if (!close)
        jinja_compiler_fail(d->c, d->line, "malformed \\N character escape");

    struct str name = str_from(d->p + 1, (size_t)(close - d->p) - 1);

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (str_is_ignoring_case(name, names[i].name)) {
            put(d, names[i].codepoint);
            d->p = close + 1;
            return;
        }
    jinja_compiler_fail(d->c, d->line, "a character name that is not known here: %.*s",
                        (int)(name.n < 80 ? name.n : 80), name.p);
}

/* A backslash before a character that is not ASCII: the detour has made \xe9 of the character
 * before escapes are read, so that the backslashes pair up and the digits stay. */
static void decode_detour(struct decoder *d)
{
    int32_t codepoint;
    size_t n = jinja_text_step(str_from(d->p, (size_t)(d->end - d->p)), &codepoint);
    char digits[16];
    int length = snprintf(digits, sizeof digits,
                          codepoint < 0x100     ? "\\x%02x"
                          : codepoint < 0x10000 ? "\\u%04x"
                                                : "\\U%08x",
                          (unsigned)codepoint);

    memcpy(d->out, digits, (size_t)length);
    d->out += length;
    d->p += n;
}

static void decode_escape(struct decoder *d)
{
    static const char from[] = "\\'\"abfnrtv";
    static const char to[] = "\\'\"\a\b\f\n\r\t\v";

    if ((unsigned char)*d->p >= 0x80) {
        decode_detour(d);
        return;
    }

    char c = *d->p++;
    const char *hit = c ? strchr(from, c) : NULL;

    if (hit)
        *d->out++ = to[hit - from];
    else if (c >= '0' && c <= '7')
        decode_octal(d, c);
    else if (c == 'x')
        decode_hex(d, 2);
    else if (c == 'u')
        decode_hex(d, 4);
    else if (c == 'U')
        decode_hex(d, 8);
    else if (c == 'N')
        decode_name(d);
    else if (c != '\n') {
        *d->out++ = '\\';
        *d->out++ = c;
    }
}

/* The text of a literal without its quotes: as it is when it has no escapes. */
struct str jinja_lex_string(struct compiler *c, struct str raw, int line)
{
    if (!memchr(raw.p, '\\', raw.n))
        return raw;

    char *out =
        jinja_compiler_take(c, raw.n * 3 + 1, 1); /* the detour makes eleven bytes of five */
    struct decoder d = {c, raw.p, raw.p + raw.n, out, line};

    while (d.p < d.end) {
        if (*d.p == '\\' && d.p + 1 < d.end) {
            d.p++;
            decode_escape(&d);
        } else {
            *d.out++ = *d.p++;
        }
    }
    return str_from(out, (size_t)(d.out - out));
}
