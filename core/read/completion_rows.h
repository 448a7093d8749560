/* Completions that a trainer sampled and logged, with their step and their rewards, row by row, whoever
 * wrote them:
 *
 *   TRL             Parquet or JSON lines: step, prompt, completion, a column for each reward function,
 *                   advantage
 *   W&B             a table of the same columns: {"columns": [...], "data": [[...], ...]}
 *   ms-swift        JSON lines whose members are columns: {"step": ["1", "1"], "prompt": [...], ...}
 *   verl            JSON lines: input, output, score, step, and what the reward function said besides
 *
 * The importer counts them, core/facts/completions.h reads them again: both find the same rows in the
 * same order. Knows no statistics. */
#ifndef CORE_READ_COMPLETION_ROWS_H
#define CORE_READ_COMPLETION_ROWS_H

#include "core/read/json.h"

#define COMPLETION_VALUES 24 /* numbers beside a completion, at most */

struct completion_value {
    struct str name;
    double value;               /* finite */
};

struct completion_row {
    int64_t line;               /* of the file, or NONE; of a table its row + 1 */
    int64_t step;               /* NONE: neither the row nor the file's name says it */
    struct str prompt;          /* p NULL: not stated. Messages: as JSON */
    struct str text;            /* the completion; of messages the assistant's */
    double advantage;           /* NaN: not stated */
    struct completion_value values[COMPLETION_VALUES];  /* rewards and other numbers, in order */
    size_t n_values;
};

/* What they are given is borrowed until they return. `bad`: a row that has no completion, or none that
 * can be read. */
struct completion_handler {
    int (*row)(void *ctx, const struct completion_row *row, struct error *err);
    int (*bad)(void *ctx, int64_t line, const char *why, struct error *err);
    void *ctx;
};

/* E_PARSE: the file breaks off or is none of the forms; what came before was given. */
MUST_CHECK int completion_rows_read(const char *path, const struct completion_handler *handler,
                                    struct error *err);

/* The step that the name of a file ends with: completions_00005.parquet, 120.jsonl; NONE. */
int64_t completion_name_step(const char *path);

#endif
