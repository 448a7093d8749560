/* tokenizer.json without its vocabulary in memory: how many entries, the highest id, the added
 * tokens. */
#ifndef IMPORTERS_MODEL_VOCAB_SCAN_H
#define IMPORTERS_MODEL_VOCAB_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/str.h"

struct source_file;

struct vocab_facts {
    int64_t n_entries; /* of model.vocab; NONE when there is none */
    int64_t max_id;    /* of model.vocab; NONE */
    bool is_cut;       /* the document does not end */
};

/* `added` gets the text of each object of added_tokens. Bounded memory, one pass. */
MUST_CHECK int vocab_scan(struct source_file *file, struct vocab_facts *out,
                          int (*added)(void *ctx, struct str object, struct error *err), void *ctx,
                          struct error *err);

#endif
