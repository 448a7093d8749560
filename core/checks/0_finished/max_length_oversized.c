/* C0.6: is the length limit far above the data? It costs only where rows are padded up to it, or
 * where memory ran out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/facts/memory_facts.h"
#include "core/facts/oom_events.h"
#include "core/stats/robust.h"

struct lengths {
    size_t n;
    double p50, p95, p99, max, sum;
    const struct dataset *dataset;
};

static bool read_lengths(struct check_ctx *ctx, struct lengths *out)
{
    size_t n = 0;
    const struct sample *samples = facts_lengths(ctx->facts, &n, &out->dataset);
    double *tokens = samples ? arena_array(ctx->arena, n + 1, sizeof *tokens) : NULL;

    for (size_t i = 0; tokens && i < n; i++) {
        if (samples[i].n_tokens < 0)
            continue;
        tokens[out->n++] = samples[i].n_tokens;
        out->sum += samples[i].n_tokens;
    }
    if (out->n == 0)
        return false;
    out->p50 = stat_quantile(tokens, out->n, 0.50);
    out->p95 = stat_quantile(tokens, out->n, 0.95);
    out->p99 = stat_quantile(tokens, out->n, 0.99);
    out->max = stat_quantile(tokens, out->n, 1.0);
    return true;
}

/* Share of padding tokens when every row is padded to the limit; 0 with dynamic padding. */
static double padded_share(const struct run_facts *facts, const struct lengths *lengths,
                           double limit, const struct setting **decided)
{
    double multiple = 0.0;
    const struct setting *padding = facts_setting(facts, "padding");
    const char *text = padding ? padding->value : NULL;

    if (facts_bool(facts, "packing") == 1)
        return 0.0;
    bool is_padded = text && strcmp(text, "max_length") == 0;
    *decided = padding;
    if (!is_padded && facts_bool(facts, "pad_to_max_length") == 1) {
        is_padded = true;
        *decided = facts_setting(facts, "pad_to_max_length");
    }
    if (!is_padded && facts_number(facts, "pad_to_multiple_of", &multiple)) {
        is_padded = multiple >= limit;
        *decided = facts_setting(facts, "pad_to_multiple_of");
    }
    return is_padded ? 1.0 - fmin(1.0, lengths->sum / ((double)lengths->n * limit)) : 0.0;
}

static void advise(struct check_ctx *ctx, const struct lengths *lengths, double limit)
{
    struct memory_facts memory;
    struct memory_estimate now, then;
    double proposal = 64.0 * ceil(lengths->p99 / 64.0);
    size_t n = 0, cut = 0;
    const struct sample *samples = facts_lengths(ctx->facts, &n, NULL);

    for (size_t i = 0; i < n; i++)
        cut += samples[i].n_tokens > proposal;
    memory_facts_read(ctx->facts, &memory);
    memory.settings.sequence = limit;
    memory_estimate(&memory.shape, &memory.settings, &now);
    memory.settings.sequence = proposal;
    memory_estimate(&memory.shape, &memory.settings, &then);
    if (now.is_known && then.is_known)
        check_fix(ctx,
                  "max_length %.0f (p99 rounded up to 64): cuts %zu of %zu rows, saves about "
                  "%.1f GiB",
                  proposal, cut, lengths->n, (now.peak_bytes - then.peak_bytes) / 1073741824.0);
    else
        check_fix(ctx, "max_length %.0f (p99 rounded up to 64): cuts %zu of %zu rows", proposal,
                  cut, lengths->n);
}

static bool ran_out_of_memory(struct check_ctx *ctx)
{
    struct oom_events events;

    oom_events_read(ctx->facts, ctx->arena, &events);
    return oom_events_first(&events, OOM_LONGEST) || oom_events_first(&events, OOM_TRAIN);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct setting *setting = facts_setting(ctx->facts, "max_length"), *padding = NULL;
    struct lengths lengths = {0};
    double limit = 0.0;

    (void)err;
    bool has_lengths = read_lengths(ctx, &lengths);
    if (!has_lengths)
        check_unknown(ctx, "the token lengths of the training rows (lengths.csv)");
    if (!setting_number(setting, &limit) || limit <= 0.0)
        check_unknown(ctx, "the length limit (max_length, cutoff_len, sequence_len)");
    if (!has_lengths || limit <= 0.0)
        return OK;
    if (lengths.p95 > 0.5 * limit)
        return check_pass(ctx, CONFIDENCE_CERTAIN,
                          "the 95th percentile of %zu rows is %.0f tokens, more than half of the "
                          "limit %.0f",
                          lengths.n, lengths.p95, limit);
    double padded = padded_share(ctx->facts, &lengths, limit, &padding);
    bool is_oom = ran_out_of_memory(ctx);
    if (!is_oom && padded <= 0.5) {
        check_info(ctx, "dynamic padding or packing makes a high limit cheap: p95 %.0f of %.0f",
                   lengths.p95, limit);
        return check_pass(
            ctx, CONFIDENCE_STRONG,
            "the limit %.0f is far above the rows (p95 %.0f) but nothing is lost by it", limit,
            lengths.p95);
    }
    if (is_oom)
        check_warn(
            ctx, CONFIDENCE_STRONG, "out-of-memory",
            "the limit is %.0f tokens, the 95th percentile of the rows %.0f, and the run ran "
            "out of memory",
            limit, lengths.p95);
    else
        check_warn(ctx, CONFIDENCE_STRONG, "padding",
                   "every row is padded to %.0f tokens while the 95th percentile is %.0f: %.0f %% "
                   "of the tokens are padding",
                   limit, lengths.p95, 100.0 * padded);
    evidence_setting(ctx, setting);
    evidence_setting(ctx, padding);
    struct evidence *e =
        evidence_add(ctx, "dataset",
                     "token lengths of %zu rows: p50 %.0f, p95 %.0f, p99 %.0f, max "
                     "%.0f",
                     lengths.n, lengths.p50, lengths.p95, lengths.p99, lengths.max);
    if (lengths.dataset)
        e->source_id = lengths.dataset->source_id;
    advise(ctx, &lengths, limit);
    return OK;
}

const struct check check_max_length_oversized = {
    .id = "max-length-oversized",
    .version = 2,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_WASTES,
    .title = "The length limit is not far above the data",
    .why = "A limit far above the rows lets a few outliers, or the padding, decide how much memory "
           "a step needs.",
    .run = run,
};
