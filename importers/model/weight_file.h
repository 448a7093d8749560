/* Weight files as artefacts with tensors: safetensors and torch's zip of a state dict. */
#ifndef IMPORTERS_MODEL_WEIGHT_FILE_H
#define IMPORTERS_MODEL_WEIGHT_FILE_H

#include "importers/importer.h"

/* Values are measured and the file is hashed up to this size. */
#define WEIGHT_VALUES_BYTES ((int64_t)256 << 20)
/* Products that the norms of LoRA pairs may cost: about half a second. */
#define WEIGHT_PRODUCTS ((int64_t)1000000000)

/* One artefact of `kind` for the file, without tensors; size and hash filled. */
MUST_CHECK int weight_artefact(struct import *import, const char *kind, bool with_hash, int64_t *id,
                               struct error *err);
/* The artefact and its tensors of any format (core/read/weights.h); values (norms) are read when the
 * file has at most `values_up_to` bytes. */
MUST_CHECK int weight_tensors(struct import *import, const char *kind, int64_t values_up_to,
                              struct error *err);
/* A tensor of which only the name is known, and maybe the norm (NaN: not). */
MUST_CHECK int weight_name(struct import *import, int64_t artefact, struct str name, double norm,
                           struct error *err);

#endif
