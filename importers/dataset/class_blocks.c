/* Runs of equal classes in a data set. */
#include "importers/dataset/class_blocks.h"

#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/number.h"
#include "core/facts/dataset_shards.h"
#include "importers/dataset/class_names.h"

enum { ROWS_OF_CLASS = 5 };

/* Columns that name a class or where a row is from, and answers, which are a class where few of them
 * recur. */
static const char *const NAMES[] = {
    "label",   "labels",       "class",       "category", "intent",   "sentiment", "topic",
    "source",  "data_source",  "dataset",     "dataset_name", "task", "task_name", "subset",
    "domain",  "origin",       "language",    "lang",     "output",   "completion", "answer",
    "response", "target",
};

static bool is_class_name(struct str name)
{
    if (name.n < 4 || name.n > 12)
        return false;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is(name, NAMES[i]))
            return true;
    return false;
}

static struct class_column *column_of(struct class_blocks *blocks, struct str name)
{
    for (size_t i = 0; i < blocks->n; i++)
        if (str_is(name, blocks->columns[i].name))
            return &blocks->columns[i];
    if (blocks->n == CLASS_COLUMNS)
        return NULL;
    struct class_column *column = &blocks->columns[blocks->n++];
    *column = (struct class_column){0};
    memcpy(column->name, name.p, name.n);
    return column;
}

/* Counts the value; false: one more class than can be followed. */
static bool count(struct class_column *column, uint64_t value, struct str text)
{
    int64_t number;

    for (size_t i = 0; i < column->n_classes; i++)
        if (column->classes[i] == value) {
            column->counts[i]++;
            return true;
        }
    if (column->n_classes == MAX_CLASSES)
        return false;
    column->classes[column->n_classes] = value;
    column->numbers[column->n_classes] = number_parse_int(text, &number) ? number : -1;
    column->counts[column->n_classes++] = 1;
    return true;
}

void class_blocks_value(struct class_blocks *blocks, struct str column_name, struct str value,
                        int64_t row)
{
    if (!is_class_name(column_name) || value.n == 0)
        return;
    struct class_column *column = column_of(blocks, column_name);
    if (!column || column->has_too_many)
        return;
    uint64_t hash = hash_bytes(value.p, value.n);
    if (!count(column, hash, value)) {
        column->has_too_many = true;
        return;
    }
    column->n_rows++;
    if (column->n_rows == 1)
        column->first = hash;
    if (column->n_rows > 1 && column->last == hash)
        return;
    column->last = hash;
    column->n_runs++;
    if (column->n_edges < CLASS_EDGES)
        column->edges[column->n_edges++] = row;
}

void class_blocks_row(struct class_blocks *blocks, const struct json_row *row, int64_t number)
{
    for (size_t i = 0; i < row->n; i++)
        if (row->fields[i].is_quoted || !str_is(row->fields[i].text, "null"))
            class_blocks_value(blocks, row->fields[i].key, row->fields[i].text, number);
    if (!json_is(row->tree, JSON_OBJECT))
        return;
    for (const struct json *m = row->tree->child; m; m = m->next) {
        char text[32];

        if (m->type == JSON_STRING)
            class_blocks_value(blocks, m->key, m->text, number);
        if (m->type == JSON_NUMBER) {
            snprintf(text, sizeof text, "%.17g", m->number);
            class_blocks_value(blocks, m->key, str_of(text), number);
        }
        if (m->type == JSON_TRUE || m->type == JSON_FALSE)
            class_blocks_value(blocks, m->key, str_of(m->type == JSON_TRUE ? "1" : "0"), number);
    }
}

static void put_numbers(struct buf *out, const char *name, const int64_t *numbers, size_t n)
{
    buf_printf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%lld", i ? "," : "", (long long)numbers[i]);
    buf_putc(out, ']');
}

static void put_hashes(struct buf *out, const char *name, const uint64_t *hashes, size_t n)
{
    buf_printf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s\"%016llx\"", i ? "," : "", (unsigned long long)hashes[i]);
    buf_putc(out, ']');
}

/* The name of each class; nothing where one has none. */
static void put_names(struct buf *out, const struct class_column *column,
                      const struct json *features)
{
    for (size_t i = 0; i < column->n_classes; i++)
        if (class_name_of(features, column->name, column->numbers[i]).n == 0)
            return;
    buf_puts(out, ",\"names\":[");
    for (size_t i = 0; i < column->n_classes; i++) {
        const struct json name = {.type = JSON_STRING,
                                  .text = class_name_of(features, column->name, column->numbers[i])};
        if (i)
            buf_putc(out, ',');
        json_write(out, &name);
    }
    buf_putc(out, ']');
}

static int put_column(const struct class_column *column, bool is_shard, struct import *import,
                      struct error *err)
{
    char name[96];
    struct buf out;

    buf_init(&out, 1 << 16);
    buf_printf(&out, "{\"rows\":%lld,\"runs\":%lld", (long long)column->n_rows,
               (long long)column->n_runs);
    put_numbers(&out, "counts", column->counts, column->n_classes);
    if (column->n_runs <= CLASS_EDGES)
        put_numbers(&out, "edges", column->edges, column->n_edges);
    if (column->n_classes && column->numbers[0] >= 0)
        put_names(&out, column, class_names_features(import->path, import->arena));
    if (is_shard) {
        put_hashes(&out, "classes", column->classes, column->n_classes);
        put_hashes(&out, "ends", (const uint64_t[]){column->first, column->last}, 2);
    }
    buf_putc(&out, '}');
    snprintf(name, sizeof name, "rows.blocks.%s", column->name);
    int rc = out.failed ? error_set(err, E_NOMEM, "no memory for the classes of a data set")
                        : import_setting(import, SIDE_TRAIN, name, out.p, VALUE_OBJECT, NONE, err);
    buf_free(&out);
    return rc;
}

/* Two values of some rows each: a column of names or of free text has none. */
static bool has_classes(const struct class_column *column, size_t at_least)
{
    size_t n = 0;

    for (size_t i = 0; i < column->n_classes; i++)
        n += column->counts[i] >= ROWS_OF_CLASS;
    return n >= at_least && !column->has_too_many;
}

int class_blocks_put(const struct class_blocks *blocks, struct import *import, struct error *err)
{
    const char *slash = strrchr(import->path, '/');
    struct shard_name shard;
    bool is_shard = shard_name_read(slash ? slash + 1 : import->path, &shard);
    int rc = OK;

    for (size_t i = 0; rc == OK && i < blocks->n; i++)
        if (has_classes(&blocks->columns[i], is_shard ? 1 : 2))
            rc = put_column(&blocks->columns[i], is_shard, import, err);
    return rc;
}
