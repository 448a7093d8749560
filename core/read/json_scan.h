/* The words of JSON, under json.c (documents), json_tree.c, json_exact.c, json_stream.c and jsonl.c
 * (rows). Not for others.
 *
 * A cursor walks text that may be a window of something longer (is_final false): what would need
 * the bytes after `end` then fails with `ended` set, and the caller tries again with more. */
#ifndef CORE_READ_JSON_SCAN_H
#define CORE_READ_JSON_SCAN_H

#include "core/read/json.h"

struct json_cursor {
    const char *begin, *p, *end;
    int64_t line;  /* of p */
    int64_t byte;  /* offset of begin in the file */
    bool is_final; /* nothing comes after end */
    bool ended;    /* the failure is that the text breaks off */
    bool allow_comments;
    int n_repairs;
    struct arena *arena; /* for texts that must be changed, and trees */
    struct error *err;
};

struct json_scalar {
    enum json_type type;
    struct str text; /* as in struct json, also for words: "null", "NaN" */
    double number;   /* NaN for what is no number */
    bool is_integer;
    bool is_borrowed; /* the text is part of the cursor's */
};

#define JSON_SHAPE_FIELDS 64 /* a row of more has no shape */

/* The fields of flat rows, reused from row to row. Their keys live until the next row. */
struct json_fields {
    struct json_field *items;
    size_t n, capacity;
    uint64_t shape;            /* as in struct json_row */
    struct json_shape *shapes; /* of the last few rows */
    size_t at;                 /* the one that fitted last */
    uint64_t n_shapes;
};
void json_fields_free(struct json_fields *fields);

/* Sets the error with its place; returns status. */
int json_fail(struct json_cursor *cursor, const char *at, int status, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* E_PARSE with `ended`: the text breaks off inside `what`. */
int json_broken_off(struct json_cursor *cursor, const char *what);
void json_skip_mark(struct json_cursor *cursor);             /* a byte order mark */
MUST_CHECK int json_skip_blanks(struct json_cursor *cursor); /* and comments where allowed */
/* The byte at p; fails at the end of the text. */
MUST_CHECK int json_peek(struct json_cursor *cursor, char *c, const char *what);
/* At '"'. */
MUST_CHECK int json_scan_string(struct json_cursor *cursor, struct json_scalar *out);
/* At anything but '{' and '['. */
MUST_CHECK int json_scan_scalar(struct json_cursor *cursor, struct json_scalar *out);
/* A whole value into the arena. */
MUST_CHECK int json_scan_tree(struct json_cursor *cursor, struct json *out);
/* Four hexadecimal digits, or -1. */
int32_t json_hex4(const char *p, const char *end);
/* Of members with the same key the last value stays, at the place of the first; adds to *n_merged.
 * OK or E_NOMEM. */
MUST_CHECK int json_merge_members(struct json *object, int *n_merged);
/* Of members with the same key the last value stays, at the place of the first; counted. */
MUST_CHECK int json_merge_duplicates(struct json_cursor *cursor, struct json *object);
/* At '{': 1 it was a flat object, 0 it holds objects or arrays (the cursor is somewhere inside). */
MUST_CHECK int json_scan_flat(struct json_cursor *cursor, struct json_fields *fields);

#endif
