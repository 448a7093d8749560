/* Pipelines, commands and operands become values: fields are looked up, functions called. */
#include <stdio.h>
#include <stdlib.h>

#include "core/text/go/go_parts.h"

/* What a command gets from the one before it in a pipeline, besides its own arguments. */
struct operands {
    const struct go_value *dot;
    const struct go_node *args;     /* the ones behind the word that is called, or NULL */
    const struct go_value *piped;   /* or NULL */
};

static bool evaluate_argument(struct go_run *run, const struct go_value *dot,
                              const struct go_node *node, struct go_value *out);

/* ---- values ---- */

struct go_value go_bool(bool value)
{
    return (struct go_value){.type = GO_BOOL, .boolean = value};
}

struct go_value go_int(int64_t value)
{
    return (struct go_value){.type = GO_INT, .integer = value};
}

struct go_value go_text(struct str text)
{
    return (struct go_value){.type = GO_STRING, .text = text};
}

struct go_value go_invalid(void)
{
    return (struct go_value){.type = GO_INVALID};
}

bool go_is_true(const struct go_value *value)
{
    switch (value->type) {
    case GO_BOOL:
        return value->boolean;
    case GO_INT:
        return value->integer != 0;
    case GO_FLOAT:
        return value->number != 0;
    case GO_STRING:
        return value->text.n > 0;
    case GO_LIST:
    case GO_MAP:
        return value->n > 0;
    case GO_STRUCT:
        return !value->is_nil;
    case GO_NIL:
    case GO_INVALID:
        break;
    }
    return false;
}

const char *go_type_name(const struct go_value *value)
{
    static const char *const NAMES[] = {
        [GO_NIL] = "interface {}",    [GO_BOOL] = "bool",
        [GO_INT] = "int",             [GO_FLOAT] = "float64",
        [GO_STRING] = "string",       [GO_LIST] = "[]interface {}",
        [GO_MAP] = "map[string]interface {}", [GO_STRUCT] = "struct",
        [GO_INVALID] = "<nil>",
    };

    return value->class ? value->class->name : NAMES[value->type];
}

const struct go_value *go_member(const struct go_value *object, struct str name)
{
    for (size_t i = 0; i < object->n; i++)
        if (str_is(name, object->fields[i].name))
            return &object->fields[i].value;
    return NULL;
}

static int by_name(const void *a, const void *b)
{
    const struct go_field *const *left = a, *const *right = b;

    return strcmp((*left)->name, (*right)->name);
}

const struct go_field **go_sorted(struct go_run *run, const struct go_value *map)
{
    const struct go_field **fields = arena_array(run->arena, map->n + 1, sizeof *fields);

    if (!fields) {
        go_run_limit(run, "the memory that it may have");
        return NULL;
    }
    for (size_t i = 0; i < map->n; i++)
        fields[i] = &map->fields[i];
    qsort(fields, map->n, sizeof *fields, by_name);
    return fields;
}

/* ---- fields and methods ---- */

static bool has_arguments(const struct operands *with)
{
    return with->args || with->piped;
}

/* Methods of the server's types. *found: the name is one. */
static bool call_method(struct go_run *run, const struct go_value *receiver, struct str name,
                        struct go_value *out, bool *found)
{
    enum go_form form = receiver->class ? receiver->class->form : GO_FORM_PLAIN;
    struct buf text;
    bool is_good;

    *found = str_is(name, "String") && (form == GO_FORM_JSON || form == GO_FORM_TYPES);
    *found |= str_is(name, "ToTypeScriptType") && form == GO_FORM_PROPERTY;
    if (!*found && (form == GO_FORM_ORDERED || str_is(name, "MarshalJSON")) &&
        form != GO_FORM_PLAIN && form != GO_FORM_OPAQUE) {
        *found = true;
        return go_run_refuse(run, "method %.*s of %s", (int)name.n, name.p, receiver->class->name);
    }
    if (!*found)
        return true;
    buf_init(&text, GO_OUTPUT_BYTES);
    if (form == GO_FORM_PROPERTY)
        go_types_text(receiver, &text);
    is_good = form == GO_FORM_PROPERTY || go_print(run, receiver, &text);
    *out = go_text(arena_str(run->arena, buf_view(&text)));
    buf_free(&text);
    return is_good;
}

