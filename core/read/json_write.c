/* JSON from trees and values. See json.h. Exact: numbers are their source text or their repr. */
#include "core/read/json.h"

#include <math.h>

#include "core/base/number.h"
#include "core/base/unicode.h"

static void put_escaped(struct buf *out, unsigned char c)
{
    static const char plain[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
                                 ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};

    if (c < sizeof plain && plain[c]) {
        buf_putc(out, '\\');
        buf_putc(out, plain[c]);
    } else {
        buf_printf(out, "\\u%04x", (unsigned)c);
    }
}

/* As an escape: a reader of the JSON gets it back, a terminal never sees it. */
static void put_codepoint(struct buf *out, int32_t codepoint)
{
    if (codepoint < 0)
        buf_puts(out, "\xEF\xBF\xBD");
    else if (codepoint < 0x80)
        put_escaped(out, (unsigned char)codepoint);
    else if (codepoint < 0x10000)
        buf_printf(out, "\\u%04x", (unsigned)codepoint);
    else
        buf_printf(out, "\\u%04x\\u%04x", 0xD7C0 + ((unsigned)codepoint >> 10),
                   0xDC00 + ((unsigned)codepoint & 0x3FF));
}

static void write_string(struct buf *out, struct str text, bool (*is_escaped)(int32_t))
{
    size_t from = 0;

    buf_putc(out, '"');
    for (size_t i = 0; i < text.n;) {
        unsigned char c = (unsigned char)text.p[i];
        int32_t codepoint = c;
        size_t n = c < 0x80 ? 1 : unicode_next(str_skip(text, i), &codepoint);

        if (is_escaped(codepoint) || c == '"' || c == '\\') {
            buf_add(out, text.p + from, i - from);
            put_codepoint(out, codepoint);
            from = i + n;
        }
        i += n;
    }
    if (text.n > from)
        buf_add(out, text.p + from, text.n - from);
    buf_putc(out, '"');
}

void json_write_string(struct buf *out, struct str text)
{
    write_string(out, text, unicode_is_hostile);
}

static bool must_be_escaped(int32_t codepoint)
{
    return codepoint < 0x20;
}

void json_write_number(struct buf *out, double value)
{
    char text[32];

    if (isnan(value)) {
        buf_puts(out, "\"NaN\"");
    } else if (isinf(value)) {
        buf_puts(out, value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    } else {
        number_repr(text, value);
        buf_puts(out, text);
    }
}

/* Python reads an integer as it stands and a float as a double; so are they given back. */
static void write_number(struct buf *out, const struct json *value)
{
    char text[32];

    if (value->is_integer && value->text.n) {
        buf_str(out, str_is(value->text, "-0") ? str_of("0") : value->text);
    } else if (isnan(value->number)) {
        buf_puts(out, "NaN");
    } else if (isinf(value->number)) {
        buf_puts(out, value->number > 0 ? "Infinity" : "-Infinity");
    } else {
        number_repr(text, value->number);
        buf_puts(out, text);
    }
}

static void write_children(struct buf *out, const struct json *value)
{
    bool is_object = value->type == JSON_OBJECT;

    buf_putc(out, is_object ? '{' : '[');
    for (const struct json *child = value->child; child; child = child->next) {
        if (child != value->child)
            buf_putc(out, ',');
        if (is_object) {
            write_string(out, child->key, must_be_escaped);
            buf_putc(out, ':');
        }
        json_write(out, child);
    }
    buf_putc(out, is_object ? '}' : ']');
}

void json_write(struct buf *out, const struct json *value)
{
    switch (value->type) {
    case JSON_NULL:
        buf_puts(out, "null");
        break;
    case JSON_FALSE:
        buf_puts(out, "false");
        break;
    case JSON_TRUE:
        buf_puts(out, "true");
        break;
    case JSON_NUMBER:
        write_number(out, value);
        break;
    case JSON_STRING:
        write_string(out, value->text, must_be_escaped);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        write_children(out, value);
        break;
    }
}
