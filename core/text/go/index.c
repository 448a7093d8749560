/* index, slice and len. */
#include <stdio.h>

#include "core/text/go/go_parts.h"

const struct go_class go_class_byte = {"uint8", GO_FORM_PLAIN, NULL};

static bool is_nothing(const struct go_value *value)
{
    return value->type == GO_NIL || value->type == GO_INVALID;
}

static bool is_hidden(const struct go_value *value)
{
    return value->class && value->class->form == GO_FORM_OPAQUE;
}

static size_t length(const struct go_value *value)
{
    return value->type == GO_STRING ? value->text.n : value->n;
}

/* Checks an index against the most that it may be. */
static bool read_index(const struct go_call *call, const struct go_value *index, size_t most,
                       size_t *out)
{
    if (is_nothing(index))
        return go_run_fail(call->run, "error calling %s: cannot index slice/array with nil",
                           call->name);
    if (index->type != GO_INT)
        return go_run_fail(call->run, "error calling %s: cannot index slice/array with type %s",
                           call->name, go_type_name(index));
    if (index->integer < 0 || (uint64_t)index->integer > most)
        return go_run_fail(call->run, "error calling %s: index out of range: %lld", call->name,
                           (long long)index->integer);
    *out = (size_t)index->integer;
    return true;
}

static bool index_list(const struct go_call *call, const struct go_value *item,
                       const struct go_value *index, struct go_value *out)
{
    size_t i;

    if (is_hidden(item))
        return go_run_refuse(call->run, "%s", item->class->name);
    if (!read_index(call, index, length(item), &i))
        return false;
    if (i == length(item))
        return go_run_fail(call->run, "error calling index: reflect: %s index out of range",
                           item->type == GO_STRING ? "string" : "slice");
    if (item->type == GO_STRING) {
        *out = go_int((unsigned char)item->text.p[i]);
        out->class = &go_class_byte;
    } else {
        *out = item->items[i];
    }
    return true;
}

static bool index_map(const struct go_call *call, const struct go_value *map,
                      const struct go_value *key, struct go_value *out)
{
    const struct go_value *found;

    if (is_nothing(key))
        return go_run_fail(call->run, "error calling index: value is nil; should be of type string");
    if (key->type != GO_STRING)
        return go_run_fail(call->run, "error calling index: value has type %s; should be string",
                           go_type_name(key));
    found = go_member(map, key->text);
    if (found)
        *out = *found;
    else if (map->class && map->class->missing)
        *out = *map->class->missing;
    else
        *out = (struct go_value){.type = GO_NIL};
    return true;
}

bool go_call_index(const struct go_call *call, struct go_value *out)
{
    struct go_value item = call->args[0], next;

    if (is_nothing(&item))
        return go_run_fail(call->run, "error calling index: index of untyped nil");
    for (size_t i = 1; i < call->n; i++) {
        if (is_nothing(&item) || (item.is_pointer && item.is_nil))
            return go_run_fail(call->run, "error calling index: index of nil pointer");
        if (item.type == GO_LIST || item.type == GO_STRING) {
            if (!index_list(call, &item, &call->args[i], &next))
                return false;
        } else if (item.type != GO_MAP) {
            return go_run_fail(call->run, "error calling index: can't index item of type %s",
                               go_type_name(&item));
        } else if (!index_map(call, &item, &call->args[i], &next)) {
            return false;
        }
        item = next;
    }
    *out = item;
    return true;
}

static bool check_sliceable(const struct go_call *call, const struct go_value *item)
{
    if (is_nothing(item))
        return go_run_fail(call->run, "error calling slice: slice of untyped nil");
    if (item->is_pointer && item->is_nil)
        return go_run_fail(call->run, "error calling slice: slice of nil pointer");
    if (call->n > 4)
        return go_run_fail(call->run, "error calling slice: too many slice indexes: %zu",
                           call->n - 1);
    if (item->type == GO_STRING && call->n == 4)
        return go_run_fail(call->run, "error calling slice: cannot 3-index slice a string");
    if (item->type != GO_STRING && item->type != GO_LIST)
        return go_run_fail(call->run, "error calling slice: can't slice item of type %s",
                           go_type_name(item));
    return !is_hidden(item) || go_run_refuse(call->run, "%s", item->class->name);
}

/* A list's room behind its end is not known here: it counts as none. */
bool go_call_slice(const struct go_call *call, struct go_value *out)
{
    const struct go_value *item = &call->args[0];
    size_t bounds[3] = {0, 0, 0};

    if (!check_sliceable(call, item))
        return false;
    bounds[1] = bounds[2] = length(item);
    for (size_t i = 1; i < call->n; i++)
        if (!read_index(call, &call->args[i], length(item), &bounds[i - 1]))
            return false;
    for (size_t i = 0; i < 2; i++)
        if (bounds[i] > bounds[i + 1] && (i == 0 || call->n == 4))
            return go_run_fail(call->run, "error calling slice: invalid slice index: %zu > %zu",
                               bounds[i], bounds[i + 1]);
    *out = *item;
    if (item->type == GO_STRING) {
        out->text = str_from(item->text.p + bounds[0], bounds[1] - bounds[0]);
    } else {
        out->items = item->items ? item->items + bounds[0] : NULL;
        out->n = bounds[1] - bounds[0];
    }
    return true;
}

bool go_call_len(const struct go_call *call, struct go_value *out)
{
    const struct go_value *item = &call->args[0];

    if (item->type == GO_NIL || (item->is_pointer && item->is_nil))
        return go_run_fail(call->run, "error calling len: len of nil pointer");
    if (item->type == GO_INVALID)
        return go_run_fail(call->run,
                           "error calling len: reflect: call of reflect.Value.Type on zero Value");
    if (item->type != GO_STRING && item->type != GO_LIST && item->type != GO_MAP)
        return go_run_fail(call->run, "error calling len: len of type %s", go_type_name(item));
    *out = go_int((int64_t)length(item));
    return true;
}
