/* Columns by which rows belong together, and how many of the test side's groups the training side
 * has too (CHECKS.md C6.2). Values are known by their hashes; a value is a text or a number of a
 * row, or of an object in it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/number.h"
#include "core/facts/column_kinds.h"
#include "core/facts/leaks_parts.h"

#define MAX_COLUMNS    64
#define MAX_VALUES     (4u << 20)  /* of one column: beyond it is not looked at */
#define TEXT_BYTES     (16u << 20) /* of the values of the test side, to be shown */
#define MOST_LABELS    20          /* values: as many may be classes */
#define SHORT_BYTES    64          /* mean of a text that may be a key */
#define LONGEST_BYTES  512
#define FEWEST_GROUPED 2.0

struct group {
    uint32_t n_train, n_test, text; /* place of the text + 1 */
};

struct column {
    char *name;
    bool is_key_by_name, is_given_up;
    struct id_map values;
    struct group *groups;
    size_t n_groups, capacity;
    int64_t n_train, n_test, n_numbers, n_bytes;
    struct buf texts;
};

struct leak_columns {
    struct column items[MAX_COLUMNS];
    size_t n;
};

int leak_columns_open(struct leak_columns **out, struct error *err)
{
    *out = calloc(1, sizeof **out);
    return *out ? OK : error_set(err, E_NOMEM, "no memory for the columns of rows");
}

static void give_up(struct column *column)
{
    id_map_free(&column->values);
    free(column->groups);
    column->groups = NULL;
    column->n_groups = column->capacity = 0;
    buf_free(&column->texts);
    column->is_given_up = true;
}

void leak_columns_close(struct leak_columns *columns)
{
    if (!columns)
        return;
    for (size_t i = 0; i < columns->n; i++) {
        give_up(&columns->items[i]);
        free(columns->items[i].name);
    }
    free(columns);
}

/* ---- Counting ---- */

static struct column *column_of(struct leak_columns *columns, struct str name, bool is_test)
{
    for (size_t i = 0; i < columns->n; i++)
        if (str_is(name, columns->items[i].name))
            return &columns->items[i];
    if (!is_test || columns->n == MAX_COLUMNS || name.n > LONGEST_BYTES)
        return NULL;
    struct column *column = &columns->items[columns->n];
    *column = (struct column){.name = strndup(name.p, name.n), .is_key_by_name = column_is_key_name(name)};
    if (!column->name)
        return NULL;
    buf_init(&column->texts, TEXT_BYTES);
    columns->n++;
    return column;
}

static uint32_t keep_text(struct column *column, struct str text)
{
    uint32_t at = (uint32_t)column->texts.n;

    text = str_first(text, LONGEST_BYTES);
    if (column->texts.n + text.n + 2 > TEXT_BYTES)
        return 0;
    buf_str(&column->texts, text);
    buf_putc(&column->texts, '\0');
    return column->texts.failed ? 0 : at + 1;
}

/* `text` to be shown. */
static int count_value(struct column *column, uint64_t hash, struct str text, bool is_test,
                       struct error *err)
{
    uint32_t id;
    bool is_new;
    int rc = id_map_add(&column->values, hash, &id, &is_new, err);

    if (rc != OK)
        return rc;
    if (is_new && column->n_groups == column->capacity) {
        size_t capacity = column->capacity ? column->capacity * 2 : 64;
        struct group *groups = realloc(column->groups, capacity * sizeof *groups);

        if (!groups)
            return error_set(err, E_NOMEM, "no memory for the columns of rows");
        column->groups = groups;
        column->capacity = capacity;
    }
    if (is_new)
        column->groups[column->n_groups++] = (struct group){0};
    struct group *group = &column->groups[id];
    if (is_test && !group->n_test++)
        group->text = keep_text(column, text);
    group->n_train += !is_test;
    *(is_test ? &column->n_test : &column->n_train) += 1;
    return OK;
}

static int add_value(struct column *column, struct str text, bool is_number, bool is_test,
                     struct error *err)
{
    double number;
    int rc = count_value(column, hash_bytes(text.p, text.n), text, is_test, err);

    if (rc != OK)
        return rc;
    column->n_bytes += (int64_t)text.n;
    column->n_numbers += is_number || number_parse(text, &number);
    if (text.n > LONGEST_BYTES || column->n_groups > MAX_VALUES)
        give_up(column);
    return OK;
}

static int add_member(struct leak_columns *columns, struct str name, const struct json *value,
                      bool is_test, struct error *err)
{
    if ((value->type != JSON_STRING && value->type != JSON_NUMBER) || value->text.n == 0)
        return OK;
    struct column *column = column_of(columns, name, is_test);

    if (!column || column->is_given_up)
        return OK;
    return add_value(column, value->text, value->type == JSON_NUMBER, is_test, err);
}

static int add_object(struct leak_columns *columns, const struct json *object, bool is_test,
                      struct error *err)
{
    int rc = OK;

    for (const struct json *value = object->child; rc == OK && value; value = value->next) {
        char name[128];
        size_t n = object->key.n + 1 + value->key.n;

        if (n >= sizeof name)
            continue;
        memcpy(name, object->key.p, object->key.n);
        name[object->key.n] = '.';
        memcpy(name + object->key.n + 1, value->key.p, value->key.n);
        rc = add_member(columns, str_from(name, n), value, is_test, err);
    }
    return rc;
}

