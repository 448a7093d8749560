/* What the files of data_facts share; for core/facts/data_*.c only. */
#ifndef CORE_FACTS_DATA_PARTS_H
#define CORE_FACTS_DATA_PARTS_H

#include "core/facts/data_facts.h"
#include "core/read/rows.h"
#include "core/text/row_parts.h"

enum data_row_flag {
    DATA_ROW_UNREADABLE = 1 << 0,
    DATA_ROW_DEGENERATE = 1 << 1,   /* something that is trained on, or asked, is empty */
    DATA_ROW_TARGET = 1 << 2,
    DATA_ROW_INPUT = 1 << 3,
    DATA_ROW_PREFERENCE = 1 << 4,
    DATA_ROW_KTO = 1 << 5,
    DATA_ROW_LIKED = 1 << 6,        /* KTO: label true */
    DATA_ROW_LABEL = 1 << 7,        /* the target is a column's class */
    DATA_ROW_SHORT = 1 << 8,        /* the target has at most 64 bytes */
    DATA_ROW_FRACTION = 1 << 9,     /* the label is a number with a fraction */
    DATA_ROW_PART_UNKNOWN = 1 << 10, /* a picture or a sound that belongs to the input is not there */
    DATA_ROW_HALF = 1 << 11         /* facts: what was rejected, or the label of the answer, is not there */
};

struct data_row {                   /* 64 bytes */
    uint64_t key;                   /* of the normalised input and what else the row is asked with */
    uint64_t target, other;         /* of the normalised texts; other: what was rejected */
    int64_t at;
    uint32_t n_words, n_bytes, n_target, n_other;
    uint32_t flags, file;
    uint64_t spare;                 /* facts: where its texts are; 0: nowhere */
};

struct data_openings {              /* of 1 … 12 words; 0: there are not so many */
    uint32_t hashes[DATA_OPENINGS];
};

struct data_pass {
    struct data_file *files;
    size_t n_files;
    const struct audit_hooks *hooks;
    struct arena *arena;            /* of the result */
    struct arena *scratch;          /* of one row */
    struct data_row *rows;
    struct data_openings *openings; /* NULL once the targets cannot be classes */
    size_t n, capacity;
    struct buf normal, clean;
    uint64_t *seen;                 /* targets so far, an open table */
    size_t n_seen;
    int64_t forms[16];
    int64_t set;                    /* of the file that is being read: inputs of one set are compared */
    struct data_form *form;         /* NULL: all files are files of rows */
    struct data_facts *out;
};

struct data_form;                   /* facts: what is kept of a folder */

/* One hash with its row, to be sorted. */
struct data_key {
    uint64_t hash;
    uint32_t row;
};
void data_sort_keys(struct data_key *keys, size_t n, struct data_key *scratch);

/* data_rows.c */
MUST_CHECK int data_read_rows(struct data_pass *pass, struct error *err);
/* Input, or target, of a row again; "" when it cannot be read any more. In the arena, at most `limit`
 * bytes. `which`: 0 the input, 1 the target, 2 what was rejected, 3 the last user turn. The reader is
 * kept open from call to call. */
struct data_reader {
    struct rows *rows;
    size_t file, next;              /* next: the row that comes without seeking */
    struct arena *scratch;
};
struct str data_read_text(struct data_pass *pass, struct data_reader *reader, size_t row, int which,
                          size_t limit, struct arena *arena);
void data_reader_close(struct data_reader *reader);

/* False: no picture, passage or table that a question may be about. */
bool data_is_context(struct str column);
bool data_is_fraction(struct str label);
/* A target, so long as targets may be classes: openings are NULL after too many. */
void data_see_target(struct data_pass *pass, uint64_t target);
void data_stop(struct data_pass *pass, const char *why);

/* data_form.c: rows of facts */
MUST_CHECK int data_form_read(struct data_pass *pass, size_t file, struct error *err);
void data_form_close(struct data_form *form);   /* NULL allowed */
/* As data_read_text; p NULL: its texts are not among the candidates. */
struct str data_form_text(struct data_pass *pass, size_t row, int which, size_t limit,
                          struct arena *arena);
/* The first k + 1 words of a row's input, or what names them. */
const char *data_form_opening(struct data_pass *pass, size_t row, int k);
/* data_groups.c */
MUST_CHECK int data_find_groups(struct data_pass *pass, struct error *err);
struct data_place data_place_of(const struct data_pass *pass, size_t row);

/* data_classes.c */
MUST_CHECK int data_find_classes(struct data_pass *pass, struct error *err);
void data_find_lengths(struct data_pass *pass);

/* data_spans.c */
MUST_CHECK int data_find_spans(struct data_pass *pass, struct error *err);

/* data_store.c */
void data_put_head(const struct data_facts *data, struct buf *head);
/* False: damaged. Texts in the arena. */
bool data_take_head(const char *head, struct arena *arena, struct data_facts *out);

#endif
