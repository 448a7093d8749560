/* html, js and urlquery: what Go's template functions escape, byte by byte. */
#include <stdio.h>

#include "core/base/unicode.h"
#include "core/base/unicode_case.h"
#include "core/text/go/go_parts.h"

void go_escape_html(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        switch (text.p[i]) {
        case '\0':
            buf_puts(out, "\xEF\xBF\xBD");
            break;
        case '"':
            buf_puts(out, "&#34;");
            break;
        case '\'':
            buf_puts(out, "&#39;");
            break;
        case '&':
            buf_puts(out, "&amp;");
            break;
        case '<':
            buf_puts(out, "&lt;");
            break;
        case '>':
            buf_puts(out, "&gt;");
            break;
        default:
            buf_putc(out, text.p[i]);
        }
    }
}

static void put_js(struct buf *out, struct str bytes, int32_t c)
{
    if (c == '\\' || c == '\'' || c == '"') {
        buf_putc(out, '\\');
        buf_putc(out, (char)c);
    } else if (c >= 0 && c < 0x80 && (c < ' ' || strchr("<>&=", c))) {
        buf_printf(out, "\\u%04X", (unsigned)c);
    } else if (c < 0 || (c >= 0x80 && !unicode_is_printable(c))) {
        if (c < 0) /* an invalid byte is U+FFFD, which is printable: it stays */
            buf_str(out, bytes);
        else
            buf_printf(out, "\\u%04X", (unsigned)c);
    } else {
        buf_str(out, bytes);
    }
}

void go_escape_js(struct buf *out, struct str text)
{
    while (text.n > 0) {
        int32_t c;
        size_t n = unicode_next(text, &c);

        put_js(out, str_first(text, n), c);
        text = str_skip(text, n);
    }
}

void go_escape_query(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || (c && strchr("-_.~", c));

        if (is_plain)
            buf_putc(out, (char)c);
        else if (c == ' ')
            buf_putc(out, '+');
        else
            buf_printf(out, "%%%02X", c);
    }
}
