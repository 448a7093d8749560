/* C0.5: does a training step fit? What no other check of the family claims, with the ladder of
 * CHECKS.md section 6 as its advice. */
#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/check.h"
#include "core/facts/memory_facts.h"
#include "core/facts/oom_events.h"
#include "core/stats/robust.h"

static void show_figures(struct check_ctx *ctx, const struct oom_event *oom)
{
    char capacity[32], allocated[32], reserved[32], available[32];

    if (oom->capacity <= 0.0)
        return;
    number_bytes(capacity, oom->capacity);
    number_bytes(allocated, oom->allocated);
    number_bytes(reserved, oom->reserved);
    number_bytes(available, oom->free);
    evidence_number(ctx, oom->allocated + oom->asked, oom->capacity,
                    "allocated %s, reserved %s, free %s of %s",
                    oom->allocated > 0.0 ? allocated : "not stated",
                    oom->reserved > 0.0 ? reserved : "not stated", available, capacity);
}

static bool is_fragmented(const struct oom_event *oom)
{
    return oom->capacity > 0.0 && oom->allocated > 0.0 &&
           oom->reserved - oom->allocated > 0.20 * oom->capacity;
}

static void show_split(struct check_ctx *ctx, const struct memory_facts *memory)
{
    struct memory_estimate estimate;
    char total[32], weights[32], gradients[32], optimiser[32], activations[32], logits[32];

    memory_estimate(&memory->shape, &memory->settings, &estimate);
    if (!estimate.is_known) {
        check_info(ctx, "import the base model's config.json to see what a step needs");
        return;
    }
    const struct memory_parts *p = &estimate.phases[estimate.peak];
    number_bytes(total, p->total);
    number_bytes(weights, p->weights);
    number_bytes(gradients, p->gradients);
    number_bytes(optimiser, p->optimiser);
    number_bytes(activations, p->activations);
    number_bytes(logits, p->logits);
    evidence_number(ctx, p->total, memory->ladder.capacity,
                    "estimated peak %s (%s): weights %s, gradients %s, optimiser %s, activations "
                    "%s, logits %s",
                    total, memory_phase_name(estimate.peak), weights, gradients, optimiser,
                    activations, logits);
}

static void say_rung(struct check_ctx *ctx, const struct rung *rung, double estimate)
{
    char size[32];

    number_bytes(size, estimate);
    if (estimate > 0.0)
        check_fix(ctx, "%s (%s): estimated peak %s; %s", rung->change, rung->setting, size,
                  rung->price);
    else
        check_fix(ctx, "%s (%s); %s", rung->change, rung->setting, rung->price);
}

/* The single rung that is enough first, else the shortest prefix, then the others in order. */
static void climb(struct check_ctx *ctx, struct memory_facts *memory, const struct oom_event *oom)
{
    struct ladder ladder;

    if (oom->capacity > 0.0)
        memory->ladder.capacity = oom->capacity;
    memory->ladder.measured = oom->allocated > 0.0 ? oom->allocated + oom->asked : 0.0;
    oom_ladder(&memory->shape, &memory->settings, &memory->ladder, memory->dialect, &ladder);
    if (ladder.scale != 1.0)
        check_info(ctx,
                   "the estimates are scaled by %.2f, since the error states another size "
                   "than the formula gives",
                   ladder.scale);
    ptrdiff_t single = ladder.proposal_is_single ? ladder.proposal : -1;
    if (single >= 0)
        say_rung(ctx, &ladder.rungs[single], ladder.rungs[single].alone);
    for (size_t i = 0; i < ladder.n; i++)
        if ((ptrdiff_t)i != single && !ladder.rungs[i].is_taken)
            say_rung(ctx, &ladder.rungs[i],
                     single >= 0 ? ladder.rungs[i].alone : ladder.rungs[i].estimate);
}

/* Allocated memory that grows step by step is a leak, not a batch. */
static void look_for_leak(struct check_ctx *ctx)
{
    static const char *const NAMES[] = {"memory/max_allocated", "memory/max_mem_allocated(gib)",
                                        "memory/max_active (GiB)", "memory(GiB)", "gpu_memory"};
    struct slope slope;

    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++) {
        const struct curve *curve = facts_curve(ctx->facts, NAMES[k]);
        double *x = curve && curve->n >= 10 ? arena_array(ctx->arena, curve->n, sizeof *x) : NULL;
        if (!x)
            continue;
        for (size_t i = 0; i < curve->n; i++)
            x[i] = (double)curve->step[i];
        double level = stat_median(curve->value, curve->n);
        if (stat_theil_sen(x, curve->value, curve->n, &slope) && level > 0.0 && slope.low > 0.0 &&
            100.0 * slope.slope / level > 0.005)
            check_info(ctx,
                       "%s grows by %.2g %% per 100 steps: memory leaks, a smaller batch only "
                       "delays the end",
                       NAMES[k], 1e4 * slope.slope / level);
    }
}

