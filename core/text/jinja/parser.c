/* Expressions of templates, by the grammar of Jinja2's parser. See jinja_parts.h. Statements are
 * parser_statements.c. */
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/text/jinja/compiler.h"

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
    jinja_take_items(c, node, &items);
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
    jinja_take_items(c, node, &items);
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

struct node *jinja_parse_primary(struct compiler *c)
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
        jinja_node_list_add(c, &items,
                            is_simple ? jinja_parse_primary(c)
                                      : jinja_parse_expression(c, with_condition));
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

    jinja_take_items(c, node, &items);
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
        jinja_take_items(c, arg, &items);
    }

    struct node *node = jinja_node_of(c, E_GETITEM, of, arg);

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
        node = jinja_node_of(c, E_GETATTR, of, NULL);
        node->name = attribute->text;
        if (str_is(node->name, "pop") || str_is(node->name, "clear"))
            c->program->mutates = true;
    } else if (attribute->type == T_INTEGER) {
        node = jinja_node_of(c, E_GETITEM, of, parse_number(c));
    } else {
        jinja_compiler_fail(c, attribute->line, "expected name or number");
    }
    node->line = token->line;
    return node;
}

/* A call is looked through for every keyword that it gets. */
#define MOST_KEYWORDS 4096

struct keywords {
    struct keyword *items;
    size_t n, capacity;
};

static void add_keyword(struct compiler *c, struct keywords *list, struct keyword keyword)
{
    if (list->n == MOST_KEYWORDS)
        jinja_fail(&c->vm, JINJA_LIMIT, "more than %d keyword arguments", MOST_KEYWORDS);
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
    jinja_take_items(c, node, &args);
    node->kwargs = kwargs.items;
    node->n_kwargs = kwargs.n;
}

static struct node *parse_call(struct compiler *c, struct node *callee)
{
    struct node *node = jinja_node_of(c, E_CALL, callee, NULL);

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

struct node *jinja_parse_postfix(struct compiler *c, struct node *node)
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
    struct node *test = jinja_node_of(c, E_TEST, node, NULL);

    test->line = line;
    test->name = parse_dotted(c);
    test->test = jinja_test_find(test->name);
    if (jinja_token_at(c, 0)->type == T_LPAREN) {
        parse_call_args(c, test);
    } else if (has_bare_argument(c)) {
        struct node_list args = {0};

        jinja_node_list_add(c, &args, jinja_parse_postfix(c, jinja_parse_primary(c)));
        jinja_take_items(c, test, &args);
    }
    if (!is_negated)
        return test;
    node = jinja_node_of(c, E_NOT, test, NULL);
    node->line = line;
    return node;
}

struct node *jinja_parse_filter_expr(struct compiler *c, struct node *node)
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
