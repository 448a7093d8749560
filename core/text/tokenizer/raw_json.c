/* Strings and numbers of long lists, without a tree. See raw_json.h. */
#include "core/text/tokenizer/raw_json.h"

#include <math.h>

#include "core/base/unicode.h"

/* E_PARSE with the byte where the reader stands. */
static int raw_fail(struct raw_json *raw, const char *expected)
{
    int rc = error_set(raw->err, E_PARSE, "%s: expected %s", raw->what, expected);

    error_at(raw->err, NULL, NONE, raw->p - raw->begin);
    return rc;
}

char raw_peek(struct raw_json *raw)
{
    while (raw->p < raw->end &&
           (*raw->p == ' ' || *raw->p == '\n' || *raw->p == '\r' || *raw->p == '\t'))
        raw->p++;
    return raw->p < raw->end ? *raw->p : '\0';
}

int raw_take(struct raw_json *raw, char c)
{
    const char expected[] = {'\'', c, '\'', '\0'};

    if (raw_peek(raw) != c || raw->p == raw->end)
        return raw_fail(raw, expected);
    raw->p++;
    return OK;
}

int raw_next(struct raw_json *raw, char closing, bool *more)
{
    const char expected[] = {'\'', ',', '\'', ' ', 'o', 'r', ' ', '\'', closing, '\'', '\0'};
    char c = raw_peek(raw);

    if (raw->p == raw->end || (c != ',' && c != closing))
        return raw_fail(raw, expected);
    raw->p++;
    *more = c == ',';
    return OK;
}

/* ---- strings ---- */

/* The first byte that is not plain ASCII of a string: a quote, a backslash, a control character, or
 * one of 0x80 and above. */
static inline const char *plain_end(const char *p, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = UINT64_C(0x8080808080808080);

    while (end - p >= 8) {
        uint64_t word;

        memcpy(&word, p, 8);

        uint64_t quote = word ^ (ones * '"'), slash = word ^ (ones * '\\');
        uint64_t hit = ((quote - ones) & ~quote) | ((slash - ones) & ~slash) |
                       ((word - ones * 0x20) & ~word) | word;

        if (hit & highs)
            break;
        p += 8;
    }
    while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' &&
           *p != '\\')
        p++;
    return p;
}

/* Past valid UTF-8 that is not ASCII, or NULL. */
static const char *wide_end(const char *p, const char *end)
{
    while (p < end && (unsigned char)*p >= 0x80) {
        int32_t codepoint;
        size_t n = unicode_next(str_from(p, (size_t)(end - p)), &codepoint);

        if (codepoint < 0)
            return NULL;
        p += n;
    }
    return p;
}

static int32_t hex4(const char *p, const char *end)
{
    int32_t value = 0;

    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = p[i], low = (char)(c | 0x20);

        if (c >= '0' && c <= '9')
            value = value * 16 + (c - '0');
        else if (low >= 'a' && low <= 'f')
            value = value * 16 + (low - 'a' + 10);
        else
            return -1;
    }
    return value;
}

/* At the 'u' of \uXXXX; takes the second half of a pair too. */
static int unicode_escape(struct raw_json *raw, char **room)
{
    int32_t codepoint = hex4(raw->p + 1, raw->end);

    if (codepoint < 0)
        return raw_fail(raw, "four hexadecimal digits after \\u");
    raw->p += 5;
    if (codepoint >= 0xD800 && codepoint < 0xDC00) {
        int32_t low = raw->end - raw->p >= 6 && raw->p[0] == '\\' && raw->p[1] == 'u'
                          ? hex4(raw->p + 2, raw->end)
                          : -1;

        if (low < 0xDC00 || low > 0xDFFF)
            return raw_fail(raw, "the second half of a surrogate pair");
        codepoint = 0x10000 + ((codepoint - 0xD800) << 10) + (low - 0xDC00);
        raw->p += 6;
    } else if (codepoint >= 0xDC00 && codepoint < 0xE000) {
        return raw_fail(raw, "no lone surrogate");
    }
    *room += unicode_put(*room, codepoint);
    return OK;
}

/* At the byte after the backslash. */
static int escape(struct raw_json *raw, char **room)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = raw->p < raw->end ? *raw->p : '\0';

    if (c == 'u')
        return unicode_escape(raw, room);

    const char *name = c ? strchr(names, c) : NULL;

    if (!name)
        return raw_fail(raw, "an escape of JSON");
    *(*room)++ = values[name - names];
    raw->p++;
    return OK;
}

/* The string from `begin` on has an escape at p. */
static int decode_string(struct raw_json *raw, const char *begin, char **room, struct str *out)
{
    char *first = *room;

    for (;;) {
        size_t n = (size_t)(raw->p - begin);

        memcpy(*room, begin, n);
        *room += n;
        if (raw->p == raw->end || (unsigned char)*raw->p < 0x20)
            return raw_fail(raw, "the end of a string");
        if (*raw->p == '"')
            break;
        if (*raw->p == '\\') {
            raw->p++;

            int rc = escape(raw, room);

            if (rc != OK)
                return rc;
        }
        begin = raw->p;
        raw->p = plain_end(raw->p, raw->end);

        const char *wide = wide_end(raw->p, raw->end);

        if (!wide)
            return raw_fail(raw, "valid UTF-8");
        raw->p = wide;
    }
    raw->p++;
    *out = str_from(first, (size_t)(*room - first));
    return OK;
}

