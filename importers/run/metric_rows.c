/* Turns the fields of a row into points. A row is a flat object, or a tree whose nested keys are
 * joined by '/'. Text that is a number counts as one; everything else in a row is left out. */
#include "importers/run/metric_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/metric_names.h"
#include "importers/run/logged_name.h"

#define MAX_NESTING 6
#define LOOK_EVERY  256

int metric_rows_begin(struct metric_rows *rows, struct import *import, struct error *err)
{
    *rows = (struct metric_rows){.import = import, .last_step = NONE, .last_total = NONE};
    rows->keys = calloc(METRIC_ROWS_KEYS, sizeof rows->keys[0]);
    return rows->keys != NULL ? OK : error_set(err, E_NOMEM, "no memory for metric rows");
}

void metric_rows_end(struct metric_rows *rows)
{
    free(rows->keys);
    rows->keys = NULL;
}

/* ---- Keys ---- */

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, list[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void classify(struct metric_key *key)
{
    static const char *const totals[] = {"total_steps", "max_steps"};
    static const char *const walls[] = {"_timestamp", "timestamp", "wall_time"};
    static const char *const losses[] = {"train_loss", "train/train_loss"};
    key->handle = -1;
    key->is_total = is_one_of(key->name, totals, sizeof totals / sizeof totals[0]);
    key->is_step = !key->is_total && metric_is_step(key->name);
    key->is_wall = is_one_of(key->name, walls, sizeof walls / sizeof walls[0]);
    key->is_place = key->is_step || key->is_total || key->is_wall;
    key->is_loss = is_one_of(key->name, losses, sizeof losses / sizeof losses[0]);
}

static bool is_key(const struct metric_key *key, struct str name)
{
    return key->n == name.n && memcmp(key->name, name.p, name.n) == 0;
}

/* NULL: no name that a series may have. */
static struct metric_key *key_of(struct metric_rows *rows, struct str name)
{
    if (rows->at < rows->n_keys && is_key(&rows->keys[rows->at], name)) {
        return &rows->keys[rows->at++];
    }
    for (size_t i = 0; i < rows->n_keys; i++) {
        if (is_key(&rows->keys[i], name)) {
            rows->at = i + 1;
            return &rows->keys[i];
        }
    }
    bool is_usable =
        name.n > 0 && name.n < METRIC_ROWS_KEY_BYTES && memchr(name.p, '\0', name.n) == NULL;
    if (!is_usable) {
        return NULL;
    }
    bool is_kept = rows->n_keys < METRIC_ROWS_KEYS;
    struct metric_key *key = is_kept ? &rows->keys[rows->n_keys++] : &rows->spare;
    memcpy(key->name, name.p, name.n);
    key->name[name.n] = '\0';
    key->n = name.n;
    classify(key);
    rows->at = rows->n_keys;
    return key;
}

/* ---- Points ---- */

/* What stands beside the numbers of a row. */
struct place {
    int64_t step;
    double wall;
};

static void take_place(struct metric_rows *rows, struct place *place, const struct metric_key *key,
                       double value)
{
    bool is_count = value >= 0 && value < 9e15;
    if (key->is_total) {
        rows->last_total = is_count ? (int64_t)value : rows->last_total;
    } else if (key->is_step && is_count && place->step == NONE) {
        place->step = (int64_t)value;
    } else if (key->is_wall && value > 1e9 && value < 1e11) {
        place->wall = value;
    }
}

/* ms-swift's "global_step/max_steps": "17/124". */
static void take_fraction(struct metric_rows *rows, struct place *place, struct str key,
                          struct str text)
{
    struct str rest = text, part;
    int64_t step, total;

    if (!str_is(key, "global_step/max_steps") || !str_split(&rest, '/', &part) ||
        !number_parse_int(part, &step) || step < 0) {
        return;
    }
    place->step = step;
    if (number_parse_int(rest, &total) && total > 0) {
        rows->last_total = total;
    }
}

/* The numbers of a row go to the sink together, in their order. */
static int flush(struct metric_rows *rows, const struct place *place, int64_t line,
                 struct error *err)
{
    const struct point_row row = {.seq = rows->n_rows,
                                  .segment = rows->segment,
                                  .step = place->step,
                                  .line = line,
                                  .wall = place->wall,
                                  .n = rows->n_ready,
                                  .handles = rows->handles,
                                  .values = rows->values};
    rows->n_ready = 0;
    return row.n > 0 ? sink_point_row(rows->import->sink, &row, err) : OK;
}

static int begin_series(struct metric_rows *rows, struct metric_key *key, struct error *err)
{
    bool is_loss = key->is_loss && rows->train_loss_is_loss;
    char plain[LOGGED_NAME_BYTES];
    const char *known = rows->is_logged ? logged_name(key->name, plain) : metric_name(key->name);
    return sink_series(rows->import->sink, key->name, is_loss ? "loss" : known, &key->handle, err);
}

static inline int add_number(struct metric_rows *rows, struct metric_key *key, double value,
                             const struct place *place, int64_t line, struct error *err)
{
    if (key->is_place && (!key->is_wall || rows->is_logged)) {
        return OK;
    }
    if (key->handle < 0 || rows->n_ready == METRIC_ROWS_AT_ONCE) {
        int rc = flush(rows, place, line, err);
        if (rc == OK && key->handle < 0) {
            rc = begin_series(rows, key, err);
        }
        if (rc != OK) {
            return rc;
        }
    }
    rows->handles[rows->n_ready] = key->handle;
    rows->values[rows->n_ready++] = value;
    return OK;
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

/* "prefix/key"; false when it is too long for a name. */
static bool join(char out[METRIC_ROWS_KEY_BYTES], struct str prefix, struct str key,
                 struct str *joined)
{
    if (prefix.n + key.n + 1 > METRIC_ROWS_KEY_BYTES || key.n == 0) {
        return false;
    }
    size_t n = 0;
    if (prefix.n > 0) {
        memcpy(out, prefix.p, prefix.n);
        n = prefix.n;
        out[n++] = '/';
    }
    memcpy(out + n, key.p, key.n);
    *joined = str_from(out, n + key.n);
    return true;
}

static int add_tree(struct metric_rows *rows, const struct json *object, struct str prefix,
                    const struct place *place, int depth, struct error *err)
{
    for (const struct json *child = object->child; child != NULL; child = child->next) {
        char bytes[METRIC_ROWS_KEY_BYTES];
        struct str name;
        double value;
        int rc = OK;
        if (!join(bytes, prefix, child->key, &name)) {
            continue;
        }
        if (child->type == JSON_OBJECT && depth < MAX_NESTING) {
            rc = add_tree(rows, child, name, place, depth + 1, err);
        } else if (tree_number(child, &value)) {
            struct metric_key *key = key_of(rows, name);
            rc = key != NULL ? add_number(rows, key, value, place, child->line, err) : OK;
            rc = rc == OK ? flush(rows, place, child->line, err) : rc; /* each has its own line */
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
        double value;
        const struct metric_key *key = tree_number(child, &value) ? key_of(rows, child->key) : NULL;
        if (key != NULL) {
            take_place(rows, place, key, value);
        } else if (child->type == JSON_STRING) {
            take_fraction(rows, place, child->key, child->text);
        }
    }
}

/* ---- Rows ---- */

static struct metric_key *known_key(const struct metric_rows *rows, size_t i)
{
    return i < METRIC_ROWS_FOUND ? rows->found->keys[i] : NULL;
}

static int add_fields(struct metric_rows *rows, const struct json_row *row,
                      const struct place *place, struct error *err)
{
    for (size_t i = 0; i < row->n; i++) {
        const struct json_field *field = &row->fields[i];
        if (!field->is_number) {
            continue;
        }
        struct metric_key *key = known_key(rows, i);
        if (key == NULL) {
            key = key_of(rows, field->key);
        }
        int rc = key != NULL ? add_number(rows, key, field->number, place, row->line, err) : OK;
        if (rc != OK) {
            return rc;
        }
    }
    return flush(rows, place, row->line, err);
}

static struct metric_shape *shape_of(struct metric_rows *rows, uint64_t number)
{
    struct metric_shape *shape =
        number > 0 ? &rows->shapes[number % METRIC_ROWS_SHAPES] : &rows->without;
    if (number == 0 || shape->number != number) {
        *shape = (struct metric_shape){.number = number};
    }
    return shape;
}

static struct metric_key *find_key(struct metric_rows *rows, size_t i, struct str name)
{
    struct metric_key *key = key_of(rows, name);
    if (i < METRIC_ROWS_FOUND && key != &rows->spare) {
        rows->found->keys[i] = key;
    }
    return key;
}

static void place_of_fields(struct metric_rows *rows, const struct json_row *row,
                            struct place *place)
{
    rows->found = shape_of(rows, row->shape);
    for (size_t i = 0; i < row->n; i++) {
        const struct json_field *field = &row->fields[i];
        struct metric_key *key = field->is_number ? known_key(rows, i) : NULL;
        if (field->is_number && key == NULL) {
            key = find_key(rows, i, field->key);
        }
        if (key != NULL && key->is_place) {
            take_place(rows, place, key, field->number);
        } else if (field->is_quoted && key == NULL) {
            take_fraction(rows, place, field->key, field->text);
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
    rows->at = 0;
    if (row->tree != NULL) {
        place_of_tree(rows, row->tree, &place);
        see_step(rows, &place);
        rows->at = 0;
        rc = add_tree(rows, row->tree, str_of(""), &place, 0, err);
    } else {
        place_of_fields(rows, row, &place);
        see_step(rows, &place);
        rows->at = 0;
        rc = add_fields(rows, row, &place, err);
    }
    rows->n_rows++;
    rows->import->n_rows = rows->n_rows;
    return rc;
}
