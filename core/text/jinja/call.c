/* Calls: binding of arguments, macros, the functions of the environment. See jinja_parts.h. Methods
 * are methods*.c. */
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/jinja_parts.h"

#define MOST_RANGE  100000
#define MOST_PARAMS 8

/* ---- binding ---- */

struct param {
    struct str name;
    bool is_positional;
};

static size_t split_params(const char *names, struct param *params)
{
    struct str rest = str_of(names);
    struct str name;
    size_t n = 0;

    while (str_split(&rest, ' ', &name)) {
        if (str_is(name, "/")) {
            for (size_t i = 0; i < n; i++)
                params[i].is_positional = true;
            continue;
        }
        if (name.n && n < MOST_PARAMS)
            params[n++] = (struct param){name, false};
    }
    return n;
}

void jinja_call_bind(struct vm *vm, const struct call *call, const char *names, size_t n_required,
                     struct value *out)
{
    struct param params[MOST_PARAMS];
    size_t n = split_params(names, params);

    if (call->n > n)
        jinja_error(vm, "%s() takes at most %zu arguments (%zu given)", call->what, n, call->n);
    for (size_t i = 0; i < n; i++)
        out[i] = i < call->n ? call->args[i] : v_missing();
    for (size_t k = 0; k < call->n_names; k++) {
        size_t at = 0;

        while (at < n && (params[at].is_positional || !str_eq(params[at].name, call->names[k])))
            at++;
        if (at == n)
            jinja_error(vm, "%s() got an unexpected keyword argument '%.*s'", call->what,
                        (int)(call->names[k].n & 0x7F), call->names[k].p);
        if (out[at].type != V_MISSING)
            jinja_error(vm, "%s() got multiple values for argument '%.*s'", call->what,
                        (int)(call->names[k].n & 0x7F), call->names[k].p);
        out[at] = call->args[call->n + k];
    }
    for (size_t i = 0; i < n_required; i++)
        if (out[i].type == V_MISSING)
            jinja_error(vm, "%s() missing required argument '%.*s'", call->what,
                        (int)params[i].name.n, params[i].name.p);
}

/* ---- macros ---- */

static struct value take_keyword(const struct call *call, bool *is_used, struct str name)
{
    for (size_t k = 0; k < call->n_names; k++)
        if (!is_used[k] && str_eq(call->names[k], name)) {
            is_used[k] = true;
            return call->args[call->n + k];
        }
    return v_missing();
}

static void bind_special(struct vm *vm, const struct macro *macro, const struct call *call,
                         bool *is_used, struct activation *act)
{
    const struct node *node = macro->node;

    if (node->takes_caller) {
        struct value caller = take_keyword(call, is_used, str_of("caller"));

        if (caller.type == V_MISSING || caller.type == V_NONE)
            caller = jinja_v_hint("No caller defined");
        act->slots[node->caller_slot] = caller;
    }
    if (node->takes_kwargs) {
        struct dict *kwargs = jinja_dict_new(vm, call->n_names);

        for (size_t k = 0; k < call->n_names; k++)
            if (!is_used[k])
                jinja_dict_set(vm, kwargs, v_str(vm, call->names[k], F_LITERAL),
                               call->args[call->n + k]);
        act->slots[node->kwargs_slot] = jinja_v_dict(kwargs);
    }
    for (size_t k = 0; k < call->n_names && !node->takes_kwargs; k++)
        if (!is_used[k])
            jinja_error(vm, "macro '%.*s' takes no keyword argument '%.*s'",
                        (int)(node->name.n & 0x7F), node->name.p, (int)(call->names[k].n & 0x7F),
                        call->names[k].p);
    if (node->takes_varargs) {
        struct list *varargs = jinja_list_new(vm, 4);

        for (size_t i = node->n; i < call->n; i++)
            jinja_list_add(vm, varargs, call->args[i]);
        act->slots[node->varargs_slot] = jinja_v_tuple(varargs);
    } else if (call->n > node->n) {
        jinja_error(vm, "macro '%.*s' takes not more than %zu argument(s)",
                    (int)(node->name.n & 0x7F), node->name.p, node->n);
    }
}

static void bind_params(struct vm *vm, const struct macro *macro, const struct call *call,
                        struct activation *act)
{
    const struct node *node = macro->node;
    bool few[16] = {false};
    bool *is_used = few;

