/* Finds the outputs of a notebook (nbformat 4) without building a tree: a notebook is mostly
 * pictures, and places are wanted that a tree does not have. It takes JSON as it comes and does not
 * judge it: what is no output is blanked unseen. */
#include "importers/run/notebook_text.h"

#include <string.h>

#include "core/base/str.h"

#define MAX_DEPTH 64
#define BLANK     '\r'

/* What a value is, by the keys on the way to it. */
enum place { OTHER, ROOT, CELLS, CELL, OUTPUTS, OUTPUT, DATA, TEXT, HTML };

static const struct {
    enum place parent;
    const char *key;
    enum place place;
} members[] = {
    {ROOT, "cells", CELLS},      {CELL, "outputs", OUTPUTS}, {OUTPUT, "text", TEXT},
    {OUTPUT, "traceback", TEXT}, {OUTPUT, "data", DATA},     {DATA, "text/plain", TEXT},
    {DATA, "text/html", HTML},
};

struct level {
    enum place place;
    bool is_object;
    size_t begin;
};

struct scan {
    char *p;
    size_t n, at;
    struct level levels[MAX_DEPTH];
    size_t depth;
    enum place next; /* of the value that comes */
    bool wants_key;
    struct notebook_text *out;
};

static enum place member_of(enum place parent, struct str key)
{
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (members[i].parent == parent && str_is(key, members[i].key)) {
            return members[i].place;
        }
    }
    return OTHER;
}

static enum place element_of(enum place parent)
{
    return parent == CELLS                    ? CELL
           : parent == OUTPUTS                ? OUTPUT
           : parent == TEXT || parent == HTML ? parent
                                              : OTHER;
}

static void blank(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = p[i] == '\n' ? '\n' : BLANK;
    }
}

/* ---- Strings ---- */

static bool read_hex(const char *p, size_t n, unsigned *out)
{
    if (n < 4) {
        return false;
    }
    *out = 0;
    for (size_t i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = p[i] != '\0' ? strchr(digits, p[i]) : NULL;
        if (digit == NULL) {
            return false;
        }
        *out = *out * 16 + (unsigned)((digit - digits) & 15);
    }
    return true;
}

/* At most as many bytes as the escape had. */
static size_t put_utf8(char *out, unsigned code)
{
    if (code < 0x80) {
        out[0] = code < 0x20 && code != 0x1b && code != '\t' ? ' ' : (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

/* "uXXXX" behind a backslash; bytes used, 0: none. */
static size_t read_unicode(const char *p, size_t n, unsigned *code)
{
    unsigned low;
    if (!read_hex(p + 1, n - 1, code)) {
        return 0;
    }
    if (*code < 0xD800 || *code > 0xDFFF) {
        return 5;
    }
    bool is_pair = *code < 0xDC00 && n >= 11 && p[5] == '\\' && p[6] == 'u' &&
                   read_hex(p + 7, n - 7, &low) && low >= 0xDC00 && low <= 0xDFFF;
    if (!is_pair) {
        *code = '?';
        return 5;
    }
    *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
    return 11;
}

static void decode(char *p, size_t n)
{
    size_t out = 0;
    for (size_t i = 0; i < n;) {
        if (p[i] != '\\' || i + 1 == n) {
            p[out++] = p[i++];
            continue;
        }
        unsigned code;
        size_t used = p[i + 1] == 'u' ? read_unicode(p + i + 1, n - i - 1, &code) : 0;
        char c = p[i + 1];
        if (used > 0) {
            i += 1 + used;
            out += put_utf8(p + out, code);
            continue;
        }
        i += 2;
        p[out++] = c == 'n' || c == 'r' ? BLANK : c == 't' ? '\t' : c == 'b' || c == 'f' ? ' ' : c;
    }
    memset(p + out, BLANK, n - out);
}

/* Offset of the quote that ends the string, or of the end. */
static size_t string_end(const struct scan *scan)
{
    size_t i = scan->at + 1;
    while (i < scan->n && scan->p[i] != '"') {
        i += scan->p[i] == '\\' ? 2 : 1;
    }
    return i < scan->n ? i : scan->n;
}

static void see_string(struct scan *scan)
{
    size_t begin = scan->at + 1, end = string_end(scan);
    char *p = scan->p + begin;
    if (scan->wants_key) {
        enum place parent = scan->levels[scan->depth - 1].place;
        scan->next = member_of(parent, str_from(p, end - begin));
        scan->wants_key = false;
        blank(p, end - begin);
    } else if (scan->next == TEXT || scan->next == HTML) {
        decode(p, end - begin);
        bool is_alone = scan->depth == 0 || scan->levels[scan->depth - 1].is_object;
        if (scan->next == HTML && is_alone) {
            notebook_html(p, end - begin);
        }
    } else {
        blank(p, end - begin);
    }
    scan->p[begin - 1] = BLANK;
    if (end < scan->n) {
        scan->p[end] = BLANK;
    }
    scan->out->is_cut |= end == scan->n;
    scan->at = end < scan->n ? end + 1 : end;
}

/* ---- The whole ---- */

static bool open_level(struct scan *scan, bool is_object)
{
    if (scan->depth == MAX_DEPTH) {
        return false;
    }
    enum place place = scan->next;
    scan->out->has_cells |= place == CELLS;
    scan->out->n_outputs += place == OUTPUT && is_object;
    scan->levels[scan->depth++] = (struct level){place, is_object, scan->at};
    scan->wants_key = is_object;
    scan->next = is_object ? OTHER : element_of(place);
    return true;
}

static void close_level(struct scan *scan)
{
    if (scan->depth == 0) {
        return;
    }
    const struct level *level = &scan->levels[--scan->depth];
    if (level->place == HTML && !level->is_object) {
        notebook_html(scan->p + level->begin, scan->at - level->begin);
    }
    scan->wants_key = false;
    scan->next = OTHER;
}

static void next_member(struct scan *scan)
{
    const struct level *top = scan->depth > 0 ? &scan->levels[scan->depth - 1] : NULL;
    scan->wants_key = top != NULL && top->is_object;
    scan->next = top != NULL && !top->is_object ? element_of(top->place) : OTHER;
}

static bool see_byte(struct scan *scan)
{
    char c = scan->p[scan->at];
    scan->p[scan->at] = c == '\n' ? '\n' : BLANK;
    bool is_known = true;
    if (c == '{' || c == '[') {
        is_known = open_level(scan, c == '{');
    } else if (c == '}' || c == ']') {
        close_level(scan);
    } else if (c == ',') {
        next_member(scan);
    }
    scan->at++;
    return is_known;
}

static int64_t line_of(const char *p, size_t n)
{
    int64_t line = 1;
    for (size_t i = 0; i < n; i++) {
        line += p[i] == '\n';
    }
    return line;
}

void notebook_text(char *bytes, size_t n, struct notebook_text *out)
{
    struct scan scan = {.p = bytes, .n = n, .next = ROOT, .out = out};
    *out = (struct notebook_text){0};
    bool goes_on = true;
    while (scan.at < n && goes_on) {
        if (bytes[scan.at] == '"') {
            see_string(&scan);
        } else {
            goes_on = see_byte(&scan);
        }
    }
    out->is_cut |= !goes_on || scan.depth > 0;
    out->cut_line = out->is_cut ? line_of(bytes, scan.at) : 0;
    blank(bytes + scan.at, n - scan.at);
    while (scan.depth > 0) {
        close_level(&scan);
    }
}
