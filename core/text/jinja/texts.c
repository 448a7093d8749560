/* Texts by code points, as Python counts them. See jinja_parts.h. A text that is not UTF-8 counts
 * each wrong byte as one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/base/unicode.h"
#include "core/base/unicode_case.h"
#include "core/text/jinja/jinja_parts.h"

bool jinja_text_is_ascii(struct str s)
{
    size_t i = 0;

    for (uint64_t word; i + 8 <= s.n; i += 8) {
        memcpy(&word, s.p + i, 8);
        if (word & UINT64_C(0x8080808080808080))
            return false;
    }
    for (; i < s.n; i++)
        if ((unsigned char)s.p[i] >= 0x80)
            return false;
    return true;
}

size_t jinja_text_step(struct str s, int32_t *codepoint)
{
    size_t n = unicode_next(s, codepoint);

    if (*codepoint >= 0)
        return n;
    /* a surrogate in three bytes */
    if (s.n >= 3 && (unsigned char)s.p[0] == 0xED && ((unsigned char)s.p[1] & 0xE0) == 0xA0 &&
        ((unsigned char)s.p[2] & 0xC0) == 0x80) {
        *codepoint = 0xD000 | (s.p[1] & 0x3F) << 6 | (s.p[2] & 0x3F);
        return 3;
    }
    return 1;
}

static inline size_t step(struct str s)
{
    int32_t codepoint;

    return (unsigned char)s.p[0] < 0x80 ? 1 : jinja_text_step(s, &codepoint);
}

size_t jinja_text_count(struct vm *vm, struct str s)
{
    size_t n = 0;

    jinja_work(vm, s.n);
    if (jinja_text_is_ascii(s))
        return s.n;
    while (s.n) {
        s = str_skip(s, step(s));
        n++;
    }
    return n;
}

size_t jinja_text_offset(struct vm *vm, struct str s, size_t index)
{
    size_t at = 0;

    jinja_work(vm, s.n);
    if (jinja_text_is_ascii(s))
        return index < s.n ? index : s.n;
    while (index > 0 && at < s.n) {
        at += step(str_skip(s, at));
        index--;
    }
    return at;
}

struct value jinja_text_char(struct vm *vm, struct value v, int64_t index, bool *found)
{
    struct str s = str_v(v);
    bool is_ascii = jinja_text_is_ascii(s);

    jinja_work(vm, s.n);
    if (index < 0)
        index += (int64_t)(is_ascii ? s.n : jinja_text_count(vm, s));
    *found = false;
    if (index < 0 || (uint64_t)index >= s.n)
        return v;

    size_t at = is_ascii ? (size_t)index : jinja_text_offset(vm, s, (size_t)index);

    if (at >= s.n)
        return v;
    *found = true;
    return v_slice(v, at, at + step(str_skip(s, at)));
}

/* n characters from `from` on, every step-th. */
struct value jinja_text_slice(struct vm *vm, struct value v, int64_t from, int64_t stride,
                              int64_t n)
{
    struct str s = str_v(v);
    struct text out = {.vm = vm};

    if (n <= 0)
        return v_slice(v, 0, 0);
    if (stride == 1) {
        size_t begin = jinja_text_offset(vm, s, (size_t)from);

        return v_slice(v, begin, begin + jinja_text_offset(vm, str_skip(s, begin), (size_t)n));
    }
    if (jinja_text_is_ascii(s)) {
        for (int64_t i = 0; i < n; i++)
            jinja_text_putc(&out, s.p[from + i * stride]);
    } else {
        size_t count = 0;
        uint32_t *offsets = jinja_take_array(vm, s.n + 1, sizeof *offsets);

        for (size_t at = 0; at < s.n; at += step(str_skip(s, at)))
            offsets[count++] = (uint32_t)at;
        offsets[count] = (uint32_t)s.n;
        for (int64_t i = 0; i < n; i++) {
            size_t at = (size_t)(from + i * stride);

            jinja_text_add(&out, s.p + offsets[at], offsets[at + 1] - offsets[at]);
        }
    }
    v = v_slice(jinja_text_value(&out), 0, out.n);
    return v;
}

