/* What one row of a data set says of itself: which fields are empty, how long prompt and row are by
 * CHECKS.md F-LEN (no tokenizer), how many labels are supervised. The text stays in the file. */
#ifndef IMPORTERS_DATASET_ROW_FACTS_H
#define IMPORTERS_DATASET_ROW_FACTS_H

#include "core/model.h"
#include "core/read/json.h"

/* Fills flags, n_tokens, n_prompt_tokens, n_trained; -1 for what the row does not tell. */
void row_facts_of_tree(const struct json *row, struct sample *out);
/* A flat row: texts by name. A text whose p is NULL is null; `texts` and `names` run in parallel.
 */
void row_facts_of_texts(const struct str *names, const struct str *texts, size_t n,
                        struct sample *out);

#endif
