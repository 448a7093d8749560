/* C7.1: is the held-out loss still falling or level? Each evaluation series is compared with
 * itself, never with the training loss: the two may be on different scales. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/checks/checkpoint_evidence.h"
#include "core/facts/dataset_shards.h"
#include "core/facts/eval_points.h"
#include "core/stats/curve.h"
#include "core/stats/robust.h"

enum { SMALL_EVAL_ROWS = 50, ENOUGH_POINTS = 3, LATER_POINTS = 2 };

static const double FAIL_RISE = 0.05, WARN_RISE = 0.02;

enum training { TRAINING_UNKNOWN, TRAINING_FELL, TRAINING_DID_NOT_FALL };

struct judged {
    struct eval_points points; /* without a reloaded best model's row */
    struct overfit overfit;
    enum verdict verdict;
    enum training training;
    bool is_risen; /* by more than WARN's bound */
};

static bool applies(const struct run_facts *facts, const char **reason)
{
    if (facts->run.kind == KIND_GRPO || facts->run.kind == KIND_PPO) {
        *reason = "the evaluation loss of RL is not a learning curve";
        return false;
    }
    if (facts->run.marks & MARK_TEN_ROW_TEST) {
        *reason = "a ten-row test is meant to memorise";
        return false;
    }
    if (facts->run.kind == KIND_PRETRAINING && facts->planned_epochs <= 1.0) {
        *reason = "pretraining on one pass sees no row twice";
        return false;
    }
    return true;
}

/* Training fell by 1 % from the best step to the end: means of 3 rows. */
static enum training training_since(struct check_ctx *ctx, const struct eval_points *p, size_t best)
{
    struct eval_points loss;
    size_t before = 0;

    if (!eval_points_read(facts_curve(ctx->facts, "loss"), ctx->arena, &loss))
        return TRAINING_UNKNOWN;
    /* Rows without a step (no bar in the log) stand in the order of their file. */
    bool has_steps = p->step[best] != NONE && loss.step[0] != NONE;
    if (!has_steps && (p->step[best] != NONE || loss.step[0] != NONE ||
                       p->curve->source_id != loss.curve->source_id))
        return TRAINING_UNKNOWN;
    while (before < loss.n &&
           (has_steps ? loss.step[before] <= p->step[best]
                      : loss.curve->line[loss.at[before]] <= p->curve->line[p->at[best]]))
        before++;
    if (before == 0)
        return TRAINING_UNKNOWN;
    size_t k = before < 3 ? before : 3, m = loss.n < 3 ? loss.n : 3;
    double then = stat_mean(loss.value + before - k, k),
           now = stat_mean(loss.value + loss.n - m, m);
    return now <= 0.99 * then ? TRAINING_FELL : TRAINING_DID_NOT_FALL;
}

static int64_t eval_rows(const struct run_facts *facts, struct arena *arena)
{
    struct shard_set set;

    for (size_t i = 0; i < facts->n_datasets; i++)
        if (facts->datasets[i].split && strcmp(facts->datasets[i].split, "eval") == 0 &&
            facts->datasets[i].n_rows >= 0)
            return shard_set_of(facts, &facts->datasets[i], arena, &set) ? set.n_rows
                                                                         : facts->datasets[i].n_rows;
    return NONE;
}

static bool judge(struct check_ctx *ctx, const struct curve *curve, struct judged *out)
{
    *out = (struct judged){.verdict = VERDICT_UNKNOWN};
    if (!eval_points_read(curve, ctx->arena, &out->points))
        return false;
    if (curve_repeats_best(out->points.step, out->points.value, out->points.n))
        out->points.n--;
    const struct eval_points *p = &out->points;
    struct overfit *o = &out->overfit;
    bool has_enough = curve_overfit(p->value, p->n, o);
    if (p->n < 2)
        return false;
    double risen = o->last_value - o->best_value, level = fabs(o->best_value);
    out->is_risen = risen > fmax(WARN_RISE * level, 2.0 * o->sigma);
    if (!out->is_risen) {
        out->verdict = has_enough ? VERDICT_PASS : VERDICT_UNKNOWN;
        return true;
    }
    if (o->n_later < LATER_POINTS)
        return true;
    out->training = training_since(ctx, p, o->best);
    if (out->training == TRAINING_DID_NOT_FALL)
        out->verdict = VERDICT_PASS;
    else if (out->training == TRAINING_FELL)
        out->verdict = risen >= FAIL_RISE * level ? VERDICT_FAIL : VERDICT_WARN;
    return true;
}

static bool is_worse(const struct judged *a, const struct judged *b)
{
    if (a->verdict != b->verdict)
        return a->verdict > b->verdict;
    return a->overfit.rise > b->overfit.rise;
}

/* Drops at epoch boundaries are the picture of repeated rows. */
static size_t count_stairs(struct check_ctx *ctx)
{
    const struct run_facts *facts = ctx->facts;
    struct eval_points loss;
    size_t stairs = 0;

    if (!(facts->last_epoch > 1.0) || facts->last_step <= 0 || facts->last_epoch > 1000.0 ||
        !eval_points_read(facts_curve(facts, "loss"), ctx->arena, &loss) || loss.step[0] == NONE)
        return 0;
    double epoch = (double)facts->last_step / facts->last_epoch;
    for (double k = 1.0; k < facts->last_epoch; k++) {
        size_t after = 0;
        while (after < loss.n && (double)loss.step[after] <= k * epoch - 0.02 * epoch)
            after++;
        size_t then = after;
        while (then < loss.n && (double)loss.step[then] < k * epoch + 0.02 * epoch)
            then++;
        if (after < 3 || then + 3 > loss.n)
            continue;
        stairs += stat_mean(loss.value + then, 3) <= 0.95 * stat_mean(loss.value + after - 3, 3);
    }
    return stairs;
}

