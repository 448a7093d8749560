/* The model of a tokenizer: finds its kind, and hands pieces to it. See tokenizer_parts.h. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/text/tokenizer/models.h"

#define KEPT_SCRATCH ((size_t)1 << 20)  /* items that a scratch keeps after a long piece */

static atomic_ulong last_serial;

/* ---- settings ---- */

int setting_text(const struct json *settings, const char *name, struct str *out,
                 struct error *err)
{
    const struct json *value = json_get(settings, name);

    *out = str_from(NULL, 0);
    if (!value || json_is(value, JSON_NULL))
        return OK;
    if (!json_is(value, JSON_STRING))
        return error_set(err, E_PARSE, "model.%s: expected a text", name);
    *out = value->text.p ? value->text : str_of("");
    return OK;
}

int setting_flag(const struct json *settings, const char *name, bool nullable, bool *out,
                 struct error *err)
{
    const struct json *value = json_get(settings, name);

    *out = json_is(value, JSON_TRUE);
    if (!value || *out || json_is(value, JSON_FALSE) || (nullable && json_is(value, JSON_NULL)))
        return OK;
    return error_set(err, E_PARSE, "model.%s: expected true or false", name);
}

void find_byte_tokens(const struct vocab *vocab, uint32_t ids[256])
{
    for (unsigned i = 0; i < 256; i++) {
        char text[8];
        int n = snprintf(text, sizeof text, "<0x%02X>", i);

        ids[i] = (uint32_t)vocab_id(vocab, str_from(text, (size_t)n));
    }
}

void model_texts(struct tok_model *model, struct str *texts[MODEL_TEXTS])
{
    texts[0] = &model->unk_token;
    texts[1] = &model->bpe.prefix;
    texts[2] = &model->bpe.suffix;
    texts[3] = &model->wordpiece.prefix;
}

/* The settings' texts die with the tree: copies of them. */
static int keep_strings(struct tok_model *model, struct error *err)
{
    struct str *texts[MODEL_TEXTS];
    size_t n = 1;

    model_texts(model, texts);
    for (size_t i = 0; i < MODEL_TEXTS; i++)
        n += texts[i]->n;
    model->strings_n = n;
    model->strings = calloc(1, n);
    if (!model->strings)
        return error_set(err, E_NOMEM, "a model's settings");
    n = 0;
    for (size_t i = 0; i < MODEL_TEXTS; i++) {
        if (!texts[i]->p)
            continue;
        if (texts[i]->n)
            memcpy(model->strings + n, texts[i]->p, texts[i]->n);
        texts[i]->p = model->strings + n;
        n += texts[i]->n;
    }
    return OK;
}

/* ---- the kind ---- */

static int named_kind(struct str name, enum model_kind *out, struct error *err)
{
    static const char *const names[] = {[MODEL_BPE] = "BPE",
                                        [MODEL_UNIGRAM] = "Unigram",
                                        [MODEL_WORDPIECE] = "WordPiece",
                                        [MODEL_WORDLEVEL] = "WordLevel"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (str_is(name, names[i])) {
            *out = (enum model_kind)i;
            return OK;
        }
    }
    return error_set(err, E_UNSUPPORTED, "model of type '%.*s'", (int)str_first(name, 40).n,
                     name.p);
}

/* ---- open and close ---- */

uint64_t model_next_serial(void)
{
    return ++last_serial;
}

static void release(struct tok_model *model)
{
    if (!model->storage) {
        vocab_free(&model->vocab);
        trie_free(&model->unigram.trie);
        trie_free(&model->wordpiece.trie);
        free(model->bpe.merges);
        free(model->unigram.scores);
        free(model->strings);
    }
    free(model->storage);
    *model = (struct tok_model){.serial = model->serial};
}

static int open_kind(struct tok_model *model, enum model_kind kind,
                     const struct model_parts *parts, struct error *err)
{
    static int (*const openers[])(struct tok_model *, const struct model_parts *, struct error *) =
        {[MODEL_BPE] = bpe_open,
         [MODEL_UNIGRAM] = unigram_open,
         [MODEL_WORDPIECE] = wordpiece_open,
         [MODEL_WORDLEVEL] = wordlevel_open};

    model->kind = kind;

    int rc = openers[kind](model, parts, err);

    if (rc == OK)
        rc = keep_strings(model, err);
    if (rc != OK)
        release(model);
    return rc;
}

/* Without a type the first kind, in the library's order, that can read what is there. What is told
 * is what the kind said for which the file has the members. */
static int open_any(struct tok_model *model, const struct model_parts *parts, struct error *err)
{
    static const enum model_kind order[] = {MODEL_BPE, MODEL_WORDPIECE, MODEL_WORDLEVEL,
                                            MODEL_UNIGRAM};
    bool is_list = parts->vocab.n && parts->vocab.p[0] == '[';
    enum model_kind likely = is_list           ? MODEL_UNIGRAM
                             : parts->merges.n ? MODEL_BPE
                                               : MODEL_WORDLEVEL;
    struct error said, own;

    error_set(&said, E_PARSE, "model: neither a type nor the members of one");
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        int rc = open_kind(model, order[i], parts, &own);

        if (rc == OK || rc == E_NOMEM || rc == E_UNSUPPORTED) {
            if (rc != OK && err)
                *err = own;
            return rc;
        }
        if (order[i] == likely)
            said = own;
    }
    if (err)
        *err = said;
    return said.status;
}

