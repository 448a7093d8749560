/* Filters on texts. See jinja_parts.h. */
#include <stdlib.h>
#include <string.h>

#include "core/base/unicode_case.h"
#include "core/text/jinja/jinja_parts.h"

static struct value filter_trim(struct vm *vm, struct value v, const struct value *args)
{
    return jinja_text_strip(jinja_value_soft(vm, v), args[0], 3, vm);
}

static struct value filter_upper(struct vm *vm, struct value v, const struct value *args)
{
    (void)args;
    return jinja_text_case(vm, jinja_value_soft(vm, v), CASE_UPPER);
}

static struct value filter_lower(struct vm *vm, struct value v, const struct value *args)
{
    (void)args;
    return jinja_text_case(vm, jinja_value_soft(vm, v), CASE_LOWER);
}

static struct value filter_capitalize(struct vm *vm, struct value v, const struct value *args)
{
    (void)args;
    return jinja_text_case(vm, jinja_value_soft(vm, v), CASE_CAPITALIZE);
}

/* Words begin after blanks, hyphens and opening brackets only. */
static bool begins_word(int32_t codepoint)
{
    return unicode_is_space(codepoint) || codepoint == '-' || codepoint == '(' ||
           codepoint == '{' || codepoint == '[' || codepoint == '<';
}

static struct value filter_title(struct vm *vm, struct value v, const struct value *args)
{
    struct text out = {.vm = vm};

    (void)args;
    v = jinja_value_soft(vm, v);
    for (size_t from = 0; from < v.n;) {
        size_t to = from;
        int32_t codepoint;
        size_t first = jinja_text_step(str_skip(str_v(v), from), &codepoint);
        bool is_break = begins_word(codepoint);

        while (to < v.n) {
            size_t n = jinja_text_step(str_skip(str_v(v), to), &codepoint);

            if (begins_word(codepoint) != is_break)
                break;
            to += n;
        }
        jinja_text_str(&out, jinja_text_case(vm, v_slice(v, from, from + first), CASE_UPPER));
        jinja_text_str(&out, jinja_text_case(vm, v_slice(v, from + first, to), CASE_LOWER));
        from = to;
    }
    return jinja_text_value(&out);
}

static struct value filter_replace(struct vm *vm, struct value v, const struct value *args)
{
    int64_t count = args[2].type == V_MISSING || args[2].type == V_NONE
                        ? -1
                        : jinja_value_index(vm, args[2], "count");
    struct value old = args[0], with = args[1];

    if (!vm->autoescape)
        return jinja_text_replace(vm, jinja_value_str(vm, v), str_v(jinja_value_str(vm, old)),
                                  str_v(jinja_value_str(vm, with)), count < 0 ? -1 : count);

    bool escapes = (is_str(old) && old.flags & F_MARKUP) ||
                   (is_str(with) && with.flags & F_MARKUP && !(is_str(v) && v.flags & F_MARKUP));

    v = escapes ? jinja_value_escape(vm, v) : jinja_value_soft(vm, v);
    with = jinja_value_soft(vm, with);
    if (v.flags & F_MARKUP)
        with = jinja_value_escape(vm, with);

    uint8_t markup = v.flags & F_MARKUP;

    v = jinja_text_replace(vm, v, str_v(jinja_value_soft(vm, old)), str_v(with),
                           count < 0 ? -1 : count);
    v.flags = (uint8_t)((v.flags & ~F_MARKUP) | markup);
    return v;
}

static struct value filter_center(struct vm *vm, struct value v, const struct value *args)
{
    int64_t width = args[0].type == V_MISSING ? 80 : jinja_value_index(vm, args[0], "width");
    uint8_t markup;

    v = jinja_value_soft(vm, v);
    markup = v.flags & F_MARKUP;
    v = jinja_text_pad(vm, v, width, str_of(" "), '^');
    v.flags = (uint8_t)((v.flags & ~F_MARKUP) | markup);
    return v;
}

