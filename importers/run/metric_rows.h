/* Rows of numbers, from whatever file, as points: one place for steps, segments and names. */
#ifndef IMPORTERS_RUN_METRIC_ROWS_H
#define IMPORTERS_RUN_METRIC_ROWS_H

#include "importers/importer.h"

struct metric_rows {
    struct import *import;
    bool train_loss_is_loss;    /* a table without `loss`: its train_loss is the curve */
    bool row_is_step;           /* no step column: the number of the row stands for it */
    int64_t n_rows;
    int64_t n_without_step;
    int64_t last_step, last_total;      /* NONE */
    int64_t last_line;
    int32_t segment;
};

void metric_rows_begin(struct metric_rows *rows, struct import *import);
/* One row; E_CANCELLED when the user wants no more, 1 when import->max_rows are read. */
MUST_CHECK int metric_rows_add(struct metric_rows *rows, const struct json_row *row,
                               struct error *err);

#endif
