/* The adapter as it is served. See adapter_serving.h. */
#include "core/checks/adapter_serving.h"

#include <math.h>
#include <string.h>

#include "core/checks/adapter_evidence.h"
#include "core/facts/lineage.h"
#include "core/facts/serving.h"
#include "core/facts/trainable.h"

enum { VLLM_MAX_RANK = 16 };    /* its default */

static bool is_stated(const struct setting *s)
{
    return s && s->value && s->value[0] && s->type != VALUE_NULL && strcmp(s->value, "[]") != 0;
}

static bool is_of_base(const char *role)
{
    return role && strcmp(role, "base") == 0;
}

/* Its weights; its config, where the weights were left behind for their size; rows of a training with
 * adapters, where nothing of what it saved is here. */
static bool produced_adapter(const struct run_facts *facts)
{
    for (size_t i = 0; i < facts->n_artefacts; i++)
        if (strcmp(facts->artefacts[i].kind, "adapter") == 0 && !is_of_base(facts->artefacts[i].role))
            return true;
    const struct setting *type = facts_setting_on(facts, SIDE_ADAPTER, "peft_type");
    const struct source *source = type ? facts_source(facts, type->source_id) : NULL;
    if (type && !(source && is_of_base(source->role)))
        return true;
    return facts_is_adapter_run(facts, NULL) == 1 && facts->last_step != NONE && facts->last_step > 0;
}

/* What the adapter was made on, by its own config, else by the training arguments. */
static const struct setting *base_of(const struct run_facts *facts)
{
    const struct setting *base = facts_setting_on(facts, SIDE_ADAPTER, "base_model_name_or_path");

    return is_stated(base) ? base : facts_setting_on(facts, SIDE_TRAIN, "model_name_or_path");
}

/* Both call it the base and nothing else: "/models/base", "../base". */
static bool are_called_base(const char *a, const char *b)
{
    static const char *const NAMES[] = {"base", "base_model", "base-model"};
    const char *x = strrchr(a, '/'), *y = strrchr(b, '/');

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcmp(x ? x + 1 : a, NAMES[i]) == 0 && strcmp(y ? y + 1 : b, NAMES[i]) == 0)
            return true;
    return false;
}

static bool is_base_name(const struct run_facts *facts, const char *name)
{
    const struct setting *base = base_of(facts);

    return is_stated(base) && name &&
           (strcmp(name, base->value) == 0 || base_names_agree(name, base->value) == 1 ||
            are_called_base(name, base->value));
}

static bool is_merged(const struct run_facts *facts, const struct serving *serving)
{
    const struct lineage *lineage = facts_lineage(facts);
    const char *name = serving->model ? serving->model->value : NULL;

    if (serving->artefact && serving->artefact->role && strcmp(serving->artefact->role, "merged") == 0)
        return true;
    /* What the adapter was made on may itself be a merge of an earlier one. */
    if (!name || is_base_name(facts, name))
        return false;
    if (lineage_form_of(name) == FORM_MERGED)
        return true;
    for (size_t i = 0; lineage && i < lineage->n_nodes; i++)
        if (lineage->nodes[i].role == LINEAGE_MERGED && lineage->nodes[i].name[0] &&
            strstr(lineage->nodes[i].name, name))
            return true;
    return false;
}

/* ---- No adapter ---- */

static void base_alone(struct check_ctx *ctx, const struct serving *serving)
{
    const struct run_facts *facts = ctx->facts;
    const struct setting *model = serving->model;
    bool is_request = model && model == serving->requested;

    if (!is_stated(model) || serving->n_adapters > 0 || !produced_adapter(facts) ||
        is_stated(facts_setting_on(facts, SIDE_SERVE, "artefact")) ||
        facts_setting_on(facts, SIDE_SERVE, "other_servers") ||     /* a baseline beside the other */
        (serving->artefact && serving->artefact->role &&
         strcmp(serving->artefact->role, "base") != 0) ||
        !is_base_name(facts, model->value) || is_merged(facts, serving))
        return;
    evidence_setting(ctx, model);
    evidence_setting(ctx, base_of(facts));
    (void)check_warn(ctx, is_request ? CONFIDENCE_POSSIBLE : CONFIDENCE_LIKELY, "serving",
                     "the base %s is %s without any adapter, and the run made one", model->value,
                     is_request ? "asked for" : "served");
}

static void not_applied(struct check_ctx *ctx, const struct serving *serving)
{
    size_t n_idle = 0;
    const struct served_adapter *first = NULL;

    for (size_t i = 0; i < serving->n_adapters; i++) {
        const struct served_adapter *a = &serving->adapters[i];
        bool is_idle = !a->is_applied || a->scale == 0.0;

        n_idle += is_idle;
        if (is_idle && !first)
            first = a;
    }
    if (serving->n_adapters == 0 || n_idle < serving->n_adapters)
        return;
    evidence_setting(ctx, first->setting);
    (void)check_warn(ctx, CONFIDENCE_LIKELY, "serving",
                     "the adapter %s is loaded by the server and not applied%s",
                     first->name ? first->name : first->path ? first->path : "",
                     first->scale == 0.0 ? " (scale 0)" : "");
}

static bool picks_by_name(enum serving_engine engine)
{
    return engine == SERVING_VLLM || engine == SERVING_SGLANG || engine == SERVING_TGI;
}

