/* Rows of an Arrow file or stream as JSON objects. A batch is not held: its buffers are read where a row
 * needs them. What is damaged in a batch costs the rows that need it. See arrow_parts.h, table.h. */
#include <stdlib.h>

#include "core/read/arrow_parts.h"

#define NO_BATCH   SIZE_MAX
#define MAX_VALUE  ((int64_t)SOURCE_LINE_BYTES)
#define VIEW_BYTES 16
#define VIEW_SHORT 12
#define MS_A_DAY   86400000

struct arrow {
    struct table table; /* first: a table is one of these */
    struct arrow_memory memory;
    struct arrow_messages messages;
    struct arrow_schema schema;
    const struct json *example;
    int64_t row;     /* the next to give */
    size_t batch;    /* the message that is open */
    bool is_broken;  /* it cannot be read: `why` */
    struct error why;
    uint64_t stamp;
    struct table_batch columns; /* of rows by columns; without any: not made yet */
    bool has_no_columns;        /* one that is wanted cannot be given as numbers */
    size_t by_rows;             /* the batch whose rest has to be read by rows */
};

/* The row that is put together. The first thing that is wrong is kept, the rest passed over. */
struct making {
    struct arrow *arrow;
    struct table_row row;
    int rc;
    struct error *why;
    int depth; /* of dictionaries within dictionaries */
};

static void make(struct making *making, struct arrow_field *field, int64_t at, struct json *out);

static void fail(struct making *making, const struct arrow_field *field, const char *what)
{
    struct str name = str_first(field->name.text, 64);

    if (making->rc != OK)
        return;
    making->rc = error_set(making->why, E_PARSE, "column %.*s: %s", (int)name.n, name.p, what);
    error_at(making->why, source_path(making->arrow->memory.file), NONE,
             field->buffers[BUFFER_VALIDITY].at);
}

/* n bytes of a buffer, or NULL when the row cannot be read any more. */
static const unsigned char *bytes_of(struct making *making, struct arrow_buffer *buffer,
                                     int64_t at, int64_t n)
{
    const unsigned char *out = NULL;

    if (making->rc == OK)
        making->rc = arrow_bytes(buffer, &making->arrow->memory, at, n, &out, making->why);
    return making->rc == OK ? out : NULL;
}

static uint64_t load(const unsigned char *p, int64_t width)
{
    uint64_t value = 0;

    for (int64_t i = 0; i < width; i++)
        value |= (uint64_t)p[i] << (8 * i);
    return value;
}

static bool bit_of(struct making *making, struct arrow_buffer *buffer, int64_t at)
{
    const unsigned char *byte = bytes_of(making, buffer, at / 8, 1);

    return byte && (*byte >> (at % 8) & 1);
}

static bool is_null(struct making *making, struct arrow_field *field, int64_t at)
{
    if (field->kind == ARROW_NULL)
        return true;
    return field->buffers[BUFFER_VALIDITY].n_stored > 0 &&
           !bit_of(making, &field->buffers[BUFFER_VALIDITY], at);
}

/* ---- Offsets ---- */

/* Ranges that go back could make a small file give rows without end. */
static void check_offsets(struct making *making, struct arrow_field *field)
{
    struct arrow_buffer *buffer = &field->buffers[BUFFER_OFFSETS];
    int64_t before = 0, per_read = (int64_t)ARROW_WINDOW_BYTES / 2 / field->width;

    field->is_checked = true;
    for (int64_t at = 0; at <= field->length && making->rc == OK; at += per_read) {
        int64_t n = field->length + 1 - at < per_read ? field->length + 1 - at : per_read;
        const unsigned char *p =
            bytes_of(making, buffer, at * field->width, n * field->width);

        for (int64_t i = 0; p && i < n; i++) {
            int64_t offset = (int64_t)load(p + i * field->width, field->width);

            if (offset < before)
                fail(making, field, "a range that ends before it begins");
            before = offset;
        }
    }
    if (making->rc != OK)
        field->is_checked = false;
}

