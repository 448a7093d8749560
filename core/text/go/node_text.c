/* A node as Go writes it: what a complaint says it was at. */
#include "core/text/go/go_parts.h"

static void put_items(const struct go_nodes *items, const char *separator, struct buf *out)
{
    for (const struct go_node *item = items->first; item; item = item->next) {
        if (item != items->first)
            buf_puts(out, separator);
        if (item->type == NODE_PIPE)
            buf_putc(out, '(');
        go_node_write(item, out);
        if (item->type == NODE_PIPE)
            buf_putc(out, ')');
    }
}

static void put_pipe(const struct go_node *pipe, struct buf *out)
{
    put_items(&pipe->declared, ", ", out);
    if (pipe->declared.n)
        buf_puts(out, pipe->is_assignment ? " = " : " := ");
    put_items(&pipe->items, " | ", out);
}

static void put_names(const struct go_node *node, struct buf *out)
{
    for (size_t i = 0; i < node->n_names; i++) {
        if (node->type != NODE_VARIABLE || i > 0)
            buf_putc(out, '.');
        buf_str(out, node->names[i]);
    }
}

static void put_chain(const struct go_node *node, struct buf *out)
{
    if (node->pipe->type == NODE_PIPE)
        buf_putc(out, '(');
    go_node_write(node->pipe, out);
    if (node->pipe->type == NODE_PIPE)
        buf_putc(out, ')');
    put_names(node, out);
}

static void put_branch(const struct go_node *node, const char *word, struct buf *out)
{
    buf_printf(out, "{{%s ", word);
    put_pipe(node->pipe, out);
    buf_puts(out, "}}");
    go_node_write(node->list, out);
    if (node->otherwise) {
        buf_puts(out, "{{else}}");
        go_node_write(node->otherwise, out);
    }
    buf_puts(out, "{{end}}");
}

static void put_template(const struct go_node *node, struct buf *out)
{
    buf_puts(out, "{{template ");
    go_quote(out, node->text, '"', false);
    if (node->pipe) {
        buf_putc(out, ' ');
        put_pipe(node->pipe, out);
    }
    buf_puts(out, "}}");
}

void go_node_write(const struct go_node *node, struct buf *out)
{
    switch (node->type) {
    case NODE_TEXT:
    case NODE_IDENTIFIER:
        buf_str(out, node->text);
        break;
    case NODE_NUMBER:
    case NODE_STRING:
        buf_str(out, node->source);
        break;
    case NODE_ACTION:
        buf_puts(out, "{{");
        put_pipe(node->pipe, out);
        buf_puts(out, "}}");
        break;
    case NODE_IF:
        put_branch(node, "if", out);
        break;
    case NODE_RANGE:
        put_branch(node, "range", out);
        break;
    case NODE_WITH:
        put_branch(node, "with", out);
        break;
    case NODE_TEMPLATE:
        put_template(node, out);
        break;
    case NODE_BREAK:
        buf_puts(out, "{{break}}");
        break;
    case NODE_CONTINUE:
        buf_puts(out, "{{continue}}");
        break;
    case NODE_LIST:
        put_items(&node->items, "", out);
        break;
    case NODE_PIPE:
        put_pipe(node, out);
        break;
    case NODE_COMMAND:
        put_items(&node->items, " ", out);
        break;
    case NODE_FIELD:
    case NODE_VARIABLE:
        put_names(node, out);
        break;
    case NODE_CHAIN:
        put_chain(node, out);
        break;
    case NODE_DOT:
        buf_putc(out, '.');
        break;
    case NODE_NIL:
        buf_puts(out, "nil");
        break;
    case NODE_BOOL:
        buf_puts(out, node->truth ? "true" : "false");
        break;
    case NODE_END:
    case NODE_ELSE:
        break;
    }
}
