/* Rows of token ids that a table gives by columns: what dataset_rows.c gathers of each, without a tree. */
#ifndef IMPORTERS_DATASET_COLUMN_ROWS_H
#define IMPORTERS_DATASET_COLUMN_ROWS_H

#include "core/model.h"
#include "core/read/table_columns.h"
#include "importers/dataset/class_blocks.h"
#include "importers/dataset/columns.h"
#include "importers/dataset/id_range.h"

struct column_rows {
    const struct table_batch *batch;
    const struct table_column *ids, *labels; /* labels NULL: no list of that name */
};

/* Are the rows of such a table (rows_example) mostly tokens? Of other forms their trees have to tell. */
bool column_rows_fit(const struct json *example);
struct column_rows column_rows_of(const struct table_batch *batch);
/* Is the row one of tokens? Of others the tree has to tell. */
bool column_rows_has(const struct column_rows *rows, size_t row);

/* What is known of all rows so far; row `number` of the data set is at `line`. */
struct column_sights {
    struct columns *columns;
    struct id_range *range;
    struct class_blocks *blocks;
};
void column_rows_see(const struct column_rows *rows, size_t row, int64_t line, int64_t number,
                     const struct column_sights *sights);
void column_rows_facts(const struct column_rows *rows, size_t row, struct sample *out);

#endif
