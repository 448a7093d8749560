/* Values of any kind as Go's fmt prints them: lists, maps and structs with what they hold, complaints
 * of verbs that do not fit. What would print an address of the server's memory is refused. */
#include <stdio.h>

#include "core/base/unicode.h"
#include "core/text/go/format.h"

static bool format_value(struct go_format *f, const struct go_value *value, int32_t verb,
                         int depth);

static void put_rune(struct buf *out, int32_t c)
{
    char bytes[4];
    size_t n = c < 0 ? 0 : unicode_put(bytes, c);

    if (n)
        buf_add(out, bytes, n);
    else
        buf_puts(out, "\xEF\xBF\xBD");
}

static void put_type(struct buf *out, const struct go_value *value)
{
    if (value->is_pointer)
        buf_putc(out, '*');
    buf_puts(out, go_type_name(value));
}

/* %!d(string=hi) */
static bool complain(struct go_format *f, const struct go_value *value, int32_t verb)
{
    bool is_good = true, before = f->is_complaining;

    f->is_complaining = true;
    buf_puts(f->out, "%!");
    put_rune(f->out, verb);
    buf_putc(f->out, '(');
    if (value->type == GO_NIL) {
        buf_puts(f->out, "<nil>");
    } else {
        put_type(f->out, value);
        buf_putc(f->out, '=');
        is_good = format_value(f, value, 'v', 0);
    }
    buf_putc(f->out, ')');
    f->is_complaining = before;
    return is_good;
}

/* ---- methods ---- */

static void put_types(const struct go_value *list, struct buf *out)
{
    if (list->n != 1)
        buf_putc(out, '[');
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0)
            buf_putc(out, ' ');
        buf_str(out, list->items[i].text);
    }
    if (list->n != 1)
        buf_putc(out, ']');
}

static bool has_method(const struct go_format *f, const struct go_value *value, int32_t verb)
{
    if (f->is_complaining || f->sharp_v || !value->class || verb <= 0 || verb > 0x7F ||
        !strchr("vsxXq", verb))
        return false;
    return value->class->form == GO_FORM_JSON || value->class->form == GO_FORM_TYPES;
}

static bool format_by_method(struct go_format *f, const struct go_value *value, int32_t verb)
{
    struct buf text;
    bool is_good = true;

    buf_init(&text, GO_OUTPUT_BYTES);
    if (value->class->form == GO_FORM_TYPES) {
        if (value->n > 0)
            put_types(value, &text);
    } else if (value->type == GO_MAP && value->is_nil) {
        buf_puts(&text, "{}");
    } else {
        is_good = go_json(f->run, value, &text);
    }
    go_format_text(f, buf_view(&text), verb);
    f->out->failed |= text.failed;
    buf_free(&text);
    return is_good;
}

/* ---- what holds others ---- */

static void put_separator(struct go_format *f, size_t i)
{
    if (i > 0)
        buf_puts(f->out, f->sharp_v ? ", " : " ");
}

/* Of %#v: the type, and (nil). false: there is nothing more to write. */
static bool put_head(struct go_format *f, const struct go_value *value)
{
    if (!f->sharp_v)
        return true;
    buf_puts(f->out, go_type_name(value));
    if (value->type != GO_STRUCT && value->is_nil)
        buf_puts(f->out, "(nil)");
    return value->type == GO_STRUCT || !value->is_nil;
}

static bool format_list(struct go_format *f, const struct go_value *list, int32_t verb, int depth)
{
    bool is_good = true;

    if (!put_head(f, list))
        return true;
    buf_putc(f->out, f->sharp_v ? '{' : '[');
    for (size_t i = 0; i < list->n && is_good; i++) {
        put_separator(f, i);
        is_good = format_value(f, &list->items[i], verb, depth + 1);
    }
    buf_putc(f->out, f->sharp_v ? '}' : ']');
    return is_good;
}

static bool format_map(struct go_format *f, const struct go_value *map, int32_t verb, int depth)
{
    const struct go_field **fields = go_sorted(f->run, map);
    bool is_good = fields != NULL;

    if (is_good && !put_head(f, map))
        return true;
    buf_puts(f->out, f->sharp_v ? "{" : "map[");
    for (size_t i = 0; i < map->n && is_good; i++) {
        struct go_value key = go_text(str_of(fields[i]->name));

        put_separator(f, i);
        is_good = format_value(f, &key, verb, depth + 1);
        buf_putc(f->out, ':');
        is_good = is_good && format_value(f, &fields[i]->value, verb, depth + 1);
    }
    buf_putc(f->out, f->sharp_v ? '}' : ']');
    return is_good;
}

