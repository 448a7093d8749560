/* A row of W&B's history as points. The step is the trainer's own (train/global_step …) where it
 * logs one; `_step` only counts the calls of wandb.log. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/metric_names.h"
#include "core/read/protobuf.h"
#include "importers/run/wandb.h"

#define ROW_BYTES   ((size_t)4 << 20)
#define MAX_NESTING 4

int wandb_history_begin(struct wandb_history *history, struct import *import, struct error *err)
{
    *history = (struct wandb_history){.arena = arena_open(ROW_BYTES)};
    int rc = metric_rows_begin(&history->rows, import, err);

    history->rows.is_logged = true;
    history->fields = calloc(WANDB_ROW_FIELDS, sizeof *history->fields);
    if (rc == OK && (!history->arena || !history->fields))
        rc = error_set(err, E_NOMEM, "no memory for the history of W&B");
    return rc;
}

void wandb_history_end(struct wandb_history *history)
{
    metric_rows_end(&history->rows);
    free(history->fields);
    arena_close(history->arena);
}

/* ---- Values ---- */

static bool word_number(struct str text, double *out)
{
    bool is_word = str_is(text, "NaN") || str_is(text, "Infinity") || str_is(text, "-Infinity");

    return is_word && number_parse_any(text, out);
}

/* W&B writes what JSON has no number for bare, older versions as strings. */
static bool number_of(struct str json, double *out)
{
    if (json.n == 0)
        return false;
    if (*json.p != '"')
        return strchr("-0123456789NI", *json.p) && number_parse_any(json, out);
    return json.n > 2 && json.p[json.n - 1] == '"' &&
           word_number(str_from(json.p + 1, json.n - 2), out);
}

/* Places, not metrics: of those that W&B adds, `_runtime` and its like say nothing more. */
static bool is_wanted(struct str name)
{
    return *name.p != '_' || str_is(name, "_step") || str_is(name, "_timestamp");
}

static void put(struct wandb_history *history, struct str name, struct str text, double number)
{
    if (!is_wanted(name))
        return;
    if (history->n_fields == WANDB_ROW_FIELDS) {
        history->n_left_out++;
        return;
    }
    history->fields[history->n_fields++] =
        (struct json_field){.key = name, .text = text, .number = number, .is_number = true};
}

static void put_tree(struct wandb_history *history, struct str prefix, const struct json *object,
                     int depth);

static void put_value(struct wandb_history *history, struct str name, const struct json *value,
                      int depth)
{
    double number = value->number;

    if (value->type == JSON_NUMBER ||
        (value->type == JSON_STRING && word_number(value->text, &number)))
        put(history, name, value->text, number);
    else if (value->type == JSON_OBJECT)
        put_tree(history, name, value, depth);
}

/* Dictionaries that were logged as they are; pictures, tables and histograms say `_type`. */
static void put_tree(struct wandb_history *history, struct str prefix, const struct json *object,
                     int depth)
{
    if (json_get(object, "_type") || depth > MAX_NESTING)
        return;
    for (const struct json *child = object->child; child; child = child->next) {
        const char *name = arena_printf(history->arena, "%.*s.%.*s", (int)prefix.n, prefix.p,
                                        (int)child->key.n, child->key.p);

        put_value(history, str_of(name), child, depth + 1);
    }
}

static void put_item(struct wandb_history *history, const struct wandb_item *item)
{
    const struct json *tree;
    double number;

    if (number_of(item->json, &number))
        put(history, item->name, item->json, number);
    else if (item->json.n > 2 && *item->json.p == '{' &&
             json_parse(item->json, false, history->arena, &tree, NULL, NULL) == OK &&
             json_is(tree, JSON_OBJECT))
        put_tree(history, item->name, tree, 0);
}

/* ---- Steps ---- */

static bool is_own_step(struct str name)
{
    static const char *const NAMES[] = {
        "train/global_step", "trainer/global_step", "global_step", "step",
        "train/step",        "iteration",           "iter"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is(name, NAMES[i]))
            return true;
    return false;
}

static void swap_to_front(struct wandb_history *history, size_t i)
{
    struct json_field first = history->fields[0];

    history->fields[0] = history->fields[i];
    history->fields[i] = first;
}

/* What comes first counts as the step. Where a trainer has steps of its own, `_step` is none. */
static void order_steps(struct wandb_history *history, int64_t record_step)
{
    size_t own = history->n_fields, count = history->n_fields;

    for (size_t i = 0; i < history->n_fields; i++) {
        if (own == history->n_fields && is_own_step(history->fields[i].key))
            own = i;
        else if (str_is(history->fields[i].key, "_step"))
            count = i;
    }
    if (own < history->n_fields) {
        history->has_own_step = true;
        swap_to_front(history, own);
    } else if (history->has_own_step && count < history->n_fields) {
        history->fields[count] = history->fields[--history->n_fields];
    } else if (!history->has_own_step && count == history->n_fields && record_step >= 0) {
        put(history, str_of("_step"), str_of(""), (double)record_step);
        swap_to_front(history, history->n_fields - 1);
    }
}

/* The row that was put together. */
static int add_fields(struct wandb_history *history, int64_t record_step, struct error *err)
{
    if (arena_failed(history->arena)) {
        history->n_left_out++; /* names and trees of this row were too long */
        return OK;
    }
    order_steps(history, record_step);
    if (history->n_fields == 0)
        return OK;
    const struct json_row row = {
        .fields = history->fields, .n = history->n_fields, .line = NONE, .byte = NONE};
    return metric_rows_add(&history->rows, &row, err);
}

static int64_t step_of(struct str bytes)
{
    struct protobuf in = protobuf_of(bytes);
    struct protobuf_field field;

    while (protobuf_next(&in, &field, NULL) == 1)
        if (field.number == 1 && field.wire == WIRE_VARINT)
            return protobuf_int(&field);
    return NONE;
}

int wandb_history_add(struct wandb_history *history, struct str record, struct error *err)
{
    enum { ITEM = 1, STEP = 2 };
    struct protobuf in = protobuf_of(record);
    struct protobuf_field field;
    struct wandb_item item;
    int64_t step = NONE;
    int rc;

    history->n_fields = 0;
    if (arena_used(history->arena) > 0)
        arena_reset(history->arena);
    while ((rc = protobuf_next(&in, &field, NULL)) == 1) {
        if (field.number == ITEM && field.wire == WIRE_BYTES) {
            if (wandb_item_of(field.bytes, history->arena, &item))
                put_item(history, &item);
            else
                history->n_damaged++;
        } else if (field.number == STEP && field.wire == WIRE_BYTES) {
            step = step_of(field.bytes);
        }
    }
    history->n_damaged += rc != 0;
    return add_fields(history, step, err);
}

int wandb_history_add_json(struct wandb_history *history, struct str text, int64_t step,
                           double wall, struct error *err)
{
    const struct json *row;

    history->n_fields = 0;
    if (arena_used(history->arena) > 0)
        arena_reset(history->arena);
    if (json_parse(text, false, history->arena, &row, NULL, NULL) != OK ||
        !json_is(row, JSON_OBJECT)) {
        history->n_damaged++;
        return OK;
    }
    for (const struct json *child = row->child; child; child = child->next)
        if (child->key.n > 0)
            put_value(history, child->key, child, 0);
    if (isfinite(wall))
        put(history, str_of("_timestamp"), str_of(""), wall);
    return add_fields(history, step, err);
}
