/* The numbers of F20 as a run states them. Where a run is silent the libraries' defaults stand
 * (evaluation batch 8, AdamW with fp32 states); what has no default stays unknown. */
#include "core/facts/memory_facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/onset.h"
#include "core/stats/robust.h"

#define MOST 1e15 /* of anything that is counted here: beyond it a file is damaged, not large */

/* The number when it can be a count or a size; an infinite one would never be halved to 1. */
static bool is_count(const struct setting *setting, double *out)
{
    double value;

    if (!setting_number(setting, &value) || !(value >= 0.0 && value <= MOST))
        return false;
    *out = value;
    return true;
}

/* A number of config.json; multimodal models keep the language model's below text_config. */
static double model_number(const struct run_facts *facts, const char *const *names)
{
    for (size_t i = 0; names[i]; i++) {
        char nested[64];
        double value = 0.0;
        if (is_count(facts_setting_on(facts, SIDE_MODEL, names[i]), &value))
            return value;
        (void)snprintf(nested, sizeof nested, "text_config.%s", names[i]);
        if (is_count(facts_setting_on(facts, SIDE_MODEL, nested), &value))
            return value;
    }
    return 0.0;
}

static bool has_classic_mlp(const struct run_facts *facts)
{
    static const char *const FAMILIES[] = {"gpt2",   "gpt_neo", "gpt_neox",   "opt",    "bloom",
                                           "falcon", "bert",    "roberta",    "mpt",    "phi",
                                           "gptj",   "t5",      "distilbert", "electra"};
    const struct setting *family = facts_setting_on(facts, SIDE_MODEL, "model_type");

    for (size_t i = 0; family && family->value && i < sizeof FAMILIES / sizeof *FAMILIES; i++)
        if (strcmp(family->value, FAMILIES[i]) == 0)
            return true;
    return false;
}

static double count_at(const struct event *event, int group)
{
    char digits[64];
    size_t n = 0;
    double value = 0.0;

    for (const char *p = event_capture(event, group); *p && n + 1 < sizeof digits; p++)
        if (*p != ',' && *p != '_')
            digits[n++] = *p;
    return number_parse(str_from(digits, n), &value) && value >= 0.0 && value <= MOST ? value : 0.0;
}

static void read_parameters(const struct run_facts *facts, struct memory_shape *shape)
{
    int ties = setting_bool(facts_setting_on(facts, SIDE_MODEL, "tie_word_embeddings"));
    int is_adapter = facts_is_adapter_run(facts, NULL);
    double rank = 0.0;

    for (const struct event *e = facts_event(facts, "flat-zero-trainable", NULL); e;
         e = facts_event(facts, "flat-zero-trainable", e)) {
        shape->n_trainable = fmax(shape->n_trainable, count_at(e, 1));
        shape->n_parameters = fmax(shape->n_parameters, count_at(e, 2));
    }
    if (shape->n_parameters < shape->n_trainable)
        shape->n_parameters = 0.0;
    if (shape->n_parameters == 0.0)
        shape->n_parameters = memory_count_parameters(shape, ties == 1);
    if (shape->n_trainable == 0.0 && is_adapter == 0)
        shape->n_trainable = shape->n_parameters;
    if (shape->n_trainable == 0.0 && is_adapter == 1)
        shape->n_trainable = memory_count_lora(
            shape, is_count(facts_setting(facts, "lora_r"), &rank) && rank >= 1.0 ? rank : 16.0);
    shape->n_linear = memory_count_linear(shape);
}

static void read_shape(const struct run_facts *facts, struct memory_shape *shape)
{
    double head = model_number(facts, (const char *const[]){"head_dim", NULL});
    double kv_heads = model_number(facts, (const char *const[]){"num_key_value_heads", NULL});

    shape->hidden =
        model_number(facts, (const char *const[]){"hidden_size", "n_embd", "d_model", NULL});
    shape->layers = model_number(
        facts, (const char *const[]){"num_hidden_layers", "n_layer", "num_layers", NULL});
    shape->heads =
        model_number(facts, (const char *const[]){"num_attention_heads", "n_head", NULL});
    shape->feed_forward = model_number(
        facts, (const char *const[]){"intermediate_size", "n_inner", "ffn_dim", "d_ff", NULL});
    shape->vocabulary = model_number(facts, (const char *const[]){"vocab_size", NULL});
    shape->is_classic_mlp = has_classic_mlp(facts);
    if (head == 0.0 && shape->heads > 0.0)
        head = shape->hidden / shape->heads;
    shape->kv_hidden = kv_heads > 0.0 ? kv_heads * head : shape->hidden;
    if (shape->feed_forward == 0.0 && shape->is_classic_mlp)
        shape->feed_forward = 4.0 * shape->hidden;
    read_parameters(facts, shape);
}

static bool text_has(const char *text, const char *part)
{
    return text && str_has_ignoring_case(str_of(text), part);
}

