/* diverged (CHECKS.md C0.19): did the loss jump up and stay there? Per segment, on finite rows; the
 * test itself is curve_divergence. */
#include <math.h>

#include "core/checks/registry.h"
#include "core/facts/eval_points.h"
#include "core/facts/loss_zero.h"
#include "core/facts/onset.h"
#include "core/stats/curve.h"

static bool applies(const struct run_facts *facts, const char **reason)
{
    if (facts->run.marks & MARK_EVAL_ONLY) {
        *reason = "nothing was trained";
        return false;
    }
    switch (facts->run.kind) {
    case KIND_GRPO:
    case KIND_PPO:
    case KIND_DPO:
    case KIND_REWARD_MODEL:
        *reason = "the loss of preference tuning is not a learning curve";
        return false;
    case KIND_UNKNOWN:
    case KIND_CLASSIFICATION:
    case KIND_SEQ2SEQ:
    case KIND_PRETRAINING:
    case KIND_SFT:
        break;
    }
    return true;
}

struct segment {
    double *y;
    size_t *row; /* index in the curve */
    size_t n;
};

/* The finite rows of the segment that begins at row `first`; gives the row after it. Masked batches
 * (0.0 beside 0.0) are no values of the curve. */
static size_t collect(const struct loss_zero *zero, size_t first, struct segment *out)
{
    const struct curve *loss = zero->loss;
    size_t i;

    out->n = 0;
    for (i = first; i < loss->n; i++) {
        if (loss->segment && loss->segment[i] != loss->segment[first])
            break;
        if (!isfinite(loss->value[i]) || loss->value[i] <= 0.0 || zero->is_substitution[i])
            continue;
        out->y[out->n] = loss->value[i];
        out->row[out->n++] = i;
    }
    return i;
}

static void show_at(struct check_ctx *ctx, const struct curve *loss, size_t row)
{
    static const char *const BESIDE[] = {"learning_rate", "grad_norm"};
    double value;

    evidence_point(ctx, loss, row, "loss %.4g where it leaves its minimum", loss->value[row]);
    for (size_t i = 0; i < 2; i++) {
        const struct curve *curve = facts_curve(ctx->facts, BESIDE[i]);
        if (curve && curve_on_row(curve, loss, row, &value))
            evidence_point(ctx, loss, row, "%s %.4g there", BESIDE[i], value);
    }
}

static size_t least_row(const struct segment *s)
{
    size_t least = 0;

    for (size_t i = 1; i < s->n; i++)
        if (s->y[i] < s->y[least])
            least = i;
    return least;
}

static void show(struct check_ctx *ctx, const struct curve *loss, const struct segment *s,
                 const struct divergence *d)
{
    size_t jump = d->jump < s->n ? d->jump : s->n - 1;
    const struct event *watchdog = facts_event(ctx->facts, "diverged", NULL);

    evidence_point(ctx, loss, s->row[least_row(s)], "loss %.4g, the lowest row",
                   s->y[least_row(s)]);
    show_at(ctx, loss, s->row[jump]);
    evidence_number(ctx, d->ratio, 2.0, "the end (%.4g) is %.3g times the minimum (%.4g)", d->end,
                    d->ratio, d->minimum);
    evidence_setting(ctx, facts_setting(ctx->facts, "learning_rate"));
    if (watchdog)
        evidence_event(ctx, watchdog);
    check_begins(ctx, loss->step[s->row[jump]]);
    check_fix(ctx, "a tenth of the learning rate (LoRA on a large model: 1e-4 or less)");
    check_fix(ctx, "warm-up over 3 to 10 %% of the steps");
    check_fix(ctx, "max_grad_norm=1.0");
    check_fix(ctx, "restart from the checkpoint before %s",
              curve_place(loss, s->row[jump], ctx->arena));
}

static void judge(struct check_ctx *ctx, const struct curve *loss, const struct segment *s)
{
    struct divergence d;

    curve_divergence(s->y, s->n, &d);
    if (!d.fails && !d.warns)
        return;
    show(ctx, loss, s, &d);
    size_t jump = d.jump < s->n ? d.jump : s->n - 1;
    if (d.warns)
        check_warn(
            ctx, CONFIDENCE_LIKELY, "drift",
            "the loss ends at %.4g, %.3g times its minimum %.4g and above its start, without "
            "a recovery",
            d.end, d.ratio, d.minimum);
    else
        check_fail(ctx, CONFIDENCE_STRONG, d.in_first_rows ? "first-rows" : "",
                   "the loss jumped at %s and stayed: from %.4g to %.4g, %.3g times",
                   curve_place(loss, s->row[jump], ctx->arena), d.minimum, d.end, d.ratio);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct loss_zero zero;
    struct run_onset onset;
    size_t longest = 0;

    (void)err;
    loss_zero_read(ctx->facts, &zero);
    if (!zero.loss)
        return check_unknown(ctx, "%s", need_hint(NEEDS_TRAIN_SERIES));
    onset_training(ctx->facts, ctx->arena, &onset);
    if (onset.found && onset.is_persistent)
        return check_skip(ctx, "the loss becomes non-finite: see nan-onset");
    struct segment s = {.y = arena_array(ctx->arena, zero.n_rows, sizeof *s.y),
                        .row = arena_array(ctx->arena, zero.n_rows, sizeof *s.row)};
    if (!s.y || !s.row)
        return OK; /* the runner sees the failed arena */
    for (size_t next = 0; next < zero.loss->n;) {
        next = collect(&zero, next, &s);
        longest = s.n > longest ? s.n : longest;
        if (s.n > 0)
            judge(ctx, zero.loss, &s);
    }
    if (check_verdict(ctx) >= VERDICT_WARN)
        return OK;
    if (longest < 6)
        return check_unknown(ctx, "%zu more logged rows", 6 - longest);
    return check_pass(ctx, longest < 10 ? CONFIDENCE_LIKELY : CONFIDENCE_STRONG,
                      "%zu rows: no lasting rise above twice the minimum", longest);
}

const struct check check_diverged = {
    .id = "diverged",
    .version = 1,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_BLOCKS,
    .title = "The loss did not jump up and stay",
    .why = "A loss that leaves its minimum for good has destroyed what was learned; everything "
           "after the jump is lost.",
    .applies = applies,
    .run = run,
};
