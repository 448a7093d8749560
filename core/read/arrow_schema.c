/* The schema message of Arrow as a tree of fields, and what their values mean. Of types that are not
 * read the buffers are counted, so that the columns behind them are found. See arrow_parts.h. */
#include "core/base/unicode.h"
#include "core/read/arrow_parts.h"

#define NAME_BYTES 64

enum arrow_type {
    TYPE_NULL = 1,
    TYPE_INT = 2,
    TYPE_FLOAT = 3,
    TYPE_BINARY = 4,
    TYPE_UTF8 = 5,
    TYPE_BOOL = 6,
    TYPE_DECIMAL = 7,
    TYPE_DATE = 8,
    TYPE_TIME = 9,
    TYPE_TIMESTAMP = 10,
    TYPE_INTERVAL = 11,
    TYPE_LIST = 12,
    TYPE_STRUCT = 13,
    TYPE_UNION = 14,
    TYPE_FIXED_BINARY = 15,
    TYPE_FIXED_LIST = 16,
    TYPE_MAP = 17,
    TYPE_DURATION = 18,
    TYPE_LARGE_BINARY = 19,
    TYPE_LARGE_UTF8 = 20,
    TYPE_LARGE_LIST = 21,
    TYPE_RUNS = 22,
    TYPE_BINARY_VIEW = 23,
    TYPE_UTF8_VIEW = 24,
    TYPE_LIST_VIEW = 25,
    TYPE_LARGE_LIST_VIEW = 26
};

struct reading {
    struct arrow_schema *schema;
    struct table *table;
    const char *wrong;
    bool is_old; /* metadata version 4: unions have a validity buffer */
};

/* ---- Types ---- */

static void whole_number(struct arrow_field *field, unsigned bits, bool is_signed)
{
    field->kind = ARROW_FIXED;
    field->width = bits / 8;
    field->is_signed = is_signed;
    field->value.kind = is_signed ? VALUE_INT : VALUE_UINT;
    field->value.bits = (int)bits;
}

static void set_int(struct arrow_field *field, const struct flat_table *type)
{
    uint64_t bits = flat_number(type, 4, 4, 0);

    if (bits == 8 || bits == 16 || bits == 32 || bits == 64)
        whole_number(field, (unsigned)bits, flat_number(type, 6, 1, 0) != 0);
    else
        field->why = "whole numbers of a width that cannot be";
}

static void set_float(struct arrow_field *field, const struct flat_table *type)
{
    static const int64_t WIDTHS[] = {2, 4, 8};
    uint64_t precision = flat_number(type, 4, 2, 0);

    if (precision > 2) {
        field->why = "floats of a precision that cannot be";
        return;
    }
    field->kind = ARROW_FIXED;
    field->width = WIDTHS[precision];
    field->is_float = precision > 0;
    field->value.kind = precision > 0 ? VALUE_FLOAT : VALUE_HALF;
}

static void set_decimal(struct arrow_field *field, const struct flat_table *type)
{
    int64_t bits = flat_signed(type, 8, 4, 128), scale = flat_signed(type, 6, 4, 0);
    int64_t precision = flat_signed(type, 4, 4, 0);

    if ((bits != 32 && bits != 64 && bits != 128 && bits != 256) || scale < 0 || scale > 76) {
        field->n_plain = 2;
        field->why = "decimals of this width or scale";
        return;
    }
    field->kind = ARROW_FIXED;
    field->width = bits / 8;
    field->value = (struct value_type){.kind = VALUE_DECIMAL,
                                       .scale = (int)scale,
                                       .precision = precision > 0 && precision < 100 ? (int)precision
                                                                                     : 100,
                                       .is_bytes = true,
                                       .is_little_endian = true};
}

