/* The tests of templates: `x is defined` and the others. See jinja_parts.h. */
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/jinja_parts.h"

static bool is_rest(struct vm *vm, struct value v, struct value by, int64_t expected)
{
    return jinja_value_equal(vm, jinja_value_binary(vm, E_MOD, v, by), v_int(expected));
}

static bool test_odd(struct vm *vm, struct value v, const struct value *args)
{
    (void)args;
    return is_rest(vm, v, v_int(2), 1);
}

static bool test_even(struct vm *vm, struct value v, const struct value *args)
{
    (void)args;
    return is_rest(vm, v, v_int(2), 0);
}

static bool test_divisibleby(struct vm *vm, struct value v, const struct value *args)
{
    return is_rest(vm, v, args[0], 0);
}

static bool test_defined(struct vm *vm, struct value v, const struct value *args)
{
    (void)vm;
    (void)args;
    return v.type != V_UNDEFINED;
}

static bool test_undefined(struct vm *vm, struct value v, const struct value *args)
{
    return !test_defined(vm, v, args);
}

static bool test_none(struct vm *vm, struct value v, const struct value *args)
{
    (void)vm;
    (void)args;
    return v.type == V_NONE;
}

static bool test_boolean(struct vm *vm, struct value v, const struct value *args)
{
    (void)vm;
    (void)args;
    return v.type == V_BOOL;
}

static bool test_false(struct vm *vm, struct value v, const struct value *args)
{
    (void)vm;
    (void)args;
    return v.type == V_BOOL && !v.i;
}

static bool test_true(struct vm *vm, struct value v, const struct value *args)
{
    (void)vm;
    (void)args;
    return v.type == V_BOOL && v.i;
}

static bool test_integer(struct vm *vm, struct value v, const struct value *args)
{
    (void)vm;
    (void)args;
    return v.type == V_INT || v.type == V_BIG;
}

static bool test_float(struct vm *vm, struct value v, const struct value *args)
{
    (void)vm;
    (void)args;
    return v.type == V_FLOAT;
}

static bool text_is(struct vm *vm, struct value v, const char *method)
{
    struct value text = jinja_value_str(vm, v);
    struct method bound = {text, str_of(method), jinja_method_find(text, str_of(method))};
    struct call call = {.what = method};

    return jinja_value_truth(vm, jinja_method_call(vm, &bound, &call));
}

static bool test_lower(struct vm *vm, struct value v, const struct value *args)
{
    (void)args;
    return text_is(vm, v, "islower");
}

static bool test_upper(struct vm *vm, struct value v, const struct value *args)
{
    (void)args;
    return text_is(vm, v, "isupper");
}

static bool test_string(struct vm *vm, struct value v, const struct value *args)
{
    (void)vm;
    (void)args;
    return v.type == V_STR;
}

static bool test_mapping(struct vm *vm, struct value v, const struct value *args)
{
    (void)vm;
    (void)args;
    return v.type == V_DICT;
}

static bool test_number(struct vm *vm, struct value v, const struct value *args)
{
    (void)vm;
    (void)args;
    return is_number(v);
}

static bool test_sequence(struct vm *vm, struct value v, const struct value *args)
{
    (void)vm;
    (void)args;
    return v.type == V_STR || v.type == V_LIST || v.type == V_TUPLE || v.type == V_DICT ||
           v.type == V_RANGE || v.type == V_BYTES || v.type == V_UNDEFINED;
}

static bool test_iterable(struct vm *vm, struct value v, const struct value *args)
{
    struct iter iter;

    (void)args;
    return jinja_value_iterate(vm, v, &iter) || v.type == V_BYTES;
}

static bool test_callable(struct vm *vm, struct value v, const struct value *args)
{
    (void)vm;
    (void)args;
    return v.type == V_MACRO || v.type == V_METHOD || v.type == V_GLOBAL || v.type == V_JOINER ||
           v.type == V_LOOP || v.type == V_UNDEFINED;
}

static bool test_sameas(struct vm *vm, struct value v, const struct value *args)
{
    (void)vm;
    return jinja_value_same(v, args[0]);
}

