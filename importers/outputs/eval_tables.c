/* Tables of results, a row an item: W&B's *.table.json and MLflow's log_table and
 * eval_results_table.json ({columns, data}), or the same as CSV. Columns are taken by name. Where no
 * column holds a result, prediction and target are compared; where none names the item, its prompt does.
 * Texts stay in the file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/checks/check.h"
#include "core/read/rows.h"
#include "importers/importer.h"
#include "importers/outputs/item_results.h"
#include "importers/peek.h"

enum { NAME_BYTES = 256, MAX_BAD_NOTES = 20, MAX_SUITES = 128, MAX_COLUMNS = 512 };

enum column { ITEM, SCORE, MODEL, SUITE, PROMPT, PREDICTION, TARGET, STEP, CLUSTER, N_COLUMNS };

/* In order of how sure they are. */
static const char *const NAMES[N_COLUMNS][12] = {
    [ITEM] = {"item_id", "item", "id", "sample_id", "doc_id", "example_id", "question_id", "request_id"},
    [SCORE] = {"correct", "is_correct", "exact_match", "accuracy", "score", "exact_match/v1/score",
               "exact_match/score", "answer_correctness/v1/score", "answer_similarity/v1/score",
               "correctness/value"},
    [MODEL] = {"model", "model_name", "model_id"},
    [SUITE] = {"suite", "task", "benchmark"},
    [PROMPT] = {"inputs", "input", "prompt", "question", "query", "request"},
    [PREDICTION] = {"prediction", "predictions", "outputs", "output", "response", "answer", "completion",
                    "model_output"},
    [TARGET] = {"target", "targets", "ground_truth", "label", "expected", "expected_output", "reference",
                "expected_response"},
    [STEP] = {"step", "global_step"},
    [CLUSTER] = {"group", "cluster"},
};

/* ---- What it looks like ---- */

static bool is_named(struct str text, enum column column)
{
    for (size_t i = 0; NAMES[column][i]; i++)
        if (str_is_ignoring_case(text, NAMES[column][i]))
            return true;
    return false;
}

/* Quoted anywhere in the head, as the list of columns has it. */
static bool head_names(const struct peek *peek, enum column column)
{
    char quoted[64];

    for (size_t i = 0; NAMES[column][i]; i++) {
        snprintf(quoted, sizeof quoted, "\"%s\"", NAMES[column][i]);
        if (str_find(peek->head, quoted) >= 0)
            return true;
    }
    return false;
}

static bool header_names(const struct peek *peek, enum column column)
{
    struct str rest = peek->head, header, cell;

    if (!str_split(&rest, '\n', &header))
        return false;
    if (str_starts(header, "\xef\xbb\xbf"))
        header = str_skip(header, 3);
    while (str_split(&header, peek_name_ends(peek, ".tsv") ? '\t' : ',', &cell)) {
        cell = str_trim(cell);
        if (cell.n >= 2 && cell.p[0] == '"')
            cell = str_from(cell.p + 1, cell.n - 2);
        if (is_named(cell, column))
            return true;
    }
    return false;
}

static int probe(const struct peek *peek)
{
    bool is_csv = peek_name_ends(peek, ".csv") || peek_name_ends(peek, ".tsv");

    if (is_csv) /* results of several models: a data set has no column of them */
        return header_names(peek, MODEL) && header_names(peek, SCORE) && header_names(peek, ITEM) &&
                       (header_names(peek, SUITE) || peek_name_starts(peek, "eval"))
                   ? 88
                   : 0;
    if (!peek_name_ends(peek, ".json") || peek_first(peek) != '{' || !peek_has_key(peek, "columns") ||
        !peek_has_key(peek, "data"))
        return 0;
    bool has_item = head_names(peek, ITEM) || head_names(peek, PROMPT);
    bool has_result = head_names(peek, SCORE) || str_find(peek->head, "/score\"") >= 0 ||
                      (head_names(peek, PREDICTION) && head_names(peek, TARGET));
    return has_item && has_result ? 88 : 0;
}

/* ---- Reading ---- */

