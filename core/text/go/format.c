/* Numbers and texts under the verbs of Go's fmt, with width, precision and flags. See format.h. */
#include "core/text/go/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/number.h"
#include "core/base/unicode.h"
#include "core/base/unicode_case.h"

/* ---- padding ---- */

static void put_padding(struct go_format *f, size_t n)
{
    buf_repeat(f->out, f->zero && !f->minus ? '0' : ' ', n);
}

void go_format_pad(struct go_format *f, struct str text)
{
    size_t width = f->has_width ? (size_t)f->width : 0, n = width ? unicode_count(text) : 0;
    size_t missing = n < width ? width - n : 0;

    if (!f->minus)
        put_padding(f, missing);
    buf_str(f->out, text);
    if (f->minus)
        put_padding(f, missing);
}

static void pad_without_zeros(struct go_format *f, struct str text)
{
    bool zero = f->zero;

    f->zero = false;
    go_format_pad(f, text);
    f->zero = zero;
}

/* ---- integers ---- */

/* Digits in front of the sign and the prefix of the base. */
static size_t n_digits_wanted(const struct go_format *f, bool is_signed_out)
{
    if (f->has_precision)
        return (size_t)f->precision;
    if (f->zero && !f->minus && f->has_width)
        return f->width > 0 ? (size_t)f->width - is_signed_out : 0;
    return 0;
}

static void put_digits(struct buf *out, uint64_t value, int32_t verb, size_t least)
{
    const char *letters = verb == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    unsigned base = verb == 'b'                  ? 2
                    : verb == 'o' || verb == 'O' ? 8
                    : verb == 'd' || verb == 'v' ? 10
                                                 : 16;
    char digits[65];
    size_t n = sizeof digits;

    do {
        digits[--n] = letters[value % base];
        value /= base;
    } while (value);
    size_t length = sizeof digits - n;

    if (least > length)
        buf_repeat(out, '0', least - length);
    buf_add(out, digits + n, length);
}

static void put_prefix(struct buf *out, const struct go_format *f, int32_t verb, bool leads_zero)
{
    if (f->sharp && verb == 'b')
        buf_puts(out, "0b");
    if (f->sharp && (verb == 'x' || verb == 'X'))
        buf_puts(out, verb == 'x' ? "0x" : "0X");
    if (f->sharp && (verb == 'o' || verb == 'O') && !leads_zero)
        buf_putc(out, '0');
}

static void format_digits(struct go_format *f, int64_t value, int32_t verb)
{
    bool is_negative = value < 0;
    uint64_t magnitude = is_negative ? 0 - (uint64_t)value : (uint64_t)value;
    struct buf text, digits;

    if (f->has_precision && f->precision == 0 && magnitude == 0) {
        pad_without_zeros(f, str_of(""));
        return;
    }
    buf_init(&digits, GO_TEXT_MOST);
    buf_init(&text, GO_TEXT_MOST);
    put_digits(&digits, magnitude, verb, n_digits_wanted(f, is_negative || f->plus || f->space));
    if (is_negative || f->plus || f->space)
        buf_putc(&text, is_negative ? '-' : f->plus ? '+' : ' ');
    if (verb == 'O')
        buf_puts(&text, "0o");
    put_prefix(&text, f, verb, digits.n && digits.p[0] == '0');
    buf_str(&text, buf_view(&digits));
    pad_without_zeros(f, buf_view(&text));
    f->out->failed |= text.failed || digits.failed;
    buf_free(&text);
    buf_free(&digits);
}

static void format_code_point(struct go_format *f, int64_t value)
{
    struct buf text;
    char bytes[4];
    size_t least = f->has_precision && f->precision > 4 ? (size_t)f->precision : 4;

    buf_init(&text, GO_TEXT_MOST);
    buf_puts(&text, "U+");
    put_digits(&text, (uint64_t)value, 'X', least);
    if (f->sharp && value >= 0 && value <= 0x10FFFF && unicode_is_printable((int32_t)value)) {
        buf_puts(&text, " '");
        buf_add(&text, bytes, unicode_put(bytes, (int32_t)value));
        buf_putc(&text, '\'');
    }
    pad_without_zeros(f, buf_view(&text));
    buf_free(&text);
}

