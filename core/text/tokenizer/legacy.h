/* Files of older layouts on their way to a tokenizer.json: what a class of transformers makes of
 * them. For the files of this folder that read them only. */
#ifndef CORE_TEXT_TOKENIZER_LEGACY_H
#define CORE_TEXT_TOKENIZER_LEGACY_H

#include "core/text/tokenizer/models.h"

enum legacy_shape {
    SHAPE_GPT2,
    SHAPE_QWEN2,
    SHAPE_ROBERTA,
    SHAPE_CLIP,
    SHAPE_BERT,
    SHAPE_LLAMA,
    SHAPE_GEMMA,
    SHAPE_T5,
    SHAPE_XLMR,
    SHAPE_TIKTOKEN
};

/* A class of transformers with the special tokens it has where its config names none (NULL: none). */
struct legacy_class {
    const char *name;
    enum legacy_shape shape;
    const char *bos, *eos, *unk, *pad, *cls, *sep, *mask;
};

struct legacy_added {
    struct str content;
    uint32_t id;
    bool lstrip, rstrip, single_word, normalized, special;
};

#define LEGACY_ADDED 4096

struct legacy {
    const struct legacy_class *kind;
    const struct json *config;          /* NULL: none */
    struct str folder;                  /* path of the folder */
    struct vocab vocab;
    uint32_t next_id;                   /* behind the vocabulary and the added tokens */
    struct buf vocab_json, merges_json;
    struct buf model, normalizer, pre_tokenizer, post_processor, decoder;       /* JSON each */
    struct legacy_added *added;
    size_t n_added;
    struct arena *arena;
    struct error *err;
};

/* Parts of the output. */
void put_json_text(struct buf *out, struct str text);
/* A special token by the config or by the class; p NULL: none. `role`: "bos_token". */
struct str legacy_special(const struct legacy *legacy, const char *role);
bool legacy_flag(const struct legacy *legacy, const char *name, bool otherwise);
/* An added token: with its own id, or NONE for that of the vocabulary or the next free one. */
MUST_CHECK int legacy_add(struct legacy *legacy, struct legacy_added token, int64_t id);

/* vocab.json + merges.txt; vocab.txt; tokenizer.model of sentencepiece; ranks of tiktoken. */
MUST_CHECK int legacy_read_bpe(struct legacy *legacy);
MUST_CHECK int legacy_read_bert(struct legacy *legacy, const char *path);
MUST_CHECK int legacy_read_sentencepiece(struct legacy *legacy, struct str bytes);
MUST_CHECK int legacy_read_ranks(struct legacy *legacy, struct str text);

#endif
