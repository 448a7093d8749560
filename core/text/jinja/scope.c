/* Names into slots: what Jinja2's idtracking and compiler decide, with all their corners (a name
 * that is set in one branch only, macros that see what is set later, what a loop forgets). Also the
 * check of filters and tests, and folding of constants. See jinja_parts.h.
 *
 * Every scope has symbols: which variable a name refers to, how each variable of the scope is
 * loaded when it is entered, and which names it sets. A variable is a name at a level of scopes in
 * a function; scopes of one level side by side share it, as Jinja2's generated Python does. */
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/jinja_parts.h"

struct ident {
    uint16_t level, name;
};

struct ref {
    uint16_t name, slot;
    const struct function *function;
};

struct symbol_load {
    uint16_t slot, name;
    uint8_t action;
    struct ref from;
    const struct function *function;
};

struct symbols {
    struct symbols *parent;
    struct function *function;
    uint16_t level;
    struct ref *refs;
    size_t n_refs, refs_capacity;
    struct symbol_load *loads;
    size_t n_loads, loads_capacity;
    uint16_t *stores;
    size_t n_stores, stores_capacity;
};

struct frame {
    struct symbols *symbols;
    struct frame *outer;
    bool is_toplevel, is_soft;
    uint8_t escape;
};

static void visit(struct compiler *c, struct symbols *s, struct node *node);
static void visit_body(struct compiler *c, struct symbols *s, const struct body *body);
static void compile_body(struct compiler *c, struct body *body, struct frame *frame);
static void compile_expression(struct compiler *c, struct node *node, struct frame *frame);

static void *room(struct compiler *c, void *items, size_t n, size_t *capacity, size_t size)
{
    if (n < *capacity)
        return items;

    size_t more = *capacity ? *capacity * 2 : 8;
    void *grown = jinja_compiler_take(c, more, size);

    if (n)
        memcpy(grown, items, n * size);
    *capacity = more;
    return grown;
}

/* ---- symbols ---- */

static struct symbols *symbols_new(struct compiler *c, struct symbols *parent,
                                   struct function *function)
{
    struct symbols *s = jinja_compiler_take(c, 1, sizeof *s);

    s->parent = parent;
    s->function = function;
    s->level = parent ? (uint16_t)(parent->level + 1) : 0;
    return s;
}

static uint16_t slot_of(struct compiler *c, struct function *function, uint16_t level,
                        uint16_t name)
{
    jinja_compiler_work(c, function->n_idents);
    for (size_t i = 0; i < function->n_idents; i++)
        if (function->idents[i].level == level && function->idents[i].name == name)
            return (uint16_t)i;
    if (function->n_idents >= UINT16_MAX - 1)
        jinja_fail(&c->vm, JINJA_LIMIT, "too many variables");
    function->idents = room(c, function->idents, function->n_idents, &function->idents_capacity,
                            sizeof(struct ident));
    function->idents[function->n_idents] = (struct ident){level, name};
    function->n_slots = function->n_idents + 1;
    return (uint16_t)function->n_idents++;
}

static struct ref *own_ref(struct compiler *c, struct symbols *s, uint16_t name)
{
    jinja_compiler_work(c, s->n_refs);
    for (size_t i = 0; i < s->n_refs; i++)
        if (s->refs[i].name == name)
            return &s->refs[i];
    return NULL;
}

static struct ref *find_ref(struct compiler *c, struct symbols *s, uint16_t name)
{
    struct ref *ref = NULL;

    for (; s && !ref; s = s->parent)
        ref = own_ref(c, s, name);
    return ref;
}

static struct symbol_load *find_load(struct symbols *s, uint16_t slot)
{
    for (size_t i = 0; i < s->n_loads; i++)
        if (s->loads[i].slot == slot)
            return &s->loads[i];
    return NULL;
}

static void set_load(struct compiler *c, struct symbols *s, struct symbol_load load)
{
    struct symbol_load *known = find_load(s, load.slot);

    jinja_compiler_work(c, s->n_loads);
    if (known) {
        *known = load;
        return;
    }
    s->loads = room(c, s->loads, s->n_loads, &s->loads_capacity, sizeof *s->loads);
    s->loads[s->n_loads++] = load;
}

static void set_ref(struct compiler *c, struct symbols *s, struct ref ref)
{
    struct ref *known = own_ref(c, s, ref.name);

    if (known) {
        *known = ref;
        return;
    }
    s->refs = room(c, s->refs, s->n_refs, &s->refs_capacity, sizeof *s->refs);
    s->refs[s->n_refs++] = ref;
}

