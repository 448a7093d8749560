/* Names into slots: what Jinja2's idtracking and compiler decide, with all their corners (a name
 * that is set in one branch only, macros that see what is set later, what a loop forgets). Also the
 * check of filters and tests, and folding of constants. See jinja_parts.h.
 *
 * Every scope has symbols: which variable a name refers to, how each variable of the scope is
 * loaded when it is entered, and which names it sets. A variable is a name at a level of scopes in
 * a function; scopes of one level side by side share it, as Jinja2's generated Python does. */
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/scope.h"

static void compile_body(struct compiler *c, struct body *body, struct frame *frame);
static void compile_expression(struct compiler *c, struct node *node, struct frame *frame);

/* ---- from symbols to places ---- */

static struct place place_of(struct compiler *c, const struct frame *frame, const struct ref *ref)
{
    uint16_t hops = 0;

    for (const struct function *f = frame->symbols->function; f && f != ref->function; f = f->outer)
        hops++;
    jinja_compiler_work(c, hops);
    return (struct place){hops, ref->slot};
}

static struct place find_place(struct compiler *c, const struct frame *frame, uint16_t name,
                               int line)
{
    const struct ref *ref = jinja_find_ref(c, frame->symbols, name);

    if (!ref)
        jinja_compiler_fail(c, line, "a name that is unknown to its block");
    return place_of(c, frame, ref);
}

static struct scope make_scope(struct compiler *c, const struct frame *frame)
{
    const struct symbols *s = frame->symbols;
    struct scope scope = {jinja_compiler_take(c, s->n_loads + 1, sizeof(struct load)), s->n_loads};

    for (size_t i = 0; i < s->n_loads; i++) {
        struct load *load = &scope.loads[i];

        *load = (struct load){s->loads[i].slot, s->loads[i].action, s->loads[i].name, {0, 0}};
        if (load->action == LOAD_ALIAS)
            load->from = place_of(c, frame, &s->loads[i].from);
    }
    return scope;
}

static struct function *function_new(struct compiler *c, struct function *outer)
{
    struct function *function = jinja_compiler_take(c, 1, sizeof *function);

    function->outer = outer;
    return function;
}

static struct frame inner_frame(struct compiler *c, struct frame *outer, struct function *function)
{
    return (struct frame){
        .symbols =
            jinja_symbols_new(c, outer->symbols, function ? function : outer->symbols->function),
        .outer = outer,
        .escape = outer->escape,
    };
}

/* ---- expressions ---- */

static void note_name(struct compiler *c, const struct node *node)
{
    if (str_is(node->name, "strftime_now"))
        c->program->uses_clock = true;
}

static void check_known(struct compiler *c, const struct node *node, const struct frame *frame)
{
    bool is_filter = node->kind == E_FILTER;

    if ((is_filter ? (const void *)node->filter : (const void *)node->test) || frame->is_soft)
        return;
    jinja_compiler_fail(c, node->line, "no %s named '%.*s'", is_filter ? "filter" : "test",
                        (int)(node->name.n < 80 ? node->name.n : 80), node->name.p);
}

static void compile_parts(struct compiler *c, struct node *node, struct frame *frame)
{
    if (node->a)
        compile_expression(c, node->a, frame);
    if (node->b)
        compile_expression(c, node->b, frame);
    if (node->c)
        compile_expression(c, node->c, frame);
    for (size_t i = 0; i < node->n; i++)
        compile_expression(c, node->items[i], frame);
    for (size_t i = 0; i < node->n_kwargs; i++)
        compile_expression(c, node->kwargs[i].value, frame);
    if (node->dyn_args)
        compile_expression(c, node->dyn_args, frame);
    if (node->dyn_kwargs)
        compile_expression(c, node->dyn_kwargs, frame);
}

/* `a and b`, `a or b`: when a alone decides, b is not even looked at. */
static bool is_decided(const struct node *node, struct vm *vm)
{
    if ((node->kind != E_AND && node->kind != E_OR) || node->a->kind != E_CONST)
        return false;
    return jinja_value_truth(vm, node->a->value) == (node->kind == E_OR);
}

