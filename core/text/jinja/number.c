/* Arithmetic as Python does it on integers, floats, texts and lists. See jinja_parts.h. Integers
 * beyond 64 bits are big.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/text/jinja/jinja_parts.h"

static const char *op_text(enum node_kind kind)
{
    static const char *const texts[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};

    return texts[kind - E_ADD];
}

static _Noreturn void unsupported(struct vm *vm, enum node_kind kind, struct value a,
                                  struct value b)
{
    if (a.type == V_UNDEFINED)
        jinja_undefined_error(vm, a);
    if (b.type == V_UNDEFINED)
        jinja_undefined_error(vm, b);
    jinja_error(vm, "unsupported operand type(s) for %s: '%s' and '%s'", op_text(kind),
                jinja_value_type_name(a), jinja_value_type_name(b));
}

double jinja_value_double(struct vm *vm, struct value v)
{
    double out;

    if (v.type == V_FLOAT)
        return v.f;
    if (v.type != V_BIG)
        return (double)v.i;
    if (!jinja_double_of_big(v.big, &out))
        jinja_error(vm, "int too large to convert to float");
    return out;
}

/* ---- integers ---- */

static struct value divide_ints(struct vm *vm, enum node_kind kind, int64_t a, int64_t b)
{
    if (b == 0)
        jinja_error(vm, kind == E_MOD ? "integer modulo by zero"
                                      : "integer division or modulo by zero");
    if (b == -1)
        return kind == E_MOD ? v_int(0) : jinja_value_negate(vm, v_int(a));

    int64_t quotient = a / b, rest = a % b;

    if (rest != 0 && (rest < 0) != (b < 0)) {
        quotient--;
        rest += b;
    }
    return v_int(kind == E_MOD ? rest : quotient);
}

static struct value power_ints(struct vm *vm, struct value a, struct value b)
{
    if (b.i < 0) {
        if (a.i == 0)
            jinja_error(vm, "0.0 cannot be raised to a negative power");
        return v_float(pow((double)a.i, (double)b.i));
    }

    int64_t result = 1, base = a.i;

    for (int64_t exponent = b.i; exponent > 0; exponent >>= 1) {
        if (exponent & 1 && __builtin_mul_overflow(result, base, &result))
            return jinja_big_binary(vm, E_POW, v_int(a.i), b);
        if (exponent > 1 && __builtin_mul_overflow(base, base, &base))
            return jinja_big_binary(vm, E_POW, v_int(a.i), b);
    }
    return v_int(result);
}

static struct value binary_ints(struct vm *vm, enum node_kind kind, struct value a, struct value b)
{
    int64_t out;

    switch ((int)kind) {
    case E_ADD:
        if (!__builtin_add_overflow(a.i, b.i, &out))
            return v_int(out);
        break;
    case E_SUB:
        if (!__builtin_sub_overflow(a.i, b.i, &out))
            return v_int(out);
        break;
    case E_MUL:
        if (!__builtin_mul_overflow(a.i, b.i, &out))
            return v_int(out);
        break;
    case E_DIV:
        if (b.i == 0)
            jinja_error(vm, "division by zero");
        if (llabs(a.i) <= INT64_C(1) << 53 && llabs(b.i) <= INT64_C(1) << 53)
            return v_float((double)a.i / (double)b.i);
        return v_float((double)((long double)a.i / (long double)b.i));
    case E_POW:
        return power_ints(vm, a, b);
    default:
        return divide_ints(vm, kind, a.i, b.i);
    }
    return jinja_big_binary(vm, kind, v_int(a.i), v_int(b.i));
}

/* ---- floats ---- */

static double floor_quotient(double a, double b, double *rest)
{
    double mod = fmod(a, b);
    double quotient = (a - mod) / b;
    double floored;

    if (mod != 0) {
        if ((b < 0) != (mod < 0)) {
            mod += b;
            quotient -= 1;
        }
    } else {
        mod = copysign(0, b);
    }
    if (quotient != 0) {
        floored = floor(quotient);
        if (quotient - floored > 0.5)
            floored += 1;
    } else {
        floored = copysign(0, a / b);
    }
    *rest = mod;
    return floored;
}

static struct value power_floats(struct vm *vm, double a, double b)
{
    double out = pow(a, b);

    if (a == 0 && b < 0)
        jinja_error(vm, "0.0 cannot be raised to a negative power");
    if (a < 0 && isfinite(a) && isfinite(b) && b != floor(b))
        jinja_error(vm, "a negative number to a fractional power is complex, which is not known");
    if (isinf(out) && isfinite(a) && isfinite(b))
        jinja_error(vm, "(34, 'Numerical result out of range')");
    return v_float(out);
}

