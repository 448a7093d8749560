/* The small files without a framework format (CHECKS.md 2.3): labels_sample.jsonl, lengths.csv,
 * mask_config.json, dataset_info.json, serve.json, deploy.json. */
#include "importers/outputs/side_files.h"

#include <stdio.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/check.h"
#include "core/read/csv.h"
#include "core/read/decompress.h"
#include "core/read/jsonl.h"
#include "core/read/source.h"
#include "importers/dataset/token_rows.h"
#include "importers/importer.h"
#include "importers/peek.h"
#include "importers/split_name.h"

enum part { PART_LABELS, PART_LENGTHS, PART_MASK, PART_INFO, PART_SERVE, PART_NONE };

static enum part part_of_name(const struct peek *peek)
{
    if (peek_name_starts(peek, "labels_sample") && peek_name_ends(peek, ".jsonl"))
        return PART_LABELS;
    if (peek_name_starts(peek, "lengths") && peek_name_ends(peek, ".csv"))
        return PART_LENGTHS;
    if (peek_name_is(peek, "mask_config.json"))
        return PART_MASK;
    if (peek_name_is(peek, "dataset_info.json"))
        return PART_INFO;
    return peek_name_is(peek, "serve.json") || peek_name_is(peek, "deploy.json") ||
                   peek_name_is(peek, "serving.json")
               ? PART_SERVE
               : PART_NONE;
}

static int probe(const struct peek *peek)
{
    if (part_of_name(peek) != PART_NONE)
        return 95;
    return peek_name_ends(peek, ".jsonl") && peek_is_lines(peek) &&
                   peek_has_key(peek, "input_ids") && peek_has_key(peek, "labels")
               ? 85
               : 0;
}

/* ---- Data sets of numbers ---- */

struct reading {
    struct import *import;
    int64_t id, n_rows, n_unreadable;
    bool is_header;
    int row_at, tokens_at, prompt_at; /* columns of lengths.csv, -1 when not there */
};

static int begin_dataset(struct reading *reading, const char *form, struct error *err)
{
    const char *slash = strrchr(reading->import->path, '/');
    struct dataset dataset = {.name = slash ? slash + 1 : reading->import->path,
                              .split = split_by_name(reading->import->path),
                              .form = form,
                              .n_rows = NONE,
                              .n_unreadable = NONE};

    return sink_dataset(reading->import->sink, &dataset, &reading->id, err);
}

static int put_sample(struct reading *reading, struct sample sample, struct error *err)
{
    if (reading->n_rows++ % 256 == 0 && import_is_cancelled(reading->import))
        return error_set(err, E_CANCELLED, "cancelled");
    return sink_sample(reading->import->sink, reading->id, &sample, err);
}

static int bad_row(struct reading *reading, int64_t line, int64_t byte, const char *what,
                   struct error *err)
{
    if (reading->n_unreadable++ >= 20)
        return OK;
    return sink_note(reading->import->sink, NOTE_WARN, line, byte, err, "%s", what);
}

/* ---- labels_sample.jsonl ---- */

/* A row, or a batch of rows (ids and labels nested one level). */
static int on_tokens(void *ctx, const struct json_row *line, struct error *err)
{
    struct reading *reading = ctx;
    const struct json *ids = json_get(line->tree, "input_ids");
    const struct json *labels = json_get(line->tree, "labels");

    if (!json_is(ids, JSON_ARRAY))
        ids = NULL;
    if (!json_is(labels, JSON_ARRAY))
        labels = NULL;
    if (!json_is(line->tree, JSON_OBJECT) || (!ids && !labels))
        return bad_row(reading, line->line, line->byte, "a row without input_ids and labels", err);
    if (ids && labels && ids->n != labels->n)
        return bad_row(reading, line->line, line->byte,
                       "input_ids and labels have different lengths", err);
    struct token_rows rows = token_rows_of(ids, labels);
    struct sample sample = {.at = line->byte, .length = (int64_t)line->raw.n};
    int rc = OK;
    while (rc == OK && token_rows_next(&rows, &sample))
        rc = put_sample(reading, sample, err);
    return rc;
}

static int on_bad(void *ctx, const struct source_line *line, bool is_last, const struct error *why,
                  struct error *err)
{
    struct reading *reading = ctx;

    if (is_last)
        reading->import->state = SOURCE_GROWING;
    return bad_row(reading, line->number, line->byte, why->message, err);
}

/* ---- lengths.csv ---- */

static int on_length_header(struct reading *reading, const struct csv_row *row)
{
    reading->is_header = false;
    for (size_t i = 0; i < row->n; i++) {
        struct str name = str_trim(row->cells[i]);

        if (str_is(name, "row"))
            reading->row_at = (int)i;
        else if (str_is(name, "tokens") || str_is(name, "length") || str_is(name, "n_tokens"))
            reading->tokens_at = (int)i;
        else if (str_is(name, "prompt_tokens"))
            reading->prompt_at = (int)i;
    }
    return OK;
}

static bool cell_number(const struct csv_row *row, int at, int64_t *out)
{
    return at >= 0 && (size_t)at < row->n && number_parse_int(str_trim(row->cells[at]), out) &&
           *out >= 0 && *out <= INT32_MAX;
}

