/* Equality, order, membership and sorting as Python has them. See jinja_parts.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/jinja_parts.h"

#define MOST_DEEP 500

static bool equal_deep(struct vm *vm, struct value a, struct value b, int depth);

static bool equal_lists(struct vm *vm, const struct list *a, const struct list *b, int depth)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!jinja_value_same(a->items[i], b->items[i]) &&
            !equal_deep(vm, a->items[i], b->items[i], depth + 1))
            return false;
    return true;
}

static bool equal_dicts(struct vm *vm, struct dict *a, struct dict *b, int depth)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct value *other = jinja_dict_get(vm, b, a->entries[i].key);

        if (!other || (!jinja_value_same(a->entries[i].value, *other) &&
                       !equal_deep(vm, a->entries[i].value, *other, depth + 1)))
            return false;
    }
    return true;
}

static bool equal_ranges(const struct range *a, const struct range *b)
{
    return a->n == b->n &&
           (a->n == 0 || (a->start == b->start && (a->n == 1 || a->step == b->step)));
}

/* keys() and items() are sets: equal when each holds what the other holds. */
static bool equal_views(struct vm *vm, struct value a, struct value b, int depth)
{
    if (a.aux == 1 || b.aux == 1)
        return false;
    if (a.aux != b.aux || a.dict->n != b.dict->n)
        return false;
    if (a.aux == 2)
        return equal_dicts(vm, a.dict, b.dict, depth);
    for (uint32_t i = 0; i < a.dict->n; i++)
        if (!jinja_dict_get(vm, b.dict, a.dict->entries[i].key))
            return false;
    return true;
}

static bool equal_deep(struct vm *vm, struct value a, struct value b, int depth)
{
    if (depth > MOST_DEEP)
        jinja_too_much(vm, "depth");
    jinja_step(vm);
    if (is_number(a) && is_number(b))
        return jinja_number_compare(vm, a, b) == 0;
    if (a.type != b.type)
        return false;
    switch (a.type) {
    case V_MISSING:
    case V_UNDEFINED:
    case V_NONE:
        return true;
    case V_STR:
    case V_BYTES:
        jinja_work(vm, a.n);
        return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
    case V_LIST:
    case V_TUPLE:
        return equal_lists(vm, a.list, b.list, depth);
    case V_DICT:
        return equal_dicts(vm, a.dict, b.dict, depth);
    case V_RANGE:
        return equal_ranges(a.range, b.range);
    case V_VIEW:
        return equal_views(vm, a, b, depth);
    case V_METHOD:
        return str_eq(a.method->name, b.method->name) &&
               jinja_value_same(a.method->self, b.method->self);
    default:
        return jinja_value_same(a, b);
    }
}

bool jinja_value_equal(struct vm *vm, struct value a, struct value b)
{
    if (a.type == V_STR && b.type == V_STR) {
        jinja_work(vm, a.n == b.n ? a.n : 0);
        return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
    }
    return equal_deep(vm, a, b, 0);
}

bool jinja_value_same(struct value a, struct value b)
{
    if (a.type != b.type)
        return false;
    switch (a.type) {
    case V_NONE:
        return true;
    case V_BOOL:
        return a.i == b.i;
    case V_INT: /* Python keeps the small ones once */
        return a.i == b.i && a.i >= -5 && a.i <= 256;
    case V_STR:
        return a.p == b.p && a.n == b.n && !((a.flags ^ b.flags) & F_MARKUP);
    case V_GLOBAL:
        return a.aux == b.aux;
    case V_UNDEFINED:
    case V_FLOAT:
    case V_METHOD:
    case V_VIEW:
        return false;
    default:
        return a.p == b.p;
    }
}

static _Noreturn void not_ordered(struct vm *vm, struct value a, struct value b, const char *op)
{
    if (a.type == V_UNDEFINED)
        jinja_undefined_error(vm, a);
    if (b.type == V_UNDEFINED)
        jinja_undefined_error(vm, b);
    jinja_error(vm, "'%s' not supported between instances of '%s' and '%s'", op,
                jinja_value_type_name(a), jinja_value_type_name(b));
}

/* Text by code points: the order of UTF-8 bytes is the same. */
static int compare_texts(struct vm *vm, struct value a, struct value b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.p, b.p, n) : 0;

    jinja_work(vm, n);
    return order ? order : a.n < b.n ? -1 : a.n > b.n;
}

static bool ordered(struct vm *vm, enum operand op, struct value a, struct value b, int depth);

static const char *const op_names[] = {"==", "!=", "<", "<=", ">", ">="};

static bool by_sign(enum operand op, int sign)
{
    return op == OP_LT ? sign < 0 : op == OP_LE ? sign <= 0 : op == OP_GT ? sign > 0 : sign >= 0;
}

static bool ordered_lists(struct vm *vm, enum operand op, const struct list *a,
                          const struct list *b, int depth)
{
    uint32_t n = a->n < b->n ? a->n : b->n;

    for (uint32_t i = 0; i < n; i++)
        if (!jinja_value_same(a->items[i], b->items[i]) &&
            !jinja_value_equal(vm, a->items[i], b->items[i]))
            return ordered(vm, op, a->items[i], b->items[i], depth + 1);
    return by_sign(op, a->n < b->n ? -1 : a->n > b->n);
}

static bool view_within(struct vm *vm, struct value a, struct value b)
{
    for (uint32_t i = 0; i < a.dict->n; i++)
        if (!jinja_dict_get(vm, b.dict, a.dict->entries[i].key))
            return false;
    return true;
}

