/* overfit-ten-failed (CHECKS.md C3.11): can the pipeline memorise ten rows? Only for a run that is
 * such a test; otherwise it is UNKNOWN with how to make one. */
#include <math.h>
#include <string.h>

#include "core/checks/label_evidence.h"
#include "core/checks/registry.h"

#define LOSS_FAILS  0.3
#define LOSS_WARNS  0.1
#define EXACT_FAILS 0.80
#define EXACT_PASS  0.98
#define ACCURACY    0.98 /* of the tokens, where it is logged */
#define LONG_ANSWER 1000 /* tokens: the bounds are lowered to a warning */

static double final_loss(const struct curve *loss, size_t *at)
{
    for (size_t i = loss ? loss->n : 0; i-- > 0;)
        if (isfinite(loss->value[i])) {
            *at = i;
            return loss->value[i];
        }
    return NAN;
}

/* Generations of the tuned model that can be compared with their target. */
static size_t count_exact(const struct run_facts *facts, size_t *n_exact, int64_t *first_missed,
                          bool *has_long)
{
    size_t n = 0;

    *n_exact = 0;
    *first_missed = NONE;
    for (size_t i = 0; i < facts->n_generations; i++) {
        const struct generation *made = &facts->generations[i];

        if (made->exact < 0 || strcmp(made->model, "base") == 0)
            continue;
        n++;
        *n_exact += made->exact == 1;
        *has_long |= made->n_tokens > LONG_ANSWER;
        if (made->exact == 0 && *first_missed == NONE)
            *first_missed = made->row != NONE ? made->row : made->ord;
    }
    return n;
}

static bool has_regulariser(const struct run_facts *facts)
{
    double value;

    return (facts_number(facts, "neftune_noise_alpha", &value) && value > 0.0) ||
           (facts_number(facts, "lora_dropout", &value) && value > 0.0);
}

/* NaN: not logged. */
static double last_accuracy(const struct run_facts *facts)
{
    const struct curve *accuracy = facts_curve(facts, "mean_token_accuracy");
    size_t at;

    return final_loss(accuracy, &at);
}

/* Of the rows themselves: an answer above LONG_ANSWER tokens. */
static bool rows_are_long(const struct run_facts *facts)
{
    const struct audit *audit = labels_of(facts, "train");

    for (int64_t i = 0; audit && i < audit->n_rows; i++)
        if (labels_row_has(&audit->rows[i], 0, 0) &&
            audit->rows[i].n_trained -
                    (audit->rows[i].n_trained_prompt > 0 ? audit->rows[i].n_trained_prompt : 0) >
                LONG_ANSWER)
            return true;
    return false;
}

static int judge(struct check_ctx *ctx, double loss, double exact_share, double accuracy,
                 bool is_lenient)
{
    bool fails = loss > LOSS_FAILS || exact_share < EXACT_FAILS;
    bool warns = loss > LOSS_WARNS || exact_share < EXACT_PASS || accuracy < ACCURACY;
    const char *exact = isnan(exact_share)
                            ? "no generations to compare"
                            : arena_printf(ctx->arena, "%.0f %% exact", 100.0 * exact_share);

    if (!fails && !warns)
        return OK;
    if (accuracy < ACCURACY)
        evidence_number(ctx, accuracy, ACCURACY, "last token accuracy %.3f", accuracy);
    check_fix(ctx,
              "settle the checks above of this stage in order: data and hyperparameters are not "
              "the cause of a failed ten-row test");
    if (fails && !is_lenient)
        return check_fail(ctx, CONFIDENCE_STRONG, "",
                          "ten rows were not memorised: final loss %.3g, %s", loss, exact);
    return check_warn(ctx, CONFIDENCE_LIKELY, is_lenient ? "regularised" : "",
                      "ten rows were memorised only in part: final loss %.3g, %s", loss, exact);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct curve *loss = facts_curve(ctx->facts, "loss");
    size_t at = 0, n_exact = 0, n;
    int64_t first_missed;
    bool has_long = false;
    double last, share;

    (void)err;
    if (!(ctx->facts->run.marks & MARK_TEN_ROW_TEST))
        return check_unknown(ctx,
                             "a ten-row run: flatline overfit-ten writes its rows and config; "
                             "import it beside this one");
    last = final_loss(loss, &at);
    n = count_exact(ctx->facts, &n_exact, &first_missed, &has_long);
    share = n ? (double)n_exact / (double)n : NAN;
    if (isnan(last) && n == 0)
        return check_unknown(ctx, "%s", need_hint(NEEDS_TRAIN_SERIES));
    if (!isnan(last))
        evidence_point(ctx, loss, at, "final loss %.4g (bound %.1f)", last, LOSS_WARNS);
    if (n) {
        struct evidence *e = evidence_add(ctx, "dataset", "%zu of %zu rows reproduced exactly%s",
                                          n_exact, n, n_exact < n ? ", first that is not:" : "");

        e->row = first_missed;
        e->source_id = ctx->facts->generations[0].source_id;
    }
    (void)judge(ctx, last, share, last_accuracy(ctx->facts),
                has_long || rows_are_long(ctx->facts) || has_regulariser(ctx->facts));
    if (check_verdict(ctx) >= VERDICT_WARN)
        return OK;
    if (n == 0)
        return check_unknown(ctx,
                             "generations.jsonl of the ten rows (row, output): the final loss %.3g "
                             "is low enough",
                             last);
    if (isnan(last))
        return check_unknown(ctx, "%s", need_hint(NEEDS_TRAIN_SERIES));
    return check_pass(ctx, CONFIDENCE_STRONG,
                      "final loss %.3g, %zu of %zu rows exact: the plumbing is "
                      "sound",
                      last, n_exact, n);
}

const struct check check_overfit_ten_failed = {
    .id = "overfit-ten-failed",
    .version = 2,
    .stage = STAGE_SUPERVISED,
    .severity = SEVERITY_BLOCKS,
    .title = "The pipeline can memorise ten rows",
    .why = "A pipeline that cannot memorise ten rows has a fault that no hyperparameter mends.",
    .run = run,
};