static int on_length(void *ctx, const struct csv_row *row, struct error *err)
{
    struct reading *reading = ctx;
    int64_t tokens, prompt, number;

    if (reading->is_header)
        return on_length_header(reading, row);
    if (!cell_number(row, reading->tokens_at, &tokens))
        return bad_row(reading, row->line, NONE, "a row without a number of tokens", err);
    struct sample sample = {.at = NONE,
                            .length = NONE,
                            .n_tokens = (int32_t)tokens,
                            .n_prompt_tokens = -1,
                            .n_trained = -1};
    if (cell_number(row, reading->row_at, &number))
        sample.at = number;
    if (cell_number(row, reading->prompt_at, &prompt))
        sample.n_prompt_tokens = (int32_t)prompt;
    return put_sample(reading, sample, err);
}

static int run_numbers(struct import *import, bool is_labels, struct error *err)
{
    struct reading reading = {
        .import = import, .is_header = true, .row_at = -1, .tokens_at = -1, .prompt_at = -1};
    struct jsonl_handler lines = {
        .row = on_tokens, .bad = on_bad, .ctx = &reading, .always_tree = true};
    struct csv_handler cells = {.row = on_length, .ctx = &reading};
    struct source_file *file = NULL;
    enum packing packing;
    struct error why = {0};
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = "rows";
    if (rc == OK && !is_odd)
        rc = begin_dataset(&reading, is_labels ? "tokens" : "lengths", err);
    if (rc != OK || is_odd)
        return rc;
    rc = source_open_unpacked(&file, &packing, import->path, &why);
    if (rc == OK)
        rc = is_labels ? jsonl_read(file, &lines, &why) : csv_read_rows(file, ',', &cells, &why);
    source_close(file);
    if (rc != OK)
        rc = import_note_error(import, &why, err);
    import->n_rows = reading.n_rows;
    return rc == OK ? sink_dataset_done(import->sink, reading.id, is_labels ? "tokens" : "lengths",
                                        is_labels ? "input_ids,labels" : "row,tokens",
                                        reading.n_rows, reading.n_unreadable, err)
                    : rc;
}

/* ---- Small objects ---- */

/* Of a Hugging Face dataset_info.json: splits → name → num_examples. */
static int put_splits(struct import *import, const struct json *splits, struct error *err)
{
    char name[96];
    int rc = OK;

    if (!json_is(splits, JSON_OBJECT))
        return OK;
    for (const struct json *split = splits->child; split && rc == OK; split = split->next) {
        if (split->key.n == 0 || split->key.n > 40)
            continue;
        if (str_is(split->key, "train"))
            rc = import_json_setting(import, SIDE_TRAIN, "dataset.num_rows",
                                     json_get(split, "num_examples"), err);
        snprintf(name, sizeof name, "dataset.%.*s.num_rows", (int)split->key.n, split->key.p);
        if (rc == OK)
            rc =
                import_json_setting(import, SIDE_TRAIN, name, json_get(split, "num_examples"), err);
    }
    return rc;
}

/* Of LLaMA-Factory's: name → how its columns and roles are called. */
static int put_described(struct import *import, const struct json *tree, struct error *err)
{
    char name[192];
    int rc = OK;

    for (const struct json *set = tree->child; set && rc == OK; set = set->next) {
        if (set->key.n == 0 || set->key.n > 160 ||
            (!json_is(json_get(set, "columns"), JSON_OBJECT) &&
             !json_is(json_get(set, "tags"), JSON_OBJECT)))
            continue;
        snprintf(name, sizeof name, "dataset_info.%.*s", (int)set->key.n, set->key.p);
        rc = import_json_setting(import, SIDE_TRAIN, name, set, err);
    }
    return rc;
}

static int import_info(struct import *import, const struct json *tree, struct error *err)
{
    const struct json *n_rows = json_get(tree, "num_rows");

    if (json_is(n_rows, JSON_NUMBER))
        return import_json_setting(import, SIDE_TRAIN, "dataset.num_rows", n_rows, err);
    return json_get(tree, "splits") ? put_splits(import, json_get(tree, "splits"), err)
                                    : put_described(import, tree, err);
}

static int run_object(struct import *import, enum part part, struct error *err)
{
    const struct json *tree;
    int rc = import_json(import, &tree, err);

    import->n_rows_are = "settings";
    if (rc != OK || !tree)
        return rc;
    if (!json_is(tree, JSON_OBJECT))
        return sink_note(import->sink, NOTE_WARN, tree->line, NONE, err, "not a JSON object");
    import->n_rows = (int64_t)tree->n;
    if (part == PART_INFO)
        return import_info(import, tree, err);
    return import_settings_tree(import, part == PART_SERVE ? SIDE_SERVE : SIDE_TRAIN,
                                part == PART_MASK ? "mask" : "", tree, err);
}

static int run(struct import *import, struct error *err)
{
    const char *slash = strrchr(import->path, '/');
    struct str name = packing_inner_name(slash ? slash + 1 : import->path);
    struct peek peek = {.name = arena_strndup(import->arena, name.p, name.n)};
    enum part part = part_of_name(&peek);

    if (part == PART_LABELS || part == PART_NONE || part == PART_LENGTHS)
        return run_numbers(import, part != PART_LENGTHS, err);
    return run_object(import, part, err);
}

const struct importer importer_side_files = {
    .id = "side_files",
    .title = "side files of a run",
    .hint = "labels_sample.jsonl, lengths.csv, mask_config.json, dataset_info.json, serve.json",
    .supplies = NEEDS_LABELS | NEEDS_LENGTHS | NEEDS_SERVING,
    .version = 3,
    .role = "side",
    .reads_packed = true,
    .probe = probe,
    .run = run,
};
