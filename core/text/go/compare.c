/* eq ne lt le gt ge by Go's rules: no kind is turned into another one, integers and floats are
 * different kinds, lists and maps compare with nil alone. */
#include <stdio.h>

#include "core/base/str.h"
#include "core/text/go/go_parts.h"

enum kind { KIND_NONE, KIND_BOOL, KIND_INT, KIND_FLOAT, KIND_TEXT };

static enum kind kind_of(const struct go_value *value)
{
    switch (value->type) {
    case GO_BOOL:
        return KIND_BOOL;
    case GO_INT:
        return KIND_INT;
    case GO_FLOAT:
        return KIND_FLOAT;
    case GO_STRING:
        return KIND_TEXT;
    case GO_NIL:
    case GO_LIST:
    case GO_MAP:
    case GO_STRUCT:
    case GO_INVALID:
        break;
    }
    return KIND_NONE;
}

static bool is_nothing(const struct go_value *value)
{
    return value->type == GO_NIL || value->type == GO_INVALID;
}

static bool is_nil(const struct go_value *value)
{
    return is_nothing(value) || value->is_nil;
}

static bool equal_basic(const struct go_value *a, const struct go_value *b)
{
    switch (kind_of(a)) {
    case KIND_BOOL:
        return a->boolean == b->boolean;
    case KIND_INT:
        return a->integer == b->integer;
    case KIND_FLOAT:
        return a->number == b->number;
    case KIND_TEXT:
        return str_eq(a->text, b->text);
    case KIND_NONE:
        break;
    }
    return false;
}

/* Lists, maps, structs and pointers: only pointers are more than nil or not. */
static bool equal_others(const struct go_call *call, const struct go_value *a,
                         const struct go_value *b, bool *equal)
{
    bool same_kind = a->type == b->type && a->is_pointer == b->is_pointer;

    if (!same_kind && !is_nothing(a) && !is_nothing(b))
        return go_run_fail(call->run, "error calling %s: non-comparable types %s and %s",
                           call->name, go_type_name(a), go_type_name(b));
    if (is_nil(a) || is_nil(b)) {
        *equal = is_nil(a) == is_nil(b);
        return true;
    }
    if (!b->is_pointer)
        return go_run_fail(call->run, "error calling %s: non-comparable type %s", call->name,
                           go_type_name(b));
    *equal = a->fields == b->fields;
    return true;
}

static bool refuse_types(const struct go_call *call, const struct go_value *a,
                         const struct go_value *b)
{
    return go_run_fail(call->run, "error calling %s: incompatible types for comparison: %s and %s",
                       call->name, go_type_name(a), go_type_name(b));
}

static bool equal_to(const struct go_call *call, const struct go_value *a, const struct go_value *b,
                     bool *equal)
{
    *equal = false;
    if (kind_of(a) != kind_of(b))
        return is_nothing(a) || is_nothing(b) || refuse_types(call, a, b);
    if (kind_of(a) == KIND_NONE)
        return equal_others(call, a, b, equal);
    *equal = equal_basic(a, b);
    return true;
}

bool go_call_eq(const struct go_call *call, struct go_value *out)
{
    bool equal = false;

    if (call->n < 2)
        return go_run_fail(call->run, "error calling %s: missing argument for comparison",
                           call->name);
    for (size_t i = 1; i < call->n && !equal; i++)
        if (!equal_to(call, &call->args[0], &call->args[i], &equal))
            return false;
    *out = go_bool(equal);
    return true;
}

bool go_call_ne(const struct go_call *call, struct go_value *out)
{
    if (!go_call_eq(call, out))
        return false;
    out->boolean = !out->boolean;
    return true;
}

static bool less(const struct go_call *call, bool *out)
{
    const struct go_value *a = &call->args[0], *b = &call->args[1];
    enum kind kind = kind_of(a);

    if (kind != KIND_NONE && kind_of(b) != KIND_NONE && kind != kind_of(b))
        return refuse_types(call, a, b);
    if (kind == KIND_NONE || kind_of(b) == KIND_NONE || kind == KIND_BOOL)
        return go_run_fail(call->run, "error calling %s: invalid type for comparison", call->name);
    if (kind == KIND_INT)
        *out = a->integer < b->integer;
    else if (kind == KIND_FLOAT)
        *out = a->number < b->number;
    else
        *out = str_compare(a->text, b->text) < 0;
    return true;
}

bool go_call_lt(const struct go_call *call, struct go_value *out)
{
    bool is_less;

    if (!less(call, &is_less))
        return false;
    *out = go_bool(is_less);
    return true;
}

bool go_call_le(const struct go_call *call, struct go_value *out)
{
    bool is_less;

    if (!less(call, &is_less))
        return false;
    *out = go_bool(is_less || equal_basic(&call->args[0], &call->args[1]));
    return true;
}

/* By way of the opposite, as Go does: with NaN both gt and ge are true. */
bool go_call_gt(const struct go_call *call, struct go_value *out)
{
    if (!go_call_le(call, out))
        return false;
    out->boolean = !out->boolean;
    return true;
}

bool go_call_ge(const struct go_call *call, struct go_value *out)
{
    if (!go_call_lt(call, out))
        return false;
    out->boolean = !out->boolean;
    return true;
}
