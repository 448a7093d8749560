/* Formatting: str.format with its specifications. See jinja_parts.h. The % operator is
 * format_percent.c, strftime format_time.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/format.h"

/* ---- numbers ---- */

/* The digits of a float by a conversion; no sign. */
static void float_digits(struct text *out, double f, char type, int64_t precision,
                         bool is_alternate)
{
    char fmt[16], digits[1200];

    f = fabs(f);
    if (isnan(f) || isinf(f)) {
        bool is_upper = type == 'F' || type == 'E' || type == 'G';

        jinja_text_puts(out, isnan(f) ? (is_upper ? "NAN" : "nan") : is_upper ? "INF" : "inf");
        return;
    }
    if (precision > 800)
        jinja_too_much(out->vm, "precision");
    snprintf(fmt, sizeof fmt, is_alternate ? "%%#.%d%c" : "%%.%d%c", (int)precision, type);
    snprintf(digits, sizeof digits, "%.*f", 0, 0.0);
    switch (type) {
    case 'e':
        snprintf(digits, sizeof digits, is_alternate ? "%#.*e" : "%.*e", (int)precision, f);
        break;
    case 'E':
        snprintf(digits, sizeof digits, is_alternate ? "%#.*E" : "%.*E", (int)precision, f);
        break;
    case 'g':
        snprintf(digits, sizeof digits, is_alternate ? "%#.*g" : "%.*g", (int)precision, f);
        break;
    case 'G':
        snprintf(digits, sizeof digits, is_alternate ? "%#.*G" : "%.*G", (int)precision, f);
        break;
    default:
        snprintf(digits, sizeof digits, is_alternate ? "%#.*f" : "%.*f", (int)precision, f);
        break;
    }
    jinja_text_puts(out, digits);
}

void jinja_format_int_digits(struct text *out, struct value v, char type)
{
    static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";
    uint64_t u = v.i < 0 ? (uint64_t)0 - (uint64_t)v.i : (uint64_t)v.i;
    uint64_t base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
    char digits[66];
    char *p = digits + sizeof digits;

    if (v.type == V_BIG) {
        struct str text = jinja_big_text(out->vm, v.big);

        if (base != 10)
            jinja_error(out->vm, "a big integer in another base than 10, which is not done here");
        jinja_text_add(out, text.p + v.big->negative, text.n - v.big->negative);
        return;
    }
    do
        *--p = (type == 'X' ? upper : lower)[u % base];
    while (u /= base);
    jinja_text_add(out, p, (size_t)(digits + sizeof digits - p));
}

bool jinja_format_is_negative(struct value v)
{
    return v.type == V_FLOAT ? signbit(v.f) && !isnan(v.f)
           : v.type == V_BIG ? v.big->negative
                             : v.i < 0;
}

/* Digits in groups: of three, of four in other bases. */
static struct str grouped(struct vm *vm, struct str digits, char separator, size_t group)
{
    struct text out = {.vm = vm};
    size_t whole = 0;

    while (whole < digits.n && ((digits.p[whole] >= '0' && digits.p[whole] <= '9') ||
                                (group == 4 && digits.p[whole] >= 'A')))
        whole++;
    for (size_t i = 0; i < whole; i++) {
        if (i && (whole - i) % group == 0)
            jinja_text_putc(&out, separator);
        jinja_text_putc(&out, digits.p[i]);
    }
    jinja_text_add(&out, digits.p + whole, digits.n - whole);
    return str_from(out.p, out.n);
}

void jinja_format_put_padded(struct text *out, const struct spec *spec, struct str sign,
                             struct str body, char align)
{
    int64_t n = (int64_t)(sign.n + jinja_text_count(out->vm, body));
    int64_t missing = spec->width > n ? spec->width - n : 0;
    int64_t left = align == '>' ? missing : align == '^' ? missing / 2 : 0;

    if (align == '=') {
        jinja_text_add(out, sign.p, sign.n);
        jinja_text_fill(out, spec->fill, missing);
        jinja_text_add(out, body.p, body.n);
        return;
    }
    jinja_text_fill(out, spec->fill, left);
    jinja_text_add(out, sign.p, sign.n);
    jinja_text_add(out, body.p, body.n);
    jinja_text_fill(out, spec->fill, missing - left);
}

