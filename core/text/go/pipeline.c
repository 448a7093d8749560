/* What stands between {{ and }}: declarations, commands, operands, constants. The controls around it
 * are parser.c. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/number.h"
#include "core/text/go/go_parts.h"

/* ---- names ---- */

bool go_node_add_name(struct go_parser *p, struct go_node *node, struct str name)
{
    struct str *names = arena_room(p->tmpl->arena, node->names, node->n_names,
                                   &node->names_capacity, sizeof *names);

    if (!names)
        return go_parser_refuse(p, GO_LIMIT, "the template needs too much memory");
    node->names = names;
    names[node->n_names++] = name;
    return true;
}

static bool declare(struct go_parser *p, struct go_node *pipe, const struct go_token *variable)
{
    struct go_node *node = go_node_new(p, NODE_VARIABLE, variable->pos);
    struct str *variables = arena_room(p->tmpl->arena, p->variables, p->n_variables,
                                       &p->variables_capacity, sizeof *variables);

    if (!node || !variables || !go_node_add_name(p, node, variable->text))
        return go_parser_refuse(p, GO_LIMIT, "the template needs too much memory");
    go_nodes_add(&pipe->declared, node);
    p->variables = variables;
    variables[p->n_variables++] = variable->text;
    return true;
}

static bool is_declared(const struct go_parser *p, struct str name)
{
    for (size_t i = 0; i < p->n_variables; i++)
        if (str_eq(p->variables[i], name))
            return true;
    return false;
}

/* ---- numbers ---- */

/* An underscore has to stand between digits, or behind the letter of a base. */
static bool underscores_are_fine(struct str text)
{
    char before = '^';
    bool is_hex = false;

    if (text.n && (text.p[0] == '-' || text.p[0] == '+'))
        text = str_skip(text, 1);
    if (text.n >= 2 && text.p[0] == '0' && strchr("bBoOxX", text.p[1])) {
        before = '0';
        is_hex = (text.p[1] | 0x20) == 'x';
        text = str_skip(text, 2);
    }
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool is_digit = (c >= '0' && c <= '9') || (is_hex && (c | 0x20) >= 'a' && (c | 0x20) <= 'f');

        if (is_digit)
            before = '0';
        else if (c == '_' && before != '0')
            return false;
        else if (c == '_')
            before = '_';
        else if (before == '_')
            return false;
        else
            before = '!';
    }
    return before != '_';
}

/* The digits without underscores, NUL-terminated. */
static bool plain_digits(struct str text, char out[128])
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] != '_') {
            if (n == 127)
                return false;
            out[n++] = text.p[i];
        }
    out[n] = '\0';
    return n > 0;
}

/* An integer of Go's source; *too_large: of 64 bits unsigned, or of 63 signed. */
static bool read_integer(struct str text, int64_t *out, bool *fits)
{
    char digits[128], *end;
    const char *p = digits;
    int base = 10;

    if (!underscores_are_fine(text) || !plain_digits(text, digits))
        return false;
    bool is_negative = *p == '-';

    p += *p == '-' || *p == '+';
    if (p[0] == '0' && p[1]) {
        char letter = (char)(p[1] | 0x20);

        base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
        p += letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1;
    }
    if (*p == '\0' || *p == '-' || *p == '+' || *p == ' ')
        return false;
    errno = 0;
    unsigned long long value = strtoull(p, &end, base);

    if (*end || errno == ERANGE)
        return false;
    *fits = value <= (uint64_t)INT64_MAX + is_negative;
    *out = is_negative ? (int64_t)(0 - value) : (int64_t)value;
    return *fits || (!is_negative && digits[0] != '+');
}

static bool has_any(struct str text, const char *set)
{
    for (size_t i = 0; i < text.n; i++)
        if (strchr(set, text.p[i]))
            return true;
    return false;
}

static bool read_float(struct str text, double *out)
{
    char digits[128], *end;

    if (!underscores_are_fine(text) || !plain_digits(text, digits))
        return false;
    struct str plain = str_of(digits);

    if (str_has_ignoring_case(plain, "0x")) {
        if (!has_any(plain, "pP"))
            return false;
        *out = strtod(digits, &end);
        return *end == '\0' && isfinite(*out);
    }
    return number_parse(plain, out) && isfinite(*out);
}

static bool read_rune(struct go_parser *p, const struct go_token *token, struct go_node *node)
{
    struct str text;
    int32_t c = 0;

    if (!go_unquote(token->text, p->tmpl->arena, &text))
        return go_parser_refuse(p, GO_SYNTAX, "malformed character constant: %.*s",
                                (int)token->text.n, token->text.p);
    if (text.n == 1)
        c = (unsigned char)text.p[0];
    else
        for (size_t i = 0; i < text.n; i++)
            c = i == 0 ? text.p[0] & (0x7F >> text.n) : c << 6 | (text.p[i] & 0x3F);
    node->integer = c;
    return true;
}