static void set_moment(struct arrow_field *field, int type_id, const struct flat_table *type)
{
    static const int64_t UNITS[] = {1, 1000, 1000000, 1000000000};
    uint64_t unit = flat_number(type, 4, 2, type_id == TYPE_TIME ? 1 : 0);
    unsigned bits = type_id == TYPE_TIME ? (unsigned)flat_number(type, 6, 4, 32) : 64;

    if (unit > 3 || (bits != 32 && bits != 64)) {
        field->n_plain = 2;
        field->why = "times of a unit that cannot be";
        return;
    }
    whole_number(field, bits, true);
    if (type_id == TYPE_DURATION)
        return;
    field->value.kind = type_id == TYPE_TIME ? VALUE_TIME : VALUE_TIMESTAMP;
    field->value.units_per_second = UNITS[unit];
    field->value.is_utc = type_id == TYPE_TIMESTAMP && flat_text(type, 6).n > 0;
}

static void set_date(struct arrow_field *field, const struct flat_table *type)
{
    field->is_ms = flat_number(type, 4, 2, 1) != 0;
    whole_number(field, field->is_ms ? 64 : 32, true);
    field->value.kind = VALUE_DATE;
}

static void set_fixed(struct arrow_field *field, enum arrow_kind kind, int64_t width)
{
    field->kind = kind;
    field->width = width;
    field->value.kind = VALUE_BYTES;
    if (width < 0)
        field->why = "values of a negative width";
}

static void set_text(struct arrow_field *field, enum arrow_kind kind, bool is_text, int64_t width)
{
    field->kind = kind;
    field->width = width;
    field->value.kind = is_text ? VALUE_TEXT : VALUE_BYTES;
}

/* What cannot be read, with the number of its own buffers. */
static void set_other(struct arrow_field *field, const char *what, unsigned n_buffers)
{
    field->kind = ARROW_OTHER;
    field->why = what;
    field->n_plain = n_buffers;
}

static void set_nested(const struct reading *reading, struct arrow_field *field, int type_id,
                       const struct flat_table *type)
{
    bool is_dense = flat_number(type, 4, 2, 0) == 1;

    switch (type_id) {
    case TYPE_LIST:
    case TYPE_LARGE_LIST:
        field->kind = ARROW_LIST;
        field->width = type_id == TYPE_LIST ? 4 : 8;
        return;
    case TYPE_MAP:
        field->kind = ARROW_MAP;
        field->width = 4;
        return;
    case TYPE_FIXED_LIST:
        set_fixed(field, ARROW_FIXED_LIST, flat_signed(type, 4, 4, 0));
        return;
    case TYPE_STRUCT:
        field->kind = ARROW_STRUCT;
        return;
    case TYPE_UNION:
        set_other(field, "a union", (is_dense ? 2 : 1) + (reading->is_old ? 1 : 0));
        return;
    case TYPE_RUNS:
        set_other(field, "run ends", 0);
        return;
    case TYPE_LIST_VIEW:
    case TYPE_LARGE_LIST_VIEW:
        set_other(field, "list views", 3);
        return;
    default:
        set_other(field, "a type that is not known", 0);
    }
}

static void set_type(const struct reading *reading, struct arrow_field *field, int type_id,
                     const struct flat_table *type)
{
    switch (type_id) {
    case TYPE_NULL:
        field->kind = ARROW_NULL;
        return;
    case TYPE_BOOL:
        field->kind = ARROW_BOOL;
        field->value.kind = VALUE_BOOL;
        return;
    case TYPE_INT:
        set_int(field, type);
        return;
    case TYPE_FLOAT:
        set_float(field, type);
        return;
    case TYPE_DECIMAL:
        set_decimal(field, type);
        return;
    case TYPE_DATE:
        set_date(field, type);
        return;
    case TYPE_TIME:
    case TYPE_TIMESTAMP:
    case TYPE_DURATION:
        set_moment(field, type_id, type);
        return;
    case TYPE_INTERVAL:
        set_other(field, "intervals", 2);
        return;
    case TYPE_FIXED_BINARY:
        set_fixed(field, ARROW_FIXED, flat_signed(type, 4, 4, 0));
        return;
    case TYPE_UTF8:
    case TYPE_BINARY:
        set_text(field, ARROW_VARYING, type_id == TYPE_UTF8, 4);
        return;
    case TYPE_LARGE_UTF8:
    case TYPE_LARGE_BINARY:
        set_text(field, ARROW_VARYING, type_id == TYPE_LARGE_UTF8, 8);
        return;
    case TYPE_UTF8_VIEW:
    case TYPE_BINARY_VIEW:
        set_text(field, ARROW_VIEW, type_id == TYPE_UTF8_VIEW, 16);
        return;
    default:
        set_nested(reading, field, type_id, type);
    }
}

