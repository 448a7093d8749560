/* Print, Println and Printf: several values, and format strings with their complaints. */
#include <stdio.h>

#include "core/base/unicode.h"
#include "core/text/go/format.h"

/* A blank stands between two values of which none is a text. */
bool go_print_all(struct go_run *run, const struct go_value *values, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && values[i].type != GO_STRING && values[i - 1].type != GO_STRING)
            buf_putc(out, ' ');
        if (!go_print(run, &values[i], out))
            return false;
    }
    return true;
}

bool go_println(struct go_run *run, const struct go_value *values, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_putc(out, ' ');
        if (!go_print(run, &values[i], out))
            return false;
    }
    buf_putc(out, '\n');
    return true;
}

/* ---- format strings ---- */

struct directive {
    struct go_format f;
    struct str format;
    size_t i;                   /* in format */
    const struct go_value *args;
    size_t n_args, next;
    bool after_index;           /* what came last was an index like [3] */
    bool is_good_index, is_reordered;
};

static char here(const struct directive *d)
{
    return d->i < d->format.n ? d->format.p[d->i] : '\0';
}

/* Digits up to the largest width; false: there are none, or they are too many. */
static bool read_digits(struct directive *d, int *out)
{
    bool has_any = false;
    int value = 0;

    for (; here(d) >= '0' && here(d) <= '9'; d->i++) {
        if (value > GO_WIDTH_MOST) {
            *out = 0;
            d->i = d->format.n; /* as Go: the rest is lost */
            return false;
        }
        value = value * 10 + here(d) - '0';
        has_any = true;
    }
    *out = value;
    return has_any;
}

/* [n] */
static void read_index(struct directive *d)
{
    size_t end = d->i;
    struct directive number = *d;
    int value;

    d->after_index = false;
    if (here(d) != '[')
        return;
    d->is_reordered = true;
    while (end < d->format.n && d->format.p[end] != ']')
        end++;
    if (end == d->format.n || d->format.n - d->i < 3) {
        d->is_good_index = false;
        d->i++;
        return;
    }
    number.i = d->i + 1;
    number.format.n = end;
    d->i = end + 1;
    if (!read_digits(&number, &value) || number.i != end) {
        d->is_good_index = false;
        return;
    }
    d->after_index = true;
    if (value >= 1 && (size_t)value <= d->n_args)
        d->next = (size_t)value - 1;
    else
        d->is_good_index = false;
}

/* The number behind a *. */
static bool take_number(struct directive *d, int *out)
{
    *out = 0;
    if (d->next >= d->n_args)
        return false;
    const struct go_value *value = &d->args[d->next++];

    if (value->type != GO_INT || value->integer > GO_WIDTH_MOST || value->integer < -GO_WIDTH_MOST)
        return false;
    *out = (int)value->integer;
    return true;
}

static void read_flags(struct directive *d)
{
    for (;; d->i++) {
        switch (here(d)) {
        case '#':
            d->f.sharp = true;
            break;
        case '0':
            d->f.zero = true;
            break;
        case '+':
            d->f.plus = true;
            break;
        case '-':
            d->f.minus = true;
            break;
        case ' ':
            d->f.space = true;
            break;
        default:
            return;
        }
    }
}

static void read_width(struct directive *d)
{
    if (here(d) != '*') {
        d->f.has_width = read_digits(d, &d->f.width);
        if (d->after_index && d->f.has_width)
            d->is_good_index = false;
        return;
    }
    d->i++;
    d->f.has_width = take_number(d, &d->f.width);
    if (!d->f.has_width)
        buf_puts(d->f.out, "%!(BADWIDTH)");
    if (d->f.width < 0) {
        d->f.width = -d->f.width;
        d->f.minus = true;
        d->f.zero = false;
    }
    d->after_index = false;
}

static void read_precision(struct directive *d)
{
    if (here(d) != '.' || d->i + 1 >= d->format.n)
        return;
    d->i++;
    if (d->after_index)
        d->is_good_index = false;
    read_index(d);
    if (here(d) != '*') {
        d->f.has_precision = read_digits(d, &d->f.precision);
        if (!d->f.has_precision)
            d->f.precision = 0;
        d->f.has_precision = true;
        return;
    }
    d->i++;
    d->f.has_precision = take_number(d, &d->f.precision);
    if (d->f.precision < 0) {
        d->f.precision = 0;
        d->f.has_precision = false;
    }
    if (!d->f.has_precision)
        buf_puts(d->f.out, "%!(BADPREC)");
    d->after_index = false;
}

static bool put_argument(struct directive *d, int32_t verb)
{
    if (verb == 'v') {
        d->f.sharp_v = d->f.sharp;
        d->f.sharp = false;
        d->f.plus_v = d->f.plus;
        d->f.plus = false;
    }
    return go_format_argument(&d->f, &d->args[d->next++], verb);
}

static void put_complaint(struct directive *d, struct str verb, const char *what)
{
    buf_puts(d->f.out, "%!");
    buf_str(d->f.out, verb);
    buf_puts(d->f.out, what);
}

/* Behind the percent sign. */
static bool put_directive(struct directive *d)
{
    struct go_format clear = {.run = d->f.run, .out = d->f.out};
    struct str verb;
    int32_t c;

    d->f = clear;
    d->is_good_index = true;
    read_flags(d);
    read_index(d);
    read_width(d);
    read_precision(d);
    if (!d->after_index)
        read_index(d);
    if (d->i >= d->format.n) {
        buf_puts(d->f.out, "%!(NOVERB)");
        return true;
    }
    verb = str_skip(d->format, d->i);
    verb.n = unicode_next(verb, &c);
    d->i += verb.n;
    if (c < 0)
        verb = str_of("\xEF\xBF\xBD");
    if (c == '%')
        buf_putc(d->f.out, '%');
    else if (!d->is_good_index)
        put_complaint(d, verb, "(BADINDEX)");
    else if (d->next >= d->n_args)
        put_complaint(d, verb, "(MISSING)");
    else
        return c == 'w' ? go_run_refuse(d->f.run, "verb %%w") : put_argument(d, c);
    return true;
}

static bool put_extra(struct directive *d)
{
    struct go_format clear = {.run = d->f.run, .out = d->f.out};

    if (d->is_reordered || d->next >= d->n_args)
        return true;
    d->f = clear;
    buf_puts(d->f.out, "%!(EXTRA ");
    for (size_t i = d->next; i < d->n_args; i++) {
        const struct go_value *value = &d->args[i];

        if (i > d->next)
            buf_puts(d->f.out, ", ");
        if (value->type != GO_NIL) {
            if (value->is_pointer)
                buf_putc(d->f.out, '*');
            buf_printf(d->f.out, "%s=", go_type_name(value));
        }
        if (!go_format_argument(&d->f, value, 'v'))
            return false;
    }
    buf_putc(d->f.out, ')');
    return true;
}

bool go_printf(struct go_run *run, const struct go_value *values, size_t n, struct buf *out)
{
    struct directive d = {.f = {.run = run, .out = out},
                          .format = values[0].text,
                          .args = values + 1,
                          .n_args = n - 1};

    while (d.i < d.format.n) {
        size_t begin = d.i;

        while (d.i < d.format.n && d.format.p[d.i] != '%')
            d.i++;
        buf_add(out, d.format.p + begin, d.i - begin);
        if (d.i++ >= d.format.n)
            break;
        if (!put_directive(&d))
            return false;
    }
    return put_extra(&d);
}
