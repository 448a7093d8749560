/* merged-into-quantised (CHECKS.md C1.6): was the adapter merged into a quantised base? The sum is rounded
 * to the few values that the base's weights can have, and the change may be lost in it. */
#include <math.h>
#include <string.h>

#include "core/checks/adapter_evidence.h"
#include "core/checks/registry.h"
#include "core/facts/adapter_facts.h"
#include "core/facts/lineage.h"
#include "core/facts/model_outputs.h"

enum { FEWEST_PROMPTS = 3, LAYERS_SHOWN = 3 };

/* F11 from norms alone: rounding to NF4 in blocks of 64 takes about 9 % of normally distributed
 * weights. */
#define NF4_ROUNDING 0.0917
#define WARN_RATIO   1.0
#define FAIL_RATIO   10.0

static bool is_merged_role(const char *role)
{
    return role && (strcmp(role, "merged") == 0 || strcmp(role, "served") == 0 ||
                    strcmp(role, "trained") == 0);
}

static bool has_merged_outputs(const struct run_facts *facts)
{
    for (size_t i = 0; i < facts->n_generations; i++)
        if (facts->generations[i].model && strcmp(facts->generations[i].model, "merged") == 0)
            return true;
    return false;
}

/* Some sign that a merge was done at all. */
static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "nothing was merged";
    if (facts_count_events(facts, "merged-into-quantised") > 0 || has_merged_outputs(facts))
        return true;
    for (size_t i = 0; i < facts->n_sources; i++)
        if (facts->sources[i].role && strcmp(facts->sources[i].role, "merged") == 0 &&
            strcmp(facts->sources[i].importer, "hf_model") == 0)
            return true;
    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        const struct source *source = facts_source(facts, s->source_id);

        if (s->side == SIDE_MODEL && strncmp(s->raw_name, "quantization", 12) == 0 && source &&
            is_merged_role(source->role))
            return facts_is_adapter_run(facts, NULL) == 1;
    }
    return false;
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "load the base in bf16, merge_and_unload(), and quantise the result");
    check_fix(ctx, "Unsloth: save_pretrained_merged(save_method=\"merged_16bit\")");
    check_fix(ctx, "serve the adapter unmerged");
    check_fix(ctx, "evaluate the merged file itself");
}

static void by_messages(struct check_ctx *ctx)
{
    const struct event *event = NULL, *first = NULL;

    while ((event = facts_event(ctx->facts, "merged-into-quantised", event))) {
        if (first)
            continue;
        first = event;
        evidence_event(ctx, event);
        check_begins(ctx, event->step);
    }
    if (first)
        (void)check_fail(ctx, CONFIDENCE_CERTAIN, "message",
                         "the adapter was merged into %s-bit weights (%s:%lld)",
                         event_capture(first, 1)[0] ? event_capture(first, 1) : "8",
                         facts_file_name(ctx->facts, first->source_id), (long long)first->line);
}

/* ---- The merged model's configuration ---- */

static const struct setting *beside(const struct run_facts *facts, const struct source *config,
                                    const char *name)
{
    return facts_setting_beside(facts, config->path, SIDE_MODEL, name);
}

/* bitsandbytes' own config, or MLX's: quantised as it was loaded. GPTQ, AWQ and the like quantise a whole
 * model afterwards. */
static const struct setting *quantised_as_loaded(const struct run_facts *facts, const struct source *config)
{
    const struct setting *method = beside(facts, config, "quantization_config.quant_method");
    const struct setting *four = beside(facts, config, "quantization_config.load_in_4bit");
    const struct setting *eight = beside(facts, config, "quantization_config.load_in_8bit");
    const struct setting *mlx = beside(facts, config, "quantization.bits");

    if (method && strcmp(method->value, "bitsandbytes") != 0)
        return NULL;
    if (setting_bool(four) == 1)
        return four;
    if (setting_bool(eight) == 1)
        return eight;
    return method ? method : mlx;
}

/* Whole weights lie in the folder: an index or files of a model, no adapter's. */
static bool has_weights_beside(const struct run_facts *facts, const struct source *config)
{
    const char *slash = strrchr(config->path, '/');
    size_t n = slash ? (size_t)(slash - config->path) + 1 : 0;

    for (size_t i = 0; i < facts->n_artefacts; i++) {
        const struct artefact *a = &facts->artefacts[i];

        if (strcmp(a->kind, "base") == 0 && a->path && strncmp(a->path, config->path, n) == 0 &&
            !strchr(a->path + n, '/'))
            return true;
    }
    return false;
}

static bool is_config(const struct source *source)
{
    return strcmp(source->importer, "hf_model") == 0 && str_ends(str_of(source->path), "/config.json");
}

/* A merged model in 16 bit is there as well: the quantised one may have been made of it. */
static const struct source *merged_in_16_bit(const struct run_facts *facts)
{
    for (size_t i = 0; i < facts->n_sources; i++) {
        const struct source *source = &facts->sources[i];

        if (is_config(source) && source->role && strcmp(source->role, "merged") == 0 &&
            !beside(facts, source, "quantization_config.quant_method") &&
            !beside(facts, source, "quantization_config.load_in_4bit") &&
            !beside(facts, source, "quantization.bits"))
            return source;
    }
    return NULL;
}

