/* Logs of evaluations that other programs keep: inspect_ai (*.eval, which is a zip, or one *.json of the
 * same shape), OpenAI evals (JSON lines with a spec and events), and tables of W&B ({columns, data}).
 * Kept are the scores of the items; inspect's epochs of one sample are one group. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/read/jsonl.h"
#include "core/read/source.h"
#include "core/read/zip.h"
#include "importers/importer.h"
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
    if (peek_name_ends(peek, ".table.json") && peek_has_key(peek, "columns") &&
        peek_has_key(peek, "data"))
        return str_find(peek->head, "\"correct\"") >= 0 || str_find(peek->head, "\"score\"") >= 0
                   ? 85
                   : 0;
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

/* A model on a suite, once its first item was met. */
struct opened {
    char model[NAME_BYTES];
    int64_t id;
};

struct reading {
    struct import *import;
    char model[NAME_BYTES], suite[NAME_BYTES];
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

static bool take_text(const struct json *value, char out[NAME_BYTES])
{
    if ((!json_is(value, JSON_STRING) && !json_is(value, JSON_NUMBER)) || value->text.n == 0)
        return false;
    size_t n = value->text.n < NAME_BYTES ? value->text.n : NAME_BYTES - 1;
    memcpy(out, value->text.p, n);
    out[n] = '\0';
    return true;
}

/* inspect's letters: correct, partial, incorrect, no answer. */
static double score_of(const struct json *value)
{
    if (json_is(value, JSON_TRUE) || json_is(value, JSON_FALSE))
        return value->type == JSON_TRUE;
    if (json_is(value, JSON_NUMBER))
        return value->number;
    if (!json_is(value, JSON_STRING))
        return NAN;
    if (str_is(value->text, "C"))
        return 1.0;
    if (str_is(value->text, "P"))
        return 0.5;
    return str_is(value->text, "I") || str_is(value->text, "N") ? 0.0 : NAN;
}

static struct opened *open_suite(struct reading *reading, const char *model, bool counts,
                                 int64_t line, struct error *err)
{
    struct eval_suite suite = {.model = model, .suite = reading->suite, .step = NONE, .n = NONE,
                               .metric = counts ? "correct" : "score", .n_correct = NAN,
                               .line = line};

    for (size_t i = 0; i < reading->n_opened; i++)
        if (strcmp(reading->opened[i].model, model) == 0)
            return &reading->opened[i];
    if (reading->n_opened == MAX_SUITES) {
        error_set(err, E_LIMIT, "more than %d models in one file", MAX_SUITES);
        return NULL;
    }
    struct opened *opened = &reading->opened[reading->n_opened];
    snprintf(opened->model, sizeof opened->model, "%s", model);
    if (sink_eval_suite(reading->import->sink, &suite, &opened->id, err) != OK)
        return NULL;
    reading->n_opened++;
    return opened;
}

static int put_item(struct reading *reading, const struct json *value, struct eval_item *item,
                    int64_t line, struct error *err)
{
    struct error own = {0};

    reading->import->n_rows++;
    item->score = score_of(value);
    if (!isfinite(item->score))
        return bad(reading, line, "an item without a score that is a number, true, false, C, P, I or N",
                   err);
    struct opened *opened =
        open_suite(reading, reading->model, !json_is(value, JSON_NUMBER), line, &own);
    if (!opened) {
        if (err)
            *err = own;
        return own.status;
    }
    return sink_eval_item(reading->import->sink, opened->id, item, err);
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

/* The value of the first scorer; newer summaries give it without the object around. */
static const struct json *first_score(const struct json *sample)
{
    const struct json *scores = json_get(sample, "scores");
    const struct json *first = json_is(scores, JSON_OBJECT) ? scores->child : NULL;

    return json_is(first, JSON_OBJECT) ? json_get(first, "value") : first;
}

static int put_samples(struct reading *reading, const struct json *samples, struct error *err)
{
    int rc = OK;

    if (!json_is(samples, JSON_ARRAY))
        return bad(reading, NONE, "a log without samples", err);
    bool in_groups = has_epochs(samples);
    for (const struct json *s = samples->child; s && rc == OK; s = s->next) {
        char id[NAME_BYTES], name[NAME_BYTES + 32];
        const struct json *epoch = json_get(s, "epoch");
        struct eval_item item = {.item = id};

        if (!take_text(json_get(s, "id"), id)) {
            rc = bad(reading, s->line, "a sample without an id", err);
            continue;
        }
        if (in_groups && json_is(epoch, JSON_NUMBER)) {
            snprintf(name, sizeof name, "%s#%.0f", id, epoch->number);
            item.item = name;
            item.cluster = id;
        }
        rc = put_item(reading, first_score(s), &item, s->line, err);
    }
    return rc;
}

static int read_head(struct reading *reading, const struct json *top, struct error *err)
{
    const struct json *eval = json_get(top, "eval"), *status = json_get(top, "status");

    if (!take_text(json_get(eval, "model"), reading->model))
        snprintf(reading->model, sizeof reading->model, "model");
    if (!take_text(json_get(eval, "task"), reading->suite))
        snprintf(reading->suite, sizeof reading->suite, "task");
    if (json_is(status, JSON_STRING) && !str_is(status->text, "success"))
        return sink_note(reading->import->sink, NOTE_WARN, NONE, NONE, err,
                         "the evaluation did not end well: status %.*s",
                         (int)(status->text.n < 40 ? status->text.n : 40), status->text.p);
    return OK;
}

static int member_tree(struct reading *reading, struct zip_file_reader *zip, const char *name,
                       const struct json **out, struct error *err)
{
    char *text = NULL;
    size_t n = 0;
    int rc = zip_reader_member(zip, name, JSON_MAX_BYTES, &text, &n, err);

    if (rc == OK) /* the tree borrows nothing of the text */
        rc = json_parse(arena_str(reading->import->arena, str_from(text, n)), false,
                        reading->import->arena, out, NULL, err);
    free(text);
    return rc;
}

static int read_zip(struct reading *reading, struct error *err)
{
    struct zip_file_reader *zip = NULL;
    const struct json *head = NULL, *samples = NULL;
    struct error why = {0};
    int rc = zip_reader_open(&zip, reading->import->path, &why);

    if (rc == OK)
        rc = member_tree(reading, zip, "header.json", &head, &why);
    if (rc == OK)
        rc = member_tree(reading, zip, "summaries.json", &samples, &why);
    zip_reader_close(zip);
    if (rc != OK)
        return import_note_error(reading->import, &why, err);
    rc = read_head(reading, head, err);
    return rc == OK ? put_samples(reading, samples, err) : rc;
}

/* ---- W&B tables ---- */

static ptrdiff_t column_of(const struct json *columns, const char *const *names)
{
    for (; *names; names++) {
        ptrdiff_t i = 0;
        for (const struct json *c = columns->child; c; c = c->next, i++)
            if (json_is(c, JSON_STRING) && str_is_ignoring_case(c->text, *names))
                return i;
    }
    return -1;
}

static const struct json *cell_at(const struct json *row, ptrdiff_t at)
{
    const struct json *cell = at >= 0 && json_is(row, JSON_ARRAY) ? row->child : NULL;

    for (; cell && at > 0; at--)
        cell = cell->next;
    return cell;
}

static int read_table(struct reading *reading, const struct json *top, struct error *err)
{
    static const char *const ITEM[] = {"item_id", "item", "id", "sample_id", NULL},
                      *const SCORE[] = {"correct", "score", "is_correct", NULL},
                      *const MODEL[] = {"model", NULL}, *const SUITE[] = {"suite", "task", NULL};
    const struct json *columns = json_get(top, "columns"), *data = json_get(top, "data");
    int rc = OK;

    if (!json_is(columns, JSON_ARRAY) || !json_is(data, JSON_ARRAY) || column_of(columns, SCORE) < 0 ||
        column_of(columns, ITEM) < 0)
        return sink_note(reading->import->sink, NOTE_INFO, NONE, NONE, err,
                         "a table without columns item (or id) and correct (or score)");
    for (const struct json *row = data->child; row && rc == OK; row = row->next) {
        char id[NAME_BYTES];
        struct eval_item item = {.item = id};

        if (!take_text(cell_at(row, column_of(columns, MODEL)), reading->model))
            snprintf(reading->model, sizeof reading->model, "model");
        if (reading->n_opened == 0 &&
            !take_text(cell_at(row, column_of(columns, SUITE)), reading->suite))
            snprintf(reading->suite, sizeof reading->suite, "table");
        rc = take_text(cell_at(row, column_of(columns, ITEM)), id)
                 ? put_item(reading, cell_at(row, column_of(columns, SCORE)), &item, row->line, err)
                 : bad(reading, row->line, "a row without an item", err);
    }
    return rc;
}

static int read_object(struct reading *reading, struct error *err)
{
    const struct json *top = NULL;
    int rc = import_json(reading->import, &top, err);

    if (rc != OK || !top)
        return rc;
    if (json_get(top, "columns"))
        return read_table(reading, top, err);
    rc = read_head(reading, top, err);
    return rc == OK ? put_samples(reading, json_get(top, "samples"), err) : rc;
}

/* ---- OpenAI evals ---- */

static void read_spec(struct reading *reading, const struct json *spec)
{
    const struct json *fns = json_get(spec, "completion_fns");

    if (!take_text(json_is(fns, JSON_ARRAY) ? fns->child : NULL, reading->model) &&
        !take_text(json_get(spec, "model"), reading->model))
        snprintf(reading->model, sizeof reading->model, "model");
    if (!take_text(json_get(spec, "base_eval"), reading->suite) &&
        !take_text(json_get(spec, "eval_name"), reading->suite))
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
    if (!take_text(json_get(row->tree, "sample_id"), id))
        return bad(reading, row->line, "a result without sample_id", err);
    return put_item(reading, result_of(json_get(row->tree, "data")), &item, row->line, err);
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
    bool is_odd;

    import->n_rows_are = "results of an evaluation";
    if (!reading)
        return error_set(err, E_NOMEM, "no memory for the log of an evaluation");
    reading->import = import;
    int rc = import_oddity(import, &is_odd, err);
    if (rc != OK || is_odd)
        return rc;
    if (str_ends(path, ".eval"))
        return read_zip(reading, err);
    return str_ends(path, ".json") ? read_object(reading, err) : read_lines(reading, err);
}

const struct importer importer_eval_logs = {
    .id = "eval_logs",
    .title = "the log of an evaluation",
    .hint = "inspect_ai's *.eval or *.json, OpenAI evals' *.jsonl, a W&B table of items",
    .supplies = NEEDS_EVAL_ITEMS,
    .version = 1,
    .role = "evals",
    .probe = probe,
    .run = run,
};
