/* lm-evaluation-harness: results_<date>.json gives the suites of a model, samples_<task>_<date>.jsonl
 * beside it their items. Items are named by doc_hash, so that the same question pairs over versions and
 * limits; a prompt_hash that differs is kept, so that it is said before any test. Each metric and filter
 * of a task is a suite: the first bears the task's name, the others "task (filter)", "task (metric)". */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/checks/check.h"
#include "core/read/rows.h"
#include "importers/importer.h"
#include "importers/outputs/item_results.h"
#include "importers/outputs/lm_eval_head.h"
#include "importers/peek.h"

enum { NAME_BYTES = LM_EVAL_NAME_BYTES, PATH_BYTES = 4096, MAX_BAD_NOTES = 20, MAX_MEASURES = 32,
       SUITE_BYTES = 2 * NAME_BYTES };

static bool is_samples_name(const char *name)
{
    struct str text = str_of(name);

    return str_starts(text, "samples_") && str_ends(text, ".jsonl");
}

static int probe(const struct peek *peek)
{
    bool is_sample = peek_has_key(peek, "doc_id") && peek_has_key(peek, "target");

    if (is_samples_name(peek->name) && is_sample)
        return 95;
    if (is_sample && peek_has_key(peek, "filtered_resps") && peek_has_key(peek, "arguments") &&
        peek_name_ends(peek, ".jsonl"))
        return 92; /* before 0.4.3: <model arguments>_<task>.jsonl */
    bool is_results = peek_first(peek) == '{' && peek_has_key(peek, "results") &&
                      (peek_has_key(peek, "configs") || peek_has_key(peek, "versions"));

    return is_results && peek_name_ends(peek, ".json") ? 90 : 0;
}

/* One metric behind one filter. */
struct measure {
    char metric[NAME_BYTES], filter[NAME_BYTES];
    int64_t suite;              /* in the sink; 0: left out */
    bool counts, is_odd;        /* is_odd: counts, and some item is neither right nor wrong */
};