static bool has_extension(const struct flat_table *table, const char *name)
{
    struct flat_vector pairs = flat_vector(table, 16, 4);
    struct flat_table pair;

    for (size_t i = 0; flat_item(&pairs, i, &pair); i++)
        if (str_is(flat_text(&pair, 4), "ARROW:extension:name") && str_is(flat_text(&pair, 6), name))
            return true;
    return false;
}

/* ---- The tree ---- */

static struct arrow_field *read_field(struct reading *reading, const struct flat_table *table,
                                      int depth);

static void read_children(struct reading *reading, const struct flat_table *table,
                          struct arrow_field *field, int depth)
{
    struct flat_vector children = flat_vector(table, 14, 4);
    struct arrow_field **last = &field->child;
    struct flat_table child;

    for (size_t i = 0; i < children.n && !reading->wrong; i++) {
        if (!flat_item(&children, i, &child)) {
            reading->wrong = "a column that is not there";
            return;
        }
        *last = read_field(reading, &child, depth + 1);
        if (!*last)
            return;
        last = &(*last)->next;
        field->n_children++;
    }
}

static const char *wrong_children(const struct arrow_field *field)
{
    const struct arrow_field *child = field->child;
    bool is_list = field->kind == ARROW_LIST || field->kind == ARROW_FIXED_LIST;

    if (is_list && field->n_children != 1)
        return "a list without a type of its items";
    if (field->kind == ARROW_MAP &&
        (field->n_children != 1 || child->kind != ARROW_STRUCT || child->n_children != 2))
        return "a map without keys and values";
    return NULL;
}

/* What cannot be read below a column cannot be read in it. */
static const char *why_not(const struct arrow_field *field)
{
    const char *why = field->why;

    for (const struct arrow_field *child = field->child; child && !why; child = child->next)
        why = why_not(child);
    if (!why && field->dictionary)
        why = why_not(field->dictionary->type);
    return why;
}

static struct arrow_dictionary *dictionary_of(struct reading *reading, int64_t id,
                                              const struct arrow_field *type)
{
    struct arrow_dictionary **place = &reading->schema->dictionaries;

    while (*place && (*place)->id != id)
        place = &(*place)->next;
    if (*place)
        return *place;
    struct arrow_dictionary *dictionary = arena_alloc(reading->table->arena, sizeof *dictionary);
    struct arrow_field *values = arena_alloc(reading->table->arena, sizeof *values);
    if (!dictionary || !values) {
        reading->wrong = "it does not fit into its memory";
        return NULL;
    }
    *values = *type;
    values->next = NULL;
    *dictionary = (struct arrow_dictionary){.id = id, .type = values};
    *place = dictionary;
    return dictionary;
}

/* The field becomes one of indices; its type goes to the dictionary. */
static void encode(struct reading *reading, const struct flat_table *table,
                   struct arrow_field *field)
{
    struct flat_table encoding, index;
    struct arrow_dictionary *dictionary;

    if (!flat_child(table, 12, &encoding))
        return;
    dictionary = dictionary_of(reading, flat_signed(&encoding, 4, 8, 0), field);
    field->dictionary = dictionary;
    field->child = NULL;
    field->n_children = 0;
    field->why = NULL;
    whole_number(field, 32, true);
    if (flat_child(&encoding, 6, &index))
        set_int(field, &index);
}

