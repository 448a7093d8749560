/* Statements of templates, by the grammar of Jinja2's parser with loop controls and the
 * `generation` tag. See jinja_parts.h. Expressions are parser.c. */
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/compiler.h"

static struct body parse_body(struct compiler *c, const char *const *ends);

/* ---- targets ---- */

static void set_context(struct compiler *c, struct node *node, enum name_context context)
{
    if (node->kind == E_TUPLE) {
        for (size_t i = 0; i < node->n; i++)
            set_context(c, node->items[i], context);
        return;
    }
    if (node->kind != E_NAME)
        jinja_compiler_fail(c, node->line, "can't assign to this");
    node->op = (uint8_t)context;
}

static struct node *parse_name_target(struct compiler *c, enum name_context context)
{
    const struct token *token = jinja_token_expect(c, T_NAME);
    struct node *node = jinja_node_new(c, E_NAME, token->line);
    static const char *const fixed[] = {"true", "false", "none", "True", "False", "None"};

    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        if (str_is(token->text, fixed[i]))
            jinja_compiler_fail(c, token->line, "can't assign to 'name'");
    node->name = token->text;
    node->name_id = jinja_name_id(c, token->text);
    node->op = (uint8_t)context;
    return node;
}

static struct node *parse_target(struct compiler *c, const char *end_name, bool with_namespace)
{
    if (with_namespace && jinja_token_at(c, 1)->type == T_DOT) {
        const struct token *token = jinja_token_expect(c, T_NAME);
        struct node *node = jinja_node_new(c, E_NSREF, token->line);
        struct node *of = jinja_node_new(c, E_NAME, token->line);

        of->name = token->text;
        of->name_id = jinja_name_id(c, token->text);
        jinja_token_take(c);
        node->a = of;
        node->name = jinja_token_expect(c, T_NAME)->text;
        return node;
    }

    struct node *node = jinja_parse_tuple(c, true, true, end_name, false);

    set_context(c, node, CTX_STORE);
    return node;
}

/* ---- statements ---- */

static struct node *parse_set(struct compiler *c)
{
    static const char *const ends[] = {"endset", NULL};
    int line = jinja_token_take(c)->line;
    struct node *target = parse_target(c, NULL, true);
    bool is_value = jinja_token_skip(c, T_ASSIGN);
    struct node *node = jinja_node_new(c, is_value ? S_SET : S_SET_BLOCK, line);

    node->a = target;
    if (is_value) {
        node->b = jinja_parse_tuple(c, false, true, NULL, false);
        return node;
    }
    node->b = jinja_parse_filter(c, NULL, false);
    node->body = parse_body(c, ends);
    jinja_token_take(c);
    return node;
}

static struct node *parse_for(struct compiler *c)
{
    static const char *const ends[] = {"endfor", "else", NULL};
    static const char *const last[] = {"endfor", NULL};
    struct node *node = jinja_node_new(c, S_FOR, jinja_token_take(c)->line);

    node->a = parse_target(c, "in", false);
    if (!jinja_token_skip_name(c, "in"))
        jinja_compiler_fail(c, jinja_token_at(c, 0)->line, "expected token 'in', got '%s'",
                            jinja_token_describe(c, jinja_token_at(c, 0)));
    node->b = jinja_parse_tuple(c, false, false, "recursive", false);
    if (jinja_token_skip_name(c, "if"))
        node->c = jinja_parse_expression(c, true);
    node->is_recursive = jinja_token_skip_name(c, "recursive");
    c->loops++;
    node->body = parse_body(c, ends);
    c->loops--;
    if (!jinja_token_is_name(jinja_token_take(c), "endfor")) {
        int loops = c->loops;

        if (node->is_recursive)
            c->loops = 0;
        node->other = parse_body(c, last);
        c->loops = loops;
        jinja_token_take(c);
    }
    return node;
}

static struct node *parse_if(struct compiler *c)
{
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    static const char *const last[] = {"endif", NULL};
    struct node *node = jinja_node_new(c, S_IF, jinja_token_take(c)->line);
    struct node *first = node;
    struct node_list more = {0};