struct reading {
    struct import *import;
    struct lm_eval_head head;
    char task[NAME_BYTES];
    struct measure measures[MAX_MEASURES];
    size_t n_measures;
    struct item_names *names;
    char first_item[NAME_BYTES];
    size_t block;               /* of rows that name no filter: which time the items are gone through */
    int64_t n_bad, n_unusable;  /* n_unusable: samples without a metric that is one number */
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

/* ---- Suites ---- */

static void suite_name(const struct reading *reading, const struct measure *m, char out[SUITE_BYTES])
{
    const struct measure *first = &reading->measures[0];
    bool same_metric = strcmp(m->metric, first->metric) == 0,
         same_filter = strcmp(m->filter, first->filter) == 0;

    if (same_metric && same_filter)
        snprintf(out, SUITE_BYTES, "%s", reading->task);
    else if (same_metric || same_filter)
        snprintf(out, SUITE_BYTES, "%.200s (%.200s)", reading->task, same_metric ? m->filter : m->metric);
    else
        snprintf(out, SUITE_BYTES, "%.150s (%.150s, %.150s)", reading->task, m->metric, m->filter);
}

static int put_suite(struct reading *reading, struct measure *m, int64_t n, double n_correct,
                     int64_t line, struct error *err)
{
    char name[SUITE_BYTES], frozen[LM_EVAL_FROZEN_BYTES];
    const struct lm_eval_head *head = &reading->head;

    suite_name(reading, m, name);
    lm_eval_frozen(head->top, reading->task, m->metric, m->filter, frozen);
    struct eval_suite suite = {.model = head->model,
                               .suite = name,
                               .metric = m->counts ? "correct" : "score",
                               .step = head->step,
                               .n = n,
                               .n_correct = n_correct,
                               .artefact = head->artefact[0] ? head->artefact : NULL,
                               .frozen = frozen,
                               .line = line};

    return sink_eval_suite(reading->import->sink, &suite, &m->suite, err);
}

/* NULL: there are too many. */
static struct measure *add_measure(struct reading *reading, const char *metric, const char *filter)
{
    if (reading->n_measures == MAX_MEASURES)
        return NULL;
    struct measure *m = &reading->measures[reading->n_measures++];
    *m = (struct measure){.counts = result_counts(metric)};
    snprintf(m->metric, sizeof m->metric, "%s", metric);
    snprintf(m->filter, sizeof m->filter, "%s", filter);
    return m;
}

static struct measure *find_measure(struct reading *reading, const char *metric, const char *filter)
{
    for (size_t i = 0; i < reading->n_measures; i++)
        if (strcmp(reading->measures[i].metric, metric) == 0 &&
            strcmp(reading->measures[i].filter, filter) == 0)
            return &reading->measures[i];
    return NULL;
}

/* ---- Samples ---- */

/* samples_<task>_<date>.jsonl: the date, and the results of that date beside it. */
static void find_results(struct reading *reading, char results[PATH_BYTES])
{
    const char *path = reading->import->path, *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    struct str stem = str_first(str_of(name), strlen(name) - strlen(".jsonl"));
    const char *date = NULL;
    bool is_dated = is_samples_name(name);

    for (size_t i = stem.n; is_dated && i > 8 && !date; i--)
        if (name[i - 1] == '_')
            date = &name[i];
    copy_text(reading->task, date        ? str_from(name + 8, (size_t)(date - name) - 9)
                             : is_dated ? str_skip(stem, 8)
                                        : stem);
    int n_folder = (int)(name - path), n_date = date ? (int)(stem.n - (size_t)(date - name)) : 0;
    if (date)
        snprintf(results, PATH_BYTES, "%.*sresults_%.*s.json", n_folder, path, n_date, date);
    else
        snprintf(results, PATH_BYTES, "%.*sresults.json", n_folder, path);
    if (slash) { /* without results: the folder is named by the model */
        const char *from = slash;
        while (from > path && from[-1] != '/')
            from--;
        copy_text(reading->head.model, str_from(from, (size_t)(slash - from)));
    }
}

/* <model arguments>_<task>.jsonl: the longest task that the name ends with. */
static void name_task(struct reading *reading)
{
    const struct json *configs = json_get(reading->head.top, "configs");
    size_t longest = 0;
    char stem[NAME_BYTES];

    snprintf(stem, sizeof stem, "%s", reading->task);
    for (const struct json *task = json_is(configs, JSON_OBJECT) ? configs->child : NULL; task;
         task = task->next) {
        size_t n = strlen(stem);

        if (task->key.n > longest && n > task->key.n && stem[n - task->key.n - 1] == '_' &&
            memcmp(stem + n - task->key.n, task->key.p, task->key.n) == 0) {
            longest = task->key.n;
            copy_text(reading->task, task->key);
        }
    }
}

static bool is_no_metric(struct str key)
{
    static const char *const KEYS[] = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps",
                                       "filter", "metrics", "doc_hash", "prompt_hash", "target_hash",
                                       "schema", "labels"};

    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (str_is(key, KEYS[i]))
            return true;
    return false;
}

/* The next member that is a metric: those of the list "metrics" where there is one, else what is no
 * part of the sample. */
static const struct json *next_metric(const struct json *row, const struct json *at)
{
    const struct json *list = json_get(row, "metrics");

    for (at = at ? at->next : row->child; at; at = at->next) {
        bool is_listed = !json_is(list, JSON_ARRAY);

        for (const struct json *m = is_listed ? NULL : list->child; m && !is_listed; m = m->next)
            is_listed = json_is(m, JSON_STRING) && str_eq(m->text, at->key);
        if (is_listed && !is_no_metric(at->key) && at->key.n > 0 && at->type != JSON_ARRAY &&
            at->type != JSON_OBJECT)
            return at;
    }
    return NULL;
}

/* The metrics of the first sample of a filter, those that tell right from wrong first. */
static int open_measures(struct reading *reading, const struct json *row, const char *filter,
                         int64_t line, struct error *err)
{
    char metric[NAME_BYTES];
    int rc = OK;

    for (int counted = 1; counted >= 0; counted--)
        for (const struct json *m = next_metric(row, NULL); m && rc == OK; m = next_metric(row, m)) {
            copy_text(metric, m->key);
            bool is_share = isnan(result_value(m)) || (result_value(m) >= 0.0 && result_value(m) <= 1.0);
            struct measure *own = NULL;

            if (result_counts(metric) == (counted == 1))
                own = add_measure(reading, metric, filter);
            if (!own)
                continue;
            if (lm_eval_less_is_better(reading->head.top, reading->task, metric) ||
                (own->counts && !is_share)) {
                reading->n_measures--;
                continue;
            }
            rc = put_suite(reading, own, NONE, NAN, line, err);
        }
    return rc;
}

