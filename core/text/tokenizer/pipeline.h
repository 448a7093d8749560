/* The steps of the pipeline among themselves: texts on their way, the parts of a tokenizer and the
 * work space of a thread. For the files of this folder only.
 *
 * A text is cut at added tokens, each rest is normalised, cut at normalised added tokens, split by
 * each pre-tokenizer in turn and handed to the model. A piece goes through all steps before the
 * next one is looked at, so that each step needs one buffer and no list of pieces is made.
 * What the library does is kept to the letter, alignments included, since offsets depend on it. */
#ifndef CORE_TEXT_TOKENIZER_PIPELINE_H
#define CORE_TEXT_TOKENIZER_PIPELINE_H

#include "core/base/unicode_norm.h"
#include "core/text/tokenizer/pattern.h"
#include "core/text/tokenizer/tokenizer_parts.h"

#define PIPELINE_PARTS      64 /* normalizers, pre-tokenizers or decoders of one file */
#define PIPELINE_TEXT_BYTES ((size_t)1 << 30)

/* ---- A text on its way (work.c) ---- */

struct span {
    uint32_t from, to; /* bytes of the text that was given */
};

struct piece {
    const char *p;
    size_t n;
    const struct span *at;       /* one for each byte; NULL: byte i is byte origin + i */
    uint32_t origin, origin_end; /* what it covers of the text that was given */
};

struct work {
    char *p;
    struct span *at;
    size_t n, capacity;
};

void work_free(struct work *work);
/* Room for n bytes more. */
MUST_CHECK int work_reserve(struct work *work, size_t n, struct error *err);
/* Appends bytes that all come from the same place. The room must be there. */
void work_put(struct work *work, const char *p, size_t n, struct span at);
/* Appends bytes begin … end of a piece with where they come from. The room must be there. */
void work_copy(struct work *work, const struct piece *piece, size_t begin, size_t end);
/* Where byte i comes from: the bytes of its character. */
struct span piece_span(const struct piece *piece, size_t i);
struct piece piece_slice(const struct piece *piece, size_t begin, size_t end);
struct str piece_text(const struct piece *piece);
/* The piece that a work buffer holds, of the same origin as `piece`. */
struct piece work_piece(const struct work *work, const struct piece *piece);
/* The first character comes from nothing (it was put before an empty match): then the library's
 * transformations cover only what comes after it. */
bool piece_begins_empty(const struct piece *piece);
/* The library's transform over the whole piece: `steps` as unicode_norm.h has them, after
 * `n_removed` characters that are dropped at the start. E_UNSUPPORTED where it stops there. */
MUST_CHECK int work_transform(struct work *work, const struct piece *piece,
                              const struct unicode_steps *steps, size_t n_removed,
                              struct error *err);

/* The byte alphabet of GPT-2. */
int32_t byte_char(unsigned char byte);
int char_byte(int32_t c); /* -1: no character of the alphabet */

/* ---- Parts ---- */

struct charsmap;

enum normalizer_kind {
    NORMALIZE_FORM,
    NORMALIZE_STRIP,
    NORMALIZE_STRIP_ACCENTS,
    NORMALIZE_LOWERCASE,
    NORMALIZE_NMT,
    NORMALIZE_REPLACE,
    NORMALIZE_PREPEND,
    NORMALIZE_BYTE_LEVEL,
    NORMALIZE_PRECOMPILED,
    NORMALIZE_CLEAN_TEXT, /* BertNormalizer is up to four of these */
    NORMALIZE_CHINESE,
    NORMALIZE_BERT_ACCENTS
};

struct normalizer {
    enum normalizer_kind kind;
    enum unicode_form form;
    bool left, right;
    struct pattern *pattern; /* owned */
    struct str content;
    struct charsmap *charsmap; /* owned */
};

enum split_kind {
    SPLIT_PATTERN,
    SPLIT_BYTE_LEVEL,
    SPLIT_METASPACE,
    SPLIT_DELIMITER,
    SPLIT_DIGITS,
    SPLIT_PUNCTUATION,
    SPLIT_SPACE,
    SPLIT_WORDS,
    SPLIT_LENGTH,
    SPLIT_SCRIPTS
};

