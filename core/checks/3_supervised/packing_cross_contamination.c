/* packing-cross-contamination (CHECKS.md C3.17): do packed samples attend to each other? Depends on
 * the attention kernel, the packing strategy and the versions; settings alone often cannot tell. */
#include <string.h>

#include "core/checks/registry.h"

static bool is_llamafactory(const struct run_facts *facts)
{
    return facts_setting(facts, "neat_packing") || facts_setting(facts, "cutoff_len") ||
           (facts->run.framework && strstr(facts->run.framework, "LLaMA-Factory"));
}

static bool is_axolotl(const struct run_facts *facts)
{
    const struct setting *packing = facts_setting(facts, "packing");

    return packing && strcmp(packing->raw_name, "sample_packing") == 0;
}

/* padding_free flattens a batch as packing does; only with this strategy are borders lost. */
static bool is_padding_free(const struct run_facts *facts)
{
    const char *strategy = facts_text(facts, "packing_strategy");

    return facts_bool(facts, "padding_free") == 1 && strategy && strcmp(strategy, "wrapped") == 0;
}

/* Plain text is meant to be one stream. */
static bool is_plain_text(const struct run_facts *facts)
{
    const struct dataset *dataset = NULL;

    (void)facts_train_rows(facts, &dataset);
    return dataset && dataset->form && strcmp(dataset->form, "text") == 0;
}

static bool applies(const struct run_facts *facts, const char **reason)
{
    if (facts_event(facts, "packing-cross-contamination", NULL))
        return true;
    if (facts->run.kind == KIND_PRETRAINING) {
        *reason = "pretraining: packed text is meant to be one stream";
        return false;
    }
    *reason = "packing is off";
    if (facts_bool(facts, "packing") == 1 || facts_bool(facts, "neat_packing") == 1 ||
        is_padding_free(facts))
        return true;
    return facts_bool(facts, "packing") < 0 && !facts_has_whole_arguments(facts);
}

static void add_fixes(struct check_ctx *ctx)
{
    if (is_llamafactory(ctx->facts))
        check_fix(ctx, "LLaMA-Factory: neat_packing: true");
    check_fix(ctx, "attn_implementation=\"flash_attention_2\" with packing_strategy=\"bfd\"");
    check_fix(ctx, "or packing off");
}

static bool is_flash(const char *attention)
{
    static const char *const names[] = {"flash", "fa2", "fa3", "xformers"};

    for (size_t i = 0; attention && i < sizeof names / sizeof names[0]; i++)
        if (strstr(attention, names[i]))
            return true;
    return attention && strcmp(attention, "true") == 0;    /* axolotl: flash_attention: true */
}

static bool read_log(struct check_ctx *ctx)
{
    const struct event *event = NULL;

    while ((event = facts_event(ctx->facts, "packing-cross-contamination", event))) {
        evidence_event(ctx, event);
        check_begins(ctx, event->step);
        (void)check_fail(ctx, CONFIDENCE_CERTAIN, "message",
                         "the trainer warns that packed samples attend to each other");
    }
    return check_verdict(ctx) == VERDICT_FAIL;
}

static int judge_llamafactory(struct check_ctx *ctx)
{
    int neat = facts_bool(ctx->facts, "neat_packing");

    if (neat == 1)
        return check_pass(ctx, CONFIDENCE_CERTAIN, "neat_packing keeps packed samples apart");
    evidence_setting(ctx, facts_setting(ctx->facts, "packing"));
    evidence_setting(ctx, facts_setting(ctx->facts, "neat_packing"));
    add_fixes(ctx);
    return check_fail(ctx, neat == 0 ? CONFIDENCE_CERTAIN : CONFIDENCE_STRONG, "llamafactory",
                      "LLaMA-Factory packs without neat_packing: samples attend to each other");
}

