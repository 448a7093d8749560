/* Numbers from text, exactly. See number.h; back to text is number_print.c.
 *
 * The fast way reads up to 19 digits into an integer and scales once by an exact power of ten;
 * what that cannot settle goes to strtod as digits and an exponent, without a decimal point, so
 * that no locale matters. */
#include "core/base/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More significant digits than this decide nothing but whether there is a rest: a midpoint
 * between two doubles has at most 767. */
#define MOST_DIGITS   800
#define HUGE_EXPONENT 100000

struct decimal {
    uint64_t digits;   /* all digits as one integer; wraps when there are more than 19 */
    const char *first; /* the digits, with a point somewhere */
    const char *last;  /* after the last one */
    int64_t n_digits;  /* leading zeros included */
    int64_t exponent;  /* value = digits * 10^exponent */
    bool negative, is_integer;
};

static const double exact_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
#define LAST_EXACT 22

#if LDBL_MANT_DIG == 64 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static const long double exact_ten_long[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                             1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                             1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                             1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
#define LAST_EXACT_LONG 27
#endif

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static inline uint64_t load8(const char *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof word);
    return word;
}

/* Of bytes from which '0' was taken: how many of the first are digits. */
static inline unsigned count_digits(uint64_t word)
{
    uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f), others;

    others = (((word & low) + UINT64_C(0x7676767676767676)) | word) & ~low;
    return others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
}

/* Pairs, then fours, then all eight digits, each by one multiplication. */
static inline uint64_t value_of_8(uint64_t word)
{
    word = word * 10 + (word >> 8);
    return (((word & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064)) +
            (((word >> 16) & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001))) >>
           32;
}
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* The digits among the next eight bytes, which are there. */
static inline unsigned take_up_to_8(const char *p, uint64_t *value)
{
    static const uint32_t tens[] = {1,      10,      100,      1000,     10000,
                                    100000, 1000000, 10000000, 100000000};
    uint64_t word = load8(p) ^ UINT64_C(0x3030303030303030);
    unsigned n = count_digits(word);

    /* In two steps, since none at all would be a shift by all bits. */
    word = word << (32 - 4 * n) << (32 - 4 * n);
    *value = *value * tens[n] + value_of_8(word);
    return n;
}
#endif

static inline __attribute__((always_inline)) const char *
take_digits(const char *p, const char *end, uint64_t *digits)
{
    uint64_t value = *digits;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    /* Mostly 15 to 17 digits: how many of the second eight bytes are some is not branched on. */
    if (end - p >= 16) {
        unsigned n = take_up_to_8(p, &value);

        p += n;
        if (n == 8)
            p += take_up_to_8(p, &value);
    }
#endif
    while (p < end && is_digit(*p))
        value = value * 10 + (uint64_t)(*p++ - '0');
    *digits = value;
    return p;
}

/* "e-05" at p: *exponent, and the place after it; p itself when it is no exponent. */
static const char *take_exponent(const char *p, const char *end, int64_t *exponent)
{
    const char *q = p + 1;
    bool negative = false;
    int64_t value = 0;

    if (q < end && (*q == '+' || *q == '-'))
        negative = *q++ == '-';
    if (q >= end || !is_digit(*q))
        return p;
    for (; q < end && is_digit(*q); q++)
        if (value < INT64_C(1) << 40)
            value = value * 10 + (*q - '0');
    *exponent += negative ? -value : value;
    return q;
}

/* Bytes of the number at the start, 0 for none. Strict is JSON's grammar: no "+1", "01", ".5",
 * "5." (of the last "5" is taken, as Python's reader does). */
static inline size_t take_decimal(const char *begin, const char *end, bool strict,
                                  struct decimal *out)
{
    const char *p = begin;

    *out = (struct decimal){.is_integer = true};
    if (p < end && (*p == '-' || (*p == '+' && !strict)))
        out->negative = *p++ == '-';
    out->first = p;
    if (strict && p < end && *p == '0')
        p++;
    else
        p = take_digits(p, end, &out->digits);

    int64_t n_whole = p - out->first;

    if (strict && n_whole == 0)
        return 0;
    out->n_digits = n_whole;
    if (p < end && *p == '.') {
        const char *after = take_digits(p + 1, end, &out->digits);
        int64_t n_fraction = after - (p + 1);

        if (n_fraction > 0 || (!strict && n_whole > 0)) {
            out->n_digits += n_fraction;
            out->exponent = -n_fraction;
            out->is_integer = false;
            p = after;
        }
    }
    if (out->n_digits == 0)
        return 0;
    out->last = p;
    if (p < end && (*p | 0x20) == 'e') {
        const char *after = take_exponent(p, end, &out->exponent);

        out->is_integer = out->is_integer && after == p;
        p = after;
    }
    return (size_t)(p - begin);
}

