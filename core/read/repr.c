/* Reads what Python's repr and Rust's {:?} print. See repr.h. */
#include "core/read/repr.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "core/base/number.h"

struct reading {
    struct str text;
    size_t at;
    int depth;
    struct arena *arena;
    struct error *err;
};

static int value_at(struct reading *r, struct json **out);

/* ---- Characters ---- */

static char look(struct reading *r)
{
    while (r->at < r->text.n && isspace((unsigned char)r->text.p[r->at]))
        r->at++;
    return r->at < r->text.n ? r->text.p[r->at] : '\0';
}

static bool take(struct reading *r, char c)
{
    if (look(r) != c)
        return false;
    r->at++;
    return true;
}

static int expected(struct reading *r, const char *what)
{
    int rc = error_set(r->err, E_PARSE, "expected %s", what);

    if (r->err)
        error_at(r->err, NULL, NONE, (int64_t)r->at);
    return rc;
}

static int new_value(struct reading *r, enum json_type type, struct json **out)
{
    *out = arena_alloc(r->arena, sizeof **out);
    if (!*out)
        return error_set(r->err, E_LIMIT, "more values than fit into memory");
    (*out)->type = type;
    (*out)->line = NONE;
    return OK;
}

/* ---- Texts ---- */

static int hex_of(struct reading *r, size_t digits, uint32_t *out)
{
    uint32_t code = 0;

    for (size_t i = 0; i < digits; i++) {
        if (r->at >= r->text.n || !isxdigit((unsigned char)r->text.p[r->at]))
            return expected(r, "a hexadecimal digit");
        char c = (char)tolower((unsigned char)r->text.p[r->at++]);
        code = code * 16 + (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *out = code;
    return OK;
}

static void put_code(struct buf *out, uint32_t code)
{
    if (code < 0x80) {
        buf_putc(out, (char)code);
    } else if (code < 0x800) {
        buf_putc(out, (char)(0xC0 | code >> 6));
        buf_putc(out, (char)(0x80 | (code & 0x3F)));
    } else if (code < 0x10000 && (code < 0xD800 || code > 0xDFFF)) {
        buf_putc(out, (char)(0xE0 | code >> 12));
        buf_putc(out, (char)(0x80 | (code >> 6 & 0x3F)));
        buf_putc(out, (char)(0x80 | (code & 0x3F)));
    } else if (code >= 0x10000 && code < 0x110000) {
        buf_putc(out, (char)(0xF0 | code >> 18));
        buf_putc(out, (char)(0x80 | (code >> 12 & 0x3F)));
        buf_putc(out, (char)(0x80 | (code >> 6 & 0x3F)));
        buf_putc(out, (char)(0x80 | (code & 0x3F)));
    } else {
        buf_puts(out, "\xEF\xBF\xBD");
    }
}

/* Behind the backslash. */
static int take_escape(struct reading *r, struct buf *out)
{
    static const char FROM[] = "ntr0", TO[] = "\n\t\r";
    char c = r->text.p[r->at++];
    const char *known = strchr(FROM, c);
    uint32_t code = 0;
    int rc = OK;

    if (c == 'x' || c == 'u' || c == 'U') {
        bool is_braced = c == 'u' && r->at < r->text.n && r->text.p[r->at] == '{';  /* Rust */
        size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;

        if (is_braced) {
            r->at++;
            digits = 0;
            while (r->at + digits < r->text.n && digits < 6 && r->text.p[r->at + digits] != '}')
                digits++;
        }
        rc = hex_of(r, digits, &code);
        if (rc == OK && is_braced && !take(r, '}'))
            return expected(r, "}");
        if (rc == OK)
            put_code(out, code);
        return rc;
    }
    if (known && *known && *known != '0')
        buf_putc(out, TO[known - FROM]);
    else if (c == '0')
        buf_puts(out, "\xEF\xBF\xBD");
    else
        buf_putc(out, c);
    return OK;
}

static int text_at(struct reading *r, struct json **out)
{
    char quote = r->text.p[r->at++];
    struct buf text;
    int rc = new_value(r, JSON_STRING, out);

    buf_init(&text, r->text.n * 3 + 16);
    while (rc == OK && r->at < r->text.n && r->text.p[r->at] != quote) {
        char c = r->text.p[r->at++];

        if (c != '\\')
            buf_putc(&text, c);
        else if (r->at < r->text.n)
            rc = take_escape(r, &text);
    }
    if (rc == OK && r->at >= r->text.n)
        rc = expected(r, "the end of a text");
    if (rc == OK) {
        r->at++;
        (*out)->text = arena_str(r->arena, buf_view(&text));
    }
    buf_free(&text);
    return rc;
}

/* ---- Lists and members ---- */

struct members {
    struct json *owner, **end;
    size_t n_named;
};

static void put_member(struct members *m, struct json *value, struct str key)
{
    value->key = key;
    *m->end = value;
    m->end = &value->next;
    m->owner->n++;
    m->n_named += key.n > 0;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-' || c == '/' || c == '\\';
}

static struct str word_at(struct reading *r)
{
    size_t from = r->at;
    bool goes_on = true;

    while (goes_on) {
        while (r->at < r->text.n && is_word(r->text.p[r->at]))
            r->at++;
        /* Rust paths: text_generation::Args */
        goes_on = r->at + 1 < r->text.n && r->text.p[r->at] == ':' && r->text.p[r->at + 1] == ':';
        r->at += goes_on ? 2 : 0;
    }
    return str_from(r->text.p + from, r->at - from);
}

/* name = value, name: value, 'key': value, or a value alone. */
static int member_at(struct reading *r, struct members *m)
{
    size_t from = r->at;
    struct str key = {NULL, 0};
    struct json *value = NULL;
    int rc = OK;

    (void)look(r);
    if (r->at < r->text.n && (isalpha((unsigned char)r->text.p[r->at]) || r->text.p[r->at] == '_')) {
        key = word_at(r);
        char c = look(r);
        bool is_key = c == '=' || c == ':';

        if (is_key)
            r->at++;
        else {
            r->at = from;
            key.n = 0;
        }
    }
    rc = value_at(r, &value);
    if (rc == OK && !key.n && (value->type == JSON_STRING || value->type == JSON_NUMBER) &&
        take(r, ':')) {
        key = value->text;
        rc = value_at(r, &value);
    }
    if (rc == OK)
        put_member(m, value, key);
    return rc;
}

static int members_at(struct reading *r, char closing, struct json **out)
{
    struct members m = {0};
    int rc = new_value(r, JSON_ARRAY, out);

    if (rc != OK)
        return rc;
    m.owner = *out;
    m.end = &(*out)->child;
    r->at++;
    while (rc == OK && look(r) != closing) {
        rc = member_at(r, &m);
        if (rc == OK && !take(r, ',') && look(r) != closing)
            rc = expected(r, "a comma or the end of a list");
    }
    if (rc == OK)
        r->at++;
    if (m.n_named || (closing == '}' && (*out)->n == 0))
        (*out)->type = JSON_OBJECT;
    return rc;
}

/* ---- Words and numbers ---- */

static int bare_at(struct reading *r, struct json **out)
{
    static const struct {
        const char *word;
        enum json_type type;
    } WORDS[] = {{"None", JSON_NULL}, {"null", JSON_NULL},   {"True", JSON_TRUE},
                 {"true", JSON_TRUE}, {"False", JSON_FALSE}, {"false", JSON_FALSE}};
    struct str word = word_at(r);
    double number;
    int64_t whole;
    int rc;

    if (word.n == 0)
        return expected(r, "a value");
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (str_is(word, WORDS[i].word))
            return new_value(r, WORDS[i].type, out);
    if (number_parse(word, &number)) {
        rc = new_value(r, JSON_NUMBER, out);
        if (rc == OK) {
            (*out)->number = number;
            (*out)->text = arena_str(r->arena, word);
            (*out)->is_integer = number_parse_int(word, &whole);
        }
        return rc;
    }
    char c = look(r);
    if (c != '(' && c != '{') {
        rc = new_value(r, JSON_STRING, out);
        if (rc == OK)
            (*out)->text = arena_str(r->arena, word);
        return rc;
    }
    rc = members_at(r, c == '(' ? ')' : '}', out);
    /* Some("a"), PosixPath('a'): what is in it */
    if (rc == OK && c == '(' && (*out)->type == JSON_ARRAY && (*out)->n == 1)
        *out = (*out)->child;
    else if (rc == OK && c == '(' && (*out)->n == 0)
        (*out)->type = JSON_OBJECT;
    return rc;
}

/* <Enum.NAME: 'value'>: the value; <object at 0x…>: its text. */
static int angled_at(struct reading *r, struct json **out)
{
    size_t from = r->at, end = from;
    int rc = new_value(r, JSON_STRING, out);

    while (end < r->text.n && r->text.p[end] != '>')
        end++;
    if (rc == OK && end == r->text.n)
        return expected(r, "the end of <…>");
    if (rc != OK)
        return rc;
    struct str inside = str_from(r->text.p + from + 1, end - from - 1);
    ptrdiff_t colon = str_find(inside, ": ");
    if (colon >= 0) {
        inside = str_trim(str_skip(inside, (size_t)colon + 2));
        if (inside.n >= 2 && (inside.p[0] == '\'' || inside.p[0] == '"'))
            inside = str_from(inside.p + 1, inside.n - 2);
    }
    (*out)->text = arena_str(r->arena, inside);
    r->at = end + 1;
    return OK;
}

static int value_at(struct reading *r, struct json **out)
{
    char c = look(r);
    int rc;

    if (r->depth >= REPR_DEPTH)
        return error_set(r->err, E_LIMIT, "values nested more than %d deep", REPR_DEPTH);
    r->depth++;
    switch (c) {
    case '\'':
    case '"':
        rc = text_at(r, out);
        break;
    case '[':
        rc = members_at(r, ']', out);
        break;
    case '(':
        rc = members_at(r, ')', out);
        break;
    case '{':
        rc = members_at(r, '}', out);
        break;
    case '<':
        rc = angled_at(r, out);
        break;
    default:
        rc = bare_at(r, out);
        break;
    }
    r->depth--;
    return rc;
}

int repr_parse(struct str text, struct arena *arena, const struct json **out, size_t *used,
               struct error *err)
{
    struct reading r = {.text = text, .arena = arena, .err = err};
    struct json *value = NULL;
    int rc = value_at(&r, &value);

    if (rc != OK)
        return rc;
    if (arena_failed(arena))
        return error_set(err, E_LIMIT, "more values than fit into memory");
    *out = value;
    *used = r.at;
    return OK;
}