static void format_rune(struct go_format *f, int64_t value, bool is_quoted)
{
    struct buf text;
    char bytes[4];
    int32_t c = value < 0 || value > 0x10FFFF ? 0xFFFD : (int32_t)value;

    buf_init(&text, 64);
    if (unicode_put(bytes, c) == 0)
        c = 0xFFFD;
    if (is_quoted)
        go_quote_rune(&text, c, f->plus);
    else
        buf_add(&text, bytes, unicode_put(bytes, c));
    go_format_pad(f, buf_view(&text));
    buf_free(&text);
}

bool go_format_int(struct go_format *f, const struct go_value *value, int32_t verb)
{
    bool sharp = f->sharp;

    switch (verb) {
    case 'v':
        if (f->sharp_v && value->class) {   /* a byte */
            f->sharp = true;
            format_digits(f, value->integer, 'x');
            f->sharp = sharp;
            return true;
        }
        /* fall through */
    case 'd':
    case 'b':
    case 'o':
    case 'O':
    case 'x':
    case 'X':
        format_digits(f, value->integer, verb);
        return true;
    case 'c':
    case 'q':
        format_rune(f, value->integer, verb == 'q');
        return true;
    case 'U':
        format_code_point(f, value->integer);
        return true;
    default:
        return false;
    }
}

/* ---- floats ---- */

/* The shortest digits that give a value above or equal to zero back; value = 0.DIGITS * 10^power. */
size_t go_shortest_digits(double value, char digits[32], int *power)
{
    char text[32];
    size_t n = 0;
    bool is_behind_point = false;
    const char *p;

    *power = 0;
    number_repr(text, value);
    for (p = text; *p && *p != 'e'; p++) {
        if (*p == '.') {
            is_behind_point = true;
        } else if (n > 0 || *p != '0') {
            digits[n++] = *p;
            *power += !is_behind_point;
        } else {
            *power -= is_behind_point; /* a zero behind the point, before the first digit */
        }
    }
    if (*p == 'e')
        *power += (int)strtol(p + 1, NULL, 10);
    while (n > 0 && digits[n - 1] == '0')
        n--;
    if (n == 0) {
        digits[n++] = '0';
        *power = 1;
    }
    return n;
}

void go_put_plain(struct buf *out, const char *digits, size_t n, int power)
{
    if (power <= 0) {
        buf_puts(out, "0.");
        buf_repeat(out, '0', (size_t)-power);
        buf_add(out, digits, n);
        return;
    }
    for (size_t i = 0; i < n || i < (size_t)power; i++) {
        if (i == (size_t)power)
            buf_putc(out, '.');
        buf_putc(out, i < n ? digits[i] : '0');
    }
}

/* As %g: with an exponent below -4 and from 6 on, however many digits there are. */
static void put_shortest(struct buf *out, double value, bool is_upper)
{
    char digits[32];
    int power;
    size_t n = go_shortest_digits(fabs(value), digits, &power);
    int exponent = power - 1;

    if (exponent >= -4 && exponent < 6) {
        go_put_plain(out, digits, n, power);
        return;
    }
    buf_putc(out, digits[0]);
    if (n > 1)
        buf_putc(out, '.');
    buf_add(out, digits + 1, n - 1);
    buf_printf(out, "%c%c%02d", is_upper ? 'E' : 'e', exponent < 0 ? '-' : '+', abs(exponent));
}

static void put_rounded(struct buf *out, double value, int32_t verb, int precision)
{
    switch (verb) {
    case 'e':
        buf_printf(out, "%.*e", precision, value);
        break;
    case 'E':
        buf_printf(out, "%.*E", precision, value);
        break;
    case 'G':
        buf_printf(out, "%.*G", precision, value);
        break;
    case 'f':
    case 'F':
        buf_printf(out, "%.*f", precision, value);
        break;
    default:
        buf_printf(out, "%.*g", precision, value);
    }
}

