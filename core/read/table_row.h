/* A row of a table while it is put together, whatever its format: nodes from the arena of the row, keys
 * copied once a row. Where the arena has no room the columns are read on into a spare node. */
#ifndef CORE_READ_TABLE_ROW_H
#define CORE_READ_TABLE_ROW_H

#include "core/read/json.h"

struct table_row {
    struct arena *arena;
    uint64_t stamp; /* another one for each row */
    int64_t line;   /* of all values: the number of the row, from 1 */
    struct json spare;
};

/* The name of a column or of what is below it, kept as long as the table. */
struct table_name {
    struct str text;
    struct str copy; /* in the arena of the row `stamp` */
    uint64_t stamp;
};

struct str table_row_key(const struct table_row *row, struct table_name *name);
/* A new child behind `last`, which is NULL for the first. Its content is the caller's to set, but for
 * what a later child sets: next. */
struct json *table_row_add(struct table_row *row, struct json *parent, struct json *last);

#endif
