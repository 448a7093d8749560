/* What the files of the template engine share: tokens, the tree, a render under way. Nobody else
 * includes this. lexer.c makes tokens, parser.c and pipeline.c the tree, execute.c and evaluate.c
 * walk it, functions.c is what templates call, print.c what they print. */
#ifndef CORE_TEXT_GO_GO_PARTS_H
#define CORE_TEXT_GO_GO_PARTS_H

#include "core/text/go/go_template.h"

/* ---- tokens ---- */

/* Keywords are the ones from GO_BLOCK on. */
enum go_token_type {
    GO_ERROR,
    GO_TRUE_FALSE,
    GO_CHARACTER,       /* a comma and other single characters */
    GO_RUNE,            /* 'x' */
    GO_COMPLEX,
    GO_ASSIGN,          /* = */
    GO_DECLARE,         /* := */
    GO_EOF,
    GO_FIELD,           /* .Name */
    GO_IDENTIFIER,
    GO_LEFT_DELIMITER,
    GO_LEFT_PAREN,
    GO_NUMBER,
    GO_PIPE,
    GO_RAW_STRING,
    GO_RIGHT_DELIMITER,
    GO_RIGHT_PAREN,
    GO_SPACE,
    GO_QUOTED,
    GO_TEXT,
    GO_VARIABLE,
    GO_BLOCK,
    GO_BREAK,
    GO_CONTINUE,
    GO_DOT,
    GO_DEFINE,
    GO_ELSE,
    GO_END,
    GO_IF,
    GO_NIL_WORD,
    GO_RANGE,
    GO_TEMPLATE,
    GO_WITH
};

struct go_token {
    enum go_token_type type;
    size_t pos;                 /* byte of the template */
    struct str text;            /* source; of GO_ERROR the complaint */
    int line;
};

struct go_lexer {
    struct str input;
    size_t pos, start;
    bool at_end, is_inside_action;
    int paren_depth, line, start_line;
    struct arena *arena;        /* for complaints */
    struct go_token token;      /* the one that was made */
};

struct go_token go_lexer_next(struct go_lexer *lexer);
/* As it stands in a complaint: EOF, <range>, "text". */
const char *go_token_show(const struct go_token *token, struct arena *arena);

/* ---- the tree ---- */

enum go_node_type {
    NODE_TEXT,
    NODE_ACTION,                /* pipe */
    NODE_IF,                    /* pipe, list, otherwise */
    NODE_RANGE,
    NODE_WITH,
    NODE_TEMPLATE,              /* text: its name; pipe or NULL */
    NODE_BREAK,
    NODE_CONTINUE,
    NODE_LIST,                  /* items */
    NODE_PIPE,                  /* declared; items: commands */
    NODE_COMMAND,               /* items: arguments, the first one is what is called */
    NODE_FIELD,                 /* names */
    NODE_VARIABLE,              /* names: $x, then fields */
    NODE_CHAIN,                 /* pipe: what it hangs on; names */
    NODE_IDENTIFIER,            /* text */
    NODE_DOT,
    NODE_NIL,
    NODE_BOOL,
    NODE_NUMBER,
    NODE_STRING,                /* text: value; source */
    NODE_END,                   /* while parsing only */
    NODE_ELSE
};

struct go_nodes {
    struct go_node *first, *last;
    size_t n;
};

struct go_node {
    enum go_node_type type;
    size_t pos;                 /* byte of the template, for the line */
    struct go_node *next;       /* in the list that it stands in */
    struct str text, source;    /* source: as it was written */
    struct str *names;
    size_t n_names, names_capacity;
    struct go_nodes items, declared;
    struct go_node *pipe, *list, *otherwise;
    bool is_assignment;         /* of a pipe: = instead of := */
    bool truth;
    bool is_float;              /* a number that is a float64 by its looks */
    bool overflows;             /* too large for int */
    int64_t integer;
    double number;
};

struct go_tree {
    struct str name;
    struct go_node *root;
};

struct go_template {
    struct arena *arena;
    struct str text;
    struct go_tree *trees;      /* the main one, whose name is "", among them */
    size_t n_trees, trees_capacity;
};

const struct go_tree *go_template_find(const struct go_template *tmpl, struct str name);
bool go_tree_is_empty(const struct go_node *node);
int go_line_of(struct str text, size_t pos);
void go_fill(struct go_failure *failure, enum go_fault kind, int line, const char *message);
int go_status(const struct go_failure *failure, struct error *err);

/* ---- parsing ---- */

#define GO_NESTING 200          /* of controls and parentheses */

/* One named template under way: its lookahead, its variables. All share lexer and trees. */
struct go_parser {
    struct go_template *tmpl;
    struct go_lexer *lexer;
    struct go_failure *failure; /* message filled: it failed */
    bool *failed;
    struct str name;
    struct go_token tokens[3];
    int n_ahead;
    struct str *variables;
    size_t n_variables, variables_capacity;
    int action_line, range_depth, nesting;
};

