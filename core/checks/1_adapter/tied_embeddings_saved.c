/* tied-embeddings-saved (CHECKS.md C1.7): do tied embeddings stay tied? When one of two tied matrices is
 * trained by itself, or both are saved, loading overwrites one by the other. */
#include <string.h>

#include "core/checks/adapter_evidence.h"
#include "core/checks/registry.h"
#include "core/facts/lineage.h"

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "PEFT: ensure_weight_tying=True (0.18 and later)");
    check_fix(ctx, "trainable_token_indices for the new tokens instead of whole matrices");
    check_fix(ctx, "tie_word_embeddings=false in the saved config when both were trained");
}

/* ---- Is it tied? ---- */

static int tied_by_type(const struct run_facts *facts)
{
    /* Families whose class ties by default and whose config then does not say so. */
    static const char *const TIED[] = {"gemma", "gemma2", "gemma3", "gemma3_text", "gpt2", "cohere", "opt",
                                       "bloom"};
    const struct setting *type = facts_setting_on(facts, SIDE_MODEL, "model_type");

    for (size_t i = 0; type && type->value && i < sizeof TIED / sizeof *TIED; i++)
        if (strcmp(type->value, TIED[i]) == 0)
            return 1;
    return -1;
}

static const struct setting *tie_of_role(const struct run_facts *facts, const char *role)
{
    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        const struct source *source = facts_source(facts, s->source_id);

        if (s->side == SIDE_MODEL && source && source->role && strcmp(source->role, role) == 0 &&
            (strcmp(s->raw_name, "tie_word_embeddings") == 0 ||
             strcmp(s->raw_name, "text_config.tie_word_embeddings") == 0))
            return s;
    }
    return NULL;
}

/* What was saved says it last: a merge that unties writes it into its config. */
static int is_tied(const struct run_facts *facts, const struct setting **by)
{
    static const char *const ROLES[] = {"merged", "served", "trained", "base"};

    for (size_t i = 0; i < sizeof ROLES / sizeof *ROLES; i++) {
        *by = tie_of_role(facts, ROLES[i]);
        if (setting_bool(*by) >= 0)
            return setting_bool(*by);
    }
    *by = facts_setting_on(facts, SIDE_MODEL, "tie_word_embeddings");
    if (setting_bool(*by) >= 0)
        return setting_bool(*by);
    *by = facts_setting_on(facts, SIDE_MODEL, "model_type");
    return tied_by_type(facts);
}

/* ---- What is trained or saved ---- */

static bool is_embedding(const char *name)
{
    static const char *const NAMES[] = {"embed_tokens", "lm_head", "wte", "word_embeddings", "embed_in",
                                        "embed_out", "tok_embeddings"};
    const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcmp(last, NAMES[i]) == 0)
            return true;
    return false;
}

static const struct setting *names_embedding(const struct run_facts *facts, const char *setting,
                                             const char **which)
{
    const struct setting *s = facts_setting_on(facts, SIDE_ADAPTER, setting);
    const char *const *items;

    if (!s || s->type == VALUE_NULL)
        s = facts_setting(facts, setting);
    if (!s || !s->value || s->type == VALUE_NULL)
        return NULL;
    size_t n = setting_list(s, facts, &items);
    for (size_t i = 0; i < n; i++)
        if (is_embedding(items[i])) {
            *which = items[i];
            return s;
        }
    return NULL;
}

static bool is_named(const char *name, const char *const *ends)
{
    for (; *ends; ends++)
        if (str_ends(str_of(name), *ends))
            return true;
    return false;
}

/* A saved model with both matrices in it. torch's own files always name both, one storage for two. */
static const struct artefact *saves_both(const struct run_facts *facts)
{
    static const char *const EMBEDDINGS[] = {"embed_tokens.weight", "wte.weight", "word_embeddings.weight",
                                             NULL};
    static const char *const HEADS[] = {"lm_head.weight", NULL};

    for (size_t i = 0; i < facts->n_artefacts; i++) {
        const struct artefact *a = &facts->artefacts[i];
        const struct tensor *embedding = NULL, *head = NULL;
        bool is_saved = a->role && strcmp(a->role, "base") != 0 && strcmp(a->kind, "base") == 0 &&
                        strstr(a->path, "safetensors");
        size_t n = 0;
        const struct tensor *tensors = is_saved ? facts_tensors(facts, a, &n) : NULL;

        for (size_t k = 0; k < n; k++) {
            if (is_named(tensors[k].name, EMBEDDINGS))
                embedding = &tensors[k];
            if (is_named(tensors[k].name, HEADS))
                head = &tensors[k];
        }
        bool is_copy = embedding && head && embedding->content_hash != 0 &&
                       embedding->content_hash == head->content_hash;
        const struct setting *own = facts_setting_beside(facts, a->path, SIDE_MODEL, "tie_word_embeddings");
        if (embedding && head && !is_copy && setting_bool(own) != 0)
            return a;
    }
    return NULL;
}