static bool ordered(struct vm *vm, enum operand op, struct value a, struct value b, int depth)
{
    if (depth > MOST_DEEP)
        jinja_too_much(vm, "depth");
    jinja_step(vm);
    if (is_number(a) && is_number(b)) {
        int sign = jinja_number_compare(vm, a, b);

        return sign != -2 && by_sign(op, sign);
    }
    if (a.type == V_STR && b.type == V_STR)
        return by_sign(op, compare_texts(vm, a, b));
    if (is_listy(a) && a.type == b.type)
        return ordered_lists(vm, op, a.list, b.list, depth);
    if (a.type == V_VIEW && b.type == V_VIEW && a.aux == 0 && b.aux == 0) {
        bool is_within = op == OP_LT || op == OP_LE ? view_within(vm, a, b) : view_within(vm, b, a);

        return is_within && (op == OP_LE || op == OP_GE || a.dict->n != b.dict->n);
    }
    not_ordered(vm, a, b, op_names[op]);
}

static bool jinja_value_less(struct vm *vm, struct value a, struct value b, const char *op)
{
    (void)op;
    return ordered(vm, OP_LT, a, b, 0);
}

static bool in_text(struct vm *vm, struct value needle, struct value haystack)
{
    if (!is_str(needle))
        jinja_error(vm, "'in <string>' requires string as left operand, not %s",
                    jinja_value_type_name(needle));
    jinja_work(vm, haystack.n);
    return memmem(haystack.p, haystack.n, needle.p, needle.n) != NULL;
}

static bool in_range(struct vm *vm, struct value needle, const struct range *range)
{
    struct value v;
    struct iter iter;

    if (is_intlike(needle)) {
        int64_t off = needle.i - range->start;

        return range->n > 0 && off % range->step == 0 && off / range->step >= 0 &&
               off / range->step < range->n;
    }
    jinja_value_iterate(
        vm, (struct value){.type = V_RANGE, .range = (struct range *)(uintptr_t)range}, &iter);
    while (jinja_iter_next(vm, &iter, &v))
        if (jinja_value_equal(vm, v, needle))
            return true;
    return false;
}

bool jinja_value_in(struct vm *vm, struct value needle, struct value haystack)
{
    struct iter iter;
    struct value v;

    switch (haystack.type) {
    case V_STR:
        return in_text(vm, needle, haystack);
    case V_DICT:
        return jinja_dict_get(vm, haystack.dict, needle) != NULL;
    case V_RANGE:
        return in_range(vm, needle, haystack.range);
    case V_VIEW:
        if (haystack.aux == 0)
            return jinja_dict_get(vm, haystack.dict, needle) != NULL;
        if (haystack.aux == 2 && (needle.type != V_TUPLE || needle.list->n != 2))
            return false;
        break;
    default:
        break;
    }
    if (haystack.type == V_ITER) {
        while (jinja_iter_next(vm, haystack.iter, &v))
            if (jinja_value_same(v, needle) || jinja_value_equal(vm, v, needle))
                return true;
        return false;
    }
    if (!jinja_value_iterate(vm, haystack, &iter))
        jinja_error(vm, "argument of type '%s' is not iterable", jinja_value_type_name(haystack));
    while (jinja_iter_next(vm, &iter, &v)) {
        jinja_step(vm);
        if (jinja_value_same(v, needle) || jinja_value_equal(vm, v, needle))
            return true;
    }
    return false;
}

bool jinja_value_compare(struct vm *vm, enum operand op, struct value a, struct value b)
{
    switch ((int)op) {
    case OP_EQ:
        return jinja_value_equal(vm, a, b);
    case OP_NE:
        return !jinja_value_equal(vm, a, b);
    case OP_IN:
        return jinja_value_in(vm, a, b);
    case OP_NOT_IN:
        return !jinja_value_in(vm, a, b);
    default:
        return ordered(vm, op, a, b, 0);
    }
}

/* ---- sorting: a stable merge that only asks "less" ---- */

struct sorting {
    struct vm *vm;
    const struct value *keys;
    uint32_t *order, *spare;
    bool is_reverse;
};

/* Whether b must stand before a. */
static bool goes_before(struct sorting *s, uint32_t b, uint32_t a)
{
    return s->is_reverse ? jinja_value_less(s->vm, s->keys[a], s->keys[b], "<")
                         : jinja_value_less(s->vm, s->keys[b], s->keys[a], "<");
}

static void merge(struct sorting *s, uint32_t from, uint32_t middle, uint32_t to)
{
    uint32_t a = from, b = middle;

    for (uint32_t at = from; at < to; at++)
        s->spare[at] = a < middle && (b == to || !goes_before(s, s->order[b], s->order[a]))
                           ? s->order[a++]
                           : s->order[b++];
    memcpy(s->order + from, s->spare + from, (to - from) * sizeof *s->order);
}

void jinja_value_sort(struct vm *vm, struct list *list, struct list *keys, bool is_reverse)
{
    uint32_t n = list->n;
    struct sorting s = {vm, keys->items, jinja_take_array(vm, n, sizeof(uint32_t)),
                        jinja_take_array(vm, n, sizeof(uint32_t)), is_reverse};
    struct value *sorted = jinja_take_array(vm, n, sizeof *sorted);

    for (uint32_t i = 0; i < n; i++)
        s.order[i] = i;
    for (uint64_t width = 1; width < n; width *= 2)
        for (uint64_t from = 0; from + width < n; from += 2 * width)
            merge(&s, (uint32_t)from, (uint32_t)(from + width),
                  (uint32_t)(from + 2 * width < n ? from + 2 * width : n));
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = list->items[s.order[i]];
    list->items = sorted;
    list->capacity = n;
}
