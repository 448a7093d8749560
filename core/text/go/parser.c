/* Tokens become trees: text, actions and controls, one tree a {{define}} or {{block}}. What stands
 * between the delimiters is pipeline.c. Complaints and their lines are Go's. */
#include <stdio.h>
#include <stdlib.h>

#include "core/text/go/go_parts.h"

/* ---- lookahead of up to three tokens ---- */

struct go_token go_parser_take(struct go_parser *p)
{
    if (p->n_ahead > 0)
        p->n_ahead--;
    else
        p->tokens[0] = go_lexer_next(p->lexer);
    return p->tokens[p->n_ahead];
}

void go_parser_put_back(struct go_parser *p)
{
    p->n_ahead++;
}

struct go_token go_parser_peek(struct go_parser *p)
{
    if (p->n_ahead == 0) {
        p->tokens[0] = go_lexer_next(p->lexer);
        p->n_ahead = 1;
    }
    return p->tokens[p->n_ahead - 1];
}

struct go_token go_parser_take_word(struct go_parser *p)
{
    struct go_token token = go_parser_take(p);

    while (token.type == GO_SPACE)
        token = go_parser_take(p);
    return token;
}

struct go_token go_parser_peek_word(struct go_parser *p)
{
    struct go_token token = go_parser_take_word(p);

    go_parser_put_back(p);
    return token;
}

/* ---- complaints ---- */

void *go_parser_refuse(struct go_parser *p, enum go_fault kind, const char *fmt, ...)
{
    char message[sizeof p->failure->message];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    if (!*p->failed)
        go_fill(p->failure, kind, p->tokens[0].line, message);
    *p->failed = true;
    return NULL;
}

void *go_parser_unexpected(struct go_parser *p, struct go_token token, const char *context)
{
    const char *shown = go_token_show(&token, p->tmpl->arena);

    if (token.type != GO_ERROR)
        return go_parser_refuse(p, GO_SYNTAX, "unexpected %s in %s", shown, context);
    if (p->action_line != 0 && p->action_line != token.line)
        return go_parser_refuse(p, GO_SYNTAX, "%s%s started at line %d", shown,
                                str_ends(token.text, " action") ? "" : " in action",
                                p->action_line);
    return go_parser_refuse(p, GO_SYNTAX, "%s", shown);
}

static bool expect(struct go_parser *p, enum go_token_type type, const char *context)
{
    struct go_token token = go_parser_take_word(p);

    return token.type == type || go_parser_unexpected(p, token, context);
}

/* ---- nodes ---- */

struct go_node *go_node_new(struct go_parser *p, enum go_node_type type, size_t pos)
{
    struct go_node *node = arena_alloc(p->tmpl->arena, sizeof *node);

    if (!node)
        return go_parser_refuse(p, GO_LIMIT, "the template needs too much memory");
    node->type = type;
    node->pos = pos;
    return node;
}

void go_nodes_add(struct go_nodes *list, struct go_node *node)
{
    node->next = NULL;
    if (list->last)
        list->last->next = node;
    else
        list->first = node;
    list->last = node;
    list->n++;
}

bool go_tree_is_empty(const struct go_node *node)
{
    if (node->type == NODE_TEXT)
        return str_trim(node->text).n == 0;
    if (node->type != NODE_LIST)
        return false;
    for (const struct go_node *item = node->items.first; item; item = item->next)
        if (!go_tree_is_empty(item))
            return false;
    return true;
}

/* ---- the set of trees ---- */

const struct go_tree *go_template_find(const struct go_template *tmpl, struct str name)
{
    for (size_t i = 0; i < tmpl->n_trees; i++)
        if (str_eq(tmpl->trees[i].name, name))
            return &tmpl->trees[i];
    return NULL;
}