static bool range_of(struct making *making, struct arrow_field *field, int64_t at, int64_t *from,
                     int64_t *to)
{
    if (!field->is_checked)
        check_offsets(making, field);
    const unsigned char *p = bytes_of(making, &field->buffers[BUFFER_OFFSETS], at * field->width,
                                      2 * field->width);
    if (!p)
        return false;
    *from = (int64_t)load(p, field->width);
    *to = (int64_t)load(p + field->width, field->width);
    return true;
}

/* ---- Single values ---- */

static void make_value(struct making *making, const struct arrow_field *field,
                       union table_value value, struct json *out)
{
    const char *wrong = value_json(making->row.arena, &field->value, value, out);

    if (wrong)
        fail(making, field, wrong);
}

static void make_fixed(struct making *making, struct arrow_field *field, int64_t at,
                       struct json *out)
{
    const unsigned char *p =
        bytes_of(making, &field->buffers[BUFFER_DATA], at * field->width, field->width);
    union table_value value = {.i = 0};

    if (!p)
        return;
    if (field->is_float && field->width == 4) {
        uint32_t bits = (uint32_t)load(p, 4);
        float single;

        memcpy(&single, &bits, sizeof single);
        value.d = (double)single;
    } else if (field->is_float) {
        uint64_t bits = load(p, 8);

        memcpy(&value.d, &bits, sizeof bits);
    } else if (field->value.kind == VALUE_BYTES || field->value.kind == VALUE_UUID ||
               field->value.kind == VALUE_HALF || field->value.kind == VALUE_DECIMAL) {
        value.s = str_from((const char *)p, (size_t)field->width);
    } else {
        unsigned shift = 64 - 8 * (unsigned)field->width;

        value.i = (int64_t)(load(p, field->width) << shift) >> shift;
        if (field->is_ms)
            value.i = value.i / MS_A_DAY - (value.i % MS_A_DAY < 0);
    }
    make_value(making, field, value, out);
}

static void make_bytes(struct making *making, struct arrow_field *field,
                       struct arrow_buffer *buffer, int64_t from, int64_t n, struct json *out)
{
    const unsigned char *p;

    if (n > MAX_VALUE) {
        fail(making, field, "a text too long to hold");
        return;
    }
    p = bytes_of(making, buffer, from, n);
    if (p)
        make_value(making, field, (union table_value){.s = str_from((const char *)p, (size_t)n)},
                   out);
}

static void make_varying(struct making *making, struct arrow_field *field, int64_t at,
                         struct json *out)
{
    int64_t from, to;

    if (range_of(making, field, at, &from, &to))
        make_bytes(making, field, &field->buffers[BUFFER_DATA], from, to - from, out);
}

static void make_view(struct making *making, struct arrow_field *field, int64_t at,
                      struct json *out)
{
    const unsigned char *p =
        bytes_of(making, &field->buffers[BUFFER_DATA], at * VIEW_BYTES, VIEW_BYTES);

    if (!p)
        return;
    int32_t n = (int32_t)load(p, 4), buffer = (int32_t)load(p + 8, 4);
    int32_t offset = (int32_t)load(p + 12, 4);
    if (n >= 0 && n <= VIEW_SHORT)
        make_value(making, field,
                   (union table_value){.s = str_from((const char *)p + 4, (size_t)n)}, out);
    else if (n < 0 || buffer < 0 || (size_t)buffer >= field->n_variadic)
        fail(making, field, "a view of nothing");
    else
        make_bytes(making, field, &field->variadic[buffer], offset, n, out);
}

/* ---- Dictionaries ---- */

static void make_entry(struct making *making, struct arrow_field *field, int64_t at,
                       struct json *out)
{
    struct arrow_dictionary *dictionary = field->dictionary;
    const unsigned char *p =
        bytes_of(making, &field->buffers[BUFFER_DATA], at * field->width, field->width);

    if (!p)
        return;
    uint64_t index = load(p, field->width);
    if (making->rc == OK)
        making->rc = arrow_dictionary_load(dictionary, &making->arrow->messages, making->arrow->batch,
                                           &making->arrow->memory, making->why);
    if (++making->depth > TABLE_MAX_DEPTH)
        fail(making, field, "dictionaries within dictionaries without end");
    for (size_t i = 0; making->rc == OK; i++) {
        if (i == dictionary->n_parts) {
            fail(making, field, "an entry that its dictionary does not have");
        } else if (index < (uint64_t)dictionary->parts[i].length) {
            make(making, dictionary->parts[i].values, (int64_t)index, out);
            break;
        } else {
            index -= (uint64_t)dictionary->parts[i].length;
        }
    }
    making->depth--;
}

