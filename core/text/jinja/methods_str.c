/* Methods of texts, with Python's arguments and errors, and what Markup makes of them. See
 * jinja_parts.h. */
#include <stdlib.h>
#include <string.h>

#include "core/base/unicode_case.h"
#include "core/text/jinja/jinja_parts.h"

int jinja_str_method_find(struct str name);

enum str_method_id {
    S_STRIP,
    S_LSTRIP,
    S_RSTRIP,
    S_SPLIT,
    S_RSPLIT,
    S_SPLITLINES,
    S_STARTSWITH,
    S_ENDSWITH,
    S_REPLACE,
    S_UPPER,
    S_LOWER,
    S_TITLE,
    S_CAPITALIZE,
    S_SWAPCASE,
    S_CASEFOLD,
    S_FIND,
    S_RFIND,
    S_INDEX,
    S_RINDEX,
    S_COUNT,
    S_JOIN,
    S_FORMAT,
    S_FORMAT_MAP,
    S_CENTER,
    S_LJUST,
    S_RJUST,
    S_ZFILL,
    S_PARTITION,
    S_RPARTITION,
    S_REMOVEPREFIX,
    S_REMOVESUFFIX,
    S_EXPANDTABS,
    S_ENCODE,
    S_ISALPHA,
    S_ISALNUM,
    S_ISDIGIT,
    S_ISDECIMAL,
    S_ISNUMERIC,
    S_ISSPACE,
    S_ISUPPER,
    S_ISLOWER,
    S_ISTITLE,
    S_ISASCII,
    S_ISPRINTABLE,
    S_ISIDENTIFIER,
    S_TRANSLATE
};

static const char *const names[] = {
    "strip",        "lstrip",      "rstrip",       "split",     "rsplit",     "splitlines",
    "startswith",   "endswith",    "replace",      "upper",     "lower",      "title",
    "capitalize",   "swapcase",    "casefold",     "find",      "rfind",      "index",
    "rindex",       "count",       "join",         "format",    "format_map", "center",
    "ljust",        "rjust",       "zfill",        "partition", "rpartition", "removeprefix",
    "removesuffix", "expandtabs",  "encode",       "isalpha",   "isalnum",    "isdigit",
    "isdecimal",    "isnumeric",   "isspace",      "isupper",   "islower",    "istitle",
    "isascii",      "isprintable", "isidentifier", "translate"};

int jinja_str_method_find(struct str name)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (str_is(name, names[i]))
            return (int)i;
    return -1;
}

static struct value as_markup(struct value v, struct value like)
{
    v.flags = (uint8_t)((v.flags & ~F_MARKUP) | (like.flags & F_MARKUP));
    return v;
}

static void want_text(struct vm *vm, struct value v, const char *what)
{
    if (!is_str(v))
        jinja_error(vm, "%s must be str, not %s", what, jinja_value_type_name(v));
}

/* ---- parts of a text, [start, end) in characters ---- */

static struct str part_of(struct vm *vm, struct str s, const struct value *bounds, size_t *offset)
{
    int64_t n = (int64_t)jinja_text_count(vm, s);
    int64_t from = 0, to = n;

    if (bounds[0].type != V_MISSING && bounds[0].type != V_NONE)
        from = jinja_value_index(vm, bounds[0], "start");
    if (bounds[1].type != V_MISSING && bounds[1].type != V_NONE)
        to = jinja_value_index(vm, bounds[1], "end");
    if (from < 0)
        from = from + n < 0 ? 0 : from + n;
    if (to < 0)
        to = to + n < 0 ? 0 : to + n;
    if (to > n)
        to = n;
    *offset = (size_t)from;
    if (from > to)
        return str_from(NULL, 0);

    size_t begin = jinja_text_offset(vm, s, (size_t)from);

    return str_from(s.p + begin, jinja_text_offset(vm, s, (size_t)to) - begin);
}

static const char *find_right(struct str s, struct str part)
{
    for (size_t at = s.n >= part.n ? s.n - part.n + 1 : 0; at > 0; at--)
        if (part.n == 0 || memcmp(s.p + at - 1, part.p, part.n) == 0)
            return s.p + at - 1;
    return NULL;
}

