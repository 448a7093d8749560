/* What the name of a file or folder says of the checkpoint in it: which step, which epoch. Every
 * framework has its own spelling:
 *
 *     checkpoint-200              transformers and what is built on it; this one is certain
 *     checkpoint_200 ckpt-200     others
 *     epoch=1-step=200.ckpt       Lightning (any metric may stand between)
 *     step_200 step-000200        accelerate's scripts, litgpt
 *     global_step200 iter_0000200 DeepSpeed, Megatron and NeMo
 *     epoch_0                     torchtune: the step is not said
 *
 * Reads names only, no file. */
#ifndef CORE_FACTS_CHECKPOINT_NAME_H
#define CORE_FACTS_CHECKPOINT_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

struct checkpoint_name {
    int64_t step;    /* NONE: the name does not say it */
    int64_t epoch;   /* counted from 0, as the name has it; NONE */
    bool is_certain; /* checkpoint-N: else weights have to lie there too */
};

/* One component of a path. False: not the name of a checkpoint. */
bool checkpoint_name_read(struct str component, struct checkpoint_name *out);
/* The outermost component of a checkpoint's name in `path` behind its first `below` bytes; *end: the
 * bytes of the path up to and with it. */
bool checkpoint_name_find(const char *path, size_t below, size_t *end, struct checkpoint_name *out);
/* Does this file hold weights or the state of an optimizer, by its name? */
bool checkpoint_name_is_weights(const char *name);

#endif
