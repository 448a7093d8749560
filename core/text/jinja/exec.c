/* Statements of a render, and what is written. See jinja_parts.h. Expressions are eval.c. */
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/jinja_parts.h"

/* ---- scopes ---- */

struct activation *jinja_activation_new(struct vm *vm, const struct function *function,
                                        struct activation *outer)
{
    struct activation *act = jinja_take(vm, sizeof *act + function->n_slots * sizeof(struct value));

    act->slots = (struct value *)(act + 1);
    act->outer = outer;
    memset(act->slots, 0, function->n_slots * sizeof(struct value)); /* V_MISSING */
    return act;
}

void jinja_scope_enter(struct vm *vm, const struct scope *scope, struct activation *act)
{
    for (size_t i = 0; i < scope->n; i++) {
        const struct load *load = &scope->loads[i];

        switch (load->action) {
        case LOAD_RESOLVE:
            act->slots[load->slot] = jinja_resolve(vm, load->name);
            break;
        case LOAD_ALIAS:
            act->slots[load->slot] = *jinja_slot_at(act, load->from);
            break;
        case LOAD_UNDEFINED:
            act->slots[load->slot] = v_missing();
            break;
        default:
            break;
        }
    }
}

void jinja_scope_leave(const struct scope *scope, struct activation *act)
{
    for (size_t i = 0; i < scope->n; i++)
        act->slots[scope->loads[i].slot] = v_missing();
}

static void unpack(struct vm *vm, const struct node *target, struct value v, struct activation *act)
{
    struct iter *iter = jinja_iter_of(vm, v);
    struct list *items = jinja_list_new(vm, target->n);
    struct value item;

    while (items->n < target->n && jinja_iter_next(vm, iter, &item))
        jinja_list_add(vm, items, item);
    if (items->n < target->n)
        jinja_error(vm, "not enough values to unpack (expected %zu, got %u)", target->n, items->n);
    if (jinja_iter_next(vm, iter, &item))
        jinja_error(vm, "too many values to unpack (expected %zu)", target->n);
    for (size_t i = 0; i < target->n; i++)
        jinja_assign(vm, target->items[i], items->items[i], act);
}

static void check_namespace(struct vm *vm, const struct node *target, struct activation *act)
{
    if (jinja_slot_at(act, target->a->place)->type != V_NAMESPACE)
        jinja_error(vm, "cannot assign attribute on non-namespace object");
}

void jinja_assign(struct vm *vm, const struct node *target, struct value v, struct activation *act)
{
    if (target->kind == E_NAME) {
        *jinja_slot_at(act, target->place) = v;
    } else if (target->kind == E_NSREF) {
        check_namespace(vm, target, act);
        jinja_dict_set(vm, jinja_slot_at(act, target->a->place)->dict,
                       v_str(vm, target->name, F_LITERAL), v);
    } else if (is_listy(v) && v.list->n == target->n) {
        for (size_t i = 0; i < target->n; i++)
            jinja_assign(vm, target->items[i], v.list->items[i], act);
    } else {
        unpack(vm, target, v, act);
    }
}

static void export_names(struct vm *vm, const struct node *node, struct activation *act)
{
    for (size_t i = 0; i < node->n_exports; i++)
        vm->vars[node->exports[i]] = *jinja_slot_at(act, node->export_places[i]);
}

/* ---- output ---- */

static void write_bytes(struct vm *vm, const char *p, size_t n)
{
    struct buf *buf = &vm->output->text;

    if (n < buf->capacity - buf->n && n <= buf->limit - buf->n) {
        if (n)
            memcpy(buf->p + buf->n, p, n);
        buf->n += n;
        return;
    }
    if (n == 0)
        return;
    if (buf->capacity)
        buf->p[buf->n] = '\0';
    buf_add(buf, p, n);
    if (buf->failed)
        jinja_too_much(vm, "output");
}

static void grow_pieces(struct vm *vm)
{
    struct jinja_output *output = vm->output;
    size_t capacity = output->pieces_capacity ? output->pieces_capacity * 2 : 64;
    struct jinja_piece *grown = realloc(output->pieces, capacity * sizeof *grown);

    if (!grown)
        jinja_too_much(vm, "memory");
    output->pieces = grown;
    output->pieces_capacity = capacity;
}

static void add_piece(struct vm *vm, struct value v, int line)
{
    struct jinja_output *output = vm->output;
    size_t begin = output->text.n;
    struct jinja_piece *last = output->n_pieces ? &output->pieces[output->n_pieces - 1] : NULL;
    bool is_literal = is_str(v) && v.flags & F_LITERAL;

    if (last && last->is_literal && is_literal && last->end == begin) {
        last->end += v.n;
        return;
    }
    if (output->n_pieces == output->pieces_capacity)
        grow_pieces(vm);
    output->pieces[output->n_pieces++] = (struct jinja_piece){
        begin, begin + v.n, line, is_literal, is_str(v) && v.flags & F_CONTEXT ? v.p : NULL,
    };
}

