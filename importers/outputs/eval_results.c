/* What models reached on suites: a line a model and suite (`correct` of `n`), or a line an item. The
 * rows of one model, file, suite and step are one suite; of items their text stays in the file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/checks/check.h"
#include "core/read/jsonl.h"
#include "core/read/source.h"
#include "importers/importer.h"
#include "importers/outputs/item_results.h"
#include "importers/peek.h"

enum { NAME_BYTES = 192, MAX_SUITES = 512, MAX_BAD_NOTES = 20 };

static int probe(const struct peek *peek)
{
    static const char *const NAMES[] = {"eval_results.jsonl", "retention.jsonl", "record.jsonl"};
    bool is_named = false;

    if (!peek_is_lines(peek))
        return 0;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        is_named |= peek_name_is(peek, NAMES[i]);
    bool has_score = peek_has_key(peek, "correct") || peek_has_key(peek, "score") ||
                     peek_has_key(peek, "accuracy");
    bool is_ours = peek_has_key(peek, "suite") && has_score &&
                   (peek_has_key(peek, "model") || peek_has_key(peek, "role"));
    return is_ours ? (is_named ? 95 : 85) : 0;
}

/* A model on a suite as seen so far. */
struct seen {
    uint64_t key;
    int64_t id;                 /* in the sink */
    bool is_summary;
};

struct reading {
    struct import *import;
    struct seen seen[MAX_SUITES];
    size_t n_seen;
    struct item_names *names;
    int64_t n_bad;
};

struct fields {
    char model[NAME_BYTES], suite[NAME_BYTES], item[NAME_BYTES], cluster[NAME_BYTES];
    char artefact[NAME_BYTES], sha256[NAME_BYTES], frozen[2 * NAME_BYTES];
    bool has_item, has_cluster;
    double score, n;            /* NaN: not stated */
    bool is_count;              /* the score counts right answers: "correct" */
    bool is_accuracy;           /* a share of right ones, or per cent of them */
    int64_t step;
};

static int bad(struct reading *reading, const struct json_row *row, const char *what,
               struct error *err)
{
    if (reading->n_bad++ >= MAX_BAD_NOTES)
        return OK;
    return sink_note(reading->import->sink, NOTE_WARN, row->line, row->byte, err, "%s", what);
}

/* The first of the keys whose value is a text or a number, as text: 1 and 1.0 are the same. */
static bool text_of(const struct json *row, const char *const *keys, char *out, size_t size)
{
    out[0] = '\0';
    for (; *keys; keys++) {
        const struct json *value = json_get(row, *keys);

        if (json_is(value, JSON_NUMBER) && !value->is_integer) {
            snprintf(out, size, "%.17g", value->number);
            return true;
        }
        if (result_text(value, out, size))
            return true;
    }
    return false;
}

/* Also of a text of a number; NaN: not stated, or no number. */
static double number_of(const struct json *row, const char *key)
{
    return result_value(json_get(row, key));
}

/* How was decoded, stated in the row itself. */
static bool is_decoding(struct str key)
{
    return str_is(key, "temperature") || str_is(key, "seed") || str_is(key, "top_p");
}

/* The suite's hash and the way of decoding, as one text that can be compared. */
static void read_frozen(const struct json *row, struct fields *f)
{
    static const char *const HASH[] = {"suite_sha256", NULL};
    const struct json *decoding = json_get(row, "decoding");
    char hash[NAME_BYTES];

    (void)text_of(row, HASH, hash, sizeof hash);
    size_t at = (size_t)snprintf(f->frozen, sizeof f->frozen, "%.80s", hash);
    for (const struct json *m = json_is(decoding, JSON_OBJECT) ? decoding->child : row->child; m;
         m = m->next)
        if (m->type == JSON_NUMBER && at < sizeof f->frozen &&
            (json_is(decoding, JSON_OBJECT) || is_decoding(m->key)))
            at += (size_t)snprintf(f->frozen + at, sizeof f->frozen - at, " %.*s=%g",
                                   (int)(m->key.n < 40 ? m->key.n : 40), m->key.p, m->number);
}

/* The first of `correct`, `score` and `accuracy` that is a number; NaN for an item that was asked and has
 * no result. False: a row without any of them. */