void jinja_format_put_number(struct text *out, struct value v, const struct spec *spec)
{
    struct text digits = {.vm = out->vm}, sign = {.vm = out->vm};
    struct str body;
    char type = spec->type;
    bool is_float = v.type == V_FLOAT || (type && strchr("eEfFgG%", type));

    if (jinja_format_is_negative(v))
        jinja_text_putc(&sign, '-');
    else if (spec->sign == '+' || spec->sign == ' ')
        jinja_text_putc(&sign, spec->sign);
    if (type == 'c') {
        jinja_text_codepoint(&digits, (int32_t)jinja_value_index(out->vm, v, "a character"));
    } else if (!is_float) {
        if (spec->is_alternate && type && strchr("xXob", type)) {
            jinja_text_putc(&sign, '0');
            jinja_text_putc(&sign, type);
        }
        jinja_format_int_digits(&digits, v, type);
    } else if (!type && spec->precision < 0) {
        jinja_print_str(&digits, v_float(fabs(v.f)));
    } else {
        double f = jinja_value_double(out->vm, v) * (type == '%' ? 100 : 1);
        int64_t precision = spec->precision < 0 ? 6 : spec->precision;

        if ((!type || type == 'g' || type == 'G' || type == 'n') && precision == 0)
            precision = 1;
        float_digits(&digits, f,
                     !type || type == 'n' ? 'g'
                     : type == '%'        ? 'f'
                                          : type,
                     precision, spec->is_alternate);
        if (!type && !memchr(digits.p, '.', digits.n) && !memchr(digits.p, 'e', digits.n) &&
            !memchr(digits.p, 'n', digits.n))
            jinja_text_puts(&digits, ".0");
        if (type == '%')
            jinja_text_putc(&digits, '%');
    }
    body = str_from(digits.p, digits.n);
    if (spec->has_comma || spec->has_underscore)
        body = grouped(out->vm, body, spec->has_comma ? ',' : '_',
                       type && strchr("xXob", type) ? 4 : 3);
    jinja_format_put_padded(out, spec, str_from(sign.p ? sign.p : "", sign.n), body,
                            spec->align      ? spec->align
                            : spec->has_zero ? '='
                                             : '>');
}

void jinja_format_put_text(struct text *out, struct str s, const struct spec *spec)
{
    if (spec->precision >= 0)
        s = str_first(s, jinja_text_offset(out->vm, s, (size_t)spec->precision));
    jinja_format_put_padded(out, spec, str_from("", 0), s, spec->align ? spec->align : '<');
}

/* ---- specifications of format ---- */

int64_t jinja_format_take_number(struct vm *vm, struct str *s)
{
    int64_t n = 0;

    while (s->n && s->p[0] >= '0' && s->p[0] <= '9') {
        n = n * 10 + (s->p[0] - '0');
        if (n > MOST_WIDTH)
            jinja_too_much(vm, "width");
        *s = str_skip(*s, 1);
    }
    return n;
}

bool jinja_format_take_char(struct str *s, char c)
{
    if (s->n == 0 || s->p[0] != c)
        return false;
    *s = str_skip(*s, 1);
    return true;
}

static bool is_align(char c)
{
    return c == '<' || c == '>' || c == '^' || c == '=';
}

static struct spec parse_spec(struct vm *vm, struct str s)
{
    struct spec spec = {.fill = str_of(" "), .width = -1, .precision = -1};
    int32_t codepoint;
    size_t first = s.n ? jinja_text_step(s, &codepoint) : 0;

    if (s.n > first && is_align(s.p[first])) {
        spec.fill = str_first(s, first);
        spec.align = s.p[first];
        s = str_skip(s, first + 1);
    } else if (s.n && is_align(s.p[0])) {
        spec.align = s.p[0];
        s = str_skip(s, 1);
    }
    if (s.n && (s.p[0] == '+' || s.p[0] == '-' || s.p[0] == ' ')) {
        spec.sign = s.p[0];
        s = str_skip(s, 1);
    }
    spec.is_alternate = jinja_format_take_char(&s, '#');
    if (jinja_format_take_char(&s, '0')) {
        spec.has_zero = true;
        if (!spec.align)
            spec.fill = str_of("0");
    }
    if (s.n && s.p[0] >= '0' && s.p[0] <= '9')
        spec.width = jinja_format_take_number(vm, &s);
    else if (spec.has_zero)
        spec.width = 0;
    spec.has_comma = jinja_format_take_char(&s, ',');
    spec.has_underscore = jinja_format_take_char(&s, '_');
    if (jinja_format_take_char(&s, '.')) {
        if (s.n == 0 || s.p[0] < '0' || s.p[0] > '9')
            jinja_error(vm, "format specifier missing precision");
        spec.precision = jinja_format_take_number(vm, &s);
    }
    if (s.n) {
        spec.type = s.p[0];
        s = str_skip(s, 1);
    }
    if (s.n)
        jinja_error(vm, "invalid format specifier");
    return spec;
}

