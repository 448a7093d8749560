/* Between the pipeline (load, added tokens, normalise, split, post, decode) and the models
 * (BPE, Unigram, WordPiece, WordLevel). For the files of this folder only.
 *
 * The pipeline reads the file, takes the model's vocabulary and merges as raw JSON text and the
 * small rest as a tree, and hands each piece to the model. */
#ifndef CORE_TEXT_TOKENIZER_TOKENIZER_PARTS_H
#define CORE_TEXT_TOKENIZER_TOKENIZER_PARTS_H

#include "core/read/json.h"
#include "core/text/tokenizer/tokenizer.h"

enum model_kind { MODEL_BPE, MODEL_UNIGRAM, MODEL_WORDPIECE, MODEL_WORDLEVEL };

struct tok_model;
struct model_scratch;

struct model_parts {
    const struct json *settings;    /* the model object without vocab and merges */
    struct str vocab, merges;       /* raw JSON text of the two members; n 0: absent */
};

/* Finds the kind where model.type is missing. E_PARSE for what the library refuses too (merges out
 * of vocabulary …), E_UNSUPPORTED. */
MUST_CHECK int model_open(struct tok_model **out, const struct model_parts *parts,
                          struct error *err);
void model_close(struct tok_model *model);
enum model_kind model_kind(const struct tok_model *model);

MUST_CHECK int model_scratch_open(struct model_scratch **out, struct error *err);
void model_scratch_close(struct model_scratch *scratch);

/* Appends the ids of one piece with byte offsets inside the piece: begin is the end of the one
 * before, but for Unigram's byte fallback, where all bytes of a character have its range (as the
 * library has it). The piece is normalised text, valid UTF-8, under 2 GiB. */
MUST_CHECK int model_encode(const struct tok_model *model, struct model_scratch *scratch,
                            struct str piece, struct tokens *out, struct error *err);
/* The same for a byte-level model on the raw bytes before the byte alphabet: offsets count raw
 * bytes. Only when model_has_bytes: every byte's alphabet character is in the vocabulary. */
bool model_has_bytes(const struct tok_model *model);
MUST_CHECK int model_encode_bytes(const struct tok_model *model, struct model_scratch *scratch,
                                  struct str piece, struct tokens *out, struct error *err);

struct str model_token(const struct tok_model *model, uint32_t id); /* p NULL: none */
int64_t model_id(const struct tok_model *model, struct str token);  /* NONE */
/* Highest id + 1. The vocabulary may have holes: a hostile file's size may be near 2^32 with two
 * tokens, so no array is to be made by it. */
uint32_t model_size(const struct tok_model *model);
uint32_t model_count(const struct tok_model *model);                /* tokens in the vocabulary */

/* Room for `more` tokens behind the n that are there; E_NOMEM. */
MUST_CHECK int tokens_reserve(struct tokens *tokens, size_t more, struct error *err);
/* Makes room for one more token at the end; E_NOMEM. */
MUST_CHECK int tokens_push(struct tokens *tokens, uint32_t id, uint32_t begin, uint32_t end,
                           struct error *err);

/* ---- The compact form: a model's tables as they lie in memory, kept between runs ----
 *
 * In cache_folder/tokenizers, one file a tokenizer named after the hash of its text and the format,
 * together at most COMPACT_BYTES, the one whose use is longest ago goes first. Of this machine and
 * build only. What cannot be read, is cut or has changed is as if it were not there. */
#define COMPACT_BYTES ((int64_t)1 << 30)

struct compact {
    char *data;                         /* owned until a model takes it; free() */
    size_t n_bytes;
    struct str settings;                /* part of the data */
};

/* 1 found, 0 not, negative: E_NOMEM. `text`: of the whole file that it was made from. */
MUST_CHECK int compact_find(struct compact *out, const char *cache_folder, struct str text,
                            struct error *err);
/* The model takes the data; *compact is empty then. */
MUST_CHECK int model_open_compact(struct tok_model **out, struct compact *compact,
                                  struct error *err);
/* Where it cannot be written, nothing is kept: the next load takes longer. */
void compact_keep(const char *cache_folder, struct str text, struct str settings,
                  const struct tok_model *model);

/* ---- Files other than tokenizer.json, turned into the same parts ---- */

/* vocab.json + merges.txt, vocab.txt, tokenizer.model (sentencepiece or tiktoken ranks): writes the
 * tokenizer.json that transformers' conversion gives for them into *out, for tokenizer_load_text's
 * reader. `config`: tokenizer_config.json beside it, or NULL. */
MUST_CHECK int legacy_to_json(const char *path, const struct json *config, struct buf *out,
                              struct error *err);
/* The same of a sentencepiece model in memory, under a config of its own. */
MUST_CHECK int legacy_pieces_to_json(struct str model, const struct json *config, struct buf *out,
                                     struct error *err);
/* The tokenizer.json that the arrays of a GGUF file make. E_UNSUPPORTED by name. (gguf_arrays.c) */
MUST_CHECK int gguf_tokenizer_json(const char *path, struct buf *out, struct error *err);

#endif
