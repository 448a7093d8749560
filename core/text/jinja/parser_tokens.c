/* Tokens taken one by one, and nodes made of them. See compiler.h. */
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/compiler.h"

#define MOST_DEEP 400 /* of a tree: chains of operators */

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
    /* clang-format off */
    static const char *const texts[] = {
        "end of template", "template data / text", "begin of print statement",
        "end of print statement", "begin of statement block", "end of statement block", "name",
        "string", "integer", "float", "+", "=", ":", ",", "/", ".", "==", "//", ">", ">=", "{", "[",
        "(", "<", "<=", "%", "*", "!=", "|", "**", "}", "]", ")", ";", "-", "~"};
    /* clang-format on */

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

struct node *jinja_node_of(struct compiler *c, enum node_kind kind, struct node *a, struct node *b)
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

void jinja_take_items(struct compiler *c, struct node *node, const struct node_list *list)
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
