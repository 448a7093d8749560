/* Which kinds of data a run has, and the sentence for each that it lacks (need_hint of
 * registry.h). */
#ifndef CORE_CHECKS_NEEDS_H
#define CORE_CHECKS_NEEDS_H

#include "core/checks/registry.h"

/* The needs that are met, as bits of enum need. */
unsigned needs_met(const struct run_facts *facts);

#endif
