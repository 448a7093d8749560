/* `flatline memory`: the estimate by phase against the GPU, and the ladder with the first rung that
 * fits, as text. Says what is missing where a number is not known. */
#ifndef CORE_EXPORTS_MEMORY_REPORT_H
#define CORE_EXPORTS_MEMORY_REPORT_H

#include "core/base/str.h"
#include "core/facts/run_facts.h"

MUST_CHECK int memory_report(struct buf *out, const struct run_facts *facts, struct error *err);

#endif