static struct value binary_floats(struct vm *vm, enum node_kind kind, double a, double b)
{
    double rest;

    switch ((int)kind) {
    case E_ADD:
        return v_float(a + b);
    case E_SUB:
        return v_float(a - b);
    case E_MUL:
        return v_float(a * b);
    case E_DIV:
        if (b == 0)
            jinja_error(vm, "float division by zero");
        return v_float(a / b);
    case E_POW:
        return power_floats(vm, a, b);
    default:
        if (b == 0)
            jinja_error(vm, kind == E_MOD ? "float modulo" : "float floor division by zero");
        a = floor_quotient(a, b, &rest);
        return v_float(kind == E_MOD ? rest : a);
    }
}

static struct value jinja_number_binary(struct vm *vm, enum node_kind kind, struct value a,
                                        struct value b)
{
    if (a.type == V_FLOAT || b.type == V_FLOAT)
        return binary_floats(vm, kind, jinja_value_double(vm, a), jinja_value_double(vm, b));
    if (a.type == V_BIG || b.type == V_BIG)
        return jinja_big_binary(vm, kind, a, b);
    return binary_ints(vm, kind, a, b);
}

/* Exact also where a double does not hold the integer. */
static int compare_int_float(struct vm *vm, struct value a, double f)
{
    if (isnan(f))
        return -2;
    if (isinf(f))
        return f > 0 ? -1 : 1;

    struct value whole = jinja_int_of_double(vm, trunc(f));
    int sign = jinja_number_compare(vm, a, whole);

    if (sign != 0)
        return sign;
    return f > trunc(f) ? -1 : f < trunc(f);
}

int jinja_number_compare(struct vm *vm, struct value a, struct value b)
{
    if (a.type == V_FLOAT && b.type == V_FLOAT)
        return isnan(a.f) || isnan(b.f) ? -2 : a.f < b.f ? -1 : a.f > b.f;
    if (a.type == V_FLOAT) {
        int sign = compare_int_float(vm, b, a.f);

        return sign == -2 ? -2 : -sign;
    }
    if (b.type == V_FLOAT)
        return compare_int_float(vm, a, b.f);
    if (a.type == V_BIG || b.type == V_BIG)
        return jinja_big_compare(vm, a, b);
    return a.i < b.i ? -1 : a.i > b.i;
}

struct value jinja_int_of_double(struct vm *vm, double f)
{
    char digits[400];

    if (fabs(f) < 9.2e18)
        return v_int((int64_t)f);
    snprintf(digits, sizeof digits, "%.0f", trunc(f));

    size_t n = strlen(digits);
    char *kept = jinja_take(vm, n);

    memcpy(kept, digits, n);
    return jinja_big_of_text(vm, str_from(kept, n));
}

/* ---- texts and lists ---- */

int64_t jinja_value_index(struct vm *vm, struct value v, const char *what)
{
    if (is_intlike(v))
        return v.i;
    if (v.type == V_BIG)
        jinja_error(vm, "cannot fit 'int' into an index-sized integer");
    if (v.type == V_UNDEFINED)
        jinja_undefined_error(vm, v);
    jinja_error(vm, "'%s' object cannot be interpreted as an integer (%s)",
                jinja_value_type_name(v), what);
}

static struct value repeat_text(struct vm *vm, struct value v, int64_t times)
{
    if (times <= 0 || v.n == 0)
        return v_slice(v, 0, 0);
    if ((uint64_t)times > vm->memory_limit / v.n)
        jinja_too_much(vm, "memory");

    char *out = jinja_take_array(vm, (size_t)times, v.n);

    jinja_work(vm, (size_t)times * v.n);
    for (int64_t i = 0; i < times; i++)
        memcpy(out + (size_t)i * v.n, v.p, v.n);
    return v_str(vm, str_from(out, (size_t)times * v.n), v.flags & F_MARKUP);
}

struct value jinja_value_repeat(struct vm *vm, struct value v, int64_t times)
{
    if (is_str(v))
        return repeat_text(vm, v, times);

    uint32_t n = v.list->n;

    if (times < 0 || n == 0)
        times = 0;
    if (n && (uint64_t)times > vm->memory_limit / n / sizeof(struct value))
        jinja_too_much(vm, "memory");

    struct list *out = jinja_list_new(vm, (size_t)times * n);

    jinja_spend(vm, (uint64_t)times * n / 8);
    for (int64_t i = 0; i < times; i++)
        memcpy(out->items + (size_t)i * n, v.list->items, n * sizeof *out->items);
    out->n = (uint32_t)((size_t)times * n);
    v.list = out;
    return v;
}

