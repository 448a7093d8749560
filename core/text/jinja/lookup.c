/* Attributes and items, as the sandbox lets a template see them. See jinja_parts.h. */
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/jinja_parts.h"

/* What changes a list or dict, and so is refused (not pop and clear of lists: 3.1.2 forgot them).
 */
static bool is_unsafe(struct value v, struct str name)
{
    static const char *const of_dicts[] = {"clear", "pop", "popitem", "setdefault", "update"};
    static const char *const of_lists[] = {"append", "reverse", "insert",
                                           "sort",   "extend",  "remove"};

    if (v.type == V_DICT) {
        for (size_t i = 0; i < sizeof of_dicts / sizeof of_dicts[0]; i++)
            if (str_is(name, of_dicts[i]))
                return true;
    } else if (v.type == V_LIST) {
        for (size_t i = 0; i < sizeof of_lists / sizeof of_lists[0]; i++)
            if (str_is(name, of_lists[i]))
                return true;
    }
    return false;
}

/* Attributes of every object in Python that begin with two underscores. */
static bool is_internal(struct str name)
{
    static const char *const names[] = {
        "__class__",        "__doc__",
        "__init__",         "__new__",
        "__dir__",          "__eq__",
        "__ne__",           "__lt__",
        "__le__",           "__gt__",
        "__ge__",           "__hash__",
        "__repr__",         "__str__",
        "__format__",       "__reduce__",
        "__reduce_ex__",    "__sizeof__",
        "__getattribute__", "__setattr__",
        "__delattr__",      "__init_subclass__",
        "__subclasshook__",
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

static struct value bound(struct vm *vm, struct value self, struct str name, int which)
{
    struct method *method = jinja_take(vm, sizeof *method);

    *method = (struct method){self, name, which};
    return (struct value){.type = V_METHOD, .method = method};
}

static bool number_attribute(struct value v, struct str name, struct value *out)
{
    bool is_float = v.type == V_FLOAT;

    if (str_is(name, "real") || (str_is(name, "numerator") && !is_float))
        *out = v.type == V_BOOL ? v_int(v.i) : v;
    else if (str_is(name, "imag"))
        *out = is_float ? v_float(0) : v_int(0);
    else if (str_is(name, "denominator") && !is_float)
        *out = v_int(1);
    else
        return false;
    return true;
}

static bool macro_attribute(struct vm *vm, const struct macro *macro, struct str name,
                            struct value *out)
{
    const struct node *node = macro->node;

    if (str_is(name, "name")) {
        *out = node->kind == S_MACRO ? v_str(vm, node->name, F_LITERAL) : v_none();
    } else if (str_is(name, "arguments")) {
        struct list *names = jinja_list_new(vm, node->n);

        for (size_t i = 0; i < node->n; i++)
            jinja_list_add(vm, names, v_str(vm, node->items[i]->name, F_LITERAL));
        *out = jinja_v_tuple(names);
    } else if (str_is(name, "catch_kwargs")) {
        *out = v_bool(node->takes_kwargs);
    } else if (str_is(name, "catch_varargs")) {
        *out = v_bool(node->takes_varargs);
    } else if (str_is(name, "caller")) {
        *out = v_bool(node->takes_caller);
    } else {
        return false;
    }
    return true;
}

/* getattr(v, name): false when the object has no such attribute. */
bool jinja_python_attribute(struct vm *vm, struct value v, struct str name, struct value *out)
{
    int which;
    bool found = false;

    switch (v.type) {
    case V_UNDEFINED:
        if (str_starts(name, "__"))
            break;
        jinja_undefined_error(vm, v);
    case V_NAMESPACE: {
        const struct value *member = jinja_dict_get(vm, v.dict, v_str(vm, name, 0));

        if (!member)
            return false;
        *out = *member;
        return true;
    }
    case V_LOOP:
        *out = jinja_loop_attribute(vm, v.loop, name, &found);
        if (found)
            return true;
        break;
    case V_MACRO:
        if (macro_attribute(vm, v.macro, name, out))
            return true;
        break;
    case V_RANGE:
        if (str_is(name, "start") || str_is(name, "step") || str_is(name, "stop")) {
            const struct range *range = v.range;

            *out = v_int(str_is(name, "start")  ? range->start
                         : str_is(name, "step") ? range->step
                                                : range->stop);
            return true;
        }
        break;
    case V_CYCLER:
        if (str_is(name, "current")) {
            *out = v.cycler->items->items[v.cycler->at];
            return true;
        }
        break;
    case V_TUPLE:
        if (v.list->is_group && (str_is(name, "grouper") || str_is(name, "list"))) {
            *out = v.list->items[str_is(name, "list")];
            return true;
        }
        break;
    default:
        if (is_number(v) && number_attribute(v, name, out))
            return true;
        break;
    }
    if (name.n > 4 && name.p[0] == '_' && is_internal(name)) {
        *out = v_none();
        return true;
    }
    which = jinja_method_find(v, name);
    if (which < 0 && !is_unsafe(v, name))
        return false;
    *out = bound(vm, v, name, which);
    return true;
}

static bool is_refused(struct value v, struct str name)
{
    return (name.n && name.p[0] == '_') || is_unsafe(v, name);
}

/* v.name */
struct value jinja_value_attribute(struct vm *vm, struct value v, struct str name)
{
    struct value out;

    if (v.type == V_DICT && v.dict->n && name.p[0] != '_') {
        const struct value *member;

        /* What a message is asked for is hardly ever a method of dict. */
        if (jinja_method_find(v, name) < 0 && !is_unsafe(v, name)) {
            member = jinja_dict_get(vm, v.dict, v_str(vm, name, 0));
            return member ? *member : jinja_v_undefined(U_ATTRIBUTE, v, name);
        }
    }
    if (jinja_python_attribute(vm, v, name, &out))
        return is_refused(v, name) ? jinja_v_undefined(U_UNSAFE, v, name) : out;
    if (v.type == V_UNDEFINED)
        jinja_undefined_error(vm, v);
    if (v.type == V_DICT) {
        const struct value *member = jinja_dict_get(vm, v.dict, v_str(vm, name, 0));

        if (member)
            return *member;
    }
    return jinja_v_undefined(U_ATTRIBUTE, v, name);
}

static struct value name_of_key(struct vm *vm, struct value v, struct value key)
{
    struct text out = {.vm = vm};

    if (is_str(key))
        return jinja_v_undefined(U_ATTRIBUTE, v, str_v(key));
    if (is_number(key) && key.type != V_BIG) {
        jinja_print_str(&out, key);
        return jinja_v_undefined(U_ATTRIBUTE, v, str_from(out.p, out.n));
    }
    return jinja_v_undefined(U_ATTRIBUTE, v, str_of(jinja_value_type_name(key)));
}

static bool item_of(struct vm *vm, struct value v, struct value key, struct value *out)
{
    bool found = false;
    int64_t i, n;

    if (v.type == V_DICT) {
        const struct value *member;

        if (!jinja_value_is_hashable(vm, key))
            return false;
        member = jinja_dict_get(vm, v.dict, key);
        if (member)
            *out = *member;
        return member != NULL;
    }
    if (!is_intlike(key))
        return false;
    i = key.i;
    switch (v.type) {
    case V_STR:
        *out = jinja_text_char(vm, v, i, &found);
        return found;
    case V_LIST:
    case V_TUPLE:
        n = v.list->n;
        if (i < 0)
            i += n;
        if (i < 0 || i >= n)
            return false;
        *out = v.list->items[i];
        return true;
    case V_RANGE:
        n = v.range->n;
        if (i < 0)
            i += n;
        if (i < 0 || i >= n)
            return false;
        *out = v_int(v.range->start + v.range->step * i);
        return true;
    case V_BYTES:
        n = v.n;
        if (i < 0)
            i += n;
        if (i < 0 || i >= n)
            return false;
        *out = v_int((unsigned char)v.p[i]);
        return true;
    default:
        return false;
    }
}

/* v[key] */
struct value jinja_value_item(struct vm *vm, struct value v, struct value key)
{
    struct value out;

    if (v.type == V_UNDEFINED)
        jinja_undefined_error(vm, v);
    if (item_of(vm, v, key, &out))
        return out;
    if (is_str(key) && jinja_python_attribute(vm, v, str_v(key), &out))
        return is_refused(v, str_v(key)) ? jinja_v_undefined(U_UNSAFE, v, str_v(key)) : out;
    return name_of_key(vm, v, key);
}

/* ---- slices ---- */

static bool bound_of(struct vm *vm, struct value v, int64_t *out)
{
    if (v.type == V_NONE || v.type == V_MISSING)
        return false;
    if (v.type == V_BIG)
        *out = v.big->negative ? INT64_MIN / 2 : INT64_MAX / 2;
    else if (is_intlike(v))
        *out = v.i < INT64_MIN / 2 ? INT64_MIN / 2 : v.i > INT64_MAX / 2 ? INT64_MAX / 2 : v.i;
    else
        jinja_error(vm, "slice indices must be integers or None or have an __index__ method");
    return true;
}

static int64_t clamp(int64_t i, int64_t n, int64_t low, int64_t high)
{
    if (i < 0)
        i += n;
    return i < low ? low : i > high ? high : i;
}

/* v[start:stop:step]; Python's own, not the sandbox's. */
struct value jinja_value_slice(struct vm *vm, struct value v, const struct value bounds[3])
{
    int64_t n, start, stop, step = 1, count;
    struct list *list;

    if (v.type == V_UNDEFINED)
        jinja_undefined_error(vm, v);
    if (v.type == V_DICT)
        jinja_error(vm, "unhashable type: 'slice'");
    if ((!is_str(v) && !is_listy(v) && v.type != V_RANGE) || !jinja_value_length(vm, v, &n))
        jinja_error(vm, "'%s' object is not subscriptable", jinja_value_type_name(v));
    bound_of(vm, bounds[2], &step);
    if (step == 0)
        jinja_error(vm, "slice step cannot be zero");
    start = step > 0 ? 0 : n - 1;
    stop = step > 0 ? n : -1;
    if (bound_of(vm, bounds[0], &start))
        start = step > 0 ? clamp(start, n, 0, n) : clamp(start, n, -1, n - 1);
    if (bound_of(vm, bounds[1], &stop))
        stop = step > 0 ? clamp(stop, n, 0, n) : clamp(stop, n, -1, n - 1);
    count = step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
    if (count < 0 || (step > 0 ? start >= stop : start <= stop))
        count = 0;
    if (is_str(v)) {
        uint8_t markup = v.flags & F_MARKUP;

        v = jinja_text_slice(vm, v, start, step, count);
        v.flags |= markup;
        return v;
    }
    if (v.type == V_RANGE) {
        struct range *range = jinja_take(vm, sizeof *range);

        *range = (struct range){v.range->start + v.range->step * start, v.range->step * step, count,
                                v.range->start + v.range->step * stop};
        return (struct value){.type = V_RANGE, .range = range};
    }
    list = jinja_list_new(vm, (size_t)count);
    jinja_spend(vm, (uint64_t)count / 4);
    for (int64_t i = 0; i < count; i++)
        list->items[list->n++] = v.list->items[start + i * step];
    v.list = list;
    return v;
}
