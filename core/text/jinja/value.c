/* Values: making them, lists, dicts with Python's keys, truth. See jinja_parts.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/number.h"
#include "core/text/jinja/jinja_parts.h"

#define MOST_DEEP 500

struct value jinja_v_chars(const char *constant)
{
    return (struct value){
        .type = V_STR, .flags = F_LITERAL, .n = (uint32_t)strlen(constant), .p = constant};
}

struct value jinja_v_undefined(enum undefined_kind kind, struct value object, struct str name)
{
    return (struct value){
        .type = V_UNDEFINED,
        .aux = (uint16_t)((unsigned)kind | (unsigned)object.type << 8),
        .n = name.n < 200 ? (uint32_t)name.n : 200,
        .p = name.p,
    };
}

struct value jinja_v_hint(const char *hint)
{
    return jinja_v_undefined(U_HINT, v_none(), str_of(hint));
}

static const char *jinja_type_name(int type)
{
    static const char *const names[] = {
        "missing",   "Undefined", "NoneType",  "bool",        "int",   "int",
        "float",     "str",       "list",      "tuple",       "dict",  "range",
        "Namespace", "dict_view", "generator", "LoopContext", "Macro", "builtin_function_or_method",
        "function",  "Cycler",    "Joiner",    "bytes"};

    return names[type];
}

const char *jinja_value_type_name(struct value v)
{
    return v.type == V_STR && v.flags & F_MARKUP ? "Markup" : jinja_type_name(v.type);
}

void jinja_undefined_error(struct vm *vm, struct value v)
{
    const char *object = jinja_type_name(v.aux >> 8);
    int n = (int)v.n;

    switch (v.aux & 0xFF) {
    case U_NAME:
        jinja_error(vm, "'%.*s' is undefined", n, v.p);
    case U_ATTRIBUTE:
        if (v.aux >> 8 == V_NONE)
            jinja_error(vm, "'None' has no attribute '%.*s'", n, v.p);
        jinja_error(vm, "'%s object' has no attribute '%.*s'", object, n, v.p);
    case U_UNSAFE:
        jinja_error(vm, "access to attribute '%.*s' of '%s' object is unsafe", n, v.p, object);
    default:
        jinja_error(vm, "%.*s", n, v.p);
    }
}

/* ---- lists ---- */

struct list *jinja_list_new(struct vm *vm, size_t capacity)
{
    struct list *list = jinja_take(vm, sizeof *list);

    if (capacity > UINT32_MAX)
        jinja_too_much(vm, "memory");
    *list = (struct list){.capacity = (uint32_t)capacity};
    if (capacity)
        list->items = jinja_take_array(vm, capacity, sizeof *list->items);
    return list;
}

void jinja_list_add(struct vm *vm, struct list *list, struct value v)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? (size_t)list->capacity * 2 : 8;
        struct value *grown = jinja_take_array(vm, capacity, sizeof *grown);

        if (capacity > UINT32_MAX)
            jinja_too_much(vm, "memory");
        if (list->n)
            memcpy(grown, list->items, list->n * sizeof *grown);
        list->items = grown;
        list->capacity = (uint32_t)capacity;
    }
    list->items[list->n++] = v;
}

struct value jinja_v_list(struct list *list)
{
    return (struct value){.type = V_LIST, .list = list};
}

struct value jinja_v_tuple(struct list *list)
{
    return (struct value){.type = V_TUPLE, .list = list};
}

struct value jinja_v_pair(struct vm *vm, struct value a, struct value b)
{
    struct list *list = jinja_list_new(vm, 2);

    list->items[0] = a;
    list->items[1] = b;
    list->n = 2;
    return jinja_v_tuple(list);
}

/* ---- dicts ---- */

struct dict *jinja_dict_new(struct vm *vm, size_t capacity)
{
    struct dict *dict = jinja_take(vm, sizeof *dict);

    if (capacity > UINT32_MAX / 4)
        jinja_too_much(vm, "memory");
    *dict = (struct dict){.capacity = (uint32_t)capacity};
    if (capacity)
        dict->entries = jinja_take_array(vm, capacity, sizeof *dict->entries);
    return dict;
}

struct value jinja_v_dict(struct dict *dict)
{
    return (struct value){.type = V_DICT, .dict = dict};
}

/* Every item looked at is a step: a tuple that holds another twice, that one a third twice, and so
 * on, takes few bytes and no end. */
static bool is_hashable_deep(struct vm *vm, struct value v, int depth)
{
    if (depth > MOST_DEEP)
        jinja_too_much(vm, "depth");
    if (v.type == V_TUPLE) {
        for (uint32_t i = 0; i < v.list->n; i++) {
            jinja_step(vm);
            if (!is_hashable_deep(vm, v.list->items[i], depth + 1))
                return false;
        }
        return true;
    }
    return v.type != V_LIST && v.type != V_DICT && v.type != V_VIEW;
}

