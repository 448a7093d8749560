/* The schema of a Parquet file as a tree with levels, and what the values of its leaves mean. See
 * parquet_parts.h. */
#include <stdio.h>
#include <stdlib.h>

#include "core/read/parquet_parts.h"

enum repetition { REQUIRED, OPTIONAL, REPEATED };

/* Names of both ways to say what a value means: the older one and the union that replaced it. */
enum converted {
    CONVERTED_NONE = -1,
    CONVERTED_UTF8 = 0,
    CONVERTED_MAP = 1,
    CONVERTED_MAP_KEY_VALUE = 2,
    CONVERTED_LIST = 3,
    CONVERTED_ENUM = 4,
    CONVERTED_DECIMAL = 5,
    CONVERTED_DATE = 6,
    CONVERTED_TIME_MILLIS = 7,
    CONVERTED_TIME_MICROS = 8,
    CONVERTED_TIMESTAMP_MILLIS = 9,
    CONVERTED_TIMESTAMP_MICROS = 10,
    CONVERTED_UINT_8 = 11,
    CONVERTED_UINT_64 = 14,
    CONVERTED_JSON = 19
};

enum logical {
    LOGICAL_NONE = 0,
    LOGICAL_STRING = 1,
    LOGICAL_MAP = 2,
    LOGICAL_LIST = 3,
    LOGICAL_ENUM = 4,
    LOGICAL_DECIMAL = 5,
    LOGICAL_DATE = 6,
    LOGICAL_TIME = 7,
    LOGICAL_TIMESTAMP = 8,
    LOGICAL_INTEGER = 10,
    LOGICAL_UNKNOWN = 11,
    LOGICAL_JSON = 12,
    LOGICAL_UUID = 14,
    LOGICAL_FLOAT16 = 15
};

struct element {
    int64_t type, length, repetition, n_children, converted, scale, precision;
    struct str name;
    int64_t logical;
    int64_t unit; /* of times: 1 ms, 2 µs, 3 ns */
    bool is_utc, is_signed;
    int64_t bits;
};

struct reading {
    struct parquet_footer *footer;
    struct element *elements;
    size_t n, at;
    struct arena *arena;
    const char *wrong;
};

/* ---- Elements ---- */

static void read_unit(struct thrift *in, struct element *element)
{
    struct thrift_field field = {0};

    while (thrift_next(in, &field)) {
        element->unit = field.id;
        thrift_skip(in, &field);
    }
}

/* The struct inside the union; the ids of its fields differ by kind. */
static void read_logical_parts(struct thrift *in, struct element *element)
{
    struct thrift_field field = {0};
    bool is_time = element->logical == LOGICAL_TIME || element->logical == LOGICAL_TIMESTAMP;

    while (thrift_next(in, &field)) {
        if (element->logical == LOGICAL_DECIMAL && field.id == 1)
            element->scale = thrift_int(in, &field);
        else if (element->logical == LOGICAL_DECIMAL && field.id == 2)
            element->precision = thrift_int(in, &field);
        else if (element->logical == LOGICAL_INTEGER && field.id == 1)
            element->bits = thrift_int(in, &field);
        else if (element->logical == LOGICAL_INTEGER && field.id == 2)
            element->is_signed = thrift_bool(in, &field);
        else if (is_time && field.id == 1)
            element->is_utc = thrift_bool(in, &field);
        else if (is_time && field.id == 2 && thrift_struct(in, &field))
            read_unit(in, element);
        else
            thrift_skip(in, &field);
    }
}

static void read_logical(struct thrift *in, struct element *element)
{
    struct thrift_field field = {0};

    while (thrift_next(in, &field)) {
        element->logical = field.id;
        if (thrift_struct(in, &field))
            read_logical_parts(in, element);
    }
}

static void read_element(struct thrift *in, struct element *element)
{
    struct thrift_field field = {0};

    *element = (struct element){.type = -1, .converted = CONVERTED_NONE, .is_signed = true};
    while (thrift_next(in, &field)) {
        switch (field.id) {
        case 1:
            element->type = thrift_int(in, &field);
            break;
        case 2:
            element->length = thrift_int(in, &field);
            break;
        case 3:
            element->repetition = thrift_int(in, &field);
            break;
        case 4:
            element->name = thrift_bytes(in, &field);
            break;
        case 5:
            element->n_children = thrift_int(in, &field);
            break;
        case 6:
            element->converted = thrift_int(in, &field);
            break;
        case 7:
            element->scale = thrift_int(in, &field);
            break;
        case 8:
            element->precision = thrift_int(in, &field);
            break;
        case 10:
            if (thrift_struct(in, &field))
                read_logical(in, element);
            break;
        default:
            thrift_skip(in, &field);
        }
    }
}