void jinja_out_write(struct vm *vm, struct value v, const struct node *node)
{
    if (!is_str(v))
        v = jinja_value_str(vm, v);
    if (v.n == 0)
        return;
    if (vm->captures == 0) {
        if (vm->settings->wants_pieces)
            add_piece(vm, v, node->line);
    } else if (vm->capture) {
        vm->capture->only = v;
        vm->capture->n_writes++;
    }
    write_bytes(vm, v.p, v.n);
}

void jinja_capture_begin(struct vm *vm, struct capture *capture)
{
    if (vm->captures++ == 0 && !vm->in_generation)
        vm->root_end = vm->output->text.n;
    *capture = (struct capture){.begin = vm->output->text.n, .outer = vm->capture};
    vm->capture = capture;
}

static void capture_drop(struct vm *vm, const struct capture *capture)
{
    vm->output->text.n = capture->begin;
    vm->capture = capture->outer;
    vm->captures--;
}

struct value jinja_capture_end(struct vm *vm, struct capture *capture)
{
    const struct buf *buf = &vm->output->text;
    size_t n = buf->n - capture->begin;
    struct value v = jinja_v_chars("");

    if (capture->n_writes == 1) {
        v = capture->only;
        v.flags &= (uint8_t)~F_MARKUP;
    } else if (n) {
        char *p = jinja_take(vm, n);

        memcpy(p, buf->p + capture->begin, n);
        v = v_str(vm, str_from(p, n), 0);
    }
    capture_drop(vm, capture);
    if (vm->autoescape)
        v.flags |= F_MARKUP;
    return v;
}

static void run_output(struct vm *vm, const struct node *node, struct activation *act)
{
    for (size_t i = 0; i < node->n; i++) {
        const struct node *item = node->items[i];
        struct value v;

        if (item->kind == S_DATA) {
            jinja_out_write(vm, item->value, item);
            continue;
        }
        v = jinja_eval(vm, item, act);
        if (node->escape == 1 || (node->escape == 2 && vm->autoescape))
            v = jinja_value_escape(vm, v);
        jinja_out_write(vm, v, item);
    }
}

/* ---- blocks ---- */

static enum flow run_captured(struct vm *vm, const struct node *node, struct activation *act,
                              struct value *out)
{
    struct capture capture;
    enum flow flow;

    jinja_scope_enter(vm, &node->scope, act);
    jinja_capture_begin(vm, &capture);
    flow = jinja_exec(vm, &node->body, act);
    if (flow == FLOW_ON)
        *out = jinja_capture_end(vm, &capture);
    else
        capture_drop(vm, &capture);
    return flow;
}

static enum flow run_set_block(struct vm *vm, const struct node *node, struct activation *act)
{
    struct value v;
    enum flow flow = run_captured(vm, node, act, &v);

    if (flow != FLOW_ON)
        return flow;
    vm->line = node->line;
    if (node->b) {
        v = jinja_eval_filter_on(vm, node->b, act, v);
        if (vm->autoescape) {
            v = jinja_value_soft(vm, v);
            v.flags |= F_MARKUP;
        }
    }
    jinja_assign(vm, node->a, v, act);
    export_names(vm, node, act);
    jinja_scope_leave(&node->scope, act);
    return FLOW_ON;
}

/* Jinja2 joins what these blocks give as it is: only a text will do. */
static void write_joined(struct vm *vm, struct value v, const struct node *node)
{
    if (!is_str(v))
        jinja_error(vm, "sequence item: expected str instance, %s found", jinja_value_type_name(v));
    jinja_out_write(vm, v, node);
}

static enum flow run_filter_block(struct vm *vm, const struct node *node, struct activation *act)
{
    struct value v;
    enum flow flow = run_captured(vm, node, act, &v);

    if (flow != FLOW_ON)
        return flow;
    vm->line = node->line;
    write_joined(vm, jinja_eval_filter_on(vm, node->b, act, v), node);
    jinja_scope_leave(&node->scope, act);
    return FLOW_ON;
}

static enum flow run_with(struct vm *vm, const struct node *node, struct activation *act)
{
    enum flow flow;

    jinja_scope_enter(vm, &node->scope, act);
    for (size_t i = 0; i < node->n; i++)
        jinja_assign(vm, node->items[i], jinja_eval(vm, node->defaults[i], act), act);
    flow = jinja_exec(vm, &node->body, act);
    jinja_scope_leave(&node->scope, act);
    return flow;
}

static enum flow run_autoescape(struct vm *vm, const struct node *node, struct activation *act)
{
    bool before = vm->autoescape;
    enum flow flow;

    jinja_scope_enter(vm, &node->scope, act);
    vm->autoescape = jinja_value_truth(vm, jinja_eval(vm, node->a, act));
    flow = jinja_exec(vm, &node->body, act);
    vm->autoescape = before;
    jinja_scope_leave(&node->scope, act);
    return flow;
}

static void run_block(struct vm *vm, const struct node *node, struct activation *act)
{
    struct activation *inner = jinja_activation_new(vm, node->function, act);

    jinja_scope_enter(vm, &node->scope, inner);
    jinja_exec(vm, &node->body, inner);
}

