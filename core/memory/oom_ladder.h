/* The ladder of CHECKS.md section 6: what to change, at what price, in order. */
#ifndef CORE_MEMORY_OOM_LADDER_H
#define CORE_MEMORY_OOM_LADDER_H

#include <stddef.h>

#include "core/memory/memory_model.h"

#define LADDER_MAX 12

struct rung {
    const char *id;             /* "1", "2", "4b" */
    const char *change;         /* "micro batch 4 -> 1, accumulation 4 -> 16" */
    const char *setting;        /* how to write it */
    const char *price;
    double estimate;            /* peak after this rung, all earlier ones applied; 0 not known */
    double alone;               /* peak with this rung alone; 0 not known */
    bool is_taken;              /* already on, or nothing to gain: skipped */
    bool fits;                  /* estimate <= 0.90 capacity */
    const char *why_not;        /* when is_taken: what is so already; else NULL */
    char change_text[160];      /* where `change` lives: a ladder is not copied */
};

/* What is known beside the model. */
struct ladder_facts {
    double capacity;            /* bytes of the GPU; 0: not known */
    double measured;            /* allocated + asked of the OOM text; 0: none */
    double p99, cut_share;      /* 99th percentile of row lengths (0: unknown), rows above it */
    bool is_adapter;            /* LoRA or the like is known to be on; false: not known */
};

struct ladder {
    struct rung rungs[LADDER_MAX];
    size_t n;
    ptrdiff_t proposal;         /* the single rung that is enough, or the last of the prefix; -1 */
    bool proposal_is_single;
    double scale;               /* measured / estimated, applied to all estimates; 1 when not */
    double before;              /* scaled peak at the settings as they are; 0 not known */
};

/* How a framework spells the settings. */
enum ladder_dialect { DIALECT_TRANSFORMERS, DIALECT_LLAMAFACTORY, DIALECT_AXOLOTL };

/* The rungs 1 to 7 in order, each with its estimate where the model's shape is known. Rungs 0 and
 * 0e (memory held, evaluation) are checks of their own and not in here. */
void oom_ladder(const struct memory_shape *shape, const struct memory_settings *settings,
                const struct ladder_facts *facts, enum ladder_dialect dialect,
                struct ladder *out);

#endif
