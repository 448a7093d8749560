/* Names into slots, inside of the compiler: symbols.c, scope.c, fold.c. Not for others. */
#ifndef CORE_TEXT_JINJA_SCOPE_H
#define CORE_TEXT_JINJA_SCOPE_H

#include "core/text/jinja/compiler.h"

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

/* Which of some names a part uses without setting them. */
struct watch {
    struct str names[3];
    bool is_watched[3], is_found[3];
    bool stores_loop; /* a name `loop` is set somewhere */
};

/* symbols.c: what Jinja2's idtracking does. */
struct symbols *jinja_symbols_new(struct compiler *c, struct symbols *parent,
                                  struct function *function);
uint16_t jinja_slot_of(struct compiler *c, struct function *function, uint16_t level,
                       uint16_t name);
struct ref *jinja_find_ref(struct compiler *c, struct symbols *s, uint16_t name);
void jinja_symbol_parameter(struct compiler *c, struct symbols *s, uint16_t name);
void jinja_visit(struct compiler *c, struct symbols *s, struct node *node);
void jinja_visit_body(struct compiler *c, struct symbols *s, const struct body *body);
void jinja_visit_target(struct compiler *c, struct symbols *s, struct node *node);
void jinja_watch_node(struct compiler *c, struct watch *watch, const struct node *node);
void jinja_watch_body(struct compiler *c, struct watch *watch, const struct body *body);

/* fold.c: its value now, when that needs nothing of the render and does not fail. */
void jinja_fold(struct compiler *c, struct node *node, const struct frame *frame);

#endif
