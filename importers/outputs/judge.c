/* Which of two answers a judge preferred: judge.jsonl of our own form, the annotations of AlpacaEval,
 * and pairwise rows of MT-bench and the arena; as JSON lines, one JSON array, or a table. Kept are the
 * lengths of the answers and who won; the texts stay in the file. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/number.h"
#include "core/checks/check.h"
#include "core/read/rows.h"
#include "importers/importer.h"
#include "importers/outputs/item_results.h"
#include "importers/peek.h"

enum { NAME_BYTES = 192, MAX_BAD_NOTES = 20 };

/* ---- What it looks like ---- */

static bool header_has(const struct peek *peek, const char *word)
{
    struct str rest = peek->head, header, cell;

    if (!str_split(&rest, '\n', &header))
        return false;
    if (str_starts(header, "\xef\xbb\xbf"))
        header = str_skip(header, 3);
    char separator = peek_name_ends(peek, ".tsv") ? '\t' : ',';
    while (str_split(&header, separator, &cell)) {
        cell = str_trim(cell);
        if (cell.n >= 2 && cell.p[0] == '"')
            cell = str_from(cell.p + 1, cell.n - 2);
        if (str_is(cell, word))
            return true;
    }
    return false;
}

static bool has_column(const struct peek *peek, bool is_table, const char *name)
{
    return is_table ? header_has(peek, name) : peek_has_key(peek, name);
}

static int probe(const struct peek *peek)
{
    bool is_table = peek_name_ends(peek, ".csv") || peek_name_ends(peek, ".tsv");

    if (!is_table && !peek_is_lines(peek) && peek_first(peek) != '[')
        return 0;
    if (has_column(peek, is_table, "winner") &&
        (has_column(peek, is_table, "len_base") || has_column(peek, is_table, "len_ft")))
        return 95;
    if (has_column(peek, is_table, "preference") && has_column(peek, is_table, "output_1") &&
        has_column(peek, is_table, "output_2"))
        return 92;
    if ((has_column(peek, is_table, "winner") && has_column(peek, is_table, "model_a") &&
         has_column(peek, is_table, "model_b")) ||
        (has_column(peek, is_table, "g1_winner") && has_column(peek, is_table, "model_1")))
        return 92;
    return has_column(peek, is_table, "winner") && peek_name_starts(peek, "judge") ? 90 : 0;
}

/* ---- Values ---- */

struct reading {
    struct import *import;
    int64_t ord, n_bad;
    bool is_unnamed;            /* a row whose models are both no base by name */
};

struct side_keys {
    const char *model[2], *length[2], *output[2], *conversation[2], *tokens;
};

static const struct side_keys FIRST = {
    {"model_a", "model_1"}, {"len_a", "len_1"}, {"response_a", "output_1"},
    {"conversation_a", "conversation_1"}, "sum_assistant_a_tokens"};
static const struct side_keys SECOND = {
    {"model_b", "model_2"}, {"len_b", "len_2"}, {"response_b", "output_2"},
    {"conversation_b", "conversation_2"}, "sum_assistant_b_tokens"};

static int bad(struct reading *reading, const struct row_place *place, const char *what,
               struct error *err)
{
    if (reading->n_bad++ >= MAX_BAD_NOTES)
        return OK;
    return sink_note(reading->import->sink, NOTE_WARN, place->line, place->at, err, "%s", what);
}

/* A cell of a table is a text. */
static double number_of(const struct json *row, const char *key)
{
    const struct json *value = json_get(row, key);
    double number = NAN;

    if (json_is(value, JSON_NUMBER))
        return value->number;
    if (json_is(value, JSON_STRING) && !number_parse(str_trim(value->text), &number))
        return NAN;
    return number;
}

static int64_t count_of(const struct json *row, const char *key)
{
    double number = number_of(row, key);

    return number >= 0.0 && number < 9e15 ? (int64_t)number : NONE;
}

static bool text_of(const struct json *row, const char *const *keys, size_t n_keys, char *out)
{
    for (size_t i = 0; i < n_keys; i++)
        if (result_text(json_get(row, keys[i]), out, NAME_BYTES))
            return true;
    out[0] = '\0';
    return false;
}

static int64_t characters(struct str text)
{
    int64_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += ((unsigned char)text.p[i] & 0xc0) != 0x80;
    return n;
}