/* ---- strip ---- */

static bool has_char(struct vm *vm, struct str set, struct str c)
{
    jinja_spend(vm, set.n / 64 + 1);
    return memmem(set.p, set.n, c.p, c.n) != NULL;
}

static size_t last_char(struct str s)
{
    size_t at = s.n - 1;

    while (at > 0 && s.n - at < 4 && ((unsigned char)s.p[at] & 0xC0) == 0x80)
        at--;
    return at + step(str_skip(s, at)) == s.n ? at : s.n - 1;
}

/* sides: 1 left, 2 right, 3 both. */
struct value jinja_text_strip(struct value v, struct value chars, int sides, struct vm *vm)
{
    struct str s = str_v(v);

    jinja_work(vm, s.n);
    if (chars.type == V_NONE || chars.type == V_MISSING) {
        if (sides & 1)
            s = unicode_strip_left(s);
        if (sides & 2)
            s = unicode_strip_right(s);
        return v_slice(v, (size_t)(s.p - v.p), (size_t)(s.p - v.p) + s.n);
    }
    if (!is_str(chars)) {
        if (chars.type == V_UNDEFINED)
            jinja_error(vm, "strip arg must be None or str, not Undefined");
        jinja_error(vm, "strip arg must be None or str, not %s", jinja_value_type_name(chars));
    }
    while (sides & 1 && s.n && has_char(vm, str_v(chars), str_first(s, step(s))))
        s = str_skip(s, step(s));
    while (sides & 2 && s.n && has_char(vm, str_v(chars), str_skip(s, last_char(s))))
        s.n = last_char(s);
    return v_slice(v, (size_t)(s.p - v.p), (size_t)(s.p - v.p) + s.n);
}

/* ---- replace, split, lines, pad ---- */

static struct value replace_empty(struct vm *vm, struct value v, struct str with, int64_t count)
{
    struct text out = {.vm = vm};
    struct str s = str_v(v);

    while (s.n && count != 0) {
        size_t n = step(s);

        jinja_text_add(&out, with.p, with.n);
        jinja_text_add(&out, s.p, n);
        s = str_skip(s, n);
        count--;
    }
    if (count != 0)
        jinja_text_add(&out, with.p, with.n);
    jinja_text_add(&out, s.p, s.n);
    return jinja_text_value(&out);
}

struct value jinja_text_replace(struct vm *vm, struct value v, struct str old, struct str with,
                                int64_t count)
{
    struct text out = {.vm = vm};
    struct str s = str_v(v);

    jinja_work(vm, s.n);
    if (old.n == 0)
        return replace_empty(vm, v, with, count);
    for (bool any = false; count != 0; count--) {
        const char *hit = memmem(s.p, s.n, old.p, old.n);

        if (!hit && !any)
            return v;
        if (!hit)
            break;
        any = true;
        jinja_text_add(&out, s.p, (size_t)(hit - s.p));
        jinja_text_add(&out, with.p, with.n);
        s = str_skip(s, (size_t)(hit - s.p) + old.n);
    }
    jinja_text_add(&out, s.p, s.n);
    return jinja_text_value(&out);
}

static void split_space(struct vm *vm, struct list *out, struct value v, int64_t most)
{
    struct str s = unicode_strip_left(str_v(v));

    jinja_work(vm, (size_t)v.n * 8); /* character by character, which takes longer than a search */
    while (s.n) {
        size_t from = (size_t)(s.p - v.p);
        int32_t codepoint = ' ';

        if (most-- == 0) {
            jinja_list_add(vm, out, v_slice(v, from, from + s.n));
            return;
        }
        while (s.n) {
            size_t n = jinja_text_step(s, &codepoint);

            if (unicode_is_space(codepoint))
                break;
            s = str_skip(s, n);
        }
        jinja_list_add(vm, out, v_slice(v, from, (size_t)(s.p - v.p)));
        s = unicode_strip_left(s);
    }
}

