/* Rows of token ids and labels that somebody saved (labels_sample.jsonl, a collator's output): how
 * many tokens, how many of them supervised. A line may hold a batch, lists nested one level. */
#ifndef IMPORTERS_DATASET_TOKEN_ROWS_H
#define IMPORTERS_DATASET_TOKEN_ROWS_H

#include "core/model.h"
#include "core/read/json.h"

/* Either list may be NULL. The place of the sample is not touched. */
void token_row_facts(const struct json *ids, const struct json *labels, struct sample *out);

/* The same of plain numbers; `labels` NULL: there are none. */
void token_list_facts(const int64_t *ids, size_t n_ids, const int64_t *labels, size_t n_labels,
                      struct sample *out);

/* The rows of a line, one after the other: one, or those of its batch. */
struct token_rows {
    const struct json *ids, *labels; /* of the next row */
    bool is_batch, is_done;
};
struct token_rows token_rows_of(const struct json *ids, const struct json *labels);
bool token_rows_next(struct token_rows *rows, struct sample *out);

#endif