static struct value filter_wordcount(struct vm *vm, struct value v, const struct value *args)
{
    int64_t n = 0;
    bool in_word = false;

    (void)args;
    v = jinja_value_soft(vm, v);
    jinja_work(vm, v.n * 4);
    for (struct str s = str_v(v); s.n;) {
        int32_t codepoint;
        size_t used = jinja_text_step(s, &codepoint);
        bool is_word = codepoint == '_' || unicode_is_word(codepoint);

        n += is_word && !in_word;
        in_word = is_word;
        s = str_skip(s, used);
    }
    return v_int(n);
}

static struct value joined(struct vm *vm, const struct list *lines, uint32_t from,
                           struct str between)
{
    struct text out = {.vm = vm};

    for (uint32_t i = from; i < lines->n; i++) {
        if (i > from)
            jinja_text_add(&out, between.p, between.n);
        jinja_text_str(&out, lines->items[i]);
    }
    return jinja_text_value(&out);
}

static struct value filter_indent(struct vm *vm, struct value v, const struct value *args)
{
    struct value indention = args[0];
    bool is_first = args[1].type != V_MISSING && jinja_value_truth(vm, args[1]);
    bool is_blank = args[2].type != V_MISSING && jinja_value_truth(vm, args[2]);
    struct text out = {.vm = vm};
    struct list *lines;
    bool is_markup = is_str(v) && v.flags & F_MARKUP;

    if (!is_str(indention))
        indention = jinja_value_repeat(
            vm, jinja_v_chars(" "),
            indention.type == V_MISSING ? 4 : jinja_value_index(vm, indention, "width"));
    if (!is_str(v)) {
        v = jinja_value_binary(vm, E_ADD, v, jinja_v_chars("\n")); /* fails as it does in Python */
        jinja_error(vm, "indent wants a text, not %s", jinja_value_type_name(v));
    }
    /* Markup meets the indention as markup: not escaped */
    v = jinja_value_str(vm, v);
    v = jinja_value_binary(vm, E_ADD, v, jinja_v_chars("\n"));
    lines = jinja_text_lines(vm, v, false);
    if (is_first)
        jinja_text_str(&out, indention);
    if (is_blank) {
        struct text between = {.vm = vm};

        jinja_text_putc(&between, '\n');
        jinja_text_str(&between, indention);
        jinja_text_str(&out, joined(vm, lines, 0, str_from(between.p, between.n)));
    } else {
        for (uint32_t i = 0; i < lines->n; i++) {
            if (i)
                jinja_text_putc(&out, '\n');
            if (i && lines->items[i].n)
                jinja_text_str(&out, indention);
            jinja_text_str(&out, lines->items[i]);
        }
    }
    v = jinja_text_value(&out);
    v.flags = is_markup ? F_MARKUP : 0;
    return v;
}

static struct value part(struct vm *vm, struct value v, int64_t to)
{
    struct value bounds[3] = {v_none(), v_int(to), v_none()};

    return jinja_value_slice(vm, v, bounds);
}

static struct value filter_truncate(struct vm *vm, struct value v, const struct value *args)
{
    int64_t length = args[0].type == V_MISSING ? 255 : jinja_value_index(vm, args[0], "length");
    bool kills_words = args[1].type != V_MISSING && jinja_value_truth(vm, args[1]);
    struct value end = args[2].type == V_MISSING ? jinja_v_chars("...") : args[2];
    int64_t leeway = args[3].type == V_MISSING || args[3].type == V_NONE
                         ? 5
                         : jinja_value_index(vm, args[3], "leeway");
    int64_t n, n_end;
    struct value kept;

    if (!jinja_value_length(vm, end, &n_end))
        jinja_error(vm, "object of type '%s' has no len()", jinja_value_type_name(end));
    if (length < n_end || leeway < 0)
        jinja_error(vm, "expected length >= %lld and leeway >= 0", (long long)n_end);
    if (!jinja_value_length(vm, v, &n))
        jinja_error(vm, "object of type '%s' has no len()", jinja_value_type_name(v));
    if (n <= length + leeway)
        return v;
    kept = part(vm, v, length - n_end);
    if (!kills_words) {
        if (!is_str(kept))
            jinja_error(vm, "'%s' object has no attribute 'rsplit'", jinja_value_type_name(kept));
        kept = jinja_text_split(vm, kept, jinja_v_chars(" "), 1, true)->items[0];
    }
    return jinja_value_binary(vm, E_ADD, kept, end);
}

