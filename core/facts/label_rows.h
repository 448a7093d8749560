/* Recorded label rows (labels_sample.jsonl and other token dumps): how many tokens of each row are
 * supervised. Later simulated rows come in the same shape. */
#ifndef CORE_FACTS_LABEL_ROWS_H
#define CORE_FACTS_LABEL_ROWS_H

#include "core/facts/run_facts.h"

struct label_rows {
    const struct dataset *dataset;      /* NULL: none were imported */
    size_t n, n_all_masked;             /* rows, rows whose labels are all -100 */
    int64_t first_masked;               /* row number, NONE */
};

/* The rows of one split ("train", "eval"). */
void label_rows_read(const struct run_facts *facts, const char *split, struct label_rows *out);

#endif
