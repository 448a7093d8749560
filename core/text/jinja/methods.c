/* Methods of values that are not texts, and the way to all of them. See jinja_parts.h. Those of
 * texts are methods_str.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/jinja_parts.h"

enum {
    M_ITEMS,
    M_KEYS,
    M_VALUES,
    M_GET,
    M_COPY,
    M_FROMKEYS,
    M_INDEX,
    M_COUNT,
    M_POP,
    M_CLEAR,
    M_BIT_LENGTH,
    M_BIT_COUNT,
    M_CONJUGATE,
    M_RATIO,
    M_IS_INTEGER,
    M_CYCLE,
    M_CHANGED,
    M_NEXT,
    M_RESET,
    M_DECODE,
    M_ISDISJOINT
};

struct method_row {
    enum value_type type;
    const char *name;
    int which;
};

static const struct method_row rows[] = {
    {V_DICT, "items", M_ITEMS},
    {V_DICT, "keys", M_KEYS},
    {V_DICT, "values", M_VALUES},
    {V_DICT, "get", M_GET},
    {V_DICT, "copy", M_COPY},
    {V_DICT, "fromkeys", M_FROMKEYS},
    {V_LIST, "index", M_INDEX},
    {V_LIST, "count", M_COUNT},
    {V_LIST, "copy", M_COPY},
    {V_LIST, "pop", M_POP},
    {V_LIST, "clear", M_CLEAR},
    {V_TUPLE, "index", M_INDEX},
    {V_TUPLE, "count", M_COUNT},
    {V_RANGE, "index", M_INDEX},
    {V_RANGE, "count", M_COUNT},
    {V_INT, "bit_length", M_BIT_LENGTH},
    {V_INT, "bit_count", M_BIT_COUNT},
    {V_INT, "conjugate", M_CONJUGATE},
    {V_INT, "as_integer_ratio", M_RATIO},
    {V_BOOL, "bit_length", M_BIT_LENGTH},
    {V_BOOL, "bit_count", M_BIT_COUNT},
    {V_BOOL, "conjugate", M_CONJUGATE},
    {V_BOOL, "as_integer_ratio", M_RATIO},
    {V_FLOAT, "is_integer", M_IS_INTEGER},
    {V_FLOAT, "conjugate", M_CONJUGATE},
    {V_LOOP, "cycle", M_CYCLE},
    {V_LOOP, "changed", M_CHANGED},
    {V_CYCLER, "next", M_NEXT},
    {V_CYCLER, "reset", M_RESET},
    {V_BYTES, "decode", M_DECODE},
    {V_VIEW, "isdisjoint", M_ISDISJOINT},
};

int jinja_str_method_find(struct str name);

int jinja_method_find(struct value self, struct str name)
{
    if (self.type == V_STR)
        return jinja_str_method_find(name);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].type == self.type && str_is(name, rows[i].name)) {
            if (rows[i].which == M_ISDISJOINT && self.aux == 1)
                continue;
            return rows[i].which;
        }
    return -1;
}

/* ---- dicts ---- */

static struct value view(struct vm *vm, struct value dict, const struct call *call, uint16_t which)
{
    jinja_call_bind(vm, call, "", 0, NULL);
    return (struct value){.type = V_VIEW, .aux = which, .dict = dict.dict};
}

static struct value dict_method(struct vm *vm, struct value self, int which,
                                const struct call *call)
{
    struct value args[2];
    const struct value *member;
    struct iter *iter;
    struct value key;
    struct dict *out;

    switch (which) {
    case M_ITEMS:
        return view(vm, self, call, 2);
    case M_KEYS:
        return view(vm, self, call, 0);
    case M_VALUES:
        return view(vm, self, call, 1);
    case M_GET:
        jinja_call_bind(vm, call, "key default /", 1, args);
        member = jinja_dict_get(vm, self.dict, args[0]);
        return member ? *member : args[1].type == V_MISSING ? v_none() : args[1];
    case M_COPY:
        jinja_call_bind(vm, call, "", 0, NULL);
        out = jinja_dict_new(vm, self.dict->n);
        for (uint32_t i = 0; i < self.dict->n; i++)
            jinja_dict_set(vm, out, self.dict->entries[i].key, self.dict->entries[i].value);
        return jinja_v_dict(out);
    default:
        jinja_call_bind(vm, call, "iterable value /", 1, args);
        iter = jinja_iter_of(vm, args[0]);
        out = jinja_dict_new(vm, 8);
        while (jinja_iter_next(vm, iter, &key))
            jinja_dict_set(vm, out, key, args[1].type == V_MISSING ? v_none() : args[1]);
        return jinja_v_dict(out);
    }
}

/* ---- lists ---- */

static int64_t place_in(int64_t at, int64_t n)
{
    return at < 0 ? (at + n < 0 ? 0 : at + n) : at;
}

static struct value list_index(struct vm *vm, struct value self, const struct call *call)
{
    struct value args[3];
    struct list *list;
    int64_t from = 0, to;

    jinja_call_bind(vm, call, "value start stop /", 1, args);
    list = is_listy(self) ? self.list : jinja_list_of(vm, self);
    to = list->n;
    if (args[1].type != V_MISSING)
        from = place_in(jinja_value_index(vm, args[1], "index"), list->n);
    if (args[2].type != V_MISSING)
        to = place_in(jinja_value_index(vm, args[2], "index"), list->n);
    for (int64_t i = from; i < to && i < (int64_t)list->n; i++)
        if (jinja_value_same(list->items[i], args[0]) ||
            jinja_value_equal(vm, list->items[i], args[0]))
            return v_int(i);
    jinja_error(vm, "the value is not in the %s", jinja_value_type_name(self));
}

