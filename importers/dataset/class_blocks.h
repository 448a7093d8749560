/* How the rows of each class follow one another: runs of equal values in the columns that name a class
 * or a source (CHECKS.md C5.3). Values are hashed, not kept; a column of too many values is none. */
#ifndef IMPORTERS_DATASET_CLASS_BLOCKS_H
#define IMPORTERS_DATASET_CLASS_BLOCKS_H

#include "core/read/json.h"
#include "importers/importer.h"

#define CLASS_COLUMNS 8     /* followed at most */
#define MAX_CLASSES   32
#define CLASS_EDGES   24    /* first rows of a run, kept while there are few */

struct class_column {
    char name[64];
    uint64_t classes[MAX_CLASSES], first, last;
    int64_t numbers[MAX_CLASSES]; /* -1: the class is no number */
    int64_t counts[MAX_CLASSES];
    size_t n_classes, n_edges;
    int64_t n_rows, n_runs, edges[CLASS_EDGES];
    bool has_too_many;
};

struct class_blocks {
    struct class_column columns[CLASS_COLUMNS];
    size_t n;
};

/* One value of a row; `row` counts from 0. Columns of other names are passed over. */
void class_blocks_value(struct class_blocks *blocks, struct str column, struct str value,
                        int64_t row);
/* All values of a row, flat or a tree. */
void class_blocks_row(struct class_blocks *blocks, const struct json_row *row, int64_t number);
/* A setting "rows.blocks.COLUMN" for each column of 2 classes of 5 rows or more (of a shard: of 1 class,
 * since the next may hold the others): a JSON object of rows, runs, counts (per class, in order of first
 * use), edges (rows that begin a run; none when they are many), names (where the file's metadata has them),
 * and of a shard classes (a hash each, as hex) and ends (that of its first row and of its last). */
MUST_CHECK int class_blocks_put(const struct class_blocks *blocks, struct import *import,
                                struct error *err);

#endif
