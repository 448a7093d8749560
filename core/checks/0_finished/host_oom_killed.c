/* C0.7: was the process killed, most often for host memory? SIGKILL leaves no traceback; the
 * kernel, the launcher or the shell says it in one line. */
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/check.h"
#include "core/checks/needs.h"
#include "core/facts/oom_events.h"

static bool is_pattern(const struct event *event, const char *name)
{
    return event->pattern && strcmp(event->pattern, name) == 0;
}

static bool is_nine(const char *text)
{
    return strcmp(text, "-9") == 0 || strcmp(text, "137") == 0 || strcmp(text, "9") == 0;
}

/* The line itself says SIGKILL or memory. -2, -15 and their kin are other ends. */
static bool is_kill(const struct event *event)
{
    if (is_pattern(event, "deepspeed-return-code") || is_pattern(event, "elastic-failed"))
        return is_nine(event_capture(event, 1));
    if (is_pattern(event, "died-with-signal"))
        return strcmp(event_capture(event, 1), "SIGKILL") == 0;
    return true;
}

/* The kernel, the scheduler or the allocator names memory as the reason. */
static bool is_proof(const struct event *event)
{
    static const char *const NAMES[] = {"kernel-oom", "kernel-oom-cgroup", "oom-cpu-allocator",
                                        "slurm-oom-kill", "slurm-task-oom"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (is_pattern(event, NAMES[i]))
            return true;
    return false;
}

/* A GPU out-of-memory error before it in the same log is the cause of the death. */
static bool follows_gpu_oom(const struct oom_events *ooms, const struct event *event)
{
    for (size_t i = 0; i < ooms->n; i++)
        if (ooms->events[i].class != OOM_RETRIED &&
            ooms->events[i].event->source_id == event->source_id &&
            ooms->events[i].event->line < event->line)
            return true;
    return false;
}

static const struct event *find_kill(const struct run_facts *facts, const struct oom_events *ooms,
                                     const struct event **proof)
{
    static const char *const KINDS[] = {"host-oom-killed", "process-death"};
    const struct event *first = NULL;

    for (size_t k = 0; k < 2; k++) {
        for (const struct event *e = facts_event(facts, KINDS[k], NULL); e;
             e = facts_event(facts, KINDS[k], e)) {
            bool is_signal = k == 0 ? is_kill(e)
                             : is_pattern(e, "elastic-signal")
                                 ? strcmp(event_capture(e, 2), "SIGKILL") == 0
                                 : is_pattern(e, "slurm-task-exit") &&
                                       (strcmp(event_capture(e, 4), "Killed") == 0 ||
                                        is_nine(event_capture(e, 3)));
            if (!is_signal || follows_gpu_oom(ooms, e))
                continue;
            if (!first)
                first = e;
            if (!*proof && is_proof(e))
                *proof = e;
        }
    }
    return first;
}

static const struct event *last_marker(const struct run_facts *facts, const struct event *kill)
{
    const struct event *found = NULL;

    for (size_t i = 0; i < facts->n_events; i++) {
        const struct event *e = &facts->events[i];
        bool is_marker = strcmp(e->kind, "eval-marker") == 0 || strcmp(e->kind, "eval-row") == 0 ||
                         strcmp(e->kind, "start-marker") == 0 ||
                         strcmp(e->kind, "checkpoint-saved") == 0 ||
                         (e->pattern && strncmp(e->pattern, "resume-", 7) == 0);
        if (is_marker && e->source_id == kill->source_id && e->line < kill->line)
            found = e;
    }
    return found;
}

static void note_place(struct check_ctx *ctx, const struct event *kill)
{
    const struct event *marker = last_marker(ctx->facts, kill);

    if (!marker) {
        const struct curve *loss = facts_curve(ctx->facts, "loss");
        if (!loss || loss->n == 0)
            check_info(ctx, "nothing was trained before it: loading the model or the data");
        return;
    }
    evidence_event(ctx, marker);
    if (strncmp(marker->kind, "eval-", 5) == 0)
        check_info(ctx, "the last marker is an evaluation: predictions accumulate in host memory");
    else if (strcmp(marker->kind, "checkpoint-saved") == 0)
        check_info(ctx,
                   "the last marker is a save: the whole model may be gathered in host memory");
}

static void note_sizes(struct check_ctx *ctx, const struct event *kernel)
{
    char total[32], resident[32];
    double kib = 0.0, rss = 0.0;

    if (!number_parse(str_of(event_capture(kernel, 3)), &kib) ||
        !number_parse(str_of(event_capture(kernel, 4)), &rss))
        return;
    number_bytes(total, 1024.0 * kib);
    number_bytes(resident, 1024.0 * rss);
    evidence_number(ctx, 1024.0 * rss, 1024.0 * kib, "process %s (%s): resident %s, virtual %s",
                    event_capture(kernel, 1), event_capture(kernel, 2), resident, total);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct run_facts *facts = ctx->facts;
    const struct event *proof = NULL;
    struct oom_events ooms;

    (void)err;
    oom_events_read(facts, ctx->arena, &ooms);
    const struct event *kill = find_kill(facts, &ooms, &proof);
    if (!kill) {
        if (facts->run.outcome == OUTCOME_FINISHED)
            return check_pass(ctx, CONFIDENCE_CERTAIN, "the run came to its end");
        if (!(needs_met(facts) & NEEDS_LOG) ||
            (facts->run.outcome == OUTCOME_UNKNOWN && !facts->has_training_log &&
             facts->n_events == 0))
            return check_unknown(ctx, "the console log, or dmesg and the scheduler's output");
        /* A kill leaves no line in the log of the process itself. */
        if (facts->run.outcome == OUTCOME_STOPPED)
            return check_unknown(ctx, "dmesg or the scheduler's output: the log just stops");
        return check_pass(
            ctx, CONFIDENCE_STRONG,
            "no SIGKILL, exit code -9 or 137, or kernel out-of-memory line in the log");
    }
    if (proof)
        check_fail(ctx, CONFIDENCE_CERTAIN, "proven", "the process was ended for host memory: %s",
                   proof->text);
    else
        check_fail(ctx, CONFIDENCE_LIKELY, "signal",
                   "SIGKILL; most often host memory: no CUDA error stands before it");
    check_begins(ctx, kill->step != NONE ? kill->step : facts->last_step);
    evidence_event(ctx, kill);
    if (proof && proof != kill)
        evidence_event(ctx, proof);
    if (proof && strncmp(proof->pattern, "kernel-oom", 10) == 0)
        note_sizes(ctx, proof);
    note_place(ctx, kill);
    evidence_setting(ctx, facts_setting(facts, "offload_optimizer_device"));
    evidence_setting(ctx, facts_setting(facts, "offload_param_device"));
    evidence_setting(ctx, facts_setting(facts, "dataloader_num_workers"));
    check_fix(ctx, "fewer dataloader workers (dataloader_num_workers)");
    check_fix(ctx, "low_cpu_mem_usage=True, streaming or memory-mapped data");
    check_fix(ctx, "less CPU offload (DeepSpeed offload_optimizer, offload_param)");
    check_fix(ctx, "smaller shards at save (max_shard_size)");
    check_fix(ctx, "more host memory; look into dmesg for the kernel's line");
    return OK;
}

const struct check check_host_oom_killed = {
    .id = "host-oom-killed",
    .version = 1,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_BLOCKS,
    .title = "The process was not killed for host memory",
    .why = "A killed process leaves no traceback, and what is missing is host memory, not GPU "
           "memory: a smaller batch does not help.",
    .run = run,
};
