/* What the models answered: a line with `output`, or with one output per model. The texts stay in
 * the file; kept is whether each reproduces its target, what it shows beside its prompt (echo, turn
 * header, empty), and how many base and tuned outputs of one row are the same
 * ("generations.n_pairs", "generations.n_identical"). */
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/checks/check.h"
#include "core/read/generation_row.h"
#include "core/read/jsonl.h"
#include "core/read/source.h"
#include "importers/importer.h"
#include "importers/outputs/output_facts.h"
#include "importers/peek.h"

#define MODEL_BYTES 128

static int probe(const struct peek *peek)
{
    if (!peek_is_lines(peek))
        return 0;
    bool is_named =
        peek_name_starts(peek, "generations") || peek_name_is(peek, "healthcheck.out.jsonl");
    bool has_output = peek_has_key(peek, "output");
    bool has_models = peek_has_key(peek, "base") &&
                      (peek_has_key(peek, "finetuned") || peek_has_key(peek, "adapter") ||
                       peek_has_key(peek, "merged"));
    bool has_facts = peek_has_key(peek, "exact") || peek_has_key(peek, "finish_reason") ||
                     peek_has_key(peek, "output_tokens");
    if (is_named && (has_output || has_models || has_facts))
        return 95;
    if (has_models)
        return 85;
    bool is_alpaca = peek_has_key(peek, "instruction") || peek_has_key(peek, "suite");
    return has_output && !is_alpaca &&
                   (peek_has_key(peek, "model") || peek_has_key(peek, "finish_reason") ||
                    peek_has_key(peek, "expected") || peek_has_key(peek, "output_tokens"))
               ? 80
               : 0;
}

struct reading {
    struct import *import;
    int64_t ord, n_pairs, n_identical, first_pair;
};

static int64_t whole(const struct json *row, const char *key)
{
    const struct json *value = json_get(row, key);
    bool is_whole = json_is(value, JSON_NUMBER) && value->is_integer && value->number >= 0 &&
                    value->number < 9e15;

    return is_whole ? (int64_t)value->number : NONE;
}

static const struct json *text_at(const struct json *row, const char *key)
{
    const struct json *value = json_get(row, key);

    return json_is(value, JSON_STRING) ? value : NULL;
}

static const char *copy_text(const struct json *value, char *out, size_t n)
{
    if (!value)
        return NULL;
    snprintf(out, n, "%.*s", (int)(value->text.n < n ? value->text.n : n - 1), value->text.p);
    return out;
}

/* output may be NULL. By `exact` where the row states it, else by comparing; -1 when neither is
 * possible. `exact` is about the tuned model, never about the base beside it. */
static int exactness(const struct json *row, const struct json *output, bool is_base)
{
    const struct json *exact = json_get(row, "exact");
    const struct json *expected = text_at(row, "expected");

    if (!is_base && exact && (exact->type == JSON_TRUE || exact->type == JSON_FALSE))
        return exact->type == JSON_TRUE;
    if (!expected)
        expected = text_at(row, "target");
    return expected && output ? str_eq(str_trim(output->text), str_trim(expected->text)) : -1;
}

static int64_t hash_of(struct str text)
{
    text = str_trim(text);
    return text.n ? (int64_t)hash_bytes(text.p, text.n) : 0;
}

/* Flags and hashes of one output beside the row's prompt, a text or messages. */
static void look(const struct json *row, const struct json *output, struct generation *made)
{
    const struct json *prompt = text_at(row, "prompt");
    struct str text = {0}, user = {0};

    if (prompt)
        text = prompt->text;
    if (!text.n)
        user = generation_row_prompt(row);

    made->prompt_hash = generation_row_key(row);
    if (!output)
        return;
    made->output_hash = hash_of(output->text);
    made->opening_hash = output_opening(output->text, text, &made->n_words);
    made->flags = output_facts(output->text, text, user);
}

