/* Rows of an Arrow batch by columns, from the same buffers as arrow_rows.c, which goes on where this
 * cannot. See table_columns.h. */
#include "core/read/arrow_parts.h"

/* A whole number that 63 bits hold. */
static bool is_int(const struct arrow_field *field)
{
    return field->kind == ARROW_FIXED && !field->dictionary && !field->is_float && !field->is_ms &&
           (field->value.kind == VALUE_INT ||
            (field->value.kind == VALUE_UINT && field->value.bits <= 32));
}

static bool is_list(const struct arrow_field *field)
{
    return (field->kind == ARROW_LIST || field->kind == ARROW_FIXED_LIST) && !field->dictionary &&
           is_int(field->child);
}

bool arrow_column_fits(const struct arrow_field *field, enum table_column_kind *kind)
{
    bool is_float = field->kind == ARROW_FIXED && !field->dictionary && field->is_float &&
                    field->value.kind == VALUE_FLOAT;

    *kind = is_int(field) ? COLUMN_INTS : is_float ? COLUMN_FLOATS : COLUMN_INT_LISTS;
    return is_int(field) || is_float || is_list(field);
}

/* ---- Values ---- */

static inline uint64_t load(const unsigned char *p, unsigned width)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < width; i++)
        value |= (uint64_t)p[i] << (8 * i);
    return value;
}

