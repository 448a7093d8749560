/* The tojson filter of transformers: json.dumps as Python writes it. See jinja_parts.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/jinja_parts.h"

#define MOST_DEEP 500

struct dump {
    struct text *out;
    struct value indent;     /* a text; V_NONE: all on one line */
    struct value item, pair; /* separators */
    bool is_ascii, is_sorted;
};

static void dump_value(struct dump *d, struct value v, int depth);

static void put_unit(struct text *out, int32_t unit)
{
    char digits[8];

    snprintf(digits, sizeof digits, "\\u%04x", (unsigned)unit & 0xFFFF);
    jinja_text_add(out, digits, 6);
}

static void put_special(struct text *out, unsigned char c)
{
    static const char from[] = "\"\\\b\f\n\r\t";
    static const char to[] = "\"\\bfnrt";
    const char *hit = c ? strchr(from, c) : NULL;

    if (!hit) {
        put_unit(out, c);
        return;
    }
    jinja_text_putc(out, '\\');
    jinja_text_putc(out, to[hit - from]);
}

static void dump_text(struct dump *d, struct str s)
{
    struct text *out = d->out;

    jinja_work(out->vm, s.n);
    jinja_text_putc(out, '"');
    while (s.n) {
        size_t n = 0;
        int32_t codepoint;

        for (; n < s.n; n++) {
            unsigned char c = (unsigned char)s.p[n];

            if (c < 0x20 || c == '"' || c == '\\' || (c >= 0x80 && d->is_ascii))
                break;
        }
        jinja_text_add(out, s.p, n);
        s = str_skip(s, n);
        if (s.n == 0)
            break;
        if ((unsigned char)s.p[0] < 0x80) {
            put_special(out, (unsigned char)s.p[0]);
            s = str_skip(s, 1);
            continue;
        }
        s = str_skip(s, jinja_text_step(s, &codepoint));
        if (codepoint < 0) {
            codepoint = 0xFFFD;
        } else if (codepoint >= 0x10000) {
            put_unit(out, 0xD800 + ((codepoint - 0x10000) >> 10));
            codepoint = 0xDC00 + ((codepoint - 0x10000) & 0x3FF);
        }
        put_unit(out, codepoint);
    }
    jinja_text_putc(out, '"');
}

static void dump_float(struct text *out, double f)
{
    if (isnan(f))
        jinja_text_puts(out, "NaN");
    else if (isinf(f))
        jinja_text_puts(out, f > 0 ? "Infinity" : "-Infinity");
    else
        jinja_print_repr(out, v_float(f));
}

static void new_line(struct dump *d, int depth)
{
    if (d->indent.type == V_NONE)
        return;
    jinja_text_putc(d->out, '\n');
    jinja_text_fill(d->out, str_v(d->indent), depth);
}

static void dump_key(struct dump *d, struct value key)
{
    switch (key.type) {
    case V_STR:
        dump_text(d, str_v(key));
        return;
    case V_NONE:
    case V_BOOL:
    case V_INT:
    case V_BIG:
    case V_FLOAT:
        jinja_text_putc(d->out, '"');
        dump_value(d, key, 0);
        jinja_text_putc(d->out, '"');
        return;
    default:
        jinja_error(d->out->vm, "keys must be str, int, float, bool or None, not %s",
                    jinja_value_type_name(key));
    }
}

static struct list *sorted_entries(struct vm *vm, const struct dict *dict)
{
    struct list *places = jinja_list_new(vm, dict->n);
    struct list *keys = jinja_list_new(vm, dict->n);

    for (uint32_t i = 0; i < dict->n; i++) {
        jinja_list_add(vm, places, v_int(i));
        jinja_list_add(vm, keys, dict->entries[i].key);
    }
    jinja_value_sort(vm, places, keys, false);
    return places;
}

static void dump_dict(struct dump *d, const struct dict *dict, int depth)
{
    struct list *order = d->is_sorted ? sorted_entries(d->out->vm, dict) : NULL;

    if (dict->n == 0) {
        jinja_text_puts(d->out, "{}");
        return;
    }
    jinja_text_putc(d->out, '{');
    for (uint32_t i = 0; i < dict->n; i++) {
        const struct entry *entry = &dict->entries[order ? order->items[i].i : i];

        if (i)
            jinja_text_str(d->out, d->item);
        new_line(d, depth + 1);
        dump_key(d, entry->key);
        jinja_text_str(d->out, d->pair);
        dump_value(d, entry->value, depth + 1);
    }
    new_line(d, depth);
    jinja_text_putc(d->out, '}');
}

static void dump_list(struct dump *d, const struct list *list, int depth)
{
    if (list->n == 0) {
        jinja_text_puts(d->out, "[]");
        return;
    }
    jinja_text_putc(d->out, '[');
    for (uint32_t i = 0; i < list->n; i++) {
        if (i)
            jinja_text_str(d->out, d->item);
        new_line(d, depth + 1);
        dump_value(d, list->items[i], depth + 1);
    }
    new_line(d, depth);
    jinja_text_putc(d->out, ']');
}

static void dump_value(struct dump *d, struct value v, int depth)
{
    if (depth > MOST_DEEP)
        jinja_too_much(d->out->vm, "depth");
    jinja_step(d->out->vm);
    switch (v.type) {
    case V_NONE:
        jinja_text_puts(d->out, "null");
        break;
    case V_BOOL:
        jinja_text_puts(d->out, v.i ? "true" : "false");
        break;
    case V_INT:
    case V_BIG:
        jinja_print_repr(d->out, v);
        break;
    case V_FLOAT:
        dump_float(d->out, v.f);
        break;
    case V_STR:
        dump_text(d, str_v(v));
        break;
    case V_LIST:
    case V_TUPLE:
        dump_list(d, v.list, depth);
        break;
    case V_DICT:
        dump_dict(d, v.dict, depth);
        break;
    default:
        jinja_error(d->out->vm, "Object of type %s is not JSON serializable",
                    jinja_value_type_name(v));
    }
}

static struct value indent_of(struct vm *vm, struct value indent)
{
    if (indent.type == V_NONE || indent.type == V_MISSING)
        return v_none();
    if (is_str(indent))
        return indent;
    if (indent.type == V_UNDEFINED)
        jinja_undefined_error(vm, indent);

    int64_t n = jinja_value_index(vm, indent, "indent");

    return jinja_value_repeat(vm, jinja_v_chars(" "), n > 0 ? n : 0);
}

/* ensure_ascii, indent, separators, sort_keys */
struct value jinja_filter_tojson(struct vm *vm, struct value v, const struct value *args)
{
    struct text out = {.vm = vm};
    struct dump d = {
        .out = &out,
        .indent = indent_of(vm, args[1]),
        .pair = jinja_v_chars(": "),
        .is_ascii = jinja_value_truth(vm, args[0]),
        .is_sorted = jinja_value_truth(vm, args[3]),
    };

    d.item = jinja_v_chars(d.indent.type == V_NONE ? ", " : ",");
    if (args[2].type != V_NONE && args[2].type != V_MISSING) {
        struct list *both = jinja_list_of(vm, args[2]);

        if (both->n != 2)
            jinja_error(vm, "separators has %u values, expected 2", both->n);
        if (!is_str(both->items[0]) || !is_str(both->items[1]))
            jinja_error(vm, "separators are not texts");
        d.item = both->items[0];
        d.pair = both->items[1];
    }
    dump_value(&d, v, 0);
    return jinja_text_value(&out);
}