/* A model on a suite at a step. */
struct opened {
    char model[NAME_BYTES], suite[NAME_BYTES];
    int64_t step, id;
};

struct reading {
    struct import *import;
    struct item_names *names;
    const char *column[N_COLUMNS];      /* as the table names it; NULL: it has none */
    ptrdiff_t at[N_COLUMNS];            /* of a JSON table */
    bool counts;                        /* each item is right or wrong */
    char suite[NAME_BYTES];             /* by the file's name */
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

/* "eval_samples_100_5fd3….table.json" is of "eval_samples", "eval_results_table.json" of "eval_results". */
static void name_suite(struct reading *reading)
{
    const char *slash = strrchr(reading->import->path, '/');
    struct str name = str_of(slash ? slash + 1 : reading->import->path);
    ptrdiff_t dot = str_find(name, ".");

    if (dot > 0)
        name = str_first(name, (size_t)dot);
    for (int part = 0; part < 2 && str_ends(str_of(reading->import->path), ".table.json"); part++) {
        size_t n = name.n;
        bool is_hex = true;
        while (n > 0 && name.p[n - 1] != '_') {
            n--;
            is_hex &= strchr("0123456789abcdef", name.p[n]) != NULL;
        }
        if (n < 2 || !is_hex)
            break;
        name = str_first(name, n - 1);
    }
    if (str_ends(name, "_table") && name.n > 6)
        name = str_first(name, name.n - 6);
    snprintf(reading->suite, sizeof reading->suite, "%.*s", (int)(name.n < 200 ? name.n : 200), name.p);
}

static const struct json *cell(const struct reading *reading, const struct json *row, enum column column)
{
    if (!reading->column[column])
        return NULL;
    if (json_is(row, JSON_OBJECT))
        return json_get(row, reading->column[column]);
    const struct json *value = json_is(row, JSON_ARRAY) ? row->child : NULL;
    for (ptrdiff_t at = reading->at[column]; value && at > 0; at--)
        value = value->next;
    return value;
}

static void take_column(struct reading *reading, const char *name, ptrdiff_t at)
{
    if (!reading->column[SCORE] && str_ends(str_of(name), "/score")) { /* MLflow: "<metric>/v1/score" */
        reading->column[SCORE] = name;
        reading->at[SCORE] = at;
    }
    for (int column = 0; column < N_COLUMNS; column++) {
        size_t best = 0, own = 0;

        while (NAMES[column][own] && !str_is_ignoring_case(str_of(name), NAMES[column][own]))
            own++;
        if (!NAMES[column][own])
            continue;
        while (reading->column[column] && NAMES[column][best] &&
               !str_is_ignoring_case(str_of(reading->column[column]), NAMES[column][best]))
            best++;
        if (reading->column[column] && best <= own)
            continue;
        reading->column[column] = name;
        reading->at[column] = at;
    }
}

static struct opened *open_suite(struct reading *reading, const char *model, const char *suite,
                                 int64_t step, int64_t line, struct error *err)
{
    for (size_t i = 0; i < reading->n_opened; i++)
        if (reading->opened[i].step == step && strcmp(reading->opened[i].model, model) == 0 &&
            strcmp(reading->opened[i].suite, suite) == 0)
            return &reading->opened[i];
    if (reading->n_opened == MAX_SUITES) {
        error_set(err, E_LIMIT, "more than %d models and suites in one table", MAX_SUITES);
        return NULL;
    }
    struct opened *opened = &reading->opened[reading->n_opened];
    *opened = (struct opened){.step = step};
    snprintf(opened->model, sizeof opened->model, "%s", model);
    snprintf(opened->suite, sizeof opened->suite, "%s", suite);
    const struct eval_suite said = {.model = opened->model, .suite = opened->suite, .step = step,
                                    .metric = reading->counts ? "correct" : "score",
                                    .n = NONE, .n_correct = NAN, .line = line};
    if (sink_eval_suite(reading->import->sink, &said, &opened->id, err) != OK)
        return NULL;
    reading->n_opened++;
    return opened;
}

/* A text as it stands, anything else as compact JSON. */
static uint64_t hash_of(const struct json *value)
{
    struct buf out;

    if (json_is(value, JSON_STRING))
        return hash_bytes(value->text.p, value->text.n);
    buf_init(&out, (size_t)1 << 20);
    if (value)
        json_write(&out, value);
    uint64_t hash = hash_bytes(out.p ? out.p : "", out.n);
    buf_free(&out);
    return hash;
}

static bool is_right(const struct json *prediction, const struct json *target)
{
    if (json_is(prediction, JSON_STRING) && json_is(target, JSON_STRING))
        return str_eq(str_trim(prediction->text), str_trim(target->text));
    return prediction && target && prediction->type == target->type &&
           hash_of(prediction) == hash_of(target);
}

static int on_row(struct reading *reading, const struct json *row, int64_t line, struct error *err)
{
    char id[NAME_BYTES], model[NAME_BYTES], suite[NAME_BYTES], cluster[NAME_BYTES];
    const struct json *prompt = cell(reading, row, PROMPT);
    double step = result_value(cell(reading, row, STEP));
    struct eval_item item = {.item = id};

    reading->import->n_rows++;
    if (!result_text(cell(reading, row, ITEM), id, sizeof id)) {
        if (!prompt || json_is(prompt, JSON_NULL))
            return bad(reading, line, "a row without the name of its item", err);
        snprintf(id, sizeof id, "%016llx", (unsigned long long)hash_of(prompt));
    }
    if (!result_text(cell(reading, row, MODEL), model, sizeof model))
        snprintf(model, sizeof model, "model");
    if (!result_text(cell(reading, row, SUITE), suite, sizeof suite))
        snprintf(suite, sizeof suite, "%s", reading->suite);
    if (result_text(cell(reading, row, CLUSTER), cluster, sizeof cluster))
        item.cluster = cluster;
    if (prompt)
        item.prompt_hash = (int64_t)hash_of(prompt);
    const struct json *score = cell(reading, row, SCORE);
    item.score = reading->column[SCORE] ? result_value(score)
                                        : is_right(cell(reading, row, PREDICTION),
                                                   cell(reading, row, TARGET));
    if (isnan(item.score) && !result_is_missing(score))
        return bad(reading, line, "a row whose result is no number", err);
    if (reading->counts && !isnan(item.score) && !(item.score >= 0.0 && item.score <= 1.0))
        return bad(reading, line, "a result outside 0 to 1", err);
    struct error own = {0};
    const struct opened *opened =
        open_suite(reading, model, suite, step >= 0.0 && step < 9e15 ? (int64_t)step : NONE, line, &own);
    if (!opened) {
        if (err)
            *err = own;
        return own.status;
    }
    return item_names_put(reading->names, reading->import->sink, opened->id, &item, err);
}

/* ---- {columns, data} ---- */

/* Right and wrong, or numbers between. */
static bool tells_right_from_wrong(const struct reading *reading, const struct json *data)
{
    for (const struct json *row = data->child; row; row = row->next) {
        double value = result_value(cell(reading, row, SCORE));

        if (!isnan(value) && value != 0.0 && value != 1.0)
            return false;
    }
    return true;
}

static bool any_is_right(const struct reading *reading, const struct json *data)
{
    for (const struct json *row = data->child; row; row = row->next)
        if (is_right(cell(reading, row, PREDICTION), cell(reading, row, TARGET)))
            return true;
    return false;
}

static int say(struct reading *reading, const char *what, struct error *err)
{
    return sink_note(reading->import->sink, NOTE_INFO, NONE, NONE, err, "%s", what);
}

/* 1: the columns tell results of items; 0: they do not, and it was said. */
static int has_results(struct reading *reading, struct error *err)
{
    bool has_pair = reading->column[PREDICTION] && reading->column[TARGET];

    if ((reading->column[ITEM] || reading->column[PROMPT]) && (reading->column[SCORE] || has_pair))
        return 1;
    int rc = say(reading, "a table without columns item (or id, inputs) and correct (or score, or prediction "
                          "and target)", err);
    return rc == OK ? 0 : rc;
}

static int read_json(struct reading *reading, struct error *err)
{
    const struct json *top = NULL;
    ptrdiff_t at = 0;
    int rc = import_json(reading->import, &top, err);

    if (rc != OK || !top)
        return rc;
    const struct json *columns = json_get(top, "columns"), *data = json_get(top, "data");
    if (!json_is(columns, JSON_ARRAY) || !json_is(data, JSON_ARRAY))
        return bad(reading, 1, "columns and data are expected to be lists", err);
    for (const struct json *c = columns->child; c && at < MAX_COLUMNS; c = c->next, at++)
        if (json_is(c, JSON_STRING))
            take_column(reading, arena_strndup(reading->import->arena, c->text.p, c->text.n), at);
    int has = has_results(reading, err);
    if (has != 1)
        return has;
    reading->counts = true;
    if (reading->column[SCORE])
        reading->counts = tells_right_from_wrong(reading, data);
    else if (!any_is_right(reading, data))
        return say(reading, "no prediction equals its target: whether an answer is right is not to be told "
                            "without a column correct or score", err);
    else
        rc = say(reading, "no column of results: an item is right where it equals its target", err);
    for (const struct json *row = data->child; row && rc == OK; row = row->next) {
        if (reading->import->n_rows % 256 == 0 && import_is_cancelled(reading->import))
            return error_set(err, E_CANCELLED, "cancelled");
        rc = on_row(reading, row, row->line, err);
    }
    return rc;
}

/* ---- CSV ---- */

static int read_csv(struct reading *reading, struct error *err)
{
    struct arena *arena = arena_open(ARENA_RENDER_BYTES);
    struct rows *rows = NULL;
    const struct json *row = NULL;
    struct row_place place = {0};
    struct error why = {0};
    int got = 1, rc = arena ? rows_open(&rows, reading->import->path, err)
                            : error_set(err, E_NOMEM, "no memory for a table");

    while (rc == OK && (got = rows_next(rows, arena, &row, &place, &why, err)) > 0) {
        for (const struct json *m = row && reading->import->n_rows == 0 ? row->child : NULL; m; m = m->next)
            take_column(reading, arena_strndup(reading->import->arena, m->key.p, m->key.n), 0);
        if (reading->import->n_rows == 0)
            reading->counts = reading->column[SCORE] && !str_is_ignoring_case(
                                  str_of(reading->column[SCORE]), "score");
        if (reading->import->n_rows % 256 == 0 && import_is_cancelled(reading->import))
            rc = error_set(err, E_CANCELLED, "cancelled");
        else
            rc = row ? on_row(reading, row, place.line, err)
                     : bad(reading, place.line, why.message, err);
        arena_reset(arena);
    }
    rows_close(rows);
    arena_close(arena);
    return rc == OK && got < 0 ? got : rc;
}

static int run(struct import *import, struct error *err)
{
    struct reading *reading = arena_alloc(import->arena, sizeof *reading);
    struct item_names *names = NULL;
    struct error why = {0};
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = "results of an evaluation";
    if (rc != OK || is_odd)
        return rc;
    if (!reading || !(names = item_names_open()))
        return error_set(err, E_NOMEM, "no memory for the results of an evaluation");
    reading->import = import;
    reading->names = names;
    name_suite(reading);
    rc = str_ends(str_of(import->path), ".json") ? read_json(reading, &why) : read_csv(reading, &why);
    if (rc != OK)
        rc = import_note_error(import, &why, err);
    if (rc == OK)
        rc = item_names_note(names, import->sink, err);
    item_names_close(names);
    return rc;
}

const struct importer importer_eval_tables = {
    .id = "eval_tables",
    .title = "a table of results of items",
    .hint = "W&B's media/table/*.table.json, MLflow's eval_results_table.json or log_table, a CSV with "
            "model, suite, item_id, correct",
    .supplies = NEEDS_EVAL_ITEMS,
    .version = 2,
    .role = "evals",
    .probe = probe,
    .run = run,
};
