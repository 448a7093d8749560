/* Walking over values, lazily where Python is lazy: what a generator never gives does not fail.
 * See jinja_parts.h. */
#include <stdlib.h>
#include <string.h>

#include "core/base/unicode_case.h"
#include "core/text/jinja/jinja_parts.h"

bool jinja_value_iterate(struct vm *vm, struct value v, struct iter *iter)
{
    *iter = (struct iter){.source = v};
    switch (v.type) {
    case V_UNDEFINED:
        iter->kind = I_EMPTY;
        return true;
    case V_LIST:
    case V_TUPLE:
        iter->kind = I_LIST;
        return true;
    case V_STR:
        iter->kind = I_STR;
        return true;
    case V_DICT:
        iter->kind = I_KEYS;
        return true;
    case V_VIEW:
        iter->kind = v.aux == 0 ? I_KEYS : v.aux == 1 ? I_VALUES : I_ITEMS;
        return true;
    case V_RANGE:
        iter->kind = I_RANGE;
        return true;
    case V_ITER:
    case V_LOOP:
        iter->kind = I_EMPTY; /* the caller takes the one there is */
        return true;
    default:
        (void)vm;
        return false;
    }
}

struct iter *jinja_iter_of(struct vm *vm, struct value v)
{
    struct iter *iter;

    if (v.type == V_ITER)
        return v.iter;
    iter = jinja_take(vm, sizeof *iter);
    if (!jinja_value_iterate(vm, v, iter))
        jinja_error(vm, "'%s' object is not iterable", jinja_value_type_name(v));
    if (v.type == V_LOOP)
        iter->kind = I_LOOP;
    return iter;
}

struct value jinja_v_lazy(struct vm *vm, enum iter_kind kind, struct value source,
                          const struct lazy *lazy)
{
    struct iter *iter = jinja_take(vm, sizeof *iter);

    *iter = (struct iter){
        .kind = kind, .source = source, .lazy = lazy, .is_generator = true, .is_lazy = true};
    return (struct value){.type = V_ITER, .iter = iter};
}

/* ---- attribute paths: "a.b.0" ---- */

static bool is_digits(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n > 0;
}

struct list *jinja_attribute_parts(struct vm *vm, struct value attribute)
{
    struct list *parts = jinja_list_new(vm, 2);

    if (attribute.type == V_NONE || attribute.type == V_MISSING)
        return parts;
    if (!is_str(attribute)) {
        jinja_list_add(vm, parts, attribute);
        return parts;
    }
    for (size_t from = 0;;) {
        const char *dot = memchr(attribute.p + from, '.', attribute.n - from);
        size_t to = dot ? (size_t)(dot - attribute.p) : attribute.n;
        struct value part = v_slice(attribute, from, to);

        jinja_list_add(vm, parts,
                       is_digits(str_v(part)) ? jinja_big_of_text(vm, str_v(part)) : part);
        if (!dot)
            return parts;
        from = to + 1;
    }
}

struct value jinja_attribute_of(struct vm *vm, struct value v, const struct list *parts,
                                struct value default_value)
{
    for (uint32_t i = 0; i < parts->n; i++) {
        v = jinja_value_item(vm, v, parts->items[i]);
        if (v.type == V_UNDEFINED && default_value.type != V_MISSING &&
            default_value.type != V_NONE)
            v = default_value;
    }
    return v;
}

/* ---- lazy filters ---- */

static bool source_next(struct vm *vm, struct iter *iter, struct value *out)
{
    jinja_step(vm);
    return jinja_iter_next(vm, iter->from, out);
}

/* What is behind a generator is looked at when it is first asked. */
static bool start(struct vm *vm, struct iter *iter)
{
    bool needs_truth = iter->kind == I_MAP || iter->kind == I_SELECT;

    if (!iter->is_lazy)
        return !iter->is_done;
    iter->is_lazy = false;
    if (needs_truth && !jinja_value_truth(vm, iter->source)) {
        iter->is_done = true;
        return false;
    }
    if (iter->lazy && iter->kind == I_MAP && !iter->lazy->has_filter && !iter->lazy->parts)
        jinja_error(vm, "map requires a filter argument");
    iter->from = jinja_iter_of(vm, iter->source);
    return true;
}

static struct call lazy_call(const struct lazy *lazy, const char *what)
{
    return (struct call){lazy->args, lazy->n_args, lazy->names, lazy->n_names, what};
}

static bool next_mapped(struct vm *vm, struct iter *iter, struct value *out)
{
    const struct lazy *lazy = iter->lazy;
    struct call call = lazy_call(lazy, lazy->called.p);
    struct value v;

    if (!source_next(vm, iter, &v))
        return false;
    if (lazy->parts) {
        *out = jinja_attribute_of(vm, v, lazy->parts, lazy->default_value);
        return true;
    }
    if (!lazy->filter)
        jinja_error(vm, "no filter named '%.*s'", (int)(lazy->called.n & 0xFF), lazy->called.p);
    *out = jinja_filter_apply(vm, lazy->filter, v, &call);
    return true;
}