static bool field_of_map(struct go_run *run, const struct go_value *map, struct str name,
                         const struct operands *with, struct go_value *out)
{
    const struct go_value *found = go_member(map, name);

    if (has_arguments(with))
        return go_run_fail(run, "%.*s is not a method but has arguments", (int)name.n, name.p);
    if (found)
        *out = *found;
    else if (run->is_bare)
        *out = go_invalid();
    else
        *out = map->class && map->class->missing ? *map->class->missing
                                                 : (struct go_value){.type = GO_NIL};
    return true;
}

static bool field_of_struct(struct go_run *run, const struct go_value *object, struct str name,
                            const struct operands *with, struct go_value *out)
{
    const struct go_value *found = go_member(object, name);
    const char *star = object->is_pointer ? "*" : "";

    if (!found || (object->class && object->class->form == GO_FORM_ORDERED))
        return go_run_fail(run, "can't evaluate field %.*s in type %s%s", (int)name.n, name.p, star,
                           go_type_name(object));
    if (object->is_nil)
        return go_run_fail(run, "nil pointer evaluating %s%s.%.*s", star, go_type_name(object),
                           (int)name.n, name.p);
    if (has_arguments(with))
        return go_run_fail(run, "%.*s has arguments but cannot be invoked as function", (int)name.n,
                           name.p);
    *out = *found;
    return true;
}

/* No value has every field, and none of them has a value; nil has none. */
static bool evaluate_field(struct go_run *run, const struct go_value *receiver, struct str name,
                           const struct operands *with, struct go_value *out)
{
    bool found = false;

    if (receiver->type == GO_INVALID) {
        *out = go_invalid();
        return true;
    }
    if (receiver->type == GO_NIL)
        return go_run_fail(run, "nil pointer evaluating interface {}.%.*s", (int)name.n, name.p);
    if (!call_method(run, receiver, name, out, &found))
        return false;
    if (found)
        return !has_arguments(with) || go_run_fail(run, "wrong number of args for %.*s",
                                                   (int)name.n, name.p);
    if (receiver->type == GO_MAP)
        return field_of_map(run, receiver, name, with, out);
    if (receiver->type == GO_STRUCT)
        return field_of_struct(run, receiver, name, with, out);
    return go_run_fail(run, "can't evaluate field %.*s in type %s", (int)name.n, name.p,
                       go_type_name(receiver));
}

/* .A.B.C: only the last one may have arguments. */
static bool evaluate_chain(struct go_run *run, const struct go_value *receiver,
                           const struct go_node *node, const struct operands *with,
                           struct go_value *out)
{
    static const struct operands alone = {NULL, NULL, NULL};
    size_t first = node->type == NODE_VARIABLE;
    struct go_value value = *receiver, next;

    for (size_t i = first; i < node->n_names; i++) {
        const struct operands *these = i + 1 == node->n_names ? with : &alone;

        if (!evaluate_field(run, &value, node->names[i], these, &next))
            return false;
        value = next;
    }
    *out = value;
    return true;
}

static bool refuse_arguments(struct go_run *run, const struct go_node *node,
                             const struct operands *with)
{
    struct buf text;

    if (!has_arguments(with))
        return true;
    buf_init(&text, 256);
    go_node_write(node, &text);
    go_run_fail(run, "can't give argument to non-function %s", text.p);
    buf_free(&text);
    return false;
}

static bool evaluate_variable(struct go_run *run, const struct go_node *node,
                              const struct operands *with, struct go_value *out)
{
    run->at = node;
    for (size_t i = run->n_variables; i-- > run->first_variable;) {
        if (!str_eq(run->variables[i].name, node->names[0]))
            continue;
        struct go_value value = run->variables[i].value;

        if (node->n_names > 1)
            return evaluate_chain(run, &value, node, with, out);
        *out = value;
        return refuse_arguments(run, node, with);
    }
    return go_run_fail(run, "undefined variable: %.*s", (int)node->names[0].n, node->names[0].p);
}

