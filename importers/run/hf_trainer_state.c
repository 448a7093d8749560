/* trainer_state.json of transformers (FORMATS.md B1): the fields as settings "state.…", each number
 * of a log_history row as a point. Read in one pass and in bounded memory; of a file that is cut
 * off, everything before the cut. Each checkpoint's file is a source of its own. */
#include <stdio.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/read/source.h"
#include "importers/importer.h"
#include "importers/peek.h"
#include "importers/run/metric_rows.h"

struct reader {
    struct import *import;
    struct metric_rows rows;
    int64_t n_strange; /* rows that are no objects */
    bool is_full;      /* import->max_rows are read */
};

static int probe(const struct peek *peek)
{
    bool is_named = peek_name_is(peek, "trainer_state.json");
    if (peek_first(peek) != '{') {
        return is_named ? 60 : 0;
    }
    if (is_named) {
        return 95;
    }
    return peek_has_key(peek, "log_history") && peek_has_key(peek, "global_step") ? 85 : 0;
}

/* ---- Fields ---- */

/* Fields that say what the run was told, under the name that training arguments give them. */
static int add_plain(struct reader *reader, const char *key, const struct json *value,
                     struct error *err)
{
    static const char *const plain[] = {"max_steps", "num_train_epochs", "logging_steps",
                                        "eval_steps", "save_steps"};
    if (value->type != JSON_NUMBER || !(value->number > 0)) {
        return OK;
    }
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(key, plain[i]) == 0) {
            return import_json_setting(reader->import, SIDE_TRAIN, key, value, err);
        }
    }
    return OK;
}

/* {"args": {…}, "attributes": {…}} of one callback; TrainerControl's flags go without its name. */
static int add_callback(struct reader *reader, const char *name, const struct json *callback,
                        struct error *err)
{
    bool is_control = strcmp(name, "TrainerControl") == 0;
    for (const struct json *part = callback->child; part != NULL; part = part->next) {
        for (const struct json *field = part->child; field != NULL; field = field->next) {
            char path[300];
            snprintf(path, sizeof path, "state.%s%s%.*s", is_control ? "" : name,
                     is_control ? "" : ".", (int)field->key.n, field->key.p);
            if (!json_is(part, JSON_OBJECT)) {
                break;
            }
            int rc = import_own_setting(reader->import, SIDE_TRAIN, path, field, err);
            if (rc != OK) {
                return rc;
            }
        }
    }
    return OK;
}

static int add_callbacks(struct reader *reader, const struct json *callbacks, struct error *err)
{
    for (const struct json *one = callbacks->child; one != NULL; one = one->next) {
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)one->key.n, one->key.p);
        const struct json *callback = json_is(one, JSON_ARRAY) ? one->child : one;
        int rc = json_is(callback, JSON_OBJECT) ? add_callback(reader, name, callback, err) : OK;
        if (rc != OK) {
            return rc;
        }
    }
    return OK;
}

static int on_member(void *ctx, const struct json *value, struct error *err)
{
    struct reader *reader = ctx;
    char key[128], name[160];
    if (value->key.n >= sizeof key) {
        return OK;
    }
    snprintf(key, sizeof key, "%.*s", (int)value->key.n, value->key.p);
    snprintf(name, sizeof name, "state.%s", key);
    if (strcmp(key, "log_history") == 0) {
        return OK; /* not an array: there are no rows */
    }
    if (strcmp(key, "stateful_callbacks") == 0 && json_is(value, JSON_OBJECT)) {
        return add_callbacks(reader, value, err);
    }
    int rc = import_own_setting(reader->import, SIDE_TRAIN, name, value, err);
    return rc == OK ? add_plain(reader, key, value, err) : rc;
}

/* ---- Rows ---- */

static int on_row(void *ctx, const struct json_row *row, struct error *err)
{
    struct reader *reader = ctx;
    if (row->tree != NULL && row->tree->type != JSON_OBJECT) {
        reader->n_strange++;
        return OK;
    }
    if (reader->is_full) {
        return OK;
    }
    int rc = metric_rows_add(&reader->rows, row, err);
    reader->is_full = rc == 1;
    return rc == 1 ? OK : rc;
}

static int note_rows(struct reader *reader, struct error *err)
{
    struct sink *sink = reader->import->sink;
    if (reader->n_strange > 0) {
        return sink_note(sink, NOTE_WARN, NONE, NONE, err,
                         "%lld elements of log_history are no objects",
                         (long long)reader->n_strange);
    }
    return OK;
}

static int note_damage(struct reader *reader, const struct error *why, bool is_cut,
                       struct error *err)
{
    if (!is_cut) {
        return import_note_error(reader->import, why, err);
    }
    reader->import->state = SOURCE_DAMAGED;
    return sink_note(reader->import->sink, NOTE_ERROR, why->line, why->byte, err,
                     "the file breaks off here: %lld rows of log_history were read",
                     (long long)reader->rows.n_rows);
}

static int run(struct import *import, struct error *err)
{
    struct source_file *file = NULL;
    struct error why = {0};
    bool is_odd, is_cut = false;
    struct reader reader = {.import = import};
    import->n_rows_are = "metric rows";
    import->state = SOURCE_WHOLE;
    int rc = import_oddity(import, &is_odd, err);
    if (rc != OK || is_odd) {
        return rc;
    }
    rc = source_open(&file, import->path, &why);
    if (rc != OK) {
        return import_note_error(import, &why, err);
    }
    rc = metric_rows_begin(&reader.rows, import, err);
    if (rc != OK) {
        goto out;
    }
    const struct json_stream stream = {
        .array_key = "log_history", .member = on_member, .row = on_row, .ctx = &reader};
    rc = json_stream(file, &stream, &is_cut, &why);
    if (rc != OK) {
        rc = note_damage(&reader, &why, is_cut, err);
    }
    if (rc == OK) {
        rc = note_rows(&reader, err);
    }
out:
    metric_rows_end(&reader.rows);
    source_close(file);
    return rc;
}

const struct importer importer_hf_trainer_state = {
    .id = "hf_trainer_state",
    .title = "trainer_state.json of transformers",
    .hint = "trainer_state.json in the output folder or the newest checkpoint",
    .supplies = NEEDS_TRAIN_SERIES | NEEDS_EVAL_SERIES,
    .version = 1,
    .role = "state",
    .probe = probe,
    .run = run,
};
