/* Shingles of a normal text (FORMATS.md B25): hashes of 5 neighbouring words joined by blanks; of a
 * text of fewer words 5 neighbouring code points; shorter still the whole text; of an empty one
 * none. A set: sorted, each once.
 *
 * Jaccard is |A and B| / |A or B|, containment |A and B| / |A|, both on these sets and nothing
 * else. */
#ifndef CORE_SIMILAR_SHINGLES_H
#define CORE_SIMILAR_SHINGLES_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/str.h"

enum { SHINGLE_WORDS = 5, SHINGLE_CODEPOINTS = 5, CONTAINED_SHINGLES = 8 };

struct shingles { /* owns; kept from text to text */
    uint64_t *items;
    size_t n, capacity;
    uint64_t *scratch; /* of the sorting */
    size_t scratch_capacity;
};

void shingles_free(struct shingles *set);
/* Replaces the set by the one of `normal`, which normal_text made (words parted by one blank).
 * E_NOMEM. */
MUST_CHECK int shingles_of(struct str normal, struct shingles *set, struct error *err);
/* Ascending; scratch of n items. */
void shingles_sort(uint64_t *items, size_t n, uint64_t *scratch);

/* |A and B|, or SIZE_MAX as soon as it is sure to stay below `least`. */
size_t shingles_shared(const uint64_t *a, size_t n_a, const uint64_t *b, size_t n_b, size_t least);
double shingles_jaccard(size_t n_a, size_t n_b, size_t n_shared); /* 0 of two empty sets */

/* MinHash: 252 hashes in 42 bands of 6, the constants of B25. Bands of an empty set are those of no
 * shingle at all; such rows are not compared. */
enum { MINHASH_BANDS = 42, MINHASH_ROWS = 6, MINHASH_N = MINHASH_BANDS * MINHASH_ROWS };
void minhash_bands(const uint64_t *items, size_t n, uint64_t bands[MINHASH_BANDS]);

#endif
