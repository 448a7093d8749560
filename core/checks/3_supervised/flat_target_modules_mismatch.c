/* flat-target-modules-mismatch (CHECKS.md C3.2): does every target name match modules, in all
 * layers? PEFT is silent as long as one of the names matches. */
#include <math.h>
#include <string.h>

#include "core/checks/registry.h"
#include "core/facts/adapter_facts.h"
#include "core/facts/trainable.h"

#define LEAST_COVERAGE 0.5      /* of the layers; also of F10's count */

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "no adapter: every weight of the model is trained";
    return facts_is_adapter_run(facts, NULL) != 0;
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "use names that exist in this model (print model.named_modules())");
    check_fix(ctx, "or target_modules=\"all-linear\" (LLaMA-Factory lora_target: all, axolotl "
                   "lora_target_linear: true)");
    check_fix(ctx, "where a vision tower has the same names: a regex anchored on the language model");
}

/* What PEFT itself says. */
static bool read_log(struct check_ctx *ctx)
{
    const struct event *event = NULL;
    bool found = false;

    while ((event = facts_event(ctx->facts, "flat-target-modules-mismatch", event))) {
        bool is_warning = event->pattern && strcmp(event->pattern, "additional-target-modules") == 0;

        evidence_event(ctx, event);
        check_begins(ctx, event->step);
        if (is_warning)
            (void)check_warn(ctx, CONFIDENCE_LIKELY, "additional",
                             "the PEFT config names modules that the weights do not have: %s",
                             event_capture(event, 1));
        else
            (void)check_fail(ctx, CONFIDENCE_CERTAIN, "message",
                             "PEFT found none of the target modules in the base model%s%s",
                             event_capture(event, 1)[0] ? ": " : "", event_capture(event, 1));
        found = true;
    }
    return found;
}

/* The saved adapter holds a tensor of the target: it matched, whatever a list says. */
static bool adapter_has(const struct run_facts *facts, const struct artefact *adapter,
                        const char *target, struct arena *arena)
{
    const char *part = arena_printf(arena, "%s.lora_", target);
    size_t n;
    const struct tensor *tensors = adapter ? facts_tensors(facts, adapter, &n) : NULL;

    for (size_t i = 0; tensors && i < n; i++)
        if (strstr(tensors[i].name, part))
            return true;
    return false;
}

/* Each name of the list against the names of the base. Returns the names without a match. */
static size_t compare_names(struct check_ctx *ctx, const struct targets *targets,
                            const struct module_names *modules, const struct artefact *adapter)
{
    struct buf missing;
    size_t n_missing = 0;

    buf_init(&missing, 4096);
    for (size_t i = 0; i < targets->n; i++) {
        size_t n = module_matches(modules, targets->names[i]);
        struct evidence *e;

        if (n || adapter_has(ctx->facts, adapter, targets->names[i], ctx->arena))
            continue;

        const char *nearest = module_nearest(modules, targets->names[i], ctx->arena);

        e = evidence_add(ctx, "setting", "%s matches no module of %s%s%s", targets->names[i],
                         modules->from, nearest ? "; nearest: " : "", nearest ? nearest : "");
        e->source_id = modules->source_id;
        buf_printf(&missing, "%s%s", n_missing ? ", " : "", targets->names[i]);
        n_missing++;
    }
    if (n_missing) {
        evidence_setting(ctx, targets->setting);
        (void)check_fail(ctx, modules->source_id ? CONFIDENCE_CERTAIN : CONFIDENCE_STRONG, "names",
                         "%zu of %zu target names match no module: %s", n_missing, targets->n,
                         missing.p);
    }
    buf_free(&missing);
    return n_missing;
}