/* Rows of old versions name no filter: the items are gone through once for each. */
static void filter_of(struct reading *reading, const struct json *row, const char *item,
                      char out[NAME_BYTES])
{
    if (result_text(json_get(row, "filter"), out, NAME_BYTES))
        return;
    if (!reading->first_item[0])
        snprintf(reading->first_item, NAME_BYTES, "%s", item);
    else
        reading->block += strcmp(reading->first_item, item) == 0;
    lm_eval_filter(reading->head.top, reading->task, reading->block, out);
    if (out[0])
        return;
    if (reading->block > 0)
        snprintf(out, NAME_BYTES, "filter %zu", reading->block + 1);
    else
        snprintf(out, NAME_BYTES, "none");
}

static bool knows_filter(const struct reading *reading, const char *filter)
{
    for (size_t i = 0; i < reading->n_measures; i++)
        if (strcmp(reading->measures[i].filter, filter) == 0)
            return true;
    return false;
}

static int put_results(struct reading *reading, const struct json *row, const char *filter,
                       struct eval_item *item, struct error *err)
{
    char metric[NAME_BYTES];
    int rc = OK;

    for (const struct json *m = next_metric(row, NULL); m && rc == OK; m = next_metric(row, m)) {
        copy_text(metric, m->key);
        struct measure *own = find_measure(reading, metric, filter);

        if (!own || own->suite == 0)
            continue;
        item->score = result_value(m);
        own->is_odd |= own->counts && isfinite(item->score) && item->score != 0.0 && item->score != 1.0;
        rc = item_names_put(reading->names, reading->import->sink, own->suite, item, err);
    }
    return rc;
}

static int on_sample(struct reading *reading, const struct json *row, const struct row_place *place,
                     struct error *err)
{
    const struct json *hash = json_get(row, "doc_hash"), *prompt = json_get(row, "prompt_hash");
    char name[NAME_BYTES], id[NAME_BYTES], filter[NAME_BYTES];
    struct eval_item item = {.item = name};
    int rc = OK;

    bool has_id = result_text(json_get(row, "doc_id"), id, sizeof id);
    if (!json_is(row, JSON_OBJECT) || (!result_text(hash, name, sizeof name) && !has_id))
        return bad(reading, place->line, place->at, "a sample without doc_hash or doc_id", err);
    if (!name[0])
        memcpy(name, id, sizeof name);
    if (!next_metric(row, NULL)) {
        reading->n_unusable++;
        return OK;
    }
    filter_of(reading, row, has_id ? id : name, filter);
    if (!knows_filter(reading, filter))
        rc = open_measures(reading, row, filter, place->line, err);
    if (json_is(prompt, JSON_STRING))
        item.prompt_hash = (int64_t)hash_bytes(prompt->text.p, prompt->text.n);
    return rc == OK ? put_results(reading, row, filter, &item, err) : rc;
}

static int read_rows(struct reading *reading, struct rows *rows, struct arena *arena,
                     struct error *err)
{
    const struct json *row = NULL;
    struct row_place place = {0};
    struct error why = {0};
    int rc = OK, got;

    while (rc == OK && (got = rows_next(rows, arena, &row, &place, &why, err)) != 0) {
        if (got < 0)
            return got;
        if (reading->import->n_rows++ % 256 == 0 && import_is_cancelled(reading->import))
            return error_set(err, E_CANCELLED, "cancelled");
        rc = row ? on_sample(reading, row, &place, err)
                 : bad(reading, place.line, place.at, why.message, err);
        arena_reset(arena);
    }
    return rc;
}

