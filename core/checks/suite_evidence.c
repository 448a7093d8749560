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

static struct evidence *of_candidate(struct evidence *e, const struct eval_pair *pair)
{
    e->source_id = pair->candidate->source_id;
    e->line = pair->candidate->line;
    return e;
}

/* Counted as wrong, what has no result may take the difference away. */
static void evidence_missing(struct check_ctx *ctx, const struct eval_pair *pair)
{
    const struct eval_suite *base = pair->base, *own = pair->candidate;
    long long before = (long long)eval_missing(base), after = (long long)eval_missing(own);
    const char *as_wrong = "";

    if (before == 0 && after == 0)
        return;
    if (eval_suite_counts(own) && eval_suite_counts(base)) {
        double d = own->n_correct / (double)own->n_items - base->n_correct / (double)base->n_items;
        as_wrong = arena_printf(ctx->arena, "; counted as wrong they leave %+.1f points", 100.0 * d);
    }
    (void)of_candidate(evidence_add(ctx, "number",
                                    "%s: %lld items of %s and %lld of %s have no result (NaN, null) and are "
                                    "left out%s",
                                    own->suite, before, base->model, after, own->model,
                                    as_wrong ? as_wrong : ""),
                       pair);
}

static void evidence_items(struct check_ctx *ctx, const struct eval_pair *pair)
{
    long long n_base = (long long)pair->base->n, n_own = (long long)pair->candidate->n;
    long long n = (long long)pair->n_candidate;

    if (pair->is_paired && (n < n_base || n < n_own))
        (void)of_candidate(evidence_add(ctx, "number",
                                        "%s: %lld items have a result of both, of %lld and %lld: the others "
                                        "are left out",
                                        pair->candidate->suite, n, n_base, n_own),
                           pair);
    else if (!pair->is_paired && pair->base->n_items > 0 && pair->candidate->n_items > 0)
        (void)of_candidate(evidence_add(ctx, "number",
                                        "%s: hardly any item is in both results (%lld and %lld items): "
                                        "compared as two samples",
                                        pair->candidate->suite, n_base, n_own),
                           pair);
    if (pair->is_paired && pair->n_groups != NONE)
        (void)of_candidate(evidence_add(ctx, "number",
                                        "%s: the %lld results are of %lld groups of items that go together; "
                                        "the interval is of the groups",
                                        pair->candidate->suite, n, (long long)pair->n_groups),
                           pair);
    else if (!pair->is_paired && isfinite(pair->n_alone))
        (void)of_candidate(evidence_add(ctx, "number",
                                        "%s: items go together in groups or repeat: those of one side tell "
                                        "as much as %.0f independent ones, which the interval is of",
                                        pair->candidate->suite, pair->n_alone),
                           pair);
}

static void evidence_spread(struct check_ctx *ctx, const struct eval_suite *suite,
                            const struct eval_spread *runs, double d)
{
    struct evidence *e;

    if (runs->n < 2)
        return;
    e = evidence_add(ctx, "number",
                     "%s: %zu runs of %s with other seeds reach %.1f to %.1f %% (SD %.1f points), beside a "
                     "difference of %+.1f",
                     suite->suite, runs->n, suite->model, 100.0 * runs->low, 100.0 * runs->high,
                     100.0 * runs->sd, 100.0 * d);
    e->source_id = suite->source_id;
    e->line = suite->line;
}

void evidence_basis(struct check_ctx *ctx, const struct eval_pair *pair)
{
    evidence_missing(ctx, pair);
    evidence_items(ctx, pair);
    evidence_spread(ctx, pair->base, &pair->base_runs, pair->d);
    evidence_spread(ctx, pair->candidate, &pair->candidate_runs, pair->d);
    if (pair->temperature > 0.0 && (pair->base_runs.n < 2 || pair->candidate_runs.n < 2))
        (void)of_candidate(evidence_number(ctx, pair->temperature, 0.0,
                                           "%s was sampled at temperature %.3g, one run a model: the next "
                                           "run differs; run at temperature 0, or with 5 seeds each",
                                           pair->candidate->suite, pair->temperature),
                           pair);
}

void evidence_variants(struct check_ctx *ctx, const struct eval_pair *pairs, size_t n,
                       const struct eval_pair *of)
{
    size_t length = strlen(of->candidate->suite);

    for (size_t i = 0; i < n; i++)
        if (pairs[i].is_variant && !pairs[i].why_not &&
            strcmp(pairs[i].candidate->model, of->candidate->model) == 0 &&
            pairs[i].candidate->step == of->candidate->step &&
            strncmp(pairs[i].candidate->suite, of->candidate->suite, length) == 0 &&
            strncmp(pairs[i].candidate->suite + length, " (", 2) == 0)
            evidence_pair(ctx, &pairs[i]);
}

size_t general_falls(const struct eval_pair *pairs, size_t n, bool *falls)
{
    double p[MAX_TESTS] = {0};
    bool rejects[MAX_TESTS] = {false};
    size_t n_falls = 0;

    n = n < MAX_TESTS ? n : MAX_TESTS;
    for (size_t i = 0; i < n; i++)
        p[i] = pairs[i].is_general && !pairs[i].is_variant && !pairs[i].why_not ? pairs[i].p : NAN;
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
            !pairs[i].is_variant && is_same_candidate(&pairs[i], fall) && (!best || pairs[i].d > best->d))
            best = &pairs[i];
    return best;
}

bool pair_is_old_ability(const struct eval_pair *pairs, size_t n, const struct eval_pair *pair)
{
    for (size_t i = 0; i < n; i++)
        if (pairs[i].is_general)
            return false;
    return pair_fell(pair) && !pair->is_variant && pair->p_base >= OLD_ABILITY && pair->d <= -FAR &&
           gain_beside(pairs, n, pair);
}
