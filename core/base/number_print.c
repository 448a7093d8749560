/* Numbers as text, and back to the same number. See number.h. */
#include "core/base/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        if ((*p >= '0' && *p <= '9'))
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
