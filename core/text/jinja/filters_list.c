/* Filters on lists and dicts. See jinja_parts.h. The lazy ones only note what they are to do; the
 * work is iterate.c's. */
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/jinja_parts.h"

static bool is_given(struct value v)
{
    return v.type != V_MISSING && v.type != V_NONE;
}

static struct value filter_join(struct vm *vm, struct value v, const struct value *args)
{
    struct text out = {.vm = vm};
    struct value separator = args[0].type == V_MISSING ? jinja_v_chars("") : args[0];
    struct list *parts = is_given(args[1]) ? jinja_attribute_parts(vm, args[1]) : NULL;
    bool makes_markup = vm->autoescape && is_str(separator) && separator.flags & F_MARKUP;
    struct list *items = jinja_list_of(vm, v);

    if (parts)
        for (uint32_t i = 0; i < items->n; i++)
            items->items[i] = jinja_attribute_of(vm, items->items[i], parts, v_missing());
    for (uint32_t i = 0; vm->autoescape && i < items->n; i++)
        makes_markup =
            makes_markup || (is_str(items->items[i]) && items->items[i].flags & F_MARKUP);
    separator = makes_markup ? jinja_value_escape(vm, separator) : jinja_value_str(vm, separator);
    if (items->n == 1 && !makes_markup)
        return jinja_value_str(vm, items->items[0]);
    for (uint32_t i = 0; i < items->n; i++) {
        if (i)
            jinja_text_str(&out, separator);
        jinja_print_str(&out,
                        makes_markup ? jinja_value_escape(vm, items->items[i]) : items->items[i]);
    }
    v = jinja_text_value(&out);
    v.flags = makes_markup ? F_MARKUP : 0;
    return v;
}

static struct value filter_first(struct vm *vm, struct value v, const struct value *args)
{
    struct value out;

    (void)args;
    return jinja_iter_next(vm, jinja_iter_of(vm, v), &out)
               ? out
               : jinja_v_hint("No first item, sequence was empty.");
}

static struct value filter_last(struct vm *vm, struct value v, const struct value *args)
{
    struct value back, out;
    bool found;

    (void)args;
    if (is_str(v)) {
        out = jinja_text_char(vm, v, -1, &found);
        return found ? out : jinja_v_hint("No last item, sequence was empty.");
    }
    if (!jinja_value_reversed(vm, v, &back))
        jinja_error(vm, "'%s' object is not reversible", jinja_value_type_name(v));
    return jinja_iter_next(vm, back.iter, &out) ? out
                                                : jinja_v_hint("No last item, sequence was empty.");
}

static struct value filter_list(struct vm *vm, struct value v, const struct value *args)
{
    (void)args;
    return jinja_v_list(jinja_list_of(vm, v));
}

static struct value filter_reverse(struct vm *vm, struct value v, const struct value *args)
{
    struct value out;
    struct list *list;

    (void)args;
    if (is_str(v)) {
        struct value bounds[3] = {v_none(), v_none(), v_int(-1)};

        return jinja_value_slice(vm, v, bounds);
    }
    if (jinja_value_reversed(vm, v, &out))
        return out;
    if (v.type != V_ITER && v.type != V_LOOP)
        jinja_error(vm, "argument must be iterable");
    list = jinja_list_of(vm, v);
    for (uint32_t i = 0; i + i + 1 < list->n; i++) {
        struct value swapped = list->items[i];

        list->items[i] = list->items[list->n - 1 - i];
        list->items[list->n - 1 - i] = swapped;
    }
    return jinja_v_list(list);
}

static struct value ignore_case(struct vm *vm, struct value v)
{
    return is_str(v) ? jinja_text_case(vm, v, CASE_LOWER) : v;
}

/* ---- sorting ---- */

