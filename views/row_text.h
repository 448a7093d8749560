/* Rows of data files for panes: one row again by its number, its input and target, or as it stands. */
#ifndef VIEWS_ROW_TEXT_H
#define VIEWS_ROW_TEXT_H

#include "core/facts/run_facts.h"
#include "core/read/rows.h"

struct row_text {
    struct str input, target;   /* "" where there are none; in the arena */
    struct str raw;             /* the row's own text, cut */
};

/* Reads rows of one file, kept open from row to row. Zeroed at first. */
struct row_reader {
    struct rows *rows;
    struct arena *scratch;
    char path[1024];
};
/* False: it cannot be read any more. `limit`: bytes of each text; raw is asked for by with_raw. */
bool row_text_read(struct row_reader *reader, const char *path, int64_t at, int64_t row, size_t limit,
                   bool with_raw, struct arena *arena, struct row_text *out);
void row_reader_close(struct row_reader *reader);

#endif