static bool test_escaped(struct vm *vm, struct value v, const struct value *args)
{
    (void)vm;
    (void)args;
    return v.type == V_STR && v.flags & F_MARKUP;
}

static bool test_in(struct vm *vm, struct value v, const struct value *args)
{
    return jinja_value_in(vm, v, args[0]);
}

static void want_hashable(struct vm *vm, struct value v)
{
    if (!jinja_value_is_hashable(vm, v))
        jinja_error(vm, "unhashable type: '%s'", jinja_value_type_name(v));
}

static bool test_filter(struct vm *vm, struct value v, const struct value *args)
{
    (void)args;
    want_hashable(vm, v);
    return is_str(v) && jinja_filter_find(str_v(v));
}

static bool test_test(struct vm *vm, struct value v, const struct value *args)
{
    (void)args;
    want_hashable(vm, v);
    return is_str(v) && jinja_test_find(str_v(v));
}

static bool test_eq(struct vm *vm, struct value v, const struct value *args)
{
    return jinja_value_compare(vm, OP_EQ, v, args[0]);
}

static bool test_ne(struct vm *vm, struct value v, const struct value *args)
{
    return jinja_value_compare(vm, OP_NE, v, args[0]);
}

static bool test_lt(struct vm *vm, struct value v, const struct value *args)
{
    return jinja_value_compare(vm, OP_LT, v, args[0]);
}

static bool test_le(struct vm *vm, struct value v, const struct value *args)
{
    return jinja_value_compare(vm, OP_LE, v, args[0]);
}

static bool test_gt(struct vm *vm, struct value v, const struct value *args)
{
    return jinja_value_compare(vm, OP_GT, v, args[0]);
}

static bool test_ge(struct vm *vm, struct value v, const struct value *args)
{
    return jinja_value_compare(vm, OP_GE, v, args[0]);
}

static const struct test tests[] = {
    {"defined", 0, test_defined},
    {"string", 0, test_string},
    {"none", 0, test_none},
    {"iterable", 0, test_iterable},
    {"mapping", 0, test_mapping},
    {"sequence", 0, test_sequence},
    {"false", 0, test_false},
    {"undefined", 0, test_undefined},
    {"boolean", 0, test_boolean},
    {"true", 0, test_true},
    {"number", 0, test_number},
    {"integer", 0, test_integer},
    {"float", 0, test_float},
    {"odd", 0, test_odd},
    {"even", 0, test_even},
    {"divisibleby", 1, test_divisibleby},
    {"lower", 0, test_lower},
    {"upper", 0, test_upper},
    {"callable", 0, test_callable},
    {"sameas", 1, test_sameas},
    {"escaped", 0, test_escaped},
    {"in", 1, test_in},
    {"filter", 0, test_filter},
    {"test", 0, test_test},
    {"==", 1, test_eq},
    {"eq", 1, test_eq},
    {"equalto", 1, test_eq},
    {"!=", 1, test_ne},
    {"ne", 1, test_ne},
    {">", 1, test_gt},
    {"gt", 1, test_gt},
    {"greaterthan", 1, test_gt},
    {">=", 1, test_ge},
    {"ge", 1, test_ge},
    {"<", 1, test_lt},
    {"lt", 1, test_lt},
    {"lessthan", 1, test_lt},
    {"<=", 1, test_le},
    {"le", 1, test_le},
};

const struct test *jinja_test_find(struct str name)
{
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        if (str_is(name, tests[i].name))
            return &tests[i];
    return NULL;
}

bool jinja_test_apply(struct vm *vm, const struct test *test, struct value v,
                      const struct call *call)
{
    struct value args[1];
    const char *params = test->n_args == 0               ? ""
                         : test->run == test_divisibleby ? "num"
                         : test->run == test_sameas      ? "other"
                         : test->run == test_in          ? "seq"
                                                         : "other /";

    if (call->n == test->n_args && call->n_names == 0)
        return test->run(vm, v, call->args);
    jinja_call_bind(vm, call, params, test->n_args, args);
    return test->run(vm, v, args);
}
