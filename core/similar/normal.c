/* See normal.h. */
#include "core/similar/normal.h"

#include "core/base/unicode.h"
#include "core/base/unicode_case.h"
#include "core/base/unicode_norm.h"

/* What Python's str.split parts at, of ASCII. */
static bool is_ascii_space(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

static bool is_ascii(struct str text)
{
    unsigned char all = 0;

    for (size_t i = 0; i < text.n; i++)
        all |= (unsigned char)text.p[i];
    return all < 0x80;
}

/* Most rows: one pass, a chunk at a time. */
static void add_ascii(struct str text, struct buf *out)
{
    bool is_apart = false;
    char chunk[512];
    size_t n = 0, n_out = 0;

    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (is_ascii_space(c)) {
            is_apart = n_out > 0;
            continue;
        }
        if (n + 2 > sizeof chunk) {
            buf_add(out, chunk, n);
            n = 0;
        }
        if (is_apart)
            chunk[n++] = ' ';
        is_apart = false;
        chunk[n++] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
        n_out++;
    }
    buf_add(out, chunk, n);
}

static void add_lower(struct str text, struct buf *out)
{
    bool is_apart = false;

    for (size_t at = 0; at < text.n;) {
        int32_t c, lower[3];

        at += unicode_next(str_skip(text, at), &c);
        if (unicode_is_space(c)) {
            is_apart = out->n > 0;
            continue;
        }
        if (is_apart)
            buf_putc(out, ' ');
        is_apart = false;
        int n = unicode_lower(c, lower);
        for (int i = 0; i < n; i++) {
            char bytes[4];

            buf_add(out, bytes, unicode_put(bytes, lower[i]));
        }
    }
}

int normal_text(struct str text, struct buf *out, struct error *err)
{
    struct buf valid, composed;
    int rc = OK;

    buf_clear(out);
    if (is_ascii(text)) {
        add_ascii(text, out);
    } else {
        buf_init(&valid, SIZE_MAX / 2);
        buf_init(&composed, SIZE_MAX / 2);
        unicode_valid(&valid, text);
        rc = valid.failed ? error_set(err, E_NOMEM, "no memory for a text of %zu bytes", text.n)
                          : unicode_nfkc(buf_view(&valid), &composed, err);
        if (rc == OK)
            add_lower(buf_view(&composed), out);
        buf_free(&composed);
        buf_free(&valid);
    }
    if (rc == OK && out->failed)
        rc = out->limit > text.n
                 ? error_set(err, E_NOMEM, "no memory for a text")
                 : error_set(err, E_LIMIT, "a text of %zu bytes is above %zu", text.n, out->limit);
    return rc;
}
