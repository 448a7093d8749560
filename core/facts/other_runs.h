/* Files in a run's folder that tell of another run: a log that several runs wrote to, event files
 * of attempts that were started anew. What they say must not be said of this run. */
#ifndef CORE_FACTS_OTHER_RUNS_H
#define CORE_FACTS_OTHER_RUNS_H

#include "core/facts/facts_cache.h"

/* Decides it, once, after the settings were indexed and before any curve is asked for. Reads points
 * only where several files may tell of one curve. */
MUST_CHECK int other_runs_find(struct run_facts *facts, struct error *err);
/* The source tells of another run. */
bool other_runs_has(const struct run_facts *facts, int64_t source_id);
/* Its loss differs from the run's on the steps that both have: it does not go on where the run's
 * own file ends, though it may be an earlier or later process of the same run. */
bool other_runs_disagrees(const struct run_facts *facts, int64_t source_id);

#endif
