/* C0.2: was the GPU free when the run started? An out-of-memory error at step 0 or 1 says nothing
 * about the batch as long as something else holds the memory. */
#include <string.h>

#include "core/base/number.h"
#include "core/checks/check.h"
#include "core/facts/oom_events.h"

/* What others hold: capacity − free − this process. */
static void show_balance(struct check_ctx *ctx, const struct oom_event *oom)
{
    double own = oom->own > 0.0 ? oom->own : oom->allocated;
    char total[32], others[32], mine[32];

    if (oom->capacity <= 0.0 || own <= 0.0)
        return;
    double held = oom->capacity - oom->free - own;
    number_bytes(total, oom->capacity);
    number_bytes(others, held > 0.0 ? held : 0.0);
    number_bytes(mine, own);
    evidence_number(ctx, own, 0.25 * oom->capacity,
                    "of %s, this process held %s and something else %s", total, mine, others);
}

static void advise(struct check_ctx *ctx, const struct oom_event *oom)
{
    check_fix(ctx, "del trainer, model; gc.collect(); torch.cuda.empty_cache()");
    check_fix(ctx, "restart the kernel or the process: empty_cache often does not help");
    if (oom->other_pid)
        check_fix(ctx, "end process %s if it is yours", oom->other_pid);
    else
        check_fix(ctx, "look at nvidia-smi and end the process that holds the memory, if it is "
                       "yours");
    check_fix(ctx, "only then tune the batch");
}

static void state_held(struct check_ctx *ctx, const struct oom_event *oom)
{
    char size[32], total[32];

    number_bytes(total, oom->capacity);
    switch (oom->reason) {
    case OOM_BECAUSE_OTHER_PROCESS:
        number_bytes(size, oom->others);
        check_fail(ctx, CONFIDENCE_CERTAIN, "other-process",
                   "out of memory at step %lld while process %s held %s of %s",
                   (long long)oom->step, oom->other_pid, size, total);
        break;
    case OOM_BECAUSE_LITTLE_OWN:
        number_bytes(size, oom->own > 0.0 ? oom->own : oom->allocated);
        check_fail(ctx, CONFIDENCE_STRONG, "little-own",
                   "out of memory at step %lld although this process held only %s of %s and "
                   "nothing was free",
                   (long long)oom->step, size, total);
        break;
    case OOM_BECAUSE_EARLIER_RUN:
        check_fail(ctx, CONFIDENCE_STRONG, "earlier-run",
                   "out of memory at step %lld, after an earlier training finished in the same "
                   "output (line %lld) and kept its memory",
                   (long long)oom->step, (long long)oom->earlier_end->line);
        evidence_event(ctx, oom->earlier_end);
        break;
    case OOM_BECAUSE_BARE:
        check_warn(ctx, CONFIDENCE_POSSIBLE, "bare-message",
                   "the driver refused memory at step 0 without any figures: most often another "
                   "process holds it");
        break;
    case OOM_BECAUSE_ORDINARY:
    case OOM_BECAUSE_MARKER:
    case OOM_BECAUSE_FRAME:
    case OOM_BECAUSE_TAIL:
    case OOM_BECAUSE_BATCH:
    case OOM_BECAUSE_GROUPED:
    case OOM_BECAUSE_FORM:
        break;
    }
}

static bool begins_at_start(const struct run_facts *facts)
{
    const struct curve *loss = facts_curve(facts, "loss");

    return facts_event(facts, "start-marker", NULL) || facts_event(facts, "eval-marker", NULL) ||
           facts_event(facts, "last-progress", NULL) || (loss && loss->n > 0);
}

/* An error at the start whose figures leave out what this process held: it may be (b). */
static const struct oom_event *undecided(const struct oom_events *events)
{
    for (size_t i = 0; i < events->n; i++) {
        const struct oom_event *oom = &events->events[i];
        if (oom->class == OOM_TRAIN && oom->step <= 1 && oom->own <= 0.0 && oom->allocated <= 0.0)
            return oom;
    }
    return NULL;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct oom_events events;

    (void)err;
    oom_events_read(ctx->facts, ctx->arena, &events);
    const struct oom_event *oom = oom_events_first(&events, OOM_HELD);
    if (oom) {
        state_held(ctx, oom);
        check_begins(ctx, oom->step);
        evidence_event(ctx, oom->event);
        show_balance(ctx, oom);
        advise(ctx, oom);
        return OK;
    }
    if (oom_events_first(&events, OOM_RETRIED))
        check_info(ctx, "an out-of-memory error was retried at a smaller batch");
    if (undecided(&events)) {
        evidence_event(ctx, undecided(&events)->event);
        return check_unknown(ctx,
                             "nvidia-smi as it was at the start: the out-of-memory error at "
                             "step %lld does not say what this process held",
                             (long long)undecided(&events)->step);
    }
    if (!begins_at_start(ctx->facts))
        return check_unknown(ctx, "the console log from the start of the run");
    return check_pass(ctx, CONFIDENCE_STRONG,
                      events.n > 0
                          ? "what ran out of memory was this process's own"
                          : "the log begins at the start and holds no out-of-memory error");
}

const struct check check_oom_memory_held = {
    .id = "oom-memory-held",
    .version = 1,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_BLOCKS,
    .title = "GPU memory was free when the run started",
    .why = "Memory that an earlier run or another process still holds makes any batch fail: time "
           "spent on batch sizes is lost until it is free.",
    .needs = NEEDS_LOG,
    .run = run,
};
