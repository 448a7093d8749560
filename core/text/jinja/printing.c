/* Values as text: str() and repr() as Python has them, and json.dumps. See jinja_parts.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/base/unicode_case.h"
#include "core/text/jinja/jinja_parts.h"

#define MOST_DEEP 500

static void repr_deep(struct text *out, struct value v, int depth);

/* ---- texts ---- */

static void put_escape(struct text *out, int32_t codepoint)
{
    char digits[16];

    snprintf(digits, sizeof digits,
             codepoint < 0x100     ? "\\x%02x"
             : codepoint < 0x10000 ? "\\u%04x"
                                   : "\\U%08x",
             (unsigned)codepoint);
    jinja_text_puts(out, digits);
}

static bool is_plain(unsigned char c, char quote)
{
    return c >= 0x20 && c < 0x7F && c != '\\' && c != (unsigned char)quote;
}

static void jinja_repr_text(struct text *out, struct str s)
{
    char quote = memchr(s.p, '\'', s.n) && !memchr(s.p, '"', s.n) ? '"' : '\'';

    jinja_work(out->vm, s.n);
    jinja_text_putc(out, quote);
    while (s.n) {
        int32_t codepoint;
        size_t n = 0;

        while (n < s.n && is_plain((unsigned char)s.p[n], quote))
            n++;
        jinja_text_add(out, s.p, n);
        s = str_skip(s, n);
        if (s.n == 0)
            break;
        n = jinja_text_step(s, &codepoint);
        if (codepoint == '\n')
            jinja_text_puts(out, "\\n");
        else if (codepoint == '\r')
            jinja_text_puts(out, "\\r");
        else if (codepoint == '\t')
            jinja_text_puts(out, "\\t");
        else if (codepoint == '\\' || codepoint == quote) {
            jinja_text_putc(out, '\\');
            jinja_text_putc(out, (char)codepoint);
        } else if (codepoint < 0 || unicode_is_printable(codepoint)) {
            jinja_text_add(out, s.p, n);
        } else {
            put_escape(out, codepoint);
        }
        s = str_skip(s, n);
    }
    jinja_text_putc(out, quote);
}

/* ---- numbers ---- */

static void put_int(struct text *out, int64_t i)
{
    char digits[24];
    char *p = digits + sizeof digits;
    uint64_t u = i < 0 ? (uint64_t)0 - (uint64_t)i : (uint64_t)i;

    do
        *--p = (char)('0' + u % 10);
    while (u /= 10);
    if (i < 0)
        *--p = '-';
    jinja_text_add(out, p, (size_t)(digits + sizeof digits - p));
}

static void put_float(struct text *out, double f)
{
    char digits[32];

    number_repr(digits, f);
    jinja_text_puts(out, digits);
}

static bool put_number(struct text *out, struct value v)
{
    struct str big;

    switch (v.type) {
    case V_INT:
        put_int(out, v.i);
        return true;
    case V_FLOAT:
        put_float(out, v.f);
        return true;
    case V_BIG:
        big = jinja_big_text(out->vm, v.big);
        jinja_text_add(out, big.p, big.n);
        return true;
    default:
        return false;
    }
}

/* ---- containers ---- */

static void repr_list(struct text *out, const struct list *list, const char *ends, int depth)
{
    jinja_text_putc(out, ends[0]);
    for (uint32_t i = 0; i < list->n; i++) {
        if (i)
            jinja_text_puts(out, ", ");
        repr_deep(out, list->items[i], depth + 1);
    }
    if (ends[0] == '(' && list->n == 1)
        jinja_text_putc(out, ',');
    jinja_text_putc(out, ends[1]);
}

static void repr_dict(struct text *out, const struct dict *dict, int depth)
{
    jinja_text_putc(out, '{');
    for (uint32_t i = 0; i < dict->n; i++) {
        if (i)
            jinja_text_puts(out, ", ");
        repr_deep(out, dict->entries[i].key, depth + 1);
        jinja_text_puts(out, ": ");
        repr_deep(out, dict->entries[i].value, depth + 1);
    }
    jinja_text_putc(out, '}');
}

static void repr_view(struct text *out, struct value v, int depth)
{
    static const char *const names[] = {"dict_keys", "dict_values", "dict_items"};
    struct iter iter;
    struct value item;
    bool is_first = true;

    jinja_text_puts(out, names[v.aux]);
    jinja_text_puts(out, "([");
    jinja_value_iterate(out->vm, v, &iter);
    while (jinja_iter_next(out->vm, &iter, &item)) {
        if (!is_first)
            jinja_text_puts(out, ", ");
        is_first = false;
        repr_deep(out, item, depth + 1);
    }
    jinja_text_puts(out, "])");
}

static void repr_range(struct text *out, const struct range *range)
{
    jinja_text_puts(out, "range(");
    put_int(out, range->start);
    jinja_text_puts(out, ", ");
    put_int(out, range->stop);
    if (range->step != 1) {
        jinja_text_puts(out, ", ");
        put_int(out, range->step);
    }
    jinja_text_putc(out, ')');
}

