/* The ladder: each rung is applied to a copy of the settings, on top of the rungs before it, until
 * the estimated peak fits. The order is the order of prices (CHECKS.md section 6). */
#include "core/memory/oom_ladder.h"

#include <math.h>
#include <stdio.h>

static const double ROOM = 0.90; /* of the capacity */
static const double GIVE = 0.25; /* estimate and measurement agree within this share */

struct plan {
    struct memory_shape shape;
    struct memory_settings settings;
};

struct step {
    const char *id, *price;
    const char *why_not; /* what is so where it cannot be applied */
    const char *setting[3]; /* by enum ladder_dialect; NULL: as transformers */
    /* Applies the rung; false: already on, or it cannot be applied. Writes the change. */
    bool (*apply)(struct plan *plan, const struct ladder_facts *facts, char text[160]);
};

static bool fits(const struct plan *plan, const struct ladder_facts *facts, double scale)
{
    struct memory_estimate estimate;

    memory_estimate(&plan->shape, &plan->settings, &estimate);
    return estimate.is_known && facts->capacity > 0.0 &&
           scale * estimate.peak_bytes <= ROOM * facts->capacity;
}

static double measured_scale(const struct plan *plan, const struct ladder_facts *facts)
{
    struct memory_estimate estimate;

    memory_estimate(&plan->shape, &plan->settings, &estimate);
    if (!estimate.is_known || facts->measured <= 0.0 || facts->capacity <= 0.0 ||
        fabs(estimate.peak_bytes - facts->measured) <= GIVE * facts->capacity)
        return 1.0;
    return facts->measured / estimate.peak_bytes;
}

/* Rung 1 halves until it fits: with the shape known at the first that does, else down to 1. */
static bool smaller_batch(struct plan *plan, const struct ladder_facts *facts, char text[160])
{
    struct memory_settings *s = &plan->settings;
    double from = s->micro_batch, accumulation = s->accumulation > 0.0 ? s->accumulation : 1.0;

    if (from <= 0.0) {
        (void)snprintf(text, 160, "micro batch down, accumulation up by the same factor");
        return true;
    }
    if (!(from > 1.0) || isinf(from)) /* nothing to halve, or no end of halving */
        return false;
    double scale = measured_scale(plan, facts);
    while (s->micro_batch > 1.0) {
        s->micro_batch = floor(s->micro_batch / 2.0);
        if (fits(plan, facts, scale))
            break;
    }
    s->accumulation = ceil(accumulation * from / s->micro_batch);
    (void)snprintf(text, 160, "micro batch %.0f -> %.0f, accumulation %.0f -> %.0f", from,
                   s->micro_batch, accumulation, s->accumulation);
    return true;
}

static bool checkpoint(struct plan *plan, const struct ladder_facts *facts, char text[160])
{
    (void)facts;
    if (plan->settings.checkpointing)
        return false;
    plan->settings.checkpointing = true;
    (void)snprintf(text, 160, "gradient checkpointing on");
    return true;
}

static bool small_optimiser(struct plan *plan, const struct ladder_facts *facts, char text[160])
{
    (void)facts;
    if (plan->settings.optimiser_bytes <= 2.0)
        return false;
    plan->settings.optimiser_bytes = 2.0;
    (void)snprintf(text, 160, "8-bit AdamW");
    return true;
}

static bool shorter_rows(struct plan *plan, const struct ladder_facts *facts, char text[160])
{
    double limit = 64.0 * ceil(facts->p99 / 64.0), from = plan->settings.sequence;

    if (facts->p99 <= 0.0) {
        if (from > 0.0 && plan->shape.n_parameters > 0.0)
            return false;
        (void)snprintf(text, 160, "maximum length down to the 99th percentile of the row lengths");
        return true;
    }
    if ((from > 0.0 && limit >= from) || facts->cut_share > 0.01)
        return false;
    plan->settings.sequence = limit;
    (void)snprintf(text, 160, "maximum length %.0f -> %.0f, which cuts %.2g %% of the rows", from,
                   limit, 100.0 * facts->cut_share);
    return true;
}

static bool chunked_loss(struct plan *plan, const struct ladder_facts *facts, char text[160])
{
    (void)facts;
    if (plan->settings.logits_factor <= 0.0)
        return false;
    plan->settings.logits_factor = 0.0;
    (void)snprintf(text, 160, "chunked or fused cross-entropy");
    return true;
}

static bool is_adapter(const struct plan *plan, const struct ladder_facts *facts)
{
    if (facts->is_adapter || plan->shape.n_trainable <= 0.0)
        return facts->is_adapter;
    if (plan->shape.n_parameters > 0.0)
        return plan->shape.n_trainable < 0.5 * plan->shape.n_parameters;
    /* What is trained takes 18 bytes each at most: the memory is filled by something frozen. */
    return 18.0 * plan->shape.n_trainable < 0.05 * facts->measured;
}

static bool train_adapter(struct plan *plan, const struct ladder_facts *facts, char text[160])
{
    if (is_adapter(plan, facts))
        return false;
    plan->shape.n_trainable = memory_count_lora(&plan->shape, 16.0);
    plan->settings.gradient_bytes = 4.0;
    plan->settings.optimiser_bytes = fmin(plan->settings.optimiser_bytes, 8.0);
    plan->settings.master_bytes = 4.0;
    if (plan->settings.weights == WEIGHTS_32BIT)
        plan->settings.weights = WEIGHTS_16BIT;
    (void)snprintf(text, 160, "LoRA of rank 16 on all linear layers");
    return true;
}