static struct ref define(struct compiler *c, struct symbols *s, uint16_t name,
                         enum load_action action, const struct ref *from)
{
    struct ref ref = {name, slot_of(c, s->function, s->level, name), s->function};
    struct symbol_load load = {.slot = ref.slot, .name = name, .action = (uint8_t)action};

    if (from)
        load.from = *from;
    set_ref(c, s, ref);
    set_load(c, s, load);
    return ref;
}

static bool has_store(struct compiler *c, const struct symbols *s, uint16_t name)
{
    jinja_compiler_work(c, s->n_stores);
    for (size_t i = 0; i < s->n_stores; i++)
        if (s->stores[i] == name)
            return true;
    return false;
}

static void add_store(struct compiler *c, struct symbols *s, uint16_t name)
{
    if (has_store(c, s, name))
        return;
    s->stores = room(c, s->stores, s->n_stores, &s->stores_capacity, sizeof *s->stores);
    s->stores[s->n_stores++] = name;
}

static void symbol_store(struct compiler *c, struct symbols *s, uint16_t name)
{
    add_store(c, s, name);
    if (own_ref(c, s, name))
        return;

    const struct ref *outer = s->parent ? find_ref(c, s->parent, name) : NULL;

    if (outer) {
        struct ref from = *outer;

        define(c, s, name, LOAD_ALIAS, &from);
    } else {
        define(c, s, name, LOAD_UNDEFINED, NULL);
    }
}

static void symbol_parameter(struct compiler *c, struct symbols *s, uint16_t name)
{
    add_store(c, s, name);
    define(c, s, name, LOAD_PARAMETER, NULL);
}

static void symbol_load(struct compiler *c, struct symbols *s, uint16_t name)
{
    if (!find_ref(c, s, name))
        define(c, s, name, LOAD_RESOLVE, NULL);
}

static void *copy_array(struct compiler *c, const void *items, size_t n, size_t size)
{
    void *out = jinja_compiler_take(c, n + 4, size);

    jinja_compiler_work(c, n);
    if (n)
        memcpy(out, items, n * size);
    return out;
}

static struct symbols *symbols_copy(struct compiler *c, const struct symbols *s)
{
    struct symbols *out = jinja_compiler_take(c, 1, sizeof *out);

    *out = *s;
    out->refs = copy_array(c, s->refs, s->n_refs, sizeof *s->refs);
    out->refs_capacity = s->n_refs + 4;
    out->loads = copy_array(c, s->loads, s->n_loads, sizeof *s->loads);
    out->loads_capacity = s->n_loads + 4;
    out->stores = copy_array(c, s->stores, s->n_stores, sizeof *s->stores);
    out->stores_capacity = s->n_stores + 4;
    return out;
}

/* After the branches of an if: what not every branch sets has to be loaded before. */
static void branch_update(struct compiler *c, struct symbols *s, struct symbols *branches[3])
{
    struct symbols before = *s;
    struct symbols *names = jinja_compiler_take(c, 1, sizeof *names);

    for (int b = 0; b < 3; b++)
        for (size_t i = 0; i < branches[b]->n_stores; i++)
            if (!has_store(c, &before, branches[b]->stores[i]))
                add_store(c, names, branches[b]->stores[i]);
    for (int b = 0; b < 3; b++) {
        for (size_t i = 0; i < branches[b]->n_refs; i++)
            set_ref(c, s, branches[b]->refs[i]);
        for (size_t i = 0; i < branches[b]->n_loads; i++)
            set_load(c, s, branches[b]->loads[i]);
        for (size_t i = 0; i < branches[b]->n_stores; i++)
            add_store(c, s, branches[b]->stores[i]);
    }
    for (size_t i = 0; i < names->n_stores; i++) {
        uint16_t name = names->stores[i];

        if (has_store(c, branches[0], name) && has_store(c, branches[1], name) &&
            has_store(c, branches[2], name))
            continue;

        const struct ref *target = find_ref(c, s, name);
        const struct ref *outer = s->parent ? find_ref(c, s->parent, name) : NULL;
        struct symbol_load load = {.slot = target->slot, .name = name, .action = LOAD_RESOLVE};

        if (outer) {
            load.action = LOAD_ALIAS;
            load.from = *outer;
        }
        set_load(c, s, load);
    }
}

