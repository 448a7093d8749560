/* See table_row.h. */
#include "core/read/table_row.h"

struct str table_row_key(const struct table_row *row, struct table_name *name)
{
    if (name->stamp != row->stamp) {
        name->stamp = row->stamp;
        name->copy = arena_str(row->arena, name->text);
    }
    return name->copy;
}

struct json *table_row_add(struct table_row *row, struct json *parent, struct json *last)
{
    struct json *child = arena_alloc(row->arena, sizeof *child);

    if (!child)
        return &row->spare;
    if (last)
        last->next = child;
    else
        parent->child = child;
    parent->n++;
    return child;
}
