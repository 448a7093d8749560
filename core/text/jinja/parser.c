/* Expressions of templates, by the grammar of Jinja2's parser. See jinja_parts.h. Statements are
 * parser_statements.c. */
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/text/jinja/jinja_parts.h"

#define MOST_DEEP 400 /* of a tree: chains of operators */

static struct node *parse_unary(struct compiler *c, bool with_filter);

/* ---- tokens and nodes ---- */

const struct token *jinja_token_at(const struct compiler *c, size_t ahead)
{
    size_t at = c->at + ahead;

    return &c->tokens.items[at < c->tokens.n ? at : c->tokens.n - 1];
}

const struct token *jinja_token_take(struct compiler *c)
{
    const struct token *token = jinja_token_at(c, 0);

    if (c->at + 1 < c->tokens.n)
        c->at++;
    return token;
}

bool jinja_token_is_name(const struct token *token, const char *name)
{
    return token->type == T_NAME && str_is(token->text, name);
}

bool jinja_token_skip(struct compiler *c, enum token_type type)
{
    if (jinja_token_at(c, 0)->type != type)
        return false;
    jinja_token_take(c);
    return true;
}

bool jinja_token_skip_name(struct compiler *c, const char *name)
{
    if (!jinja_token_is_name(jinja_token_at(c, 0), name))
        return false;
    jinja_token_take(c);
    return true;
}

static const char *type_text(enum token_type type)
{
    static const char *const texts[] = {"end of template",
                                        "template data / text",
                                        "begin of print statement",
                                        "end of print statement",
                                        "begin of statement block",
                                        "end of statement block",
                                        "name",
                                        "string",
                                        "integer",
                                        "float",
                                        "+",
                                        "=",
                                        ":",
                                        ",",
                                        "/",
                                        ".",
                                        "==",
                                        "//",
                                        ">",
                                        ">=",
                                        "{",
                                        "[",
                                        "(",
                                        "<",
                                        "<=",
                                        "%",
                                        "*",
                                        "!=",
                                        "|",
                                        "**",
                                        "}",
                                        "]",
                                        ")",
                                        ";",
                                        "-",
                                        "~"};

    return texts[type];
}

const char *jinja_token_describe(struct compiler *c, const struct token *token)
{
    if (token->type != T_NAME)
        return type_text(token->type);

    char *out = jinja_compiler_take(c, 64, 1);
    size_t n = token->text.n < 60 ? token->text.n : 60;

    memcpy(out, token->text.p, n);
    return out;
}

const struct token *jinja_token_expect(struct compiler *c, enum token_type type)
{
    const struct token *token = jinja_token_at(c, 0);

    if (token->type == type)
        return jinja_token_take(c);
    if (token->type == T_EOF)
        jinja_compiler_fail(c, token->line, "unexpected end of template, expected '%s'",
                            type_text(type));
    jinja_compiler_fail(c, token->line, "expected token '%s', got '%s'", type_text(type),
                        jinja_token_describe(c, token));
}

struct node *jinja_node_new(struct compiler *c, enum node_kind kind, int line)
{
    struct node *node = jinja_compiler_take(c, 1, sizeof *node);

    node->kind = kind;
    node->line = line;
    return node;
}

void jinja_node_deepen(struct compiler *c, struct node *node, const struct node *child)
{
    if (!child || child->depth < node->depth)
        return;
    node->depth = (uint16_t)(child->depth + 1);
    if (node->depth > MOST_DEEP)
        jinja_fail(&c->vm, JINJA_LIMIT, "an expression is nested more than %d deep", MOST_DEEP);
}

static struct node *node_of(struct compiler *c, enum node_kind kind, struct node *a, struct node *b)
{
    struct node *node = jinja_node_new(c, kind, a->line);

    node->a = a;
    node->b = b;
    jinja_node_deepen(c, node, a);
    jinja_node_deepen(c, node, b);
    return node;
}

void jinja_node_list_add(struct compiler *c, struct node_list *list, struct node *node)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 4;
        struct node **grown = jinja_compiler_take(c, capacity, sizeof *grown);

        if (list->n)
            memcpy(grown, list->items, list->n * sizeof *grown);
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->n++] = node;
}

