/* What results_<date>.json of lm-evaluation-harness says of its run: which model with which adapter, how
 * each task was asked, and which entries only sum up others. Items are not its question. */
#ifndef IMPORTERS_OUTPUTS_LM_EVAL_HEAD_H
#define IMPORTERS_OUTPUTS_LM_EVAL_HEAD_H

#include "importers/importer.h"

enum { LM_EVAL_NAME_BYTES = 256, LM_EVAL_FROZEN_BYTES = 512 };

struct lm_eval_head {
    const struct json *top;     /* the whole file; NULL: there is none beside the samples */
    char model[LM_EVAL_NAME_BYTES];     /* "" where nothing names it */
    char artefact[LM_EVAL_NAME_BYTES];  /* the adapter, or the model itself; "" */
    int64_t step;               /* of the checkpoint that it names, or NONE */
};

void lm_eval_head_read(const struct json *top, struct lm_eval_head *out);
/* The arguments of the model that tell what was evaluated, as settings of the evaluation. */
MUST_CHECK int lm_eval_head_settings(struct import *import, const struct json *top, struct error *err);
/* "metric=acc filter=none shots=5 version=1.0 temperature=0.7 seed=3": equal texts may be compared. */
void lm_eval_frozen(const struct json *top, const char *task, const char *metric, const char *filter,
                    char out[LM_EVAL_FROZEN_BYTES]);
/* The entry sums up others that stand in the file too ("mmlu", of its subjects). */
bool lm_eval_is_group(const struct json *top, const char *task);
/* How many items the task had; NONE: not stated. */
int64_t lm_eval_items(const struct json *top, const char *task);
bool lm_eval_less_is_better(const struct json *top, const char *task, const char *metric);
/* The name of the i-th filter of a task; "" where it is not known. */
void lm_eval_filter(const struct json *top, const char *task, size_t i, char out[LM_EVAL_NAME_BYTES]);

#endif