static size_t word_begin(struct str s)
{
    size_t at = s.n;

    while (at > 0) {
        size_t before = last_char(str_first(s, at));
        int32_t codepoint;

        jinja_text_step(str_from(s.p + before, at - before), &codepoint);
        if (unicode_is_space(codepoint))
            break;
        at = before;
    }
    return at;
}

static void reverse(struct list *list)
{
    for (uint32_t i = 0; i + i + 1 < list->n; i++) {
        struct value swapped = list->items[i];

        list->items[i] = list->items[list->n - 1 - i];
        list->items[list->n - 1 - i] = swapped;
    }
}

static void split_space_right(struct vm *vm, struct list *out, struct value v, int64_t most)
{
    struct str s = unicode_strip_right(str_v(v));

    jinja_work(vm, (size_t)v.n * 8);
    while (s.n) {
        size_t from;

        if (most-- == 0) {
            jinja_list_add(vm, out, v_slice(v, 0, s.n));
            break;
        }
        from = word_begin(s);
        jinja_list_add(vm, out, v_slice(v, from, s.n));
        s = unicode_strip_right(str_first(s, from));
    }
    reverse(out);
}

static const char *find_last(struct str s, struct str part)
{
    for (size_t at = s.n >= part.n ? s.n - part.n + 1 : 0; at > 0; at--)
        if (s.p[at - 1] == part.p[0] && memcmp(s.p + at - 1, part.p, part.n) == 0)
            return s.p + at - 1;
    return NULL;
}

static void split_at(struct vm *vm, struct list *out, struct value v, struct str part, int64_t most)
{
    struct str s = str_v(v);

    for (; most != 0; most--) {
        const char *hit = memmem(s.p, s.n, part.p, part.n);
        size_t from = (size_t)(s.p - v.p);

        if (!hit)
            break;
        jinja_list_add(vm, out, v_slice(v, from, (size_t)(hit - v.p)));
        s = str_skip(s, (size_t)(hit - s.p) + part.n);
    }
    jinja_list_add(vm, out, v_slice(v, (size_t)(s.p - v.p), v.n));
}

static void split_at_right(struct vm *vm, struct list *out, struct value v, struct str part,
                           int64_t most)
{
    struct str s = str_v(v);

    for (; most != 0; most--) {
        const char *hit = find_last(s, part);

        if (!hit)
            break;
        jinja_list_add(vm, out, v_slice(v, (size_t)(hit - v.p) + part.n, s.n));
        s.n = (size_t)(hit - v.p);
    }
    jinja_list_add(vm, out, v_slice(v, 0, s.n));
    reverse(out);
}

struct list *jinja_text_split(struct vm *vm, struct value v, struct value separator, int64_t most,
                              bool from_right)
{
    struct list *out = jinja_list_new(vm, 4);

    jinja_work(vm, v.n);
    if (separator.type == V_NONE || separator.type == V_MISSING) {
        if (from_right)
            split_space_right(vm, out, v, most);
        else
            split_space(vm, out, v, most);
        return out;
    }
    if (!is_str(separator))
        jinja_error(vm, "must be str or None, not %s", jinja_value_type_name(separator));
    if (separator.n == 0)
        jinja_error(vm, "empty separator");
    if (from_right)
        split_at_right(vm, out, v, str_v(separator), most);
    else
        split_at(vm, out, v, str_v(separator), most);
    return out;
}

static bool ends_line(int32_t codepoint)
{
    return (codepoint >= 0x0A && codepoint <= 0x0D) || (codepoint >= 0x1C && codepoint <= 0x1E) ||
           codepoint == 0x85 || codepoint == 0x2028 || codepoint == 0x2029;
}

