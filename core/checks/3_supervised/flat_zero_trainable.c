/* flat-zero-trainable (CHECKS.md C3.1): does anything train at all? By the count that the log
 * prints, by gradients, by the adapter's tensors. A small count is right: 0.06 % is LoRA. */
#include <math.h>
#include <string.h>

#include "core/checks/registry.h"
#include "core/facts/trainable.h"

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "nothing was trained";
    return !(facts->run.marks & MARK_EVAL_ONLY);
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "print the module names, then set target_modules to real suffixes or "
                   "\"all-linear\" (LLaMA-Factory lora_target: all, axolotl lora_target_linear: true)");
    check_fix(ctx, "do not freeze a PeftModel that is passed to the trainer; load an adapter with "
                   "is_trainable=True");
    check_fix(ctx, "call model.train() and requires_grad_(True) after the model is wrapped");
}

static bool has_gradient(const struct run_facts *facts, size_t *rows)
{
    const struct curve *gradient = facts_curve(facts, "grad_norm");

    *rows = 0;
    for (size_t i = 0; gradient && i < gradient->n; i++)
        *rows += isfinite(gradient->value[i]) && gradient->value[i] > 0.0;
    return *rows > 0;
}

/* An adapter file that was saved without tensors. */
static const struct artefact *empty_adapter(const struct run_facts *facts)
{
    for (size_t i = 0; i < facts->n_artefacts; i++) {
        const struct artefact *artefact = &facts->artefacts[i];
        const struct source *source = facts_source(facts, artefact->source_id);
        size_t n;

        if (strcmp(artefact->kind, "adapter") != 0 || !source || source->state != SOURCE_WHOLE)
            continue;   /* what cannot be read is not empty */
        if (!strstr(source->path, "adapter_model"))
            continue;
        (void)facts_tensors(facts, artefact, &n);
        if (n == 0)
            return artefact;
    }
    return NULL;
}

static int without_banner(struct check_ctx *ctx)
{
    const struct run_facts *facts = ctx->facts;
    const struct artefact *adapter = trained_adapter(facts), *empty;
    struct lora_b count;
    size_t rows;

    if (has_gradient(facts, &rows))
        return check_pass(ctx, CONFIDENCE_CERTAIN,
                          "grad_norm is above 0 on %zu rows: gradients reach trainable weights", rows);
    if (adapter) {
        lora_b_count(facts, adapter, &count);
        if (count.n_measured > count.n_zero)
            return check_pass(ctx, CONFIDENCE_CERTAIN,
                              "%zu of %zu lora_B tensors of the saved adapter are not zero",
                              count.n_measured - count.n_zero, count.n);
    }
    empty = empty_adapter(facts);
    if (empty) {
        struct evidence *e = evidence_add(ctx, "artefact", "an adapter file without tensors");

        e->source_id = empty->source_id;
        add_fixes(ctx);
        return check_warn(ctx, CONFIDENCE_POSSIBLE, "empty-file",
                          "the adapter file holds no tensors, and nothing shows that any weight trained");
    }
    return check_unknown(ctx, "the console log from its start (the line \"trainable params: …\"), or "
                              "the adapter's weights");
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct trainable_banner banner;
    struct targets targets;
    double expected;

    (void)err;
    trainable_banner(ctx->facts, &banner);
    if (!banner.event)
        return without_banner(ctx);
    targets_read(ctx->facts, ctx->arena, &targets);
    expected = lora_expected(ctx->facts, &targets);
    evidence_event(ctx, banner.event);
    if (banner.trainable > 0.0)
        return check_pass(ctx, CONFIDENCE_CERTAIN, "%.0f trainable parameters at start-up",
                          banner.trainable);
    evidence_setting(ctx, targets.setting);
    if (expected > 0.0)
        evidence_number(ctx, 0.0, expected, "expected %.0f parameters from rank and targets (F10)",
                        expected);
    add_fixes(ctx);
    return check_fail(ctx, CONFIDENCE_CERTAIN, "", "0 parameters train: the log counts none");
}

const struct check check_flat_zero_trainable = {
    .id = "flat-zero-trainable",
    .version = 1,
    .stage = STAGE_SUPERVISED,
    .severity = SEVERITY_BLOCKS,
    .title = "Some parameters train",
    .why = "With every weight frozen the run costs time and changes nothing, and the loss only "
           "wobbles with the batches.",
    .applies = applies,
    .run = run,
};