static struct arrow_field *read_field(struct reading *reading, const struct flat_table *table,
                                      int depth)
{
    struct arrow_field *field = arena_alloc(reading->table->arena, sizeof *field);
    struct flat_table type = {0};
    int type_id = (int)flat_number(table, 8, 1, 0);

    if (depth > TABLE_MAX_DEPTH || reading->schema->n_all++ >= TABLE_MAX_COLUMNS)
        reading->wrong = "more columns, or deeper ones, than are read";
    else if (!field)
        reading->wrong = "it does not fit into its memory";
    if (reading->wrong)
        return NULL;
    field->is_wanted = true;
    field->name.text = arena_str(reading->table->arena, flat_text(table, 4));
    (void)flat_child(table, 10, &type);
    set_type(reading, field, type_id, &type);
    if (field->width == 16 && field->kind == ARROW_FIXED && type_id == TYPE_FIXED_BINARY &&
        has_extension(table, "arrow.uuid"))
        field->value.kind = VALUE_UUID;
    read_children(reading, table, field, depth);
    if (!reading->wrong)
        reading->wrong = wrong_children(field);
    encode(reading, table, field);
    return reading->wrong ? NULL : field;
}

static void note_columns(const struct arrow_schema *schema, struct table *table)
{
    for (struct arrow_field *field = schema->fields; field; field = field->next) {
        const char *why = why_not(field);
        struct str name = unicode_cut(field->name.text, NAME_BYTES);

        if (!why)
            continue;
        field->why = why;
        field->is_wanted = false;
        table_note(table, "column %.*s is left out: it holds %s, which is not read",
                   (int)name.n, name.p, why);
    }
}

int arrow_schema_read(struct arrow_schema *schema, const struct flat_table *message,
                      struct table *table, struct error *err)
{
    struct reading reading = {.schema = schema, .table = table};
    struct flat_vector fields = flat_vector(message, 6, 4);
    struct arrow_field **last = &schema->fields;
    struct flat_table field;

    if (flat_number(message, 4, 2, 0) != 0)
        return error_set(err, E_UNSUPPORTED, "an Arrow file of big-endian numbers");
    for (size_t i = 0; i < fields.n && !reading.wrong; i++) {
        if (!flat_item(&fields, i, &field)) {
            reading.wrong = "a column that is not there";
            break;
        }
        *last = read_field(&reading, &field, 0);
        if (!*last)
            break;
        last = &(*last)->next;
        schema->n_fields++;
    }
    if (reading.wrong)
        return error_set(err, E_PARSE, "the schema of an Arrow file: %s", reading.wrong);
    note_columns(schema, table);
    return arena_failed(table->arena) ? error_set(err, E_NOMEM, "no memory for a schema") : OK;
}

/* ---- The form of a row ---- */

bool arrow_has_text_keys(const struct arrow_field *map)
{
    const struct arrow_field *key = map->child->child;

    return (key->dictionary ? key->dictionary->type : key)->value.kind == VALUE_TEXT;
}

static void example_of(const struct arrow_field *field, struct arena *arena, struct json *out);

void arrow_example(const struct arrow_field *first, struct arena *arena, struct json *out)
{
    struct json **last = &out->child;

    *out = (struct json){.type = JSON_OBJECT};
    for (const struct arrow_field *field = first; field; field = field->next) {
        struct json *child = arena_alloc(arena, sizeof *child);

        if (!child)
            return;
        example_of(field, arena, child);
        child->key = field->name.text;
        *last = child;
        last = &child->next;
        out->n++;
    }
}

static void example_of(const struct arrow_field *field, struct arena *arena, struct json *out)
{
    if (field->dictionary)
        field = field->dictionary->type;
    *out = (struct json){.type = JSON_NULL};
    if (field->kind == ARROW_STRUCT) {
        arrow_example(field->child, arena, out);
    } else if (field->kind == ARROW_MAP) {
        out->type = arrow_has_text_keys(field) ? JSON_OBJECT : JSON_ARRAY;
    } else if (field->kind == ARROW_LIST || field->kind == ARROW_FIXED_LIST) {
        out->type = JSON_ARRAY;
        out->child = arena_alloc(arena, sizeof *out->child);
        out->n = out->child != NULL;
        if (out->child)
            example_of(field->child, arena, out->child);
    } else if (field->kind != ARROW_OTHER) {
        value_example(&field->value, out);
    }
}
