/* Text as bytes with a length.
 *
 * `struct str` borrows; it need not be NUL-terminated. `struct buf` owns a growing text that
 * is always NUL-terminated, bounded by `limit`, and fails once for all: after a failed append
 * it keeps what it had, ignores later appends, and `failed` is set. Append freely, check once.
 * UTF-8 inside; lengths here are bytes (n_bytes), never characters or cells. */
#ifndef CORE_BASE_STR_H
#define CORE_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/error.h"

struct str {
    const char *p;
    size_t n;
};

/* The small ones stand here, so that a comparison with a constant text becomes a few instructions:
 * readers make some for every few bytes of a log. */

static inline struct str str_of(const char *text)            /* NULL gives an empty str */
{
    return (struct str){text ? text : "", text ? strlen(text) : 0};
}

static inline struct str str_from(const char *p, size_t n)
{
    return (struct str){p, n};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_is(struct str a, const char *text)
{
    return str_eq(a, str_of(text));
}

static inline bool str_starts(struct str a, const char *prefix)
{
    size_t n = strlen(prefix);

    return a.n >= n && (n == 0 || memcmp(a.p, prefix, n) == 0);
}

static inline bool str_ends(struct str a, const char *suffix)
{
    size_t n = strlen(suffix);

    return a.n >= n && (n == 0 || memcmp(a.p + a.n - n, suffix, n) == 0);
}

static inline struct str str_skip(struct str text, size_t n) /* without the first n bytes */
{
    if (n > text.n)
        n = text.n;
    return (struct str){text.p + n, text.n - n};
}

static inline struct str str_first(struct str text, size_t n) /* the first n bytes at most */
{
    return (struct str){text.p, n < text.n ? n : text.n};
}

bool str_is_ignoring_case(struct str a, const char *text);   /* ASCII case */
/* Offset of the first occurrence, or -1. */
ptrdiff_t str_find(struct str text, const char *needle);
bool str_has_ignoring_case(struct str text, const char *needle);
struct str str_trim(struct str text);                        /* ASCII white space, both ends */
/* Takes the part before `separator` off *rest; false when *rest is used up. */
bool str_split(struct str *rest, char separator, struct str *part);
int str_compare(struct str a, struct str b);                 /* bytewise, for sorting */

struct buf {
    char *p;            /* NUL-terminated; "" in a fresh buf */
    size_t n;           /* bytes before the NUL */
    size_t capacity;    /* 0: nothing allocated yet */
    size_t limit;       /* n never exceeds it */
    bool failed;        /* out of memory, or the limit would be passed */
};

void buf_init(struct buf *buf, size_t limit_bytes);
void buf_free(struct buf *buf);
void buf_clear(struct buf *buf);                             /* keeps the memory, resets failed */
void buf_add(struct buf *buf, const void *bytes, size_t n);
void buf_str(struct buf *buf, struct str text);
void buf_puts(struct buf *buf, const char *text);
void buf_putc(struct buf *buf, char c);
void buf_repeat(struct buf *buf, char c, size_t n);
void buf_printf(struct buf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_vprintf(struct buf *buf, const char *fmt, va_list args) PRINTF_LIKE(2, 0);
struct str buf_view(const struct buf *buf);                  /* borrowed until the next append */
/* Gives the text away (free() it); NULL when failed. The buf is empty afterwards. */
char *buf_steal(struct buf *buf);

#endif
