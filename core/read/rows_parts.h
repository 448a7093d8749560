/* Under rows.c: the ends of JSON values in a stream, and the elements of one array. Not for others. */
#ifndef CORE_READ_ROWS_PARTS_H
#define CORE_READ_ROWS_PARTS_H

#include "core/read/rows.h"
#include "core/read/source.h"

/* Finds where a value ends without looking at what it says: brackets and quotes alone. Begin with
 * zeros, at the value's first byte. */
struct value_scan {
    int64_t depth;
    bool in_string, is_escaped, is_scalar, is_begun;
};
/* How many bytes of the chunk belong to the value; *done when it ends there. A scalar ends before
 * what follows it. */
size_t value_scan(struct value_scan *scan, struct str chunk, bool *done);

/* What the first bytes of a JSON file say about how its rows stand in it. */
struct array_place {
    bool is_array; /* else one value a line */
    int64_t at;    /* of the '[' */
    struct str key; /* of the member that is the array, of the head; empty: the document is */
};
/* `is_all`: there is nothing behind the head. `is_lines_name`: the name says JSONL. */
struct array_place find_array(struct str head, bool is_all, bool is_lines_name);

/* The elements of an array. */
struct elements {
    struct source_file *file;
    struct str chunk;
    int64_t at, line; /* of the chunk's first byte */
    enum { AT_START, AT_VALUE, BEHIND_VALUE, AT_END } state;
    bool is_top;      /* the array is the whole document: nothing may follow it */
    struct buf text;  /* of the element */
};

struct element {
    struct str text; /* borrowed until the next call */
    int64_t at, length, line;
    bool is_cut; /* longer than SOURCE_LINE_BYTES: only the beginning is there */
};

void elements_init(struct elements *elements, struct source_file *file, bool is_top);
void elements_free(struct elements *elements);
/* state: AT_START at the '[', AT_VALUE at an element. */
MUST_CHECK int elements_seek(struct elements *elements, int64_t at, bool is_start,
                             struct error *err);
/* 1 an element, 0 the end, negative: error. */
MUST_CHECK int elements_next(struct elements *elements, struct element *out, struct error *err);

#endif