/* What prints an address in Python cannot be the same; its kind is said. */
static void repr_object(struct text *out, struct value v)
{
    if (v.type == V_LOOP) {
        jinja_text_puts(out, "<LoopContext ");
        put_int(out, v.loop->index0 + 1);
        jinja_text_putc(out, '/');
        put_int(out, jinja_loop_length(out->vm, v.loop));
        jinja_text_putc(out, '>');
    } else if (v.type == V_MACRO) {
        jinja_text_puts(out, "<Macro ");
        if (v.macro->node->kind == S_MACRO)
            jinja_repr_text(out, v.macro->node->name);
        else
            jinja_text_puts(out, "anonymous");
        jinja_text_putc(out, '>');
    } else if (v.type == V_GLOBAL && v.aux == 0) {
        jinja_text_puts(out, "<function safe_range>");
    } else {
        jinja_text_puts(out, "<");
        jinja_text_puts(out, jinja_value_type_name(v));
        jinja_text_puts(out, " object>");
    }
}

static void repr_deep(struct text *out, struct value v, int depth)
{
    if (depth > MOST_DEEP)
        jinja_too_much(out->vm, "depth");
    jinja_step(out->vm);
    if (put_number(out, v))
        return;
    switch (v.type) {
    case V_MISSING:
    case V_UNDEFINED:
        jinja_text_puts(out, "Undefined");
        break;
    case V_NONE:
        jinja_text_puts(out, "None");
        break;
    case V_BOOL:
        jinja_text_puts(out, v.i ? "True" : "False");
        break;
    case V_STR:
        if (v.flags & F_MARKUP)
            jinja_text_puts(out, "Markup(");
        jinja_repr_text(out, str_v(v));
        if (v.flags & F_MARKUP)
            jinja_text_putc(out, ')');
        break;
    case V_BYTES:
        jinja_text_putc(out, 'b');
        jinja_repr_bytes(out, str_v(v));
        break;
    case V_LIST:
        repr_list(out, v.list, "[]", depth);
        break;
    case V_TUPLE:
        repr_list(out, v.list, "()", depth);
        break;
    case V_DICT:
        repr_dict(out, v.dict, depth);
        break;
    case V_NAMESPACE:
        jinja_text_puts(out, "<Namespace ");
        repr_dict(out, v.dict, depth);
        jinja_text_putc(out, '>');
        break;
    case V_VIEW:
        repr_view(out, v, depth);
        break;
    case V_RANGE:
        repr_range(out, v.range);
        break;
    default:
        repr_object(out, v);
        break;
    }
}

void jinja_repr_bytes(struct text *out, struct str s)
{
    char quote = memchr(s.p, '\'', s.n) && !memchr(s.p, '"', s.n) ? '"' : '\'';

    jinja_text_putc(out, quote);
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (is_plain(c, quote)) {
            jinja_text_putc(out, (char)c);
        } else if (c == '\n' || c == '\r' || c == '\t') {
            jinja_text_puts(out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
        } else if (c == '\\' || c == (unsigned char)quote) {
            jinja_text_putc(out, '\\');
            jinja_text_putc(out, (char)c);
        } else {
            put_escape(out, c);
        }
    }
    jinja_text_putc(out, quote);
}

void jinja_print_repr(struct text *out, struct value v)
{
    repr_deep(out, v, 0);
}

void jinja_print_str(struct text *out, struct value v)
{
    if (is_str(v))
        jinja_text_str(out, v);
    else if (v.type != V_UNDEFINED && v.type != V_MISSING)
        repr_deep(out, v, 0);
}

struct value jinja_value_str(struct vm *vm, struct value v)
{
    struct text out = {.vm = vm};

    if (is_str(v)) {
        v.flags &= (uint8_t)~F_MARKUP;
        return v;
    }
    jinja_print_str(&out, v);
    return jinja_text_value(&out);
}

struct value jinja_value_soft(struct vm *vm, struct value v)
{
    return is_str(v) ? v : jinja_value_str(vm, v);
}

/* ---- HTML ---- */

void jinja_escape_into(struct text *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (c == '&')
            jinja_text_puts(out, "&amp;");
        else if (c == '<')
            jinja_text_puts(out, "&lt;");
        else if (c == '>')
            jinja_text_puts(out, "&gt;");
        else if (c == '"')
            jinja_text_puts(out, "&#34;");
        else if (c == '\'')
            jinja_text_puts(out, "&#39;");
        else
            jinja_text_putc(out, c);
    }
}

struct value jinja_value_escape(struct vm *vm, struct value v)
{
    struct text out = {.vm = vm};
    struct str s;

    if (is_str(v) && v.flags & F_MARKUP)
        return v;
    v = jinja_value_str(vm, v);
    s = str_v(v);
    jinja_work(vm, s.n);
    if (!memchr(s.p, '&', s.n) && !memchr(s.p, '<', s.n) && !memchr(s.p, '>', s.n) &&
        !memchr(s.p, '"', s.n) && !memchr(s.p, '\'', s.n)) {
        v.flags |= F_MARKUP;
        return v;
    }
    jinja_escape_into(&out, s);
    v = jinja_text_value(&out);
    v.flags |= F_MARKUP;
    return v;
}