static int state_oom(struct check_ctx *ctx, const struct oom_event *oom)
{
    struct memory_facts memory;
    char asked[32], capacity[32];

    number_bytes(asked, oom->asked);
    number_bytes(capacity, oom->capacity);
    if (oom->asked > 0.0 && oom->capacity > 0.0)
        check_fail(ctx, CONFIDENCE_CERTAIN, "",
                   "out of memory in training at step %lld: %s asked of a GPU of %s",
                   (long long)oom->step, asked, capacity);
    else
        check_fail(ctx, CONFIDENCE_CERTAIN, "", "out of memory in training at step %lld",
                   (long long)oom->step);
    check_begins(ctx, oom->step);
    evidence_event(ctx, oom->event);
    show_figures(ctx, oom);
    evidence_setting(ctx, facts_setting(ctx->facts, "per_device_train_batch_size"));
    evidence_setting(ctx, facts_setting(ctx->facts, "gradient_checkpointing"));
    evidence_setting(ctx, facts_setting(ctx->facts, "max_length"));
    memory_facts_read(ctx->facts, &memory);
    show_split(ctx, &memory);
    if (is_fragmented(oom)) {
        check_info(ctx, "much memory is reserved but not allocated: it is fragmented");
        check_fix(ctx, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
    }
    look_for_leak(ctx);
    climb(ctx, &memory, oom);
    return OK;
}

static int state_ambiguous(struct check_ctx *ctx, const struct event *event)
{
    check_warn(ctx, CONFIDENCE_POSSIBLE, "cublas",
               "cuBLAS could not be created: the GPU memory is full, or a token id lies outside "
               "the embedding");
    check_begins(ctx, event->step);
    evidence_event(ctx, event);
    check_fix(ctx, "rerun with CUDA_LAUNCH_BLOCKING=1 or on the CPU: an index error means a token "
                   "id outside the embedding");
    check_fix(ctx, "look at nvidia-smi: with less than 5 %% free it is memory, then a smaller "
                   "micro batch");
    return OK;
}

static bool has_token_id_error(const struct run_facts *facts)
{
    for (const struct event *e = facts_event(facts, "vocab-mismatch", NULL); e;
         e = facts_event(facts, "vocab-mismatch", e))
        if (e->pattern && (strcmp(e->pattern, "assert-embedding-cuda") == 0 ||
                           strcmp(e->pattern, "index-out-of-range") == 0))
            return true;
    return false;
}

static int judge_quiet_run(struct check_ctx *ctx, const struct oom_events *events)
{
    const struct curve *loss = facts_curve(ctx->facts, "loss");
    const struct oom_event *retried = oom_events_first(events, OOM_RETRIED);

    if (oom_events_first(events, OOM_HELD))
        return check_unknown(ctx, "a run with the GPU memory free");
    if (retried) {
        const char *batch = event_capture(retried->retry, 1);
        if (retried->retry || facts_bool(ctx->facts, "auto_find_batch_size") == 1)
            check_info(ctx,
                       "an out-of-memory error was retried%s%s and training went on: the batch "
                       "that fitted",
                       *batch ? " at batch " : " at a smaller batch", batch);
        else
            check_info(ctx, "the log speaks of an out-of-memory error, and training went on");
        evidence_event(ctx, retried->event);
    }
    if ((!loss || loss->n == 0) && !ctx->facts->has_end_marker)
        return check_unknown(ctx, "the log of at least one training step");
    return check_pass(ctx, CONFIDENCE_STRONG, "training steps ran and none ran out of memory%s",
                      events->n > 0 && !retried ? " but where another check says so" : "");
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct oom_events events;

    (void)err;
    oom_events_read(ctx->facts, ctx->arena, &events);
    const struct oom_event *oom = oom_events_first(&events, OOM_TRAIN);
    if (oom)
        return state_oom(ctx, oom);
    if (events.ambiguous && events.n == 0 && !has_token_id_error(ctx->facts))
        return state_ambiguous(ctx, events.ambiguous);
    return judge_quiet_run(ctx, &events);
}

const struct check check_oom_train = {
    .id = "oom-train",
    .version = 1,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_BLOCKS,
    .title = "A training step fits into GPU memory",
    .why = "A step that needs more memory than the GPU has ends the run; what to change first "
           "depends on what fills it.",
    .needs = NEEDS_LOG,
    .run = run,
};