/* ---- which names a scope loads and sets: Jinja2's FrameSymbolVisitor ---- */

static void visit_children(struct compiler *c, struct symbols *s, struct node *node)
{
    if (node->a)
        visit(c, s, node->a);
    if (node->b)
        visit(c, s, node->b);
    if (node->c)
        visit(c, s, node->c);
    for (size_t i = 0; i < node->n; i++)
        visit(c, s, node->items[i]);
    for (size_t i = 0; i < node->n_kwargs; i++)
        visit(c, s, node->kwargs[i].value);
    if (node->dyn_args)
        visit(c, s, node->dyn_args);
    if (node->dyn_kwargs)
        visit(c, s, node->dyn_kwargs);
}

static void visit_if(struct compiler *c, struct symbols *s, struct node *node)
{
    struct symbols *branches[3];

    visit(c, s, node->a);
    branches[0] = symbols_copy(c, s);
    visit_body(c, branches[0], &node->body);
    branches[1] = symbols_copy(c, s);
    for (size_t i = 0; i < node->n; i++)
        visit(c, branches[1], node->items[i]);
    branches[2] = symbols_copy(c, s);
    visit_body(c, branches[2], &node->other);
    branch_update(c, s, branches);
}

static void visit(struct compiler *c, struct symbols *s, struct node *node)
{
    switch ((int)node->kind) {
    case E_NAME:
        if (node->op == CTX_PARAM)
            symbol_parameter(c, s, node->name_id);
        else if (node->op == CTX_STORE)
            symbol_store(c, s, node->name_id);
        else
            symbol_load(c, s, node->name_id);
        return;
    case S_IF:
        visit_if(c, s, node);
        return;
    case S_MACRO:
        symbol_store(c, s, node->name_id);
        return;
    case S_SET:
        visit(c, s, node->b);
        visit(c, s, node->a);
        return;
    case S_FOR:
        visit(c, s, node->b);
        return;
    case S_CALL_BLOCK:
        if (node->a)
            visit(c, s, node->a);
        return;
    case S_FILTER_BLOCK:
        visit(c, s, node->b);
        return;
    case S_WITH:
        for (size_t i = 0; i < node->n_defaults; i++)
            visit(c, s, node->defaults[i]);
        return;
    case S_SET_BLOCK:
        visit(c, s, node->a);
        return;
    case S_AUTOESCAPE:
    case S_BLOCK:
        return;
    default:
        visit_children(c, s, node);
    }
}

static void visit_body(struct compiler *c, struct symbols *s, const struct body *body)
{
    for (size_t i = 0; i < body->n; i++)
        visit(c, s, body->items[i]);
}

/* Loop targets are parameters of their scope. */
static void visit_target(struct compiler *c, struct symbols *s, struct node *node)
{
    if (node->kind == E_NAME)
        symbol_parameter(c, s, node->name_id);
    else
        for (size_t i = 0; i < node->n; i++)
            visit_target(c, s, node->items[i]);
}

/* ---- names that a part uses without setting them: Jinja2's find_undeclared ---- */

struct watch {
    struct str names[3];
    bool is_watched[3], is_found[3];
    bool stores_loop; /* a name `loop` is set somewhere */
};

static void watch_node(struct compiler *c, struct watch *watch, const struct node *node);

static void watch_body(struct compiler *c, struct watch *watch, const struct body *body)
{
    for (size_t i = 0; i < body->n; i++)
        watch_node(c, watch, body->items[i]);
}

static void watch_name(struct watch *watch, const struct node *node)
{
    if (node->op == CTX_STORE && str_is(node->name, "loop"))
        watch->stores_loop = true;
    for (int i = 0; i < 3; i++) {
        if (!watch->is_watched[i] || !str_eq(node->name, watch->names[i]))
            continue;
        if (node->op == CTX_LOAD)
            watch->is_found[i] = true;
        else
            watch->is_watched[i] = false;
    }
}

