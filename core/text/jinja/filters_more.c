/* Filters that chat templates hardly use. See jinja_parts.h. What is random, or makes web pages out
 * of addresses, is refused at the render and not at the compilation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/unicode_case.h"
#include "core/text/jinja/jinja_parts.h"

static struct value filter_filesizeformat(struct vm *vm, struct value v, const struct value *args)
{
    static const char units[] = "kMGTPEZY";
    bool is_binary = args[0].type != V_MISSING && jinja_value_truth(vm, args[0]);
    double base = is_binary ? 1024 : 1000, bytes, unit;
    char out[64];
    int at = 0;

    if (v.type == V_UNDEFINED)
        jinja_undefined_error(vm, v);
    if (is_str(v)) {
        if (!jinja_text_parse_float(str_v(v), &bytes))
            jinja_error(vm, "could not convert string to float");
    } else if (is_number(v)) {
        bytes = jinja_value_double(vm, v);
    } else {
        jinja_error(vm, "float() argument must be a string or a real number, not '%s'",
                    jinja_value_type_name(v));
    }
    if (bytes == 1)
        return jinja_v_chars("1 Byte");
    if (bytes < base) {
        snprintf(out, sizeof out, "%.0f Bytes", (double)(int64_t)bytes);
    } else {
        for (unit = base * base; bytes >= unit && at < 7; at++)
            unit *= base;
        snprintf(out, sizeof out, is_binary ? "%.1f %ciB" : "%.1f %cB", base * bytes / unit,
                 is_binary && at == 0 ? 'K' : units[at]);
    }

    struct text text = {.vm = vm};

    jinja_text_puts(&text, out);
    return jinja_text_value(&text);
}

static struct value filter_xmlattr(struct vm *vm, struct value v, const struct value *args)
{
    struct text out = {.vm = vm};
    bool has_blank = args[0].type == V_MISSING || jinja_value_truth(vm, args[0]);

    if (v.type == V_UNDEFINED)
        jinja_undefined_error(vm, v);
    if (v.type != V_DICT)
        jinja_error(vm, "'%s' object has no attribute 'items'", jinja_value_type_name(v));
    for (uint32_t i = 0; i < v.dict->n; i++) {
        struct value member = v.dict->entries[i].value;

        if (member.type == V_NONE || member.type == V_UNDEFINED)
            continue;
        if (out.n || has_blank)
            jinja_text_putc(&out, ' ');
        jinja_text_str(&out, jinja_value_escape(vm, v.dict->entries[i].key));
        jinja_text_puts(&out, "=\"");
        jinja_text_str(&out, jinja_value_escape(vm, member));
        jinja_text_putc(&out, '"');
    }
    v = jinja_text_value(&out);
    v.flags = vm->autoescape ? F_MARKUP : 0;
    return v;
}

static struct value refuse(struct vm *vm, const char *name)
{
    jinja_error(vm, "the filter '%s' is not known here", name);
}

static struct value filter_random(struct vm *vm, struct value v, const struct call *call)
{
    (void)v;
    (void)call;
    return refuse(vm, "random");
}

static struct value filter_urlize(struct vm *vm, struct value v, const struct call *call)
{
    (void)v;
    (void)call;
    return refuse(vm, "urlize");
}

static struct value filter_pprint(struct vm *vm, struct value v, const struct call *call)
{
    struct text out = {.vm = vm};

    if (call->n + call->n_names)
        jinja_error(vm, "pprint() takes no arguments");
    jinja_print_repr(&out, v);
    if (out.n > 80 || v.type == V_DICT)
        return refuse(vm, "pprint");
    return jinja_text_value(&out);
}

/* ---- tags ---- */

/* Without comments and what stands in < and >. */
static struct value without_tags(struct vm *vm, struct value v)
{
    struct text out = {.vm = vm};
    struct str s = str_v(v);

    for (const char *tag; (tag = memchr(s.p, '<', s.n));) {
        struct str rest = str_skip(s, (size_t)(tag - s.p));
        bool is_comment = str_starts(rest, "<!--");
        const char *end =
            is_comment ? memmem(rest.p + 4, rest.n - 4, "-->", 3) : memchr(rest.p, '>', rest.n);

        if (!end)
            break;
        end += is_comment ? 3 : 1;
        jinja_text_add(&out, s.p, (size_t)(tag - s.p));
        s = str_skip(s, (size_t)(end - s.p));
    }
    jinja_text_add(&out, s.p, s.n);
    return jinja_text_value(&out);
}

