/* A template being compiled: tokens, the parser, names. Not for others than the engine. */
#ifndef CORE_TEXT_JINJA_COMPILER_H
#define CORE_TEXT_JINJA_COMPILER_H

#include "core/text/jinja/jinja_parts.h"

/* lexer.c, parser*.c, scope.c */
enum token_type {
    T_EOF,
    T_DATA,
    T_VARIABLE_BEGIN,
    T_VARIABLE_END,
    T_BLOCK_BEGIN,
    T_BLOCK_END,
    T_NAME,
    T_STRING,
    T_INTEGER,
    T_FLOAT,
    T_ADD,
    T_ASSIGN,
    T_COLON,
    T_COMMA,
    T_DIV,
    T_DOT,
    T_EQ,
    T_FLOORDIV,
    T_GT,
    T_GTEQ,
    T_LBRACE,
    T_LBRACKET,
    T_LPAREN,
    T_LT,
    T_LTEQ,
    T_MOD,
    T_MUL,
    T_NE,
    T_PIPE,
    T_POW,
    T_RBRACE,
    T_RBRACKET,
    T_RPAREN,
    T_SEMICOLON,
    T_SUB,
    T_TILDE
};

struct token {
    enum token_type type;
    int line;
    struct str text; /* names: themselves; strings: decoded; numbers: source */
};

struct tokens {
    struct token *items;
    size_t n, capacity;
};

struct compiler {
    struct vm vm; /* for failures, and to fold constants */
    struct jinja_program *program;
    struct arena *arena;
    struct tokens tokens;
    size_t at;
    int depth;
    int loops; /* around, in this function */
    uint64_t work;
};
void *jinja_compiler_take(struct compiler *c, size_t n, size_t size);
void jinja_compiler_fail(struct compiler *c, int line, const char *fmt, ...) PRINTF_LIKE(3, 4)
    __attribute__((noreturn));
void jinja_compiler_work(struct compiler *c, size_t n);
void jinja_lex(struct compiler *c);
void jinja_parse(struct compiler *c);
struct node *jinja_node_new(struct compiler *c, enum node_kind kind, int line);
void jinja_node_deepen(struct compiler *c, struct node *node, const struct node *child);
uint16_t jinja_name_id(struct compiler *c, struct str name);
/* parser.c for parser_statements.c */
const struct token *jinja_token_at(const struct compiler *c, size_t ahead);
const struct token *jinja_token_take(struct compiler *c);
const struct token *jinja_token_expect(struct compiler *c, enum token_type type);
bool jinja_token_is_name(const struct token *token, const char *name);
bool jinja_token_skip(struct compiler *c, enum token_type type);
bool jinja_token_skip_name(struct compiler *c, const char *name);
const char *jinja_token_describe(struct compiler *c, const struct token *token);
struct node_list {
    struct node **items;
    size_t n, capacity;
};
void jinja_node_list_add(struct compiler *c, struct node_list *list, struct node *node);
struct node *jinja_parse_expression(struct compiler *c, bool with_condition);
struct node *jinja_parse_tuple(struct compiler *c, bool is_simple, bool with_condition,
                               const char *end_name, bool in_parentheses);
struct node *jinja_parse_filter(struct compiler *c, struct node *node, bool starts_inline);
void jinja_parse_enter(struct compiler *c);
void jinja_parse_leave(struct compiler *c);
void jinja_resolve_names(struct compiler *c);

struct node *jinja_node_of(struct compiler *c, enum node_kind kind, struct node *a, struct node *b);
void jinja_take_items(struct compiler *c, struct node *node, const struct node_list *list);
struct node *jinja_parse_primary(struct compiler *c);
struct node *jinja_parse_postfix(struct compiler *c, struct node *node);
struct node *jinja_parse_filter_expr(struct compiler *c, struct node *node);

#endif