int model_open(struct tok_model **out, const struct model_parts *parts, struct error *err)
{
    const struct json *type = json_get(parts->settings, "type");
    struct tok_model *model = calloc(1, sizeof *model);
    enum model_kind kind = MODEL_BPE;
    int rc = OK;

    if (!model)
        return error_set(err, E_NOMEM, "a tokenizer's model");
    model->serial = model_next_serial();
    if (json_is(type, JSON_STRING)) {
        rc = named_kind(type->text, &kind, err);
        if (rc == OK)
            rc = open_kind(model, kind, parts, err);
    } else {
        rc = open_any(model, parts, err);
    }
    if (rc != OK) {
        model_close(model);
        return rc;
    }
    *out = model;
    return OK;
}

void model_close(struct tok_model *model)
{
    if (!model)
        return;
    release(model);
    free(model);
}

enum model_kind model_kind(const struct tok_model *model)
{
    return model->kind;
}

bool model_has_bytes(const struct tok_model *model)
{
    return model->kind == MODEL_BPE && model->bpe.has_bytes;
}

struct str model_token(const struct tok_model *model, uint32_t id)
{
    return vocab_token(&model->vocab, id);
}

int64_t model_id(const struct tok_model *model, struct str token)
{
    return vocab_id(&model->vocab, token);
}

uint32_t model_size(const struct tok_model *model)
{
    return vocab_size(&model->vocab);
}

uint32_t model_count(const struct tok_model *model)
{
    return (uint32_t)model->vocab.n_entries;
}

/* ---- scratch ---- */

int model_scratch_open(struct model_scratch **out, struct error *err)
{
    struct model_scratch *scratch = calloc(1, sizeof *scratch);

    if (!scratch)
        return error_set(err, E_NOMEM, "work space of a tokenizer");

    int rc = piece_cache_open(&scratch->cache, err);

    if (rc != OK) {
        free(scratch);
        return rc;
    }
    buf_init(&scratch->text, LONGEST_PIECE);
    *out = scratch;
    return OK;
}

void model_scratch_close(struct model_scratch *scratch)
{
    if (!scratch)
        return;
    piece_cache_close(scratch->cache);
    buf_free(&scratch->text);
    free(scratch->symbols);
    free(scratch->heap);
    free(scratch->nodes);
    free(scratch);
}

int scratch_room(void *list, size_t *capacity, size_t n, size_t bytes, struct error *err)
{
    void *items;

    if (n <= *capacity)
        return OK;
    memcpy(&items, list, sizeof items); /* a pointer of any type */

    size_t wanted = *capacity < 64 ? 64 : *capacity * 2;

    if (wanted < n)
        wanted = n;

    void *grown = wanted <= SIZE_MAX / bytes ? realloc(items, wanted * bytes) : NULL;

    if (!grown)
        return error_set(err, E_NOMEM, "work space for %zu symbols", wanted);
    memcpy(list, &grown, sizeof grown);
    *capacity = wanted;
    return OK;
}

static void drop_list(void *list, size_t *capacity)
{
    void *items;

    if (*capacity <= KEPT_SCRATCH)
        return;
    memcpy(&items, list, sizeof items);
    free(items);
    items = NULL;
    memcpy(list, &items, sizeof items);
    *capacity = 0;
}

static void drop_long(struct model_scratch *scratch)
{
    drop_list(&scratch->symbols, &scratch->symbols_capacity);
    drop_list(&scratch->heap, &scratch->heap_capacity);
    drop_list(&scratch->nodes, &scratch->nodes_capacity);
}

/* ---- encode ---- */

static int begin_piece(const struct tok_model *model, struct model_scratch *scratch,
                       struct str piece, struct error *err)
{
    if (scratch->serial != model->serial) {
        piece_cache_clear(scratch->cache);
        scratch->serial = model->serial;
    }
    return piece.n < LONGEST_PIECE ? OK : error_set(err, E_LIMIT, "a piece of %zu bytes", piece.n);
}

int model_encode(const struct tok_model *model, struct model_scratch *scratch, struct str piece,
                 struct tokens *out, struct error *err)
{
    int rc = begin_piece(model, scratch, piece, err);

    if (rc != OK || piece.n == 0)
        return rc;
    switch (model->kind) {
    case MODEL_BPE:
        rc = bpe_encode(model, scratch, piece, out, err);
        break;
    case MODEL_UNIGRAM:
        rc = unigram_encode(model, scratch, piece, out, err);
        break;
    case MODEL_WORDPIECE:
        rc = wordpiece_encode(model, piece, out, err);
        break;
    case MODEL_WORDLEVEL:
        rc = wordlevel_encode(model, piece, out, err);
        break;
    }
    if (piece.n > KEPT_SCRATCH)
        drop_long(scratch);
    return rc;
}

int model_encode_bytes(const struct tok_model *model, struct model_scratch *scratch,
                       struct str piece, struct tokens *out, struct error *err)
{
    int rc = begin_piece(model, scratch, piece, err);

    if (rc != OK || piece.n == 0)
        return rc;
    rc = bpe_encode_bytes(model, scratch, piece, out, err);
    if (piece.n > KEPT_SCRATCH)
        drop_long(scratch);
    return rc;
}
