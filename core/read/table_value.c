/* See table_value.h. */
#include "core/read/table_value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "core/base/number.h"
#include "core/base/unicode.h"

#define SECONDS_A_DAY   86400
#define MAX_DECIMAL     160 /* digits, sign and point of 256 bits, and a scale */
#define EXACT_PRECISION 15

static struct json text_json(struct arena *arena, const char *text, size_t n)
{
    return (struct json){.type = JSON_STRING, .text = arena_str(arena, str_from(text, n))};
}

/* ---- Numbers ---- */

/* Before `end`; mostly in 32 bits, since columns of token ids are long. */
static char *put_digits(char *end, uint64_t value)
{
    while (value > UINT32_MAX) {
        *--end = (char)('0' + value % 10);
        value /= 10;
    }
    for (uint32_t rest = (uint32_t)value;;) {
        *--end = (char)('0' + rest % 10);
        if ((rest /= 10) == 0)
            return end;
    }
}

static void integer_json(struct arena *arena, uint64_t size, bool is_negative, struct json *out)
{
    char room[24], *p = put_digits(room + sizeof room, size);

    if (is_negative)
        *--p = '-';
    out->type = JSON_NUMBER;
    out->text = arena_str(arena, str_from(p, (size_t)(room + sizeof room - p)));
    out->number = is_negative ? -(double)size : (double)size;
    out->is_integer = true;
}

static void signed_json(struct arena *arena, int64_t value, struct json *out)
{
    integer_json(arena, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0, out);
}

static struct json float_json(double value)
{
    return (struct json){.type = JSON_NUMBER, .text = {"", 0}, .number = value};
}

static double half_of(struct str bytes)
{
    unsigned bits = (unsigned char)bytes.p[0] | (unsigned)(unsigned char)bytes.p[1] << 8;
    int exponent = (int)(bits >> 10 & 31);
    double part = (double)(bits & 1023), size;

    if (exponent == 31)
        size = part > 0 ? (double)NAN : (double)INFINITY;
    else
        size = exponent ? ldexp(part + 1024, exponent - 25) : ldexp(part, -24);
    return bits >> 15 ? -size : size;
}

/* ---- Decimals ---- */

/* Two's complement to its digits, from the last: divides by ten until nothing is left. */
static size_t digits_of_bytes(const struct value_type *type, struct str bytes, char *digits,
                              bool *is_negative)
{
    unsigned char number[VALUE_DECIMAL_BYTES];
    size_t n = 0;
    bool is_zero = false;

    for (size_t i = 0; i < bytes.n; i++)
        number[i] = (unsigned char)bytes.p[type->is_little_endian ? bytes.n - 1 - i : i];
    *is_negative = bytes.n && number[0] & 0x80;
    for (size_t i = bytes.n, carry = 1; *is_negative && i-- > 0;) {
        carry += (unsigned char)~number[i];
        number[i] = (unsigned char)carry;
        carry >>= 8;
    }
    while (!is_zero) {
        unsigned rest = 0;

        is_zero = true;
        for (size_t i = 0; i < bytes.n; i++) {
            rest = rest << 8 | number[i];
            number[i] = (unsigned char)(rest / 10);
            rest %= 10;
            is_zero = is_zero && number[i] == 0;
        }
        digits[n++] = (char)('0' + rest);
    }
    return n;
}

static size_t digits_of_int(int64_t value, char *digits, bool *is_negative)
{
    uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
    size_t n = 0;

    *is_negative = value < 0;
    do
        digits[n++] = (char)('0' + size % 10);
    while (size /= 10);
    return n;
}

static const char *decimal_json(struct arena *arena, const struct value_type *type,
                                union table_value value, struct json *out)
{
    char digits[MAX_DECIMAL], text[MAX_DECIMAL];
    bool is_negative = false;
    size_t n, at = 0, scale = (size_t)type->scale;

    if (type->is_bytes && value.s.n > VALUE_DECIMAL_BYTES)
        return "a decimal of more than 32 bytes";
    n = type->is_bytes ? digits_of_bytes(type, value.s, digits, &is_negative)
                       : digits_of_int(value.i, digits, &is_negative);
    while (n <= scale)
        digits[n++] = '0';
    if (is_negative)
        text[at++] = '-';
    while (n-- > 0) {
        text[at++] = digits[n];
        if (n == scale && n > 0)
            text[at++] = '.';
    }
    *out = text_json(arena, text, at);
    if (type->precision <= EXACT_PRECISION && number_parse(str_from(text, at), &out->number)) {
        out->type = JSON_NUMBER;
        out->is_integer = scale == 0;
    }
    return NULL;
}

/* ---- Dates and times ---- */

struct date {
    int64_t year;
    int month, day;
};

/* The Gregorian calendar from the days since 1970, by eras of 400 years that begin in March. */
static struct date date_of(int64_t days)
{
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t of_era = z - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;

    return (struct date){.year = year + era * 400 + (month >= 10),
                         .month = (int)(month < 10 ? month + 3 : month - 9),
                         .day = (int)(of_year - (153 * month + 2) / 5 + 1)};
}

static int put_date(char *out, size_t n, int64_t days)
{
    struct date date = date_of(days);

    return snprintf(out, n, "%s%04" PRId64 "-%02d-%02d", date.year < 0 ? "-" : "",
                    date.year < 0 ? -date.year : date.year, date.month, date.day);
}

static int put_time(char *out, size_t n, int64_t seconds, int64_t nanos)
{
    int at = snprintf(out, n, "%02" PRId64 ":%02" PRId64 ":%02" PRId64, seconds / 3600,
                      seconds / 60 % 60, seconds % 60);

    if (nanos % 1000)
        at += snprintf(out + at, n - (size_t)at, ".%09" PRId64, nanos);
    else if (nanos)
        at += snprintf(out + at, n - (size_t)at, ".%06" PRId64, nanos / 1000);
    return at;
}