static struct value join_texts(struct vm *vm, struct value a, struct value b)
{
    if ((a.flags | b.flags) & F_MARKUP) {
        a = jinja_value_escape(vm, a);
        b = jinja_value_escape(vm, b);
    } else if (a.n == 0 || b.n == 0) {
        return a.n == 0 ? b : a;
    }

    size_t n = (size_t)a.n + b.n;
    char *out;

    /* What was made last grows in place: long texts are mostly built piece by piece. */
    if (a.n && a.p + a.n == vm->memory->p && !(a.flags & (F_LITERAL | F_CONTEXT)) &&
        (size_t)(vm->memory->end - vm->memory->p) >= b.n + 8) {
        out = vm->memory->p;
        memcpy(out, b.p, b.n);
        vm->memory->p += b.n;
        return v_str(vm, str_from(a.p, n), a.flags & F_MARKUP);
    }
    out = jinja_take(vm, n);
    jinja_work(vm, n);
    memcpy(out, a.p, a.n);
    memcpy(out + a.n, b.p, b.n);
    return v_str(vm, str_from(out, n), a.flags & F_MARKUP);
}

static struct value join_lists(struct vm *vm, struct value a, struct value b)
{
    struct list *out = jinja_list_new(vm, (size_t)a.list->n + b.list->n);

    jinja_work(vm, out->capacity * sizeof *out->items);
    if (a.list->n)
        memcpy(out->items, a.list->items, a.list->n * sizeof *out->items);
    if (b.list->n)
        memcpy(out->items + a.list->n, b.list->items, b.list->n * sizeof *out->items);
    out->n = a.list->n + b.list->n;
    a.list = out;
    return a;
}

static struct value add(struct vm *vm, struct value a, struct value b)
{
    if (is_str(a) && is_str(b))
        return join_texts(vm, a, b);
    if (is_listy(a) && a.type == b.type)
        return join_lists(vm, a, b);
    if (b.type == V_UNDEFINED || a.type == V_UNDEFINED)
        unsupported(vm, E_ADD, a, b);
    if (is_str(a) && !(a.flags & F_MARKUP))
        jinja_error(vm, "can only concatenate str (not \"%s\") to str", jinja_value_type_name(b));
    if (is_listy(a))
        jinja_error(vm, "can only concatenate %s (not \"%s\") to %s", jinja_value_type_name(a),
                    jinja_value_type_name(b), jinja_value_type_name(a));
    unsupported(vm, E_ADD, a, b);
}

static struct value multiply(struct vm *vm, struct value a, struct value b)
{
    if (a.type == V_UNDEFINED || b.type == V_UNDEFINED)
        unsupported(vm, E_MUL, a, b);
    if ((is_str(a) || is_listy(a)) && (is_intlike(b) || b.type == V_BIG))
        return jinja_value_repeat(vm, a, jinja_value_index(vm, b, "a count"));
    if ((is_str(b) || is_listy(b)) && (is_intlike(a) || a.type == V_BIG))
        return jinja_value_repeat(vm, b, jinja_value_index(vm, a, "a count"));
    if (is_str(a) || is_listy(a))
        jinja_error(vm, "can't multiply sequence by non-int of type '%s'",
                    jinja_value_type_name(b));
    if (is_str(b) || is_listy(b))
        jinja_error(vm, "can't multiply sequence by non-int of type '%s'",
                    jinja_value_type_name(a));
    unsupported(vm, E_MUL, a, b);
}

struct value jinja_value_binary(struct vm *vm, enum node_kind kind, struct value a, struct value b)
{
    if (is_number(a) && is_number(b))
        return jinja_number_binary(vm, kind, a, b);
    if (kind == E_ADD)
        return add(vm, a, b);
    if (kind == E_MUL)
        return multiply(vm, a, b);
    if (kind == E_MOD && is_str(a))
        return jinja_format_percent(vm, a, b);
    unsupported(vm, kind, a, b);
}

struct value jinja_value_negate(struct vm *vm, struct value a)
{
    if (a.type == V_FLOAT)
        return v_float(-a.f);
    if (is_intlike(a) && a.i != INT64_MIN)
        return v_int(-a.i);
    if (is_intlike(a) || a.type == V_BIG)
        return jinja_big_negate(vm, a);
    if (a.type == V_UNDEFINED)
        jinja_undefined_error(vm, a);
    jinja_error(vm, "bad operand type for unary -: '%s'", jinja_value_type_name(a));
}

struct value jinja_value_plus(struct vm *vm, struct value a)
{
    if (a.type == V_BOOL)
        return v_int(a.i);
    if (is_number(a))
        return a;
    if (a.type == V_UNDEFINED)
        jinja_undefined_error(vm, a);
    jinja_error(vm, "bad operand type for unary +: '%s'", jinja_value_type_name(a));
}