static void take_items(struct compiler *c, struct node *node, const struct node_list *list)
{
    node->items = list->items;
    node->n = list->n;
    for (size_t i = 0; i < list->n; i++)
        jinja_node_deepen(c, node, list->items[i]);
}

void jinja_parse_enter(struct compiler *c)
{
    if (++c->depth > JINJA_PARSE_DEPTH) {
        c->vm.line = jinja_token_at(c, 0)->line;
        jinja_fail(&c->vm, JINJA_LIMIT, "nested more than %d deep", JINJA_PARSE_DEPTH);
    }
}

void jinja_parse_leave(struct compiler *c)
{
    c->depth--;
}

/* ---- primaries ---- */

static struct node *constant(struct compiler *c, struct value value, int line)
{
    struct node *node = jinja_node_new(c, E_CONST, line);

    node->value = value;
    return node;
}

static struct node *parse_strings(struct compiler *c)
{
    const struct token *first = jinja_token_take(c);
    struct str text = first->text;

    if (jinja_token_at(c, 0)->type == T_STRING) {
        size_t n = text.n;
        size_t more = 0;

        while (jinja_token_at(c, more)->type == T_STRING)
            n += jinja_token_at(c, more++)->text.n;

        char *joined = jinja_compiler_take(c, n + 1, 1);

        memcpy(joined, text.p, text.n);
        n = text.n;
        while (jinja_token_at(c, 0)->type == T_STRING) {
            struct str next = jinja_token_take(c)->text;

            memcpy(joined + n, next.p, next.n);
            n += next.n;
        }
        text = str_from(joined, n);
    }
    return constant(c, v_str(&c->vm, text, F_LITERAL), first->line);
}

static struct node *parse_number(struct compiler *c)
{
    const struct token *token = jinja_token_take(c);
    double f = 0;

    if (token->type == T_FLOAT) {
        if (!number_parse(token->text, &f))
            jinja_compiler_fail(c, token->line, "a number that is none");
        return constant(c, v_float(f), token->line);
    }

    struct str digits = token->text;
    int base = 10;

    if (digits.n > 2 && digits.p[0] == '0') {
        char kind = (char)(digits.p[1] | 0x20);

        base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
    }
    if (base == 10 && digits.n > 4300)
        jinja_compiler_fail(c, token->line, "an integer of more than 4300 digits");
    return constant(c,
                    jinja_big_of_text_base(&c->vm, base == 10 ? digits : str_skip(digits, 2), base),
                    token->line);
}

static struct node *parse_list(struct compiler *c)
{
    struct node *node = jinja_node_new(c, E_LIST, jinja_token_take(c)->line);
    struct node_list items = {0};

    while (jinja_token_at(c, 0)->type != T_RBRACKET) {
        if (items.n)
            jinja_token_expect(c, T_COMMA);
        if (jinja_token_at(c, 0)->type == T_RBRACKET)
            break;
        jinja_node_list_add(c, &items, jinja_parse_expression(c, true));
    }
    jinja_token_expect(c, T_RBRACKET);
    take_items(c, node, &items);
    return node;
}

static struct node *parse_dict(struct compiler *c)
{
    struct node *node = jinja_node_new(c, E_DICT, jinja_token_take(c)->line);
    struct node_list items = {0};

    while (jinja_token_at(c, 0)->type != T_RBRACE) {
        if (items.n)
            jinja_token_expect(c, T_COMMA);
        if (jinja_token_at(c, 0)->type == T_RBRACE)
            break;
        jinja_node_list_add(c, &items, jinja_parse_expression(c, true));
        jinja_token_expect(c, T_COLON);
        jinja_node_list_add(c, &items, jinja_parse_expression(c, true));
    }
    jinja_token_expect(c, T_RBRACE);
    take_items(c, node, &items);
    return node;
}

static struct node *parse_name(struct compiler *c)
{
    const struct token *token = jinja_token_take(c);
    struct str name = token->text;

    if (str_is(name, "true") || str_is(name, "True"))
        return constant(c, v_bool(true), token->line);
    if (str_is(name, "false") || str_is(name, "False"))
        return constant(c, v_bool(false), token->line);
    if (str_is(name, "none") || str_is(name, "None"))
        return constant(c, v_none(), token->line);

    struct node *node = jinja_node_new(c, E_NAME, token->line);

    node->name = name;
    node->name_id = jinja_name_id(c, name);
    return node;
}

