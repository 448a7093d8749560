/* A candidate beside its base, as evidence. */
#include "core/checks/suite_evidence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/stats/paired.h"

enum { MAX_TESTS = 512 };
static const double OLD_ABILITY = 0.5, FAR = 0.20;

void evidence_pair(struct check_ctx *ctx, const struct eval_pair *pair)
{
    char range[96] = "", flips[96] = "";

    if (isfinite(pair->interval.low))
        (void)snprintf(range, sizeof range, " (95 %%: %+.1f to %+.1f)", 100.0 * pair->interval.low,
                       100.0 * pair->interval.high);
    if (pair->is_paired && pair->is_binary)
        (void)snprintf(flips, sizeof flips, "; %lld items lost, %lld gained", (long long)pair->lost,
                       (long long)pair->gained);
    struct evidence *e = evidence_add(
        ctx, "number", "%s: %s %s, %s %s, %+.1f points%s%s", pair->candidate->suite,
        pair->base->model, eval_reached(pair->base, ctx->arena), pair->candidate->model,
        eval_reached(pair->candidate, ctx->arena), 100.0 * pair->d, range, flips);
    e->source_id = pair->candidate->source_id;
    e->line = pair->candidate->line;
    e->value = 100.0 * pair->d;
    e->has_value = true;
    e->bound = 0.0;
    e->has_bound = true;
}

size_t general_falls(const struct eval_pair *pairs, size_t n, bool *falls)
{
    double p[MAX_TESTS] = {0};
    bool rejects[MAX_TESTS] = {false};
    size_t n_falls = 0;

    n = n < MAX_TESTS ? n : MAX_TESTS;
    for (size_t i = 0; i < n; i++)
        p[i] = pairs[i].is_general && !pairs[i].why_not ? pairs[i].p : NAN;
    holm(p, n, rejects);
    for (size_t i = 0; i < n; i++) {
        falls[i] = rejects[i] && pair_fell(&pairs[i]);
        n_falls += falls[i];
    }
    return n_falls;
}

bool pair_rose(const struct eval_pair *pair)
{
    return !pair->why_not && pair->d > 0.0 && pair->interval.low > 0.0;
}

bool pair_fell(const struct eval_pair *pair)
{
    return !pair->why_not && pair->d < 0.0 && pair->interval.high < 0.0;
}

static bool is_same_candidate(const struct eval_pair *a, const struct eval_pair *b)
{
    return strcmp(a->candidate->model, b->candidate->model) == 0 &&
           a->candidate->step == b->candidate->step;
}

const struct eval_pair *gain_beside(const struct eval_pair *pairs, size_t n,
                                    const struct eval_pair *fall)
{
    const struct eval_pair *best = NULL;

    for (size_t i = 0; i < n; i++)
        if (&pairs[i] != fall && pair_rose(&pairs[i]) && !pairs[i].is_general &&
            is_same_candidate(&pairs[i], fall) && (!best || pairs[i].d > best->d))
            best = &pairs[i];
    return best;
}

bool pair_is_old_ability(const struct eval_pair *pairs, size_t n, const struct eval_pair *pair)
{
    for (size_t i = 0; i < n; i++)
        if (pairs[i].is_general)
            return false;
    return pair_fell(pair) && pair->p_base >= OLD_ABILITY && pair->d <= -FAR &&
           gain_beside(pairs, n, pair);
}
