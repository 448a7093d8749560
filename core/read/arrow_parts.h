/* Under arrow_rows.c: the parts of an Arrow file or stream. Not for others.
 *
 *   arrow_schema.c    the schema message as a tree of fields
 *   arrow_messages.c  where the record batches and dictionaries stand
 *   arrow_buffers.c   the buffers of a batch, in windows or unpacked
 *   arrow_dictionary.c  the values that indices refer to
 *   arrow_rows.c      rows from the batches
 *   arrow_columns.c   numbers by columns */
#ifndef CORE_READ_ARROW_PARTS_H
#define CORE_READ_ARROW_PARTS_H

#include "core/read/decompress_block.h"
#include "core/read/flatbuffer.h"
#include "core/read/source.h"
#include "core/read/table.h"
#include "core/read/table_columns.h"
#include "core/read/table_row.h"
#include "core/read/table_value.h"

#define ARROW_METADATA_BYTES ((size_t)256 << 20)
#define ARROW_WINDOW_BYTES   ((size_t)64 << 10)

/* ---- Buffers ---- */

/* A buffer of a batch. Plain ones are read through a window, so that a batch may be larger than the
 * memory; packed ones are unpacked whole when they are first asked for. */
struct arrow_buffer {
    int64_t at, n_stored; /* in the file */
    int64_t n;            /* bytes when unpacked; NONE: not known yet */
    bool is_packed;
    enum block_codec codec;
    char *bytes;          /* the window, or all of it */
    size_t capacity;
    int64_t window_at;
    size_t window_n;
};

struct arrow_memory {
    struct source_file *file;
    size_t n_bytes;      /* of all buffers */
    struct arena *arena; /* of the table: parts of dictionaries */
};

/* n bytes of a buffer at an offset, borrowed until the next call on it. */
MUST_CHECK int arrow_bytes(struct arrow_buffer *buffer, struct arrow_memory *memory, int64_t at,
                           int64_t n, const unsigned char **out, struct error *err);
/* How long it is; a packed one is unpacked for it. */
MUST_CHECK int arrow_length(struct arrow_buffer *buffer, struct arrow_memory *memory, int64_t *out,
                            struct error *err);
void arrow_buffer_free(struct arrow_buffer *buffer, struct arrow_memory *memory);

/* ---- Schema ---- */

enum arrow_kind {
    ARROW_NULL,
    ARROW_BOOL,
    ARROW_FIXED,   /* numbers, times, decimals, binary of one width */
    ARROW_VARYING, /* texts and binary by offsets */
    ARROW_VIEW,    /* texts and binary by views */
    ARROW_LIST,
    ARROW_FIXED_LIST,
    ARROW_STRUCT,
    ARROW_MAP,
    ARROW_OTHER    /* passed over: `why` */
};

enum { BUFFER_VALIDITY, BUFFER_OFFSETS, BUFFER_DATA, ARROW_BUFFERS };

struct arrow_dictionary;

struct arrow_field {
    struct table_name name;
    enum arrow_kind kind;
    struct value_type value;
    bool is_signed;       /* of ARROW_FIXED whole numbers and indices */
    bool is_float, is_ms; /* of ARROW_FIXED: floats; dates in milliseconds */
    int64_t width;        /* ARROW_FIXED, items of ARROW_FIXED_LIST; bytes of an offset */
    unsigned n_plain;     /* of ARROW_OTHER: its buffers */
    bool has_no_validity;
    const char *why;
    struct arrow_field *child, *next;
    size_t n_children;
    struct arrow_dictionary *dictionary; /* the values are indices into it */
    bool is_wanted;

    /* In the batch at hand. */
    int64_t length;
    struct arrow_buffer buffers[ARROW_BUFFERS];
    struct arrow_buffer *variadic;
    size_t n_variadic;
    bool is_checked; /* its offsets do not go back */
};

/* A part of a dictionary that is in use. */
struct arrow_part {
    size_t message;
    int64_t length;
    struct arrow_field *values; /* a copy of the type with the buffers of this part */
};