static void by_config(struct check_ctx *ctx)
{
    const struct source *whole = merged_in_16_bit(ctx->facts);

    for (size_t i = 0; i < ctx->facts->n_sources; i++) {
        const struct source *source = &ctx->facts->sources[i];

        if (!is_config(source) || !is_merged_role(source->role))
            continue;
        bool is_merged = strcmp(source->role, "merged") == 0;
        bool has_weights = has_weights_beside(ctx->facts, source);
        const struct setting *sign = quantised_as_loaded(ctx->facts, source);
        bool is_other = !is_merged && facts_is_adapter_run(ctx->facts, NULL) != 1;
        if (!sign || is_other || (!is_merged && !has_weights))
            continue;
        if (whole) {
            check_info(ctx, "%s is quantised; a merged model in 16 bit is there too, which it may have been "
                            "made of", source->path);
            continue;
        }
        evidence_setting(ctx, sign);
        evidence_setting(ctx, facts_setting_on(ctx->facts, SIDE_ADAPTER, "peft_type"));
        if (has_weights || check_verdict(ctx) == VERDICT_FAIL)
            (void)check_fail(ctx, CONFIDENCE_STRONG, "config",
                             "the merged model keeps the quantisation that its base was loaded with (%s)",
                             sign->raw_name);
        else
            (void)check_warn(ctx, CONFIDENCE_LIKELY, "config",
                             "the merged model's config keeps the quantisation that its base was loaded "
                             "with (%s)", sign->raw_name);
        return;
    }
}

/* ---- Outputs ---- */

static void by_outputs(struct check_ctx *ctx, const struct model_outputs *outputs)
{
    const struct output_comparison *merged = outputs_of(outputs, "base", "merged");
    const struct output_comparison *adapter = outputs_of(outputs, "base", "adapter");

    if (!adapter)
        adapter = outputs_of(outputs, "base", "finetuned");
    if (!merged || !adapter || merged->n_identical < merged->n || merged->n_long < FEWEST_PROMPTS ||
        adapter->n_differ < FEWEST_PROMPTS)
        return;
    struct evidence *e = evidence_add(ctx, "file", "merged gives the base's output on %zu of %zu prompts, "
                                                   "the adapter differs on %zu of %zu",
                                      merged->n_identical, merged->n, adapter->n_differ, adapter->n);
    e->source_id = merged->pairs[0].source_id;
    e->line = merged->pairs[0].line;
    (void)check_fail(ctx, CONFIDENCE_STRONG, "outputs",
                     "the merged model answers as the base on all of %zu prompts, the adapter does not: the "
                     "merge lost it", merged->n);
}

/* ---- F11 ---- */

static double norm_of_base(const struct run_facts *facts, const char *module)
{
    size_t length = strlen(module);

    for (size_t i = 0; i < facts->n_artefacts; i++) {
        size_t n = 0;
        const struct tensor *tensors = strcmp(facts->artefacts[i].kind, "base") == 0
                                           ? facts_tensors(facts, &facts->artefacts[i], &n)
                                           : NULL;

        for (size_t k = 0; k < n; k++) {
            const char *at = strstr(tensors[k].name, module);

            if (at && (at == tensors[k].name || at[-1] == '.') && strcmp(at + length, ".weight") == 0 &&
                tensors[k].norm > 0.0)
                return tensors[k].norm;
        }
    }
    return NAN;
}

/* The estimate stands beside a finding: what a merge in 16 bit does not lose, serving it in 4 bit may. */
static void state_loss(struct check_ctx *ctx)
{
    const struct artefact *adapter = adapter_of_run(ctx->facts);
    struct adapter_facts facts;
    size_t n_shown = 0, n = 0, n_lost = 0;

    if (!adapter || !adapter_facts_read(ctx->facts, adapter, ctx->arena, &facts))
        return;
    for (size_t i = 0; i < facts.n_pairs; i++) {
        double norm = norm_of_base(ctx->facts, facts.pairs[i].module);
        double ratio = NF4_ROUNDING * norm / fabs(facts.pairs[i].delta_norm);

        if (!isfinite(ratio))
            continue;
        n++;
        n_lost += ratio > WARN_RATIO;
        if (ratio > WARN_RATIO && n_shown++ < LAYERS_SHOWN)
            evidence_number(ctx, ratio, ratio > FAIL_RATIO ? FAIL_RATIO : WARN_RATIO,
                            "%s: rounding to 4 bit is about %.3g times the adapter's change (F11)",
                            facts.pairs[i].module, ratio);
    }
    if (n)
        check_info(ctx, "in %zu of %zu modules rounding to 4 bit is larger than the adapter's change (F11, "
                        "estimated from norms)", n_lost, n);
}

static bool was_trained_in_4_bit(const struct run_facts *facts)
{
    return facts_bool(facts, "load_in_4bit") == 1 || facts_text(facts, "quantization_bit") != NULL;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct model_outputs *outputs = facts_model_outputs(ctx->facts);

    if (!outputs)
        return error_set(err, E_NOMEM, "no memory for the outputs of the models");
    by_messages(ctx);
    by_config(ctx);
    by_outputs(ctx, outputs);
    if (check_verdict(ctx) >= VERDICT_WARN) {
        state_loss(ctx);
        add_fixes(ctx);
        return OK;
    }
    if (was_trained_in_4_bit(ctx->facts) && merged_in_16_bit(ctx->facts))
        check_info(ctx, "trained on 4-bit weights and merged into 16 bit: the base under the adapter differs "
                        "a little from the one it was trained on");
    if (merged_in_16_bit(ctx->facts))
        return check_pass(ctx, CONFIDENCE_STRONG, "the merged model's config states no quantisation");
    return check_unknown(ctx, "the merged model's config.json, or the log of the merge");
}

const struct check check_merged_into_quantised = {
    .id = "merged-into-quantised",
    .version = 1,
    .stage = STAGE_ADAPTER,
    .severity = SEVERITY_MISLEADS,
    .title = "The adapter was not merged into a quantised base",
    .why = "Merged into 4- or 8-bit weights the change is rounded away in part: the merged file is another "
           "model than the one that was evaluated.",
    .applies = applies,
    .run = run,
};
