/* What the four models are made of. For the files of this folder that implement them only; the
 * pipeline knows tokenizer_parts.h. */
#ifndef CORE_TEXT_TOKENIZER_MODELS_H
#define CORE_TEXT_TOKENIZER_MODELS_H

#include "core/text/tokenizer/piece_cache.h"
#include "core/text/tokenizer/tokenizer_parts.h"
#include "core/text/tokenizer/trie.h"
#include "core/text/tokenizer/vocab.h"

#define NO_ID        UINT32_MAX
#define LONGEST_PIECE ((size_t)1 << 31) /* offsets and links are 32 bits */

/* left + right become id; the lowest rank goes first. Open addressing; left NO_ID: free. */
struct merge {
    uint32_t left, right, rank, id;
};

struct bpe {
    struct merge *merges;
    uint64_t n_merges;          /* slots: a power of two */
    bool ignore_merges, byte_fallback, fuse_unk;
    bool has_unk, no_merges;    /* no_merges: a dropout of 1 */
    bool is_plain;              /* every part of a merge adds letters: no pair gives one of its parts */
    bool has_bytes;
    uint32_t unk;               /* NO_ID: the file names one that is not in the vocabulary */
    uint32_t longest;           /* bytes of the longest token */
    struct str prefix, suffix;
    uint32_t bytes[256];        /* ids of "<0x00>" …, NO_ID where there is none */
    uint32_t letters[256];      /* ids of the byte alphabet, and of those with the suffix */
    uint32_t last_letters[256];
    /* A blank's mark that is never merged with a letter before it (but for the few in `glue`)
     * begins a piece of its own. */
    bool splits_at_mark;
    uint32_t n_glue;
    int32_t glue[64];
};

struct unigram {
    struct trie trie;
    double *scores;             /* by id */
    double unk_score;
    uint32_t unk;               /* NO_ID: none */
    bool byte_fallback;
    uint32_t bytes[256];
};

struct wordpiece {
    struct trie trie;
    struct str prefix;
    uint32_t prefix_node;       /* NO_ID: no token begins with the prefix */
    uint32_t unk;               /* NO_ID: not in the vocabulary */
    size_t most_chars;
};

struct tok_model {
    enum model_kind kind;
    uint64_t serial;            /* tells models apart in a scratch, also one that lies where another lay */
    char *storage;              /* a compact form that all tables are part of; else NULL */
    struct vocab vocab;
    char *strings;              /* unk_token, prefix, suffix */
    size_t strings_n;
    struct str unk_token;       /* p NULL: none */
    struct bpe bpe;
    struct unigram unigram;
    struct wordpiece wordpiece;
};

struct symbol {
    uint32_t id, n;             /* n: bytes; 0: merged away */
    int32_t before, after;
};

struct candidate {              /* of a merge */
    uint32_t rank, at, id;
};

struct viterbi_node {
    double score;
    uint32_t begin, id;         /* begin NO_ID: not reached */
};

struct model_scratch {
    uint64_t serial;
    struct piece_cache *cache;
    struct symbol *symbols;
    struct candidate *heap;
    struct viterbi_node *nodes;
    size_t symbols_capacity, heap_capacity, nodes_capacity, heap_n;
    struct buf text;
};

/* Room for n items of `bytes` in a list of the scratch. */
MUST_CHECK int scratch_room(void *list, size_t *capacity, size_t n, size_t bytes,
                            struct error *err);

MUST_CHECK int bpe_open(struct tok_model *model, const struct model_parts *parts,
                        struct error *err);
MUST_CHECK int bpe_encode(const struct tok_model *model, struct model_scratch *scratch,
                          struct str piece, struct tokens *out, struct error *err);
MUST_CHECK int bpe_encode_bytes(const struct tok_model *model, struct model_scratch *scratch,
                                struct str piece, struct tokens *out, struct error *err);
/* For the next model of this process. */
uint64_t model_next_serial(void);
#define MODEL_TEXTS 4
/* The model's texts that lie in `strings`. */
void model_texts(struct tok_model *model, struct str *texts[MODEL_TEXTS]);

MUST_CHECK int unigram_open(struct tok_model *model, const struct model_parts *parts,
                            struct error *err);
MUST_CHECK int unigram_encode(const struct tok_model *model, struct model_scratch *scratch,
                              struct str piece, struct tokens *out, struct error *err);
MUST_CHECK int wordpiece_open(struct tok_model *model, const struct model_parts *parts,
                              struct error *err);
MUST_CHECK int wordpiece_encode(const struct tok_model *model, struct str piece,
                                struct tokens *out, struct error *err);
MUST_CHECK int wordlevel_open(struct tok_model *model, const struct model_parts *parts,
                              struct error *err);
MUST_CHECK int wordlevel_encode(const struct tok_model *model, struct str piece,
                                struct tokens *out, struct error *err);

/* Ids of "<0x00>" … "<0xFF>". */
void find_byte_tokens(const struct vocab *vocab, uint32_t ids[256]);
/* Members of the settings: text or absent; flags, false where null or absent (`nullable`). */
MUST_CHECK int setting_text(const struct json *settings, const char *name, struct str *out,
                            struct error *err);
MUST_CHECK int setting_flag(const struct json *settings, const char *name, bool nullable,
                            bool *out, struct error *err);

#endif
