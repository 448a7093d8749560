/* See column_rows.h. What is seen of a row is what dataset_rows.c sees of its tree. */
#include "importers/dataset/column_rows.h"

#include "importers/dataset/token_rows.h"

static const struct table_column *list_named(const struct table_batch *batch, const char *name)
{
    for (size_t i = 0; i < batch->n_columns; i++)
        if (str_is(batch->columns[i].name, name))
            return batch->columns[i].kind == COLUMN_INT_LISTS ? &batch->columns[i] : NULL;
    return NULL;
}

bool column_rows_fit(const struct json *example)
{
    const struct json *ids = json_get(example, "input_ids");

    return json_is(ids, JSON_ARRAY) && json_is(ids->child, JSON_NUMBER) &&
           !(json_get(example, "chosen") && json_get(example, "rejected"));
}

struct column_rows column_rows_of(const struct table_batch *batch)
{
    return (struct column_rows){.batch = batch,
                                .ids = list_named(batch, "input_ids"),
                                .labels = list_named(batch, "labels")};
}

bool column_rows_has(const struct column_rows *rows, size_t row)
{
    return rows->ids && table_column_has(rows->ids, row);
}

/* A value as a tree has it, but for what is in a list. */
static struct json member_of(const struct table_column *column, size_t row)
{
    struct json member = {.type = JSON_NULL, .key = column->name};

    if (!table_column_has(column, row))
        return member;
    member.type = column->kind == COLUMN_INT_LISTS ? JSON_ARRAY : JSON_NUMBER;
    if (column->kind == COLUMN_INTS)
        member.number = (double)column->ints[row];
    else if (column->kind == COLUMN_FLOATS)
        member.number = column->floats[row];
    return member;
}

void column_rows_see(const struct column_rows *rows, size_t row, int64_t line, int64_t number,
                     const struct column_sights *sights)
{
    for (size_t i = 0; i < rows->batch->n_columns; i++) {
        const struct table_column *column = &rows->batch->columns[i];
        struct json member = member_of(column, row);
        const struct json object = {.type = JSON_OBJECT, .child = &member, .n = 1};
        const struct json_row as_row = {.line = line, .tree = &object};
        size_t begin = column->kind == COLUMN_INT_LISTS ? table_list_begin(column, row) : 0;

        columns_see_member(sights->columns, &member);
        if (member.type == JSON_ARRAY) {
            id_range_list(sights->range, column->name, column->ints + begin,
                          column->ends[row] - begin, line);
            continue;
        }
        id_range_row(sights->range, &as_row);
        class_blocks_row(sights->blocks, &as_row, number);
    }
}

void column_rows_facts(const struct column_rows *rows, size_t row, struct sample *out)
{
    const struct table_column *ids = rows->ids, *labels = rows->labels;
    size_t begin = table_list_begin(ids, row), n_labels = 0;
    const int64_t *of_labels = NULL;

    if (labels && table_column_has(labels, row)) {
        of_labels = labels->ints + table_list_begin(labels, row);
        n_labels = labels->ends[row] - table_list_begin(labels, row);
    }
    token_list_facts(ids->ints + begin, ids->ends[row] - begin, of_labels, n_labels, out);
}