static struct value new_macro(struct vm *vm, const struct node *node, struct activation *act)
{
    struct macro *macro = jinja_take(vm, sizeof *macro);

    *macro = (struct macro){node, act};
    return (struct value){.type = V_MACRO, .macro = macro};
}

static void run_macro(struct vm *vm, const struct node *node, struct activation *act)
{
    struct value v = new_macro(vm, node, act);

    *jinja_slot_at(act, node->place) = v;
    if (node->export)
        vm->vars[node->export - 1] = v;
}

/* ---- generation spans ---- */

static void add_span(struct vm *vm, size_t begin, size_t end)
{
    struct jinja_output *output = vm->output;

    if (output->n_generation == output->generation_capacity) {
        size_t capacity = output->generation_capacity ? output->generation_capacity * 2 : 8;
        struct jinja_span *grown = realloc(output->generation, capacity * sizeof *grown);

        if (!grown)
            jinja_too_much(vm, "memory");
        output->generation = grown;
        output->generation_capacity = capacity;
    }
    output->generation[output->n_generation++] = (struct jinja_span){begin, end};
}

/* transformers notes where its output stood and how long the block's text is: right when the block
 * stands at the top, and what it is inside of a macro. Bytes here, its characters at the end. */
static void run_generation(struct vm *vm, const struct node *node, struct activation *act)
{
    bool is_top = vm->captures == 0 && vm->in_generation == 0;
    size_t from = vm->output->text.n;
    size_t begin = is_top ? from : vm->root_end;
    struct activation *inner = jinja_activation_new(vm, node->function, act);

    if (is_top)
        vm->root_end = from;
    if (++vm->depth > vm->depth_limit)
        jinja_too_much(vm, "depth");
    jinja_check_stack(vm);
    vm->in_generation++;
    jinja_scope_enter(vm, &node->scope, inner);
    if (node->takes_caller)
        inner->slots[node->caller_slot] = jinja_v_hint("No caller defined");
    if (node->takes_kwargs)
        inner->slots[node->kwargs_slot] = jinja_v_dict(jinja_dict_new(vm, 0));
    if (node->takes_varargs)
        inner->slots[node->varargs_slot] = jinja_v_tuple(jinja_list_new(vm, 0));
    jinja_exec(vm, &node->body, inner);
    vm->in_generation--;
    vm->depth--;
    add_span(vm, begin, begin + (vm->output->text.n - from));
}

static void run_call_block(struct vm *vm, const struct node *node, struct activation *act)
{
    if (node->is_generation)
        run_generation(vm, node, act);
    else
        write_joined(vm, jinja_eval_call_of(vm, node->a, act, new_macro(vm, node, act)), node);
}

static enum flow exec_statement(struct vm *vm, const struct node *node, struct activation *act)
{
    switch ((int)node->kind) {
    case S_OUTPUT:
        run_output(vm, node, act);
        return FLOW_ON;
    case S_IF:
        if (jinja_value_truth(vm, jinja_eval(vm, node->a, act)))
            return jinja_exec(vm, &node->body, act);
        for (size_t i = 0; i < node->n; i++)
            if (jinja_value_truth(vm, jinja_eval(vm, node->items[i]->a, act)))
                return jinja_exec(vm, &node->items[i]->body, act);
        return jinja_exec(vm, &node->other, act);
    case S_FOR:
        return jinja_run_for_statement(vm, node, act);
    case S_SET:
        if (node->a->kind == E_NSREF)
            check_namespace(vm, node->a, act);
        jinja_assign(vm, node->a, jinja_eval(vm, node->b, act), act);
        if (node->n_exports)
            export_names(vm, node, act);
        return FLOW_ON;
    case S_SET_BLOCK:
        return run_set_block(vm, node, act);
    case S_MACRO:
        run_macro(vm, node, act);
        return FLOW_ON;
    case S_CALL_BLOCK:
        run_call_block(vm, node, act);
        return FLOW_ON;
    case S_FILTER_BLOCK:
        return run_filter_block(vm, node, act);
    case S_WITH:
        return run_with(vm, node, act);
    case S_AUTOESCAPE:
        return run_autoescape(vm, node, act);
    case S_BLOCK:
        run_block(vm, node, act);
        return FLOW_ON;
    case S_BREAK:
        return FLOW_BREAK;
    case S_CONTINUE:
        return FLOW_CONTINUE;
    default:
        jinja_error(vm, "no loader for this environment specified (%.*s)", (int)node->name.n,
                    node->name.p);
    }
}

enum flow jinja_exec(struct vm *vm, const struct body *body, struct activation *act)
{
    for (size_t i = 0; i < body->n; i++) {
        enum flow flow;

        vm->line = body->items[i]->line;
        jinja_step(vm);
        flow = exec_statement(vm, body->items[i], act);
        if (flow != FLOW_ON)
            return flow;
    }
    return FLOW_ON;
}
