/* Flat rows of JSON as fields. See json_scan.h.
 *
 * Rows of a log look alike: what stood around the values of the last few rows is kept as a shape, and
 * a row that has the same bytes there is read by comparing them. Any other row is read word by word,
 * from its beginning, and leaves its own shape. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/read/json_scan.h"

#define MOST_FIELDS    1024 /* more are not a row of numbers */
#define LONGEST_QUOTED 64   /* a longer string is no number */
#define SHAPES         4
#define SHAPE_BYTES    4096

/* What stands before a value, or between the last one and the end of the row. */
struct part {
    const char *text;
    size_t n;
    struct str key; /* in the text */
    int n_lines;    /* that begin in it */
};

struct json_shape {
    uint64_t number; /* 0: none */
    size_t n;
    struct part parts[JSON_SHAPE_FIELDS + 1];
    char bytes[SHAPE_BYTES];
    size_t n_bytes;
};

void json_fields_free(struct json_fields *fields)
{
    free(fields->items);
    free(fields->shapes);
    *fields = (struct json_fields){0};
}

/* ---- Fields ---- */

static bool make_room(struct json_fields *fields)
{
    if (fields->n < fields->capacity)
        return true;

    size_t capacity = fields->capacity ? fields->capacity * 2 : 16;
    struct json_field *grown = realloc(fields->items, capacity * sizeof *grown);

    if (!grown)
        return false;
    fields->items = grown;
    fields->capacity = capacity;
    return true;
}

/* Keys that differ in length, first or last byte mostly set different bits: a bit that is still
 * clear means a new key without a look at the others. */
static inline uint64_t key_bit(struct str key)
{
    unsigned mix = (unsigned)key.n * 5;

    if (key.n)
        mix += (unsigned char)key.p[0] + 3u * (unsigned char)key.p[key.n - 1] +
               7u * (unsigned char)key.p[key.n / 2];
    return UINT64_C(1) << (mix & 63);
}

/* The field to fill: a new one, or that of the same key before (the last of duplicates counts). */
static struct json_field *field_for(struct json_cursor *cursor, struct json_fields *fields,
                                    struct str key, uint64_t *seen)
{
    uint64_t bit = key_bit(key);

    if (*seen & bit)
        for (size_t i = 0; i < fields->n; i++)
            if (str_eq(fields->items[i].key, key)) {
                cursor->n_repairs++;
                return &fields->items[i];
            }
    *seen |= bit;
    if (!make_room(fields))
        return NULL;
    fields->items[fields->n].key = key;
    return &fields->items[fields->n++];
}

static void fill_field(struct json_field *field, const struct json_scalar *value)
{
    field->text = value->text;
    field->number = value->number;
    field->is_number = value->type == JSON_NUMBER;
    field->is_quoted = value->type == JSON_STRING;
    if (field->is_quoted && value->text.n <= LONGEST_QUOTED)
        field->is_number = number_parse_any(value->text, &field->number);
    if (!field->is_number)
        field->number = NAN;
}

/* ---- Rows of a shape that is known ---- */

static inline bool same_bytes(const char *a, const char *b, size_t n)
{
    uint64_t x, y;

    if (n < 8)
        return memcmp(a, b, n) == 0;
    for (size_t at = 0; at + 8 <= n; at += 8) {
        memcpy(&x, a + at, 8);
        memcpy(&y, b + at, 8);
        if (x != y)
            return false;
    }
    memcpy(&x, a + n - 8, 8);
    memcpy(&y, b + n - 8, 8);
    return x == y;
}

static inline bool pass_part(struct json_cursor *cursor, const struct part *part)
{
    if ((size_t)(cursor->end - cursor->p) < part->n ||
        !same_bytes(cursor->p, part->text, part->n))
        return false;
    cursor->p += part->n;
    cursor->line += part->n_lines;
    return true;
}

static inline bool is_scalar_at(const struct json_cursor *cursor)
{
    return cursor->p < cursor->end && *cursor->p != '{' && *cursor->p != '[';
}

/* A number that does not end at the end of the text; all else is left to json_scan_scalar. */
static inline bool scan_known_value(struct json_cursor *cursor, struct json_field *field)
{
    struct json_scalar value;
    bool is_integer;
    size_t n = number_prefix_json(cursor->p, cursor->end, &field->number, &is_integer);

    if (n && (cursor->is_final || cursor->end - cursor->p > (ptrdiff_t)n + 2)) {
        field->text = str_from(cursor->p, n);
        field->is_number = true;
        field->is_quoted = false;
        cursor->p += n;
        return true;
    }
    if (!is_scalar_at(cursor) || json_scan_scalar(cursor, &value) != OK)
        return false;
    fill_field(field, &value);
    return true;
}

static bool scan_known(struct json_cursor *cursor, struct json_fields *fields,
                       const struct json_shape *shape)
{
    const struct part *part = shape->parts;
    struct json_field *field = fields->items;

    for (size_t i = 0; i < shape->n; i++, part++, field++) {
        if (!pass_part(cursor, part) || !scan_known_value(cursor, field))
            return false;
        field->key = part->key;
    }
    if (!pass_part(cursor, part))
        return false;
    fields->n = shape->n;
    fields->shape = shape->number;
    return true;
}