struct list *jinja_text_lines(struct vm *vm, struct value v, bool keep_ends)
{
    struct list *out = jinja_list_new(vm, 4);

    jinja_work(vm, v.n);
    for (size_t from = 0; from < v.n;) {
        size_t end = from, after = from;

        while (after == end && end < v.n) {
            int32_t codepoint;
            size_t n = jinja_text_step(str_from(v.p + end, v.n - end), &codepoint);

            after = end + n;
            if (!ends_line(codepoint))
                end = after;
            else if (codepoint == '\r' && after < v.n && v.p[after] == '\n')
                after++;
        }
        jinja_list_add(vm, out, v_slice(v, from, keep_ends ? after : end));
        from = after;
    }
    return out;
}

/* align: '<' '>' '^'; for centre Python puts the odd blank left when the width is odd. */
struct value jinja_text_pad(struct vm *vm, struct value v, int64_t width, struct str fill,
                            char align)
{
    struct text out = {.vm = vm};
    int64_t missing = width - (int64_t)jinja_text_count(vm, str_v(v));
    int64_t left;

    if (missing <= 0)
        return v;
    left = align == '<' ? 0 : align == '>' ? missing : missing / 2 + (missing & width & 1);
    jinja_text_fill(&out, fill, left);
    jinja_text_str(&out, v);
    jinja_text_fill(&out, fill, missing - left);
    return jinja_text_value(&out);
}

/* ---- case ---- */

static bool is_final_sigma(struct str s, size_t at, size_t after)
{
    struct str before = str_first(s, at);
    struct str behind = str_skip(s, after);
    int32_t codepoint = -1;

    for (;;) {
        size_t last;

        if (before.n == 0)
            return false;
        last = last_char(before);
        jinja_text_step(str_skip(before, last), &codepoint);
        if (!unicode_is_case_ignorable(codepoint))
            break;
        before.n = last;
    }
    if (!unicode_is_cased(codepoint))
        return false;
    while (behind.n) {
        size_t n = jinja_text_step(behind, &codepoint);

        if (!unicode_is_case_ignorable(codepoint))
            return !unicode_is_cased(codepoint);
        behind = str_skip(behind, n);
    }
    return true;
}

static int lower_at(struct str s, size_t at, size_t n, int32_t codepoint, int32_t out[3])
{
    if (codepoint == 0x3A3) {
        out[0] = is_final_sigma(s, at, at + n) ? 0x3C2 : 0x3C3;
        return 1;
    }
    return unicode_lower(codepoint, out);
}

static int change_at(enum case_change change, struct str s, size_t at, size_t n, int32_t codepoint,
                     bool is_first, int32_t out[3])
{
    switch (change) {
    case CASE_UPPER:
        return unicode_upper(codepoint, out);
    case CASE_FOLD:
        return unicode_fold(codepoint, out);
    case CASE_TITLE:
    case CASE_CAPITALIZE:
        return is_first ? unicode_title(codepoint, out) : lower_at(s, at, n, codepoint, out);
    case CASE_SWAP:
        if (unicode_is_upper(codepoint))
            return lower_at(s, at, n, codepoint, out);
        if (unicode_is_lower(codepoint))
            return unicode_upper(codepoint, out);
        out[0] = codepoint;
        return 1;
    case CASE_LOWER:
    default:
        return lower_at(s, at, n, codepoint, out);
    }
}

struct value jinja_text_case(struct vm *vm, struct value v, enum case_change change)
{
    struct text out = {.vm = vm};
    struct str s = str_v(v);
    bool after_cased = false;

    jinja_work(vm, s.n * 8);
    for (size_t at = 0; at < s.n;) {
        int32_t codepoint, to[3];
        size_t n = jinja_text_step(str_skip(s, at), &codepoint);

        if (codepoint < 0) {
            jinja_text_add(&out, s.p + at, n);
        } else {
            bool is_first = change == CASE_CAPITALIZE ? at == 0 : !after_cased;
            int count = change_at(change, s, at, n, codepoint, is_first, to);

            for (int i = 0; i < count; i++)
                jinja_text_codepoint(&out, to[i]);
        }
        if (change == CASE_TITLE)
            after_cased = unicode_is_cased(codepoint);
        at += n;
    }

