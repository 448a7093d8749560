/* Tokens of whole pieces that were seen before, bounded: short pieces in one line of memory each,
 * longer ones in a ring of bytes that starts anew when it is full. One thread, one model. */
#ifndef CORE_TEXT_TOKENIZER_PIECE_CACHE_H
#define CORE_TEXT_TOKENIZER_PIECE_CACHE_H

#include "core/text/tokenizer/piece_hash.h"
#include "core/text/tokenizer/tokenizer_parts.h"

#define CACHED_PIECE_BYTES 512          /* longer pieces are not kept */

struct piece_cache;

MUST_CHECK int piece_cache_open(struct piece_cache **out, struct error *err);
void piece_cache_close(struct piece_cache *cache);       /* NULL allowed */
void piece_cache_clear(struct piece_cache *cache);

/* 1 and the tokens are appended, 0 not there, negative error. */
MUST_CHECK int piece_cache_find(struct piece_cache *cache, struct str piece, uint64_t hash,
                                struct tokens *out, struct error *err);
/* The tokens from `first` on are the piece's; begin and end from 0. */
void piece_cache_keep(struct piece_cache *cache, struct str piece, uint64_t hash,
                      const struct tokens *tokens, size_t first);

#endif