struct go_token go_parser_take(struct go_parser *p);
struct go_token go_parser_peek(struct go_parser *p);
struct go_token go_parser_take_word(struct go_parser *p);       /* not a space */
struct go_token go_parser_peek_word(struct go_parser *p);
void go_parser_put_back(struct go_parser *p);
/* All return NULL (or false) after they noted the complaint. */
void *go_parser_refuse(struct go_parser *p, enum go_fault kind, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
void *go_parser_unexpected(struct go_parser *p, struct go_token token, const char *context);
struct go_node *go_node_new(struct go_parser *p, enum go_node_type type, size_t pos);
void go_nodes_add(struct go_nodes *list, struct go_node *node);
bool go_node_add_name(struct go_parser *p, struct go_node *node, struct str name);
struct go_node *go_parse_pipeline(struct go_parser *p, const char *context,
                                  enum go_token_type end);
bool go_parse_number(struct go_parser *p, const struct go_token *token, struct go_node *node);
/* The text that a literal of Go means, in the arena; false: it is none. */
bool go_unquote(struct str literal, struct arena *arena, struct str *out);

/* A node as Go writes it, for "at <…>". */
void go_node_write(const struct go_node *node, struct buf *out);

/* ---- a render under way ---- */

struct go_variable {
    struct str name;
    struct go_value value;
};

struct go_run {
    const struct go_template *tmpl;
    const struct go_settings *settings;
    bool is_bare;               /* only the language's own functions, no definitions */
    struct arena *arena;
    struct buf *out;
    size_t out_start;
    struct go_variable *variables;
    size_t n_variables, variables_capacity, first_variable; /* of the template that runs */
    const struct go_node *at;
    uint64_t steps;
    int depth, template_depth;
    struct go_failure *failure;
    bool failed;
};

enum go_flow { FLOW_FAILED, FLOW_ON, FLOW_BREAK, FLOW_CONTINUE };

/* Nesting of lists, pipelines and templates together: what the C stack has to hold. */
#define GO_STACK 1500

/* Opens and closes the arena of the run; the rest is the caller's. */
MUST_CHECK int go_run_all(struct go_run *run, const struct go_node *root,
                          const struct go_value *data, struct error *err);
/* false always: the first complaint counts. */
bool go_run_fail(struct go_run *run, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool go_run_refuse(struct go_run *run, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool go_run_limit(struct go_run *run, const char *what);
bool go_run_step(struct go_run *run);
enum go_flow go_walk(struct go_run *run, const struct go_value *dot, const struct go_node *node);
/* Results of evaluation: the value, and false when it failed. pipe may be NULL: no value. */
bool go_evaluate(struct go_run *run, const struct go_value *dot, const struct go_node *pipe,
                 struct go_value *out);
bool go_variable_push(struct go_run *run, struct str name, const struct go_value *value);
bool go_variable_set(struct go_run *run, struct str name, const struct go_value *value);

struct go_value go_bool(bool value);
struct go_value go_int(int64_t value);
struct go_value go_text(struct str text);
struct go_value go_invalid(void);
bool go_is_true(const struct go_value *value);
const char *go_type_name(const struct go_value *value);
/* The member, or NULL. */
const struct go_value *go_member(const struct go_value *object, struct str name);
/* The fields by key, as range, print and json go through a map. */
const struct go_field **go_sorted(struct go_run *run, const struct go_value *map);

/* ---- functions ---- */

struct go_call {
    struct go_run *run;
    const char *name;
    const struct go_value *args;
    size_t n;
};

struct go_function {
    const char *name;
    size_t n_least, n_most;     /* SIZE_MAX: any number */
    bool takes_values;          /* sees nil and no value apart; else all become nil */
    bool first_is_text, all_are_text;
    bool is_added;              /* by Ollama: not one of the language */
    bool (*call)(const struct go_call *call, struct go_value *out);
};

const struct go_function *go_function_find(struct str name);
bool go_is_and_or(const struct go_function *function, bool *is_or);
extern const struct go_class go_class_byte;

bool go_call_eq(const struct go_call *call, struct go_value *out);
bool go_call_ne(const struct go_call *call, struct go_value *out);
bool go_call_lt(const struct go_call *call, struct go_value *out);
bool go_call_le(const struct go_call *call, struct go_value *out);
bool go_call_gt(const struct go_call *call, struct go_value *out);
bool go_call_ge(const struct go_call *call, struct go_value *out);
bool go_call_index(const struct go_call *call, struct go_value *out);
bool go_call_slice(const struct go_call *call, struct go_value *out);
bool go_call_len(const struct go_call *call, struct go_value *out);

/* ---- text of values ---- */

/* As fmt.Print of one value. false: refused. */
bool go_print(struct go_run *run, const struct go_value *value, struct buf *out);
bool go_print_all(struct go_run *run, const struct go_value *values, size_t n, struct buf *out);
bool go_println(struct go_run *run, const struct go_value *values, size_t n, struct buf *out);
bool go_printf(struct go_run *run, const struct go_value *values, size_t n, struct buf *out);
bool go_json(struct go_run *run, const struct go_value *value, struct buf *out);
void go_types_text(const struct go_value *property, struct buf *out);   /* ToTypeScriptType */

size_t go_shortest_digits(double value, char digits[32], int *power);
void go_put_plain(struct buf *out, const char *digits, size_t n, int power); /* 0.DIGITS * 10^power */
void go_quote(struct buf *out, struct str text, char quote, bool ascii);
void go_quote_rune(struct buf *out, int32_t rune, bool ascii);
void go_escape_html(struct buf *out, struct str text);
void go_escape_js(struct buf *out, struct str text);
void go_escape_query(struct buf *out, struct str text);

#endif
