/* What all rows of a preference data set say together: lengths of chosen and rejected answers (CHECKS.md
 * F9), scores that contradict the columns, answers that are equal, labels of KTO. Counted while the rows
 * are read; of the rows that contradict the first few are kept by their place. */
#ifndef IMPORTERS_DATASET_PREFERENCE_ROWS_H
#define IMPORTERS_DATASET_PREFERENCE_ROWS_H

#include "core/read/json.h"
#include "importers/importer.h"

enum { PREFERENCE_ROWS_KEPT = 5, PREFERENCE_KEY_BYTES = 64 };

/* Mean and sum of squared deviations, updated value by value. */
struct running {
    double mean, m2;
};

struct preference_odd_row {
    int64_t line, row;
    double chosen, rejected;    /* the scores */
};

struct preference_rows {
    int64_t n;                  /* rows with both answers */
    int64_t n_longer, n_shorter;        /* the chosen answer, in words */
    int64_t n_equal;            /* both answers are the same text */
    struct running chosen, rejected;    /* words */
    int64_t n_scored, n_contradicting;  /* pairs of scores of answers that differ */
    char score[PREFERENCE_KEY_BYTES];   /* the key of the chosen one's score */
    struct preference_odd_row kept[PREFERENCE_ROWS_KEPT];
    int64_t n_labels, n_true;   /* of KTO rows */
};

/* A row as a tree or flat; `row` counts from 0. */
void preference_rows_row(struct preference_rows *rows, const struct json_row *row, int64_t number);
/* Cells of a table by their columns' names. */
void preference_rows_cells(struct preference_rows *rows, const struct str *names,
                           const struct str *cells, size_t n, int64_t line, int64_t number);
/* As the setting "rows.preference", an object; nothing where no row had both answers or a label. */
MUST_CHECK int preference_rows_put(const struct preference_rows *rows, struct import *import,
                                   struct error *err);

#endif
