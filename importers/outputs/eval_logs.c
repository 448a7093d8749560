/* Logs of evaluations that other programs keep: inspect_ai (*.eval, which is a zip, or one *.json of the
 * same shape) and OpenAI evals (JSON lines with a spec and events). Kept are the scores of the items; each
 * of inspect's scorers is a suite, the first by the task's name, its epochs of one sample are one group. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/read/jsonl.h"
#include "core/read/source.h"
#include "core/read/zip.h"
#include "importers/importer.h"
#include "importers/outputs/item_results.h"
#include "importers/peek.h"

enum { NAME_BYTES = 256, MAX_BAD_NOTES = 20, MAX_SUITES = 64 };

static bool is_zip(const struct peek *peek)
{
    return peek_name_ends(peek, ".eval") && peek->head.n > 2 && memcmp(peek->head.p, "PK", 2) == 0;
}

static int probe(const struct peek *peek)
{
    if (is_zip(peek))
        return 95;
    if (peek_is_lines(peek))
        return peek_has_key(peek, "spec") && peek_has_key(peek, "run_id") &&
                       (peek_has_key(peek, "completion_fns") || peek_has_key(peek, "event_id"))
                   ? 92
                   : 0;
    return peek_first(peek) == '{' && peek_has_key(peek, "eval") && peek_has_key(peek, "plan") &&
                   peek_has_key(peek, "task") && peek_has_key(peek, "status")
               ? 92
               : 0;
}

/* A scorer of a suite, once its first item was met. */
struct opened {
    char scorer[NAME_BYTES];
    int64_t id;
};

struct reading {
    struct import *import;
    struct item_names *names;
    char model[NAME_BYTES], suite[NAME_BYTES], artefact[NAME_BYTES], frozen[NAME_BYTES];
    struct opened opened[MAX_SUITES];
    size_t n_opened;
    int64_t n_bad;
};

static int bad(struct reading *reading, int64_t line, const char *what, struct error *err)
{
    if (reading->n_bad++ >= MAX_BAD_NOTES)
        return OK;
    return sink_note(reading->import->sink, NOTE_WARN, line, NONE, err, "%s", what);
}

static struct opened *open_suite(struct reading *reading, const char *scorer, bool counts,
                                 int64_t line, struct error *err)
{
    char name[2 * NAME_BYTES];

    for (size_t i = 0; i < reading->n_opened; i++)
        if (strcmp(reading->opened[i].scorer, scorer) == 0)
            return &reading->opened[i];
    if (reading->n_opened == MAX_SUITES) {
        error_set(err, E_LIMIT, "more than %d scorers in one file", MAX_SUITES);
        return NULL;
    }
    if (reading->n_opened == 0)
        snprintf(name, sizeof name, "%s", reading->suite);
    else
        snprintf(name, sizeof name, "%s (%s)", reading->suite, scorer);
    struct opened *opened = &reading->opened[reading->n_opened];
    snprintf(opened->scorer, sizeof opened->scorer, "%s", scorer);
    const struct eval_suite suite = {.model = reading->model, .suite = name, .step = NONE, .n = NONE,
                                     .metric = counts ? "correct" : "score", .n_correct = NAN,
                                     .artefact = reading->artefact[0] ? reading->artefact : NULL,
                                     .frozen = reading->frozen[0] ? reading->frozen : NULL,
                                     .line = line};
    if (sink_eval_suite(reading->import->sink, &suite, &opened->id, err) != OK)
        return NULL;
    reading->n_opened++;
    return opened;
}

static int put_item(struct reading *reading, const char *scorer, const struct json *value,
                    struct eval_item *item, int64_t line, struct error *err)
{
    struct error own = {0};

    item->score = result_value(value);
    if (!isfinite(item->score) && !result_is_missing(value))
        return bad(reading, line, "an item without a score that is a number, true, false, C, P, I or N",
                   err);
    struct opened *opened = open_suite(reading, scorer, !json_is(value, JSON_NUMBER), line, &own);
    if (!opened) {
        if (err)
            *err = own;
        return own.status;
    }
    return item_names_put(reading->names, reading->import->sink, opened->id, item, err);
}

