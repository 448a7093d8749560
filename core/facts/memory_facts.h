/* What a run says about its memory: the numbers that formula F20 asks for, from the model's
 * config, the settings, the log and the row lengths. */
#ifndef CORE_FACTS_MEMORY_FACTS_H
#define CORE_FACTS_MEMORY_FACTS_H

#include "core/facts/run_facts.h"
#include "core/memory/oom_ladder.h"

struct memory_facts {
    struct memory_shape shape;
    struct memory_settings settings;
    struct ladder_facts ladder;     /* capacity, p99, cut_share; measured is the caller's */
    enum ladder_dialect dialect;
    double max_length;              /* the limit as set; 0: not known */
};

/* Numbers that are not known stay 0; memory_estimate then says so. */
void memory_facts_read(const struct run_facts *facts, struct memory_facts *out);
/* LLaMA-Factory, axolotl, or transformers for all others. */
enum ladder_dialect facts_dialect(const struct run_facts *facts);

#endif