static bool evaluate_chain_node(struct go_run *run, const struct go_node *node,
                                const struct operands *with, struct go_value *out)
{
    struct go_value receiver;

    run->at = node;
    if (node->pipe->type == NODE_NIL)
        return go_run_fail(run, "indirection through explicit nil");
    return evaluate_argument(run, with->dot, node->pipe, &receiver) &&
           evaluate_chain(run, &receiver, node, with, out);
}

/* ---- functions ---- */

static bool count_fits(struct go_run *run, const struct go_function *function, size_t n_written,
                       size_t n)
{
    if (function->n_most == SIZE_MAX && n < function->n_least)
        return go_run_fail(run, "wrong number of args for %s: want at least %zu got %zu",
                           function->name, function->n_least, n_written);
    if (function->n_most != SIZE_MAX && n != function->n_most)
        return go_run_fail(run, "wrong number of args for %s: want %zu got %zu", function->name,
                           function->n_most, n);
    return true;
}

/* and, or: the value that decides; what stands behind it is not looked at. */
static bool call_and_or(struct go_run *run, const struct operands *with, bool is_or,
                        struct go_value *out)
{
    for (const struct go_node *arg = with->args; arg; arg = arg->next) {
        if (!evaluate_argument(run, with->dot, arg, out))
            return false;
        if (go_is_true(out) == is_or)
            return true;
    }
    if (with->piped)
        *out = *with->piped;
    return true;
}

/* Functions of any value get nil where there is none, and texts only where they ask for one. */
static bool fit_argument(struct go_run *run, const struct go_function *function, size_t i,
                         struct go_value *value)
{
    bool wants_text = function->all_are_text || (function->first_is_text && i == 0);

    if (function->takes_values)
        return true;
    if (wants_text && value->type == GO_INVALID)
        return go_run_fail(run, "invalid value; expected string");
    if (wants_text && (value->type != GO_STRING || value->class))
        return go_run_fail(run, "wrong type for value; expected string; got %s",
                           go_type_name(value));
    if (value->type == GO_INVALID)
        value->type = GO_NIL;
    return true;
}

static bool literal_fits(struct go_run *run, const struct go_function *function, size_t i,
                         const struct go_node *node)
{
    struct buf text;

    if (!function->all_are_text && !(function->first_is_text && i == 0))
        return true;
    if (node->type != NODE_NIL && node->type != NODE_BOOL && node->type != NODE_NUMBER)
        return true;
    run->at = node;
    if (node->type == NODE_NIL)
        return go_run_fail(run, "cannot assign nil to string");
    buf_init(&text, 256);
    go_node_write(node, &text);
    go_run_fail(run, "expected string; found %s", text.p);
    buf_free(&text);
    return false;
}

static bool gather(struct go_run *run, const struct go_function *function,
                   const struct operands *with, struct go_value *args)
{
    size_t n = 0;

    for (const struct go_node *arg = with->args; arg; arg = arg->next, n++)
        if (!literal_fits(run, function, n, arg) ||
            !evaluate_argument(run, with->dot, arg, &args[n]) ||
            !fit_argument(run, function, n, &args[n]))
            return false;
    if (!with->piped)
        return true;
    args[n] = *with->piped;
    return fit_argument(run, function, n, &args[n]);
}

/* command: what a complaint of the function itself is at. */
static bool call_function(struct go_run *run, const struct go_node *word,
                          const struct go_node *command, const struct operands *with,
                          struct go_value *out)
{
    const struct go_function *function = go_function_find(word->text);
    size_t n_written = 0;
    bool is_or;

    run->at = word;
    if (!function || (run->is_bare && function->is_added))
        return go_run_fail(run, "\"%.*s\" is not a defined function", (int)word->text.n,
                           word->text.p);
    for (const struct go_node *arg = with->args; arg; arg = arg->next)
        n_written++;
    size_t n = n_written + (with->piped != NULL);

    if (!count_fits(run, function, n_written, n))
        return false;
    if (go_is_and_or(function, &is_or))
        return call_and_or(run, with, is_or, out);
    struct go_value *args = arena_array(run->arena, n + 1, sizeof *args);