/* ---- Nested values ---- */

static void make_members(struct making *making, struct arrow_field *first, int64_t at,
                         struct json *out)
{
    struct json *last = NULL;

    *out = (struct json){.type = JSON_OBJECT, .line = making->row.line};
    for (struct arrow_field *field = first; field && making->rc == OK; field = field->next) {
        if (!field->is_wanted)
            continue;
        last = table_row_add(&making->row, out, last);
        make(making, field, at, last);
        last->key = table_row_key(&making->row, &field->name);
        last->line = making->row.line;
    }
}

static void make_item(struct making *making, struct arrow_field *field, int64_t at,
                      struct json *out)
{
    struct json key = {.type = JSON_NULL};

    if (field->kind == ARROW_MAP && arrow_has_text_keys(field)) {
        make(making, field->child->child, at, &key);
        make(making, field->child->child->next, at, out);
        out->key = key.type == JSON_STRING ? key.text : str_of("");
    } else {
        make(making, field->child, at, out);
    }
    out->line = making->row.line;
}

static void make_list(struct making *making, struct arrow_field *field, int64_t at,
                      struct json *out)
{
    struct json *last = NULL;
    int64_t from = at * field->width, to = from + field->width;

    if (field->kind != ARROW_FIXED_LIST && !range_of(making, field, at, &from, &to))
        return;
    if (to > field->child->length) {
        fail(making, field, "a list that is longer than its items");
        return;
    }
    out->type = field->kind == ARROW_MAP && arrow_has_text_keys(field) ? JSON_OBJECT : JSON_ARRAY;
    for (int64_t i = from; i < to && making->rc == OK && !arena_failed(making->row.arena); i++) {
        last = table_row_add(&making->row, out, last);
        make_item(making, field, i, last);
    }
}

static void make(struct making *making, struct arrow_field *field, int64_t at, struct json *out)
{
    *out = (struct json){.type = JSON_NULL};
    if (at >= field->length) {
        fail(making, field, "it has fewer values than its batch has rows");
        return;
    }
    if (making->rc != OK || is_null(making, field, at) || making->rc != OK)
        return;
    if (field->dictionary) {
        make_entry(making, field, at, out);
        return;
    }
    switch (field->kind) {
    case ARROW_BOOL:
        make_value(making, field,
                   (union table_value){.i = bit_of(making, &field->buffers[BUFFER_DATA], at)}, out);
        return;
    case ARROW_FIXED:
        make_fixed(making, field, at, out);
        return;
    case ARROW_VARYING:
        make_varying(making, field, at, out);
        return;
    case ARROW_VIEW:
        make_view(making, field, at, out);
        return;
    case ARROW_STRUCT:
        make_members(making, field->child, at, out);
        return;
    case ARROW_LIST:
    case ARROW_FIXED_LIST:
    case ARROW_MAP:
        make_list(making, field, at, out);
        return;
    case ARROW_NULL:
    case ARROW_OTHER:
        return;
    }
}

/* ---- Batches ---- */

static bool is_failure(int rc)
{
    return rc == E_NOMEM || rc == E_IO;
}

