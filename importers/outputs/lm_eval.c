/* lm-evaluation-harness: results_<date>.json gives the suites of a model, samples_<task>_<date>.jsonl
 * beside it their items. Items are named by doc_hash, so that the same question pairs over versions and
 * limits; a prompt_hash that differs is kept, so that it is said before any test. Of several metrics and
 * filters of a task the first is taken. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/checks/check.h"
#include "core/read/jsonl.h"
#include "core/read/source.h"
#include "importers/importer.h"
#include "importers/peek.h"

enum { NAME_BYTES = 256, PATH_BYTES = 4096, MAX_BAD_NOTES = 20 };

static bool is_samples_name(const char *name)
{
    struct str text = str_of(name);

    return str_starts(text, "samples_") && str_ends(text, ".jsonl");
}

static int probe(const struct peek *peek)
{
    if (is_samples_name(peek->name) && peek_has_key(peek, "doc_id") && peek_has_key(peek, "target"))
        return 95;
    bool is_results = peek_first(peek) == '{' && peek_has_key(peek, "results") &&
                      (peek_has_key(peek, "configs") || peek_has_key(peek, "versions"));

    return is_results && peek_name_ends(peek, ".json") ? 90 : 0;
}

struct reading {
    struct import *import;
    char task[NAME_BYTES], model[NAME_BYTES], artefact[NAME_BYTES];
    char metric[NAME_BYTES], filter[NAME_BYTES];
    int64_t suite, n_bad, n_other_filters;
    bool has_odd_score;
};

static int bad(struct reading *reading, int64_t line, int64_t byte, const char *what,
               struct error *err)
{
    if (reading->n_bad++ >= MAX_BAD_NOTES)
        return OK;
    return sink_note(reading->import->sink, NOTE_WARN, line, byte, err, "%s", what);
}

static void copy_text(char out[NAME_BYTES], struct str text)
{
    size_t n = text.n < NAME_BYTES ? text.n : NAME_BYTES - 1;

    memcpy(out, text.p, n);
    out[n] = '\0';
}

/* ---- Which model ---- */

/* The value of a key in "pretrained=a,peft=b" or in an object. */
static bool model_arg(const struct json *args, const char *key, char out[NAME_BYTES])
{
    const struct json *member = json_is(args, JSON_OBJECT) ? json_get(args, key) : NULL;
    size_t n = strlen(key);

    if (json_is(member, JSON_STRING) && member->text.n > 0) {
        copy_text(out, member->text);
        return true;
    }
    struct str rest = json_is(args, JSON_STRING) ? args->text : str_of(""), part;
    while (str_split(&rest, ',', &part))
        if (part.n > n + 1 && str_starts(part, key) && part.p[n] == '=') {
            copy_text(out, str_skip(part, n + 1));
            return true;
        }
    return false;
}

/* An adapter is what was evaluated; without one the model itself. */
static void name_model(struct reading *reading, const struct json *top)
{
    const struct json *config = json_get(top, "config"), *name = json_get(top, "model_name");
    const struct json *args = json_get(config, "model_args");

    if (model_arg(args, "peft", reading->artefact) ||
        model_arg(args, "pretrained", reading->artefact))
        memcpy(reading->model, reading->artefact, NAME_BYTES);
    else if (json_is(name, JSON_STRING) && name->text.n > 0)
        copy_text(reading->model, name->text);
}

/* samples_<task>_<date>.jsonl: the date, and the results of that date beside it. */
static void find_results(struct reading *reading, char results[PATH_BYTES])
{
    const char *path = reading->import->path, *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    struct str stem = str_first(str_of(name), strlen(name) - strlen(".jsonl"));
    const char *date = NULL;

    for (size_t i = stem.n; i > 8 && !date; i--)
        if (name[i - 1] == '_')
            date = &name[i];
    copy_text(reading->task, date ? str_from(name + 8, (size_t)(date - name) - 9)
                                  : str_skip(stem, 8));
    int n_folder = (int)(name - path), n_date = date ? (int)(stem.n - (size_t)(date - name)) : 0;
    snprintf(results, PATH_BYTES, "%.*sresults_%.*s.json", n_folder, path, n_date,
             date ? date : "");
    if (slash) { /* without results: the folder is named by the model */
        const char *from = slash;
        while (from > path && from[-1] != '/')
            from--;
        copy_text(reading->model, str_from(from, (size_t)(slash - from)));
    }
}

/* ---- Samples ---- */

static double score_of(const struct json *row, const char *metric)
{
    const struct json *value = json_get(row, metric);

    if (json_is(value, JSON_TRUE) || json_is(value, JSON_FALSE))
        return value->type == JSON_TRUE;
    return json_is(value, JSON_NUMBER) ? value->number : NAN;
}