/* ---- What the values of a leaf mean ---- */

static const int64_t UNITS[] = {[1] = 1000, [2] = 1000000, [3] = 1000000000};

static enum value_kind plain_kind(enum parquet_type type)
{
    static const enum value_kind KINDS[] = {
        [PARQUET_BOOLEAN] = VALUE_BOOL,   [PARQUET_INT32] = VALUE_INT,
        [PARQUET_INT64] = VALUE_INT,      [PARQUET_INT96] = VALUE_TIMESTAMP,
        [PARQUET_FLOAT] = VALUE_FLOAT,    [PARQUET_DOUBLE] = VALUE_FLOAT,
        [PARQUET_BYTE_ARRAY] = VALUE_BYTES, [PARQUET_FIXED] = VALUE_BYTES};

    return KINDS[type];
}

static bool is_whole(enum parquet_type type)
{
    return type == PARQUET_INT32 || type == PARQUET_INT64;
}

static bool is_bytes(enum parquet_type type)
{
    return type == PARQUET_BYTE_ARRAY || type == PARQUET_FIXED;
}

/* The older names of times: milliseconds and microseconds of an instant. */
static int64_t logical_of(struct element *element)
{
    if (element->logical)
        return element->logical;
    if (element->converted >= CONVERTED_TIME_MILLIS &&
        element->converted <= CONVERTED_TIMESTAMP_MICROS) {
        bool is_time = element->converted <= CONVERTED_TIME_MICROS;
        element->unit = (element->converted - CONVERTED_TIME_MILLIS) % 2 + 1;
        element->is_utc = !is_time;
        return is_time ? LOGICAL_TIME : LOGICAL_TIMESTAMP;
    }
    if (element->converted >= CONVERTED_UINT_8 && element->converted <= CONVERTED_UINT_64) {
        element->bits = 8 << (element->converted - CONVERTED_UINT_8);
        element->is_signed = false;
        return LOGICAL_INTEGER;
    }
    switch (element->converted) {
    case CONVERTED_UTF8:
        return LOGICAL_STRING;
    case CONVERTED_ENUM:
        return LOGICAL_ENUM;
    case CONVERTED_JSON:
        return LOGICAL_JSON;
    case CONVERTED_DECIMAL:
        return LOGICAL_DECIMAL;
    case CONVERTED_DATE:
        return LOGICAL_DATE;
    default:
        return LOGICAL_NONE;
    }
}

static void set_value(struct leaf_type *leaf, struct element *element)
{
    struct value_type *value = &leaf->value;
    int64_t logical = logical_of(element);
    bool has_unit = element->unit >= 1 && element->unit <= 3;

    *value = (struct value_type){.kind = plain_kind(leaf->type), .units_per_second = UNITS[3]};
    if (is_bytes(leaf->type) &&
        (logical == LOGICAL_STRING || logical == LOGICAL_ENUM || logical == LOGICAL_JSON))
        value->kind = VALUE_TEXT;
    if (logical == LOGICAL_UNKNOWN)
        value->kind = VALUE_NULL;
    if (logical == LOGICAL_FLOAT16 && leaf->width == 2)
        value->kind = VALUE_HALF;
    if (logical == LOGICAL_UUID && leaf->width == 16)
        value->kind = VALUE_UUID;
    if (logical == LOGICAL_DATE && leaf->type == PARQUET_INT32)
        value->kind = VALUE_DATE;
    if (logical == LOGICAL_INTEGER && is_whole(leaf->type) && !element->is_signed) {
        value->kind = VALUE_UINT;
        value->bits = element->bits >= 1 && element->bits <= 64 ? (int)element->bits : 64;
    }
    if ((logical == LOGICAL_TIME || logical == LOGICAL_TIMESTAMP) && has_unit &&
        is_whole(leaf->type)) {
        value->kind = logical == LOGICAL_TIME ? VALUE_TIME : VALUE_TIMESTAMP;
        value->units_per_second = UNITS[element->unit];
        value->is_utc = element->is_utc && logical == LOGICAL_TIMESTAMP;
    }
    if (logical == LOGICAL_DECIMAL && (is_whole(leaf->type) || is_bytes(leaf->type)) &&
        element->scale >= 0 && element->scale <= 76 && leaf->width <= VALUE_DECIMAL_BYTES) {
        value->kind = VALUE_DECIMAL;
        value->scale = (int)element->scale;
        value->precision = element->precision > 0 && element->precision < 100
                               ? (int)element->precision
                               : 100;
        value->is_bytes = is_bytes(leaf->type);
    }
}