static struct value filter_format(struct vm *vm, struct value v, const struct call *call)
{
    struct list *args = jinja_list_new(vm, call->n);
    struct dict *kwargs = jinja_dict_new(vm, call->n_names);

    if (call->n && call->n_names)
        jinja_error(vm, "can't handle positional and keyword arguments at the same time");
    for (size_t i = 0; i < call->n; i++)
        jinja_list_add(vm, args, call->args[i]);
    for (size_t k = 0; k < call->n_names; k++)
        jinja_dict_set(vm, kwargs, v_str(vm, call->names[k], 0), call->args[call->n + k]);
    return jinja_format_percent(vm, jinja_value_soft(vm, v),
                                call->n_names ? jinja_v_dict(kwargs) : jinja_v_tuple(args));
}

/* ---- addresses ---- */

static void url_quote(struct text *out, struct value v, bool is_query)
{
    static const char digits[] = "0123456789ABCDEF";
    struct value text = v.type == V_BYTES ? v : jinja_value_str(out->vm, v);

    for (uint32_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (c < 0x80 &&
            (unicode_is_word(c) || (c && strchr("_.-~", c)) || (c == '/' && !is_query))) {
            jinja_text_putc(out, (char)c);
        } else if (c == ' ' && is_query) {
            jinja_text_putc(out, '+');
        } else {
            jinja_text_putc(out, '%');
            jinja_text_putc(out, digits[c >> 4]);
            jinja_text_putc(out, digits[c & 15]);
        }
    }
}

static struct value filter_urlencode(struct vm *vm, struct value v, const struct value *args)
{
    struct text out = {.vm = vm};
    struct iter probe;
    struct iter *iter;
    struct value item;

    (void)args;
    if (is_str(v) || (v.type != V_ITER && !jinja_value_iterate(vm, v, &probe))) {
        url_quote(&out, v, false);
        return jinja_text_value(&out);
    }
    if (v.type == V_DICT)
        v = (struct value){.type = V_VIEW, .aux = 2, .dict = v.dict};
    iter = jinja_iter_of(vm, v);
    while (jinja_iter_next(vm, iter, &item)) {
        struct list *pair = jinja_list_of(vm, item);

        if (pair->n != 2)
            jinja_error(vm, "%s values to unpack (expected 2)",
                        pair->n < 2 ? "not enough" : "too many");
        if (out.n)
            jinja_text_putc(&out, '&');
        url_quote(&out, pair->items[0], true);
        jinja_text_putc(&out, '=');
        url_quote(&out, pair->items[1], true);
    }
    return jinja_text_value(&out);
}

static const struct filter filters[] = {
    {"trim", "chars", 1, 0, filter_trim, NULL},
    {"upper", "", 0, 0, filter_upper, NULL},
    {"lower", "", 0, 0, filter_lower, NULL},
    {"capitalize", "", 0, 0, filter_capitalize, NULL},
    {"title", "", 0, 0, filter_title, NULL},
    {"replace", "old new count", 3, 2, filter_replace, NULL},
    {"indent", "width first blank", 3, 0, filter_indent, NULL},
    {"center", "width", 1, 0, filter_center, NULL},
    {"wordcount", "", 0, 0, filter_wordcount, NULL},
    {"truncate", "length killwords end leeway", 4, 0, filter_truncate, NULL},
    {"format", "*", 0, 0, NULL, filter_format},
    {"urlencode", "", 0, 0, filter_urlencode, NULL},
};

const struct filter *jinja_filters_of_texts(size_t *n)
{
    *n = sizeof filters / sizeof filters[0];
    return filters;
}