/* Names of which the saved adapter holds no tensor matched nothing either. */
static size_t compare_adapter(struct check_ctx *ctx, const struct targets *targets,
                              const struct artefact *adapter)
{
    size_t n_tensors, n_missing = 0;
    const struct tensor *tensors = facts_tensors(ctx->facts, adapter, &n_tensors);
    bool has_lora = false;

    for (size_t k = 0; k < n_tensors; k++)
        has_lora |= strstr(tensors[k].name, "lora_") != NULL;
    for (size_t i = 0; has_lora && i < targets->n; i++) {
        if (adapter_has(ctx->facts, adapter, targets->names[i], ctx->arena))
            continue;
        evidence_add(ctx, "artefact", "the adapter holds no tensor of %s", targets->names[i])
            ->source_id = adapter->source_id;
        n_missing++;
    }
    if (n_missing) {
        evidence_setting(ctx, targets->setting);
        (void)check_fail(ctx, CONFIDENCE_STRONG, "names",
                         "%zu of %zu target names have no tensor in the saved adapter", n_missing,
                         targets->n);
    }
    return n_missing;
}

/* No name fits the family that the base's name tells of. */
static void compare_base_name(struct check_ctx *ctx, const struct targets *targets)
{
    struct module_names modules;

    if (!module_names_by_base(ctx->facts, ctx->arena, &modules))
        return;
    for (size_t i = 0; i < targets->n; i++)
        if (module_matches(&modules, targets->names[i]))
            return;
    evidence_setting(ctx, facts_setting(ctx->facts, "base_model_name_or_path"));
    (void)compare_names(ctx, targets, &modules, NULL);
}

/* A regex against whole paths. Returns whether it could be decided. */
static bool compare_regex(struct check_ctx *ctx, const struct targets *targets,
                          const struct module_names *modules)
{
    ptrdiff_t n = modules->source_id
                      ? module_regex_matches(modules, targets->setting->value, ctx->arena)
                      : -1;

    if (n > 0)
        (void)check_pass(ctx, CONFIDENCE_STRONG, "the regex matches %zu of %zu modules (%s)",
                         (size_t)n, modules->n, modules->from);
    if (n == 0) {
        evidence_setting(ctx, targets->setting);
        (void)check_fail(ctx, CONFIDENCE_STRONG, "names",
                         "the regex of the targets matches none of %zu modules of %s", modules->n,
                         modules->from);
    }
    return n >= 0;
}

/* Ranks of their own make F10's count another one. */
static bool has_rank_pattern(const struct run_facts *facts)
{
    for (size_t i = 0; i < facts->n_settings; i++)
        if (facts->settings[i].side == SIDE_ADAPTER && facts->settings[i].raw_name &&
            strncmp(facts->settings[i].raw_name, "rank_pattern.", 13) == 0)
            return true;
    return false;
}

/* Without a banner the saved tensors are counted; half a file says nothing of what was adapted. */
static bool count_tensors(struct check_ctx *ctx, double expected, const struct artefact *artefact)
{
    struct adapter_facts adapter;

    if (!artefact || !adapter_facts_read(ctx->facts, artefact, ctx->arena, &adapter) ||
        adapter.n_pairs == 0 || adapter.n_lora == NONE || adapter.n_lora <= 0 || adapter.n_halves > 0 ||
        adapter.n_empty > 0)
        return false;
    double found = (double)adapter.n_lora;
    if (found < LEAST_COVERAGE * expected) {
        evidence_number(ctx, found, LEAST_COVERAGE * expected,
                        "%.0f LoRA parameters are saved, rank and targets should give %.0f (F10)", found,
                        expected)
            ->source_id = artefact->source_id;
        (void)check_fail(ctx, CONFIDENCE_STRONG, "count",
                         "only %.0f of %.0f expected parameters are in the adapter (%.0f %%)", found,
                         expected, 100.0 * found / expected);
    }
    return true;
}

