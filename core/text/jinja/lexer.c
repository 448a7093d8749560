/* A template's text as tokens, with all that Jinja2's lexer does to white space on the way
 * (trim_blocks, lstrip_blocks, the signs of tags). See jinja_parts.h. Grammar is parser.c. */
#include <stdlib.h>
#include <string.h>

#include "core/base/unicode_case.h"
#include "core/text/jinja/compiler.h"

struct lexer {
    struct compiler *c;
    const char *begin, *p, *end;
    int line;
    bool starts_line; /* what came before ended in a newline, or nothing did */
};

static void add_token(struct lexer *l, enum token_type type, struct str text)
{
    struct compiler *c = l->c;
    struct tokens *tokens = &c->tokens;

    if (tokens->n == tokens->capacity) {
        size_t capacity = tokens->capacity ? tokens->capacity * 2 : 256;
        struct token *grown = jinja_compiler_take(c, capacity, sizeof *grown);

        if (tokens->n)
            memcpy(grown, tokens->items, tokens->n * sizeof *grown);
        tokens->items = grown;
        tokens->capacity = capacity;
    }
    tokens->items[tokens->n++] = (struct token){type, l->line, text};
}

static void count_lines(struct lexer *l, const char *from, const char *to)
{
    for (const char *p = from; p < to; p++)
        l->line += *p == '\n';
}

static bool starts(const struct lexer *l, const char *p, const char *word)
{
    size_t n = strlen(word);

    return (size_t)(l->end - p) >= n && memcmp(p, word, n) == 0;
}

static const char *skip_space(const struct lexer *l, const char *p)
{
    while (p < l->end) {
        int32_t codepoint;
        size_t n = jinja_text_step(str_from(p, (size_t)(l->end - p)), &codepoint);

        if (!unicode_is_space(codepoint))
            break;
        p += n;
    }
    return p;
}

static const char *strip_right(const char *begin, const char *end)
{
    return begin + unicode_strip_right(str_from(begin, (size_t)(end - begin))).n;
}

static bool is_all_space(struct str s)
{
    return s.n > 0 && unicode_strip_right(s).n == 0;
}

/* The data before a tag: `sign` is the tag's, '\0' when it has none. */
static void add_data(struct lexer *l, const char *from, const char *to, char sign, bool is_variable)
{
    const char *end = to;

    if (sign == '-') {
        end = strip_right(from, to);
    } else if (sign != '+' && !is_variable) {
        const char *line = memrchr(from, '\n', (size_t)(to - from));

        line = line ? line + 1 : from;
        if ((line > from || l->starts_line) && is_all_space(str_from(line, (size_t)(to - line))))
            end = line;
    }
    if (end > from)
        add_token(l, T_DATA, str_from(from, (size_t)(end - from)));
    count_lines(l, from, to);
}

/* After the end of a block tag or comment: `-` takes all white space, a bare end one newline. */
static void end_tag(struct lexer *l, const char *p, char sign)
{
    const char *from = p;

    if (sign == '-')
        p = skip_space(l, p);
    else if (sign != '+' && p < l->end && *p == '\n')
        p++;
    count_lines(l, from, p);
    l->p = p;
    l->starts_line = p[-1] == '\n';
}

static void lex_comment(struct lexer *l)
{
    const char *from = l->p;
    const char *p = memmem(from, (size_t)(l->end - from), "#}", 2);

    if (!p && from == l->end)
        return; /* nothing left to miss an end */
    if (!p)
        jinja_compiler_fail(l->c, l->line, "missing end of comment tag");
    count_lines(l, from, p);
    end_tag(l, p + 2, p > from && (p[-1] == '-' || p[-1] == '+') ? p[-1] : '\0');
}

/* ---- raw ---- */

/* The place after "raw" and its end of tag, when `p`, after "{%", begins one. */
static const char *match_raw(const struct lexer *l, const char *p)
{
    if (p < l->end && (*p == '-' || *p == '+'))
        p++;
    p = skip_space(l, p);
    if (!starts(l, p, "raw"))
        return NULL;
    p = skip_space(l, p + 3);
    if (starts(l, p, "-%}"))
        return skip_space(l, p + 3);
    return starts(l, p, "%}") ? p + 2 : NULL;
}

/* The sign before the end of an "endraw" tag and the place after it; NULL when p is none. */
static const char *match_endraw(const struct lexer *l, const char *p, char *begin_sign,
                                char *end_sign)
{
    *begin_sign = '\0';
    if (p < l->end && (*p == '-' || *p == '+'))
        *begin_sign = *p++;
    p = skip_space(l, p);
    if (!starts(l, p, "endraw"))
        return NULL;
    p = skip_space(l, p + 6);
    *end_sign = p < l->end && (*p == '-' || *p == '+') ? *p++ : '\0';
    return starts(l, p, "%}") ? p + 2 : NULL;
}