bool jinja_value_is_hashable(struct vm *vm, struct value v)
{
    return is_hashable_deep(vm, v, 0);
}

static uint64_t hash_number(struct vm *vm, struct value v)
{
    if (v.type == V_FLOAT) {
        if (v.f == floor(v.f) && fabs(v.f) < 9e18) {
            v = v_int((int64_t)v.f);
        } else if (isfinite(v.f) && fabs(v.f) >= 9e18) {
            v = jinja_int_of_double(vm, v.f);
        } else {
            return hash_bytes(&v.f, sizeof v.f);
        }
    }
    if (v.type == V_BIG)
        return hash_bytes(v.big->limb, v.big->n * sizeof v.big->limb[0]);
    return (uint64_t)v.i * UINT64_C(0x9E3779B97F4A7C15);
}

static uint64_t hash_deep(struct vm *vm, struct value v, int depth)
{
    uint64_t hash = 77;

    if (depth > MOST_DEEP)
        jinja_too_much(vm, "depth");
    switch (v.type) {
    case V_STR:
        jinja_work(vm, v.n);
        return hash_bytes(v.p, v.n);
    case V_BOOL:
    case V_INT:
    case V_BIG:
    case V_FLOAT:
        return hash_number(vm, v);
    case V_TUPLE:
        for (uint32_t i = 0; i < v.list->n; i++) {
            jinja_step(vm);
            hash = hash * 31 + hash_deep(vm, v.list->items[i], depth + 1);
        }
        return hash;
    case V_LIST:
    case V_DICT:
    case V_VIEW:
        jinja_error(vm, "unhashable type: '%s'", jinja_value_type_name(v));
    case V_NONE:
    case V_UNDEFINED:
    case V_RANGE:
    case V_METHOD:
        return v.type;
    default:
        return (uint64_t)(uintptr_t)v.p;
    }
}

/* Fails when it is not hashable. */
static uint64_t jinja_value_hash(struct vm *vm, struct value v)
{
    return hash_deep(vm, v, 0);
}

/* A place that is taken is a step: keys may be chosen so that all want the same one. */
static void put_in_table(struct vm *vm, struct dict *dict, uint32_t at)
{
    uint32_t place = (uint32_t)dict->entries[at].hash & dict->mask;

    for (; dict->table[place]; place = (place + 1) & dict->mask)
        jinja_step(vm);
    dict->table[place] = at + 1;
}

static void build_table(struct vm *vm, struct dict *dict)
{
    uint32_t size = 32;

    while (size < dict->n * 3)
        size *= 2;
    if (!dict->is_hashed)
        for (uint32_t i = 0; i < dict->n; i++)
            dict->entries[i].hash = jinja_value_hash(vm, dict->entries[i].key);
    dict->is_hashed = true;
    dict->table = jinja_take_array(vm, size, sizeof *dict->table);
    memset(dict->table, 0, size * sizeof *dict->table);
    dict->mask = size - 1;
    for (uint32_t i = 0; i < dict->n; i++)
        put_in_table(vm, dict, i);
    jinja_work(vm, (size_t)size * 8);
}

static inline bool same_key(struct vm *vm, struct value a, struct value b)
{
    if (a.type == V_STR && b.type == V_STR) {
        jinja_work(vm, a.n == b.n ? a.n : 0);
        return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
    }
    return jinja_value_same(a, b) || jinja_value_equal(vm, a, b);
}

static struct entry *find_entry(struct vm *vm, struct dict *dict, struct value key)
{
    if (dict->n > DICT_FEW && !dict->table)
        build_table(vm, dict);
    if (!dict->table) {
        for (uint32_t i = 0; i < dict->n; i++)
            if (same_key(vm, dict->entries[i].key, key))
                return &dict->entries[i];
        return NULL;
    }

    uint64_t hash = jinja_value_hash(vm, key);

    for (uint32_t place = (uint32_t)hash & dict->mask; dict->table[place];
         place = (place + 1) & dict->mask) {
        struct entry *entry = &dict->entries[dict->table[place] - 1];

        if (entry->hash == hash && same_key(vm, entry->key, key))
            return entry;
        jinja_step(vm);
    }
    return NULL;
}

struct value *jinja_dict_get(struct vm *vm, struct dict *dict, struct value key)
{
    struct entry *entry;

    if (key.type != V_STR)
        jinja_value_hash(vm, key); /* fails for what cannot be a key */
    entry = find_entry(vm, dict, key);
    return entry ? &entry->value : NULL;
}

