/* C0.3: do evaluation and generation fit? Evaluation has its own batch size, and predictions pile
 * up on the GPU, so a training that fits says nothing about it. */
#include <string.h>

#include "core/base/number.h"
#include "core/checks/check.h"
#include "core/checks/needs.h"
#include "core/facts/memory_facts.h"
#include "core/facts/oom_events.h"

static void show_settings(struct check_ctx *ctx)
{
    const struct setting *batch = facts_setting(ctx->facts, "per_device_eval_batch_size");
    const struct setting *moved = facts_setting(ctx->facts, "eval_accumulation_steps");

    evidence_setting(ctx, batch);
    if (!batch)
        evidence_setting(ctx, facts_setting(ctx->facts, "per_device_train_batch_size"));
    if (!batch)
        check_info(ctx, "per_device_eval_batch_size is not set: transformers takes 8, whatever "
                        "the training batch is (axolotl copies micro_batch_size)");
    evidence_setting(ctx, moved);
    if (!moved || moved->type == VALUE_NULL)
        check_info(ctx, "eval_accumulation_steps is not set: predictions stay on the GPU until "
                        "the evaluation ends");
    evidence_setting(ctx, facts_setting(ctx->facts, "predict_with_generate"));
}

static void show_peak(struct check_ctx *ctx)
{
    struct memory_facts memory;
    struct memory_estimate estimate;
    char total[32], predictions[32], cache[32], logits[32];

    memory_facts_read(ctx->facts, &memory);
    memory_estimate(&memory.shape, &memory.settings, &estimate);
    if (!estimate.is_known)
        return;
    const struct memory_parts *parts = &estimate.phases[PHASE_EVALUATION];
    number_bytes(total, parts->total);
    number_bytes(predictions, parts->predictions);
    number_bytes(cache, parts->kv_cache);
    number_bytes(logits, parts->logits);
    evidence_number(ctx, parts->total, memory.ladder.capacity,
                    "estimated evaluation peak %s: KV cache %s, logits %s, predictions %s", total,
                    cache, logits, predictions);
}

static void advise(struct check_ctx *ctx)
{
    bool is_axolotl = facts_dialect(ctx->facts) == DIALECT_AXOLOTL;

    check_fix(ctx, "set %s explicitly, lower than now",
              is_axolotl ? "eval_batch_size" : "per_device_eval_batch_size");
    check_fix(ctx, "prediction_loss_only=True, or preprocess_logits_for_metrics that keeps the "
                   "argmax only");
    check_fix(ctx, "eval_accumulation_steps (moves the predictions to host memory)");
    check_fix(ctx, "batch_eval_metrics=True");
    check_fix(ctx, "lower max_new_tokens or fewer beams, or predict_with_generate=False");
}

static int state_oom(struct check_ctx *ctx, const struct oom_event *oom)
{
    char asked[32];

    number_bytes(asked, oom->asked);
    if (oom->eval_frame)
        check_fail(ctx, CONFIDENCE_CERTAIN, "frame", "out of memory inside %s%s%s at step %lld",
                   oom->eval_frame, oom->asked > 0.0 ? ", asking for " : "",
                   oom->asked > 0.0 ? asked : "", (long long)oom->step);
    else
        check_fail(ctx, CONFIDENCE_STRONG, "marker",
                   "out of memory after an evaluation had begun (line %lld)%s%s at step %lld",
                   (long long)oom->marker->line, oom->asked > 0.0 ? ", asking for " : "",
                   oom->asked > 0.0 ? asked : "", (long long)oom->step);
    check_begins(ctx, oom->step);
    evidence_event(ctx, oom->event);
    if (oom->marker)
        evidence_event(ctx, oom->marker);
    show_settings(ctx);
    show_peak(ctx);
    advise(ctx);
    return OK;
}

static bool is_off(const struct run_facts *facts)
{
    const char *strategy = facts_text(facts, "eval_strategy");

    if (strategy)
        return strcmp(strategy, "no") == 0;
    return facts_bool(facts, "do_eval") == 0;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct run_facts *facts = ctx->facts;
    struct oom_events events;
    size_t n_losses = 0;

    (void)err;
    oom_events_read(facts, ctx->arena, &events);
    const struct oom_event *oom = oom_events_first(&events, OOM_EVAL);
    if (oom)
        return state_oom(ctx, oom);
    size_t n_rows = facts_count_events(facts, "eval-row");
    (void)facts_eval_losses(facts, &n_losses);
    if (n_rows > 0 || n_losses > 0)
        return check_pass(ctx, CONFIDENCE_CERTAIN,
                          "an evaluation finished and no out-of-memory error lies in one");
    if (is_off(facts))
        return check_pass(ctx, CONFIDENCE_STRONG, "evaluation is off");
    if (facts->run.outcome == OUTCOME_FINISHED)
        return check_pass(ctx, CONFIDENCE_STRONG, "the run finished without an evaluation");
    if (!(needs_met(facts) & NEEDS_LOG))
        return check_unknown(ctx, "%s", need_hint(NEEDS_LOG));
    return check_unknown(ctx, "the log of an evaluation, or the evaluation strategy in the "
                              "training arguments");
}

const struct check check_oom_eval = {
    .id = "oom-eval",
    .version = 1,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_BLOCKS,
    .title = "Evaluation and generation fit into GPU memory",
    .why = "Evaluation has a batch size of its own and keeps its predictions: it can run out of "
           "memory although training fits.",
    .run = run,
};
