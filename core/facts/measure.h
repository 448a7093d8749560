/* Values and hashes of weight files on request: what an import leaves out because the file is large
 * (norms, zeros, LoRA products, SHA-256). Asked for by the answer "measure" = "all"
 * (`:set measure=all`, --set measure=all), done before the checks, streamed, kept in the store with
 * the file's tensors. */
#ifndef CORE_FACTS_MEASURE_H
#define CORE_FACTS_MEASURE_H

#include "core/facts/audit.h"
#include "core/facts/run_facts.h"

/* Weight files of the run whose values or hash are not known although the file is there. */
struct unmeasured {
    size_t n;
    int64_t bytes;                      /* of all of them */
    const struct artefact *first;       /* NULL: none */
};
void facts_unmeasured(const struct run_facts *facts, struct unmeasured *out);

/* Measures them when that was asked for. *did: the store holds something new, the facts are to be
 * opened anew. hooks->cancel stops between two pieces: what is done is kept, and no error. A file that
 * cannot be read is left as it is. hooks may be NULL. */
MUST_CHECK int measures_refresh(const struct run_facts *facts, struct store *store,
                                const struct audit_hooks *hooks, bool *did, struct error *err);

#endif
