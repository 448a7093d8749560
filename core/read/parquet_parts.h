/* Under parquet_rows.c: the parts of a Parquet file. Not for others.
 *
 *   parquet_footer.c  what the file says of itself: schema, row groups, column chunks
 *   parquet_schema.c  the schema as a tree with levels
 *   parquet_page.c    a column chunk as pages: headers, levels, dictionaries
 *   parquet_values.c  the values of a page, by encoding
 *   parquet_delta.c   the DELTA_* encodings
 *   parquet_bits.c    runs and packed bits
 *   parquet_rows.c    rows from the columns
 *   parquet_columns.c  numbers by columns */
#ifndef CORE_READ_PARQUET_PARTS_H
#define CORE_READ_PARQUET_PARTS_H

#include "core/read/decompress_block.h"
#include "core/read/source.h"
#include "core/read/table.h"
#include "core/read/table_columns.h"
#include "core/read/table_row.h"
#include "core/read/table_value.h"
#include "core/read/thrift_compact.h"

#define PARQUET_FOOTER_BYTES ((size_t)256 << 20)
#define PARQUET_HEADER_BYTES ((size_t)16 << 20) /* of a page: its statistics may be long */
#define PARQUET_BATCH        512                /* values of a column decoded at once */

enum parquet_type {
    PARQUET_BOOLEAN,
    PARQUET_INT32,
    PARQUET_INT64,
    PARQUET_INT96,
    PARQUET_FLOAT,
    PARQUET_DOUBLE,
    PARQUET_BYTE_ARRAY,
    PARQUET_FIXED
};

enum parquet_encoding {
    ENCODING_PLAIN = 0,
    ENCODING_PLAIN_DICTIONARY = 2,
    ENCODING_RLE = 3,
    ENCODING_BIT_PACKED = 4,
    ENCODING_DELTA_BINARY_PACKED = 5,
    ENCODING_DELTA_LENGTH_BYTE_ARRAY = 6,
    ENCODING_DELTA_BYTE_ARRAY = 7,
    ENCODING_RLE_DICTIONARY = 8,
    ENCODING_BYTE_STREAM_SPLIT = 9
};

/* ---- Schema ---- */

struct leaf_type {
    struct str name; /* of its column and what is below, joined by points */
    enum parquet_type type;
    size_t width; /* bytes of a value; 0: it differs */
    unsigned max_def, max_rep;
    struct value_type value;
};

enum node_kind { NODE_LEAF, NODE_STRUCT, NODE_LIST, NODE_MAP };

struct node {
    enum node_kind kind;
    struct table_name name;
    unsigned def;          /* from this level on it is there */
    unsigned item_def, rep; /* of lists and maps: level from which there is an item; of the next one */
    size_t leaf, n_leaves;
    struct node *child, *next; /* list: its item. map: key, then value if it has one */
    size_t n_children;
    bool is_wanted; /* of columns */
};

struct row_group {
    int64_t first_row, n_rows;
    size_t at; /* of the struct in the footer */
};

struct parquet_footer {
    char *bytes;
    size_t n;
    int64_t at; /* in the file */
    struct node *columns;
    size_t n_columns;
    struct leaf_type *leaves;
    size_t n_leaves;
    struct row_group *groups;
    size_t n_groups;
    int64_t n_rows;
};

MUST_CHECK int parquet_footer_read(struct parquet_footer *footer, struct source_file *file,
                                   struct arena *arena, struct error *err);
void parquet_footer_free(struct parquet_footer *footer);

/* The list of schema elements, to the footer's columns and leaves. */
MUST_CHECK int parquet_schema_read(struct parquet_footer *footer, struct thrift *in,
                                   const struct thrift_field *list, struct arena *arena,
                                   struct error *err);

struct chunk {
    enum parquet_type type;
    int codec; /* as the file has it */
    int64_t n_values, begin, end;
    bool is_encrypted, is_elsewhere;
};

/* The chunks of a row group, one for each leaf. */
MUST_CHECK int parquet_group_read(const struct parquet_footer *footer, size_t group,
                                  struct chunk *chunks, struct error *err);

/* ---- Bits ---- */

