/* Expressions of a render. See jinja_parts.h. Statements are exec.c, calls are call.c. */
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/jinja_parts.h"

/* ---- names ---- */

struct value jinja_resolve(struct vm *vm, uint16_t name)
{
    struct value *known = &vm->resolved[name];

    if (vm->vars[name].type != V_MISSING)
        return vm->vars[name];
    if (known->type == V_MISSING && known->aux == 0) {
        struct str text = vm->program->names[name];
        const struct json *member = NULL;

        for (member = vm->context->child; member; member = member->next)
            if (str_eq(member->key, text))
                break;
        known->aux = 1;
        if (member)
            *known = jinja_value_of_json(vm, member);
        else
            jinja_global_find(text, known);
    }
    return *known;
}

static inline struct value eval_name(const struct node *node, struct activation *act)
{
    struct value v = *jinja_slot_at(act, node->place);

    return v.type == V_MISSING ? jinja_v_undefined(U_NAME, v_none(), node->name) : v;
}

/* ---- containers ---- */

static struct value eval_list(struct vm *vm, const struct node *node, struct activation *act)
{
    struct list *list = jinja_list_new(vm, node->n);

    for (size_t i = 0; i < node->n; i++) {
        struct value v = jinja_eval(vm, node->items[i], act);

        list->items[i] = v;
    }
    list->n = (uint32_t)node->n;
    return (struct value){.type = node->kind == E_LIST ? V_LIST : V_TUPLE, .list = list};
}

static struct value eval_dict(struct vm *vm, const struct node *node, struct activation *act)
{
    struct dict *dict = jinja_dict_new(vm, node->n / 2);

    for (size_t i = 0; i + 1 < node->n; i += 2) {
        struct value key = jinja_eval(vm, node->items[i], act);

        jinja_dict_set(vm, dict, key, jinja_eval(vm, node->items[i + 1], act));
    }
    return jinja_v_dict(dict);
}

static struct value eval_concat(struct vm *vm, const struct node *node, struct activation *act)
{
    struct text out = {.vm = vm};
    bool escapes = node->escape == 1 || (node->escape == 2 && vm->autoescape);
    struct list *items = escapes ? jinja_list_new(vm, node->n) : NULL;
    bool is_markup = false;

    for (size_t i = 0; i < node->n; i++) {
        struct value v = jinja_eval(vm, node->items[i], act);

        if (escapes) {
            is_markup = is_markup || (is_str(v) && v.flags & F_MARKUP);
            jinja_list_add(vm, items, v);
        } else {
            jinja_print_str(&out, v);
        }
    }
    for (uint32_t i = 0; escapes && i < items->n; i++)
        jinja_print_str(&out,
                        is_markup ? jinja_value_escape(vm, items->items[i]) : items->items[i]);

    struct value v = jinja_text_value(&out);

    v.flags = is_markup ? F_MARKUP : 0;
    return v;
}

/* ---- operators ---- */

static struct value eval_compare(struct vm *vm, const struct node *node, struct activation *act)
{
    struct value left = jinja_eval(vm, node->a, act);

    for (size_t i = 0; i < node->n; i++) {
        const struct node *operand = node->items[i];
        struct value right = jinja_eval(vm, operand->a, act);

        if (!jinja_value_compare(vm, (enum operand)operand->op, left, right))
            return v_bool(false);
        left = right;
    }
    return v_bool(true);
}

static struct value eval_getitem(struct vm *vm, const struct node *node, struct activation *act)
{
    struct value v = jinja_eval(vm, node->a, act);
    const struct node *key = node->b;
    struct value bounds[3] = {v_none(), v_none(), v_none()};

    vm->line = node->line;
    if (key->kind == E_CONST && is_str(key->value) && v.type == V_DICT) {
        const struct value *member = jinja_dict_get(vm, v.dict, key->value);

        if (member)
            return *member;
        return jinja_value_item(vm, v, key->value);
    }
    if (key->kind != E_SLICE)
        return jinja_value_item(vm, v, jinja_eval(vm, key, act));
    if (key->a)
        bounds[0] = jinja_eval(vm, key->a, act);
    if (key->b)
        bounds[1] = jinja_eval(vm, key->b, act);
    if (key->c)
        bounds[2] = jinja_eval(vm, key->c, act);
    return jinja_value_slice(vm, v, bounds);
}

/* ---- calls ---- */

#define FEW_ARGS 8

