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

enum { NAME_BYTES = 256, FROZEN_BYTES = 2 * NAME_BYTES, MAX_BAD_NOTES = 20, MAX_SUITES = 64 };

static bool is_zip(const struct peek *peek)
{
    return peek_name_ends(peek, ".eval") && peek->head.n > 2 && memcmp(peek->head.p, "PK", 2) == 0;
}

/* One JSON document, laid out over lines or on one. Where the lists of items are long, what follows them
 * is not in the head. */
static bool is_inspect(const struct peek *peek)
{
    return peek_name_ends(peek, ".json") && peek_first(peek) == '{' && peek_has_key(peek, "eval") &&
           peek_has_key(peek, "task") && peek_has_key(peek, "status") &&
           (peek_has_key(peek, "plan") || peek_has_key(peek, "eval_id") || peek_has_key(peek, "samples"));
}

static int probe(const struct peek *peek)
{
    if (is_zip(peek))
        return 95;
    if (is_inspect(peek))
        return 92;
    return peek_is_lines(peek) && peek_has_key(peek, "spec") && peek_has_key(peek, "run_id") &&
                   (peek_has_key(peek, "completion_fns") || peek_has_key(peek, "event_id"))
               ? 92
               : 0;
}

/* An item without a result, before the first that tells what its scorer's results are. */
struct pending {
    struct pending *next;
    const char *item, *cluster;
};

/* A scorer of a suite, in the order in which they are met. */
struct opened {
    char scorer[NAME_BYTES];
    int64_t id;                 /* 0: no result yet */
    struct pending *first, **last;
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

static struct opened *find_scorer(struct reading *reading, const char *scorer, struct error *err)
{
    for (size_t i = 0; i < reading->n_opened; i++)
        if (strcmp(reading->opened[i].scorer, scorer) == 0)
            return &reading->opened[i];
    if (reading->n_opened == MAX_SUITES) {
        error_set(err, E_LIMIT, "more than %d scorers in one file", MAX_SUITES);
        return NULL;
    }
    struct opened *opened = &reading->opened[reading->n_opened++];
    snprintf(opened->scorer, sizeof opened->scorer, "%s", scorer);
    opened->last = &opened->first;
    return opened;
}

/* How was decoded, and by whom it was scored. */
static void frozen_of(const struct reading *reading, const char *scorer, char out[FROZEN_BYTES])
{
    snprintf(out, FROZEN_BYTES, "%s%s%s%.200s", reading->frozen, reading->frozen[0] && scorer[0] ? " " : "",
             scorer[0] ? "scorer=" : "", scorer);
    for (char *c = out + strlen(reading->frozen) + 1; scorer[0] && *c; c++)
        *c = *c == ' ' ? '_' : *c;
}

static int open_suite(struct reading *reading, struct opened *opened, bool counts, int64_t line,
                      struct error *err)
{
    char name[2 * NAME_BYTES], frozen[FROZEN_BYTES];

    if (opened == reading->opened)
        snprintf(name, sizeof name, "%s", reading->suite);
    else
        snprintf(name, sizeof name, "%s (%.200s)", reading->suite, opened->scorer);
    frozen_of(reading, opened->scorer, frozen);
    const struct eval_suite suite = {.model = reading->model, .suite = name, .step = NONE, .n = NONE,
                                     .metric = counts ? "correct" : "score", .n_correct = NAN,
                                     .artefact = reading->artefact[0] ? reading->artefact : NULL,
                                     .frozen = frozen[0] ? frozen : NULL,
                                     .line = line};
    int rc = sink_eval_suite(reading->import->sink, &suite, &opened->id, err);
    for (const struct pending *p = opened->first; p && rc == OK; p = p->next) {
        const struct eval_item item = {.item = p->item, .cluster = p->cluster, .score = NAN};
        rc = item_names_put(reading->names, reading->import->sink, opened->id, &item, err);
    }
    opened->first = NULL;
    return rc;
}

static int keep_pending(struct reading *reading, struct opened *opened, const struct eval_item *item,
                        struct error *err)
{
    struct arena *arena = reading->import->arena;
    struct pending *own = arena_alloc(arena, sizeof *own);

    if (!own)
        return error_set(err, E_NOMEM, "no memory for items without a score");
    *own = (struct pending){
        .item = arena_strndup(arena, item->item, strlen(item->item)),
        .cluster = item->cluster ? arena_strndup(arena, item->cluster, strlen(item->cluster)) : NULL};
    if (!own->item || (item->cluster && !own->cluster))
        return error_set(err, E_NOMEM, "no memory for items without a score");
    *opened->last = own;
    opened->last = &own->next;
    return OK;
}

static int put_item(struct reading *reading, const char *scorer, const struct json *value,
                    struct eval_item *item, int64_t line, struct error *err)
{
    struct opened *opened;
    int rc = OK;

    item->score = result_value(value);
    if (!isfinite(item->score) && !result_is_missing(value))
        return bad(reading, line, "an item without a score that is a number, true, false, C, P, I or N",
                   err);
    if (!(opened = find_scorer(reading, scorer, err)))
        return E_LIMIT;
    if (opened->id == 0 && !isfinite(item->score))
        return keep_pending(reading, opened, item, err);
    if (opened->id == 0)
        rc = open_suite(reading, opened, !json_is(value, JSON_NUMBER), line, err);
    return rc == OK ? item_names_put(reading->names, reading->import->sink, opened->id, item, err) : rc;
}

/* Scorers that gave no result at all. */
static int open_pending(struct reading *reading, struct error *err)
{
    int rc = OK;

    for (size_t i = 0; i < reading->n_opened && rc == OK; i++)
        if (reading->opened[i].id == 0)
            rc = open_suite(reading, &reading->opened[i], true, NONE, err);
    return rc;
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
        if (epoch->number > 1.0) { /* the first is what a run of one epoch has */
            snprintf(name, sizeof name, "%s#%.0f", id, epoch->number);
            item.item = name;
        }
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

/* The member of that name, or the i-th where it is NULL. */
static int member_tree(struct zip_file_reader *zip, const char *name, size_t i, struct arena *arena,
                       const struct json **out, struct error *err)
{
    char *text = NULL;
    size_t n = 0;
    int rc = name ? zip_reader_member(zip, name, JSON_MAX_BYTES, &text, &n, err)
                  : zip_reader_read(zip, i, JSON_MAX_BYTES, &text, &n, err);

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
        } else if (member_tree(zip, NULL, i, arena, &sample, &why) == OK) {
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

    if (rc == OK && (rc = member_tree(zip, "header.json", 0, arena, &head, &why)) == E_NOTFOUND)
        rc = member_tree(zip, "_journal/start.json", 0, arena, &head, &why);
    if (rc != OK) {
        zip_reader_close(zip);
        return import_note_error(reading->import, &why, err);
    }
    rc = read_head(reading, head, err);
    int found = rc == OK ? member_tree(zip, "summaries.json", 0, arena, &samples, &other) : rc;
    if (rc == OK && found != OK && found != E_NOTFOUND)
        rc = bad(reading, NONE, other.message, err);
    if (rc == OK && found == OK)
        rc = put_samples(reading, samples, err);
    else if (rc == OK)
        rc = put_members(reading, zip, err);
    if (rc == OK && reading->import->n_rows == 0)
        rc = bad(reading, NONE, "a log without results of samples", err);
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
    if (rc == OK)
        rc = open_pending(reading, &why);
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