static void jinja_format_spec(struct text *out, struct value v, struct str text)
{
    struct vm *vm = out->vm;
    struct spec spec;

    if (text.n == 0 || (!is_str(v) && !is_number(v))) {
        if (text.n)
            jinja_error(vm, "unsupported format string passed to %s.__format__",
                        jinja_value_type_name(v));
        jinja_print_str(out, v);
        return;
    }
    spec = parse_spec(vm, text);
    if (is_str(v)) {
        if ((spec.type && spec.type != 's') || spec.align == '=' || spec.sign || spec.has_comma ||
            spec.has_underscore || spec.is_alternate)
            jinja_error(vm, "unknown format code for object of type 'str'");
        if (spec.has_zero && !spec.align)
            spec.align = '<';
        jinja_format_put_text(out, str_v(v), &spec);
        return;
    }
    if (v.type == V_BOOL && !spec.type) {
        spec.type = 'd';
    }
    if (spec.type && !strchr(v.type == V_FLOAT ? "eEfFgGn%" : "bcdoxXneEfFgG%", spec.type))
        jinja_error(vm, "unknown format code '%c' for object of type '%s'", spec.type,
                    jinja_value_type_name(v));
    if (v.type != V_FLOAT && spec.precision >= 0 && (!spec.type || strchr("bcdoxXn", spec.type)))
        jinja_error(vm, "precision not allowed in integer format specifier");
    if (spec.type == 'd' || spec.type == 'n')
        spec.type = v.type == V_FLOAT ? 'g' : '\0';
    jinja_format_put_number(out, v, &spec);
}

/* ---- str.format ---- */

struct braces {
    struct text out;
    const struct call *call;
    int64_t next; /* automatic field; -1: numbered by hand */
    bool is_markup;
    int depth;
};

static struct value field_argument(struct braces *b, struct str name)
{
    struct vm *vm = b->out.vm;
    int64_t at = 0;

    if (name.n == 0) {
        if (b->next < 0)
            jinja_error(vm, "cannot switch from manual field specification to automatic field "
                            "numbering");
        at = b->next++;
    } else if (name.p[0] >= '0' && name.p[0] <= '9') {
        if (b->next > 0)
            jinja_error(vm, "cannot switch from automatic field numbering to manual field "
                            "specification");
        b->next = -1;
        at = jinja_format_take_number(vm, &name);
    } else {
        for (size_t k = 0; k < b->call->n_names; k++)
            if (str_eq(b->call->names[k], name))
                return b->call->args[b->call->n + k];
        jinja_error(vm, "KeyError: '%.*s'", (int)(name.n & 0x7F), name.p);
    }
    if (at >= (int64_t)b->call->n)
        jinja_error(vm, "replacement index %lld out of range for positional args tuple",
                    (long long)at);
    return b->call->args[at];
}

static size_t name_end(struct str s)
{
    size_t n = 0;

    while (n < s.n && s.p[n] != '.' && s.p[n] != '[')
        n++;
    return n;
}

static struct value field_value(struct braces *b, struct str field)
{
    struct vm *vm = b->out.vm;
    size_t n = name_end(field);
    struct value v = field_argument(b, str_first(field, n));