static void watch_node(struct compiler *c, struct watch *watch, const struct node *node)
{
    jinja_compiler_work(c, 1);
    if (node->kind == E_NAME) {
        watch_name(watch, node);
        return;
    }
    if (node->kind == S_BLOCK || node->kind == E_NSREF)
        return;
    /* the fields in the order of Jinja2's nodes */
    if (node->kind == S_CALL_BLOCK && node->a)
        watch_node(c, watch, node->a);
    if (node->kind == S_MACRO || node->kind == S_CALL_BLOCK || node->kind == S_WITH) {
        for (size_t i = 0; i < node->n; i++)
            watch_node(c, watch, node->items[i]);
        for (size_t i = 0; i < node->n_defaults; i++)
            watch_node(c, watch, node->defaults[i]);
        watch_body(c, watch, &node->body);
        return;
    }
    if (node->a)
        watch_node(c, watch, node->a);
    if (node->b && node->kind != S_FILTER_BLOCK)
        watch_node(c, watch, node->b);
    watch_body(c, watch, &node->body);
    for (size_t i = 0; i < node->n; i++)
        watch_node(c, watch, node->items[i]);
    watch_body(c, watch, &node->other);
    if (node->c)
        watch_node(c, watch, node->c);
    if (node->b && node->kind == S_FILTER_BLOCK)
        watch_node(c, watch, node->b);
    for (size_t i = 0; i < node->n_kwargs; i++)
        watch_node(c, watch, node->kwargs[i].value);
    if (node->dyn_args)
        watch_node(c, watch, node->dyn_args);
    if (node->dyn_kwargs)
        watch_node(c, watch, node->dyn_kwargs);
}

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
    const struct ref *ref = find_ref(c, frame->symbols, name);

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
        .symbols = symbols_new(c, outer->symbols, function ? function : outer->symbols->function),
        .outer = outer,
        .escape = outer->escape,
    };
}

/* ---- expressions ---- */

static bool is_constant(const struct node *node)
{
    return !node || node->kind == E_CONST;
}

static bool has_constant_parts(const struct node *node)
{
    if (!is_constant(node->a) || !is_constant(node->b) || !is_constant(node->c) ||
        !is_constant(node->dyn_args) || !is_constant(node->dyn_kwargs))
        return false;
    for (size_t i = 0; i < node->n; i++) {
        const struct node *item = node->items[i];

        if (item->kind == E_OPERAND ? !is_constant(item->a) : !is_constant(item))
            return false;
    }
    for (size_t i = 0; i < node->n_kwargs; i++)
        if (!is_constant(node->kwargs[i].value))
            return false;
    return true;
}

static bool can_fold_condition(struct vm *vm, const struct node *node)
{
    if (node->a->kind != E_CONST)
        return false;
    return jinja_value_truth(vm, node->a->value) ? is_constant(node->b)
                                                 : node->c && is_constant(node->c);
}

static bool can_fold(struct vm *vm, const struct node *node)
{
    switch ((int)node->kind) {
    case E_CONST:
    case E_NAME:
    case E_CALL:
    case E_SLICE:
    case E_OPERAND:
    case E_NSREF:
        return false;
    case E_COND:
        return can_fold_condition(vm, node);
    case E_FILTER:
        if (!node->a || !node->filter || node->filter->run_call)
            return false;
        break;
    case E_TEST:
        if (!node->test)
            return false;
        break;
    case E_AND:
    case E_OR:
        return false; /* compile_expression does it */
    case E_GETITEM:
        if (node->b->kind == E_SLICE)
            return is_constant(node->a) && has_constant_parts(node->b);
        break;
    default:
        break;
    }
    return has_constant_parts(node);
}

static bool is_foldable(struct value v, int depth, bool *is_mutable)
{
    if (v.type == V_LIST || v.type == V_TUPLE) {
        *is_mutable = *is_mutable || v.type == V_LIST;
        for (uint32_t i = 0; depth < 20 && i < v.list->n; i++)
            if (!is_foldable(v.list->items[i], depth + 1, is_mutable))
                return false;
        return depth < 20 && v.list->n < 1000;
    }
    if (v.type == V_DICT) {
        *is_mutable = true;
        for (uint32_t i = 0; depth < 20 && i < v.dict->n; i++)
            if (!is_foldable(v.dict->entries[i].key, depth + 1, is_mutable) ||
                !is_foldable(v.dict->entries[i].value, depth + 1, is_mutable))
                return false;
        return depth < 20 && v.dict->n < 1000;
    }
    return (v.type >= V_NONE && v.type <= V_FLOAT) || (v.type == V_STR && v.n < (64u << 10));
}

static bool is_autoescape_free(const struct node *node, const struct frame *frame)
{
    return frame->escape != 2 || (node->kind != E_FILTER && node->kind != E_TEST);
}

