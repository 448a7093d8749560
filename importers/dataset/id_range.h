/* The range of the class labels and token ids of a data set, for the checks that hold them against
 * the model (CHECKS.md C0.10, C0.11). -100 is no label. */
#ifndef IMPORTERS_DATASET_ID_RANGE_H
#define IMPORTERS_DATASET_ID_RANGE_H

#include "core/read/csv.h"
#include "core/read/json.h"
#include "importers/importer.h"

struct id_extreme {
    bool is_known;
    double value;
    int64_t line;
};

struct id_range {
    struct id_extreme max_label, min_label, max_input_id;
    bool is_regression;         /* a label that is no whole number: these are no classes */
};

void id_range_row(struct id_range *range, const struct json_row *row);
/* A list of whole numbers under its column's name. */
void id_range_list(struct id_range *range, struct str column, const int64_t *numbers, size_t n,
                   int64_t line);
/* One cell of a table under its column's name. */
void id_range_cell(struct id_range *range, const char *column, struct str cell, int64_t line);
/* As settings "rows.max_label", "rows.min_label", "rows.max_input_id" at the row's line. */
MUST_CHECK int id_range_put(const struct id_range *range, struct import *import, struct error *err);

#endif
