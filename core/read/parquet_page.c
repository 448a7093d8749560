/* A column chunk as a row of pages: headers, unpacking, dictionaries, batches of levels and values.
 * See parquet_parts.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/unicode.h"
#include "core/read/parquet_parts.h"

#define HEADER_GUESS ((size_t)1024)
#define NAME_BYTES   64

enum page_type { PAGE_DATA = 0, PAGE_INDEX = 1, PAGE_DICTIONARY = 2, PAGE_DATA_V2 = 3 };

struct page {
    int type;
    int64_t unpacked, packed; /* bytes */
    int64_t n_values, n_rows; /* n_rows: NONE where it is not told */
    int encoding, def_encoding, rep_encoding;
    int64_t def_bytes, rep_bytes;
    bool is_packed;
    bool has_head; /* of its type */
};

int leaf_error(const struct leaf *leaf, int status, struct error *err, const char *fmt, ...)
{
    char text[256];
    struct str name = unicode_cut(leaf->type->name, NAME_BYTES);
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    int rc = error_set(err, status, "column %.*s: %s", (int)name.n, name.p, text);
    error_at(err, source_path(leaf->file), NONE, leaf->page_at);
    return rc;
}

static int wrong_page(const struct leaf *leaf, struct error *err, const char *what)
{
    return leaf_error(leaf, E_PARSE, err, "a page that cannot be read: %s", what);
}

/* ---- Headers ---- */

static void read_data_head(struct thrift *in, struct page *page)
{
    struct thrift_field field = {0};

    page->has_head = true;
    page->n_rows = NONE;
    while (thrift_next(in, &field)) {
        if (field.id == 1)
            page->n_values = thrift_int(in, &field);
        else if (field.id == 2)
            page->encoding = (int)thrift_int(in, &field);
        else if (field.id == 3 && page->type == PAGE_DATA) /* of a dictionary: is it sorted */
            page->def_encoding = (int)thrift_int(in, &field);
        else if (field.id == 4)
            page->rep_encoding = (int)thrift_int(in, &field);
        else
            thrift_skip(in, &field);
    }
}

static void read_data_head_v2(struct thrift *in, struct page *page)
{
    struct thrift_field field = {0};

    page->has_head = true;
    page->is_packed = true;
    while (thrift_next(in, &field)) {
        if (field.id == 1)
            page->n_values = thrift_int(in, &field);
        else if (field.id == 3)
            page->n_rows = thrift_int(in, &field);
        else if (field.id == 4)
            page->encoding = (int)thrift_int(in, &field);
        else if (field.id == 5)
            page->def_bytes = thrift_int(in, &field);
        else if (field.id == 6)
            page->rep_bytes = thrift_int(in, &field);
        else if (field.id == 7)
            page->is_packed = thrift_bool(in, &field);
        else
            thrift_skip(in, &field);
    }
}

static void read_header(struct thrift *in, struct page *page)
{
    struct thrift_field field = {0};

    *page = (struct page){.type = -1, .unpacked = -1, .packed = -1, .is_packed = true};
    while (thrift_next(in, &field)) {
        if (field.id == 1)
            page->type = (int)thrift_int(in, &field);
        else if (field.id == 2)
            page->unpacked = thrift_int(in, &field);
        else if (field.id == 3)
            page->packed = thrift_int(in, &field);
        else if (field.id == 5 && page->type == PAGE_DATA && thrift_struct(in, &field))
            read_data_head(in, page);
        else if (field.id == 7 && page->type == PAGE_DICTIONARY && thrift_struct(in, &field))
            read_data_head(in, page);
        else if (field.id == 8 && page->type == PAGE_DATA_V2 && thrift_struct(in, &field))
            read_data_head_v2(in, page);
        else
            thrift_skip(in, &field);
    }
}

static const char *wrong_header(const struct leaf *leaf, const struct page *page)
{
    if (page->unpacked < 0 || page->packed < 0 || page->unpacked > INT32_MAX)
        return "its sizes";
    if (page->packed > leaf->chunk.end - leaf->at)
        return "it is longer than what is left of its column";
    if (page->type == PAGE_INDEX)
        return NULL;
    if (!page->has_head || page->n_values < 0 || page->n_values > INT32_MAX)
        return "its header";
    if (page->type == PAGE_DATA_V2 &&
        (page->def_bytes < 0 || page->rep_bytes < 0 || page->def_bytes > page->packed ||
         page->rep_bytes > page->packed - page->def_bytes ||
         page->def_bytes + page->rep_bytes > page->unpacked || page->n_rows < 0 ||
         page->n_rows > page->n_values))
        return "the lengths of its levels";
    return NULL;
}