    struct value result = jinja_text_value(&out);

    result.flags = v.flags & F_MARKUP;
    return result;
}

/* ---- numbers in texts ---- */

/* Python's int(text, base): blanks around, a sign, digits with single underscores, any Unicode
 * decimal digits. */
bool jinja_text_parse_int(struct vm *vm, struct str s, int base, struct value *out)
{
    struct text digits = {.vm = vm};
    bool was_digit = false, is_negative;

    jinja_work(vm, s.n);
    s = unicode_strip_left(unicode_strip_right(s));
    is_negative = s.n && s.p[0] == '-';
    if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
        s = str_skip(s, 1);
    if (s.n > 2 && s.p[0] == '0') {
        char kind = (char)(s.p[1] | 0x20);
        int said = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;

        if (said && (base == 0 || base == said)) {
            base = said;
            s = str_skip(s, 2);
            was_digit = s.p[0] == '_'; /* "0x_1" is fine */
            if (was_digit)
                s = str_skip(s, 1);
            was_digit = false;
        }
    }
    if (base == 0)
        base = 10;
    if (is_negative)
        jinja_text_putc(&digits, '-');
    while (s.n) {
        int32_t codepoint;
        size_t n = jinja_text_step(s, &codepoint);
        int digit = unicode_decimal_value(codepoint);

        s = str_skip(s, n);
        if (digit < 0 && codepoint < 0x80 && (codepoint | 0x20) >= 'a' && (codepoint | 0x20) <= 'z')
            digit = (codepoint | 0x20) - 'a' + 10;
        if (codepoint == '_') {
            if (!was_digit || s.n == 0)
                return false;
            was_digit = false;
            continue;
        }
        if (digit < 0 || digit >= base)
            return false;
        was_digit = true;
        jinja_text_putc(&digits, (char)(digit < 10 ? '0' + digit : 'a' + digit - 10));
    }
    if (!was_digit || (digits.n > 4300 && (base & (base - 1))))
        return false;
    *out = jinja_big_of_text_base(vm, str_from(digits.p, digits.n), base);
    return true;
}

/* Python's float(text). */
bool jinja_text_parse_float(struct str s, double *out)
{
    char plain[512];
    size_t n = 0;

    s = unicode_strip_left(unicode_strip_right(s));
    for (size_t at = 0; at < s.n;) {
        int32_t codepoint;
        size_t used = jinja_text_step(str_skip(s, at), &codepoint);
        int digit = unicode_decimal_value(codepoint);
        bool is_between = codepoint == '_' && at > 0 && at + 1 < s.n && s.p[at - 1] >= '0' &&
                          s.p[at - 1] <= '9' && s.p[at + 1] >= '0' && s.p[at + 1] <= '9';

        if (n + 1 >= sizeof plain || (digit < 0 && codepoint >= 0x80))
            return false;
        if (!is_between)
            plain[n++] = digit >= 0 ? (char)('0' + digit) : s.p[at];
        at += used;
    }

    struct str text = str_from(plain, n);
    struct str bare = n && (plain[0] == '-' || plain[0] == '+') ? str_skip(text, 1) : text;
    bool is_negative = n && plain[0] == '-';

    if (str_is_ignoring_case(bare, "nan")) {
        *out = NAN;
        return true;
    }
    if (str_is_ignoring_case(bare, "inf") || str_is_ignoring_case(bare, "infinity")) {
        *out = is_negative ? -INFINITY : INFINITY;
        return true;
    }
    return bare.n && bare.p[0] != '-' && bare.p[0] != '+' && number_parse(text, out);
}