/* An empty definition gives way to another one; two with a body are a mistake. */
static bool add_tree(struct go_parser *p, struct go_node *root)
{
    struct go_template *tmpl = p->tmpl;
    struct go_tree *trees;

    for (size_t i = 0; i < tmpl->n_trees; i++) {
        if (!str_eq(tmpl->trees[i].name, p->name))
            continue;
        if (go_tree_is_empty(tmpl->trees[i].root))
            tmpl->trees[i].root = root;
        else if (!go_tree_is_empty(root))
            return go_parser_refuse(p, GO_SYNTAX, "multiple definition of template \"%.*s\"",
                                    (int)p->name.n, p->name.p);
        return true;
    }
    trees = arena_room(tmpl->arena, tmpl->trees, tmpl->n_trees, &tmpl->trees_capacity, sizeof *trees);
    if (!trees)
        return go_parser_refuse(p, GO_LIMIT, "the template needs too much memory");
    tmpl->trees = trees;
    trees[tmpl->n_trees++] = (struct go_tree){p->name, root};
    return true;
}

/* ---- actions ---- */

static struct go_node *parse_node(struct go_parser *p);
static struct go_node *parse_control(struct go_parser *p, enum go_node_type type);

/* Up to {{end}} or {{else}}, which *end becomes. */
static struct go_node *parse_list(struct go_parser *p, struct go_node **end)
{
    struct go_node *list = go_node_new(p, NODE_LIST, go_parser_peek_word(p).pos);

    while (list && go_parser_peek_word(p).type != GO_EOF) {
        struct go_node *node = parse_node(p);

        if (!node)
            return NULL;
        if (node->type == NODE_END || node->type == NODE_ELSE) {
            *end = node;
            return list;
        }
        go_nodes_add(&list->items, node);
    }
    return list ? go_parser_refuse(p, GO_SYNTAX, "unexpected EOF") : NULL;
}

/* {{else if}} is an if inside of the else that ends together with it. */
static struct go_node *parse_else(struct go_parser *p, enum go_node_type type, size_t pos)
{
    enum go_token_type again = type == NODE_IF ? GO_IF : type == NODE_WITH ? GO_WITH : GO_EOF;
    struct go_node *list, *inner, *end;

    if (go_parser_peek(p).type != again) {
        list = parse_list(p, &end);
        if (list && end->type != NODE_END)
            return go_parser_refuse(p, GO_SYNTAX, "expected end; found {{else}}");
        return list;
    }
    go_parser_take(p);
    list = go_node_new(p, NODE_LIST, pos);
    inner = list ? parse_control(p, type) : NULL;
    if (!inner)
        return NULL;
    go_nodes_add(&list->items, inner);
    return list;
}

static struct go_node *parse_branches(struct go_parser *p, enum go_node_type type)
{
    static const char *const WORDS[] = {
        [NODE_IF] = "if", [NODE_RANGE] = "range", [NODE_WITH] = "with"};
    struct go_node *pipe = go_parse_pipeline(p, WORDS[type], GO_RIGHT_DELIMITER), *end;
    struct go_node *node = pipe ? go_node_new(p, type, pipe->pos) : NULL;

    if (!node)
        return NULL;
    node->pipe = pipe;
    p->range_depth += type == NODE_RANGE;
    node->list = parse_list(p, &end);
    p->range_depth -= type == NODE_RANGE;
    if (!node->list)
        return NULL;
    if (end->type == NODE_ELSE) {
        node->otherwise = parse_else(p, type, end->pos);
        if (!node->otherwise)
            return NULL;
    }
    return node;
}

static struct go_node *parse_control(struct go_parser *p, enum go_node_type type)
{
    size_t n_variables = p->n_variables;

    if (++p->nesting > GO_NESTING)
        return go_parser_refuse(p, GO_LIMIT, "nested deeper than %d", GO_NESTING);
    struct go_node *node = parse_branches(p, type);

    p->nesting--;
    p->n_variables = n_variables;
    return node;
}

static struct go_node *parse_loop_word(struct go_parser *p, const struct go_token *word)
{
    bool is_break = word->type == GO_BREAK;
    const char *shown = is_break ? "{{break}}" : "{{continue}}";
    struct go_token token = go_parser_take_word(p);

    if (token.type != GO_RIGHT_DELIMITER)
        return go_parser_unexpected(p, token, shown);
    if (p->range_depth == 0)
        return go_parser_refuse(p, GO_SYNTAX, "%s outside {{range}}", shown);
    return go_node_new(p, is_break ? NODE_BREAK : NODE_CONTINUE, word->pos);
}

static struct go_node *parse_end(struct go_parser *p)
{
    struct go_token token = go_parser_take_word(p);

