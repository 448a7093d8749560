/* GPU memory by phase: formula F20 of CHECKS.md. All sizes in bytes. */
#ifndef CORE_MEMORY_MEMORY_MODEL_H
#define CORE_MEMORY_MEMORY_MODEL_H

#include <stdbool.h>

enum weight_kind { WEIGHTS_16BIT, WEIGHTS_32BIT, WEIGHTS_NF4_DOUBLE, WEIGHTS_NF4, WEIGHTS_INT8 };

struct memory_shape {           /* the model; 0: not known */
    double n_parameters, n_trainable, n_linear;
    double layers, hidden, kv_hidden, feed_forward, vocabulary;
    double heads;               /* attention heads: only asked without flash attention */
    bool is_classic_mlp;
};

struct memory_settings {
    double micro_batch, sequence;       /* tokens per row after padding */
    bool is_pair;                       /* preference pairs: twice the tokens */
    enum weight_kind weights;
    double gradient_bytes, optimiser_bytes, master_bytes;   /* per trainable parameter */
    bool checkpointing, is_offloaded, flash_attention;
    double logits_factor;               /* c of F20: 8, 16 or 0; negative: no logits are built */
    double accumulation;
    double eval_batch, n_eval, eval_keeps_predictions;      /* 1 when predictions pile up */
    bool eval_generates;                /* a KV cache in place of logits */
};

struct memory_parts {
    double weights, gradients, optimiser, activations, logits, predictions, kv_cache;
    double total;
};

enum memory_phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_STEP, PHASE_EVALUATION, N_PHASES };

struct memory_estimate {
    struct memory_parts phases[N_PHASES];
    enum memory_phase peak;     /* of training: the evaluation is kept apart */
    double peak_bytes;
    bool is_known;              /* false when a needed number is missing */
};

void memory_estimate(const struct memory_shape *shape, const struct memory_settings *settings,
                     struct memory_estimate *out);
/* The largest sequence whose training peak, times `scale`, stays within `limit` bytes; 0: none, or
 * not known. */
double memory_longest_sequence(const struct memory_shape *shape,
                               const struct memory_settings *settings, double scale, double limit);
/* Parameters of the model from its shape (SwiGLU, separate head), and those of its quantised
 * linears; 0 when a number is missing. For configs that do not state them. */
double memory_count_parameters(const struct memory_shape *shape, bool ties_embeddings);
double memory_count_linear(const struct memory_shape *shape);
/* LoRA on all linears of the shape. */
double memory_count_lora(const struct memory_shape *shape, double rank);
const char *memory_phase_name(enum memory_phase phase);
/* F10: LoRA parameters of one matched linear. */
double lora_parameters(double rank, double in, double out, bool is_dora);

#endif