static bool read_score(const struct json *row, struct fields *f)
{
    static const char *const KEYS[] = {"correct", "score", "accuracy"};
    bool is_missing = false;

    f->score = NAN;
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        const struct json *value = json_get(row, KEYS[i]);
        double score = result_value(value);

        if (!value || (is_missing && !isfinite(score)))
            continue; /* a table may have both columns, one of them empty */
        f->is_count = i == 0;
        f->is_accuracy = i == 2;
        f->score = score;
        if (isfinite(score))
            return true;
        is_missing |= result_is_missing(value);
    }
    return is_missing && f->has_item;
}

static bool read_fields(const struct json *row, struct fields *f)
{
    static const char *const MODEL[] = {"model", "role", NULL}, *const SUITE[] = {"suite", NULL},
                      *const ITEM[] = {"item_id", "id", "doc_id", "item", NULL},
                      *const CLUSTER[] = {"group", "cluster", NULL},
                      *const ARTEFACT[] = {"artefact", "artifact", NULL},
                      *const SHA[] = {"sha256", "artefact_sha256", NULL};
    const struct json *role = json_get(row, "role");
    double step = number_of(row, "step");

    *f = (struct fields){.step = step >= 0 && step < 9e15 ? (int64_t)step : NONE};
    if (!text_of(row, SUITE, f->suite, sizeof f->suite) ||
        !text_of(row, MODEL, f->model, sizeof f->model))
        return false;
    if (json_is(role, JSON_STRING) && str_is(role->text, "base"))
        snprintf(f->model, sizeof f->model, "base");
    f->has_item = text_of(row, ITEM, f->item, sizeof f->item);
    f->has_cluster = text_of(row, CLUSTER, f->cluster, sizeof f->cluster);
    (void)text_of(row, ARTEFACT, f->artefact, sizeof f->artefact);
    (void)text_of(row, SHA, f->sha256, sizeof f->sha256);
    read_frozen(row, f);
    f->n = number_of(row, "n");
    return read_score(row, f);
}

static struct seen *find(struct reading *reading, const struct fields *f)
{
    uint64_t key = hash_bytes(f->model, strlen(f->model) + 1);

    key = hash_more(key, f->suite, strlen(f->suite) + 1);
    key = hash_more(key, &f->step, sizeof f->step);
    key = hash_more(key, &f->is_count, sizeof f->is_count);
    key = hash_more(key, f->frozen, strlen(f->frozen) + 1);
    /* the same model as an adapter and as a GGUF file was evaluated twice */
    key = hash_more(key, f->artefact, strlen(f->artefact) + 1);
    key = hash_more(key, f->sha256, strlen(f->sha256) + 1);
    for (size_t i = 0; i < reading->n_seen; i++)
        if (reading->seen[i].key == key)
            return &reading->seen[i];
    if (reading->n_seen == MAX_SUITES)
        return NULL;
    reading->seen[reading->n_seen] = (struct seen){.key = key};
    return &reading->seen[reading->n_seen++];
}

/* A share, or per cent, of n items that comes out as a whole number of them, as far as its digits go. */
static bool count_of_share(double share, double n, double *count)
{
    share = share > 1.0 ? share / 100.0 : share;
    *count = round(share * n);
    return share >= 0.0 && share <= 1.0 && fabs(share * n - *count) <= 0.006 * n;
}

/* `correct` and `score` of a summary: a count, or a share of the n items. NULL, or what is wrong. */
static const char *summary_of(const struct fields *f, struct eval_suite *suite)
{
    if (!(f->n >= 1.0) || f->n > 9e15 || f->n != floor(f->n))
        return "a summary needs n, the number of its items, as a whole number from 1 on";
    suite->n = (int64_t)f->n;
    if (f->is_accuracy) {
        suite->metric = "correct";
        return count_of_share(f->score, f->n, &suite->n_correct)
                   ? NULL
                   : "an accuracy is expected from 0 to 1, or to 100 per cent";
    }
    suite->n_correct = f->is_count ? f->score : f->score * f->n;
    if (!f->is_count)
        return NULL;
    if (f->score != floor(f->score))
        return "correct is expected to count items: it is no whole number (a share is written as accuracy)";
    return f->score >= 0.0 && f->score <= f->n ? NULL : "correct is expected from 0 to n";
}

