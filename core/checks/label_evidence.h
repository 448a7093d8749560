/* What the checks of labels share: which audit they look at, how sure it makes them, and how its
 * rows become evidence that the labels pane can open. */
#ifndef CORE_CHECKS_LABEL_EVIDENCE_H
#define CORE_CHECKS_LABEL_EVIDENCE_H

#include "core/checks/check.h"
#include "core/facts/audit.h"

#define LABEL_ROWS_SHOWN 5
#define MAX_STOP_IDS     32

/* False with a reason for runs without a label mask over text: reinforcement learning, preference
 * pairs, classification, and runs that trained nothing. */
bool labels_apply(const struct run_facts *facts, const char **reason);

/* The audit of a split that tells the labels row by row, recorded before simulated; or NULL. */
const struct audit *labels_of(const struct run_facts *facts, const char *split);
/* The simulated one beside recorded rows that are only a sample; NULL: none, or none that fits
 * them: the share of rows with the flag has to be one that such a sample may show. */
const struct audit *labels_beside(const struct run_facts *facts, const struct audit *recorded,
                                  unsigned flag);
/* Ids row by row, with or without labels; or NULL. */
const struct audit *ids_of(const struct run_facts *facts, const char *split);
/* Rows that could be rendered or read. */
int64_t labels_seen(const struct audit *audit);
int64_t labels_count(const struct audit *audit, unsigned flag);     /* one enum audit_flag */
double labels_share(const struct audit *audit, unsigned flag); /* of labels_seen; 0 without rows */
bool labels_are_all(const struct audit *audit);     /* every row of the data set was looked at */
/* F14: none of the rows seen is bad; is the share of bad ones among all below the bound? */
bool labels_rule_out(const struct audit *audit, double bound);
/* certain: a count over all rows; strong: over a sample; likely: something is assumed. */
enum confidence labels_confidence(const struct audit *audit);
/* "12 of 400 recorded rows", "… of 400 rows (simulated)". In the check's arena. */
const char *labels_words(struct check_ctx *ctx, const struct audit *audit, int64_t n);

/* UNKNOWN with what the audit lacks, or labels_sample.jsonl. */
int labels_unknown(struct check_ctx *ctx, const char *split);
/* Information: what was simulated, because of what, with which assumption. Nothing for NULL. */
void labels_tell(struct check_ctx *ctx, const struct audit *audit);
/* One row as evidence. `token` may be NONE. */
struct evidence *labels_row(struct check_ctx *ctx, const struct audit *audit, int64_t row,
                            int64_t token, const char *fmt, ...) PRINTF_LIKE(5, 6);
/* The first rows that have all of `with` and none of `without`. Returns how many rows there are. */
int64_t labels_show_rows(struct check_ctx *ctx, const struct audit *audit, unsigned with,
                         unsigned without, const char *what);
bool labels_row_has(const struct audit_row *row, unsigned with, unsigned without);

/* "<|im_end|> (2)", or "2" where the vocabulary is not known. */
const char *labels_token(struct check_ctx *ctx, int64_t id, const char *text);
/* The name of an added token of the run's tokenizer, or NULL. */
const char *added_token_text(const struct run_facts *facts, int64_t id);
/* Id of the added token of that text, or NONE. */
int64_t added_token_id(const struct run_facts *facts, const char *text);
/* eos_token_id of the generation config that is served, else the run's own, else the base's (an id
 * or a list). Returns how many; *setting gets where it stands, NULL: there is none. */
size_t stop_ids_read(const struct run_facts *facts, int64_t *ids, const struct setting **setting);

/* Outputs of the tuned model that have all of `with`, of those that have all of `known`. */
size_t outputs_count(const struct run_facts *facts, unsigned known, unsigned with, size_t *n_known,
                     const struct generation **first);
/* Outputs of the tuned model that end by the length limit, of those of which that is known. */
size_t outputs_at_limit(const struct run_facts *facts, size_t *n_known,
                        const struct generation **first);

#endif
