/* Some rows of a table by their columns, for those who need numbers and no JSON of each value: all
 * columns that are wanted are whole numbers, floats, or flat lists of whole numbers that are there. */
#ifndef CORE_READ_TABLE_COLUMNS_H
#define CORE_READ_TABLE_COLUMNS_H

#include "core/read/json.h"

#define TABLE_BATCH_ROWS    1024
#define TABLE_BATCH_COLUMNS 512 /* a table of more comes by rows */
#define TABLE_BATCH_ITEMS ((size_t)1 << 16) /* of lists: a batch ends behind the row that passes it */
#define TABLE_MOST_ITEMS  ((size_t)4 << 20) /* of one batch: rows that have more come one by one */

enum table_column_kind { COLUMN_INTS, COLUMN_FLOATS, COLUMN_INT_LISTS };

struct table_column {
    struct str name;
    enum table_column_kind kind;
    bool has_nulls;
    unsigned char *is_there; /* by row; meaningless without has_nulls */
    int64_t *ints;           /* by row; of lists their items, one list behind the other */
    double *floats;
    size_t *ends;            /* of lists, by row: where its items end; they begin where those of the row
                              * before do */
    size_t n_items, capacity;
};

struct table_batch {
    size_t n;
    struct table_column *columns;
    size_t n_columns;
};

MUST_CHECK int table_batch_make(struct table_batch *batch, size_t n_columns, struct error *err);
void table_batch_free(struct table_batch *batch);
/* Room for n items; false when there is none, or they are too many. */
bool table_column_room(struct table_column *column, size_t n);

static inline bool table_column_has(const struct table_column *column, size_t row)
{
    return !column->has_nulls || column->is_there[row];
}
static inline size_t table_list_begin(const struct table_column *column, size_t row)
{
    return row ? column->ends[row - 1] : 0;
}
/* One row as the object that rows_next gives. NULL: it does not fit into the arena. */
const struct json *table_batch_row(const struct table_batch *batch, size_t row, int64_t line,
                                   struct arena *arena);

#endif