static struct node *parse_primary(struct compiler *c)
{
    const struct token *token = jinja_token_at(c, 0);
    struct node *node;

    switch ((int)token->type) {
    case T_NAME:
        return parse_name(c);
    case T_STRING:
        return parse_strings(c);
    case T_INTEGER:
    case T_FLOAT:
        return parse_number(c);
    case T_LPAREN:
        jinja_token_take(c);
        node = jinja_parse_tuple(c, false, true, NULL, true);
        jinja_token_expect(c, T_RPAREN);
        return node;
    case T_LBRACKET:
        return parse_list(c);
    case T_LBRACE:
        return parse_dict(c);
    default:
        jinja_compiler_fail(c, token->line, "unexpected '%s'", jinja_token_describe(c, token));
    }
}

static bool is_tuple_end(const struct compiler *c, const char *end_name)
{
    const struct token *token = jinja_token_at(c, 0);

    return token->type == T_VARIABLE_END || token->type == T_BLOCK_END || token->type == T_RPAREN ||
           (end_name && jinja_token_is_name(token, end_name));
}

struct node *jinja_parse_tuple(struct compiler *c, bool is_simple, bool with_condition,
                               const char *end_name, bool in_parentheses)
{
    int line = jinja_token_at(c, 0)->line;
    struct node_list items = {0};
    bool is_tuple = false;

    for (;;) {
        if (items.n)
            jinja_token_expect(c, T_COMMA);
        if (is_tuple_end(c, end_name))
            break;
        jinja_parse_enter(c);
        jinja_node_list_add(
            c, &items, is_simple ? parse_primary(c) : jinja_parse_expression(c, with_condition));
        jinja_parse_leave(c);
        if (jinja_token_at(c, 0)->type != T_COMMA)
            break;
        is_tuple = true;
    }
    if (!is_tuple) {
        if (items.n)
            return items.items[0];
        if (!in_parentheses)
            jinja_compiler_fail(c, jinja_token_at(c, 0)->line, "expected an expression, got '%s'",
                                jinja_token_describe(c, jinja_token_at(c, 0)));
    }

    struct node *node = jinja_node_new(c, E_TUPLE, line);

    take_items(c, node, &items);
    return node;
}

/* ---- subscripts, calls, filters, tests ---- */

static struct node *parse_subscribed(struct compiler *c)
{
    int line = jinja_token_at(c, 0)->line;
    struct node *parts[3] = {NULL, NULL, NULL};

    if (jinja_token_at(c, 0)->type != T_COLON) {
        parts[0] = jinja_parse_expression(c, true);
        if (jinja_token_at(c, 0)->type != T_COLON)
            return parts[0];
    }
    jinja_token_take(c);
    if (jinja_token_at(c, 0)->type != T_COLON && jinja_token_at(c, 0)->type != T_RBRACKET &&
        jinja_token_at(c, 0)->type != T_COMMA)
        parts[1] = jinja_parse_expression(c, true);
    if (jinja_token_skip(c, T_COLON) && jinja_token_at(c, 0)->type != T_RBRACKET &&
        jinja_token_at(c, 0)->type != T_COMMA)
        parts[2] = jinja_parse_expression(c, true);

    struct node *node = jinja_node_new(c, E_SLICE, line);

    node->a = parts[0];
    node->b = parts[1];
    node->c = parts[2];
    for (int i = 0; i < 3; i++)
        jinja_node_deepen(c, node, parts[i]);
    return node;
}

static struct node *parse_brackets(struct compiler *c, struct node *of, int line)
{
    struct node_list items = {0};
    struct node *arg;

    while (jinja_token_at(c, 0)->type != T_RBRACKET) {
        if (items.n)
            jinja_token_expect(c, T_COMMA);
        jinja_node_list_add(c, &items, parse_subscribed(c));
    }
    jinja_token_expect(c, T_RBRACKET);
    if (items.n == 1) {
        arg = items.items[0];
    } else {
        for (size_t i = 0; i < items.n; i++)
            if (items.items[i]->kind == E_SLICE)
                jinja_compiler_fail(c, line, "a slice in a tuple of subscripts");
        arg = jinja_node_new(c, E_TUPLE, line);
        take_items(c, arg, &items);
    }

    struct node *node = node_of(c, E_GETITEM, of, arg);

    node->line = line;
    return node;
}

