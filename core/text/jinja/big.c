/* Integers beyond 64 bits: what a template may do with them. See jinja_parts.h. Schoolbook methods
 * on limbs of nine digits, with a bound on the digits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/text/jinja/jinja_parts.h"

#define BASE       UINT32_C(1000000000)
#define MOST_LIMBS 4000

static struct big *big_new(struct vm *vm, size_t n)
{
    struct big *big;

    if (n > MOST_LIMBS)
        jinja_too_much(vm, "digits of a number");
    big = jinja_take(vm, sizeof *big + (n + 1) * sizeof big->limb[0]);
    memset(big, 0, sizeof *big + (n + 1) * sizeof big->limb[0]);
    big->n = (uint32_t)n;
    jinja_spend(vm, n / 4 + 1);
    return big;
}

static void trim(struct big *big)
{
    while (big->n && big->limb[big->n - 1] == 0)
        big->n--;
}

/* As V_INT when it fits. */
static struct value normal(struct big *big)
{
    trim(big);
    if (big->n <= 2 || (big->n == 3 && big->limb[2] < 9)) {
        int64_t i = 0;

        for (uint32_t at = big->n; at > 0; at--)
            i = i * BASE + big->limb[at - 1];
        return v_int(big->negative ? -i : i);
    }
    if (big->n == 3 && big->limb[2] == 9) {
        uint64_t low = (uint64_t)big->limb[1] * BASE + big->limb[0];
        uint64_t most = UINT64_C(223372036854775807); /* of INT64_MAX below its first digit */

        if (low <= most)
            return v_int(big->negative ? -(int64_t)(UINT64_C(9) * BASE * BASE + low)
                                       : (int64_t)(UINT64_C(9) * BASE * BASE + low));
        if (big->negative && low == most + 1)
            return v_int(INT64_MIN);
    }
    return (struct value){.type = V_BIG, .big = big};
}

static struct big *big_of(struct vm *vm, struct value v)
{
    if (v.type == V_BIG)
        return v.big;

    struct big *big = big_new(vm, 3);
    uint64_t u = v.i < 0 ? (uint64_t)0 - (uint64_t)v.i : (uint64_t)v.i;

    big->negative = v.i < 0;
    for (int i = 0; i < 3; i++, u /= BASE)
        big->limb[i] = (uint32_t)(u % BASE);
    trim(big);
    return big;
}

/* ---- texts ---- */

struct value jinja_big_of_text_base(struct vm *vm, struct str digits, int base)
{
    bool is_negative = digits.n && digits.p[0] == '-';
    /* limbs: 30 bits hold less than nine digits of any base up to 36 times 1.8 */
    struct big *big = big_new(vm, digits.n * (base > 10 ? 2 : 1) / 9 + 2);
    uint32_t used = 0;

    jinja_spend(vm, (uint64_t)digits.n * (digits.n / 9 + 1) / 4);
    for (size_t i = is_negative || (digits.n && digits.p[0] == '+'); i < digits.n; i++) {
        char c = digits.p[i];
        uint64_t carry = c <= '9' ? (uint64_t)(c - '0') : (uint64_t)((c | 0x20) - 'a' + 10);

        for (uint32_t at = 0; at < used; at++) {
            carry += (uint64_t)big->limb[at] * (uint64_t)base;
            big->limb[at] = (uint32_t)(carry % BASE);
            carry /= BASE;
        }
        if (carry)
            big->limb[used++] = (uint32_t)carry;
    }
    big->negative = is_negative;
    return normal(big);
}

struct value jinja_big_of_text(struct vm *vm, struct str digits)
{
    return jinja_big_of_text_base(vm, digits, 10);
}

struct str jinja_big_text(struct vm *vm, const struct big *big)
{
    char *out = jinja_take(vm, (size_t)big->n * 9 + 8);
    int n = snprintf(out, 16, "%s%u", big->negative ? "-" : "", big->limb[big->n - 1]);

    for (uint32_t at = big->n - 1; at > 0; at--)
        n += snprintf(out + n, 16, "%09u", big->limb[at - 1]);
    if (n - big->negative > 4300)
        jinja_error(vm, "exceeds the limit (4300 digits) for integer string conversion");
    return str_from(out, (size_t)n);
}

bool jinja_double_of_big(const struct big *big, double *out)
{
    char digits[400];
    size_t n = 0;

    if (big->n > 35)
        return false;
    if (big->negative)
        digits[n++] = '-';
    n += (size_t)snprintf(digits + n, sizeof digits - n, "%u", big->limb[big->n - 1]);
    for (uint32_t at = big->n - 1; at > 0; at--)
        n += (size_t)snprintf(digits + n, sizeof digits - n, "%09u", big->limb[at - 1]);
    return number_parse(str_from(digits, n), out) && !isinf(*out);
}

/* ---- arithmetic ---- */

static int compare_magnitudes(const struct big *a, const struct big *b)
{
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (uint32_t at = a->n; at > 0; at--)
        if (a->limb[at - 1] != b->limb[at - 1])
            return a->limb[at - 1] < b->limb[at - 1] ? -1 : 1;
    return 0;
}

static struct big *add_magnitudes(struct vm *vm, const struct big *a, const struct big *b)
{
    uint32_t n = a->n > b->n ? a->n : b->n;
    struct big *out = big_new(vm, n + 1);
    uint32_t carry = 0;

    for (uint32_t i = 0; i <= n; i++) {
        carry += (i < a->n ? a->limb[i] : 0) + (i < b->n ? b->limb[i] : 0);
        out->limb[i] = carry % BASE;
        carry /= BASE;
    }
    trim(out);
    return out;
}

/* a not smaller than b */
static struct big *take_magnitudes(struct vm *vm, const struct big *a, const struct big *b)
{
    struct big *out = big_new(vm, a->n);
    int64_t borrow = 0;

