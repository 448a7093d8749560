/* What Ollama asks of a template before it renders it, and the cut behind .Response: walks over the
 * tree that go exactly as far as Ollama's own do. */
#include <stdio.h>

#include "core/text/go/go_parts.h"

/* ---- which variables it names ---- */

static bool names(const struct go_node *node, const char *variable);

static bool any_names(const struct go_nodes *items, const char *variable)
{
    for (const struct go_node *item = items->first; item; item = item->next)
        if (names(item, variable))
            return true;
    return false;
}

/* Names declared by a pipeline and what a (…).Field hangs on are not looked at. */
static bool names(const struct go_node *node, const char *variable)
{
    if (!node)
        return false;
    switch ((int)node->type) {
    case NODE_LIST:
    case NODE_PIPE:
    case NODE_COMMAND:
        return any_names(&node->items, variable);
    case NODE_ACTION:
    case NODE_TEMPLATE:
    case NODE_IF:
    case NODE_RANGE:
    case NODE_WITH:
        return names(node->pipe, variable) || names(node->list, variable) ||
               names(node->otherwise, variable);
    case NODE_FIELD:
    case NODE_VARIABLE:
        for (size_t i = 0; i < node->n_names; i++)
            if (str_is_ignoring_case(node->names[i], variable))
                return true;
        return false;
    default:
        return false;
    }
}

bool go_template_names(const struct go_template *tmpl, const char *variable)
{
    for (size_t i = 0; i < tmpl->n_trees; i++)
        if (names(tmpl->trees[i].root, variable))
            return true;
    return false;
}

static bool has_bare_call(const struct go_node *node)
{
    if (!node)
        return false;
    if (node->type == NODE_TEMPLATE)
        return !node->pipe;
    for (const struct go_node *item = node->items.first; item; item = item->next)
        if (has_bare_call(item))
            return true;
    return has_bare_call(node->list) || has_bare_call(node->otherwise);
}

bool go_template_has_bare_call(const struct go_template *tmpl)
{
    for (size_t i = 0; i < tmpl->n_trees; i++)
        if (has_bare_call(tmpl->trees[i].root))
            return true;
    return false;
}

/* ---- .Response ---- */

static struct go_node *new_node(struct arena *arena, enum go_node_type type, size_t pos)
{
    struct go_node *node = arena_alloc(arena, sizeof *node);

    if (node) {
        node->type = type;
        node->pos = pos;
    }
    return node;
}

int go_template_append_response(struct go_template *tmpl, struct error *err)
{
    struct go_node *action = new_node(tmpl->arena, NODE_ACTION, tmpl->text.n);
    struct go_node *pipe = new_node(tmpl->arena, NODE_PIPE, tmpl->text.n);
    struct go_node *command = new_node(tmpl->arena, NODE_COMMAND, tmpl->text.n);
    struct go_node *field = new_node(tmpl->arena, NODE_FIELD, tmpl->text.n);
    struct str *name = arena_array(tmpl->arena, 1, sizeof *name);

    if (!action || !pipe || !command || !field || !name)
        return error_set(err, E_NOMEM, "no memory for a template");
    name[0] = str_of("Response");
    field->names = name;
    field->n_names = 1;
    go_nodes_add(&command->items, field);
    go_nodes_add(&pipe->items, command);
    action->pipe = pipe;
    for (size_t i = 0; i < tmpl->n_trees; i++)
        if (tmpl->trees[i].name.n == 0)
            go_nodes_add(&tmpl->trees[i].root->items, action);
    return OK;
}

/* ---- the cut ---- */

struct cut {
    struct arena *arena;
    bool done;                  /* .Response was met: everything behind it goes */
    bool is_impossible;         /* an else behind it: Ollama's own walk breaks off there */
    bool no_memory;
};

static struct go_node *cut_node(struct cut *cut, const struct go_node *node);

static struct go_node *copy_of(struct cut *cut, const struct go_node *node)
{
    struct go_node *copy = arena_alloc(cut->arena, sizeof *copy);

    if (!copy) {
        cut->no_memory = true;
        return NULL;
    }
    *copy = *node;
    copy->next = NULL;
    return copy;
}

/* A command that lost all of its arguments takes the whole pipeline with it. */
static struct go_node *cut_items(struct cut *cut, const struct go_node *node)
{
    struct go_node *copy = copy_of(cut, node), *kept;

