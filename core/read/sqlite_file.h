/* A database of another program, read and never written: not even a lock, a journal or a shared
 * memory file is made beside it.
 *
 * A database that nobody has open is read in place, as immutable. Where a journal or a write-ahead
 * log lies beside it, a private copy of both is read, so that what they hold counts. Views,
 * triggers, extensions and functions of the schema are not trusted; lengths, depths and the work of
 * a statement are limited. */
#ifndef CORE_READ_SQLITE_FILE_H
#define CORE_READ_SQLITE_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/str.h"

#define SQLITE_FILE_COPY_BYTES  ((int64_t)1 << 30) /* of a database with a journal */
#define SQLITE_FILE_VALUE_BYTES (16 << 20)

struct sqlite_file;
struct sqlite_rows;

/* E_PARSE: damaged, or none. `cancel` (may be NULL) stops a statement. */
MUST_CHECK int sqlite_file_open(struct sqlite_file **out, const char *path,
                                const atomic_bool *cancel, struct error *err);
void sqlite_file_close(struct sqlite_file *file); /* NULL allowed */
bool sqlite_file_is_copy(const struct sqlite_file *file);
/* Has the table (no view) this column? */
MUST_CHECK int sqlite_file_has(struct sqlite_file *file, const char *table, const char *column,
                               bool *has, struct error *err);

/* A statement with its parameters ?1, ?2 as texts, NULL from the first one that is not given. */
MUST_CHECK int sqlite_rows_open(struct sqlite_rows **out, struct sqlite_file *file, const char *sql,
                                const char *first, const char *second, struct error *err);
void sqlite_rows_close(struct sqlite_rows *rows); /* NULL allowed */
/* 1 a row, 0 the end. */
MUST_CHECK int sqlite_rows_next(struct sqlite_rows *rows, struct error *err);
/* Columns from 0; texts are borrowed until the next row; NULL is "", 0. */
struct str sqlite_rows_text(struct sqlite_rows *rows, int column);
int64_t sqlite_rows_int(struct sqlite_rows *rows, int column);
double sqlite_rows_double(struct sqlite_rows *rows, int column);
bool sqlite_rows_is_null(struct sqlite_rows *rows, int column);

#endif