static struct value list_count(struct vm *vm, struct value self, const struct call *call)
{
    struct value args[1];
    struct list *list;
    int64_t n = 0;

    jinja_call_bind(vm, call, "value /", 1, args);
    list = is_listy(self) ? self.list : jinja_list_of(vm, self);
    for (uint32_t i = 0; i < list->n; i++)
        n += jinja_value_same(list->items[i], args[0]) ||
             jinja_value_equal(vm, list->items[i], args[0]);
    return v_int(n);
}

static struct value list_pop(struct vm *vm, struct list *list, const struct call *call)
{
    struct value args[1];
    int64_t at = -1;
    struct value v;

    jinja_call_bind(vm, call, "index /", 0, args);
    if (args[0].type != V_MISSING)
        at = jinja_value_index(vm, args[0], "pop");
    if (list->n == 0)
        jinja_error(vm, "pop from empty list");
    if (at < 0)
        at += list->n;
    if (at < 0 || at >= (int64_t)list->n)
        jinja_error(vm, "pop index out of range");
    v = list->items[at];
    memmove(list->items + at, list->items + at + 1,
            (list->n - 1 - (size_t)at) * sizeof *list->items);
    jinja_spend(vm, list->n / 16);
    list->n--;
    return v;
}

static struct value list_method(struct vm *vm, struct value self, int which,
                                const struct call *call)
{
    switch (which) {
    case M_INDEX:
        return list_index(vm, self, call);
    case M_COUNT:
        return list_count(vm, self, call);
    case M_POP:
        return list_pop(vm, self.list, call);
    case M_CLEAR:
        jinja_call_bind(vm, call, "", 0, NULL);
        self.list->n = 0;
        return v_none();
    default:
        jinja_call_bind(vm, call, "", 0, NULL);
        return jinja_v_list(jinja_list_of(vm, self));
    }
}

/* ---- numbers ---- */

static struct value number_method(struct vm *vm, struct value self, int which,
                                  const struct call *call)
{
    uint64_t u = self.i < 0 ? (uint64_t)0 - (uint64_t)self.i : (uint64_t)self.i;

    jinja_call_bind(vm, call, "", 0, NULL);
    switch (which) {
    case M_BIT_LENGTH:
        return v_int(u ? 64 - __builtin_clzll(u) : 0);
    case M_BIT_COUNT:
        return v_int(__builtin_popcountll(u));
    case M_RATIO:
        return jinja_v_pair(vm, v_int(self.i), v_int(1));
    case M_IS_INTEGER:
        return v_bool(isfinite(self.f) && self.f == floor(self.f));
    default:
        return self.type == V_BOOL ? v_int(self.i) : self;
    }
}

/* ---- loops and cyclers ---- */

static struct value loop_method(struct vm *vm, struct loop *loop, int which,
                                const struct call *call)
{
    struct list *list;

    if (call->n_names)
        jinja_error(vm, "%s() takes no keyword arguments", call->what);
    if (which == M_CYCLE) {
        if (call->n == 0)
            jinja_error(vm, "no items for cycling given");
        return call->args[(loop->index0 % (int64_t)call->n + (int64_t)call->n) % (int64_t)call->n];
    }
    list = jinja_list_new(vm, call->n);
    for (size_t i = 0; i < call->n; i++)
        jinja_list_add(vm, list, call->args[i]);
    if (loop->changed && jinja_value_equal(vm, jinja_v_tuple(loop->changed), jinja_v_tuple(list)))
        return v_bool(false);
    loop->changed = list;
    return v_bool(true);
}

static struct value cycler_method(struct vm *vm, struct cycler *cycler, int which,
                                  const struct call *call)
{
    struct value v = cycler->items->items[cycler->at];

    jinja_call_bind(vm, call, "", 0, NULL);
    if (which == M_RESET) {
        cycler->at = 0;
        return v_none();
    }
    cycler->at = (cycler->at + 1) % cycler->items->n;
    return v;
}

static struct value view_method(struct vm *vm, struct value self, const struct call *call)
{
    struct value args[1];
    struct value v;
    struct iter *iter;

    jinja_call_bind(vm, call, "other /", 1, args);
    iter = jinja_iter_of(vm, args[0]);
    while (jinja_iter_next(vm, iter, &v))
        if (jinja_value_in(vm, v, self))
            return v_bool(false);
    return v_bool(true);
}

static struct value decode(struct vm *vm, struct value self, const struct call *call)
{
    struct value args[2];

    jinja_call_bind(vm, call, "encoding errors", 0, args);
    return v_str(vm, str_v(self), 0);
}

struct value jinja_method_call(struct vm *vm, struct method *method, const struct call *call)
{
    struct call named = *call;
    char name[40];
    size_t n = method->name.n < sizeof name - 1 ? method->name.n : sizeof name - 1;

    if (method->which < 0)
        jinja_error(vm, "access to attribute '%.*s' of '%s' object is unsafe",
                    (int)(method->name.n & 0x7F), method->name.p,
                    jinja_value_type_name(method->self));
    memcpy(name, method->name.p, n);
    name[n] = '\0';
    named.what = name;
    switch (method->self.type) {
    case V_STR:
        return jinja_str_method(vm, method, &named);
    case V_DICT:
        return dict_method(vm, method->self, method->which, &named);
    case V_LIST:
    case V_TUPLE:
    case V_RANGE:
        return list_method(vm, method->self, method->which, &named);
    case V_LOOP:
        return loop_method(vm, method->self.loop, method->which, &named);
    case V_CYCLER:
        return cycler_method(vm, method->self.cycler, method->which, &named);
    case V_BYTES:
        return decode(vm, method->self, &named);
    case V_VIEW:
        return view_method(vm, method->self, &named);
    default:
        return number_method(vm, method->self, method->which, &named);
    }
}
