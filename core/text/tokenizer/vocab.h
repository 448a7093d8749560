/* A vocabulary: tokens to ids and ids to tokens.
 *
 * Three flat tables, so that the whole can be kept on disk and used where it lies: the bytes of all
 * tokens, the entries in order of their ids, and a hash table of open addressing over them. For
 * files of this folder only. */
#ifndef CORE_TEXT_TOKENIZER_VOCAB_H
#define CORE_TEXT_TOKENIZER_VOCAB_H

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/text/tokenizer/piece_hash.h"

struct vocab_entry {
    uint32_t id, at, n;         /* the token's bytes are at `at` of the vocabulary's */
};

struct vocab_slot {
    uint32_t tag;               /* upper half of the token's hash */
    uint32_t entry;             /* index + 1; 0: free */
};

struct vocab {
    char *bytes;
    struct vocab_entry *entries;        /* ascending ids; equal ids in the file's order */
    struct vocab_slot *slots;
    uint64_t n_bytes, n_entries, n_slots;       /* n_slots: a power of two */
};

/* model.vocab as an object {token: id}: of equal keys the last counts. E_PARSE, E_LIMIT, E_NOMEM. */
MUST_CHECK int vocab_read(struct vocab *out, struct str json, struct error *err);
/* model.vocab as a list [[token, score]]: ids are places; *scores is the caller's to free. */
MUST_CHECK int vocab_read_scored(struct vocab *out, double **scores, struct str json,
                                 struct error *err);
void vocab_free(struct vocab *vocab);

/* NONE: not there. */
int64_t vocab_id(const struct vocab *vocab, struct str token);
/* p NULL: no such id. */
struct str vocab_token(const struct vocab *vocab, uint32_t id);
uint32_t vocab_size(const struct vocab *vocab);         /* highest id + 1 */

#endif