/* ---- inspect_ai ---- */

static bool has_epochs(const struct json *samples)
{
    for (const struct json *s = samples->child; s; s = s->next) {
        const struct json *epoch = json_get(s, "epoch");
        if (json_is(epoch, JSON_NUMBER) && epoch->number > 1.0)
            return true;
    }
    return false;
}

/* The values of all scorers; newer summaries give them without the object around. A sample that failed
 * has none. */
static int put_scores(struct reading *reading, const struct json *sample, struct eval_item *item,
                      struct error *err)
{
    const struct json *scores = json_get(sample, "scores");
    char scorer[NAME_BYTES];
    size_t n = 0;
    int rc = OK;

    for (const struct json *s = json_is(scores, JSON_OBJECT) ? scores->child : NULL; s && rc == OK;
         s = s->next) {
        const struct json *value = json_is(s, JSON_OBJECT) ? json_get(s, "value") : s;

        if (json_is(value, JSON_OBJECT) || json_is(value, JSON_ARRAY))
            continue; /* several values under one name: which counts is not said */
        snprintf(scorer, sizeof scorer, "%.*s", (int)(s->key.n < 200 ? s->key.n : 200), s->key.p);
        rc = put_item(reading, scorer, value, item, sample->line, err);
        n++;
    }
    if (rc == OK && n == 0)
        return bad(reading, sample->line,
                   json_get(sample, "error") ? "a sample that ended with an error, without a score"
                                             : "a sample without a score",
                   err);
    return rc;
}

static int put_sample(struct reading *reading, const struct json *s, bool in_groups, struct error *err)
{
    char id[NAME_BYTES], name[NAME_BYTES + 32];
    const struct json *epoch = json_get(s, "epoch");
    struct eval_item item = {.item = id};

    reading->import->n_rows++;
    if (!result_text(json_get(s, "id"), id, NAME_BYTES))
        return bad(reading, s->line, "a sample without an id", err);
    if (in_groups && json_is(epoch, JSON_NUMBER)) {
        snprintf(name, sizeof name, "%s#%.0f", id, epoch->number);
        item.item = name;
        item.cluster = id;
    }
    return put_scores(reading, s, &item, err);
}

static int put_samples(struct reading *reading, const struct json *samples, struct error *err)
{
    int rc = OK;

    if (!json_is(samples, JSON_ARRAY))
        return bad(reading, NONE, "a log without samples", err);
    bool in_groups = has_epochs(samples);
    for (const struct json *s = samples->child; s && rc == OK; s = s->next)
        rc = put_sample(reading, s, in_groups, err);
    return rc;
}

/* "temperature=0.7 seed=3 version=1": how was decoded, and the task's version. */
static void read_frozen(struct reading *reading, const struct json *top)
{
    static const char *const KEYS[] = {"temperature", "seed", "max_tokens"};
    const struct json *eval = json_get(top, "eval");
    const struct json *const configs[] = {json_get(eval, "model_generate_config"),
                                          json_get(json_get(top, "plan"), "config")};
    char text[64];
    size_t at = 0;

    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        bool is_said = false;

        for (size_t k = 0; k < 2 && !is_said; k++)
            is_said = result_text(json_get(configs[k], KEYS[i]), text, sizeof text);
        if (is_said && at + 100 < sizeof reading->frozen)
            at += (size_t)snprintf(reading->frozen + at, sizeof reading->frozen - at, "%s%s=%s",
                                   at ? " " : "", KEYS[i], text);
    }
    if (result_text(json_get(eval, "task_version"), text, sizeof text) && at + 100 < sizeof reading->frozen)
        snprintf(reading->frozen + at, sizeof reading->frozen - at, "%sversion=%s", at ? " " : "", text);
}

