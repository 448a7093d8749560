/* Which rows of a facts form become candidates (FORMATS.md B25): those that share a band with a row of
 * another split, and those whose input occurs with more than one target. Exact, on hashes that lie in a
 * file, since those of ten million rows do not fit into memory.
 *
 * Disk: 352 bytes a row, while it is written. Memory: three bits a row, and `memory` while one
 * band is sorted; of more rows than fit a band is read several times, a range of hashes each. */
#ifndef CORE_FACTS_FORM_PAIRS_H
#define CORE_FACTS_FORM_PAIRS_H

#include <stdatomic.h>

#include "core/facts/form.h"

#define FORM_PAIRS_MEMORY ((size_t)512 << 20)

struct form_pairs;
/* In an unnamed file of the folder. memory 0: FORM_PAIRS_MEMORY. */
MUST_CHECK int form_pairs_open(struct form_pairs **out, const char *folder, size_t memory,
                               struct error *err);
void form_pairs_close(struct form_pairs *pairs); /* NULL allowed */
/* All rows, split by split; rows are numbered from 0 over all splits. is_first: of its split. */
MUST_CHECK int form_pairs_add(struct form_pairs *pairs, const struct form_row *row, bool is_first,
                              struct error *err);
/* Once, after the last row. E_CANCELLED when the flag (NULL allowed) is set. */
MUST_CHECK int form_pairs_find(struct form_pairs *pairs, const atomic_bool *cancel,
                               struct error *err);
bool form_pairs_has(const struct form_pairs *pairs, int64_t row);
int64_t form_pairs_n_candidates(const struct form_pairs *pairs);
/* By band, then hash. */
const struct form_crowd *form_pairs_crowded(const struct form_pairs *pairs, size_t *n);

#endif
