/* All rows of one data set read once more, a step at a time between two keys: what was typed into a search
 * is looked for in their texts, the words are counted, the columns found; on request the values of one
 * column are counted. Numbers are of all rows, or of so many as `next` says. */
#ifndef VIEWS_DATA_SCAN_H
#define VIEWS_DATA_SCAN_H

#include "core/read/rows.h"
#include "core/text/conversation.h"

#define SCAN_TEXT_BYTES  ((size_t)128 << 20)    /* kept for the search: beyond it texts are only read */
#define SCAN_MOST_VALUES ((size_t)200000)       /* of a column: rows with others are counted as one */
#define SCAN_MOST_COLUMNS 64
#define SCAN_NO_VALUE    UINT32_MAX             /* the row was not looked at */
#define SCAN_OTHER_VALUE (UINT32_MAX - 1)

/* The texts of a row as the checks see them are columns too. */
#define SCAN_INPUT  "(input)"
#define SCAN_TARGET "(target)"

/* A walk over the rows of a file; a step of it takes milliseconds. */
struct row_walk {
    struct rows *rows;
    struct arena *scratch;
    size_t next, n;             /* the row that comes next, of so many */
    bool is_begun, is_done;
    char trouble[200];          /* why it ended early, "" */
};

struct scan_column {
    char name[80];              /* "label", or "metadata.user": a member of an object */
    size_t n;                   /* rows that have it */
};

struct data_scan {
    struct row_walk walk;
    char *path;
    struct column_names names;
    char *texts;                /* of row i: texts + text_at[i] to text_at[i + 1] */
    size_t n_text_bytes, text_capacity, n_texts;
    size_t *text_at;
    uint32_t *input_words, *target_words;
    struct scan_column columns[SCAN_MOST_COLUMNS];
    size_t n_columns;
    bool has_more_columns, has_input, has_target;
};

struct scan_value {
    uint64_t hash;
    char *text;                 /* its beginning, on one line */
    const char *kind;           /* "text" "number" "true or false" "null" "list" "object" "absent" */
    size_t n, first;            /* rows, and the first of them */
};

struct value_count {
    struct row_walk walk;
    char *path;
    struct column_names names;
    char column[80];
    struct scan_value *values;
    size_t n_values, capacity, n_other;
    uint32_t *slots, *of_row;   /* value of each row */
    size_t n_slots;
    size_t *order;              /* the commonest first */
    size_t n_ordered;
};

/* Begins anew. False: no memory. The names are borrowed. */
bool data_scan_begin(struct data_scan *scan, const char *path, size_t n, const struct column_names *names);
void data_scan_close(struct data_scan *scan);
/* Reads on a little; false: there is nothing more to read. */
bool data_scan_step(struct data_scan *scan);
struct str data_scan_text(const struct data_scan *scan, size_t row);

bool value_count_begin(struct value_count *count, const char *path, size_t n,
                       const struct column_names *names, const char *column);
void value_count_close(struct value_count *count);
bool value_count_step(struct value_count *count);

#endif
