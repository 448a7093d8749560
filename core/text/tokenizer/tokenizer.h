/* Tokenizers: text to ids and back, exactly as the tokenizers library does it (FORMATS.md B15).
 *
 * Loaded from tokenizer.json, or where there is none from vocab.json + merges.txt, vocab.txt or a
 * sentencepiece tokenizer.model, as transformers converts them, or from the arrays of a .gguf file
 * (byte-level BPE with a known pre-tokenizer, llama's sentencepiece). A file with a part that is not
 * supported is refused by the name of the part (E_UNSUPPORTED), never approximated. Truncation
 * and padding of the file are not applied, as transformers does by default.
 *
 * A tokenizer is const after loading and may be shared by threads; each thread has its own scratch
 * (caches and work space, bounded). Offsets are bytes of the text that was given. */
#ifndef CORE_TEXT_TOKENIZER_TOKENIZER_H
#define CORE_TEXT_TOKENIZER_TOKENIZER_H

#include "core/base/error.h"
#include "core/base/str.h"

struct tokenizer;
struct tokenizer_scratch;

#define TOKENIZER_FILE_BYTES ((size_t)256 << 20)

/* `path`: a file of one of the kinds above, or a folder that holds one (tokenizer.json first).
 * `cache_folder`: where the compact form is kept between runs, or NULL. E_PARSE with line or byte,
 * E_UNSUPPORTED with the name of the part, E_LIMIT, E_IO, E_NOTFOUND. */
MUST_CHECK int tokenizer_load(struct tokenizer **out, const char *path, const char *cache_folder,
                              struct error *err);
/* The text of a tokenizer.json in memory, for tests and fuzzers. */
MUST_CHECK int tokenizer_load_text(struct tokenizer **out, struct str text, struct error *err);
void tokenizer_close(struct tokenizer *tokenizer); /* NULL allowed */

MUST_CHECK int tokenizer_scratch_open(struct tokenizer_scratch **out, struct error *err);
void tokenizer_scratch_close(struct tokenizer_scratch *scratch);

/* One encoded text; zero it first, reuse it, tokens_free at the end. */
struct tokens {
    size_t n, capacity;
    uint32_t *ids;
    uint32_t *begin, *end;      /* bytes of the text; begin == end for added special tokens */
};
void tokens_free(struct tokens *tokens);

/* Replaces *out. `add_special`: run the post-processor (BOS, EOS, [CLS] … where the file says so).
 * E_LIMIT when a text or a regex exceeds its bounds; E_NOMEM. The text may be invalid UTF-8: its
 * broken bytes are read as U+FFFD, offsets stay those of the given bytes. */
MUST_CHECK int tokenizer_encode(const struct tokenizer *tokenizer,
                                struct tokenizer_scratch *scratch, struct str text,
                                bool add_special, struct tokens *out, struct error *err);
/* Appends the text of the ids; unknown ids are skipped, special ones when asked. */
MUST_CHECK int tokenizer_decode(const struct tokenizer *tokenizer, const uint32_t *ids, size_t n,
                                bool skip_special, struct buf *out, struct error *err);

/* Vocabulary with the added tokens. */
int64_t tokenizer_id(const struct tokenizer *tokenizer, struct str token);       /* NONE: unknown */
/* The token as the vocabulary spells it ("Ġhello"); p NULL: no such id. */
struct str tokenizer_token(const struct tokenizer *tokenizer, uint32_t id);
bool tokenizer_is_added(const struct tokenizer *tokenizer, uint32_t id);
bool tokenizer_is_special(const struct tokenizer *tokenizer, uint32_t id);
uint32_t tokenizer_size(const struct tokenizer *tokenizer);                      /* highest id + 1 */
/* The post-processor puts a token in front of a single text: its id, else NONE. */
int64_t tokenizer_first_added(const struct tokenizer *tokenizer);
int64_t tokenizer_last_added(const struct tokenizer *tokenizer);
/* One line on what it is: "BPE byte-level, 151,669 tokens, tokenizer.json". */
const char *tokenizer_about(const struct tokenizer *tokenizer);

#endif
