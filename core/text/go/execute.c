/* Runs a tree: text is copied, actions printed, controls followed. Values are evaluate.c. */
#include <stdio.h>
#include <stdlib.h>

#include "core/text/go/go_parts.h"

/* ---- how it fails ---- */

static bool fail(struct go_run *run, enum go_fault kind, const char *text)
{
    struct buf at;
    char message[sizeof run->failure->message];
    int line = run->at ? go_line_of(run->tmpl->text, run->at->pos) : 0;

    if (run->failed)
        return false;
    run->failed = true;
    buf_init(&at, 256);
    if (run->at)
        go_node_write(run->at, &at);
    if (at.n > 0 && at.n <= 120)
        snprintf(message, sizeof message, "at <%s>: %s", at.p, text);
    else
        snprintf(message, sizeof message, "%s", text);
    go_fill(run->failure, kind, line, message);
    buf_free(&at);
    return false;
}

bool go_run_fail(struct go_run *run, const char *fmt, ...)
{
    char text[sizeof run->failure->message];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return fail(run, GO_RUNTIME, text);
}

bool go_run_refuse(struct go_run *run, const char *fmt, ...)
{
    char text[sizeof run->failure->message];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return fail(run, GO_UNSUPPORTED, text);
}

bool go_run_limit(struct go_run *run, const char *what)
{
    char text[128];

    snprintf(text, sizeof text, "the template needs more than %s", what);
    return fail(run, GO_LIMIT, text);
}

bool go_run_step(struct go_run *run)
{
    if (++run->steps > GO_STEPS)
        return go_run_limit(run, "10,000,000 steps");
    if (run->out->failed || run->out->n - run->out_start > GO_OUTPUT_BYTES)
        return go_run_limit(run, "16 MiB of output");
    if (arena_failed(run->arena))
        return go_run_limit(run, "the memory that it may have");
    return !run->failed;
}

/* ---- variables ---- */

bool go_variable_push(struct go_run *run, struct str name, const struct go_value *value)
{
    struct go_variable *variables = arena_room(run->arena, run->variables, run->n_variables,
                                               &run->variables_capacity, sizeof *variables);

    if (!variables)
        return go_run_limit(run, "the memory that it may have");
    run->variables = variables;
    variables[run->n_variables++] = (struct go_variable){name, *value};
    return true;
}

bool go_variable_set(struct go_run *run, struct str name, const struct go_value *value)
{
    for (size_t i = run->n_variables; i-- > run->first_variable;)
        if (str_eq(run->variables[i].name, name)) {
            run->variables[i].value = *value;
            return true;
        }
    return go_run_fail(run, "undefined variable: %.*s", (int)name.n, name.p);
}

/* ---- range ---- */

struct loop {
    const struct go_node *node;
    size_t mark;                /* variables, the loop's own included */
};

static enum go_flow iterate(struct go_run *run, const struct loop *loop,
                            const struct go_value *index, const struct go_value *item)
{
    const struct go_node *pipe = loop->node->pipe;
    const struct go_node *first = pipe->declared.first;
    const struct go_node *second = first ? first->next : NULL;
    enum go_flow flow;

    if (first && pipe->is_assignment) {
        if (!go_variable_set(run, first->names[0], second ? index : item) ||
            (second && !go_variable_set(run, second->names[0], item)))
            return FLOW_FAILED;
    } else if (first) {
        run->variables[loop->mark - 1].value = *item;
        if (second)
            run->variables[loop->mark - 2].value = *index;
    }
    flow = go_walk(run, item, loop->node->list);
    run->n_variables = loop->mark;
    return flow == FLOW_CONTINUE ? FLOW_ON : flow;
}

static enum go_flow iterate_int(struct go_run *run, const struct loop *loop, int64_t n)
{
    struct go_value none = go_invalid();
    enum go_flow flow = FLOW_ON;

    for (int64_t i = 0; i < n && flow == FLOW_ON; i++) {
        struct go_value item = go_int(i);

        flow = iterate(run, loop, &none, &item);
    }
    return flow;
}

