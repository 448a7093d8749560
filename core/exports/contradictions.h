/* `flatline make contradictions` (CHECKS.md 7.4): twenty inputs that stand in several rows, each with its
 * targets, where they stand and what differs, contradictory ones first; for reading and for programs. */
#ifndef CORE_EXPORTS_CONTRADICTIONS_H
#define CORE_EXPORTS_CONTRADICTIONS_H

#include "core/exports/made_file.h"
#include "core/facts/run_facts.h"

/* E_NOTFOUND with what to import or check first; E_IO as made_file.h. */
MUST_CHECK int make_contradictions(const struct run_facts *facts, const struct made_folder *folder,
                                   struct error *err);

#endif
