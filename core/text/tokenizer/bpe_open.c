/* Loading a BPE model: merges into a table by the pair of ids, and what follows from them. */
#include <stdlib.h>

#include "core/base/unicode.h"
#include "core/text/tokenizer/byte_letters.h"
#include "core/text/tokenizer/models.h"
#include "core/text/tokenizer/raw_json.h"

#define MOST_MERGES   (UINT32_C(1) << 26)
#define LONGEST_PROBE 4096
#define MARK          "\xE2\x96\x81"    /* U+2581, what sentencepiece writes for a blank */

struct reading {
    struct raw_json raw;
    const struct tok_model *model;
    struct merge *list;
    size_t n, capacity;
    char *room;                 /* decoded strings of one merge */
    struct buf joined;
};

static int bad_merge(struct reading *reading, const char *what, struct str token)
{
    struct buf visible;

    buf_init(&visible, 200);
    unicode_visible(&visible, unicode_cut(token, 60), false);

    int rc = error_set(reading->raw.err, E_PARSE, "merge %zu: %s%.120s", reading->n + 1, what,
                       visible.p ? visible.p : "");

    error_at(reading->raw.err, NULL, NONE, reading->raw.p - reading->raw.begin);
    buf_free(&visible);
    return rc;
}

static bool is_inside_character(struct str text, size_t at)
{
    return at < text.n && ((unsigned char)text.p[at] & 0xC0) == 0x80;
}

static int add_merge(struct reading *reading, struct str left, struct str right)
{
    const struct vocab *vocab = &reading->model->vocab;
    int64_t left_id = vocab_id(vocab, left), right_id = vocab_id(vocab, right);
    size_t prefix = reading->model->bpe.prefix.n;

    if (left_id == NONE)
        return bad_merge(reading, "not in the vocabulary: ", left);
    if (right_id == NONE)
        return bad_merge(reading, "not in the vocabulary: ", right);
    if (right.n < prefix || is_inside_character(right, prefix))
        return bad_merge(reading, "shorter than the prefix of continued words: ", right);
    buf_clear(&reading->joined);
    buf_str(&reading->joined, left);
    buf_str(&reading->joined, str_skip(right, prefix));
    if (reading->joined.failed)
        return error_set(reading->raw.err, E_NOMEM, "a merge of %zu bytes", left.n + right.n);

    int64_t id = vocab_id(vocab, buf_view(&reading->joined));

    if (id == NONE)
        return bad_merge(reading, "not in the vocabulary: ", buf_view(&reading->joined));
    if (reading->n == reading->capacity) {
        size_t capacity = reading->capacity ? reading->capacity * 2 : 1024;
        struct merge *list = capacity <= MOST_MERGES ? realloc(reading->list, capacity * sizeof *list)
                                                     : NULL;

        if (!list)
            return error_set(reading->raw.err, E_NOMEM, "a list of %zu merges", capacity);
        reading->list = list;
        reading->capacity = capacity;
    }
    reading->list[reading->n] = (struct merge){(uint32_t)left_id, (uint32_t)right_id,
                                               (uint32_t)reading->n, (uint32_t)id};
    reading->n++;
    return OK;
}

/* "a b": one blank between two parts. */
static int read_line(struct reading *reading)
{
    char *room = reading->room;
    struct str line;
    int rc = raw_string(&reading->raw, &room, &line);

    if (rc != OK || str_starts(line, "#version"))
        return rc;

    const char *blank = line.n ? memchr(line.p, ' ', line.n) : NULL;
    size_t n = blank ? (size_t)(blank - line.p) : 0;

    if (!blank || memchr(blank + 1, ' ', line.n - n - 1))
        return bad_merge(reading, "expected two parts with one blank between them: ", line);
    return add_merge(reading, str_first(line, n), str_skip(line, n + 1));
}

static int read_pair(struct reading *reading)
{
    char *room = reading->room;
    struct str left = {NULL, 0}, right = {NULL, 0};
    int rc = raw_take(&reading->raw, '[');

    if (rc == OK)
        rc = raw_string(&reading->raw, &room, &left);
    if (rc == OK)
        rc = raw_take(&reading->raw, ',');
    if (rc == OK)
        rc = raw_string(&reading->raw, &room, &right);
    if (rc == OK)
        rc = raw_take(&reading->raw, ']');
    return rc == OK ? add_merge(reading, left, right) : rc;
}