/* Runs of one value and of packed ones, mixed. */
struct hybrid {
    const unsigned char *p, *end;
    unsigned width;
    bool is_msb_first; /* the deprecated packing of levels: one run without a header */
    uint64_t n_same, n_packed;
    uint32_t same;
    size_t bit; /* of the next packed value, from p */
};

void hybrid_init(struct hybrid *hybrid, struct str bytes, unsigned width);
/* n numbers, or false when there are not so many. */
bool hybrid_take(struct hybrid *hybrid, uint32_t *out, size_t n);
/* width ≤ 64 bits from the bit `at`, LSB first; zeros beyond the end. */
uint64_t bits_at(const unsigned char *p, const unsigned char *end, size_t at, unsigned width);
unsigned bits_for(unsigned max_value);

/* Whole numbers by their differences (DELTA_BINARY_PACKED). */
struct delta {
    const unsigned char *p, *end;
    uint64_t left; /* values that are still to come */
    uint64_t per_mini, n_mini, mini, left_in_mini;
    const unsigned char *widths;
    unsigned width;
    size_t bit;
    uint64_t least, value;
    bool is_first;
};

bool delta_init(struct delta *delta, struct str bytes);
bool delta_take(struct delta *delta, int64_t *out, size_t n);
/* What stands behind the numbers; the delta is used up. */
bool delta_skip(struct delta *delta, struct str *rest);

/* ---- Values ---- */

struct dictionary {
    union table_value *values;
    size_t n, capacity;
    char *bytes; /* what the values borrow from */
    size_t n_bytes;
};

struct values {
    const struct leaf_type *leaf;
    const struct dictionary *dictionary;
    enum parquet_encoding encoding;
    const unsigned char *p, *end;
    size_t n_done, n_streams; /* BYTE_STREAM_SPLIT: values given, values there */
    struct hybrid hybrid;
    struct delta delta, suffixes;
    struct buf text, last; /* DELTA_BYTE_ARRAY, BYTE_STREAM_SPLIT: the batch, the value before it */
};

/* NULL, or why the encoding cannot be read. */
const char *values_init(struct values *values, const struct leaf_type *leaf,
                        const struct dictionary *dictionary, int encoding, struct str bytes);
/* n values, borrowed until the next call; NULL, or what is wrong. */
const char *values_take(struct values *values, union table_value *out, size_t n);

/* ---- Columns ---- */

/* One column chunk while it is read. */
struct leaf {
    const struct leaf_type *type;
    struct source_file *file;
    struct chunk chunk;
    enum block_codec codec;
    int64_t at;             /* of the next page header */
    int64_t n_left;         /* levels in the pages to come */
    size_t *n_memory;       /* of all leaves */
    struct dictionary dictionary;
    bool has_dictionary;

    /* The page. */
    int64_t page_at;
    char *page;
    size_t page_capacity;
    size_t n_in_page; /* levels not yet taken into the batch */
    struct hybrid def_levels, rep_levels;
    struct values values;

    /* The batch. */
    uint32_t *def, *rep;
    union table_value *value;
    size_t n_batch, at_level, at_value;
    size_t n_missing; /* levels of the batch that have no value */
};

MUST_CHECK int leaf_open(struct leaf *leaf, const struct chunk *chunk, struct error *err);
void leaf_close(struct leaf *leaf); /* keeps type, file, n_memory */
/* Sees to it that there is a level in the batch; 0: the chunk is at its end. */
MUST_CHECK int leaf_fill(struct leaf *leaf, struct error *err);
/* Passes over rows. */
MUST_CHECK int leaf_skip(struct leaf *leaf, int64_t n_rows, struct error *err);
/* What is wrong with a column, with its name and the page's place. */
int leaf_error(const struct leaf *leaf, int status, struct error *err, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* ---- By columns ---- */

struct column_limits {
    size_t rows, items; /* no list is begun when there are so many items */
};

/* Can the column be given as one of numbers, and of which kind? */
bool parquet_column_fits(const struct parquet_footer *footer, const struct node *node,
                         enum table_column_kind *kind);
/* Rows that were read, all of one row group. Fewer than asked for, and not for the items: the way by
 * rows has to read on from the first of them, since the leaf stands anywhere. */
size_t parquet_column_fill(struct table_column *out, const struct node *node, struct leaf *leaf,
                           const struct column_limits *limits, struct error *err);

#endif