static struct value find(struct vm *vm, struct value self, int which, const struct call *call)
{
    struct value args[3];
    size_t offset;
    struct str s;
    const char *hit;
    bool from_right = which == S_RFIND || which == S_RINDEX;

    jinja_call_bind(vm, call, "sub start end /", 1, args);
    want_text(vm, args[0], "argument 1");
    s = part_of(vm, str_v(self), args + 1, &offset);
    jinja_work(vm, (size_t)self.n * (from_right ? args[0].n / 32 + 1 : 1));
    hit = !s.p         ? NULL
          : from_right ? find_right(s, str_v(args[0]))
                       : memmem(s.p, s.n, args[0].p, args[0].n);
    if (hit)
        return v_int((int64_t)(offset + jinja_text_count(vm, str_from(s.p, (size_t)(hit - s.p)))));
    if (which == S_INDEX || which == S_RINDEX)
        jinja_error(vm, "substring not found");
    return v_int(-1);
}

static struct value count(struct vm *vm, struct value self, const struct call *call)
{
    struct value args[3];
    size_t offset;
    struct str s;
    int64_t n = 0;

    jinja_call_bind(vm, call, "sub start end /", 1, args);
    want_text(vm, args[0], "argument 1");
    s = part_of(vm, str_v(self), args + 1, &offset);
    jinja_work(vm, self.n);
    if (!s.p)
        return v_int(0);
    if (args[0].n == 0)
        return v_int((int64_t)jinja_text_count(vm, s) + 1);
    for (const char *hit; (hit = memmem(s.p, s.n, args[0].p, args[0].n));) {
        n++;
        s = str_skip(s, (size_t)(hit - s.p) + args[0].n);
    }
    return v_int(n);
}

static bool has_end(struct vm *vm, struct str s, struct str end, bool at_start)
{
    if (s.n < end.n)
        return false;
    jinja_work(vm, end.n);
    return end.n == 0 || memcmp(at_start ? s.p : s.p + s.n - end.n, end.p, end.n) == 0;
}

static struct value starts_or_ends(struct vm *vm, struct value self, bool at_start,
                                   const struct call *call)
{
    struct value args[3];
    size_t offset;
    struct str s = str_v(self);

    jinja_call_bind(vm, call, "prefix start end /", 1, args);
    if (args[1].type != V_MISSING || args[2].type != V_MISSING)
        s = part_of(vm, s, args + 1, &offset);
    if (is_str(args[0]))
        return v_bool(s.p && has_end(vm, s, str_v(args[0]), at_start));
    if (args[0].type != V_TUPLE)
        jinja_error(vm, "%s first arg must be str or a tuple of str, not %s", call->what,
                    jinja_value_type_name(args[0]));
    for (uint32_t i = 0; i < args[0].list->n; i++) {
        struct value item = args[0].list->items[i];

        if (!is_str(item))
            jinja_error(vm, "tuple for %s must only contain str, not %s", call->what,
                        jinja_value_type_name(item));
        if (s.p && has_end(vm, s, str_v(item), at_start))
            return v_bool(true);
    }
    return v_bool(false);
}

/* ---- making others ---- */

static struct value split(struct vm *vm, struct value self, bool from_right,
                          const struct call *call)
{
    struct value args[2];
    int64_t most = -1;

    jinja_call_bind(vm, call, "sep maxsplit", 0, args);
    if (args[1].type != V_MISSING)
        most = jinja_value_index(vm, args[1], "maxsplit");
    return jinja_v_list(jinja_text_split(vm, self, args[0], most, from_right));
}

static struct value replace(struct vm *vm, struct value self, const struct call *call)
{
    struct value args[3];
    int64_t most = -1;

    jinja_call_bind(vm, call, "old new count /", 2, args);
    if (args[2].type != V_MISSING)
        most = jinja_value_index(vm, args[2], "count");
    want_text(vm, args[0], "replace() argument 1");
    if (self.flags & F_MARKUP)
        args[1] = jinja_value_escape(vm, args[1]);
    want_text(vm, args[1], "replace() argument 2");
    return as_markup(
        jinja_text_replace(vm, self, str_v(args[0]), str_v(args[1]), most < 0 ? -1 : most), self);
}