/* Of all answers of a conversation. */
static int64_t conversation_length(const struct json *turns)
{
    int64_t n = NONE;

    if (!json_is(turns, JSON_ARRAY))
        return NONE;
    for (const struct json *turn = turns->child; turn; turn = turn->next) {
        const struct json *role = json_get(turn, "role"), *content = json_get(turn, "content");

        if (json_is(role, JSON_STRING) && str_is(role->text, "assistant") &&
            json_is(content, JSON_STRING))
            n = (n == NONE ? 0 : n) + characters(content->text);
    }
    return n;
}

static int64_t length_of(const struct json *row, const struct side_keys *keys)
{
    int64_t n = NONE;

    for (size_t i = 0; i < 2 && n == NONE; i++)
        n = count_of(row, keys->length[i]);
    for (size_t i = 0; i < 2 && n == NONE; i++) {
        const struct json *output = json_get(row, keys->output[i]);
        if (json_is(output, JSON_STRING))
            n = characters(output->text);
    }
    if (n == NONE)
        n = count_of(json_get(row, "conv_metadata"), keys->tokens);
    for (size_t i = 0; i < 2 && n == NONE; i++)
        n = conversation_length(json_get(row, keys->conversation[i]));
    return n;
}

static bool is_base_name(const char *name)
{
    static const char *const NAMES[] = {"base", "baseline", "base_model", "base-model", "ref",
                                        "reference", "before", "sft"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcasecmp(name, NAMES[i]) == 0)
            return true;
    return false;
}

/* ---- Who won: the score of the second of the two, or NaN ---- */

static bool is_one_of(struct str word, const char *const *words)
{
    for (; *words; words++)
        if (str_is_ignoring_case(word, *words))
            return true;
    return false;
}

static double score_of_word(const struct json *value, const char *first, const char *second)
{
    static const char *const FIRSTS[] = {"base", "model_a", "model_1", "a", "baseline", "reference",
                                         NULL},
                      *const SECONDS[] = {"ft", "model_b", "model_2", "b", "candidate", "finetuned",
                                          "fine-tuned", "model", NULL},
                      *const TIES[] = {"tie", "draw", "tie (bothbad)", "bothbad", "both_bad", NULL};

    if (!json_is(value, JSON_STRING))
        return NAN;
    struct str word = str_trim(value->text);
    if (is_one_of(word, TIES))
        return 0.5;
    if (str_is(word, second) || (!str_is(word, first) && is_one_of(word, SECONDS)))
        return 1.0;
    return str_is(word, first) || is_one_of(word, FIRSTS) ? 0.0 : NAN;
}

/* 1: the first; 2: the second; between: weighted by how sure the judge was; 0: neither. */
static double score_of_preference(double preference)
{
    if (preference == 0.0)
        return 0.5;
    return preference >= 1.0 && preference <= 2.0 ? preference - 1.0 : NAN;
}

/* Judged in both orders. */
static double score_of_both(const struct json *row, const char *first, const char *second)
{
    return 0.5 * (score_of_word(json_get(row, "g1_winner"), first, second) +
                  score_of_word(json_get(row, "g2_winner"), first, second));
}

/* ---- Rows ---- */

static void swap(struct judgement *j)
{
    const char *model = j->base;
    int64_t length = j->length_base;

    j->base = j->candidate;
    j->candidate = model;
    j->length_base = j->length_candidate;
    j->length_candidate = length;
    j->score = 1.0 - j->score;
}

enum form { FORM_OURS, FORM_ALPACA, FORM_PAIRWISE };

static enum form form_of(const struct json *row)
{
    if (json_get(row, "len_base") || json_get(row, "len_ft"))
        return FORM_OURS;
    return json_get(row, "preference") && !json_get(row, "winner") ? FORM_ALPACA : FORM_PAIRWISE;
}

