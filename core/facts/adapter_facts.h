/* What an adapter's files hold: its LoRA pairs with their norms, the layers they cover, names that
 * fit nothing, and what F10 expects. Readings, no verdicts. For stage 1, C3.2, C3.8 and the
 * artefacts pane. */
#ifndef CORE_FACTS_ADAPTER_FACTS_H
#define CORE_FACTS_ADAPTER_FACTS_H

#include "core/base/arena.h"
#include "core/facts/run_facts.h"
#include "core/facts/trainable.h"

/* One adapted module. Tensors are NULL where the file has none; all borrowed from the facts. */
struct lora_pair {
    const char *module;                 /* "model.layers.3.self_attn.q_proj", without PEFT's prefix */
    int64_t layer;                      /* NONE: not in a layer */
    const struct tensor *a, *b, *magnitude;     /* magnitude: DoRA's */
    int64_t rank, n_in, n_out;          /* NONE when the shapes do not say */
    double scale;                       /* alpha / r (or / sqrt r), with the patterns; NaN */
    double delta_norm;                  /* scale · ‖B·A‖; NaN when the values were not read */
    bool matches_base;                  /* its module is one of the base's; true when those are unknown */
};

struct adapter_facts {
    const struct artefact *artefact;
    const char *peft_type;              /* "LORA"; NULL: no adapter_config.json */
    const struct lora_pair *pairs; size_t n_pairs;
    const struct tensor *const *others; size_t n_others;    /* modules_to_save, prompt embeddings, … */
    size_t n_tensors, n_empty;          /* of shape [0] or without values */
    size_t n_unmatched; const char *first_unmatched;    /* pairs that fit no module of the base */
    size_t n_halves;                    /* pairs of which only A or only B is there */
    const char *first_half;             /* its module */
    bool is_wrapped_twice;              /* its names begin with PEFT's prefix twice */
    const char *wrapper;                /* a wrapper's word inside its names ("_orig_mod"), or NULL */
    struct module_names modules;        /* what matches_base was held against; n 0: not known */
    int64_t n_lora;                     /* values of lora_… tensors alone */
    int64_t n_values, n_expected;       /* trainable values found, and by F10; NONE */
    int64_t n_layers, n_covered;        /* of the base; NONE when its depth is not known */
    const uint8_t *layers;              /* n_layers marks: adapted modules in that layer, at most 255 */
};

/* Of one artefact of kind "adapter" (a file). false: it has no tensors that were read. In the arena. */
/* The path of the module that a tensor of an adapter belongs to, without PEFT's prefix; NULL: it is not
 * of a LoRA pair. */
const char *adapter_module_of(const char *tensor, struct arena *arena);
/* The dimensions of a shape ("[4096,16]"); their number, at most 4. */
size_t tensor_dimensions(const struct tensor *tensor, int64_t out[4]);

bool adapter_facts_read(const struct run_facts *facts, const struct artefact *adapter,
                        struct arena *arena, struct adapter_facts *out);

#endif