static int finish_samples(struct reading *reading, struct error *err)
{
    int rc = item_names_note(reading->names, reading->import->sink, err);

    for (size_t i = 0; i < reading->n_measures && rc == OK; i++)
        if (reading->measures[i].is_odd)
            rc = sink_note(reading->import->sink, NOTE_WARN, NONE, NONE, err,
                           "%s is not 0 or 1 for each item", reading->measures[i].metric);
    if (rc == OK && reading->n_unusable > 0)
        rc = sink_note(reading->import->sink, NOTE_INFO, NONE, NONE, err,
                       "samples without a metric that is a number: %lld",
                       (long long)reading->n_unusable);
    return rc;
}

static int read_samples(struct reading *reading, struct error *err)
{
    struct arena *head = arena_open(JSON_MAX_BYTES), *each = arena_open(JSON_MAX_BYTES);
    const struct json *top = NULL;
    struct rows *rows = NULL;
    char results[PATH_BYTES], folder[NAME_BYTES];
    struct error why = {0};
    int rc = head && each ? OK : error_set(err, E_NOMEM, "no memory for samples");

    if (rc == OK) {
        find_results(reading, results);
        memcpy(folder, reading->head.model, sizeof folder);
        if (access(results, R_OK) == 0 && json_read_file(results, false, head, &top, NULL, &why) == OK)
            lm_eval_head_read(top, &reading->head);
        if (!reading->head.model[0])
            memcpy(reading->head.model, folder, sizeof folder);
        name_task(reading);
        rc = rows_open(&rows, reading->import->path, &why);
        if (rc == OK)
            rc = read_rows(reading, rows, each, &why);
        rows_close(rows);
        if (rc != OK)
            rc = import_note_error(reading->import, &why, err);
        if (rc == OK)
            rc = finish_samples(reading, err);
    }
    arena_close(head);
    arena_close(each);
    return rc;
}

/* ---- Results ---- */

/* Their samples lie beside them and say the same, item by item. */
static bool has_samples(const struct reading *reading)
{
    const char *path = reading->import->path, *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path, *date = strstr(name, "results_");
    char samples[PATH_BYTES];
    size_t n = date ? strlen(date + 8) : 0;

    if (n <= 5)
        return false;
    snprintf(samples, sizeof samples, "%.*ssamples_%s_%.*s.jsonl", (int)(name - path), path,
             reading->task, (int)(n - 5), date + 8);
    return access(samples, R_OK) == 0;
}

/* The number of items from the standard error of a share k/n, √(p(1 − p)/(n − 1)), where p·n comes out
 * as a whole number: a bootstrapped error does not fit that. NONE: it cannot be told. */
static int64_t items_by_error(double p, double error)
{
    if (!(p > 0.0 && p < 1.0) || !(error > 0.0))
        return NONE;
    double n = p * (1.0 - p) / (error * error) + 1.0, whole = round(n);
    if (!(whole >= 2.0 && whole < 1e9) || fabs(n - whole) > 1e-6 * whole ||
        fabs(p * whole - round(p * whole)) > 1e-6 * whole)
        return NONE;
    return (int64_t)whole;
}

/* "acc,none" as metric and filter; very old files have no filter. False: no metric. */
static bool split_key(struct str key, char metric[NAME_BYTES], char filter[NAME_BYTES])
{
    struct str rest = key, first;

    if (!str_split(&rest, ',', &first) || first.n == 0 || str_ends(first, "_stderr") ||
        str_is(first, "sample_len") || str_is(first, "sample_count"))
        return false;
    copy_text(metric, first);
    copy_text(filter, rest.n > 0 ? rest : str_of("none"));
    return true;
}

static double error_of(const struct json *task, const struct measure *m)
{
    char key[SUITE_BYTES];

    snprintf(key, sizeof key, "%.200s_stderr,%.200s", m->metric, m->filter);
    const struct json *error = json_get(task, key);
    if (!error) {
        snprintf(key, sizeof key, "%.200s_stderr", m->metric);
        error = json_get(task, key);
    }
    return result_value(error);
}

static int put_measure(struct reading *reading, const struct json *task, const struct json *value,
                       struct measure *m, size_t *n_unknown, struct error *err)
{
    int64_t n = lm_eval_items(reading->head.top, reading->task);

