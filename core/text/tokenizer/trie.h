/* A trie over the tokens of a vocabulary as a double array: one step is one look.
 *
 * The child of node s by byte c is node base(s) ^ c when that one's parent is s. For files of this
 * folder only. */
#ifndef CORE_TEXT_TOKENIZER_TRIE_H
#define CORE_TEXT_TOKENIZER_TRIE_H

#include "core/text/tokenizer/vocab.h"

#define TRIE_NO_ID UINT32_MAX

struct trie_node {
    uint32_t base, parent;      /* parent: UINT32_MAX in a free node */
    uint32_t id;                /* of the token that ends here, or TRIE_NO_ID */
};

struct trie {
    struct trie_node *nodes;
    uint64_t n_nodes;
};

/* Of equal tokens the one that vocab_id finds counts. */
MUST_CHECK int trie_build(struct trie *out, const struct vocab *vocab, struct error *err);
void trie_free(struct trie *trie);

/* Node 0 is the root. UINT32_MAX: no such child. */
static inline uint32_t trie_step(const struct trie *trie, uint32_t node, unsigned char c)
{
    uint32_t child = trie->nodes[node].base ^ c;

    return trie->nodes[child].parent == node ? child : UINT32_MAX;
}

#endif