enum split_behaviour {
    SPLIT_REMOVED,
    SPLIT_ISOLATED,
    SPLIT_WITH_PREVIOUS,
    SPLIT_WITH_NEXT,
    SPLIT_CONTIGUOUS
};

enum prepend_scheme { PREPEND_ALWAYS, PREPEND_FIRST, PREPEND_NEVER };

struct splitter {
    enum split_kind kind;
    enum split_behaviour behaviour;
    struct pattern *pattern; /* owned */
    bool invert, add_prefix_space, cuts;
    int32_t character;
    enum prepend_scheme scheme;
    uint64_t length;
};

enum decoder_kind {
    DECODE_BPE,
    DECODE_BYTE_LEVEL,
    DECODE_WORDPIECE,
    DECODE_METASPACE,
    DECODE_CTC,
    DECODE_REPLACE,
    DECODE_FUSE,
    DECODE_STRIP,
    DECODE_BYTE_FALLBACK
};

struct decoder {
    enum decoder_kind kind;
    struct str content, delimiter;
    bool cleanup, keeps_first;
    int32_t character;
    uint64_t start, stop;
    struct pattern *pattern; /* owned */
};

enum post_kind { POST_TEMPLATE, POST_PAIR, POST_TRIM };

struct post_piece {
    bool is_text;   /* else special tokens */
    bool is_second; /* sequence B */
    const uint32_t *ids;
    size_t n;
};

struct post_template {
    const struct post_piece *pieces;
    size_t n;
};

struct post {
    enum post_kind kind;
    bool trims, add_prefix_space; /* Roberta and ByteLevel */
    bool doubles_last;            /* Roberta: a second text begins with the last token, too */
    struct post_template single, pair;
    struct post_piece first, last; /* of POST_PAIR: cls, sep */
};

struct added_tokens;

struct tokenizer {
    struct arena *arena; /* settings and their texts */
    struct tok_model *model;
    struct added_tokens *added;
    struct normalizer *normalizers;
    struct splitter *splitters;
    struct decoder *decoders;
    struct post *posts;
    size_t n_normalizers, n_splitters, n_decoders, n_posts;
    bool has_decoder, trims_offsets;
    bool raw_bytes; /* the last splitter is ByteLevel and the model takes bytes */
    char *text;     /* what the settings borrow from; owned */
    int64_t first_added, last_added;
    char about[256];
};

/* ---- Work space ---- */

/* What the trimming of offsets needs of a token's text. */
struct token_blanks {
    uint32_t leading, trailing;
};

struct blank_list {
    struct token_blanks *items; /* one for each token, where the tokenizer trims offsets */
    size_t n, capacity;
};

struct tokenizer_scratch {
    struct model_scratch *model;
    struct pattern_scratch *pattern;
    struct work valid, normal[2];
    struct work split[2 * PIPELINE_PARTS]; /* the second half: pieces in the byte alphabet */
    struct buf rooms[PIPELINE_PARTS];      /* texts as patterns see them */
    struct unicode_steps steps;
    struct blank_list blanks; /* of the tokens so far */
    struct tokens order;      /* what a post-processor makes */
    struct blank_list order_blanks;
};

/* One text that is being encoded. */
struct encoding {
    const struct tokenizer *tokenizer;
    struct tokenizer_scratch *scratch;
    struct tokens *out;
    struct str text; /* as it was given */
    struct error *err;
};

/* ---- Steps ---- */

/* Reads one part's settings; `what` names the part in messages. Sequences become flat lists. */
MUST_CHECK int normalizers_read(struct tokenizer *tokenizer, const struct json *settings,
                                struct error *err);
MUST_CHECK int splitters_read(struct tokenizer *tokenizer, const struct json *settings,
                              struct error *err);
MUST_CHECK int posts_read(struct tokenizer *tokenizer, const struct json *settings,
                          struct error *err);
MUST_CHECK int decoders_read(struct tokenizer *tokenizer, const struct json *settings,
                             struct error *err);
void normalizers_close(struct normalizer *normalizers, size_t n);
void splitters_close(struct splitter *splitters, size_t n);
void decoders_close(struct decoder *decoders, size_t n);