    for (;;) {
        node->a = jinja_parse_tuple(c, false, false, NULL, false);
        node->body = parse_body(c, ends);

        const struct token *token = jinja_token_take(c);

        if (jinja_token_is_name(token, "elif")) {
            node = jinja_node_new(c, S_IF, jinja_token_at(c, 0)->line);
            jinja_node_list_add(c, &more, node);
            continue;
        }
        if (jinja_token_is_name(token, "else")) {
            first->other = parse_body(c, last);
            jinja_token_take(c);
        }
        break;
    }
    first->items = more.items;
    first->n = more.n;
    return first;
}

static struct node *parse_with(struct compiler *c)
{
    static const char *const ends[] = {"endwith", NULL};
    struct node *node = jinja_node_new(c, S_WITH, jinja_token_take(c)->line);
    struct node_list targets = {0}, values = {0};

    while (jinja_token_at(c, 0)->type != T_BLOCK_END) {
        if (targets.n)
            jinja_token_expect(c, T_COMMA);

        struct node *target = parse_target(c, NULL, false);

        set_context(c, target, CTX_PARAM);
        jinja_node_list_add(c, &targets, target);
        jinja_token_expect(c, T_ASSIGN);
        jinja_node_list_add(c, &values, jinja_parse_expression(c, true));
    }
    node->items = targets.items;
    node->n = targets.n;
    node->defaults = values.items;
    node->n_defaults = values.n;
    node->body = parse_body(c, ends);
    jinja_token_take(c);
    return node;
}

static void parse_signature(struct compiler *c, struct node *node)
{
    struct node_list params = {0}, defaults = {0};

    jinja_token_expect(c, T_LPAREN);
    while (jinja_token_at(c, 0)->type != T_RPAREN) {
        if (params.n)
            jinja_token_expect(c, T_COMMA);

        struct node *param = parse_name_target(c, CTX_PARAM);

        for (size_t i = 0; i < params.n; i++)
            if (params.items[i]->name_id == param->name_id)
                jinja_compiler_fail(c, param->line, "duplicate argument in a macro");
        if (jinja_token_skip(c, T_ASSIGN))
            jinja_node_list_add(c, &defaults, jinja_parse_expression(c, true));
        else if (defaults.n)
            jinja_compiler_fail(c, param->line, "non-default argument follows default argument");
        jinja_node_list_add(c, &params, param);
    }
    jinja_token_take(c);
    node->items = params.items;
    node->n = params.n;
    node->defaults = defaults.items;
    node->n_defaults = defaults.n;
}

/* The body of something that becomes a function of its own: no loop of the outside is in reach. */
static void parse_function_body(struct compiler *c, struct node *node, const char *end)
{
    const char *const ends[] = {end, NULL};
    int loops = c->loops;

    c->loops = 0;
    node->body = parse_body(c, ends);
    c->loops = loops;
    jinja_token_take(c);
}

static struct node *parse_macro(struct compiler *c)
{
    struct node *node = jinja_node_new(c, S_MACRO, jinja_token_take(c)->line);
    struct node *name = parse_name_target(c, CTX_STORE);

    node->name = name->name;
    node->name_id = name->name_id;
    parse_signature(c, node);
    parse_function_body(c, node, "endmacro");
    return node;
}

static struct node *parse_call_block(struct compiler *c)
{
    struct node *node = jinja_node_new(c, S_CALL_BLOCK, jinja_token_take(c)->line);

    if (jinja_token_at(c, 0)->type == T_LPAREN)
        parse_signature(c, node);
    node->a = jinja_parse_expression(c, true);
    if (node->a->kind != E_CALL)
        jinja_compiler_fail(c, node->line, "expected call");
    parse_function_body(c, node, "endcall");
    return node;
}

static struct node *parse_generation(struct compiler *c)
{
    struct node *node = jinja_node_new(c, S_CALL_BLOCK, jinja_token_take(c)->line);

    node->is_generation = true;
    c->program->has_generation = true;
    parse_function_body(c, node, "endgeneration");
    return node;
}

static struct node *parse_filter_block(struct compiler *c)
{
    static const char *const ends[] = {"endfilter", NULL};
    struct node *node = jinja_node_new(c, S_FILTER_BLOCK, jinja_token_take(c)->line);

    node->b = jinja_parse_filter(c, NULL, true);
    node->body = parse_body(c, ends);
    jinja_token_take(c);
    return node;
}

