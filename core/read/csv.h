/* CSV and TSV (libcsv): header and rows. Quotes, embedded newlines, CRLF; blanks are kept. */
#ifndef CORE_READ_CSV_H
#define CORE_READ_CSV_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/read/source.h"

struct csv_row {
    const struct str *cells; /* borrowed; p NULL: empty without quotes */
    size_t n;
    int64_t line;         /* where the row begins */
    int64_t byte, length; /* its place in the file, without the end of the line */
    bool is_unclosed;     /* the file ends inside a quoted cell of this row */
};

struct csv_handler {
    int (*row)(void *ctx, const struct csv_row *row, struct error *err); /* the header first */
    void *ctx;
};

/* separator: ',' or '\t'; 0 decides by the first line. */
MUST_CHECK int csv_read_rows(struct source_file *file, char separator,
                             const struct csv_handler *handler, struct error *err);

/* The same rows one at a time. The file is borrowed and stays at its place between the calls; the
 * cells are borrowed until the next call. csv_next: 1 a row, 0 the end, negative: error. */
struct csv_reader;
MUST_CHECK int csv_open(struct csv_reader **out, struct source_file *file, char separator,
                        struct error *err);
MUST_CHECK int csv_next(struct csv_reader *reader, struct csv_row *row, struct error *err);
/* Goes on with the row that begins at `byte`; lines count from 1 again. */
MUST_CHECK int csv_seek(struct csv_reader *reader, int64_t byte, struct error *err);
void csv_close(struct csv_reader *reader); /* NULL allowed */

#endif