static bool format_struct(struct go_format *f, const struct go_value *object, int32_t verb,
                          int depth)
{
    bool is_good = true;

    if (object->is_pointer && object->is_nil) {
        go_format_pad(f, str_of("<nil>"));
        return true;
    }
    if (object->is_pointer && depth > 0)
        return go_run_refuse(f->run, "prints the address of a %s", go_type_name(object));
    if (object->is_pointer)
        buf_putc(f->out, '&');
    put_head(f, object);
    buf_putc(f->out, '{');
    for (size_t i = 0; i < object->n && is_good; i++) {
        put_separator(f, i);
        if (f->plus_v || f->sharp_v)
            buf_printf(f->out, "%s:", object->fields[i].name);
        is_good = format_value(f, &object->fields[i].value, verb, depth + 1);
    }
    buf_putc(f->out, '}');
    return is_good;
}

/* ---- any ---- */

static bool is_hidden(const struct go_value *value)
{
    return value->class && !value->is_nil &&
           (value->class->form == GO_FORM_OPAQUE || value->class->form == GO_FORM_ORDERED);
}

static bool format_bool(struct go_format *f, const struct go_value *value, int32_t verb)
{
    if (verb != 't' && verb != 'v')
        return false;
    go_format_pad(f, str_of(value->boolean ? "true" : "false"));
    return true;
}

static bool format_basic(struct go_format *f, const struct go_value *value, int32_t verb)
{
    if (value->type == GO_BOOL)
        return format_bool(f, value, verb) || complain(f, value, verb);
    if (value->type == GO_INT)
        return go_format_int(f, value, verb) || complain(f, value, verb);
    if (value->type == GO_STRING)
        return go_format_text(f, value->text, verb) || complain(f, value, verb);
    if ((verb == 'b' || verb == 'x' || verb == 'X') || (f->sharp && verb != 'v'))
        return go_run_refuse(f->run, "verb %%%s%c of a float", f->sharp ? "#" : "", (char)verb);
    return go_format_float(f, value->number, verb) || complain(f, value, verb);
}

static bool format_value(struct go_format *f, const struct go_value *value, int32_t verb, int depth)
{
    if (depth > GO_DEPTH)
        return go_run_limit(f->run, "100 levels of a value");
    if (!go_run_step(f->run))
        return false;
    if (is_hidden(value))
        return go_run_refuse(f->run, "prints %s", value->class->name);
    if (has_method(f, value, verb))
        return format_by_method(f, value, verb);
    switch (value->type) {
    case GO_NIL:
    case GO_INVALID:
        buf_puts(f->out, f->sharp_v ? "interface {}(nil)" : "<nil>");
        return true;
    case GO_LIST:
        return format_list(f, value, verb, depth);
    case GO_MAP:
        return format_map(f, value, verb, depth);
    case GO_STRUCT:
        return format_struct(f, value, verb, depth);
    case GO_BOOL:
    case GO_INT:
    case GO_FLOAT:
    case GO_STRING:
        break;
    }
    return format_basic(f, value, verb);
}

static bool format_pointer(struct go_format *f, const struct go_value *value)
{
    if (value->type == GO_LIST || value->type == GO_MAP || value->is_pointer)
        return go_run_refuse(f->run, "prints an address");
    return complain(f, value, 'p');
}

bool go_format_argument(struct go_format *f, const struct go_value *value, int32_t verb)
{
    struct buf text;

    if (value->type == GO_NIL && (verb == 'v' || verb == 'T')) {
        go_format_pad(f, str_of("<nil>"));
        return true;
    }
    if (value->type == GO_NIL)
        return complain(f, value, verb);
    if (verb == 'p')
        return format_pointer(f, value);
    if (verb != 'T')
        return format_value(f, value, verb, 0);
    buf_init(&text, 256);
    put_type(&text, value);
    go_format_text(f, buf_view(&text), 's');
    buf_free(&text);
    return true;
}

bool go_print(struct go_run *run, const struct go_value *value, struct buf *out)
{
    struct go_format f = {.run = run, .out = out};

    return go_format_argument(&f, value, 'v');
}