struct arrow_dictionary {
    int64_t id;
    struct arrow_field *type; /* of the values */
    size_t *messages;         /* that hold it, in order */
    size_t n_messages, capacity;
    struct arrow_part *parts;
    size_t n_parts, first_message, end_message; /* in messages[] */
    bool is_loaded;
    struct arrow_dictionary *next;
};

struct arrow_schema {
    struct arrow_field *fields;
    size_t n_fields, n_all;
    struct arrow_dictionary *dictionaries;
};

MUST_CHECK int arrow_schema_read(struct arrow_schema *schema, const struct flat_table *message,
                                 struct table *table, struct error *err);

bool arrow_has_text_keys(const struct arrow_field *map);
/* An object with a value of each field as it might be. */
void arrow_example(const struct arrow_field *first, struct arena *arena, struct json *out);

/* ---- Messages ---- */

enum arrow_message_kind { MESSAGE_SCHEMA = 1, MESSAGE_DICTIONARY = 2, MESSAGE_BATCH = 3 };

struct arrow_message {
    int64_t at, metadata_at, metadata_n, body_at, body_n;
    int kind;
    int64_t first_row, n_rows; /* of batches */
    bool is_delta;             /* of dictionaries */
};

struct arrow_messages {
    struct source_file *file;
    int64_t next_at, end;  /* end: where messages must stop */
    bool is_at_end, is_file;
    int64_t *blocks;       /* where a file's footer says that messages stand; NULL: one behind the other */
    size_t n_blocks, block;
    struct arrow_message *list;
    size_t n, capacity;
    int64_t n_rows;        /* of the batches that are known */
    struct error failure;  /* why there are no more, when is_failed */
    bool is_failed;
};

/* The metadata of a message, which the caller frees. */
MUST_CHECK int arrow_metadata(const struct arrow_messages *messages,
                              const struct arrow_message *message, char **bytes,
                              struct flat_table *out, struct error *err);
/* Finds the schema; *bytes is what it borrows from, which the caller frees. */
MUST_CHECK int arrow_messages_begin(struct arrow_messages *messages, char **bytes,
                                    struct flat_table *schema, struct error *err);
void arrow_messages_free(struct arrow_messages *messages);
/* One more message of the file is known: 1; 0 there is none. */
MUST_CHECK int arrow_messages_next(struct arrow_messages *messages, struct arrow_schema *schema,
                                   struct error *err);

/* ---- Batches ---- */

/* The buffers of a record batch (or of a dictionary's) to the fields. */
MUST_CHECK int arrow_batch_assign(const struct flat_table *batch, const struct arrow_message *message,
                                  struct arrow_memory *memory, struct arrow_field *fields,
                                  struct error *err);
/* The parts that hold for a batch, a number of a message. Nothing is read when they are there. */
MUST_CHECK int arrow_dictionary_load(struct arrow_dictionary *dictionary,
                                     const struct arrow_messages *messages, size_t batch,
                                     struct arrow_memory *memory, struct error *why);
void arrow_dictionary_free(struct arrow_dictionary *dictionary, struct arrow_memory *memory);
void arrow_field_free_buffers(struct arrow_field *field, struct arrow_memory *memory);

/* ---- By columns ---- */

struct arrow_range {
    int64_t at; /* of the batch */
    size_t n;
};

/* Can the column be given as one of numbers, and of which kind? */
bool arrow_column_fits(const struct arrow_field *field, enum table_column_kind *kind);
/* How many of the rows are read at once, for the items of their lists; 0: only by rows. */
size_t arrow_column_rows(struct arrow_field *field, struct arrow_memory *memory,
                         struct arrow_range rows, struct error *err);
/* Anything but OK: the way by rows tells what is wrong, or reads what this cannot. */
MUST_CHECK int arrow_column_fill(struct table_column *out, struct arrow_field *field,
                                 struct arrow_memory *memory, struct arrow_range rows,
                                 struct error *err);

#endif