/* The cursor stays where no shape fits. */
static bool scan_by_shape(struct json_cursor *cursor, struct json_fields *fields)
{
    struct json_cursor before = *cursor;

    for (size_t i = 0; fields->shapes && i < SHAPES; i++) {
        size_t at = (fields->at + i) % SHAPES;

        if (fields->shapes[at].number == 0)
            continue;
        if (scan_known(cursor, fields, &fields->shapes[at])) {
            fields->at = at;
            return true;
        }
        *cursor = before;
    }
    return false;
}

/* ---- Rows word by word ---- */

/* A shape while its row is read; NULL once it cannot be kept. */
struct learning {
    struct json_shape *shape;
    const char *from; /* of the part */
    int64_t line;
};

static struct learning begin_shape(const struct json_cursor *cursor, struct json_fields *fields)
{
    if (!fields->shapes)
        fields->shapes = calloc(SHAPES, sizeof *fields->shapes);
    struct json_shape *shape =
        fields->shapes ? &fields->shapes[fields->n_shapes % SHAPES] : NULL;

    if (shape) {
        shape->number = 0;
        shape->n = shape->n_bytes = 0;
    }
    return (struct learning){shape, cursor->p, cursor->line};
}

/* The part ends at the cursor; `key` is in it, or empty. */
static void learn_part(struct learning *learning, const struct json_cursor *cursor, struct str key)
{
    struct json_shape *shape = learning->shape;
    size_t n = (size_t)(cursor->p - learning->from);

    if (!shape)
        return;
    if (shape->n > JSON_SHAPE_FIELDS || n > SHAPE_BYTES - shape->n_bytes) {
        learning->shape = NULL;
        return;
    }
    char *text = shape->bytes + shape->n_bytes;
    memcpy(text, learning->from, n);
    shape->parts[shape->n++] =
        (struct part){.text = text,
                      .n = n,
                      .key = key.n ? str_from(text + (key.p - learning->from), key.n) : str_of(""),
                      .n_lines = (int)(cursor->line - learning->line)};
    shape->n_bytes += n;
}

static void end_shape(struct learning *learning, const struct json_cursor *cursor,
                      struct json_fields *fields)
{
    learn_part(learning, cursor, str_of(""));
    fields->shape = 0;
    if (!learning->shape || --learning->shape->n == 0 || learning->shape->n != fields->n)
        return;
    fields->at = fields->n_shapes % SHAPES;
    fields->shape = learning->shape->number = ++fields->n_shapes;
}

static int scan_field(struct json_cursor *cursor, struct json_fields *fields, uint64_t *seen,
                      struct learning *learning)
{
    struct json_scalar key, value;
    int rc = json_scan_string(cursor, &key);

    if (rc == OK)
        rc = json_skip_blanks(cursor);
    if (rc != OK)
        return rc;
    if (cursor->p == cursor->end)
        return json_broken_off(cursor, "an object");
    if (*cursor->p != ':')
        return json_fail(cursor, cursor->p, E_PARSE, "no ':' after a key");
    cursor->p++;
    rc = json_skip_blanks(cursor);
    if (rc != OK)
        return rc;
    if (cursor->p < cursor->end && !is_scalar_at(cursor))
        return 0;
    if (key.is_borrowed)
        learn_part(learning, cursor, key.text);
    else
        learning->shape = NULL;
    rc = json_scan_scalar(cursor, &value);
    if (rc != OK)
        return rc;
    learning->from = cursor->p;
    learning->line = cursor->line;
    if (fields->n == MOST_FIELDS)
        return 0;

    struct json_field *field = field_for(cursor, fields, key.text, seen);

    if (!field)
        return json_fail(cursor, cursor->p, E_NOMEM, "no memory for a row");
    fill_field(field, &value);
    return 1;
}

/* 1: the cursor is behind the row's end. */
static int pass_comma(struct json_cursor *cursor)
{
    int rc = json_skip_blanks(cursor);

    if (rc != OK)
        return rc;
    if (cursor->p == cursor->end)
        return json_broken_off(cursor, "an object");
    if (*cursor->p != '}' && *cursor->p != ',')
        return json_fail(cursor, cursor->p, E_PARSE, "no ',' or '}' after a value");
    if (*cursor->p++ == '}')
        return 1;
    return json_skip_blanks(cursor);
}

static int scan_words(struct json_cursor *cursor, struct json_fields *fields)
{
    struct learning learning = begin_shape(cursor, fields);
    uint64_t seen = 0;

    cursor->p++;

    int rc = json_skip_blanks(cursor);

    fields->n = 0;
    fields->shape = 0;
    if (rc == OK && cursor->p < cursor->end && *cursor->p == '}') {
        cursor->p++;
        return 1;
    }
    while (rc == OK) {
        if (cursor->p == cursor->end)
            return json_broken_off(cursor, "an object");
        if (*cursor->p != '"')
            return json_fail(cursor, cursor->p, E_PARSE, "expected a key in double quotes");
        rc = scan_field(cursor, fields, &seen, &learning);
        if (rc != 1)
            return rc;
        rc = pass_comma(cursor);
        if (rc == 1)
            end_shape(&learning, cursor, fields);
    }
    return rc;
}

int json_scan_flat(struct json_cursor *cursor, struct json_fields *fields)
{
    return scan_by_shape(cursor, fields) ? 1 : scan_words(cursor, fields);
}