static bool asks_the_base(const struct run_facts *facts, const struct serving *serving)
{
    const char *asked = serving->requested->value;

    if (serving->model && serving->model->value && strcmp(asked, serving->model->value) == 0)
        return true;
    for (size_t i = 0; i < serving->n_names; i++)
        if (strcmp(asked, serving->names[i]) == 0)
            return true;
    return is_base_name(facts, asked);
}

static void not_asked_for(struct check_ctx *ctx, const struct serving *serving)
{
    if (!is_stated(serving->requested) || serving->n_adapters == 0 || serving->request_asks_adapter ||
        !picks_by_name(serving->engine) || !asks_the_base(ctx->facts, serving))
        return;
    evidence_setting(ctx, serving->requested);
    evidence_setting(ctx, serving->adapters[0].setting);
    (void)check_warn(ctx, CONFIDENCE_STRONG, "serving",
                     "the request asks for %s, the base; the adapter answers to the name %s",
                     serving->requested->value,
                     serving->adapters[0].name ? serving->adapters[0].name : serving->adapters[0].path);
}

static void not_allowed(struct check_ctx *ctx, const struct serving *serving)
{
    if (serving->allows_adapters != 0 || serving->n_adapters == 0)
        return;
    evidence_setting(ctx, serving->adapters[0].setting);
    evidence_setting(ctx, facts_setting_on(ctx->facts, SIDE_SERVE, "enable_lora"));
    (void)check_warn(ctx, CONFIDENCE_LIKELY, "serving",
                     "%s is given an adapter, and its support for adapters is off (--enable-lora)",
                     serving_engine_name(serving->engine));
}

static void rank_too_high(struct check_ctx *ctx, const struct serving *serving)
{
    const struct setting *rank = facts_setting(ctx->facts, "lora_r");
    bool is_default = serving->max_lora_rank == NONE;
    double most = is_default ? VLLM_MAX_RANK : (double)serving->max_lora_rank, value;

    if (serving->engine != SERVING_VLLM || serving->n_adapters == 0 || !setting_number(rank, &value) ||
        value <= most)
        return;
    evidence_setting(ctx, rank);
    evidence_setting(ctx, facts_setting_on(ctx->facts, SIDE_SERVE, "max_lora_rank"));
    (void)check_warn(ctx, is_default ? CONFIDENCE_POSSIBLE : CONFIDENCE_LIKELY, "serving",
                     "the adapter has rank %.0f, the server takes at most %.0f%s", value, most,
                     is_default ? " by default" : "");
}

void serving_leaves_adapter_out(struct check_ctx *ctx)
{
    const struct serving *serving = facts_serving(ctx->facts);

    if (!serving)
        return;
    base_alone(ctx, serving);
    not_allowed(ctx, serving);
    not_applied(ctx, serving);
    not_asked_for(ctx, serving);
    rank_too_high(ctx, serving);
}

/* ---- Target modules ---- */

void serving_limits_targets(struct check_ctx *ctx)
{
    const struct serving *serving = facts_serving(ctx->facts);
    const struct setting *limit = serving ? serving->lora_targets : NULL;
    const struct event *event = NULL;
    struct targets targets;
    size_t n_out = 0;

    while ((event = facts_event(ctx->facts, "adapter-not-loaded", event)))
        if (event->pattern && strcmp(event->pattern, "vllm-lora-targets") == 0)
            break;
    const char *text = event ? event->text : is_stated(limit) ? limit->value : NULL;
    if (!text)
        return;
    targets_read(ctx->facts, ctx->arena, &targets);
    for (size_t i = 0; i < targets.n; i++) {
        const char *dot = strrchr(targets.names[i], '.');

        n_out += !strstr(text, dot ? dot + 1 : targets.names[i]);
    }
    if (targets.form == TARGETS_LIST && n_out == 0)
        return;
    if (event)
        evidence_event(ctx, event);
    else
        evidence_setting(ctx, limit);
    evidence_setting(ctx, targets.setting);
    (void)check_warn(ctx, CONFIDENCE_POSSIBLE, "target-limit",
                     "the server adapts some target modules only: the rest of the adapter is left out");
}

/* ---- Several ---- */

void serving_applies_several(struct check_ctx *ctx)
{
    const struct serving *serving = facts_serving(ctx->facts);
    size_t n_applied = 0;

    if (!serving || serving->n_adapters == 0)
        return;
    for (size_t i = 0; i < serving->n_adapters; i++)
        n_applied += serving->adapters[i].is_applied && serving->adapters[i].scale != 0.0;
    if (is_merged(ctx->facts, serving)) {
        evidence_setting(ctx, serving->model);
        evidence_setting(ctx, serving->adapters[0].setting);
        (void)check_fail(ctx, CONFIDENCE_STRONG, "merged-and-loaded",
                         "the merged model is served with the adapter on top: it is applied twice");
        return;
    }
    bool has_names = true;
    for (size_t i = 0; i < serving->n_adapters; i++)
        has_names &= serving->adapters[i].name != NULL;
    if (n_applied < 2 || picks_by_name(serving->engine) ||
        (has_names && serving->engine == SERVING_OTHER))
        return;
    evidence_setting(ctx, serving->adapters[0].setting);
    if (serving->adapters[1].setting != serving->adapters[0].setting)
        evidence_setting(ctx, serving->adapters[1].setting);
    (void)check_warn(ctx, CONFIDENCE_LIKELY, "served", "%zu adapters are applied at once in serving",
                     n_applied);
}