static void read_names(const struct json *row, enum form form, char names[2][NAME_BYTES])
{
    static const char *const OWN[] = {"model", "candidate"};
    static const char *const GENERATOR[] = {"generator_1", "generator_2"};
    bool is_alpaca = form == FORM_ALPACA;
    const char *const *first = is_alpaca ? &GENERATOR[0] : FIRST.model;
    const char *const *second = is_alpaca ? &GENERATOR[1] : SECOND.model;
    size_t n_keys = is_alpaca ? 1 : 2;

    if (form == FORM_OURS && text_of(row, OWN, 2, names[1])) {
        snprintf(names[0], NAME_BYTES, "base");
        return;
    }
    if (form != FORM_OURS && text_of(row, first, n_keys, names[0]) &&
        text_of(row, second, n_keys, names[1]))
        return;
    snprintf(names[0], NAME_BYTES, "base");
    snprintf(names[1], NAME_BYTES, "ft");
}

static bool fill(struct reading *reading, const struct json *row, struct judgement *j,
                 char names[2][NAME_BYTES])
{
    enum form form = form_of(row);

    read_names(row, form, names);
    j->base = names[0];
    j->candidate = names[1];
    j->length_base = form == FORM_OURS ? count_of(row, "len_base") : length_of(row, &FIRST);
    j->length_candidate = form == FORM_OURS ? count_of(row, "len_ft") : length_of(row, &SECOND);
    if (form == FORM_ALPACA)
        j->score = score_of_preference(number_of(row, "preference"));
    else if (json_get(row, "g1_winner"))
        j->score = score_of_both(row, names[0], names[1]);
    else
        j->score = score_of_word(json_get(row, "winner"), names[0], names[1]);
    if (is_base_name(names[1]) && !is_base_name(names[0]))
        swap(j);
    else if (form != FORM_ALPACA && !is_base_name(names[0]))
        reading->is_unnamed = true;
    return isfinite(j->score);
}

static int on_row(struct reading *reading, const struct json *row, const struct row_place *place,
                  struct error *err)
{
    static const char *const ITEM[] = {"id", "question_id", "item_id", "index"};
    char names[2][NAME_BYTES], item[NAME_BYTES];
    struct judgement j = {.ord = reading->ord, .step = count_of(row, "step"), .line = place->line};

    reading->import->n_rows++;
    if (!json_is(row, JSON_OBJECT))
        return bad(reading, place, "a row that is no object", err);
    if (!fill(reading, row, &j, names))
        return bad(reading, place,
                   "a row without a winner that is known (ft, base, tie; model_a, model_b; a "
                   "preference of 1 to 2)",
                   err);
    j.item = text_of(row, ITEM, 4, item) ? item : NULL;
    reading->ord++;
    return sink_judgement(reading->import->sink, &j, err);
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
        if (reading->import->n_rows % 256 == 0 && import_is_cancelled(reading->import))
            return error_set(err, E_CANCELLED, "cancelled");
        rc = row ? on_row(reading, row, &place, err) : bad(reading, &place, why.message, err);
        arena_reset(arena);
    }
    return rc;
}

static int finish(struct reading *reading, struct error *err)
{
    int rc = OK;

    if (reading->n_bad > MAX_BAD_NOTES)
        rc = sink_note(reading->import->sink, NOTE_WARN, NONE, NONE, err,
                       "%lld rows in all could not be read as judgements", (long long)reading->n_bad);
    if (rc == OK && reading->is_unnamed)
        rc = sink_note(reading->import->sink, NOTE_INFO, NONE, NONE, err,
                       "no model of a pair is called base: the first is taken for it");
    return rc;
}

static int run(struct import *import, struct error *err)
{
    struct reading reading = {.import = import};
    struct error why = {0};
    struct rows *rows = NULL;
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = "judgements";
    if (rc != OK || is_odd)
        return rc;
    struct arena *arena = arena_open(ARENA_RENDER_BYTES);
    rc = arena ? rows_open(&rows, import->path, &why)
               : error_set(&why, E_NOMEM, "no memory for judgements");
    if (rc == OK)
        rc = read_rows(&reading, rows, arena, &why);
    rows_close(rows);
    arena_close(arena);
    if (rc != OK)
        rc = import_note_error(import, &why, err);
    return rc == OK ? finish(&reading, err) : rc;
}

const struct importer importer_judge = {
    .id = "judge",
    .title = "judgements of pairs of answers",
    .hint = "judge.jsonl, AlpacaEval's annotations.json, pairwise rows of MT-bench or the arena",
    .supplies = NEEDS_JUDGEMENTS,
    .version = 2,
    .role = "evals",
    .probe = probe,
    .run = run,
};