    if (token.type != GO_RIGHT_DELIMITER)
        return go_parser_unexpected(p, token, "end");
    return go_node_new(p, NODE_END, token.pos);
}

static struct go_node *parse_else_word(struct go_parser *p)
{
    struct go_token token = go_parser_peek_word(p);

    if (token.type == GO_IF || token.type == GO_WITH)
        return go_node_new(p, NODE_ELSE, token.pos);
    token = go_parser_take_word(p);
    if (token.type != GO_RIGHT_DELIMITER)
        return go_parser_unexpected(p, token, "else");
    return go_node_new(p, NODE_ELSE, token.pos);
}

/* ---- named templates ---- */

static bool parse_name(struct go_parser *p, const struct go_token *token, const char *context,
                       struct str *out)
{
    if (token->type != GO_QUOTED && token->type != GO_RAW_STRING)
        return go_parser_unexpected(p, *token, context);
    if (!go_unquote(token->text, p->tmpl->arena, out))
        return go_parser_refuse(p, GO_SYNTAX, "invalid syntax");
    return true;
}

/* The body of a definition, with lookahead and variables of its own. */
static bool parse_body(struct go_parser *outer, struct str name, const char *context)
{
    static const struct str dollar = {"$", 1};
    struct str *variables = arena_array(outer->tmpl->arena, 8, sizeof *variables);
    struct go_parser inner = {.tmpl = outer->tmpl,
                              .lexer = outer->lexer,
                              .failure = outer->failure,
                              .failed = outer->failed,
                              .name = name,
                              .nesting = outer->nesting + 1,
                              .variables = variables,
                              .n_variables = 1,
                              .variables_capacity = 8};
    struct go_node *root, *end;

    if (!variables || inner.nesting > GO_NESTING)
        return go_parser_refuse(outer, GO_LIMIT, "nested deeper than %d", GO_NESTING);
    variables[0] = dollar;
    root = parse_list(&inner, &end);
    if (!root)
        return false;
    if (end->type != NODE_END)
        return go_parser_refuse(&inner, GO_SYNTAX, "unexpected {{else}} in %s", context);
    return add_tree(&inner, root);
}

static bool parse_definition(struct go_parser *p)
{
    /* Go reads the name with the new template's lookahead, which is empty as this one's is. */
    struct go_token token = go_parser_take_word(p);
    struct str name;

    return parse_name(p, &token, "define clause", &name) &&
           expect(p, GO_RIGHT_DELIMITER, "define clause") && parse_body(p, name, "define clause");
}

static struct go_node *parse_call(struct go_parser *p, bool is_block)
{
    const char *context = is_block ? "block clause" : "template clause";
    struct go_token token = go_parser_take_word(p);
    struct go_node *node = go_node_new(p, NODE_TEMPLATE, token.pos);

    if (!node || !parse_name(p, &token, context, &node->text))
        return NULL;
    if (is_block || go_parser_take_word(p).type != GO_RIGHT_DELIMITER) {
        if (!is_block)
            go_parser_put_back(p);
        node->pipe = go_parse_pipeline(p, context, GO_RIGHT_DELIMITER);
        if (!node->pipe)
            return NULL;
    }
    return !is_block || parse_body(p, node->text, context) ? node : NULL;
}

static struct go_node *parse_action(struct go_parser *p)
{
    struct go_token token = go_parser_take_word(p);
    struct go_node *node;

    switch ((int)token.type) {
    case GO_BLOCK:
    case GO_TEMPLATE:
        return parse_call(p, token.type == GO_BLOCK);
    case GO_BREAK:
    case GO_CONTINUE:
        return parse_loop_word(p, &token);
    case GO_ELSE:
        return parse_else_word(p);
    case GO_END:
        return parse_end(p);
    case GO_IF:
        return parse_control(p, NODE_IF);
    case GO_RANGE:
        return parse_control(p, NODE_RANGE);
    case GO_WITH:
        return parse_control(p, NODE_WITH);
    default:
        break;
    }
    go_parser_put_back(p);
    node = go_node_new(p, NODE_ACTION, go_parser_peek(p).pos);
    if (node)
        node->pipe = go_parse_pipeline(p, "command", GO_RIGHT_DELIMITER);
    return node && node->pipe ? node : NULL;
}