static struct value join(struct vm *vm, struct value self, const struct call *call)
{
    struct value args[1];
    struct text out = {.vm = vm};
    struct list *items;

    jinja_call_bind(vm, call, "iterable /", 1, args);
    if (args[0].type != V_ITER && args[0].type != V_UNDEFINED) {
        struct iter probe;

        if (!jinja_value_iterate(vm, args[0], &probe))
            jinja_error(vm, "can only join an iterable");
    }
    items = jinja_list_of(vm, args[0]);
    for (uint32_t i = 0; i < items->n; i++) {
        struct value item = items->items[i];

        if (self.flags & F_MARKUP)
            item = jinja_value_escape(vm, item);
        if (!is_str(item))
            jinja_error(vm, "sequence item %u: expected str instance, %s found", i,
                        jinja_value_type_name(item));
        if (i)
            jinja_text_str(&out, self);
        jinja_text_str(&out, item);
    }
    return as_markup(jinja_text_value(&out), self);
}

static struct value pad(struct vm *vm, struct value self, char align, const struct call *call)
{
    struct value args[2];

    jinja_call_bind(vm, call, "width fillchar /", 1, args);
    if (args[1].type == V_MISSING)
        args[1] = jinja_v_chars(" ");
    if (self.flags & F_MARKUP)
        args[1] = jinja_value_escape(vm, args[1]);
    if (!is_str(args[1]))
        jinja_error(vm, "the fill character must be a unicode character, not %s",
                    jinja_value_type_name(args[1]));
    if (jinja_text_count(vm, str_v(args[1])) != 1)
        jinja_error(vm, "the fill character must be exactly one character long");
    return as_markup(
        jinja_text_pad(vm, self, jinja_value_index(vm, args[0], "width"), str_v(args[1]), align),
        self);
}

static struct value zfill(struct vm *vm, struct value self, const struct call *call)
{
    struct value args[1];
    struct text out = {.vm = vm};
    int64_t missing;
    bool has_sign = self.n && (self.p[0] == '-' || self.p[0] == '+');

    jinja_call_bind(vm, call, "width /", 1, args);
    missing = jinja_value_index(vm, args[0], "width") - (int64_t)jinja_text_count(vm, str_v(self));
    if (missing <= 0)
        return as_markup(self, v_none());
    if (has_sign)
        jinja_text_putc(&out, self.p[0]);
    jinja_text_fill(&out, str_from("0", 1), missing);
    jinja_text_add(&out, self.p + has_sign, self.n - has_sign);
    return jinja_text_value(&out);
}

static struct value partition(struct vm *vm, struct value self, bool from_right,
                              const struct call *call)
{
    struct value args[1];
    struct list *out = jinja_list_new(vm, 3);
    const char *hit;

    jinja_call_bind(vm, call, "sep /", 1, args);
    want_text(vm, args[0], "the separator");
    if (args[0].n == 0)
        jinja_error(vm, "empty separator");
    jinja_work(vm, self.n);
    hit = from_right ? find_right(str_v(self), str_v(args[0]))
                     : memmem(self.p, self.n, args[0].p, args[0].n);
    if (hit) {
        size_t at = (size_t)(hit - self.p);

        jinja_list_add(vm, out, v_slice(self, 0, at));
        jinja_list_add(vm, out, as_markup(args[0], self));
        jinja_list_add(vm, out, v_slice(self, at + args[0].n, self.n));
    } else {
        if (!from_right)
            jinja_list_add(vm, out, self);
        jinja_list_add(vm, out, v_slice(self, 0, 0));
        jinja_list_add(vm, out, v_slice(self, 0, 0));
        if (from_right)
            jinja_list_add(vm, out, self);
    }
    return jinja_v_tuple(out);
}

static struct value remove_end(struct vm *vm, struct value self, bool at_start,
                               const struct call *call)
{
    struct value args[1];

    jinja_call_bind(vm, call, "affix /", 1, args);
    want_text(vm, args[0], "the affix");
    self = as_markup(self, v_none());
    if (!has_end(vm, str_v(self), str_v(args[0]), at_start))
        return self;
    return at_start ? v_slice(self, args[0].n, self.n) : v_slice(self, 0, self.n - args[0].n);
}