static void add_name(struct vm *vm, struct call *call, struct str name)
{
    for (size_t i = 0; i < call->n_names; i++)
        if (str_eq(call->names[i], name))
            jinja_error(vm, "got multiple values for keyword argument '%.*s'",
                        (int)(name.n < 80 ? name.n : 80), name.p);
    call->names[call->n_names++] = name;
}

static void add_dynamic(struct vm *vm, const struct node *node, struct activation *act,
                        struct call *call)
{
    struct list *args = jinja_list_new(vm, call->n + call->n_names + 8);
    struct value kwargs = node->dyn_kwargs ? jinja_eval(vm, node->dyn_kwargs, act) : v_none();
    size_t n_names = call->n_names;
    struct str *names =
        jinja_take_array(vm, n_names + (kwargs.type == V_DICT ? kwargs.dict->n : 0), sizeof *names);

    for (size_t i = 0; i < call->n; i++)
        jinja_list_add(vm, args, call->args[i]);
    if (node->dyn_args) {
        struct list *more = jinja_list_of(vm, jinja_eval(vm, node->dyn_args, act));

        for (uint32_t i = 0; i < more->n; i++)
            jinja_list_add(vm, args, more->items[i]);
    }

    uint32_t n_args = args->n;

    for (size_t i = 0; i < n_names; i++) {
        names[i] = call->names[i];
        jinja_list_add(vm, args, call->args[call->n + i]);
    }
    call->names = names;
    if (node->dyn_kwargs && kwargs.type != V_DICT)
        jinja_error(vm, "argument after ** must be a mapping, not %s",
                    jinja_value_type_name(kwargs));
    for (uint32_t i = 0; kwargs.type == V_DICT && i < kwargs.dict->n; i++) {
        if (!is_str(kwargs.dict->entries[i].key))
            jinja_error(vm, "keywords must be strings");
        add_name(vm, call, str_v(kwargs.dict->entries[i].key));
        jinja_list_add(vm, args, kwargs.dict->entries[i].value);
    }
    call->args = args->items;
    call->n = n_args;
}

/* The arguments of a node into `call`, whose args has room for FEW_ARGS. */
static void eval_arguments(struct vm *vm, const struct node *node, struct activation *act,
                           struct call *call)
{
    size_t n = node->n + node->n_kwargs;

    if (n > FEW_ARGS)
        call->args = jinja_take_array(vm, n, sizeof *call->args);
    for (size_t i = 0; i < node->n; i++)
        call->args[i] = jinja_eval(vm, node->items[i], act);
    call->n = node->n;
    if (node->n_kwargs) {
        call->names = jinja_take_array(vm, node->n_kwargs + 1, sizeof *call->names);
        for (size_t i = 0; i < node->n_kwargs; i++) {
            call->names[i] = node->kwargs[i].name;
            call->args[node->n + i] = jinja_eval(vm, node->kwargs[i].value, act);
        }
        call->n_names = node->n_kwargs;
    }
    if (node->dyn_args || node->dyn_kwargs)
        add_dynamic(vm, node, act, call);
}

static struct value eval_call(struct vm *vm, const struct node *node, struct activation *act)
{
    struct value args[FEW_ARGS];
    struct call call = {.args = args, .what = "function"};
    struct value callee;

    /* v.method(…) without making the bound method */
    if (node->a->kind == E_GETATTR) {
        struct value self = jinja_eval(vm, node->a->a, act);

        if (is_str(self)) {
            struct method method = {self, node->a->name, jinja_method_find(self, node->a->name)};

            if (method.which >= 0) {
                eval_arguments(vm, node, act, &call);
                vm->line = node->line;
                return jinja_method_call(vm, &method, &call);
            }
        }
        vm->line = node->a->line;
        callee = jinja_value_attribute(vm, self, node->a->name);
    } else {
        callee = jinja_eval(vm, node->a, act);
    }
    eval_arguments(vm, node, act, &call);
    jinja_step(vm);
    vm->line = node->line;
    return jinja_value_call(vm, callee, &call);
}

static struct value eval_filter(struct vm *vm, const struct node *node, struct activation *act,
                                struct value v)
{
    struct value args[FEW_ARGS];
    struct call call = {.args = args, .what = node->filter ? node->filter->name : ""};

    if (node->n || node->n_kwargs || node->dyn_args || node->dyn_kwargs)
        eval_arguments(vm, node, act, &call);
    vm->line = node->line;
    if (!node->filter)
        jinja_error(vm, "no filter named '%.*s' found", (int)(node->name.n & 0xFF), node->name.p);
    return jinja_filter_apply(vm, node->filter, v, &call);
}

