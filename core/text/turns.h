/* The turns of a conversation, under conversation.c. Not for others: turn_role and turn_text are in
 * conversation.h. */
#ifndef CORE_TEXT_TURNS_H
#define CORE_TEXT_TURNS_H

#include "core/text/conversation.h"

/* What a list of turns became. */
struct turns {
    const struct json *list; /* array of {role, content …}; NULL when the value is no such list */
    const char *oddity;      /* the first thing that is wrong, or NULL; lives in the arena */
};

/* A list, or a text that holds a list of objects as JSON (a cell of a table): the list; else NULL. */
const struct json *turns_of_value(const struct json *value, struct arena *arena);
/* `name` is how the column is called in the oddity. Turns that are written as role and content
 * already stay the nodes they are. */
struct turns turns_of(const struct json *value, const char *name, const struct column_names *names,
                      struct arena *arena);
bool json_same(const struct json *a, const struct json *b); /* as Python's ==, numbers by value */

/* Building lists of turns: the end is kept, so that each item costs the same. */
struct list_end {
    struct json *list, *last; /* list NULL: no memory */
};
struct list_end list_begin(struct arena *arena);
void turns_add(struct list_end *end, struct json *item);
bool turns_add_turn(struct list_end *end, const char *role, struct str content, struct arena *arena);
struct json *copy_of(const struct json *value, struct arena *arena); /* shares the children */

#endif