static double slow_value(const struct decimal *decimal)
{
    char text[MOST_DIGITS + 32];
    size_t n = 0;
    int64_t exponent = decimal->exponent;
    bool has_rest = false;

    for (const char *p = decimal->first; p < decimal->last; p++) {
        if (*p == '.' || (*p == '0' && n == 0))
            continue;
        if (n < MOST_DIGITS) {
            text[n++] = *p;
        } else {
            exponent++;
            has_rest = has_rest || *p != '0';
        }
    }
    if (n == 0)
        return 0;
    if (has_rest) {
        text[n++] = '1';
        exponent--;
    }
    if (exponent > HUGE_EXPONENT)
        exponent = HUGE_EXPONENT;
    if (exponent < -HUGE_EXPONENT)
        exponent = -HUGE_EXPONENT;
    snprintf(text + n, sizeof text - n, "e%d", (int)exponent);
    return strtod(text, NULL);
}

/* Rounding twice (to 64 bits, then to 53) is wrong only when the first result is a midpoint. */
static inline bool scale_long(uint64_t digits, int64_t exponent, double *out)
{
#ifdef LAST_EXACT_LONG
    uint64_t mantissa;

    if (exponent < -LAST_EXACT_LONG || exponent > LAST_EXACT_LONG)
        return false;

    long double scaled = exponent < 0 ? (long double)digits / exact_ten_long[-exponent]
                                      : (long double)digits * exact_ten_long[exponent];

    memcpy(&mantissa, &scaled, sizeof mantissa);
    *out = (double)scaled;
    return (mantissa & 0x7ff) != 0x400;
#else
    (void)digits, (void)exponent, (void)out;
    return false;
#endif
}

static int64_t leading_zeros(const struct decimal *decimal)
{
    int64_t n = 0;

    for (const char *p = decimal->first; p < decimal->last && (*p == '0' || *p == '.'); p++)
        n += *p == '0';
    return n;
}

static inline double magnitude(const struct decimal *decimal)
{
    double value;

    if (decimal->n_digits > 19 && decimal->n_digits - leading_zeros(decimal) > 19)
        return slow_value(decimal);
    if (decimal->digits == 0)
        return 0;
    if (decimal->digits <= UINT64_C(1) << 53 && decimal->exponent >= -LAST_EXACT &&
        decimal->exponent <= LAST_EXACT)
        return decimal->exponent < 0 ? (double)decimal->digits / exact_ten[-decimal->exponent]
                                     : (double)decimal->digits * exact_ten[decimal->exponent];
    return scale_long(decimal->digits, decimal->exponent, &value) ? value : slow_value(decimal);
}

static inline double value_of(const struct decimal *decimal)
{
    double value = magnitude(decimal);

    return decimal->negative ? -value : value;
}

size_t number_prefix(struct str text, double *out)
{
    struct decimal decimal;
    size_t n = take_decimal(text.p, text.p + text.n, false, &decimal);

    if (n)
        *out = value_of(&decimal);
    return n;
}

/* "e-05" with up to three digits; NULL for any other exponent. */
static inline const char *take_short_exponent(const char *p, const char *end, int64_t *exponent)
{
    bool negative = false;
    int64_t value = 0;
    const char *first;

    if (++p < end && (*p == '+' || *p == '-'))
        negative = *p++ == '-';
    first = p;
    while (p < end && p - first < 4 && is_digit(*p))
        value = value * 10 + (*p++ - '0');
    *exponent += negative ? -value : value;
    return p > first && p - first < 4 ? p : NULL;
}

static inline bool scale(uint64_t digits, int64_t exponent, double *out)
{
    if (digits > UINT64_C(1) << 53 || exponent < -LAST_EXACT || exponent > LAST_EXACT)
        return digits && scale_long(digits, exponent, out);
    *out = exponent < 0 ? (double)(int64_t)digits / exact_ten[-exponent]
                        : (double)(int64_t)digits * exact_ten[exponent];
    return true;
}

