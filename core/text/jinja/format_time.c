/* strftime_now: the time of the render by a format, in the C locale. See jinja_parts.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/text/jinja/jinja_parts.h"

struct moment {
    struct tm tm;
    int64_t seconds, offset;
};

static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                   "Thursday", "Friday", "Saturday"};
static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};

/* A number with its padding, which a flag of glibc may change: '-' none, '_' blanks, '0' zeros. */
static void put_number(struct text *out, int64_t n, int width, char pad, char flag)
{
    char digits[32];

    if (flag == '-')
        width = 0;
    else if (flag == '_')
        pad = ' ';
    else if (flag == '0')
        pad = '0';
    snprintf(digits, sizeof digits, pad == ' ' ? "%*lld" : "%0*lld", width, (long long)n);
    jinja_text_puts(out, digits);
}

static void put_word(struct text *out, const char *word, size_t n, char flag)
{
    for (size_t i = 0; i < n && word[i]; i++)
        jinja_text_putc(out, flag == '^' && word[i] >= 'a' && word[i] <= 'z' ? (char)(word[i] - 32)
                                                                             : word[i]);
}

static int iso_week(const struct tm *tm, int *year)
{
    int weekday = (tm->tm_wday + 6) % 7;
    int week = (tm->tm_yday - weekday + 10) / 7;
    int y = tm->tm_year + 1900;
    bool is_leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;

    *year = y;
    if (week < 1) {
        struct tm last = {.tm_year = tm->tm_year - 1, .tm_mon = 11, .tm_mday = 31};

        last.tm_wday = (tm->tm_wday - tm->tm_yday - 1 + 7 * 60) % 7;
        y--;
        is_leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
        last.tm_yday = is_leap ? 365 : 364;
        return iso_week(&last, year);
    }
    if (week == 53 && weekday - (tm->tm_yday - (is_leap ? 365 : 364)) < 3) {
        *year = y + 1;
        return 1;
    }
    return week;
}

static void put_one(struct text *out, const struct moment *at, char c, char flag);

static void put_all(struct text *out, const struct moment *at, const char *format)
{
    for (const char *p = format; *p; p++) {
        if (*p == '%')
            put_one(out, at, *++p, '\0');
        else
            jinja_text_putc(out, *p);
    }
}

static void put_one(struct text *out, const struct moment *at, char c, char flag)
{
    const struct tm *tm = &at->tm;
    int hour = tm->tm_hour % 12 ? tm->tm_hour % 12 : 12;
    int year;
    int week = iso_week(tm, &year);

    switch (c) {
    case 'Y':
        put_number(out, tm->tm_year + 1900, 0, '0', flag);
        break;
    case 'C':
        put_number(out, (tm->tm_year + 1900) / 100, 2, '0', flag);
        break;
    case 'y':
        put_number(out, tm->tm_year % 100, 2, '0', flag);
        break;
    case 'm':
        put_number(out, tm->tm_mon + 1, 2, '0', flag);
        break;
    case 'd':
        put_number(out, tm->tm_mday, 2, '0', flag);
        break;
    case 'e':
        put_number(out, tm->tm_mday, 2, ' ', flag);
        break;
    case 'H':
        put_number(out, tm->tm_hour, 2, '0', flag);
        break;
    case 'k':
        put_number(out, tm->tm_hour, 2, ' ', flag);
        break;
    case 'I':
        put_number(out, hour, 2, '0', flag);
        break;
    case 'l':
        put_number(out, hour, 2, ' ', flag);
        break;
    case 'M':
        put_number(out, tm->tm_min, 2, '0', flag);
        break;
    case 'S':
        put_number(out, tm->tm_sec, 2, '0', flag);
        break;
    case 'f':
        put_number(out, 0, 6, '0', flag);
        break;
    case 'j':
        put_number(out, tm->tm_yday + 1, 3, '0', flag);
        break;
    case 'u':
        put_number(out, tm->tm_wday ? tm->tm_wday : 7, 1, '0', flag);
        break;
    case 'w':
        put_number(out, tm->tm_wday, 1, '0', flag);
        break;
    case 'U':
        put_number(out, (tm->tm_yday + 7 - tm->tm_wday) / 7, 2, '0', flag);
        break;
    case 'W':
        put_number(out, (tm->tm_yday + 7 - (tm->tm_wday + 6) % 7) / 7, 2, '0', flag);
        break;
    case 'V':
        put_number(out, week, 2, '0', flag);
        break;
    case 'G':
        put_number(out, year, 0, '0', flag);
        break;
    case 'g':
        put_number(out, year % 100, 2, '0', flag);
        break;
    case 's':
        put_number(out, at->seconds - at->offset, 0, '0', flag);
        break;
    case 'a':
        put_word(out, days[tm->tm_wday], 3, flag);
        break;
    case 'A':
        put_word(out, days[tm->tm_wday], 20, flag);
        break;
    case 'b':
    case 'h':
        put_word(out, months[tm->tm_mon], 3, flag);
        break;
    case 'B':
        put_word(out, months[tm->tm_mon], 20, flag);
        break;
    case 'p':
        put_word(out,
                 flag == '#'        ? (tm->tm_hour < 12 ? "am" : "pm")
                 : tm->tm_hour < 12 ? "AM"
                                    : "PM",
                 2, flag);
        break;
    case 'P':
        put_word(out, tm->tm_hour < 12 ? "am" : "pm", 2, flag);
        break;
    case 'c':
        put_all(out, at, "%a %b %e %H:%M:%S %Y");
        break;
    case 'x':
    case 'D':
        put_all(out, at, "%m/%d/%y");
        break;
    case 'X':
    case 'T':
        put_all(out, at, "%H:%M:%S");
        break;
    case 'R':
        put_all(out, at, "%H:%M");
        break;
    case 'r':
        put_all(out, at, "%I:%M:%S %p");
        break;
    case 'F':
        put_all(out, at, "%Y-%m-%d");
        break;
    case 'n':
        jinja_text_putc(out, '\n');
        break;
    case 't':
        jinja_text_putc(out, '\t');
        break;
    case '%':
        jinja_text_putc(out, '%');
        break;
    case 'Z': /* a naive time has neither */
    case 'z':
        break;
    default:
        jinja_text_putc(out, '%');
        if (flag)
            jinja_text_putc(out, flag);
        jinja_text_putc(out, c);
        break;
    }
}

struct value jinja_format_time(struct vm *vm, struct str format)
{
    struct moment at = {.seconds = vm->settings->now + vm->settings->utc_offset,
                        .offset = vm->settings->utc_offset};
    struct text out = {.vm = vm};
    time_t seconds = (time_t)at.seconds;

    if (!gmtime_r(&seconds, &at.tm))
        jinja_error(vm, "the time is out of range");
    while (format.n) {
        char flag = '\0';

        if (format.p[0] != '%' || format.n == 1) {
            jinja_text_putc(&out, format.p[0]);
            format = str_skip(format, 1);
            continue;
        }
        format = str_skip(format, 1);
        if (format.n > 1 && format.p[0] && strchr("-_0^#", format.p[0])) {
            flag = format.p[0];
            format = str_skip(format, 1);
        }
        put_one(&out, &at, format.p[0], flag);
        format = str_skip(format, 1);
    }
    return jinja_text_value(&out);
}