static void lex_raw(struct lexer *l, const char *body)
{
    count_lines(l, l->p, body);
    l->starts_line = body[-1] == '\n';
    for (const char *p = body;; p += 2) {
        char begin_sign, end_sign;
        const char *after;

        p = memmem(p, (size_t)(l->end - p), "{%", 2);
        if (!p && body == l->end) {
            l->p = l->end;
            return;
        }
        if (!p)
            jinja_compiler_fail(l->c, l->line, "missing end of raw directive");
        after = match_endraw(l, p + 2, &begin_sign, &end_sign);
        if (!after)
            continue;
        add_data(l, body, p, begin_sign, false);
        count_lines(l, p, after);
        end_tag(l, after, end_sign);
        return;
    }
}

/* ---- inside of tags ---- */

static bool is_digit_of(char c, int base)
{
    if (base == 16)
        return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
    return c >= '0' && c < '0' + base;
}

/* Digits with single underscores between them; `p` is at a digit. */
static const char *digits(const struct lexer *l, const char *p)
{
    while (p < l->end) {
        if (is_digit_of(*p, 10))
            p++;
        else if (*p == '_' && p + 1 < l->end && is_digit_of(p[1], 10))
            p += 2;
        else
            break;
    }
    return p;
}

static const char *match_float(const struct lexer *l, const char *p)
{
    const char *from = p;
    bool is_float = false;

    if (p > l->begin && p[-1] == '.')
        return NULL;
    p = digits(l, p);
    if (p + 1 < l->end && *p == '.' && is_digit_of(p[1], 10)) {
        p = digits(l, p + 1);
        is_float = true;
    }
    if (p < l->end && (*p | 0x20) == 'e') {
        const char *q = p + 1;

        if (q < l->end && (*q == '+' || *q == '-'))
            q++;
        if (q < l->end && is_digit_of(*q, 10))
            return digits(l, q);
    }
    return is_float && p > from ? p : NULL;
}

static const char *match_based(const struct lexer *l, const char *p, int base)
{
    const char *from = p;

    while (p < l->end) {
        if (is_digit_of(*p, base))
            p++;
        else if (*p == '_' && p + 1 < l->end && is_digit_of(p[1], base))
            p += 2;
        else
            break;
    }
    return p > from ? p : NULL;
}

static const char *match_integer(const struct lexer *l, const char *p)
{
    const char *hit = NULL;

    if (*p != '0')
        return digits(l, p);
    if (p + 1 < l->end) {
        char c = (char)(p[1] | 0x20);

        hit = c == 'x'   ? match_based(l, p + 2, 16)
              : c == 'o' ? match_based(l, p + 2, 8)
              : c == 'b' ? match_based(l, p + 2, 2)
                         : NULL;
    }
    if (hit)
        return hit;
    for (p++; p < l->end; p++) {
        if (*p == '_' && p + 1 < l->end && p[1] == '0')
            continue;
        if (*p != '0')
            break;
    }
    return p;
}

/* The number without its underscores. */
static struct str plain_number(struct lexer *l, const char *from, const char *to)
{
    char *out = jinja_compiler_take(l->c, (size_t)(to - from) + 1, 1);
    size_t n = 0;

    for (const char *p = from; p < to; p++)
        if (*p != '_')
            out[n++] = *p;
    return str_from(out, n);
}

static const char *match_name(const struct lexer *l, const char *p)
{
    while (p < l->end) {
        int32_t codepoint;
        size_t n = jinja_text_step(str_from(p, (size_t)(l->end - p)), &codepoint);

        if (codepoint != '_' && !unicode_is_word(codepoint))
            break;
        p += n;
    }
    return p;
}

static enum token_type operator_at(const struct lexer *l, const char *p, size_t *n)
{
    static const struct {
        char text[3];
        enum token_type type;
    } operators[] = {
        {"//", T_FLOORDIV}, {"**", T_POW},   {"==", T_EQ},      {"!=", T_NE},      {">=", T_GTEQ},
        {"<=", T_LTEQ},     {"+", T_ADD},    {"-", T_SUB},      {"/", T_DIV},      {"*", T_MUL},
        {"%", T_MOD},       {"~", T_TILDE},  {"[", T_LBRACKET}, {"]", T_RBRACKET}, {"(", T_LPAREN},
        {")", T_RPAREN},    {"{", T_LBRACE}, {"}", T_RBRACE},   {">", T_GT},       {"<", T_LT},
        {"=", T_ASSIGN},    {".", T_DOT},    {":", T_COLON},    {"|", T_PIPE},     {",", T_COMMA},
        {";", T_SEMICOLON},
    };

    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (starts(l, p, operators[i].text)) {
            *n = strlen(operators[i].text);
            return operators[i].type;
        }
    return T_EOF;
}

/* The end of the string that begins at p; NULL when it has none. */
static const char *match_string(const struct lexer *l, const char *p)
{
    char quote = *p;

    for (p++; p < l->end; p++) {
        if (*p == '\\')
            p++;
        else if (*p == quote)
            return p + 1;
    }
    return NULL;
}

static bool opens(enum token_type type, char *close)
{
    *close = type == T_LBRACE ? '}' : type == T_LPAREN ? ')' : type == T_LBRACKET ? ']' : '\0';
    return *close;
}

struct brackets {
    char *items;
    size_t n, capacity;
};

