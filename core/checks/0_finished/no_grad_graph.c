/* no-grad-graph (CHECKS.md C0.8): the backward pass found no path to a trainable weight. The
 * warning about missing input gradients alone is not this: flat-no-grad reads it. */
#include <string.h>

#include "core/checks/registry.h"

static const struct event *find_error(const struct run_facts *facts)
{
    const struct event *event = NULL;

    while ((event = facts_event(facts, "no-grad-graph", event)))
        if (event->pattern && strcmp(event->pattern, "no-grad-graph") == 0)
            return event;
    return NULL;
}

static const struct event *find_frozen_count(const struct run_facts *facts)
{
    const struct event *event = NULL;

    while ((event = facts_event(facts, "flat-zero-trainable", event)))
        if (strcmp(event_capture(event, 1), "0") == 0)
            return event;
    return NULL;
}

static const struct event *find_warning(const struct run_facts *facts, const struct event *error)
{
    const struct event *event = NULL;

    while ((event = facts_event(facts, "no-grad-graph", event)))
        if (event->pattern && strcmp(event->pattern, "checkpoint-no-grad") == 0 &&
            event->source_id == error->source_id && event->line < error->line)
            return event;
    return NULL;
}

static const struct setting *quantisation(const struct run_facts *facts)
{
    if (facts_bool(facts, "load_in_4bit") == 1)
        return facts_setting(facts, "load_in_4bit");
    if (facts_bool(facts, "load_in_8bit") == 1)
        return facts_setting(facts, "load_in_8bit");
    return facts_setting(facts, "quantization_bit");
}

static const char *cause(const struct run_facts *facts, const struct event *frozen,
                         const struct event *warning)
{
    if (frozen)
        return "no parameter was trainable";
    if (warning || (facts_bool(facts, "gradient_checkpointing") == 1 &&
                    (facts_is_adapter_run(facts, NULL) == 1 || quantisation(facts))))
        return "checkpointing over a frozen base whose inputs require no gradient";
    return "the forward pass ran without gradients, for example under torch.no_grad";
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct run_facts *facts = ctx->facts;
    const struct event *error = find_error(facts);
    const struct curve *loss = facts_curve(facts, "loss");

    (void)err;
    if (!error && loss && loss->n > 0)
        return check_pass(ctx, CONFIDENCE_STRONG,
                          "no such error, and %zu training rows were logged", loss->n);
    if (!error)
        return check_unknown(ctx, "%s",
                             need_hint(facts->has_training_log ? NEEDS_TRAIN_SERIES : NEEDS_LOG));
    const struct event *frozen = find_frozen_count(facts);
    const struct event *warning = find_warning(facts, error);
    evidence_event(ctx, error);
    if (warning)
        evidence_event(ctx, warning);
    if (frozen)
        evidence_event(ctx, frozen);
    evidence_setting(ctx, facts_setting(facts, "gradient_checkpointing"));
    evidence_setting(ctx, quantisation(facts));
    check_fix(ctx, "call model.enable_input_require_grads() before training");
    check_fix(ctx, "for a quantised base: prepare_model_for_kbit_training(model)");
    check_fix(ctx, "gradient_checkpointing_kwargs={\"use_reentrant\": False}");
    check_fix(ctx, "turn gradient checkpointing off");
    return check_fail(ctx, CONFIDENCE_CERTAIN, frozen ? "nothing-trainable" : "",
                      "the loss is not connected to a trainable weight (%s:%lld): %s",
                      facts_file_name(facts, error->source_id), (long long)error->line,
                      cause(facts, frozen, warning));
}

const struct check check_no_grad_graph = {
    .id = "no-grad-graph",
    .version = 1,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_BLOCKS,
    .title = "The loss is connected to trainable weights",
    .why = "A backward pass that reaches no trainable weight stops the run at its first step.",
    .run = run,
};
