/* Texts and characters between quotes as Go's strconv writes them, and literals of Go's source read
 * back. */
#include <stdio.h>

#include "core/base/unicode.h"
#include "core/base/unicode_case.h"
#include "core/text/go/go_parts.h"

/* ---- writing ---- */

static void put_escaped(struct buf *out, int32_t c, char quote, bool ascii)
{
    static const char LETTERS[] = "abtnvfr"; /* of 7 … 13 */
    char bytes[4];

    if (c == (unsigned char)quote || c == '\\') {
        buf_putc(out, '\\');
        buf_putc(out, (char)c);
    } else if (unicode_is_printable(c) && (c < 0x80 || !ascii)) {
        buf_add(out, bytes, unicode_put(bytes, c));
    } else if (c >= 7 && c <= 13) {
        buf_putc(out, '\\');
        buf_putc(out, LETTERS[c - 7]);
    } else if (c < ' ' || c == 0x7F) {
        buf_printf(out, "\\x%02x", (unsigned)c);
    } else {
        buf_printf(out, c < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)c);
    }
}

void go_quote(struct buf *out, struct str text, char quote, bool ascii)
{
    buf_putc(out, quote);
    while (text.n > 0) {
        int32_t c;
        size_t n = unicode_next(text, &c);

        if (c < 0)
            buf_printf(out, "\\x%02x", (unsigned)(unsigned char)text.p[0]);
        else
            put_escaped(out, c, quote, ascii);
        text = str_skip(text, n);
    }
    buf_putc(out, quote);
}

void go_quote_rune(struct buf *out, int32_t rune, bool ascii)
{
    char bytes[4];

    buf_putc(out, '\'');
    put_escaped(out, unicode_put(bytes, rune) ? rune : 0xFFFD, '\'', ascii);
    buf_putc(out, '\'');
}

/* ---- reading ---- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* n digits of a base behind the escape's letter. */
static bool read_digits(struct str *text, size_t n, int base, uint32_t *out)
{
    uint32_t value = 0;

    if (text->n < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        int digit = hex_value(text->p[i]);

        if (digit < 0 || digit >= base)
            return false;
        value = value * (uint32_t)base + (uint32_t)digit;
    }
    *text = str_skip(*text, n);
    *out = value;
    return true;
}

/* What stands behind a backslash. *is_byte: the value is one byte, not a code point. */
static bool read_escape(struct str *text, char quote, uint32_t *out, bool *is_byte)
{
    static const char NAMES[] = "abtnvfr";
    char c = text->p[0], bytes[4];
    const char *found = c ? strchr(NAMES, c) : NULL;

    *is_byte = c == 'x' || (c >= '0' && c <= '7');
    if (c >= '0' && c <= '7')
        return read_digits(text, 3, 8, out) && *out <= 255;
    *text = str_skip(*text, 1);
    if (c == 'x')
        return read_digits(text, 2, 16, out);
    if (c == 'u' || c == 'U')
        return read_digits(text, c == 'u' ? 4 : 8, 16, out) && *out <= 0x10FFFF &&
               unicode_put(bytes, (int32_t)*out) > 0;
    *out = found ? 7 + (uint32_t)(found - NAMES) : (uint32_t)(unsigned char)c;
    return found || c == '\\' || c == quote;
}

static bool read_interpreted(struct str text, char quote, struct buf *out, size_t *n_runes)
{
    for (*n_runes = 0; text.n > 0; ++*n_runes) {
        bool is_byte = false;
        uint32_t value;
        int32_t c;
        char bytes[4];

        if (text.p[0] == quote || text.p[0] == '\n')
            return false;
        size_t n = unicode_next(text, &c);

        text = str_skip(text, n);
        value = c < 0 ? 0xFFFD : (uint32_t)c;
        if (c == '\\' && (text.n == 0 || !read_escape(&text, quote, &value, &is_byte)))
            return false;
        if (is_byte)
            buf_putc(out, (char)value);
        else
            buf_add(out, bytes, unicode_put(bytes, (int32_t)value));
    }
    return true;
}

bool go_unquote(struct str literal, struct arena *arena, struct str *out)
{
    struct buf text;
    size_t n_runes;
    bool is_good;

    if (literal.n < 2 || literal.p[0] != literal.p[literal.n - 1])
        return false;
    struct str inner = str_from(literal.p + 1, literal.n - 2);

    buf_init(&text, inner.n * 3 + 1);
    if (literal.p[0] == '`') {
        for (size_t i = 0; i < inner.n; i++)
            if (inner.p[i] != '\r')
                buf_putc(&text, inner.p[i]);
        is_good = true;
    } else {
        is_good = read_interpreted(inner, literal.p[0], &text, &n_runes) &&
                  (literal.p[0] != '\'' || n_runes == 1);
    }
    if (is_good)
        *out = arena_str(arena, buf_view(&text));
    is_good &= !text.failed;
    buf_free(&text);
    return is_good;
}