    if (n == NONE && m->counts)
        n = items_by_error(value->number, error_of(task, m));
    if (n == NONE) {
        ++*n_unknown;
        return OK;
    }
    double sum = value->number * (double)n;
    return put_suite(reading, m, n, m->counts ? round(sum) : sum, value->line, err);
}

/* Each metric that is a share, those that tell right from wrong first. */
static int put_task(struct reading *reading, const struct json *task, struct error *err)
{
    char metric[NAME_BYTES], filter[NAME_BYTES];
    size_t n_unknown = 0, n_nan = 0;
    int rc = OK;

    reading->n_measures = 0;
    for (int counted = 1; counted >= 0; counted--)
        for (const struct json *m = json_is(task, JSON_OBJECT) ? task->child : NULL; m && rc == OK;
             m = m->next) {
            struct measure *own = NULL;

            if (!json_is(m, JSON_NUMBER) || !split_key(m->key, metric, filter) ||
                result_counts(metric) != (counted == 1) ||
                lm_eval_less_is_better(reading->head.top, reading->task, metric))
                continue;
            n_nan += isnan(m->number) ? 1 : 0;
            if (m->number >= 0.0 && m->number <= 1.0 && !find_measure(reading, metric, filter))
                own = add_measure(reading, metric, filter);
            if (own)
                rc = put_measure(reading, task, m, own, &n_unknown, err);
        }
    if (rc == OK && n_nan > 0)
        rc = sink_note(reading->import->sink, NOTE_WARN, task->line, NONE, err, "%s: a result is NaN",
                       reading->task);
    if (rc == OK && (n_unknown > 0 || reading->n_measures == 0))
        rc = sink_note(reading->import->sink, NOTE_INFO, task->line, NONE, err,
                       "%s: no share of a known number of items", reading->task);
    return rc;
}

static int read_results(struct reading *reading, struct error *err)
{
    const struct json *top = NULL;
    int64_t n_groups = 0;
    int rc = import_json(reading->import, &top, err);

    if (rc != OK || !top)
        return rc;
    const struct json *results = json_get(top, "results");
    if (!json_is(results, JSON_OBJECT))
        return bad(reading, 1, 0, "results are expected to be an object of tasks", err);
    lm_eval_head_read(top, &reading->head);
    if (!reading->head.model[0])
        copy_text(reading->head.model, str_of("model"));
    for (const struct json *task = results->child; task && rc == OK; task = task->next) {
        reading->import->n_rows++;
        copy_text(reading->task, task->key);
        if (lm_eval_is_group(top, reading->task))
            n_groups++;
        else if (!has_samples(reading))
            rc = put_task(reading, task, err);
    }
    if (rc == OK && n_groups > 0)
        rc = sink_note(reading->import->sink, NOTE_INFO, NONE, NONE, err,
                       "entries that sum up tasks which stand here too are not counted again: %lld",
                       (long long)n_groups);
    if (rc == OK)
        rc = lm_eval_head_settings(reading->import, top, err);
    if (rc == OK && json_get(top, "chat_template"))
        rc = import_own_setting(reading->import, SIDE_EVAL, "lm_eval.chat_template_sha",
                                json_get(top, "chat_template_sha"), err);
    return rc;
}

static int run(struct import *import, struct error *err)
{
    struct reading *reading = arena_alloc(import->arena, sizeof *reading);
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = "results of an evaluation";
    if (rc != OK || is_odd)
        return rc;
    struct item_names *names = item_names_open();
    if (!reading || !names) {
        item_names_close(names);
        return error_set(err, E_NOMEM, "no memory for the results of an evaluation");
    }
    reading->import = import;
    reading->names = names;
    reading->head.step = NONE;
    rc = str_ends(str_of(import->path), ".jsonl") ? read_samples(reading, err)
                                                  : read_results(reading, err);
    item_names_close(names);
    return rc;
}

const struct importer importer_lm_eval = {
    .id = "lm_eval",
    .title = "results of lm-evaluation-harness",
    .hint = "results_<date>.json and samples_<task>_<date>.jsonl (--log_samples)",
    .supplies = NEEDS_EVAL_ITEMS,
    .version = 3,
    .role = "evals",
    .probe = probe,
    .run = run,
};
