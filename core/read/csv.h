/* CSV and TSV (libcsv): header and rows. Quotes, embedded newlines, CRLF; blanks are kept. */
#ifndef CORE_READ_CSV_H
#define CORE_READ_CSV_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/read/source.h"

struct csv_row {
    const struct str *cells; /* borrowed; p NULL: empty without quotes */
    size_t n;
    int64_t line; /* where the row begins */
};

struct csv_handler {
    int (*row)(void *ctx, const struct csv_row *row, struct error *err); /* the header first */
    void *ctx;
};

/* separator: ',' or '\t'; 0 decides by the first line. */
MUST_CHECK int csv_read_rows(struct source_file *file, char separator,
                             const struct csv_handler *handler, struct error *err);

#endif
