/* P.3: is the chosen column the better one? Told by scores that the rows carry, by a reference that
 * prefers the other side, or by a goal that the user stated. Lengths alone never tell it. */
#include <math.h>
#include <string.h>

#include "core/checks/preference_series.h"
#include "core/facts/preference_facts.h"
#include "core/stats/intervals.h"

enum { ENOUGH_SCORED = 20, ENOUGH_PAIRS = 100 };

static const double RED = 0.6, AMBER = 0.4, GOAL = 0.8, REFERENCE = 0.4;

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "not a run on pairs of answers";
    return facts->run.kind == KIND_DPO || facts->run.kind == KIND_REWARD_MODEL;
}

static void advise(struct check_ctx *ctx)
{
    check_fix(ctx, "swap the columns chosen and rejected");
    check_fix(ctx, "check the export that made the pairs: which side of its score is better");
}

static void show_rows(struct check_ctx *ctx, const struct preference_facts *pairs)
{
    for (size_t i = 0; i < pairs->n_rows; i++) {
        const struct preference_row *row = &pairs->rows[i];
        struct evidence *e = evidence_add(ctx, "dataset", "chosen scored %g, rejected scored %g",
                                          row->chosen, row->rejected);
        e->source_id = row->source_id;
        e->line = row->line;
        e->row = row->row;
    }
}

/* False: the rows have too few scores to tell. */
static bool judge_scores(struct check_ctx *ctx, const struct preference_facts *pairs)
{
    if (pairs->n_scored < ENOUGH_SCORED)
        return false;
    double share = (double)pairs->n_contradicting / (double)pairs->n_scored;
    long long k = pairs->n_contradicting, n = pairs->n_scored;
    if (share < AMBER) {
        check_pass(ctx, CONFIDENCE_CERTAIN,
                   "%s contradicts the columns in %lld of %lld rows (bound 40 %%)", pairs->score, k,
                   n);
        return true;
    }
    if (share >= RED)
        check_fail(ctx, CONFIDENCE_CERTAIN, "",
                   "%s says in %lld of %lld rows that the rejected answer is the better one",
                   pairs->score, k, n);
    else
        check_warn(ctx, CONFIDENCE_LIKELY, "",
                   "%s says in %lld of %lld rows that the rejected answer is the better one",
                   pairs->score, k, n);
    struct evidence *e = evidence_number(ctx, share, share >= RED ? RED : AMBER,
                                         "share of rows whose scores contradict the columns");
    e->source_id = pairs->source_id;
    show_rows(ctx, pairs);
    advise(ctx);
    return true;
}

/* The stated goal is one that the user confirmed: `:set goal shorter`. */
static bool judge_goal(struct check_ctx *ctx, const struct preference_facts *pairs)
{
    const char *goal = facts_answer(ctx->facts, "goal");
    bool wants_short = goal && strcmp(goal, "shorter") == 0,
         wants_long = goal && strcmp(goal, "longer") == 0;
    int64_t against = wants_short ? pairs->n_longer : pairs->n_shorter;

    if ((!wants_short && !wants_long) || pairs->n < ENOUGH_SCORED)
        return false;
    if ((double)against < GOAL * (double)pairs->n) {
        check_info(ctx, "the goal is %s answers: chosen is the %s one in %lld of %lld rows", goal,
                   wants_short ? "longer" : "shorter", (long long)against, (long long)pairs->n);
        return false;
    }
    check_fail(ctx, CONFIDENCE_STRONG, "goal",
               "the goal is %s answers, and chosen is the %s one in %lld of %lld rows", goal,
               wants_short ? "longer" : "shorter", (long long)against, (long long)pairs->n);
    struct evidence *e = evidence_number(ctx, (double)against / (double)pairs->n, GOAL,
                                         "share of rows that go against the goal");
    e->source_id = pairs->source_id;
    advise(ctx);
    return true;
}

/* Before training the reference should prefer the chosen answers more often than not. */
static bool judge_reference(struct check_ctx *ctx, const struct preference_facts *pairs)
{
    static const char *const NAMES[] = {"reference_accuracy",      "ref_accuracy",
                                        "eval_reference_accuracy", "eval_ref_accuracy",
                                        "reference/accuracies",    NULL};
    struct values accuracy;

    if (pairs->n < ENOUGH_PAIRS || !values_read_first(ctx, NAMES, &accuracy) ||
        values_step(&accuracy, 0) > 0 || accuracy.y[0] >= REFERENCE)
        return false;
    check_fail(ctx, CONFIDENCE_STRONG, "reference",
               "the reference model prefers the rejected answer in %.0f %% of the pairs before "
               "training",
               100.0 * (1.0 - accuracy.y[0]));
    struct evidence *e = evidence_point(ctx, accuracy.curve, accuracy.at[0], "accuracy of the "
                                                                             "reference");
    e->bound = REFERENCE;
    e->has_bound = true;
    advise(ctx);
    return true;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct preference_facts pairs;
    bool is_known = false;

    (void)err;
    if (!preference_facts_read(ctx->facts, ctx->arena, &pairs))
        return check_unknown(ctx, "the preference rows (chosen, rejected, and a score of each)");
    if (pairs.n == 0)
        return check_skip(ctx, "the rows are single answers with a label, no pairs");
    is_known |= judge_scores(ctx, &pairs);
    is_known |= judge_goal(ctx, &pairs);
    is_known |= judge_reference(ctx, &pairs);
    if (pairs.n_equal > 0)
        check_info(ctx, "%lld of %lld rows have the same text as chosen and rejected: they teach "
                        "nothing",
                   (long long)pairs.n_equal, (long long)pairs.n);
    if (is_known)
        return OK;
    if (pairs.n_scored > 0)
        return check_unknown(ctx, "%lld more rows with scores of both answers",
                             (long long)(ENOUGH_SCORED - pairs.n_scored));
    return check_unknown(ctx, "scores of both answers in the rows (score_chosen, score_rejected)");
}

const struct check check_chosen_rejected_swapped = {
    .id = "chosen-rejected-swapped",
    .version = 1,
    .stage = STAGE_PREFERENCE,
    .severity = SEVERITY_BLOCKS,
    .title = "The chosen column is the better one",
    .why = "With the columns swapped the model learns the worse answers, and every metric of the "
           "training looks as it should.",
    .applies = applies,
    .run = run,
};