/* Go keeps every reading of a constant; templates see an int, or a float64 when it looks like one. */
bool go_parse_number(struct go_parser *p, const struct go_token *token, struct go_node *node)
{
    struct str text = token->text;
    bool fits = true, is_hex_integer = str_starts(text, "0x") || str_starts(text, "0X");

    node->source = text;
    if (token->type == GO_RUNE)
        return read_rune(p, token, node);
    if (token->type == GO_COMPLEX || text.p[text.n - 1] == 'i')
        return go_parser_refuse(p, GO_UNSUPPORTED, "complex number %.*s", (int)text.n, text.p);
    is_hex_integer = is_hex_integer && !has_any(text, "pP");
    if (read_integer(text, &node->integer, &fits)) {
        node->overflows = !fits;
        return true;
    }
    if (!read_float(text, &node->number))
        return go_parser_refuse(p, GO_SYNTAX, "illegal number syntax: \"%.*s\"", (int)text.n, text.p);
    if (!has_any(text, ".eEpP"))
        return go_parser_refuse(p, GO_SYNTAX, "integer overflow: \"%.*s\"", (int)text.n, text.p);
    node->is_float = !is_hex_integer;
    return true;
}

/* ---- operands ---- */

/* A name that is no function of ours may be one of a newer Ollama: that is not for us to say. */
static struct go_node *parse_identifier(struct go_parser *p, const struct go_token *token)
{
    struct go_node *node = go_node_new(p, NODE_IDENTIFIER, token->pos);

    if (!go_function_find(token->text))
        return go_parser_refuse(p, GO_UNSUPPORTED, "function \"%.*s\" not defined",
                                (int)token->text.n, token->text.p);
    if (node)
        node->text = token->text;
    return node;
}

static struct go_node *parse_variable(struct go_parser *p, const struct go_token *token)
{
    struct go_node *node = go_node_new(p, NODE_VARIABLE, token->pos);

    if (!is_declared(p, token->text))
        return go_parser_refuse(p, GO_SYNTAX, "undefined variable \"%.*s\"", (int)token->text.n,
                                token->text.p);
    return node && go_node_add_name(p, node, token->text) ? node : NULL;
}

static struct go_node *parse_parens(struct go_parser *p)
{
    if (++p->nesting > GO_NESTING)
        return go_parser_refuse(p, GO_LIMIT, "nested deeper than %d", GO_NESTING);
    struct go_node *node = go_parse_pipeline(p, "parenthesized pipeline", GO_RIGHT_PAREN);

    p->nesting--;
    return node;
}

static struct go_node *parse_string(struct go_parser *p, const struct go_token *token)
{
    struct go_node *node = go_node_new(p, NODE_STRING, token->pos);

    if (!node)
        return NULL;
    node->source = token->text;
    if (!go_unquote(token->text, p->tmpl->arena, &node->text))
        return go_parser_refuse(p, GO_SYNTAX, "invalid syntax");
    return node;
}

static struct go_node *parse_plain(struct go_parser *p, const struct go_token *token)
{
    struct go_node *node;

    switch ((int)token->type) {
    case GO_DOT:
        return go_node_new(p, NODE_DOT, token->pos);
    case GO_NIL_WORD:
        return go_node_new(p, NODE_NIL, token->pos);
    case GO_TRUE_FALSE:
        node = go_node_new(p, NODE_BOOL, token->pos);
        if (node)
            node->truth = str_is(token->text, "true");
        return node;
    case GO_FIELD:
        node = go_node_new(p, NODE_FIELD, token->pos);
        return node && go_node_add_name(p, node, str_skip(token->text, 1)) ? node : NULL;
    default:
        node = go_node_new(p, NODE_NUMBER, token->pos);
        return node && go_parse_number(p, token, node) ? node : NULL;
    }
}

/* *is_term: what comes next is one at all; NULL with it: a complaint. */
static struct go_node *parse_term(struct go_parser *p, bool *is_term)
{
    struct go_token token = go_parser_take_word(p);

    *is_term = true;
    switch ((int)token.type) {
    case GO_IDENTIFIER:
        return parse_identifier(p, &token);
    case GO_VARIABLE:
        return parse_variable(p, &token);
    case GO_LEFT_PAREN:
        return parse_parens(p);
    case GO_QUOTED:
    case GO_RAW_STRING:
        return parse_string(p, &token);
    case GO_DOT:
    case GO_NIL_WORD:
    case GO_TRUE_FALSE:
    case GO_FIELD:
    case GO_RUNE:
    case GO_COMPLEX:
    case GO_NUMBER:
        return parse_plain(p, &token);
    default:
        break;
    }
    go_parser_put_back(p);
    *is_term = false;
    return NULL;
}

static bool is_constant(const struct go_node *node)
{
    return node->type == NODE_BOOL || node->type == NODE_STRING || node->type == NODE_NUMBER ||
           node->type == NODE_NIL || node->type == NODE_DOT;
}

static struct go_node *refuse_field_of(struct go_parser *p, const struct go_node *node)
{
    struct buf text;

    buf_init(&text, 4096);
    go_node_write(node, &text);
    go_parser_refuse(p, GO_SYNTAX, "unexpected . after term \"%s\"", text.p);
    buf_free(&text);
    return NULL;
}