static struct value eval_test(struct vm *vm, const struct node *node, struct activation *act)
{
    struct value args[FEW_ARGS];
    struct call call = {.args = args, .what = node->test ? node->test->name : ""};
    struct value v = jinja_eval(vm, node->a, act);

    if (node->n || node->n_kwargs || node->dyn_args || node->dyn_kwargs)
        eval_arguments(vm, node, act, &call);
    vm->line = node->line;
    if (!node->test)
        jinja_error(vm, "no test named '%.*s' found", (int)(node->name.n & 0xFF), node->name.p);
    return v_bool(jinja_test_apply(vm, node->test, v, &call));
}

struct value jinja_eval_filter_on(struct vm *vm, const struct node *node, struct activation *act,
                                  struct value text)
{
    struct value v = node->a ? jinja_eval_filter_on(vm, node->a, act, text) : text;

    return eval_filter(vm, node, act, v);
}

static struct value eval_condition(struct vm *vm, const struct node *node, struct activation *act)
{
    if (jinja_value_truth(vm, jinja_eval(vm, node->a, act)))
        return jinja_eval(vm, node->b, act);
    if (node->c)
        return jinja_eval(vm, node->c, act);
    return jinja_v_hint(
        "the inline if-expression evaluated to false and no else section was defined");
}

struct value jinja_eval(struct vm *vm, const struct node *node, struct activation *act)
{
    struct value v;

    switch ((int)node->kind) {
    case E_CONST:
        return node->is_mutable && vm->program->mutates ? jinja_value_copy(vm, node->value, 0)
                                                        : node->value;
    case E_NAME:
        return eval_name(node, act);
    case E_TUPLE:
    case E_LIST:
        return eval_list(vm, node, act);
    case E_DICT:
        return eval_dict(vm, node, act);
    case E_ADD:
    case E_SUB:
    case E_MUL:
    case E_DIV:
    case E_FLOORDIV:
    case E_MOD:
    case E_POW:
        v = jinja_eval(vm, node->a, act);
        {
            struct value right = jinja_eval(vm, node->b, act);

            vm->line = node->line;
            return jinja_value_binary(vm, node->kind, v, right);
        }
    case E_AND:
        v = jinja_eval(vm, node->a, act);
        return jinja_value_truth(vm, v) ? jinja_eval(vm, node->b, act) : v;
    case E_OR:
        v = jinja_eval(vm, node->a, act);
        return jinja_value_truth(vm, v) ? v : jinja_eval(vm, node->b, act);
    case E_NOT:
        return v_bool(!jinja_value_truth(vm, jinja_eval(vm, node->a, act)));
    case E_NEG:
        return jinja_value_negate(vm, jinja_eval(vm, node->a, act));
    case E_POS:
        return jinja_value_plus(vm, jinja_eval(vm, node->a, act));
    case E_CONCAT:
        return eval_concat(vm, node, act);
    case E_COMPARE:
        return eval_compare(vm, node, act);
    case E_COND:
        return eval_condition(vm, node, act);
    case E_GETATTR:
        v = jinja_eval(vm, node->a, act);
        vm->line = node->line;
        return jinja_value_attribute(vm, v, node->name);
    case E_GETITEM:
        return eval_getitem(vm, node, act);
    case E_CALL:
        return eval_call(vm, node, act);
    case E_FILTER:
        return eval_filter(vm, node, act, jinja_eval(vm, node->a, act));
    case E_TEST:
        return eval_test(vm, node, act);
    default:
        BUG("a node of kind %d as an expression", (int)node->kind);
    }
}

struct value jinja_eval_call_of(struct vm *vm, const struct node *node, struct activation *act,
                                struct value caller)
{
    struct value args[FEW_ARGS];
    struct call call = {.args = args, .what = "function"};
    struct value callee = jinja_eval(vm, node->a, act);
    struct list *all;
    struct str *names;

    eval_arguments(vm, node, act, &call);
    all = jinja_list_new(vm, call.n + call.n_names + 1);
    names = jinja_take_array(vm, call.n_names + 1, sizeof *names);
    for (size_t i = 0; i < call.n + call.n_names; i++)
        jinja_list_add(vm, all, call.args[i]);
    jinja_list_add(vm, all, caller);
    for (size_t i = 0; i < call.n_names; i++)
        names[i] = call.names[i];
    call.names = names;
    add_name(vm, &call, str_of("caller"));
    call.args = all->items;
    vm->line = node->line;
    jinja_step(vm);
    return jinja_value_call(vm, callee, &call);
}
