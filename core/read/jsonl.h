/* One JSON value a line (JSONL), and what passes for it: CRLF, blank lines, a cut last line. */
#ifndef CORE_READ_JSONL_H
#define CORE_READ_JSONL_H

#include "core/read/json.h"
#include "core/read/source.h"

/* Calls `row` for each line that holds a JSON value (fields for flat objects, tree for others);
 * `bad` for each line that does not parse (it may return OK to go on). Blank lines are skipped.
 * A broken last line without newline comes with is_last: half written, "no more yet". */
struct jsonl_handler {
    int (*row)(void *ctx, const struct json_row *row, struct error *err);
    int (*bad)(void *ctx, const struct source_line *line, bool is_last, const struct error *why,
               struct error *err);
    void *ctx;
    bool always_tree; /* parse every line into a tree (datasets) */
    int *n_repairs;   /* added to as in json_parse; NULL allowed */
};

MUST_CHECK int jsonl_read(struct source_file *file, const struct jsonl_handler *handler,
                          struct error *err);

#endif
