/* Turns the fields of a row into points. A row is a flat object, or a tree whose nested keys are
 * joined by '/'. Text that is a number counts as one; everything else in a row is left out. */
#include "importers/run/metric_rows.h"

#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/metric_names.h"

#define MAX_KEY     200
#define MAX_NESTING 6
#define LOOK_EVERY  256

void metric_rows_begin(struct metric_rows *rows, struct import *import)
{
    *rows = (struct metric_rows){.import = import, .last_step = NONE, .last_total = NONE};
}

/* What stands beside the numbers of a row. */
struct place {
    int64_t step;
    double wall;
};

static bool is_total(const char *key)
{
    return strcmp(key, "total_steps") == 0 || strcmp(key, "max_steps") == 0;
}

static bool copy_key(char out[MAX_KEY], struct str key)
{
    if (key.n == 0 || key.n >= MAX_KEY || memchr(key.p, '\0', key.n) != NULL) {
        return false;
    }
    memcpy(out, key.p, key.n);
    out[key.n] = '\0';
    return true;
}

static void take_place(struct metric_rows *rows, struct place *place, const char *key,
                       double value)
{
    bool is_count = value >= 0 && value < 9e15;
    if (is_total(key)) {
        rows->last_total = is_count ? (int64_t)value : rows->last_total;
    } else if (metric_is_step(key) && is_count && place->step == NONE) {
        place->step = (int64_t)value;
    } else if ((strcmp(key, "_timestamp") == 0 || strcmp(key, "timestamp") == 0 ||
                strcmp(key, "wall_time") == 0) && value > 1e9 && value < 1e11) {
        place->wall = value;
    }
}

static int add_number(struct metric_rows *rows, const char *key, double value,
                      const struct place *place, int64_t line, struct error *err)
{
    if (metric_is_step(key)) {
        return OK;
    }
    struct point point = {.seq = rows->n_rows,
                          .segment = rows->segment,
                          .step = place->step,
                          .value = value,
                          .line = line,
                          .wall = place->wall};
    bool is_loss = rows->train_loss_is_loss &&
                   (strcmp(key, "train_loss") == 0 || strcmp(key, "train/train_loss") == 0);
    if (!is_loss) {
        return import_point(rows->import, key, &point, err);
    }
    int handle;
    int rc = sink_series(rows->import->sink, key, "loss", &handle, err);
    return rc == OK ? sink_point(rows->import->sink, handle, &point, err) : rc;
}

/* ---- Trees ---- */

static bool tree_number(const struct json *value, double *out)
{
    if (value->type == JSON_NUMBER) {
        *out = value->number;
        return true;
    }
    return value->type == JSON_STRING && number_parse_any(str_trim(value->text), out);
}

static bool join_key(char out[MAX_KEY], const char *prefix, struct str key)
{
    size_t n = strlen(prefix);
    if (n + key.n + 2 > MAX_KEY || key.n == 0) {
        return false;
    }
    memcpy(out, prefix, n);
    out[n] = '/';
    char rest[MAX_KEY];
    if (!copy_key(n > 0 ? rest : out, key)) {
        return false;
    }
    if (n > 0) {
        memcpy(out + n + 1, rest, key.n + 1);
    }
    return true;
}

static int add_tree(struct metric_rows *rows, const struct json *object, const char *prefix,
                    const struct place *place, int depth, struct error *err)
{
    for (const struct json *child = object->child; child != NULL; child = child->next) {
        char key[MAX_KEY];
        double value;
        int rc = OK;
        if (!join_key(key, prefix, child->key)) {
            continue;
        }
        if (child->type == JSON_OBJECT && depth < MAX_NESTING) {
            rc = add_tree(rows, child, key, place, depth + 1, err);
        } else if (tree_number(child, &value)) {
            rc = add_number(rows, key, value, place, child->line, err);
        }
        if (rc != OK) {
            return rc;
        }
    }
    return OK;
}

static void place_of_tree(struct metric_rows *rows, const struct json *object, struct place *place)
{
    for (const struct json *child = object->child; child != NULL; child = child->next) {
        char key[MAX_KEY];
        double value;
        if (copy_key(key, child->key) && tree_number(child, &value)) {
            take_place(rows, place, key, value);
        }
    }
}

/* ---- Rows ---- */

static int add_fields(struct metric_rows *rows, const struct json_row *row,
                      const struct place *place, struct error *err)
{
    for (size_t i = 0; i < row->n; i++) {
        char key[MAX_KEY];
        if (!row->fields[i].is_number || !copy_key(key, row->fields[i].key)) {
            continue;
        }
        int rc = add_number(rows, key, row->fields[i].number, place, row->line, err);
        if (rc != OK) {
            return rc;
        }
    }
    return OK;
}

static void place_of_fields(struct metric_rows *rows, const struct json_row *row,
                            struct place *place)
{
    for (size_t i = 0; i < row->n; i++) {
        char key[MAX_KEY];
        if (row->fields[i].is_number && copy_key(key, row->fields[i].key)) {
            take_place(rows, place, key, row->fields[i].number);
        }
    }
}

/* A step that goes back begins a segment (CHECKS.md 2.4, rule 8). */
static void see_step(struct metric_rows *rows, struct place *place)
{
    if (place->step == NONE && rows->row_is_step) {
        place->step = rows->n_rows;
    }
    if (place->step == NONE) {
        rows->n_without_step++;
        return;
    }
    if (rows->last_step != NONE && place->step < rows->last_step) {
        rows->segment++;
    }
    rows->last_step = place->step;
}

int metric_rows_add(struct metric_rows *rows, const struct json_row *row, struct error *err)
{
    if (rows->n_rows % LOOK_EVERY == 0 && import_is_cancelled(rows->import)) {
        return error_set(err, E_CANCELLED, "import cancelled");
    }
    if (rows->import->max_rows > 0 && rows->n_rows >= rows->import->max_rows) {
        return 1;
    }
    struct place place = {.step = NONE, .wall = NAN};
    int rc;
    if (row->tree != NULL) {
        place_of_tree(rows, row->tree, &place);
        see_step(rows, &place);
        rc = add_tree(rows, row->tree, "", &place, 0, err);
    } else {
        place_of_fields(rows, row, &place);
        see_step(rows, &place);
        rc = add_fields(rows, row, &place, err);
    }
    rows->n_rows++;
    rows->import->n_rows = rows->n_rows;
    return rc;
}