static int64_t floor_of(int64_t value, int64_t unit)
{
    return value / unit - (value % unit < 0);
}

static struct json moment_json(struct arena *arena, const struct value_type *type, int64_t value)
{
    char text[96];
    int at = 0;
    int64_t seconds = floor_of(value, type->units_per_second);
    int64_t nanos = (value - seconds * type->units_per_second) *
                    (INT64_C(1000000000) / type->units_per_second);
    int64_t days = floor_of(seconds, SECONDS_A_DAY);

    if (type->kind == VALUE_TIMESTAMP) {
        at = put_date(text, sizeof text, days);
        text[at++] = 'T';
    }
    at += put_time(text + at, sizeof text - (size_t)at, seconds - days * SECONDS_A_DAY, nanos);
    if (type->is_utc)
        at += snprintf(text + at, sizeof text - (size_t)at, "+00:00");
    return text_json(arena, text, (size_t)at);
}

static struct json date_json(struct arena *arena, int64_t days)
{
    char text[64];

    return text_json(arena, text, (size_t)put_date(text, sizeof text, days));
}

/* ---- Bytes ---- */

static struct json base64_json(struct arena *arena, struct str bytes)
{
    static const char LETTERS[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)bytes.p;
    size_t n = (bytes.n + 2) / 3 * 4, at = 0;
    char *text = arena_alloc(arena, n + 1);

    for (size_t i = 0; text && i < bytes.n; i += 3) {
        unsigned left = (unsigned)(bytes.n - i < 3 ? bytes.n - i : 3);
        unsigned bits = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) |
                        (left > 2 ? p[i + 2] : 0);

        text[at++] = LETTERS[bits >> 18];
        text[at++] = LETTERS[bits >> 12 & 63];
        text[at++] = left > 1 ? LETTERS[bits >> 6 & 63] : '=';
        text[at++] = left > 2 ? LETTERS[bits & 63] : '=';
    }
    return (struct json){.type = JSON_STRING, .text = text ? str_from(text, n) : str_of(NULL)};
}

static struct json uuid_json(struct arena *arena, struct str bytes)
{
    static const char HEX[] = "0123456789abcdef";
    char text[36];
    size_t at = 0;

    for (size_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text[at++] = '-';
        text[at++] = HEX[(unsigned char)bytes.p[i] >> 4];
        text[at++] = HEX[(unsigned char)bytes.p[i] & 15];
    }
    return text_json(arena, text, sizeof text);
}

/* ---- Any ---- */

static const char *bytes_value(struct arena *arena, const struct value_type *type,
                               struct str bytes, struct json *out)
{
    if (type->kind == VALUE_BYTES) {
        *out = base64_json(arena, bytes);
    } else if (type->kind == VALUE_TEXT) {
        if (!unicode_is_valid(bytes))
            return "a text that is not UTF-8";
        *out = text_json(arena, bytes.p, bytes.n);
    } else if (type->kind == VALUE_HALF) {
        if (bytes.n != 2)
            return "a number of half precision that has not two bytes";
        *out = float_json(half_of(bytes));
    } else {
        if (bytes.n != 16)
            return "a UUID that has not 16 bytes";
        *out = uuid_json(arena, bytes);
    }
    return NULL;
}

const char *value_json(struct arena *arena, const struct value_type *type, union table_value value,
                       struct json *out)
{
    switch (type->kind) {
    case VALUE_NULL:
        *out = (struct json){.type = JSON_NULL};
        return NULL;
    case VALUE_BOOL:
        *out = (struct json){.type = value.i ? JSON_TRUE : JSON_FALSE};
        return NULL;
    case VALUE_INT:
        signed_json(arena, value.i, out);
        return NULL;
    case VALUE_UINT:
        integer_json(arena, (uint64_t)value.i & UINT64_MAX >> (64 - type->bits), false, out);
        return NULL;
    case VALUE_FLOAT:
        out->type = JSON_NUMBER;
        out->text = str_of("");
        out->number = value.d;
        return NULL;
    case VALUE_DECIMAL:
        return decimal_json(arena, type, value, out);
    case VALUE_DATE:
        *out = date_json(arena, value.i);
        return NULL;
    case VALUE_TIME:
    case VALUE_TIMESTAMP:
        *out = moment_json(arena, type, value.i);
        return NULL;
    case VALUE_HALF:
    case VALUE_TEXT:
    case VALUE_BYTES:
    case VALUE_UUID:
        break;
    }
    return bytes_value(arena, type, value.s, out);
}

void value_example(const struct value_type *type, struct json *out)
{
    switch (type->kind) {
    case VALUE_NULL:
        *out = (struct json){.type = JSON_NULL};
        return;
    case VALUE_BOOL:
        *out = (struct json){.type = JSON_FALSE};
        return;
    case VALUE_INT:
    case VALUE_UINT:
        *out = (struct json){.type = JSON_NUMBER, .text = str_of("0"), .is_integer = true};
        return;
    case VALUE_FLOAT:
    case VALUE_HALF:
        *out = (struct json){.type = JSON_NUMBER, .text = str_of("0.0")};
        return;
    case VALUE_DECIMAL:
        *out = (struct json){.type = type->precision <= EXACT_PRECISION ? JSON_NUMBER : JSON_STRING,
                             .text = str_of("0"),
                             .is_integer = type->scale == 0};
        return;
    case VALUE_DATE:
    case VALUE_TIME:
    case VALUE_TIMESTAMP:
    case VALUE_TEXT:
    case VALUE_BYTES:
    case VALUE_UUID:
        break;
    }
    *out = (struct json){.type = JSON_STRING, .text = str_of("")};
}