/* "a,b.c": the key of an item is the list of what it has there. */
static struct list *sort_keys(struct vm *vm, const struct list *items, struct value attribute,
                              bool is_sensitive)
{
    struct list *keys = jinja_list_new(vm, items->n);
    struct list *paths = jinja_list_new(vm, 2);
    struct list *names = is_str(attribute)
                             ? jinja_text_split(vm, attribute, jinja_v_chars(","), -1, false)
                             : jinja_list_new(vm, 1);

    if (!is_str(attribute))
        jinja_list_add(vm, names, attribute);
    for (uint32_t i = 0; i < names->n; i++)
        jinja_list_add(vm, paths, jinja_v_list(jinja_attribute_parts(vm, names->items[i])));
    for (uint32_t i = 0; i < items->n; i++) {
        struct list *key = jinja_list_new(vm, paths->n);

        for (uint32_t p = 0; p < paths->n; p++) {
            struct value v =
                jinja_attribute_of(vm, items->items[i], paths->items[p].list, v_missing());

            jinja_list_add(vm, key, is_sensitive ? v : ignore_case(vm, v));
        }
        jinja_list_add(vm, keys, jinja_v_list(key));
    }
    return keys;
}

static bool flag(struct vm *vm, struct value v)
{
    return v.type != V_MISSING && jinja_value_truth(vm, v);
}

static struct value filter_sort(struct vm *vm, struct value v, const struct value *args)
{
    struct list *list = jinja_list_of(vm, v);

    jinja_value_sort(vm, list, sort_keys(vm, list, args[2], flag(vm, args[1])), flag(vm, args[0]));
    return jinja_v_list(list);
}

static struct value filter_dictsort(struct vm *vm, struct value v, const struct value *args)
{
    struct value by = args[1].type == V_MISSING ? jinja_v_chars("key") : args[1];
    struct list *items, *keys;
    bool by_value;

    if (!is_str(by) || (!str_is(str_v(by), "key") && !str_is(str_v(by), "value")))
        jinja_error(vm, "you can only sort by either \"key\" or \"value\"");
    by_value = str_is(str_v(by), "value");
    if (v.type == V_UNDEFINED)
        jinja_undefined_error(vm, v);
    if (v.type != V_DICT)
        jinja_error(vm, "'%s' object has no attribute 'items'", jinja_value_type_name(v));
    items = jinja_list_new(vm, v.dict->n);
    keys = jinja_list_new(vm, v.dict->n);
    for (uint32_t i = 0; i < v.dict->n; i++) {
        const struct entry *entry = &v.dict->entries[i];
        struct value key = by_value ? entry->value : entry->key;

        jinja_list_add(vm, items, jinja_v_pair(vm, entry->key, entry->value));
        jinja_list_add(vm, keys, flag(vm, args[0]) ? key : ignore_case(vm, key));
    }
    jinja_value_sort(vm, items, keys, flag(vm, args[2]));
    return jinja_v_list(items);
}

static struct value filter_groupby(struct vm *vm, struct value v, const struct value *args)
{
    struct list *items = jinja_list_of(vm, v);
    struct list *parts = jinja_attribute_parts(vm, args[0]);
    struct list *keys = jinja_list_new(vm, items->n);
    struct list *order = jinja_list_new(vm, items->n);
    struct list *out = jinja_list_new(vm, 8);
    bool is_sensitive = flag(vm, args[2]);

    for (uint32_t i = 0; i < items->n; i++) {
        struct value key = jinja_attribute_of(vm, items->items[i], parts, args[1]);

        jinja_list_add(vm, keys, is_sensitive ? key : ignore_case(vm, key));
        jinja_list_add(vm, order, v_int(i));
    }
    jinja_value_sort(vm, order, keys, false);
    for (uint32_t i = 0; i < order->n;) {
        struct value key = keys->items[order->items[i].i];
        struct list *group = jinja_list_new(vm, 4);
        struct list *pair = jinja_list_new(vm, 2);

        while (i < order->n && jinja_value_equal(vm, keys->items[order->items[i].i], key))
            jinja_list_add(vm, group, items->items[order->items[i++].i]);
        if (group->n == 0) /* not equal to itself */
            jinja_list_add(vm, group, items->items[order->items[i++].i]);
        jinja_list_add(
            vm, pair, is_sensitive ? key : jinja_attribute_of(vm, group->items[0], parts, args[1]));
        jinja_list_add(vm, pair, jinja_v_list(group));
        pair->is_group = true;
        jinja_list_add(vm, out, jinja_v_tuple(pair));
    }
    return jinja_v_list(out);
}