static int read_head(struct reading *reading, const struct json *top, struct error *err)
{
    const struct json *eval = json_get(top, "eval"), *status = json_get(top, "status");

    if (!result_text(json_get(eval, "model"), reading->model, NAME_BYTES))
        snprintf(reading->model, sizeof reading->model, "model");
    if (!result_text(json_get(eval, "task"), reading->suite, NAME_BYTES))
        snprintf(reading->suite, sizeof reading->suite, "task");
    (void)result_text(json_get(json_get(eval, "model_args"), "model_path"), reading->artefact, NAME_BYTES);
    if (reading->artefact[0] && str_ends(str_of(reading->model), "/local"))
        memcpy(reading->model, reading->artefact, NAME_BYTES);
    read_frozen(reading, top);
    if (json_is(status, JSON_STRING) && !str_is(status->text, "success"))
        return sink_note(reading->import->sink, NOTE_WARN, NONE, NONE, err,
                         "the evaluation did not end well: status %.*s",
                         (int)(status->text.n < 40 ? status->text.n : 40), status->text.p);
    return OK;
}

static int member_tree(struct zip_file_reader *zip, const char *name, struct arena *arena,
                       const struct json **out, struct error *err)
{
    char *text = NULL;
    size_t n = 0;
    int rc = zip_reader_member(zip, name, JSON_MAX_BYTES, &text, &n, err);

    if (rc == OK) /* the tree borrows nothing of the text */
        rc = json_parse(arena_str(arena, str_from(text, n)), false, arena, out, NULL, err);
    free(text);
    return rc;
}

static bool is_sample(const char *name)
{
    return str_starts(str_of(name), "samples/") && str_ends(str_of(name), ".json");
}

/* samples/<id>_epoch_<n>.json of a log that was never finished, and so has no summaries. */
static int put_members(struct reading *reading, struct zip_file_reader *zip, struct error *err)
{
    struct arena *arena = arena_open(JSON_MAX_BYTES);
    size_t n = zip_reader_count(zip);
    bool in_groups = false;
    struct error why = {0};
    int rc = arena ? OK : error_set(err, E_NOMEM, "no memory for samples");

    for (size_t i = 0; i < n; i++) {
        const char *name = zip_reader_name(zip, i);
        in_groups |= is_sample(name) && !str_ends(str_of(name), "_epoch_1.json");
    }
    for (size_t i = 0; rc == OK && i < n; i++) {
        const char *name = zip_reader_name(zip, i);
        const struct json *sample = NULL;

        if (!is_sample(name))
            continue;
        if (i % 256 == 0 && import_is_cancelled(reading->import)) {
            rc = error_set(err, E_CANCELLED, "cancelled");
        } else if (member_tree(zip, name, arena, &sample, &why) == OK) {
            rc = put_sample(reading, sample, in_groups, err);
        } else {
            rc = why.status == E_NOMEM ? error_set(err, E_NOMEM, "no memory for samples")
                                       : bad(reading, NONE, why.message, err);
        }
        arena_reset(arena);
    }
    arena_close(arena);
    return rc;
}

/* A log that was broken off has no header, only how it began. */
static int read_zip(struct reading *reading, struct error *err)
{
    struct zip_file_reader *zip = NULL;
    struct arena *arena = reading->import->arena;
    const struct json *head = NULL, *samples = NULL;
    struct error why = {0}, other;
    int rc = zip_reader_open(&zip, reading->import->path, &why);

    if (rc == OK && (rc = member_tree(zip, "header.json", arena, &head, &why)) == E_NOTFOUND)
        rc = member_tree(zip, "_journal/start.json", arena, &head, &why);
    if (rc != OK) {
        zip_reader_close(zip);
        return import_note_error(reading->import, &why, err);
    }
    rc = read_head(reading, head, err);
    if (rc == OK && member_tree(zip, "summaries.json", arena, &samples, &other) == OK)
        rc = put_samples(reading, samples, err);
    else if (rc == OK)
        rc = put_members(reading, zip, err);
    zip_reader_close(zip);
    return rc;
}

/* ---- One JSON file ---- */

static int read_object(struct reading *reading, struct error *err)
{
    const struct json *top = NULL;
    int rc = import_json(reading->import, &top, err);

    if (rc != OK || !top)
        return rc;
    rc = read_head(reading, top, err);
    return rc == OK ? put_samples(reading, json_get(top, "samples"), err) : rc;
}

/* ---- OpenAI evals ---- */