static struct node *parse_subscript(struct compiler *c, struct node *of)
{
    const struct token *token = jinja_token_take(c);

    if (token->type == T_LBRACKET)
        return parse_brackets(c, of, token->line);

    const struct token *attribute = jinja_token_at(c, 0);
    struct node *node;

    if (attribute->type == T_NAME) {
        jinja_token_take(c);
        node = node_of(c, E_GETATTR, of, NULL);
        node->name = attribute->text;
        if (str_is(node->name, "pop") || str_is(node->name, "clear"))
            c->program->mutates = true;
    } else if (attribute->type == T_INTEGER) {
        node = node_of(c, E_GETITEM, of, parse_number(c));
    } else {
        jinja_compiler_fail(c, attribute->line, "expected name or number");
    }
    node->line = token->line;
    return node;
}

struct keywords {
    struct keyword *items;
    size_t n, capacity;
};

static void add_keyword(struct compiler *c, struct keywords *list, struct keyword keyword)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 4;
        struct keyword *grown = jinja_compiler_take(c, capacity, sizeof *grown);

        if (list->n)
            memcpy(grown, list->items, list->n * sizeof *grown);
        list->items = grown;
        list->capacity = capacity;
    }
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(list->items[i].name, keyword.name))
            jinja_compiler_fail(c, keyword.value->line, "keyword argument repeated: %.*s",
                                (int)(keyword.name.n < 80 ? keyword.name.n : 80), keyword.name.p);
    list->items[list->n++] = keyword;
}

static void ensure(struct compiler *c, bool is_right, int line)
{
    if (!is_right)
        jinja_compiler_fail(c, line, "invalid syntax for function call expression");
}

static void parse_argument(struct compiler *c, struct node *node, struct node_list *args,
                           struct keywords *kwargs)
{
    int line = jinja_token_at(c, 0)->line;

    if (jinja_token_skip(c, T_MUL)) {
        ensure(c, !node->dyn_args && !node->dyn_kwargs, line);
        node->dyn_args = jinja_parse_expression(c, true);
        jinja_node_deepen(c, node, node->dyn_args);
    } else if (jinja_token_skip(c, T_POW)) {
        ensure(c, !node->dyn_kwargs, line);
        node->dyn_kwargs = jinja_parse_expression(c, true);
        jinja_node_deepen(c, node, node->dyn_kwargs);
    } else if (jinja_token_at(c, 0)->type == T_NAME && jinja_token_at(c, 1)->type == T_ASSIGN) {
        struct str name = jinja_token_take(c)->text;

        ensure(c, !node->dyn_kwargs, line);
        jinja_token_take(c);

        struct node *value = jinja_parse_expression(c, true);

        add_keyword(c, kwargs, (struct keyword){name, value});
        jinja_node_deepen(c, node, value);
    } else {
        ensure(c, !node->dyn_args && !node->dyn_kwargs && kwargs->n == 0, line);
        jinja_node_list_add(c, args, jinja_parse_expression(c, true));
    }
}

/* "(…)" after a call, filter or test. */
static void parse_call_args(struct compiler *c, struct node *node)
{
    struct node_list args = {0};
    struct keywords kwargs = {0};
    bool needs_comma = false;

    jinja_token_expect(c, T_LPAREN);
    while (jinja_token_at(c, 0)->type != T_RPAREN) {
        if (needs_comma) {
            jinja_token_expect(c, T_COMMA);
            if (jinja_token_at(c, 0)->type == T_RPAREN)
                break;
        }
        parse_argument(c, node, &args, &kwargs);
        needs_comma = true;
    }
    jinja_token_expect(c, T_RPAREN);
    take_items(c, node, &args);
    node->kwargs = kwargs.items;
    node->n_kwargs = kwargs.n;
}

static struct node *parse_call(struct compiler *c, struct node *callee)
{
    struct node *node = node_of(c, E_CALL, callee, NULL);

    node->line = jinja_token_at(c, 0)->line;
    parse_call_args(c, node);
    return node;
}

static struct str parse_dotted(struct compiler *c)
{
    struct str name = jinja_token_expect(c, T_NAME)->text;

