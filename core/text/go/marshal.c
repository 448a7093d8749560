/* JSON as Go's encoding/json marshals it: keys of maps sorted, fields of structs in their order, <, >
 * and & escaped, numbers as JavaScript writes them. */
#include <math.h>
#include <stdio.h>

#include "core/base/unicode.h"
#include "core/text/go/go_parts.h"

static bool put_value(struct go_run *run, const struct go_value *value, struct buf *out, int depth);

/* ---- texts ---- */

static void put_character(struct buf *out, struct str bytes, int32_t c)
{
    static const char LETTERS[] = "btn?fr"; /* of 8 … 13 */

    if (c == '"' || c == '\\') {
        buf_putc(out, '\\');
        buf_putc(out, (char)c);
    } else if (c >= 8 && c <= 13 && c != 11) {
        buf_putc(out, '\\');
        buf_putc(out, LETTERS[c - 8]);
    } else if ((c >= 0 && c < ' ') || c == '<' || c == '>' || c == '&' || c == 0x2028 ||
               c == 0x2029) {
        buf_printf(out, "\\u%04x", (unsigned)c);
    } else if (c < 0) {
        buf_puts(out, "\\ufffd");
    } else {
        buf_str(out, bytes);
    }
}

static void put_text(struct buf *out, struct str text)
{
    buf_putc(out, '"');
    while (text.n > 0) {
        int32_t c;
        size_t n = unicode_next(text, &c);

        put_character(out, str_first(text, n), c);
        text = str_skip(text, n);
    }
    buf_putc(out, '"');
}

/* ---- numbers ---- */

/* Plain between 1e-6 and 1e21, else with an exponent without leading zeros. */
static void put_float(struct buf *out, double value)
{
    double size = fabs(value);
    char digits[32];
    int power;
    size_t n = go_shortest_digits(size, digits, &power);

    if (signbit(value))
        buf_putc(out, '-');
    if (size == 0 || (size >= 1e-6 && size < 1e21)) {
        go_put_plain(out, digits, n, power);
        return;
    }
    buf_putc(out, digits[0]);
    if (n > 1)
        buf_putc(out, '.');
    buf_add(out, digits + 1, n - 1);
    buf_printf(out, "e%+d", power - 1);
}

/* ---- what holds others ---- */

static bool put_list(struct go_run *run, const struct go_value *list, struct buf *out, int depth)
{
    bool is_good = true;

    if (list->class && list->class->form == GO_FORM_TYPES && list->n == 1)
        return put_value(run, &list->items[0], out, depth + 1);
    buf_putc(out, '[');
    for (size_t i = 0; i < list->n && is_good; i++) {
        if (i > 0)
            buf_putc(out, ',');
        is_good = put_value(run, &list->items[i], out, depth + 1);
    }
    buf_putc(out, ']');
    return is_good;
}

static bool is_empty(const struct go_field *field)
{
    const struct go_value *value = &field->value;

    if (field->is_any)
        return value->type == GO_NIL;
    return value->type == GO_STRUCT ? value->is_pointer && value->is_nil : !go_is_true(value);
}

static bool is_left_out(const struct go_field *field)
{
    return (field->json_name && strcmp(field->json_name, "-") == 0) ||
           (field->omits_empty && is_empty(field));
}

/* Fields in the order given; of a map that is the sorted one. */
static bool put_fields(struct go_run *run, const struct go_value *object, struct buf *out,
                       int depth)
{
    const struct go_field **sorted = object->type == GO_MAP ? go_sorted(run, object) : NULL;
    bool is_good = object->type != GO_MAP || sorted, is_first = true;

    buf_putc(out, '{');
    for (size_t i = 0; i < object->n && is_good; i++) {
        const struct go_field *field = sorted ? sorted[i] : &object->fields[i];

        if (is_left_out(field))
            continue;
        if (!is_first)
            buf_putc(out, ',');
        is_first = false;
        put_text(out, str_of(field->json_name ? field->json_name : field->name));
        buf_putc(out, ':');
        is_good = put_value(run, &field->value, out, depth + 1);
    }
    buf_putc(out, '}');
    return is_good;
}

static bool put_value(struct go_run *run, const struct go_value *value, struct buf *out, int depth)
{
    if (depth > GO_DEPTH * 2)
        return go_run_limit(run, "200 levels of a value");
    if (!go_run_step(run))
        return false;
    if (value->class && value->class->form == GO_FORM_OPAQUE && !value->is_nil)
        return go_run_refuse(run, "json of %s", value->class->name);
    if (value->is_nil) {
        buf_puts(out, "null");
        return true;
    }
    switch (value->type) {
    case GO_NIL:
    case GO_INVALID:
        buf_puts(out, "null");
        return true;
    case GO_BOOL:
        buf_puts(out, value->boolean ? "true" : "false");
        return true;
    case GO_INT:
        buf_printf(out, "%lld", (long long)value->integer);
        return true;
    case GO_FLOAT:
        put_float(out, value->number);
        return true;
    case GO_STRING:
        put_text(out, value->text);
        return true;
    case GO_LIST:
        return put_list(run, value, out, depth);
    case GO_MAP:
    case GO_STRUCT:
        break;
    }
    return put_fields(run, value, out, depth);
}

bool go_json(struct go_run *run, const struct go_value *value, struct buf *out)
{
    return put_value(run, value, out, 0);
}
