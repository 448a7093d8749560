/* JSON as Python writes it (NaN, Infinity, lone surrogates, big integers, duplicate keys).
 *
 * Two ways in. `json_parse` gives a tree for small documents (settings files). `json_scan_*` walks
 * a long document without a tree (log_history, datasets in one array). Both accept bare NaN,
 * Infinity and -Infinity, replace lone surrogates and \u0000 by U+FFFD, take the last of
 * duplicate keys, refuse trailing text, and stop at JSON_MAX_DEPTH with E_LIMIT. */
#ifndef CORE_READ_JSON_H
#define CORE_READ_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/str.h"

#define JSON_MAX_DEPTH 200
#define JSON_MAX_BYTES ((size_t)64 << 20) /* of one document that becomes a tree */

enum json_type {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

struct json {
    enum json_type type;
    struct str key;            /* of a member; empty in arrays and at the top */
    struct str text;           /* strings: decoded. numbers: the source text, exact */
    double number;             /* numbers: the value; NaN, inf as Python wrote them */
    bool is_integer;           /* a number without '.', 'e', NaN, inf */
    int64_t line;              /* where the value begins, from 1 */
    struct json *child, *next; /* first element or member; next sibling */
    size_t n;                  /* children */
};

/* Comments (// and block comments) are skipped when allow_comments is set (DeepSpeed files).
 * The tree and its texts live in the arena. Counts of repairs (lone surrogates, NULs,
 * duplicate keys) are added to *n_repairs when it is not NULL. */
MUST_CHECK int json_parse(struct str text, bool allow_comments, struct arena *arena,
                          const struct json **out, int *n_repairs, struct error *err);
/* For data rows and what a template sees: \u0000 stays a NUL, a lone surrogate stays its three bytes
 * (Python's surrogatepass), integers and floats keep their source text; no comments, no repairs but
 * that of duplicate keys the last counts. Fast: no copy of texts without escapes, which are borrowed
 * from `text`. */
MUST_CHECK int json_parse_exact(struct str text, struct arena *arena, const struct json **out,
                                struct error *err);
MUST_CHECK int json_read_file(const char *path, bool allow_comments, struct arena *arena,
                              const struct json **out, int *n_repairs, struct error *err);

const struct json *json_get(const struct json *object, const char *key); /* NULL when absent */
bool json_is(const struct json *value, enum json_type type);             /* NULL: false */
/* Compact JSON of a value as Python's dumps would give it without blanks and with UTF-8 as it is:
 * integers digit by digit, floats by repr, bare NaN and Infinity. */
void json_write(struct buf *out, const struct json *value);
/* A string literal with quotes and escapes; invalid UTF-8 becomes U+FFFD. Control characters, bidi
 * controls and what else unicode_is_hostile() are written as \uXXXX: the text may reach a terminal. */
void json_write_string(struct buf *out, struct str text);
/* A number; non-finite ones as the strings "NaN", "Infinity", "-Infinity" (CLI.md). */
void json_write_number(struct buf *out, double value);

/* ---- Streaming: events of one long document ----
 *
 * The handler is called for each member or element of the top-level value, and inside the member
 * named `array_key` for each of its elements; everything else comes as a small tree in `value`.
 * A flat object of numbers and short strings inside the array (a metric row) does not become a
 * tree: its fields are given by `row`. What a handler is given is borrowed until it returns. */
struct json_field {
    struct str key;  /* raw, without escapes in practice; borrowed */
    struct str text; /* raw text of the value (strings: decoded contents) */
    double number;   /* NaN for strings that are no number, null and booleans */
    bool is_number;  /* also quoted numbers and "nan"; see is_quoted */
    bool is_quoted;
};

struct json_row {
    const struct json_field *fields;
    size_t n;
    int64_t line, byte;      /* where the row begins */
    struct str raw;          /* its own bytes: the line, the element */
    const struct json *tree; /* instead of fields when the row is nested; else NULL */
    uint64_t shape;          /* not 0: rows of that number, from one reader, have the same keys */
};

struct json_stream {
    const char *array_key; /* "log_history"; NULL: the document itself is the array */
    int (*member)(void *ctx, const struct json *value, struct error *err);
    int (*row)(void *ctx, const struct json_row *row, struct error *err);
    void *ctx;
    int *n_repairs; /* added to as in json_parse; NULL allowed */
};

struct source_file;

/* Reads the file once from its start in bounded memory. E_PARSE with line and byte when the text
 * breaks off or is wrong: what came before was delivered. *cut is set when it simply ends too
 * early. */
MUST_CHECK int json_stream(struct source_file *file, const struct json_stream *handler, bool *cut,
                           struct error *err);

#endif