static bool quantise(struct plan *plan, const struct ladder_facts *facts, char text[160])
{
    (void)facts;
    if (plan->settings.weights == WEIGHTS_NF4_DOUBLE || plan->settings.weights == WEIGHTS_NF4)
        return false;
    if (plan->shape.n_linear <= 0.0)
        plan->shape.n_linear = memory_count_linear(&plan->shape);
    plan->settings.weights = WEIGHTS_NF4_DOUBLE;
    (void)snprintf(text, 160, "QLoRA: the base in 4 bit (nf4, double quantisation)");
    return true;
}

static bool shard(struct plan *plan, const struct ladder_facts *facts, char text[160])
{
    (void)facts;
    plan->shape.n_parameters = 0.0; /* how much depends on the number of GPUs */
    (void)snprintf(text, 160, "offload or shard the states over more GPUs");
    return true;
}

static const struct step STEPS[] = {
    {"1",
     "free; a little more time per token",
     "the micro batch is 1",
     {"per_device_train_batch_size, gradient_accumulation_steps", NULL,
      "micro_batch_size, gradient_accumulation_steps"},
     smaller_batch},
    {"2",
     "20-30 % slower",
     "gradient checkpointing is on",
     {"gradient_checkpointing=True, gradient_checkpointing_kwargs={\"use_reentrant\": False}",
      "disable_gradient_checkpointing: false", "gradient_checkpointing: true"},
     checkpoint},
    {"3",
     "about 5 % slower",
     "the optimiser keeps no more than 2 bytes a parameter",
     {"optim=\"adamw_bnb_8bit\"", "optim: adamw_bnb_8bit", "optimizer: adamw_bnb_8bit"},
     small_optimiser},
    {"4",
     "the tails of the longest rows",
     "no shorter limit is known that cuts few rows",
     {"max_length", "cutoff_len", "sequence_len"},
     shorter_rows},
    {"4b",
     "about 2 % slower",
     "the cross-entropy is chunked or fused",
     {"use_liger_kernel=True, or TRL's loss_type=\"chunked_nll\"", "enable_liger_kernel: true",
      "cut_cross_entropy: true"},
     chunked_loss},
    {"5",
     "quality close to a full fine-tune",
     "an adapter is trained",
     {"peft_config=LoraConfig(r=16, target_modules=\"all-linear\")",
      "finetuning_type: lora, lora_target: all", "adapter: lora, lora_target_linear: true"},
     train_adapter},
    {"6",
     "slower, and the base loses precision",
     "the base is in 4 bit",
     {"load_in_4bit=True, bnb_4bit_quant_type=\"nf4\", bnb_4bit_use_double_quant=True",
      "quantization_bit: 4", "adapter: qlora, load_in_4bit: true"},
     quantise},
    {"7",
     "bandwidth and host memory",
     NULL,
     {"DeepSpeed ZeRO-2/3, FSDP or activation offloading", NULL, NULL},
     shard},
};

static double peak_of(const struct plan *plan, double scale)
{
    struct memory_estimate estimate;

    memory_estimate(&plan->shape, &plan->settings, &estimate);
    return estimate.is_known ? scale * estimate.peak_bytes : 0.0;
}

static void climb(const struct step *step, const struct plan *start, struct plan *so_far,
                  const struct ladder_facts *facts, double scale, struct rung *rung)
{
    char ignored[160];
    struct plan alone = *start;

    rung->is_taken = !step->apply(so_far, facts, rung->change_text);
    rung->why_not = rung->is_taken ? step->why_not : NULL;
    if (rung->is_taken)
        return;
    rung->estimate = peak_of(so_far, scale);
    if (step->apply(&alone, facts, ignored))
        rung->alone = peak_of(&alone, scale);
    rung->fits =
        rung->estimate > 0.0 && facts->capacity > 0.0 && rung->estimate <= ROOM * facts->capacity;
}

void oom_ladder(const struct memory_shape *shape, const struct memory_settings *settings,
                const struct ladder_facts *facts, enum ladder_dialect dialect, struct ladder *out)
{
    const struct plan start = {*shape, *settings};
    struct plan so_far = start;

    *out = (struct ladder){.proposal = -1, .scale = measured_scale(&start, facts)};
    out->before = peak_of(&start, out->scale);
    for (size_t i = 0; i < sizeof STEPS / sizeof *STEPS; i++) {
        struct rung *rung = &out->rungs[out->n++];
        rung->id = STEPS[i].id;
        rung->price = STEPS[i].price;
        rung->setting = STEPS[i].setting[dialect] ? STEPS[i].setting[dialect]
                                                  : STEPS[i].setting[DIALECT_TRANSFORMERS];
        rung->change = rung->change_text;
        climb(&STEPS[i], &start, &so_far, facts, out->scale, rung);
        if (rung->fits && out->proposal < 0) {
            out->proposal = (ptrdiff_t)i;
            out->proposal_is_single = rung->alone > 0.0 && rung->alone <= ROOM * facts->capacity;
        }
    }
}