/* The versions that build the mask from position_ids: sdpa is clean there. */
static int has_clean_sdpa(const struct run_facts *facts)
{
    const char *trl = facts_package(facts, "trl"), *transformers = facts_package(facts, "transformers");

    if (trl && transformers)
        return version_compare(transformers, "5") >= 0 && version_compare(trl, "1") >= 0;
    if (transformers && version_compare(transformers, "5") < 0)
        return 0;
    return -1;
}

static int judge_strategy(struct check_ctx *ctx, const char *strategy, const char *attention)
{
    bool is_wrapped = strategy && strcmp(strategy, "wrapped") == 0;
    int clean;

    if (is_wrapped && facts_bool(ctx->facts, "packing") != 1 && is_padding_free(ctx->facts)) {
        evidence_setting(ctx, facts_setting(ctx->facts, "padding_free"));
        evidence_setting(ctx, facts_setting(ctx->facts, "packing_strategy"));
        add_fixes(ctx);
        return check_warn(ctx, CONFIDENCE_LIKELY, "wrapped",
                          "padding_free with packing_strategy wrapped: samples are joined without a border");
    }
    if (is_wrapped && ctx->facts->run.kind == KIND_SFT && !ctx->facts->kind_is_assumed &&
        !is_plain_text(ctx->facts)) {
        evidence_setting(ctx, facts_setting(ctx->facts, "packing_strategy"));
        add_fixes(ctx);
        return check_fail(ctx, CONFIDENCE_STRONG, "wrapped",
                          "packing_strategy wrapped cuts and joins samples without a border");
    }
    if (is_flash(attention))
        return check_pass(ctx, CONFIDENCE_STRONG, "packing with %s keeps samples apart", attention);
    clean = has_clean_sdpa(ctx->facts);
    if (clean == 1)
        return check_pass(ctx, CONFIDENCE_LIKELY, "these versions build the mask from position_ids: "
                                                  "packing under %s is clean", attention ? attention
                                                                                         : "sdpa");
    if (attention && clean == 0) {
        evidence_setting(ctx, facts_setting(ctx->facts, "packing"));
        evidence_setting(ctx, facts_setting(ctx->facts, "attn_implementation"));
        add_fixes(ctx);
        return check_fail(ctx, CONFIDENCE_LIKELY, "attention",
                          "packing is on with attention %s, which lets samples attend to each other",
                          attention);
    }
    if (clean == 0) {
        evidence_setting(ctx, facts_setting(ctx->facts, "packing"));
        add_fixes(ctx);
        return check_warn(ctx, CONFIDENCE_POSSIBLE, "attention",
                          "packing is on and the attention kernel is not known");
    }
    return check_unknown(ctx, "pip_freeze.txt (the versions of transformers and trl): settings alone do "
                              "not tell whether packed samples are kept apart");
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct run_facts *facts = ctx->facts;
    const char *attention = facts_text(facts, "attn_implementation");

    (void)err;
    if (read_log(ctx)) {
        evidence_setting(ctx, facts_setting(facts, "packing"));
        evidence_setting(ctx, facts_setting(facts, "attn_implementation"));
        add_fixes(ctx);
        return OK;
    }
    if (facts_bool(facts, "packing") < 0 && facts_bool(facts, "neat_packing") < 0 &&
        !is_padding_free(facts))
        return check_unknown(ctx, "training_args.bin or the config (is packing on?)");
    if (is_llamafactory(facts))
        return judge_llamafactory(ctx);
    if (is_axolotl(facts) && attention)
        return check_pass(ctx, CONFIDENCE_STRONG, "axolotl's sample packing keeps samples apart with %s",
                          attention);
    return judge_strategy(ctx, facts_text(facts, "packing_strategy"), attention);
}

const struct check check_packing_cross_contamination = {
    .id = "packing-cross-contamination",
    .version = 2,
    .stage = STAGE_SUPERVISED,
    .severity = SEVERITY_MISLEADS,
    .title = "Packed samples do not attend to each other",
    .why = "Samples that see each other learn from the wrong context; the loss looks better than the "
           "model is.",
    .applies = applies,
    .run = run,
};