int leak_columns_add(struct leak_columns *columns, const struct json *line, bool is_test,
                     struct error *err)
{
    int rc = OK;

    for (const struct json *value = line->child; rc == OK && value; value = value->next) {
        if (column_is_content(value->key))
            continue;
        rc = value->type == JSON_OBJECT ? add_object(columns, value, is_test, err)
                                        : add_member(columns, value->key, value, is_test, err);
    }
    return rc;
}

int leak_columns_add_hash(struct leak_columns *columns, const struct form_group *value,
                          bool is_test, int64_t number, struct error *err)
{
    struct column *column = column_of(columns, value->column, true);
    char shown[48];

    if (!column || column->is_given_up)
        return OK;
    snprintf(shown, sizeof shown, "of test row %lld", (long long)number);
    int rc = count_value(column, value->value, str_of(shown), is_test, err);
    if (rc == OK && column->n_groups > MAX_VALUES)
        give_up(column);
    return rc;
}

/* ---- Which may be a key ---- */

static bool may_be_key(const struct column *column)
{
    const int64_t n = column->n_train + column->n_test;
    const struct str name = str_of(column->name);

    if (column->is_given_up || !column->n_test || !column->n_train ||
        column->n_groups <= MOST_LABELS || (int64_t)column->n_groups == n)
        return false;
    if (column->n_bytes > SHORT_BYTES * n && !str_has_ignoring_case(name, "url"))
        return false;
    if (column->is_key_by_name)
        return true;
    return column->n_numbers * 2 < n && !column_is_meant_to_recur(name) &&
           (double)n >= FEWEST_GROUPED * (double)column->n_groups;
}

static void put_largest(const struct column *column, const struct group *group, struct arena *arena,
                        struct leak_column *out)
{
    int64_t n = (int64_t)group->n_train + group->n_test;
    size_t at = out->n_largest;

    while (at > 0 && out->largest[at - 1].n_train + out->largest[at - 1].n_test < n)
        at--;
    if (at == LEAK_MAX_GROUPS)
        return;
    if (out->n_largest < LEAK_MAX_GROUPS)
        out->n_largest++;
    memmove(&out->largest[at + 1], &out->largest[at],
            (out->n_largest - 1 - at) * sizeof *out->largest);
    out->largest[at] = (struct leak_group){
        .value = group->text ? arena_strdup(arena, column->texts.p + group->text - 1) : "",
        .n_train = group->n_train,
        .n_test = group->n_test};
}

/* What a split by rows would share: a group of s rows has rows on a side with 1 - (other's
 * share)^s. */
static double expected_share(const struct column *column)
{
    const double n = (double)(column->n_train + column->n_test);
    const double test = (double)column->n_test / n, train = 1.0 - test;
    double in_test = 0.0, in_both = 0.0;

    for (size_t i = 0; i < column->n_groups; i++) {
        double size = (double)column->groups[i].n_train + column->groups[i].n_test;

        in_test += 1.0 - pow(train, size);
        in_both += 1.0 - pow(train, size) - pow(test, size);
    }
    return in_test > 0.0 ? fmax(in_both, 0.0) / in_test : 0.0;
}

static void describe(const struct column *column, struct arena *arena, struct leak_column *out)
{
    *out = (struct leak_column){.name = arena_strdup(arena, column->name),
                                .is_key_by_name = column->is_key_by_name,
                                .n_values = (int64_t)column->n_groups,
                                .n_rows = column->n_train + column->n_test,
                                .n_test_rows = column->n_test,
                                .expected = expected_share(column)};
    for (size_t i = 0; i < column->n_groups; i++) {
        const struct group *group = &column->groups[i];

        out->n_test_groups += group->n_test > 0;
        if (!group->n_test || !group->n_train)
            continue;
        out->n_shared_groups++;
        out->n_shared_rows += group->n_test;
        put_largest(column, group, arena, out);
    }
}

/* A key by its name before another column, the larger share first. */
static bool is_worse(const struct leak_column *a, const struct leak_column *b)
{
    double share_a = (double)a->n_shared_groups / (double)a->n_test_groups;
    double share_b = (double)b->n_shared_groups / (double)b->n_test_groups;

    if (a->is_key_by_name != b->is_key_by_name)
        return a->is_key_by_name;
    return share_a > share_b;
}

int leak_columns_find(const struct leak_columns *columns, struct arena *arena,
                      const struct leak_column **out, size_t *n, struct error *err)
{
    struct leak_column *list = arena_array(arena, columns->n + 1, sizeof *list), *described;

    described = arena_alloc(arena, sizeof *described);
    if (!list || !described)
        return error_set(err, E_NOMEM, "no memory for the columns of rows");
    *n = 0;
    for (size_t i = 0; i < columns->n; i++) {
        size_t at = *n;

        if (!may_be_key(&columns->items[i]))
            continue;
        describe(&columns->items[i], arena, described);
        for (; at > 0 && is_worse(described, &list[at - 1]); at--)
            list[at] = list[at - 1];
        list[at] = *described;
        ++*n;
    }
    *out = list;
    return OK;
}
