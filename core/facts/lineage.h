/* What was trained, evaluated and shipped, and how they hang together (FORMATS.md B0 rule 8):
 * joined by SHA-256, by step and by base name. The broken link is named. For C1.2, C1.5, C1.6 and
 * the artefacts pane. Readings, no verdicts. */
#ifndef CORE_FACTS_LINEAGE_H
#define CORE_FACTS_LINEAGE_H

#include "core/facts/run_facts.h"

enum lineage_role { LINEAGE_BASE, LINEAGE_TRAINED, LINEAGE_EVALUATED, LINEAGE_MERGED, LINEAGE_SERVED };
#define LINEAGE_ROLES 5

/* The kind of a weight file, as far as its name, its tensors or a record say. */
enum lineage_form { FORM_UNKNOWN, FORM_ADAPTER, FORM_FULL, FORM_MERGED, FORM_QUANTISED, FORM_GGUF };

/* A file, or what a record says of one that is not here. */
struct lineage_node {
    enum lineage_role role;
    enum lineage_form form;
    const char *name;                   /* file or record's name of it */
    const char *sha256;                 /* hex, may be a prefix of 6 or more digits; NULL */
    const char *base;                   /* name of the base model it states, or NULL */
    const char *quantisation;           /* "Q4_K_M", "bnb-4bit", or NULL */
    const char *dtype;                  /* or NULL */
    int64_t step;                       /* NONE */
    const struct artefact *artefact;    /* NULL: a record only */
    int64_t source_id, line;            /* where that is said; line NONE */
};

enum lineage_link_state {
    LINK_SAME,                          /* same bytes */
    LINK_LIKELY,                        /* same step or name, hashes not on both sides */
    LINK_UNKNOWN,                       /* nothing to compare by */
    LINK_BROKEN
};

struct lineage_link {
    size_t from, to;                    /* nodes */
    enum lineage_link_state state;
    const char *why;                    /* "sha256 77d01b… is on no evaluation row", one clause */
};

struct lineage {
    const struct lineage_node *nodes; size_t n_nodes;   /* in the order of roles, then of files */
    const struct lineage_link *links; size_t n_links;
};

/* Made once for the facts; never NULL unless memory ran out (run_facts_status). */
const struct lineage *facts_lineage(const struct run_facts *facts);

/* Same base model by name: case and owner aside, without -bnb-4bit, -unsloth-bnb-4bit, -GPTQ, -AWQ,
 * -GGUF and the like; a local path against a hub id by its last component. 1, 0; -1: not to be told
 * (one is empty or a generic folder). */
int base_names_agree(const char *a, const char *b);

#endif