static void compile_expression(struct compiler *c, struct node *node, struct frame *frame)
{
    node->escape = frame->escape;
    if (node->kind == E_NAME) {
        note_name(c, node);
        node->place = find_place(c, frame, node->name_id, node->line);
        return;
    }
    if (node->kind == E_COND) {
        struct frame soft = *frame;

        soft.is_soft = true;
        compile_parts(c, node, &soft);
    } else if (node->kind == E_AND || node->kind == E_OR) {
        compile_expression(c, node->a, frame);
        if (!is_decided(node, &c->vm))
            compile_expression(c, node->b, frame);
    } else {
        compile_parts(c, node, frame);
    }
    if (node->kind == E_AND || node->kind == E_OR) {
        if (node->a->kind != E_CONST || (!is_decided(node, &c->vm) && node->b->kind != E_CONST))
            return;
        const struct node *chosen = is_decided(node, &c->vm) ? node->a : node->b;

        node->value = chosen->value;
        node->is_mutable = chosen->is_mutable;
        node->kind = E_CONST;
        return;
    }
    jinja_fold(c, node, frame);
    if (node->kind == E_FILTER || node->kind == E_TEST)
        check_known(c, node, frame);
}

static void compile_target(struct compiler *c, struct node *node, struct frame *frame)
{
    if (node->kind == E_TUPLE) {
        for (size_t i = 0; i < node->n; i++)
            compile_target(c, node->items[i], frame);
        return;
    }
    if (node->kind == E_NSREF)
        node = node->a;
    node->place = find_place(c, frame, node->name_id, node->line);
}

/* ---- statements ---- */

static void add_exports(struct compiler *c, struct node *statement, const struct node *target)
{
    if (target->kind == E_TUPLE) {
        for (size_t i = 0; i < target->n; i++)
            add_exports(c, statement, target->items[i]);
        return;
    }
    if (target->kind != E_NAME)
        return;
    if ((statement->n_exports & (statement->n_exports - 1)) == 0) {
        size_t n = statement->n_exports;
        size_t capacity = n ? n * 2 : 1;
        uint16_t *ids = jinja_compiler_take(c, capacity, sizeof *ids);
        struct place *places = jinja_compiler_take(c, capacity, sizeof *places);

        if (n) {
            memcpy(ids, statement->exports, n * sizeof *ids);
            memcpy(places, statement->export_places, n * sizeof *places);
        }
        statement->exports = ids;
        statement->export_places = places;
    }
    statement->exports[statement->n_exports] = target->name_id;
    statement->export_places[statement->n_exports++] = target->place;
}

static void compile_set(struct compiler *c, struct node *node, struct frame *frame)
{
    compile_target(c, node->a, frame);
    compile_expression(c, node->b, frame);
    if (frame->is_toplevel)
        add_exports(c, node, node->a);
}

static void compile_set_block(struct compiler *c, struct node *node, struct frame *frame)
{
    struct frame inner = inner_frame(c, frame, NULL);

    jinja_visit_body(c, inner.symbols, &node->body);
    node->scope = make_scope(c, &inner);
    compile_body(c, &node->body, &inner);
    compile_target(c, node->a, frame);
    if (node->b)
        compile_expression(c, node->b, &inner);
    if (frame->is_toplevel)
        add_exports(c, node, node->a);
}

static void compile_test(struct compiler *c, struct node *node, struct frame *frame)
{
    node->test_function = function_new(c, frame->symbols->function);

    struct frame test = inner_frame(c, frame, node->test_function);

    jinja_visit_target(c, test.symbols, node->a);
    jinja_visit(c, test.symbols, node->c);
    node->test_scope = make_scope(c, &test);
    compile_expression(c, node->c, &test);
}

static struct node *copy_target(struct compiler *c, const struct node *node)
{
    struct node *out = jinja_compiler_take(c, 1, sizeof *out);

    *out = *node;
    if (node->kind == E_TUPLE) {
        out->items = jinja_compiler_take(c, node->n + 1, sizeof *out->items);
        for (size_t i = 0; i < node->n; i++)
            out->items[i] = copy_target(c, node->items[i]);
    }
    return out;
}