static int put_output(struct reading *reading, const struct json *row, const struct json *output,
                      const char *model, struct error *err)
{
    char finish[64];
    struct generation generation = {
        .ord = reading->ord++,
        .row = whole(row, "row"),
        .step = whole(row, "step"),
        .model = model,
        .finish_reason = copy_text(text_at(row, "finish_reason"), finish, sizeof finish),
        .n_tokens = whole(row, "output_tokens"),
        .max_new_tokens = whole(row, "max_new_tokens"),
        .batch = whole(row, "batch"),
        .exact = exactness(row, output, strcmp(model, "base") == 0),
    };

    if (generation.row == NONE)
        generation.row = whole(row, "id");
    look(row, output, &generation);
    return sink_generation(reading->import->sink, &generation, err);
}

static void compare(struct reading *reading, const struct row_output *outputs, size_t n,
                    int64_t line)
{
    const struct json *base = NULL, *tuned = NULL;

    for (size_t i = 0; i < n; i++) {
        if (str_is(outputs[i].model, "base"))
            base = outputs[i].text;
        else if (!tuned)
            tuned = outputs[i].text;
    }
    if (!base || !tuned)
        return;
    if (reading->n_pairs++ == 0)
        reading->first_pair = line;
    reading->n_identical += str_eq(base->text, tuned->text);
}

static int on_row(void *ctx, const struct json_row *line, struct error *err)
{
    struct reading *reading = ctx;
    const struct json *row = line->tree;
    char name[MODEL_BYTES];
    int rc = OK;

    if (!json_is(row, JSON_OBJECT))
        return sink_note(reading->import->sink, NOTE_WARN, line->line, line->byte, err,
                         "a row that is no JSON object");
    if (reading->import->n_rows++ % 256 == 0 && import_is_cancelled(reading->import))
        return error_set(err, E_CANCELLED, "cancelled");
    struct row_output outputs[GENERATION_ROW_OUTPUTS];
    size_t n = generation_row_outputs(row, outputs);
    for (size_t i = 0; i < n && rc == OK; i++) {
        struct str model = outputs[i].model;

        snprintf(name, sizeof name, "%.*s", (int)(model.n < sizeof name ? model.n : sizeof name - 1),
                 model.p);
        rc = put_output(reading, row, outputs[i].text, name, err);
    }
    compare(reading, outputs, n, line->line);
    return rc;
}

static int on_bad(void *ctx, const struct source_line *line, bool is_last, const struct error *why,
                  struct error *err)
{
    struct reading *reading = ctx;

    if (is_last)
        reading->import->state = SOURCE_GROWING;
    return sink_note(reading->import->sink, is_last ? NOTE_INFO : NOTE_WARN, line->number,
                     line->byte, err, "%s", why->message);
}

static int put_count(struct reading *reading, const char *name, int64_t n, struct error *err)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)n);
    return import_setting(reading->import, SIDE_EVAL, name, text, VALUE_INT, reading->first_pair,
                          err);
}

static int run(struct import *import, struct error *err)
{
    struct reading reading = {.import = import};
    struct jsonl_handler handler = {
        .row = on_row, .bad = on_bad, .ctx = &reading, .always_tree = true};
    struct source_file *file = NULL;
    struct error why = {0};
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = "generations";
    if (rc != OK || is_odd)
        return rc;
    rc = source_open(&file, import->path, &why);
    if (rc == OK)
        rc = jsonl_read(file, &handler, &why);
    source_close(file);
    if (rc != OK)
        return import_note_error(import, &why, err);
    if (reading.n_pairs == 0)
        return OK;
    rc = put_count(&reading, "generations.n_pairs", reading.n_pairs, err);
    return rc == OK ? put_count(&reading, "generations.n_identical", reading.n_identical, err) : rc;
}

const struct importer importer_generations = {
    .id = "generations",
    .title = "generations of the base and the tuned model",
    .hint = "generations.jsonl",
    .supplies = NEEDS_GENERATIONS,
    .version = 4,
    .role = "generations",
    .probe = probe,
    .run = run,
};