static enum go_flow iterate_list(struct go_run *run, const struct loop *loop,
                                 const struct go_value *list)
{
    enum go_flow flow = FLOW_ON;

    if (list->class && list->class->form == GO_FORM_OPAQUE) {
        go_run_refuse(run, "%s", list->class->name);
        return FLOW_FAILED;
    }
    for (size_t i = 0; i < list->n && flow == FLOW_ON; i++) {
        struct go_value index = go_int((int64_t)i);

        flow = iterate(run, loop, &index, &list->items[i]);
    }
    return flow;
}

static enum go_flow iterate_map(struct go_run *run, const struct loop *loop,
                                const struct go_value *map)
{
    const struct go_field **fields = go_sorted(run, map);
    enum go_flow flow = fields || map->n == 0 ? FLOW_ON : FLOW_FAILED;

    for (size_t i = 0; i < map->n && flow == FLOW_ON; i++) {
        struct go_value key = go_text(str_of(fields[i]->name));

        flow = iterate(run, loop, &key, &fields[i]->value);
    }
    return flow;
}

static enum go_flow refuse_range(struct go_run *run, const struct go_value *value)
{
    struct buf text;

    buf_init(&text, 256);
    if (go_print(run, value, &text))
        go_run_fail(run, "range can't iterate over %s", text.p);
    buf_free(&text);
    return FLOW_FAILED;
}

/* *ran: there was something to go through. */
static enum go_flow run_loop(struct go_run *run, const struct loop *loop,
                             const struct go_value *value, bool *ran)
{
    switch (value->type) {
    case GO_INT:
        if (loop->node->pipe->declared.n > 1) {
            go_run_fail(run, "can't use %lld to iterate over more than one variable",
                        (long long)value->integer);
            return FLOW_FAILED;
        }
        *ran = value->integer > 0;
        return iterate_int(run, loop, value->integer);
    case GO_LIST:
        *ran = value->n > 0;
        return iterate_list(run, loop, value);
    case GO_MAP:
        *ran = value->n > 0;
        return iterate_map(run, loop, value);
    case GO_NIL:
    case GO_INVALID:
        return FLOW_ON;
    case GO_STRUCT:
    case GO_BOOL:
    case GO_FLOAT:
    case GO_STRING:
        break;
    }
    return refuse_range(run, value);
}

static enum go_flow walk_range(struct go_run *run, const struct go_value *dot,
                               const struct go_node *node)
{
    size_t before = run->n_variables;
    struct go_value value;
    bool ran = false;
    enum go_flow flow = FLOW_FAILED;

    if (go_evaluate(run, dot, node->pipe, &value)) {
        struct loop loop = {node, run->n_variables};

        flow = run_loop(run, &loop, &value, &ran);
        if (flow == FLOW_BREAK)
            flow = FLOW_ON;
        else if (flow == FLOW_ON && !ran && node->otherwise)
            flow = go_walk(run, dot, node->otherwise);
        /* As Go's: a break in the else belongs to this range, a continue to the one around it. */
        if (flow == FLOW_BREAK)
            flow = FLOW_ON;
    }
    run->n_variables = before;
    return flow;
}

/* ---- the others ---- */

static enum go_flow walk_branch(struct go_run *run, const struct go_value *dot,
                                const struct go_node *node)
{
    size_t before = run->n_variables;
    struct go_value value;
    enum go_flow flow = FLOW_ON;

    if (!go_evaluate(run, dot, node->pipe, &value))
        return FLOW_FAILED;
    if (go_is_true(&value))
        flow = go_walk(run, node->type == NODE_WITH ? &value : dot, node->list);
    else if (node->otherwise)
        flow = go_walk(run, dot, node->otherwise);
    run->n_variables = before;
    return flow;
}

