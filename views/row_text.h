/* Rows of data files for panes: one row again by its number, its input and target, or as it stands. */
#ifndef VIEWS_ROW_TEXT_H
#define VIEWS_ROW_TEXT_H

#include "core/facts/run_facts.h"
#include "core/read/rows.h"
#include "core/text/conversation.h"

struct row_text {
    struct str input, target;   /* "" where there are none; in the arena */
    struct str rejected;        /* of a pair the answer beside the target; p NULL: there is none */
    struct str fields;          /* what else the row says in short: "source a  score_chosen 2" */
    struct str raw;             /* the row's own text */
    bool is_cut;                /* one of them is longer than what was asked for */
};

/* Reads rows of one file, kept open from row to row. Zeroed at first; `names`: what the run calls the
 * columns. */
struct row_reader {
    struct column_names names;
    struct rows *rows;
    struct arena *scratch;
    char path[1024];
};
/* False: it cannot be read any more. `limit`: bytes of each text; raw is asked for by with_raw. */
bool row_text_read(struct row_reader *reader, const char *path, int64_t at, int64_t row, size_t limit,
                   bool with_raw, struct arena *arena, struct row_text *out);
void row_reader_close(struct row_reader *reader);

/* Fills what stands beside input and target: rejected and fields. */
struct row_parts;
void row_text_beside(const struct conversation *row, const struct row_parts *parts, struct arena *arena,
                     struct row_text *out);
/* The line that the row begins at, counted from the start of its file; NONE: it has no lines (Parquet,
 * Arrow), or is further in than is worth the time. */
int64_t row_text_line(const char *path, int64_t at);

#endif
