/* Constants of templates are worked out once. See scope.h. */
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/scope.h"

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
void jinja_fold(struct compiler *c, struct node *node, const struct frame *frame)
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