static int read_list(struct reading *reading)
{
    int rc = raw_take(&reading->raw, '[');
    char first = rc == OK ? raw_peek(&reading->raw) : '\0';
    bool more = rc == OK && first != ']';

    if (rc == OK && !more)
        rc = raw_take(&reading->raw, ']');
    while (rc == OK && more) {
        rc = first == '[' ? read_pair(reading) : read_line(reading);
        if (rc == OK)
            rc = raw_next(&reading->raw, ']', &more);
    }
    return rc == OK ? raw_end(&reading->raw) : rc;
}

/* ---- the table ---- */

static int enter(struct bpe *bpe, struct merge merge, struct error *err)
{
    uint64_t mask = bpe->n_merges - 1, at = pair_hash(merge.left, merge.right) & mask;

    for (unsigned i = 0; i < LONGEST_PROBE; i++, at = (at + 1) & mask) {
        struct merge *slot = &bpe->merges[at];

        if (slot->left == NO_ID || (slot->left == merge.left && slot->right == merge.right)) {
            *slot = merge;      /* of equal pairs the last counts */
            return OK;
        }
    }
    return error_set(err, E_LIMIT, "merges that collide in the hash table");
}

static int make_table(struct bpe *bpe, const struct reading *reading)
{
    int rc = OK;

    bpe->n_merges = 16;
    while (bpe->n_merges < reading->n + reading->n / 2)
        bpe->n_merges *= 2;
    bpe->merges = malloc(bpe->n_merges * sizeof *bpe->merges);
    if (!bpe->merges)
        return error_set(reading->raw.err, E_NOMEM, "a table of %zu merges", reading->n);
    memset(bpe->merges, 0xFF, bpe->n_merges * sizeof *bpe->merges);
    for (size_t i = 0; rc == OK && i < reading->n; i++)
        rc = enter(bpe, reading->list[i], reading->raw.err);
    return rc;
}

static int read_merges(struct tok_model *model, struct str json, struct error *err)
{
    struct reading reading = {.raw = {json.p, json.p, json.p + json.n, "model.merges", err},
                              .model = model};
    int rc = OK;

    buf_init(&reading.joined, json.n + 1);
    reading.room = malloc(json.n + 1);
    if (!reading.room)
        rc = error_set(err, E_NOMEM, "merges of %zu bytes", json.n);
    if (rc == OK)
        rc = read_list(&reading);
    if (rc == OK)
        rc = make_table(&model->bpe, &reading);
    free(reading.list);
    free(reading.room);
    buf_free(&reading.joined);
    return rc;
}

/* ---- what follows from them ---- */

static int32_t last_codepoint(struct str text)
{
    size_t at = text.n;
    int32_t codepoint = -1;

    while (at > 0 && ((unsigned char)text.p[--at] & 0xC0) == 0x80)
        continue;
    if (text.n)
        unicode_next(str_skip(text, at), &codepoint);
    return codepoint;
}

static bool is_byte_token(const struct bpe *bpe, uint32_t id)
{
    for (int i = 0; i < 256; i++)
        if (bpe->bytes[i] == id)
            return true;
    return false;
}

/* A merge joins a letter with a mark behind it: no piece may be split there. False: give up. */
static bool add_glue(struct bpe *bpe, struct str left, uint32_t left_id)
{
    int32_t codepoint = last_codepoint(left);

    if (left_id == bpe->unk || (bpe->byte_fallback && is_byte_token(bpe, left_id)))
        return false;           /* stands for any letter */
    for (uint32_t i = 0; i < bpe->n_glue; i++)
        if (bpe->glue[i] == codepoint)
            return true;
    if (codepoint < 0 || bpe->n_glue == sizeof bpe->glue / sizeof *bpe->glue)
        return false;
    bpe->glue[bpe->n_glue++] = codepoint;
    return true;
}

