/* What the readers of evaluations share: what stands for a result of an item, and items whose name
 * stands more than once. No file is read here. */
#ifndef IMPORTERS_OUTPUTS_ITEM_RESULTS_H
#define IMPORTERS_OUTPUTS_ITEM_RESULTS_H

#include "core/store/sink.h"
#include "core/read/json.h"

/* Items of one file; what a file holds beyond is not read. */
enum { MAX_RESULT_ITEMS = 2000000 };

/* A number, a truth value, or a text of one ("0.5", "true", inspect's C, P, I and N). NaN: none of
 * these, or "nan", null and what else says that there is no result. */
double result_value(const struct json *value);
/* The value says that there is no result (null, NaN, "nan"): an item that was asked and not scored. */
bool result_is_missing(const struct json *value);
/* Each item right or wrong by the name of its measure ("acc", "exact_match"): metric "correct". */
bool result_counts(const char *metric);
/* Less is better ("perplexity", "brier_score", "wer"). */
bool result_less_is_better(const char *metric);
/* A text or a number as text (digits as they stand: those of large integers are more than a double has).
 * One that does not fit, or holds a NUL, is its beginning and a hash of the whole, so that two names do
 * not become one; size >= 32. False: neither, or empty. */
bool result_text(const struct json *value, char *out, size_t size);

/* The names of items that a file has given so far. */
struct item_names;
struct item_names *item_names_open(void);       /* NULL: without memory */
void item_names_close(struct item_names *names);
/* The item to the sink. One whose name stood before in that suite becomes "name#2" and so on, of one
 * group with the others: repeats of an item are no items of their own. E_LIMIT beyond
 * MAX_RESULT_ITEMS. */
MUST_CHECK int item_names_put(struct item_names *names, struct sink *sink, int64_t suite,
                              const struct eval_item *item, struct error *err);
/* How many repeats there were, and how many items without a result. */
int64_t item_names_repeats(const struct item_names *names);
int64_t item_names_missing(const struct item_names *names);
/* The notes on both, where there is one to make. */
MUST_CHECK int item_names_note(const struct item_names *names, struct sink *sink, struct error *err);

#endif
