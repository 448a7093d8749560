/* `flatline make healthcheck` (CHECKS.md 7.2): prompts to which the base and the tuned model answer
 * differently, and a script that asks both servers and says whether the adapter is loaded. */
#ifndef CORE_EXPORTS_HEALTHCHECK_H
#define CORE_EXPORTS_HEALTHCHECK_H

#include "core/exports/made_file.h"
#include "core/facts/run_facts.h"

#define HEALTHCHECK_PROMPTS 5

/* prompts.jsonl, healthcheck.sh, README.md. The prompts are those whose outputs differ most where
 * generations of both models were imported, else training rows that a base model would hardly answer so
 * (marked as not verified). E_NOTFOUND with what to import when there are neither; E_IO as made_file.h. */
MUST_CHECK int make_healthcheck(const struct run_facts *facts, const struct made_folder *folder,
                                struct error *err);

#endif