static size_t width_of(const struct element *element)
{
    static const size_t WIDTHS[] = {
        [PARQUET_INT32] = 4, [PARQUET_INT64] = 8,  [PARQUET_INT96] = 12,
        [PARQUET_FLOAT] = 4, [PARQUET_DOUBLE] = 8, [PARQUET_BYTE_ARRAY] = 0};

    return element->type == PARQUET_FIXED ? (size_t)element->length : WIDTHS[element->type];
}

/* ---- The tree ---- */

struct place {
    unsigned def, rep;
    int depth;
    struct str path;
};

static struct node *wrong(struct reading *reading, const char *what)
{
    if (!reading->wrong)
        reading->wrong = what;
    return NULL;
}

static struct node *new_node(struct reading *reading, const struct element *element,
                             enum node_kind kind, unsigned def)
{
    struct node *node = arena_alloc(reading->arena, sizeof *node);

    if (!node)
        return wrong(reading, "it does not fit into its memory");
    *node = (struct node){.kind = kind,
                          .name = {.text = arena_str(reading->arena, element->name)},
                          .def = def,
                          .leaf = reading->footer->n_leaves,
                          .is_wanted = true};
    return node;
}

static struct node *read_leaf(struct reading *reading, struct element *element,
                              const struct place *place)
{
    struct parquet_footer *footer = reading->footer;
    struct node *node = new_node(reading, element, NODE_LEAF, place->def);

    if (element->type < PARQUET_BOOLEAN || element->type > PARQUET_FIXED || element->length < 0 ||
        element->length > INT32_MAX)
        return wrong(reading, "a column of no type that is known");
    if (!node)
        return NULL;
    struct leaf_type *leaf = &footer->leaves[footer->n_leaves++];
    *leaf = (struct leaf_type){.name = arena_str(reading->arena, place->path),
                               .type = (enum parquet_type)element->type,
                               .width = width_of(element),
                               .max_def = place->def,
                               .max_rep = place->rep};
    set_value(leaf, element);
    node->n_leaves = 1;
    return node;
}

static struct node *read_node(struct reading *reading, const struct place *parent);

static void add_child(struct reading *reading, struct node *node, const struct place *place)
{
    struct node **last = &node->child;
    struct node *child = read_node(reading, place);

    if (!child)
        return;
    while (*last)
        last = &(*last)->next;
    *last = child;
    node->n_children++;
}

static struct node *read_struct(struct reading *reading, const struct element *element,
                                const struct place *place)
{
    struct node *node = new_node(reading, element, NODE_STRUCT, place->def);
    struct node **last = node ? &node->child : NULL;

    for (int64_t i = 0; node && i < element->n_children && !reading->wrong; i++) {
        struct node *child = read_node(reading, place);

        if (!child)
            return NULL;
        *last = child;
        last = &child->next;
        node->n_children++;
    }
    if (node)
        node->n_leaves = reading->footer->n_leaves - node->leaf;
    return node;
}

static bool is_annotated(const struct element *element)
{
    return element->logical == LOGICAL_LIST || element->logical == LOGICAL_MAP ||
           element->converted == CONVERTED_LIST || element->converted == CONVERTED_MAP ||
           element->converted == CONVERTED_MAP_KEY_VALUE;
}

/* Of a list that is a group with a repeated child: is that child a level of its own, or the item? */
static bool is_middle(const struct element *list, const struct element *repeated)
{
    char tuple[256];

    if (repeated->n_children != 1 || is_annotated(repeated) || str_is(repeated->name, "array"))
        return false;
    (void)snprintf(tuple, sizeof tuple, "%.*s_tuple", (int)str_first(list->name, 200).n,
                   list->name.p);
    return !str_is(repeated->name, tuple);
}

/* What is repeated without a level between: its own place is that of the item. */
static struct node *read_item(struct reading *reading, struct element *element,
                              const struct place *place)
{
    return element->n_children ? read_struct(reading, element, place)
                               : read_leaf(reading, element, place);
}

static struct node *finish_list(struct reading *reading, struct node *node,
                                const struct place *item)
{
    node->item_def = item->def;
    node->rep = item->rep;
    node->n_leaves = reading->footer->n_leaves - node->leaf;
    return node->child ? node : NULL;
}

static struct node *read_list(struct reading *reading, struct element *list,
                              const struct place *place)
{
    struct node *node = new_node(reading, list, NODE_LIST, place->def);
    struct element *repeated = &reading->elements[reading->at++];
    struct place item = *place;

    item.def++;
    item.rep++;
    if (!node)
        return NULL;
    if (is_middle(list, repeated))
        add_child(reading, node, &item);
    else
        node->child = read_item(reading, repeated, &item);
    return finish_list(reading, node, &item);
}

