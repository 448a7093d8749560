/* The table of filters and their calls, and the plain ones. See jinja_parts.h. Those on texts are
 * filters_text.c, those on lists filters_list.c, what is rare filters_more.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/jinja_parts.h"

static struct value filter_length(struct vm *vm, struct value v, const struct value *args)
{
    int64_t n;

    (void)args;
    if (!jinja_value_length(vm, v, &n))
        jinja_error(vm, "object of type '%s' has no len()", jinja_value_type_name(v));
    return v_int(n);
}

static struct value filter_default(struct vm *vm, struct value v, const struct value *args)
{
    bool is_off =
        v.type == V_UNDEFINED ||
        (args[1].type != V_MISSING && jinja_value_truth(vm, args[1]) && !jinja_value_truth(vm, v));

    if (!is_off)
        return v;
    return args[0].type == V_MISSING ? jinja_v_chars("") : args[0];
}

static struct value filter_abs(struct vm *vm, struct value v, const struct value *args)
{
    (void)args;
    if (v.type == V_UNDEFINED)
        jinja_error(vm, "bad operand type for abs(): 'Undefined'");
    if (v.type == V_FLOAT)
        return v_float(fabs(v.f));
    if (!is_number(v))
        jinja_error(vm, "bad operand type for abs(): '%s'", jinja_value_type_name(v));
    return jinja_number_compare(vm, v, v_int(0)) < 0 ? jinja_value_negate(vm, v)
                                                     : jinja_value_plus(vm, v);
}

static struct value or_default(struct value given, struct value otherwise)
{
    return given.type == V_MISSING ? otherwise : given;
}

/* int(v) of what is no text: false where Python raises TypeError or ValueError. */
static bool int_of(struct vm *vm, struct value v, struct value *out)
{
    if (v.type == V_UNDEFINED)
        jinja_undefined_error(vm, v);
    if (v.type == V_FLOAT && isinf(v.f))
        jinja_error(vm, "cannot convert float infinity to integer");
    if (!is_number(v) || (v.type == V_FLOAT && isnan(v.f)))
        return false;
    *out = v.type == V_FLOAT ? jinja_int_of_double(vm, v.f) : v.type == V_BOOL ? v_int(v.i) : v;
    return true;
}

static struct value filter_int(struct vm *vm, struct value v, const struct value *args)
{
    int64_t base = args[1].type == V_MISSING ? 10 : jinja_value_index(vm, args[1], "base");
    struct value out;
    double f;

    if (v.type == V_BYTES)
        return or_default(args[0], v_int(0));
    if (!is_str(v))
        return int_of(vm, v, &out) ? out : or_default(args[0], v_int(0));
    if ((base == 0 || (base >= 2 && base <= 36)) &&
        jinja_text_parse_int(vm, str_v(v), (int)base, &out))
        return out;
    if (!jinja_text_parse_float(str_v(v), &f) || isnan(f))
        return or_default(args[0], v_int(0));
    if (isinf(f))
        jinja_error(vm, "cannot convert float infinity to integer");
    return jinja_int_of_double(vm, f);
}

static struct value filter_float(struct vm *vm, struct value v, const struct value *args)
{
    double f;

    if (v.type == V_UNDEFINED)
        jinja_undefined_error(vm, v);
    if (is_str(v) && jinja_text_parse_float(str_v(v), &f))
        return v_float(f);
    if (!is_number(v))
        return or_default(args[0], v_float(0));
    return v_float(jinja_value_double(vm, v));
}

static struct value filter_string(struct vm *vm, struct value v, const struct value *args)
{
    (void)args;
    return jinja_value_soft(vm, v);
}

static struct value filter_safe(struct vm *vm, struct value v, const struct value *args)
{
    (void)args;
    v = jinja_value_soft(vm, v);
    v.flags |= F_MARKUP;
    return v;
}

static struct value filter_escape(struct vm *vm, struct value v, const struct value *args)
{
    (void)args;
    return jinja_value_escape(vm, v);
}

static struct value filter_forceescape(struct vm *vm, struct value v, const struct value *args)
{
    (void)args;
    return jinja_value_escape(vm, jinja_value_str(vm, v));
}

static struct value filter_attr(struct vm *vm, struct value v, const struct value *args)
{
    struct value name = jinja_value_str(vm, args[0]);
    struct value out;

    if (v.type == V_UNDEFINED && !str_starts(str_v(name), "__"))
        jinja_undefined_error(vm, v);
    if (!jinja_python_attribute(vm, v, str_v(name), &out))
        return jinja_v_undefined(U_ATTRIBUTE, v, str_v(name));
    if (name.n && name.p[0] == '_')
        return jinja_v_undefined(U_UNSAFE, v, str_v(name));
    if (out.type == V_METHOD && out.method->which < 0)
        return jinja_v_undefined(U_UNSAFE, v, str_v(name));
    return out;
}

/* Python's round: to even at the half, and right in decimal digits. */
static double round_digits(double f, int64_t digits)
{
    char text[512];

    if (!isfinite(f) || digits > 300)
        return f;
    if (digits < -308)
        return 0 * f;
    if (digits >= 0) {
        snprintf(text, sizeof text, "%.*f", (int)digits, f);
        return strtod(text, NULL);
    }

    double unit = pow(10, (double)-digits);

    return rint(f / unit) * unit;
}

