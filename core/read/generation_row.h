/* One row of generations.jsonl or healthcheck.out.jsonl (FORMATS.md B19): which outputs it holds, of
 * which models. The importer stores what they show, core/facts reads the texts again: both have to find
 * the same outputs in the same order. */
#ifndef CORE_READ_GENERATION_ROW_H
#define CORE_READ_GENERATION_ROW_H

#include "core/read/json.h"

#define GENERATION_ROW_OUTPUTS 8 /* at most, of one row */

struct row_output {
    struct str model;        /* "" when the row names none */
    const struct json *text; /* a string, or NULL: the row states facts of an output that it leaves out */
};

/* The outputs of the row in the order in which they are stored: `output`, then one per model. */
size_t generation_row_outputs(const struct json *row, struct row_output out[GENERATION_ROW_OUTPUTS]);
/* The prompt as text, else the last user text of its messages; p NULL when there is none. */
struct str generation_row_prompt(const struct json *row);
/* What pairs the outputs of two models: the prompt, else a name in `id`. 0: nothing. */
int64_t generation_row_key(const struct json *row);

#endif