/* leaf->at moves behind the header. Statistics may make one long. */
static int next_header(struct leaf *leaf, struct page *page, struct error *err)
{
    char guess[HEADER_GUESS], *room = guess;
    int rc = OK;

    leaf->page_at = leaf->at;
    for (size_t n = HEADER_GUESS; rc == OK; n *= 8) {
        int64_t left = leaf->chunk.end - leaf->at;
        size_t got = 0;

        n = (int64_t)n > left ? (size_t)left : n;
        if (n > HEADER_GUESS)
            room = malloc(n);
        if (!room)
            return error_set(err, E_NOMEM, "no memory for the header of a page");
        rc = source_at(leaf->file, leaf->at, room, n, &got, err);
        struct thrift in = thrift_of(str_from(room, got));
        if (rc == OK)
            read_header(&in, page);
        if (room != guess)
            free(room);
        if (rc == OK && !in.wrong) {
            leaf->at += in.p - in.begin;
            const char *wrong = wrong_header(leaf, page);
            return wrong ? wrong_page(leaf, err, wrong) : OK;
        }
        if (rc == OK && (!in.is_cut || (int64_t)n >= left || n >= PARQUET_HEADER_BYTES))
            return wrong_page(leaf, err, "its header");
    }
    return rc;
}

/* ---- Bodies ---- */

static int room_for(struct leaf *leaf, char **bytes, size_t *capacity, size_t n, struct error *err)
{
    if (*bytes && n <= *capacity)
        return OK;
    if (n > TABLE_MEMORY_BYTES || *leaf->n_memory - *capacity > TABLE_MEMORY_BYTES - n)
        return leaf_error(leaf, E_LIMIT, err, "a page of %zu bytes, too large to hold", n);
    free(*bytes);
    *leaf->n_memory -= *capacity;
    *capacity = 0;
    *bytes = malloc(n + 1);
    if (!*bytes)
        return error_set(err, E_NOMEM, "no memory for a page of %zu bytes", n);
    *capacity = n;
    *leaf->n_memory += n;
    return OK;
}

static int read_bytes(struct leaf *leaf, int64_t at, char *out, size_t n, struct error *err)
{
    size_t got = 0;
    int rc = source_at(leaf->file, at, out, n, &got, err);

    if (rc == OK && got < n)
        return wrong_page(leaf, err, "the file ends inside it");
    return rc;
}

/* What is packed begins behind `n_plain` bytes that are not. */
static int read_body(struct leaf *leaf, const struct page *page, size_t n_plain, char *out,
                     struct error *err)
{
    size_t packed = (size_t)page->packed - n_plain, unpacked = (size_t)page->unpacked - n_plain;
    struct error why;
    int rc;

    if (n_plain) {
        rc = read_bytes(leaf, leaf->at, out, n_plain, err);
        if (rc != OK)
            return rc;
    }
    if (!page->is_packed || leaf->codec == BLOCK_PLAIN) {
        if (packed != unpacked)
            return wrong_page(leaf, err, "its sizes");
        return read_bytes(leaf, leaf->at + (int64_t)n_plain, out + n_plain, packed, err);
    }
    char *room = NULL;
    size_t capacity = 0;
    rc = room_for(leaf, &room, &capacity, packed, err);
    if (rc == OK)
        rc = read_bytes(leaf, leaf->at + (int64_t)n_plain, room, packed, err);
    if (rc == OK &&
        block_unpack(leaf->codec, str_from(room, packed), out + n_plain, unpacked, &why) != OK)
        rc = wrong_page(leaf, err, why.message);
    free(room);
    *leaf->n_memory -= capacity;
    return rc;
}

/* ---- The dictionary ---- */

static int decode_dictionary(struct leaf *leaf, size_t n, size_t n_bytes, struct error *err)
{
    struct dictionary *dictionary = &leaf->dictionary;
    struct values values = {0};
    const char *wrong = values_init(&values, leaf->type, NULL, ENCODING_PLAIN,
                                    str_from(dictionary->bytes, n_bytes));

    for (size_t at = 0; at < n && !wrong; at += PARQUET_BATCH)
        wrong = values_take(&values, dictionary->values + at,
                            n - at < PARQUET_BATCH ? n - at : PARQUET_BATCH);
    if (wrong)
        return wrong_page(leaf, err, wrong);
    dictionary->n = n;
    leaf->has_dictionary = true;
    return OK;
}

