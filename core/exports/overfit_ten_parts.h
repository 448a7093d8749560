/* Between the files of overfit-ten. */
#ifndef CORE_EXPORTS_OVERFIT_TEN_PARTS_H
#define CORE_EXPORTS_OVERFIT_TEN_PARTS_H

#include "core/base/arena.h"
#include "core/exports/overfit_ten.h"
#include "core/exports/row_prompt.h"

struct ten_row {
    int64_t row;                    /* of the training file */
    int64_t n_tokens, n_trained;    /* n_trained NONE: not known */
    struct row_prompt text;
};

struct ten {
    const struct run_facts *facts;
    const struct dataset *dataset;
    struct arena *arena;
    struct audit_window *window;    /* of the measured rows; NULL: estimated */
    struct ten_row *rows;
    size_t n, n_prompts;            /* n_prompts: rows whose prompt and target are known */
    const char *data_name;          /* "train.jsonl", "train.json" */
    bool is_measured;               /* lengths and supervised tokens by the tokenizer, not estimated */
};

/* The config in the framework's own form, derived from the run's; says its name in *name. */
MUST_CHECK int ten_write_config(const struct ten *ten, const struct made_folder *folder,
                                const char **name, struct error *err);

#endif