    if (call->n_names > 16) {
        is_used = jinja_take(vm, call->n_names);
        memset(is_used, 0, call->n_names);
    }
    for (size_t i = 0; i < node->n; i++)
        act->slots[node->items[i]->place.slot] =
            i < call->n ? call->args[i] : take_keyword(call, is_used, node->items[i]->name);
    bind_special(vm, macro, call, is_used, act);
}

static void set_defaults(struct vm *vm, const struct node *node, struct activation *act)
{
    for (size_t i = 0; i < node->n; i++) {
        struct value *slot = &act->slots[node->items[i]->place.slot];
        size_t first = node->n - node->n_defaults;

        if (slot->type != V_MISSING)
            continue;
        if (i >= first)
            *slot = jinja_eval(vm, node->defaults[i - first], act);
        else
            *slot = jinja_v_undefined(U_NAME, v_none(), node->items[i]->name);
    }
}

static struct value jinja_macro_call(struct vm *vm, struct macro *macro, const struct call *call)
{
    const struct node *node = macro->node;
    struct activation *act = jinja_activation_new(vm, node->function, macro->outer);
    struct capture capture;
    int line = vm->line;

    if (++vm->depth > vm->depth_limit)
        jinja_too_much(vm, "depth");
    jinja_check_stack(vm);
    bind_params(vm, macro, call, act);
    jinja_capture_begin(vm, &capture);
    jinja_scope_enter(vm, &node->scope, act);
    set_defaults(vm, node, act);
    jinja_exec(vm, &node->body, act);
    vm->depth--;
    vm->line = line;
    return jinja_capture_end(vm, &capture);
}

/* ---- the functions of the environment ---- */

enum global { G_RANGE, G_DICT, G_LIPSUM, G_CYCLER, G_JOINER, G_NAMESPACE, G_RAISE, G_NOW, G_COUNT };

static const char *const global_names[] = {
    "range", "dict", "lipsum", "cycler", "joiner", "namespace", "raise_exception", "strftime_now"};

bool jinja_global_find(struct str name, struct value *out)
{
    for (uint16_t i = 0; i < G_COUNT; i++)
        if (str_is(name, global_names[i])) {
            *out = (struct value){.type = V_GLOBAL, .aux = i};
            return true;
        }
    return false;
}

static struct value make_range(struct vm *vm, const struct call *call)
{
    struct range *range = jinja_take(vm, sizeof *range);
    int64_t start = 0, stop, step = 1;

    if (call->n_names)
        jinja_error(vm, "range() takes no keyword arguments");
    if (call->n < 1 || call->n > 3)
        jinja_error(vm, "range expected 1 to 3 arguments, got %zu", call->n);
    for (size_t i = 0; i < call->n; i++)
        if (call->args[i].type == V_BIG)
            jinja_error(vm, "range too big; the sandbox blocks ranges larger than 100000");
    if (call->n > 1)
        start = jinja_value_index(vm, call->args[0], "range");
    stop = jinja_value_index(vm, call->args[call->n > 1], "range");
    if (call->n > 2)
        step = jinja_value_index(vm, call->args[2], "range");
    if (step == 0)
        jinja_error(vm, "range() arg 3 must not be zero");

    uint64_t span = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    uint64_t stride = step > 0 ? (uint64_t)step : (uint64_t)0 - (uint64_t)step;
    bool is_empty = step > 0 ? stop <= start : stop >= start;
    uint64_t n = is_empty ? 0 : (span - 1) / stride + 1;

    if (n > MOST_RANGE)
        jinja_error(vm, "range too big; the sandbox blocks ranges larger than 100000");
    *range = (struct range){start, step, (int64_t)n, stop};
    return (struct value){.type = V_RANGE, .range = range};
}

static void add_pairs(struct vm *vm, struct dict *dict, struct value pairs)
{
    struct iter *iter = jinja_iter_of(vm, pairs);
    struct value pair;

    while (jinja_iter_next(vm, iter, &pair)) {
        struct list *both = jinja_list_of(vm, pair);

        if (both->n != 2)
            jinja_error(vm, "dictionary update sequence element has length %u; 2 is required",
                        both->n);
        jinja_dict_set(vm, dict, both->items[0], both->items[1]);
    }
}

static struct dict *make_dict(struct vm *vm, const struct call *call)
{
    struct dict *dict = jinja_dict_new(vm, 4);

