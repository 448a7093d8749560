/* Under rows.c: a file of typed columns, whose rows are made into JSON objects one at a time.
 * Parquet and Arrow. Not for others but their tests: rows.h is the way in.
 *
 * A row that cannot be read is told like any other row that cannot (rows.h), so that rows keep their
 * numbers. Where a part of the file is damaged, all rows that need it are told so. */
#ifndef CORE_READ_TABLE_H
#define CORE_READ_TABLE_H

#include "core/read/json.h"

struct source_file;
struct table;
struct table_batch;

#define TABLE_HEAD_BYTES  256 /* enough to know one */
#define TABLE_MAX_COLUMNS 100000
#define TABLE_MAX_DEPTH   32
#define TABLE_NOTES       20
/* More rows than this beside the bytes of a file is a lie, or a bomb. */
#define TABLE_FREE_ROWS      ((int64_t)16 << 20)
#define TABLE_ROWS_PER_BYTE  256
/* What may be unpacked at once, over all columns. */
#define TABLE_MEMORY_BYTES   ((size_t)1 << 30)

struct table_ops {
    /* As rows_next; the row's number is the table's to count. */
    int (*next)(struct table *table, struct arena *arena, const struct json **row,
                struct error *why, struct error *err);
    /* 1 the next rows by columns, 0 the next row is for `next`, negative: as `next`. NULL: never. */
    int (*next_columns)(struct table *table, const struct table_batch **out, struct error *err);
    /* The next row is this one; beyond the end there is none. */
    int (*seek)(struct table *table, int64_t row, struct error *err);
    /* One object with a value of each column as it might be; lives as long as the table. */
    const struct json *(*example)(struct table *table);
    /* Reads the columns alone that `is_wanted`, by their number in the file. */
    void (*choose)(struct table *table, bool (*is_wanted)(void *ctx, const struct json *example),
                   void *ctx);
    void (*close)(struct table *table); /* not the file */
};

/* At the head of each kind's own struct. */
struct table {
    const struct table_ops *ops;
    struct arena *arena; /* what lives as long as the table */
    const char *notes[TABLE_NOTES];
    size_t n_notes;
};

enum table_format { TABLE_NONE, TABLE_PARQUET, TABLE_ARROW };

/* By the first bytes: of Parquet, of an Arrow file, of an Arrow stream. */
enum table_format table_format_of(struct str first_bytes);
/* The file is borrowed. */
MUST_CHECK int parquet_open(struct table **out, struct source_file *file, struct error *err);
MUST_CHECK int arrow_open(struct table **out, struct source_file *file, struct error *err);
void table_note(struct table *table, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
