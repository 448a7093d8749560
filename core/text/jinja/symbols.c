/* Which variable a name refers to in each scope, and what a part uses: as Jinja2's idtracking finds
 * it. See scope.h. */
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/scope.h"

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

struct symbols *jinja_symbols_new(struct compiler *c, struct symbols *parent,
                                  struct function *function)
{
    struct symbols *s = jinja_compiler_take(c, 1, sizeof *s);

    s->parent = parent;
    s->function = function;
    s->level = parent ? (uint16_t)(parent->level + 1) : 0;
    return s;
}

uint16_t jinja_slot_of(struct compiler *c, struct function *function, uint16_t level, uint16_t name)
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

struct ref *jinja_find_ref(struct compiler *c, struct symbols *s, uint16_t name)
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
    struct ref ref = {name, jinja_slot_of(c, s->function, s->level, name), s->function};
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

    const struct ref *outer = s->parent ? jinja_find_ref(c, s->parent, name) : NULL;

    if (outer) {
        struct ref from = *outer;

        define(c, s, name, LOAD_ALIAS, &from);
    } else {
        define(c, s, name, LOAD_UNDEFINED, NULL);
    }
}

void jinja_symbol_parameter(struct compiler *c, struct symbols *s, uint16_t name)
{
    add_store(c, s, name);
    define(c, s, name, LOAD_PARAMETER, NULL);
}

static void symbol_load(struct compiler *c, struct symbols *s, uint16_t name)
{
    if (!jinja_find_ref(c, s, name))
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

        const struct ref *target = jinja_find_ref(c, s, name);
        const struct ref *outer = s->parent ? jinja_find_ref(c, s->parent, name) : NULL;
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
        jinja_visit(c, s, node->a);
    if (node->b)
        jinja_visit(c, s, node->b);
    if (node->c)
        jinja_visit(c, s, node->c);
    for (size_t i = 0; i < node->n; i++)
        jinja_visit(c, s, node->items[i]);
    for (size_t i = 0; i < node->n_kwargs; i++)
        jinja_visit(c, s, node->kwargs[i].value);
    if (node->dyn_args)
        jinja_visit(c, s, node->dyn_args);
    if (node->dyn_kwargs)
        jinja_visit(c, s, node->dyn_kwargs);
}

static void visit_if(struct compiler *c, struct symbols *s, struct node *node)
{
    struct symbols *branches[3];

    jinja_visit(c, s, node->a);
    branches[0] = symbols_copy(c, s);
    jinja_visit_body(c, branches[0], &node->body);
    branches[1] = symbols_copy(c, s);
    for (size_t i = 0; i < node->n; i++)
        jinja_visit(c, branches[1], node->items[i]);
    branches[2] = symbols_copy(c, s);
    jinja_visit_body(c, branches[2], &node->other);
    branch_update(c, s, branches);
}

void jinja_visit(struct compiler *c, struct symbols *s, struct node *node)
{
    switch ((int)node->kind) {
    case E_NAME:
        if (node->op == CTX_PARAM)
            jinja_symbol_parameter(c, s, node->name_id);
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
        jinja_visit(c, s, node->b);
        jinja_visit(c, s, node->a);
        return;
    case S_FOR:
        jinja_visit(c, s, node->b);
        return;
    case S_CALL_BLOCK:
        if (node->a)
            jinja_visit(c, s, node->a);
        return;
    case S_FILTER_BLOCK:
        jinja_visit(c, s, node->b);
        return;
    case S_WITH:
        for (size_t i = 0; i < node->n_defaults; i++)
            jinja_visit(c, s, node->defaults[i]);
        return;
    case S_SET_BLOCK:
        jinja_visit(c, s, node->a);
        return;
    case S_AUTOESCAPE:
    case S_BLOCK:
        return;
    default:
        visit_children(c, s, node);
    }
}

void jinja_visit_body(struct compiler *c, struct symbols *s, const struct body *body)
{
    for (size_t i = 0; i < body->n; i++)
        jinja_visit(c, s, body->items[i]);
}

/* Loop targets are parameters of their scope. */
void jinja_visit_target(struct compiler *c, struct symbols *s, struct node *node)
{
    if (node->kind == E_NAME)
        jinja_symbol_parameter(c, s, node->name_id);
    else
        for (size_t i = 0; i < node->n; i++)
            jinja_visit_target(c, s, node->items[i]);
}

/* ---- names that a part uses without setting them: Jinja2's find_undeclared ---- */

void jinja_watch_body(struct compiler *c, struct watch *watch, const struct body *body)
{
    for (size_t i = 0; i < body->n; i++)
        jinja_watch_node(c, watch, body->items[i]);
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

void jinja_watch_node(struct compiler *c, struct watch *watch, const struct node *node)
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
        jinja_watch_node(c, watch, node->a);
    if (node->kind == S_MACRO || node->kind == S_CALL_BLOCK || node->kind == S_WITH) {
        for (size_t i = 0; i < node->n; i++)
            jinja_watch_node(c, watch, node->items[i]);
        for (size_t i = 0; i < node->n_defaults; i++)
            jinja_watch_node(c, watch, node->defaults[i]);
        jinja_watch_body(c, watch, &node->body);
        return;
    }
    if (node->a)
        jinja_watch_node(c, watch, node->a);
    if (node->b && node->kind != S_FILTER_BLOCK)
        jinja_watch_node(c, watch, node->b);
    jinja_watch_body(c, watch, &node->body);
    for (size_t i = 0; i < node->n; i++)
        jinja_watch_node(c, watch, node->items[i]);
    jinja_watch_body(c, watch, &node->other);
    if (node->c)
        jinja_watch_node(c, watch, node->c);
    if (node->b && node->kind == S_FILTER_BLOCK)
        jinja_watch_node(c, watch, node->b);
    for (size_t i = 0; i < node->n_kwargs; i++)
        jinja_watch_node(c, watch, node->kwargs[i].value);
    if (node->dyn_args)
        jinja_watch_node(c, watch, node->dyn_args);
    if (node->dyn_kwargs)
        jinja_watch_node(c, watch, node->dyn_kwargs);
}
