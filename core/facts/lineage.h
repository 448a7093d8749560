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
    const char *name;                   /* file or record's name of it; "" when a record names none */
    const char *sha256;                 /* hex, may be a prefix of 6 or more digits; NULL */
    const char *base;                   /* name of the base model it states, or NULL */
    const char *quantisation;           /* "Q4_K_M", "bnb-4bit", or NULL */
    const char *dtype;                  /* or NULL */
    int64_t step;                       /* NONE */
    const struct artefact *artefact;    /* NULL: a record only, or one of a file that was not imported */
    bool is_alias;                      /* its name is that of a part ("ft") or a served name, no file's */
    bool is_record;                     /* a row or a setting says it; false: the file itself */
    int64_t source_id, line;            /* where that is said; line NONE */
};

enum lineage_link_state {
    LINK_SAME,                          /* same bytes */
    LINK_LIKELY,                        /* same step or name, hashes not on both sides */
    LINK_UNKNOWN,                       /* nothing to compare by */
    LINK_BROKEN
};

/* What told the two ends of a link apart, or joined them. */
enum lineage_by { BY_NOTHING, BY_HASH, BY_STEP, BY_FORM, BY_NAME };

struct lineage_link {
    size_t from, to;                    /* nodes */
    enum lineage_link_state state;
    enum lineage_by by;
    const char *why;                    /* "sha256 77d01b… is on no evaluation row", one clause */
};

struct lineage {
    const struct lineage_node *nodes; size_t n_nodes;   /* in the order of roles, then of files */
    const struct lineage_link *links; size_t n_links;
};

/* Made once for the facts; never NULL unless memory ran out (run_facts_status). Links go from each
 * evaluated node to each served one, from the trained file that a record means to that record, and from
 * the base to what names it as its base. */
const struct lineage *facts_lineage(const struct run_facts *facts);

/* Same base model by name: case and owner aside, without -bnb-4bit, -unsloth-bnb-4bit, -GPTQ, -AWQ,
 * -GGUF and the like; a local path against a hub id by its last component. 1, 0; -1: not to be told
 * (one is empty, a generic folder or a shell's variable; one is an Ollama tag and only the tuning
 * differs, which tags leave out). */
int base_names_agree(const char *a, const char *b);
/* One is the instruction-tuned model of the family whose plain base the other is ("Llama-3.1-8B" and
 * "Llama-3.1-8B-Instruct"): an adapter of one does not belong on the other. */
bool base_names_differ_in_tuning(const char *a, const char *b);

/* A file of weights, not a list of names or norms that stands for one. */
bool artefact_is_weights(const struct artefact *artefact);
/* What a file in the same folder as `path` states under that raw name, nulls left out; NULL: nothing. */
const struct setting *facts_setting_beside(const struct run_facts *facts, const char *path,
                                           enum side side, const char *raw_name);

/* The hashes name the same content: whole or by a prefix of at least 6 digits, case and "sha256:" aside.
 * 1, 0; -1: one is not stated or too short to tell. */
int lineage_hashes_agree(const char *a, const char *b);
/* What a name of a weight file, or of how it was made, says of its kind ("desk-q4_k_m.gguf",
 * "adapter+bf16 base", "merged-16bit"); NULL gives FORM_UNKNOWN. */
enum lineage_form lineage_form_of(const char *name);
const char *lineage_form_name(enum lineage_form form);      /* "a GGUF file" */
const char *lineage_role_name(enum lineage_role role);      /* "evaluated" */

/* The link from one role to another that matters most: broken before same before likely before unknown;
 * NULL: none. */
const struct lineage_link *lineage_link_of(const struct lineage *lineage, enum lineage_role from,
                                           enum lineage_role to);

#endif