/* *piece becomes the normalised one, in the scratch's buffers or where it was. */
MUST_CHECK int normalize_piece(const struct normalizer *normalizers, size_t n,
                               struct tokenizer_scratch *scratch, struct piece *piece,
                               struct error *err);
/* Sends a normalised piece through the pre-tokenizers from `stage` on, and on to the model. */
MUST_CHECK int split_piece(struct encoding *encoding, size_t stage, const struct piece *piece);
/* The model's tokens of a piece; is_raw: bytes for the byte alphabet. (encode.c) */
MUST_CHECK int encode_piece(struct encoding *encoding, const struct piece *piece, bool is_raw);
/* Appends n items of no blanks. */
MUST_CHECK int blank_list_add(struct blank_list *list, size_t n, struct error *err);
MUST_CHECK int post_process(struct encoding *encoding, bool add_special);

MUST_CHECK int charsmap_open(struct charsmap **out, struct str base64, struct error *err);
void charsmap_close(struct charsmap *charsmap);
/* The first entry that the chunk begins with; p NULL: none. */
struct str charsmap_find(const struct charsmap *charsmap, struct str chunk);

/* ---- Added tokens (added_tokens.c) ---- */

struct added_token {
    struct str content; /* as the file has it */
    struct str pattern; /* what is looked for: normalised where it says so */
    uint32_t id, order;
    bool single_word, lstrip, rstrip, normalized, special;
    bool is_skipped; /* decoding without special tokens leaves it out */
};

/* The tokens of the file; the model and normalizers of `tokenizer` are there. */
MUST_CHECK int added_tokens_read(struct tokenizer *tokenizer, const struct json *list,
                                 struct error *err);
void added_tokens_close(struct added_tokens *added);
const struct added_token *added_by_id(const struct added_tokens *added, uint32_t id);
const struct added_token *added_by_content(const struct added_tokens *added, struct str content);
uint32_t added_size(const struct added_tokens *added); /* highest id + 1 */
/* Whether any token of the kind is looked for at all. */
bool added_has(const struct added_tokens *added, bool normalized);

struct added_match {
    size_t begin, end; /* with swallowed blanks */
    const struct added_token *token;
};

/* Walks over the matches in a text. */
struct added_search {
    const struct added_tokens *added;
    struct str text;
    bool normalized;
    size_t from;  /* where to look on */
    size_t taken; /* end of the last match that was given */
    uint64_t steps;
};

/* 1 a match, 0 no more, negative E_LIMIT. */
int added_next(struct added_search *search, struct added_match *match, struct error *err);

/* ---- Settings (parts.c) ---- */

/* A member of an object: E_PARSE naming `what` and the key when it is missing or of another type.
 */
MUST_CHECK int part_text(const struct json *object, const char *what, const char *key,
                         struct str *out, struct error *err);
MUST_CHECK int part_char(const struct json *object, const char *what, const char *key, int32_t *out,
                         struct error *err);
MUST_CHECK int part_flag(const struct json *object, const char *what, const char *key, bool *out,
                         struct error *err);
/* As part_flag; absent or null: `otherwise`. */
MUST_CHECK int part_flag_or(const struct json *object, const char *what, const char *key,
                            bool otherwise, bool *out, struct error *err);
MUST_CHECK int part_count(const struct json *object, const char *what, const char *key,
                          uint64_t *out, struct error *err);
/* {"String": …} or {"Regex": …}. */
MUST_CHECK int part_pattern(const struct json *object, const char *what, struct pattern **out,
                            struct error *err);
MUST_CHECK int part_behaviour(const struct json *object, const char *what,
                              enum split_behaviour *out, struct error *err);
/* The name of a part: E_PARSE without one. */
MUST_CHECK int part_type(const struct json *object, const char *what, struct str *out,
                         struct error *err);
/* Calls `each` for every part of nested sequences in order. */
MUST_CHECK int part_parts(const struct json *object, const char *what, const char *members,
                          int (*each)(void *ctx, const struct json *part, struct error *err),
                          void *ctx, struct error *err);
int part_unknown(const char *what, struct str type, struct error *err);

#endif