static int put_suite(struct reading *reading, const struct fields *f, struct seen *seen,
                     const struct json_row *row, struct error *err)
{
    struct eval_suite suite = {.model = f->model,
                               .suite = f->suite,
                               .metric = f->is_count ? "correct" : "score",
                               .step = f->step,
                               .n = NONE,
                               .n_correct = NAN,
                               .artefact = f->artefact[0] ? f->artefact : NULL,
                               .sha256 = f->sha256[0] ? f->sha256 : NULL,
                               .frozen = f->frozen[0] ? f->frozen : NULL,
                               .line = row->line};

    const char *wrong = f->has_item ? NULL : summary_of(f, &suite);
    if (wrong) {
        reading->n_seen -= seen->id == 0; /* not seen after all: it is the last one */
        return bad(reading, row, wrong, err);
    }
    seen->is_summary = !f->has_item;
    return sink_eval_suite(reading->import->sink, &suite, &seen->id, err);
}

static int put(struct reading *reading, const struct fields *f, const struct json_row *row,
               struct error *err)
{
    static const char *const PROMPT[] = {"prompt_sha256", NULL};
    struct seen *seen = find(reading, f);
    char prompt[NAME_BYTES];

    if (!seen)
        return bad(reading, row, "more than 512 suites and models", err);
    bool is_new = seen->id == 0;
    int rc = is_new ? put_suite(reading, f, seen, row, err) : OK;
    if (rc != OK || seen->id == 0)
        return rc;
    if (!f->has_item)
        return is_new ? OK : bad(reading, row, "this model and suite were stated before", err);
    if (seen->is_summary)
        return bad(reading, row, "an item of a suite that a summary row states already", err);
    if (f->is_count && !isnan(f->score) && !(f->score >= 0.0 && f->score <= 1.0))
        return bad(reading, row, "correct of an item is expected from 0 to 1", err);
    bool has_prompt = text_of(row->tree, PROMPT, prompt, sizeof prompt);
    struct eval_item item = {
        .item = f->item,
        .score = f->score,
        .cluster = f->has_cluster ? f->cluster : NULL,
        .prompt_hash = has_prompt ? (int64_t)hash_bytes(prompt, strlen(prompt)) : 0};
    return item_names_put(reading->names, reading->import->sink, seen->id, &item, err);
}

static int on_row(void *ctx, const struct json_row *row, struct error *err)
{
    struct reading *reading = ctx;
    struct fields fields;

    if (!json_is(row->tree, JSON_OBJECT))
        return bad(reading, row, "a row that is no JSON object", err);
    if (reading->import->n_rows++ % 256 == 0 && import_is_cancelled(reading->import))
        return error_set(err, E_CANCELLED, "cancelled");
    if (!read_fields(row->tree, &fields)) {
        /* The head of a suite states what it is and no result. */
        bool is_head = json_get(row->tree, "version") && !json_get(row->tree, "output");
        return is_head ? OK
                       : bad(reading, row, "a row without model, suite and a result that is a number", err);
    }
    return put(reading, &fields, row, err);
}

static int on_bad(void *ctx, const struct source_line *line, bool is_last, const struct error *why,
                  struct error *err)
{
    struct reading *reading = ctx;

    if (is_last)
        reading->import->state = SOURCE_GROWING;
    if (reading->n_bad++ >= MAX_BAD_NOTES)
        return OK;
    return sink_note(reading->import->sink, is_last ? NOTE_INFO : NOTE_WARN, line->number,
                     line->byte, err, "%s", why->message);
}

static int run(struct import *import, struct error *err)
{
    struct reading *reading = arena_alloc(import->arena, sizeof *reading);
    struct source_file *file = NULL;
    struct error why = {0};
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = "results of an evaluation";
    if (rc != OK || is_odd)
        return rc;
    if (!reading)
        return error_set(err, E_NOMEM, "no memory for the results of an evaluation");
    reading->import = import;
    reading->names = item_names_open();
    if (!reading->names)
        return error_set(err, E_NOMEM, "no memory for the results of an evaluation");
    const struct jsonl_handler handler = {
        .row = on_row, .bad = on_bad, .ctx = reading, .always_tree = true};
    rc = source_open(&file, import->path, &why);
    if (rc == OK)
        rc = jsonl_read(file, &handler, &why);
    source_close(file);
    if (rc != OK)
        rc = import_note_error(import, &why, err);
    if (rc == OK)
        rc = item_names_note(reading->names, import->sink, err);
    item_names_close(reading->names);
    return rc;
}

const struct importer importer_eval_results = {
    .id = "eval_results",
    .title = "results of an evaluation",
    .hint = "eval_results.jsonl, retention.jsonl",
    .supplies = NEEDS_EVAL_ITEMS,
    .version = 4,
    .role = "evals",
    .probe = probe,
    .run = run,
};