static enum go_flow walk_template(struct go_run *run, const struct go_value *dot,
                                  const struct go_node *node)
{
    const struct go_tree *tree = run->is_bare ? NULL : go_template_find(run->tmpl, node->text);
    size_t before = run->n_variables, first = run->first_variable;
    struct go_value value;
    enum go_flow flow = FLOW_FAILED;

    if (!tree) {
        go_run_fail(run, "template \"%.*s\" not defined", (int)node->text.n, node->text.p);
        return FLOW_FAILED;
    }
    if (run->template_depth >= GO_DEPTH) {
        go_run_limit(run, "100 templates in one another");
        return FLOW_FAILED;
    }
    if (!go_evaluate(run, dot, node->pipe, &value))
        return FLOW_FAILED;
    size_t declared = run->n_variables; /* what the pipeline declares persists */

    run->first_variable = run->n_variables;
    run->template_depth++;
    if (go_variable_push(run, str_of("$"), &value))
        flow = go_walk(run, &value, tree->root);
    run->template_depth--;
    run->first_variable = first;
    run->n_variables = flow == FLOW_FAILED ? before : declared;
    return flow;
}

static enum go_flow walk_action(struct go_run *run, const struct go_value *dot,
                                const struct go_node *node)
{
    struct go_value value;

    if (!go_evaluate(run, dot, node->pipe, &value))
        return FLOW_FAILED;
    run->at = node;
    if (node->pipe->declared.n > 0)
        return FLOW_ON;
    /* A pointer is followed before it is printed. */
    if (value.type == GO_STRUCT && !value.is_nil)
        value.is_pointer = false;
    if (value.type == GO_INVALID)
        buf_puts(run->out, "<no value>");
    else if (!go_print(run, &value, run->out))
        return FLOW_FAILED;
    return FLOW_ON;
}

static enum go_flow walk_list(struct go_run *run, const struct go_value *dot,
                              const struct go_node *list)
{
    enum go_flow flow = FLOW_ON;

    for (const struct go_node *node = list->items.first; node && flow == FLOW_ON; node = node->next)
        flow = go_walk(run, dot, node);
    return flow;
}

static enum go_flow walk_node(struct go_run *run, const struct go_value *dot,
                              const struct go_node *node)
{
    switch ((int)node->type) {
    case NODE_TEXT:
        buf_str(run->out, node->text);
        return FLOW_ON;
    case NODE_ACTION:
        return walk_action(run, dot, node);
    case NODE_IF:
    case NODE_WITH:
        return walk_branch(run, dot, node);
    case NODE_RANGE:
        return walk_range(run, dot, node);
    case NODE_TEMPLATE:
        return walk_template(run, dot, node);
    case NODE_BREAK:
        return FLOW_BREAK;
    case NODE_CONTINUE:
        return FLOW_CONTINUE;
    default:
        return walk_list(run, dot, node);
    }
}

enum go_flow go_walk(struct go_run *run, const struct go_value *dot, const struct go_node *node)
{
    enum go_flow flow = FLOW_FAILED;

    run->at = node;
    if (!go_run_step(run))
        return FLOW_FAILED;
    if (++run->depth > GO_STACK)
        go_run_limit(run, "1,500 levels");
    else
        flow = walk_node(run, dot, node);
    run->depth--;
    return flow;
}

/* ---- the whole ---- */

int go_run_all(struct go_run *run, const struct go_node *root, const struct go_value *data,
               struct error *err)
{
    int rc = E_NOMEM;

    *run->failure = (struct go_failure){.kind = GO_RUNTIME};
    run->out_start = run->out->n;
    run->arena = arena_open(ARENA_RENDER_BYTES);
    if (!run->arena)
        return error_set(err, E_NOMEM, "no memory for a render");
    if (go_variable_push(run, str_of("$"), data) && go_walk(run, data, root) == FLOW_ON &&
        go_run_step(run))
        rc = OK;
    else
        rc = go_status(run->failure, err);
    arena_close(run->arena);
    run->arena = NULL;
    return rc;
}

int go_template_render(const struct go_template *tmpl, const struct go_value *data,
                       const struct go_settings *settings, struct buf *out,
                       struct go_failure *failure, struct error *err)
{
    struct go_run run = {.tmpl = tmpl, .settings = settings, .out = out, .failure = failure};

    return go_run_all(&run, go_template_find(tmpl, str_of(""))->root, data, err);
}
