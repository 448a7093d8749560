/* Loops of a render, with what `loop` tells. See jinja_parts.h. */
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/jinja_parts.h"

bool jinja_loop_next(struct vm *vm, struct loop *loop, struct value *out)
{
    if (loop->after.type != V_MISSING) {
        *out = loop->after;
        loop->after = v_missing();
    } else if (!jinja_iter_next(vm, loop->iter, out)) {
        return false;
    }
    loop->index0++;
    loop->before = loop->current;
    loop->current = *out;
    return true;
}

int64_t jinja_loop_length(struct vm *vm, struct loop *loop)
{
    int64_t n;

    if (loop->length >= 0)
        return loop->length;
    if (!loop->iter->is_generator && loop->iter->kind != I_LOOP &&
        jinja_value_length(vm, loop->iter->source, &n)) {
        loop->length = n;
    } else {
        struct list *rest = jinja_list_of(vm, (struct value){.type = V_ITER, .iter = loop->iter});

        loop->iter = jinja_iter_of(vm, jinja_v_list(rest));
        loop->length = rest->n + loop->index0 + 1 + (loop->after.type != V_MISSING);
    }
    return loop->length;
}

static struct value peek(struct vm *vm, struct loop *loop)
{
    if (loop->after.type == V_MISSING && !jinja_iter_next(vm, loop->iter, &loop->after))
        loop->after = v_missing();
    return loop->after;
}

struct value jinja_loop_attribute(struct vm *vm, struct loop *loop, struct str name, bool *found)
{
    struct value v;

    *found = true;
    if (str_is(name, "index"))
        return v_int(loop->index0 + 1);
    if (str_is(name, "index0"))
        return v_int(loop->index0);
    if (str_is(name, "first"))
        return v_bool(loop->index0 == 0);
    if (str_is(name, "last"))
        return v_bool(peek(vm, loop).type == V_MISSING);
    if (str_is(name, "length"))
        return v_int(jinja_loop_length(vm, loop));
    if (str_is(name, "revindex"))
        return v_int(jinja_loop_length(vm, loop) - loop->index0);
    if (str_is(name, "revindex0"))
        return v_int(jinja_loop_length(vm, loop) - loop->index0 - 1);
    if (str_is(name, "depth"))
        return v_int(loop->depth0 + 1);
    if (str_is(name, "depth0"))
        return v_int(loop->depth0);
    if (str_is(name, "previtem"))
        return loop->index0 == 0 ? jinja_v_hint("there is no previous item") : loop->before;
    if (str_is(name, "nextitem")) {
        v = peek(vm, loop);
        return v.type == V_MISSING ? jinja_v_hint("there is no next item") : v;
    }
    *found = false;
    return v_missing();
}

static struct loop *loop_new(struct vm *vm, const struct node *node, struct iter *iter,
                             int64_t depth0, struct activation *outer)
{
    struct loop *loop = jinja_take(vm, sizeof *loop);

    *loop = (struct loop){
        .iter = iter, .index0 = -1, .length = -1, .depth0 = depth0, .node = node, .outer = outer};
    return loop;
}

/* Runs the body for what the iterator gives. `act` is where the body's variables are, `outer` where
 * the loop stands. */
static enum flow run_loop(struct vm *vm, const struct node *node, struct iter *iter, int64_t depth0,
                          struct activation *act, struct activation *outer)
{
    struct loop *loop = node->is_extended ? loop_new(vm, node, iter, depth0, outer) : NULL;
    struct value item;
    bool is_empty = true;
    enum flow flow = FLOW_ON;

    while (loop ? jinja_loop_next(vm, loop, &item) : jinja_iter_next(vm, iter, &item)) {
        jinja_step(vm);
        jinja_assign(vm, node->a, item, act);
        if (loop)
            *jinja_slot_at(act, node->place) = (struct value){.type = V_LOOP, .loop = loop};
        jinja_scope_enter(vm, &node->scope, act);
        flow = jinja_exec(vm, &node->body, act);
        if (flow == FLOW_CONTINUE) {
            flow = FLOW_ON;
            continue;
        }
        if (flow == FLOW_BREAK)
            break;
        is_empty = false; /* not after break or continue: so Jinja2 runs the else then */
    }
    jinja_scope_leave(&node->scope, act);
    if (!is_empty || node->other.n == 0)
        return FLOW_ON;
    jinja_scope_enter(vm, &node->other_scope, act);
    flow = jinja_exec(vm, &node->other, act);
    jinja_scope_leave(&node->other_scope, act);
    return flow;
}

static struct iter *tested(struct vm *vm, const struct node *node, struct iter *from,
                           struct activation *act)
{
    struct iter *iter = jinja_take(vm, sizeof *iter);

    *iter = (struct iter){
        .kind = I_TESTED, .is_generator = true, .from = from, .loop_node = node, .outer = act};
    return iter;
}

static struct value run_recursive(struct vm *vm, const struct node *node, struct value iterable,
                                  int64_t depth0, struct activation *outer)
{
    struct activation *act = jinja_activation_new(vm, node->function, outer);
    struct capture capture;
    struct iter *iter;

    if (++vm->depth > vm->depth_limit)
        jinja_too_much(vm, "depth");
    jinja_check_stack(vm);
    iter = jinja_iter_of(vm, iterable);
    if (node->c)
        iter = tested(vm, node, iter, outer);
    jinja_capture_begin(vm, &capture);
    run_loop(vm, node, iter, depth0, act, outer);
    vm->depth--;
    return jinja_capture_end(vm, &capture);
}

struct value jinja_loop_recurse(struct vm *vm, struct loop *loop, struct value iterable)
{
    if (!loop->node->is_recursive)
        jinja_error(vm, "the loop must have the 'recursive' marker to be called recursively");
    return run_recursive(vm, loop->node, iterable, loop->depth0 + 1, loop->outer);
}

enum flow jinja_run_for_statement(struct vm *vm, const struct node *node, struct activation *act)
{
    struct value iterable = jinja_eval(vm, node->b, act);
    struct iter here;
    struct iter *iter = &here;

    vm->line = node->line;
    if (node->is_recursive) {
        jinja_out_write(vm, run_recursive(vm, node, iterable, 0, act), node);
        return FLOW_ON;
    }
    if (node->is_extended || node->c || iterable.type == V_ITER || iterable.type == V_LOOP)
        iter = jinja_iter_of(vm, iterable);
    else if (!jinja_value_iterate(vm, iterable, &here))
        jinja_error(vm, "'%s' object is not iterable", jinja_value_type_name(iterable));
    if (node->c)
        iter = tested(vm, node, iter, act);
    return run_loop(vm, node, iter, 0, act, act);
}