static int read_dictionary(struct leaf *leaf, const struct page *page, struct error *err)
{
    struct dictionary *dictionary = &leaf->dictionary;
    size_t n = (size_t)page->n_values;

    if (page->encoding != ENCODING_PLAIN && page->encoding != ENCODING_PLAIN_DICTIONARY)
        return wrong_page(leaf, err, "a dictionary of an encoding that is not supported");
    if (n > (size_t)page->unpacked * 8)
        return wrong_page(leaf, err, "a dictionary of more entries than bytes");
    dictionary->n = 0;
    int rc = room_for(leaf, &dictionary->bytes, &dictionary->n_bytes, (size_t)page->unpacked, err);
    if (rc == OK)
        rc = room_for(leaf, (char **)&dictionary->values, &dictionary->capacity,
                      (n + 1) * sizeof *dictionary->values, err);
    if (rc == OK)
        rc = read_body(leaf, page, 0, dictionary->bytes, err);
    return rc == OK ? decode_dictionary(leaf, n, (size_t)page->unpacked, err) : rc;
}

/* ---- Data ---- */

static const char *take_level_bytes(struct str *body, int encoding, unsigned width, size_t n,
                                    struct str *out)
{
    size_t n_bytes;

    if (encoding == ENCODING_BIT_PACKED) {
        n_bytes = (n * width + 7) / 8;
    } else if (encoding != ENCODING_RLE) {
        return "levels of an encoding that is not supported";
    } else {
        const unsigned char *p = (const unsigned char *)body->p;

        if (body->n < 4)
            return "it ends inside its levels";
        n_bytes = (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
        *body = str_skip(*body, 4);
    }
    if (n_bytes > body->n)
        return "it ends inside its levels";
    *out = str_first(*body, n_bytes);
    *body = str_skip(*body, n_bytes);
    return NULL;
}

static const char *init_level(struct hybrid *levels, struct str *body, int encoding, unsigned max,
                              size_t n)
{
    unsigned width = bits_for(max);
    struct str bytes = {"", 0};

    if (max) {
        const char *wrong = take_level_bytes(body, encoding, width, n, &bytes);
        if (wrong)
            return wrong;
    }
    hybrid_init(levels, bytes, width);
    if (max && encoding == ENCODING_BIT_PACKED) {
        levels->is_msb_first = true;
        levels->n_packed = n;
    }
    return NULL;
}

static const char *begin_data(struct leaf *leaf, const struct page *page, struct str body)
{
    const struct leaf_type *type = leaf->type;
    size_t n = (size_t)page->n_values;
    const char *wrong;

    if (page->type == PAGE_DATA_V2) {
        struct str rep = str_first(body, (size_t)page->rep_bytes);
        struct str def = str_first(str_skip(body, rep.n), (size_t)page->def_bytes);

        body = str_skip(body, rep.n + def.n);
        hybrid_init(&leaf->rep_levels, rep, bits_for(type->max_rep));
        hybrid_init(&leaf->def_levels, def, bits_for(type->max_def));
    } else {
        wrong = init_level(&leaf->rep_levels, &body, page->rep_encoding, type->max_rep, n);
        if (!wrong)
            wrong = init_level(&leaf->def_levels, &body, page->def_encoding, type->max_def, n);
        if (wrong)
            return wrong;
    }
    wrong = values_init(&leaf->values, type, leaf->has_dictionary ? &leaf->dictionary : NULL,
                        page->encoding, body);
    if (!wrong)
        leaf->n_in_page = n;
    return wrong;
}

static int read_data(struct leaf *leaf, const struct page *page, struct error *err)
{
    size_t n_plain =
        page->type == PAGE_DATA_V2 ? (size_t)(page->def_bytes + page->rep_bytes) : 0;
    int rc = room_for(leaf, &leaf->page, &leaf->page_capacity, (size_t)page->unpacked, err);

    if (rc == OK)
        rc = read_body(leaf, page, n_plain, leaf->page, err);
    if (rc != OK)
        return rc;
    const char *wrong = begin_data(leaf, page, str_from(leaf->page, (size_t)page->unpacked));
    return wrong ? wrong_page(leaf, err, wrong) : OK;
}

static bool is_data(const struct page *page)
{
    return page->type == PAGE_DATA || page->type == PAGE_DATA_V2;
}

/* The next page's header when it holds data; dictionaries on the way are read. */
static int next_data_header(struct leaf *leaf, struct page *page, struct error *err)
{
    for (;;) {
        int rc = next_header(leaf, page, err);

        if (rc == OK && page->type == PAGE_DICTIONARY)
            rc = read_dictionary(leaf, page, err);
        if (rc != OK)
            return rc;
        if (is_data(page)) {
            if (page->n_values > leaf->n_left)
                return wrong_page(leaf, err, "it has more values than its column");
            leaf->n_left -= page->n_values;
            return OK;
        }
        leaf->at += page->packed;
    }
}

static int next_page(struct leaf *leaf, struct error *err)
{
    struct page page;
    int rc = next_data_header(leaf, &page, err);

    if (rc == OK && page.n_values)
        rc = read_data(leaf, &page, err);
    if (rc == OK)
        leaf->at += page.packed;
    return rc;
}

/* ---- The chunk ---- */

static bool codec_of(int codec, enum block_codec *out)
{
    static const enum block_codec CODECS[] = {
        [0] = BLOCK_PLAIN,  [1] = BLOCK_SNAPPY,     [2] = BLOCK_GZIP, [4] = BLOCK_BROTLI,
        [5] = BLOCK_LZ4_HADOOP, [6] = BLOCK_ZSTD, [7] = BLOCK_LZ4_RAW};

    if (codec < 0 || codec > 7 || codec == 3)
        return false;
    *out = CODECS[codec];
    return true;
}

static int refuse_chunk(struct leaf *leaf, struct error *err)
{
    const struct chunk *chunk = &leaf->chunk;

    if (chunk->is_encrypted)
        return leaf_error(leaf, E_UNSUPPORTED, err, "it is encrypted");
    if (chunk->is_elsewhere)
        return leaf_error(leaf, E_UNSUPPORTED, err, "it is in another file");
    if (chunk->type != leaf->type->type)
        return leaf_error(leaf, E_PARSE, err, "its type is not the schema's");
    if (!codec_of(chunk->codec, &leaf->codec))
        return leaf_error(leaf, E_UNSUPPORTED, err,
                          "packed by codec %d, which is not supported; write the table again with "
                          "zstd",
                          chunk->codec);
    if (chunk->n_values > TABLE_FREE_ROWS + (chunk->end - chunk->begin) * TABLE_ROWS_PER_BYTE)
        return leaf_error(leaf, E_LIMIT, err, "%lld values in %lld bytes",
                          (long long)chunk->n_values, (long long)(chunk->end - chunk->begin));
    return OK;
}

int leaf_open(struct leaf *leaf, const struct chunk *chunk, struct error *err)
{
    leaf->chunk = *chunk;
    leaf->at = leaf->page_at = chunk->begin;
    leaf->n_left = chunk->n_values;
    leaf->has_dictionary = false;
    leaf->n_in_page = leaf->n_batch = leaf->at_level = leaf->at_value = 0;
    if (!leaf->def) {
        buf_init(&leaf->values.text, 0);
        buf_init(&leaf->values.last, 0);
        leaf->def = malloc(PARQUET_BATCH * sizeof *leaf->def);
        leaf->rep = malloc(PARQUET_BATCH * sizeof *leaf->rep);
        leaf->value = malloc(PARQUET_BATCH * sizeof *leaf->value);
    }
    if (!leaf->def || !leaf->rep || !leaf->value)
        return error_set(err, E_NOMEM, "no memory for a column");
    return refuse_chunk(leaf, err);
}

void leaf_close(struct leaf *leaf)
{
    *leaf->n_memory -= leaf->page_capacity + leaf->dictionary.n_bytes + leaf->dictionary.capacity;
    free(leaf->page);
    free(leaf->dictionary.bytes);
    free(leaf->dictionary.values);
    free(leaf->def);
    free(leaf->rep);
    free(leaf->value);
    if (leaf->def) {
        buf_free(&leaf->values.text);
        buf_free(&leaf->values.last);
    }
    *leaf = (struct leaf){.type = leaf->type, .file = leaf->file, .n_memory = leaf->n_memory};
}

/* Levels and values of the next batch, all of one page. */
static const char *take_batch(struct leaf *leaf)
{
    size_t n = leaf->n_in_page < PARQUET_BATCH ? leaf->n_in_page : PARQUET_BATCH, n_there = 0;
    unsigned max = leaf->type->max_def;

    if (!hybrid_take(&leaf->rep_levels, leaf->rep, n) ||
        !hybrid_take(&leaf->def_levels, leaf->def, n))
        return "it has fewer levels than values";
    for (size_t i = 0; i < n; i++) {
        if (leaf->def[i] > max || leaf->rep[i] > leaf->type->max_rep)
            return "a level that its column does not have";
        n_there += leaf->def[i] == max;
    }
    leaf->n_in_page -= n;
    leaf->n_batch = n;
    leaf->n_missing = n - n_there;
    leaf->at_level = leaf->at_value = 0;
    return values_take(&leaf->values, leaf->value, n_there);
}

int leaf_fill(struct leaf *leaf, struct error *err)
{
    if (leaf->at_level < leaf->n_batch)
        return 1;
    while (leaf->n_in_page == 0) {
        if (leaf->n_left == 0)
            return 0;
        int rc = next_page(leaf, err);
        if (rc != OK)
            return rc;
    }
    const char *wrong = take_batch(leaf);
    if (wrong)
        leaf->n_batch = leaf->n_in_page = 0;
    return wrong ? wrong_page(leaf, err, wrong) : 1;
}

/* ---- Passing over rows ---- */

/* The rows of a page where they can be told from its header. */
static int64_t rows_of(const struct leaf *leaf, const struct page *page)
{
    return leaf->type->max_rep == 0 ? page->n_values : page->n_rows;
}

/* Whole pages, unread; *n_rows is what is left to pass over. */
static int skip_pages(struct leaf *leaf, int64_t *n_rows, struct error *err)
{
    while (leaf->n_left) {
        struct page page;
        int rc = next_data_header(leaf, &page, err);

        if (rc != OK)
            return rc;
        int64_t n = rows_of(leaf, &page);
        bool is_passed = n != NONE && n <= *n_rows;
        if (!is_passed && page.n_values)
            rc = read_data(leaf, &page, err);
        leaf->at += page.packed;
        if (rc != OK || !is_passed)
            return rc;
        *n_rows -= n;
    }
    return OK;
}

static int too_few(const struct leaf *leaf, struct error *err)
{
    return wrong_page(leaf, err, "its column has fewer rows than its group");
}

static bool is_between_pages(const struct leaf *leaf)
{
    return leaf->at_level == leaf->n_batch && leaf->n_in_page == 0;
}

/* Every level is a row. */
static int skip_flat(struct leaf *leaf, int64_t n_rows, struct error *err)
{
    while (n_rows) {
        if (is_between_pages(leaf) && leaf->n_left == 0)
            return too_few(leaf, err);
        int rc = is_between_pages(leaf) ? skip_pages(leaf, &n_rows, err) : leaf_fill(leaf, err);
        if (rc < 0)
            return rc;
        for (; n_rows && leaf->at_level < leaf->n_batch; n_rows--, leaf->at_level++)
            leaf->at_value += leaf->def[leaf->at_level] == leaf->type->max_def;
    }
    return OK;
}

/* A row goes from one level 0 to the next. */
static int skip_nested(struct leaf *leaf, int64_t n_rows, struct error *err)
{
    bool is_inside = false; /* a row that is passed over */
    int rc = is_between_pages(leaf) ? skip_pages(leaf, &n_rows, err) : OK;

    while (rc == OK) {
        rc = leaf_fill(leaf, err);
        if (rc == 0)
            return n_rows == (is_inside ? 1 : 0) ? OK : too_few(leaf, err);
        if (rc < 0)
            return rc;
        if (leaf->rep[leaf->at_level] == 0) {
            n_rows -= is_inside;
            if (n_rows == 0)
                return OK;
            is_inside = true;
        }
        leaf->at_value += leaf->def[leaf->at_level] == leaf->type->max_def;
        leaf->at_level++;
        rc = OK;
    }
    return rc;
}

int leaf_skip(struct leaf *leaf, int64_t n_rows, struct error *err)
{
    if (n_rows == 0)
        return OK;
    return leaf->type->max_rep ? skip_nested(leaf, n_rows, err) : skip_flat(leaf, n_rows, err);
}