static void balance(struct lexer *l, struct brackets *open, enum token_type type)
{
    char close;

    if (opens(type, &close)) {
        if (open->n == open->capacity) {
            size_t capacity = open->capacity ? open->capacity * 2 : 64;
            char *grown = jinja_compiler_take(l->c, capacity, 1);

            memcpy(grown, open->items ? open->items : "", open->n);
            open->items = grown;
            open->capacity = capacity;
        }
        open->items[open->n++] = close;
        return;
    }
    if (type != T_RBRACE && type != T_RPAREN && type != T_RBRACKET)
        return;
    if (open->n == 0)
        jinja_compiler_fail(l->c, l->line, "unexpected '%c'", *l->p);
    if (open->items[--open->n] != *l->p)
        jinja_compiler_fail(l->c, l->line, "unexpected '%c', expected '%c'", *l->p,
                            open->items[open->n]);
}

struct str jinja_lex_string(struct compiler *c, struct str raw, int line);

static void lex_name(struct lexer *l, const char *to)
{
    int32_t first;

    jinja_text_step(str_from(l->p, (size_t)(to - l->p)), &first);
    if (first != '_' && !unicode_is_identifier_start(first))
        jinja_compiler_fail(l->c, l->line, "invalid character in identifier");
    add_token(l, T_NAME, str_from(l->p, (size_t)(to - l->p)));
    l->p = to;
}

static void lex_token(struct lexer *l, struct brackets *open)
{
    const char *p = l->p;
    const char *to;
    size_t n;
    enum token_type type;

    if (*p >= '0' && *p <= '9') {
        to = match_float(l, p);
        type = to ? T_FLOAT : T_INTEGER;
        if (!to)
            to = match_integer(l, p);
        add_token(l, type, plain_number(l, p, to));
        l->p = to;
        return;
    }
    to = match_name(l, p);
    if (to > p) {
        lex_name(l, to);
        return;
    }
    to = *p == '\'' || *p == '"' ? match_string(l, p) : NULL;
    if (to) {
        add_token(l, T_STRING,
                  jinja_lex_string(l->c, str_from(p + 1, (size_t)(to - p) - 2), l->line));
        count_lines(l, p, to);
        l->p = to;
        return;
    }
    type = operator_at(l, p, &n);
    if (type == T_EOF)
        jinja_compiler_fail(l->c, l->line, "unexpected character '%.*s'",
                            (int)jinja_text_step(str_from(p, (size_t)(l->end - p)), &(int32_t){0}),
                            p);
    balance(l, open, type);
    add_token(l, type, str_from(p, n));
    l->p += n;
}

/* From after "{{" or "{%" and its sign to after its end. */
static void lex_tag(struct lexer *l, bool is_variable)
{
    struct brackets open = {0};
    const char *end = is_variable ? "}}" : "%}";

    for (;;) {
        const char *p = l->p;
        char sign = p < l->end && (*p == '-' || (*p == '+' && !is_variable)) ? *p : '\0';

        if (open.n == 0 && starts(l, p + (sign != '\0'), end)) {
            add_token(l, is_variable ? T_VARIABLE_END : T_BLOCK_END, str_from(p, 2));
            p += 2 + (sign != '\0');
            end_tag(l, p, is_variable && !sign ? '+' : sign);
            return;
        }
        if (p == l->end)
            return;
        l->p = skip_space(l, p);
        count_lines(l, p, l->p);
        if (l->p == p)
            lex_token(l, &open);
    }
}

/* The next "{{", "{%" or "{#". */
static const char *find_tag(const struct lexer *l, const char *p)
{
    while (l->end - p >= 2) {
        p = memchr(p, '{', (size_t)(l->end - p) - 1);
        if (!p)
            break;
        if (p[1] == '{' || p[1] == '%' || p[1] == '#')
            return p;
        p++;
    }
    return NULL;
}

static void lex_from_tag(struct lexer *l, const char *tag)
{
    char kind = tag[1];
    char sign = tag + 2 < l->end && (tag[2] == '-' || tag[2] == '+') ? tag[2] : '\0';
    const char *raw = kind == '%' ? match_raw(l, tag + 2) : NULL;

    add_data(l, l->p, tag, sign, kind == '{');
    l->starts_line = false;
    l->p = tag;
    if (raw) {
        lex_raw(l, raw);
        return;
    }
    if (kind != '#')
        add_token(l, kind == '{' ? T_VARIABLE_BEGIN : T_BLOCK_BEGIN, str_from(tag, 2));
    l->p = tag + 2 + (sign != '\0');
    if (kind == '#')
        lex_comment(l);
    else
        lex_tag(l, kind == '{');
}

void jinja_lex(struct compiler *c)
{
    struct str text = c->program->text;
    struct lexer l = {c, text.p, text.p, text.p + text.n, 1, true};

    while (l.p < l.end) {
        const char *tag = find_tag(&l, l.p);

        if (!tag) {
            add_token(&l, T_DATA, str_from(l.p, (size_t)(l.end - l.p)));
            count_lines(&l, l.p, l.end);
            break;
        }
        lex_from_tag(&l, tag);
    }
    add_token(&l, T_EOF, str_from("", 0));
}