static void choose_metric(const struct json *row, char out[NAME_BYTES])
{
    static const char *const KNOWN[] = {"exact_match", "acc", "acc_norm", "pass@1", "em", "f1",
                                        "prompt_level_strict_acc", "mc2", "mc1", "bleu", "rouge1"};
    const struct json *list = json_get(row, "metrics");

    for (const struct json *m = json_is(list, JSON_ARRAY) ? list->child : NULL; m; m = m->next) {
        copy_text(out, json_is(m, JSON_STRING) ? m->text : str_of(""));
        if (isfinite(score_of(row, out)))
            return;
    }
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
        copy_text(out, str_of(KNOWN[i]));
        if (isfinite(score_of(row, out)))
            return;
    }
    out[0] = '\0';
}

/* Each item right or wrong. */
static bool is_counted(const char *metric)
{
    return strncmp(metric, "acc", 3) == 0 || strncmp(metric, "exact_match", 11) == 0 ||
           strcmp(metric, "em") == 0 || strcmp(metric, "mc1") == 0 || strcmp(metric, "pass@1") == 0 ||
           str_ends(str_of(metric), "_acc");
}

static int begin_suite(struct reading *reading, int64_t line, struct error *err)
{
    struct eval_suite suite = {.model = reading->model,
                               .suite = reading->task,
                               .metric = is_counted(reading->metric) ? "correct" : "score",
                               .step = NONE,
                               .n = NONE,
                               .n_correct = NAN,
                               .artefact = reading->artefact[0] ? reading->artefact : NULL,
                               .line = line};

    return sink_eval_suite(reading->import->sink, &suite, &reading->suite, err);
}

static int on_sample(void *ctx, const struct json_row *row, struct error *err)
{
    struct reading *reading = ctx;
    const struct json *top = row->tree, *hash = json_get(top, "doc_hash");
    const struct json *id = json_get(top, "doc_id"), *filter = json_get(top, "filter");
    const struct json *prompt = json_get(top, "prompt_hash");
    char item[NAME_BYTES], own_filter[NAME_BYTES] = "none";

    if (reading->import->n_rows++ % 256 == 0 && import_is_cancelled(reading->import))
        return error_set(err, E_CANCELLED, "cancelled");
    if (json_is(filter, JSON_STRING))
        copy_text(own_filter, filter->text);
    if (reading->suite == 0) {
        choose_metric(top, reading->metric);
        memcpy(reading->filter, own_filter, NAME_BYTES);
    }
    if (strcmp(own_filter, reading->filter) != 0) {
        reading->n_other_filters++;
        return OK;
    }
    const struct json *name = json_is(hash, JSON_STRING) ? hash : id;
    double score = reading->metric[0] ? score_of(top, reading->metric) : NAN;
    if (!name || (name->type != JSON_STRING && name->type != JSON_NUMBER) || !isfinite(score))
        return bad(reading, row->line, row->byte, "a sample without doc_hash, doc_id or a metric", err);
    copy_text(item, name->text);
    reading->has_odd_score |= is_counted(reading->metric) && score != 0.0 && score != 1.0;
    int rc = reading->suite == 0 ? begin_suite(reading, row->line, err) : OK;
    struct eval_item one = {.item = item, .score = score};
    if (json_is(prompt, JSON_STRING))
        one.prompt_hash = (int64_t)hash_bytes(prompt->text.p, prompt->text.n);
    return rc == OK ? sink_eval_item(reading->import->sink, reading->suite, &one, err) : rc;
}

static int on_bad(void *ctx, const struct source_line *line, bool is_last, const struct error *why,
                  struct error *err)
{
    struct reading *reading = ctx;

    if (is_last)
        reading->import->state = SOURCE_GROWING;
    return bad(reading, line->number, line->byte, why->message, err);
}

static int finish_samples(struct reading *reading, struct error *err)
{
    int rc = OK;

    if (reading->n_other_filters > 0)
        rc = sink_note(reading->import->sink, NOTE_INFO, NONE, NONE, err,
                       "of several filters %s is taken; %lld rows of the others are left out",
                       reading->filter, (long long)reading->n_other_filters);
    if (rc == OK && reading->has_odd_score)
        rc = sink_note(reading->import->sink, NOTE_WARN, NONE, NONE, err,
                       "%s is not 0 or 1 for each item", reading->metric);
    return rc;
}