    while (jinja_token_skip(c, T_DOT)) {
        struct str next = jinja_token_expect(c, T_NAME)->text;
        char *joined = jinja_compiler_take(c, name.n + next.n + 2, 1);

        memcpy(joined, name.p, name.n);
        joined[name.n] = '.';
        memcpy(joined + name.n + 1, next.p, next.n);
        name = str_from(joined, name.n + 1 + next.n);
    }
    return name;
}

struct node *jinja_parse_filter(struct compiler *c, struct node *node, bool starts_inline)
{
    while (starts_inline || jinja_token_at(c, 0)->type == T_PIPE) {
        if (!starts_inline)
            jinja_token_take(c);

        struct node *filter = jinja_node_new(c, E_FILTER, jinja_token_at(c, 0)->line);

        filter->a = node;
        jinja_node_deepen(c, filter, node);
        filter->name = parse_dotted(c);
        filter->filter = jinja_filter_find(filter->name);
        if (jinja_token_at(c, 0)->type == T_LPAREN)
            parse_call_args(c, filter);
        node = filter;
        starts_inline = false;
    }
    return node;
}

static struct node *parse_postfix(struct compiler *c, struct node *node)
{
    for (;;) {
        enum token_type type = jinja_token_at(c, 0)->type;

        if (type == T_DOT || type == T_LBRACKET)
            node = parse_subscript(c, node);
        else if (type == T_LPAREN)
            node = parse_call(c, node);
        else
            return node;
    }
}

static bool has_bare_argument(struct compiler *c)
{
    const struct token *token = jinja_token_at(c, 0);

    switch ((int)token->type) {
    case T_NAME:
        if (jinja_token_is_name(token, "is"))
            jinja_compiler_fail(c, token->line, "you cannot chain multiple tests with is");
        return !jinja_token_is_name(token, "else") && !jinja_token_is_name(token, "or") &&
               !jinja_token_is_name(token, "and");
    case T_STRING:
    case T_INTEGER:
    case T_FLOAT:
    case T_LBRACKET:
    case T_LBRACE:
        return true;
    default:
        return false;
    }
}

static struct node *parse_test(struct compiler *c, struct node *node)
{
    int line = jinja_token_take(c)->line;
    bool is_negated = jinja_token_skip_name(c, "not");
    struct node *test = node_of(c, E_TEST, node, NULL);

    test->line = line;
    test->name = parse_dotted(c);
    test->test = jinja_test_find(test->name);
    if (jinja_token_at(c, 0)->type == T_LPAREN) {
        parse_call_args(c, test);
    } else if (has_bare_argument(c)) {
        struct node_list args = {0};

        jinja_node_list_add(c, &args, parse_postfix(c, parse_primary(c)));
        take_items(c, test, &args);
    }
    if (!is_negated)
        return test;
    node = node_of(c, E_NOT, test, NULL);
    node->line = line;
    return node;
}

static struct node *parse_filter_expr(struct compiler *c, struct node *node)
{
    for (;;) {
        const struct token *token = jinja_token_at(c, 0);

        if (token->type == T_PIPE)
            node = jinja_parse_filter(c, node, false);
        else if (jinja_token_is_name(token, "is"))
            node = parse_test(c, node);
        else if (token->type == T_LPAREN)
            node = parse_call(c, node);
        else
            return node;
    }
}

/* ---- operators ---- */

static struct node *parse_unary(struct compiler *c, bool with_filter)
{
    const struct token *token = jinja_token_at(c, 0);
    struct node *node;

    jinja_parse_enter(c);
    if (token->type == T_SUB || token->type == T_ADD) {
        jinja_token_take(c);
        node = node_of(c, token->type == T_SUB ? E_NEG : E_POS, parse_unary(c, false), NULL);
        node->line = token->line;
    } else {
        node = parse_primary(c);
    }
    node = parse_postfix(c, node);
    if (with_filter)
        node = parse_filter_expr(c, node);
    jinja_parse_leave(c);
    return node;
}

static struct node *parse_pow(struct compiler *c)
{
    struct node *left = parse_unary(c, true);

    while (jinja_token_skip(c, T_POW))
        left = node_of(c, E_POW, left, parse_unary(c, true));
    return left;
}

static struct node *parse_product(struct compiler *c)
{
    struct node *left = parse_pow(c);

