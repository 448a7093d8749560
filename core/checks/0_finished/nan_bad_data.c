/* nan-bad-data (CHECKS.md C0.17): is a row degenerate, an empty answer for example? The importer
 * flags the rows; here they meet the non-finite values. */
#include <string.h>

#include "core/checks/registry.h"
#include "core/facts/onset.h"

enum { ROWS_SHOWN = 12 };

struct degenerate {
    int64_t n_rows, n_read, n_bad;
    const struct dataset *dataset; /* the first one with a bad row */
    int64_t rows[ROWS_SHOWN];
    const struct dataset *of[ROWS_SHOWN];
    uint32_t flags[ROWS_SHOWN];
};

static bool is_text_rows(const struct dataset *dataset)
{
    return !dataset->form ||
           (strcmp(dataset->form, "tokens") != 0 && strcmp(dataset->form, "lengths") != 0);
}

static uint32_t badness(const struct run_facts *facts, const struct sample *sample)
{
    uint32_t flags = sample->flags & (SAMPLE_EMPTY_ANSWER | SAMPLE_EMPTY_PROMPT);

    /* Prompts without an answer are what reinforcement learning reads. */
    if (facts->run.kind == KIND_SFT)
        flags |= sample->flags & SAMPLE_NO_ASSISTANT;
    if (facts->run.kind == KIND_GRPO || facts->run.kind == KIND_PPO)
        flags &= ~(uint32_t)SAMPLE_EMPTY_ANSWER;
    if (sample->n_tokens == 0 && !(sample->flags & SAMPLE_ESTIMATED))
        flags |= SAMPLE_EMPTY_ANSWER;
    return flags;
}

static void count(const struct run_facts *facts, struct degenerate *d)
{
    for (size_t i = 0; i < facts->n_datasets; i++) {
        const struct dataset *dataset = &facts->datasets[i];
        size_t n = 0;
        if (!is_text_rows(dataset))
            continue;
        const struct sample *samples = facts_samples(facts, dataset, &n);
        d->n_rows += dataset->n_rows > 0 ? dataset->n_rows : (int64_t)n;
        d->n_read += (int64_t)n;
        for (size_t k = 0; k < n; k++) {
            uint32_t flags = badness(facts, &samples[k]);
            if (!flags)
                continue;
            if (d->n_bad < ROWS_SHOWN) {
                d->rows[d->n_bad] = (int64_t)k;
                d->of[d->n_bad] = dataset;
                d->flags[d->n_bad] = flags;
            }
            if (d->n_bad++ == 0)
                d->dataset = dataset;
        }
    }
}

static const char *what(uint32_t flags)
{
    if (flags & SAMPLE_EMPTY_ANSWER)
        return "the text that is trained on is empty";
    if (flags & SAMPLE_NO_ASSISTANT)
        return "there is no assistant turn";
    return "the prompt is empty";
}

static void show(struct check_ctx *ctx, const struct degenerate *d)
{
    for (int64_t i = 0; i < d->n_bad && i < ROWS_SHOWN; i++) {
        struct evidence *e =
            evidence_add(ctx, "dataset", "row %lld: %s", (long long)d->rows[i], what(d->flags[i]));
        e->source_id = d->of[i]->source_id;
        e->row = d->rows[i];
    }
    evidence_number(ctx, (double)d->n_bad / (double)d->n_read, 0.001,
                    "%lld of %lld rows are degenerate", (long long)d->n_bad, (long long)d->n_read);
    check_fix(ctx, "drop these rows");
    check_fix(ctx, "repair the step that exported them");
    check_fix(ctx, "start again from the last finite checkpoint");
}

/* Is a degenerate row in the batches of the onset? NONE: the rows cannot be named. */
static int64_t replayed_row(struct check_ctx *ctx, const struct run_onset *onset)
{
    struct onset_rows rows;
    size_t n = 0;
    int64_t from = onset->last_finite_step == NONE ? 0 : onset->last_finite_step;

    onset_replay(ctx->facts, ctx->arena, from, onset->first_bad_step, &rows);
    if (!rows.is_named) {
        check_info(ctx, "the rows of the onset's batches cannot be named: %s", rows.why_not);
        return NONE;
    }
    const struct sample *samples = facts_samples(ctx->facts, rows.dataset, &n);
    for (size_t i = 0; i < rows.n_rows; i++) {
        int64_t row = rows.rows[i];
        if (row < 0 || (size_t)row >= n || !badness(ctx->facts, &samples[row]))
            continue;
        struct evidence *e = evidence_add(ctx, "dataset",
                                          "row %lld lies in the batches of the "
                                          "onset (replay of the sampler)",
                                          (long long)row);
        e->source_id = rows.dataset->source_id;
        e->row = row;
        e->step = onset->first_bad_step;
        return row;
    }
    return NONE;
}

static int with_nan(struct check_ctx *ctx, const struct degenerate *d,
                    const struct run_onset *onset)
{
    int64_t row = replayed_row(ctx, onset);

    evidence_point(ctx, onset->curve, onset->first_bad, "%s is non-finite", onset->curve->name);
    show(ctx, d);
    check_begins(ctx, NONE);
    if (row != NONE)
        return check_fail(ctx, CONFIDENCE_STRONG, "replayed",
                          "%lld of %lld rows are degenerate, and row %lld is in the batches before "
                          "%s where %s becomes non-finite",
                          (long long)d->n_bad, (long long)d->n_read, (long long)row,
                          onset_place(onset, ctx->arena), onset->curve->name);
    return check_fail(ctx, CONFIDENCE_LIKELY, "",
                      "%lld of %lld rows are degenerate (first: row %lld of %s), and %s is "
                      "non-finite from %s on",
                      (long long)d->n_bad, (long long)d->n_read, (long long)d->rows[0],
                      facts_file_name(ctx->facts, d->dataset->source_id), onset->curve->name,
                      onset_place(onset, ctx->arena));
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct degenerate d = {.dataset = NULL};
    struct run_onset onset;

    (void)err;
    count(ctx->facts, &d);
    if (d.n_read == 0)
        return check_unknown(ctx, "%s", need_hint(NEEDS_DATASET));
    onset_training(ctx->facts, ctx->arena, &onset);
    if (!onset.found)
        onset_eval(ctx->facts, ctx->arena, &onset);
    if (d.n_bad > 0 && onset.found)
        return with_nan(ctx, &d, &onset);
    if (d.n_bad >= 5 || 1000 * d.n_bad >= d.n_read) {
        if (d.n_bad > 0) {
            show(ctx, &d);
            return check_warn(ctx, CONFIDENCE_LIKELY, "no-nan",
                              "%lld of %lld rows are degenerate (first: row %lld of %s)",
                              (long long)d.n_bad, (long long)d.n_read, (long long)d.rows[0],
                              facts_file_name(ctx->facts, d.dataset->source_id));
        }
    }
    if (d.n_read < d.n_rows)
        return check_unknown(ctx, "all rows of the data: %lld of %lld were read",
                             (long long)d.n_read, (long long)d.n_rows);
    return check_pass(ctx, CONFIDENCE_CERTAIN, "%lld rows, %lld degenerate", (long long)d.n_read,
                      (long long)d.n_bad);
}

const struct check check_nan_bad_data = {
    .id = "nan-bad-data",
    .version = 1,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_BLOCKS,
    .title = "No row is degenerate",
    .why = "An empty answer leaves nothing to average over, and a broken export rarely breaks one "
           "row only.",
    .run = run,
};
