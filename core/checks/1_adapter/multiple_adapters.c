/* multiple-adapters (CHECKS.md C1.4): is one adapter applied, once? A model that was adapted before keeps
 * its first adapter below the second, and what is merged and loaded again counts twice. */
#include <string.h>

#include "core/checks/adapter_evidence.h"
#include "core/checks/adapter_serving.h"
#include "core/checks/registry.h"
#include "core/facts/adapter_facts.h"

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "a full fine-tune: there is no adapter";
    return facts_is_adapter_run(facts, NULL) != 0 || facts_count_events(facts, "multiple-adapters") > 0;
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "load a fresh base for each checkpoint");
    check_fix(ctx, "model.unload(), or model.delete_adapter(name), before the next one");
    check_fix(ctx, "give the trainer a PeftModel or a peft_config, not both");
}

static bool is_loading(const struct event *event)
{
    return event->pattern && strcmp(event->pattern, "llf-loaded-adapters") == 0;
}

/* The lines in their order, with what was loaded between them. */
static size_t by_messages(struct check_ctx *ctx)
{
    const struct event *event = NULL, *first = NULL;
    size_t n = 0;

    while ((event = facts_event(ctx->facts, NULL, event))) {
        bool is_fault = strcmp(event->kind, "multiple-adapters") == 0;

        if (!is_fault && !is_loading(event))
            continue;
        if (is_fault && n++ == 0) {
            first = event;
            check_begins(ctx, event->step);
        }
        if (is_fault)
            evidence_event(ctx, event);
    }
    if (first)
        (void)check_fail(ctx, CONFIDENCE_CERTAIN, "message",
                         "an adapter was put on a model that had one already, %zu time%s (first %s:%lld): "
                         "results after the first load are not what they say", n, n == 1 ? "" : "s",
                         facts_file_name(ctx->facts, first->source_id), (long long)first->line);
    return n;
}

/* Saved by a model that was wrapped twice. */
static void by_names(struct check_ctx *ctx)
{
    const struct artefact *adapter = adapter_of_run(ctx->facts);
    struct adapter_facts facts;

    if (!adapter || !adapter_facts_read(ctx->facts, adapter, ctx->arena, &facts) ||
        !facts.is_wrapped_twice)
        return;
    evidence_add(ctx, "artefact", "%s: %s", artefact_shown(ctx->facts, adapter),
                 facts.n_pairs ? facts.pairs[0].module : facts.others[0]->name)
        ->source_id = adapter->source_id;
    (void)check_fail(ctx, CONFIDENCE_STRONG, "names",
                     "the adapter was saved from a model that was wrapped twice: its keys begin with "
                     "base_model.model.base_model.model");
}

/* A log that covers the loading of a model: without one the lines may stand elsewhere. */
static bool log_covers_loading(const struct run_facts *facts)
{
    for (size_t i = 0; i < facts->n_events; i++) {
        const char *pattern = facts->events[i].pattern;

        if (pattern && (strncmp(pattern, "trainable-params", 16) == 0 || is_loading(&facts->events[i])))
            return true;
    }
    return facts_event(facts, "start-marker", NULL) != NULL;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    (void)err;
    (void)by_messages(ctx);
    by_names(ctx);
    serving_applies_several(ctx);
    if (check_verdict(ctx) >= VERDICT_WARN) {
        add_fixes(ctx);
        return OK;
    }
    if (log_covers_loading(ctx->facts))
        return check_pass(ctx, CONFIDENCE_LIKELY, "the log covers the loading and names no second adapter");
    return check_unknown(ctx, "the log from where the model and its adapter are loaded");
}

const struct check check_multiple_adapters = {
    .id = "multiple-adapters",
    .version = 1,
    .stage = STAGE_ADAPTER,
    .severity = SEVERITY_MISLEADS,
    .title = "One adapter is applied, once",
    .why = "A second adapter on the same base does not replace the first: outputs are those of both.",
    .applies = applies,
    .run = run,
};
