/* See table_columns.h. */
#include "core/read/table_columns.h"

#include <stdlib.h>

#include "core/read/table_row.h"
#include "core/read/table_value.h"

int table_batch_make(struct table_batch *batch, size_t n_columns, struct error *err)
{
    bool has_room;

    *batch = (struct table_batch){.columns = calloc(n_columns + 1, sizeof *batch->columns),
                                  .n_columns = n_columns};
    has_room = batch->columns != NULL;
    for (size_t i = 0; has_room && i < n_columns; i++) {
        struct table_column *column = &batch->columns[i];

        column->is_there = malloc(TABLE_BATCH_ROWS);
        column->ends = malloc(TABLE_BATCH_ROWS * sizeof *column->ends);
        column->floats = malloc(TABLE_BATCH_ROWS * sizeof *column->floats);
        column->ints = malloc(TABLE_BATCH_ROWS * sizeof *column->ints);
        column->capacity = TABLE_BATCH_ROWS;
        has_room = column->is_there && column->ends && column->floats && column->ints;
    }
    if (has_room)
        return OK;
    table_batch_free(batch);
    return error_set(err, E_NOMEM, "no memory for the columns of a table");
}

void table_batch_free(struct table_batch *batch)
{
    for (size_t i = 0; batch->columns && i < batch->n_columns; i++) {
        free(batch->columns[i].is_there);
        free(batch->columns[i].ends);
        free(batch->columns[i].floats);
        free(batch->columns[i].ints);
    }
    free(batch->columns);
    *batch = (struct table_batch){0};
}

bool table_column_room(struct table_column *column, size_t n)
{
    size_t capacity = column->capacity;

    if (n <= capacity)
        return true;
    while (capacity < n)
        capacity *= 2;
    int64_t *grown =
        capacity <= TABLE_MOST_ITEMS ? realloc(column->ints, capacity * sizeof *grown) : NULL;
    if (!grown)
        return false;
    column->ints = grown;
    column->capacity = capacity;
    return true;
}

/* ---- One row ---- */

static void put_int(struct arena *arena, int64_t value, struct json *out)
{
    static const struct value_type type = {.kind = VALUE_INT};

    (void)value_json(arena, &type, (union table_value){.i = value}, out);
}

static void put_list(const struct table_column *column, size_t row, struct table_row *to,
                     struct json *out)
{
    struct json *last = NULL;

    out->type = JSON_ARRAY;
    for (size_t i = table_list_begin(column, row); i < column->ends[row]; i++) {
        last = table_row_add(to, out, last);
        *last = (struct json){.line = to->line};
        put_int(to->arena, column->ints[i], last);
    }
}

const struct json *table_batch_row(const struct table_batch *batch, size_t row, int64_t line,
                                   struct arena *arena)
{
    struct table_row to = {.arena = arena, .line = line};
    struct json *out = arena_alloc(arena, sizeof *out), *last = NULL;

    if (!out)
        return NULL;
    *out = (struct json){.type = JSON_OBJECT, .line = line};
    for (size_t i = 0; i < batch->n_columns; i++) {
        const struct table_column *column = &batch->columns[i];

        last = table_row_add(&to, out, last);
        *last = (struct json){.type = JSON_NULL, .key = arena_str(arena, column->name), .line = line};
        if (!table_column_has(column, row))
            continue;
        if (column->kind == COLUMN_INT_LISTS)
            put_list(column, row, &to, last);
        else if (column->kind == COLUMN_INTS)
            put_int(arena, column->ints[row], last);
        else
            (void)value_json(arena, &(struct value_type){.kind = VALUE_FLOAT},
                             (union table_value){.d = column->floats[row]}, last);
    }
    return arena_failed(arena) ? NULL : out;
}