/* What most numbers are: up to 19 digits that one operation scales. 0: take_decimal has to tell. */
static inline size_t quick_prefix_json(const char *begin, const char *end, double *out,
                                       bool *is_integer)
{
    const char *p = begin, *first;
    uint64_t digits = 0;
    int64_t exponent = 0, n_digits;
    bool is_negative = p < end && *p == '-';

    first = p += is_negative;
    while (p < end && is_digit(*p))
        digits = digits * 10 + (uint64_t)(*p++ - '0');
    n_digits = p - first;
    if (n_digits == 0 || (n_digits > 1 && *first == '0'))
        return 0;
    *is_integer = true;
    if (p < end && *p == '.') {
        first = ++p;
        p = take_digits(p, end, &digits);
        exponent = first - p;
        n_digits -= exponent;
        *is_integer = false;
        if (exponent == 0)
            return 0;
        if (n_digits > 19 && begin[is_negative] == '0') { /* 0.00012…: zeros decide nothing */
            n_digits--;
            for (; n_digits > 19 && *first == '0'; first++)
                n_digits--;
        }
    }
    if (n_digits > 19)
        return 0;
    if (p < end && (*p | 0x20) == 'e') {
        *is_integer = false;
        p = take_short_exponent(p, end, &exponent);
    }
    if (!p || !scale(digits, exponent, out))
        return 0;
    if (is_negative)
        *out = -*out;
    return (size_t)(p - begin);
}

/* Apart, so that the quick way has no registers to save. */
static __attribute__((noinline)) size_t any_prefix_json(const char *p, const char *end,
                                                        double *out, bool *is_integer)
{
    struct decimal decimal;
    size_t n = take_decimal(p, end, true, &decimal);

    if (n) {
        *out = value_of(&decimal);
        *is_integer = decimal.is_integer;
    }
    return n;
}

size_t number_prefix_json(const char *p, const char *end, double *out, bool *is_integer)
{
    size_t n = quick_prefix_json(p, end, out, is_integer);

    return n ? n : any_prefix_json(p, end, out, is_integer);
}

bool number_parse(struct str text, double *out)
{
    double value;

    if (text.n == 0 || number_prefix(text, &value) != text.n)
        return false;
    *out = value;
    return true;
}

bool number_parse_any(struct str text, double *out)
{
    if (number_parse(text, out))
        return true;

    bool negative = str_starts(text, "-");
    struct str word = negative || str_starts(text, "+") ? str_skip(text, 1) : text;

    if (str_ends(word, ".0"))
        word.n -= 2;
    if (str_is_ignoring_case(word, "nan"))
        *out = NAN;
    else if (str_is_ignoring_case(word, "inf") || str_is_ignoring_case(word, "infinity"))
        *out = negative ? -INFINITY : INFINITY;
    else
        return false;
    return true;
}

bool number_parse_int(struct str text, int64_t *out)
{
    bool negative = str_starts(text, "-");
    struct str digits = negative || str_starts(text, "+") ? str_skip(text, 1) : text;
    uint64_t limit = (uint64_t)INT64_MAX + negative;
    uint64_t value = 0;

    if (digits.n == 0)
        return false;
    for (size_t i = 0; i < digits.n; i++) {
        if (!is_digit(digits.p[i]))
            return false;

        uint64_t digit = (uint64_t)(digits.p[i] - '0');

        if (value > (limit - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

/* The power of 1024 that a unit names: "GiB", "G", "gb"; -1 when it is none. */
static int unit_power(struct str unit)
{
    static const char prefixes[] = "kmgtpe";

    if (unit.n == 0 || str_is_ignoring_case(unit, "b") || str_is_ignoring_case(unit, "byte") ||
        str_is_ignoring_case(unit, "bytes"))
        return 0;

    const char *prefix = strchr(prefixes, unit.p[0] | 0x20);
    struct str rest = str_skip(unit, 1);

    if (!prefix || !*prefix)
        return -1;
    if (rest.n && !str_is_ignoring_case(rest, "b") && !str_is_ignoring_case(rest, "ib") &&
        !str_is_ignoring_case(rest, "i"))
        return -1;
    return (int)(prefix - prefixes) + 1;
}

bool number_parse_bytes(struct str amount, struct str unit, double *bytes)
{
    char plain[64];
    size_t n = 0, used;
    double value;

    amount = str_trim(amount);
    for (size_t i = 0; i < amount.n; i++) {
        if (amount.p[i] == ',')
            continue;
        if (n == sizeof plain)
            return false;
        plain[n++] = amount.p[i];
    }
    used = number_prefix(str_from(plain, n), &value);
    if (used == 0)
        return false;

    struct str rest = str_trim(str_from(plain + used, n - used));

    unit = str_trim(unit);
    if (rest.n && unit.n)
        return false;

    int power = unit_power(rest.n ? rest : unit);

    if (power < 0 || value < 0)
        return false;
    *bytes = ldexp(value, 10 * power);
    return true;
}