    for (uint32_t i = 0; i < a->n; i++) {
        int64_t limb = (int64_t)a->limb[i] - (i < b->n ? b->limb[i] : 0) - borrow;

        borrow = limb < 0;
        out->limb[i] = (uint32_t)(limb + (borrow ? BASE : 0));
    }
    trim(out);
    return out;
}

static struct big *sum(struct vm *vm, const struct big *a, const struct big *b, bool negate_b)
{
    bool b_negative = b->negative != negate_b;
    struct big *out;

    if (a->negative == b_negative) {
        out = add_magnitudes(vm, a, b);
        out->negative = a->negative;
    } else if (compare_magnitudes(a, b) >= 0) {
        out = take_magnitudes(vm, a, b);
        out->negative = a->negative;
    } else {
        out = take_magnitudes(vm, b, a);
        out->negative = b_negative;
    }
    return out;
}

static struct big *product(struct vm *vm, const struct big *a, const struct big *b)
{
    struct big *out = big_new(vm, (size_t)a->n + b->n);

    jinja_spend(vm, (uint64_t)a->n * b->n / 64 + 1);
    for (uint32_t i = 0; i < a->n; i++) {
        uint64_t carry = 0;

        for (uint32_t j = 0; j < b->n || carry; j++) {
            carry += out->limb[i + j] + (j < b->n ? (uint64_t)a->limb[i] * b->limb[j] : 0);
            out->limb[i + j] = (uint32_t)(carry % BASE);
            carry /= BASE;
        }
    }
    out->negative = a->negative != b->negative;
    trim(out);
    return out;
}

static struct big *times_small(struct vm *vm, const struct big *a, uint32_t factor)
{
    struct big *out = big_new(vm, (size_t)a->n + 1);
    uint64_t carry = 0;

    for (uint32_t i = 0; i <= a->n; i++) {
        carry += i < a->n ? (uint64_t)a->limb[i] * factor : 0;
        out->limb[i] = (uint32_t)(carry % BASE);
        carry /= BASE;
    }
    trim(out);
    return out;
}

/* Long division of magnitudes; each limb of the quotient by halving. */
static struct big *divide_magnitudes(struct vm *vm, const struct big *a, const struct big *b,
                                     struct big **rest)
{
    struct big *quotient = big_new(vm, a->n);
    struct big *left = big_new(vm, 0);

    jinja_spend(vm, (uint64_t)a->n * b->n);
    for (uint32_t at = a->n; at > 0; at--) {
        struct big *next = big_new(vm, (size_t)left->n + 1);
        uint32_t low = 0, high = BASE - 1;

        memcpy(next->limb + 1, left->limb, left->n * sizeof left->limb[0]);
        next->limb[0] = a->limb[at - 1];
        trim(next);
        while (low < high) {
            uint32_t middle = low + (high - low + 1) / 2;

            if (compare_magnitudes(times_small(vm, b, middle), next) <= 0)
                low = middle;
            else
                high = middle - 1;
        }
        quotient->limb[at - 1] = low;
        left = take_magnitudes(vm, next, times_small(vm, b, low));
    }
    trim(quotient);
    *rest = left;
    return quotient;
}

static struct value divide(struct vm *vm, enum node_kind kind, struct big *a, struct big *b)
{
    struct big *rest;
    struct big *quotient;

    if (b->n == 0)
        jinja_error(vm, "integer division or modulo by zero");
    quotient = divide_magnitudes(vm, a, b, &rest);
    quotient->negative = a->negative != b->negative;
    rest->negative = a->negative;
    if (rest->n && a->negative != b->negative) {
        struct big *unit = big_of(vm, v_int(1));

        quotient = sum(vm, quotient, unit, true);
        rest = sum(vm, rest, b, false);
    }
    return normal(kind == E_MOD ? rest : quotient);
}

static struct value power(struct vm *vm, struct value a, struct value b)
{
    struct big *result = big_of(vm, v_int(1));
    struct big *base = big_of(vm, a);

    if (b.type == V_BIG)
        jinja_too_much(vm, "digits of a number");
    if (b.i < 0)
        return v_float(pow(jinja_value_double(vm, a), (double)b.i));
    for (int64_t exponent = b.i; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            result = product(vm, result, base);
        if (exponent > 1)
            base = product(vm, base, base);
    }
    return normal(result);
}

struct value jinja_big_binary(struct vm *vm, enum node_kind kind, struct value a, struct value b)
{
    if (kind == E_POW)
        return power(vm, a, b);
    if (kind == E_DIV) {
        double divisor = jinja_value_double(vm, b);

        if (divisor == 0)
            jinja_error(vm, "division by zero");
        return v_float(jinja_value_double(vm, a) / divisor);
    }

    struct big *x = big_of(vm, a);
    struct big *y = big_of(vm, b);

    switch ((int)kind) {
    case E_ADD:
        return normal(sum(vm, x, y, false));
    case E_SUB:
        return normal(sum(vm, x, y, true));
    case E_MUL:
        return normal(product(vm, x, y));
    default:
        return divide(vm, kind, x, y);
    }
}

int jinja_big_compare(struct vm *vm, struct value a, struct value b)
{
    const struct big *x = big_of(vm, a);
    const struct big *y = big_of(vm, b);
    int order;

    if (x->negative != y->negative)
        return x->negative ? -1 : 1;
    order = compare_magnitudes(x, y);
    return x->negative ? -order : order;
}

struct value jinja_big_negate(struct vm *vm, struct value a)
{
    struct big *from = big_of(vm, a);
    struct big *big = big_new(vm, from->n);

    memcpy(big->limb, from->limb, from->n * sizeof from->limb[0]);
    big->negative = !from->negative;
    return normal(big);
}