static const struct event *warning(const struct run_facts *facts)
{
    const struct event *event = NULL;

    while ((event = facts_event(facts, NULL, event)))
        if (event->pattern && strcmp(event->pattern, "tied-layer-in-adapter") == 0)
            return event;
    return NULL;
}

static bool has_repeating_outputs(const struct run_facts *facts)
{
    size_t n = 0;

    for (size_t i = 0; i < facts->n_generations; i++)
        n += (facts->generations[i].flags & GENERATION_HAS_TEXT) != 0 &&
             facts->generations[i].finish_reason &&
             strcmp(facts->generations[i].finish_reason, "length") == 0;
    return n > 0;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct setting *by = NULL, *modules, *weight_tying;
    const char *which = NULL;
    int tied = is_tied(ctx->facts, &by);
    const struct artefact *both = saves_both(ctx->facts);
    const struct event *event = warning(ctx->facts);

    (void)err;
    modules = names_embedding(ctx->facts, "modules_to_save", &which);
    if (!modules)
        modules = names_embedding(ctx->facts, "target_modules", &which);
    weight_tying = facts_setting_on(ctx->facts, SIDE_ADAPTER, "ensure_weight_tying");
    if (setting_bool(weight_tying) == 1)
        modules = NULL;
    if (tied < 0 && event)
        tied = 1;               /* the message says so */
    if (tied == 1 && modules) {
        evidence_setting(ctx, by);
        evidence_setting(ctx, modules);
        evidence_setting(ctx, weight_tying);
        (void)check_fail(ctx, CONFIDENCE_STRONG, "trained",
                         "the embeddings are tied and %s is trained by itself (%s): on loading one of the "
                         "two overwrites the other",
                         which, modules->name ? modules->name : modules->raw_name);
    }
    if (tied == 1 && both) {
        evidence_setting(ctx, by);
        evidence_add(ctx, "artefact", "%s holds the embedding and lm_head.weight",
                     artefact_shown(ctx->facts, both))
            ->source_id = both->source_id;
        (void)check_fail(ctx, CONFIDENCE_STRONG, "saved",
                         "tie_word_embeddings is true and both matrices are saved in %s",
                         artefact_shown(ctx->facts, both));
    }
    if (event && tied == 1 && setting_bool(weight_tying) != 1) {
        evidence_event(ctx, event);
        (void)check_warn(ctx, CONFIDENCE_LIKELY, "message",
                         "PEFT warns of a tied layer in the adapter (%s:%lld)",
                         facts_file_name(ctx->facts, event->source_id), (long long)event->line);
    }
    if (check_verdict(ctx) >= VERDICT_WARN) {
        if (has_repeating_outputs(ctx->facts))
            check_info(ctx, "outputs run to the limit: look for one token that repeats");
        add_fixes(ctx);
        return OK;
    }
    if (tied == 0)
        return check_pass(ctx, CONFIDENCE_STRONG, "the embeddings are not tied (%s)",
                          facts_file_name(ctx->facts, by->source_id));
    if (tied == 1)
        return check_pass(ctx, CONFIDENCE_STRONG, "the embeddings are tied, and neither is trained or saved "
                                                  "by itself");
    if (!modules && !both && facts_is_adapter_run(ctx->facts, NULL) == 1 &&
        facts_setting_on(ctx->facts, SIDE_ADAPTER, "peft_type"))
        return check_pass(ctx, CONFIDENCE_LIKELY, "neither the embedding nor the head is trained or saved");
    return check_unknown(ctx, "the model's config.json (tie_word_embeddings)");
}

const struct check check_tied_embeddings_saved = {
    .id = "tied-embeddings-saved",
    .version = 1,
    .stage = STAGE_ADAPTER,
    .severity = SEVERITY_MISLEADS,
    .title = "Tied embeddings stay tied",
    .why = "A model whose embedding and head are one matrix loads one of them over the other: what was "
           "trained in the second is lost, and it repeats a token.",
    .run = run,
};
