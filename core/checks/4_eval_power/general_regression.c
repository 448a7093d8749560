/* C4.3: did a frozen suite of general ability fall? Each general suite is tested against the base by
 * its items where both sides have them, else by Newcombe's interval of the two shares. */
#include <math.h>
#include <string.h>

#include "core/checks/suite_evidence.h"

static const double WARN_DROP = 0.05; /* points that are worth a word although n.s. */

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "an earlier checkpoint");
    check_fix(ctx, "fewer epochs");
    check_fix(ctx, "a lower learning rate");
    check_fix(ctx, "LoRA instead of a full fine-tune");
    check_fix(ctx, "5 to 20 %% general data mixed in");
}

/* The largest fall among those marked; NULL marks: the lowest difference of all general suites. */
static const struct eval_pair *worst_of(const struct eval_pair *pairs, size_t n, const bool *marks)
{
    const struct eval_pair *worst = NULL;

    for (size_t i = 0; i < n; i++)
        if (pairs[i].is_general && !pairs[i].is_variant && !pairs[i].why_not && (!marks || marks[i]) &&
            (!worst || pairs[i].d < worst->d))
            worst = &pairs[i];
    return worst;
}

/* One filter lost what another still finds: the form of the answers changed, not what is known. */
static void state_form(struct check_ctx *ctx, const struct eval_pair *pairs, size_t n,
                       const struct eval_pair *worst)
{
    size_t length = strlen(worst->candidate->suite);

    for (size_t i = 0; i < n; i++)
        if (pairs[i].is_variant && !pairs[i].why_not && !pair_fell(&pairs[i]) &&
            pairs[i].d > 0.5 * worst->d &&
            strcmp(pairs[i].candidate->model, worst->candidate->model) == 0 &&
            strncmp(pairs[i].candidate->suite, worst->candidate->suite, length) == 0)
            evidence_add(ctx, "number", "%s did not fall (%+.1f points): the form of the answers may have "
                                        "changed rather than what the model can do",
                         pairs[i].candidate->suite, 100.0 * pairs[i].d);
}

static int state_fall(struct check_ctx *ctx, const struct eval_pair *worst, size_t n_falls)
{
    add_fixes(ctx);
    if (worst->candidate->step != NONE)
        check_begins(ctx, worst->candidate->step);
    return check_fail(ctx, worst->p < 0.01 ? CONFIDENCE_STRONG : CONFIDENCE_LIKELY, "",
                      "%s fell from %.1f %% to %.1f %% (%lld items, 95 %% of the difference: %.1f to "
                      "%.1f points)%s",
                      worst->candidate->suite, 100.0 * worst->p_base, 100.0 * worst->p_candidate,
                      (long long)worst->n_candidate, 100.0 * worst->interval.low,
                      100.0 * worst->interval.high, n_falls > 1 ? ", and other suites too" : "");
}

static int state_level(struct check_ctx *ctx, const struct eval_pair *pairs, size_t n)
{
    const struct eval_pair *worst = worst_of(pairs, n, NULL);
    double visible = 0.0;

    if (worst->d <= -WARN_DROP) {
        add_fixes(ctx);
        return check_warn(ctx, CONFIDENCE_POSSIBLE, "not-significant",
                          "%s fell from %.1f %% to %.1f %%, which %lld items cannot tell from chance "
                          "(they show %.1f points or more)",
                          worst->candidate->suite, 100.0 * worst->p_base,
                          100.0 * worst->p_candidate, (long long)worst->n_candidate,
                          100.0 * eval_visible(worst));
    }
    for (size_t i = 0; i < n; i++)
        if (pairs[i].is_general && !pairs[i].is_variant && !pairs[i].why_not)
            visible = fmax(visible, eval_visible(&pairs[i]));
    return check_pass(ctx, CONFIDENCE_LIKELY,
                      "no general suite fell; a drop of %.1f points or more would have been seen",
                      100.0 * visible);
}

/* What cannot be compared leaves the answer open. */
static void state_open(struct check_ctx *ctx, const struct eval_pair *pairs, size_t n)
{
    const struct run_facts *facts = ctx->facts;

    for (size_t i = 0; i < n; i++)
        if (pairs[i].is_general && !pairs[i].is_variant && pairs[i].why_not)
            check_unknown(ctx, "%s of both models from the same suite: %s", pairs[i].candidate->suite,
                          pairs[i].why_not);
    for (size_t i = 0; i < facts->n_eval_suites; i++) {
        const struct eval_suite *own = &facts->eval_suites[i];
        bool has_pair = false;

        if (!eval_suite_is_general(facts, own->suite) || eval_suite_is_variant(facts, own))
            continue;
        for (size_t k = 0; k < n; k++)
            has_pair |= pairs[k].base == own || pairs[k].candidate == own ||
                        (pairs[k].is_general &&
                         str_is_ignoring_case(str_of(pairs[k].candidate->suite), own->suite));
        if (!has_pair)
            check_unknown(ctx, "%s of the %s model", own->suite,
                          eval_model_is_base(facts, own->model) ? "fine-tuned" : "base");
    }
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct eval_pair *pairs = NULL;
    size_t n = 0;

    if (!eval_pairs_read(ctx->facts, ctx->arena, &pairs, &n))
        return error_set(err, E_NOMEM, "no memory for the suites of an evaluation");
    bool *falls = arena_array(ctx->arena, n + 1, sizeof *falls);
    if (!falls)
        return error_set(err, E_NOMEM, "no memory for the suites of an evaluation");
    size_t n_falls = general_falls(pairs, n, falls);
    for (size_t i = 0; i < n; i++)
        if (pairs[i].is_general && !pairs[i].is_variant) {
            evidence_pair(ctx, &pairs[i]);
            evidence_variants(ctx, pairs, n, &pairs[i]);
            evidence_basis(ctx, &pairs[i]);
        }
    state_open(ctx, pairs, n);
    if (n_falls > 0) {
        state_form(ctx, pairs, n, worst_of(pairs, n, falls));
        return state_fall(ctx, worst_of(pairs, n, falls), n_falls);
    }
    if (worst_of(pairs, n, NULL))
        return state_level(ctx, pairs, n);
    if (check_verdict(ctx) == VERDICT_UNKNOWN)
        return OK;
    return check_unknown(ctx, "a retention suite: results of the base and the fine-tuned model on general "
                              "items (retention.jsonl)");
}

const struct check check_general_regression = {
    .id = "general-regression",
    .version = 3,
    .stage = STAGE_EVAL_POWER,
    .severity = SEVERITY_MISLEADS,
    .title = "The frozen retention suite did not fall",
    .why = "Without a suite of general items a loss of what the model could do before reaches its "
           "users first.",
    .run = run,
};
