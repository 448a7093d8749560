/* Numbers from text and back, exactly. See number.h.
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

static inline bool are_8_digits(uint64_t word)
{
    uint64_t high = word & UINT64_C(0xf0f0f0f0f0f0f0f0);
    uint64_t over = (word + UINT64_C(0x0606060606060606)) & UINT64_C(0xf0f0f0f0f0f0f0f0);

    return high == UINT64_C(0x3030303030303030) && over == UINT64_C(0x3030303030303030);
}

/* Pairs, then fours, then all eight digits, each by one multiplication. */
static inline uint64_t value_of_8(uint64_t word)
{
    word -= UINT64_C(0x3030303030303030);
    word = word * 10 + (word >> 8);
    return (((word & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064)) +
            (((word >> 16) & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001))) >>
           32;
}
#endif

static inline const char *take_digits(const char *p, const char *end, uint64_t *digits)
{
    uint64_t value = *digits;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    while (end - p >= 8) {
        uint64_t word = load8(p);

        if (!are_8_digits(word))
            break;
        value = value * 100000000 + value_of_8(word);
        p += 8;
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

size_t number_prefix_json(const char *p, const char *end, double *out, bool *is_integer)
{
    struct decimal decimal;
    size_t n = take_decimal(p, end, true, &decimal);

    if (n) {
        *out = value_of(&decimal);
        *is_integer = decimal.is_integer;
    }
    return n;
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

/* ---- printing ---- */

/* The digits of a finite value without sign and point, trailing zeros dropped, and the power of
 * ten of the first one. */
struct digits {
    char text[24];
    int n, power;
};

static bool digits_at(struct digits *out, double value, int n_digits)
{
    char text[40];

    snprintf(text, sizeof text, "%.*e", n_digits - 1, value);
    out->n = 0;
    out->power = 0;
    for (const char *p = text; *p; p++) {
        if (is_digit(*p))
            out->text[out->n++] = *p;
        if (*p == 'e') {
            out->power = (int)strtol(p + 1, NULL, 10);
            break;
        }
    }
    while (out->n > 1 && out->text[out->n - 1] == '0')
        out->n--;
    snprintf(text, sizeof text, "%.*se%d", out->n, out->text, out->power - out->n + 1);
    return strtod(text, NULL) == value;
}

/* One more in the last of n_digits places. At a power of two the space below is half the space
 * above, so the next decimal up may round back where the nearest does not. */
static bool digits_above(struct digits *out, double value, int n_digits)
{
    char text[40];

    digits_at(out, value, n_digits);
    while (out->n < n_digits)
        out->text[out->n++] = '0';
    for (int i = out->n - 1;; i--) {
        if (i < 0)
            return false;
        if (out->text[i] != '9') {
            out->text[i]++;
            break;
        }
        out->text[i] = '0';
    }
    while (out->n > 1 && out->text[out->n - 1] == '0')
        out->n--;
    snprintf(text, sizeof text, "%.*se%d", out->n, out->text, out->power - out->n + 1);
    return strtod(text, NULL) == value;
}

static void shortest(struct digits *out, double value)
{
    /* A normal double keeps any 15 digits, so fewer are found as trailing zeros of 15. */
    int from = value < DBL_MIN ? 1 : 15;
    int exponent;
    bool is_power = frexp(value, &exponent) == 0.5;

    for (int n = from; n < 17; n++)
        if (digits_at(out, value, n) || (is_power && digits_above(out, value, n)))
            return;
    digits_at(out, value, 17);
}

static void put_fixed(char *out, const struct digits *digits)
{
    int point = digits->power + 1; /* digits before the point */
    char *p = out;

    if (point <= 0) {
        *p++ = '0';
        *p++ = '.';
        for (int i = point; i < 0; i++)
            *p++ = '0';
    }
    for (int i = 0; i < digits->n || i < point; i++) {
        if (i == point && point > 0)
            *p++ = '.';
        *p++ = i < digits->n ? digits->text[i] : '0';
    }
    if (point >= digits->n) {
        *p++ = '.';
        *p++ = '0';
    }
    *p = '\0';
}

static void put_exponent(char *out, size_t n, const struct digits *digits)
{
    snprintf(out, n, "%c%s%.*se%+03d", digits->text[0], digits->n > 1 ? "." : "", digits->n - 1,
             digits->text + 1, digits->power);
}

void number_repr(char out[32], double value)
{
    struct digits digits;
    char *p = out;

    if (isnan(value) || isinf(value)) {
        snprintf(out, 32, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    if (signbit(value))
        *p++ = '-';
    if (value == 0) {
        memcpy(p, "0.0", 4);
        return;
    }
    shortest(&digits, fabs(value));
    if (digits.power < -4 || digits.power >= 16)
        put_exponent(p, 32 - 1, &digits);
    else
        put_fixed(p, &digits);
}

void number_short(char out[32], double value, int digits)
{
    struct digits rounded;
    char *p = out;

    if (isnan(value) || isinf(value)) {
        snprintf(out, 32, "%s", isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
        return;
    }
    if (value == 0) {
        memcpy(out, "0", 2);
        return;
    }
    if (value < 0)
        *p++ = '-';
    value = fabs(value);
    digits = digits < 1 ? 1 : digits > 17 ? 17 : digits;
    digits_at(&rounded, value, digits);
    if (rounded.power >= digits && value < 1e7) {
        snprintf(p, 31, "%.0f", value); /* a count keeps its digits */
    } else if (rounded.power < -3 || rounded.power >= 7) {
        put_exponent(p, 31, &rounded);
    } else {
        put_fixed(p, &rounded);
        if (str_ends(str_of(p), ".0"))
            p[strlen(p) - 2] = '\0';
    }
}

void number_bytes(char out[32], double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double size = fabs(bytes);
    size_t unit = 0;

    if (!isfinite(bytes)) {
        number_short(out, bytes, 3);
        return;
    }
    while (size >= 1023.5 && unit + 1 < sizeof units / sizeof units[0]) {
        size /= 1024;
        unit++;
    }
    if (size > 99999) {
        snprintf(out, 32, "%.2e EiB", copysign(size, bytes));
        return;
    }

    int decimals = unit == 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;

    snprintf(out, 32, "%s%.*f %s", bytes < 0 ? "-" : "", decimals, size, units[unit]);
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