    if (!copy)
        return NULL;
    copy->items = (struct go_nodes){NULL, NULL, 0};
    for (const struct go_node *item = node->items.first; item; item = item->next) {
        kept = item->type == NODE_COMMAND ? cut_items(cut, item) : cut_node(cut, item);
        if (kept)
            go_nodes_add(&copy->items, kept);
        else if (node->type == NODE_PIPE)
            return NULL;
    }
    return node->type == NODE_LIST || copy->items.n > 0 ? copy : NULL;
}

static struct go_node *cut_branches(struct cut *cut, const struct go_node *node)
{
    struct go_node *copy = copy_of(cut, node);

    if (!copy)
        return NULL;
    copy->list = cut_node(cut, node->list);
    if (node->otherwise) {
        copy->otherwise = cut_node(cut, node->otherwise);
        cut->is_impossible |= !copy->otherwise;
    }
    return copy;
}

static bool is_response(const struct go_node *node)
{
    for (size_t i = 0; node->type == NODE_FIELD && i < node->n_names; i++)
        if (str_is(node->names[i], "Response"))
            return true;
    return false;
}

static struct go_node *cut_node(struct cut *cut, const struct go_node *node)
{
    struct go_node *copy;

    if (is_response(node)) {
        cut->done = true;
        return copy_of(cut, node);
    }
    if (cut->done)
        return NULL;
    switch ((int)node->type) {
    case NODE_LIST:
    case NODE_PIPE:
        return cut_items(cut, node);
    case NODE_IF:
    case NODE_RANGE:
    case NODE_WITH:
        return cut_branches(cut, node);
    case NODE_ACTION:
        copy = copy_of(cut, node);
        if (copy)
            copy->pipe = cut_node(cut, node->pipe);
        return copy && copy->pipe ? copy : NULL;
    default:
        return copy_of(cut, node);
    }
}

int go_template_render_until_response(const struct go_template *tmpl, const struct go_value *data,
                                      const struct go_settings *settings, struct buf *out,
                                      struct go_failure *failure, struct error *err)
{
    struct go_run run = {
        .tmpl = tmpl, .settings = settings, .is_bare = true, .out = out, .failure = failure};
    struct cut cut = {.arena = arena_open(ARENA_RENDER_BYTES)};
    const struct go_node *root = go_template_find(tmpl, str_of(""))->root;
    int rc;

    if (cut.arena)
        root = cut_node(&cut, root);
    if (!cut.arena || cut.no_memory) {
        rc = error_set(err, E_NOMEM, "no memory for a template");
    } else if (cut.is_impossible) {
        go_fill(failure, GO_RUNTIME, 0,
                "an {{else}} stands behind .Response: Ollama cannot cut this template there");
        rc = go_status(failure, err);
    } else {
        rc = go_run_all(&run, root, data, err);
    }
    arena_close(cut.arena);
    return rc;
}

/* ---- thinking ---- */

struct tags {
    struct str opening, closing;
};

static bool uses_messages(const struct go_node *node)
{
    if (!node)
        return false;
    if (node->type == NODE_FIELD)
        return str_is(node->names[0], "Messages");
    for (const struct go_node *item = node->items.first; item; item = item->next)
        if (uses_messages(item))
            return true;
    return false;
}

static void take_tags(const struct go_node *list, struct tags *tags)
{
    if (list->items.first->type == NODE_TEXT)
        tags->opening = str_trim(list->items.first->text);
    if (list->items.last->type == NODE_TEXT)
        tags->closing = str_trim(list->items.last->text);
}

/* The last field that begins with Thinking counts, with the nearest range and list around it. */
static void find_tags(const struct go_node *node, const struct go_node *range,
                      const struct go_node *list, struct tags *tags)
{
    if (!node)
        return;
    if (node->type == NODE_FIELD && str_is(node->names[0], "Thinking") && range && list &&
        uses_messages(range->pipe))
        take_tags(list, tags);
    if (node->type == NODE_LIST)
        list = node;
    if (node->type == NODE_RANGE)
        range = node;
    if (node->type == NODE_CHAIN)
        return;
    find_tags(node->pipe, range, list, tags);
    for (const struct go_node *item = node->items.first; item; item = item->next)
        find_tags(item, range, list, tags);
    find_tags(node->list, range, list, tags);
    find_tags(node->otherwise, range, list, tags);
}

bool go_template_thinking_tags(const struct go_template *tmpl, struct str *opening,
                               struct str *closing)
{
    struct tags tags = {str_of(""), str_of("")};

    find_tags(go_template_find(tmpl, str_of(""))->root, NULL, NULL, &tags);
    *opening = tags.opening;
    *closing = tags.closing;
    return opening->n > 0 && closing->n > 0;
}