static void look_at_merges(struct tok_model *model)
{
    struct bpe *bpe = &model->bpe;
    const struct vocab *vocab = &model->vocab;

    bpe->is_plain = true;
    bpe->splits_at_mark = !bpe->ignore_merges && !bpe->prefix.n && !bpe->suffix.n &&
                          bpe->unk != NO_ID && vocab_id(vocab, str_of(MARK)) != NONE;
    for (uint64_t i = 0; i < vocab->n_entries; i++) {
        if (i && vocab->entries[i].id == vocab->entries[i - 1].id)
            bpe->is_plain = false;
        if (vocab->entries[i].n > bpe->longest)
            bpe->longest = vocab->entries[i].n;
    }
    if (!bpe->is_plain)
        bpe->splits_at_mark = false;    /* a token's text does not tell what it is made of */
    for (uint64_t i = 0; i < bpe->n_merges; i++) {
        const struct merge *merge = &bpe->merges[i];

        if (merge->left == NO_ID)
            continue;

        struct str left = vocab_token(vocab, merge->left), right = vocab_token(vocab, merge->right);

        if (left.n == 0 || right.n <= bpe->prefix.n)
            bpe->is_plain = bpe->splits_at_mark = false;
        if (bpe->splits_at_mark && str_starts(right, MARK) && !str_ends(left, MARK))
            bpe->splits_at_mark = add_glue(bpe, left, merge->left);
    }
}

/* The part that follows from the rest: tables of byte ids and letters. */
static void bpe_prepare(struct tok_model *model)
{
    struct bpe *bpe = &model->bpe;

    bpe->has_bytes = bpe->prefix.n == 0;
    for (int i = 0; i < 256; i++) {
        char text[4 + 64];
        size_t n = unicode_put(text, byte_letter((unsigned char)i));
        int64_t id = vocab_id(&model->vocab, str_from(text, n)), last = id;

        if (bpe->suffix.n && bpe->suffix.n <= 64) {
            memcpy(text + n, bpe->suffix.p, bpe->suffix.n);
            last = vocab_id(&model->vocab, str_from(text, n + bpe->suffix.n));
        }
        if (id == NONE || last == NONE || bpe->suffix.n > 64)
            bpe->has_bytes = false;
        bpe->letters[i] = (uint32_t)id;
        bpe->last_letters[i] = (uint32_t)last;
    }
    find_byte_tokens(&model->vocab, bpe->bytes);
}

/* Null or a number from 0 to 1. With any but 0 and 1 the library's ids are random. */
static int read_dropout(struct bpe *bpe, const struct json *settings, struct error *err)
{
    const struct json *dropout = json_get(settings, "dropout");

    if (!dropout || json_is(dropout, JSON_NULL))
        return OK;
    if (!json_is(dropout, JSON_NUMBER) || !(dropout->number >= 0 && dropout->number <= 1))
        return error_set(err, E_PARSE, "model.dropout: expected a number from 0 to 1");
    bpe->no_merges = dropout->number == 1;
    if (dropout->number > 0 && dropout->number < 1)
        return error_set(err, E_UNSUPPORTED, "BPE with a dropout of %g: its ids are random",
                         dropout->number);
    return OK;
}

static int read_settings(struct tok_model *model, const struct json *settings, struct error *err)
{
    struct bpe *bpe = &model->bpe;
    int rc = read_dropout(bpe, settings, err);

    if (rc == OK)
        rc = setting_text(settings, "unk_token", &model->unk_token, err);
    if (rc == OK)
        rc = setting_text(settings, "continuing_subword_prefix", &bpe->prefix, err);
    if (rc == OK)
        rc = setting_text(settings, "end_of_word_suffix", &bpe->suffix, err);
    if (rc == OK)
        rc = setting_flag(settings, "fuse_unk", true, &bpe->fuse_unk, err);
    if (rc == OK)
        rc = setting_flag(settings, "byte_fallback", true, &bpe->byte_fallback, err);
    if (rc == OK)
        rc = setting_flag(settings, "ignore_merges", true, &bpe->ignore_merges, err);
    return rc;
}

int bpe_open(struct tok_model *model, const struct model_parts *parts, struct error *err)
{
    struct bpe *bpe = &model->bpe;

    if (!parts->vocab.n || !parts->merges.n)
        return error_set(err, E_PARSE, "model: a BPE without %s", parts->vocab.n ? "merges" : "vocab");

    int rc = read_settings(model, parts->settings, err);

    if (rc == OK)
        rc = vocab_read(&model->vocab, parts->vocab, err);
    if (rc == OK)
        rc = read_merges(model, parts->merges, err);
    if (rc != OK)
        return rc;
    bpe->has_unk = model->unk_token.p != NULL;
    bpe->unk = bpe->has_unk ? (uint32_t)vocab_id(&model->vocab, model->unk_token) : NO_ID;
    bpe_prepare(model);
    look_at_merges(model);
    return OK;
}
