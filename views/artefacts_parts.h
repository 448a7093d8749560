/* Between the files of the artefacts pane. */
#ifndef VIEWS_ARTEFACTS_PARTS_H
#define VIEWS_ARTEFACTS_PARTS_H

#include "core/facts/adapter_facts.h"
#include "core/facts/lineage.h"
#include "views/table.h"
#include "views/view.h"

#define ARTEFACT_COLUMNS 6

/* One line of either table, with its cells made. */
struct artefact_row {
    const char *cells[ARTEFACT_COLUMNS];
    enum style_role style[ARTEFACT_COLUMNS];
    const struct artefact *artefact;    /* whose tensors Enter shows; NULL: none */
    double keys[ARTEFACT_COLUMNS];      /* to sort by, where the column is of numbers; else NaN */
};

struct artefact_rows {
    struct artefact_row *items;
    size_t n;
    const char *heading;
    size_t start;               /* row to stand on at first: the broken link */
    struct table_column columns[ARTEFACT_COLUMNS];
    size_t n_columns;
};

/* ---- artefacts_tree.c: what was trained, evaluated and shipped, and its links ---- */

/* False without memory. */
bool artefacts_tree(const struct view *view, struct artefact_rows *out);

/* ---- artefacts_tensors.c: the tensors of one file ---- */

enum tensor_filter { TENSORS_ALL, TENSORS_ODD, TENSORS_ZERO, TENSORS_UNMATCHED, N_TENSOR_FILTERS };
const char *tensor_filter_name(enum tensor_filter filter);
bool artefacts_tensors(const struct view *view, const struct artefact *artefact,
                       enum tensor_filter filter, struct artefact_rows *out);

#endif