static struct value expand_tabs(struct vm *vm, struct value self, const struct call *call)
{
    struct value args[1];
    struct text out = {.vm = vm};
    int64_t size = 8, column = 0;

    jinja_call_bind(vm, call, "tabsize", 0, args);
    if (args[0].type != V_MISSING)
        size = jinja_value_index(vm, args[0], "tabsize");
    for (struct str s = str_v(self); s.n;) {
        int32_t codepoint;
        size_t n = jinja_text_step(s, &codepoint);

        if (codepoint == '\t') {
            int64_t blanks = size > 0 ? size - column % size : 0;

            jinja_text_fill(&out, str_from(" ", 1), blanks);
            column += blanks;
        } else {
            jinja_text_add(&out, s.p, n);
            column = codepoint == '\n' || codepoint == '\r' ? 0 : column + 1;
        }
        s = str_skip(s, n);
    }
    return as_markup(jinja_text_value(&out), self);
}

static struct value encode(struct vm *vm, struct value self, const struct call *call)
{
    struct value args[2];

    jinja_call_bind(vm, call, "encoding errors", 0, args);
    if (args[0].type != V_MISSING &&
        (!is_str(args[0]) || (!str_is_ignoring_case(str_v(args[0]), "utf-8") &&
                              !str_is_ignoring_case(str_v(args[0]), "utf8"))))
        jinja_error(vm, "an encoding that is not known here, expected utf-8");
    self.type = V_BYTES;
    return self;
}

static struct value split_lines(struct vm *vm, struct value self, const struct call *call)
{
    struct value args[1];

    jinja_call_bind(vm, call, "keepends", 0, args);
    return jinja_v_list(
        jinja_text_lines(vm, self, args[0].type != V_MISSING && jinja_value_truth(vm, args[0])));
}

/* ---- is… ---- */

static bool is_alnum(int32_t c)
{
    return unicode_is_word(c);
}

static bool all_of(struct str s, bool (*is)(int32_t codepoint), bool of_empty)
{
    if (s.n == 0)
        return of_empty;
    while (s.n) {
        int32_t codepoint;
        size_t n = jinja_text_step(s, &codepoint);

        if (!is(codepoint))
            return false;
        s = str_skip(s, n);
    }
    return true;
}

static bool is_case(struct str s, bool (*wanted)(int32_t), bool (*unwanted)(int32_t))
{
    bool found = false;

    while (s.n) {
        int32_t codepoint;
        size_t n = jinja_text_step(s, &codepoint);

        if (unwanted(codepoint) || unicode_is_title(codepoint))
            return false;
        found = found || wanted(codepoint);
        s = str_skip(s, n);
    }
    return found;
}

static bool is_titled(struct str s)
{
    bool found = false, after_cased = false;

    while (s.n) {
        int32_t codepoint;
        size_t n = jinja_text_step(s, &codepoint);
        bool is_big = unicode_is_upper(codepoint) || unicode_is_title(codepoint);

        if (is_big && after_cased)
            return false;
        if (!is_big && unicode_is_lower(codepoint) && !after_cased)
            return false;
        after_cased = is_big || unicode_is_lower(codepoint);
        found = found || after_cased;
        s = str_skip(s, n);
    }
    return found;
}

static bool is_identifier(struct str s)
{
    bool is_first = true;

    while (s.n) {
        int32_t codepoint;
        size_t n = jinja_text_step(s, &codepoint);

        if (codepoint != '_' &&
            !(is_first ? unicode_is_identifier_start(codepoint) : unicode_is_word(codepoint)))
            return false;
        is_first = false;
        s = str_skip(s, n);
    }
    return !is_first;
}

static bool is_kind(struct str s, int which)
{
    switch (which) {
    case S_ISALPHA:
        return all_of(s, unicode_is_alpha, false);
    case S_ISALNUM:
        return all_of(s, is_alnum, false);
    case S_ISDIGIT:
        return all_of(s, unicode_is_digit, false);
    case S_ISDECIMAL:
        return all_of(s, unicode_is_decimal, false);
    case S_ISNUMERIC:
        return all_of(s, unicode_is_numeric, false);
    case S_ISSPACE:
        return all_of(s, unicode_is_space, false);
    case S_ISPRINTABLE:
        return all_of(s, unicode_is_printable, true);
    case S_ISASCII:
        return jinja_text_is_ascii(s);
    case S_ISUPPER:
        return is_case(s, unicode_is_upper, unicode_is_lower);
    case S_ISLOWER:
        return is_case(s, unicode_is_lower, unicode_is_upper);
    case S_ISTITLE:
        return is_titled(s);
    default:
        return is_identifier(s);
    }
}