static struct value round_int(struct vm *vm, struct value v, int64_t digits)
{
    struct value unit, rest, half, down;
    int sign;

    if (digits >= 0)
        return jinja_value_plus(vm, v);
    if (digits < -4000)
        return v_int(0);
    unit = jinja_value_binary(vm, E_POW, v_int(10), v_int(-digits));
    rest = jinja_value_binary(vm, E_MOD, v, unit);
    down = jinja_value_binary(vm, E_SUB, v, rest);
    half = jinja_value_binary(vm, E_MUL, rest, v_int(2));
    sign = jinja_number_compare(vm, half, unit);
    if (sign == 0)
        sign = jinja_value_equal(vm,
                                 jinja_value_binary(vm, E_MOD,
                                                    jinja_value_binary(vm, E_FLOORDIV, down, unit),
                                                    v_int(2)),
                                 v_int(1))
                   ? 1
                   : -1;
    return sign > 0 ? jinja_value_binary(vm, E_ADD, down, unit) : down;
}

static struct value filter_round(struct vm *vm, struct value v, const struct value *args)
{
    struct value method = or_default(args[1], jinja_v_chars("common"));
    struct value scale;
    struct value scaled;
    double f;
    int64_t digits;

    if (!is_str(method) || (!str_is(str_v(method), "common") && !str_is(str_v(method), "ceil") &&
                            !str_is(str_v(method), "floor")))
        jinja_error(vm, "method must be common, ceil or floor");
    if (str_is(str_v(method), "common")) {
        if (v.type == V_UNDEFINED || !is_number(v))
            jinja_error(vm, "type %s doesn't define __round__ method", jinja_value_type_name(v));
        if (args[0].type == V_NONE) {
            if (v.type != V_FLOAT)
                return jinja_value_plus(vm, v);
            if (!isfinite(v.f))
                jinja_error(vm, "cannot convert float to integer");
            return jinja_int_of_double(vm, rint(v.f));
        }
        digits = args[0].type == V_MISSING ? 0 : jinja_value_index(vm, args[0], "precision");
        return v.type == V_FLOAT ? v_float(round_digits(v.f, digits)) : round_int(vm, v, digits);
    }
    scale = jinja_value_binary(vm, E_POW, v_int(10), or_default(args[0], v_int(0)));
    scaled = jinja_value_binary(vm, E_MUL, v, scale);
    if (!is_number(scaled))
        jinja_error(vm, "must be real number, not %s", jinja_value_type_name(scaled));
    if (scaled.type != V_FLOAT)
        return jinja_value_binary(vm, E_DIV, scaled, scale);
    if (!isfinite(scaled.f))
        jinja_error(vm, "cannot convert float to integer");
    f = str_is(str_v(method), "ceil") ? ceil(scaled.f) : floor(scaled.f);
    return jinja_value_binary(vm, E_DIV, jinja_int_of_double(vm, f), scale);
}

static const struct filter plain[] = {
    {"length", "", 0, 0, filter_length, NULL},
    {"count", "", 0, 0, filter_length, NULL},
    {"default", "default_value boolean", 2, 0, filter_default, NULL},
    {"d", "default_value boolean", 2, 0, filter_default, NULL},
    {"tojson", "ensure_ascii indent separators sort_keys", 4, 0, jinja_filter_tojson, NULL},
    {"string", "", 0, 0, filter_string, NULL},
    {"safe", "", 0, 0, filter_safe, NULL},
    {"int", "default base", 2, 0, filter_int, NULL},
    {"float", "default", 1, 0, filter_float, NULL},
    {"abs", "", 0, 0, filter_abs, NULL},
    {"round", "precision method", 2, 0, filter_round, NULL},
    {"e", "", 0, 0, filter_escape, NULL},
    {"escape", "", 0, 0, filter_escape, NULL},
    {"forceescape", "", 0, 0, filter_forceescape, NULL},
    {"attr", "name", 1, 1, filter_attr, NULL},
};

const struct filter *jinja_filter_find(struct str name)
{
    struct {
        const struct filter *rows;
        size_t n;
    } tables[4] = {{plain, sizeof plain / sizeof plain[0]}};

    tables[1].rows = jinja_filters_of_texts(&tables[1].n);
    tables[2].rows = jinja_filters_of_lists(&tables[2].n);
    tables[3].rows = jinja_filters_of_more(&tables[3].n);
    for (size_t t = 0; t < 4; t++)
        for (size_t i = 0; i < tables[t].n; i++)
            if (str_is(name, tables[t].rows[i].name))
                return &tables[t].rows[i];
    return NULL;
}

struct value jinja_filter_apply(struct vm *vm, const struct filter *filter, struct value v,
                                const struct call *call)
{
    struct value args[8];

    jinja_step(vm);
    if (filter->run_call)
        return filter->run_call(vm, v, call);
    if (call->n_names == 0 && call->n <= filter->n_params && call->n >= filter->n_required) {
        for (size_t i = 0; i < filter->n_params; i++)
            args[i] = i < call->n ? call->args[i] : v_missing();
    } else {
        struct call named = *call;

        named.what = filter->name;
        jinja_call_bind(vm, &named, filter->params, filter->n_required, args);
    }
    return filter->run(vm, v, args);
}
