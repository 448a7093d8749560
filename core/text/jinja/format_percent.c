/* Formatting by the % operator. See jinja_parts.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/format.h"

struct percent {
    struct text out;
    struct value args;
    size_t next, n; /* of a tuple, or of one value */
    bool is_markup, is_mapping;
};

static struct value next_argument(struct percent *p)
{
    if (p->next >= p->n)
        jinja_error(p->out.vm, "not enough arguments for format string");
    return p->args.type == V_TUPLE ? p->args.list->items[p->next++] : (p->next++, p->args);
}

static struct value named_argument(struct percent *p, struct str *s)
{
    struct vm *vm = p->out.vm;
    size_t n = 0, depth = 1;
    const struct value *member;

    if (!p->is_mapping)
        jinja_error(vm, "format requires a mapping");
    *s = str_skip(*s, 1);
    for (; n < s->n && depth; n++)
        depth += (size_t)(s->p[n] == '(') - (size_t)(s->p[n] == ')');
    if (depth)
        jinja_error(vm, "incomplete format key");
    if (p->args.type != V_DICT)
        jinja_error(vm, "indices must be integers, not str");
    member = jinja_dict_get(vm, p->args.dict, v_str(vm, str_first(*s, n - 1), 0));
    if (!member)
        jinja_error(vm, "KeyError: '%.*s'", (int)((n - 1) & 0x7F), s->p);
    *s = str_skip(*s, n);
    p->next = p->n;
    return *member;
}

static int64_t percent_number(struct percent *p, struct str *s)
{
    if (jinja_format_take_char(s, '*'))
        return jinja_value_index(p->out.vm, next_argument(p), "*");
    return jinja_format_take_number(p->out.vm, s);
}

static struct value number_for(struct percent *p, struct value v, char type)
{
    struct vm *vm = p->out.vm;
    bool wants_float = strchr("eEfFgG", type) != NULL;

    if (v.type == V_UNDEFINED && wants_float)
        jinja_undefined_error(vm, v);
    if (!is_number(v))
        jinja_error(vm, "%%%c format: a real number is required, not %s", type,
                    jinja_value_type_name(v));
    if (wants_float)
        return v_float(jinja_value_double(vm, v));
    if (v.type == V_FLOAT) {
        if (strchr("xXo", type))
            jinja_error(vm, "%%%c format: an integer is required, not float", type);
        if (!isfinite(v.f))
            jinja_error(vm, "cannot convert float infinity or NaN to integer");
        return jinja_int_of_double(vm, v.f);
    }
    return v.type == V_BOOL ? v_int(v.i) : v;
}

static struct str percent_text(struct percent *p, struct value v, char type)
{
    struct text one = {.vm = p->out.vm};

    if (type == 's' && p->is_markup) {
        v = jinja_value_escape(p->out.vm, v);
        return str_v(v);
    }
    if (type == 's') {
        jinja_print_str(&one, v);
    } else {
        jinja_print_repr(&one, v);
        if (p->is_markup) {
            struct text escaped = {.vm = p->out.vm};

            jinja_escape_into(&escaped, str_from(one.p, one.n));
            one = escaped;
        }
    }
    return str_from(one.p ? one.p : "", one.n);
}

static void percent_char(struct percent *p, struct value v, struct spec *spec)
{
    struct vm *vm = p->out.vm;
    struct text one = {.vm = vm};

    if (is_str(v) && jinja_text_count(vm, str_v(v)) == 1) {
        jinja_format_put_text(&p->out, str_v(v), spec);
        return;
    }
    if (!is_intlike(v))
        jinja_error(vm, "%%c requires int or char");
    if (v.i < 0 || v.i > 0x10FFFF)
        jinja_error(vm, "%%c arg not in range(0x110000)");
    jinja_text_codepoint(&one, (int32_t)v.i);
    jinja_format_put_text(&p->out, str_from(one.p, one.n), spec);
}