static int read_samples(struct reading *reading, struct error *err)
{
    const struct jsonl_handler handler = {
        .row = on_sample, .bad = on_bad, .ctx = reading, .always_tree = true};
    struct source_file *file = NULL;
    struct arena *arena = arena_open(JSON_MAX_BYTES);
    const struct json *top = NULL;
    char results[PATH_BYTES];
    struct error why = {0};
    int rc = arena ? OK : error_set(err, E_NOMEM, "no memory for samples");

    if (rc != OK)
        return rc;
    find_results(reading, results);
    if (access(results, R_OK) == 0 &&
        json_read_file(results, false, arena, &top, NULL, &why) == OK)
        name_model(reading, top);
    arena_close(arena);
    rc = source_open(&file, reading->import->path, &why);
    if (rc == OK)
        rc = jsonl_read(file, &handler, &why);
    source_close(file);
    if (rc != OK)
        rc = import_note_error(reading->import, &why, err);
    return rc == OK ? finish_samples(reading, err) : rc;
}

/* ---- Results ---- */

/* Their samples lie beside them and say the same, item by item. */
static bool has_samples(const struct reading *reading, struct str task)
{
    const char *path = reading->import->path, *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path, *date = strstr(name, "results_");
    char samples[PATH_BYTES];
    size_t n = date ? strlen(date + 8) : 0;

    if (n <= 5)
        return false;
    snprintf(samples, sizeof samples, "%.*ssamples_%.*s_%.*s.jsonl", (int)(name - path), path,
             (int)(task.n < NAME_BYTES ? task.n : 0), task.p, (int)(n - 5), date + 8);
    return access(samples, R_OK) == 0;
}

static int64_t items_of(const struct json *top, struct str task)
{
    char key[NAME_BYTES];

    copy_text(key, task);
    const struct json *n = json_get(json_get(json_get(top, "n-samples"), key), "effective");
    return json_is(n, JSON_NUMBER) && n->number >= 1.0 && n->number < 9e15 ? (int64_t)n->number : NONE;
}

/* "acc,none" of the task, the first that is a share. */
static int put_task(struct reading *reading, const struct json *top, const struct json *task,
                    struct error *err)
{
    int64_t n = items_of(top, task->key), id;

    for (const struct json *m = json_is(task, JSON_OBJECT) ? task->child : NULL; m; m = m->next) {
        struct str rest = m->key, metric;

        if (!json_is(m, JSON_NUMBER) || !str_split(&rest, ',', &metric) || n == NONE ||
            !(m->number >= 0.0 && m->number <= 1.0) || str_ends(metric, "_stderr"))
            continue;
        copy_text(reading->metric, metric);
        copy_text(reading->task, task->key);
        bool counts = is_counted(reading->metric);
        struct eval_suite suite = {.model = reading->model,
                                   .suite = reading->task,
                                   .metric = counts ? "correct" : "score",
                                   .step = NONE,
                                   .n = n,
                                   .n_correct = counts ? round(m->number * (double)n)
                                                       : m->number * (double)n,
                                   .artefact = reading->artefact[0] ? reading->artefact : NULL,
                                   .line = m->line};
        return sink_eval_suite(reading->import->sink, &suite, &id, err);
    }
    return sink_note(reading->import->sink, NOTE_INFO, task->line, NONE, err,
                     "%.*s: no share of a known number of items", (int)task->key.n, task->key.p);
}

static int read_results(struct reading *reading, struct error *err)
{
    const struct json *top = NULL;
    int rc = import_json(reading->import, &top, err);

    if (rc != OK || !top)
        return rc;
    const struct json *results = json_get(top, "results");
    if (!json_is(results, JSON_OBJECT))
        return bad(reading, 1, 0, "results are expected to be an object of tasks", err);
    copy_text(reading->model, str_of("model"));
    name_model(reading, top);
    for (const struct json *task = results->child; task && rc == OK; task = task->next) {
        reading->import->n_rows++;
        if (!has_samples(reading, task->key))
            rc = put_task(reading, top, task, err);
    }
    const struct json *chat = json_get(top, "chat_template");
    if (rc == OK && chat)
        rc = import_own_setting(reading->import, SIDE_EVAL, "lm_eval.chat_template_sha",
                                json_get(top, "chat_template_sha"), err);
    return rc;
}

static int run(struct import *import, struct error *err)
{
    struct reading *reading = arena_alloc(import->arena, sizeof *reading);
    const char *slash = strrchr(import->path, '/');
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = "results of an evaluation";
    if (rc != OK || is_odd)
        return rc;
    if (!reading)
        return error_set(err, E_NOMEM, "no memory for the results of an evaluation");
    reading->import = import;
    return is_samples_name(slash ? slash + 1 : import->path) ? read_samples(reading, err)
                                                             : read_results(reading, err);
}

const struct importer importer_lm_eval = {
    .id = "lm_eval",
    .title = "results of lm-evaluation-harness",
    .hint = "results_<date>.json and samples_<task>_<date>.jsonl (--log_samples)",
    .supplies = NEEDS_EVAL_ITEMS,
    .version = 1,
    .role = "evals",
    .probe = probe,
    .run = run,
};