/* ---- sums and extremes ---- */

static struct value filter_sum(struct vm *vm, struct value v, const struct value *args)
{
    struct value sum = args[1].type == V_MISSING ? v_int(0) : args[1];
    struct list *parts = is_given(args[0]) ? jinja_attribute_parts(vm, args[0]) : NULL;
    struct iter *iter = jinja_iter_of(vm, v);
    struct value item;

    if (is_str(sum))
        jinja_error(vm, "sum() can't sum strings [use ''.join(seq) instead]");
    while (jinja_iter_next(vm, iter, &item)) {
        jinja_step(vm);
        sum = jinja_value_binary(vm, E_ADD, sum,
                                 parts ? jinja_attribute_of(vm, item, parts, v_missing()) : item);
    }
    return sum;
}

static struct value extreme(struct vm *vm, struct value v, const struct value *args, bool is_max)
{
    struct list *parts = jinja_attribute_parts(vm, args[1]);
    struct iter *iter = jinja_iter_of(vm, v);
    struct value item, best = v_missing(), best_key = v_missing();

    while (jinja_iter_next(vm, iter, &item)) {
        struct value key = jinja_attribute_of(vm, item, parts, v_missing());

        jinja_step(vm);
        if (!flag(vm, args[0]))
            key = ignore_case(vm, key);
        if (best.type == V_MISSING ||
            jinja_value_compare(vm, is_max ? OP_GT : OP_LT, key, best_key)) {
            best = item;
            best_key = key;
        }
    }
    return best.type == V_MISSING ? jinja_v_hint("No aggregated item, sequence was empty.") : best;
}

static struct value filter_min(struct vm *vm, struct value v, const struct value *args)
{
    return extreme(vm, v, args, false);
}

static struct value filter_max(struct vm *vm, struct value v, const struct value *args)
{
    return extreme(vm, v, args, true);
}

/* ---- lazy ones ---- */

static struct lazy *lazy_of(struct vm *vm, const struct call *call, size_t skip)
{
    struct lazy *lazy = jinja_take(vm, sizeof *lazy);
    size_t n = call->n + call->n_names;

    *lazy = (struct lazy){.default_value = v_missing()};
    if (skip > call->n)
        skip = call->n;
    lazy->args = jinja_take_array(vm, n + 1, sizeof *lazy->args);
    for (size_t i = skip; i < n; i++)
        lazy->args[i - skip] = call->args[i];
    lazy->n_args = call->n - skip;
    lazy->names = call->names;
    lazy->n_names = call->n_names;
    return lazy;
}

static struct value find_keyword(const struct call *call, const char *name)
{
    for (size_t k = 0; k < call->n_names; k++)
        if (str_is(call->names[k], name))
            return call->args[call->n + k];
    return v_missing();
}

static struct value filter_map(struct vm *vm, struct value v, const struct call *call)
{
    struct value attribute = find_keyword(call, "attribute");
    struct lazy *lazy = lazy_of(vm, call, 1);

    if (call->n == 0 && attribute.type != V_MISSING) {
        lazy->parts = jinja_attribute_parts(vm, attribute);
        lazy->default_value = find_keyword(call, "default");
        for (size_t k = 0; k < call->n_names && jinja_value_truth(vm, v); k++)
            if (!str_is(call->names[k], "attribute") && !str_is(call->names[k], "default"))
                jinja_error(vm, "unexpected keyword argument '%.*s'",
                            (int)(call->names[k].n & 0x7F), call->names[k].p);
        return jinja_v_lazy(vm, I_MAP, v, lazy);
    }
    lazy->has_filter = call->n > 0;
    lazy->called = call->n && is_str(call->args[0]) ? str_v(call->args[0]) : str_of("");
    lazy->filter = jinja_filter_find(lazy->called);
    if (!lazy->has_filter)
        lazy->called = str_of("map");
    return jinja_v_lazy(vm, I_MAP, v, lazy);
}

