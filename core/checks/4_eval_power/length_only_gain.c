/* C4.2: is a judged gain explained by longer answers? The ratio of the lengths first, then the pairs of
 * about equal length, then the win rate at equal length (F18). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/facts/judgements.h"

static const double LONGER = 1.2;
enum { MIN_JUDGED = LENGTH_CONTROLLED_MIN, MIN_MATCHED = 20 };

/* How many times as long, and how often that won: a line for each bin that has any. */
static void show_lengths(struct check_ctx *ctx, const struct judged_pair *pair)
{
    struct length_bins bins = judged_length_bins(pair);
    int64_t most = 1;

    for (int i = 0; i < LENGTH_BINS; i++)
        most = bins.n[i] > most ? bins.n[i] : most;
    for (int i = 0; i < LENGTH_BINS; i++) {
        char range[32], bar[13] = "";
        size_t cells = (size_t)((12 * bins.n[i] + most - 1) / most);

        if (bins.n[i] == 0)
            continue;
        memset(bar, '#', cells);
        bar[cells] = '\0';
        if (i + 1 < LENGTH_BINS)
            snprintf(range, sizeof range, "%.1f-%.1fx", bins.from[i], bins.from[i + 1]);
        else
            snprintf(range, sizeof range, ">=%.1fx", bins.from[i]);
        (void)evidence_add(ctx, "number", "%-8s %-12s %lld, won %.0f %%", range, bar,
                           (long long)bins.n[i], 100.0 * bins.wins[i] / (double)bins.n[i]);
    }
}

static void show(struct check_ctx *ctx, const struct judged_pair *pair,
                 const struct length_controlled *controlled)
{
    struct evidence *e = evidence_number(ctx, pair->ratio, LONGER,
                                         "answers of %s are %.2f times as long as those of %s "
                                         "(mean %.0f and %.0f)",
                                         pair->candidate, pair->ratio, pair->base,
                                         pair->mean_candidate, pair->mean_base);
    e->source_id = pair->source_id;
    e->line = pair->line;
    show_lengths(ctx, pair);
    evidence_number(ctx, 100.0 * pair->rate, 50.0, "wins %.1f %% of %lld (95 %%: %.1f to %.1f)",
                    100.0 * pair->rate, (long long)pair->n, 100.0 * pair->interval.low,
                    100.0 * pair->interval.high);
    if (controlled)
        evidence_number(ctx, 100.0 * controlled->rate, 50.0,
                        "at equal length %.1f %% (95 %%: %.1f to %.1f)", 100.0 * controlled->rate,
                        100.0 * controlled->interval.low, 100.0 * controlled->interval.high);
    if (pair->n_matched > 0)
        evidence_number(ctx, 100.0 * pair->matched_wins / (double)pair->n_matched, 50.0,
                        "of %lld pairs whose lengths differ by at most 10 %% it wins %.3g (95 %%: "
                        "%.1f to %.1f %%)",
                        (long long)pair->n_matched, pair->matched_wins,
                        100.0 * pair->matched.low, 100.0 * pair->matched.high);
    evidence_add(ctx, "number", "for comparison: of 2,999 judged pairs of a public arena the longer "
                                "answer won 68.0 %%");
}

static int state_fail(struct check_ctx *ctx, const struct judged_pair *pair,
                      const struct length_controlled *controlled, bool matched_open)
{
    bool rate_open = controlled && controlled->interval.low <= 0.5;

    check_fix(ctx, "report the win rate at equal length beside the raw one");
    check_fix(ctx, "the same cap on the answers of both models (max_tokens)");
    check_fix(ctx, "preference data whose chosen and rejected answers are equally long");
    if (rate_open)
        return check_fail(ctx, matched_open ? CONFIDENCE_STRONG : CONFIDENCE_LIKELY, "",
                          "%s wins %.1f %% with answers %.2f times as long; at equal length it is "
                          "%.1f %% (95 %%: %.1f to %.1f)",
                          pair->candidate, 100.0 * pair->rate, pair->ratio, 100.0 * controlled->rate,
                          100.0 * controlled->interval.low, 100.0 * controlled->interval.high);
    return check_fail(ctx, CONFIDENCE_LIKELY, "",
                      "%s wins %.1f %% with answers %.2f times as long; of the %lld pairs of about "
                      "equal length it wins %.3g (95 %%: %.1f to %.1f %%)",
                      pair->candidate, 100.0 * pair->rate, pair->ratio, (long long)pair->n_matched,
                      pair->matched_wins, 100.0 * pair->matched.low, 100.0 * pair->matched.high);
}

static int state_long(struct check_ctx *ctx, const struct judged_pair *pair)
{
    struct length_controlled fit;
    const struct length_controlled *controlled = judged_controlled(pair, &fit) ? &fit : NULL;
    bool is_enough = pair->n_matched >= MIN_MATCHED;
    bool matched_open = is_enough && pair->matched.low <= 0.5;

    show(ctx, pair, controlled);
    if (matched_open || (controlled && controlled->interval.low <= 0.5))
        return state_fail(ctx, pair, controlled, matched_open);
    if (!is_enough) {
        check_fix(ctx, "the same cap on the answers of both models (max_tokens)");
        return check_warn(ctx, CONFIDENCE_POSSIBLE, "few-matched",
                          "%s wins %.1f %% with answers %.2f times as long, and only %lld pairs are "
                          "of about equal length",
                          pair->candidate, 100.0 * pair->rate, pair->ratio,
                          (long long)pair->n_matched);
    }
    return check_pass(ctx, CONFIDENCE_LIKELY,
                      "%s wins %.1f %%, at equal length %.1f %% (95 %%: %.1f to %.1f)",
                      pair->candidate, 100.0 * pair->rate, controlled ? 100.0 * controlled->rate : NAN,
                      controlled ? 100.0 * controlled->interval.low : NAN,
                      controlled ? 100.0 * controlled->interval.high : NAN);
}

static int state(struct check_ctx *ctx, const struct judged_pair *pair)
{
    if (pair->n_lengths < MIN_JUDGED)
        return check_unknown(ctx, "%d judgements of %s with the lengths of both answers (there are "
                                  "%lld)",
                             MIN_JUDGED, pair->candidate, (long long)pair->n_lengths);
    if (isnan(pair->n_alone))
        return check_unknown(ctx, "judgements of more than one question");
    if (!isfinite(pair->ratio))
        return check_unknown(ctx, "lengths of the base's answers above 0");
    if (pair->ratio < LONGER)
        return check_pass(ctx, CONFIDENCE_STRONG,
                          "answers of %s are %.2f times as long as those of %s, below %.1f",
                          pair->candidate, pair->ratio, pair->base, LONGER);
    if (pair->rate <= 0.5)
        return check_pass(ctx, CONFIDENCE_LIKELY,
                          "longer answers (%.2f times) that win no more often: %.1f %%", pair->ratio,
                          100.0 * pair->rate);
    return state_long(ctx, pair);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct judged_pair *pairs = NULL;
    size_t n = 0;

    if (!judged_pairs_read(ctx->facts, ctx->arena, &pairs, &n))
        return error_set(err, E_NOMEM, "no memory for judgements");
    for (size_t i = 0; i < n; i++)
        (void)state(ctx, &pairs[i]);
    return OK;
}

const struct check check_length_only_gain = {
    .id = "length-only-gain",
    .version = 3,
    .stage = STAGE_EVAL_POWER,
    .severity = SEVERITY_MISLEADS,
    .title = "The preference is not explained by length",
    .why = "Judges prefer longer answers: a model that only writes more looks better than it is.",
    .needs = NEEDS_JUDGEMENTS,
    .run = run,
};