/* Written out, since compilers make one load of these. */
static inline uint32_t load4(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t load8(const unsigned char *p)
{
    return (uint64_t)load4(p) | (uint64_t)load4(p + 4) << 32;
}

static void load_ints(const struct arrow_field *field, const unsigned char *p, int64_t *out,
                      size_t n)
{
    int64_t mask =
        field->value.kind == VALUE_UINT ? (int64_t)(UINT64_MAX >> (64 - field->value.bits)) : -1;

    switch (field->width) {
    case 4:
        for (size_t i = 0; i < n; i++)
            out[i] = (int32_t)load4(p + 4 * i) & mask;
        return;
    case 8:
        for (size_t i = 0; i < n; i++)
            out[i] = (int64_t)load8(p + 8 * i) & mask;
        return;
    default:
        break;
    }
    unsigned width = (unsigned)field->width, shift = 64 - 8 * width;
    for (size_t i = 0; i < n; i++)
        out[i] = ((int64_t)(load(p + width * i, width) << shift) >> shift) & mask;
}

static void load_floats(const struct arrow_field *field, const unsigned char *p, double *out,
                        size_t n)
{
    for (size_t i = 0; field->width == 4 && i < n; i++) {
        uint32_t bits = load4(p + 4 * i);
        float single;

        memcpy(&single, &bits, sizeof single);
        out[i] = (double)single;
    }
    for (size_t i = 0; field->width == 8 && i < n; i++) {
        uint64_t bits = load8(p + 8 * i);

        memcpy(&out[i], &bits, sizeof bits);
    }
}

/* `out` gets 1 for each row that is there; *has_nulls is set where one is not. */
static int load_validity(struct arrow_field *field, struct arrow_memory *memory, int64_t at,
                         size_t n, unsigned char *out, bool *has_nulls, struct error *err)
{
    struct arrow_buffer *buffer = &field->buffers[BUFFER_VALIDITY];
    const unsigned char *p;
    size_t shift = (size_t)(at % 8);
    unsigned all = 1;

    *has_nulls = false;
    if (buffer->n_stored == 0 || n == 0)
        return OK;
    int rc = arrow_bytes(buffer, memory, at / 8, (int64_t)(shift + n + 7) / 8, &p, err);
    for (size_t i = 0; rc == OK && i < n; i++) {
        out[i] = p[(shift + i) / 8] >> ((shift + i) % 8) & 1;
        all &= out[i];
    }
    *has_nulls = !all;
    return rc;
}

static int fill_flat(struct table_column *out, struct arrow_field *field,
                     struct arrow_memory *memory, struct arrow_range rows, struct error *err)
{
    const unsigned char *p;
    int rc = arrow_bytes(&field->buffers[BUFFER_DATA], memory, rows.at * field->width,
                         (int64_t)rows.n * field->width, &p, err);

    if (rc != OK)
        return rc;
    if (out->kind == COLUMN_INTS)
        load_ints(field, p, out->ints, rows.n);
    else
        load_floats(field, p, out->floats, rows.n);
    return OK;
}

/* ---- Lists ---- */

static int check_offsets(struct arrow_field *field, struct arrow_memory *memory, struct error *err)
{
    int64_t before = 0, per_read = (int64_t)ARROW_WINDOW_BYTES / 2 / field->width;

    for (int64_t at = 0; at <= field->length; at += per_read) {
        int64_t n = field->length + 1 - at < per_read ? field->length + 1 - at : per_read;
        const unsigned char *p;
        int rc = arrow_bytes(&field->buffers[BUFFER_OFFSETS], memory, at * field->width,
                             n * field->width, &p, err);

        if (rc != OK)
            return rc;
        for (int64_t i = 0; i < n; i++) {
            int64_t offset =
                (int64_t)load(p + i * field->width, (unsigned)field->width);

            if (offset < before)
                return E_PARSE;
            before = offset;
        }
    }
    field->is_checked = true;
    return OK;
}

/* Where the items of the rows begin, n + 1 numbers. */
static int list_offsets(struct arrow_field *field, struct arrow_memory *memory,
                        struct arrow_range rows, int64_t *out, struct error *err)
{
    const unsigned char *p;
    int rc = OK;

    if (field->kind == ARROW_FIXED_LIST) {
        for (size_t i = 0; i <= rows.n; i++)
            out[i] = (rows.at + (int64_t)i) * field->width;
        return OK;
    }
    if (!field->is_checked)
        rc = check_offsets(field, memory, err);
    if (rc == OK)
        rc = arrow_bytes(&field->buffers[BUFFER_OFFSETS], memory, rows.at * field->width,
                         (int64_t)(rows.n + 1) * field->width, &p, err);
    for (size_t i = 0; rc == OK && i <= rows.n; i++)
        out[i] = (int64_t)load(p + i * (size_t)field->width, (unsigned)field->width);
    return rc;
}

static int fill_items(struct table_column *out, struct arrow_field *items,
                      struct arrow_memory *memory, struct arrow_range range, struct error *err)
{
    unsigned char there[TABLE_BATCH_ROWS];
    const unsigned char *p;
    bool has_nulls = false;

    if (range.n == 0)
        return OK;
    if (range.at > INT64_MAX / 16 || range.n > TABLE_MOST_ITEMS ||
        range.at + (int64_t)range.n > items->length ||
        !table_column_room(out, out->n_items + range.n))
        return E_LIMIT;
    for (size_t at = 0; at < range.n; at += sizeof there) {
        size_t n = range.n - at < sizeof there ? range.n - at : sizeof there;
        int rc = load_validity(items, memory, range.at + (int64_t)at, n, there, &has_nulls, err);

        if (rc != OK || has_nulls)
            return rc == OK ? E_UNSUPPORTED : rc;
    }
    int rc = arrow_bytes(&items->buffers[BUFFER_DATA], memory, range.at * items->width,
                         (int64_t)range.n * items->width, &p, err);
    if (rc != OK)
        return rc;
    load_ints(items, p, out->ints + out->n_items, range.n);
    out->n_items += range.n;
    return OK;
}

/* Rows without a gap between their items are read at once. */
static int fill_lists(struct table_column *out, struct arrow_field *field,
                      struct arrow_memory *memory, struct arrow_range rows, struct error *err)
{
    int64_t offsets[TABLE_BATCH_ROWS + 1];
    int rc = list_offsets(field, memory, rows, offsets, err);

    out->n_items = 0;
    for (size_t row = 0; rc == OK && row < rows.n;) {
        size_t end = row;

        if (out->has_nulls && !out->is_there[row]) {
            out->ends[row++] = out->n_items;
            continue;
        }
        for (; end < rows.n && (!out->has_nulls || out->is_there[end]); end++)
            out->ends[end] = out->n_items + (size_t)(offsets[end + 1] - offsets[row]);
        struct arrow_range items = {offsets[row], (size_t)(offsets[end] - offsets[row])};
        rc = fill_items(out, field->child, memory, items, err);
        row = end;
    }
    return rc;
}

size_t arrow_column_rows(struct arrow_field *field, struct arrow_memory *memory,
                         struct arrow_range rows, struct error *err)
{
    int64_t offsets[TABLE_BATCH_ROWS + 1];
    size_t n = 1;

    if (rows.at + (int64_t)rows.n > field->length)
        return 0;
    if (!is_list(field))
        return rows.n;
    if (list_offsets(field, memory, rows, offsets, err) != OK)
        return 0;
    while (n < rows.n && offsets[n + 1] - offsets[0] <= (int64_t)TABLE_BATCH_ITEMS)
        n++;
    return n;
}

int arrow_column_fill(struct table_column *out, struct arrow_field *field,
                      struct arrow_memory *memory, struct arrow_range rows, struct error *err)
{
    int rc = load_validity(field, memory, rows.at, rows.n, out->is_there, &out->has_nulls, err);

    if (rc != OK)
        return rc;
    return out->kind == COLUMN_INT_LISTS ? fill_lists(out, field, memory, rows, err)
                                         : fill_flat(out, field, memory, rows, err);
}