static void pad_number(struct go_format *f, struct str signed_text)
{
    bool shows_sign = f->plus || signed_text.p[0] != '+';
    size_t width = f->has_width ? (size_t)f->width : 0;

    if (shows_sign && f->zero && !f->minus && width > signed_text.n) {
        buf_putc(f->out, signed_text.p[0]);
        put_padding(f, width - signed_text.n);
        buf_str(f->out, str_skip(signed_text, 1));
        return;
    }
    go_format_pad(f, shows_sign ? signed_text : str_skip(signed_text, 1));
}

bool go_format_float(struct go_format *f, double value, int32_t verb)
{
    bool is_free = verb == 'v' || verb == 'g' || verb == 'G';
    struct buf text;

    if (verb <= 0 || verb > 0x7F || !strchr("vgGeEfF", verb))
        return false;
    if (isnan(value) || isinf(value)) {
        pad_without_zeros(f, str_of(isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf"));
        return true;
    }
    buf_init(&text, GO_TEXT_MOST);
    buf_putc(&text, signbit(value) ? '-' : f->space && !f->plus ? ' ' : '+');
    if (is_free && !f->has_precision)
        put_shortest(&text, value, verb == 'G');
    else
        put_rounded(&text, fabs(value), verb, f->has_precision ? f->precision : 6);
    pad_number(f, buf_view(&text));
    f->out->failed |= text.failed;
    buf_free(&text);
    return true;
}

/* ---- texts ---- */

static struct str cut_runes(const struct go_format *f, struct str text)
{
    size_t n = 0;

    if (!f->has_precision)
        return text;
    for (int i = 0; i < f->precision && n < text.n; i++) {
        int32_t c;

        n += unicode_next(str_skip(text, n), &c);
    }
    return str_first(text, n);
}

static void format_hex(struct go_format *f, struct str bytes, bool is_upper)
{
    const char *prefix = is_upper ? "0X" : "0x";
    struct buf text;

    if (f->has_precision)
        bytes = str_first(bytes, (size_t)f->precision);
    buf_init(&text, GO_OUTPUT_BYTES);
    for (size_t i = 0; i < bytes.n; i++) {
        if (f->space && i > 0)
            buf_putc(&text, ' ');
        if (f->sharp && (f->space || i == 0))
            buf_puts(&text, prefix);
        buf_printf(&text, is_upper ? "%02X" : "%02x", (unsigned)(unsigned char)bytes.p[i]);
    }
    go_format_pad(f, buf_view(&text));
    f->out->failed |= text.failed;
    buf_free(&text);
}

static bool can_backquote(struct str text)
{
    while (text.n > 0) {
        int32_t c;
        size_t n = unicode_next(text, &c);

        if (c < 0 || c == 0xFEFF || (c < ' ' && c != '\t') || c == '`' || c == 0x7F)
            return false;
        text = str_skip(text, n);
    }
    return true;
}

static void format_quoted(struct go_format *f, struct str text)
{
    struct buf quoted;

    text = cut_runes(f, text);
    buf_init(&quoted, GO_OUTPUT_BYTES);
    if (f->sharp && can_backquote(text)) {
        buf_putc(&quoted, '`');
        buf_str(&quoted, text);
        buf_putc(&quoted, '`');
    } else {
        go_quote(&quoted, text, '"', f->plus);
    }
    go_format_pad(f, buf_view(&quoted));
    f->out->failed |= quoted.failed;
    buf_free(&quoted);
}

bool go_format_text(struct go_format *f, struct str text, int32_t verb)
{
    switch (verb) {
    case 'v':
        if (f->sharp_v)
            format_quoted(f, text);
        else
            go_format_pad(f, cut_runes(f, text));
        return true;
    case 's':
        go_format_pad(f, cut_runes(f, text));
        return true;
    case 'q':
        format_quoted(f, text);
        return true;
    case 'x':
    case 'X':
        format_hex(f, text, verb == 'X');
        return true;
    default:
        return false;
    }
}