    if (call->n > 1)
        jinja_error(vm, "dict expected at most 1 argument, got %zu", call->n);
    if (call->n && call->args[0].type == V_DICT) {
        const struct dict *from = call->args[0].dict;

        for (uint32_t i = 0; i < from->n; i++)
            jinja_dict_set(vm, dict, from->entries[i].key, from->entries[i].value);
    } else if (call->n && call->args[0].type == V_UNDEFINED) {
        jinja_undefined_error(vm, call->args[0]); /* asked for its keys */
    } else if (call->n) {
        add_pairs(vm, dict, call->args[0]);
    }
    for (size_t k = 0; k < call->n_names; k++)
        jinja_dict_set(vm, dict, v_str(vm, call->names[k], F_LITERAL), call->args[call->n + k]);
    return dict;
}

static struct value make_cycler(struct vm *vm, const struct call *call)
{
    struct cycler *cycler = jinja_take(vm, sizeof *cycler);

    if (call->n == 0)
        jinja_error(vm, "at least one item has to be provided");
    if (call->n_names)
        jinja_error(vm, "cycler() takes no keyword arguments");
    *cycler = (struct cycler){.items = jinja_list_new(vm, call->n)};
    for (size_t i = 0; i < call->n; i++)
        jinja_list_add(vm, cycler->items, call->args[i]);
    return (struct value){.type = V_CYCLER, .cycler = cycler};
}

static struct value make_joiner(struct vm *vm, const struct call *call)
{
    struct joiner *joiner = jinja_take(vm, sizeof *joiner);
    struct value args[1];

    jinja_call_bind(vm, call, "sep", 0, args);
    *joiner =
        (struct joiner){.separator = args[0].type == V_MISSING ? jinja_v_chars(", ") : args[0]};
    return (struct value){.type = V_JOINER, .joiner = joiner};
}

static _Noreturn void raise_exception(struct vm *vm, const struct call *call)
{
    struct value args[1];
    struct value message;

    jinja_call_bind(vm, call, "message", 1, args);
    message = jinja_value_str(vm, args[0]);
    jinja_fail(vm, JINJA_RAISED, "%.*s", (int)(message.n < 2000 ? message.n : 2000), message.p);
}

static struct value call_named(struct vm *vm, struct call call, int which)
{
    struct value args[1];

    call.what = global_names[which];
    switch (which) {
    case G_RANGE:
        return make_range(vm, &call);
    case G_DICT:
        return jinja_v_dict(make_dict(vm, &call));
    case G_NAMESPACE:
        return (struct value){.type = V_NAMESPACE, .dict = make_dict(vm, &call)};
    case G_CYCLER:
        return make_cycler(vm, &call);
    case G_JOINER:
        return make_joiner(vm, &call);
    case G_RAISE:
        raise_exception(vm, &call);
    case G_NOW:
        jinja_call_bind(vm, &call, "format", 1, args);
        if (!is_str(args[0]))
            jinja_error(vm, "strftime() argument 1 must be str, not %s",
                        jinja_value_type_name(args[0]));
        return jinja_format_time(vm, str_v(args[0]));
    default:
        jinja_error(vm, "lipsum makes random text, which is not done here");
    }
}

static struct value jinja_global_call(struct vm *vm, int which, const struct call *call)
{
    return call_named(vm, *call, which);
}

/* ---- any callable ---- */

static struct value call_joiner(struct joiner *joiner)
{
    if (joiner->is_used)
        return joiner->separator;
    joiner->is_used = true;
    return jinja_v_chars("");
}

struct value jinja_value_call(struct vm *vm, struct value callee, const struct call *call)
{
    struct value args[1];
    struct call named = *call;

    switch (callee.type) {
    case V_MACRO:
        return jinja_macro_call(vm, callee.macro, call);
    case V_GLOBAL:
        return jinja_global_call(vm, callee.aux, call);
    case V_METHOD:
        return jinja_method_call(vm, callee.method, call);
    case V_LOOP:
        named.what = "loop";
        jinja_call_bind(vm, &named, "iterable", 1, args);
        return jinja_loop_recurse(vm, callee.loop, args[0]);
    case V_JOINER:
        named.what = "joiner";
        jinja_call_bind(vm, &named, "", 0, args);
        return call_joiner(callee.joiner);
    case V_UNDEFINED:
    case V_MISSING:
        jinja_undefined_error(vm, callee);
    default:
        jinja_error(vm, "'%s' object is not callable", jinja_value_type_name(callee));
    }
}