static bool compare_counts(struct check_ctx *ctx, const struct targets *targets,
                           const struct artefact *adapter)
{
    struct trainable_banner banner;
    double expected = lora_expected(ctx->facts, targets);

    trainable_banner(ctx->facts, &banner);
    if (expected <= 0.0 || has_rank_pattern(ctx->facts))
        return false;
    if (!banner.event || banner.trainable <= 0.0)
        return count_tensors(ctx, expected, adapter);
    if (banner.trainable < LEAST_COVERAGE * expected) {
        evidence_event(ctx, banner.event);
        evidence_number(ctx, banner.trainable, LEAST_COVERAGE * expected,
                        "%.0f parameters train, rank and targets should give %.0f (F10)",
                        banner.trainable, expected);
        (void)check_fail(ctx, CONFIDENCE_STRONG, "count",
                         "only %.0f of %.0f expected parameters train (%.0f %%)", banner.trainable,
                         expected, 100.0 * banner.trainable / expected);
    }
    return true;
}

static void compare_layers(struct check_ctx *ctx, const struct artefact *adapter)
{
    size_t layers = 0;
    double share = layer_coverage(ctx->facts, adapter, ctx->arena, &layers);
    const struct setting *subset =
        facts_setting_on(ctx->facts, SIDE_ADAPTER, "layers_to_transform");

    if (isnan(share) || share >= LEAST_COVERAGE || (subset && subset->type != VALUE_NULL))
        return;
    evidence_number(ctx, share, LEAST_COVERAGE, "%.0f %% of %zu layers hold an adapted module",
                    100.0 * share, layers)
        ->source_id = adapter->source_id;
    (void)check_warn(ctx, CONFIDENCE_LIKELY, "coverage",
                     "the adapter covers only %.0f %% of the layers", 100.0 * share);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct artefact *adapter = trained_adapter(ctx->facts);
    struct module_names modules;
    struct targets targets;
    bool has_modules, is_decided = false;

    (void)err;
    (void)read_log(ctx);
    targets_read(ctx->facts, ctx->arena, &targets);
    has_modules = module_names_read(ctx->facts, ctx->arena, &modules);
    if (targets.form == TARGETS_LIST && has_modules) {
        (void)compare_names(ctx, &targets, &modules, adapter);
        is_decided = true;
    } else if (targets.form == TARGETS_LIST && adapter) {
        (void)compare_adapter(ctx, &targets, adapter);
        is_decided = true;
    }
    if (targets.form == TARGETS_LIST && !is_decided)
        compare_base_name(ctx, &targets);
    if (targets.form == TARGETS_REGEX && has_modules && compare_regex(ctx, &targets, &modules) &&
        check_verdict(ctx) < VERDICT_WARN) {
        if (adapter)
            compare_layers(ctx, adapter);
        return OK;
    }
    if (targets.form != TARGETS_UNKNOWN)
        is_decided |= compare_counts(ctx, &targets, adapter);
    if (adapter)
        compare_layers(ctx, adapter);
    if (check_verdict(ctx) >= VERDICT_WARN) {
        add_fixes(ctx);
        return OK;
    }
    if (targets.form == TARGETS_ALL)
        return check_pass(ctx, CONFIDENCE_STRONG, "all linear layers are targeted");
    if (targets.form == TARGETS_REGEX)
        return check_unknown(ctx, "module_names.txt (model.named_modules()): the targets are a regex");
    if (is_decided && has_modules)
        return check_pass(ctx, modules.source_id ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY,
                          "each of %zu target names matches modules (%s)", targets.n, modules.from);
    if (is_decided)
        return check_pass(ctx, CONFIDENCE_LIKELY, "each target name has trained tensors or counts");
    if (targets.form == TARGETS_UNKNOWN)
        return check_unknown(ctx, "adapter_config.json (the target modules)");
    return check_unknown(ctx, "the base model's config.json or module_names.txt "
                              "(model.named_modules(), one name a line)");
}

const struct check check_flat_target_modules_mismatch = {
    .id = "flat-target-modules-mismatch",
    .version = 2,
    .stage = STAGE_SUPERVISED,
    .severity = SEVERITY_BLOCKS,
    .title = "Every target name matches modules, in all layers",
    .why = "A target name of another architecture adapts nothing; PEFT complains only when no name "
           "matches at all.",
    .applies = applies,
    .run = run,
};