static void compile_for(struct compiler *c, struct node *node, struct frame *frame)
{
    struct function *function =
        node->is_recursive ? function_new(c, frame->symbols->function) : NULL;
    struct frame loop = inner_frame(c, frame, function);
    struct frame other = inner_frame(c, frame, function);
    struct watch watch = {.names = {str_of("loop")}, .is_watched = {true}};
    uint16_t loop_id = jinja_name_id(c, str_of("loop"));

    jinja_watch_body(c, &watch, &node->body);
    node->is_extended = node->is_recursive || watch.is_found[0];
    if (node->is_extended)
        jinja_symbol_parameter(c, loop.symbols, loop_id);
    jinja_visit_target(c, loop.symbols, node->a);
    jinja_visit_body(c, loop.symbols, &node->body);
    jinja_visit_body(c, other.symbols, &node->other);
    if (node->c) {
        /* items: the target as the test sees it */
        node->items = jinja_compiler_take(c, 1, sizeof *node->items);
        node->items[0] = copy_target(c, node->a);
        compile_test(c, node, frame);

        struct frame test = inner_frame(c, frame, node->test_function);

        jinja_visit_target(c, test.symbols, node->a);
        compile_target(c, node->items[0], &test);
        node->n = 0;
    }
    jinja_watch_body(c, &watch, &node->other);
    jinja_watch_node(c, &watch, node->a);
    if (watch.stores_loop)
        jinja_compiler_fail(c, node->line,
                            "can't assign to special loop variable in for-loop target");
    node->function = function;
    compile_target(c, node->a, &loop);
    if (node->is_extended)
        node->place = find_place(c, &loop, loop_id, node->line);
    compile_expression(c, node->b, frame);
    node->scope = make_scope(c, &loop);
    compile_body(c, &node->body, &loop);
    node->other_scope = make_scope(c, &other);
    compile_body(c, &node->other, &other);
}

static void compile_if(struct compiler *c, struct node *node, struct frame *frame)
{
    struct frame soft = *frame;

    soft.is_soft = true;
    compile_expression(c, node->a, &soft);
    compile_body(c, &node->body, &soft);
    for (size_t i = 0; i < node->n; i++) {
        compile_expression(c, node->items[i]->a, &soft);
        compile_body(c, &node->items[i]->body, &soft);
    }
    compile_body(c, &node->other, &soft);
}

/* caller, kwargs and varargs are parameters where the body uses them and does not set them. */
static void find_special(struct compiler *c, struct node *node, struct symbols *s)
{
    struct watch watch = {.names = {str_of("caller"), str_of("kwargs"), str_of("varargs")},
                          .is_watched = {true, true, true}};
    bool is_parameter[3] = {false, false, false};
    uint16_t ids[3];

    for (int i = 0; i < 3; i++) {
        ids[i] = jinja_name_id(c, watch.names[i]);
        for (size_t p = 0; p < node->n; p++)
            if (node->items[p]->name_id == ids[i])
                is_parameter[i] = true;
    }
    jinja_watch_body(c, &watch, &node->body);
    if (watch.is_found[0] && is_parameter[0]) {
        size_t at = 0;

        while (node->items[at]->name_id != ids[0])
            at++;
        if (at + node->n_defaults < node->n)
            jinja_compiler_fail(c, node->line,
                                "the argument \"caller\" must be omitted or be given a default");
    }
    node->takes_caller = watch.is_found[0] && !is_parameter[0];
    node->takes_kwargs = watch.is_found[1] && !is_parameter[1];
    node->takes_varargs = watch.is_found[2] && !is_parameter[2];
    if (node->takes_caller)
        jinja_symbol_parameter(c, s, ids[0]);
    if (node->takes_kwargs)
        jinja_symbol_parameter(c, s, ids[1]);
    if (node->takes_varargs)
        jinja_symbol_parameter(c, s, ids[2]);
    node->caller_slot = jinja_slot_of(c, s->function, s->level, ids[0]);
    node->kwargs_slot = jinja_slot_of(c, s->function, s->level, ids[1]);
    node->varargs_slot = jinja_slot_of(c, s->function, s->level, ids[2]);
}

static void compile_function(struct compiler *c, struct node *node, struct frame *frame)
{
    node->function = function_new(c, frame->symbols->function);

    struct frame inner = inner_frame(c, frame, node->function);

    for (size_t i = 0; i < node->n; i++)
        jinja_visit(c, inner.symbols, node->items[i]);
    for (size_t i = 0; i < node->n_defaults; i++)
        jinja_visit(c, inner.symbols, node->defaults[i]);
    jinja_visit_body(c, inner.symbols, &node->body);
    find_special(c, node, inner.symbols);
    for (size_t i = 0; i < node->n; i++)
        compile_target(c, node->items[i], &inner);
    for (size_t i = 0; i < node->n_defaults; i++)
        compile_expression(c, node->defaults[i], &inner);
    node->scope = make_scope(c, &inner);
    compile_body(c, &node->body, &inner);
}

