/* Operators of expressions, from the loosest to the tightest. See jinja_parts.h. */
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/compiler.h"

static struct node *parse_unary(struct compiler *c, bool with_filter)
{
    const struct token *token = jinja_token_at(c, 0);
    struct node *node;

    jinja_parse_enter(c);
    if (token->type == T_SUB || token->type == T_ADD) {
        jinja_token_take(c);
        node = jinja_node_of(c, token->type == T_SUB ? E_NEG : E_POS, parse_unary(c, false), NULL);
        node->line = token->line;
    } else {
        node = jinja_parse_primary(c);
    }
    node = jinja_parse_postfix(c, node);
    if (with_filter)
        node = jinja_parse_filter_expr(c, node);
    jinja_parse_leave(c);
    return node;
}

static struct node *parse_pow(struct compiler *c)
{
    struct node *left = parse_unary(c, true);

    while (jinja_token_skip(c, T_POW))
        left = jinja_node_of(c, E_POW, left, parse_unary(c, true));
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
        left = jinja_node_of(c, kind, left, parse_pow(c));
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

    jinja_take_items(c, node, &items);
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
        left = jinja_node_of(c, type == T_ADD ? E_ADD : E_SUB, left, parse_concat(c));
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
        struct node *operand = jinja_node_of(c, E_OPERAND, parse_sum(c), NULL);

        operand->op = (uint8_t)op;
        jinja_node_list_add(c, &operands, operand);
    }
    if (operands.n == 0)
        return first;

    struct node *node = jinja_node_of(c, E_COMPARE, first, NULL);

    jinja_take_items(c, node, &operands);
    return node;
}

static struct node *parse_not(struct compiler *c)
{
    const struct token *token = jinja_token_at(c, 0);

    if (!jinja_token_is_name(token, "not"))
        return parse_compare(c);
    jinja_token_take(c);
    jinja_parse_enter(c);

    struct node *node = jinja_node_of(c, E_NOT, parse_not(c), NULL);

    jinja_parse_leave(c);
    node->line = token->line;
    return node;
}

static struct node *parse_and(struct compiler *c)
{
    struct node *left = parse_not(c);

    while (jinja_token_skip_name(c, "and"))
        left = jinja_node_of(c, E_AND, left, parse_not(c));
    return left;
}

static struct node *parse_or(struct compiler *c)
{
    struct node *left = parse_and(c);

    while (jinja_token_skip_name(c, "or"))
        left = jinja_node_of(c, E_OR, left, parse_and(c));
    return left;
}

static struct node *parse_condition(struct compiler *c)
{
    int line = jinja_token_at(c, 0)->line;
    struct node *node = parse_or(c);

    while (jinja_token_skip_name(c, "if")) {
        struct node *test = parse_or(c);
        struct node *condition = jinja_node_of(c, E_COND, test, node);

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