    for (;;) {
        enum token_type type = jinja_token_at(c, 0)->type;
        enum node_kind kind = type == T_MUL        ? E_MUL
                              : type == T_DIV      ? E_DIV
                              : type == T_FLOORDIV ? E_FLOORDIV
                              : type == T_MOD      ? E_MOD
                                                   : E_CONST;

        if (kind == E_CONST)
            return left;
        jinja_token_take(c);
        left = node_of(c, kind, left, parse_pow(c));
    }
}

static struct node *parse_concat(struct compiler *c)
{
    int line = jinja_token_at(c, 0)->line;
    struct node_list items = {0};

    jinja_node_list_add(c, &items, parse_product(c));
    while (jinja_token_skip(c, T_TILDE))
        jinja_node_list_add(c, &items, parse_product(c));
    if (items.n == 1)
        return items.items[0];

    struct node *node = jinja_node_new(c, E_CONCAT, line);

    take_items(c, node, &items);
    return node;
}

static struct node *parse_sum(struct compiler *c)
{
    struct node *left = parse_concat(c);

    for (;;) {
        enum token_type type = jinja_token_at(c, 0)->type;

        if (type != T_ADD && type != T_SUB)
            return left;
        jinja_token_take(c);
        left = node_of(c, type == T_ADD ? E_ADD : E_SUB, left, parse_concat(c));
    }
}

static int take_comparison(struct compiler *c)
{
    const struct token *token = jinja_token_at(c, 0);
    int op = token->type == T_EQ     ? OP_EQ
             : token->type == T_NE   ? OP_NE
             : token->type == T_LT   ? OP_LT
             : token->type == T_LTEQ ? OP_LE
             : token->type == T_GT   ? OP_GT
             : token->type == T_GTEQ ? OP_GE
                                     : -1;

    if (op < 0 && jinja_token_is_name(token, "in"))
        op = OP_IN;
    if (op < 0 && jinja_token_is_name(token, "not") &&
        jinja_token_is_name(jinja_token_at(c, 1), "in")) {
        jinja_token_take(c);
        op = OP_NOT_IN;
    }
    if (op >= 0)
        jinja_token_take(c);
    return op;
}

static struct node *parse_compare(struct compiler *c)
{
    struct node *first = parse_sum(c);
    struct node_list operands = {0};

    for (int op; (op = take_comparison(c)) >= 0;) {
        struct node *operand = node_of(c, E_OPERAND, parse_sum(c), NULL);

        operand->op = (uint8_t)op;
        jinja_node_list_add(c, &operands, operand);
    }
    if (operands.n == 0)
        return first;

    struct node *node = node_of(c, E_COMPARE, first, NULL);

    take_items(c, node, &operands);
    return node;
}

static struct node *parse_not(struct compiler *c)
{
    const struct token *token = jinja_token_at(c, 0);

    if (!jinja_token_is_name(token, "not"))
        return parse_compare(c);
    jinja_token_take(c);
    jinja_parse_enter(c);

    struct node *node = node_of(c, E_NOT, parse_not(c), NULL);

    jinja_parse_leave(c);
    node->line = token->line;
    return node;
}

static struct node *parse_and(struct compiler *c)
{
    struct node *left = parse_not(c);

    while (jinja_token_skip_name(c, "and"))
        left = node_of(c, E_AND, left, parse_not(c));
    return left;
}

static struct node *parse_or(struct compiler *c)
{
    struct node *left = parse_and(c);

    while (jinja_token_skip_name(c, "or"))
        left = node_of(c, E_OR, left, parse_and(c));
    return left;
}

static struct node *parse_condition(struct compiler *c)
{
    int line = jinja_token_at(c, 0)->line;
    struct node *node = parse_or(c);

    while (jinja_token_skip_name(c, "if")) {
        struct node *test = parse_or(c);
        struct node *condition = node_of(c, E_COND, test, node);

        if (jinja_token_skip_name(c, "else")) {
            jinja_parse_enter(c);
            condition->c = parse_condition(c);
            jinja_parse_leave(c);
            jinja_node_deepen(c, condition, condition->c);
        }
        condition->line = line;
        line = jinja_token_at(c, 0)->line;
        node = condition;
    }
    return node;
}

struct node *jinja_parse_expression(struct compiler *c, bool with_condition)
{
    jinja_parse_enter(c);

    struct node *node = with_condition ? parse_condition(c) : parse_or(c);

    jinja_parse_leave(c);
    return node;
}