static void percent_one(struct percent *p, struct str *s)
{
    struct vm *vm = p->out.vm;
    struct spec spec = {.fill = str_of(" "), .width = -1, .precision = -1, .align = '>'};
    struct value v = v_missing();
    bool is_left = false;
    char type;

    if (s->n && s->p[0] == '(')
        v = named_argument(p, s);
    for (; s->n && s->p[0] && strchr("-+ #0", s->p[0]); *s = str_skip(*s, 1)) {
        is_left = is_left || s->p[0] == '-';
        spec.is_alternate = spec.is_alternate || s->p[0] == '#';
        spec.has_zero = spec.has_zero || s->p[0] == '0';
        if (s->p[0] == '+' || (s->p[0] == ' ' && !spec.sign))
            spec.sign = s->p[0];
    }
    spec.width = percent_number(p, s);
    if (spec.width < 0) {
        is_left = true;
        spec.width = -spec.width;
    }
    if (spec.width > MOST_WIDTH)
        jinja_too_much(vm, "width");
    if (jinja_format_take_char(s, '.')) {
        spec.precision = percent_number(p, s);
        if (spec.precision < 0)
            spec.precision = 0;
    }
    while (s->n && (s->p[0] == 'h' || s->p[0] == 'l' || s->p[0] == 'L'))
        *s = str_skip(*s, 1);
    if (s->n == 0)
        jinja_error(vm, "incomplete format");
    type = s->p[0];
    *s = str_skip(*s, 1);
    if (type == '%') {
        jinja_text_putc(&p->out, '%');
        return;
    }
    if (!type || !strchr("diouxXeEfFgGcrsa", type))
        jinja_error(vm, "unsupported format character '%c'", type);
    if (v.type == V_MISSING)
        v = next_argument(p);
    if (is_left)
        spec.align = '<';
    if (type == 's' || type == 'r' || type == 'a') {
        jinja_format_put_text(&p->out, percent_text(p, v, type), &spec);
        return;
    }
    if (type == 'c') {
        spec.precision = -1;
        percent_char(p, v, &spec);
        return;
    }
    v = number_for(p, v, type);
    if (spec.has_zero && !is_left) {
        spec.align = '=';
        spec.fill = str_of("0");
    }
    spec.type = type == 'd' || type == 'i' || type == 'u' ? '\0' : type;
    if (v.type != V_FLOAT && spec.precision >= 0) {
        struct text digits = {.vm = vm};

        jinja_format_int_digits(&digits, v, type);
        if ((int64_t)digits.n < spec.precision) { /* as many digits at least */
            struct text all = {.vm = vm};

            jinja_text_fill(&all, str_of("0"), spec.precision - (int64_t)digits.n);
            jinja_text_add(&all, digits.p, digits.n);
            digits = all;
        }
        jinja_format_put_padded(&p->out, &spec,
                                jinja_format_is_negative(v) ? str_of("-")
                                : spec.sign                 ? str_from(&spec.sign, 1)
                                                            : str_of(""),
                                str_from(digits.p, digits.n), spec.align);
        return;
    }
    jinja_format_put_number(&p->out, v, &spec);
}

struct value jinja_format_percent(struct vm *vm, struct value format, struct value args)
{
    struct percent p = {.out = {.vm = vm}, .args = args, .is_markup = format.flags & F_MARKUP};
    struct str s = str_v(format);
    struct value v;

    p.n = args.type == V_TUPLE ? args.list->n : 1;
    p.is_mapping = args.type == V_DICT || args.type == V_LIST || args.type == V_UNDEFINED;
    while (s.n) {
        const char *hit = memchr(s.p, '%', s.n);
        size_t n = hit ? (size_t)(hit - s.p) : s.n;

        jinja_text_add(&p.out, s.p, n);
        if (!hit)
            break;
        s = str_skip(s, n + 1);
        percent_one(&p, &s);
    }
    if (p.next < p.n && !p.is_mapping)
        jinja_error(vm, "not all arguments converted during string formatting");
    v = jinja_text_value(&p.out);
    v.flags = format.flags & F_MARKUP;
    return v;
}
