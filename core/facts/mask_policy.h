/* Which trainer's mask rules hold for a run, chosen from its files by evidence (MASKS.md, "Which
 * policy"), and with which settings. */
#ifndef CORE_FACTS_MASK_POLICY_H
#define CORE_FACTS_MASK_POLICY_H

#include "core/facts/run_facts.h"
#include "core/text/labels.h"

struct mask_policy {
    bool is_known;              /* there is a policy; else `missing` says what to import */
    struct label_policy policy;
    const char *framework;      /* "TRL 1.16.0", "LLaMA-Factory" */
    const char *because;        /* what in the files decided: "trl 1.16.0 in pip_freeze.txt" */
    const char *assumption;     /* NULL: certain; else what is assumed ("TRL 1.15 or later") */
    /* Assumed too, but of no weight while no row is longer than the limit. */
    const char *length_assumption;
    /* Of the version alone: of no weight while `other` gives the same labels. */
    const char *version_assumption;
    /* A second rule that the files do not rule out and that may give other labels. */
    bool has_other;
    struct label_policy other;
    const char *other_assumption;
    const char *missing;        /* what to import to know, or NULL */
    /* What the rows are read with. NULL: not there. Paths. */
    const char *tokenizer_path, *template_path;
    const struct source *tokenizer_source, *template_source;
};

/* Texts live in the arena. */
void mask_policy_choose(const struct run_facts *facts, struct arena *arena,
                        struct mask_policy *out);

#endif
