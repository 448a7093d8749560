/* C0.4: does the longest batch fit? Many good steps and then an out-of-memory error is the form of
 * a few rows far longer than the others. */
#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/check.h"
#include "core/checks/needs.h"
#include "core/facts/memory_facts.h"
#include "core/facts/oom_events.h"

static void state_reason(struct check_ctx *ctx, const struct oom_event *oom)
{
    long long step = (long long)oom->step;
    double ratio = oom->p95 > 0.0 ? oom->max_length / oom->p95 : 0.0;

    if (oom->reason == OOM_BECAUSE_TAIL)
        check_fail(ctx, CONFIDENCE_STRONG, "tail",
                   "out of memory after %lld good steps; the longest row has %.0f tokens, %.1f "
                   "times the 95th percentile (%.0f)",
                   step, oom->max_length, ratio, oom->p95);
    else if (oom->reason == OOM_BECAUSE_BATCH)
        check_fail(ctx, CONFIDENCE_LIKELY, "batch",
                   "out of memory after %lld good steps, in a batch that by replay holds a row of "
                   "the longest 1 %% (%.0f tokens or more)",
                   step, oom->p99);
    else if (oom->reason == OOM_BECAUSE_GROUPED)
        check_fail(ctx, CONFIDENCE_LIKELY, "grouped",
                   "out of memory after %lld good steps with rows grouped by length", step);
    else
        check_fail(ctx, CONFIDENCE_LIKELY, "form",
                   "out of memory in a training step after %lld good steps: the form of one batch "
                   "longer than the others",
                   step);
}

/* F21: how often a random batch holds such a row. */
static void show_chance(struct check_ctx *ctx)
{
    double batch = 0.0;

    if (!facts_number(ctx->facts, "per_device_train_batch_size", &batch) || batch < 1.0)
        return;
    double chance = 1.0 - pow(0.99, batch);
    evidence_number(ctx, chance, NAN,
                    "a random batch of %.0f rows holds one of the longest 1 %% with a chance of "
                    "%.4f",
                    batch, chance);
}

static void show_lengths(struct check_ctx *ctx, const struct oom_event *oom)
{
    const struct dataset *dataset = NULL;
    size_t n = 0;

    if (oom->max_length <= 0.0) {
        check_info(ctx, "import the dataset and tokenizer, or lengths.csv, to see the batch");
        return;
    }
    (void)facts_lengths(ctx->facts, &n, &dataset);
    struct evidence *e =
        evidence_add(ctx, "dataset", "token lengths of %zu rows: p95 %.0f, p99 %.0f, max %.0f", n,
                     oom->p95, oom->p99, oom->max_length);
    if (dataset)
        e->source_id = dataset->source_id;
    if (oom->n_batch > 0)
        evidence_add(ctx, "dataset",
                     "rows of the step by replay: %lld and %zu more, not confirmed "
                     "by a logged value",
                     (long long)oom->batch[0], oom->n_batch - 1);
    show_chance(ctx);
}

static bool groups_by_length(const struct run_facts *facts)
{
    const char *strategy = facts_text(facts, "train_sampling_strategy");

    return facts_bool(facts, "group_by_length") == 1 ||
           (strategy && strcmp(strategy, "group_by_length") == 0);
}

static void advise(struct check_ctx *ctx, const struct oom_event *oom)
{
    struct memory_facts memory;

    memory_facts_read(ctx->facts, &memory);
    const char *limit = memory.dialect == DIALECT_LLAMAFACTORY ? "cutoff_len"
                        : memory.dialect == DIALECT_AXOLOTL    ? "sequence_len"
                                                               : "max_length";
    double capacity = oom->capacity > 0.0 ? oom->capacity : memory.ladder.capacity;
    double fits = capacity > 0.0 ? memory_longest_sequence(&memory.shape, &memory.settings, 1.0,
                                                           0.90 * capacity)
                                 : 0.0;
    if (fits >= 64.0)
        check_fix(ctx, "cap %s at %.0f: the longest that fits by the estimate", limit,
                  64.0 * floor(fits / 64.0));
    else
        check_fix(ctx, "cap %s at the length that fits", limit);
    if (oom->p99 > 0.0)
        check_fix(ctx, "drop or split the rows above %.0f tokens (the 99th percentile)", oom->p99);
    else
        check_fix(ctx, "drop or split the few rows above the 99th percentile");
    if (!groups_by_length(ctx->facts))
        check_fix(ctx, memory.dialect == DIALECT_TRANSFORMERS
                           ? "train_sampling_strategy=\"group_by_length\" (older: "
                             "group_by_length=True), so that the longest batch comes first"
                           : "group_by_length: true, so that the longest batch comes first");
    check_fix(ctx, "micro batch down, accumulation up by the same factor");
    check_fix(ctx, "chunked or fused cross-entropy (liger, cut_cross_entropy)");
    check_fix(ctx, "run the longest batch first to prove it");
}

static int judge_quiet_run(struct check_ctx *ctx, const struct oom_events *events)
{
    const struct run_facts *facts = ctx->facts;

    if (facts->run.outcome == OUTCOME_FINISHED)
        return check_pass(ctx, CONFIDENCE_CERTAIN, "the run finished, so its longest batch fitted");
    if (facts->last_epoch >= 1.0)
        return check_pass(ctx, CONFIDENCE_STRONG,
                          "a whole epoch passed, so every row was in a batch once");
    if (groups_by_length(facts) && facts->last_step >= 3)
        return check_pass(ctx, CONFIDENCE_STRONG,
                          "the longest batch comes first and the first steps passed");
    if (facts_bool(facts, "packing") == 1 && facts->last_step >= 3)
        return check_pass(ctx, CONFIDENCE_STRONG,
                          "packed rows are all equally long, and steps passed");
    if (events->n > 0)
        return check_unknown(ctx, "a run that gets past the out-of-memory error at step %lld",
                             (long long)events->events[events->n - 1].step);
    if (!(needs_met(facts) & NEEDS_LOG))
        return check_unknown(ctx, "%s", need_hint(NEEDS_LOG));
    return check_unknown(ctx, "the log up to the end of the run: it stops before every row was "
                              "in a batch");
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct oom_events events;

    (void)err;
    oom_events_read(ctx->facts, ctx->arena, &events);
    const struct oom_event *oom = oom_events_first(&events, OOM_LONGEST);
    if (!oom)
        return judge_quiet_run(ctx, &events);
    state_reason(ctx, oom);
    check_begins(ctx, oom->step);
    evidence_event(ctx, oom->event);
    show_lengths(ctx, oom);
    evidence_setting(ctx, facts_setting(ctx->facts, "max_length"));
    evidence_setting(ctx, facts_setting(ctx->facts, "group_by_length"));
    evidence_setting(ctx, facts_setting(ctx->facts, "per_device_train_batch_size"));
    if (groups_by_length(ctx->facts))
        check_info(ctx, "rows are grouped by length only within large blocks: a later block can "
                        "hold a longer batch than the first");
    advise(ctx, oom);
    return OK;
}

const struct check check_oom_longest_sequence = {
    .id = "oom-longest-sequence",
    .version = 1,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_BLOCKS,
    .title = "The longest batch fits into memory",
    .why = "One row far longer than the others ends a run hours after its start, and the settings "
           "that seemed to fit are not the reason.",
    .run = run,
};
