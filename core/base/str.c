/* Text as bytes with a length. See str.h. */
#include "core/base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static char empty_text[1];   /* what a fresh buf points to; never written */

bool str_is_ignoring_case(struct str a, const char *text)
{
    return a.n == strlen(text) && (a.n == 0 || strncasecmp(a.p, text, a.n) == 0);
}

ptrdiff_t str_find(struct str text, const char *needle)
{
    size_t n = strlen(needle);

    if (n == 0)
        return 0;
    for (size_t i = 0; i + n <= text.n; i++) {
        const char *hit = memchr(text.p + i, needle[0], text.n - n - i + 1);

        if (!hit)
            return -1;
        i = (size_t)(hit - text.p);
        if (memcmp(hit, needle, n) == 0)
            return (ptrdiff_t)i;
    }
    return -1;
}

bool str_has_ignoring_case(struct str text, const char *needle)
{
    size_t n = strlen(needle);

    for (size_t i = 0; i + n <= text.n; i++)
        if (strncasecmp(text.p + i, needle, n) == 0)
            return true;
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim(struct str text)
{
    while (text.n && is_blank(text.p[0]))
        text = str_skip(text, 1);
    while (text.n && is_blank(text.p[text.n - 1]))
        text.n--;
    return text;
}

bool str_split(struct str *rest, char separator, struct str *part)
{
    if (!rest->p)
        return false;

    const char *hit = rest->n ? memchr(rest->p, separator, rest->n) : NULL;

    if (!hit) {
        *part = *rest;
        *rest = (struct str){NULL, 0};
        return true;
    }
    *part = str_from(rest->p, (size_t)(hit - rest->p));
    *rest = str_skip(*rest, part->n + 1);
    return true;
}

int str_compare(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.p, b.p, n) : 0;

    return order ? order : (a.n > b.n) - (a.n < b.n);
}

void buf_init(struct buf *buf, size_t limit_bytes)
{
    *buf = (struct buf){.p = empty_text, .limit = limit_bytes};
}

void buf_free(struct buf *buf)
{
    if (buf->capacity)
        free(buf->p);
    buf_init(buf, buf->limit);
}

void buf_clear(struct buf *buf)
{
    buf->n = 0;
    buf->failed = false;
    if (buf->capacity)
        buf->p[0] = '\0';
}

static bool reserve(struct buf *buf, size_t extra)
{
    if (buf->failed)
        return false;
    if (extra > buf->limit - buf->n) {
        buf->failed = true;
        return false;
    }

    size_t need = buf->n + extra + 1;

    if (need <= buf->capacity)
        return true;

    size_t capacity = buf->capacity ? buf->capacity : 64;

    while (capacity < need)
        capacity = capacity > SIZE_MAX / 2 ? need : capacity * 2;

    char *grown = realloc(buf->capacity ? buf->p : NULL, capacity);

    if (!grown) {
        buf->failed = true;
        return false;
    }
    buf->p = grown;
    buf->capacity = capacity;
    return true;
}

void buf_add(struct buf *buf, const void *bytes, size_t n)
{
    if (n == 0 || !reserve(buf, n))
        return;
    memcpy(buf->p + buf->n, bytes, n);
    buf->n += n;
    buf->p[buf->n] = '\0';
}

void buf_str(struct buf *buf, struct str text)
{
    buf_add(buf, text.p, text.n);
}

void buf_puts(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

void buf_putc(struct buf *buf, char c)
{
    buf_add(buf, &c, 1);
}

void buf_repeat(struct buf *buf, char c, size_t n)
{
    if (n == 0 || !reserve(buf, n))
        return;
    memset(buf->p + buf->n, c, n);
    buf->n += n;
    buf->p[buf->n] = '\0';
}

void buf_vprintf(struct buf *buf, const char *fmt, va_list args)
{
    va_list again;

    va_copy(again, args);

    int n = vsnprintf(NULL, 0, fmt, args);

    if (n > 0 && reserve(buf, (size_t)n)) {
        vsnprintf(buf->p + buf->n, (size_t)n + 1, fmt, again);
        buf->n += (size_t)n;
    }
    va_end(again);
}

void buf_printf(struct buf *buf, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    buf_vprintf(buf, fmt, args);
    va_end(args);
}

struct str buf_view(const struct buf *buf)
{
    return (struct str){buf->p, buf->n};
}

char *buf_steal(struct buf *buf)
{
    char *out = NULL;

    if (!buf->failed && reserve(buf, 0)) {
        out = buf->p;
        out[buf->n] = '\0';
        buf_init(buf, buf->limit);
        return out;
    }
    buf_free(buf);
    return NULL;
}