static void read_spec(struct reading *reading, const struct json *spec)
{
    const struct json *fns = json_get(spec, "completion_fns");

    if (!result_text(json_is(fns, JSON_ARRAY) ? fns->child : NULL, reading->model, NAME_BYTES) &&
        !result_text(json_get(spec, "model"), reading->model, NAME_BYTES))
        snprintf(reading->model, sizeof reading->model, "model");
    if (!result_text(json_get(spec, "base_eval"), reading->suite, NAME_BYTES) &&
        !result_text(json_get(spec, "eval_name"), reading->suite, NAME_BYTES))
        snprintf(reading->suite, sizeof reading->suite, "task");
}

static const struct json *result_of(const struct json *data)
{
    const struct json *correct = json_get(data, "correct");

    if (correct)
        return correct;
    for (const struct json *m = json_is(data, JSON_OBJECT) ? data->child : NULL; m; m = m->next)
        if (m->type == JSON_NUMBER || m->type == JSON_TRUE || m->type == JSON_FALSE)
            return m;
    return NULL;
}

static int on_event(void *ctx, const struct json_row *row, struct error *err)
{
    struct reading *reading = ctx;
    const struct json *spec = json_get(row->tree, "spec"), *type = json_get(row->tree, "type");
    char id[NAME_BYTES];
    struct eval_item item = {.item = id};

    if (json_is(spec, JSON_OBJECT))
        read_spec(reading, spec);
    if (!json_is(type, JSON_STRING) ||
        !(str_is(type->text, "match") || str_is(type->text, "metrics")))
        return OK;
    if (!result_text(json_get(row->tree, "sample_id"), id, NAME_BYTES))
        return bad(reading, row->line, "a result without sample_id", err);
    reading->import->n_rows++;
    return put_item(reading, "", result_of(json_get(row->tree, "data")), &item, row->line, err);
}

static int on_bad(void *ctx, const struct source_line *line, bool is_last, const struct error *why,
                  struct error *err)
{
    struct reading *reading = ctx;

    if (is_last)
        reading->import->state = SOURCE_GROWING;
    return bad(reading, line->number, why->message, err);
}

static int read_lines(struct reading *reading, struct error *err)
{
    const struct jsonl_handler handler = {
        .row = on_event, .bad = on_bad, .ctx = reading, .always_tree = true};
    struct source_file *file = NULL;
    struct error why = {0};
    int rc = source_open(&file, reading->import->path, &why);

    snprintf(reading->model, sizeof reading->model, "model");
    snprintf(reading->suite, sizeof reading->suite, "task");
    if (rc == OK)
        rc = jsonl_read(file, &handler, &why);
    source_close(file);
    return rc == OK ? OK : import_note_error(reading->import, &why, err);
}

static int run(struct import *import, struct error *err)
{
    struct reading *reading = arena_alloc(import->arena, sizeof *reading);
    struct str path = str_of(import->path);
    struct error why = {0};
    bool is_odd;

    import->n_rows_are = "results of an evaluation";
    if (!reading)
        return error_set(err, E_NOMEM, "no memory for the log of an evaluation");
    reading->import = import;
    int rc = import_oddity(import, &is_odd, err);
    if (rc != OK || is_odd)
        return rc;
    reading->names = item_names_open();
    if (!reading->names)
        return error_set(err, E_NOMEM, "no memory for the log of an evaluation");
    if (str_ends(path, ".eval"))
        rc = read_zip(reading, &why);
    else
        rc = str_ends(path, ".json") ? read_object(reading, &why) : read_lines(reading, &why);
    if (rc != OK)
        rc = import_note_error(import, &why, err);
    if (rc == OK)
        rc = item_names_note(reading->names, import->sink, err);
    item_names_close(reading->names);
    return rc;
}

const struct importer importer_eval_logs = {
    .id = "eval_logs",
    .title = "the log of an evaluation",
    .hint = "inspect_ai's *.eval or *.json, OpenAI evals' *.jsonl",
    .supplies = NEEDS_EVAL_ITEMS,
    .version = 3,
    .role = "evals",
    .probe = probe,
    .run = run,
};