static struct go_node *parse_node(struct go_parser *p)
{
    struct go_token token = go_parser_take_word(p);
    struct go_node *node;

    if (token.type == GO_TEXT) {
        node = go_node_new(p, NODE_TEXT, token.pos);
        if (node)
            node->text = token.text;
        return node;
    }
    if (token.type != GO_LEFT_DELIMITER)
        return go_parser_unexpected(p, token, "input");
    p->action_line = token.line;
    node = parse_action(p);
    p->action_line = 0;
    return node;
}

/* ---- the whole ---- */

static bool parse_all(struct go_parser *p)
{
    struct go_node *root = go_node_new(p, NODE_LIST, go_parser_peek(p).pos);

    while (root && go_parser_peek(p).type != GO_EOF) {
        if (go_parser_peek(p).type == GO_LEFT_DELIMITER) {
            struct go_token delimiter = go_parser_take(p);

            if (go_parser_take_word(p).type == GO_DEFINE) {
                if (!parse_definition(p))
                    return false;
                continue;
            }
            p->tokens[1] = delimiter;
            p->n_ahead = 2;
        }
        struct go_node *node = parse_node(p);

        if (!node)
            return false;
        if (node->type == NODE_END || node->type == NODE_ELSE)
            return go_parser_refuse(p, GO_SYNTAX, "unexpected %s",
                                    node->type == NODE_END ? "{{end}}" : "{{else}}");
        go_nodes_add(&root->items, node);
    }
    return root && add_tree(p, root);
}

void go_fill(struct go_failure *failure, enum go_fault kind, int line, const char *message)
{
    failure->kind = kind;
    failure->line = line;
    snprintf(failure->message, sizeof failure->message, "%s", message);
}

int go_status(const struct go_failure *failure, struct error *err)
{
    int status = failure->kind == GO_UNSUPPORTED ? E_UNSUPPORTED
                 : failure->kind == GO_LIMIT     ? E_LIMIT
                                                 : E_PARSE;

    error_set(err, status, "%s", failure->message);
    if (failure->line > 0)
        error_at(err, NULL, failure->line, NONE);
    return status;
}

int go_line_of(struct str text, size_t pos)
{
    int line = 1;

    for (size_t i = 0; i < pos && i < text.n; i++)
        line += text.p[i] == '\n';
    return line;
}

#define ARENA_BYTES ((size_t)512 << 20)     /* a template of the greatest size, all actions */

static int parse(struct go_template *tmpl, struct go_failure *failure, struct error *err)
{
    struct go_lexer lexer = {.input = tmpl->text, .line = 1, .start_line = 1, .arena = tmpl->arena};
    bool failed = false;
    struct str *variables = arena_array(tmpl->arena, 8, sizeof *variables);
    struct go_parser parser = {.tmpl = tmpl,
                               .lexer = &lexer,
                               .failure = failure,
                               .failed = &failed,
                               .name = str_of(""),
                               .variables = variables,
                               .n_variables = 1,
                               .variables_capacity = 8};

    if (!variables)
        return error_set(err, E_NOMEM, "no memory for a template");
    variables[0] = str_of("$");
    if (parse_all(&parser))
        return OK;
    return go_status(failure, err);
}

int go_template_open(struct go_template **out, struct str text, struct go_failure *failure,
                     struct error *err)
{
    struct go_template *tmpl;
    int rc = OK;

    *failure = (struct go_failure){.kind = GO_SYNTAX};
    if (text.n > GO_TEMPLATE_BYTES) {
        go_fill(failure, GO_LIMIT, 0, "the template is larger than 1 MiB");
        return go_status(failure, err);
    }
    tmpl = calloc(1, sizeof *tmpl);
    if (tmpl)
        tmpl->arena = arena_open(ARENA_BYTES);
    if (!tmpl || !tmpl->arena) {
        rc = error_set(err, E_NOMEM, "no memory for a template");
    } else {
        tmpl->text = arena_str(tmpl->arena, text);
        rc = parse(tmpl, failure, err);
    }
    if (rc == OK)
        *out = tmpl;
    else
        go_template_close(tmpl);
    return rc;
}

void go_template_close(struct go_template *tmpl)
{
    if (!tmpl)
        return;
    arena_close(tmpl->arena);
    free(tmpl);
}