static bool next_selected(struct vm *vm, struct iter *iter, struct value *out)
{
    const struct lazy *lazy = iter->lazy;
    struct call call = lazy_call(lazy, lazy->called.p);
    struct value v;

    while (source_next(vm, iter, &v)) {
        struct value tested = lazy->parts ? jinja_attribute_of(vm, v, lazy->parts, v_missing()) : v;
        bool is_in;

        if (lazy->has_test && !lazy->test)
            jinja_error(vm, "no test named '%.*s'", (int)(lazy->called.n & 0xFF), lazy->called.p);
        is_in = lazy->has_test ? jinja_test_apply(vm, lazy->test, tested, &call)
                               : jinja_value_truth(vm, tested);
        if (is_in != lazy->is_negated) {
            *out = v;
            return true;
        }
    }
    return false;
}

static bool next_unique(struct vm *vm, struct iter *iter, struct value *out)
{
    if (!iter->seen)
        iter->seen = jinja_dict_new(vm, 8);
    while (source_next(vm, iter, out)) {
        struct value key = jinja_attribute_of(vm, *out, iter->lazy->parts, v_missing());

        if (is_str(key) && !iter->lazy->is_sensitive)
            key = jinja_text_case(vm, key, CASE_LOWER);
        if (jinja_dict_get(vm, iter->seen, key))
            continue;
        jinja_dict_set(vm, iter->seen, key, v_none());
        return true;
    }
    return false;
}

/* Lists of so many; what fills the last. */
static bool next_batch(struct vm *vm, struct iter *iter, struct value *out)
{
    struct list *batch = jinja_list_new(vm, 0);
    struct value count = iter->lazy->args[0];
    struct value fill = iter->lazy->args[1];
    struct value v;

    if (iter->is_back) { /* one was taken too many */
        jinja_list_add(vm, batch, iter->lazy->args[2]);
        iter->is_back = false;
    }
    while (source_next(vm, iter, &v)) {
        if (jinja_value_equal(vm, v_int(batch->n), count)) {
            iter->lazy->args[2] = v;
            iter->is_back = true;
            *out = jinja_v_list(batch);
            return true;
        }
        jinja_list_add(vm, batch, v);
    }
    if (batch->n == 0)
        return false;
    if (fill.type != V_NONE && fill.type != V_MISSING) {
        int64_t n = jinja_value_index(vm, count, "a count of batch");

        if (n > (int64_t)(vm->memory_limit / sizeof v))
            jinja_too_much(vm, "memory");
        while (batch->n < n)
            jinja_list_add(vm, batch, fill);
    }
    *out = jinja_v_list(batch);
    return true;
}

static bool next_slice(struct vm *vm, struct iter *iter, struct value *out)
{
    struct value fill = iter->lazy->args[1];
    struct list *part;
    int64_t count, each, extra, begin, end;

    if (!iter->seen) { /* the list is made at the first look, and kept in source */
        iter->source = jinja_v_list(jinja_list_of(vm, iter->source));
        iter->seen = jinja_dict_new(vm, 0);
        iter->end = jinja_value_index(vm, iter->lazy->args[0], "a number of slices");
        if (iter->end == 0)
            jinja_error(vm, "integer division or modulo by zero");
    }
    count = iter->source.list->n;
    if (iter->at >= iter->end)
        return false;
    each = count / iter->end;
    extra = count % iter->end;
    begin = iter->at * each + (iter->at < extra ? iter->at : extra);
    end = (iter->at + 1) * each + (iter->at + 1 < extra ? iter->at + 1 : extra);
    part = jinja_list_new(vm, (size_t)(end - begin) + 1);
    for (int64_t i = begin; i < end; i++)
        jinja_list_add(vm, part, iter->source.list->items[i]);
    if (fill.type != V_NONE && fill.type != V_MISSING && iter->at >= extra)
        jinja_list_add(vm, part, fill);
    iter->at++;
    *out = jinja_v_list(part);
    return true;
}

static bool next_tested(struct vm *vm, struct iter *iter, struct value *out)
{
    const struct node *node = iter->loop_node;

    if (!iter->activation) {
        iter->activation = jinja_activation_new(vm, node->test_function, iter->outer);
        jinja_scope_enter(vm, &node->test_scope, iter->activation);
    }
    while (source_next(vm, iter, out)) {
        jinja_assign(vm, node->items[0], *out, iter->activation);
        if (jinja_value_truth(vm, jinja_eval(vm, node->c, iter->activation)))
            return true;
    }
    return false;
}

static bool next_lazy(struct vm *vm, struct iter *iter, struct value *out)
{
    if (iter->is_done || (iter->kind != I_SLICE && !start(vm, iter)))
        return false;
    jinja_check_stack(vm);

    bool is_there = iter->kind == I_MAP      ? next_mapped(vm, iter, out)
                    : iter->kind == I_SELECT ? next_selected(vm, iter, out)
                    : iter->kind == I_UNIQUE ? next_unique(vm, iter, out)
                    : iter->kind == I_BATCH  ? next_batch(vm, iter, out)
                    : iter->kind == I_SLICE  ? next_slice(vm, iter, out)
                                             : next_tested(vm, iter, out);

    iter->is_done = !is_there;
    return is_there;
}