/* Its value now, when that needs nothing of the render and does not fail. */
static void fold(struct compiler *c, struct node *node, const struct frame *frame)
{
    jmp_buf jump;
    jmp_buf *outer = c->vm.jump;
    struct jinja_failure *failure = c->vm.failure;
    struct jinja_failure ignored;
    struct value v;
    bool is_mutable = false;

    if (!can_fold(&c->vm, node) || !is_autoescape_free(node, frame))
        return;
    c->vm.jump = &jump;
    c->vm.failure = &ignored;
    c->vm.step_limit = c->vm.steps + 100000;
    c->vm.autoescape = frame->escape == 1;
    if (setjmp(jump) == 0) {
        v = jinja_eval(&c->vm, node, NULL);
        if (is_foldable(v, 0, &is_mutable)) {
            if (v.type == V_STR) {
                v.flags |= F_LITERAL;
                v.flags &= (uint8_t)~F_CONTEXT;
            }
            node->kind = E_CONST;
            node->value = v;
            node->is_mutable = is_mutable;
            node->n = node->n_kwargs = 0;
            node->a = node->b = node->c = node->dyn_args = node->dyn_kwargs = NULL;
        }
    }
    c->vm.jump = outer;
    c->vm.failure = failure;
    c->vm.step_limit = UINT64_MAX;
}

static void note_name(struct compiler *c, const struct node *node)
{
    c->program->is_read[node->name_id] = true;
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
    fold(c, node, frame);
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

    visit_body(c, inner.symbols, &node->body);
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

    visit_target(c, test.symbols, node->a);
    visit(c, test.symbols, node->c);
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

    watch_body(c, &watch, &node->body);
    node->is_extended = node->is_recursive || watch.is_found[0];
    if (node->is_extended)
        symbol_parameter(c, loop.symbols, loop_id);
    visit_target(c, loop.symbols, node->a);
    visit_body(c, loop.symbols, &node->body);
    visit_body(c, other.symbols, &node->other);
    if (node->c) {
        /* items: the target as the test sees it */
        node->items = jinja_compiler_take(c, 1, sizeof *node->items);
        node->items[0] = copy_target(c, node->a);
        compile_test(c, node, frame);

        struct frame test = inner_frame(c, frame, node->test_function);

        visit_target(c, test.symbols, node->a);
        compile_target(c, node->items[0], &test);
        node->n = 0;
    }
    watch_body(c, &watch, &node->other);
    watch_node(c, &watch, node->a);
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
    watch_body(c, &watch, &node->body);
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
        symbol_parameter(c, s, ids[0]);
    if (node->takes_kwargs)
        symbol_parameter(c, s, ids[1]);
    if (node->takes_varargs)
        symbol_parameter(c, s, ids[2]);
    node->caller_slot = slot_of(c, s->function, s->level, ids[0]);
    node->kwargs_slot = slot_of(c, s->function, s->level, ids[1]);
    node->varargs_slot = slot_of(c, s->function, s->level, ids[2]);
}

static void compile_function(struct compiler *c, struct node *node, struct frame *frame)
{
    node->function = function_new(c, frame->symbols->function);

    struct frame inner = inner_frame(c, frame, node->function);

    for (size_t i = 0; i < node->n; i++)
        visit(c, inner.symbols, node->items[i]);
    for (size_t i = 0; i < node->n_defaults; i++)
        visit(c, inner.symbols, node->defaults[i]);
    visit_body(c, inner.symbols, &node->body);
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

    visit_body(c, inner.symbols, &node->body);
    visit(c, inner.symbols, node->b);
    node->scope = make_scope(c, &inner);
    compile_body(c, &node->body, &inner);
    compile_expression(c, node->b, &inner);
}

static void compile_with(struct compiler *c, struct node *node, struct frame *frame)
{
    struct frame inner = inner_frame(c, frame, NULL);

    for (size_t i = 0; i < node->n; i++)
        visit(c, inner.symbols, node->items[i]);
    visit_body(c, inner.symbols, &node->body);
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

    visit(c, inner.symbols, node->a);
    visit_body(c, inner.symbols, &node->body);
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
        .symbols = symbols_new(c, node->is_scoped ? frame->symbols : NULL, node->function)};

    visit_body(c, block.symbols, &node->body);
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

    struct frame root = {.symbols = symbols_new(c, NULL, program->function), .is_toplevel = true};

    visit_body(c, root.symbols, &program->body);
    program->scope = make_scope(c, &root);
    compile_body(c, &program->body, &root);
}