static struct value select_by(struct vm *vm, struct value v, const struct call *call,
                              bool is_negated, bool by_attribute)
{
    size_t off = by_attribute;
    struct lazy *lazy;

    if (by_attribute && call->n == 0 && jinja_value_truth(vm, v))
        jinja_error(vm, "missing parameter for attribute name");
    lazy = lazy_of(vm, call, off + 1);
    lazy->is_negated = is_negated;
    lazy->has_test = call->n > off;
    if (lazy->has_test) {
        lazy->called = is_str(call->args[off]) ? str_v(call->args[off]) : str_of("");
        lazy->test = jinja_test_find(lazy->called);
    }
    if (by_attribute && call->n)
        lazy->parts = jinja_attribute_parts(vm, call->args[0]);
    return jinja_v_lazy(vm, I_SELECT, v, lazy);
}

static struct value filter_select(struct vm *vm, struct value v, const struct call *call)
{
    return select_by(vm, v, call, false, false);
}

static struct value filter_reject(struct vm *vm, struct value v, const struct call *call)
{
    return select_by(vm, v, call, true, false);
}

static struct value filter_selectattr(struct vm *vm, struct value v, const struct call *call)
{
    return select_by(vm, v, call, false, true);
}

static struct value filter_rejectattr(struct vm *vm, struct value v, const struct call *call)
{
    return select_by(vm, v, call, true, true);
}

static struct lazy *lazy_with(struct vm *vm, const struct value *args, size_t n)
{
    struct lazy *lazy = jinja_take(vm, sizeof *lazy);

    *lazy = (struct lazy){.default_value = v_missing()};
    lazy->args = jinja_take_array(vm, n + 1, sizeof *lazy->args);
    for (size_t i = 0; i < n; i++)
        lazy->args[i] = args[i];
    return lazy;
}

static struct value filter_unique(struct vm *vm, struct value v, const struct value *args)
{
    struct lazy *lazy = lazy_with(vm, NULL, 0);

    lazy->is_sensitive = flag(vm, args[0]);
    lazy->parts = jinja_attribute_parts(vm, args[1]);
    return jinja_v_lazy(vm, I_UNIQUE, v, lazy);
}

static struct value filter_batch(struct vm *vm, struct value v, const struct value *args)
{
    return jinja_v_lazy(vm, I_BATCH, v, lazy_with(vm, args, 2));
}

static struct value filter_slice(struct vm *vm, struct value v, const struct value *args)
{
    return jinja_v_lazy(vm, I_SLICE, v, lazy_with(vm, args, 2));
}

static struct value filter_items(struct vm *vm, struct value v, const struct value *args)
{
    (void)args;
    return jinja_v_lazy(vm, I_ITEMS, v, NULL);
}

static const struct filter filters[] = {
    {"items", "", 0, 0, filter_items, NULL},
    {"join", "d attribute", 2, 0, filter_join, NULL},
    {"selectattr", "*", 0, 0, NULL, filter_selectattr},
    {"rejectattr", "*", 0, 0, NULL, filter_rejectattr},
    {"select", "*", 0, 0, NULL, filter_select},
    {"reject", "*", 0, 0, NULL, filter_reject},
    {"map", "*", 0, 0, NULL, filter_map},
    {"list", "", 0, 0, filter_list, NULL},
    {"first", "", 0, 0, filter_first, NULL},
    {"last", "", 0, 0, filter_last, NULL},
    {"reverse", "", 0, 0, filter_reverse, NULL},
    {"sort", "reverse case_sensitive attribute", 3, 0, filter_sort, NULL},
    {"dictsort", "case_sensitive by reverse", 3, 0, filter_dictsort, NULL},
    {"groupby", "attribute default case_sensitive", 3, 1, filter_groupby, NULL},
    {"unique", "case_sensitive attribute", 2, 0, filter_unique, NULL},
    {"batch", "linecount fill_with", 2, 1, filter_batch, NULL},
    {"slice", "slices fill_with", 2, 1, filter_slice, NULL},
    {"sum", "attribute start", 2, 0, filter_sum, NULL},
    {"min", "case_sensitive attribute", 2, 0, filter_min, NULL},
    {"max", "case_sensitive attribute", 2, 0, filter_max, NULL},
};

const struct filter *jinja_filters_of_lists(size_t *n)
{
    *n = sizeof filters / sizeof filters[0];
    return filters;
}
