/* A template's text as tokens: text, and inside {{ }} words, constants and signs. Trim marks are
 * resolved here: the grammar never sees them. Comments leave nothing. Not the grammar: parser.c. */
#include <stdio.h>
#include <string.h>

#include "core/base/unicode.h"
#include "core/base/unicode_case.h"
#include "core/text/go/go_parts.h"

#define END_OF_TEXT (-2)        /* -1 is an invalid byte */

/* A state makes a token (true) or names the state that follows by *next. */
enum state { IN_TEXT, LEFT_DELIMITER, IN_ACTION, IN_COMMENT };

static const struct {
    const char *word;
    enum go_token_type type;
} KEYWORDS[] = {
    {"block", GO_BLOCK},   {"break", GO_BREAK}, {"continue", GO_CONTINUE}, {"define", GO_DEFINE},
    {"else", GO_ELSE},     {"end", GO_END},     {"if", GO_IF},             {"nil", GO_NIL_WORD},
    {"range", GO_RANGE},   {"template", GO_TEMPLATE}, {"with", GO_WITH},   {"true", GO_TRUE_FALSE},
    {"false", GO_TRUE_FALSE},
};

static bool is_space(int32_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_word(int32_t c)
{
    return c == '_' || (c >= 0 && (unicode_is_alpha(c) || unicode_is_decimal(c)));
}

static struct str rest(const struct go_lexer *l)
{
    return str_skip(l->input, l->pos);
}

static struct str pending(const struct go_lexer *l)
{
    return str_from(l->input.p + l->start, l->pos - l->start);
}

static int count_lines(struct str text)
{
    int n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n;
}

/* ---- steps ---- */

static int32_t look(const struct go_lexer *l, size_t *n_bytes)
{
    struct str text = rest(l);
    int32_t c;

    *n_bytes = 0;
    if (text.n == 0)
        return END_OF_TEXT;
    *n_bytes = unicode_next(text, &c);
    return c;
}

static int32_t take(struct go_lexer *l)
{
    size_t n;
    int32_t c = look(l, &n);

    l->pos += n;
    l->line += c == '\n';
    return c;
}

static int32_t peek(const struct go_lexer *l)
{
    size_t n;

    return look(l, &n);
}

static bool accept(struct go_lexer *l, const char *set)
{
    int32_t c = peek(l);

    if (c <= 0 || c > 0x7F || !strchr(set, c))
        return false;
    take(l);
    return true;
}

static void accept_all(struct go_lexer *l, const char *set)
{
    while (accept(l, set))
        continue;
}

/* ---- what becomes of the pending bytes ---- */

static bool emit(struct go_lexer *l, enum go_token_type type)
{
    l->token = (struct go_token){type, l->start, pending(l), l->start_line};
    l->start = l->pos;
    l->start_line = l->line;
    return true;
}

/* For bytes that were skipped without take(). */
static void drop(struct go_lexer *l)
{
    l->line += count_lines(pending(l));
    l->start = l->pos;
    l->start_line = l->line;
}

/* The end of it: what follows is an empty text. */
static bool complain(struct go_lexer *l, const char *message)
{
    l->token = (struct go_token){GO_ERROR, l->start, str_of(message), l->start_line};
    l->start = l->pos = 0;
    l->input = str_of("");
    return true;
}

static bool complain_of(struct go_lexer *l, const char *what, int32_t c)
{
    char rune[5] = "";

    if (c == END_OF_TEXT)
        return complain(l, arena_printf(l->arena, "%s U+FFFFFFFFFFFFFFFF", what));
    if (c < 0)
        c = 0xFFFD;
    unicode_put(rune, c);
    if (!unicode_is_printable(c))
        return complain(l, arena_printf(l->arena, "%s U+%04X", what, (unsigned)c));
    return complain(l, arena_printf(l->arena, "%s U+%04X '%s'", what, (unsigned)c, rune));
}

static bool complain_of_number(struct go_lexer *l)
{
    struct buf text;

    buf_init(&text, 4096);
    go_quote(&text, pending(l), '"', false);
    const char *message = arena_printf(l->arena, "bad number syntax: %s", text.p);

    buf_free(&text);
    return complain(l, message);
}

/* ---- delimiters ---- */

static bool has_left_mark(struct str text)
{
    return text.n >= 2 && text.p[0] == '-' && is_space(text.p[1]);
}

static bool has_right_mark(struct str text)
{
    return text.n >= 2 && is_space(text.p[0]) && text.p[1] == '-';
}

static bool at_right_delimiter(const struct go_lexer *l, bool *trims)
{
    struct str text = rest(l);

    *trims = has_right_mark(text) && str_starts(str_skip(text, 2), "}}");
    return *trims || str_starts(text, "}}");
}

static size_t leading_space(struct str text)
{
    size_t n = 0;

    while (n < text.n && is_space(text.p[n]))
        n++;
    return n;
}

static size_t trailing_space(struct str text)
{
    size_t n = 0;

    while (n < text.n && is_space(text.p[text.n - 1 - n]))
        n++;
    return n;
}

static bool lex_text(struct go_lexer *l, enum state *next)
{
    ptrdiff_t found = str_find(rest(l), "{{");
    size_t trimmed = 0;

    if (found < 0) {
        l->pos = l->input.n;
        if (l->pos == l->start)
            return emit(l, GO_EOF);
        l->line += count_lines(pending(l));
        return emit(l, GO_TEXT);
    }
    *next = LEFT_DELIMITER;
    if (found == 0)
        return false;
    l->pos += (size_t)found;
    if (has_left_mark(str_skip(rest(l), 2)))
        trimmed = trailing_space(pending(l));
    l->pos -= trimmed;
    l->line += count_lines(pending(l));
    emit(l, GO_TEXT);
    l->pos += trimmed;
    drop(l);
    return l->token.text.n > 0;
}

static bool lex_left_delimiter(struct go_lexer *l, enum state *next)
{
    l->pos += 2;

    size_t mark = has_left_mark(rest(l)) ? 2 : 0;

    if (str_starts(str_skip(rest(l), mark), "/*")) {
        l->pos += mark;
        drop(l);
        *next = IN_COMMENT;
        return false;
    }
    emit(l, GO_LEFT_DELIMITER);
    l->is_inside_action = true;
    l->pos += mark;
    drop(l);
    l->paren_depth = 0;
    return true;
}

static bool lex_comment(struct go_lexer *l, enum state *next)
{
    bool trims;
    ptrdiff_t end = str_find(str_skip(rest(l), 2), "*/");

    if (end < 0)
        return complain(l, "unclosed comment");
    l->pos += 2 + (size_t)end + 2;
    if (!at_right_delimiter(l, &trims))
        return complain(l, "comment ends before closing delimiter");
    l->pos += trims ? 4 : 2;
    if (trims)
        l->pos += leading_space(rest(l));
    drop(l);
    *next = IN_TEXT;
    return false;
}

static bool lex_right_delimiter(struct go_lexer *l)
{
    bool trims;

    at_right_delimiter(l, &trims);
    if (trims) {
        l->pos += 2;
        drop(l);
    }
    l->pos += 2;
    emit(l, GO_RIGHT_DELIMITER);
    if (trims) {
        l->pos += leading_space(rest(l));
        drop(l);
    }
    l->is_inside_action = false;
    return true;
}

/* ---- inside an action ---- */

/* The last space of a run belongs to " -}}" when that follows. */
static bool lex_space(struct go_lexer *l)
{
    size_t n = 0;
    bool trims;

    while (is_space(peek(l))) {
        take(l);
        n++;
    }
    l->pos--;
    if (at_right_delimiter(l, &trims) && trims) {
        l->line -= l->input.p[l->pos] == '\n';
        if (n == 1)
            return lex_right_delimiter(l);
    } else {
        l->pos++;
    }
    return emit(l, GO_SPACE);
}

static bool at_word_end(const struct go_lexer *l)
{
    int32_t c = peek(l);

    return is_space(c) || c == END_OF_TEXT || (c > 0 && c < 0x80 && strchr(".,|:)(", c)) ||
           str_starts(rest(l), "}}");
}

static bool lex_identifier(struct go_lexer *l)
{
    while (is_word(peek(l)))
        take(l);
    if (!at_word_end(l))
        return complain_of(l, "bad character", peek(l));
    for (size_t i = 0; i < sizeof KEYWORDS / sizeof *KEYWORDS; i++)
        if (str_is(pending(l), KEYWORDS[i].word))
            return emit(l, KEYWORDS[i].type);
    return emit(l, GO_IDENTIFIER);
}

/* The . or $ has been taken. */
static bool lex_field(struct go_lexer *l, enum go_token_type type)
{
    if (at_word_end(l))
        return emit(l, type == GO_VARIABLE ? GO_VARIABLE : GO_DOT);
    while (is_word(peek(l)))
        take(l);
    return at_word_end(l) ? emit(l, type) : complain_of(l, "bad character", peek(l));
}

/* The opening quote has been taken. A raw one has no escapes and may span lines. */
static bool lex_quoted(struct go_lexer *l, int32_t quote, enum go_token_type type,
                       const char *complaint)
{
    for (;;) {
        int32_t c = take(l);

        if (c == '\\' && quote != '`') {
            c = take(l);
            if (c != END_OF_TEXT && c != '\n')
                continue;
        }
        if (c == END_OF_TEXT || (c == '\n' && quote != '`'))
            return complain(l, complaint);
        if (c == quote)
            return emit(l, type);
    }
}

static bool scan_number(struct go_lexer *l)
{
    const char *digits = "0123456789_";
    bool is_decimal = true, is_hex = false;

    accept(l, "+-");
    if (accept(l, "0")) {
        is_hex = accept(l, "xX");
        if (is_hex)
            digits = "0123456789abcdefABCDEF_";
        else if (accept(l, "oO"))
            digits = "01234567_";
        else if (accept(l, "bB"))
            digits = "01_";
        is_decimal = strlen(digits) == 11;
    }
    accept_all(l, digits);
    if (accept(l, "."))
        accept_all(l, digits);
    if ((is_decimal && accept(l, "eE")) || (is_hex && accept(l, "pP"))) {
        accept(l, "+-");
        accept_all(l, "0123456789_");
    }
    accept(l, "i");
    if (!is_word(peek(l)))
        return true;
    take(l);
    return false;
}

static bool lex_number(struct go_lexer *l)
{
    if (!scan_number(l))
        return complain_of_number(l);
    if (peek(l) != '+' && peek(l) != '-')
        return emit(l, GO_NUMBER);
    if (!scan_number(l) || l->input.p[l->pos - 1] != 'i')
        return complain_of_number(l);
    return emit(l, GO_COMPLEX);
}

static bool lex_paren(struct go_lexer *l, int32_t c)
{
    l->paren_depth += c == '(' ? 1 : -1;
    if (l->paren_depth < 0)
        return complain(l, "unexpected right paren");
    return emit(l, c == '(' ? GO_LEFT_PAREN : GO_RIGHT_PAREN);
}

static bool lex_sign(struct go_lexer *l, int32_t c)
{
    switch (c) {
    case '=':
        return emit(l, GO_ASSIGN);
    case ':':
        return take(l) == '=' ? emit(l, GO_DECLARE) : complain(l, "expected :=");
    case '|':
        return emit(l, GO_PIPE);
    case '"':
        return lex_quoted(l, c, GO_QUOTED, "unterminated quoted string");
    case '`':
        return lex_quoted(l, c, GO_RAW_STRING, "unterminated raw quoted string");
    case '\'':
        return lex_quoted(l, c, GO_RUNE, "unterminated character constant");
    case '$':
        return lex_field(l, GO_VARIABLE);
    case '(':
    case ')':
        return lex_paren(l, c);
    default:
        break;
    }
    if (c > ' ' && c < 0x7F)
        return emit(l, GO_CHARACTER);
    return complain_of(l, "unrecognized character in action:", c);
}

static bool lex_in_action(struct go_lexer *l)
{
    bool trims;

    if (at_right_delimiter(l, &trims))
        return l->paren_depth == 0 ? lex_right_delimiter(l) : complain(l, "unclosed left paren");

    int32_t c = peek(l), after = -1;

    if (c == END_OF_TEXT)
        return complain(l, "unclosed action");
    if (is_space(c))
        return lex_space(l);
    if (l->pos + 1 < l->input.n)
        after = (unsigned char)l->input.p[l->pos + 1];
    if (c == '.' && after >= 0 && (after < '0' || after > '9')) {
        take(l);
        return lex_field(l, GO_FIELD);
    }
    if (c == '.' || c == '+' || c == '-' || (c >= '0' && c <= '9'))
        return lex_number(l);
    if (is_word(c))
        return lex_identifier(l);
    take(l);
    return lex_sign(l, c);
}

struct go_token go_lexer_next(struct go_lexer *l)
{
    enum state state = l->is_inside_action ? IN_ACTION : IN_TEXT;

    for (bool made = false; !made;) {
        switch (state) {
        case IN_TEXT:
            made = lex_text(l, &state);
            break;
        case LEFT_DELIMITER:
            made = lex_left_delimiter(l, &state);
            break;
        case IN_COMMENT:
            made = lex_comment(l, &state);
            break;
        case IN_ACTION:
            made = lex_in_action(l);
            break;
        }
    }
    return l->token;
}

const char *go_token_show(const struct go_token *token, struct arena *arena)
{
    struct buf text;
    const char *shown;

    if (token->type == GO_EOF)
        return "EOF";
    if (token->type == GO_ERROR)
        return arena_strndup(arena, token->text.p, token->text.n);
    if (token->type >= GO_BLOCK)
        return arena_printf(arena, "<%.*s>", (int)token->text.n, token->text.p);

    struct str cut = token->text;

    if (cut.n > 10)
        for (size_t i = 0, n = 0; i <= 10 && n <= cut.n; i++) {
            int32_t c;

            if (i == 10 || n == cut.n)
                cut.n = n;
            else
                n += unicode_next(str_skip(cut, n), &c);
        }
    buf_init(&text, 1024);
    go_quote(&text, cut, '"', false);
    shown = arena_printf(arena, "%s%s", text.p, token->text.n > 10 ? "..." : "");
    buf_free(&text);
    return shown;
}