void jinja_dict_set(struct vm *vm, struct dict *dict, struct value key, struct value value)
{
    struct value *known = jinja_dict_get(vm, dict, key);

    if (known) {
        *known = value;
        return;
    }
    if (dict->n == dict->capacity) {
        size_t capacity = dict->capacity ? (size_t)dict->capacity * 2 : 8;
        struct entry *grown = jinja_take_array(vm, capacity, sizeof *grown);

        if (capacity > UINT32_MAX / 4)
            jinja_too_much(vm, "memory");
        if (dict->n)
            memcpy(grown, dict->entries, dict->n * sizeof *grown);
        dict->entries = grown;
        dict->capacity = (uint32_t)capacity;
    }
    dict->entries[dict->n] = (struct entry){key, value, 0};
    if (dict->is_hashed)
        dict->entries[dict->n].hash = jinja_value_hash(vm, key);
    dict->n++;
    if (dict->table && dict->n * 2 > dict->mask)
        build_table(vm, dict);
    else if (dict->table)
        put_in_table(vm, dict, dict->n - 1);
}

/* ---- truth ---- */

bool jinja_value_truth(struct vm *vm, struct value v)
{
    int64_t n;

    switch (v.type) {
    case V_MISSING:
    case V_UNDEFINED:
    case V_NONE:
        return false;
    case V_BOOL:
    case V_INT:
        return v.i != 0;
    case V_FLOAT:
        return v.f != 0;
    case V_STR:
    case V_BYTES:
        return v.n > 0;
    case V_LIST:
    case V_TUPLE:
        return v.list->n > 0;
    case V_DICT:
        return v.dict->n > 0;
    case V_RANGE:
        return v.range->n > 0;
    case V_VIEW:
    case V_LOOP:
        return !jinja_value_length(vm, v, &n) || n > 0;
    default:
        return true;
    }
}

/* ---- from JSON ---- */

static struct value number_of_json(struct vm *vm, const struct json *json)
{
    int64_t i;

    if (!json->is_integer)
        return v_float(json->number);
    if (number_parse_int(json->text, &i))
        return v_int(i);
    return jinja_big_of_text(vm, json->text);
}

static struct value list_of_json(struct vm *vm, const struct json *json, int depth);
static struct value dict_of_json(struct vm *vm, const struct json *json, int depth);

static inline struct value convert(struct vm *vm, const struct json *json, int depth)
{
    switch (json->type) {
    case JSON_NULL:
        return v_none();
    case JSON_FALSE:
    case JSON_TRUE:
        return v_bool(json->type == JSON_TRUE);
    case JSON_NUMBER:
        return number_of_json(vm, json);
    case JSON_STRING:
        return v_str(vm, json->text, F_CONTEXT);
    case JSON_ARRAY:
        return list_of_json(vm, json, depth + 1);
    case JSON_OBJECT:
    default:
        return dict_of_json(vm, json, depth + 1);
    }
}

static struct value list_of_json(struct vm *vm, const struct json *json, int depth)
{
    struct list *list = jinja_list_new(vm, json->n);

    if (depth > MOST_DEEP)
        jinja_too_much(vm, "depth");
    for (const struct json *child = json->child; child; child = child->next)
        list->items[list->n++] = convert(vm, child, depth);
    return jinja_v_list(list);
}

static struct value dict_of_json(struct vm *vm, const struct json *json, int depth)
{
    struct dict *dict = jinja_dict_new(vm, json->n);

    if (depth > MOST_DEEP)
        jinja_too_much(vm, "depth");
    for (const struct json *child = json->child; child; child = child->next)
        dict->entries[dict->n++] =
            (struct entry){v_str(vm, child->key, F_CONTEXT), convert(vm, child, depth), 0};
    return jinja_v_dict(dict);
}

struct value jinja_value_of_json(struct vm *vm, const struct json *json)
{
    return convert(vm, json, 0);
}

struct value jinja_value_copy(struct vm *vm, struct value v, int depth)
{
    if (depth > MOST_DEEP)
        jinja_too_much(vm, "depth");
    if (is_listy(v)) {
        struct list *list = jinja_list_new(vm, v.list->n);

        for (uint32_t i = 0; i < v.list->n; i++)
            list->items[list->n++] = jinja_value_copy(vm, v.list->items[i], depth + 1);
        v.list = list;
    } else if (v.type == V_DICT) {
        struct dict *dict = jinja_dict_new(vm, v.dict->n);

        for (uint32_t i = 0; i < v.dict->n; i++)
            jinja_dict_set(vm, dict, v.dict->entries[i].key,
                           jinja_value_copy(vm, v.dict->entries[i].value, depth + 1));
        v.dict = dict;
    }
    return v;
}