static struct value change_case(struct vm *vm, struct value self, int which,
                                const struct call *call)
{
    static const enum case_change changes[] = {CASE_UPPER,      CASE_LOWER, CASE_TITLE,
                                               CASE_CAPITALIZE, CASE_SWAP,  CASE_FOLD};

    jinja_call_bind(vm, call, "", 0, NULL);
    return jinja_text_case(vm, self, changes[which - S_UPPER]);
}

static struct value format(struct vm *vm, struct value self, int which, const struct call *call)
{
    struct value args[1];
    struct call spread = {.what = "format_map"};
    const struct dict *dict;

    if (which == S_FORMAT)
        return jinja_format_braces(vm, self, call);
    jinja_call_bind(vm, call, "mapping /", 1, args);
    if (args[0].type != V_DICT)
        jinja_error(vm, "format_map() wants a mapping, not %s", jinja_value_type_name(args[0]));
    dict = args[0].dict;
    spread.args = jinja_take_array(vm, dict->n, sizeof *spread.args);
    spread.names = jinja_take_array(vm, dict->n, sizeof *spread.names);
    for (uint32_t i = 0; i < dict->n; i++)
        if (is_str(dict->entries[i].key)) {
            spread.args[spread.n_names] = dict->entries[i].value;
            spread.names[spread.n_names++] = str_v(dict->entries[i].key);
        }
    return jinja_format_braces(vm, self, &spread);
}

struct value jinja_str_method(struct vm *vm, struct method *method, const struct call *given)
{
    struct value self = method->self;
    struct value args[1];
    struct call named = *given;
    const struct call *call = &named;
    int which = method->which;

    named.what = names[which];
    switch (which) {
    case S_STRIP:
    case S_LSTRIP:
    case S_RSTRIP:
        jinja_call_bind(vm, call, self.flags & F_MARKUP ? "chars" : "chars /", 0, args);
        return jinja_text_strip(self, args[0],
                                which == S_STRIP    ? 3
                                : which == S_LSTRIP ? 1
                                                    : 2,
                                vm);
    case S_SPLIT:
    case S_RSPLIT:
        return split(vm, self, which == S_RSPLIT, call);
    case S_SPLITLINES:
        return split_lines(vm, self, call);
    case S_STARTSWITH:
    case S_ENDSWITH:
        return starts_or_ends(vm, self, which == S_STARTSWITH, call);
    case S_REPLACE:
        return replace(vm, self, call);
    case S_FIND:
    case S_RFIND:
    case S_INDEX:
    case S_RINDEX:
        return find(vm, self, which, call);
    case S_COUNT:
        return count(vm, self, call);
    case S_JOIN:
        return join(vm, self, call);
    case S_FORMAT:
    case S_FORMAT_MAP:
        return format(vm, self, which, call);
    case S_CENTER:
        return pad(vm, self, '^', call);
    case S_LJUST:
        return pad(vm, self, '<', call);
    case S_RJUST:
        return pad(vm, self, '>', call);
    case S_ZFILL:
        return zfill(vm, self, call);
    case S_PARTITION:
    case S_RPARTITION:
        return partition(vm, self, which == S_RPARTITION, call);
    case S_REMOVEPREFIX:
    case S_REMOVESUFFIX:
        return remove_end(vm, self, which == S_REMOVEPREFIX, call);
    case S_EXPANDTABS:
        return expand_tabs(vm, self, call);
    case S_ENCODE:
        return encode(vm, self, call);
    case S_TRANSLATE:
        jinja_error(vm, "translate is not known here");
    default:
        break;
    }
    if (which >= S_UPPER && which <= S_CASEFOLD)
        return change_case(vm, self, which, call);
    jinja_call_bind(vm, call, "", 0, NULL);
    return v_bool(is_kind(str_v(self), which));
}