/* A term and the fields that hang on it. */
static struct go_node *parse_operand(struct go_parser *p, bool *is_term)
{
    struct go_node *node = parse_term(p, is_term), *chain = node;

    if (!node || go_parser_peek(p).type != GO_FIELD)
        return node;
    size_t pos = go_parser_peek(p).pos;

    if (node->type == NODE_FIELD || node->type == NODE_VARIABLE) {
        node->pos = pos;
    } else {
        chain = go_node_new(p, NODE_CHAIN, pos);
        if (!chain)
            return NULL;
        chain->pipe = node;
    }
    while (go_parser_peek(p).type == GO_FIELD)
        if (!go_node_add_name(p, chain, str_skip(go_parser_take(p).text, 1)))
            return NULL;
    return is_constant(node) ? refuse_field_of(p, node) : chain;
}

/* ---- commands and pipelines ---- */

static struct go_node *parse_command(struct go_parser *p)
{
    struct go_node *command = go_node_new(p, NODE_COMMAND, go_parser_peek_word(p).pos);

    while (command) {
        bool is_term;

        go_parser_peek_word(p);
        struct go_node *operand = parse_operand(p, &is_term);

        if (is_term && !operand)
            return NULL;
        if (operand)
            go_nodes_add(&command->items, operand);
        struct go_token token = go_parser_take(p);

        if (token.type == GO_SPACE)
            continue;
        if (token.type == GO_RIGHT_DELIMITER || token.type == GO_RIGHT_PAREN)
            go_parser_put_back(p);
        else if (token.type != GO_PIPE)
            return go_parser_unexpected(p, token, "operand");
        if (command->items.n == 0)
            return go_parser_refuse(p, GO_SYNTAX, "empty command");
        break;
    }
    return command;
}

/* $x :=, $x =, and of range $i, $x :=. What only begins like one is put back. */
static bool parse_declarations(struct go_parser *p, struct go_node *pipe, const char *context)
{
    for (;;) {
        struct go_token variable = go_parser_peek_word(p), after, next;

        if (variable.type != GO_VARIABLE)
            return true;
        go_parser_take(p);
        after = go_parser_peek(p);
        next = go_parser_peek_word(p);
        if (next.type == GO_ASSIGN || next.type == GO_DECLARE) {
            pipe->is_assignment = next.type == GO_ASSIGN;
            go_parser_take_word(p);
            return declare(p, pipe, &variable);
        }
        if (next.type != GO_CHARACTER || !str_is(next.text, ",")) {
            if (after.type == GO_SPACE) {
                p->tokens[1] = after;
                p->tokens[2] = variable;
                p->n_ahead = 3;
            } else {
                p->tokens[1] = variable;
                p->n_ahead = 2;
            }
            return true;
        }
        go_parser_take_word(p);
        if (!declare(p, pipe, &variable))
            return false;
        if (strcmp(context, "range") != 0 || pipe->declared.n >= 2)
            return go_parser_refuse(p, GO_SYNTAX, "too many declarations in %s", context);
        next = go_parser_peek_word(p);
        if (next.type != GO_VARIABLE && next.type != GO_RIGHT_DELIMITER &&
            next.type != GO_RIGHT_PAREN)
            return go_parser_refuse(p, GO_SYNTAX, "range can only initialize variables");
    }
}

static struct go_node *check_pipeline(struct go_parser *p, struct go_node *pipe,
                                      const char *context)
{
    int stage = 1;

    if (pipe->items.n == 0)
        return go_parser_refuse(p, GO_SYNTAX, "missing value for %s", context);
    for (const struct go_node *command = pipe->items.first->next; command; command = command->next) {
        stage++;
        if (is_constant(command->items.first))
            return go_parser_refuse(p, GO_SYNTAX, "non executable command in pipeline stage %d",
                                    stage);
    }
    return pipe;
}

static bool begins_command(enum go_token_type type)
{
    return type == GO_TRUE_FALSE || type == GO_RUNE || type == GO_COMPLEX || type == GO_DOT ||
           type == GO_FIELD || type == GO_IDENTIFIER || type == GO_NUMBER || type == GO_NIL_WORD ||
           type == GO_RAW_STRING || type == GO_QUOTED || type == GO_VARIABLE ||
           type == GO_LEFT_PAREN;
}

struct go_node *go_parse_pipeline(struct go_parser *p, const char *context, enum go_token_type end)
{
    struct go_node *pipe = go_node_new(p, NODE_PIPE, go_parser_peek_word(p).pos);

    if (!pipe || !parse_declarations(p, pipe, context))
        return NULL;
    for (;;) {
        struct go_token token = go_parser_take_word(p);
        struct go_node *command;

        if (token.type == end)
            return check_pipeline(p, pipe, context);
        if (!begins_command(token.type))
            return go_parser_unexpected(p, token, context);
        go_parser_put_back(p);
        command = parse_command(p);
        if (!command)
            return NULL;
        go_nodes_add(&pipe->items, command);
    }
}
