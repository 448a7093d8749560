/* What kind of training a run was (CHECKS.md 2.1), decided in the order of that table. */
#ifndef CORE_FACTS_RUN_KIND_H
#define CORE_FACTS_RUN_KIND_H

#include "core/facts/run_facts.h"

/* Fills run.kind, kind_is_assumed, run.marks; planned_epochs has to be known. */
void run_kind_decide(struct run_facts *facts);
/* "LLaMA-Factory", "TRL 1.16.0", "transformers 5.24.0" …, or NULL; in the arena. */
const char *run_framework(const struct run_facts *facts, struct arena *arena);

#endif