/* ---- the rest ---- */

static bool next_entry(struct vm *vm, struct iter *iter, struct value *out)
{
    const struct dict *dict = iter->source.dict;
    int64_t at = iter->is_back ? (int64_t)dict->n - 1 - iter->at : iter->at;

    if (at < 0 || at >= (int64_t)dict->n)
        return false;
    iter->at++;
    *out = iter->kind == I_KEYS ? dict->entries[at].key
           : iter->kind == I_VALUES
               ? dict->entries[at].value
               : jinja_v_pair(vm, dict->entries[at].key, dict->entries[at].value);
    return true;
}

static bool next_char(struct iter *iter, struct value *out)
{
    struct str rest = str_skip(str_v(iter->source), (size_t)iter->at);
    int32_t codepoint;
    size_t n;

    if (rest.n == 0)
        return false;
    n = jinja_text_step(rest, &codepoint);
    *out = v_slice(iter->source, (size_t)iter->at, (size_t)iter->at + n);
    out->flags &= (uint8_t)~F_MARKUP;
    iter->at += (int64_t)n;
    return true;
}

bool jinja_iter_next(struct vm *vm, struct iter *iter, struct value *out)
{
    switch ((int)iter->kind) {
    case I_EMPTY:
        return false;
    case I_LIST:
        if (iter->is_done || iter->at >= (int64_t)iter->source.list->n) {
            iter->is_done = true;
            return false;
        }
        *out = iter->source.list->items[iter->at++];
        return true;
    case I_LIST_BACK:
        if (iter->at >= (int64_t)iter->source.list->n)
            return false;
        *out = iter->source.list->items[iter->source.list->n - 1 - (uint32_t)iter->at++];
        return true;
    case I_STR:
        return next_char(iter, out);
    case I_KEYS:
    case I_VALUES:
    case I_ITEMS:
        if (iter->is_lazy) { /* the items filter: asked for the first time */
            iter->is_lazy = false;
            if (iter->source.type == V_UNDEFINED)
                iter->kind = I_EMPTY;
            else if (iter->source.type != V_DICT)
                jinja_error(vm, "can only get item pairs from a mapping");
            return jinja_iter_next(vm, iter, out);
        }
        return next_entry(vm, iter, out);
    case I_RANGE:
        if (iter->at >= iter->source.range->n)
            return false;
        *out = v_int(iter->source.range->start +
                     iter->source.range->step *
                         (iter->is_back ? iter->source.range->n - 1 - iter->at : iter->at));
        iter->at++;
        return true;
    case I_LOOP:
        return jinja_loop_next(vm, iter->source.loop, out);
    default:
        return next_lazy(vm, iter, out);
    }
}

struct list *jinja_list_of(struct vm *vm, struct value v)
{
    struct iter *iter = jinja_iter_of(vm, v);
    struct list *out = jinja_list_new(vm, is_listy(v) ? v.list->n : 8);
    struct value item;

    if (is_listy(v)) {
        if (v.list->n)
            memcpy(out->items, v.list->items, v.list->n * sizeof *out->items);
        out->n = v.list->n;
        jinja_spend(vm, v.list->n / 4);
        return out;
    }
    while (jinja_iter_next(vm, iter, &item)) {
        jinja_step(vm);
        jinja_list_add(vm, out, item);
    }
    return out;
}

bool jinja_value_length(struct vm *vm, struct value v, int64_t *n)
{
    switch (v.type) {
    case V_UNDEFINED:
        *n = 0;
        return true;
    case V_STR:
        *n = (int64_t)jinja_text_count(vm, str_v(v));
        return true;
    case V_BYTES:
        *n = v.n;
        return true;
    case V_LIST:
    case V_TUPLE:
        *n = v.list->n;
        return true;
    case V_DICT:
    case V_VIEW:
        *n = v.dict->n;
        return true;
    case V_RANGE:
        *n = v.range->n;
        return true;
    case V_LOOP:
        *n = jinja_loop_length(vm, v.loop);
        return true;
    default:
        return false;
    }
}

/* reversed(v): false when Python would raise a TypeError. */
bool jinja_value_reversed(struct vm *vm, struct value v, struct value *out)
{
    struct iter *iter = jinja_take(vm, sizeof *iter);

    if (v.type == V_ITER || v.type == V_LOOP || !jinja_value_iterate(vm, v, iter))
        return false;
    if (iter->kind == I_STR) {
        struct list *chars = jinja_list_of(vm, v);

        jinja_value_iterate(vm, jinja_v_list(chars), iter);
    }
    iter->is_generator = true;
    iter->is_back = true;
    if (iter->kind == I_LIST)
        iter->kind = I_LIST_BACK;
    *out = (struct value){.type = V_ITER, .iter = iter};
    return true;
}
