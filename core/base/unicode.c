/* UTF-8 steps, and making hostile text harmless. See unicode.h.
 *
 * The steps are our own (a table-free decoder); the library is asked only for the category of a
 * code point. */
#include "core/base/unicode.h"

#include <string.h>
#include <utf8proc.h>

#define REPLACEMENT "\xEF\xBF\xBD"

static inline bool is_tail(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

static inline size_t invalid(int32_t *codepoint)
{
    *codepoint = -1;
    return 1;
}

size_t unicode_next(struct str text, int32_t *codepoint)
{
    unsigned char first = (unsigned char)text.p[0];
    size_t n = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    static const int32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};

    if (first < 0x80) {
        *codepoint = first;
        return 1;
    }
    if (first < 0xC2 || first > 0xF4 || text.n < n)
        return invalid(codepoint);

    int32_t value = first & (0xFF >> (n + 1));

    for (size_t i = 1; i < n; i++) {
        if (!is_tail(text.p[i]))
            return invalid(codepoint);
        value = (value << 6) | (text.p[i] & 0x3F);
    }
    if (value < smallest[n] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        return invalid(codepoint);
    *codepoint = value;
    return n;
}

size_t unicode_put(char out[4], int32_t codepoint)
{
    if (codepoint < 0 || codepoint > 0x10FFFF || (codepoint >= 0xD800 && codepoint <= 0xDFFF))
        return 0;
    if (codepoint < 0x80) {
        out[0] = (char)codepoint;
        return 1;
    }

    size_t n = codepoint < 0x800 ? 2 : codepoint < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};

    for (size_t i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (codepoint & 0x3F));
        codepoint >>= 6;
    }
    out[0] = (char)(lead[n] | codepoint);
    return n;
}

/* Bytes at the start that are plain ASCII, eight at a time. */
static size_t ascii_run(struct str text)
{
    size_t i = 0;

    for (uint64_t word; i + 8 <= text.n; i += 8) {
        memcpy(&word, text.p + i, 8);
        if (word & UINT64_C(0x8080808080808080))
            break;
    }
    while (i < text.n && (unsigned char)text.p[i] < 0x80)
        i++;
    return i;
}

bool unicode_is_valid(struct str text)
{
    int32_t codepoint;

    for (;;) {
        text = str_skip(text, ascii_run(text));
        if (text.n == 0)
            return true;
        while (text.n && (unsigned char)text.p[0] >= 0x80) {
            text = str_skip(text, unicode_next(text, &codepoint));
            if (codepoint < 0)
                return false;
        }
    }
}

size_t unicode_count(struct str text)
{
    size_t n = 0;
    int32_t codepoint;

    while (text.n) {
        size_t plain = ascii_run(text);

        n += plain;
        text = str_skip(text, plain);
        if (text.n) {
            text = str_skip(text, unicode_next(text, &codepoint));
            n++;
        }
    }
    return n;
}

bool unicode_is_hostile(int32_t codepoint)
{
    if (codepoint >= 0x20 && codepoint < 0x7F)
        return false;
    if (codepoint < 0)
        return true;

    utf8proc_category_t category = utf8proc_category(codepoint);

    /* Cf: bidi controls, zero width, soft hyphen, tags. */
    return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
           category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

static void put_visible(struct buf *out, struct str bytes, int32_t codepoint, bool keep_newlines)
{
    if (codepoint == '\n' && !keep_newlines)
        buf_puts(out, "\\n");
    else if (codepoint == '\t' && !keep_newlines)
        buf_putc(out, ' ');
    else if (codepoint == '\n' || codepoint == '\t')
        buf_str(out, bytes);
    else if (codepoint < 0x80)
        buf_printf(out, "<0x%02X>", (unsigned)(unsigned char)bytes.p[0]);
    else
        buf_printf(out, "<U+%04X>", (unsigned)codepoint);
}

void unicode_visible(struct buf *out, struct str text, bool keep_newlines)
{
    size_t from = 0, i = 0;

    while (i < text.n) {
        int32_t codepoint;
        size_t n = unicode_next(str_skip(text, i), &codepoint);

        if (unicode_is_hostile(codepoint)) {
            buf_add(out, text.p + from, i - from);
            put_visible(out, str_from(text.p + i, n), codepoint, keep_newlines);
            from = i + n;
        }
        i += n;
    }
    if (from < text.n)
        buf_add(out, text.p + from, text.n - from);
}

void unicode_valid(struct buf *out, struct str text)
{
    size_t from = 0, i = 0;

    while (i < text.n) {
        int32_t codepoint;
        size_t n = unicode_next(str_skip(text, i), &codepoint);

        if (codepoint < 0) {
            buf_add(out, text.p + from, i - from);
            buf_puts(out, REPLACEMENT);
            from = i + n;
        }
        i += n;
    }
    if (from < text.n)
        buf_add(out, text.p + from, text.n - from);
}

struct str unicode_cut(struct str text, size_t n_bytes)
{
    if (n_bytes >= text.n)
        return text;

    /* Step back over at most three tail bytes, to before a character that would be split. */
    size_t cut = n_bytes;

    while (cut > 0 && n_bytes - cut < 3 && is_tail(text.p[cut]))
        cut--;

    int32_t codepoint;
    size_t n = unicode_next(str_skip(text, cut), &codepoint);

    return str_first(text, codepoint >= 0 && cut + n > n_bytes ? cut : n_bytes);
}
