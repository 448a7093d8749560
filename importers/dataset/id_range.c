/* Range of labels and token ids. See id_range.h. */
#include "importers/dataset/id_range.h"

#include <math.h>
#include <stdio.h>

#include "core/base/number.h"

#define IGNORED_LABEL (-100.0)

static bool is_label_name(struct str name)
{
    static const char *const NAMES[] = {"label", "labels", "ner_tags"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is(name, NAMES[i]))
            return true;
    return false;
}

static void see_label(struct id_range *range, double label, int64_t line)
{
    if (label == IGNORED_LABEL)
        return;
    if (!isfinite(label) || label != floor(label) || fabs(label) > 1e15) {
        range->is_regression = true;
        return;
    }
    if (!range->max_label.is_known || label > range->max_label.value)
        range->max_label = (struct id_extreme){true, label, line};
    if (!range->min_label.is_known || label < range->min_label.value)
        range->min_label = (struct id_extreme){true, label, line};
}

static void see_id(struct id_range *range, double id, int64_t line)
{
    if (isfinite(id) && (!range->max_input_id.is_known || id > range->max_input_id.value))
        range->max_input_id = (struct id_extreme){true, id, line};
}

static void see_number(struct id_range *range, bool is_label, const struct json *value, int64_t line)
{
    if (value->type == JSON_NUMBER && is_label)
        see_label(range, value->number, line);
    else if (value->type == JSON_NUMBER)
        see_id(range, value->number, line);
}

static void see_value(struct id_range *range, struct str name, const struct json *value,
                      int64_t line)
{
    bool is_label = is_label_name(name);

    if (!is_label && !str_is(name, "input_ids"))
        return;
    if (value->type == JSON_ARRAY) { /* of a batch: lists nested one level */
        for (const struct json *item = value->child; item; item = item->next) {
            see_number(range, is_label, item, line);
            for (const struct json *inner = item->type == JSON_ARRAY ? item->child : NULL; inner;
                 inner = inner->next)
                see_number(range, is_label, inner, line);
        }
        return;
    }
    see_number(range, is_label, value, line);
}

/* Between the greatest and the least nothing decides. */
void id_range_list(struct id_range *range, struct str column, const int64_t *numbers, size_t n,
                   int64_t line)
{
    bool is_label = is_label_name(column);
    int64_t most = INT64_MIN, least = INT64_MAX;

    if (!is_label && !str_is(column, "input_ids"))
        return;
    for (size_t i = 0; i < n; i++) {
        if (is_label && numbers[i] == (int64_t)IGNORED_LABEL)
            continue;
        most = numbers[i] > most ? numbers[i] : most;
        least = numbers[i] < least ? numbers[i] : least;
    }
    if (most < least)
        return;
    if (!is_label) {
        see_id(range, (double)most, line);
        return;
    }
    see_label(range, (double)most, line);
    see_label(range, (double)least, line);
}

void id_range_row(struct id_range *range, const struct json_row *row)
{
    double label;

    for (const struct json *member = row->tree ? row->tree->child : NULL; member;
         member = member->next)
        see_value(range, member->key, member, row->line);
    for (size_t i = 0; i < row->n; i++)
        if (row->fields[i].is_number && is_label_name(row->fields[i].key) &&
            number_parse(row->fields[i].text, &label))
            see_label(range, label, row->line);
}

void id_range_cell(struct id_range *range, const char *column, struct str cell, int64_t line)
{
    double label;

    if (is_label_name(str_of(column)) && number_parse(str_trim(cell), &label))
        see_label(range, label, line);
}

static int put(const struct id_extreme *extreme, const char *name, struct import *import,
               struct error *err)
{
    char text[32];

    if (!extreme->is_known)
        return OK;
    (void)snprintf(text, sizeof text, "%.0f", extreme->value);
    return import_setting(import, SIDE_TRAIN, name, text, VALUE_INT, extreme->line, err);
}

int id_range_put(const struct id_range *range, struct import *import, struct error *err)
{
    int rc = put(&range->max_input_id, "rows.max_input_id", import, err);

    if (rc == OK && !range->is_regression)
        rc = put(&range->max_label, "rows.max_label", import, err);
    if (rc == OK && !range->is_regression)
        rc = put(&range->min_label, "rows.min_label", import, err);
    return rc;
}