static void compile_macro(struct compiler *c, struct node *node, struct frame *frame)
{
    compile_function(c, node, frame);
    if (node->kind == S_CALL_BLOCK) {
        if (node->a) {
            struct frame same = *frame;

            compile_parts(c, node->a, &same);
            node->a->escape = frame->escape;
        }
        return;
    }
    node->place = find_place(c, frame, node->name_id, node->line);
    node->export = frame->is_toplevel ? (uint16_t)(node->name_id + 1) : 0;
}

static void compile_filter_block(struct compiler *c, struct node *node, struct frame *frame)
{
    struct frame inner = inner_frame(c, frame, NULL);

    jinja_visit_body(c, inner.symbols, &node->body);
    jinja_visit(c, inner.symbols, node->b);
    node->scope = make_scope(c, &inner);
    compile_body(c, &node->body, &inner);
    compile_expression(c, node->b, &inner);
}

static void compile_with(struct compiler *c, struct node *node, struct frame *frame)
{
    struct frame inner = inner_frame(c, frame, NULL);

    for (size_t i = 0; i < node->n; i++)
        jinja_visit(c, inner.symbols, node->items[i]);
    jinja_visit_body(c, inner.symbols, &node->body);
    node->scope = make_scope(c, &inner);
    for (size_t i = 0; i < node->n; i++) {
        compile_target(c, node->items[i], &inner);
        compile_expression(c, node->defaults[i], frame);
    }
    compile_body(c, &node->body, &inner);
}

static void compile_autoescape(struct compiler *c, struct node *node, struct frame *frame)
{
    struct frame inner = inner_frame(c, frame, NULL);

    jinja_visit(c, inner.symbols, node->a);
    jinja_visit_body(c, inner.symbols, &node->body);
    node->scope = make_scope(c, &inner);
    compile_expression(c, node->a, &inner);
    inner.escape =
        node->a->kind != E_CONST ? 2 : (uint8_t)(jinja_value_truth(&c->vm, node->a->value) ? 1 : 0);
    compile_body(c, &node->body, &inner);
}

static void compile_block(struct compiler *c, struct node *node, struct frame *frame)
{
    node->function = function_new(c, node->is_scoped ? frame->symbols->function : NULL);

    struct frame block = {
        .symbols = jinja_symbols_new(c, node->is_scoped ? frame->symbols : NULL, node->function)};

    jinja_visit_body(c, block.symbols, &node->body);
    node->scope = make_scope(c, &block);
    compile_body(c, &node->body, &block);
}

static void compile_output(struct compiler *c, struct node *node, struct frame *frame)
{
    node->escape = frame->escape;
    for (size_t i = 0; i < node->n; i++)
        if (node->items[i]->kind != S_DATA)
            compile_expression(c, node->items[i], frame);
}

static void compile_statement(struct compiler *c, struct node *node, struct frame *frame)
{
    c->vm.line = node->line;
    node->escape = frame->escape;
    switch ((int)node->kind) {
    case S_OUTPUT:
        compile_output(c, node, frame);
        break;
    case S_IF:
        compile_if(c, node, frame);
        break;
    case S_FOR:
        compile_for(c, node, frame);
        break;
    case S_SET:
        compile_set(c, node, frame);
        break;
    case S_SET_BLOCK:
        compile_set_block(c, node, frame);
        break;
    case S_MACRO:
    case S_CALL_BLOCK:
        compile_macro(c, node, frame);
        break;
    case S_FILTER_BLOCK:
        compile_filter_block(c, node, frame);
        break;
    case S_WITH:
        compile_with(c, node, frame);
        break;
    case S_AUTOESCAPE:
        compile_autoescape(c, node, frame);
        break;
    case S_BLOCK:
        compile_block(c, node, frame);
        break;
    default:
        break;
    }
}

static void compile_body(struct compiler *c, struct body *body, struct frame *frame)
{
    for (size_t i = 0; i < body->n; i++)
        compile_statement(c, body->items[i], frame);
}

void jinja_resolve_names(struct compiler *c)
{
    struct jinja_program *program = c->program;

    program->function = function_new(c, NULL);

    struct frame root = {.symbols = jinja_symbols_new(c, NULL, program->function),
                         .is_toplevel = true};

    jinja_visit_body(c, root.symbols, &program->body);
    program->scope = make_scope(c, &root);
    compile_body(c, &program->body, &root);
}