/* The batch of the row, NO_BATCH when it is not among those that are known. */
static size_t batch_of(const struct arrow *arrow, int64_t row)
{
    const struct arrow_message *list = arrow->messages.list;
    size_t low = 0, high = arrow->messages.n;

    if (row >= arrow->messages.n_rows)
        return NO_BATCH;
    while (high - low > 1) { /* first_row of dictionaries is that of the next batch */
        size_t middle = low + (high - low) / 2;

        if (list[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Of a file all is looked for, since a dictionary may stand behind what needs it. */
static int find_batch(struct arrow *arrow, size_t *batch, struct error *err)
{
    int rc = 1;
    bool is_all = arrow->messages.is_file && arrow->schema.dictionaries;

    while ((*batch = batch_of(arrow, arrow->row)) == NO_BATCH || (is_all && rc == 1)) {
        rc = arrow_messages_next(&arrow->messages, &arrow->schema, err);
        if (rc <= 0 && (*batch = batch_of(arrow, arrow->row)) == NO_BATCH)
            return rc;
        if (rc <= 0)
            break; /* what is wrong is told when the rows before it are given */
    }
    return 1;
}

static int open_batch(struct arrow *arrow, size_t batch, struct error *why)
{
    const struct arrow_message *message = &arrow->messages.list[batch];
    struct flat_table metadata, inner;
    char *bytes = NULL;
    int rc = arrow_metadata(&arrow->messages, message, &bytes, &metadata, why);

    arrow->batch = batch;
    if (rc == OK && !flat_child(&metadata, 8, &inner))
        rc = error_set(why, E_PARSE, "a record batch without content");
    if (rc == OK)
        rc = arrow_batch_assign(&inner, message, &arrow->memory, arrow->schema.fields, why);
    free(bytes);
    return rc;
}

static int next(struct table *table, struct arena *arena, const struct json **row,
                struct error *why, struct error *err)
{
    struct arrow *arrow = (struct arrow *)table;
    struct making making = {.arrow = arrow, .row = {.arena = arena}, .why = why};
    size_t batch;
    int rc = find_batch(arrow, &batch, err);

    *row = NULL;
    if (rc != 1)
        return rc;
    if (batch != arrow->batch) {
        rc = open_batch(arrow, batch, &arrow->why);
        arrow->is_broken = rc < 0;
    }
    if (arrow->is_broken)
        *why = arrow->why;
    struct json *out = arena_alloc(arena, sizeof *out);
    making.rc = arrow->is_broken ? arrow->why.status : OK;
    making.row.line = arrow->row + 1;
    making.row.stamp = ++arrow->stamp;
    if (making.rc == OK)
        make_members(&making, arrow->schema.fields,
                     arrow->row - arrow->messages.list[batch].first_row,
                     out ? out : &making.row.spare);
    arrow->row++;
    if (is_failure(making.rc)) {
        arrow->batch = NO_BATCH;
        *err = *why;
        return making.rc;
    }
    if (making.rc == OK && arena_failed(arena))
        (void)error_set(why, E_LIMIT, "a row that does not fit into its memory");
    else if (making.rc == OK)
        *row = out;
    return 1;
}

static int seek(struct table *table, int64_t row, struct error *err)
{
    if (row < 0)
        return error_set(err, E_NOTFOUND, "row %lld", (long long)row);
    ((struct arrow *)table)->row = row;
    return OK;
}

/* ---- Rows by columns ---- */

static int make_columns(struct arrow *arrow, struct error *err)
{
    enum table_column_kind kind;
    size_t n = 0;

    for (struct arrow_field *field = arrow->schema.fields; field; field = field->next) {
        n += field->is_wanted;
        if (field->is_wanted && !arrow_column_fits(field, &kind))
            arrow->has_no_columns = true;
    }
    arrow->has_no_columns = arrow->has_no_columns || n == 0 || n > TABLE_BATCH_COLUMNS;
    int rc = arrow->has_no_columns ? OK : table_batch_make(&arrow->columns, n, err);
    struct table_column *column = arrow->columns.columns;

    for (struct arrow_field *field = arrow->schema.fields; column && field; field = field->next)
        if (field->is_wanted) {
            column->name = field->name.text;
            (void)arrow_column_fits(field, &column->kind);
            column++;
        }
    return rc;
}

static bool fill_columns(struct arrow *arrow, struct arrow_range rows)
{
    struct table_column *column = arrow->columns.columns;

    for (struct arrow_field *field = arrow->schema.fields; field; field = field->next)
        if (field->is_wanted)
            rows.n = rows.n ? arrow_column_rows(field, &arrow->memory, rows, &arrow->why) : 0;
    for (struct arrow_field *field = arrow->schema.fields; rows.n && field; field = field->next)
        if (field->is_wanted &&
            arrow_column_fill(column++, field, &arrow->memory, rows, &arrow->why) != OK)
            return false;
    arrow->columns.n = rows.n;
    return rows.n > 0;
}

/* Whatever is wrong is left to the way by rows, which tells it of the row that has it. */
static int next_columns(struct table *table, const struct table_batch **out, struct error *err)
{
    struct arrow *arrow = (struct arrow *)table;
    int rc = arrow->columns.columns || arrow->has_no_columns ? OK : make_columns(arrow, err);
    size_t batch;

    if (rc != OK || arrow->has_no_columns)
        return rc;
    if (find_batch(arrow, &batch, &arrow->why) != 1 || batch == arrow->by_rows)
        return 0;
    if (batch != arrow->batch) {
        rc = open_batch(arrow, batch, &arrow->why);
        arrow->is_broken = rc < 0;
    }
    const struct arrow_message *message = &arrow->messages.list[batch];
    int64_t at = arrow->row - message->first_row, left = message->n_rows - at;
    struct arrow_range rows = {at, left < TABLE_BATCH_ROWS ? (size_t)left : TABLE_BATCH_ROWS};
    if (arrow->is_broken || !fill_columns(arrow, rows)) {
        arrow->by_rows = batch;
        arrow->batch = NO_BATCH; /* so that what is wrong is found again */
        return 0;
    }
    arrow->row += (int64_t)arrow->columns.n;
    *out = &arrow->columns;
    return 1;
}

/* ---- The form of a row ---- */

static const struct json *example(struct table *table)
{
    return ((struct arrow *)table)->example;
}

static void choose(struct table *table, bool (*is_wanted)(void *ctx, const struct json *example),
                   void *ctx)
{
    struct arrow *arrow = (struct arrow *)table;
    const struct json *member = arrow->example->child;

    for (struct arrow_field *field = arrow->schema.fields; field && member;
         field = field->next, member = member->next)
        field->is_wanted = !field->why && is_wanted(ctx, member);
    table_batch_free(&arrow->columns);
    arrow->has_no_columns = false;
    arrow->by_rows = NO_BATCH;
}

/* ---- Opening ---- */

static void close_arrow(struct table *table)
{
    struct arrow *arrow = (struct arrow *)table;

    for (struct arrow_field *field = arrow->schema.fields; field; field = field->next)
        arrow_field_free_buffers(field, &arrow->memory);
    for (struct arrow_dictionary *dictionary = arrow->schema.dictionaries; dictionary;
         dictionary = dictionary->next) {
        arrow_dictionary_free(dictionary, &arrow->memory);
    }
    arrow_messages_free(&arrow->messages);
    table_batch_free(&arrow->columns);
    arena_close(table->arena);
    free(arrow);
}

static const struct table_ops OPS = {
    .next = next, .next_columns = next_columns, .seek = seek,
    .example = example, .choose = choose, .close = close_arrow};

static int read_schema(struct arrow *arrow, struct error *err)
{
    struct flat_table schema;
    char *bytes = NULL;
    int rc = arrow_messages_begin(&arrow->messages, &bytes, &schema, err);

    if (rc == OK)
        rc = arrow_schema_read(&arrow->schema, &schema, &arrow->table, err);
    free(bytes);
    struct json *top = rc == OK ? arena_alloc(arrow->table.arena, sizeof *top) : NULL;
    if (top)
        arrow_example(arrow->schema.fields, arrow->table.arena, top);
    if (rc == OK && arena_failed(arrow->table.arena))
        rc = error_set(err, E_NOMEM, "no memory for a schema");
    arrow->example = top;
    return rc;
}

int arrow_open(struct table **out, struct source_file *file, struct error *err)
{
    struct arrow *arrow = calloc(1, sizeof *arrow);

    if (!arrow)
        return error_set(err, E_NOMEM, "no memory for a table");
    arrow->table = (struct table){.ops = &OPS, .arena = arena_open(TABLE_MEMORY_BYTES)};
    arrow->memory.file = arrow->messages.file = file;
    arrow->memory.arena = arrow->table.arena;
    arrow->batch = arrow->by_rows = NO_BATCH;
    int rc = arrow->table.arena ? read_schema(arrow, err)
                                : error_set(err, E_NOMEM, "no memory for a table");
    if (rc != OK) {
        close_arrow(&arrow->table);
        return rc;
    }
    *out = &arrow->table;
    return OK;
}