static struct node *parse_autoescape(struct compiler *c)
{
    static const char *const ends[] = {"endautoescape", NULL};
    struct node *node = jinja_node_new(c, S_AUTOESCAPE, jinja_token_take(c)->line);

    node->a = jinja_parse_expression(c, true);
    node->body = parse_body(c, ends);
    jinja_token_take(c);
    return node;
}

static struct node *parse_print(struct compiler *c)
{
    struct node *node = jinja_node_new(c, S_OUTPUT, jinja_token_take(c)->line);
    struct node_list items = {0};

    while (jinja_token_at(c, 0)->type != T_BLOCK_END) {
        if (items.n)
            jinja_token_expect(c, T_COMMA);
        jinja_node_list_add(c, &items, jinja_parse_expression(c, true));
    }
    node->items = items.items;
    node->n = items.n;
    return node;
}

static struct node *parse_block(struct compiler *c)
{
    struct node *node = jinja_node_new(c, S_BLOCK, jinja_token_take(c)->line);

    node->name = jinja_token_expect(c, T_NAME)->text;
    node->is_scoped = jinja_token_skip_name(c, "scoped");
    if (jinja_token_skip_name(c, "required"))
        jinja_compiler_fail(c, node->line,
                            "a required block, which only another template can fill");
    parse_function_body(c, node, "endblock");
    if (jinja_token_at(c, 0)->type == T_NAME && str_eq(jinja_token_at(c, 0)->text, node->name))
        jinja_token_take(c);
    for (size_t i = 0; i < c->program->n_blocks; i++)
        if (str_eq(c->program->blocks[i]->name, node->name))
            jinja_compiler_fail(c, node->line, "block '%.*s' defined twice",
                                (int)(node->name.n < 80 ? node->name.n : 80), node->name.p);

    struct node_list blocks = {c->program->blocks, c->program->n_blocks,
                               c->program->blocks_capacity};

    jinja_node_list_add(c, &blocks, node);
    c->program->blocks = blocks.items;
    c->program->n_blocks = blocks.n;
    c->program->blocks_capacity = blocks.capacity;
    return node;
}

/* ---- what needs a loader, and has none ---- */

static void skip_context(struct compiler *c)
{
    const struct token *token = jinja_token_at(c, 0);

    if ((jinja_token_is_name(token, "with") || jinja_token_is_name(token, "without")) &&
        jinja_token_is_name(jinja_token_at(c, 1), "context")) {
        jinja_token_take(c);
        jinja_token_take(c);
    }
}

static void parse_imported_names(struct compiler *c, struct node_list *targets)
{
    for (;;) {
        const struct token *token = jinja_token_at(c, 0);

        if (targets->n)
            jinja_token_expect(c, T_COMMA);
        token = jinja_token_at(c, 0);
        if ((jinja_token_is_name(token, "with") || jinja_token_is_name(token, "without")) &&
            jinja_token_is_name(jinja_token_at(c, 1), "context"))
            break;

        struct node *target = parse_name_target(c, CTX_STORE);

        if (target->name.p[0] == '_')
            jinja_compiler_fail(c, target->line,
                                "names starting with an underline can not be imported");
        if (jinja_token_skip_name(c, "as"))
            target = parse_name_target(c, CTX_STORE);
        jinja_node_list_add(c, targets, target);
        if (jinja_token_at(c, 0)->type != T_COMMA)
            break;
    }
    skip_context(c);
}

static struct node *parse_loading(struct compiler *c)
{
    const struct token *token = jinja_token_take(c);
    struct node *node = jinja_node_new(c, S_NO_LOADER, token->line);
    struct node_list targets = {0};

    node->name = token->text;
    node->a = jinja_parse_expression(c, true);
    if (str_is(token->text, "include")) {
        if (jinja_token_is_name(jinja_token_at(c, 0), "ignore") &&
            jinja_token_is_name(jinja_token_at(c, 1), "missing")) {
            jinja_token_take(c);
            jinja_token_take(c);
        }
        skip_context(c);
    } else if (str_is(token->text, "import")) {
        if (!jinja_token_skip_name(c, "as"))
            jinja_compiler_fail(c, jinja_token_at(c, 0)->line, "expected token 'as'");
        jinja_node_list_add(c, &targets, parse_name_target(c, CTX_STORE));
        skip_context(c);
    } else if (str_is(token->text, "from")) {
        if (!jinja_token_skip_name(c, "import"))
            jinja_compiler_fail(c, jinja_token_at(c, 0)->line, "expected token 'import'");
        parse_imported_names(c, &targets);
    }
    node->items = targets.items;
    node->n = targets.n;
    return node;
}