    field = str_skip(field, n);
    while (field.n) {
        if (jinja_format_take_char(&field, '.')) {
            n = name_end(field);
            if (n == 0)
                jinja_error(vm, "empty attribute in format string");
            v = jinja_value_attribute(vm, v, str_first(field, n));
            field = str_skip(field, n);
            continue;
        }

        const char *close = memchr(field.p, ']', field.n);
        struct str key;

        if (field.p[0] != '[' || !close)
            jinja_error(vm, "only '.' or '[' may follow ']' in format field specifier");
        key = str_from(field.p + 1, (size_t)(close - field.p) - 1);
        if (key.n == 0)
            jinja_error(vm, "empty attribute in format string");
        if (key.p[0] >= '0' && key.p[0] <= '9') {
            struct str digits = key;
            int64_t at = jinja_format_take_number(vm, &digits);

            v = jinja_value_item(vm, v, digits.n ? v_str(vm, key, 0) : v_int(at));
        } else {
            v = jinja_value_item(vm, v, v_str(vm, key, 0));
        }
        field = str_skip(field, (size_t)(close - field.p) + 1);
    }
    return v;
}

static void format_into(struct braces *b, struct str s);

static void put_field(struct braces *b, struct str field)
{
    struct vm *vm = b->out.vm;
    size_t n = 0;
    bool in_brackets = false;
    char conversion = '\0';
    struct str spec = {NULL, 0};
    struct value v;

    for (; n < field.n; n++) {
        if (field.p[n] == '[')
            in_brackets = true;
        else if (field.p[n] == ']')
            in_brackets = false;
        else if (!in_brackets && (field.p[n] == '!' || field.p[n] == ':'))
            break;
    }
    v = field_value(b, str_first(field, n));
    field = str_skip(field, n);
    if (jinja_format_take_char(&field, '!')) {
        if (field.n == 0)
            jinja_error(vm, "unmatched '{' in format spec");
        conversion = field.p[0];
        field = str_skip(field, 1);
        if (field.n && field.p[0] != ':')
            jinja_error(vm, "expected ':' after conversion specifier");
    }
    if (jinja_format_take_char(&field, ':')) {
        struct braces inner = {
            .out = {.vm = vm}, .call = b->call, .next = b->next, .depth = b->depth + 1};

        if (inner.depth > 2)
            jinja_error(vm, "max string recursion exceeded");
        format_into(&inner, field);
        b->next = inner.next;
        spec = str_from(inner.out.p, inner.out.n);
    }
    if (conversion == 'r' || conversion == 'a') {
        struct text repr = {.vm = vm};

        jinja_print_repr(&repr, v);
        v = jinja_text_value(&repr);
    } else if (conversion == 's') {
        v = jinja_value_str(vm, v);
    } else if (conversion) {
        jinja_error(vm, "unknown conversion specifier '%c'", conversion);
    }
    if (b->is_markup) {
        struct text one = {.vm = vm};

        if (is_str(v) && v.flags & F_MARKUP) {
            jinja_text_str(&b->out, v);
            return;
        }
        jinja_format_spec(&one, v, spec);
        jinja_escape_into(&b->out, str_from(one.p, one.n));
        return;
    }
    jinja_format_spec(&b->out, v, spec);
}

static void format_into(struct braces *b, struct str s)
{
    struct vm *vm = b->out.vm;

    while (s.n) {
        size_t n = 0, depth = 1, end = 1;

        while (n < s.n && s.p[n] != '{' && s.p[n] != '}')
            n++;
        jinja_text_add(&b->out, s.p, n);
        s = str_skip(s, n);
        if (s.n == 0)
            return;
        if (s.n > 1 && s.p[1] == s.p[0]) {
            jinja_text_putc(&b->out, s.p[0]);
            s = str_skip(s, 2);
            continue;
        }
        if (s.p[0] == '}')
            jinja_error(vm, "single '}' encountered in format string");
        for (; end < s.n && depth; end++)
            depth += (size_t)(s.p[end] == '{') - (size_t)(s.p[end] == '}');
        if (depth)
            jinja_error(vm, s.n == 1 ? "single '{' encountered in format string"
                                     : "expected '}' before end of string");
        put_field(b, str_from(s.p + 1, end - 2));
        s = str_skip(s, end);
    }
}

struct value jinja_format_braces(struct vm *vm, struct value format, const struct call *call)
{
    struct braces b = {.out = {.vm = vm}, .call = call, .is_markup = format.flags & F_MARKUP};
    struct value v;

    format_into(&b, str_v(format));
    v = jinja_text_value(&b.out);
    v.flags = format.flags & F_MARKUP;
    return v;
}