static void show(struct check_ctx *ctx, const struct judged *j)
{
    const struct eval_points *p = &j->points;
    const struct overfit *o = &j->overfit;
    size_t stairs = count_stairs(ctx);

    check_begins(ctx, p->step[o->best]);
    evidence_point(ctx, p->curve, p->at[o->best], "the best %s", p->curve->name);
    struct evidence *e =
        evidence_point(ctx, p->curve, p->at[p->n - 1], "the last %s", p->curve->name);
    e->bound = o->best_value + fmax(WARN_RISE * fabs(o->best_value), 2.0 * o->sigma);
    e->has_bound = true;
    state_checkpoints(ctx, p, true);
    if (stairs >= 2)
        check_info(ctx, "the training loss drops at %zu epoch boundaries: rows are being memorised",
                   stairs);
    check_fix(ctx, "stop at the best: %s", curve_place(p->curve, p->at[o->best], ctx->arena));
    check_fix(ctx, "fewer epochs");
    check_fix(ctx, "lower rank, weight decay, dropout");
    check_fix(ctx, "more data");
}

static int state_rise(struct check_ctx *ctx, const struct judged *j)
{
    const struct overfit *o = &j->overfit;
    const char *name = j->points.curve->name;
    int64_t rows = eval_rows(ctx->facts, ctx->arena);
    bool is_small = rows != NONE && rows < SMALL_EVAL_ROWS;
    const char *best = curve_place(j->points.curve, j->points.at[o->best], ctx->arena);
    char sigmas[48] = "";

    if (o->sigma > 0.0)
        (void)snprintf(sigmas, sizeof sigmas, ", %.1f sigma",
                       (o->last_value - o->best_value) / o->sigma);
    if (j->verdict == VERDICT_FAIL && !is_small)
        check_fail(
            ctx, CONFIDENCE_STRONG, "",
            "%s rose from %.4g at %s to %.4g (+%.1f %%%s) while the training loss fell", name,
            o->best_value, best, o->last_value, 100.0 * o->rise, sigmas);
    else
        check_warn(
            ctx, CONFIDENCE_LIKELY, is_small ? "small-eval" : "",
            "%s rose from %.4g at %s to %.4g (+%.1f %%%s) while the training loss fell", name,
            o->best_value, best, o->last_value, 100.0 * o->rise, sigmas);
    if (is_small)
        check_info(ctx, "small eval set: %lld rows", (long long)rows);
    show(ctx, j);
    return OK;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    size_t n = 0;
    const struct curve *const *curves = facts_eval_losses(ctx->facts, &n);
    struct judged worst = {.verdict = VERDICT_NOT_APPLICABLE};
    bool has_any = false;

    (void)err;
    for (size_t i = 0; i < n; i++) {
        struct judged judged;
        if (!judge(ctx, curves[i], &judged))
            continue;
        if (!has_any || is_worse(&judged, &worst))
            worst = judged;
        has_any = true;
    }
    if (!has_any) {
        if (ctx->facts->planned_epochs > 5.0)
            check_info(ctx, "%.3g epochs are planned without a look at held-out rows",
                       ctx->facts->planned_epochs);
        return check_unknown(ctx, n > 0 ? "a second evaluation during training"
                                        : "evaluation during training (eval_loss)");
    }
    if (worst.verdict >= VERDICT_WARN)
        return state_rise(ctx, &worst);
    const struct overfit *o = &worst.overfit;
    if (worst.is_risen && worst.verdict == VERDICT_PASS)
        return check_pass(ctx, CONFIDENCE_LIKELY,
                          "%s rose by %.1f %% but the training loss did not fall: not overfitting",
                          worst.points.curve->name, 100.0 * o->rise);
    if (worst.verdict == VERDICT_PASS)
        return check_pass(ctx, CONFIDENCE_STRONG,
                          "%s is %.4g, best %.4g (+%.2f %%, bound %.2g %%) in %zu evaluations",
                          worst.points.curve->name, o->last_value, o->best_value, 100.0 * o->rise,
                          100.0 * fmax(WARN_RISE, 2.0 * o->sigma / fabs(o->best_value)),
                          worst.points.n);
    if (worst.is_risen && o->n_later >= LATER_POINTS)
        return check_unknown(ctx,
                             "the training loss up to the last evaluation, to tell overfitting from "
                             "divergence");
    return check_unknown(ctx, "%d evaluations, two of them after the best (there are %zu)",
                         ENOUGH_POINTS, worst.points.n);
}

const struct check check_overfit = {
    .id = "overfit",
    .version = 2,
    .stage = STAGE_HYPERPARAMETERS,
    .severity = SEVERITY_WASTES,
    .title = "Held-out loss is still falling or level",
    .why = "Past the best point the model learns its training rows by heart and gets worse on all "
           "others.",
    .applies = applies,
    .run = run,
};