static struct node *parse_jump(struct compiler *c)
{
    const struct token *token = jinja_token_take(c);
    bool is_break = jinja_token_is_name(token, "break");

    if (c->loops == 0)
        jinja_compiler_fail(c, token->line, "'%s' outside loop", is_break ? "break" : "continue");
    return jinja_node_new(c, is_break ? S_BREAK : S_CONTINUE, token->line);
}

static struct node *parse_statement(struct compiler *c, const char *const *ends)
{
    static const struct {
        const char *tag;
        struct node *(*parse)(struct compiler *c);
    } tags[] = {
        {"if", parse_if},
        {"set", parse_set},
        {"for", parse_for},
        {"macro", parse_macro},
        {"generation", parse_generation},
        {"break", parse_jump},
        {"continue", parse_jump},
        {"call", parse_call_block},
        {"filter", parse_filter_block},
        {"with", parse_with},
        {"autoescape", parse_autoescape},
        {"print", parse_print},
        {"block", parse_block},
        {"include", parse_loading},
        {"import", parse_loading},
        {"from", parse_loading},
        {"extends", parse_loading},
    };
    const struct token *token = jinja_token_at(c, 0);

    if (token->type != T_NAME)
        jinja_compiler_fail(c, token->line, "tag name expected");
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        if (jinja_token_is_name(token, tags[i].tag))
            return tags[i].parse(c);
    if (ends)
        jinja_compiler_fail(c, token->line,
                            "encountered unknown tag '%s'; jinja was looking for the tag '%s'",
                            jinja_token_describe(c, token), ends[0]);
    jinja_compiler_fail(c, token->line, "encountered unknown tag '%s'",
                        jinja_token_describe(c, token));
}

static bool is_end(const struct token *token, const char *const *ends)
{
    for (; ends && *ends; ends++)
        if (jinja_token_is_name(token, *ends))
            return true;
    return false;
}

static void flush_output(struct compiler *c, struct node_list *body, struct node_list *data)
{
    if (data->n == 0)
        return;

    struct node *node = jinja_node_new(c, S_OUTPUT, data->items[0]->line);

    node->items = data->items;
    node->n = data->n;
    jinja_node_list_add(c, body, node);
    *data = (struct node_list){0};
}

static struct body parse_until(struct compiler *c, const char *const *ends)
{
    struct node_list body = {0}, data = {0};

    for (;;) {
        const struct token *token = jinja_token_at(c, 0);

        if (token->type == T_DATA) {
            struct node *node = jinja_node_new(c, S_DATA, token->line);

            jinja_token_take(c);
            node->value = v_str(&c->vm, token->text, F_LITERAL);
            jinja_node_list_add(c, &data, node);
        } else if (token->type == T_VARIABLE_BEGIN) {
            jinja_token_take(c);
            jinja_node_list_add(c, &data, jinja_parse_tuple(c, false, true, NULL, false));
            jinja_token_expect(c, T_VARIABLE_END);
        } else if (token->type == T_BLOCK_BEGIN) {
            flush_output(c, &body, &data);
            jinja_token_take(c);
            if (is_end(jinja_token_at(c, 0), ends))
                break;
            jinja_node_list_add(c, &body, parse_statement(c, ends));
            jinja_token_expect(c, T_BLOCK_END);
        } else {
            flush_output(c, &body, &data);
            if (ends)
                jinja_compiler_fail(
                    c, token->line,
                    "unexpected end of template; jinja was looking for the tag '%s'", ends[0]);
            break;
        }
    }
    return (struct body){body.items, body.n};
}

/* Up to the tag that ends it, at which the tokens then stand. */
static struct body parse_body(struct compiler *c, const char *const *ends)
{
    jinja_parse_enter(c);
    jinja_token_skip(c, T_COLON);
    jinja_token_expect(c, T_BLOCK_END);

    struct body body = parse_until(c, ends);

    jinja_parse_leave(c);
    return body;
}

void jinja_parse(struct compiler *c)
{
    c->program->body = parse_until(c, NULL);
}