/* Bytes a trainable parameter takes beside its weight, and the dtype of the frozen ones. */
static void read_precision(const struct run_facts *facts, struct memory_settings *s)
{
    const char *bits = facts_text(facts, "quantization_bit"), *optim = facts_text(facts, "optim");
    const char *dtype = facts_text(facts, "torch_dtype");
    bool is_four = facts_bool(facts, "load_in_4bit") == 1 || (bits && strcmp(bits, "4") == 0);
    bool is_eight = facts_bool(facts, "load_in_8bit") == 1 || (bits && strcmp(bits, "8") == 0);
    bool is_half = facts_bool(facts, "bf16") == 1 || precision_is_fp16(facts, NULL) == 1;
    bool is_sharded = facts_setting(facts, "zero_stage") != NULL;

    s->gradient_bytes = 4.0;
    s->optimiser_bytes = text_has(optim, "8bit") ? 2.0 : text_has(optim, "sgd") ? 0.0 : 8.0;
    if (facts_is_adapter_run(facts, NULL) == 1) {
        s->weights = is_four ? WEIGHTS_NF4_DOUBLE : is_eight ? WEIGHTS_INT8 : WEIGHTS_16BIT;
        s->master_bytes = 4.0; /* the adapter's own fp32 weights */
    } else if (text_has(dtype, "bfloat16") || text_has(dtype, "float16")) {
        s->weights = WEIGHTS_16BIT;
        s->gradient_bytes = 2.0;
        s->optimiser_bytes = fmin(s->optimiser_bytes, 4.0);
    } else if (is_half && is_sharded) {
        s->weights = WEIGHTS_16BIT;
        s->master_bytes = 4.0;
    } else {
        s->weights = WEIGHTS_32BIT; /* autocast keeps fp32 weights */
    }
}

static void read_lengths(const struct run_facts *facts, struct memory_facts *out)
{
    size_t n = 0, kept = 0;
    const struct sample *samples = facts_lengths(facts, &n, NULL);
    double *tokens = n > 0 ? malloc(n * sizeof *tokens) : NULL;

    (void)is_count(facts_setting(facts, "max_length"), &out->max_length);
    out->settings.sequence = out->max_length;
    for (size_t i = 0; samples && tokens && i < n; i++)
        if (samples[i].n_tokens >= 0)
            tokens[kept++] = samples[i].n_tokens;
    if (kept > 0) {
        double longest = stat_quantile(tokens, kept, 1.0);
        size_t above = 0;
        out->ladder.p99 = stat_quantile(tokens, kept, 0.99);
        double limit = 64.0 * ceil(out->ladder.p99 / 64.0);
        for (size_t i = 0; i < kept; i++)
            above += tokens[i] > limit;
        out->ladder.cut_share = (double)above / (double)kept;
        /* Dynamic padding: the longest row, where the limit does not cut it. */
        if (facts_bool(facts, "packing") != 1 &&
            (out->settings.sequence <= 0.0 || longest < out->settings.sequence))
            out->settings.sequence = longest;
    }
    free(tokens);
}

static void read_loss(const struct run_facts *facts, struct memory_settings *s)
{
    s->logits_factor = facts_bool(facts, "torch_compile") == 1 ? 8.0 : 16.0;
    if (text_has(facts_text(facts, "loss_type"), "chunked"))
        s->logits_factor = 0.0;
    if (facts_bool(facts, "use_liger_kernel") == 1)
        s->logits_factor = -1.0;
}

enum ladder_dialect facts_dialect(const struct run_facts *facts)
{
    if (text_has(facts->run.framework, "llama-factory") ||
        text_has(facts->run.framework, "llamafactory"))
        return DIALECT_LLAMAFACTORY;
    return text_has(facts->run.framework, "axolotl") ? DIALECT_AXOLOTL : DIALECT_TRANSFORMERS;
}

void memory_facts_read(const struct run_facts *facts, struct memory_facts *out)
{
    struct memory_settings *s = &out->settings;

    *out = (struct memory_facts){.dialect = facts_dialect(facts)};
    out->ladder.capacity = facts_gpu_bytes(facts, NULL);
    out->ladder.is_adapter = facts_is_adapter_run(facts, NULL) == 1;
    read_shape(facts, &out->shape);
    read_precision(facts, s);
    read_lengths(facts, out);
    read_loss(facts, s);
    (void)is_count(facts_setting(facts, "per_device_train_batch_size"), &s->micro_batch);
    s->accumulation = 1.0;
    (void)is_count(facts_setting(facts, "gradient_accumulation_steps"), &s->accumulation);
    s->eval_batch = 8.0;
    (void)is_count(facts_setting(facts, "per_device_eval_batch_size"), &s->eval_batch);
    s->checkpointing = facts_bool(facts, "gradient_checkpointing") == 1;
    s->flash_attention = !text_has(facts_text(facts, "attn_implementation"), "eager");
    s->is_pair = facts->run.kind == KIND_DPO || facts->run.kind == KIND_REWARD_MODEL;
    s->eval_generates = facts_bool(facts, "predict_with_generate") == 1;
    bool is_moved = facts_setting(facts, "eval_accumulation_steps") &&
                    facts_setting(facts, "eval_accumulation_steps")->type != VALUE_NULL;
    s->eval_keeps_predictions =
        is_moved || facts_bool(facts, "prediction_loss_only") == 1 ? 0.0 : 1.0;
    for (size_t i = 0; i < facts->n_datasets; i++)
        if (facts->datasets[i].split && strcmp(facts->datasets[i].split, "eval") == 0)
            s->n_eval = fmax(s->n_eval, (double)facts->datasets[i].n_rows);
}
