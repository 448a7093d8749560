/* GPU memory by phase (CHECKS.md F20): weights, gradients, optimiser, activations, logits. The
 * peak is the maximum over phases, not the sum, since what one phase holds another has freed. */
#include "core/memory/memory_model.h"

#include <math.h>
#include <stddef.h>

static double tokens(const struct memory_settings *s)
{
    return s->micro_batch * s->sequence * (s->is_pair ? 2.0 : 1.0);
}

static double weight_bytes(const struct memory_shape *m, const struct memory_settings *s)
{
    double rest = 2.0 * (m->n_parameters - m->n_linear);

    switch (s->weights) {
    case WEIGHTS_16BIT:
        return 2.0 * m->n_parameters;
    case WEIGHTS_32BIT:
        return 4.0 * m->n_parameters;
    case WEIGHTS_NF4_DOUBLE:
        return 0.516 * m->n_linear + rest;
    case WEIGHTS_NF4:
        return 0.5625 * m->n_linear + rest;
    case WEIGHTS_INT8:
        return m->n_linear + rest;
    }
    return 2.0 * m->n_parameters;
}

static double kv_width(const struct memory_shape *m)
{
    return m->kv_hidden > 0.0 ? m->kv_hidden : m->hidden;
}

/* One layer's activations for one token. */
static double layer_bytes(const struct memory_shape *m, const struct memory_settings *s)
{
    double scores = s->flash_attention ? 0.0 : 5.0 * m->heads * s->sequence;

    if (m->is_classic_mlp)
        return 34.0 * m->hidden + scores;
    return 2.0 * (6.0 * m->hidden + 2.0 * kv_width(m) + 4.0 * m->feed_forward) + scores;
}

/* What the backward pass needs of the forward pass. */
static double kept_bytes(const struct memory_shape *m, const struct memory_settings *s)
{
    if (s->is_offloaded)
        return 0.0;
    double per_token = s->checkpointing ? 2.0 * m->hidden : layer_bytes(m, s);
    return m->layers * per_token * tokens(s);
}

static double logit_bytes(double n_tokens, double vocabulary, double factor)
{
    return factor < 0.0 ? 0.0 : n_tokens * vocabulary * (2.0 + factor);
}

static bool is_complete(const struct memory_shape *m, const struct memory_settings *s)
{
    bool is_quantised =
        s->weights == WEIGHTS_NF4_DOUBLE || s->weights == WEIGHTS_NF4 || s->weights == WEIGHTS_INT8;

    return m->n_parameters > 0.0 && m->n_trainable > 0.0 && m->layers > 0.0 && m->hidden > 0.0 &&
           m->vocabulary > 0.0 && (m->is_classic_mlp || m->feed_forward > 0.0) &&
           (!is_quantised || m->n_linear > 0.0) && s->micro_batch > 0.0 && s->sequence > 0.0;
}

static void add_up(struct memory_parts *parts)
{
    parts->total = parts->weights + parts->gradients + parts->optimiser + parts->activations +
                   parts->logits + parts->predictions + parts->kv_cache;
}

static void evaluation(const struct memory_shape *m, const struct memory_settings *s,
                       struct memory_parts *parts)
{
    double n_tokens = s->eval_batch * s->sequence;

    if (s->eval_generates)
        parts->kv_cache = 4.0 * m->layers * kv_width(m) * n_tokens;
    else /* no gradient: half of the fp32 part */
        parts->logits =
            logit_bytes(n_tokens, m->vocabulary,
                        s->logits_factor > 0.0 ? s->logits_factor / 2.0 : s->logits_factor);
    parts->predictions = s->eval_keeps_predictions * s->n_eval * s->sequence * m->vocabulary * 4.0;
}

void memory_estimate(const struct memory_shape *shape, const struct memory_settings *settings,
                     struct memory_estimate *out)
{
    *out = (struct memory_estimate){.is_known = is_complete(shape, settings)};
    if (!out->is_known)
        return;
    struct memory_parts held = {.weights = weight_bytes(shape, settings),
                                .optimiser = (settings->optimiser_bytes + settings->master_bytes) *
                                             shape->n_trainable};
    double gradients = settings->gradient_bytes * shape->n_trainable;
    for (size_t i = 0; i < N_PHASES; i++)
        out->phases[i] = held;

    struct memory_parts *forward = &out->phases[PHASE_FORWARD];
    forward->activations = kept_bytes(shape, settings);
    forward->logits = logit_bytes(tokens(settings), shape->vocabulary, settings->logits_factor);
    if (settings->accumulation > 1.0)
        forward->gradients = gradients;
    struct memory_parts *backward = &out->phases[PHASE_BACKWARD];
    backward->gradients = gradients;
    backward->activations = layer_bytes(shape, settings) * tokens(settings);
    out->phases[PHASE_STEP].gradients = gradients;
    evaluation(shape, settings, &out->phases[PHASE_EVALUATION]);

    for (int i = 0; i < N_PHASES; i++) {
        add_up(&out->phases[i]);
        if (i != PHASE_EVALUATION && out->phases[i].total > out->peak_bytes) {
            out->peak = (enum memory_phase)i;
            out->peak_bytes = out->phases[i].total;
        }
    }
}

double memory_longest_sequence(const struct memory_shape *shape,
                               const struct memory_settings *settings, double scale, double limit)
{
    struct memory_settings trial = *settings;
    struct memory_estimate estimate;
    double fits = 0.0, breaks = 1048576.0;

    while (breaks - fits > 1.0) {
        trial.sequence = floor((fits + breaks) / 2.0);
        memory_estimate(shape, &trial, &estimate);
        if (!estimate.is_known)
            return 0.0;
        if (scale * estimate.peak_bytes <= limit)
            fits = trial.sequence;
        else
            breaks = trial.sequence;
    }
    return fits;
}

double memory_count_linear(const struct memory_shape *m)
{
    double attention = 2.0 * m->hidden * m->hidden + 2.0 * m->hidden * kv_width(m);

    if (m->layers <= 0.0 || m->hidden <= 0.0)
        return 0.0;
    if (m->feed_forward <= 0.0)
        return 0.0;
    return m->layers * (attention + (m->is_classic_mlp ? 2.0 : 3.0) * m->hidden * m->feed_forward);
}

double memory_count_parameters(const struct memory_shape *m, bool ties_embeddings)
{
    double linear = memory_count_linear(m);

    if (linear <= 0.0 || m->vocabulary <= 0.0)
        return 0.0;
    double norms = (2.0 * m->layers + 1.0) * m->hidden;
    return linear + norms + (ties_embeddings ? 1.0 : 2.0) * m->vocabulary * m->hidden;
}

double memory_count_lora(const struct memory_shape *m, double rank)
{
    double h = m->hidden, kv = kv_width(m), ff = m->feed_forward;
    double attention =
        2.0 * lora_parameters(rank, h, h, false) + 2.0 * lora_parameters(rank, h, kv, false);
    double mlp = lora_parameters(rank, ff, h, false) +
                 (m->is_classic_mlp ? 1.0 : 2.0) * lora_parameters(rank, h, ff, false);

    return m->layers * (attention + mlp);
}

double lora_parameters(double rank, double in, double out, bool is_dora)
{
    return rank * (in + out) + (is_dora ? out : 0.0);
}

const char *memory_phase_name(enum memory_phase phase)
{
    switch (phase) {
    case PHASE_FORWARD:
        return "end of forward";
    case PHASE_BACKWARD:
        return "end of backward";
    case PHASE_STEP:
        return "optimiser step";
    case PHASE_EVALUATION:
        return "evaluation";
    case N_PHASES:
        break;
    }
    return "";
}
