/* Logged completions for stage P. See preference_completions.h. */
#include "core/checks/preference_completions.h"

#include <math.h>
#include <string.h>

/* ---- As curves ---- */

static double value_of(const struct completion_step *step, enum completions_curve what)
{
    if (what == COMPLETIONS_WORDS)
        return step->words;
    return step->n_groups ? (double)step->n_dead / (double)step->n_groups : NAN;
}

static int64_t first_source(const struct run_facts *facts)
{
    for (size_t i = 0; i < facts->n_sources; i++)
        if (facts->sources[i].importer && strcmp(facts->sources[i].importer, "completions") == 0)
            return facts->sources[i].id;
    return 0;
}

bool completions_values(struct check_ctx *ctx, enum completions_curve what, struct values *out)
{
    static const char *const NAMES[] = {"frac_reward_zero_std", "completions/mean_words"};
    const struct completions *completions = facts_completions(ctx->facts);
    size_t n = completions ? completions->n_steps : 0;
    struct curve *curve = arena_alloc(ctx->arena, sizeof *curve);
    double *y = arena_array(ctx->arena, n + 1, sizeof *y);
    int64_t *step = arena_array(ctx->arena, n + 1, sizeof *step),
            *seq = arena_array(ctx->arena, n + 1, sizeof *seq);
    int32_t *segment = arena_array(ctx->arena, n + 1, sizeof *segment);

    *out = (struct values){.at = arena_array(ctx->arena, n + 1, sizeof *out->at)};
    if (!curve || !y || !step || !seq || !segment || !out->at)
        return false;
    for (size_t i = 0; i < n; i++) {
        double value = value_of(&completions->steps[i], what);
        if (!isfinite(value))
            continue;
        out->at[out->n] = out->n;
        y[out->n] = value;
        segment[out->n] = 0;
        step[out->n] = seq[out->n] = completions->steps[i].step;
        out->n++;
    }
    *curve = (struct curve){.name = NAMES[what],
                            .source_id = first_source(ctx->facts),
                            .n = out->n,
                            .value = y,
                            .step = step,
                            .seq = seq,
                            .segment = segment,
                            .n_segments = 1};
    out->curve = curve;
    out->y = y;
    return out->n > 0;
}

bool completions_sum(struct check_ctx *ctx, struct completion_sums *out)
{
    const struct completions *completions = facts_completions(ctx->facts);

    *out = (struct completion_sums){.first_step = NONE, .last_step = NONE};
    for (size_t i = 0; completions && i < completions->n_steps; i++) {
        const struct completion_step *step = &completions->steps[i];

        if (step->n_groups == 0)
            continue;
        out->n_groups += step->n_groups;
        out->n_dead += step->n_dead;
        out->n_wrong += step->n_wrong;
        out->n_right += step->n_right;
        out->n_grouped += step->n_grouped;
        out->n_dead_rows += step->n_dead_rows;
        out->first_step = out->first_step == NONE ? step->step : out->first_step;
        out->last_step = step->step;
    }
    return out->n_groups > 0;
}

/* ---- Phrases ---- */

static const char *gain_of(struct check_ctx *ctx, const struct completion_phrase *phrase)
{
    if (isnan(phrase->gain))
        return "no prompt has completions with it and without";
    return arena_printf(ctx->arena, "reward %+.3g with it (%lld of %lld prompts)", phrase->gain,
                        (long long)phrase->n_gain_up, (long long)phrase->n_gain);
}

static const char *sentence(struct check_ctx *ctx, const struct completion_phrase *phrase)
{
    return arena_printf(ctx->arena, "\"%s\" in %.2g %% of the completions at first (%lld), %.3g %% "
                                    "at last (%lld), %.3g times; %s",
                        phrase->text, 100.0 * phrase->first, (long long)phrase->n_first,
                        100.0 * phrase->last, (long long)phrase->n_last, phrase->times,
                        gain_of(ctx, phrase));
}

void completions_show_phrases(struct check_ctx *ctx, size_t most)
{
    const struct completions *completions = facts_completions(ctx->facts);

    if (!completions || completions->last.n == 0)
        return;
    for (size_t i = 0; i < completions->n_phrases && i < most; i++) {
        struct evidence *e = evidence_add(ctx, "number", "%s", sentence(ctx, &completions->phrases[i]));

        e->source_id = first_source(ctx->facts);
        e->step = completions->last.first_step;
        e->last_step = completions->last.last_step;
    }
    check_info(ctx, "phrases: %lld of %lld tested rise with the reward beyond chance (steps %lld to "
                    "%lld against %lld to %lld; Fisher's test on %lld and %lld prompts, p times the "
                    "phrases tested below 0.05)",
               (long long)completions->n_inflated, (long long)completions->n_tested,
               (long long)completions->last.first_step, (long long)completions->last.last_step,
               (long long)completions->first.first_step, (long long)completions->first.last_step,
               (long long)completions->last.n_groups, (long long)completions->first.n_groups);
}

void completions_note_phrase(struct check_ctx *ctx)
{
    const struct completions *completions = facts_completions(ctx->facts);

    if (completions && completions->n_phrases)
        check_info(ctx, "the most inflated phrase: %s", sentence(ctx, &completions->phrases[0]));
}

/* ---- One answer to all ---- */

static bool is_one(int64_t n, int64_t n_prompts)
{
    return n_prompts >= 5 && 2 * n >= n_prompts;
}

const char *completions_alike(struct check_ctx *ctx, bool *is_same_text, bool *is_old)
{
    const struct completions *completions = facts_completions(ctx->facts);

    *is_same_text = *is_old = false;
    if (!completions)
        return NULL;
    const struct completion_alike *first = &completions->first.alike, *last = &completions->last.alike;
    int64_t n = last->n_same >= last->n_opening ? last->n_same : last->n_opening;
    if (!is_one(n, last->n_prompts))
        return NULL;
    *is_same_text = is_one(last->n_same, last->n_prompts);
    *is_old = is_one(*is_same_text ? first->n_same : first->n_opening, first->n_prompts);
    n = *is_same_text ? last->n_same : last->n_opening;
    return *is_old ? NULL
                   : arena_printf(ctx->arena, "%lld of %lld completions to different prompts",
                                  (long long)n, (long long)last->n_prompts);
}