int raw_string(struct raw_json *raw, char **room, struct str *out)
{
    if (raw_peek(raw) != '"')
        return raw_fail(raw, "a string");

    const char *begin = ++raw->p;

    for (;;) {
        raw->p = plain_end(raw->p, raw->end);
        if (raw->p < raw->end && *raw->p == '"') {
            *out = str_from(begin, (size_t)(raw->p++ - begin));
            return OK;
        }
        if (raw->p == raw->end || (unsigned char)*raw->p < 0x80)
            return decode_string(raw, begin, room, out);

        const char *wide = wide_end(raw->p, raw->end);

        if (!wide)
            return raw_fail(raw, "valid UTF-8");
        raw->p = wide;
    }
}

/* ---- numbers ---- */

static bool is_digit(const struct raw_json *raw)
{
    return raw->p < raw->end && *raw->p >= '0' && *raw->p <= '9';
}

int raw_id(struct raw_json *raw, uint32_t *out)
{
    uint64_t value = 0;

    raw_peek(raw);

    const char *first = raw->p;

    for (; is_digit(raw) && value <= UINT32_MAX; raw->p++)
        value = value * 10 + (uint64_t)(*raw->p - '0');
    if (raw->p == first || value > UINT32_MAX || (*first == '0' && raw->p - first > 1) ||
        (raw->p < raw->end && (*raw->p == '.' || *raw->p == 'e' || *raw->p == 'E'))) {
        raw->p = first;
        return raw_fail(raw, "a whole number from 0 to 4294967295");
    }
    *out = (uint32_t)value;
    return OK;
}

struct parts {
    uint64_t digits;
    int64_t exponent;
};

/* serde_json drops the digits that do not fit 64 bits. */
static bool take_digit(const struct raw_json *raw, struct parts *parts)
{
    unsigned digit = (unsigned)(*raw->p - '0');

    if (parts->digits > (UINT64_MAX - digit) / 10)
        return false;
    parts->digits = parts->digits * 10 + digit;
    return true;
}

static void take_whole(struct raw_json *raw, struct parts *parts)
{
    bool full = false;

    for (; is_digit(raw); raw->p++) {
        full = full || !take_digit(raw, parts);
        parts->exponent += full;
    }
}

static void take_fraction(struct raw_json *raw, struct parts *parts)
{
    bool full = false;

    for (; is_digit(raw); raw->p++) {
        full = full || !take_digit(raw, parts);
        parts->exponent -= !full;
    }
}

static bool take_exponent(struct raw_json *raw, struct parts *parts)
{
    int64_t exponent = 0;
    bool negative = raw->p < raw->end && *raw->p == '-';

    if (raw->p < raw->end && (*raw->p == '-' || *raw->p == '+'))
        raw->p++;
    if (!is_digit(raw))
        return false;
    for (; is_digit(raw); raw->p++)
        exponent = exponent < 100000000 ? exponent * 10 + (*raw->p - '0') : exponent;
    parts->exponent += negative ? -exponent : exponent;
    return true;
}

static double power_of_ten(int64_t n)
{
    static const double small[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

    return n < 23 ? small[n] : pow(10, (double)n);
}

/* One multiplication or division of the digits as a double, in steps of 1e308. */
static double value_of(const struct parts *parts)
{
    double value = (double)parts->digits;
    int64_t exponent = parts->exponent;

    while (exponent < -308 && value != 0) {
        value /= 1e308;
        exponent += 308;
    }
    if (value == 0)
        return 0;
    if (exponent > 308)
        return INFINITY;
    return exponent >= 0 ? value * power_of_ten(exponent) : value / power_of_ten(-exponent);
}

int raw_number(struct raw_json *raw, double *out)
{
    struct parts parts = {0, 0};
    bool negative = raw_peek(raw) == '-';

    raw->p += negative;

    const char *first = raw->p;

    take_whole(raw, &parts);
    if (raw->p == first || (*first == '0' && raw->p - first > 1))
        return raw_fail(raw, "a number");
    if (raw->p < raw->end && *raw->p == '.') {
        const char *point = raw->p++;

        take_fraction(raw, &parts);
        if (raw->p == point + 1)
            return raw_fail(raw, "a digit after the point");
    }
    if (raw->p < raw->end && (*raw->p == 'e' || *raw->p == 'E')) {
        raw->p++;
        if (!take_exponent(raw, &parts))
            return raw_fail(raw, "a digit in the exponent");
    }

    double value = value_of(&parts);

    if (isinf(value))
        return raw_fail(raw, "a number that a double can hold");
    *out = negative ? -value : value;
    return OK;
}

int raw_end(struct raw_json *raw)
{
    raw_peek(raw);
    return raw->p == raw->end ? OK : raw_fail(raw, "nothing more");
}
