/* P.5: does the KL coefficient hold the policy? Without it the reward may rise while the quality that
 * nobody trains on falls. A coefficient of 0 alone is no fault: it is TRL's default for GRPO. */
#include <math.h>
#include <string.h>

#include "core/checks/held_out.h"
#include "core/checks/preference_series.h"
#include "core/stats/robust.h"

static const double SMALL = 0.005, WEAK = 0.01;
static const double TOKEN_BOUND = 2.0, SEQUENCE_BOUND = 10.0;

struct coefficient {
    const struct setting *setting;
    double value;               /* NaN: not known */
    bool is_inferred;           /* no KL is logged, so there is none */
};

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "not a GRPO or PPO run";
    return facts->run.kind == KIND_GRPO || facts->run.kind == KIND_PPO;
}

static struct coefficient read_coefficient(struct check_ctx *ctx)
{
    struct coefficient c = {.value = NAN};

    c.setting = kl_coefficient(ctx, &c.value);
    if (!c.setting) {
        c.value = NAN;
        c.is_inferred = ctx->facts->run.kind == KIND_GRPO && !facts_has_curve(ctx->facts, "kl") &&
                        facts_has_curve(ctx->facts, "reward_std");
        if (c.is_inferred)
            c.value = 0.0;
    }
    return c;
}

static void advise(struct check_ctx *ctx)
{
    check_fix(ctx, "a KL coefficient (beta) of 0.01 to 0.1");
    check_fix(ctx, "a lower learning rate");
    check_fix(ctx, "an earlier checkpoint");
}

static void show_settings(struct check_ctx *ctx, const struct coefficient *c)
{
    evidence_setting(ctx, c->setting);
    evidence_setting(ctx, facts_setting(ctx->facts, "learning_rate"));
    if (c->is_inferred)
        check_info(ctx, "the coefficient is not stated; no KL is logged, as TRL does at beta 0");
}

/* Held-out quality falls while the reward rises, with next to no coefficient. */
static bool judge_quality(struct check_ctx *ctx, const struct coefficient *c,
                          const struct held_out *held)
{
    struct values reward;
    struct movement movement;

    if (!(c->value <= SMALL) || held->answer != HELD_OUT_FELL ||
        !values_read(ctx, "reward", &reward) || !values_move(&reward, &movement) || !movement.rose)
        return false;
    check_fail(ctx, c->is_inferred ? CONFIDENCE_LIKELY : CONFIDENCE_STRONG, "held-out",
               "the training reward rises from %.3g to %.3g while held-out quality falls, with a "
               "KL coefficient of %g (%s)",
               movement.first, movement.last, c->value, held->what);
    check_begins(ctx, values_step(&reward, 0));
    (void)values_evidence(ctx, &reward, "training reward");
    held_out_show(ctx, held);
    show_settings(ctx, c);
    advise(ctx);
    return true;
}

static size_t first_above(const struct values *values, double bound)
{
    for (size_t i = 0; i < values->n; i++)
        if (values->y[i] > bound)
            return i;
    return 0;
}

/* The KL is far and still growing. */
static bool judge_kl(struct check_ctx *ctx, const struct coefficient *c, const struct kl *kl,
                     const struct held_out *held)
{
    double bound = kl->is_sequence ? SEQUENCE_BOUND : TOKEN_BOUND;
    double half = values_half(&kl->values, 1);
    double third = values_quarter(&kl->values, 2), last = values_quarter(&kl->values, 3);

    if (!(half > bound) || !(last > third))
        return false;
    if (held->answer == HELD_OUT_ROSE || c->value > WEAK) {
        check_info(ctx, "a KL of %.3g %s is far, %s", last, kl_unit(kl),
                   c->value > WEAK ? "at an ordinary coefficient: look at what the reward measures"
                                   : "but held-out quality is up");
        return false;
    }
    if (isnan(c->value))
        check_warn(ctx, CONFIDENCE_LIKELY, "kl",
                   "the KL grows to %.3g %s (bound %g); its coefficient is not known", last,
                   kl_unit(kl), bound);
    else
        check_fail(ctx, CONFIDENCE_STRONG, "kl",
                   "the KL grows to %.3g %s (bound %g) with a coefficient of %g", last, kl_unit(kl),
                   bound, c->value);
    size_t first = first_above(&kl->values, bound);
    check_begins(ctx, values_step(&kl->values, first));
    struct evidence *e = values_evidence(ctx, &kl->values, "KL");
    e->value = half;
    e->has_value = true;
    e->bound = bound;
    e->has_bound = true;
    show_settings(ctx, c);
    advise(ctx);
    return true;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct coefficient c = read_coefficient(ctx);
    const struct held_out held = held_out_read(ctx);
    struct kl kl;

    (void)err;
    bool fired = judge_quality(ctx, &c, &held);
    if (kl_read(ctx, &kl) && kl.values.n >= 4)
        fired |= judge_kl(ctx, &c, &kl, &held);
    if (fired)
        return OK;
    if (held.answer == HELD_OUT_UNKNOWN) {
        if (c.value <= SMALL)
            check_info(ctx, "a KL coefficient of %g holds nothing: only held-out quality tells "
                            "whether that does harm",
                       c.value);
        return check_unknown(ctx, HELD_OUT_MISSING);
    }
    if (held.answer != HELD_OUT_FELL)
        return check_pass(ctx, CONFIDENCE_STRONG, "held-out quality does not fall (%s)", held.what);
    held_out_show(ctx, &held);
    if (isnan(c.value))
        return check_unknown(ctx, "the KL coefficient (beta, init_kl_coef)");
    if (c.value > SMALL)
        return check_pass(ctx, CONFIDENCE_LIKELY,
                          "held-out quality falls (%s), but the coefficient is %g: not for want of "
                          "one",
                          held.what, c.value);
    return check_unknown(ctx, "metric rows with a reward that rises (four at least)");
}

const struct check check_kl_too_low = {
    .id = "kl-too-low",
    .version = 1,
    .stage = STAGE_PREFERENCE,
    .severity = SEVERITY_MISLEADS,
    .title = "The KL coefficient holds the policy",
    .why = "With next to no penalty the policy leaves what it knew: the reward goes on rising while "
           "the quality that it does not measure falls.",
    .applies = applies,
    .run = run,
};