    if (!args)
        return go_run_limit(run, "the memory that it may have");
    if (!gather(run, function, with, args))
        return false;
    run->at = command;
    struct go_call call = {run, function->name, args, n};

    return function->call(&call, out);
}

/* ---- constants ---- */

static bool evaluate_number(struct go_run *run, const struct go_node *node, struct go_value *out)
{
    run->at = node;
    if (node->overflows)
        return go_run_fail(run, "%.*s overflows int", (int)node->source.n, node->source.p);
    *out = node->is_float ? (struct go_value){.type = GO_FLOAT, .number = node->number}
                          : go_int(node->integer);
    return true;
}

static bool evaluate_constant(struct go_run *run, const struct go_value *dot,
                              const struct go_node *node, struct go_value *out)
{
    switch ((int)node->type) {
    case NODE_DOT:
        *out = *dot;
        return true;
    case NODE_BOOL:
        *out = go_bool(node->truth);
        return true;
    case NODE_STRING:
        *out = go_text(node->text);
        return true;
    case NODE_NUMBER:
        return evaluate_number(run, node, out);
    default:
        *out = go_invalid();
        return true;
    }
}

/* ---- operands, commands, pipelines ---- */

static bool evaluate_operand(struct go_run *run, const struct go_node *node,
                             const struct go_node *command, const struct operands *with,
                             struct go_value *out)
{
    switch ((int)node->type) {
    case NODE_FIELD:
        run->at = node;
        return evaluate_chain(run, with->dot, node, with, out);
    case NODE_CHAIN:
        return evaluate_chain_node(run, node, with, out);
    case NODE_IDENTIFIER:
        return call_function(run, node, command, with, out);
    case NODE_VARIABLE:
        return evaluate_variable(run, node, with, out);
    case NODE_PIPE:
        return refuse_arguments(run, node, with) && go_evaluate(run, with->dot, node, out);
    default:
        break;
    }
    run->at = node;
    return refuse_arguments(run, node, with) && evaluate_constant(run, with->dot, node, out);
}

static bool evaluate_argument(struct go_run *run, const struct go_value *dot,
                              const struct go_node *node, struct go_value *out)
{
    struct operands alone = {dot, NULL, NULL};

    run->at = node;
    return go_run_step(run) && evaluate_operand(run, node, node, &alone, out);
}

static bool evaluate_command(struct go_run *run, const struct go_value *dot,
                             const struct go_node *command, const struct go_value *piped,
                             struct go_value *out)
{
    const struct go_node *word = command->items.first;
    struct operands with = {dot, word->next, piped};

    if (!go_run_step(run))
        return false;
    if (word->type == NODE_NIL) {
        run->at = word;
        return refuse_arguments(run, word, &with) && go_run_fail(run, "nil is not a command");
    }
    return evaluate_operand(run, word, command, &with, out);
}

static bool assign(struct go_run *run, const struct go_node *pipe, const struct go_value *value)
{
    for (const struct go_node *node = pipe->declared.first; node; node = node->next)
        if (!(pipe->is_assignment ? go_variable_set(run, node->names[0], value)
                                  : go_variable_push(run, node->names[0], value)))
            return false;
    return true;
}

static bool evaluate_pipe(struct go_run *run, const struct go_value *dot,
                          const struct go_node *pipe, struct go_value *out)
{
    struct go_value value = go_invalid(), next;
    const struct go_value *piped = NULL;

    for (const struct go_node *command = pipe->items.first; command; command = command->next) {
        if (!evaluate_command(run, dot, command, piped, &next))
            return false;
        value = next;
        if (value.type == GO_NIL)
            value = go_invalid();
        piped = &value;
    }
    *out = value;
    return assign(run, pipe, out);
}

bool go_evaluate(struct go_run *run, const struct go_value *dot, const struct go_node *pipe,
                 struct go_value *out)
{
    bool is_good = false;

    *out = go_invalid();
    if (!pipe)
        return true;
    run->at = pipe;
    if (++run->depth > GO_STACK)
        go_run_limit(run, "1,500 levels");
    else
        is_good = evaluate_pipe(run, dot, pipe, out);
    run->depth--;
    return is_good;
}