static size_t unescape_one(struct text *out, struct str s)
{
    static const struct {
        const char *name, *text;
    } entities[] = {{"&amp;", "&"},  {"&lt;", "<"},  {"&gt;", ">"},   {"&quot;", "\""},
                    {"&#34;", "\""}, {"&#39;", "'"}, {"&apos;", "'"}, {"&nbsp;", "\xC2\xA0"}};

    for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++)
        if (str_starts(s, entities[i].name)) {
            jinja_text_puts(out, entities[i].text);
            return strlen(entities[i].name);
        }
    jinja_text_putc(out, '&');
    return 1;
}

static struct value filter_striptags(struct vm *vm, struct value v, const struct value *args)
{
    struct text plain = {.vm = vm}, out = {.vm = vm};
    struct list *words;

    (void)args;
    words = jinja_text_split(vm, without_tags(vm, jinja_value_str(vm, v)), v_none(), -1, false);
    for (uint32_t i = 0; i < words->n; i++) {
        if (i)
            jinja_text_putc(&plain, ' ');
        jinja_text_str(&plain, words->items[i]);
    }
    for (size_t at = 0; at < plain.n;) {
        if (plain.p[at] == '&') {
            at += unescape_one(&out, str_from(plain.p + at, plain.n - at));
        } else {
            jinja_text_putc(&out, plain.p[at]);
            at++;
        }
    }
    return jinja_text_value(&out);
}

/* ---- wordwrap: textwrap's greedy lines, for words and blanks ---- */

static void wrap_line(struct text *out, struct value line, int64_t width, bool breaks_long,
                      struct value between)
{
    struct vm *vm = out->vm;
    struct str s = str_v(line);
    int64_t used = 0;
    bool is_first_line = true, is_empty = true;
    struct text blanks = {.vm = vm};

    while (s.n) {
        size_t n = 0;
        bool is_blank = s.p[0] == ' ';
        int64_t length;

        while (n < s.n && (s.p[n] == ' ') == is_blank) {
            n++;
            if (!is_blank && s.p[n - 1] == '-' && n < s.n && n > 1 && s.p[n] != ' ' &&
                ((s.p[n] | 0x20) >= 'a' && (s.p[n] | 0x20) <= 'z'))
                break;
        }
        length = (int64_t)jinja_text_count(vm, str_first(s, n));
        if (is_blank) {
            if (!is_empty || is_first_line)
                jinja_text_add(&blanks, s.p, n);
            s = str_skip(s, n);
            continue;
        }
        if (used + (int64_t)blanks.n + length > width && !is_empty) {
            jinja_text_str(out, between);
            used = 0;
            is_empty = true;
            is_first_line = false;
            blanks.n = 0;
        }
        if (breaks_long && length > width - (int64_t)blanks.n && width > (int64_t)blanks.n) {
            n = jinja_text_offset(vm, s, (size_t)(width - (int64_t)blanks.n));
            length = width - (int64_t)blanks.n;
        }
        jinja_text_add(out, blanks.p, blanks.n);
        jinja_text_add(out, s.p, n);
        used += (int64_t)blanks.n + length;
        blanks.n = 0;
        is_empty = false;
        s = str_skip(s, n);
    }
}

static struct value filter_wordwrap(struct vm *vm, struct value v, const struct value *args)
{
    int64_t width = args[0].type == V_MISSING ? 79 : jinja_value_index(vm, args[0], "width");
    bool breaks_long = args[1].type == V_MISSING || jinja_value_truth(vm, args[1]);
    struct value between =
        args[2].type == V_MISSING || args[2].type == V_NONE ? jinja_v_chars("\n") : args[2];
    struct text out = {.vm = vm};
    struct list *lines;

    if (!is_str(v))
        jinja_error(vm, "'%s' object has no attribute 'splitlines'", jinja_value_type_name(v));
    if (width <= 0)
        jinja_error(vm, "invalid width %lld (must be > 0)", (long long)width);
    if (!is_str(between))
        jinja_error(vm, "wrapstring is no text");
    lines = jinja_text_lines(vm, v, false);
    for (uint32_t i = 0; i < lines->n; i++) {
        if (i)
            jinja_text_str(&out, between);
        wrap_line(&out, lines->items[i], width, breaks_long, between);
    }
    return jinja_text_value(&out);
}

static const struct filter filters[] = {
    {"filesizeformat", "binary", 1, 0, filter_filesizeformat, NULL},
    {"xmlattr", "autospace", 1, 0, filter_xmlattr, NULL},
    {"striptags", "", 0, 0, filter_striptags, NULL},
    {"wordwrap", "width break_long_words wrapstring break_on_hyphens", 4, 0, filter_wordwrap, NULL},
    {"pprint", "*", 0, 0, NULL, filter_pprint},
    {"random", "*", 0, 0, NULL, filter_random},
    {"urlize", "*", 0, 0, NULL, filter_urlize},
};

const struct filter *jinja_filters_of_more(size_t *n)
{
    *n = sizeof filters / sizeof filters[0];
    return filters;
}