static struct node *read_map(struct reading *reading, const struct element *map,
                             const struct place *place)
{
    struct node *node = new_node(reading, map, NODE_MAP, place->def);
    int64_t n = reading->elements[reading->at++].n_children;
    struct place item = *place;

    item.def++;
    item.rep++;
    for (int64_t i = 0; node && i < n && !reading->wrong; i++)
        add_child(reading, node, &item);
    return node ? finish_list(reading, node, &item) : NULL;
}

/* A group whose one child is repeated. */
static bool has_repeated(const struct reading *reading, const struct element *element)
{
    return element->n_children == 1 && reading->at < reading->n &&
           reading->elements[reading->at].repetition == REPEATED;
}

static struct node *read_group(struct reading *reading, struct element *element,
                               const struct place *place)
{
    bool is_list = element->logical == LOGICAL_LIST || element->converted == CONVERTED_LIST;
    bool is_map = element->logical == LOGICAL_MAP || element->converted == CONVERTED_MAP ||
                  element->converted == CONVERTED_MAP_KEY_VALUE;

    if (has_repeated(reading, element)) {
        int64_t n = reading->elements[reading->at].n_children;

        if (is_map && (n == 1 || n == 2))
            return read_map(reading, element, place);
        if (is_list)
            return read_list(reading, element, place);
    }
    return read_struct(reading, element, place);
}

static struct str path_of(struct reading *reading, struct str parent, struct str name)
{
    if (parent.n == 0)
        return name;
    return str_of(arena_printf(reading->arena, "%.*s.%.*s", (int)str_first(parent, 200).n,
                               parent.p, (int)str_first(name, 200).n, name.p));
}

/* The element at hand with all below it. */
static struct node *read_node(struct reading *reading, const struct place *parent)
{
    if (reading->at >= reading->n)
        return wrong(reading, "it has fewer columns than its groups say");
    struct element *element = &reading->elements[reading->at++];
    struct place place = *parent;

    place.path = path_of(reading, parent->path, element->name);
    if (++place.depth > TABLE_MAX_DEPTH)
        return wrong(reading, "it is nested too deep");
    if (element->repetition < REQUIRED || element->repetition > REPEATED ||
        element->n_children < 0)
        return wrong(reading, "an element that is neither a column nor a group");
    place.def += element->repetition != REQUIRED;
    place.rep += element->repetition == REPEATED;
    if (element->repetition != REPEATED)
        return element->n_children ? read_group(reading, element, &place)
                                   : read_leaf(reading, element, &place);
    /* Repeated without a list around it: a list that is never null. */
    struct node *node = new_node(reading, element, NODE_LIST, parent->def);
    if (!node)
        return NULL;
    node->child = element->n_children ? read_group(reading, element, &place)
                                      : read_leaf(reading, element, &place);
    return finish_list(reading, node, &place);
}

static int read_tree(struct reading *reading, struct error *err)
{
    struct parquet_footer *footer = reading->footer;
    struct place root = {0};

    if (reading->n == 0)
        return error_set(err, E_PARSE, "the footer of a Parquet file without a schema");
    int64_t n = reading->elements[reading->at++].n_children;
    struct node **last = &footer->columns;
    for (int64_t i = 0; i < n && !reading->wrong; i++) {
        *last = read_node(reading, &root);
        if (!*last)
            break;
        last = &(*last)->next;
        footer->n_columns++;
    }
    if (!reading->wrong && reading->at != reading->n)
        reading->wrong = "it has more columns than its groups say";
    if (!reading->wrong && footer->n_columns != (size_t)n)
        reading->wrong = "a list of nothing";
    if (reading->wrong)
        return error_set(err, E_PARSE, "the schema of a Parquet file: %s", reading->wrong);
    return OK;
}

int parquet_schema_read(struct parquet_footer *footer, struct thrift *in,
                        const struct thrift_field *list, struct arena *arena, struct error *err)
{
    struct reading reading = {.footer = footer, .arena = arena};
    int rc = OK;

    reading.n = thrift_list(in, list, THRIFT_STRUCT);
    if (reading.n > 2 * (size_t)TABLE_MAX_COLUMNS)
        return error_set(err, E_LIMIT, "a schema of %zu columns and groups", reading.n);
    reading.elements = calloc(reading.n + 1, sizeof *reading.elements);
    footer->leaves = arena_array(arena, reading.n + 1, sizeof *footer->leaves);
    if (!reading.elements || !footer->leaves)
        rc = error_set(err, E_NOMEM, "no memory for a schema");
    for (size_t i = 0; rc == OK && i < reading.n; i++)
        read_element(in, &reading.elements[i]);
    if (rc == OK && !in->wrong)
        rc = read_tree(&reading, err);
    free(reading.elements);
    return rc;
}
